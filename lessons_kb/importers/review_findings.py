"""The claims and the deferrals of a review synthesis as review findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from lessons_kb.cards.sections import HEADING, ITEM, ROW, Fragment, read_fragments
from lessons_kb.data import compile_patterns, read_mapping
from lessons_kb.importers.incoming import (
    CAUSE,
    MISTAKE,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    fit_sections,
    make_origin,
    split_lead,
    unmarked,
)
from lessons_kb.model import EVIDENCE

_MEANINGS = read_mapping("import_review_columns.toml")["columns"]
"""Name of a column, in lower case → what it means."""
_MAY_TELL = ("support", "verdict")
"""What a column without the head of a state may mean, and yet hold one."""
_REOPEN, _WHY, _SOURCE, _LABELLED, _YAGNI = compile_patterns(
    "import_review_columns.toml", "reopen", "why", "source", "labelled", "yagni"
)
_DECIDED = re.compile(r"(?:→|->|=>)\s*(?:already\s+)?\**([A-Z]{3,}(?:/[A-Z]{3,})*)\**[\s,:]*")
"""`→ DEFER`, `→ REPLACE`: what was decided of an item."""
_PUT_OFF = ("DEFER", "DEFERRED", "DROP", "DROPPED", "POSTPONE", "POSTPONED", "LATER", "SKIP")
_NONE = ("", "-", "\u2014", "\u2013", "n/a", "none")


def read_review(text: str, *, name: str) -> Imported:
    """Return the claims and deferrals of a review; ``name`` is its path, for messages.

    Claims that are evidenced, anecdotal or disputed and deferrals become findings.
    """
    base = re.split(r"[\\/]", name)[-1]
    found: list[Incoming | PassedOver] = []
    for is_deferral, block, below in _walk(read_fragments(text)):
        cells, where = _meant(block), f"{name}:{block.line}"
        if "claim" in cells and "state" in cells:
            found.append(_claim(cells, where, base))
        elif "reopen" in cells and ("deferred" in cells or "feature" in cells):
            what = cells.get("deferred") or cells["feature"]
            found.append(_deferral(what, cells.get("why", ""), cells["reopen"], where, base))
        elif "claim" in cells:
            title = split_lead(cells["claim"])[0]
            found.append(PassedOver(title=title, where=where, reason=_STATELESS))
        elif is_deferral and block.kind != ROW:
            found += _written_deferral(block, below, where, base)
    nameless = "no words to build a title from"
    found = [
        one
        if one.title or isinstance(one, PassedOver)
        else PassedOver(title="", where=one.where, reason=nameless)
        for one in found
    ]
    lessons = tuple(one for one in found if isinstance(one, Incoming))
    passed_over = tuple(one for one in found if isinstance(one, PassedOver))
    notes = () if lessons else (f"{name}: no table with the columns Claim and State",)
    return Imported(lessons=lessons, passed_over=passed_over, notes=notes)


_STATELESS = f"nothing says whether it is {', '.join(EVIDENCE[:-1])} or {EVIDENCE[-1]}"


def _walk(blocks: Sequence[Fragment]) -> Iterator[tuple[bool, Fragment, Sequence[Fragment]]]:
    """Yield (does its section defer?, block, what belongs to it) for headings, items and rows."""
    defers, level, label = False, 0, -1
    for place, block in enumerate(blocks):
        text = unmarked(block.text)
        if block.kind == HEADING:
            if not defers or block.level <= level:
                defers, level, label = bool(_YAGNI.search(text)), block.level, -1
                continue
        elif block.kind != ROW and text.endswith(":") and _YAGNI.search(text):
            defers, level = True, max(level, 1)
            label = block.level if block.kind == ITEM else -1
            continue
        elif block.kind == ITEM and block.level <= label:
            defers, label = False, -1  # the next of the items of which one was the label
        below: list[Fragment] = []  # its text, its smaller items
        for other in blocks[place + 1 :]:
            is_smaller = other.kind == ITEM and other.level > block.level
            if other.kind == HEADING or not (block.kind == HEADING or is_smaller):
                break
            below.append(other)
        yield defers, block, below


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
) -> Iterator[Incoming | PassedOver]:
    """Yield a deferral told as a heading, an item or a bold lead, with reason and trigger."""
    is_label = any(label.match(block.text) for label in (_REOPEN, _WHY, _SOURCE))
    if is_label or not (block.kind in (HEADING, ITEM) or block.text.startswith("**")):
        return
    own = _LABELLED.split(block.text)
    what, decided, reason = own[0].rstrip(" (;\u2014"), _DECIDED.search(own[0]), ""
    if decided:
        what, reason = own[0][: decided.start()].rstrip(), own[0][decided.end() :].strip(" .")
        if not {*decided[1].split("/")}.intersection(_PUT_OFF):
            title = unmarked(what)
            yield PassedOver(title=title, where=where, reason=f"decided: {decided[1].lower()}")
            return
        if reason[:1] == "(" and reason[-1:] == ")":
            reason = reason[1:-1]
    pieces = (*own[1:], *(one.text for one in below))
    texts = [part.strip() for piece in pieces for part in re.split(r"\n(?=\s*\*\*)", piece)]
    reopen, why, source = (
        next((found[1] for text in texts if (found := label.match(text))), "")
        for label in (_REOPEN, _WHY, _SOURCE)
    )
    why = why or reason
    if block.kind == ITEM or reopen or why:
        made = _deferral(what, why, reopen.rstrip(")"), where, base)
        yield replace(made, supported_by=_supporters(source.rstrip(".")))
