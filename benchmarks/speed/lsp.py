"""The language server as an editor meets it: the same findings as the command line, and how soon.

A session over standard input and output. Milliseconds count from the change that is sent until its
diagnostics are received, the server's pause for a typist included.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

import lessons_kb
from benchmarks import metrics, report
from benchmarks.data import EXAMPLE, data_folder
from benchmarks.ours import own_brain, private_state
from lessons_kb.detect.matcher import find_language, name_example

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Sequence
    from typing import Any

LESSONS = (sys.executable, "-c", "from lessons_kb.cli.entry import main; main()")
SOURCES = Path(lessons_kb.__file__).parent
LINES, PATTERNS, ROUNDS = 5_000, 200, 25
QUIET_SECONDS = 3.0
"""Without a word from the server: it has said everything."""
MOST_PATTERNS = 400
_CALL = re.compile(r"\b([A-Za-z_]\w{4,})\(")
_FENCE = re.compile(r"^ *```(\S*)[^\n]*\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


class Editor(BaseLanguageClient):
    """Receives diagnostics."""

    def __init__(self) -> None:
        super().__init__("benchmark", "1")
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.heard = time.monotonic()
        self.waiting: tuple[str, int, asyncio.Future[float]] | None = None

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params
            self.heard = time.monotonic()
            if self.waiting and self.waiting[:2] == (params.uri, params.version):
                self.waiting[2].set_result(time.perf_counter())
                self.waiting = None

    @property
    def process(self) -> int:
        """The server's."""
        return self._server.pid if self._server else 0

    async def open(self, path: Path, text: str) -> float:
        """Open a file; return the milliseconds until its diagnostics."""
        item = types.TextDocumentItem(uri=path.as_uri(), language_id="", version=1, text=text)
        return await self._time(
            path, 1, lambda: self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        )

    async def type(self, path: Path, version: int, line: int, text: str) -> float:
        """Type at the beginning of a line; return the milliseconds until the diagnostics."""
        at = types.Position(line, 0)
        change = types.TextDocumentContentChangePartial(range=types.Range(at, at), text=text)
        document = types.VersionedTextDocumentIdentifier(uri=path.as_uri(), version=version)
        params = types.DidChangeTextDocumentParams(document, [change])
        return await self._time(path, version, lambda: self.text_document_did_change(params))

    async def rest(self) -> None:
        """Wait until the server says nothing more."""
        while time.monotonic() - self.heard < QUIET_SECONDS:  # noqa: ASYNC110
            await asyncio.sleep(0.1)

    async def _time(self, path: Path, version: int, send: Any) -> float:
        future = asyncio.get_running_loop().create_future()
        self.waiting = (path.as_uri(), version, future)
        begun = time.perf_counter()
        send()
        return (await asyncio.wait_for(future, 120) - begun) * 1000


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print both tables and return the figures."""
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        root = Path(name).resolve()
        brains = [EXAMPLE, *sorted((data_folder() / "brains").iterdir())]
        rows = []
        for brain in brains:
            project = make_project(root / f"{brain.name}-project", brain, quick=options.quick)
            one = asyncio.run(compare(project))
            figures[brain.name] = one
            rows.append([brain.name, *(f"{value:,}" for value in one.values())])
        report.print_table("Findings beside the command line", ("brain", *one), rows)
        project = make_speed_project(root / "speed")
        times = asyncio.run(measure(project, rounds=7 if options.quick else ROUNDS))
    rows = []
    for title, values in times.items():
        spread = metrics.compute_spread(values)
        rows.append([title, f"{spread.median:.1f}", f"{spread.low:.1f} … {spread.high:.1f}"])
        figures[title] = values
    report.print_table("Speed", ("what", "median", "min … max"), rows)
    return figures


def make_project(folder: Path, brain: Path, *, quick: bool) -> Path:
    """Write a repository of a brain's cards, the code that they quote, and patterns for it.

    The patterns are calls that the code holds: real cards of others have none.
    """
    shutil.copytree(brain, folder)
    calls: Counter[tuple[str, str]] = Counter()
    (folder / "code").mkdir()
    for number, card in enumerate(sorted(folder.rglob("*.md"))):
        for place, fence in enumerate(_FENCE.findall(card.read_text("utf-8", "replace"))):
            if language := find_language(fence[0]):
                name = f"{number}-{place}.{name_example(language).rpartition('.')[2]}"
                (folder / "code" / name).write_text(fence[1], "utf-8")
                calls.update((call, language) for call in _CALL.findall(fence[1]))
    chosen = sorted(calls)[: 40 if quick else MOST_PATTERNS]
    write_patterns(folder / "docs" / "solutions", chosen)
    commit(folder)
    return folder


def write_patterns(folder: Path, calls: Sequence[tuple[str, str]]) -> None:
    """Write cards with twenty patterns each: three of four regular expressions, one of syntax."""
    folder.mkdir(parents=True, exist_ok=True)
    for first in range(0, len(calls), 20):
        lines = ["---", "type: lesson", f"title: Calls from number {first}", "detect:"]
        for place, (call, language) in enumerate(calls[first : first + 20]):
            if place % 4 == 2:
                lines += [f"  - ast: '{call}($$$ARGS)'", f"    language: {language}"]
            else:
                lines.append(rf"  - regex: '\b{call}\('")
        text = "\n".join([*lines, "---", "", "## Root Cause", "", "It was called.", ""])
        (folder / f"calls-{first:03}.md").write_text(text, "utf-8")


def commit(folder: Path) -> None:
    """Make a folder a repository with a brain of this user."""
    (folder / "lessons.toml").touch()
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)
    own_brain(folder)


async def compare(project: Path) -> dict[str, int]:
    """Open every file of a project; return the counts of what both say and what one says."""
    lint = Counter(
        (one["path"], max(one["line"] - 1, 0), one["rule"]) for one in _told(project, "lint")
    )
    detected = Counter(
        (one["path"], one["line"] - 1, one["card"]) for one in _told(project, "detect")
    )
    found: Counter[tuple[str, int, str]] = Counter()
    paths = _files(project)
    async with connected(project) as editor:
        for path in paths:
            await editor.open(path, path.read_bytes().decode("utf-8", "replace"))
        await editor.rest()
        for path in paths:
            name = path.relative_to(project).as_posix()
            for one in editor.published[path.as_uri()].diagnostics:
                found[name, one.range.start.line, str(one.code)] += 1
    both = lint + detected
    for one in [*(both - found), *(found - both)]:
        report.tell(f"  {project.name}: differs: {one}")
    return {
        "files": len(paths),
        "lint": lint.total(),
        "detect": detected.total(),
        "server": found.total(),
        "same": (both & found).total(),
        "only command": (both - found).total(),
        "only server": (found - both).total(),
    }


def _files(project: Path) -> list[Path]:
    done = subprocess.run(
        ["git", "ls-files", "-z"], cwd=project, check=True, capture_output=True, text=True
    )
    return [project / name for name in done.stdout.split("\0") if name]


def _memory(process: int) -> float:
    """Return the megabytes that a process holds, 0 where the system does not tell."""
    status = Path(f"/proc/{process}/status")
    found = re.search(r"VmRSS:\s+(\d+)", status.read_text("ascii")) if status.exists() else None
    return int(found[1]) / 1024 if found else 0.0


def _processor_time(process: int) -> float:
    """Return the milliseconds of a processor that a process has used, 0 where nothing tells."""
    status = Path(f"/proc/{process}/stat")
    if not status.exists():
        return 0.0
    fields = status.read_text("ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * 1000 / os.sysconf("SC_CLK_TCK")


def _told(project: Path, command: str) -> list[dict[str, Any]]:
    done = subprocess.run(
        [*LESSONS, command, "--json"], cwd=project, capture_output=True, text=True, check=False
    )
    answer: list[dict[str, Any]] = json.loads(done.stdout)
    return answer


@asynccontextmanager
async def connected(project: Path) -> AsyncIterator[Editor]:
    """Start a server in a project."""
    editor = Editor()
    await editor.start_io(*LESSONS, "lsp", cwd=project)
    folder = types.WorkspaceFolder(uri=project.as_uri(), name=project.name)
    await editor.initialize_async(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(), process_id=None, workspace_folders=[folder]
        )
    )
    editor.initialized(types.InitializedParams())
    yield editor
    await editor.shutdown_async(None)
    editor.exit(None)
    await editor.stop()


def make_speed_project(folder: Path) -> Path:
    """Write a repository with a source file of LINES lines and PATTERNS patterns of its calls."""
    lines: list[str] = []
    for path in sorted(SOURCES.rglob("*.py")):
        lines += path.read_text("utf-8").splitlines(keepends=True)
    text = "".join(lines[:LINES])
    shutil.copytree(EXAMPLE, folder)
    (folder / "large.py").write_text(text, "utf-8")
    known = sorted(set(_CALL.findall(text)))
    others = [f"{name}_never" for name in known]
    calls = [name for pair in zip(known, others, strict=True) for name in pair]
    write_patterns(folder / "lessons" / "calls", [(name, "python") for name in calls[:PATTERNS]])
    commit(folder)
    return folder


async def measure(project: Path, *, rounds: int) -> dict[str, list[float]]:
    """Return milliseconds, and megabytes, by what was measured."""
    begun = time.perf_counter()
    async with connected(project) as editor:
        times = {"start, ms": [(time.perf_counter() - begun) * 1000]}
        card = project / "lessons" / "telegram-allowlist.md"
        code = project / "large.py"
        text = code.read_text("utf-8")
        times["first card, ms"] = [await editor.open(card, card.read_text("utf-8"))]
        times["first source file, ms"] = [await editor.open(code, text)]
        await editor.rest()
        marks = len(editor.published[code.as_uri()].diagnostics)
        for name, path, line in (("card", card, 4), ("source", code, LINES // 2)):
            spent, begun = [], _processor_time(editor.process)
            for version in range(2, rounds + 2):
                spent.append(await editor.type(path, version, line, "# x\n"))
                await asyncio.sleep(0.05)
            times[f"change of a {name}, ms"] = spent
            used = _processor_time(editor.process) - begun
            times[f"change of a {name}, processor time, ms"] = [used / rounds]
            await editor.rest()
        spent, begun = [], _processor_time(editor.process)
        for _ in range(rounds):
            editor.text_document_did_close(
                types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(code.as_uri()))
            )
            spent.append(await editor.open(code, text))
            await asyncio.sleep(0.5)
        times["a source, all of it, ms"] = spent
        used = _processor_time(editor.process) - begun
        times["a source, all of it, processor time, ms"] = [used / rounds]
        where = types.TextDocumentIdentifier(card.as_uri())
        for name, ask in (
            ("hover", lambda: editor.text_document_hover_async(
                types.HoverParams(where, types.Position(2, 2)))),
            ("completion", lambda: editor.text_document_completion_async(
                types.CompletionParams(where, types.Position(3, 13)))),
            ("code lens", lambda: editor.text_document_code_lens_async(types.CodeLensParams(where))),
            ("code action", lambda: editor.text_document_code_action_async(types.CodeActionParams(
                where, types.Range(types.Position(0, 0), types.Position(3, 0)),
                types.CodeActionContext([])))),
        ):  # fmt: skip
            spent = []
            for _ in range(rounds):
                begun = time.perf_counter()
                await ask()
                spent.append((time.perf_counter() - begun) * 1000)
            times[f"{name}, ms"] = spent
        times[f"marks in {LINES:,} lines of {PATTERNS} patterns"] = [float(marks)]
        times["memory, MB"] = [_memory(editor.process)]
    return times
