"""Find mistakes in sessions, commits and review comments, and sketch a draft for each.

This package must not import the command line, the daemon or the hooks of a session.
Start with ``mine`` in ``mine_project.py`` for a project's past, and with ``find_triggers`` in
``triggers.py`` for a live session.
"""
