"""The memory of a session between its hooks, as typed records.

It is stored as JSON in which each record is a list. The format has not changed since 0.9, because a
hook of an older build may read the memory of a newer build, and vice versa. Invalid records are
ignored.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol
from zlib import crc32

from lessons_kb.brain.brain import Brain
from lessons_kb.model import Card, Event
from lessons_kb.store.journal import SESSION_STATE, Journal
from lessons_kb.values import NamedTuple, field, list_fields, mutable, replace

BLOCK, FILES, GUARD, DECLINED, MATCH = "block", "files", "guard", "declined", "match"
DRAFT, LATE = "draft", "late"
AGAIN, TITLES, START = "again", "titles", "start"
"""Kinds of texts that wait for the model. "declined" texts belong to a call that the user declined,
"again" texts are lessons that are repeated after a compaction, and "late" texts answer an event
whose deadline had passed."""
OUTLIVE_A_PROMPT = (FILES, DECLINED, AGAIN, TITLES, LATE)
TITLES_OPEN, TITLES_CLOSE = "[LESSON_TITLES]", "[/LESSON_TITLES]"
"""The first and the last line of a list of titles."""


class GivenCard(NamedTuple):
    """A card that was given in this turn."""

    root: str
    """The root folder of its brain, or "" for a card of a server."""
    card: str


class NearHit(NamedTuple):
    """A lesson that narrowly failed the gate for the prompt."""

    name: str
    """The name of the lesson, from `shown_name`."""
    confidence: str


class RepeatedAnswer(NamedTuple):
    """The context that was added to a prompt, for an agent that sends the prompt twice."""

    prompt: str
    context: str


class StopOrder(NamedTuple):
    """A request to the model to stop. Its next call ends the turn."""

    step: str
    """The message of the model that made the failing call."""
    line: str
    """The line for the user."""


class ExpectedMistake(NamedTuple):
    """A mistake that a call is about to make."""

    call: str
    brain: str
    card: str
    text: str
    """The text for the model if the change is made nevertheless, or "" if the model already has the
    text.
    """


class StandingMistake(NamedTuple):
    """A mistake that was in the files of a command before it ran."""

    call: str
    mark: str
    """The mark from `mark_matches`. A record without a mark states that the files were searched."""


class QuestionText(NamedTuple):
    """The text of a question to the user. The model gets it if the call runs."""

    call: str
    text: str


class SpawnedAgent(NamedTuple):
    """A subagent that was requested and has not begun yet."""

    kind: str
    prompt: str
    inherits: str | None = None
    """``yes`` if the subagent begins with the chat of the agent that requested it."""


class AnsweredEvent(NamedTuple):
    """An event that can happen only once, and the process that answered it."""

    event: str
    """The event, for example ``start startup``."""
    token: str
    number: str
    """The number of the journal's last event at that time."""
    at: str
    """The time of the event, in seconds since the epoch."""
    text: str = ""
    """The prompt of a subagent."""


class Remark(NamedTuple):
    """A text that was shown in this session and need not be repeated yet.

    ``key`` names a card and file, or a line (`mark_matches`), about which a text may be repeated
    after some prompts. Without the number of a prompt, it is a lesson that a change or error
    brought, or a text about a mistake that was made. Its key then begins with ``_GIVEN_IN_TURN`` or
    with ``after``.
    """

    call: str
    key: str
    prompt: int | None = None


class AboutCall(NamedTuple):
    """A call that the user was asked about, or that was refused, and its reason."""

    call: str
    """The id of the call, or "" if nobody could be asked and the model got the text instead."""
    key: str
    """A card and file, or the mark of a mistake's line."""


class BroughtCard(NamedTuple):
    """A card that the model got because of a call."""

    call: str
    card: str


class WaitingText(NamedTuple):
    """A text for the model that could not be delivered with a hook event yet."""

    about: str
    """One of the kinds of texts above."""
    text: str


class Channel(Protocol):
    """The abilities of an answer to a hook event that the memory depends on."""

    @property
    def inject(self) -> bool:
        """Whether text can be added to the model's context."""

    @property
    def lines(self) -> bool:
        """Whether lines can be shown to the user."""

    @property
    def review(self) -> str:
        """The chat command with which the user reviews drafts, or "" if there is none."""

    def fits(self, text: str) -> bool:
        """Return whether a text for the model is within the limits of length."""


