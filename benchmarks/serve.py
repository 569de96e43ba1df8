"""Two server processes and a loader on one machine: requests a second, latencies, memory.

The loader keeps ``CLIENTS`` requests in the air, half of them at each server; both serve one brain
of generated cards. Everything shares the machine's cores, the loader too. What is printed is the
table of docs/capacity.md: ``processor ms`` is what the servers spend on one request, ``cores`` what
they use, and what the loader does.
"""

from __future__ import annotations

import asyncio
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

SIZES, SERVERS, CLIENTS, WORDS = (1_000, 12_000, 100_000), 2, 8, 25
REQUESTS, QUICK, WARM = 600, 200, 100
_FULL = 0.9
"""Share of the cores from which on they are what limits the rate."""
_READY_SECONDS = 120.0
_LESSONS = (sys.executable, "-c", "from lessons_kb.cli.entry import main; main()")
_ROUTES = ("match", "preflight", "search", "hooks/claude-code")
_HEADERS = (
    *("cards", "address", "requests/s", "p50 ms", "p99 ms", "silent"),
    *("MB a server", "processor ms", "cores", "saturated"),
)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure each size of brain and each address; return all figures."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        for size in SIZES[:1] if options.quick else SIZES:
            folder = open_brain_folder(size, seed=options.seed)
            with open_indexed(folder):
                pass
            rows += _measure(folder, size, options)
    report.print_table(
        f"{SERVERS} servers, {CLIENTS} requests at once, {os.cpu_count()} cores",
        _HEADERS,
        [[_cell(row[key]) for key in _HEADERS] for row in rows],
    )
    return {"rows": rows}


def _cell(value: object) -> str:
    return value if isinstance(value, str) else f"{value:,}"


def _measure(folder: Path, size: int, options: argparse.Namespace) -> list[dict[str, Any]]:
    words = learn_statistics()
    count = QUICK if options.quick else REQUESTS
    prompts = [
        make_prompt(words, number % size, seed=options.seed, words=WORDS) for number in range(count)
    ]
    with ExitStack() as stack:
        servers = [_start(stack, folder) for _ in range(SERVERS)]
        urls = [url for url, _pid in servers]
        rows = []
        for route in _ROUTES:
            asyncio.run(_load(urls, route, prompts[:WARM]))
            began, spent = time.perf_counter(), [_spent(pid) for _url, pid in servers]
            own = time.process_time()
            times, silent = asyncio.run(_load(urls, route, prompts))
            seconds = time.perf_counter() - began
            loader = (time.process_time() - own) / seconds
            busy = sum(
                _spent(pid) - before for (_url, pid), before in zip(servers, spent, strict=True)
            )
            cuts = quantiles(times, n=100)
            rows.append(
                {
                    "cards": size,
                    "address": route,
                    "requests/s": round(len(times) / seconds, 1),
                    "p50 ms": round(cuts[49] * 1_000, 1),
                    "p99 ms": round(cuts[98] * 1_000, 1),
                    "silent": silent,
                    "MB a server": round(max(_memory(pid) for _url, pid in servers) / 1e6),
                    "processor ms": round(1_000 * busy / len(prompts), 1),
                    "cores": f"{busy / seconds:.2f} + {loader:.2f}",
                    "saturated": _name_limit(busy / seconds, loader),
                }
            )
        return rows


def _start(stack: ExitStack, folder: Path) -> tuple[str, int]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [*_LESSONS, "serve", f"bench={folder}", "--port", str(port), "--rate", "1000000"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    url = f"http://127.0.0.1:{port}"
    until = time.monotonic() + _READY_SECONDS
    while time.monotonic() < until:
        try:
            if httpx.get(f"{url}/ready", timeout=10).status_code == httpx.codes.OK:
                return url, process.pid
        except httpx.HTTPError:
            pass
        time.sleep(0.1)
    raise RuntimeError("the server is never ready")


async def _load(urls: Sequence[str], route: str, prompts: Sequence[str]) -> tuple[list[float], int]:
    """Send all prompts; return the seconds that each took, and how many drew silence.

    Silence is an answer that was not in time, or a connection that ended without one.
    """
    waiting = iter(enumerate(prompts))
    times: list[float] = []
    silent = 0

    async def work(url: str) -> None:
        nonlocal silent
        async with httpx.AsyncClient(timeout=60) as client:
            for number, prompt in waiting:
                began = time.perf_counter()
                path = f"{url}/v1/brains/bench/{route}"
                try:
                    answer = await client.post(path, json=_body(route, number, prompt))
                except httpx.TransportError:
                    silent += 1
                    continue
                answer.raise_for_status()
                times.append(time.perf_counter() - began)
                silent += "no answer" in answer.headers.get("lessons-stale", "")

    await asyncio.gather(*(work(urls[one % len(urls)]) for one in range(CLIENTS)))
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


def _name_limit(servers: float, loader: float) -> str:
    """Return what keeps the rate from growing: each server is one interpreter, one core's worth."""
    if servers + loader >= _FULL * (os.cpu_count() or 1):
        return "processor"
    return "interpreters" if servers >= _FULL * SERVERS else "none of these"


def _spent(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
