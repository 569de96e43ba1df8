"""The noun ``brain.cards``: find, list, create, change and rename single cards."""

from __future__ import annotations

import contextlib
import datetime as dt
import difflib
import os
import posixpath
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypedDict, Unpack
from urllib.parse import quote

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.brain.search_index import read_document
from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.keys import MAX_EXAMPLES, MAX_OCCURRENCES, split_header
from lessons_kb.cards.links import Link, find_links, normal_title, numbered_names, relink, slug
from lessons_kb.cards.parse import parse_bytes, parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import find_headings, normal_newlines, one_line, split_lines
from lessons_kb.collection.git_merge import merges_cards
from lessons_kb.collection.near_duplicates import (
    CANDIDATES,
    NEAR,
    RELATED,
    SAME,
    NearDuplicate,
    find_alike,
    similarity,
)
from lessons_kb.detect.matcher import check_pattern
from lessons_kb.errors import (
    AmbiguousCard,
    CardNotFound,
    DuplicateCard,
    EditRefused,
    GitError,
    Incomplete,
    InputError,
    LessonsError,
    StorageError,
)
from lessons_kb.importers.incoming import SECTIONS
from lessons_kb.ledger.effect import weigh_cards
from lessons_kb.mining.draft_text import (
    MISSING,
    Sketch,
    fill,
    find_lacks,
    format_patterns,
    names_mistake,
)
from lessons_kb.model import KINDS, NOTE, SERVED, SEVERITIES, STATUSES, Card, Document, Pattern
from lessons_kb.store import card_files, trash
from lessons_kb.store import files as disk
from lessons_kb.store.card_files import read_template
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.journal import BUMPED
from lessons_kb.store.locks import hold_new
from lessons_kb.store.user_settings import ServerSettings, read_user_settings
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, shell_word
from lessons_kb.text.times import read_date


def names(
    card: Card, *, stage: str | None = None, topic: str | None = None, project: str | None = None
) -> bool:
    """Return whether a card names this stage, topic and project; None chooses every card."""
    chosen = ((stage, card.stages), (topic, card.topics), (project, (card.project or "",)))
    return all(
        name is None or name.casefold() in map(str.casefold, known) for name, known in chosen
    )


class NewCard(TypedDict, total=False):
    """What may be said of a card before it is written; see ``Sketch``."""

    kind: str
    topics: Sequence[str]
    project: str | None
    stage: str | None
    severity: str | None
    paths: Sequence[str]
    symptoms: Sequence[str]
    sections: Mapping[str, str]
    """Heading → Markdown."""


def compose(sketch: Sketch, *, created: str, source: str | None = None, whole: bool = False) -> str:
    """Return the text of a card: the template of its kind, filled with a sketch.

    A ``whole`` one says what it is given and nothing else: no guidance.
    """
    slug(sketch.title)
    _choose("kind", sketch.kind, KINDS)
    _choose("severity", sketch.severity or SEVERITIES[1], SEVERITIES)
    header: dict[str, Change] = {
        "type": sketch.kind,
        "title": one_line(sketch.title),
        "applies-to": tuple(map(clean_line, sketch.topics)),
        "project": clean_line(sketch.project or ""),
        "stage": clean_line(sketch.stage or ""),
        "paths": tuple(map(clean_line, sketch.paths)),
        "symptoms": tuple(map(clean_line, sketch.symptoms)),
        "severity": sketch.severity or SEVERITIES[1],
        "source": source,
        "examples": (sketch.example,) if sketch.example else (),
        "created": created,
    }
    given = {name: value for name, value in header.items() if value}
    if whole:
        said = (name for name in SECTIONS if name in sketch.sections)
        body = "\n".join(f"## {name}\n\n{sketch.sections[name]}\n" for name in said)
        text = edit_header(f"\n{body}", given)
    else:
        text = edit_header(read_template(f"{sketch.kind}.md"), given)
        text = fill(text, sketch.sections)
    if "\0" in text:
        raise InputError("the text contains a NUL character; leave it out")
    if not sketch.detect:
        return text
    # The header has no patterns yet: they come at its end.
    end = text.rindex("---", 0, len(text) - len(split_header(text).body))
    made = f"{text[:end]}{format_patterns(sketch.detect)}\n{text[end:]}"
    card = parse_card(made, path="lessons/new.md", folders={}).card
    if card is None or card.detect != tuple(sketch.detect):
        raise EditRefused("the pattern cannot be written; add it to the card by hand")
    return made


