"""The cards and drafts of a brain: look up, write, rename, exchange, check, undo."""
