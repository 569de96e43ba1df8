"""What Prometheus reads: requests by route and status, never by brain."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, MutableMapping
from typing import Any

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)

from lessons_kb.service.mcp.http import App, Receive, Scope, Send
from lessons_kb.service.web.access import BRAIN_PATH, PAGE_PATH

CONTENT_TYPE = CONTENT_TYPE_LATEST
_RUNNING = "gauge_livesum_"
_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
_STALE = b"lessons-stale"


class Metered:
    """Counts and times the requests that another application answers."""

    def __init__(self, app: App, routes: Mapping[str, str], *, folder: str = "") -> None:
        """``routes`` maps the last parts of a brain's address to the names of routes.

        ``folder`` is where several processes keep their figures, which are summed.
        """
        self._app = app
        self._routes = routes
        self._registry = CollectorRegistry()
        self._folder = folder
        if self._folder:
            self._forget_dead()
        else:
            ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "lessons_requests", "Requests answered.", ["route", "status"], registry=self._registry
        )
        self._seconds = Histogram(
            "lessons_request_seconds",
            "Seconds until a request was answered.",
            ["route"],
            buckets=_BUCKETS,
            registry=self._registry,
        )
        self._stale = Counter(
            "lessons_stale_answers",
            "Answers from an index that was not up to date.",
            registry=self._registry,
        )
        self._running = Gauge(
            "lessons_requests_running",
            "Requests being answered.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )

    def format(self) -> bytes:
        """Return all figures in Prometheus's text format."""
        if not self._folder:
            return generate_latest(self._registry)
        everybody = CollectorRegistry()
        multiprocess.MultiProcessCollector(everybody, self._folder)  # type: ignore[no-untyped-call]
        return generate_latest(everybody)

    def _forget_dead(self) -> None:
        """Count no longer what was running in a process that this one may replace."""
        for name in os.listdir(self._folder):
            pid = name.removeprefix(_RUNNING).removesuffix(".db")
            try:
                os.kill(int(pid), 0)
            except ValueError:
                continue  # another figure's file
            except ProcessLookupError:
                dead = int(pid)
                multiprocess.mark_process_dead(dead, self._folder)  # type: ignore[no-untyped-call]

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
                self._stale.inc(any(name == _STALE for name, _value in message["headers"]))
            await send(message)

        with self._running.track_inprogress():
            try:
                await self._app(scope, receive, noted)
            finally:
                self._requests.labels(route, status).inc()
                self._seconds.labels(route).observe(time.perf_counter() - began)

    def _name(self, path: str) -> str:
        if BRAIN_PATH.fullmatch(path):
            path = path.split("/", 4)[4]
        return "page" if PAGE_PATH.fullmatch(path) else self._routes.get(path, "other")
