"""The only package that writes files: cards, settings, caches, the journal, trust, the trash.

It imports ``text``, ``config``, ``model`` and ``errors``, but no package above it in
docs/contributing.md. Start reading with ``files.py`` (reads and writes of a single file) and
``locations.py`` (the user's folders).
"""
