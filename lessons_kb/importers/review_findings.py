"""A review synthesis (claim ledger, dispositions, questions, YAGNI ledger) as review findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from lessons_kb.data import compile_patterns, read_mapping
from lessons_kb.importers.markdown_blocks import (
    CAUSE,
    FIX,
    HEADING,
    ITEM,
    MISTAKE,
    ROW,
    SITUATION,
    Fragment,
    Imported,
    Incoming,
    PassedOver,
    fit_sections,
    make_origin,
    read_blocks,
    shorten,
    split_lead,
    unmarked,
)
from lessons_kb.model import EVIDENCE

_MEANINGS = read_mapping("import_review_columns.txt")["columns"]
"""Name of a column, in lower case → what it means."""
_COLUMN = re.compile(
    rf"(?<!\S)(?:{'|'.join(sorted(map(re.escape, _MEANINGS), key=len, reverse=True))})(?!\S)"
)
_STATES = (*EVIDENCE, "resolved", "unverified", "verified", "confirmed", "rejected", "withdrawn")
_CLAIM_ROW = re.compile(
    rf"(?P<claim>\S.*?)\s+(?P<state>(?:{'|'.join(word.capitalize() for word in _STATES)})\b"
    r"(?:\s*\([^()]*\))?)(?:\s+(?P<rest>\S.*))?"
)
_FIRST_ROW = re.compile(r"(?P<number>[A-Z]{0,3}-?\d{1,4}[a-z]?)[.:)]?\s+(?P<rest>\S.*)")
_MATURITY = re.compile(r"(?P<maturity>[A-Za-z]+-level)\b\s*(?P<rest>.*)")
_ORDER = ("number", "claim", "state", "maturity", "support")
_LONGEST_HEAD = 500
"""Characters of a line that names columns."""
_LONE = re.compile(r"(?!\s*(?:[-*+\u2022]|\d{1,3}[.)])\s)[^\W\d_].{2,88}[^\s.,;:|]")
"""A heading that has lost its mark."""


def _restore_markup(text: str) -> str:
    """Return a review with its tables' pipes, and with headings if it has lost all.

    A text whose tables have pipes stays as it is.
    """
    lines = text.split("\n")
    heads = [(number, names) for number, line in enumerate(lines) if (names := _read_head(line))]
    for number, names in heads:
        _restore_table(lines, number, names)
    if heads and not any(re.match(r" {0,3}#{1,6}\s", line) for line in lines):
        for number, line in enumerate(lines):
            around = (*lines[max(number - 1, 0) : number], *lines[number + 1 : number + 2])
            if not any(map(str.strip, around)) and _LONE.fullmatch(line):
                lines[number] = f"## {line}"
    return "\n".join(lines)


def _read_head(line: str) -> list[str]:
    """Return the columns that a line without pipes names and does nothing else; else []."""
    if "|" in line or len(line) > _LONGEST_HEAD:
        return []
    names = _COLUMN.findall(line.casefold())
    meanings = [_MEANINGS[name] for name in names]
    whole = " ".join(names) == " ".join(line.casefold().split())
    in_order = [one for one in _ORDER if one in meanings] == meanings
    return names if whole and in_order and {"claim", "state"} <= {*meanings} else []


def _restore_table(lines: list[str], head: int, names: Sequence[str]) -> None:
    meanings = [_MEANINGS[name] for name in names]
    numbered = meanings[0] == "number"
    lines[head] = _row(names)
    number = head + 1
    while number < len(lines) and lines[number].strip():
        end = number + 1
        # A line that begins with no number goes on with the row above it.
        while numbered and end < len(lines) and lines[end].strip():
            if _FIRST_ROW.fullmatch(lines[end].strip()):
                break
            end += 1
        row = " ".join(" ".join(lines[number:end]).split())
        cells: dict[str, str] = {}
        if numbered and (found := _FIRST_ROW.fullmatch(row)):
            cells["number"], row = found.groups()
        if told := _CLAIM_ROW.fullmatch(row):
            cells["claim"], cells["state"], rest = told.groups(default="")
            if "maturity" in meanings and (level := _MATURITY.fullmatch(rest)):
                cells["maturity"], rest = level.groups()
            cells["support"] = rest
        else:
            cells["claim"] = row
        # The lines that are joined stay as rows without text: the others keep their numbers.
        lines[number] = _row([cells.get(meaning, "") for meaning in meanings])
        lines[number + 1 : end] = [_row(["" for _ in names])] * (end - number - 1)
        number = end


def _row(cells: Sequence[str]) -> str:
    told = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(told)} |"


_MAY_TELL = ("support", "verdict")
"""What a column without the head of a state may mean, and yet hold one."""
_REOPEN, _WHY, _SOURCE, _LABELLED, _RESOLVED, _UNRESOLVED, _READY, _BLOCKED = compile_patterns(
    "import_review_columns.txt",
    *("reopen", "why", "source", "labelled", "resolved", "unresolved", "ready", "blocked"),
)
_KINDS = ("yagni", "question", "verdict")
_TOPICS = dict(zip(_KINDS, compile_patterns("import_review_columns.txt", *_KINDS), strict=True))
"""What a section is about → how its heading says so."""
_DECIDED = re.compile(r"(?:→|->|=>)\s*(?:already\s+)?\**([A-Z]{3,}(?:/[A-Z]{3,})*)\**[\s,:]*")
"""`→ DEFER`, `→ REPLACE`: what was decided of an item."""
_PUT_OFF = ("DEFER", "DEFERRED", "DROP", "DROPPED", "POSTPONE", "POSTPONED", "LATER", "SKIP")
_NEXT_QUESTION = re.compile(r"(?<=[.;])\s+(?=OQ\b)")
_FEATURE = re.compile(r"(?<![A-Za-z])([A-Z]\d{1,3})(?!\d)")
"""The name of a feature, such as F4, also of its question OQ-F4a."""
_NUMBERS = re.compile(r"(?<![\w-])(?:claims?\s+|#)?([A-Z]{0,2})-?(\d{1,4})(?![\w.%:-])")
_NONE = ("", "-", "\u2014", "\u2013", "n/a", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Remark:
    """A disposition or a question, to be told with the claims that it names."""

    kind: str
    text: str
    line: int


def read_review(text: str, *, name: str) -> Imported:
    """Return the claims and deferrals of a review; ``name`` is its path, for messages.

    Claims that are evidenced, anecdotal or disputed and deferrals become findings. Dispositions
    and questions are told with the claims they name by number.
    """
    base = re.split(r"[\\/]", name)[-1]
    claims: dict[str, Incoming] = {}
    found: list[Incoming | PassedOver | None] = []
    remarks: list[_Remark] = []
    for topic, block, below in _walk(read_blocks(_restore_markup(text))):
        cells = _meant(block)
        where = f"{name}:{block.line}"
        if "claim" in cells and "state" in cells:
            claim = _claim(cells, where, base)
            if isinstance(claim, Incoming):
                numbers = _named(unmarked(cells.get("number", "")))
                claims[next(iter(numbers), f"line {block.line}")] = claim
            else:
                found.append(claim)
        elif "verdict" in cells and ("feature" in cells or "deferred" in cells):
            feature = unmarked(cells.get("feature") or cells["deferred"])
            reason = f" ({unmarked(cells['why'])})" if "why" in cells else ""
            said = f"{feature}: {unmarked(cells['verdict'])}{reason}"
            remarks.append(_Remark(kind="verdict", text=said, line=block.line))
        elif "reopen" in cells and ("deferred" in cells or "feature" in cells):
            what = cells.get("deferred") or cells["feature"]
            found.append(_deferral(what, cells.get("why", ""), cells["reopen"], where, base))
        elif "claim" in cells:
            title = split_lead(cells["claim"])[0]
            found.append(PassedOver(title=title, where=where, reason=_STATELESS))
        elif topic == "yagni" and block.kind != ROW:
            found.append(_written_deferral(block, below, where, base))
        elif topic and block.kind == ITEM:
            pieces = _NEXT_QUESTION.split(unmarked(block.text))
            remarks += [_Remark(kind=topic, text=piece, line=block.line) for piece in pieces]
    told, lost = _with_remarks(claims, remarks)
    for one in lost:
        where = f"{name}:{one.line}"
        is_open = _is_open(one)
        passed = PassedOver(title=one.text, where=where, reason="it refers to no imported claim")
        found.append(_question(one, where, base) if is_open else passed)
    lessons = [*told, *(one for one in found if isinstance(one, Incoming))]
    passed_over = [one for one in found if isinstance(one, PassedOver)]
    reason = "no words to build a title from"
    nameless = [one.where for one in lessons if not one.title]
    passed_over += [PassedOver(title="", where=where, reason=reason) for where in nameless]
    lessons = [lesson for lesson in lessons if lesson.title]
    notes = () if lessons else (f"{name}: no table with the columns Claim and State",)
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed_over), notes=notes)


_STATELESS = f"nothing says whether it is {', '.join(EVIDENCE[:-1])} or {EVIDENCE[-1]}"


def _walk(
    blocks: Sequence[Fragment],
) -> Iterator[tuple[str, Fragment, Sequence[Fragment]]]:
    """Yield (topic of its section, block, what belongs to it) for headings, items and rows."""
    topic, level, label = "", 0, -1
    for place, block in enumerate(blocks):
        text = unmarked(block.text)
        if block.kind == HEADING:
            if not topic or block.level <= level:
                topic, level, label = _topic(text), block.level, -1
                continue
        elif block.kind != ROW and text.endswith(":") and _topic(text):
            topic, level = _topic(text), max(level, 1)
            label = block.level if block.kind == ITEM else -1
            continue
        elif block.kind == ITEM and block.level <= label:
            topic, label = "", -1  # the next of the items of which one was the label
        yield topic, block, _below(blocks, place)


def _topic(text: str) -> str:
    return next((kind for kind, words in _TOPICS.items() if words.search(text)), "")


def _below(blocks: Sequence[Fragment], place: int) -> Sequence[Fragment]:
    """Return the blocks that belong to a heading or an item: its text, its smaller items."""
    block, below = blocks[place], blocks[place + 1 :]

    def is_inside(other: Fragment) -> bool:
        return other.kind != HEADING and (
            block.kind == HEADING or (other.kind == ITEM and other.level > block.level)
        )

    return list(takewhile(is_inside, below))


def _meant(block: Fragment) -> dict[str, str]:
    found: dict[str, str] = {}
    heads = {_MEANINGS.get(column) for column, _cell in block.cells}
    told = "claim" not in heads or "state" in heads
    for column, cell in block.cells:
        meaning = _MEANINGS.get(column)
        if meaning and cell.casefold() not in _NONE:
            if meaning in _MAY_TELL and not told and _evidence(cell):
                meaning = "state"
            found[meaning] = f"{found[meaning]}, {cell}" if meaning in found else cell
    return found


def _evidence(state: str) -> str | None:
    folded = unmarked(state).casefold()
    return next((word for word in EVIDENCE if folded.startswith(word)), None)


def _named(text: str) -> list[str]:
    """Return the numbers of the claims that a text names; C1 and 1 are one."""
    return [f"{f[1] if f[1] != 'C' else ''}{int(f[2])}" for f in _NUMBERS.finditer(text)]


def _finding(
    title: str, what: str, parts: Sequence[tuple[str, str]], where: str, base: str
) -> Incoming:
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("review", base, what),
        kind="qa-finding",
        sections=fit_sections(parts),
    )


def _claim(cells: Mapping[str, str], where: str, base: str) -> Incoming | PassedOver:
    title, rest = split_lead(cells["claim"])
    state = unmarked(cells["state"])
    evidence = _evidence(state)
    if evidence is None:
        return PassedOver(title=title, where=where, reason=f"its state is {state!r}")
    facts = [f"A claim of the review {base}, {evidence}."]
    named = {"maturity": "Spec maturity", "category": "Category"}
    facts += [f"{name}: {unmarked(cells[key])}." for key, name in named.items() if key in cells]
    if remark := state[len(evidence) :].strip(" ()\u2014\u2013:;-→"):
        facts.append(f"{remark[0].upper()}{remark[1:].rstrip('.')}.")
    parts = [(SITUATION, " ".join(facts)), (MISTAKE, rest)]
    supporters = _supporters(cells.get("support", ""))
    found = _finding(title, cells["claim"], parts, where, base)
    return replace(found, evidence=evidence, supported_by=supporters)


def _supporters(text: str) -> tuple[str, ...]:
    """Return what a cell names, cut at semicolons, else at commas outside brackets."""
    text = re.sub(r"(?:^|\s)(?:vs\.?|\+|&)\s", ", ", re.sub(r"^\([^()]*\)\s*", "", unmarked(text)))
    cut = ";" if ";" in text else ","
    found, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == cut and depth <= 0:
            found.append("")
        else:
            found[-1] += char
    lines = map(str.strip, found)
    return tuple(dict.fromkeys(line for line in lines if line.casefold() not in _NONE))


def _deferral(what: str, why: str, reopen: str, where: str, base: str) -> Incoming:
    title, rest = split_lead(what)
    facts = f"Set aside for now by the review {base}."
    parts = [(SITUATION, facts), (MISTAKE, rest), (CAUSE, why)]
    found = _finding(title, what, parts, where, base)
    reopen_when = unmarked(reopen).rstrip(".") or None
    return replace(found, topics=("deferred",), reopen_when=reopen_when)


def _written_deferral(
    block: Fragment, below: Sequence[Fragment], where: str, base: str
) -> Incoming | PassedOver | None:
    """Return a deferral told as a heading, an item or a bold lead, with reason and trigger."""
    is_label = any(label.match(block.text) for label in (_REOPEN, _WHY, _SOURCE))
    if is_label or not (block.kind in (HEADING, ITEM) or block.text.startswith("**")):
        return None
    own = _LABELLED.split(block.text)
    what, decided, reason = own[0].rstrip(" (;\u2014"), _DECIDED.search(own[0]), ""
    if decided:
        what, reason = own[0][: decided.start()].rstrip(), own[0][decided.end() :].strip(" .")
        if not {*decided[1].split("/")}.intersection(_PUT_OFF):
            title = unmarked(what)
            return PassedOver(title=title, where=where, reason=f"decided: {decided[1].lower()}")
        if reason[:1] == "(" and reason[-1:] == ")":
            reason = reason[1:-1]
    pieces = (*own[1:], *(one.text for one in below))
    texts = [part.strip() for piece in pieces for part in re.split(r"\n(?=\s*\*\*)", piece)]
    reopen, why, source = (
        next((found[1] for text in texts if (found := label.match(text))), "")
        for label in (_REOPEN, _WHY, _SOURCE)
    )
    why = why or reason
    if block.kind != ITEM and not (reopen or why):
        return None
    made = _deferral(what, why, reopen.rstrip(")"), where, base)
    return replace(made, supported_by=_supporters(source.rstrip(".")))


def _with_remarks(
    claims: Mapping[str, Incoming], remarks: Sequence[_Remark]
) -> tuple[list[Incoming], list[_Remark]]:
    """Tell each remark with the claims it names; return the claims, and remarks of none."""
    said: dict[str, list[tuple[str, str]]] = {number: [] for number in claims}
    lost = []
    features = {number: _FEATURE.match(claim.title) for number, claim in claims.items()}
    for remark in remarks:
        named = [number for number in _named(remark.text) if number in claims]
        if not named and remark.kind == "question" and not _is_open(remark):
            about = {*_FEATURE.findall(remark.text)}
            named = [n for n, found in features.items() if found and found[1] in about]
        if not named and not (_READY.search(remark.text) and not _BLOCKED.search(remark.text)):
            lost.append(remark)
        section, what = SITUATION, "Open question: "
        if remark.kind == "verdict":
            what = "Disposition: "
        elif not _is_open(remark):
            section, what = FIX, "Resolved question: "
        text = f"{remark.text.rstrip('.')}." if remark.kind == "verdict" else remark.text
        for number in dict.fromkeys(named):
            said[number].append((section, f"{what}{text}"))
    told = [
        replace(claim, sections=fit_sections([*claim.sections, *said[number]]))
        for number, claim in claims.items()
    ]
    return told, lost


def _is_open(remark: _Remark) -> bool:
    if remark.kind != "question":
        return False
    return bool(_UNRESOLVED.search(remark.text)) or not _RESOLVED.search(remark.text)


def _question(remark: _Remark, where: str, base: str) -> Incoming:
    """Return a question that nobody has answered, and that names no claim, as a finding."""
    what, _arrow, state = re.split(r"\s*(→|->|=>)\s*", f"{remark.text} → ", maxsplit=1)
    state = state.strip(" →").rstrip(".")
    facts = f"An open question of the review {base}{f': {state}' if state else ''}."
    title = shorten(unmarked(what).rstrip(" .:"))
    found = _finding(title, what, [(SITUATION, facts)], where, base)
    return replace(found, topics=("open-question",))
