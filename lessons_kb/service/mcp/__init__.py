"""The MCP server: the same questions and answers as everywhere, for any MCP client."""
