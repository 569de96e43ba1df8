"""The cards and drafts of a brain: look up, write, rename, review, exchange, check and undo.

This package must not import sessions, agents, the command line or the daemon.
Start with ``Cards`` in ``cards.py`` and ``Drafts`` in ``drafts.py``; their base classes follow.
"""
