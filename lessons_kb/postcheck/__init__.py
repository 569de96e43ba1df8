"""The post-check: compare an answer and the agent's work with the checklists of cards.

This package must not read files, start processes, or import brains.
Start with ``check_items`` in ``item_states.py``.
"""