def redact_card(text: str) -> str:
    """Return a card's text without secrets, its header as readable as before.

    What stands for a secret may close a list or a quote too early, and a key that is not closed
    hides all that follows: then each value is written anew. Raises EditRefused where not even
    that leaves a header.
    """
    split = split_header(text)
    head, body = text[: len(text) - len(split.body)], redact(split.body)
    hidden = redact(head)
    if hidden != head and _shape(hidden) != _shape(head):
        values = {
            entry.key: redact(entry.texts[0] or "")
            if entry.shape == "scalar"
            else tuple(redact(item) for item in entry.texts if item)
            for entry in read_header(split).entries
            if any(item and redact(item) != item for item in entry.texts)
        }
        head = edit_header(head, values)
        hidden = redact(head)
        if _shape(hidden) != _shape(head):
            raise EditRefused("the header contains a secret; remove it by hand")
    return hidden + body


def _shape(text: str) -> tuple[str, list[tuple[str, str, int]]]:
    """Return what a header is made of, whatever its values."""
    reading = read_header(split_header(text))
    return reading.reader, [(one.key, one.shape, len(one.texts)) for one in reading.entries]


_DAY_SECONDS = 86_400
_SHORTEST = 12
"""Characters of a shortened id that still read as a name."""
_SHOWN = 5
"""Candidates named in a message."""
_LEVELS = (SAME, NEAR, RELATED)
_REWORDED = 0.55
"""Titles whose words are more alike than this say the same or not by their words."""
_MOST_PROPOSED = 3
_MOST_SAME_MEANING = 3
"""More titles of one meaning are a family."""
ON_DUPLICATE = ("fail", "bump", "new")
MAX_TAUGHT = 20
"""Prompts that a card keeps of what it was taught."""
_MAX_PROMPT = 300


