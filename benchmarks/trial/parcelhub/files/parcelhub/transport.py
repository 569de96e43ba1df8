"""HTTP behind one small class; tests replace it."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from typing import Any


class Timeout(Exception):
    """No answer came in time; whether the request arrived is unknown."""


@dataclass
class Response:
    status: int
    body: dict[str, Any] = field(default_factory=dict)


class Transport:
    """Sends JSON, returns JSON."""

    def __init__(self, seconds: float = 10.0) -> None:
        self.seconds = seconds

    def request(
        self,
        method: str,
        url: str,
        *,
        headers: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
    ) -> Response:
        data = json.dumps(body).encode() if body is not None else None
        sent = {"Content-Type": "application/json", **(headers or {})}
        request = urllib.request.Request(url, data=data, headers=sent, method=method)
        try:
            with urllib.request.urlopen(request, timeout=self.seconds) as answer:
                return Response(answer.status, json.loads(answer.read() or b"{}"))
        except urllib.error.HTTPError as error:
            return Response(error.code, {"error": error.reason})
        except (TimeoutError, socket.timeout) as error:
            raise Timeout(url) from error
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise Timeout(url) from error
            raise
