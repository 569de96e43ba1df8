"""What Prometheus reads: requests by route and status, never by brain."""

from __future__ import annotations

import time
from collections.abc import Collection, MutableMapping
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)

from lessons_kb.service.mcp.http import App, Receive, Scope, Send
from lessons_kb.service.web.access import BRAIN_PATH, PAGE_PATH
from lessons_kb.service.web.authentication import CALLER

CONTENT_TYPE = CONTENT_TYPE_LATEST
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metered:
    """Counts and times what another application answers, and says why an answer may be old."""

    def __init__(self, app: App, routes: Collection[str], *, folder: str = "") -> None:
        """``routes`` are the first parts of a brain's addresses.

        ``folder`` is where several processes keep their figures, which are summed.
        """
        self._app, self._routes, self._folder = app, routes, folder
        self._registry = registry = CollectorRegistry()
        if not folder:
            ProcessCollector(registry=registry)
        self._requests = Counter(
            "lessons_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            *("lessons_request_seconds", "Seconds until a request was answered.", ["route"]),
            buckets=_BUCKETS,
            registry=registry,
        )
        told = "Answers from an index that was not up to date."
        self._stale = Counter("lessons_stale_answers", told, registry=registry)

    def format(self) -> bytes:
        """Return all figures in Prometheus's text format."""
        if not self._folder:
            return generate_latest(self._registry)
        everybody = CollectorRegistry()
        multiprocess.MultiProcessCollector(everybody, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and count one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, route, status = time.perf_counter(), self._name(scope["path"]), "500"

        async def noted(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                if BRAIN_PATH.fullmatch(scope["path"]) and (stale := CALLER.get().stale):
                    reason = "; ".join(stale).encode("latin-1", "replace")
                    message["headers"] = [*message["headers"], (b"lessons-stale", reason)]
                    self._stale.inc()
            await send(message)

        try:
            await self._app(scope, receive, noted)
        finally:
            self._requests.labels(route, status).inc()
            self._seconds.labels(route).observe(time.perf_counter() - began)

    def _name(self, path: str) -> str:
        if PAGE_PATH.fullmatch(path):
            return "page"
        is_brain = BRAIN_PATH.fullmatch(path)
        part = path.split("/")[4] if is_brain else path.removeprefix("/").removesuffix(".json")
        return part if part in self._routes else "other"
