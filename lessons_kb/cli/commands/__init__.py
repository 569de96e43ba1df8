"""The commands: a module each, which is loaded when its command is called."""
