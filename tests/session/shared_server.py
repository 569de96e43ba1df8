"""A server that answers as it is told, in the place of `lessons serve`."""

import contextlib
import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[BaseHTTPRequestHandler], None]
LESSON = {
    "id": "lessons/never-retry-payments.md",
    "kind": "lesson",
    "title": "Never retry a payment without an idempotency key",
    "severity": "high",
    "occurrences": 3,
    "why": "the provider charges each request.",
    "checklist": ["Send an idempotency key", "Cover the retry with a test"],
    "shown_by": [],
    "conditional": False,
    "paths": [],
    "gate": "none",
    "detect": [],
    "score": 12.0,
    "confidence": 0.998,
}


class FakeServer:
    """Listens on loopback; ``answer`` is what it does with a request, ``seen`` what came."""

    def __init__(self):
        self.seen: list[tuple[str, dict[str, str], Any]] = []
        self.lessons: list[Any] = [LESSON]
        self.answer: Answer = self.give
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                outer.seen.append((self.path, dict(self.headers.items()), json.loads(body)))
                with contextlib.suppress(OSError):
                    outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1/brains/shop"

    def give(self, handler):
        send(handler, json.dumps({"lessons": self.lessons}).encode())

    @contextlib.contextmanager
    def running(self):
        thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self.http.shutdown()
            self.http.server_close()
            thread.join()


def send(handler, body, *, status=200):
    handler.send_response(status)
    handler.send_header("content-length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
