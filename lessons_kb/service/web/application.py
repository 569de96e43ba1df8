"""The application of the organisation's server, and the processes that run it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import ssl
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from socket import socket
from typing import Any, TypeVar

import uvicorn
from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.exceptions import ExceptionMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Endpoint
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.watching import Watching
from lessons_kb.collection.branch_review import BRANCH
from lessons_kb.errors import InputError
from lessons_kb.process.programs import watch_parent
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.mcp.server import (
    LOOPBACK,
    TimedProtocol,
    build_endpoint,
    build_server,
    listen,
    say_invalid,
)
from lessons_kb.service.mcp.tools import ToolError, Tools
from lessons_kb.service.web.access import BRAIN_PATH, PAGE_PATH, Guard, show_error
from lessons_kb.service.web.authentication import CALLER, Shared, Tokens
from lessons_kb.service.web.pages import route_pages
from lessons_kb.service.web.routes import ROUTES, Route, describe
from lessons_kb.service.web.served_brain import UNAVAILABLE, UNREADABLE, ServedBrain
from lessons_kb.service.web.tool_access import (
    WRITE_SECONDS,
    Forbidden,
    SharedServer,
    admit,
    conceal,
    require_scope,
)
from lessons_kb.store.server_tokens import PROPOSE, READ, ServerToken, read_tokens
from lessons_kb.values import frozen

T = TypeVar("T")
ANSWER_SECONDS = 2.0
"""Time limit of an answer. An agent waits for its hooks, so that a late answer does harm."""
WORKER_SECONDS = 30
"""Seconds after which an unresponsive worker process is replaced. Its imports take some time."""
SHUTDOWN_SECONDS = 25
"""Seconds for the requests in progress when the server stops."""
THREADS = 2
"""Number of threads that search. One reads a brain while another runs Python code, and more threads
would be slower.
"""
WRITERS = 8
"""Number of threads for work that may take seconds, so that it does not delay the answers."""
_PAUSE_SECONDS = 0.002
"""Pause, in seconds, in which another worker can accept the next connection. It limits each worker
to 500 connections per second.
"""
MAX_WAITING = 128
"""Maximum number of requests that wait for a thread. Others are answered with 503 and
``Retry-After``.
"""
MAX_BODY = 4_000_000
"""Maximum size of a request body, in bytes."""
_RETRY = {"retry-after": "2"}
_METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable that prometheus_client reads when a worker imports it."""
_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Bounds of the histogram of answering times."""


class Busy(TimeoutError):
    """More requests are waiting than can be answered in time."""


class Server:
    """The application behind ``Guard``, which answers every route with a fixed number of threads.

    It counts and times each request. If an answer may be outdated, a header gives the reason.
    """

    def __init__(
        self, brains: Mapping[str, ServedBrain], *, max_body: int, branch: str, metrics: str
    ) -> None:
        """``metrics`` is the folder in which several processes store their metrics, or "" for one
        process.
        """
        self._brains = brains
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="answer")
        self._writers = ThreadPoolExecutor(WRITERS, thread_name_prefix="write")
        self._waiting = 0
        self._tools = {name: Tools(brain, None) for name, brain in brains.items()}
        self._endpoints = {
            name: build_endpoint(build_server(brain, kind=SharedServer), max_body=max_body)
            for name, brain in brains.items()
        }
        self._health, self._openapi = JSONResponse({"status": "ok"}), JSONResponse(describe())
        pages = route_pages(brains, branch=branch, run=self._run_page)
        app = Starlette(
            routes=[*map(self._build_endpoint, ROUTES), *pages],
            lifespan=self._run_lifespan,
            exception_handlers={
                HTTPException: show_error,  # type: ignore[dict-item]
                InputError: _refuse,
                ValidationError: _refuse,
            },
        )
        app.router.redirect_slashes = False  # behind a proxy it would redirect from https to http
        registry = CollectorRegistry()
        self._app, self._folder, self._registry = app, metrics, registry
        if not metrics:
            ProcessCollector(registry=registry)
        self._requests = Counter(
            "lessons_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            "lessons_request_seconds",
            "Seconds until a request was answered.",
            ["route"],
            registry=registry,
            buckets=_SECONDS,
        )
        self._stale = Counter(
            "lessons_stale_answers",
            "Answers from an index that was not up to date.",
            registry=registry,
        )

    def _build_endpoint(self, route: Route) -> Endpoint:
        """Return Starlette's route for a row of our table."""
        answer = partial(self._tool, route) if route.takes else getattr(self, f"_{route.name}")
        return Endpoint(route.path, answer, methods=[route.method])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer and count one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        began = time.perf_counter()
        status = "500"

        async def send_noted(message: MutableMapping[str, Any]) -> None:
            """Send a message and record the status. The reasons for a stale answer are added."""
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
                stale = CALLER.get().stale if BRAIN_PATH.fullmatch(path) else []
                if stale:
                    reason = "; ".join(stale).encode("latin-1", "replace")
                    message["headers"] = [*message["headers"], (b"lessons-stale", reason)]
                    self._stale.inc()
            await send(message)

        try:
            await self._app(scope, receive, send_noted)
        finally:
            route = _route_label(path)
            self._requests.labels(route, status).inc()
            self._seconds.labels(route).observe(time.perf_counter() - began)

    @contextlib.asynccontextmanager
    async def _run_lifespan(self, _app: Starlette) -> AsyncIterator[None]:
        """Run the MCP endpoints. At the end, wait for the threads and close the brains."""
        watch_parent(partial(signal.raise_signal, signal.SIGTERM))
        async with contextlib.AsyncExitStack() as stack:
            for endpoint in self._endpoints.values():
                await stack.enter_async_context(endpoint.run())
            try:
                yield
            finally:
                # A proposal that has begun is still written.
                for threads in (self._threads, self._writers):
                    await asyncio.to_thread(threads.shutdown)
                for brain in self._brains.values():
                    brain.close()

    async def _run(self, work: Callable[[], T], *, seconds: float) -> T:
        """Call ``work()`` in a thread and return its result.

        Raises TimeoutError after ``seconds``, although the work continues. Raises Busy if too many
        requests are waiting.
        """
        if self._waiting >= MAX_WAITING:
            raise Busy
        self._waiting += 1
        loop = asyncio.get_running_loop()
        threads = self._threads if seconds <= ANSWER_SECONDS else self._writers
        future = loop.run_in_executor(threads, copy_context().run, work)

        def end(done: asyncio.Future[Any]) -> None:
            self._waiting -= 1
            if not done.cancelled():
                done.exception()  # marks it as retrieved, even if nobody is waiting any more

        future.add_done_callback(end)
        return await asyncio.wait_for(asyncio.shield(future), seconds)

    async def _ready(self, _request: Request) -> Response:
        def check_brains() -> list[bool]:
            # A list, so that every brain without an index starts to build it.
            return [brain.is_ready() for brain in self._brains.values()]

        with contextlib.suppress(TimeoutError):
            if all(await self._run(check_brains, seconds=ANSWER_SECONDS)):
                return JSONResponse({"ready": True})
        raise HTTPException(503, "not every brain can be searched yet", _RETRY)

    async def _metrics(self, _request: Request) -> Response:
        registry = self._registry
        if self._folder:
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry, self._folder)  # type: ignore[no-untyped-call]
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    async def _mcp(self, request: Request) -> ASGIApp:
        return self._endpoints[request.path_params["brain"]].handle_request

    async def _tool(self, route: Route, request: Request) -> Response:
        name, tool = request.path_params["brain"], f"lessons_{route.name}"
        stale = CALLER.get().stale
        require_scope(route.scope)
        assert route.takes is not None  # noqa: S101 every route of a tool has a model
        arguments = admit(tool, dict(route.takes.model_validate_json(request.state.body)))
        work = partial(self._brains[name].answer, getattr(self._tools[name], tool), **arguments)
        seconds = WRITE_SECONDS if route.scope == PROPOSE else ANSWER_SECONDS
        try:
            return JSONResponse(await self._run(work, seconds=seconds))
        except Busy:
            message = "too many requests wait for an answer; try again later"
            raise HTTPException(503, message, _RETRY) from None
        except TimeoutError:
            stale.append(f"no answer within {seconds:g} s")
            message = "no answer in time; try again later"
        except (ToolError, *UNAVAILABLE) as error:
            message = conceal(error)
            if not message:
                raise HTTPException(422, str(error)) from None
        if not stale:
            stale.append(UNREADABLE)
        if route.silence is None:
            raise HTTPException(503, message, _RETRY)
        return JSONResponse(route.silence())

    async def _hooks(self, request: Request) -> Response:
        brain, agent = self._brains[request.path_params["brain"]], request.path_params["agent"]
        require_scope(READ)
        if agent not in AGENTS:
            raise HTTPException(404)
        caller = CALLER.get()
        work = partial(
            brain.answer,
            answer_event,
            agent,
            request.state.body,
            {},
            look=brain.look,
            find=brain.open,
            posted_by=caller.name,
        )
        try:
            output = (await self._run(work, seconds=ANSWER_SECONDS))[0]
        except TimeoutError:
            caller.stale.append(f"no answer within {ANSWER_SECONDS:g} s")
            output = AGENTS[agent].silence
        if not output:
            return Response(status_code=204)
        return Response(output, media_type="application/json")

    async def _run_page(self, work: Callable[[], Response]) -> Response:
        try:
            return await self._run(work, seconds=WRITE_SECONDS)
        except TimeoutError:
            raise HTTPException(503) from None


