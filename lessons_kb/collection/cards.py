"""The noun ``brain.cards``: find, list, create, change and rename single cards."""

from __future__ import annotations

import contextlib
import os
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypedDict, Unpack
from urllib.parse import quote

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.search_index import read_document
from lessons_kb.cards.conflicts import find_conflict
from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.links import Link, find_links, normal_title, relink, slug
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import find_headings, normal_newlines, one_line, split_lines
from lessons_kb.collection.card_edits import (
    CardEdits,
    change_status,
    check_choice,
    require_card,
    today,
)
from lessons_kb.collection.lookup import MAX_SHOWN, find_fitting, remove_alias
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
    Contradiction,
    DuplicateCard,
    EditRefused,
    Incomplete,
    InputError,
    LessonsError,
    StorageError,
)
from lessons_kb.importers.incoming import SECTIONS
from lessons_kb.mining.draft_text import (
    MISSING,
    Sketch,
    fill,
    find_lacks,
    format_patterns,
    names_mistake,
)
from lessons_kb.model import KINDS, NOTE, SEVERITIES, Card, Document, Pattern
from lessons_kb.store import card_files, trash
from lessons_kb.store.card_files import read_template
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.locks import hold_new
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, shorten
from lessons_kb.values import frozen


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
    check_choice("kind", sketch.kind, KINDS)
    check_choice("severity", sketch.severity or SEVERITIES[1], SEVERITIES)
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


_LEVELS = (SAME, NEAR, RELATED)
_REWORDED = 0.55
"""Titles whose words are more alike than this say the same or not by their words."""
_MOST_PROPOSED = 3
_MOST_SAME_MEANING = 3
"""More titles of one meaning are a family."""
_MAX_DEMAND = 80
ON_DUPLICATE = ("fail", "bump", "new")


class Cards(CardEdits):
    """The cards of a brain."""

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
        check_choice("on_duplicate", on_duplicate, ON_DUPLICATE)
        folders = self._brains.members[0].settings.folders
        document = parse_card(redact_card(text), path="lessons/new.md", folders=folders)
        card = document.card
        if card is None:
            raise InputError(f"not a card: {document.findings[0].message}")
        if "title" not in document.key_lines and card.title == "new":
            raise InputError("the card has no title; add `title: …`, naming the mistake")
        with hold_new(self._brains.members[0].root):
            self._brains.refresh()
            if on_duplicate == "fail":  # opposed demands are alike, too, and are no duplicates
                self.check_contradictions(card)
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
        return require_card(read_document(brain.root, made, settings.folders, limit)[1], made)

    def check_contradictions(self, card: Card) -> None:
        """Raise Contradiction if an active card demands the opposite of one to be written."""
        for brain in self._brains.members:
            text = "\n".join(card.checklist)
            for other in _find_candidates(brain, title=card.title, text=text):
                conflict = find_conflict(card, other) if other.is_injectable else None
                if conflict is not None:
                    raise Contradiction(
                        f"{other.id} demands the opposite: {shorten(conflict.opposed, _MAX_DEMAND)}"
                        "; correct one of the two, or write the card with --on-duplicate new",
                        existing=other.id,
                    )

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
        own = find_fitting(remove_alias(name, brain), [card.id], exact=True)
        # The index may lag behind: nothing can be written to a full disk.
        gone = not os.path.lexists(os.path.join(brain.root, card.id))
        if (gone or not own) and (back := self._undelete(name, exact=not gone)):
            return back, "undeleted"
        if card.status == "active":
            return card.id, "unchanged"
        self.rewrite(brain, card.id, partial(change_status, status="active"))
        return card.id, "activated"

    def _undelete(self, name: str, *, exact: bool) -> str | None:
        """Bring back what ``name`` means in the trash and return its id, None without any."""
        brain, fitting = self.find_in_trash(name, exact=exact)
        if len(fitting) > 1:
            raise AmbiguousCard(
                f"{name!r} matches several cards in the trash: {', '.join(fitting[:MAX_SHOWN])}; "
                "write more of the name"
            )
        if not fitting:
            return None
        brain.touch()
        return trash.restore(brain.root, fitting[0])

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


@frozen
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
