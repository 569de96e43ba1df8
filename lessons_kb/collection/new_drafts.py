"""Write drafts: from the triggers of a session, from a proposal, or from a project's past."""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Unpack

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.current_session import is_posted, session_of
from lessons_kb.brain.discovery import look
from lessons_kb.calls.failure_signs import FEEDBACK, find_phrase
from lessons_kb.cards.detect_key import parse_pattern
from lessons_kb.cards.draft_gaps import find_lacks
from lessons_kb.cards.edit_sources import make_session_source
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.links import normal_title
from lessons_kb.cards.sketch import Sketch
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.compose_card import NewCard, compose, redact_card
from lessons_kb.collection.draft_lookup import (
    DISCARDED,
    MERGED,
    MINED,
    OPEN,
    PROPOSED,
    Draft,
    DraftLookup,
    digest_text,
)
from lessons_kb.collection.find_fix import find_fix
from lessons_kb.collection.pending_drafts import MAX_EVENTS, find_new_triggers
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.mining.candidates import Candidate
from lessons_kb.mining.draft_evidence import list_evidence
from lessons_kb.mining.draft_text import (
    names_of,
    pick_hunks,
    sketch_diff,
    sketch_session,
    sketch_trigger,
    split_files,
)
from lessons_kb.mining.triggers import RED_GREEN, Trigger, name_complaint, names_mistake, pick_turns
from lessons_kb.model import CHANGES, EVENTS, Card, Event, Hit, Query, Source
from lessons_kb.on_demand import FIND_SEARCH, load
from lessons_kb.process.git import read_diff
from lessons_kb.store.draft_files import MAX_DRAFT_BYTES, DraftFacts, DraftFolder
from lessons_kb.store.files import is_real_inside, relative
from lessons_kb.store.journal import day_of
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import count_files
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, shell_word
from lessons_kb.text.times import format_moment
from lessons_kb.values import replace

_MAX_HEADER_BYTES = 50_000
"""In bytes: the maximum size of the header parts of a proposal. A header may have 64,000
characters."""


