"""The tools that a caller may use, over HTTP as well as MCP, and the errors that it may see."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

from lessons_kb.errors import AmbiguousCard, CardNotFound, DuplicateCard, InputError, LessonsError
from lessons_kb.service.mcp.server import LessonsMCPServer
from lessons_kb.service.mcp.tools import ResourceNotFoundError, ToolError
from lessons_kb.service.web.authentication import CALLER
from lessons_kb.service.web.served_brain import explain
from lessons_kb.store.error_log import log_trouble
from lessons_kb.store.server_tokens import PROPOSE, READ

T = TypeVar("T")
TOOLS: Mapping[str, str] = {
    "lessons_preflight": READ,
    "lessons_match": READ,
    "lessons_search": READ,
    "lessons_get": READ,
    "lessons_check": READ,
    "lessons_propose": PROPOSE,
    "lessons_mark": PROPOSE,
}
"""Mapping from each tool to the scope that it requires. Other tools are not served, because only
people change cards, and because no caller may read the session of another caller.
"""
READ_SECONDS, WRITE_SECONDS = 10.0, 20.0
"""Time limits of a tool, in seconds. A model waits longer than a hook, but not indefinitely."""


class Forbidden(InputError):
    """The caller's token lacks the required scope."""


def require_scope(scope: str) -> None:
    """Raise Forbidden unless the caller's token has this scope."""
    if scope not in CALLER.get().may:
        raise Forbidden(f"this token may not {scope}; ask for one with that scope")


def admit(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's arguments, with the session name made unique to the caller.

    Raises Forbidden. Raises InputError for a tool that is not served. Raises InputError also for a
    check that names neither cards nor a session, because the last preflight may belong to another
    caller.
    """
    if tool not in TOOLS:
        raise InputError(f"this server does not offer {tool}")
    require_scope(TOOLS[tool])
    session = arguments.get("session")
    if tool not in ("lessons_preflight", "lessons_check", "lessons_mark"):
        return arguments
    if tool == "lessons_mark" and not session:  # the marks of one day form a session
        session = dt.datetime.now(tz=dt.UTC).date().isoformat()
    if isinstance(session, str) and session:
        return {**arguments, "session": CALLER.get().session(session)}
    if tool == "lessons_check" and arguments.get("cards") is None:
        raise InputError("name `cards`, or the `session` whose last preflight gave them")
    return arguments


def conceal(error: BaseException) -> str:
    """Return the message that replaces an error's text, or "" if the client may see the text.

    A client may see an error about its request. An error of the server is logged instead.
    """
    chain = [error]
    while earlier := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(earlier)
    cause = next((link for link in chain if isinstance(link, LessonsError)), None)
    if isinstance(cause, (InputError, CardNotFound, AmbiguousCard, DuplicateCard)):
        return ""
    if cause is not None:
        log_trouble("server", "mcp", f"{type(cause).__name__}: {cause}")
        return f"no answer now: {explain(cause)}; try again later"
    names = {type(link).__name__ for link in chain}
    if "ValidationError" in names or names <= {"ToolError", "ResourceNotFoundError"}:
        return ""
    return "internal error; the server's log says more"


class SharedServer(LessonsMCPServer):
    """The tools of one brain, for callers who must not see each other or the server."""

    async def list_tools(self) -> list[Any]:
        """Return the tools that the caller may use."""
        may = CALLER.get().may
        return [tool for tool in await super().list_tools() if TOOLS.get(tool.name) in may]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Call a tool in the caller's own session, with a time limit and concealed errors."""
        try:
            arguments = admit(name, arguments)
        except InputError as error:
            raise ToolError(str(error)) from None
        seconds = WRITE_SECONDS if TOOLS[name] == PROPOSE else READ_SECONDS
        return await _answer(super().call_tool(name, arguments, context), seconds, ToolError)

    async def read_resource(self, uri: Any, context: Any = None) -> Any:
        """Return a card that the caller may read."""
        require_scope(READ)
        working = super().read_resource(uri, context)
        return await _answer(working, READ_SECONDS, ResourceNotFoundError)

    async def get_prompt(self, name: str, _arguments: Any = None, context: Any = None) -> Any:
        """Return a prompt without its arguments, because they could name the journal of another
        caller.
        """
        return await super().get_prompt(name, None, context)


async def _answer(working: Coroutine[Any, Any, T], seconds: float, concealed: type[Exception]) -> T:
    """Return the result of a coroutine.

    Raises ToolError after ``seconds``; a thread may continue the work. Raises ``concealed`` with
    another message if the client may not see the text of an error.
    """
    task = asyncio.ensure_future(working)
    done, _left = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.add_done_callback(lambda late: late.cancelled() or late.exception())
        raise ToolError(f"no answer within {seconds:g} s; try again later")
    try:
        return task.result()
    except Exception as error:  # the text of any error may be confidential
        message = conceal(error)
        if message:
            raise concealed(message) from None
        raise
