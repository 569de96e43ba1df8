#!/usr/bin/env bash
# The MCP SDK for Python parses a text argument as JSON if its parameter is optional.
#
# Expected: a tool with the parameter `text: str | None` gets the text that the client sends, as it
# does with `text: str`.
# Seen (mcp 2.3.0): the text "null" arrives as None, and a text that is a JSON list or object is
# refused with "Input should be a valid string", although a string was sent. Numbers, true and quoted
# texts arrive unchanged. A tool that takes source code or notes should declare `text: str = ""`.
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
def required(text: str) -> str:
    return repr(text)


@server.tool()
def optional(text: str | None = None) -> str:
    return repr(text)


async def main():
    for text in ("true", "null", "[1]", '{"a": 1}'):
        for tool in ("required", "optional"):
            try:
                result = await server.call_tool(tool, {"text": text})
                seen = result.content[0].text
            except Exception as error:
                seen = str(error).splitlines()[2].split("[")[0].strip()
            print(f"{text!r} as {tool}: {seen}")


asyncio.run(main())
PYTHON
"$folder/venv/bin/python" "$folder/show.py" | tee "$folder/seen"
diff - "$folder/seen" <<'TEXT'
'true' as required: 'true'
'true' as optional: 'true'
'null' as required: 'null'
'null' as optional: None
'[1]' as required: '[1]'
'[1]' as optional: Input should be a valid string
'{"a": 1}' as required: '{"a": 1}'
'{"a": 1}' as optional: Input should be a valid string
TEXT