class NewDrafts(DraftLookup):
    """Writes new drafts of the nearest brain."""

    def collect(self, session: str | None = None) -> list[Draft]:
        """Draft the mistakes in the events of the last seven days, of one session if it is named.

        A complaint about a mistake that has a card is counted on the card instead; see ``counted``.
        The method is called at the end of a turn, of a session and of a captured run. It returns
        the drafts that were written, extended or counted. A second call finds nothing new. Without
        events, it costs one query of the journal. Raises the first LessonsError after all triggers
        are done.
        """
        now = time.time()
        drafts: list[Draft] = []
        self.counted = []
        failed: list[LessonsError] = []

        def has_card(complaint: Trigger) -> bool:
            return self._find_broken_card(complaint) is not None

        for trigger in find_new_triggers(self._brain, session, now=now, has_card=has_card):
            home = self._find_home(trigger)
            drafter = self if home is self._brain else type(self)(self._brains.led_by(home))
            try:
                draft = drafter.draft_trigger(trigger, now)
            except LessonsError as error:
                failed.append(error)  # a draft that cannot be written does not stop the others
                continue
            if drafter is not self:
                self.counted += drafter.counted
            if draft is not None:
                drafts.append(draft)
        if failed:
            raise failed[0]
        return drafts

    def propose(
        self,
        title: str,
        *,
        prevention: Sequence[str] = (),
        detect: Sequence[Mapping[str, object]] = (),
        example: str = "",
        sources: Sequence[Source] = (),
        by: str = "",
        now: float | None = None,
        **parts: Unpack[NewCard],
    ) -> Draft:
        """Write a draft in the words of a person. It replaces an earlier draft with the same title.

        An earlier draft stays if it was edited since then, or if another user of a server (``by``)
        proposed it. This proposal then becomes a second draft. Two equal proposals are one draft,
        even if the first writer was killed.

        ``prevention`` contains the items of the checklist, and ``detect`` contains patterns as in a
        header. Raises InputError for an invalid pattern or a proposal that is too large.
        """
        _check_proposal_size(title, example, [*detect], prevention, parts)
        title = redact(title)  # the key is in lower case, where redaction finds no secret
        patterns = [parse_pattern(pattern) for pattern in detect]
        moment = time.time() if now is None else now
        origin = [*sources]
        session = session_of()[0]
        if session and not by:
            origin.append(make_session_source(session, format_moment(moment)))
        sketch = Sketch(title=title, example=example, detect=patterns, sources=origin, **parts)
        if prevention:
            items = "\n".join(f"- [ ] {' '.join(item.split())}" for item in prevention)
            sketch = replace(sketch, sections={**sketch.sections, "Prevention Checklist": items})
        text = _compose(sketch, time.time())
        key = normal_title(title)
        facts = _make_facts(PROPOSED, key, text, moment)
        if by:
            facts["by"] = by
        with self._folder.locked():
            names = numbered_names(_make_name(PROPOSED, key), "")
            name = next(name for name in names if self._may_replace(name, text, by=by))
            # A file without facts was left by a killed writer. It goes to the trash.
            over = None if self._folder.facts_of(name) is None else self._folder.read(name)
            self._folder.write(name, text, facts, over=over)
        return self.get(name)

    def add_mined(
        self, candidate: Candidate, sketch: Sketch, *, place: int, write: bool = True
    ) -> Draft | None:
        """Write and return a draft of a mistake in the past.

        Returns None if there was ever a draft of the same candidate, or of one of its commits or
        sightings. Without ``write``, nothing is written.
        """
        name = _make_name(MINED, candidate.id)
        with self._folder.locked():
            is_drafted = not self.read_mined_states().keys().isdisjoint(candidate.keys)
            if is_drafted or self._folder.facts_of(name) is not None:
                return None
            text = _compose(sketch, candidate.at)
            if not write:
                return Draft(
                    id=name,
                    path=self._folder.path(name),
                    title=sketch.title,
                    kind=MINED,
                    at=candidate.at,
                    seen=candidate.occurrences,
                    missing=find_lacks(self._parse(name, text)),
                    text=text,
                    place=place,
                )
            facts = _make_facts(MINED, candidate.id, text, candidate.at)
            facts["evidence"] = list_evidence(text)
            facts["seen"] = candidate.occurrences
            facts["place"] = place
            commits = [commit.id for commit in candidate.commits]
            facts["ids"] = [*dict.fromkeys([*commits, *candidate.keys])]
            self._folder.write(name, text, facts)
        return self.get(name)

    def add_memory(self, text: str, *, origin: str, place: int) -> Draft | None:
        """Write and return a draft of a lesson in the memory of an agent.

        Returns None if there was ever a draft with this origin. ``place`` is its rank among the
        mined drafts.
        """
        name = _make_name(MINED, origin)
        now = time.time()
        with self._folder.locked():
            if self._folder.facts_of(name) is not None:
                return None
            facts = _make_facts(MINED, origin, text, now)
            facts["place"] = place
            self._folder.write(name, text, facts)
        return self.get(name)

    def sketch_session(self, session: str | None = None, *, title: str = "") -> Sketch:
        """Return a sketch of the mistake in a session, by default the latest session.

        ``title`` limits the sketch to the mistake that it names, and the change to the files that
        were edited for that mistake. Raises InputError if the journal has no such session.
        """
        journal = self._brain.journal.events
        if session is None:
            latest = journal.find(kinds=[kind for kind in EVENTS if kind != "preflight"], limit=1)
            session = latest[0].session if latest else None
        events = journal.find(session=session, limit=MAX_EVENTS) if session is not None else []
        if not events:
            missing = f"session {session!r}" if session else "session yet"
            raise InputError(f"the journal has no {missing}; see `lessons events`")
        if title:
            events = pick_turns(events, title)
        failed = [event.at for event in events if event.outcome == "exec_error"]
        since = events[0].at
        if failed:
            since = failed[0] if title else failed[-1]
        directory = self._find_directory(events[-1])
        edited: list[str] = []
        for event in events:
            if event.kind in CHANGES:
                edited += event.targets
        diff = find_fix(directory, since=since, files=edited, brains=self._brains.members)
        if title and edited:
            diff = "".join(part for part in split_files(diff) if names_of(part)[-1] in edited)
        return sketch_session(events, diff=redact(diff), title=title)

    def sketch_diff(self, where: str, *, title: str = "") -> Sketch:
        """Return a sketch of the uncommitted change at ``FILE`` or ``FILE:LINE``.

        Raises InputError if there is no change.
        """
        name, colon, number = where.rpartition(":")
        path, line = (name, int(number)) if colon and number.isdecimal() else (where, 0)
        directory = self._brains.directory
        inside = relative(directory, os.path.realpath(path))
        hunks = pick_hunks(read_diff(directory).text, inside, line)
        if not hunks:
            raise InputError(f"{where} has no change against HEAD; give a changed file and line")
        return sketch_diff(inside, redact(hunks), line=line, title=title)

    def draft_trigger(self, trigger: Trigger, now: float) -> Draft | None:
        """Write, extend or count the draft of a trigger. Return None if there is nothing to report.

        The ``ids`` of a trigger are its observations, its ``key`` is the mistake, and ``name`` is
        the id of the draft.
        """
        broken = self._find_broken_card(trigger)
        if broken is not None and self._note_counted(trigger, broken[1], now):
            card = broken[1]
            scope = trigger.cause.scope
            matched = self._find_matching(trigger.request, scope) if trigger.request else None
            is_about_card = matched is not None and matched[1].id == card.id
            task = trigger.request if is_about_card else None
            cards = Cards(self._brains)
            self.counted += cards.bump(card.id, task=task, at=now, complaint=trigger.cause)
            return None
        with self._folder.locked():
            facts_by_name = self._folder.facts()
            for name, facts in facts_by_name.items():
                # A draft has one of its observations: the turn went on, or this is a repeated call.
                if not {*trigger.ids}.isdisjoint(facts.get("ids", ())):
                    return self._extend(name, facts, trigger)
            earlier = {
                name: facts
                for name, facts in facts_by_name.items()
                if facts.get("key") == trigger.key
            }
            for name, facts in earlier.items():
                if facts.get("state") in (OPEN, DISCARDED):
                    return self._count_again(name, facts, trigger, now)
            if self._is_flaky(trigger):
                return None
            # There is no draft yet, or earlier drafts were settled and the mistake came back.
            name = _make_name(trigger.kind, trigger.key)
            if name in facts_by_name:
                name = f"{name}-{len(earlier) + 1}"
            text = self._compose_trigger(trigger)
            new_facts = _make_facts(trigger.kind, trigger.key, text, now)
            new_facts["evidence"] = list_evidence(text)
            new_facts["ids"] = [*trigger.ids]
            new_facts["card"] = ""
            if earlier:
                latest = list(earlier.values())[-1]
                new_facts["card"] = str(latest.get("card", ""))
            self._folder.write(name, text, new_facts)
        return self.get(name)

    def _find_home(self, trigger: Trigger) -> Brain:
        """Return the brain of the project that a mistake belongs to.

        Of several brains side by side, it is the one with the card or the draft of this mistake, or
        else the one that is nearest to the files that were changed. Of equally near ones, it is the
        one with the most files.
        """
        peers = self._list_peers(trigger.cause.scope)
        if not peers[1:]:
            return self._brain
        broken = self._find_broken_card(trigger)
        if broken is not None:
            return broken[0]
        for brain in peers:
            for facts in DraftFolder(brain.root).facts().values():
                if not {*trigger.ids}.isdisjoint(facts.get("ids", ())):
                    return brain
        scope = self._find_directory(trigger.cause)
        paths = [os.path.join(scope, file) for file in trigger.files] or [scope]

        def rank(brain: Brain) -> tuple[int, int]:
            distance = min(_count_steps(path, brain.root) for path in paths)
            size = count_files(brain.state.manifest) if brain.state is not None else 0
            return distance, -size

        return min(peers, key=rank)

    def _list_peers(self, scope: str) -> list[Brain]:
        """Return the brains of the project among which a command would ask the user to choose.

        If one brain is nearest to the directory ``scope``, the result is the nearest brain alone.
        """
        project = self._brains.directory
        inside = [brain for brain in self._brains.members if is_real_inside(brain.root, project)]
        if self._brain not in inside or not inside[1:]:
            return [self._brain]
        roots = look(scope if os.path.isdir(scope) else project).peers
        peers = [brain for brain in inside if brain.root in roots]
        return peers if self._brain in peers else [self._brain]

    def _find_broken_card(self, trigger: Trigger) -> tuple[Brain, Card] | None:
        """Return the card of the project about the mistake that, according to a prompt, came back.

        A prompt that names no mistake, such as "it broke again", refers to the prompt before it.
        """
        phrase = find_phrase(trigger.cause.text, self._brain.settings.triggers.patterns)
        if trigger.kind != FEEDBACK or phrase is None or phrase[0] != FEEDBACK:
            return None
        text = trigger.cause.text if names_mistake(trigger.cause.text) else trigger.request
        return self._find_matching(text, trigger.cause.scope)

    def _find_matching(self, text: str, scope: str) -> tuple[Brain, Card] | None:
        """Return the card of the project that a prompt would get first, and its brain, or None."""
        self._brains.refresh_for_search()
        query = Query(text=text, limit=1)
        hits: list[tuple[Brain, Hit]] = load(FIND_SEARCH).find_lessons(self._brains, query)
        for brain, hit in hits:
            if hit.passed and brain in self._list_peers(scope):
                return brain, hit.card
        return None

    def _note_counted(self, trigger: Trigger, card: Card, now: float) -> bool:
        """Record that a mistake is counted on its card.

        Returns False if it has a draft or a note.
        """
        name = _make_name(trigger.kind, trigger.key)
        with self._folder.locked():
            for facts in self._folder.facts().values():
                if not {*trigger.ids}.isdisjoint(facts.get("ids", ())):
                    return False
            facts = _make_facts(trigger.kind, trigger.key, "", now)
            facts["ids"] = [*trigger.ids, *name_complaint(trigger.cause.text)]
            self._folder.note(name, {**facts, "state": MERGED, "card": card.id})
        return True

    def _count_again(
        self, name: str, facts: DraftFacts, trigger: Trigger, now: float
    ) -> Draft | None:
        """Count a mistake once more on its draft. Return None if the draft was discarded."""
        counted: DraftFacts = {
            **facts,
            "seen": int(facts.get("seen", 1)) + 1,
            "at": now,
            "ids": [*facts["ids"], *trigger.ids],
        }
        is_open = facts["state"] == OPEN
        self._folder.note(name, counted)
        return self.get(name) if is_open else None

    def _extend(self, name: str, facts: DraftFacts, trigger: Trigger) -> Draft | None:
        """Extend an unedited draft whose turn has gone on. Return None if nothing changed."""
        new_ids = [observation for observation in trigger.ids if observation not in facts["ids"]]
        if not new_ids:  # these events were collected before
            return None
        extended: DraftFacts = {**facts, "ids": [*facts["ids"], *new_ids]}
        text = self._folder.read(name)
        if facts.get("state") != OPEN or text is None or digest_text(text) != facts.get("digest"):
            self._folder.note(name, extended)  # the draft was settled or edited: keep its text
            return None
        longer = self._compose_trigger(trigger)
        extended["kind"] = trigger.kind
        extended["key"] = trigger.key
        extended["digest"] = digest_text(longer)
        extended["evidence"] = list_evidence(longer)
        self._folder.write(name, longer, extended, over=text)
        return self.get(name)

    def _is_flaky(self, trigger: Trigger) -> bool:
        """Return whether a test turned green although git reports no change since it was red."""
        names_no_file = trigger.kind == RED_GREEN and not trigger.files
        if not names_no_file or is_posted(trigger.cause.session):
            return False
        in_git = git_top(self._find_directory(trigger.cause)) is not None
        return in_git and not self._find_fix(trigger)

    def _may_replace(self, name: str, text: str, *, by: str) -> bool:
        """Return whether a proposal may use a name that is free or whose draft may be replaced."""
        existing = self._folder.read(name)
        facts = self._folder.facts_of(name)
        if existing is None or facts is None or existing == text:
            return True
        return facts.get("by", "") == by and digest_text(existing) == facts.get("digest")

    def _compose_trigger(self, trigger: Trigger) -> str:
        sketch = sketch_trigger(trigger, diff=self._find_fix(trigger))
        return _compose(sketch, trigger.cause.at)

    def _find_fix(self, trigger: Trigger) -> str:
        """Return the diff that fixed the mistake of a trigger: the change since its last failure.

        The files of the trigger come first. The result is "" if the diff is unknown.
        """
        if trigger.kind != RED_GREEN or not trigger.failure or is_posted(trigger.cause.session):
            return ""
        return find_fix(
            self._find_directory(trigger.cause),
            since=trigger.failure.at,
            until=trigger.cause.at,
            files=trigger.files,
            brains=self._brains.members,
        )

    def _find_directory(self, event: Event) -> str:
        """Return the directory of an event if it exists here, or else the current project."""
        exists = not is_posted(event.session) and os.path.isdir(event.scope)
        return event.scope if exists else self._brains.directory