@mutable
class SessionMemory:
    """The memory of one context of the model, a session or a subagent, between its hooks.

    It may be changed only within ``Hook.transaction`` or ``lend_memory``.
    """

    # These fields belong to the turn, and each prompt resets them.
    after: int = 0
    """The number of the journal's last event before the turn. Unlike a clock, this number never
    jumps.
    """
    prompt_unseen: bool = False
    """Whether a prompt was recorded that the guards have not processed. They process it at the next
    call.
    """
    cards: list[GivenCard] = field(default_factory=list)
    near: list[NearHit] = field(default_factory=list)
    told: RepeatedAnswer | None = None
    given_in_turn: int = 0
    """The number of lessons that changes and errors have brought in this turn."""
    stopping: StopOrder | None = None
    """The stop order, which is set if calls continue to fail after guidance."""
    # These fields belong to calls that have not ended yet.
    matched: list[ExpectedMistake] = field(default_factory=list)
    stood_before: list[StandingMistake] = field(default_factory=list)
    """The mistakes in the files before a command. If a mistake in the files after the command is
    not in this list, the command made it.
    """
    question_texts: list[QuestionText] = field(default_factory=list)
    spawned: list[SpawnedAgent] = field(default_factory=list)
    answered: list[AnsweredEvent] = field(default_factory=list)
    """Events that an agent may report twice and that cannot be distinguished by an id."""
    # These fields belong to the session.
    served: list[dict[str, Any]] = field(default_factory=list)
    """The lessons that a server gave in this session, as JSON data."""
    titles_from: str = ""
    """The prompt that brought the titles of the cards, or START, or "" while the model has no
    titles. The titles may still wait to be delivered.
    """
    all_titles: bool = False
    """Whether these were the titles of all cards."""
    system_lessons: str = ""
    """The lessons of the last compaction, if they are only in the system prompt. See
    ``AgentTraits.forgets_start``.
    """
    shown: list[Remark] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    """The card and the item of each open item that was named to the user."""
    asked: list[AboutCall] = field(default_factory=list)
    """The questions to the user."""
    refused: list[AboutCall] = field(default_factory=list)
    brought: list[BroughtCard] = field(default_factory=list)
    waiting: list[WaitingText] = field(default_factory=list)
    """Texts to be delivered. A prompt drops the texts that are not about one of
    OUTLIVE_A_PROMPT.
    """
    named: list[str] = field(default_factory=list)
    """Titles of lessons that were given with an event that cannot show anything to the user."""
    late_lines: list[str] = field(default_factory=list)
    """Lines for the user about late answers, and the lines of these answers."""
    late_told: bool = False
    """Whether the user has been informed, or is about to be informed, that lessons were late."""
    drafts: list[str] = field(default_factory=list)
    """Ids of this session's drafts since the last prompt. At the next prompt, the newest is named
    to the model and the list is cleared.
    """
    drafted: int = 0
    """The number of drafts that have not been mentioned to the user yet. At the start, these are
    all open drafts.
    """
    counted: list[str] = field(default_factory=list)
    """Lines for the user about cards that were counted because of a complaint."""
    offered: bool = False
    """Whether the drafts that were open when the session began were mentioned to the user."""
    unattended: bool = False
    """Whether there may be nobody to answer. A question would then be a denial."""
    steps: dict[str, str] = field(default_factory=dict)
    """Mapping from each call to the id of the model's message that made the call."""
    transcript: str = ""
    offset: int = 0

    @classmethod
    def from_json(cls, stored: str) -> SessionMemory:
        """Return the memory that ``to_json`` wrote. Invalid records are ignored."""
        memory = cls()
        try:
            data = json.loads(stored) if stored else {}
        except ValueError:
            return memory
        if not isinstance(data, dict):
            return memory
        for name in _NAMES:
            value = data.get(_STORED_NAMES.get(name, name))
            if value:  # every default is empty, too
                _read_field(memory, name, value)
        return memory

    def to_json(self) -> str:
        """Return the memory as JSON. Long lists are cut to their newest records."""
        stored: dict[str, Any] = {}
        for name in _NAMES:
            value = getattr(self, name)
            most = _MOST.get(name, _MANY)
            if name in _SINGLE_RECORDS:
                value = [] if value is None else [*value]
            elif name in _RECORDS:
                value = [_as_list(record) for record in value[-most:]]
            elif isinstance(value, list):
                value = value[-most:]
            elif isinstance(value, dict):
                value = dict([*value.items()][-most:])
            stored[_STORED_NAMES.get(name, name)] = value
        return json.dumps(stored)

    def take_back(self, call: str) -> set[str]:
        """Forget the records of a call that did not run. Return the cards that the call had
        brought.
        """
        gone = {remark.key for remark in self.shown if remark.call == call}
        cards = {brought.card for brought in self.brought if brought.call == call}
        for name in _OF_A_CALL:
            records = getattr(self, name)
            setattr(self, name, [record for record in records if record.call != call])
        self.asked = [question for question in self.asked if question.key not in gone]
        return cards

    def forget_before_calls(self) -> set[str]:
        """Forget the texts that were given before calls, and return the cards in them.

        The reason of a refusal is the result of its call, so its cards are not forgotten.
        """
        refused = {refused.key for refused in self.refused}
        cards: set[str] = set()
        for brought in self.brought:
            if not any(f":{brought.card}:" in key for key in refused):
                cards.add(brought.card)
        self.brought = [brought for brought in self.brought if brought.card not in cards]
        # Only a text before a call may be repeated after some prompts.
        self.shown = [
            remark for remark in self.shown if remark.prompt is None or remark.key in refused
        ]
        return cards

    def is_refused(self, call: str) -> bool:
        """Return whether we refused a call."""
        return bool(call) and any(refused.call == call for refused in self.refused)

    def answer_once(
        self, event: str, token: str, *, number: int, at: float, text: str = ""
    ) -> AnsweredEvent | None:
        """Record that the process ``token`` answers an event. Return the new record, or the record
        that this process made before.

        Return None if another process answered the event, because the agent has reported it twice.
        A record of another process is valid for some seconds, and until the journal has a new
        event: ``number`` is the number of its last event. It is 0 if the name of the event already
        contains an id.
        """
        for answered in self.answered:
            if answered.event != event:
                continue
            if answered.token == token:
                return answered
            is_recent = abs(_read_seconds(answered.at) - at) < _ONCE_SECONDS
            if is_recent and answered.number == str(number):
                return None
        new = AnsweredEvent(event, token, str(number), f"{at:.3f}", text)
        self.answered = [answered for answered in self.answered if answered.event != event]
        self.answered.append(new)
        return new

    def note_in_turn(self, call: str, found: list[tuple[Brain, Card]]) -> list[tuple[Brain, Card]]:
        """Return the lessons that no change or error has brought in this session, and record
        them.
        """
        shown = {remark.key for remark in self.shown}
        keys = {f"{_GIVEN_IN_TURN} {brain.alias}:{card.id}": (brain, card) for brain, card in found}
        new = [key for key in keys if key not in shown]
        self.shown += [Remark(call, key) for key in new]
        return [keys[key] for key in new]

    def note_given(self, given: Sequence[GivenCard]) -> None:
        """Record the cards that were given in this turn."""
        self.cards += [card for card in given if card not in self.cards]

    def settle_question(self, event: Event) -> Event:
        """End the question about a call. Return the event of the call, with the question if the
        call was declined.

        After a declined call the question may be asked again, and its text waits for the model.
        After any other call the text counts as delivered.
        """
        declined = event.outcome == "permission_denied"
        if event.tool:
            questions = self.question_texts
            texts = [question.text for question in questions if question.call == event.id]
            self.question_texts = [question for question in questions if question.call != event.id]
            if declined:
                self.waiting += [WaitingText(DECLINED, text) for text in texts]
        keys = [question.key for question in self.asked if question.call == event.id]
        if not event.id or not keys or not declined:
            return event
        self.asked = [question for question in self.asked if question.call != event.id]
        return replace(event, record={**event.record, "asked": keys})

    def take_titles(self, titles: str, prompt: str = "", *, whole: bool) -> list[tuple[str, str]]:
        """Return titles as a text for ``deliver``. They replace titles that are still waiting.

        ``whole`` states whether they are the titles of all cards.
        """
        if not titles:
            return []
        self.titles_from = prompt or START
        self.all_titles = whole
        self.waiting = [text for text in self.waiting if text.about != TITLES]
        return [(TITLES, titles)]

    def deliver(self, texts: Sequence[tuple[str, str]], can: Channel) -> str:
        """Return the present text for the model, with waiting texts last. Texts that do not fit
        wait.

        ``texts`` are pairs (kind, text), the most important first. A text that exceeds the limit
        alone is dropped. A text that another text contains is dropped as well, such as titles that
        were too late in a session that gets them again.
        """
        delivered: list[str] = []
        waiting, self.waiting = self.waiting, []
        for about, text in (*texts, *waiting):
            if any(text in other for other in delivered):
                continue
            joined = "\n\n".join([*delivered, text])
            if text and can.inject and can.fits(joined):
                delivered.append(text)
            elif text and (delivered or not can.inject):  # else it exceeds the limit alone
                self.waiting.append(WaitingText(about, text))
        return "\n\n".join(delivered)

    def expect(self, call: str, brain: str, card: str, text: str) -> None:
        """Record that a call is about to make a card's mistake.

        ``text`` is for the model, which gets it at most once in a session.
        """
        if any(remark.key == _mark(text) for remark in self.shown):
            text = ""
        self.matched.append(ExpectedMistake(call, brain, card, text))

    def take_matched(self, call: str, *, made: bool) -> list[str]:
        """Remove the mistakes that a call was about to make. Return their texts if it was made."""
        own = [mistake for mistake in self.matched if mistake.call == call]
        texts = [mistake.text for mistake in own if mistake.text] if made else []
        self.matched = [mistake for mistake in self.matched if mistake.call != call]
        self.shown += [Remark(call, _mark(text)) for text in texts]
        return texts

    def tell_drafted(self, can: Channel) -> tuple[str, ...]:
        """Return one line about the drafts that are new to the user, and one line for each card
        that was counted, if they can be shown now.
        """
        if not can.lines:
            return ()
        lines, self.counted = tuple(self.counted), []
        count, self.drafted = self.drafted, 0
        if not count:
            return lines
        drafts = "1 draft" if count == 1 else f"{count} drafts"
        here = f"{can.review} here, or " if can.review else ""
        return (*lines, f"lessons: {drafts} to review: {here}`lessons review` in a terminal")


