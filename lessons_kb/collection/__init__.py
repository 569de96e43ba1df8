"""The cards and drafts of a brain: look up, write, rename, review, exchange, check and undo.

This package must not import sessions, agents, the command line or the daemon.
Start with the classes ``Cards`` and ``Drafts``, in the files of their names; then read their bases.
"""
