"""The two lists: the content of their rows, their order, and the actions on a row."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.write_index import read_document
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.standings import list_remarks
from lessons_kb.collection.all_drafts import find_drafts, list_all_drafts, open_drafts
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.origin import describe_rest, describe_sources
from lessons_kb.collection.undo import Undoing
from lessons_kb.data import read_lines, read_patterns
from lessons_kb.errors import CardNotFound, Incomplete, InputError, LessonsError, StorageError
from lessons_kb.ledger.lesson_effect import Effect
from lessons_kb.mining.draft_text import (
    EVIDENCE,
    FIX,
    NOT_SHOWN,
    SITUATION,
    TITLE_NOT_SHOWN,
    split_evidence,
)
from lessons_kb.model import NOTE, Card, Document, Finding
from lessons_kb.on_demand import FRESHNESS_REFRESH, OUTCOME_STATS, load
from lessons_kb.process.clock import today
from lessons_kb.render import finding_line
from lessons_kb.store.card_files import read_bytes
from lessons_kb.text.sanitize import clean, clean_line, counted, shorten
from lessons_kb.text.times import age
from lessons_kb.values import frozen, replace

_MAX_SHOWN, _MAX_RAW = 20_000, 4_000
"""The numbers of characters in the preview of a card, and of a file that is not valid."""
_MAX_BYTES = 100_000
"""The number of bytes that are read from a file that is not valid."""
BROKEN = "broken"
"""The status of a file that cannot be used until it is fixed."""
_RANKS: Mapping[str, int] = {BROKEN: 0, "active": 1, "ignored": 2, "archived": 3}
_EFFECTS = ("harms", "no effect", "too early", "no facts yet", "never used", "", "helps")
"""The verdicts, in the order in which they need attention."""
_SHORT = {"never used": "unused", "no facts yet": "no facts"}


class Column(NamedTuple):
    """A column of a list. The last column, the title, gets the remaining width."""

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
    """The name by which ``Cards`` or ``Drafts`` finds the card or draft."""
    brain: int = 0
    """The position of its brain among the open brains."""
    path: str
    """POSIX path relative to its brain; for a draft, the path on disk."""
    title: str
    status: str = "active"
    """A card's status, or BROKEN."""
    card: Card | None = None
    draft: Draft | None = None
    troubles: int = 0
    """The number of findings about the file."""
    effect: str = ""
    """The verdict about the card's effect; "" if the effect was not measured."""
    words: str = ""
    """The folded text that a filter searches."""


def cells(row: Row, today: dt.date) -> tuple[str, ...]:
    """Return the texts in the columns of a row."""
    if draft := row.draft:
        date = dt.datetime.fromtimestamp(draft.at).date().isoformat()
        lacks = str(len(draft.missing)) if draft.missing else ""
        return (draft.kind, f"{draft.seen}×", lacks, age(date, today), row.title)
    card = row.card
    if card is None:
        return ("✗", "", BROKEN, "", "", row.title)
    mark = "!" if row.troubles else ""
    state = _name_state(card, today) if row.status == "active" else row.status
    shown = row.title if state == "active" else f"[{state}] {row.title}"
    effect = _SHORT.get(row.effect, row.effect)
    return (mark, f"{card.occurrences}×", card.severity, age(_last(row), today), effect, shown)


def _name_state(card: Card, today: dt.date) -> str:
    """Return the reason why an active card is not injected, in one word, or else "active"."""
    if card.template:
        return "template"
    if card.standing.silenced:
        return "gone"
    if card.standing.unmet:
        return "unmet"
    return "stale" if "" < card.waits_from <= today.isoformat() else "active"


