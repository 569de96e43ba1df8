"""A header read by whichever reader can: YAML, else the lenient one, else none."""

from __future__ import annotations

from dataclasses import dataclass, replace

from lessons_kb.cards.header import Entry, Header, Span, Split, canonical, looks_like_keys
from lessons_kb.cards.keys import KEYS, Problem
from lessons_kb.cards.lenient_reader import read_lenient
from lessons_kb.cards.yaml_reader import NotYamlError, RefusedError, read_yaml


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """What a header says."""

    entries: tuple[Entry, ...] = ()
    reader: str = "yaml"
    """``yaml``, ``lenient``, or ``none`` when the header cannot be used at all."""
    problems: tuple[Problem, ...] = ()


_QUOTE = "put the value in double quotes"
_UNREADABLE = "write `key: value` lines between the two --- lines, or remove the header"


def read_header(split: Split) -> Reading:
    """Read the header of a file; a file without one reads as an empty header.

    ``reader`` is ``none`` for a header that is unclosed, too large, built to exhaust a reader, or
    that holds nothing of ``key: value`` shape; the only problem says which.
    """
    if split.problem:
        return _useless(0, *_PROBLEMS[split.problem])
    if split.header is None:
        return Reading()
    try:
        return Reading(entries=read_yaml(split.header.lines))
    except RefusedError as refused:
        fix = "write plain `key: value` lines and lists, without anchors"
        return _useless(
            refused.line, "header-refused", f"the header is not accepted: {refused}", fix
        )
    except NotYamlError as error:
        return _read_other(split.header, error)


def _read_other(header: Header, error: NotYamlError) -> Reading:
    entries, lost = read_leniently(header.lines)
    known = any(canonical(entry.key) in KEYS for entry in entries)
    if not entries or (lost and not known) or len(lost) > len(entries):
        what = "the header is not YAML" if looks_like_keys(header) else "the header has no keys"
        line = lost[0] if lost else error.line
        return _useless(line, "unreadable-header", f"{what}: {error}", _UNREADABLE)
    problem = Problem(
        line=min(error.line, max(len(header.lines) - 1, 0)),
        rule="header-not-yaml",
        message=f"the header is not valid YAML ({error}); its plain keys and lists are used",
        fix=_QUOTE,
    )
    return Reading(entries=entries, reader="lenient", problems=(problem,))


def read_leniently(lines: tuple[str, ...]) -> tuple[tuple[Entry, ...], tuple[int, ...]]:
    """Return what ``read_lenient`` does, the patterns in it as YAML reads them."""
    entries, lost = read_lenient(lines)
    return tuple(_with_mappings(entry, lines) for entry in entries), lost


def _with_mappings(entry: Entry, lines: tuple[str, ...]) -> Entry:
    """Return an entry that holds mappings as YAML reads its own lines, if it can."""
    key = KEYS.get(canonical(entry.key))
    if key is None or key.form != "patterns":
        return entry
    try:
        (own,) = read_yaml(lines[entry.line : entry.end])
    except (NotYamlError, ValueError):
        return entry

    def below(span: Span) -> Span:
        return (span[0] + entry.line, span[1], span[2] + entry.line, span[3])

    return replace(
        own,
        line=entry.line,
        end=entry.end,
        span=below(own.span),
        spans=tuple(map(below, own.spans)),
    )


_PROBLEMS = {
    "unclosed": (
        "unclosed-header",
        "the header that starts with --- is not closed",
        "close it with a line that contains only ---",
    ),
    "too-large": (
        "header-too-large",
        "the header is longer than 64,000 characters",
        "move its text below the closing ---",
    ),
}


def _useless(line: int, rule: str, message: str, fix: str) -> Reading:
    problem = Problem(line=line, rule=rule, message=message, fix=fix, level="error")
    return Reading(reader="none", problems=(problem,))
