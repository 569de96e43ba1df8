"""The two lists: what their rows show, how they are ordered, and what may be done with a row."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.search_index import read_document
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.keys import split_header
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.drafts import Draft, Drafts
from lessons_kb.collection.undo import Undoing
from lessons_kb.data import read_lines, read_patterns
from lessons_kb.errors import CardNotFound, InputError, LessonsError, StorageError
from lessons_kb.ledger.lesson_effect import Effect
from lessons_kb.mining.draft_text import EVIDENCE, FIX, SITUATION, split_evidence
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.outcome.stats import Stats
from lessons_kb.render import finding_line
from lessons_kb.store.card_files import read_bytes
from lessons_kb.text.sanitize import clean, clean_line, shorten
from lessons_kb.text.times import age
from lessons_kb.values import frozen
from lessons_kb.writers.complete import NOT_SHOWN

_MAX_SHOWN, _MAX_RAW = 20_000, 4_000
"""Characters of a file that a preview draws, and of one that cannot be used."""
_MAX_BYTES = 100_000
"""Of a file that cannot be used; more is not read."""
BROKEN = "broken"
"""What a file is that cannot be used until it is fixed."""
_RANKS: Mapping[str, int] = {BROKEN: 0, "active": 1, "ignored": 2, "archived": 3}
_EFFECTS = ("harms", "no effect", "too early", "no facts yet", "never used", "", "helps")
"""Verdicts in the order in which they call for a look."""
_SHORT = {"never used": "unused", "no facts yet": "no facts"}


class Column(NamedTuple):
    """A column of a list; the last one, the title, takes the room that is left."""

    name: str
    width: int = 0
    right: bool = False


CARD_COLUMNS = (
    Column("", 1),
    Column("seen", 4, right=True),
    Column("sev", 6),
    Column("last", 4, right=True),
    Column("effect", 9),
    Column("title"),
)
DRAFT_COLUMNS = (
    Column("why", 10),
    Column("seen", 4, right=True),
    Column("lacks", 5, right=True),
    Column("last", 4, right=True),
    Column("title"),
)


@frozen
class Row:
    """One line of a list."""

    name: str
    """What ``brain.cards``, or ``brain.drafts``, understands."""
    brain: int = 0
    """Which of the brain's brains it lies in."""
    path: str
    """POSIX path relative to its brain; of a draft, on disk."""
    title: str
    status: str = "active"
    """A card's status, or BROKEN."""
    card: Card | None = None
    draft: Draft | None = None
    troubles: int = 0
    """Findings about the file."""
    effect: str = ""
    words: str = ""
    """What a filter looks at, folded."""


def cells(row: Row, today: dt.date) -> tuple[str, ...]:
    """Return what stands in the columns of a row."""
    if draft := row.draft:
        date = dt.datetime.fromtimestamp(draft.at).date().isoformat()
        lacks = str(len(draft.missing)) if draft.missing else ""
        return (draft.kind, f"{draft.seen}×", lacks, age(date, today), row.title)
    card = row.card
    if card is None:
        return ("✗", "", BROKEN, "", "", row.title)
    mark = "!" if row.troubles else ""
    state = "template" if row.status == "active" and card.template else row.status
    shown = row.title if state == "active" else f"[{state}] {row.title}"
    effect = _SHORT.get(row.effect, row.effect)
    return (mark, f"{card.occurrences}×", card.severity, age(_last(row), today), effect, shown)


