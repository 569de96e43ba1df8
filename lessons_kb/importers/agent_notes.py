"""Lessons among the notes that people keep for agents: AGENTS.md, CLAUDE.md, tasks/lessons.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from lessons_kb.cards.keys import Split, canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.data import compile_patterns, read_mapping, read_patterns
from lessons_kb.importers.markdown_blocks import (
    CAUSE,
    FIX,
    HEADING,
    ITEM,
    MISTAKE,
    PREVENTION,
    ROW,
    SECTIONS,
    SITUATION,
    Fragment,
    Imported,
    Incoming,
    PassedOver,
    checklist,
    fit_sections,
    make_origin,
    read_blocks,
    shorten,
    split_date,
    split_lead,
    unmarked,
)

HEADINGS = read_patterns("import_note_labels.txt")["headings"]
"""Words of a heading below which lessons stand; regular expressions, whole words in Latin."""
FILE_NAMES = ("lessons", "learnings", "gotchas", "mistakes", "pitfalls", "lessons-learned")
"""Names, without suffix, of files that hold nothing else."""

RULES = "mdc"
"""Suffix of a rule of Cursor's: the whole file is about what to do, for the files of its globs."""
LESSON_MEMORY = "feedback"
_MEMORY_TYPE = re.compile(r"\s*type:\s*[\"']?(user|feedback|project|reference)[\"']?\s*")
_GLOB_KEYS = ("globs", "applyto", "apply-to")
_EVERYWHERE = ("*", "**", "**/*")

LABELS = read_mapping("import_note_labels.txt")["labels"]
"""What people write before a colon, or above a column → the section it belongs to."""

_WORDS = re.compile(
    "|".join(rf"\b(?:{w})\b" if w.isascii() else f"(?:{w})" for w in HEADINGS), re.IGNORECASE
)
_LABEL = re.compile(
    r"(?:[*_]{1,2})?([^\W\d_][^:*_\n]{0,28}?)(?:[*_]{1,2})?:(?:[*_]{1,2})?(?:\s+|\Z)"
)
_BARE = re.compile(r"\W*(?:lessons?|gotcha|mistake|rule|no|l)?[\s#.-]*\d{0,4}\W*", re.IGNORECASE)
_NUMBER = re.compile(
    r"(?:lesson|gotcha|mistake|rule|l)?[\s#-]*\d{1,4}\s*[:.)\u2014\u2013-]+\s*", re.IGNORECASE
)
_FORMAT, _PLACEHOLDER, _GENERIC, _FORBIDS, _NEGATED, _STATES, _ASKS = compile_patterns(
    "import_note_labels.txt",
    *("format", "placeholder", "generic", "forbids", "negated", "states", "asks"),
)
_HANGUL = re.compile("[\uac00-\ud7a3]")
_PARAGRAPH_END = re.compile(r"\n[ \t]*(?:\n|(?=```|~~~))")
_MAX_TOPIC_WORDS = 3
_NO_LESSON = "no lesson in it"


def read_memory(text: str, *, name: str) -> Imported:
    """Return the lessons of a memory file; ``name`` is its path, for messages.

    A file of another name has them under headings with one of HEADINGS in it: each list item,
    table row, or section below such a heading is one.
    """
    base = re.split(r"[\\/]", name)[-1]
    stem, _, suffix = base.rpartition(".")
    whole = (stem or base).casefold().replace("_", "-") in FILE_NAMES
    split = split_header(text)
    globs: tuple[str, ...] = ()
    if split.header:
        types = filter(None, map(_MEMORY_TYPE.fullmatch, split.header.lines))
        if kind := next(types, None):
            return _read_one(split, kind[1], name, base)
        # Under the names that Cursor and Copilot give them.
        keyed = (e.texts for e in read_header(split).entries if canonical(e.key) in _GLOB_KEYS)
        listed = ",".join(text for text in next(keyed, ()) if text).split(",")
        parts = (part.strip(" \"'") for part in listed)
        globs = tuple(part for part in parts if part and part not in _EVERYWHERE)
        whole = whole or suffix == RULES
        text = "\n" * (split.body_line - 1) + split.body  # the lines keep their numbers
    found = [
        _lesson(parts, subject, name, base)
        for group in _groups(read_blocks(text), whole=whole)
        for subject, parts in _entries(group)
    ]
    lessons = tuple(replace(one, paths=globs) for one in found if isinstance(one, Incoming))
    passed_over = tuple(one for one in found if isinstance(one, PassedOver))
    missing = f"{name}: no list or section under a heading such as Lessons, Gotchas, Learned"
    notes = () if lessons else (missing,)
    return Imported(lessons=lessons, passed_over=passed_over, notes=notes)


