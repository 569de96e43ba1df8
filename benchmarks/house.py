"""How much of the house one warm prompt walks through: calls, functions, files, rooms, moves."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import lessons_kb
from benchmarks import report
from benchmarks.ours import open_indexed, private_state
from benchmarks.sixcards import CASES, write_six
from lessons_kb.brain.discovery import look_in_agent
from lessons_kb.service.hook_event import answer_event
from lessons_kb.service.open_brains import OpenBrains

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from types import CodeType, FrameType
    from typing import Any

TARGETS = {"calls": 900, "files": 35, "rooms": 10}
_PACKAGE = os.path.dirname(lessons_kb.__file__) + os.sep
_OTHERS = 1_000
_SHOWN = 15


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Print what one prompt passes through in a process that has the brain open."""
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        others = 0 if options.quick else _OTHERS
        calls, moves = trace_prompt(Path(name) / "brain", others=others, seed=options.seed)
    figures = count(calls, moves)
    rows = [[what, str(n), str(TARGETS.get(what, ""))] for what, n in figures.items()]
    report.print_table("One warm prompt", ("what", "passed", "target"), rows)
    for title, part in (("room", room_of), ("file", file_of), ("function", name_of)):
        shares: Counter[str] = Counter()
        for code, times in calls.items():
            shares[part(code)] += times
        most = shares.most_common(None if title == "room" else _SHOWN)
        if title == "room" or not options.quick:
            report.print_table("", (title, "calls"), [[key, str(n)] for key, n in most])
    return {"prompt": figures}


def trace_prompt(folder: Path, *, others: int = 0, seed: int = 1) -> tuple[Counter[CodeType], int]:
    """Return how often each function of the package is called, and the moves between files.

    The brain has six cards and so many generated ``others``.
    """
    write_six(folder, others, seed)
    with open_indexed(folder):
        pass
    workspace = OpenBrains(os.sep, watched=True)
    environment = {"HOME": os.environ["HOME"]}

    def answer(session: str, event: str, **fields: str) -> str:
        look = cache(partial(look_in_agent, environment=environment))
        find = lambda directory: workspace.find(directory, found=look(directory))  # noqa: E731
        common = {"session_id": session, "hook_event_name": event, "cwd": str(folder)}
        data = json.dumps({**common, "transcript_path": "", **fields})
        return answer_event("claude-code", data, environment, look=look, find=find)[0]

    try:
        for number, case in enumerate(CASES):
            answer(f"warm-{number}", "SessionStart", source="startup")
            answer(f"warm-{number}", "UserPromptSubmit", prompt=case.plain)
        answer("traced", "SessionStart", source="startup")
        prompt = partial(answer, "traced", "UserPromptSubmit", prompt=CASES[0].plain)
        output, calls, moves = trace(prompt)
    finally:
        workspace.close()
    if CASES[0].name not in output:
        raise RuntimeError(f"the traced prompt drew no lesson: {output!r}")
    return calls, moves


def trace(call: Callable[[], str]) -> tuple[str, Counter[CodeType], int]:
    """Return a call's result, the calls of functions of the package, and moves between files."""
    calls: Counter[CodeType] = Counter()
    moves = 0

    def note(frame: FrameType, event: str, _argument: object) -> None:
        nonlocal moves
        if event == "call" and frame.f_code.co_filename.startswith(_PACKAGE):
            calls[frame.f_code] += 1
            caller = frame.f_back
            while caller and not caller.f_code.co_filename.startswith(_PACKAGE):
                caller = caller.f_back
            moves += not caller or caller.f_code.co_filename != frame.f_code.co_filename

    sys.setprofile(note)
    try:
        return call(), calls, moves
    finally:
        sys.setprofile(None)


def count(calls: Counter[CodeType], moves: int) -> dict[str, int]:
    """Return the figures of a trace."""
    return {
        "calls": calls.total(),
        "functions": len(calls),
        "files": len(set(map(file_of, calls))),
        "rooms": len(set(map(room_of, calls))),
        "moves between files": moves,
    }


def file_of(code: CodeType) -> str:
    """Return the file of a function, relative to the package."""
    return code.co_filename.removeprefix(_PACKAGE)


def room_of(code: CodeType) -> str:
    """Return the room of a function; a file beside the rooms is one by itself."""
    return file_of(code).partition(os.sep)[0]


def name_of(code: CodeType) -> str:
    """Return the file and the name of a function."""
    return f"{file_of(code)} {code.co_qualname}"
