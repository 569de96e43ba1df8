"""A review synthesis (claim ledger, dispositions, questions, YAGNI ledger) as review findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lessons_kb.data import read_mapping
from lessons_kb.importers.markdown_blocks import (
    CAUSE,
    FIX,
    HEADING,
    ITEM,
    MISTAKE,
    ROW,
    SECTIONS,
    SITUATION,
    Block,
    Incoming,
    PassedOver,
    Reading,
    fit_sections,
    make_origin,
    read_blocks,
    shorten,
    split_lead,
    unmarked,
)
from lessons_kb.model import EVIDENCE

_NUMBER = r"[A-Z]{0,3}-?\d{1,4}[a-z]?"
_STATES = (*EVIDENCE, "resolved", "unverified", "verified", "confirmed", "rejected", "withdrawn")
_CLAIM_ROW = re.compile(
    rf"(?P<claim>\S.*?)\s+(?P<state>(?:{'|'.join(word.capitalize() for word in _STATES)})\b"
    r"(?:\s*\([^()]*\))?)(?:\s+(?P<rest>\S.*))?"
)
_FIRST_ROW = re.compile(rf"(?P<number>{_NUMBER})[.:)]?\s+(?P<rest>\S.*)")
_MATURITY = re.compile(r"(?P<maturity>[A-Za-z]+-level)\b\s*(?P<rest>.*)")
_ORDER = ("number", "claim", "state", "maturity", "support")
_MOST_WORDS = 3
"""Words of the name of a column."""
_LONGEST_HEADING = 90
_LONGEST_HEAD = 500
"""Characters of a line that names columns."""
_HEADING = re.compile(r"[^\W\d_].{2,}[^\s.,;:|]")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s")


def restore_markup(text: str, meanings: Mapping[str, str]) -> str:
    """Return a review with its tables' pipes, and with headings if it has lost all; line by line.

    ``meanings`` maps the names of columns to what they mean. A text whose tables have pipes
    stays as it is.
    """
    lines = text.split("\n")
    tables = [
        (number, columns)
        for number, line in enumerate(lines)
        if "|" not in line and (columns := _read_head(line, meanings))
    ]
    for number, columns in tables:
        _restore_table(lines, number, columns)
    if tables and not any(re.match(r" {0,3}#{1,6}\s", line) for line in lines):
        _restore_headings(lines)
    return "\n".join(lines)


def _read_head(line: str, meanings: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (name, meaning) of the columns that a line names and does nothing else; else []."""
    if len(line) > _LONGEST_HEAD:
        return []
    words, columns = line.split(), []
    while words:
        for size in range(min(_MOST_WORDS, len(words)), 0, -1):
            name = " ".join(words[:size])
            if meaning := meanings.get(name.casefold()):
                columns.append((name, meaning))
                del words[:size]
                break
        else:
            return []
    found = [meaning for _name, meaning in columns]
    in_order = [one for one in _ORDER if one in found] == found
    return columns if in_order and {"claim", "state"} <= {*found} else []


def _restore_table(lines: list[str], head: int, columns: Sequence[tuple[str, str]]) -> None:
    lines[head] = _row([name for name, _meaning in columns])
    numbered = columns[0][1] == "number"
    number = head + 1
    while number < len(lines) and lines[number].strip():
        row, end = lines[number].strip(), number + 1
        # A line that begins with no number goes on with the row above it.
        while numbered and end < len(lines) and lines[end].strip():
            if _FIRST_ROW.fullmatch(lines[end].strip()):
                break
            row = f"{row} {lines[end].strip()}"
            end += 1
        cells = _read_row(row, columns)
        lines[number] = _row([cells.get(meaning, "") for _name, meaning in columns])
        # The lines that are joined stay as rows without text: the others keep their numbers.
        lines[number + 1 : end] = [_row(["" for _ in columns])] * (end - number - 1)
        number = end


