"""The table of routes, from which the server answers and the OpenAPI description is made."""

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
    """One route: its path, its request and its answer."""

    name: str
    path: str
    summary: str
    method: str = "GET"
    scope: str = ""
    """The scope that a token needs, or "" if the route itself does not require a scope."""
    takes: type[BaseModel] | None = None
    """The model of the request, from the parameters of the MCP tool. None allows any JSON object,
    or no body.
    """
    answers: Any = None
    """The type of the answer. None means any JSON object, or text."""
    silence: Callable[[], Any] | None = None
    """Builds the answer if the brain cannot be searched. If it is None, the answer is an error."""


def _tool_route(
    answers: Any, summary: str, name: str, silence: Callable[[], Any] | None = None
) -> Route:
    """Return the route of an MCP tool. The request has the parameters of the tool."""
    method = getattr(Tools, f"lessons_{name}")
    hints = get_type_hints(method, include_extras=True)
    _self, *parameters = inspect.signature(method).parameters.values()
    fields: dict[str, Any] = {}
    for parameter in parameters:
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], default)
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
    _tool_route(Block, "The lessons for a task.", "preflight", lambda: show_block({})),
    _tool_route(Matches, _MATCH, "match", lambda: Matches(lessons=[])),
    _tool_route(Hits, "Cards and notes, best first.", "search", lambda: Hits(hits=[])),
    _tool_route(Checked, "What became of each checklist item.", "check"),
    _tool_route(Proposed, "Draft a lesson, for review.", "propose"),
    Route(
        name="hooks", method="POST", path=f"{_BRAIN}/hooks/{{agent}}", summary=_HOOKS, scope=READ
    ),
    Route(name="mcp", method="POST", path=f"{_BRAIN}/mcp", summary=_MCP),
)


class Error(TypedDict):
    """The reason why there is no answer."""

    error: str


def describe() -> dict[str, Any]:
    """Return the OpenAPI description of the table."""
    types: list[Any] = [Error]
    for route in ROUTES:
        types += filter(None, (route.takes, route.answers))
    adapters = [(kind, "validation", TypeAdapter(kind)) for kind in types]
    references, schemas = TypeAdapter.json_schemas(adapters, ref_template=_REFERENCE)  # type: ignore[arg-type]

    def content(kind: Any) -> dict[str, Any]:
        return {"application/json": {"schema": references.get((kind, "validation"), {})}}

    paths = {}
    for route in ROUTES:
        paths[route.path] = {route.method.lower(): _describe_operation(route, content)}
    token = {"type": "http", "scheme": "bearer"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "lessons serve", "version": __version__},
        "paths": paths,
        "components": {"schemas": schemas["$defs"], "securitySchemes": {"token": token}},
    }


def _describe_operation(route: Route, content: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return a route's operation. ``content`` returns the media types for a type of the API."""
    has_brain = _BRAIN in route.path
    parameters = []
    for name, schema in _PARAMETERS.items():
        if f"{{{name}}}" in route.path:
            parameters.append({"name": name, "in": "path", "required": True, "schema": schema})
    operation = {
        "operationId": route.name,
        "summary": route.summary,
        "parameters": parameters,
        "responses": _describe_responses(route, content),
        "security": [{"token": []}] if has_brain or route.scope else [],
    }
    if route.method == "POST":
        body = content(route.takes) if route.takes else _OBJECT
        operation["requestBody"] = {"required": True, "content": body}
    return operation


def _describe_responses(route: Route, content: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    """Return a route's responses by status: the answer, an empty answer, and errors."""
    answer: dict[str, Any] = {"description": route.summary, "content": content(route.answers)}
    codes = ["401", "403", "429"] if route.scope else []
    if route.name == "metrics":
        answer["content"] = {"text/plain": {"schema": {"type": "string"}}}
    if _BRAIN in route.path:
        reason = {"schema": {"type": "string"}, "description": "Why the answer may be old."}
        answer["headers"] = {"Lessons-Stale": reason}
        codes = [*_ERRORS]
    if route.name == "ready":
        codes.append("503")
    responses = {"200": answer}
    empty = {"hooks": "204", "mcp": "202"}.get(route.name)
    if empty:
        responses[empty] = {"description": "Nothing to say."}
    for code in codes:
        responses[code] = {"description": _ERRORS[code], "content": content(Error)}
    return responses