def _route_label(path: str) -> str:
    """Return the label of a path in the metrics: "page", a route's name, or "other"."""
    if PAGE_PATH.fullmatch(path):
        return "page"
    if BRAIN_PATH.fullmatch(path):
        name = path.split("/")[4]
    else:
        name = path.removeprefix("/").removesuffix(".json")
    return name if any(name == route.name for route in ROUTES) else "other"


async def _refuse(request: Request, error: Exception) -> Response:
    """Return the answer for a request that is not valid."""
    message = say_invalid(error) if isinstance(error, ValidationError) else str(error)
    status = 403 if isinstance(error, Forbidden) else 422
    return await show_error(request, HTTPException(status, message))


def build_app(
    roots: Mapping[str, str],
    *,
    local: bool = True,
    max_body: int = MAX_BODY,
    branch: str = BRANCH,
    shared: Shared | None = None,
    **how: Any,
) -> ASGIApp:
    """Return the ASGI application for some brains. ``roots`` maps the name of each brain to its
    folder. A folder that is named here is trusted.

    ``local`` states that only this machine reaches the server. Requests then need a token only if a
    token exists. ``max_body`` is in bytes. Accepted drafts are committed on ``branch``. ``shared``
    is for one of several worker processes. Another process then keeps the index up to date. ``how``
    contains the other fields of ``Guard``.
    """
    watched = shared is None
    shared = shared or Shared()
    brains = {name: ServedBrain(name, root, watched=watched) for name, root in roots.items()}
    app = Server(brains, max_body=max_body, branch=branch, metrics=shared.metrics)
    how |= {"tokens": Tokens(shared, required=not local), "shared": shared, "local": local}
    guard = Guard(app=app, brains=brains, max_body=max_body, **how)
    return ExceptionMiddleware(guard, {HTTPException: show_error})  # type: ignore[dict-item]