def fold(text: str) -> str:
    """Return a text as filters compare it: composed, without case."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def filter_rows(rows: Sequence[Row], text: str) -> list[Row]:
    """Return the rows that hold every word of ``text``, in their order."""
    words = fold(text).split()
    return [row for row in rows if all(word in row.words for word in words)]


def sort_rows(rows: Sequence[Row], order: str) -> list[Row]:
    """Return the rows by ORDERS; broken files first, cards put away last."""
    found = sorted(rows, key=lambda row: row.path)
    found.sort(key=ORDERS[order], reverse=order in ("last", "seen"))
    return sorted(found, key=lambda row: _RANKS.get(row.status, 1))


def _last(row: Row) -> str:
    return (row.card.last_seen or row.card.created or "") if row.card else ""


ORDERS: Mapping[str, Callable[[Row], str | int]] = {
    "last": _last,
    "seen": lambda row: row.card.occurrences if row.card else 0,
    "title": lambda row: fold(row.title),
    "effect": lambda row: (*_EFFECTS, row.effect).index(row.effect),
}
"""Names of orders, which are names of columns."""


@frozen
class Preview:
    """What a preview shows of a row."""

    title: str
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    text: str = ""
    evidence: str = ""
    """What a draft was made of, to stand beside it."""
    missing: str = ""
    """What a draft lacks, one line."""
    markdown: bool = True
    """False: the text is shown as it stands."""


def _describe(card: Card) -> list[str]:
    last = card.last_seen or card.created
    told = [card.kind, card.severity, card.status, f"seen {card.occurrences}×"]
    told += [f"last {last}"] if last else []
    told += ["written by a trigger"] if card.source == "auto" else []
    lists = {"stage": card.stages, "topics": card.topics, "paths": card.paths}
    scope = {"project": card.project or "", **{key: ", ".join(lists[key]) for key in lists}}
    where = " · ".join(f"{key} {value}" for key, value in scope.items() if value)
    lines = (clean_line(card.id), " · ".join(told), clean_line(where))
    return [line for line in lines if line]


def _describe_effect(effect: Effect) -> list[str]:
    if not effect.injections:
        return ["never injected yet"]
    line = f"{effect.verdict}: injected {effect.injections}×"
    if effect.checked:
        line += f", {effect.addressed} of {effect.checked} items addressed"
    line += f", left in {effect.told.times} of {effect.told.of} sessions" if effect.told.of else ""
    if effect.helpful or effect.harmful:
        line += f", marked helpful {effect.helpful}×, harmful {effect.harmful}×"
    proposed = [f"proposed: {effect.proposal}; {effect.reason}"] if effect.proposal else []
    return [line, *map(clean_line, proposed)]


_FIRST = ("Root Cause", "Prevention Checklist")
"""Sections of a draft that a reviewer reads first; behind them stand its symptoms."""
_MAX_ASKED = 110


def _view_draft(draft: Draft, near: Sequence[str]) -> Preview:
    """Return the view of a draft, as dense as it can be: the card, and what it was made of.

    ``near`` says which cards are like it, a line each. Behind each sentence stands the number of
    its quote, and the quotes before the evidence.
    """
    facts = [f"{draft.id} · {draft.kind} · seen {draft.seen}×"]
    if draft.card:
        facts.append(f"the same mistake is already the card {clean_line(draft.card)}")
    card, evidence = split_evidence(draft.text[:_MAX_SHOWN])
    body = split_header(card).body
    header = card[: len(card) - len(body)]
    if EVIDENCE not in draft.text:  # nobody completed it: these two are its evidence
        body = re.sub(rf"(?ms)^## (?:{SITUATION}|{FIX})\n.*?(?=^## |\Z)", "", body)
    quotes: list[str] = []

    def mark(comment: re.Match[str]) -> str:
        line = " ".join(comment[1].split())
        if line.startswith("“"):
            quotes.append(f"[{len(quotes) + 1}] {line}")
            return f"[{len(quotes)}]"
        return f"✗ {line.lower()}" if line == NOT_SHOWN else f"… {shorten(line, _MAX_ASKED)}"

    parts = re.split(r"(?m)^## (.+)\n", re.sub(r"(?s)<!--(.*?)-->", mark, body))
    sections = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        dense = re.sub(r"\n\s*\n", "\n", re.sub(r"\s*\n\s*(?=\[\d|✗)", " ", text.strip()))
        sections[name] = f"{name}:\n{dense}" if dense.startswith("-") else f"{name}: {dense}"
    pattern = "(?m)^{}:.*(?:\\n[ \\t]+\\S.*)*"
    names = ("symptoms", "paths", "detect")
    found = (re.search(pattern.format(name), header) for name in names)
    keys = [one[0] for one in found if one and not one[0].endswith("[]")]
    first = [sections.pop(name) for name in _FIRST if name in sections]
    shown = [*first, *keys, *sections.values()]
    return Preview(
        title=clean_line(draft.title),
        facts=(*facts, *map(clean_line, near)),
        text=clean("\n".join(shown)),
        markdown=False,
        evidence=clean("\n\n".join([*quotes, evidence])),
        missing="; ".join(draft.missing),
    )


@frozen
class Outcome:
    """What an action did: a line for the user, and what the lists have to change."""

    line: str
    changed: tuple[Row, ...] = ()
    """Rows that replace those of the same name, or are new."""
    gone: tuple[str, ...] = ()
    """Names of rows."""
    drafts: bool = False
    """The drafts are to be read anew."""


_STATUSES = {"ignore": "ignored", "archive": "archived", "restore": "active"}
_EDITED = {True: "edited", False: "not changed"}


class RowSource:
    """The cards and drafts of a brain as rows, and what a user does to them; each can be undone.

    Everything raises LessonsError. May be called from any thread.
    """

    def __init__(self, brains: Brains) -> None:
        self.brains = brains
        self.undoing = Undoing(brains)
        self._effects: Mapping[str, Effect] = {}

    @property
    def label(self) -> str:
        """The names of the brains."""
        return ", ".join(brain.alias for brain in self.brains.members)

    def load(self, progress: Callable[[int, int], None] | None = None) -> tuple[Row, ...]:
        """Return a row for every card and for every file that cannot be used.

        ``progress`` is told (files read, files to read) where the index is behind.
        """
        self.brains.refresh(progress=progress, workers=max(1, min(4, os.cpu_count() or 1)))
        rows: list[Row] = []
        for number, brain in enumerate(self.brains.members):
            cards, findings, known = brain.read(_list_all)
            troubles = Counter(finding.path for finding in findings if finding.level != "info")
            rows += [
                self.row_of(card, brain=number, troubles=troubles[card.id])
                for card in cards
                if card.kind != NOTE
            ]
            broken = sorted(known.keys() - {card.id for card in cards})
            rows += [self._broken(path, number, troubles[path]) for path in broken]
        return tuple(rows)

    def load_drafts(self) -> tuple[Row, ...]:
        """Return a row for every open draft, newest first; what waits in the journal included."""
        Drafts(self.brains).collect()
        rows = []
        for draft in Drafts(self.brains).all():
            title = clean_line(draft.title)
            words = fold(f"{title} {draft.id} {draft.kind}")
            rows.append(Row(name=draft.id, path=draft.path, title=title, draft=draft, words=words))
        return tuple(rows)

    def load_effects(self) -> bool:
        """Measure what each card did, which later rows show; return whether there is a card."""
        self._effects = {effect.name: effect for effect in Stats(self.brains).overview().effects}
        return bool(self._effects)

    def measure(self, rows: Sequence[Row]) -> dict[str, Row]:
        """Return cards' rows with their effects, which were read after them."""
        return {
            row.name: self.row_of(row.card, brain=row.brain, troubles=row.troubles)
            for row in rows
            if row.card is not None
        }

    def row_of(self, card: Card, *, brain: int = 0, troubles: int = 0) -> Row:
        """Return the row of a card."""
        effect = self._effect(brain, card)
        verdict = effect.verdict if effect else ""
        title = clean_line(card.title)
        told = (title, card.id, card.kind, card.status, card.severity, card.source, verdict)
        scope = (card.project or "", *card.stages, *card.topics, *card.symptoms, *card.paths)
        return replace(
            self._broken(card.id, brain, troubles),
            title=title,
            status=card.status,
            card=card,
            effect=verdict,
            words=fold(" ".join((*told, *scope))),
        )

    def _broken(self, path: str, brain: int, troubles: int) -> Row:
        """Return the row of a file that cannot be used."""
        name, title = self.undoing.name_of(self.brains.members[brain], path), clean_line(path)
        row = Row(name=name, brain=brain, path=path, title=title, troubles=troubles)
        return replace(row, status=BROKEN, words=fold(f"{title} {BROKEN}"))

    def row_named(self, name: str) -> Row:
        """Return the row of a file by the name of a row; CardNotFound where there is none."""
        for number, brain in enumerate(self.brains.members):
            prefix = self.undoing.name_of(brain, "")
            path = name.removeprefix(prefix)
            if name.startswith(prefix) and _exists(brain, path):
                return self.look(Row(name=name, brain=number, path=path, title=path))[0]
        raise CardNotFound(f"{name} no longer exists")

    def look(self, row: Row) -> tuple[Row, Preview]:
        """Return a row as its file is now, and what to show of it.

        Raises CardNotFound when the file is gone.
        """
        if row.draft:
            near = Drafts(self.brains).find_near_duplicates(row.draft)
            return row, _view_draft(row.draft, [one.reason for one in near])
        brain = self.brains.members[row.brain]
        if not _exists(brain, row.path):
            raise CardNotFound(f"{row.path} no longer exists; press ctrl+r to reload")
        folders, limit = brain.settings.folders, brain.settings.index.max_file_bytes
        try:
            document = read_document(brain.root, row.path, folders, limit)[1]
        except StorageError as error:
            fix = "grant yourself read access, or remove the file"
            found = {"path": row.path, "rule": "unreadable", "message": str(error), "fix": fix}
            finding = Finding(**found, line=0, level="error")
            document = Document(card=None, fields={}, findings=(finding,))
        card = document.card
        troubles = sum(finding.level != "info" for finding in document.findings)
        if card is None:
            raw = b""
            with contextlib.suppress(StorageError):
                raw = read_bytes(brain.root, row.path, limit=_MAX_BYTES)
            return self._broken(row.path, row.brain, max(troubles, 1)), Preview(
                title=clean_line(row.path),
                facts=("not valid; press e to open and fix it",),
                warnings=tuple(map(finding_line, document.findings)),
                text=clean(raw.decode("utf-8", "replace")[:_MAX_RAW]),
                markdown=False,
            )
        findings = document.findings if card.kind == NOTE else check_card(document)
        effect = self._effect(row.brain, card)
        body = clean(document.body[:_MAX_SHOWN])
        view = Preview(
            title=clean_line(card.title),
            facts=(*_describe(card), *(_describe_effect(effect) if effect else ())),
            warnings=tuple(map(finding_line, findings)),
            text=re.sub(r"\A\s*# [^\n]*\n?", "", body),  # the title stands above it
        )
        return self.row_of(card, brain=row.brain, troubles=troubles), view

    def nearest(self, draft: Draft) -> tuple[Card, ...]:
        """Return the cards into which a draft may be merged, best first."""
        found = [one.card for one in Drafts(self.brains).find_near_duplicates(draft)]
        return tuple({card.id: card for card in found}.values())

    def do(self, act: str, row: Row) -> Outcome:
        """Do what needs nothing but a row: bump, ignore, archive, restore, delete, discard."""
        if act == "discard":
            self.undoing.discard(row.name)
            return Outcome(line=f"{row.name} discarded; u brings it back", drafts=True)
        if row.card is None:
            raise InputError(f"{clean_line(row.path)} is not valid; open and fix it first")
        if act == "delete":
            card = self.undoing.delete(row.name)
            return Outcome(line=f"{clean_line(card.id)} moved to the trash", gone=(row.name,))
        if act == "bump":
            card = self.undoing.bump(row.name)
            done = f"seen {card.occurrences}×"
        else:
            status = _STATUSES[act]
            card = self.undoing.set_status(status, row.name)
            done = f"is already {status}" if row.status == status else f"is {status}"
        now = self.row_of(card, brain=row.brain, troubles=row.troubles)
        return Outcome(line=f"{clean_line(card.id)} {done}", changed=(now,))

    def edit(self, row: Row, editor: Callable[[str], object]) -> Outcome:
        """Let the user's editor change a card, a file that cannot be used, or a draft."""
        if row.draft is not None:
            changed = self.undoing.edit_draft(row.name, editor)
            return Outcome(line=f"{row.name} {_EDITED[changed]}", drafts=True)
        changed = self.undoing.edit(self.brains.members[row.brain], row.path, editor)
        path = clean_line(row.path)
        try:
            now, _view = self.look(row)
        except CardNotFound:
            return Outcome(line=f"{path} no longer exists", gone=(row.name,))
        trouble = "" if now.card else " and now invalid: see below"
        return Outcome(line=f"{path} {_EDITED[changed]}{trouble}", changed=(now,))

    def accept(self, row: Row, *, on_duplicate: str = "fail") -> Outcome:
        """Make a draft a card; DuplicateCard where the lesson is there already."""
        draft = Drafts(self.brains).get(row.name)
        if draft.missing:
            raise InputError(f"incomplete; press e and add {'; '.join(draft.missing)}")
        card = self.undoing.accept(row.name, on_duplicate=on_duplicate)
        made = self.row_of(card)
        return Outcome(line=f"{clean_line(card.id)} is now a card", changed=(made,), drafts=True)

    def merge(self, row: Row, card_name: str) -> Outcome:
        """Count a draft on a card."""
        brain, card = Cards(self.brains).find(card_name)
        card = self.undoing.merge(row.name, self.undoing.name_of(brain, card.id))
        now = self.row_of(card, brain=self.brains.members.index(brain))
        line = f"{row.name} counted on {clean_line(card.id)}, seen {card.occurrences}×"
        return Outcome(line=line, changed=(now,), drafts=True)

    def undo(self) -> Outcome:
        """Take the latest change back."""
        line, names = self.undoing.undo()
        changed: list[Row] = []
        gone: list[str] = []
        for name in names:
            try:
                changed.append(self.row_named(name))
            except LessonsError:
                gone.append(name)
        line = clean_line(line)
        return Outcome(line=line, changed=tuple(changed), gone=tuple(gone), drafts=True)

    def _effect(self, brain: int, card: Card) -> Effect | None:
        """Return what a card did; its name has an alias only where two brains have its id."""
        named = f"{self.brains.members[brain].alias}:{card.id}"
        return self._effects.get(named) or self._effects.get(card.id)


