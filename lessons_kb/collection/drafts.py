"""The noun ``brain.drafts``: lessons that wait for a human, from trigger to card."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Unpack

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import is_posted
from lessons_kb.calls.failure_signs import CHANGES
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.file_kinds import in_mapped_folder
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.keys import parse_pattern
from lessons_kb.cards.links import normal_title
from lessons_kb.cards.parse import parse_card
from lessons_kb.collection.cards import Cards, NewCard, compose, redact_card
from lessons_kb.collection.near_duplicates import RELATED, NearDuplicate
from lessons_kb.collection.pending_drafts import MAX_EVENTS, find_new_triggers
from lessons_kb.errors import (
    AmbiguousCard,
    CardNotFound,
    DuplicateCard,
    EditRefused,
    GitError,
    InputError,
    LessonsError,
    StorageError,
)
from lessons_kb.find.detection import read_text
from lessons_kb.find.project_detection import propose_pattern
from lessons_kb.mining.candidates import Candidate
from lessons_kb.mining.draft_text import (
    MAX_DIFF,
    Sketch,
    find_diff,
    find_lacks,
    finish,
    names_of,
    pick_hunks,
    sketch_diff,
    sketch_session,
    sketch_trigger,
    split_files,
)
from lessons_kb.mining.triggers import RED_GREEN, Trigger, pick_turns
from lessons_kb.model import EVENTS, Card, Document, Event, Pattern
from lessons_kb.process.git import read_diff
from lessons_kb.store.card_files import read_template
from lessons_kb.store.draft_files import MAX_DRAFT_BYTES, DraftFacts, DraftFolder, check_draft_size
from lessons_kb.store.files import relative
from lessons_kb.store.journal import day_of
from lessons_kb.store.locations import CONFIG_NAME
from lessons_kb.store.locks import hold_new
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen, replace

_SLACK_SECONDS = 2.0
"""File systems and clocks round."""


_OURS = frozenset({CONFIG_NAME, IGNORE_NAME})
"""A brain's own settings fix no test."""


def find_fix(
    directory: str,
    *,
    since: float,
    until: float | None = None,
    files: Sequence[str] = (),
    brains: Sequence[Brain] = (),
) -> str:
    """Return the diff of what changed in a work tree after ``since``, "" if git knows nothing.

    Times in seconds since the epoch. Commits made since count as well as what lies in the work
    tree, and of that only files written since. Files written after ``until`` belong to what was
    done next: they are left out, unless all were. Where ``files`` are known to be the change, their
    parts come first. What was written into ``brains`` is no part of it: a lesson fixes nothing.
    """
    top = git_top(directory) or directory
    parts: dict[str, tuple[str, float]] = {}
    for revision in (f"HEAD@{{{int(since)}}}", None):
        try:
            found = split_files(read_diff(directory, revision).text)
        except GitError:
            continue
        for name, part in ((names_of(part)[-1], part) for part in found):
            full = os.path.join(top, name)
            if not name or name in parts or _is_lore(full, brains, top):
                continue
            try:
                written = os.stat(full).st_mtime
            except OSError:
                written = until or since
            if written >= since - _SLACK_SECONDS:
                parts[name] = part, written
    in_time = [name for name, (_part, at) in parts.items() if at <= (until or 0) + _SLACK_SECONDS]
    ordered = sorted(in_time or parts, key=lambda name: (name not in files, name))
    return "".join(parts[name][0] for name in ordered)


def _is_lore(path: str, brains: Sequence[Brain], top: str) -> bool:
    """Return whether a file is one of a brain's own.

    Of a brain that is the whole project, or more, that is what lies in its folders of cards:
    its notes may be the project's documentation.
    """
    holding = [one for one in brains if path.startswith(one.root + os.sep)]
    return os.path.basename(path) in _OURS or any(
        path.endswith(SUFFIXES)
        and (
            brain.root.startswith(top + os.sep)
            or in_mapped_folder(relative(brain.root, path), brain.settings.folders)
        )
        for brain in holding
    )


PROPOSED = "proposed"
"""Kind of a draft that somebody wrote; those of triggers are ``learn.triggers.TRIGGERS``."""


MINED = "mined"
"""Kind of a draft of what sessions and commits of the past showed."""


_MAX_HEADER_BYTES = 50_000
"""Of what a proposal puts into the header, which a reader accepts up to 64,000 characters."""


