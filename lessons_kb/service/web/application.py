"""The application of the organisation's server, and the process that runs it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import signal
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import uvicorn
from pydantic import BaseModel, TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route as Endpoint

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.brain.drafts import BRANCH
from lessons_kb.errors import InputError
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.mcp.http import (
    LOOPBACK,
    App,
    Receive,
    Scope,
    Send,
    TimedProtocol,
    build_endpoint,
    listen,
)
from lessons_kb.service.mcp.server import build_server
from lessons_kb.service.mcp.tools import ToolError, Tools
from lessons_kb.service.web.access import NOT_FOUND, PAGE_PATH, Guard
from lessons_kb.service.web.callers import CALLER, Buckets, Logins, Shared, Tokens
from lessons_kb.service.web.metrics import CONTENT_TYPE, Metered
from lessons_kb.service.web.pages.guard import PageGuard, show_message
from lessons_kb.service.web.pages.site import Site
from lessons_kb.service.web.permissions import (
    WRITE_SECONDS,
    Forbidden,
    ServerAdmission,
    require_scope,
)
from lessons_kb.service.web.routes import ROUTES, Route, describe
from lessons_kb.service.web.served_brain import UNAVAILABLE, UNREADABLE, ServedBrain
from lessons_kb.service.web.workers import end_with_parent, run_workers
from lessons_kb.store.settings import (
    PROPOSE,
    READ,
    ServerToken,
    read_tokens,
)

T = TypeVar("T")
ANSWER_SECONDS = 2.0
"""An agent waits for its hooks: later than this an answer is worth less than none."""
WORKER_SECONDS = 30
"""A worker process that gives no sign of life for so long is replaced; importing takes a while."""
SHUTDOWN_SECONDS = 25
"""For the requests being answered when the server is told to stop."""
THREADS = 8
MAX_WAITING = 128
"""Requests that wait for a thread; more are told to come again."""
RATE, MAX_BODY = 100.0, 4_000_000
_RETRY = {"retry-after": "2"}


class Busy(Exception):
    """More requests wait than can be answered in time."""


class AnswerThreads:
    """The threads in which brains are asked: a fixed number, with a bounded queue."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="answer")
        self._waiting = 0

    async def run(self, work: Callable[[], T], *, seconds: float) -> T:
        """Return ``work()``; TimeoutError after some seconds, though the work goes on; Busy."""
        if self._waiting >= MAX_WAITING:
            raise Busy
        self._waiting += 1
        loop = asyncio.get_running_loop()
        working = loop.run_in_executor(self._pool, copy_context().run, work)
        working.add_done_callback(self._done)
        return await asyncio.wait_for(asyncio.shield(working), seconds)

    def _done(self, working: asyncio.Future[Any]) -> None:
        self._waiting -= 1
        if not working.cancelled():
            working.exception()  # of work that nobody waits for any more

    def close(self) -> None:
        """Wait for what is being done: a proposal is written or was never begun."""
        self._pool.shutdown()