def _read_one(split: Split, kind: str, name: str, base: str) -> Imported:
    """Return what one file of Claude Code's memory folder tells: feedback is a lesson."""
    where = f"{name}:{split.body_line}"
    texts = {canonical(entry.key): entry.texts for entry in read_header(split).entries}
    known = unmarked(next(filter(None, texts.get("description", ())), None) or "")
    said = [piece for block in read_blocks(split.body) for piece in _pieces(block)]
    title = shorten(known.rstrip(" .")) or _title_of(said)
    if kind == LESSON_MEMORY and title:
        return Imported(lessons=(_noted(title, said, where, base),))
    what = (base, _NO_LESSON)
    if kind != LESSON_MEMORY:
        what = (known, f"a memory about the {kind}, not a lesson")
    passed = PassedOver(title=what[0], where=where, reason=what[1])
    return Imported(lessons=(), passed_over=(passed,))


def _groups(blocks: Sequence[Fragment], *, whole: bool) -> Iterator[list[Fragment]]:
    """Yield each heading that is about lessons with the blocks of its own text.

    Headings below it begin groups of their own; without any, ``whole`` files are one group.
    """
    about = 1 if whole else 0
    group: list[Fragment] = []
    for block in blocks:
        if block.kind != HEADING:
            group += [block] if group or whole else []
            continue
        if group:
            yield group
        if block.level <= about and not whole:
            about = 0
        if not about and _WORDS.search(unmarked(block.text)):
            about = block.level
        group = [block] if about else []
    if group:
        yield group


def _entries(group: Sequence[Fragment]) -> Iterator[tuple[str, list[Fragment]]]:
    """Yield (what it stands under, blocks) of each lesson of a group.

    The heading comes first where it is the lesson's own title.
    """
    head, rest, subject = group[0], list(group), ""
    if head.kind == HEADING:
        rest, subject = rest[1:], unmarked(head.text)
        if _FORMAT.match(head.text):
            return
        if rest and _is_one_lesson(head, rest):
            yield "", [head, *rest]
            return
    for entry in _cut(_told_whole(head, rest)):
        label = unmarked(entry[0].text)
        topic = label.endswith(":") and len(label.split()) <= _MAX_TOPIC_WORDS
        if topic and len(entry) > 1 and not _explains(entry[1]):
            for nested in _cut(entry[1:]):
                yield label.rstrip(":"), nested
        else:
            yield subject, entry


def _is_one_lesson(head: Fragment, rest: Sequence[Fragment]) -> bool:
    """Return whether a section tells one thing: it is labelled, or prose rather than a list."""
    labels = [label for block in rest if (label := _label(block.text))]
    title = unmarked(head.text)
    generic = _WORDS.search(title) and not _NUMBER.match(title)
    return (len(labels) > 1 and {*labels} != {"title"}) or (
        head.level > 1 and rest[0].kind not in (ITEM, ROW) and not generic
    )


def _explains(block: Fragment) -> bool:
    """Return whether what stands below an item says more of it, rather than what to do."""
    return (
        block.kind != ITEM
        or bool(_label(block.text))
        or (bool(_STATES.match(block.text)) and not _ASKS.search(block.text))
    )


def _told_whole(head: Fragment, rest: Sequence[Fragment]) -> Iterator[Fragment]:
    """Yield blocks; an item below "Don't:" says what it forbids by itself."""
    forbids = bool(_FORBIDS.fullmatch(head.text)) and head.kind == HEADING
    for block in rest:
        if block.kind not in (ITEM, ROW):
            forbids = bool(_FORBIDS.fullmatch(block.text))
        is_forbidden = forbids and block.kind == ITEM
        yield replace(block, text=_forbid(block.text)) if is_forbidden else block


def _forbid(text: str) -> str:
    if _NEGATED.match(text):
        return unmarked(text)  # a "Never" in bold is no title
    first, _, others = text.partition(" ")
    if _HANGUL.search(first):
        return f"하지 말 것: {text}"
    first = first.lower() if first[1:].islower() else first
    return f"{'Avoid' if first.endswith('ing') else 'Do not'} {first} {others}"


def _cut(blocks: Iterable[Fragment]) -> Iterator[list[Fragment]]:
    """Yield each row or outermost item with what stands below it; prose between them is left."""
    blocks = list(blocks)
    entry: list[Fragment] = []
    level = min((block.level for block in blocks if block.kind == ITEM), default=0)
    for block in blocks:
        starts = block.kind == ROW or (block.kind == ITEM and block.level <= level)
        inside = block.kind == ITEM or block.level > level
        if entry and entry[0].kind == ITEM and inside and not starts:
            entry.append(block)
            continue
        if entry:
            yield entry
        entry = [block] if starts else []
    if entry:
        yield entry


