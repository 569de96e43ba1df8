"""The command line: each command parses its options, opens the brains, acts, and prints.

Nothing below imports it. Start reading with ``command_table.py``, which lists the commands, and
``main.py``, which runs them; ``commands/`` has one module per command.
"""
