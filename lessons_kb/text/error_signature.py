"""A stable signature of an error: its normalised message, and the file in which it was raised."""

from __future__ import annotations

import re
from functools import cache

from lessons_kb.data import read_patterns
from lessons_kb.text.sanitize import clean

_MAX_LINE = 300
_MAX_ERRORS = 12
"""The maximum number of errors in one output."""
_SHORTEST, _LONGEST = 8, 100
"""The limits of the length of a message in characters. A message such as "error" is too short to be
useful."""
_VARIES = (
    (r"^e\s+(?=\S)", ""),  # pytest's margin
    (r"^.*?(?=\b(?:no module named|cannot (?:find|import|resolve)|command '[\w.-]+' not))", ""),
    (r"\d{4}[-/]\d\d[-/]\d\d[t ][\d:.,]+z?", ""),
    (r"(?:[\w.~-]*[/\\])+([\w.-]+)", r"\1"),
    (r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b|\d+", "0"),
    (r"^[\W_0]+|[\s.:]+$", ""),
    (r"\s+", " "),
)
_TYPED = re.compile(r"(?:[\w.]*\.)?\w*(?:error|exception|panic)\b")
_FRAME = re.compile(
    r"^\s*(?:File \"(?P<python>[^\"]+)\", line \d"
    r"|(?:at (?:.*[( ])?|-->\s*|.*?panicked at )?(?P<other>[\w@~./\\:-]+\.[a-z]{1,4}):\d+\b)"
)
_FOREIGN = re.compile(
    r"site-packages|dist-packages|node_modules|[/\\]lib[/\\]python\d|^node:|^internal[/\\]"
    r"|^<|[/\\]\.cargo[/\\]|^rustc[/\\]|[/\\]go[/\\](?:src|pkg)[/\\]"
)


@cache
def _read_hints() -> tuple[str, ...]:
    """Return the words of which a line must contain at least one; other lines are skipped."""
    return read_patterns("mining_signals.toml")["hint"]


@cache
def _compiled(section: str) -> re.Pattern[str]:
    patterns = read_patterns("mining_signals.toml")[section]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE)


def shows(section: str, low: str) -> bool:
    """Return whether a pattern of a ``mining_signals.toml`` section matches a lower-case text."""
    return _compiled(section).search(low) is not None


def find_errors(text: str) -> dict[str, str]:
    """Return a mapping from message to line, for the last few lines of a text that name an error.

    A message is in lower case, without the parts that differ between runs: numbers, folders, dates.
    """
    lines: dict[str, str] = {}
    if not _has_hint(text.lower()):
        return lines
    for line in text.splitlines():
        if len(line) > _MAX_LINE or not _has_hint(line.lower()):
            continue
        row = line.strip() if line.isprintable() else clean(line).strip()
        low = row.lower()
        if shows("error", low) and not (shows("not said", low) or shows("shell noise", low)):
            message = normalise_error(low)
            if len(message) >= _SHORTEST and not low.startswith("traceback"):
                lines.setdefault(message, row)
    return dict([*lines.items()][-_MAX_ERRORS:])


def normalise_error(line: str) -> str:
    """Return the message of a line that names an error; see ``find_errors``."""
    message = line.lower()
    for pattern, replacement in _VARIES:
        message = re.sub(pattern, replacement, message)
    return message[:_LONGEST]


def find_frames(text: str) -> list[str]:
    """Return the names of the project's files in a stack trace, innermost first."""
    lines = [line for line in text.splitlines() if len(line) <= _MAX_LINE]
    frames = [frame for frame in map(_FRAME.match, lines) if frame]
    if any(frame["python"] for frame in frames):
        frames.reverse()  # "most recent call last"
    paths = [frame["python"] or frame["other"] for frame in frames]
    own = [path for path in paths if not _FOREIGN.search(path)]
    return [re.split(r"[/\\]", path)[-1] for path in own]


def error_signature(text: str) -> str:
    """Return ``message @ file`` of the last error in an output, or "" if there is no error.

    ``file`` is the innermost file of the project. If there is none, only ``message`` is returned.
    An exception has priority over a tool's message about its own failure.
    """
    messages = [*find_errors(text)]
    if not messages:
        return ""
    exceptions = [message for message in messages if _TYPED.match(message)]
    last = (exceptions or messages)[-1]
    return " @ ".join([last, *find_frames(text)[:1]])


def is_same_error(signature: str, text: str) -> bool:
    """Return whether an output shows the error of a signature.

    A signature without a file matches the error in any file.
    """
    message, _, file = signature.partition(" @ ")
    return normalise_error(message) in find_errors(text) and (not file or file in find_frames(text))


def _has_hint(low: str) -> bool:
    return any(hint in low for hint in _read_hints())
