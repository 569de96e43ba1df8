"""The text index: one engine protocol, its engines, ranking and embeddings.

This package must not import brains, stores, or anything that starts processes.
Start with ``Engine`` in ``engine_protocol.py`` and with ``rank`` in ``ranking.py``.
"""
