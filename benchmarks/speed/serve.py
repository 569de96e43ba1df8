"""One server with two workers and a loader on one machine: requests a second, latencies, memory.

First ``CLIENTS`` requests are always in the air, which tells the most that the server answers; then
requests are sent at fixed rates, and a latency counts from the moment when its request was due.
Everything shares the machine's cores, the loader too. What is printed are the tables of
docs/figures.md: ``processor ms`` is what the server spends on one request, ``cores`` what it uses,
and what the loader does.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import quantiles
from typing import TYPE_CHECKING

import httpx

from benchmarks import report
from benchmarks.generate import learn_statistics, make_prompt, open_brain_folder
from benchmarks.ours import open_indexed, private_state

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

SIZES, WORKERS, CLIENTS, WORDS = (1_000, 10_000, 100_000), 2, 16, 25
REQUESTS, QUICK, WARM = 600, 200, 1_000
RATES, SECONDS = (100, 200, 500, 1_000), 5
_READY_SECONDS = 120.0
_LESSONS = (sys.executable, "-c", "from lessons_kb.cli.entry import main; main()")
_ROUTES = ("match", "preflight", "search", "hooks/claude-code")
_MEASURED = ("requests/s", "p50 ms", "p99 ms", "silent", "processor ms", "cores")
_HEADERS = ("cards", "address", *_MEASURED, "MB a worker")
_AT_RATES = ("cards", "sent/s", *_MEASURED)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure each size of brain and each address; return all figures."""
    most: list[dict[str, Any]] = []
    at_rates: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        for size in SIZES[:1] if options.quick else SIZES:
            folder = open_brain_folder(size, seed=options.seed)
            with open_indexed(folder):
                pass
            with ExitStack() as stack:
                server = _Server(stack, folder, size, options)
                most += (asked := [server.measure_most(route) for route in _ROUTES])
                at_rates += (sent := [server.measure_rate(rate) for rate in RATES])
            about = f"{size:,} cards, {WORKERS} workers, {os.cpu_count()} cores"
            for title, headers, rows in (
                (f"{CLIENTS} requests at once, {about}", _HEADERS, asked),
                (f"match at fixed rates, {about}", _AT_RATES, sent),
            ):
                cells = [[str(row[key]) for key in headers] for row in rows]
                report.print_table(title, headers, cells)
    return {"most": most, "at_rates": at_rates}


class _Server:
    """``lessons serve`` with its workers, and the prompts that it is asked."""

    def __init__(
        self, stack: ExitStack, folder: Path, size: int, options: argparse.Namespace
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [
            *(*_LESSONS, "serve", f"bench={folder}", "--port", str(self.port)),
            *("--rate", "1000000", "--workers", str(WORKERS)),
        ]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        stack.callback(process.wait)
        stack.callback(process.terminate)
        self.size, self.quick, self.pid = size, options.quick, process.pid
        words = learn_statistics()
        count = WARM + max(RATES) * SECONDS
        self.prompts = [
            make_prompt(words, number % size, seed=options.seed, words=WORDS)
            for number in range(count)
        ]
        self._wait()
        self._send("match", self.prompts[:WARM])

    def _wait(self) -> None:
        until = time.monotonic() + _READY_SECONDS
        while len(self._workers()) < WORKERS or not self._is_ready():
            if time.monotonic() > until:
                raise RuntimeError("the server is never ready")
            time.sleep(0.1)

    def _is_ready(self) -> bool:
        try:
            answer = httpx.get(f"http://127.0.0.1:{self.port}/ready", timeout=10)
        except httpx.HTTPError:
            return False
        return answer.status_code == httpx.codes.OK

    def _workers(self) -> list[int]:
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text("ascii").split()
        commands = {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes() for pid in children}
        return [pid for pid, command in commands.items() if b"spawn_main" in command]

    def measure_most(self, route: str) -> dict[str, Any]:
        """Return the figures of an address that is asked as fast as it answers."""
        prompts = self.prompts[: QUICK if self.quick else REQUESTS]
        self._send(route, prompts[:QUICK])
        memory = max(map(_memory, self._workers())) / 1e6
        figures = {"address": route, **self._send(route, prompts)}
        return {**figures, "MB a worker": round(memory)}

    def measure_rate(self, rate: int) -> dict[str, Any]:
        """Return the figures of ``match`` at so many requests a second."""
        seconds = 1 if self.quick else SECONDS
        return {"sent/s": rate, **self._send("match", self.prompts[WARM:][: rate * seconds], rate)}

    def _send(self, route: str, prompts: Sequence[str], rate: int = 0) -> dict[str, Any]:
        requests = [self._request(route, number, text) for number, text in enumerate(prompts)]
        pids = [self.pid, *self._workers()]
        began, own, spent = time.perf_counter(), time.process_time(), sum(map(_spent, pids))
        times, silent = asyncio.run(_load(self.port, requests, rate))
        seconds = time.perf_counter() - began
        loader, busy = time.process_time() - own, sum(map(_spent, pids)) - spent
        cuts = quantiles(times, n=100)
        return {
            "cards": self.size,
            "requests/s": round(len(times) / seconds, 1),
            "p50 ms": round(cuts[49] * 1_000, 1),
            "p99 ms": round(cuts[98] * 1_000, 1),
            "silent": silent,
            "processor ms": round(1_000 * busy / len(prompts), 2),
            "cores": f"{busy / seconds:.2f} + {loader / seconds:.2f}",
        }

    def _request(self, route: str, number: int, prompt: str) -> bytes:
        body = json.dumps(_body(route, number, prompt)).encode()
        head = (
            f"POST /v1/brains/bench/{route} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


async def _load(port: int, requests: Sequence[bytes], rate: int) -> tuple[list[float], int]:
    """Send all requests; return the seconds that each took, and how many drew silence.

    Over plain sockets: a client library would take more of the machine than the server.
    """
    loop = asyncio.get_running_loop()
    waiting, began = iter(enumerate(requests)), loop.time()
    times: list[float] = []
    silent = 0

    async def work() -> None:
        nonlocal silent
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number, request in waiting:
            due = began + number / rate if rate else loop.time()
            await asyncio.sleep(max(due - loop.time(), 0))
            writer.write(request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            if not head.startswith(b"http/1.1 20"):
                raise RuntimeError(head.decode())
            if b"content-length:" in head:
                size = head.partition(b"content-length:")[2].partition(b"\r\n")[0]
                await reader.readexactly(int(size))
            times.append(loop.time() - due)
            silent += b"no answer" in head
        writer.close()

    await asyncio.gather(*(work() for _ in range(CLIENTS)))
    return times, silent


def _body(route: str, number: int, prompt: str) -> dict[str, str]:
    if route == "search":
        return {"query": prompt}
    if route == "match":
        return {"prompt": prompt, "directory": "/bench"}
    session = f"{time.time_ns()}-{number}"
    if route == "preflight":
        return {"prompt": prompt, "session": session}
    event = {"hook_event_name": "UserPromptSubmit", "session_id": session}
    return {**event, "cwd": "/home/dev/bench", "prompt": prompt}


def _spent(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