_OPEN, _ACCEPTED, _MERGED, _DISCARDED = "open", "accepted", "merged", "discarded"


_ID = re.compile(r"[a-z]+(?:-[a-z0-9]+)+")


@frozen
class Draft:
    """A lesson that waits for a human; never injected."""

    id: str
    path: str
    """Its Markdown file, to be edited."""
    title: str
    kind: str = PROPOSED
    """What called for it: ``red-green``, ``feedback`` … or ``proposed``."""
    at: float = 0.0
    """When it was last drafted or counted, of a find of the past when that was last seen; seconds
    since the epoch."""
    seen: int = 1
    """How often."""
    missing: tuple[str, ...] = ()
    """What it lacks before it may be accepted, one line each."""
    card: str = ""
    """The card that an earlier draft of the same mistake became, "" if none did."""
    text: str = ""
    place: int = 0
    """Among the drafts of the past: the likeliest mistake first."""
    fix: str = ""
    """The diff that put the mistake right when it came back, "" if none is known."""
    by: str = ""
    """Which user of a server proposed it, "" if none did."""
    trouble: str = ""
    """Why it can only be discarded, "" if it can be accepted or merged once it is complete."""

    @property
    def digest(self) -> str:
        """What its text is known by: another text has another one."""
        return _digest(self.text)