def _read_seconds(text: str) -> float:
    """Return the number in a text, or 0 if the text is not a number."""
    try:
        return float(text)
    except ValueError:
        return 0.0


def _mark(text: str) -> str:
    return f"after {crc32(text.encode()):08x}"


_GIVEN_IN_TURN = "late"
"""The beginning of the key of a lesson that a change or an error brought. It is stored."""
_ONCE_SECONDS = 10.0
"""Seconds for which a second report of an event is expected: the timeout of our hooks."""
_NAMES = tuple(list_fields(SessionMemory))
_STORED_NAMES = {"given_in_turn": "late"}
"""Mapping from a field to its name in the memory that earlier builds wrote and read."""
_OF_A_CALL = ("shown", "asked", "refused", "question_texts", "brought", "matched", "stood_before")
_RECORDS: Mapping[str, type[Any]] = {
    "cards": GivenCard,
    "near": NearHit,
    "matched": ExpectedMistake,
    "stood_before": StandingMistake,
    "question_texts": QuestionText,
    "spawned": SpawnedAgent,
    "answered": AnsweredEvent,
    "shown": Remark,
    "asked": AboutCall,
    "refused": AboutCall,
    "brought": BroughtCard,
    "waiting": WaitingText,
}
_SINGLE_RECORDS: Mapping[str, type[Any]] = {"told": RepeatedAnswer, "stopping": StopOrder}
_MANY = 500
_MOST = {"served": 16, "brought": 64, "steps": 32, "matched": 8, "question_texts": 8}
_MOST |= {"spawned": 8, "answered": 16, "waiting": 8, "named": 8, "late_lines": 8, "counted": 8}
"""Mapping from each field to the maximum number of entries that are stored."""


