"""Start processes: git, the user's editor, captured commands, and our own background work.

No other package may start a process. This one must not import cards or brains.
Start with ``run_bounded`` in ``run.py``, or with ``Repository`` in ``git.py``.
"""