class Cards:
    """The cards of a brain."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains

    def all(self, *, notes: bool = False, aliased: bool = False) -> list[Card]:
        """Return every card, whatever its status, by brain and path.

        A file that a brain inside another holds for both is the nearer one's. ``aliased`` puts
        its brain's alias before an id that two brains hold; ``find`` understands both.
        """
        self._brains.refresh()
        found: dict[str, tuple[Brain, Card]] = {}
        for brain in self._brains.members:
            for card in brain.read(lambda one: one.catalogue.all_cards()):
                if notes or card.kind != NOTE:
                    found.setdefault(f"{brain.root}/{card.id}", (brain, card))
        if not aliased or len(self._brains.members) == 1:
            return [card for _brain, card in found.values()]
        count = Counter(card.id for _brain, card in found.values())
        return [
            card if count[card.id] == 1 else replace(card, id=f"{brain.alias}:{card.id}")
            for brain, card in found.values()
        ]

    def check_free(self, path: str) -> None:
        """Raise InputError for the path, on disk, of a card, even of one that cannot be read."""
        full = os.path.realpath(path)
        if not full.endswith((".md", ".markdown")) or not os.path.isfile(full):
            return
        notes = {card.id for card in self.all(notes=True) if card.kind == NOTE}
        for brain in self._brains.members:
            inside = os.path.relpath(full, brain.root).replace(os.sep, "/")
            if inside.partition("/")[0] != ".." and inside not in notes:
                raise InputError(f"{inside} is a card; choose another file")

    def find(self, name: str, *, notes: bool = True) -> tuple[Brain, Card]:
        """Return the card that ``name`` means and its brain; without ``notes`` no note counts.

        ``name`` is an id, an id with its brain's alias (``alias:id``), the path of a link to the
        card, a slug, or an unambiguous prefix of id or slug; the nearest brain that knows it wins.
        Raises CardNotFound naming the nearest, AmbiguousCard naming the candidates.
        """
        self._brains.refresh()
        everything: list[str] = []
        note = ""
        if "\0" in name or name.encode("utf-8", "ignore").decode() != name:
            raise CardNotFound(_not_found(name, everything))
        for brain in self._brains.members:
            wanted = _unaliased(name, brain)
            # The usual case, for which twelve thousand cards need not be read. Then what a link
            # leads to: what was scanned, and nothing else.
            target = disk.relative(brain.root, os.path.realpath(os.path.join(brain.root, wanted)))
            for path in (wanted, target):
                exact = brain.read(partial(_card_at, path=path))
                if exact is not None and (notes or exact.kind != NOTE):
                    return brain, exact
            cards = {card.id: card for card in brain.read(lambda one: one.catalogue.all_cards())}
            files = brain.read(lambda one: one.catalogue.numbers())
            everything += cards
            wanted = wanted.replace("\\", "/").removeprefix("./")
            lessons = [path for path in files if path not in cards or cards[path].kind != NOTE]
            fitting = _fitting(wanted, files if notes else lessons)
            if len(fitting) == 1:
                if fitting[0] in cards:
                    return brain, cards[fitting[0]]
                where = f"{fitting[0]} is not a readable card"
                raise CardNotFound(f"{where}; run `lessons lint` for a fix")
            if fitting:
                shown = ", ".join(fitting[:_SHOWN]) + (" …" if len(fitting) > _SHOWN else "")
                kinds = {"cards" if one in lessons else "notes" for one in fitting}
                what = " or ".join(sorted(kinds))
                raise AmbiguousCard(
                    f"{name!r} matches {len(fitting)} {what}: {shown}; write more of the name"
                )
            note = note or next(iter(_fitting(wanted, files)), "")
        if note:
            raise CardNotFound(f"{disk.shown(note)} is a note; this changes cards, edit the file")
        # Exactly: who reads over a server is not to learn by prefixes what was deleted.
        if gone := self._in_trash(name, exact=True)[1]:
            back = f"`lessons restore {shell_word(gone[0])}` brings it back"
            raise CardNotFound(f"{disk.shown(gone[0])} is in the trash; {back}")
        raise CardNotFound(_not_found(name, everything))

    def shorten_ids(self, cards: Sequence[Card]) -> dict[str, str]:
        """Return the id of each card → the least of its slug, in whole words, that ``find`` needs.

        Where no part of the slug will do, it is the id.
        """
        ids = sorted(card.id for card in self.all(notes=True))
        slugs = sorted(map(_slug, ids))

        def shorten(card_id: str) -> str:
            own = _slug(card_id)
            ends = [at for at, sign in enumerate(own) if sign == "-" and at >= _SHORTEST]
            for end in (*ends, len(own)):
                part = own[:end]
                place, begun = bisect_left(slugs, part), bisect_left(ids, part)
                alone = sum(one.startswith(part) for one in slugs[place : place + 2]) == 1
                alone = alone or (end == len(own) and slugs.count(own) == 1)
                if alone and not "".join(ids[begun : begun + 1]).startswith(part):
                    return part
            return card_id

        return {card.id: shorten(card.id) for card in cards}

    def get(self, name: str) -> Card:
        """Return the card that ``name`` means; see ``find``."""
        return self.find(name)[1]

    def read(self, name: str) -> tuple[str, Document]:
        """Return the path on disk and the parsed file of a card."""
        brain, card = self.find(name)
        settings = brain.settings
        limit = settings.index.max_file_bytes
        _data, document = read_document(brain.root, card.id, settings.folders, limit)
        return os.path.join(brain.root, *card.id.split("/")), document

    def create(
        self,
        title: str,
        *,
        detect: Sequence[Pattern] = (),
        whole: bool = False,
        on_duplicate: str = "fail",
        **parts: Unpack[NewCard],
    ) -> Card:
        """Write a new card; see ``Brain.create``.

        A ``whole`` card is written without the template's guidance, and only if it passes the
        quality bar; else Incomplete is raised and says what is missing.
        """
        sketch = Sketch(title=" ".join(title.split()), detect=detect, **parts)
        for problem in filter(None, map(check_pattern, detect)):
            raise InputError(problem)
        text = compose(sketch, created=today(), whole=whole)
        return self.add_text(text, whole=whole, on_duplicate=on_duplicate)

    def add_text(self, text: str, *, whole: bool = False, on_duplicate: str = "fail") -> Card:
        """Write a new card whose whole text is given, under a name made from its title.

        Secrets are removed, a missing date is added. ``whole`` and ``on_duplicate`` are those of
        ``create``. Raises InputError for a text that is no card.
        """
        _choose("on_duplicate", on_duplicate, ON_DUPLICATE)
        folders = self._brains.members[0].settings.folders
        document = parse_card(redact_card(text), path="lessons/new.md", folders=folders)
        card = document.card
        if card is None:
            raise InputError(f"not a card: {document.findings[0].message}")
        if "title" not in document.key_lines and card.title == "new":
            raise InputError("the card has no title; add `title: …`, naming the mistake")
        with hold_new(self._brains.members[0].root):
            self._brains.refresh()
            if on_duplicate != "new" and (
                duplicate := self._find_near_duplicate(card, near=on_duplicate == "fail")
            ):
                existing = duplicate[0]
                if on_duplicate == "bump":
                    return self.bump(existing)[0]
                raise DuplicateCard(
                    f"{duplicate[1]}; count it with `lessons bump {existing}`, "
                    "or write a second card with --on-duplicate new",
                    existing=existing,
                )
            if whole and (missing := find_lacks(document)):
                raise Incomplete(f"the card lacks {'; '.join(missing)}", missing=missing)
            dated = text if card.created else edit_header(text, {"created": today()})
            return self.add(redact_card(dated), kind=card.kind, title=card.title)

    def add(self, text: str, *, kind: str, title: str) -> Card:
        """Write a card's whole text under a name made from its title; nothing is overwritten."""
        brain = self._brains.members[0]
        settings = brain.settings
        limit, data = settings.index.max_file_bytes, text.encode("utf-8")
        if len(data) > limit:
            raise InputError(f"the card has more than {limit:,} bytes; split it")
        for path in numbered_names(f"{kind}s/{slug(redact(title))}"):
            with contextlib.suppress(DuplicateCard):  # a name that was taken meanwhile
                brain.touch()
                made = card_files.create(brain.root, path, data)
                break
        return _usable(read_document(brain.root, made, settings.folders, limit)[1], made)

    def find_lacks(self, name: str) -> tuple[str, ...]:
        """Return what keeps a card from the quality bar, one line each."""
        return find_lacks(self.read(name)[1])

    def find_near_duplicates(self, card: Card) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson as one that is not written yet.

        Behind those found by their words stand those whose titles mean the same: they are
        proposed, never ``same``. Titles in nearly the same words are left to their words, and so
        are families of titles: those that fill one form differ in a word that carries little of
        the meaning (of 1,000 such lessons 988 would be proposed to others, 7 are).
        """
        self._brains.refresh()
        return self._find_near_duplicates(card)

    def _find_near_duplicates(self, card: Card) -> list[NearDuplicate]:
        text = "\n".join((card.why, *card.checklist))
        candidates: dict[str, Card] = {}
        for brain in self._brains.members:
            for other in brain.read(partial(_find_candidates, title=card.title, text=text)):
                # A file that a brain inside another holds for both is the nearer one's.
                candidates.setdefault(f"{brain.root}/{other.id}", other)
        by_words = find_alike(card.title, candidates.values(), text=text)[:_MOST_PROPOSED]
        found = {one.card.id: one for one in by_words}
        for brain in self._brains.members:
            alike = brain.read(
                lambda one: one.meaning.titled_like(card.title) if one.meaning else []
            )
            for one, cosine in alike if len(alike) <= _MOST_SAME_MEANING else ():
                is_reworded = similarity(card.title, one.title) < _REWORDED
                if one.kind != NOTE and one.id not in found and is_reworded:
                    distance = f"distance {1 - cosine:.2f}"
                    why = f"{one.id} has nearly the same meaning ({distance}): {one.title}"
                    found[one.id] = NearDuplicate(card=one, level=NEAR, score=cosine, reason=why)
        if len(found) == len(by_words):
            return by_words
        return sorted(found.values(), key=lambda one: _LEVELS.index(one.level))[:_MOST_PROPOSED]

    def bump(self, *names: str, task: str | None = None, at: float | None = None) -> list[Card]:
        """Count the mistake once more on each card: ``occurrences`` + 1, ``last-seen`` today.

        ``task`` is appended to ``examples``, of which the last five stay. All names are looked up
        before the first file is touched. ``at`` (seconds since the epoch, now by default) is when
        the journal counts it. Where git merges the card key by key, ``last-seen``
        holds the time as well: of two files with the same bytes git keeps one and asks nobody,
        so that the counts of two clones that bumped on the same day would not add up.
        """

        def bump(brain: Brain, card: Card) -> Card:
            day = _now(brain.root, card.id)
            bumped = self.rewrite(
                brain, card.id, lambda one, text: edit_header(text, count_again(one, task, day))
            )
            self.note_bump(brain, card.id, at=at)
            return bumped

        return self._each(names, bump)

    def bump_text(self, brain: Brain, path: str, text: str, *, task: str | None = None) -> str:
        """Return a card's text, as an editor holds it, with the mistake counted once more.

        ``task`` is as in ``bump``; ``note_bump`` is for when the text was taken over. Raises
        EditRefused.
        """
        card = _usable(parse_card(text, path=path, folders=brain.settings.folders), path)
        return edit_header(text, count_again(card, task, _now(brain.root, path)))

    def note_bump(self, brain: Brain, path: str, *, at: float | None = None) -> None:
        """Count that the mistake of a card came back, ``at`` seconds since the epoch or now."""
        at = time.time() if at is None else at
        # The card itself is what counts: a journal that cannot be written costs the statistics.
        with contextlib.suppress(StorageError):
            brain.journal.outcomes.count(path, BUMPED, at=at)
            # Said outside of any session, it is meant of the last one of a day.
            outcomes = brain.journal.outcomes
            session = session_of()[0] or outcomes.last_session(path, since=at - _DAY_SECONDS)
            if session:
                brain.journal.ledger.bump(session, path, at=at)

    def teach(self, name: str, key: str, prompt: str) -> Card:
        """Write a prompt into a card's ``symptoms``, by which it is found, or its ``not-for``.

        See ``redact``. Of many the last twenty stay. Raises InputError for a prompt without a word.
        """
        told = tell_prompt(prompt)
        if not told:
            raise InputError("the prompt is empty; name it")
        brain, card = self.find(name, notes=False)

        def teach(card: Card, text: str) -> str:
            known = card.symptoms if key == "symptoms" else card.not_for
            taught = (*(one for one in known if one != told), told)[-MAX_TAUGHT:]
            return edit_header(text, {key: taught})

        return self.rewrite(brain, card.id, teach)

    def set_status(self, status: str, *names: str) -> list[Card]:
        """Make cards ``active``, ``ignored`` or ``archived``."""
        _choose("status", status, STATUSES)

        def change(brain: Brain, card: Card) -> Card:
            if card.status == status:
                return card
            return self.rewrite(brain, card.id, partial(_set_status, status=status))

        return self._each(names, change)

    def delete(self, *names: str) -> list[Card]:
        """Move cards to the trash folder, from which ``restore`` brings them back."""
        found = [self.find(name, notes=False) for name in names]
        for brain, card in found:
            trash.put(brain.root, card.id)
            brain.touch()
        return [card for _brain, card in found]

    def restore(self, name: str) -> tuple[str, str]:
        """Bring a card back: out of the trash, else to ``active``.

        Returns its id and what was done, ``undeleted``, ``activated`` or ``unchanged``.
        """
        try:
            brain, card = self.find(name, notes=False)
        except (CardNotFound, AmbiguousCard) as error:
            back = self._undelete(name, exact=isinstance(error, AmbiguousCard))
            if back is None:
                raise
            return back, "undeleted"
        # What is a deleted card's own name is meant of it before one that merely begins like it.
        own = _fitting(_unaliased(name, brain), [card.id], exact=True)
        # The index may lag behind: nothing can be written to a full disk.
        gone = not os.path.lexists(os.path.join(brain.root, card.id))
        if (gone or not own) and (back := self._undelete(name, exact=not gone)):
            return back, "undeleted"
        if card.status == "active":
            return card.id, "unchanged"
        self.rewrite(brain, card.id, partial(_set_status, status="active"))
        return card.id, "activated"

    def _undelete(self, name: str, *, exact: bool) -> str | None:
        """Bring back what ``name`` means in the trash and return its id, None without any."""
        brain, fitting = self._in_trash(name, exact=exact)
        if len(fitting) > 1:
            raise AmbiguousCard(
                f"{name!r} matches several cards in the trash: {', '.join(fitting[:_SHOWN])}; "
                "write more of the name"
            )
        if not fitting:
            return None
        brain.touch()
        return trash.restore(brain.root, fitting[0])

    def _in_trash(self, name: str, *, exact: bool) -> tuple[Brain, list[str]]:
        """Return the nearest brain with cards in the trash that ``name`` fits, and these."""
        for brain in self._brains.members:
            paths = {entry.path for entry in trash.entries(brain.root)}
            if fitting := _fitting(name, paths, exact=exact):
                break
        return brain, fitting

    def _find_near_duplicate(self, card: Card, *, near: bool) -> tuple[str, str] | None:
        """Return the id of a card with its title, and why; with ``near`` one that is like it."""
        key = normal_title(card.title)
        for brain in self._brains.members:
            for path in brain.read(lambda one: one.catalogue.paths_titled(key)):
                return path, f"{path} already has this title"
        for one in self._find_near_duplicates(card):
            if one.level == SAME or (near and one.level == NEAR):
                return one.card.id, one.reason
        return None

    def rewrite(self, brain: Brain, path: str, edit: Callable[[Card, str], str]) -> Card:
        """Give a card the text that ``edit`` makes of card and text; return what it is then."""
        folders = brain.settings.folders

        def edited(data: bytes) -> bytes:
            card = _usable(parse_bytes(data, path=path, folders=folders), path)
            try:
                return edit(card, data.decode("utf-8")).encode("utf-8")
            except EditRefused as error:
                raise EditRefused(f"{path} was not changed: {error}") from None

        data = card_files.rewrite(brain.root, path, edited)
        brain.touch()
        return _usable(parse_bytes(data, path=path, folders=folders), path)

    def _each(self, names: Sequence[str], change: Callable[[Brain, Card], Card]) -> list[Card]:
        """Change every card; those that refuse are named when the others are done."""
        found = [self.find(name, notes=False) for name in names]
        cards: list[Card] = []
        refused: list[LessonsError] = []
        for brain, card in found:
            try:
                cards.append(change(brain, card))
            except (EditRefused, StorageError) as error:
                refused.append(error)
        if refused:
            done = f"; done: {', '.join(card.id for card in cards)}" if cards else ""
            raise type(refused[0])(f"{'; '.join(map(str, refused))}{done}")
        return cards


def count_again(card: Card, task: str | None, day: str) -> Mapping[str, Change]:
    """Return the changes by which a card counts its mistake once more."""
    occurrences = min(card.occurrences + 1, MAX_OCCURRENCES)
    changes: dict[str, Change] = {"occurrences": occurrences, "last-seen": day}
    if task := redact(" ".join((task or "").split())):
        changes["examples"] = (*card.examples, task)[-MAX_EXAMPLES:]
    return changes


def tell_prompt(prompt: str) -> str:
    """Return a prompt as a card may hold it: one line, without secrets, not too long."""
    return redact(" ".join(prompt.split()))[:_MAX_PROMPT].strip()


def _set_status(_card: Card, text: str, *, status: str) -> str:
    return edit_header(text, {"status": status})


_CANDIDATE_WEIGHTS = {"title": 1.0, "symptoms": 1.0, "checklist": 1.0, "body": 1.0}
_MOST_FETCHED = 1_000
"""Hits among which candidates are sought; the others are notes."""


def _find_candidates(brain: Brain, *, title: str, text: str) -> list[Card]:
    """Return the cards with this title, and those that share most words with a lesson.

    The index answers: to weigh every card here would take longer with each card of the brain.
    """
    numbers = [n for n in brain.catalogue.numbers_titled(normal_title(title)) if n > 0]
    if brain.reader is not None:
        terms = dict.fromkeys(analyze(f"{title}\n{text}"), 1.0)
        limit = CANDIDATES
        while True:
            hits = brain.reader.search(terms, _CANDIDATE_WEIGHTS, limit)
            cards = [number for number, _score in hits if number > 0][:CANDIDATES]
            if len(cards) == CANDIDATES or len(hits) < limit or limit >= _MOST_FETCHED:
                break
            limit = _MOST_FETCHED  # notes have taken the first places
        numbers += cards
    found = brain.cards(dict.fromkeys(numbers))
    return [card for card in found.values() if card.kind != NOTE]


def _usable(document: Document, path: str) -> Card:
    if document.card is None:
        why = document.findings[0].message if document.findings else "it is not readable"
        raise EditRefused(f"{path} was not changed: {why}; run `lessons lint` for a fix")
    return document.card


def _card_at(brain: Brain, *, path: str) -> Card | None:
    numbers = [number for number, _digest in brain.catalogue.numbers(path).values()]
    return next(iter(brain.catalogue.cards(numbers).values()), None)


def _unaliased(name: str, brain: Brain) -> str:
    alias, _, rest = name.partition(":")
    return rest if alias == brain.alias and rest else name


def _fitting(name: str, ids: Iterable[str], *, exact: bool = False) -> list[str]:
    """Return the ids that ``name`` fits best: as id, as slug and, unless it is to be ``exact``,
    as prefix of id, of slug.
    """
    tests: tuple[Callable[[str], bool], ...] = (
        lambda i: name in (i, os.path.splitext(i)[0]),
        lambda i: name in (_slug(i), i.rpartition("/")[2]),
        lambda i: i.startswith(name),
        lambda i: _slug(i).startswith(name),
    )
    for test in (tests[:2] if exact else tests) if name else ():
        if fitting := sorted(filter(test, ids)):
            return fitting
    return []


def _slug(card_id: str) -> str:
    return os.path.splitext(card_id.rpartition("/")[2])[0]


def _not_found(name: str, ids: Sequence[str]) -> str:
    if SERVED in name:
        url = read_user_settings(ServerSettings).url.replace("/v1/brains/", "/brains/")
        page = f"read it at {url}/cards/{name.partition(SERVED)[2]}"
        unset = "none is set; `lessons install --server URL` sets one"
        return f"{name} is a card of a server; {page if url else unset}"
    names = {i.casefold(): i for i in reversed(ids)}
    names |= {_slug(i).casefold(): i for i in reversed(ids)}
    if near := difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.5):
        return f"no card named {name!r}; did you mean {names[near[0]]}?"
    return f"no card named {name!r}; see `lessons list`"


def _choose(what: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise InputError(f"{what} must be one of {', '.join(choices)}, not {value!r}")


def _now(root: str, path: str) -> str:
    """Return today's date, with the time for a card that is merged key by key."""
    moment = dt.datetime.now(tz=dt.UTC).astimezone()
    try:
        timed = merges_cards(root, path)
    except GitError:
        timed = False
    return moment.isoformat(timespec="milliseconds") if timed else moment.date().isoformat()


