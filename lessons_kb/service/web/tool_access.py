"""What a caller may do with the tools, by HTTP and by MCP alike, and what it is told of errors."""

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
"""Tool → the scope that it takes. The others are not served: cards are changed by people, and one
caller's session is not another's to read."""
READ_SECONDS, WRITE_SECONDS = 10.0, 20.0
"""How long a tool may take: a model waits longer than a hook, but not for ever."""


class Forbidden(InputError):
    """A token without the scope that is asked of it."""


def require_scope(scope: str) -> None:
    """Raise Forbidden unless the caller may do this."""
    if scope not in CALLER.get().may:
        raise Forbidden(f"this token may not {scope}; ask for one with that scope")


def admit(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return a tool's arguments with the session made the caller's own.

    Raises Forbidden, and InputError for a tool that is not served, or where a check names neither
    cards nor a session: the last one given to anybody is nobody's answer.
    """
    if tool not in TOOLS:
        raise InputError(f"this server does not offer {tool}")
    require_scope(TOOLS[tool])
    session = arguments.get("session")
    if tool not in ("lessons_preflight", "lessons_check", "lessons_mark"):
        return arguments
    if tool == "lessons_mark" and not session:  # a day is one
        session = dt.datetime.now(tz=dt.UTC).date().isoformat()
    if isinstance(session, str) and session:
        return {**arguments, "session": CALLER.get().session(session)}
    if tool == "lessons_check" and arguments.get("cards") is None:
        raise InputError("name `cards`, or the `session` whose last preflight gave them")
    return arguments


def conceal(error: BaseException) -> str:
    """Return what is told instead of an error's text, "" if that is about what was asked."""
    chain = [error]
    while earlier := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(earlier)
    cause = next((one for one in chain if isinstance(one, LessonsError)), None)
    if isinstance(cause, (InputError, CardNotFound, AmbiguousCard, DuplicateCard)):
        return ""
    if cause is not None:
        log_trouble("server", "mcp", f"{type(cause).__name__}: {cause}")
        return f"no answer now: {explain(cause)}; try again later"
    names = {type(one).__name__ for one in chain}
    if "ValidationError" in names or names <= {"ToolError", "ResourceNotFoundError"}:
        return ""
    return "internal error; the server's log says more"


class SharedServer(LessonsMCPServer):
    """The tools over one brain, for callers who are not to see one another or the server."""

    async def list_tools(self) -> list[Any]:
        """Return the tools that the caller may use."""
        may = CALLER.get().may
        return [tool for tool in await super().list_tools() if TOOLS.get(tool.name) in may]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Any = None) -> Any:
        """Answer in time, with the caller's own session, and keep the server's trouble to us."""
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
        """Return a prompt without anybody's journal."""
        return await super().get_prompt(name, None, context)


async def _answer(working: Coroutine[Any, Any, T], seconds: float, concealed: type[Exception]) -> T:
    """Return what is awaited; ToolError after some seconds, though a thread may work on."""
    task = asyncio.ensure_future(working)
    done, _left = await asyncio.wait({task}, timeout=seconds)
    if not done:
        task.add_done_callback(lambda late: late.cancelled() or late.exception())
        raise ToolError(f"no answer within {seconds:g} s; try again later")
    try:
        return task.result()
    except Exception as error:  # whatever it is, its text may be for us alone
        if told := conceal(error):
            raise concealed(told) from None
        raise
