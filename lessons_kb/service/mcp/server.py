"""The server and its two ways to speak: over stdio and over HTTP."""

from __future__ import annotations

from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.types import Tool
from pydantic import ValidationError

from lessons_kb.service.mcp.tools import UNLISTED, Answer, Brains, ToolError, Tools, connect
from lessons_kb.store.card_files import read_template
from lessons_kb.store.user_state import log_trouble
from lessons_kb.version import __version__

INSTRUCTIONS = read_template("instructions.md").strip()
"""Whole within 512 characters: some clients show the model no more."""


class LessonsMCPServer(MCPServer):
    """The MCP server of the user's own programs, which may do everything."""

    async def list_tools(self) -> list[Tool]:
        """Return the tools with as short schemas as say the same: each session pays for them."""
        return [
            tool.model_copy(
                update={
                    "input_schema": shorten(tool.input_schema),
                    "output_schema": tool.output_schema and {"type": "object"},
                }
            )
            for tool in await super().list_tools()
            if tool.name not in UNLISTED
        ]

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[Any] | None = None
    ) -> Any:
        """Say in one line what was wrong with the arguments, or with us; that is logged too."""
        try:
            return await super().call_tool(name, arguments, context)
        except UnexpectedToolError as error:
            what = f"{type(error.__cause__).__name__}: {error.__cause__}".splitlines()[0]
            log_trouble("mcp", name, what)
            raise ToolError(f"internal error: {what}; run `lessons doctor`") from error
        except ToolError as error:
            if not isinstance(error.__cause__, ValidationError):
                raise
            wrong = say_invalid(error.__cause__)
            message = f"{name} invalid arguments: {wrong}; correct them and call it again"
            raise ToolError(message) from error.__cause__


def say_invalid(error: ValidationError) -> str:
    """Return what is wrong with the arguments of a tool."""
    wrong = (
        f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return "; ".join(wrong)


def shorten(schema: Any) -> Any:
    """Return a JSON schema that says the same in fewer words.

    Without generated titles, empty defaults, null as a second type, and the demand that a text or
    a list is not empty, which a call is held to all the same.
    """
    if isinstance(schema, list):
        return [shorten(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    if len(kinds) == 1:
        schema = {**{k: v for k, v in schema.items() if k != "anyOf"}, **kinds[0]}
    return {
        key: {name: shorten(one) for name, one in value.items()}
        if key == "properties"
        else shorten(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and value in (None, "", False))
        and not (key in ("minLength", "minItems", "minimum") and value in (0, 1))
        and not (key == "additionalProperties" and value is True)
    }


def build_server(
    workspace: Brains,
    *,
    answer_hook: Answer | None = None,
    kind: type[LessonsMCPServer] = LessonsMCPServer,
) -> MCPServer[str]:
    """Return the server over ``workspace``; ``answer_hook`` answers (agent, event) with text.

    Nothing runs yet: ``run()`` speaks over stdio.
    """
    server = kind(
        "lessons",
        title="Lessons",
        version=__version__,
        description="Lessons from mistakes, before they are made again",
        instructions=INSTRUCTIONS,
        # Standard error is for people: the SDK would print tracebacks of what a client did wrong.
        log_level="CRITICAL",
        lifespan=connect,
    )
    Tools(workspace, answer_hook).register(server)
    return server