class Drafts:
    """The drafts of the nearest brain."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._brain = brains.members[0]
        self._folder = DraftFolder(self._brain.root)

    def collect(self, session: str | None = None) -> list[Draft]:
        """Draft what the last seven days' events call for, of one session if it is named.

        Return the drafts that were written, renewed or counted. Called when a turn or a session
        ends, or a captured run. Called twice, the second call finds nothing new. Costs a query of
        the journal where nothing happened.
        """
        now = time.time()
        made: list[Draft | None] = []
        failed: list[LessonsError] = []
        for trigger in find_new_triggers(self._brain, session, now=now):
            try:
                made.append(self._take_in(trigger, now))
            except LessonsError as error:
                failed.append(error)  # one that cannot be written keeps no other back
        if failed:
            raise failed[0]
        return [draft for draft in made if draft is not None]

    def propose(
        self,
        title: str,
        *,
        prevention: Sequence[str] = (),
        detect: Sequence[Mapping[str, object]] = (),
        example: str = "",
        by: str = "",
        now: float | None = None,
        **parts: Unpack[NewCard],
    ) -> Draft:
        """Write a draft in somebody's own words; one of the same title is written anew.

        One that was edited since, or that somebody else proposed (``by``: the user of a server),
        stays, and this is another beside it. The same proposal twice is one draft, also where the
        first writer was killed.

        ``prevention`` are checklist items, ``detect`` patterns as a header has them. Raises
        InputError for one that is unusable, or for a proposal that is too large.
        """
        _check_proposal_size(title, example, [*detect], prevention, parts)
        title = redact(title)  # its key is in lower case, where a secret is not seen
        sketch = Sketch(
            title=title, example=example, detect=[parse_pattern(one) for one in detect], **parts
        )
        if prevention:
            items = "\n".join(f"- [ ] {' '.join(item.split())}" for item in prevention)
            sketch = replace(sketch, sections={**sketch.sections, "Prevention Checklist": items})
        text = _compose(sketch, time.time())
        key = normal_title(title)
        facts = _facts(PROPOSED, key, text, time.time() if now is None else now)
        facts |= {"by": by} if by else {}
        with self._folder.locked():
            names = numbered_names(_name(PROPOSED, key), "")
            name = next(one for one in names if self._may_renew(one, text, by=by))
            # What a killed writer left has no facts: nobody was told of it, the trash keeps it.
            over = None if self._folder.facts_of(name) is None else self._folder.read(name)
            self._folder.write(name, text, facts, over=over)
        return self.get(name)

    def add_mined(self, found: Candidate, sketch: Sketch, *, place: int) -> Draft | None:
        """Write a draft of what was found in the past, once, whatever became of it; else None."""
        name = _name(MINED, found.id)
        with self._folder.locked():
            if self._folder.facts_of(name) is not None:
                return None
            text, commits = _compose(sketch, found.at), [one.id for one in found.commits]
            shown: DraftFacts = {"seen": found.occurrences, "place": place, "ids": commits}
            self._folder.write(name, text, _facts(MINED, found.id, text, found.at) | shown)
        return self.get(name)

    def learnt_from(self) -> dict[str, str]:
        """Return commit → the card that a draft of it became."""
        mined = (one for one in self._folder.facts().values() if one.get("kind") == MINED)
        return {commit: one["card"] for one in mined if one.get("card") for commit in one["ids"]}

    def all(self) -> list[Draft]:
        """Return the drafts that wait, newest first, then those of the past, likeliest first.

        Each file in the folder of drafts is among them, also one that cannot be read.
        """
        drafts = [draft for name in self.ids() if (draft := self._read(name)) is not None]
        return sorted(drafts, key=lambda one: (one.kind == MINED, one.place, -one.at, one.id))

    def ids(self) -> list[str]:
        """Return the ids of the drafts that wait, in order, without reading them."""
        return self._folder.ids()

    def count(self) -> int:
        """Return how many drafts wait, without reading them."""
        return len(self.ids())

    def get(self, name: str) -> Draft:
        """Return a draft by its id or an unambiguous prefix of it.

        Bytes of a file's name that are not UTF-8 may be named by a question mark, as a page does.
        """
        ids = self.ids()
        fitting = [known for known in ids if name and known.startswith(name)]
        if name in ids:
            fitting = [name]
        if not fitting:
            fitting = [known for known in ids if known.encode(errors="replace").decode() == name]
        draft = self._read(fitting[0]) if len(fitting) == 1 else None
        if draft is not None:
            return draft
        if len(fitting) > 1:
            raise AmbiguousCard(f"{name!r} matches {', '.join(fitting)}; write more of the id")
        raise CardNotFound(f"no draft named {name!r}; see `lessons review --list`")

    def find_missing(self, name: str, text: str) -> tuple[str, ...]:
        """Return what a draft would lack before it may be accepted if it held this text."""
        return find_lacks(self._parse(self.get(name).id, text))

    def find_near_duplicates(self, draft: Draft) -> list[NearDuplicate]:
        """Return the cards that may be the same lesson, best first."""
        card = self._parse(draft.id, draft.text).card
        return Cards(self._brains).find_near_duplicates(card) if card else []

    def find_agreed(self, draft: Draft) -> tuple[Pattern, ...]:
        """Return how the mistake looks by two of its fixes: the draft's, and a later one of it or
        that of the card which an earlier draft became.
        """
        fix = find_diff(draft.text)
        others = [draft.fix]
        if draft.card:
            with contextlib.suppress(LessonsError):
                brain, card = Cards(self._brains).find(draft.card)
                others.append(find_diff(read_text(os.path.join(brain.root, card.id))))
        pairs = (other for other in others if fix and other)
        found = (propose_pattern(self._brains.directory, other, again=fix) for other in pairs)
        return tuple(one.pattern for one in found if one.pattern)[:1]

    def rewrite(self, name: str, text: str, *, digest: str) -> Draft:
        """Write the text of a draft anew; ``digest`` is as in ``accept``."""
        check_draft_size(text)
        with self._folder.locked():
            draft = self._get_unchanged(name, digest)
            facts = self._folder.facts_of(draft.id) or {}
            self._folder.write(draft.id, text, facts, over=draft.text)
        return self.get(draft.id)

    def find_outcome(self, name: str) -> tuple[str, str]:
        """Return what became of a draft and the card that it became or was merged into.

        That is ``accepted``, ``merged``, ``discarded``, ``open`` or "" for one that is not known.
        """
        facts = (self._folder.facts_of(name) or {}) if _ID.fullmatch(name) else {}
        return str(facts.get("state", "")), str(facts.get("card", ""))

    def accept(self, name: str, *, on_duplicate: str = "fail", digest: str | None = None) -> Card:
        """Make a draft a card of the nearest brain.

        ``digest`` is that of the text that was looked at; EditRefused where it is another now.
        Raises InputError naming what it lacks, or that too many cards from triggers are active;
        DuplicateCard when the lesson is there, unless ``on_duplicate`` is ``new``.
        """
        with hold_new(self._brain.root):
            draft = self._get_unchanged(name, digest)
            card = self._parse(draft.id, draft.text).card
            if draft.trouble:
                raise InputError(f"{draft.id} cannot become a card: {draft.trouble}")
            if draft.missing:
                missing = "; ".join(draft.missing)
                raise InputError(f"{draft.id} is incomplete; add {missing} in {draft.path}")
            if card is None:
                raise EditRefused(f"{draft.path} is not a readable card; fix its header")
            if card.source == "auto":
                self._check_room()
            near = self.find_near_duplicates(draft) if on_duplicate != "new" else []
            if one := next((one for one in near if one.level != RELATED), None):
                raise DuplicateCard(
                    f"{one.reason}; `lessons review --merge {draft.id} {one.card.id}` counts "
                    "it there, `--on-duplicate new` writes a second card",
                    existing=one.card.id,
                )
            # What was seen long before there was a card does not make it an old one.
            seen = time.time() if draft.kind == MINED else draft.at
            changes: dict[str, Any] = {"created": day_of(time.time()), "last-seen": day_of(seen)}
            changes |= {"occurrences": draft.seen} if draft.seen > 1 else {}
            text = finish(draft.text, read_template(f"{card.kind}.md"))
            made = self._write(draft, card, redact_card(edit_header(text, changes)))
            self._settle(draft, _ACCEPTED, made.id, over=draft.text)
        return made

    def merge(
        self, name: str, card: str, *, at: float | None = None, digest: str | None = None
    ) -> Card:
        """Count a draft as another occurrence of a card, see ``Cards.bump``, with its task.

        ``digest`` is as in ``accept``.
        """
        with hold_new(self._brain.root):
            draft = self._get_unchanged(name, digest)
            if draft.trouble:
                raise EditRefused(f"{draft.id} cannot be merged: {draft.trouble}")
            known = self._parse(draft.id, draft.text).card
            task = known.examples[-1] if known and known.examples else None
            merged = self._count(draft, card, task=task, at=at)
            self._settle(draft, _MERGED, merged.id)
        return merged

    def discard(self, name: str, *, digest: str | None = None) -> Draft:
        """Remove a draft; the same observations make no other one. ``digest`` is as in ``accept``.

        One that was edited goes to the trash, as it does when it is merged.
        """
        draft = self._get_unchanged(name, digest)
        self._settle(draft, _DISCARDED, "")
        return draft

    def sketch_session(self, session: str | None = None, *, title: str = "") -> Sketch:
        """Return what a session tells, by default the latest; InputError when none is known.

        With a ``title`` that is what belongs to the mistake which it names, and of the change only
        the files that were edited then.
        """
        journal = self._brain.journal.events
        if session is None:
            latest = journal.find(kinds=[kind for kind in EVENTS if kind != "preflight"], limit=1)
            session = latest[0].session if latest else None
        events = journal.find(session=session, limit=MAX_EVENTS) if session is not None else []
        if not events:
            what = f"session {session!r}" if session else "session yet"
            raise InputError(f"the journal has no {what}; see `lessons events`")
        if title:
            events = pick_turns(events, title)
        failed = [event.at for event in events if event.outcome == "exec_error"]
        since = failed[0 if title else -1] if failed else events[0].at
        place = self._place(events[-1])
        edited = [path for event in events if event.kind in CHANGES for path in event.targets]
        diff = find_fix(place, since=since, files=edited, brains=self._brains.members)
        if title and edited:
            diff = "".join(part for part in split_files(diff) if names_of(part)[-1] in edited)
        learn = partial(propose_pattern, place)
        return sketch_session(events, diff=redact(diff), title=title, propose=learn)

    def sketch_diff(self, where: str, *, title: str = "") -> Sketch:
        """Return what the working diff of ``FILE`` or ``FILE:LINE`` tells; InputError if none."""
        name, colon, number = where.rpartition(":")
        path, line = (name, int(number)) if colon and number.isdecimal() else (where, 0)
        directory = self._brains.directory
        inside = relative(directory, os.path.realpath(path))
        hunks = pick_hunks(read_diff(directory).text, inside, line)
        if not hunks:
            raise InputError(f"{where} has no change against HEAD; give a changed file and line")
        learn = partial(propose_pattern, directory)
        return sketch_diff(inside, redact(hunks), line=line, title=title, propose=learn)

    def _write(self, _draft: Draft, card: Card, text: str) -> Card:
        """Write the card that a draft becomes; `BranchReview` writes it into a branch."""
        return Cards(self._brains).add(text, kind=card.kind, title=card.title)

    def _count(self, _draft: Draft, card: str, *, task: str | None, at: float | None) -> Card:
        """Count a draft at a card; `BranchReview` does so in a branch."""
        return Cards(self._brains).bump(card, task=task, at=at)[0]

    def _get_unchanged(self, name: str, digest: str | None) -> Draft:
        draft = self.get(name)
        if digest is not None and digest != draft.digest:
            raise EditRefused("the draft was changed after you opened it; read it again")
        return draft

    def _take_in(self, trigger: Trigger, now: float) -> Draft | None:
        """Write, renew or count one trigger's draft; None where there is nothing to tell of.

        Three names: a trigger's ``ids`` are its observations, its ``key`` is the mistake, and
        ``name`` is the draft's own, that of its files.
        """
        with self._folder.locked():
            known = self._folder.facts()
            for name, facts in known.items():
                # An observation of it is in a draft: its turn went on, or we are called again.
                if not {*trigger.ids}.isdisjoint(facts.get("ids", ())):
                    return self._renew(name, facts, trigger)
            again = {n: facts for n, facts in known.items() if facts.get("key") == trigger.key}
            for name, facts in again.items():
                # The same mistake once more: counted, but told of only where its draft is open.
                if facts.get("state") in (_OPEN, _DISCARDED):
                    ids = [*facts["ids"], *trigger.ids]
                    often = int(facts.get("seen", 1)) + 1
                    grown: DraftFacts = {**facts, "seen": often, "at": now, "ids": ids}
                    if facts["state"] == _OPEN and (fix := self._find_fix(trigger)):
                        grown["fix"] = redact(fix)[:MAX_DIFF]
                    self._folder.note(name, grown)
                    return None if facts["state"] == _DISCARDED else self.get(name)
            is_bare = trigger.kind == RED_GREEN and not trigger.files
            if is_bare and not is_posted(trigger.cause.session):
                in_git = git_top(self._place(trigger.cause)) is not None
                if in_git and not self._find_fix(trigger):
                    return None  # a flaky test: git knows of no change between red and green
            # Never drafted, or drafts of it were accepted or merged and it came back: a new one.
            name = _name(trigger.kind, trigger.key)
            if name in known:
                name = f"{name}-{len(again) + 1}"
            text = self._compose_trigger(trigger)
            card = next((str(facts.get("card", "")) for facts in reversed(again.values())), "")
            facts = _facts(trigger.kind, trigger.key, text, now)
            self._folder.write(name, text, {**facts, "ids": [*trigger.ids], "card": card})
        return self.get(name)

    def _renew(self, name: str, facts: DraftFacts, trigger: Trigger) -> Draft | None:
        """Say more in a draft that nobody has touched, when its turn has gone on."""
        fresh = [one for one in trigger.ids if one not in facts["ids"]]
        if not fresh:  # these events were collected before
            return None
        grown: DraftFacts = {**facts, "ids": [*facts["ids"], *fresh]}
        text = self._folder.read(name)
        if facts.get("state") != _OPEN or text is None or _digest(text) != facts.get("digest"):
            self._folder.note(name, grown)  # settled or edited: it stays as it is
            return None
        fuller = self._compose_trigger(trigger)
        grown |= {"kind": trigger.kind, "key": trigger.key, "digest": _digest(fuller)}
        self._folder.write(name, fuller, grown, over=text)
        return self.get(name)

    def _may_renew(self, name: str, text: str, *, by: str) -> bool:
        """Tell whether a proposal may be written over what has its name, if anything has."""
        known, facts = self._folder.read(name), self._folder.facts_of(name)
        if known is None or facts is None or known == text:
            return True
        return facts.get("by", "") == by and _digest(known) == facts.get("digest")

    def _compose_trigger(self, trigger: Trigger) -> str:
        learn = partial(propose_pattern, self._place(trigger.cause))
        sketch = sketch_trigger(trigger, diff=self._find_fix(trigger), propose=learn)
        return _compose(sketch, trigger.cause.at)

    def _find_fix(self, trigger: Trigger) -> str:
        """Return the change that put right what a trigger tells of, "" where that is not known.

        It is what was changed since the last failing run; ``files`` begin with the first.
        """
        if trigger.kind != RED_GREEN or not trigger.failure or is_posted(trigger.cause.session):
            return ""
        return find_fix(
            self._place(trigger.cause),
            since=trigger.failure.at,
            until=trigger.cause.at,
            files=trigger.files,
            brains=self._brains.members,
        )

    def _place(self, event: Event) -> str:
        here = not is_posted(event.session) and os.path.isdir(event.scope)
        return event.scope if here else self._brains.directory

    def _read(self, name: str) -> Draft | None:
        """Return a draft with what is noted of it; None if its file is not there any more."""
        facts = self._folder.facts_of(name) or {}
        text, trouble = "", ""
        try:
            text = self._folder.read_text(name)
        except (OSError, StorageError) as error:
            if not os.path.lexists(self._folder.path(name)):
                return None
            message = error.strerror if isinstance(error, OSError) else str(error)
            reason = (message or "").partition(";")[0]
            trouble = f"its file cannot be read ({reason}); discard it"
        document = self._parse(name, text)
        state, card = facts.get("state", _OPEN), facts.get("card", "")
        if state != _OPEN and not trouble:
            place = f" as {card}" if card else ""
            trouble = f"it was already {state}{place}; discard it"
        return Draft(
            id=name,
            path=self._folder.path(name),
            title=document.card.title if document.card else name,
            kind=facts.get("kind") or PROPOSED,
            at=facts.get("at") or self._folder.written_at(name),
            seen=max(facts.get("seen", 1), 1),
            missing=(trouble,) if trouble else find_lacks(document),
            card=card,
            text=text,
            place=facts.get("place", 0),
            fix=facts.get("fix", ""),
            by=facts.get("by", ""),
            trouble=trouble,
        )

    def _parse(self, name: str, text: str) -> Document:
        folders = self._brain.settings.folders
        return parse_card(text, path=f"lessons/{name}.md", folders=folders)

    def _check_room(self) -> None:
        limit = self._brain.settings.learn.max_auto_cards
        cards = Cards(self._brains).all()
        active = sum(card.source == "auto" and card.status == "active" for card in cards)
        if active >= limit:
            raise InputError(
                f"{counted(active, 'active card')} from triggers, of {limit} allowed; put some "
                "away with `lessons archive --stale` or `lessons archive ID`, then accept this one"
            )

    def _settle(self, draft: Draft, state: str, card: str, *, over: str | None = None) -> None:
        """Note what became of a draft; ``over`` is the text that is kept elsewhere."""
        with self._folder.locked():
            facts = self._folder.facts_of(draft.id) or {}
            if over is None and draft.digest == facts.get("digest"):
                over = draft.text
            if facts.get("state", _OPEN) == _OPEN:  # else the first decision stands
                facts |= {"state": state, "card": card}
            self._folder.settle(draft.id, facts, now=time.time(), over=over)


def _check_proposal_size(
    title: str,
    example: str,
    detect: Sequence[Mapping[str, object]],
    prevention: Sequence[str],
    parts: NewCard,
) -> None:
    """Raise InputError if what is proposed is too large for a draft, or for its header."""
    header = [title, example, *(str(pattern) for pattern in detect)]
    header += [*parts.get("topics", ()), *parts.get("paths", ()), *parts.get("symptoms", ())]
    header_bytes = _count_bytes(header)
    body_bytes = _count_bytes([*prevention, *parts.get("sections", {}).values()])
    if header_bytes + body_bytes > MAX_DRAFT_BYTES:
        raise InputError(f"a draft has at most {MAX_DRAFT_BYTES:,} bytes; shorten it")
    if header_bytes > _MAX_HEADER_BYTES:
        raise InputError(
            "title, symptoms, topics, paths, patterns and example of a draft have at most "
            f"{_MAX_HEADER_BYTES:,} bytes together; shorten them"
        )


def _count_bytes(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _facts(kind: str, key: str, text: str, at: float) -> DraftFacts:
    """Return what is noted of a new draft beside its text."""
    facts: DraftFacts = {"kind": kind, "key": key, "ids": [], "at": at, "seen": 1}
    return {**facts, "state": _OPEN, "digest": _digest(text)}


def _compose(sketch: Sketch, at: float) -> str:
    return redact_card(compose(sketch, created=day_of(at), source="auto"))


def _name(kind: str, key: str) -> str:
    return f"{kind}-{hashlib.blake2b(key.encode('utf-8', 'replace'), digest_size=4).hexdigest()}"


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()


def tell_source(draft: Draft) -> str:
    """Return in words who or what a draft comes from."""
    if draft.by:
        return f"proposed by {draft.by}"
    return "proposed" if draft.kind == PROPOSED else f"drafted ({draft.kind})"
