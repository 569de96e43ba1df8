"""Functions about texts: index terms, tokens, redaction, globs, paths, diffs, shell words.

The modules read no files except ``data``, and import nothing above ``errors`` and ``values``. Start
reading with ``analyzer.py`` (search), ``redact.py`` (secrets) or ``sanitize.py`` (safe output).
"""
