"""What a caller may do with the tools, by HTTP and by MCP alike, and what it is told of errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lessons_kb.errors import AmbiguousCard, CardNotFound, DuplicateCard, InputError, LessonsError
from lessons_kb.service.mcp.server import Admission
from lessons_kb.service.web.callers import CALLER
from lessons_kb.service.web.served_brain import explain
from lessons_kb.store.settings import PROPOSE, READ
from lessons_kb.store.user_state import log_trouble

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
_WITH_SESSION = ("lessons_preflight", "lessons_check", "lessons_mark")
_ABOUT_THE_QUESTION = (InputError, CardNotFound, AmbiguousCard, DuplicateCard)
"""Errors whose text says what was wrong with what was asked, and nothing of the server."""


class Forbidden(InputError):
    """A token without the scope that is asked of it."""


def require_scope(scope: str) -> None:
    """Raise Forbidden unless the caller may do this."""
    if scope not in CALLER.get().may:
        raise Forbidden(f"this token may not {scope}; ask for one with that scope")


class ServerAdmission(Admission):
    """The rules of a shared server."""

    shared = True

    def offers(self, tool: str) -> bool:
        """Tell whether the caller may use a tool."""
        return TOOLS.get(tool) in CALLER.get().may

    def admit(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments with the session made the caller's own.

        Raises Forbidden, and InputError for a tool that is not served, or where a check names
        neither cards nor a session: the last one given to anybody is nobody's answer.
        """
        if tool not in TOOLS:
            raise InputError(f"this server does not offer {tool}")
        require_scope(TOOLS[tool])
        if tool not in _WITH_SESSION:
            return arguments
        caller, session = CALLER.get(), arguments.get("session")
        if isinstance(session, str) and session:
            return {**arguments, "session": caller.session(session)}
        if tool == "lessons_check" and arguments.get("cards") is None:
            raise InputError("name `cards`, or the `session` whose last preflight gave them")
        return {**arguments, "session": caller.day()} if tool == "lessons_mark" else arguments

    def admit_reading(self) -> None:
        """Raise Forbidden unless the caller may read cards."""
        require_scope(READ)

    def seconds(self, tool: str) -> float:
        """Return how long a tool may take: a model waits longer than a hook, but not for ever."""
        return WRITE_SECONDS if TOOLS.get(tool) == PROPOSE else READ_SECONDS

    def conceal(self, error: BaseException) -> str:
        """Return what is told instead of an error's text, "" if that is about the question."""
        cause = next((one for one in _chain(error) if isinstance(one, LessonsError)), None)
        if isinstance(cause, _ABOUT_THE_QUESTION):
            return ""
        if cause is not None:
            log_trouble("server", "mcp", f"{type(cause).__name__}: {cause}")
            return f"no answer now: {explain(cause)}; try again later"
        return "" if _is_about_arguments(error) else "internal error; the server's log says more"


def _is_about_arguments(error: BaseException) -> bool:
    names = {type(one).__name__ for one in _chain(error)}
    return "ValidationError" in names or names <= {"ToolError", "ResourceNotFoundError"}


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
