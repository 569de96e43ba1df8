"""Patterns of cards: how a mistake looks in code or in a command, and where it does."""