def _list_all(brain: Brain) -> tuple[list[Card], list[Finding], Mapping[str, Any]]:
    """Return the cards of a brain, what was found in its files, and the files."""
    known = brain.catalogue
    return known.all_cards(), known.findings(), known.numbers()


def _exists(brain: Brain, path: str) -> bool:
    return os.path.lexists(os.path.join(brain.root, *path.split("/")))


CARDS, DRAFTS = "cards", "drafts"
BOTH = (CARDS, DRAFTS)


class Key(NamedTuple):
    """A key and what it does while the list has the focus."""

    keys: str
    """As textual names them, separated by commas."""
    shown: str
    act: str
    word: str
    """For the bottom line; "" = not there."""
    help: str
    tab: str
    """"" = both."""
    statuses: tuple[str, ...]
    """The bottom line names it for cards of these; () = for all."""


KEYS = tuple(
    Key(
        row["keys"],
        row["shown"],
        row["act"],
        row["word"],
        row["help"],
        row["tab"],
        tuple(row["statuses"].split()),
    )
    for row in csv.DictReader(read_lines("manage_keys.csv"))
)
"""In the order in which help names them."""
ROW_ACTS = tuple(key.act for key in KEYS[:9])
"""What is done to the row under the cursor."""
_DISPENSABLE = ("filter", "switch", "undo")
"""Left out first where a line is too narrow for all."""