def _read_field(memory: SessionMemory, name: str, value: object) -> None:
    if name in _SINGLE_RECORDS:
        setattr(memory, name, _read_record(_SINGLE_RECORDS[name], value))
    elif name in _RECORDS:
        records = [_read_record(_RECORDS[name], item) for item in _as_items(value)]
        setattr(memory, name, [record for record in records if record is not None])
    elif type(value) is type(getattr(memory, name)):
        setattr(memory, name, value)


def _as_items(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _read_record(kind: type[Any], stored: object) -> Any:
    """Return a list as a record, or None if the list has another form."""
    values = stored if isinstance(stored, list) else []
    least = len(kind._fields) - len(kind._field_defaults)
    if not least <= len(values) <= len(kind._fields):
        return None
    record = kind(*values)
    for name, value in zip(kind._fields, record, strict=True):
        is_number = name == "prompt" and kind is Remark
        if value is None and name in kind._field_defaults:
            continue
        if not isinstance(value, int if is_number else str):
            return None
    return record


def _as_list(record: tuple[Any, ...]) -> list[Any]:
    """Return a record as it is stored, which omits a last field without a value."""
    return [*record[:-1]] if record[-1] is None else [*record]


Parser = Callable[[str], SessionMemory]
"""A function that returns the memory of a stored text, such as ``SessionMemory.from_json``."""


def read_memory(
    journal: Journal, session: str, *, parse: Parser = SessionMemory.from_json
) -> SessionMemory:
    """Return the memory of a session. Changes to it are not stored; see `lend_memory`."""
    return parse(journal.guard_state(session, SESSION_STATE))


@contextlib.contextmanager
def lend_memory(
    journal: Journal, session: str, *, parse: Parser = SessionMemory.from_json
) -> Iterator[SessionMemory]:
    """Yield the session's memory within one immediate transaction, and store it at the end.

    All other hooks of the brain wait for the transaction. Slow work is therefore forbidden inside,
    including the first import of a module. See ``Database.transaction``.
    """
    with journal.transaction():
        before = journal.guard_state(session, SESSION_STATE)
        memory = parse(before)
        yield memory
        after = memory.to_json()
        if after != before:
            journal.keep_guard_state(session, after, SESSION_STATE)