class Server:
    """The answers to each route of the table, over some brains."""

    def __init__(
        self,
        brains: Mapping[str, ServedBrain],
        *,
        max_body: int,
        branch: str = BRANCH,
        metrics: str = "",
    ) -> None:
        self._brains = brains
        self._threads = AnswerThreads()
        self._site = Site(brains, branch=branch, run=self._run_page)
        self._admission = ServerAdmission()
        self._tools = {name: Tools(brain, None) for name, brain in brains.items()}
        self._mcp = {
            name: build_endpoint(build_server(brain, admission=self._admission), max_body=max_body)
            for name, brain in brains.items()
        }
        self._description = json.dumps(describe()).encode()
        names = {one.path.removeprefix("/v1/brains/{brain}/"): one.name for one in ROUTES}
        self.metered = Metered(self._routed(), names, folder=metrics)

    def _routed(self) -> Starlette:
        others: Mapping[str, Callable[..., Any]] = {
            "health": self._health,
            "ready": self._ready,
            "metrics": self._metrics,
            "openapi": self._openapi,
            "hooks": self._hook,
            "mcp": _Asgi(self._answer_mcp),
        }
        addresses = []
        answer: Callable[..., Any]
        for route in ROUTES:
            if route.takes is not None:
                answer = partial(self._tool, route, TypeAdapter(route.takes))
            else:
                answer = others[route.name]
            addresses.append(Endpoint(route.path, answer, methods=[route.method]))
        addresses += self._site.routes()
        app = Starlette(
            routes=addresses, lifespan=self._running, exception_handlers={404: _not_found}
        )
        app.router.redirect_slashes = False  # it would lead past a proxy's encryption
        return app

    @contextlib.asynccontextmanager
    async def _running(self, _app: Starlette) -> AsyncIterator[None]:
        end_with_parent()
        async with contextlib.AsyncExitStack() as stack:
            for endpoint in self._mcp.values():
                await stack.enter_async_context(endpoint.run())
            try:
                yield
            finally:
                await asyncio.to_thread(self._threads.close)
                for brain in self._brains.values():
                    brain.close()

    async def _health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _ready(self, _request: Request) -> Response:
        def are_ready() -> bool:
            ready = [brain.is_ready() for brain in self._brains.values()]  # each begins to index
            return all(ready)

        try:
            ready = await self._threads.run(are_ready, seconds=ANSWER_SECONDS)
        except (TimeoutError, Busy):
            ready = False
        if ready:
            return JSONResponse({"ready": True})
        return _error(503, "not every brain can be searched yet", _RETRY)

    async def _metrics(self, _request: Request) -> Response:
        return Response(self.metered.format(), media_type=CONTENT_TYPE)

    async def _openapi(self, _request: Request) -> Response:
        return Response(self._description, media_type="application/json")

    async def _tool(
        self, route: Route, takes: TypeAdapter[BaseModel], request: Request
    ) -> Response:
        brain = request.path_params["brain"]
        tool = f"lessons_{route.name}"
        try:
            require_scope(route.scope)
            asked = takes.validate_json(request.state.body)
            arguments = self._admission.admit(tool, dict(asked))
        except Forbidden as error:
            return _error(403, str(error))
        except ValidationError as error:
            return _error(422, _say_invalid(error))
        except InputError as error:
            return _error(422, str(error))
        work = partial(self._brains[brain].answer, getattr(self._tools[brain], tool), **arguments)
        seconds = WRITE_SECONDS if route.scope == PROPOSE else ANSWER_SECONDS
        try:
            return JSONResponse(await self._threads.run(work, seconds=seconds))
        except Busy:
            return _error(503, "too many requests wait for an answer; come again", _RETRY)
        except TimeoutError:
            CALLER.get().stale.append(f"no answer within {seconds:g} s")
            told = "no answer in time; come again"
        except (ToolError, *UNAVAILABLE) as error:
            told = self._admission.conceal(error)
            if not told:
                return _error(422, str(error))
        if not CALLER.get().stale:
            CALLER.get().stale.append(UNREADABLE)
        if route.silence is not None:
            return JSONResponse(route.silence())
        return _error(503, told, _RETRY)

    async def _hook(self, request: Request) -> Response:
        brain, agent = self._brains[request.path_params["brain"]], request.path_params["agent"]
        try:
            require_scope(READ)
        except Forbidden as error:
            return _error(403, str(error))
        if agent not in AGENTS:
            return _error(404, NOT_FOUND)
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
            said = (await self._threads.run(work, seconds=ANSWER_SECONDS))[0]
        except (Busy, TimeoutError):
            caller.stale.append(f"no answer within {ANSWER_SECONDS:g} s")
            said = AGENTS[agent].silence
        if not said:
            return Response(status_code=204)
        return Response(said, media_type="application/json")

    async def _run_page(self, work: Callable[[], Response]) -> Response | None:
        try:
            return await self._threads.run(work, seconds=WRITE_SECONDS)
        except (Busy, TimeoutError):
            return None

    async def _answer_mcp(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._mcp[scope["path_params"]["brain"]].handle_request(scope, receive, send)


class _Asgi:
    """An application for one address: starlette takes a plain function for something else."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


async def _not_found(request: Request, _missing: Exception) -> Response:
    if PAGE_PATH.fullmatch(request.url.path):
        return show_message(404, request.state.login)
    return _error(404, NOT_FOUND)


def _error(status: int, why: str, headers: Mapping[str, str] | None = None) -> Response:
    return JSONResponse({"error": why}, status_code=status, headers=headers)


def _say_invalid(error: ValidationError) -> str:
    wrong = (
        f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}"
        for one in error.errors(include_url=False, include_input=False, include_context=False)
    )
    return "; ".join(wrong)


@dataclass(frozen=True, kw_only=True, slots=True)
class Address:
    """Where a server listens, and who sees to its encryption."""

    host: str
    port: int
    tls_cert: str = ""
    tls_key: str = ""
    behind_proxy: bool = False
    """A proxy speaks TLS with the clients, and hands their requests on."""

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        return self.host in LOOPBACK and not self.behind_proxy

    def check(self, tokens: Collection[ServerToken]) -> None:
        """Raise InputError unless what other machines can reach has tokens and encryption."""
        if bool(self.tls_cert) != bool(self.tls_key):
            raise InputError("--tls-cert and --tls-key belong together; give both")
        if self.is_local:
            return
        if not tokens:
            raise InputError(
                f"{self.host} can be reached from other machines and there are no tokens; add one "
                "with `lessons serve token add NAME --brain BRAIN`"
            )
        if not self.tls_cert and not self.behind_proxy:
            raise InputError(
                f"{self.host} can be reached from other machines; give --tls-cert and --tls-key, "
                "or --behind-proxy where a proxy speaks TLS"
            )

    def check_certificate(self) -> None:
        """Raise InputError where certificate or key cannot be used."""
        if not self.tls_cert:
            return
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(self.tls_cert, self.tls_key)
        except (OSError, ValueError) as error:
            raise InputError(f"{self.tls_cert}, {self.tls_key}: {error}; check both") from None


def build_app(
    roots: Mapping[str, str],
    *,
    local: bool = True,
    secure: bool = False,
    rate: float = RATE,
    max_body: int = MAX_BODY,
    branch: str = BRANCH,
    shared: Shared | None = None,
) -> App:
    """Return the ASGI application over brains: name → folder; to name one is to trust it.

    ``local`` says that only this machine reaches it; then tokens are asked for only if there are
    any. ``secure`` says that browsers come by HTTPS. ``rate`` is in requests a second and token,
    ``max_body`` in bytes; ``branch`` takes what is accepted on the pages. ``shared`` makes it one
    of several, in as many processes; another one keeps their index up to date.
    """
    watched, shared = shared is None, shared or Shared()
    brains = {name: ServedBrain(name, root, watched=watched) for name, root in roots.items()}
    app = Server(brains, max_body=max_body, branch=branch, metrics=shared.metrics).metered
    tokens, buckets = Tokens(shared, required=not local), Buckets(rate, shared)
    common: dict[str, Any] = {
        "app": app,
        "brains": brains,
        "buckets": buckets,
        "max_body": max_body,
    }
    pages = PageGuard(**common, logins=Logins(tokens, own=shared.secret), secure=secure)
    return Guard(**common, tokens=tokens, local=local, pages=pages)


def serve(
    roots: Mapping[str, str],
    address: Address,
    *,
    rate: float = RATE,
    max_body: int = MAX_BODY,
    branch: str = BRANCH,
    workers: int = 1,
    ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve brains until told to stop; requests being answered then are answered.

    Several ``workers`` are as many processes; one more keeps their index up to date.

    ``ready`` is called once clients can connect. Raises InputError for an address that cannot be
    had or must not be used so, StorageError where the tokens cannot be read.
    """
    address.check(read_tokens())
    address.check_certificate()
    shared = Shared()
    config = uvicorn.Config(
        partial(
            build_app,
            roots,
            local=address.is_local,
            secure=bool(address.tls_cert) or address.behind_proxy,
            rate=rate,
            max_body=max_body,
            branch=branch,
            shared=shared if workers > 1 else None,
        ),
        factory=True,
        workers=workers,
        timeout_worker_healthcheck=WORKER_SECONDS,
        http=TimedProtocol,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        lifespan="on",
        ssl_certfile=address.tls_cert or None,
        ssl_keyfile=address.tls_key or None,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
    )
    with listen(address.host, address.port) as listening:
        ready()
        if workers > 1:
            run_workers(config, listening, roots, shared)
            return
        # uvicorn ends well, then sends itself the signal once more, which would kill the process.
        signal.signal(signal.SIGTERM, lambda *_: None)
        uvicorn.Server(config).run(sockets=[listening])
