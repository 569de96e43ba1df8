"""The language server: lessons in an editor, where cards and code are written."""
