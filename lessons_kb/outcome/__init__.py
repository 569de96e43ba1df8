"""The outcome of lessons: the post-check, the reasons, the statistics and the journal.

This package must not import sessions, agents, the command line or the daemon.
Start with ``check_last`` in ``post_check.py`` or with ``find_why`` in ``why.py``.
"""
