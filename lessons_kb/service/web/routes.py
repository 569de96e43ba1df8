"""The table of addresses: one row each, from which requests are answered and the API described."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.service.mcp.tools import (
    Block,
    Checked,
    Hits,
    Matches,
    Proposed,
    Tools,
    show_block,
)
from lessons_kb.service.web.access import METRICS_PATH
from lessons_kb.service.web.permissions import TOOLS
from lessons_kb.store.settings import METRICS, READ
from lessons_kb.version import __version__

_BRAIN = "/v1/brains/{brain}"
_REFERENCE = "#/components/schemas/{model}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Route:
    """One address, what it takes and what it gives."""

    name: str
    path: str
    summary: str
    method: str = "POST"
    scope: str = ""
    """What a token must allow; "" where none is asked for."""
    takes: type[BaseModel] | None = None
    """The request's model, which is that of the MCP tool; None = any JSON object, or no body."""
    answers: Any = None
    """The type of the answer; None = any JSON object, or text."""
    silence: Callable[[], Any] | None = None
    """What is answered while the brain cannot be searched; None = an error."""


def _of_tool(name: str, summary: str, answers: Any, silence: Callable[[], Any] | None) -> Route:
    tool = f"lessons_{name}"
    method = getattr(Tools, tool)
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is one.empty else one.default)
        for one in inspect.signature(method).parameters.values()
        if one.name != "self"
    }
    return Route(
        name=name,
        path=f"{_BRAIN}/{name}",
        summary=summary,
        scope=TOOLS[tool],
        takes=create_model(name.capitalize(), __config__=ConfigDict(extra="forbid"), **fields),
        answers=answers,
        silence=silence,
    )


ROUTES = (
    Route(name="health", method="GET", path="/health", summary="The process answers."),
    Route(name="ready", method="GET", path="/ready", summary="Every brain can be searched."),
    Route(
        name="metrics",
        method="GET",
        path=METRICS_PATH,
        summary="Figures in Prometheus's text format.",
        scope=METRICS,
    ),
    Route(name="openapi", method="GET", path="/openapi.json", summary="This description."),
    _of_tool("preflight", "The lessons for a task.", Block, lambda: show_block({})),
    _of_tool(
        "match",
        "The lessons for a task as data, for a client that adds them to its own.",
        Matches,
        lambda: Matches(lessons=[]),
    ),
    _of_tool("search", "Cards and notes, best first.", Hits, lambda: Hits(hits=[])),
    _of_tool("check", "What became of each checklist item.", Checked, None),
    _of_tool("propose", "Draft a lesson, for review.", Proposed, None),
    Route(
        name="hooks",
        path=f"{_BRAIN}/hooks/{{agent}}",
        summary="The answer to an event of an agent's hook, as the hook program prints it.",
        scope=READ,
    ),
    Route(name="mcp", path=f"{_BRAIN}/mcp", summary="The MCP server (streamable HTTP).", scope=""),
)


def describe() -> dict[str, Any]:
    """Return the OpenAPI description of the table."""
    schemas: dict[str, Any] = {
        "Error": {
            "type": "object",
            "properties": {"error": {"type": "string"}},
            "required": ["error"],
        }
    }
    paths: dict[str, Any] = {}
    for route in ROUTES:
        operation = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": list(_parameters(route)),
            "responses": _responses(route, schemas),
            "security": [{"token": []}] if _BRAIN in route.path or route.scope else [],
        }
        if route.method == "POST":
            schema = {"type": "object"} if route.takes is None else _schema(route.takes, schemas)
            content = {"application/json": {"schema": schema}}
            operation["requestBody"] = {"required": True, "content": content}
        paths[route.path] = {route.method.lower(): operation}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lessons serve", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _parameters(route: Route) -> Iterator[dict[str, Any]]:
    for name, schema in (
        ("brain", {"type": "string", "minLength": 1}),
        ("agent", {"type": "string", "enum": sorted(AGENTS)}),
    ):
        if f"{{{name}}}" in route.path:
            yield {"name": name, "in": "path", "required": True, "schema": schema}


_ERRORS = {
    "401": "No token, or none of this server's.",
    "403": "The token may not do this.",
    "404": "No such brain, or none of the token's.",
    "413": "The body is too large.",
    "422": "The request is not as described.",
    "429": "Too many requests; `Retry-After` says when to come again.",
    "503": "The brain cannot be asked now; `Retry-After` says when to come again.",
}


def _responses(route: Route, schemas: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": route.summary}
    if route.name != "metrics":
        schema = {} if route.answers is None else _schema(route.answers, schemas)
        answer["content"] = {"application/json": {"schema": schema}}
    else:
        answer["content"] = {"text/plain": {"schema": {"type": "string"}}}
    if _BRAIN in route.path:
        reason = {"schema": {"type": "string"}, "description": "Why the answer may be old."}
        answer["headers"] = {"Lessons-Stale": reason}
    found = {"200": answer}
    if route.name in ("hooks", "mcp"):
        found["204" if route.name == "hooks" else "202"] = {"description": "Nothing to say."}
    codes = _ERRORS if _BRAIN in route.path else ("401", "403", "429") if route.scope else ()
    content = {"application/json": {"schema": {"$ref": _REFERENCE.format(model="Error")}}}
    for code in (*codes, *(("503",) if route.name == "ready" else ())):
        found[code] = {"description": _ERRORS[code], "content": content}
    return found


def _schema(kind: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Return the reference to a type's schema, which is added to ``schemas``."""
    schema = TypeAdapter(kind).json_schema(ref_template=_REFERENCE)
    schemas |= schema.pop("$defs", {})
    schemas[kind.__name__] = schema
    return {"$ref": _REFERENCE.format(model=kind.__name__)}
