"""What a tool call does: command lines, arguments, targets, failures."""