def _lesson(parts: Sequence[Fragment], subject: str, name: str, base: str) -> Incoming | PassedOver:
    first = parts[0]
    where = f"{name}:{first.line}"
    date = None
    if first.kind == ROW:
        title, said = _from_row(first)
    else:
        date, text = split_date(first.text)
        title, rest = "", text
        if first.kind == HEADING:
            title, rest = unmarked(_NUMBER.sub("", text, count=1)), ""
        elif not _label(text):
            # A blank line or a code block ends what an item says first.
            text, *more = _PARAGRAPH_END.split(text, maxsplit=1)
            title, rest = split_lead(text)
            rest = "\n\n".join(filter(None, (rest, *more)))
        said = [*_split(rest), *_said_below(parts[1:])]
    if not title or _PLACEHOLDER.fullmatch(title) or _BARE.fullmatch(title):
        title = _title_of(said)
    if not title:
        return PassedOver(title=first.text[:60], where=where, reason=_NO_LESSON)
    said = [(heading, text) for heading, text in said if unmarked(text) != title]
    under = f" under “{subject}”" if subject else ""
    topic = "" if _WORDS.search(subject) or _GENERIC.search(subject) else subject
    return replace(
        _noted(title, said, where, base, under),
        topics=(topic.casefold(),) if 0 < len(topic.split()) <= _MAX_TOPIC_WORDS else (),
        created=date,
        last_seen=date,
    )


def _noted(
    title: str, said: Sequence[tuple[str, str]], where: str, base: str, under: str = ""
) -> Incoming:
    sections = [(h, checklist(text.split("\n")) if h == PREVENTION else text) for h, text in said]
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("memory", base, title, *(text for _heading, text in said)),
        sections=fit_sections([(SITUATION, f"Noted in {base}{under}."), *sections]),
    )


def _from_row(row: Fragment) -> tuple[str, list[tuple[str, str]]]:
    """Return the title and what else a row says; its columns are named like labels."""
    cells = [(column, cell) for column, cell in row.cells if cell and column not in ("#", "no")]
    date = next((c for c in cells if split_date(c[1])[0] and not split_date(c[1])[1]), None)
    named = [(LABELS.get(column, ""), cell) for column, cell in cells if (column, cell) != date]
    if not named:
        return "", []
    place = next((n for n, (role, _) in enumerate(named) if role in ("title", "")), 0)
    title, rest = split_lead(named.pop(place)[1])
    said = [(role if role in SECTIONS else FIX, cell) for role, cell in named]
    return title, [*([(MISTAKE, rest)] if rest else []), *said]


def _said_below(parts: Sequence[Fragment]) -> Iterator[tuple[str, str]]:
    """Yield what the blocks below a title say; items below a label are part of what it names."""
    under: tuple[int, str] | None = None
    for block in parts:
        if under and block.kind == ITEM and block.level > under[0]:
            yield under[1], block.text if under[1] == PREVENTION else f"- {block.text}"
            continue
        label = _label(block.text)
        under = (block.level, label) if block.kind == ITEM and label in SECTIONS else None
        yield from _pieces(block)


def _pieces(block: Fragment) -> list[tuple[str, str]]:
    """Return what a block of an entry says: labelled, an item to check, or prose."""
    if block.kind == ROW:
        return [(MISTAKE, "; ".join(unmarked(cell) for _column, cell in block.cells if cell))]
    if _label(block.text) or block.kind != ITEM:
        return _split(block.text)
    if _explains(block):
        return [(MISTAKE, f"- {block.text}")]
    return [(PREVENTION, " ".join(block.text.split()))]


def _split(text: str) -> list[tuple[str, str]]:
    """Return (section, text) of a paragraph: cut where a line begins with a label."""
    pieces: list[tuple[str, list[str]]] = [(MISTAKE, [])]
    fenced = False
    for line in text.split("\n"):
        if label := "" if fenced else _label(line):
            said = _LABEL.sub("", line.strip(), count=1)
            pieces.append((MISTAKE if label == "title" else label, [said]))
        else:
            pieces[-1][1].append(line)
        fenced ^= line.lstrip().startswith(("```", "~~~"))
    return [(heading, body) for heading, lines in pieces if (body := "\n".join(lines).strip())]


def _label(line: str) -> str:
    """Return the section that a line announces, "" where it announces none."""
    match = _LABEL.match(line.strip())
    return LABELS.get(" ".join(match[1].casefold().split()), "") if match else ""


def _title_of(said: Sequence[tuple[str, str]]) -> str:
    roles = (MISTAKE, SITUATION, PREVENTION, FIX, CAUSE)
    titles = (split_lead(text)[0] for role in roles for heading, text in said if heading == role)
    return next(filter(None, titles), "")