def fold(text: str) -> str:
    """Return a text in the form that filters compare, which is NFKC without case."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text).casefold()


def filter_rows(rows: Sequence[Row], text: str) -> list[Row]:
    """Return the rows that contain every word of ``text``, in their order."""
    words = fold(text).split()
    return [row for row in rows if all(word in row.words for word in words)]


def sort_rows(rows: Sequence[Row], order: str) -> list[Row]:
    """Return the rows in one of ``ORDERS``: broken files first, ignored and archived cards last."""
    by_path = sorted(rows, key=lambda row: row.path)
    ordered = sorted(by_path, key=ORDERS[order], reverse=order in ("last", "seen"))
    return sorted(ordered, key=lambda row: _RANKS.get(row.status, 1))


def _last(row: Row) -> str:
    return row.card.latest_day if row.card else ""


ORDERS: Mapping[str, Callable[[Row], str | int]] = {
    "last": _last,
    "seen": lambda row: row.card.occurrences if row.card else 0,
    "title": lambda row: fold(row.title),
    "effect": lambda row: (*_EFFECTS, row.effect).index(row.effect),
}
"""A mapping from each order, which is named after a column, to its sort key."""


@frozen
class Preview:
    """The preview of a row."""

    title: str
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    text: str = ""
    evidence: str = ""
    """The evidence of a draft, shown beside it."""
    missing: str = ""
    """The parts that a draft lacks, in one line."""
    markdown: bool = True
    """Whether the text is rendered as Markdown. Otherwise it is shown without changes."""


def _describe(card: Card, today: dt.date) -> list[str]:
    """Return lines with a card's id, its facts and its scope."""
    last = card.last_seen or card.created
    facts = [card.kind, card.severity, card.status, f"seen {card.occurrences}×"]
    if last:
        facts.append(f"last {age(last, today)} ago")
    if card.source == "auto":
        facts.append("from a draft")
    scope = {
        "project": card.project or "",
        "stage": ", ".join(card.stages),
        "topics": ", ".join(card.topics),
        "paths": ", ".join(card.paths),
    }
    applies_to = " · ".join(f"{key} {value}" for key, value in scope.items() if value)
    lines = (clean_line(card.id), " · ".join(facts), clean_line(applies_to))
    return list(filter(None, lines))


def _describe_effect(effect: Effect) -> list[str]:
    """Return a line with the figures of a card's effect, and a line with the proposal for the card.

    If there is no proposal, return only the first line.
    """
    if not effect.injections:
        return ["never injected yet"]
    line = f"{effect.verdict}: injected {effect.injections}×"
    if effect.checked:
        line += f", {effect.addressed} of {effect.checked} items addressed"
    if effect.told.of:
        line += f", left in {effect.told.times} of {effect.told.of} sessions"
    if effect.helpful or effect.harmful:
        line += f", marked helpful {effect.helpful}×, harmful {effect.harmful}×"
    if not effect.proposal:
        return [line]
    return [line, clean_line(f"proposed: {effect.proposal}; {effect.reason}")]


_FIRST = ("Root Cause", "Prevention Checklist")
"""The sections of a draft that a reviewer reads first. The symptoms follow them."""
_MAX_COMMENT = 110
_HEADER_KEYS = ("symptoms", "paths", "detect")
"""The keys of a draft's header that its preview shows, if they are not empty."""


def _describe_mark(line: str, remark: str) -> str:
    """Return a mark of a completed draft, with its reason."""
    return f"✗ {remark.lower()}{shorten(line.removeprefix(remark), _MAX_COMMENT)}"


