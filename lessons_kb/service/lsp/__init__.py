"""The language server: lessons in an editor, for cards and for source code.

It must not import ``service.web``, ``service.mcp``, ``cli`` or ``tui``.
Start reading in ``language_server.py``: its table maps each request to the function that answers.
"""
