"""Close HTTP connections whose other side has gone silent; uvicorn waits for ever."""

from __future__ import annotations

import asyncio
import socket

from h11 import IDLE, SEND_BODY
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 20.0
"""Within which a request must arrive whole, counted from the connection or its first byte."""
_KEEPALIVE = {
    "TCP_KEEPIDLE": 60,
    "TCP_KEEPINTVL": 15,
    "TCP_KEEPCNT": 4,
    "TCP_USER_TIMEOUT": 120_000,
}
"""A stream of events may be silent for hours: the system asks whether its reader is still there."""


class TimedProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a deadline for each request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for a request, but not for ever."""
        super().connection_made(transport)
        connection: socket.socket = transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in _KEEPALIVE.items():
            if (option := getattr(socket, name, None)) is not None:
                connection.setsockopt(socket.IPPROTO_TCP, option, value)
        self._wait(unfinished=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._wait(unfinished=False)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait for the rest of a request; more of it buys no time."""
        super().data_received(data)
        self._wait(unfinished=self.conn.their_state in {IDLE, SEND_BODY})

    def _wait(self, *, unfinished: bool) -> None:
        if not unfinished and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif unfinished and self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.abort)
