"""What the output of a failing command says: which tests failed, and the lines that tell why."""

from __future__ import annotations

import re

from lessons_kb.text.sanitize import clean

MAX_FAILING = 20

_FAILING = (
    r"^(?:FAILED|ERROR) ([\w./\\-]+\.py(?:::\S+)?)",  # pytest's summary
    r"^\s*--- FAIL: (\S+)",  # go
    r"^test (\S+) \.\.\. FAILED",  # cargo
    r"^\s*FAIL\s+(\S+\.[cm]?[jt]sx?)\b",  # jest, vitest
    r"^\s*[●✕×✗]\s+(.{3,120}?)\s*(?:\(\d+ ?m?s\))?$",
    r"^\s*not ok \d+ -? ?(.{3,120})$",  # TAP, node --test
    r"^\[ERROR\]\s+([\w.$]+[.#]\w+)(?::\d+)?",  # surefire
    r"^(\S+ > \S.*?) FAILED$",  # gradle
    r"^(?:FAIL|ERROR): (\w+ \([\w.]+\))",  # unittest
    r"^\s*\d+\) (.{3,120})$",  # mocha
    r"^rspec (\S+:\d+)",
)
_ERROR_LINE = (
    r"^E   |^\s*(?:\w+\.)*\w*(?:Error|Exception|Panic|Failure)\b|\bassert|^panicked"
    r"|thread '.*' panicked|\berror(?:\[\w+\])?:|\bERROR\b|\bFAIL(?:ED|URE)?\b|\bfatal\b"
    r"|[Ee]xpected|Received|not found|No such file|cannot|undefined|Traceback|실패|오류"
)
_AROUND = 2


def find_failing(output: str) -> tuple[str, ...]:
    """Return the names of the tests that an output reports as failed: each once, in order."""
    found: dict[str, None] = {}
    for line in clean(output).splitlines():
        if len(line) > 1_000:  # noqa: PLR2004 no reporter writes such a line
            continue
        for pattern in _FAILING:
            if match := re.search(pattern, line):
                found[match[1].strip()] = None
                break
    return tuple(found)[:MAX_FAILING]


def error_excerpt(output: str, *, limit: int = 2_000) -> str:
    """Return the lines of an output that tell the error, at most ``limit`` characters.

    What stands near a line that names an error is kept, the last such lines first; an output
    without any gives its end. Control characters are gone, ``…`` stands for what was left out.
    """
    lines = [line.rstrip()[:400] for line in clean(output).strip("\n").splitlines()]
    if sum(len(line) + 1 for line in lines) <= limit:
        return "\n".join(lines)
    naming = [number for number, line in enumerate(lines) if re.search(_ERROR_LINE, line)]
    order = [n for line in reversed(naming) for n in range(line - _AROUND, line + _AROUND + 1)]
    order += range(len(lines) - 1, -1, -1) if not naming else ()
    kept: set[int] = set()
    room = limit
    for number in order:
        if 0 <= number < len(lines) and number not in kept:
            room -= len(lines[number]) + 3  # and a mark for a gap before it
            if room < 0:
                break
            kept.add(number)
    excerpt: list[str] = []
    last = -1
    for number in sorted(kept):
        if number > last + 1:
            excerpt.append("…")
        excerpt.append(lines[number])
        last = number
    return "\n".join(excerpt)