def _read_row(row: str, columns: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return meaning → cell of a row: number, claim, state, maturity, supporters."""
    cells: dict[str, str] = {}
    row = " ".join(row.split())  # a run of blanks would be tried at each of its places
    if columns[0][1] == "number" and (found := _FIRST_ROW.fullmatch(row)):
        cells["number"], row = found["number"], found["rest"]
    told = _CLAIM_ROW.fullmatch(row)
    if told is None:
        return {**cells, "claim": row}
    cells |= {"claim": told["claim"], "state": told["state"]}
    rest = told["rest"] or ""
    meanings = [meaning for _name, meaning in columns]
    if "maturity" in meanings and (level := _MATURITY.fullmatch(rest)):
        cells["maturity"], rest = level["maturity"], level["rest"]
    return {**cells, "support": rest} if "support" in meanings else cells


def _row(cells: Sequence[str]) -> str:
    told = (cell.replace("|", r"\|") for cell in cells)
    return f"| {' | '.join(told)} |"


def _restore_headings(lines: list[str]) -> None:
    """Mark as headings the short lines that stand alone above a list, a table or a paragraph."""
    for number, line in enumerate(lines):
        alone = (
            not (number and lines[number - 1].strip())
            and not "".join(lines[number + 1 : number + 2]).strip()
        )
        if (
            alone
            and len(line) <= _LONGEST_HEADING
            and _HEADING.fullmatch(line)
            and not _ITEM.match(line)
        ):
            lines[number] = f"## {line}"


_MAY_TELL = ("support", "verdict")
"""What a column without the head of a state may mean, and yet hold one."""
_MEANINGS = read_mapping("import_review_columns.txt")["columns"]
_REOPEN = re.compile(
    r"\**(?:(?:re-?open(?:s|ing)?|revisit)(?:[ -](?:when|if|once|trigger|condition)s?|(?=\s*:))"
    r"|defer until)\**(?:\s*:\**)?\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_WHY = re.compile(
    r"\**(?:why(?: deferred| not now)?|reason|rationale)\**\s*:\**\s*(.+)",
    re.IGNORECASE | re.DOTALL,
)
_SOURCE = re.compile(
    r"\**(?:source|raised by|supporting|supported by)\**\s*:\**\s*(.+)", re.IGNORECASE | re.DOTALL
)
_LABELLED = re.compile(
    r"(?<=[.;\u2014(])\s*(?=\**(?:re-?open|revisit|(?:source|raised by|why|reason)\**\s*:))",
    re.IGNORECASE,
)
"""Where a sentence of a deferral begins that says when to reopen it, who asked for it, and why."""
_DECIDED = re.compile(r"(?:→|->|=>)\s*(?:already\s+)?\**([A-Z]{3,}(?:/[A-Z]{3,})*)\**[\s,:]*")
"""`→ DEFER`, `→ REPLACE`: what was decided of an item."""
_PUT_OFF = ("DEFER", "DEFERRED", "DROP", "DROPPED", "POSTPONE", "POSTPONED", "LATER", "SKIP")
_YAGNI = re.compile(r"yagni|deferr|deferral|not building", re.IGNORECASE)
_QUESTIONS = re.compile(r"question|미해결|질문", re.IGNORECASE)
_DISPOSITIONS = re.compile(r"disposition|readiness|verdict", re.IGNORECASE)
_RESOLVED = re.compile(r"(?:→|->|=>|\bresolved\b|\banswer(?:ed)?\b)", re.IGNORECASE)
_UNRESOLVED = re.compile(r"\b(?:unresolved|unanswered|unknown|tbd|미해결)\b", re.IGNORECASE)
_NEXT_QUESTION = re.compile(r"(?<=[.;])\s+(?=OQ\b)")
_FEATURE = re.compile(r"(?<![A-Za-z])([A-Z]\d{1,3})(?!\d)")
"""The name of a feature, such as F4, also of its question OQ-F4a."""
_READY = re.compile(r"\bready\b", re.IGNORECASE)
_BLOCKED = re.compile(r"\b(?:not ready|blocked)\b", re.IGNORECASE)
_NUMBERS = re.compile(r"(?<![\w-])(?:claims?\s+|#)?([A-Z]{0,2})-?(\d{1,4})(?![\w.%:-])")
_NONE = ("", "-", "\u2014", "\u2013", "n/a", "none")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Remark:
    """A disposition or a question, to be told with the claims that it names."""

    kind: str
    text: str
    line: int


def read_review(text: str, *, name: str) -> Reading:
    """Return the claims and deferrals of a review; ``name`` is its path, for messages.

    Claims that are evidenced, anecdotal or disputed and deferrals become findings. Dispositions
    and questions are told with the claims they name by number.
    """
    base = re.split(r"[\\/]", name)[-1]
    blocks = read_blocks(restore_markup(text, _MEANINGS))
    claims: dict[str, Incoming] = {}
    passed: list[PassedOver] = []
    deferrals: list[Incoming] = []
    remarks: list[_Remark] = []
    for topic, block, below in _walk(blocks):
        cells = _meant(block)
        where = f"{name}:{block.line}"
        if "claim" in cells and "state" in cells:
            found = _claim(cells, where, base)
            if isinstance(found, PassedOver):
                passed.append(found)
            else:
                claims[_number(cells, block)] = found
        elif "verdict" in cells and ("feature" in cells or "deferred" in cells):
            remarks += _disposition(cells, block)
        elif "reopen" in cells and ("deferred" in cells or "feature" in cells):
            what = cells.get("deferred") or cells["feature"]
            deferrals.append(_deferral(what, cells.get("why", ""), cells["reopen"], where, base))
        elif "claim" in cells:
            title = split_lead(cells["claim"])[0]
            passed.append(PassedOver(title=title, where=where, reason=_STATELESS))
        elif topic == "yagni" and block.kind != ROW:
            written = _written_deferral(block, below, where, base)
            if isinstance(written, PassedOver):
                passed.append(written)
            elif written is not None:
                deferrals.append(written)
        elif topic and block.kind == ITEM:
            pieces = _NEXT_QUESTION.split(unmarked(block.text))
            remarks += [_Remark(kind=topic, text=piece, line=block.line) for piece in pieces]
    told, lost = _with_remarks(claims, remarks)
    asked = [_question(one, f"{name}:{one.line}", base) for one in lost if _is_open(one)]
    lost = [one for one in lost if not _is_open(one)]
    deferrals += asked
    nameless = [lesson for lesson in (*told, *deferrals) if not lesson.title]
    passed += [PassedOver(title="", where=one.where, reason=_NAMELESS) for one in nameless]
    told, deferrals = ([one for one in some if one.title] for some in (told, deferrals))
    passed += [PassedOver(title=r.text, where=f"{name}:{r.line}", reason=_LOST) for r in lost]
    notes = () if told or deferrals else (f"{name}: no table with the columns Claim and State",)
    return Reading(lessons=(*told, *deferrals), passed_over=tuple(passed), notes=notes)


_NAMELESS = "no words to build a title from"
_STATELESS = f"nothing says whether it is {', '.join(EVIDENCE[:-1])} or {EVIDENCE[-1]}"
_LOST = "it refers to no imported claim"


def _walk(blocks: Sequence[Block]) -> Iterator[tuple[str, Block, Sequence[Block]]]:
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
    for kind, words in (("yagni", _YAGNI), ("question", _QUESTIONS), ("verdict", _DISPOSITIONS)):
        if words.search(text):
            return kind
    return ""


def _below(blocks: Sequence[Block], place: int) -> Sequence[Block]:
    """Return the blocks that belong to a heading or an item: its text, its smaller items."""
    block, end = blocks[place], place + 1
    while end < len(blocks):
        other = blocks[end]
        if other.kind == HEADING or (
            block.kind != HEADING and (other.kind != ITEM or other.level <= block.level)
        ):
            break
        end += 1
    return blocks[place + 1 : end]


def _meant(block: Block) -> dict[str, str]:
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


def _number(cells: Mapping[str, str], block: Block) -> str:
    found = _NUMBERS.search(unmarked(cells.get("number", "")))
    number = f"{found[1] if found[1] != 'C' else ''}{int(found[2])}" if found else ""
    return number or f"line {block.line}"


def _claim(cells: Mapping[str, str], where: str, base: str) -> Incoming | PassedOver:
    title, rest = split_lead(cells["claim"])
    state = unmarked(cells["state"])
    evidence = _evidence(state)
    if evidence is None:
        return PassedOver(title=title, where=where, reason=f"its state is {state!r}")
    remark = state[len(evidence) :].strip(" ()\u2014\u2013:;-→")
    facts = [f"A claim of the review {base}, {evidence}."]
    if "maturity" in cells:
        facts.append(f"Spec maturity: {unmarked(cells['maturity'])}.")
    if "category" in cells:
        facts.append(f"Category: {unmarked(cells['category'])}.")
    if remark:
        facts.append(f"{remark[0].upper()}{remark[1:].rstrip('.')}.")
    parts = [(SITUATION, " ".join(facts)), (MISTAKE, rest)]
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("review", base, cells["claim"]),
        kind="qa-finding",
        sections=tuple(fit_sections(parts, SECTIONS)),
        evidence=evidence,
        supported_by=_supporters(cells.get("support", "")),
    )


def _supporters(text: str) -> tuple[str, ...]:
    """Return what a cell names, cut at semicolons, else at commas outside brackets."""
    text = re.sub(r"(?:^|\s)(?:vs\.?|\+|&)\s", ", ", re.sub(r"^\([^()]*\)\s*", "", unmarked(text)))
    cut = ";" if ";" in text else ","
    found, part, depth = [], "", 0
    for char in text:
        depth += (char in "([") - (char in ")]")
        if char == cut and depth <= 0:
            found.append(part)
            part = ""
        else:
            part += char
    lines = (piece.strip() for piece in [*found, part])
    return tuple(dict.fromkeys(line for line in lines if line.casefold() not in _NONE))


def _deferral(what: str, why: str, reopen: str, where: str, base: str) -> Incoming:
    title, rest = split_lead(what)
    parts = [
        (SITUATION, f"Set aside for now by the review {base}."),
        (MISTAKE, rest),
        (CAUSE, why),
    ]
    return Incoming(
        title=title,
        where=where,
        origin=make_origin("review", base, what),
        kind="qa-finding",
        sections=tuple(fit_sections(parts, SECTIONS)),
        topics=("deferred",),
        reopen_when=unmarked(reopen).rstrip(".") or None,
    )


def _written_deferral(
    block: Block, below: Sequence[Block], where: str, base: str
) -> Incoming | PassedOver | None:
    """Return a deferral told as a heading, an item or a bold lead, with reason and trigger."""
    if any(label.match(block.text) for label in (_REOPEN, _WHY, _SOURCE)):
        return None
    if block.kind not in (HEADING, ITEM) and not block.text.startswith("**"):
        return None
    own = _LABELLED.split(block.text)
    what, decided, reason = own[0].rstrip(" (;\u2014"), _DECIDED.search(own[0]), ""
    if decided:
        what, reason = own[0][: decided.start()].rstrip(), own[0][decided.end() :].strip()
        if not {*decided[1].split("/")}.intersection(_PUT_OFF):
            title = unmarked(what)
            return PassedOver(title=title, where=where, reason=f"decided: {decided[1].lower()}")
    texts = [line for piece in (*own[1:], *(b.text for b in below)) for line in _labelled(piece)]
    reopen = next((found[1] for text in texts if (found := _REOPEN.match(text))), "")
    why = next((found[1] for text in texts if (found := _WHY.match(text))), _unwrapped(reason))
    source = next((found[1] for text in texts if (found := _SOURCE.match(text))), "")
    if block.kind != ITEM and not (reopen or why):
        return None
    made = _deferral(what, why, reopen.rstrip(")"), where, base)
    return replace(made, supported_by=_supporters(source.rstrip(".")))


def _unwrapped(text: str) -> str:
    """Return a reason without the brackets around all of it."""
    text = text.strip(" .")
    return text[1:-1] if text[:1] == "(" and text[-1:] == ")" else text


def _labelled(text: str) -> list[str]:
    """Return the pieces of a text, each beginning at a line with a bold label."""
    return [part.strip() for part in re.split(r"\n(?=\s*\*\*)", text) if part.strip()]


def _disposition(cells: Mapping[str, str], block: Block) -> list[_Remark]:
    feature = unmarked(cells.get("feature") or cells.get("deferred", ""))
    reason = unmarked(cells.get("why", ""))
    verdict = unmarked(cells["verdict"])
    text = f"{feature}: {verdict}" + (f" ({reason})" if reason else "")
    return [_Remark(kind="verdict", text=text, line=block.line)]


def _with_remarks(
    claims: Mapping[str, Incoming], remarks: Sequence[_Remark]
) -> tuple[list[Incoming], list[_Remark]]:
    """Tell each remark with the claims it names; return the claims, and remarks of none."""
    said: dict[str, list[tuple[str, str]]] = {}
    lost = []
    features = {number: _FEATURE.match(claim.title) for number, claim in claims.items()}
    for remark in remarks:
        named = [n for n in _named(remark.text) if n in claims]
        if not named and remark.kind == "question" and not _is_open(remark):
            about = {*_FEATURE.findall(remark.text)}
            named = [n for n, found in features.items() if found and found[1] in about]
        if not named and not (_READY.search(remark.text) and not _BLOCKED.search(remark.text)):
            lost.append(remark)
        for number in dict.fromkeys(named):
            said.setdefault(number, []).append(_tell(remark))
    told = []
    for number, claim in claims.items():
        parts = [*claim.sections, *said.get(number, ())]
        told.append(replace(claim, sections=tuple(fit_sections(parts, SECTIONS))))
    return told, lost


def _named(text: str) -> list[str]:
    return [f"{f[1] if f[1] != 'C' else ''}{int(f[2])}" for f in _NUMBERS.finditer(text)]


def _is_open(remark: _Remark) -> bool:
    if remark.kind != "question":
        return False
    return bool(_UNRESOLVED.search(remark.text)) or not _RESOLVED.search(remark.text)


def _question(remark: _Remark, where: str, base: str) -> Incoming:
    """Return a question that nobody has answered, and that names no claim, as a finding."""
    what, _arrow, state = re.split(r"\s*(→|->|=>)\s*", f"{remark.text} → ", maxsplit=1)
    state = state.strip(" →")
    facts = f"An open question of the review {base}: {state.rstrip('.')}." if state else ""
    parts = [(SITUATION, facts or f"An open question of the review {base}.")]
    return Incoming(
        title=shorten(unmarked(what).rstrip(" .:")),
        where=where,
        origin=make_origin("review", base, what),
        kind="qa-finding",
        sections=tuple(fit_sections(parts, SECTIONS)),
        topics=("open-question",),
    )


def _tell(remark: _Remark) -> tuple[str, str]:
    if remark.kind == "verdict":
        return SITUATION, f"Disposition: {remark.text.rstrip('.')}."
    if not _is_open(remark):
        return FIX, f"Resolved question: {remark.text}"
    return SITUATION, f"Open question: {remark.text}"
