"""The table of addresses: one row each, from which requests are answered and the API described."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model
from typing_extensions import TypedDict

from lessons_kb.agents.table import AGENTS
from lessons_kb.data import read_mapping
from lessons_kb.service.mcp.tools import Block, Checked, Hits, Matches, Proposed, Tools, show_block
from lessons_kb.service.web.tool_access import TOOLS
from lessons_kb.store.server_tokens import METRICS, READ
from lessons_kb.values import frozen
from lessons_kb.version import __version__

_BRAIN = "/v1/brains/{brain}"
_REFERENCE = "#/components/schemas/{model}"
_ERRORS = read_mapping("http_statuses.toml")["errors"]
_OBJECT = {"application/json": {"schema": {"type": "object"}}}
_PARAMETERS: dict[str, dict[str, Any]] = {
    "brain": {"type": "string", "minLength": 1},
    "agent": {"type": "string", "enum": sorted(AGENTS)},
}


@frozen
class Route:
    """One address, what it takes and what it gives."""

    name: str
    path: str
    summary: str
    method: str = "GET"
    scope: str = ""
    """What a token must allow; "" where none is asked for."""
    takes: type[BaseModel] | None = None
    """The request's model, which is that of the MCP tool; None = any JSON object, or no body."""
    answers: Any = None
    """The type of the answer; None = any JSON object, or text."""
    silence: Callable[[], Any] | None = None
    """What is answered while the brain cannot be searched; None = an error."""


def _of_tool(
    answers: Any, summary: str, name: str, silence: Callable[[], Any] | None = None
) -> Route:
    method = getattr(Tools, f"lessons_{name}")
    hints = get_type_hints(method, include_extras=True)
    fields: dict[str, Any] = {
        one.name: (hints[one.name], ... if one.default is one.empty else one.default)
        for one in inspect.signature(method).parameters.values()
        if one.name != "self"
    }
    return Route(
        name=name,
        method="POST",
        path=f"{_BRAIN}/{name}",
        summary=summary,
        scope=TOOLS[f"lessons_{name}"],
        takes=create_model(name.capitalize(), __config__=ConfigDict(extra="forbid"), **fields),
        answers=answers,
        silence=silence,
    )


_MATCH = "The lessons for a task as data, for a client that adds them to its own."
_METRICS = "Figures in Prometheus's text format."
_HOOKS = "The answer to an event of an agent's hook, as the hook program prints it."
_MCP = "The MCP server (streamable HTTP)."
ROUTES = (
    Route(name="health", path="/health", summary="The process answers."),
    Route(name="ready", path="/ready", summary="Every brain can be searched."),
    Route(name="metrics", path="/metrics", summary=_METRICS, scope=METRICS),
    Route(name="openapi", path="/openapi.json", summary="This description."),
    _of_tool(Block, "The lessons for a task.", "preflight", lambda: show_block({})),
    _of_tool(Matches, _MATCH, "match", lambda: Matches(lessons=[])),
    _of_tool(Hits, "Cards and notes, best first.", "search", lambda: Hits(hits=[])),
    _of_tool(Checked, "What became of each checklist item.", "check"),
    _of_tool(Proposed, "Draft a lesson, for review.", "propose"),
    Route(
        name="hooks", method="POST", path=f"{_BRAIN}/hooks/{{agent}}", summary=_HOOKS, scope=READ
    ),
    Route(name="mcp", method="POST", path=f"{_BRAIN}/mcp", summary=_MCP),
)


class Error(TypedDict):
    """Why there is no answer."""

    error: str


def describe() -> dict[str, Any]:
    """Return the OpenAPI description of the table."""
    kinds = [kind for row in ROUTES for kind in (row.takes, row.answers) if kind]
    adapters = [(kind, "validation", TypeAdapter(kind)) for kind in (Error, *kinds)]
    references, found = TypeAdapter.json_schemas(adapters, ref_template=_REFERENCE)  # type: ignore[arg-type]

    def content(kind: Any) -> dict[str, Any]:
        return {"application/json": {"schema": references.get((kind, "validation"), {})}}

    paths = {}
    for route in ROUTES:
        is_of_brain = _BRAIN in route.path
        answer: dict[str, Any] = {"description": route.summary, "content": content(route.answers)}
        codes = ["401", "403", "429"] if route.scope else []
        if route.name == "metrics":
            answer["content"] = {"text/plain": {"schema": {"type": "string"}}}
        if is_of_brain:
            reason = {"schema": {"type": "string"}, "description": "Why the answer may be old."}
            answer["headers"] = {"Lessons-Stale": reason}
            codes = [*_ERRORS]
        responses = {"200": answer}
        if silent := {"hooks": "204", "mcp": "202"}.get(route.name):
            responses[silent] = {"description": "Nothing to say."}
        for code in (*codes, *(["503"] if route.name == "ready" else [])):
            responses[code] = {"description": _ERRORS[code], "content": content(Error)}
        operation = {
            "operationId": route.name,
            "summary": route.summary,
            "parameters": [
                {"name": name, "in": "path", "required": True, "schema": schema}
                for name, schema in _PARAMETERS.items()
                if f"{{{name}}}" in route.path
            ],
            "responses": responses,
            "security": [{"token": []}] if is_of_brain or route.scope else [],
        }
        if route.method == "POST":
            sent = content(route.takes) if route.takes else _OBJECT
            operation["requestBody"] = {"required": True, "content": sent}
        paths[route.path] = {route.method.lower(): operation}
    token = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lessons serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": found["$defs"], "securitySchemes": {"token": token}},
    }
