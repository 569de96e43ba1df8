"""Lessons of a server that the user shares with others."""
