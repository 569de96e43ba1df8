"""One module per command, which is imported when its command is called.

A command imports what it uses, but no other package imports a command. Start reading with
``../command_table.py``; ``show.py`` is a short example.
"""