def _count_steps(path: str, root: str) -> int:
    """Return the number of folders between two paths in the tree of folders."""
    above = os.path.commonpath([path, root])
    return sum(os.path.relpath(end, above).count(os.sep) + 1 for end in (path, root))


def describe_counted(cards: Sequence[Card]) -> list[str]:
    """Return a line for the user about each card that was counted because of complaints."""
    lines: list[str] = []
    for card_id, times in Counter(card.id for card in cards).items():
        card = max((card for card in cards if card.id == card_id), key=lambda one: one.occurrences)
        again = "again" if times == 1 else f"{times} times"
        lines.append(
            f"lessons: counted “{clean_line(card.title)}” {again}, as you said that it came back "
            f"(seen {card.occurrences}×); `lessons bump --undo {shell_word(card.id)}` takes it back"
        )
    return lines


def _check_proposal_size(
    title: str,
    example: str,
    detect: Sequence[Mapping[str, object]],
    prevention: Sequence[str],
    parts: NewCard,
) -> None:
    """Raise InputError if a proposal is too large for a draft or for its header."""
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


def _make_facts(kind: str, key: str, text: str, at: float) -> DraftFacts:
    """Return the facts that are stored next to the text of a new draft."""
    return {
        "kind": kind,
        "key": key,
        "ids": [],
        "at": at,
        "seen": 1,
        "state": OPEN,
        "digest": digest_text(text),
        "evidence": [],
    }


def _compose(sketch: Sketch, at: float) -> str:
    text = compose(sketch, created=day_of(at), source="auto", guidance=False)
    return redact_card(text)


def _make_name(kind: str, key: str) -> str:
    """Return the id of a draft."""
    digest = hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=4).hexdigest()
    return f"{kind}-{digest}"
