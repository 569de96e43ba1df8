"""What an error is called whenever it comes back: its message, and the file it rose in."""

from __future__ import annotations

import re
from functools import cache

from lessons_kb.data import read_patterns
from lessons_kb.text.sanitize import clean

_MAX_LINE = 300
_MAX_ERRORS = 12
"""Of one output."""
_SHORTEST, _LONGEST = 8, 100
"""Characters of a message: "error" alone tells nothing."""
_HINTS = read_patterns("mining_signals.toml")["hint"]
"""Without any of these a line is not looked at."""
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
def _compiled(section: str) -> re.Pattern[str]:
    patterns = read_patterns("mining_signals.toml")[section]
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.MULTILINE)


def shows(section: str, low: str) -> bool:
    """Tell whether a pattern of a section of ``mining_signals.toml`` is in a lower-case text."""
    return _compiled(section).search(low) is not None


def find_errors(text: str) -> dict[str, str]:
    """Return the lines of a text that name an error, by their messages: the last few.

    A message is in lower case, without what differs between two runs: numbers, folders, dates.
    """
    found: dict[str, str] = {}
    for line in text.splitlines() if _has_hint(text.lower()) else ():
        if len(line) > _MAX_LINE or not _has_hint(line.lower()):
            continue
        row = line.strip() if line.isprintable() else clean(line).strip()
        low = row.lower()
        if shows("error", low) and not (shows("not said", low) or shows("shell noise", low)):
            message = normalise_error(low)
            if len(message) >= _SHORTEST and not low.startswith("traceback"):
                found.setdefault(message, row)
    return dict([*found.items()][-_MAX_ERRORS:])


def normalise_error(line: str) -> str:
    """Return the message of a line that names an error, as ``find_errors`` does."""
    message = line.lower()
    for pattern, instead in _VARIES:
        message = re.sub(pattern, instead, message)
    return message[:_LONGEST]


def find_frames(text: str) -> list[str]:
    """Return the names of the project's files in which an error rose, the innermost first."""
    lines = (line for line in text.splitlines() if len(line) <= _MAX_LINE)
    found = [match for line in lines if (match := _FRAME.match(line))]
    if any(one["python"] for one in found):
        found.reverse()  # "most recent call last"
    paths = (one["python"] or one["other"] for one in found)
    return [re.split(r"[/\\]", path)[-1] for path in paths if not _FOREIGN.search(path)]


def error_signature(text: str) -> str:
    """Return ``message @ file`` of the last error in an output, "" where it names none.

    The file is the project's innermost; ``message`` alone where the output shows none. An
    exception counts before what a tool says of its own end.
    """
    messages = [*find_errors(text)]
    typed = [one for one in messages if _TYPED.match(one)] or messages
    return " @ ".join([*typed[-1:], *find_frames(text)[:1]]) if typed else ""


def is_same_error(signature: str, text: str) -> bool:
    """Tell whether an output shows the error of a signature; without its file, in any file."""
    message, _, file = signature.partition(" @ ")
    return normalise_error(message) in find_errors(text) and (not file or file in find_frames(text))


def _has_hint(low: str) -> bool:
    return any(hint in low for hint in _HINTS)
