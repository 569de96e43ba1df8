"""Find the lessons that apply to a prompt, a file, a change or a command.

This package must not import sessions, mining, collections or the command line.
Start with ``find_block`` in ``block.py``; ``find`` in ``retrieve.py`` searches a single brain.
"""
