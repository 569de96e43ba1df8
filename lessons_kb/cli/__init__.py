"""The command line: a command is parse, one Brain call, render."""