def _view_draft(draft: Draft, similar_cards: Sequence[str]) -> Preview:
    """Return the compact preview of a draft: its card, and its evidence.

    ``similar_cards`` contains one line for each similar card. A number after each sentence refers
    to its quote. The quotes precede the evidence.
    """
    facts = [f"{draft.id} · {draft.kind} · seen {draft.seen}×"]
    if draft.card:
        facts.append(f"the same mistake is already the card {clean_line(draft.card)}")
    facts += describe_sources(draft.text)
    card, evidence = split_evidence(draft.text[:_MAX_SHOWN])
    body = split_header(card).body
    header = card[: len(card) - len(body)]
    if EVIDENCE not in draft.text:  # the draft is incomplete, and these sections are its evidence
        body = re.sub(rf"(?ms)^## (?:{SITUATION}|{FIX})\n.*?(?=^## |\Z)", "", body)
    quotes: list[str] = []

    def replace_comment(comment: re.Match[str]) -> str:
        line = " ".join(comment[1].split())
        if line.startswith("“"):
            quotes.append(f"[{len(quotes) + 1}] {line}")
            return f"[{len(quotes)}]"
        if line.startswith(TITLE_NOT_SHOWN):
            facts.append(_describe_mark(line, TITLE_NOT_SHOWN))
            return ""
        if line.startswith(NOT_SHOWN):
            return f"({_describe_mark(line, NOT_SHOWN)})"
        return f"… {shorten(line, _MAX_COMMENT)}"

    sections = _read_dense_sections(re.sub(r"(?s)<!--(.*?)-->", replace_comment, body))
    first = [sections.pop(name) for name in _FIRST if name in sections]
    lines = [*first, *_read_header_entries(header), *sections.values()]
    return Preview(
        title=clean_line(draft.title),
        facts=(*facts, *map(clean_line, similar_cards)),
        text=clean("\n".join(lines)),
        markdown=False,
        evidence=clean("\n\n".join([*quotes, evidence])),
        missing="; ".join(draft.missing),
    )


def _read_dense_sections(body: str) -> dict[str, str]:
    """Return a mapping from name to section of a body, with the name and without empty lines."""
    parts = re.split(r"(?m)^## (.+)\n", body)
    sections = {}
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        joined = re.sub(r"\s*\n\s*(?=\[\d|\(✗)", " ", text.strip())  # a mark ends its sentence
        dense = re.sub(r"\n\s*\n", "\n", joined) or "(empty)"
        sections[name] = f"{name}:\n{dense}" if dense.startswith("-") else f"{name}: {dense}"
    return sections


def _read_header_entries(header: str) -> list[str]:
    """Return the entries of ``_HEADER_KEYS`` that a header contains, except for empty lists."""
    entries = []
    for key in _HEADER_KEYS:
        match = re.search(rf"(?m)^{key}:.*(?:\n[ \t]+\S.*)*", header)
        if match and not match[0].endswith("[]"):
            entries.append(match[0])
    return entries


@frozen
class Outcome:
    """The outcome of an action, with a line for the user and the changes to the lists."""

    line: str
    changed: tuple[Row, ...] = ()
    """The new rows. A row replaces the former row with the same name."""
    gone: tuple[str, ...] = ()
    """The names of the rows to remove."""
    drafts: bool = False
    """Whether the drafts must be read again."""
    draft: str = ""
    """The name of the draft that was edited or came back, and gets the cursor; "" if there is none.
    """
    edited: Row | None = None
    """The new row of an edited draft, which is shown until the drafts are read again."""
    settled: str = ""
    """The name of the draft that was accepted, merged or discarded; "" if there is none."""


_STATUSES = {"ignore": "ignored", "archive": "archived", "restore": "active"}
_EDITED = {True: "edited", False: "not changed"}