def list_hints(tab: str, row: Row | None, width: int) -> list[tuple[str, str, str]]:
    """Return (key, shown, word) of the keys that the bottom line has room for, for a row."""
    found: dict[str, tuple[str, str, str]] = {}
    for key in KEYS:
        fits = key.act not in ROW_ACTS or (
            row is not None
            and (key.tab != CARDS or row.card is not None)
            and (not key.statuses or row.status in key.statuses)
        )
        if key.word and fits and key.tab in ("", tab):
            word = CARDS if key.act == "switch" and tab == DRAFTS else key.word
            found[key.act] = (key.keys.split(",")[0], key.shown.split()[-1], word)
    for act in _DISPENSABLE:
        if sum(len(f"{shown} {word}") + 2 for _key, shown, word in found.values()) <= width:
            break
        del found[act]
    return list(found.values())


def find_act(tab: str, pressed: str) -> str:
    """Return what a key means in a tab, "" where it means nothing."""
    return next(
        (key.act for key in KEYS if key.tab in ("", tab) and pressed in key.keys.split(",")), ""
    )


def help_text() -> str:
    """Return the page that ``?`` shows: 76 columns at most, at most 22 lines."""
    lines = [
        f"{key.shown:>7}  {key.help}{f' ({key.tab})' if key.tab else ''}"
        for key in KEYS
        if key.help
    ]
    return "\n".join([*read_patterns("manage_texts.toml")["help"], "", *lines])