@frozen
class Address:
    """The address on which a server listens, and its encryption."""

    host: str
    port: int
    tls_cert: str = ""
    tls_key: str = ""
    behind_proxy: bool = False
    """Whether a proxy terminates TLS and forwards the requests."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return self.host in LOOPBACK and not self.behind_proxy

    def check(self, tokens: Collection[ServerToken]) -> None:
        """Raise InputError if other machines can reach the server without tokens or encryption."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InputError("--tls-cert and --tls-key belong together; give both")
        if self.is_local:
            return
        reached = f"{self.host} can be reached from other machines"
        if not tokens:
            add = "add one with `lessons serve token add NAME --brain BRAIN`"
            raise InputError(f"{reached} and there are no tokens; {add}")
        if not self.tls_cert and not self.behind_proxy:
            advice = "give --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS"
            raise InputError(f"{reached}; {advice}")


def serve(
    roots: Mapping[str, str],
    address: Address,
    *,
    workers: int = 1,
    ready: Callable[[], None] = lambda: None,
    **how: Any,
) -> None:
    """Serve brains until a signal stops the process. Requests in progress are answered first.

    If ``workers`` is above 1, that many processes serve, and this process keeps the index up to
    date. ``ready`` is called as soon as clients can connect. ``how`` is passed to ``build_app``.

    Raises InputError for an address that is not available or not safe, and for a certificate that
    cannot be loaded. Raises StorageError if the tokens cannot be read.
    """
    address.check(read_tokens())
    certificate, key = address.tls_cert, address.tls_key
    try:
        if certificate:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        raise InputError(f"{certificate}, {key}: {error}; check both") from None
    shared = Shared()
    app = partial(
        build_app,
        roots,
        local=address.is_local,
        secure=bool(certificate) or address.behind_proxy,
        shared=shared if workers > 1 else None,
        **how,
    )
    config = uvicorn.Config(
        app,
        factory=True,
        loop=f"{__name__}:FairLoop",
        workers=workers,
        timeout_worker_healthcheck=WORKER_SECONDS,
        http=TimedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ssl_certfile=certificate or None,
        ssl_keyfile=key or None,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    with listen(address.host, address.port) as listening:
        ready()
        if workers > 1:
            _run_workers(config, listening, roots, shared)
            return
        # After a clean shutdown uvicorn raises the signal again, which would kill the process.
        signal.signal(signal.SIGTERM, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listening])