class RowSource:
    """The cards and drafts of some brains as rows, and the user's actions, which can be undone.

    Every method may raise LessonsError. Any thread may call it.
    """

    def __init__(self, brains: Brains, *, day: dt.date | None = None) -> None:
        """Create the source. ``day`` is the date from which ages are counted, by default today."""
        self.brains = brains
        self.day = day or dt.datetime.now(tz=dt.UTC).astimezone().date()
        self.undoing = Undoing(brains)
        self._effects: Mapping[str, Effect] = {}

    @property
    def label(self) -> str:
        """The names of the brains."""
        return ", ".join(brain.alias for brain in self.brains.members)

    def load(self, progress: Callable[[int, int], None] | None = None) -> tuple[Row, ...]:
        """Return a row for every card and for every file that is not valid.

        ``progress`` is called with (files read, files to read) while the index is updated.
        """
        self.brains.refresh(progress=progress, workers=max(1, min(4, os.cpu_count() or 1)))
        rows: list[Row] = []
        for number, brain in enumerate(self.brains.members):
            if brain.has_new_project():
                load(FRESHNESS_REFRESH).refresh_standings(brain)
            cards, findings, files = brain.read(_list_all)
            troubles = Counter(finding.path for finding in findings if finding.level != "info")
            rows += [
                self.row_of(card, brain=number, troubles=troubles[card.id])
                for card in cards
                if card.kind != NOTE
            ]
            broken = sorted(files.keys() - {card.id for card in cards})
            rows += [self._broken(path, number, troubles[path]) for path in broken]
        return tuple(rows)

    def load_drafts(self) -> tuple[Row, ...]:
        """Return a row for every open draft, newest first.

        Drafts from the journal are collected first.
        """
        for drafts in open_drafts(self.brains):
            drafts.collect()
        return tuple(_row_of_draft(draft) for _drafts, draft in list_all_drafts(self.brains))

    def load_effects(self) -> bool:
        """Measure the effect of each card for later rows. Return whether there are any cards."""
        overview = load(OUTCOME_STATS).Stats(self.brains).overview()
        self._effects = {effect.name: effect for effect in overview.effects}
        return bool(self._effects)

    def measure(self, rows: Sequence[Row]) -> dict[str, Row]:
        """Return a mapping from name to row, with the effects that were loaded after the rows."""
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
        facts = (title, card.id, card.kind, card.status, card.severity, card.source, verdict)
        scope = (card.project or "", *card.stages, *card.topics, *card.symptoms, *card.paths)
        return replace(
            self._broken(card.id, brain, troubles),
            title=title,
            status=card.status,
            card=card,
            effect=verdict,
            words=fold(" ".join((*facts, *scope))),
        )

    def _broken(self, path: str, brain: int, troubles: int) -> Row:
        """Return the row of a file that is not valid."""
        name = self.undoing.name_of(self.brains.members[brain], path)
        title = clean_line(path)
        row = Row(name=name, brain=brain, path=path, title=title, troubles=troubles)
        return replace(row, status=BROKEN, words=fold(f"{title} {BROKEN}"))

    def row_named(self, name: str) -> Row:
        """Return the current row with a name. Raises CardNotFound if its file does not exist."""
        for number, brain in enumerate(self.brains.members):
            prefix = self.undoing.name_of(brain, "")
            path = name.removeprefix(prefix)
            if name.startswith(prefix) and _exists(brain, path):
                return self.look(Row(name=name, brain=number, path=path, title=path))[0]
        raise CardNotFound(f"{name} no longer exists")

    def look_at_draft(self, draft: Draft) -> Preview:
        """Return the preview of a draft without similar cards, whose search may take a second."""
        return _view_draft(draft, ())

    def look(self, row: Row) -> tuple[Row, Preview]:
        """Return the row for the current content of its file, and its preview.

        Raises CardNotFound if the file no longer exists.
        """
        if row.draft:
            drafts = find_drafts(self.brains, row.name)
            near_duplicates = drafts.find_near_duplicates(row.draft)
            return row, _view_draft(row.draft, [card.reason for card in near_duplicates])
        brain = self.brains.members[row.brain]
        if not _exists(brain, row.path):
            raise CardNotFound(f"{row.path} no longer exists; press ctrl+r to reload")
        folders, limit = brain.settings.folders, brain.settings.index.max_file_bytes
        try:
            document = read_document(brain.root, row.path, folders, limit)[1]
        except StorageError as error:
            fix = "grant yourself read access, or remove the file"
            finding = Finding(
                path=row.path,
                line=0,
                level="error",
                rule="unreadable",
                message=str(error),
                fix=fix,
            )
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
        card = replace(
            card, standing=brain.read(lambda opened: opened.catalogue.find_standing(row.path))
        )
        remarks = [clean_line(remark) for remark in list_remarks(card, today())]
        view = Preview(
            title=clean_line(card.title),
            facts=(
                *_describe(card, self.day),
                *remarks,
                *(_describe_effect(effect) if effect else ()),
            ),
            warnings=tuple(map(finding_line, findings)),
            text=re.sub(r"\A\s*# [^\n]*\n?", "", body),  # the preview has the title already
        )
        return self.row_of(card, brain=row.brain, troubles=troubles), view

    def nearest(self, draft: Draft) -> tuple[Card, ...]:
        """Return the cards into which a draft may be merged, best first."""
        return tuple(find_drafts(self.brains, draft.id).find_merge_targets(draft))

    def do(self, act: str, row: Row) -> Outcome:
        """Perform an action on a row: bump, ignore, archive, restore, delete or discard."""
        if act == "discard":
            self.undoing.discard(row.name)
            line = f"{row.name} discarded; u brings it back"
            return Outcome(line=line, drafts=True, settled=row.name)
        if row.card is None:
            raise InputError(f"{clean_line(row.path)} is not valid; open and fix it first")
        if act == "delete":
            card = self.undoing.delete(row.name)
            return Outcome(line=f"{clean_line(card.id)} moved to the trash", gone=(row.name,))
        if act == "bump":
            card = self.undoing.bump(row.name)
            done = f"seen {card.occurrences}×"
        elif act == "confirm":
            card = self.undoing.confirm(row.name)
            done = f"confirmed {card.confirmed}"
        else:
            status = _STATUSES[act]
            card = self.undoing.set_status(status, row.name)
            done = f"is already {status}" if row.status == status else f"is {status}"
        now = self.row_of(card, brain=row.brain, troubles=row.troubles)
        return Outcome(line=f"{clean_line(card.id)} {done}", changed=(now,))

    def edit(self, row: Row, editor: Callable[[str], object]) -> Outcome:
        """Open a card, a file that is not valid, or a draft in the user's editor."""
        if row.draft is not None:
            changed = self.undoing.edit_draft(row.name, editor)
            edited = self._find_draft(row)
            line = f"{row.name} {_EDITED[changed]}{_describe_progress(edited)}"
            return Outcome(line=line, drafts=True, draft=row.name, edited=edited)
        changed = self.undoing.edit(self.brains.members[row.brain], row.path, editor)
        path = clean_line(row.path)
        try:
            now, _view = self.look(row)
        except CardNotFound:
            return Outcome(line=f"{path} no longer exists", gone=(row.name,))
        trouble = "" if now.card else " and now invalid: see below"
        return Outcome(line=f"{path} {_EDITED[changed]}{trouble}", changed=(now,))

    def _find_draft(self, row: Row) -> Row | None:
        """Return the current row of a draft, or None if the draft no longer exists."""
        try:
            return _row_of_draft(find_drafts(self.brains, row.name).get(row.name))
        except CardNotFound:
            return None

    def accept(self, row: Row, *, on_duplicate: str = "fail", keep_quotes: bool = False) -> Outcome:
        """Turn a draft into a card. Raises DuplicateCard if a card has the same lesson."""
        drafts = find_drafts(self.brains, row.name)
        draft = drafts.get(row.name)
        if draft.missing:
            missing = "; ".join(draft.missing)
            raise Incomplete(f"incomplete; add {missing}", missing=draft.missing)
        card = self.undoing.accept(row.name, on_duplicate=on_duplicate, keep_quotes=keep_quotes)
        rest = describe_rest(draft.text)
        line = "; ".join(filter(None, (f"{clean_line(card.id)} is now a card", rest)))
        changed = (self.row_of(card, brain=self.brains.members.index(drafts.brain)),)
        return Outcome(line=line, changed=changed, drafts=True, settled=row.name)

    def merge(self, row: Row, card_name: str) -> Outcome:
        """Merge a draft into a card, which then counts one more occurrence."""
        brain, card = Cards(self.brains).find(card_name)
        card = self.undoing.merge(row.name, self.undoing.name_of(brain, card.id))
        now = self.row_of(card, brain=self.brains.members.index(brain))
        line = f"{row.name} counted on {clean_line(card.id)}, seen {card.occurrences}×; u undoes it"
        return Outcome(line=line, changed=(now,), drafts=True, settled=row.name)

    def undo(self) -> Outcome:
        """Undo the latest change."""
        undone = self.undoing.undo()
        changed: list[Row] = []
        gone: list[str] = []
        for name in undone.names:
            try:
                changed.append(self.row_named(name))
            except LessonsError:
                gone.append(name)
        return Outcome(
            line=clean_line(undone.line),
            changed=tuple(changed),
            gone=tuple(gone),
            drafts=True,
            draft=undone.draft,
        )

    def _effect(self, brain: int, card: Card) -> Effect | None:
        """Return the effect of a card.

        The name of the effect includes an alias only if two brains have a card with this id.
        """
        full_name = f"{self.brains.members[brain].alias}:{card.id}"
        return self._effects.get(full_name) or self._effects.get(card.id)


