"""One application behind several doors: the same answers over a socket, MCP and HTTP."""