class Board:
    """The state of the lists, whatever draws them."""

    def __init__(self) -> None:
        self.tab = CARDS
        self.order = next(iter(ORDERS))
        self.rows: dict[str, Sequence[Row]] = dict.fromkeys(BOTH, ())
        self.ready: set[str] = set()
        """Tabs that have been read."""
        self.filters = dict.fromkeys(BOTH, "")
        """What is typed above each list."""
        self.places = dict.fromkeys(BOTH, "")
        """Name of the row under each cursor, "" without one."""

    def shown(self) -> list[Row]:
        """Return the rows of this tab that pass its filter."""
        return filter_rows(self.rows[self.tab], self.filters[self.tab])

    def set(self, tab: str, rows: Sequence[Row]) -> None:
        """Fill a tab; cards are put in order."""
        self.rows[tab] = sort_rows(rows, self.order) if tab == CARDS else rows
        self.ready.add(tab)

    def next_order(self) -> None:
        """Put the cards in the next order."""
        names = list(ORDERS)
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.set(CARDS, self.rows[CARDS])

    def replace(self, new: Mapping[str, Row]) -> None:
        """Put cards where those of their names stand, though another order be due."""
        self.rows[CARDS] = [new.get(row.name, row) for row in self.rows[CARDS]]

    def take(self, outcome: Outcome) -> None:
        """Change the cards as an action says; one that is new comes under the cursor."""
        self.replace({row.name: row for row in outcome.changed})
        known = {row.name for row in self.rows[CARDS]}
        added = [row for row in outcome.changed if row.name not in known]
        self.rows[CARDS] = [row for row in self.rows[CARDS] if row.name not in outcome.gone]
        if added:
            self.set(CARDS, [*self.rows[CARDS], *added])
            self.places[CARDS] = added[0].name
