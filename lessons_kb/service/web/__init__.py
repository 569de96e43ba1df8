"""The organisation's server: brains for many machines over HTTP; a caller sees only its own brains.

It must not import ``cli`` or ``tui``; no other package but ``cli`` imports it, because it loads
Starlette, uvicorn and pydantic.
Start reading in ``application.py`` (``serve``), then ``routes.py`` and ``pages.py``.
"""
