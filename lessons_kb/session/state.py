"""The room's types: an event, what its answer may do, the answer, and a session's memory."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any
from zlib import crc32

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import Discovery, require
from lessons_kb.calls.parse_call import digest_arguments
from lessons_kb.config import PreflightSettings
from lessons_kb.find.titles import Access, is_whole
from lessons_kb.model import Card, Check, Event, Hit, Preflight
from lessons_kb.preflight.block import pack
from lessons_kb.store.journal import SESSION_STATE, Journal
from lessons_kb.store.locations import git_top
from lessons_kb.text.token_estimate import count_bytes, estimate_tokens


@dataclass(kw_only=True, slots=True)
class HookEvent:
    """Something that happened in an agent, whichever it is."""

    what: str
    """A key of ``dispatch.HANDLERS``."""
    agent: str
    session: str = ""
    part: str = ""
    """The subagent it happened in, "" for the session itself."""
    directory: str = ""
    """Absolute: where the session's project is."""
    cwd: str = ""
    """Where the agent is now; "" = in ``directory``."""
    id: str = ""
    """The agent's own id of the call or prompt: the same one twice is one event, unless the prompts
    differ."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    unattended: bool = False
    """Of a session that begins: it was given its prompt with the command, so nobody may be there
    to answer a question."""
    text: str = ""
    """The prompt, the answer, or the summary of what was compacted."""
    tool: str = ""
    arguments: object = None
    """Of the call: a JSON object, or its text."""
    spawns: tuple[str, str] | None = None
    """The kind and the prompt of the subagent that a call is about to start."""
    outcome: str = "ok"
    """One of model.OUTCOMES."""
    output: str = ""
    """The error, the end of what was printed, or the text that an edit writes."""
    before: str = ""
    """What an edit replaced."""
    step: str = ""
    """Names the message of the model that made the call, "" where the payload does not say."""
    takes_context: bool = True
    """The answer to this very event can put text in front of the model."""
    transcript: str = ""
    """The agent's own record, "" if there is none that we read."""
    again: bool = False
    """Another process may have noted it, and did not get to say anything."""
    repeats: bool = False
    """The agent forgets the answer with the model's next call, and asks for it again."""
    patience: float = 0.5
    """Seconds for which a server may be waited for."""
    posted: bool = False
    """It happened on another machine: its paths are names, and nothing here looks for them."""
    within: float = 0.0
    """Seconds within which the same without an id is taken for the same event."""
    answer_recorded: bool = False
    """What was answered stands in the record alone."""

    @property
    def context_id(self) -> str:
        """Names the context of the model: that of a subagent is its own, all else is shared."""
        return f"{self.session}/{self.part}" if self.part else self.session

    @property
    def call(self) -> str:
        """Tells this call from others before and after it, whether it has an id or not."""
        return self.id or digest_arguments(self.arguments)


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentTraits:
    """What holds of an agent at each of its events."""

    lasting: bool = True
    """Lessons given with a prompt stay before the model; else they are gone with the turn."""
    max_bytes: int = 9_900
    """Most of one text, a little below the least of the agents' own limits: Codex cuts out the
    middle of more than 10,000 bytes, Claude Code puts more than 10,000 characters into a file."""
    tokens: int = 3_200
    reads_outside: bool = False
    """Files outside the session's folder are read without asking the user."""
    reads_ignored: bool = True
    """Files that git ignores are read as others are."""
    keeps_directory: bool = False
    """A command begins where the last one ended; else each one where the session began."""
    hooked_tools: tuple[str, ...] = ()
    """Tools whose successes come through a hook with more than the record tells, of an agent
    whose record tells of all calls, also of those that fire no hook."""
    rewritten: bytes = b""
    """How the line begins with which it replaces all messages of its record, where it compacts a
    session without telling any hook."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities(AgentTraits):
    """What the agent lets an answer to this event do."""

    inject: bool = True
    """Text can be put in front of the model; else it waits for the next event that can."""
    lines: bool = True
    """Lines can be shown to the user; what must be seen waits for the next event that can."""
    ask: bool = False
    refuse: bool = False
    explains: bool = True
    """The question about a call shows the user its reason."""
    stop: bool = False
    review: str = ""
    """What the user types in the chat to go through drafts."""

    def count_tokens(self, text: str) -> int:
        """Return the tokens of a text; one of too many bytes is endless."""
        return estimate_tokens(text) if count_bytes(text) <= self.max_bytes else _ENDLESS

    def pack_known(self, hits: Sequence[Hit], settings: PreflightSettings) -> Preflight:
        """Pack lessons that no prompt asks for, in their order, into what a hook may say."""
        return pack(
            hits,
            [],
            query="",
            frequencies={},
            size=1,
            settings=replace(settings, budget=min(settings.budget, self.tokens)),
            counter=self.count_tokens,
            max_chars=self.max_bytes,
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What to say; nothing at all by default."""

    context: str = ""
    """For the model."""
    block: Preflight | None = None
    """The lessons that are given with this event, in ``context`` or waiting."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """For the user, not for the model."""
    question: str = ""
    """Let the user decide about the call, for this reason."""
    refusal: str = ""
    """Refuse the call, for this reason, which the model is given in the place of ``context``."""
    stop_line: str = ""
    """End the turn, resumable, with this line for the user."""
    language: str = ""
    """"" = that of the nearest brain."""
    footer: bool = True
    """Tell the user which lessons ``block`` has."""
    named: tuple[str, ...] = ()
    """Lessons of an earlier event, which showed the user nothing: told with those of ``block``."""
    trouble: str = ""
    """What went wrong and cost no more than a part of the answer; for the log."""


NOTHING = Answer()
_ENDLESS = 1_000_000_000


_NO_BRAINS = Brains((), directory="", project=None)


@dataclass(eq=False, kw_only=True)
class Hook:
    """One event while it is answered."""

    event: HookEvent
    can: Capabilities
    look: Callable[[str], Discovery]
    """Finds the brains around a directory."""
    find: Callable[[str], Brains] | None = None
    """Opens the brains of a directory, or finds them open; they stay so: see ``open_brains``."""
    occasion: str = "prompt"
    """What lessons are due for, as the ledger calls it."""
    brains: Brains = _NO_BRAINS
    """The trusted brains, none before ``open_brains``."""

    def open_brains(self) -> Brains:
        """Open the trusted brains, once; each handler does this first.

        Raises Untrusted or BrainNotFound when there are none. In the daemon ``find`` also tells the
        client that the answer has begun, or declines, by an exception that no handler catches, and
        the client answers itself: so nothing may be noted before.
        """
        if not self.brains.members and self.find is not None:
            self.brains = self.find(self.event.directory)
        elif not self.brains.members:
            roots = require(self.found).trusted
            self.brains = Brains.open(*roots, directory=self.event.directory)
        return self.brains

    @property
    def journal(self) -> Journal:
        """The journal of the nearest trusted brain."""
        return self.brains.members[0].hook_journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, trusted and silent."""
        return self.look(self.event.directory)

    @cached_property
    def scope(self) -> str:
        """The project root, spelled as the agent spells its directory: what paths start from."""
        directory = self.event.directory
        real = directory if self.event.posted else os.path.realpath(directory)
        top = (not self.event.posted and git_top(real)) or real
        if top == real:
            return directory
        below = os.sep + os.path.relpath(real, top)
        return directory.removesuffix(below) if directory.endswith(below) else top

    @cached_property
    def access(self) -> Access:
        """Which files the agent reads without asking."""
        directory, can = os.path.realpath(self.event.directory), self.can
        return Access(directory=directory, outside=can.reads_outside, ignored=can.reads_ignored)

    @property
    def now(self) -> float:
        """When the event happened."""
        return self.event.at or time.time()

    def as_event(self, kind: str, **more: Any) -> Event:
        """Return what the hook event says by itself as an event of this kind."""
        event = self.event
        said = {"at": self.now, "session": event.session, "id": event.id, "agent": event.agent}
        return Event(**{"kind": kind, "scope": self.scope, **said, **more})

    @cached_property
    def state(self) -> SessionMemory:
        """The session's memory as it was last read: to look at, not to change."""
        kept = self.journal.guard_state(self.event.context_id, SESSION_STATE)
        return SessionMemory.from_json(kept)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[SessionMemory]:
        """Lend the session's memory as it is now, to change it; see ``lend_memory``."""
        with lend_memory(self.journal, self.event.context_id) as self.state:
            yield self.state

    def close(self) -> None:
        """Close what was opened here."""
        if self.find is None:
            self.brains.close()


