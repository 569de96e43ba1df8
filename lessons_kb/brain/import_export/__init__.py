"""Lessons in from other systems, and out to them."""
