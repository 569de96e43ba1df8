"""The ways to reach lessons_kb from another program: hooks, the daemon, MCP, LSP and HTTP.

Only ``cli`` imports it; the same facade and handlers stand behind each of them. Start reading with
``hook_event.py`` (one event of an agent), then ``daemon.py`` or a folder: ``mcp``, ``lsp``,
``web``.
"""