BLOCK, FILES, GUARD, DECLINED, MATCH = "block", "files", "guard", "declined", "match"
DRAFT = "draft"
AGAIN, TITLES, START = "again", "titles", "start"
"""What a text that waits for the model is about; "declined" is what came with a call that the user
declined, "again" the lessons of a session that was compacted."""
OUTLIVE_A_PROMPT = (FILES, DECLINED, AGAIN, TITLES)


@dataclass(kw_only=True, slots=True)
class SessionMemory:
    """The memory of a session between its hooks, or of a subagent: of a context of the model.

    Change it within ``Hook.transaction`` only.
    """

    # Of the turn: each prompt begins them anew.
    after: int = 0
    """Number of the journal's last event before the turn: clocks jump, numbers do not."""
    prompt_unseen: bool = False
    """A prompt was noted that the guards have not seen: the next call shows it to them first."""
    cards: list[list[str]] = field(default_factory=list)
    """[root, card id] given in this turn."""
    near: list[list[str]] = field(default_factory=list)
    """[shown name, confidence] of the lessons that the prompt nearly drew."""
    told: list[str] = field(default_factory=list)
    """The id of a prompt that is repeated, and what the model was told with it."""
    late: int = 0
    """How many lessons a change or an error has brought in this turn."""
    stopping: list[str] = field(default_factory=list)
    """[step, line for the user] once failures went on after guidance: the model was told to
    stop, and its next call ends the turn."""
    # Of calls that have not ended yet.
    matched: list[list[str]] = field(default_factory=list)
    """[call, brain, card id, text] of each mistake that a call is about to make: the text goes
    to the model if the change is made all the same, "" where it has been told enough."""
    stood_before: list[list[str]] = field(default_factory=list)
    """[call, mark] of each mistake that stood in the files of a command before it ran, and one
    without a mark: what stands there after it and did not before was written by it."""
    question_texts: list[list[str]] = field(default_factory=list)
    """[call id, text] of what was said with a question: the model gets it if the call runs."""
    spawned: list[list[str]] = field(default_factory=list)
    """[kind, prompt] of each subagent that was asked for and has not begun yet."""
    # Of the session.
    served: list[dict[str, Any]] = field(default_factory=list)
    """The lessons that a server gave in this session, as it told them."""
    titles_from: str = ""
    """The prompt that gave the titles of the cards, or START; "" while the model has none. They may
    wait."""
    all_titles: bool = False
    """They were those of all cards."""
    shown: list[list[Any]] = field(default_factory=list)
    """[call id, what, number of the prompt] of what was said in this session: of a card and file,
    or a line (``mark_matches``), worth saying again after some prompts; without a number of a
    lesson that came late (``late …``), or of a text about a mistake that was made (``after …``)."""
    asked: list[list[str]] = field(default_factory=list)
    """[call id, card and file, or the mark of a mistake's line] of each question; without an id
    where nobody could be asked and the model was told instead."""
    refused: list[list[str]] = field(default_factory=list)
    """[call id, card and file] of everything that a call was refused for."""
    brought: list[list[str]] = field(default_factory=list)
    """[call id, card id] of what a call put in front of the model."""
    waiting: list[list[str]] = field(default_factory=list)
    """[what about, text] that no hook event could carry yet; a prompt drops what is not among
    OUTLIVE_A_PROMPT."""
    named: list[str] = field(default_factory=list)
    """Titles of lessons given with an event that shows the user nothing."""
    drafts: list[str] = field(default_factory=list)
    """Ids of this session's drafts since the last prompt: the next one tells the model of the
    newest and forgets them."""
    drafted: int = 0
    """How many drafts the user was not told of yet: new ones, at the start all that wait."""
    offered: bool = False
    """The user was told of the drafts that waited when the session began."""
    unattended: bool = False
    """Nobody may be there to answer a question: it would be a denial."""
    steps: dict[str, str] = field(default_factory=dict)
    """Call → what the calls of one message of the model have in common."""
    transcript: str = ""
    offset: int = 0

    @classmethod
    def from_json(cls, kept: str) -> SessionMemory:
        """Return what ``to_json`` wrote; what is of another kind is left out."""
        state = cls()
        try:
            data = json.loads(kept) if kept else {}
        except ValueError:
            return state
        for name, value in data.items() if isinstance(data, dict) else ():
            if name in _MOST and type(value) is type(getattr(state, name)):
                setattr(state, name, value)
        return state

    def to_json(self) -> str:
        """Return it as it is stored: of what is many the newest."""
        stored = {}
        for name, most in _MOST.items():
            value = stored[name] = getattr(self, name)
            if isinstance(value, list):
                stored[name] = value[-most:]
            elif isinstance(value, dict):
                stored[name] = dict([*value.items()][-most:])
        return json.dumps(stored)

    def take_back(self, call: str) -> set[str]:
        """Forget what was said of a call, asked, refused and expected; return what it brought."""
        gone = {key for one, key, *_prompt in self.shown if one == call}
        cards = {card for one, card in self.brought if one == call}
        names = "shown asked refused question_texts brought matched stood_before"
        for name in names.split():
            setattr(self, name, [pair for pair in getattr(self, name) if pair[0] != call])
        self.asked = [pair for pair in self.asked if pair[1] not in gone]
        return cards

    def is_refused(self, call: str) -> bool:
        """Tell whether we refused a call."""
        return any(call and call == one for one, _key in self.refused)

    def note_late(self, call: str, found: list[tuple[Brain, Card]]) -> list[tuple[Brain, Card]]:
        """Return which lessons no change or error has brought in this session, and note them."""
        shown = {key for _call, key, *_prompt in self.shown}
        keys = {f"late {brain.alias}:{card.id}": (brain, card) for brain, card in found}
        new = [key for key in keys if key not in shown]
        self.shown += [[call, key] for key in new]
        return [keys[key] for key in new]

    def note_given(self, given: Sequence[list[str]]) -> None:
        """Note [root, card id] of what was given in this turn."""
        self.cards += [pair for pair in given if pair not in self.cards]

    def settle_question(self, event: Event) -> Event:
        """End the question about a call; return its event, with what was asked if it was declined.

        It is asked again then, and what was said with it waits; after any other call it was heard.
        """
        declined = event.outcome == "permission_denied"
        if event.tool:
            held = [[DECLINED, text] for call, text in self.question_texts if call == event.id]
            self.question_texts = [pair for pair in self.question_texts if pair[0] != event.id]
            self.waiting += held if declined else []
        keys = [key for call, key in self.asked if call and call == event.id]
        if not keys or not declined:
            return event
        self.asked = [pair for pair in self.asked if pair[0] != event.id]
        return replace(event, record={**event.record, "asked": keys})

    def take_titles(self, titles: str, prompt: str = "") -> list[tuple[str, str]]:
        """Return titles as a text to ``deliver``, in the place of those that wait."""
        if not titles:
            return []
        self.titles_from, self.all_titles = prompt or START, is_whole(titles)
        self.waiting = [pair for pair in self.waiting if pair[0] != TITLES]
        return [(TITLES, titles)]

    def deliver(self, texts: Sequence[tuple[str, str]], can: Capabilities) -> str:
        """Return what goes to the model now, waiting texts last; keep what does not fit beside it.

        ``texts`` are (what about, text), most important first. What is too long alone is dropped.
        """
        given: list[str] = []
        waiting, self.waiting = self.waiting, []
        for about, text in (*texts, *waiting):
            joined = "\n\n".join([*given, text])
            if text and can.inject and can.count_tokens(joined) <= can.tokens:
                given.append(text)
            elif text and (given or not can.inject):  # what is too long alone never fits
                self.waiting.append([about, text])
        return "\n\n".join(given)

    def expect(self, call: str, brains: str, card: str, text: str) -> None:
        """Note that a call is about to make a card's mistake; ``text`` is told once a session."""
        if any(key == _mark(text) for _call, key, *_prompt in self.shown):
            text = ""
        self.matched.append([call, brains, card, text])

    def take_matched(self, call: str, *, made: bool) -> list[str]:
        """Forget what was found in a call before it was made; return what is told if it was."""
        texts = [text for one, *_card, text in self.matched if one == call and text and made]
        self.matched = [one for one in self.matched if one[0] != call]
        self.shown += [[call, _mark(text)] for text in texts]
        return texts

    def tell_drafted(self, can: Capabilities) -> tuple[str, ...]:
        """Return one line about the drafts that the user was not told of, once it can be shown."""
        count = self.drafted if can.lines else 0
        if not count:
            return ()
        self.drafted = 0
        drafts = "1 draft" if count == 1 else f"{count} drafts"
        here = f"{can.review} here, or " if can.review else ""
        return (f"lessons: {drafts} to review: {here}`lessons review` in a terminal",)


def _mark(text: str) -> str:
    return f"after {crc32(text.encode()):08x}"


_MOST = {one.name: 500 for one in fields(SessionMemory)}
_MOST |= {"served": 16, "brought": 64, "steps": 32}
_MOST |= dict.fromkeys(("matched", "question_texts", "spawned", "waiting", "named"), 8)
"""Field → how many of its entries are remembered, if it has any."""


@contextlib.contextmanager
def lend_memory(journal: Journal, session: str) -> Iterator[SessionMemory]:
    """Lend the session's state within one immediate transaction and keep what became of it.

    All other hooks of the brain wait meanwhile: see ``Database.transaction`` for what may not be
    done inside, the first import of a module included.
    """
    with journal.transaction():
        kept = journal.guard_state(session, SESSION_STATE)
        state = SessionMemory.from_json(kept)
        yield state
        after = state.to_json()
        if after != kept:
            journal.keep_guard_state(session, after, SESSION_STATE)
