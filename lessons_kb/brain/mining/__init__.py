"""Lessons that a project's past holds."""