def _row_of_draft(draft: Draft) -> Row:
    title = clean_line(draft.title)
    words = fold(f"{title} {draft.id} {draft.kind}")
    return Row(name=draft.id, path=draft.path, title=title, draft=draft, words=words)


def _describe_progress(row: Row | None) -> str:
    """Return what an edited draft still lacks, for the end of a line; "" if it was removed."""
    if row is None or row.draft is None:
        return ""
    if not row.draft.missing:
        return "; it is complete and can be accepted"
    return f"; it still lacks {counted(len(row.draft.missing), 'part')}"


def _list_all(brain: Brain) -> tuple[list[Card], list[Finding], Mapping[str, Any]]:
    """Return the cards of a brain, the findings in its files, and the files by path."""
    catalogue = brain.catalogue
    return catalogue.all_cards(), catalogue.findings(), catalogue.numbers()


def _exists(brain: Brain, path: str) -> bool:
    return os.path.lexists(os.path.join(brain.root, *path.split("/")))


CARDS, DRAFTS = "cards", "drafts"
BOTH = (CARDS, DRAFTS)


class Key(NamedTuple):
    """A key and its action while the list has the focus."""

    keys: str
    """The names that textual gives to the keys, separated by commas."""
    shown: str
    """The keys as the help page names them."""
    act: str
    word: str
    """The word for the action in the bottom line; "" if the bottom line leaves it out."""
    help: str
    tab: str
    """The tab in which the key works; "" means both tabs."""
    statuses: tuple[str, ...]
    """The statuses of cards for which the bottom line shows the key; () means all statuses."""


