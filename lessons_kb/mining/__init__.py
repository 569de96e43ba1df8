"""Mistakes in sessions and in a project's past, each to become a draft."""
