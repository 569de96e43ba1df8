"""The cards of a brain in a search cluster."""
