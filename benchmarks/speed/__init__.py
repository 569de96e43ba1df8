"""Measures time and memory."""
