"""Read the claims and the deferrals of a review synthesis as review findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

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
from lessons_kb.values import replace

_MEANINGS = read_mapping("import_review_columns.toml")["columns"]
"""Mapping from the name of a column, in lower case, to its meaning."""
_MAY_HAVE_STATE = ("support", "verdict")
"""Meanings of columns that may contain the state if the table has no column for it."""
_REOPEN, _WHY, _SOURCE, _LABELLED, _YAGNI = compile_patterns(
    "import_review_columns.toml", "reopen", "why", "source", "labelled", "yagni"
)
_DECIDED = re.compile(r"(?:→|->|=>)\s*(?:already\s+)?\**([A-Z]{3,}(?:/[A-Z]{3,})*)\**[\s,:]*")
"""Matches the decision about an item, such as `→ DEFER` or `→ REPLACE`."""
_PUT_OFF = ("DEFER", "DEFERRED", "DROP", "DROPPED", "POSTPONE", "POSTPONED", "LATER", "SKIP")
_NONE = ("", "-", "\u2014", "\u2013", "n/a", "none")


def read_review(text: str, *, name: str) -> Imported:
    """Return the claims and deferrals of a review. ``name`` is its path, for messages.

    Deferrals, and claims that are evidenced, anecdotal or disputed, become findings.
    """
    base = re.split(r"[\\/]", name)[-1]
    lessons: list[Incoming] = []
    passed_over: list[PassedOver] = []
    for is_deferral, block, below in _walk(read_fragments(text)):
        where = f"{name}:{block.line}"
        for finding in _read_block(block, below, where, base, is_deferral=is_deferral):
            if isinstance(finding, PassedOver):
                passed_over.append(finding)
            elif finding.title:
                lessons.append(finding)
            else:
                reason = "no words to build a title from"
                passed_over.append(PassedOver(title="", where=finding.where, reason=reason))
    notes = () if lessons else (f"{name}: no table with the columns Claim and State",)
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed_over), notes=notes)


_STATELESS = f"nothing says whether it is {', '.join(EVIDENCE[:-1])} or {EVIDENCE[-1]}"


def _read_block(
    block: Fragment, below: Sequence[Fragment], where: str, base: str, *, is_deferral: bool
) -> Iterator[Incoming | PassedOver]:
    """Yield the finding in a block. ``is_deferral`` states whether its section is about
    deferrals.
    """
    cells = _read_cells(block)
    if "claim" in cells and "state" in cells:
        yield _claim(cells, where, base)
    elif "reopen" in cells and ("deferred" in cells or "feature" in cells):
        deferred = cells.get("deferred") or cells["feature"]
        yield _deferral(deferred, cells.get("why", ""), cells["reopen"], where, base)
    elif "claim" in cells:
        title = split_lead(cells["claim"])[0]
        yield PassedOver(title=title, where=where, reason=_STATELESS)
    elif is_deferral and block.kind != ROW:
        yield from _written_deferral(block, below, where, base)


def _walk(blocks: Sequence[Fragment]) -> Iterator[tuple[bool, Fragment, Sequence[Fragment]]]:
    """Yield a tuple (whether its section defers, block, blocks below it) for each heading, item and
    row.
    """
    defers, level, label = False, 0, -1
    for place, block in enumerate(blocks):
        text = unmarked(block.text)
        if block.kind == HEADING:
            if not defers or block.level <= level:
                defers = bool(_YAGNI.search(text))
                level = block.level
                label = -1
                continue
        elif block.kind != ROW and text.endswith(":") and _YAGNI.search(text):
            defers = True
            level = max(level, 1)
            label = block.level if block.kind == ITEM else -1
            continue
        elif block.kind == ITEM and block.level <= label:
            defers, label = False, -1  # the item after the label's own item
        below: list[Fragment] = []  # its text and its nested items
        for other in blocks[place + 1 :]:
            is_nested = other.kind == ITEM and other.level > block.level
            if other.kind == HEADING or not (block.kind == HEADING or is_nested):
                break
            below.append(other)
        yield defers, block, below


def _read_cells(block: Fragment) -> dict[str, str]:
    """Return the cells of a row by the meaning of their columns. Empty cells are left out."""
    texts: dict[str, str] = {}
    meanings = {_MEANINGS.get(column) for column, _cell in block.cells}
    lacks_state = "claim" in meanings and "state" not in meanings
    for column, cell in block.cells:
        meaning = _MEANINGS.get(column)
        if meaning is None or cell.casefold() in _NONE:
            continue
        if lacks_state and meaning in _MAY_HAVE_STATE and _find_evidence(cell):
            meaning = "state"
        texts[meaning] = f"{texts[meaning]}, {cell}" if meaning in texts else cell
    return texts


def _find_evidence(state: str) -> str | None:
    """Return the kind of evidence with which a state begins."""
    folded = unmarked(state).casefold()
    return next((word for word in EVIDENCE if folded.startswith(word)), None)


def _finding(
    title: str, text: str, parts: Sequence[tuple[str, str]], where: str, base: str
) -> Incoming:
    """Return a review finding. ``text`` identifies the finding within the review ``base``."""
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("review", base, text),
        kind="qa-finding",
        sections=fit_sections(parts),
    )


def _claim(cells: Mapping[str, str], where: str, base: str) -> Incoming | PassedOver:
    """Return the finding for a claim, or the reason why its state excludes it from the findings."""
    title, rest = split_lead(cells["claim"])
    state = unmarked(cells["state"])
    evidence = _find_evidence(state)
    if evidence is None:
        return PassedOver(title=title, where=where, reason=f"its state is {state!r}")
    facts = [f"A claim of the review {base}, {evidence}."]
    labels = {"maturity": "Spec maturity", "category": "Category"}
    facts += [f"{label}: {unmarked(cells[key])}." for key, label in labels.items() if key in cells]
    remark = state[len(evidence) :].strip(" ()\u2014\u2013:;-→")
    if remark:
        facts.append(f"{remark[0].upper()}{remark[1:].rstrip('.')}.")
    parts = [(SITUATION, " ".join(facts)), (MISTAKE, rest)]
    finding = _finding(title, cells["claim"], parts, where, base)
    supporters = _split_supporters(cells.get("support", ""))
    return replace(finding, evidence=evidence, supported_by=supporters)


def _split_supporters(text: str) -> tuple[str, ...]:
    """Return the names in a cell, which is split at semicolons, or else at commas outside of
    brackets.
    """
    text = re.sub(r"^\([^()]*\)\s*", "", unmarked(text))
    text = re.sub(r"(?:^|\s)(?:vs\.?|\+|&)\s", ", ", text)
    separator = ";" if ";" in text else ","
    names, depth = [""], 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == separator and depth <= 0:
            names.append("")
        else:
            names[-1] += char
    stripped = map(str.strip, names)
    return tuple(dict.fromkeys(name for name in stripped if name.casefold() not in _NONE))


def _deferral(text: str, why: str, reopen: str, where: str, base: str) -> Incoming:
    """Return the finding for a deferral. ``reopen`` states when to reconsider it."""
    title, rest = split_lead(text)
    facts = f"Set aside for now by the review {base}."
    parts = [(SITUATION, facts), (MISTAKE, rest), (CAUSE, why)]
    finding = _finding(title, text, parts, where, base)
    reopen_when = unmarked(reopen).rstrip(".") or None
    return replace(finding, topics=("deferred",), reopen_when=reopen_when)


def _written_deferral(
    block: Fragment, below: Sequence[Fragment], where: str, base: str
) -> Iterator[Incoming | PassedOver]:
    """Yield a deferral in the form of a heading, an item or a bold lead, with its labelled parts.

    If there was another decision, the reason is yielded instead.
    """
    is_label = any(label.match(block.text) for label in (_REOPEN, _WHY, _SOURCE))
    if is_label or not (block.kind in (HEADING, ITEM) or block.text.startswith("**")):
        return
    start, *labelled = _LABELLED.split(block.text)
    deferred = start.rstrip(" (;\u2014")
    decision = _DECIDED.search(start)
    reason = ""
    if decision:
        deferred = start[: decision.start()].rstrip()
        reason = start[decision.end() :].strip(" .")
        if not {*decision[1].split("/")}.intersection(_PUT_OFF):
            title = unmarked(deferred)
            yield PassedOver(title=title, where=where, reason=f"decided: {decision[1].lower()}")
            return
        if reason[:1] == "(" and reason[-1:] == ")":
            reason = reason[1:-1]
    texts: list[str] = []
    for part in (*labelled, *(fragment.text for fragment in below)):
        texts += map(str.strip, re.split(r"\n(?=\s*\*\*)", part))
    reopen, source = _find_labelled(_REOPEN, texts), _find_labelled(_SOURCE, texts)
    why = _find_labelled(_WHY, texts) or reason
    if block.kind == ITEM or reopen or why:
        finding = _deferral(deferred, why, reopen.rstrip(")"), where, base)
        yield replace(finding, supported_by=_split_supporters(source.rstrip(".")))


def _find_labelled(label: re.Pattern[str], texts: Sequence[str]) -> str:
    """Return the first text with a label, without this label, or "" if there is none."""
    for text in texts:
        match = label.match(text)
        if match:
            return match[1]
    return ""
