"""The text index: one engine protocol, its engines, ranking and embeddings."""
