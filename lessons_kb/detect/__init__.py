"""The ``detect`` patterns of cards: find mistakes in changes, commands and error output.

This package must not import cards or brains; it gets patterns and texts.
Start with ``Matcher`` in ``matcher.py``.
"""
