"""Measures safety: races, kills, hostile files and secrets."""