def _read_key(row: Mapping[str, str]) -> Key:
    """Return the key in a row of ``manage_keys.csv``."""
    return Key(
        row["keys"],
        row["shown"],
        row["act"],
        row["word"],
        row["help"],
        row["tab"],
        tuple(row["statuses"].split()),
    )


KEYS = tuple(map(_read_key, csv.DictReader(read_lines("manage_keys.csv"))))
"""The keys in the order of the help page."""
ROW_ACTS = tuple(key.act for key in KEYS[:10])
"""The actions on the row under the cursor."""
REMOVING_ACTS = ("accept", "archive", "delete", "discard", "merge")
"""Those that take the row away from its list."""
_DISPENSABLE = ("filter", "switch", "undo")
"""The actions that a narrow bottom line leaves out first."""


def list_hints(tab: str, row: Row | None, width: int) -> list[tuple[str, str, str]]:
    """Return the hints for a row that fit into the bottom line.

    A hint consists of the key, the displayed key and a word. ``width`` is in columns.
    """
    hints: dict[str, tuple[str, str, str]] = {}
    for key in KEYS:
        if key.word and key.tab in ("", tab) and _applies(key, row):
            word = CARDS if key.act == "switch" and tab == DRAFTS else key.word
            hints[key.act] = (key.keys.split(",")[0], key.shown.split()[-1], word)
    for act in _DISPENSABLE:
        if sum(len(f"{shown} {word}") + 2 for _key, shown, word in hints.values()) <= width:
            break
        del hints[act]
    return list(hints.values())


