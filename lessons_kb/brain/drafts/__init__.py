"""Lessons that wait for a human."""
