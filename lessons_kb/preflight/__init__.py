"""Pack judged lessons and notes into the block for an agent.

This package must not import brains or stores; it gets hits, texts and settings.
Start with ``pack`` in ``block.py``.
"""
