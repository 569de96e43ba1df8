"""What becomes of one key that two sides changed: a table of rules, one function each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from lessons_kb.cards.edit import edit_header, read_comments
from lessons_kb.cards.header import Entry, split_header
from lessons_kb.cards.keys import KEYS, MAX_EXAMPLES, MAX_OCCURRENCES, Read, read_value
from lessons_kb.cards.read_header import read_header
from lessons_kb.errors import LessonsError

Rule = Callable[["Three"], str]


class Contradiction(Exception):
    """Two sides say different things and no rule decides between them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A key as one version of the file has it."""

    entry: Entry | None
    """None where that version lacks the key."""
    lead: str
    """Comments and empty lines above it."""
    text: str
    """Its own lines."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Three:
    """A key in the three versions."""

    name: str
    base: Side
    ours: Side
    theirs: Side
    had_base: bool
    """Whether the file has a common beginning at all."""
    later_is_ours: bool
    """Whether our side saw the mistake last, so that its examples come last."""


def merge_value(three: Three) -> str:
    """Return the lines of a key that both sides changed, "" when it is gone.

    Raises Contradiction where no rule decides, and where one side's comment would be lost.
    """
    text = _merged(three)
    base, *sides = (read_comments(side.text) for side in (three.base, three.ours, three.theirs))
    kept = read_comments(text)
    for comment in dict.fromkeys(comment for side in sides for comment in side):
        stays = comment not in base or all(comment in side for side in sides)
        if stays and not any(comment in one for one in kept):
            text = _with_comment(text, comment)
    return text


def _with_comment(text: str, comment: str) -> str:
    """Return the lines of a key with one more comment at their end."""
    line = text.rstrip("\r\n")
    end = text[len(line) :]
    entries = read_header(split_header(f"---{end}{text}---{end}")).entries
    beside = entries and (entries[0].flow or entries[0].shape == "scalar")
    if not beside or entries[0].styles in ("|", ">"):
        raise Contradiction
    return f"{line.rstrip()} {comment}{end}"


def _merged(three: Three) -> str:
    rule = _RULES.get(three.name)
    ours, theirs = three.ours.entry, three.theirs.entry
    if rule is None and ours and theirs:
        if _alike(ours, theirs):
            return three.ours.text
        if three.base.entry and _alike(three.base.entry, ours):
            return three.theirs.text
        if three.base.entry and _alike(three.base.entry, theirs):
            return three.ours.text
    if rule is None and _is_set(three):
        rule = _unite_set
    if rule is None:
        raise Contradiction
    return rule(three)


def is_additive(name: str) -> bool:
    """Tell whether two equal changes of a key are two changes."""
    return name == "occurrences"


def read_date(side: Side) -> tuple[str, str]:
    """Return a date in a form that compares: by its moment where it has a time.

    A day without a time is its beginning; times without a zone are taken as UTC. Raises
    Contradiction for what is no date.
    """
    day = _read(side)
    if not isinstance(day, str) or side.entry is None:
        raise Contradiction
    try:
        moment = datetime.fromisoformat((side.entry.texts[0] or "").strip())
    except ValueError:
        return f"{day}T00:00:00", ""
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(), day


def _read(side: Side) -> Read:
    """Return the value of a known key; Contradiction where it is wrong or deeper than a list."""
    if side.entry is None:
        return None
    try:
        return read_value(side.entry)
    except ValueError:
        raise Contradiction from None


def _sum(three: Three) -> str:
    """Add what either side added; a side without the key says 1, a file that was not there 0."""
    before = _count(three.base) if three.had_base else 0
    total = _count(three.ours) + _count(three.theirs) - before
    return _write(three, min(max(total, 1), MAX_OCCURRENCES))


def _count(side: Side) -> int:
    value = _read(side)
    return value if isinstance(value, int) else 1


def _later(three: Three) -> str:
    return _chosen(three, max)


def _earlier(three: Three) -> str:
    return _chosen(three, min)


def _chosen(three: Three, choose: Callable[..., tuple[tuple[str, str], Side]]) -> str:
    given = [(read_date(side), side) for side in (three.ours, three.theirs) if side.entry]
    return choose(given, key=lambda pair: pair[0])[1].text


def _unite_examples(three: Three) -> str:
    sides = [_texts(three.theirs), _texts(three.ours)]
    earlier, later = sides if three.later_is_ours else sides[::-1]
    united = _united(_texts(three.base), earlier, later)
    return _write(three, tuple(united[-MAX_EXAMPLES:]))


def _unite_set(three: Three) -> str:
    sides = (three.base, three.ours, three.theirs)
    return _write(three, tuple(_united(*map(_texts, sides))))


def _united(base: Sequence[str], first: Sequence[str], second: Sequence[str]) -> list[str]:
    """Return what both kept and what either added, the second side's additions last."""
    kept = [item for item in first if item in second or item not in base]
    return kept + [item for item in second if item not in first and item not in base]


def _texts(side: Side) -> tuple[str, ...]:
    value = _read(side)
    items = value if isinstance(value, tuple) else ()
    return tuple(item for item in items if isinstance(item, str))


def _write(three: Three, value: int | tuple[str, ...]) -> str:
    """Return the lines of the key with this value, in the manner of the side that has it."""
    same = [s for s in (three.ours, three.theirs) if s.entry is not None and _read(s) == value]
    if same:
        return max(same, key=lambda side: len(read_comments(side.text))).text
    # The lines of the side that says more beside its value.
    sides = [side for side in (three.ours, three.theirs) if side.entry]
    model = max(sides, key=lambda side: len(read_comments(side.text)))
    end = model.text[len(model.text.rstrip("\r\n")) :]
    fence = f"---{end}"
    try:
        edited = edit_header(f"{fence}{model.text}{fence}", {three.name: value})
    except LessonsError:
        raise Contradiction from None
    return edited[len(fence) : -len(fence)]


def _alike(ours: Entry, theirs: Entry) -> bool:
    """Tell whether two entries say the same, whatever their quotes and line breaks."""
    if "nested" in (ours.shape, theirs.shape) or "n" in ours.styles + theirs.styles:
        return False
    if ours.shape != theirs.shape:
        return False
    texts = ([text and " ".join(text.split()) for text in e.texts] for e in (ours, theirs))
    return next(texts) == next(texts)


def _is_set(three: Three) -> bool:
    """Tell whether a key is a list to unite: by its name, or because it is written as one."""
    key = KEYS.get(three.name)
    if key is None or key.form not in ("tags", "texts", "globs"):
        return False
    entries = [side.entry for side in (three.ours, three.theirs) if side.entry]
    if any("n" in entry.styles for entry in entries):
        return False
    return three.name in _SETS or all(entry.shape == "list" for entry in entries)


_SETS = ("applies-to", "tags", "symptoms", "not-for", "paths", "supported-by", "applies-when")
_RULES: Mapping[str, Rule] = {
    "occurrences": _sum,
    "last-seen": _later,
    "created": _earlier,
    "date": _earlier,
    "examples": _unite_examples,
}
