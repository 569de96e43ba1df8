"""Parses cards from text and edits their headers without touching the author's words.

The package works on texts alone: it must not import store, brain, session or cli.
Start with ``parse.parse_card`` (text → Document) and ``edit.edit_header`` (text → text).
"""
