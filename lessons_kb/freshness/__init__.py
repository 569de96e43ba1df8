"""Judge whether a card is still true of its project: anchors, history, conditions, conflicts.

This package must not import sessions, the ledger, collections or the command line.
Start with ``judge`` in ``judge.py``; ``refresh.py`` runs it for all cards of a brain.
"""