def _applies(key: Key, row: Row | None) -> bool:
    """Return whether the action of a key is possible for a row; None stands for no row."""
    if key.act not in ROW_ACTS:
        return True
    if row is None or (key.tab == CARDS and row.card is None):
        return False
    return not key.statuses or row.status in key.statuses


def find_act(tab: str, pressed: str) -> str:
    """Return the action of a key in a tab, or "" if the key has no action."""
    for key in KEYS:
        if key.tab in ("", tab) and pressed in key.keys.split(","):
            return key.act
    return ""


def help_text() -> str:
    """Return the page that ``?`` shows, with at most 76 columns and 22 lines."""
    lines = []
    for key in KEYS:
        tab = f" ({key.tab})" if key.tab else ""
        if key.help:
            lines.append(f"{key.shown:>7}  {key.help}{tab}")
    return "\n".join([*read_patterns("manage_texts.toml")["help"], "", *lines])


class Board:
    """The state of the lists, independent of how they are shown."""

    def __init__(self) -> None:
        self.tab = CARDS
        self.order = next(iter(ORDERS))
        self.rows: dict[str, Sequence[Row]] = dict.fromkeys(BOTH, ())
        self.ready: set[str] = set()
        """The tabs whose rows have been loaded."""
        self.filters = dict.fromkeys(BOTH, "")
        """A mapping from each tab to the text of its filter."""
        self.places = dict.fromkeys(BOTH, "")
        """A mapping from each tab to the name of the row under its cursor; "" if there is none."""
        self.changed: dict[str, set[str]] = {tab: set() for tab in BOTH}
        """A mapping from each tab to the names of the rows that were changed since its filter was
        set. They stay in the list even if they no longer match."""
        self.expected_draft = ""
        """The name of the draft that gets the cursor when the drafts have been read again."""

    def shown(self) -> list[Row]:
        """Return the rows of the current tab that match its filter, or were changed under it."""
        rows = self.rows[self.tab]
        matching = {row.name for row in filter_rows(rows, self.filters[self.tab])}
        matching |= self.changed[self.tab]
        return [row for row in rows if row.name in matching]

    def set_filter(self, words: str) -> None:
        """Set the filter of the current tab."""
        self.filters[self.tab] = words
        self.changed[self.tab].clear()

    def set(self, tab: str, rows: Sequence[Row]) -> None:
        """Set the rows of a tab, and sort them if they are cards."""
        self.rows[tab] = sort_rows(rows, self.order) if tab == CARDS else rows
        self.ready.add(tab)
        if tab == DRAFTS and self.expected_draft:
            self.places[DRAFTS] = self.expected_draft
            self.expected_draft = ""

    def next_order(self) -> None:
        """Sort the cards by the next order."""
        names = list(ORDERS)
        self.order = names[(names.index(self.order) + 1) % len(names)]
        self.set(CARDS, self.rows[CARDS])

    def replace(self, new: Mapping[str, Row]) -> None:
        """Replace the rows of cards by name, without sorting them again."""
        self.rows[CARDS] = [new.get(row.name, row) for row in self.rows[CARDS]]

    def take(self, outcome: Outcome) -> None:
        """Apply the outcome of an action to the cards. The cursor moves to a new card."""
        self.changed[CARDS].update(row.name for row in outcome.changed)
        if outcome.draft:
            self.changed[DRAFTS].add(outcome.draft)
            self.expected_draft = outcome.draft
        drafts = [row for row in self.rows[DRAFTS] if row.name != outcome.settled]
        if outcome.edited is not None:
            edited = outcome.edited
            drafts = [edited if row.name == edited.name else row for row in drafts]
        self.rows[DRAFTS] = drafts
        self.replace({row.name: row for row in outcome.changed})
        names = {row.name for row in self.rows[CARDS]}
        added = [row for row in outcome.changed if row.name not in names]
        self.rows[CARDS] = [row for row in self.rows[CARDS] if row.name not in outcome.gone]
        if added:
            self.set(CARDS, [*self.rows[CARDS], *added])
            self.places[CARDS] = added[0].name
