"""The MCP server: lessons for any MCP client, over stdio or HTTP.

It must not import ``service.web``, ``cli`` or ``tui``.
Start reading in ``tools.py``, one method per tool; ``server.py`` has the protocol and HTTP.
"""