def today() -> str:
    """Return the ISO date of today here."""
    return dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat()


_USES = ("injected", "addressed", "bumped", "helpful")
"""What is counted of a card that shows it is in use."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Stale:
    """A card that may be put away."""

    card: Card
    days: int
    """Since it was last of use."""
    harm: str = ""
    """Why it does harm, "" where it is merely unused."""


def find_stale(brains: Brains) -> list[Stale]:
    """Return active cards of the nearest brain that do harm, or were seen once and are unused.

    Harmful ones come first, of the others those from triggers, then those longest unused, for
    ``stale_days`` at least; one that is known to help is never among them. A use is an injection
    or what followed it, as the journal counts them by day, or a date in the card. A card without
    any is as old as its file.
    """
    brain = brains.members[0]
    limit = brain.settings.learn.stale_days
    brains.refresh()
    used: dict[str, str] = {}
    with contextlib.suppress(StorageError):
        counts = brain.journal.counts()  # by day: the last wins
        used = {card: day for card, what, day, _times in counts if what in _USES}
    now = dt.date.fromisoformat(today())
    found = []
    cards = brain.read(lambda one: one.catalogue.all_cards())
    effects = weigh_cards(brain, [card for card in cards if card.kind != NOTE])
    for card in cards:
        effect = effects.get(card.id)
        harm = effect.reason if effect and effect.verdict == "harms" else ""
        helps = effect is not None and effect.verdict == "helps"
        idle = card.occurrences == 1 and not helps
        if card.kind == NOTE or card.status != "active" or not (idle or harm):
            continue
        seen = [day for day in (card.last_seen, card.created, used.get(card.id)) if day]
        last = max(filter(None, map(read_date, seen)), default=None)
        if last is None:
            with contextlib.suppress(OSError):
                written = os.stat(os.path.join(brain.root, *card.id.split("/"))).st_mtime
                last = dt.date.fromtimestamp(written)
        days = (now - last).days if last else 0
        if harm or (last and days >= limit):
            found.append(Stale(card=card, days=days, harm=harm))
    return sorted(found, key=lambda s: (not s.harm, s.card.source != "auto", -s.days, s.card.id))


Edits = list[tuple[int, int, str]]
"""(Start, end, new text), in characters of the old text, in order."""


def find_relinks(
    brain: Brain, moves: Mapping[str, str], read: Callable[[str], str]
) -> dict[str, Edits]:
    """Return old id → edits of each file whose links change with some moves (old id → new id).

    ``read`` returns the text of a file by its id, "" where it cannot be read.
    """
    found = {}
    for path in brain.read(lambda one: sorted(one.catalogue.numbers())):
        if edits := relink(read(path), _follow_moves(path, moves)):
            found[path] = edits
    return found


def rewrite_links(brain: Brain, old: str, new: str) -> tuple[list[str], list[str]]:
    """Let the links of all files lead to a card's new name; it has moved already.

    Returns the files changed, and one line each for those that could not be.
    """
    brain.refresh()
    linked, failed, moves = [], [], {old: new}
    name = posixpath.splitext(posixpath.basename(old))[0]
    limit = brain.settings.index.max_file_bytes

    def read(path: str) -> str:
        try:
            data = card_files.read_bytes(brain.root, path, limit=limit)
        except LessonsError as error:
            failed.append(f"{path}: {error}")
            return ""
        text = data.decode("utf-8", "replace")
        return text if name in text or quote(name) in text else ""

    def follow(data: bytes, *, path: str) -> bytes:
        text = data.decode("utf-8")
        for start, end, target in reversed(relink(text, _follow_moves(path, moves))):
            text = text[:start] + target + text[end:]
        return text.encode("utf-8")

    for path in find_relinks(brain, moves, read):
        try:
            card_files.rewrite(brain.root, path, partial(follow, path=path))
            linked.append(path)
        except LessonsError as error:
            failed.append(f"{path}: {error}")
    brain.touch()
    return linked, failed


def find_links_to(
    brain: Brain, card: str, read: Callable[[str], str]
) -> Iterator[tuple[str, Link]]:
    """Yield (id, link) of each link of the brain that leads to a card."""
    for path in brain.read(lambda one: sorted(one.catalogue.numbers())):
        for link in find_links(read(path)):
            if link.leads_to(card, home=path):
                yield path, link


def read_file(brain: Brain, path: str) -> str:
    """Return the text of a file of a brain, "" where it cannot be read as text."""
    try:
        data = card_files.read_bytes(brain.root, path, limit=brain.settings.index.max_file_bytes)
        return data.decode("utf-8")
    except (StorageError, UnicodeDecodeError):
        return ""


def _follow_moves(home: str, moves: Mapping[str, str]) -> Callable[[Link], str | None]:
    """Return what each link of the file ``home`` is to say after some moves, None for as it is."""
    new_home = moves.get(home, home)

    def change(link: Link) -> str | None:
        for old, new in moves.items():
            if link.leads_to(old, home=home):
                return link.written_to(new, home=new_home)
        if posixpath.dirname(new_home) == posixpath.dirname(home) or link.kind != "path":
            return None
        path = posixpath.join(posixpath.dirname(home), link.target)
        return posixpath.relpath(posixpath.normpath(path), posixpath.dirname(new_home) or ".")

    return change


@dataclass(frozen=True, kw_only=True, slots=True)
class Renamed:
    """What a renaming did."""

    old: str
    """The id of the card before."""
    card: Card
    linked: tuple[str, ...] = ()
    """Files whose links follow."""
    failed: tuple[str, ...] = ()
    """One line each: what could not be changed."""


def rename_card(brains: Brains, name: str, title: str) -> Renamed:
    """Give a card a title and the file name that goes with it; its folder stays.

    Links of the brain's files follow, and so does what the journal and the drafts know of the
    card. Raises DuplicateCard where another card has the title, InputError for one that names no
    mistake, CardNotFound, EditRefused.
    """
    cards = Cards(brains)
    brain, card = cards.find(name, notes=False)
    wanted = one_line(redact(title))
    stem, new = slug(wanted), card.id
    if not names_mistake(wanted):
        raise InputError(f"{wanted!r} names no mistake; give {MISSING['title']}")
    folder, suffix = posixpath.dirname(card.id), posixpath.splitext(card.id)[1]
    with hold_new(brain.root):
        for other in brain.read(lambda one: one.catalogue.paths_titled(normal_title(wanted))):
            if other != card.id:
                raise DuplicateCard(
                    f"{other} already has this title; choose another", existing=other
                )
        cards.rewrite(brain, card.id, partial(_retitle, title=wanted))
        for free in numbered_names(stem, suffix):  # the first that a new card would get
            new = posixpath.join(folder, free)
            with contextlib.suppress(DuplicateCard):
                new = new if new == card.id else card_files.move(brain.root, card.id, new)
                break
    brain.touch()
    linked, failed = rewrite_links(brain, card.id, new) if new != card.id else ([], [])
    if new != card.id:
        keep_record(brain, card.id, new)
    return Renamed(old=card.id, card=cards.get(new), linked=tuple(linked), failed=tuple(failed))


def keep_record(brain: Brain, old: str, new: str) -> None:
    """Let what journal and drafts know of a card follow it to another name."""
    with contextlib.suppress(StorageError):  # it costs the statistics, not the card
        brain.journal.rename(old, new)
        folder = DraftFolder(brain.root)
        with folder.locked():
            for name, facts in folder.facts().items():
                if facts.get("card") == old:
                    folder.note(name, {**facts, "card": new})


def _retitle(card: Card, text: str, *, title: str) -> str:
    """Return a card's text with another title, also as level-1 heading if the old one is there."""
    body = split_header(text).body
    first = next((one for one in find_headings(normal_newlines(body)) if one.level == 1), None)
    lines = split_lines(body)
    if first is not None:
        pattern = rf"(#[ \t]+){re.escape(card.title)}(?=[ \t]*[\r\n]*\Z)"
        lines[first.line] = re.sub(pattern, lambda found: found[1] + title, lines[first.line])
    text = text[: len(text) - len(body)] + "".join(lines)
    told = parse_card(text, path=card.id, folders={}).card
    # A heading is Markdown: `__init__` is bold there.
    return text if told and told.title == title else edit_header(text, {"title": title})
