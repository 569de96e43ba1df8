#!/usr/bin/env bash
# The MCP SDK for Python drops arguments whose names no parameter of the tool has.
#
# Expected: the server refuses a call with a misspelt argument, as Python does, so that the model
# corrects its call. The schema that it lists for the tool would forbid other names.
# Seen (mcp 2.3.0): the call succeeds with the default value, and neither the result nor the schema
# (no `additionalProperties`) tells the model. A search for one project then answers for all of them.
# The server of lessons_kb refuses a name that is almost that of a parameter, and names both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check mcp==2.3.0

cat > "$folder/show.py" <<'PYTHON'
import asyncio

from mcp.server import MCPServer

server = MCPServer("notes")


@server.tool()
def search(text: str, project: str = "all projects") -> str:
    return f"{text} in {project}"


async def main():
    (tool,) = await server.list_tools()
    print("additionalProperties" in tool.input_schema)
    for arguments in ({"project": "shop"}, {"projcet": "shop"}, {"project_name": "shop"}):
        result = await server.call_tool("search", {"text": "retry", **arguments})
        print(*arguments, "->", result.content[0].text)


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
False
project -> retry in shop
projcet -> retry in all projects
project_name -> retry in all projects
TEXT