class FairLoop(asyncio.SelectorEventLoop):
    """An event loop that accepts one connection, then pauses so that other workers accept the next.

    Clients keep connections open. A worker that accepted all of them would be the only one to
    answer for as long as they last.
    """

    def _accept_connection(
        self, factory: Any, sock: socket, ssl: Any, server: Any, _many: int, *how: Any
    ) -> None:
        super()._accept_connection(factory, sock, ssl, server, 1, *how)  # type: ignore[misc]
        if self._remove_reader(sock.fileno()):  # type: ignore[attr-defined]
            self.call_later(_PAUSE_SECONDS, self._accept_again, sock, factory, ssl, server, 1, *how)

    def _accept_again(self, sock: socket, factory: Any, *how: Any) -> None:
        if sock.fileno() >= 0:  # the server closes it when it stops
            self._start_serving(factory, sock, *how)  # type: ignore[attr-defined]


def _run_workers(
    config: uvicorn.Config, listening: socket, roots: Mapping[str, str], shared: Shared
) -> None:
    """Run the worker processes of ``config`` until a signal stops this process.

    This process indexes changes, and the workers read its commits. A worker that dies is replaced.
    """
    brains = [Brain(root, alias=name) for name, root in roots.items()]
    with tempfile.TemporaryDirectory(prefix="lessons-metrics-") as folder:
        os.environ[_METRICS_VARIABLE] = shared.metrics = folder
        watching = Watching(brains, tick=1.0)
        try:
            supervisor = Multiprocess(config, [listening])
            supervisor.run()
        finally:
            watching.stop(wait=True)
            for brain in brains:
                brain.close()
            del os.environ[_METRICS_VARIABLE]
    if any(worker.exitcode == STARTUP_FAILURE for worker in supervisor.processes):
        sys.exit(STARTUP_FAILURE)
