"""What one hook must tell the next: one JSON text per session in the journal."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any
from zlib import crc32

from lessons_kb.brain.discovery import Discovery, require
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.config import PreflightSettings
from lessons_kb.model import Card, Check, Event, Hit, Preflight
from lessons_kb.preflight.block import pack
from lessons_kb.store.journal import SESSION_PATIENCE, SESSION_STATE, Journal, open_session_journal
from lessons_kb.store.scan import cache_dir
from lessons_kb.store.user_state import git_top
from lessons_kb.text.token_estimate import TokenCounter, count_bytes, estimate_tokens


@dataclass(frozen=True, kw_only=True, slots=True)
class HookEvent:
    """Something that happened in an agent, whichever it is."""

    what: str
    """A key of ``dispatch.HANDLERS``."""
    agent: str
    session: str
    part: str = ""
    """The subagent it happened in, "" for the session itself."""
    directory: str
    """Absolute: where the session's project is."""
    cwd: str = ""
    """Where the agent is now; "" = in ``directory``."""
    keeps_directory: bool = False
    """The agent begins a command where the last one ended; else where the session began."""
    id: str = ""
    """The agent's own id of the call or prompt: the same one twice is one event."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    within: float = 0.0
    """Seconds within which the same without an id is taken for the same event."""
    forked: bool = False
    """A session begins as a copy of another."""
    answered_ago: float | None = None
    """Of such a one: seconds since the other's last answer, where the agent tells."""
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
    """What came back: the error, the end of the output, the diff of an edit."""
    before: str = ""
    """What an edit replaced."""
    step: str = ""
    """Names the message of the model that made the call, "" where the payload does not say."""
    transcript: str = ""
    """The agent's own record, "" if there is none that we read."""
    again: bool = False
    """Another process may have noted it, and did not get to say anything."""
    patience: float = 0.5
    """Seconds for which a server may be waited for."""
    posted: bool = False
    """It happened on another machine: its paths are names, and nothing here looks for them."""

    @property
    def context(self) -> str:
        """Names the context of the model: that of a subagent is its own, all else is shared."""
        return f"{self.session}/{self.part}" if self.part else self.session


@dataclass(frozen=True, kw_only=True, slots=True)
class Capabilities:
    """What the agent lets an answer to this event do."""

    context: bool = True
    """Text can be put in front of the model; else it waits for the next event that can."""
    lines: bool = True
    """Lines can be shown to the user; what must be seen waits for the next event that can."""
    lasting: bool = True
    """What a prompt was answered with is still before the model at the next one."""
    max_bytes: int = 100_000
    """The most that one text may have, in UTF-8."""
    tokens: int = 100_000
    ask: bool = False
    stop: bool = False
    review: str = ""
    """What the user types in the chat to go through drafts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What to say; nothing at all by default."""

    context: str = ""
    """For the model."""
    block: Preflight | None = None
    """The lessons that were found for a prompt, in ``context`` or waiting."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """For the user, not for the model."""
    ask: str = ""
    """Let the user decide about the call, for this reason."""
    stop: str = ""
    """End the turn, resumable, with this line for the user."""
    language: str = "en"
    footer: bool = True
    """Tell the user which lessons ``block`` has."""
    named: tuple[str, ...] = ()
    """Lessons of an earlier event, which showed the user nothing: told with those of ``block``."""
    trouble: str = ""
    """What went wrong and cost no more than a part of the answer; for the log."""


NOTHING = Answer()


_PATIENCE = {"after": 1.0, "stop": 1.0, "end": 1.0}
"""Kind of event → seconds for which another writer is waited for, where what happened matters
more than what is answered; elsewhere ``SESSION_PATIENCE``."""


class OpenSession:
    """The brain and the journal of a session, opened when first needed.

    ``what`` is the event's kind; ``look`` finds the brains around a directory, and ``find`` gives
    one that is open already (and stays so). Where the session was ``posted``, its directory is
    the name of one elsewhere.
    """

    def __init__(
        self,
        directory: str,
        what: str,
        look: Callable[[str], Discovery],
        find: Callable[[str], Layers] | None = None,
        *,
        posted: bool = False,
    ) -> None:
        self.directory = directory
        self._posted = posted
        self._look = look
        self._what = what
        self._find = find
        self._brain: Layers | None = None
        self._journal: Journal | None = None

    @property
    def brain(self) -> Layers:
        """The trusted brains; Untrusted or BrainNotFound when there are none."""
        if self._brain is None:
            if self._find is not None:
                self._brain = self._find(self.directory)
            else:
                self._brain = Layers.open(*self._roots, directory=self.directory)
                if self._journal is not None:
                    self._brain.layers[0].use_session_journal(self._journal)
                    self._journal = None
        return self._brain

    @property
    def journal(self) -> Journal:
        """The journal of the nearest trusted brain, opened without opening that brain."""
        if self._brain is not None or self._find is not None:
            return self.brain.layers[0].session_journal
        if self._journal is None:
            patience = _PATIENCE.get(self._what, SESSION_PATIENCE)
            self._journal = open_session_journal(self._roots[0], patience=patience)
        return self._journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, trusted and silent."""
        return self._look(self.directory)

    @property
    def _roots(self) -> tuple[str, ...]:
        return tuple(require(self.found).trusted)

    @property
    def scope(self) -> str:
        """The project root, spelled as the agent spells its directory: what paths start from."""
        if self._posted:
            return self.directory
        real = os.path.realpath(self.directory)
        top = git_top(real) or real
        if top == real:
            return self.directory
        below = os.sep + os.path.relpath(real, top)
        cut = self.directory.removesuffix(below)
        return top if cut == self.directory else cut

    def find_trouble(self) -> tuple[str, str]:
        """Return why nothing is remembered, and a cache folder of ours; "" while all is well."""
        if self._journal is not None and self._journal.trouble:
            return self._journal.trouble, cache_dir(self._roots[0])
        for layer in self._brain.layers if self._brain is not None else ():
            if layer.journal_trouble:
                return layer.journal_trouble, layer.cache
        return "", ""

    def find_faults(self) -> list[str]:
        """Return what makes the settings of each open brain unusable, or leaves files out."""
        layers = self._brain.layers if self._brain is not None else ()
        faults = [fault for layer in layers if (fault := layer.find_fault())]
        beyond = [told for layer in layers if (told := layer.tell_beyond())]
        return [*(f"{fault}; until then this brain is silent" for fault in faults), *beyond]

    def close(self) -> None:
        """Close what was opened here."""
        if self._brain is not None and self._find is None:
            self._brain.close()
        if self._journal is not None:
            self._journal.close()


