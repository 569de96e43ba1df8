"""Read lessons from other systems' formats: JSON lines, rules files, reviews, galangal's database.

It must not import a package that opens files, or anything above it: callers pass texts and rows.
Start reading in ``incoming.py``, the common types; each other file reads one format.
"""