_MAX_LISTED = 500
_MAX_WAITING = 8
_MAX_BROUGHT = 64
_MAX_HELD = 8
_MAX_STEPS = 32
_MAX_SERVED = 16
_ENDLESS = 1_000_000_000
BLOCK, FILES, GUARD, DECLINED, MATCH = "block", "files", "guard", "declined", "match"
AGAIN = "again"
"""What a text that waits for the model is about; "declined" is what came with a call that the user
declined, "again" the lessons of a session that was compacted."""
OUTLIVE_A_PROMPT = (FILES, DECLINED, AGAIN)


class TurnState:
    """The memory of a session between its hooks. Change it within ``turn_state`` only."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.after: int = int(_number(data.get("after")))
        """Number of the journal's last event before the turn: clocks jump, numbers do not."""
        self.turn: int = int(_number(data.get("turn")))
        """Its number, as the journal counts them."""
        self.begun: bool = data.get("begun") is True
        """A prompt came that the guards have not seen: the next call shows it to them first."""
        self.cards: list[list[str]] = _pairs(data.get("cards"))
        """[root, card id] given in this turn."""
        self.served: list[dict[str, Any]] = _dicts(data.get("served"))
        """The lessons that a server gave in this session, as it told them."""
        self.near: list[list[str]] = _pairs(data.get("near"))
        """[shown name, confidence] of the lessons that the prompt nearly drew."""
        self.late: int = int(_number(data.get("late")))
        """How many lessons a change or an error has brought in this turn."""
        self.shown: list[list[str]] = _pairs(data.get("shown"))
        """[call id, card and file] of every card that was looked up for a file in this session."""
        self.asked: list[list[str]] = _pairs(data.get("asked"))
        """[call id, card and file] of everything that the user was asked about."""
        self.matched: list[list[str]] = _lists(data.get("matched"), size=4)
        """[call, brain, card id, text] of each mistake that a call is about to make: the text goes
        to the model if the change is made all the same, "" where it has been told enough."""
        self.holding: list[list[str]] = _pairs(data.get("holding"))
        """[call, mark] of each mistake that stood in the files of a command before it ran, and one
        without a mark: what stands there after it and did not before was written by it."""
        self.brought: list[list[str]] = _pairs(data.get("brought"))
        """[call id, card id] of what a call put in front of the model."""
        self.held: list[list[str]] = _pairs(data.get("held"))
        """[call id, text] of what was said with a question: the model gets it if the call runs."""
        self.spawned: list[list[str]] = _pairs(data.get("spawned"))
        """[kind, prompt] of each subagent that was asked for and has not begun yet."""
        self.waiting: list[list[str]] = _pairs(data.get("waiting"))
        """[what about, text] that no hook event could carry yet."""
        self.named: list[str] = _texts(data.get("named"))
        """Lessons given with an event that shows the user nothing."""
        self.drafted: int = int(_number(data.get("drafted")))
        """Drafts that the user was not told of yet in this session."""
        self.offered: bool = data.get("offered") is True
        """The user was told of the drafts that waited when the session began."""
        self.unattended: bool = data.get("unattended") is True
        """Nobody may be there to answer a question: it would be a denial."""
        self.steps: dict[str, str] = _steps(data.get("steps"))
        """Call → what the calls of one message of the model have in common."""
        self.batch: int = int(_number(data.get("batch")))
        """Number of the calls that have begun side by side."""
        self.ended: bool = data.get("ended") is True
        """One of them has ended."""
        self.stopping: list[str] = _texts(data.get("stopping"))
        """[step, line for the user] once failures went on after guidance: the model was told to
        stop, and its next call ends the turn."""
        self.transcript: str = str(data.get("transcript") or "")
        self.offset: int = int(_number(data.get("offset")))

    def to_json(self) -> str:
        """Return it as it is kept."""
        data = {
            "after": self.after,
            "turn": self.turn,
            "begun": self.begun,
            "cards": self.cards[-_MAX_LISTED:],
            "served": self.served[-_MAX_SERVED:],
            "near": self.near,
            "late": self.late,
            "shown": self.shown[-_MAX_LISTED:],
            "asked": self.asked[-_MAX_LISTED:],
            "matched": self.matched[-_MAX_HELD:],
            "holding": self.holding[-_MAX_LISTED:],
            "brought": self.brought[-_MAX_BROUGHT:],
            "held": self.held[-_MAX_HELD:],
            "spawned": self.spawned[-_MAX_HELD:],
            "waiting": self.waiting[-_MAX_WAITING:],
            "named": self.named[-_MAX_WAITING:],
            "drafted": self.drafted,
            "offered": self.offered,
            "unattended": self.unattended,
            "steps": dict([*self.steps.items()][-_MAX_STEPS:]),
            "batch": self.batch,
            "ended": self.ended,
            "stopping": self.stopping,
            "transcript": self.transcript,
            "offset": self.offset,
        }
        return json.dumps(data)

    def take_back(self, call: str) -> set[str]:
        """Forget what was looked up and asked for a call; return the cards that it brought."""
        gone = {key for one, key in self.shown if one == call}
        self.shown = [pair for pair in self.shown if pair[0] != call]
        self.asked = [[one, key] for one, key in self.asked if one != call and key not in gone]
        self.held = [pair for pair in self.held if pair[0] != call]
        cards = {card for one, card in self.brought if one == call}
        self.brought = [pair for pair in self.brought if pair[0] != call]
        return cards

    def asked_about(self) -> set[str]:
        """Return what the user was asked about in this session."""
        return {key for _call, key in self.asked}

    def note_late(self, call: str, found: list[tuple[Layer, Card]]) -> list[tuple[Layer, Card]]:
        """Return which lessons no change or error has brought in this session, and count them."""
        shown = {key for _call, key in self.shown}
        keys = {f"late {layer.alias}:{card.id}": (layer, card) for layer, card in found}
        new = {key: one for key, one in keys.items() if key not in shown}
        self.shown += [[call, key] for key in new]
        self.late += len(new)
        return list(new.values())

    def note_declined(self, event: Event) -> Event:
        """Return a refused call with what the user had been asked about it, to be asked again.

        What was said with the question waits from then on; after any other call it was heard.
        """
        if event.tool:
            held = [[DECLINED, text] for call, text in self.held if call == event.id]
            self.held = [pair for pair in self.held if pair[0] != event.id]
            self.waiting += held if event.outcome == "permission_denied" else []
        keys = [key for call, key in self.asked if call and call == event.id]
        if not keys or event.outcome != "permission_denied":
            return event
        self.asked = [pair for pair in self.asked if pair[0] != event.id]
        return replace(event, record={**event.record, "asked": keys})

    def deliver(self, texts: Sequence[tuple[str, str]], capabilities: Capabilities) -> str:
        """Return what goes to the model now, waiting texts last; keep what does not fit.

        ``texts`` are (what about, text), most important first.
        """
        everything = [*texts, *((about, text) for about, text in self.waiting)]
        given: list[str] = []
        self.waiting = []
        for about, text in everything:
            joined = "\n\n".join([*given, text])
            fits = count_bytes(joined) <= capabilities.max_bytes and (
                len(joined) <= capabilities.tokens or estimate_tokens(joined) <= capabilities.tokens
            )
            if capabilities.context and fits and text:
                given.append(text)
            elif text and (given or not capabilities.context):  # what is too long alone never fits
                self.waiting.append([about, text])
        return "\n\n".join(given)

    def take_named(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Return the lessons that the user was not told of, once they can be."""
        named = tuple(self.named) if capabilities.lines else ()
        self.named = [] if named else self.named
        return named

    def expect(self, call: str, brain: str, card: str, text: str) -> None:
        """Note that a call is about to make a card's mistake; ``text`` is told once a session."""
        mark = f"after {crc32(text.encode()):08x}"
        if text and any(key == mark for _call, key in self.shown):
            text = ""
        self.matched.append([call, brain, card, text])

    def take_matched(self, call: str, *, made: bool) -> list[list[str]]:
        """Return what was found in a call before it was made, nothing if it was not made."""
        taken = [one for one in self.matched if one[0] == call]
        if not taken:
            return []
        self.matched = [one for one in self.matched if one[0] != call]
        texts = [text for *_names, text in taken if made and text]
        self.shown += [[call, f"after {crc32(text.encode()):08x}"] for text in texts]
        return taken if made else []

    def tell_drafted(self, capabilities: Capabilities) -> tuple[str, ...]:
        """Return one line about drafts that are new, once it can be shown."""
        count = self.drafted if capabilities.lines else 0
        if not count:
            return ()
        self.drafted = 0
        drafts = "1 draft" if count == 1 else f"{count} drafts"
        here = f"{capabilities.review} here, or " if capabilities.review else ""
        return (f"lessons: {drafts} to review: {here}`lessons review` in a terminal",)


@contextlib.contextmanager
def turn_state(journal: Journal, session: str) -> Iterator[TurnState]:
    """Lend the session's state within one immediate transaction and keep what became of it.

    All other hooks of the brain wait meanwhile: see ``Database.transaction`` for what may not be
    done inside, the first import of a module included.
    """
    with journal.transaction():
        kept = journal.guard_state(session, SESSION_STATE)
        state = TurnState(_loaded(kept))
        yield state
        after = state.to_json()
        if after != kept:
            journal.keep_guard_state(session, after, SESSION_STATE)


def read_state(journal: Journal, session: str) -> TurnState:
    """Return the session's state as it is now: to look at, not to change."""
    return TurnState(_loaded(journal.guard_state(session, SESSION_STATE)))


def counter_for(capabilities: Capabilities) -> TokenCounter:
    """Return a counter of tokens to which a text of too many bytes is endless."""

    def count(text: str) -> int:
        return estimate_tokens(text) if count_bytes(text) <= capabilities.max_bytes else _ENDLESS

    return count


def pack_known(
    hits: Sequence[Hit], settings: PreflightSettings, capabilities: Capabilities
) -> Preflight:
    """Pack lessons that no prompt asks for, in their order, into what a hook may say."""
    return pack(
        hits,
        [],
        query="",
        frequencies={},
        size=1,
        settings=replace(settings, budget=min(settings.budget, capabilities.tokens)),
        counter=counter_for(capabilities),
        max_chars=capabilities.max_bytes,
    )


def event_of(hook_event: HookEvent, kind: str, scope: str) -> Event:
    """Return what a hook event says by itself as an event of this kind."""
    return Event(
        kind=kind,
        at=now(hook_event),
        session=hook_event.session,
        id=hook_event.id,
        agent=hook_event.agent,
        scope=scope,
        text=hook_event.text,
    )


def now(hook_event: HookEvent) -> float:
    """Return when it happened."""
    return hook_event.at or time.time()


def _loaded(kept: str) -> dict[str, Any]:
    try:
        data = json.loads(kept) if kept else {}
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def _number(value: object) -> float:
    return float(value) if isinstance(value, (int, float)) else 0.0


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _pairs(value: object) -> list[list[str]]:
    return _lists(value, size=2)


def _dicts(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _steps(value: object) -> dict[str, str]:
    pairs = value.items() if isinstance(value, dict) else ()
    return {call: step for call, step in pairs if isinstance(step, str)}


def _lists(value: object, *, size: int) -> list[list[str]]:
    lists = value if isinstance(value, list) else []
    return [texts for texts in map(_texts, lists) if len(texts) == size]
