"""Handle a prompt: find its lessons and put them in front of the model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains, refresh_in_hook
from lessons_kb.config import PreflightSettings, Settings
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.find.block import RetrievalOptions, find_block
from lessons_kb.ledger.given import OUTCOME, WORDS_ONLY, Homes, note_given, note_offered, outcome
from lessons_kb.ledger.session_memory import (
    BLOCK,
    DRAFT,
    OUTLIVE_A_PROMPT,
    GivenCard,
    NearHit,
    RepeatedAnswer,
    SessionMemory,
)
from lessons_kb.model import SERVED, Event, Hit, Preflight
from lessons_kb.on_demand import (
    ALL_CARDS,
    DRAFT_FILES,
    FIND_TITLES,
    SESSION_TITLES,
    SHARED_SERVER,
    load,
)
from lessons_kb.preflight.offers import shown_name
from lessons_kb.relevance.gate import NEAR
from lessons_kb.session.event_types import NOTHING, Answer
from lessons_kb.session.record_event import Missed, journal_events, read_missed
from lessons_kb.session.state import Hook, note_if_withheld
from lessons_kb.store.journal import AT_PROMPT, redact_event, redact_record
from lessons_kb.store.locations import state_home, user_settings_path
from lessons_kb.store.session_notes import note_first
from lessons_kb.text.paths import show_path
from lessons_kb.values import frozen, replace

if TYPE_CHECKING:
    from lessons_kb.find.shared_server import ServerQuery

_DRAFT_LINE = (
    "A mistake of this session is drafted as a lesson; `lessons review --show {name} --json` "
    "prints its evidence and its file. Leave it alone unless you are asked for {command}: then "
    "complete it."
)


def answer(hook: Hook) -> Answer:
    """Return the lessons for a prompt. A second report of the same prompt gets no lessons.

    The exception is an agent that forgets the lessons with the next call of the model (``repeats``
    of the event). It gets the same context again. If no brain can be used, the lessons of a server
    answer alone. Raises StorageError or ConfigError if there is no server, or it has no lessons.
    """
    brains = hook.open_brains()
    last = hook.state.told
    if hook.event.repeats and last is not None and last.prompt == hook.event.id:
        return Answer(context=last.context)
    missed = read_missed(hook)
    prompt = redact_event(hook.as_event("prompt", text=hook.event.text))
    _reoffer_undelivered(hook, prompt)
    server = _ask_server(hook, prompt.text)
    try:
        brains, trouble = refresh_in_hook(brains)
    except (StorageError, ConfigError) as error:
        return _answer_from_server(hook, prompt, missed, server, error)
    settings = brains.members[0].settings
    if hook.event.moment:
        content = _find_trial_content(hook)
    else:
        content = _find_content(hook, brains, settings, server)
    delivered = _deliver(hook, prompt, missed, brains, content, server)
    if delivered is None:
        return NOTHING
    lines, server_trouble = _report_server(hook, server)
    return Answer(
        context=delivered.context,
        block=content.block,
        lines=(*delivered.lines, *lines),
        trouble=trouble or server_trouble,
        language=settings.language,
        footer=settings.hooks.footer,
    )


@frozen
class _Content:
    """The texts for a prompt, before they are recorded and delivered."""

    block: Preflight
    homes: Homes
    titles: str
    """The list of titles, or "" if the session has it already or does not get it."""
    has_all_titles: bool
    """Whether these are the titles of all cards."""
    draft_line: str
    """A line about a draft of this session, or ""."""


@frozen
class _Delivered:
    """The answer that the agent gets to a prompt."""

    context: str
    """The text for the model."""
    lines: tuple[str, ...]
    """The lines for the user."""


def _find_content(
    hook: Hook, brains: Brains, settings: Settings, server: ServerQuery | None
) -> _Content:
    """Find the texts for a prompt, including the server's lessons.

    Withheld lessons are recorded, and the files that the titles need are written. What is given is
    recorded later.
    """
    event, can = hook.event, hook.can

    def find_file(brain: Brain, hit: Hit) -> str:
        """Return a card's handle and the file that the agent opens, or "" if the agent would have
        to ask.
        """
        if event.posted or SERVED in hit.card.id:
            return ""
        titles = load(FIND_TITLES)
        file = titles.find_place(brains, brain, hit.card.id, hook.access)
        if not file:
            return ""
        handle = titles.find_handle(brain, hit.card.id)
        return f"{handle} {show_path(file)}".lstrip()

    options = RetrievalOptions(
        session=event.context_id or None,
        budget=min(settings.preflight.budget, can.tokens),
        context=settings.hooks.context,
        alone=False,
        max_chars=can.max_bytes,
        counter=can.count_tokens,
        served=server.collect if server is not None else None,
        name=hook.name_file,
        place=find_file,
        titled=hook.state.all_titles,
        lasting=can.lasting and not event.again,
    )
    block, homes = find_block(brains, event.text, options)
    # The session needs the titles if it has none yet, or if they were in the lost answer to the
    # prompt.
    needs_titles = hook.state.titles_from in ("", event.id if event.again else "")
    titles = ""
    if needs_titles and can.lasting and not can.repeats_start:
        titles = load(SESSION_TITLES).find_titles(hook, brains)
    has_all_titles = bool(titles) and load(FIND_TITLES).is_whole(titles)
    draft_line = _describe_draft(hook) if hook.state.drafts else ""
    return _Content(
        block=block,
        homes=homes,
        titles=titles,
        has_all_titles=has_all_titles,
        draft_line=draft_line,
    )


def _find_trial_content(hook: Hook) -> _Content:
    """Return the texts for a prompt in a trial of moments: all cards, or nothing."""
    block, homes = Preflight(text=""), dict[tuple[str, str], Brain]()
    if hook.event.moment == AT_PROMPT:
        all_cards = load(ALL_CARDS).pack_all(hook)
        block, homes = all_cards.block, all_cards.homes
    return _Content(block=block, homes=homes, titles="", has_all_titles=False, draft_line="")


def _deliver(
    hook: Hook,
    prompt: Event,
    missed: Missed,
    brains: Brains,
    content: _Content,
    server: ServerQuery | None,
) -> _Delivered | None:
    """Begin the turn, record the content and return it. Return None if this prompt was answered
    before.
    """
    event, can, block = hook.event, hook.can, content.block
    session = event.context_id
    record: dict[str, object] = {OUTCOME: outcome(block)}
    if brains.members[0].words_only:
        record[WORDS_ONLY] = True
    prompt = replace(prompt, record=redact_record(record))
    with _new_turn(hook, prompt, missed) as state:
        if state is None:
            return None
        for brain in brains.members:
            brain.hook_journal.next_turn(session)
        state.cards = note_given(content.homes, block, session, at=hook.now)
        note_offered(content.homes, block, session, at=hook.now)
        state.near = [
            NearHit(shown_name(hit), f"{hit.confidence:.4f}")
            for hit in (*block.offered, *block.withheld)
            if hit.confidence >= NEAR
        ]
        _remember_served(state, server, block)
        texts = [
            (BLOCK, block.text),
            *state.take_titles(content.titles, event.id, whole=content.has_all_titles),
            (DRAFT, content.draft_line),
        ]
        if not event.part:
            state.drafts = []
        context = state.deliver(texts, can)
        state.told = RepeatedAnswer(event.id, context) if event.repeats else None
        return _Delivered(context=context, lines=state.tell_drafted(can))


def _report_server(hook: Hook, server: ServerQuery | None) -> tuple[tuple[str, ...], str]:
    """Return the lines about a server in trouble for the user, once in a session, and the text for
    the log.

    The log gets the trouble only when it is new.
    """
    trouble = server.describe_trouble() if server is not None else ""
    lines: tuple[str, ...] = ()
    if trouble and hook.can.lines:
        note = f"server {hook.event.agent} {hook.event.session}"
        if note_first(state_home(), note, unknown=True):
            lines = (trouble,)
    is_new = server is not None and server.is_new
    return lines, trouble if is_new else ""


def _describe_draft(hook: Hook) -> str:
    """Return the line for the model about the newest open draft of its session, or "" if there is
    none.
    """
    brain = hook.brains.members[0]
    command = hook.can.review.replace("lessons-review", "lesson")
    if not (command and brain.settings.hooks.draft_line) or hook.event.part:
        return ""
    folder = load(DRAFT_FILES).DraftFolder(brain.root)
    for name in reversed(hook.state.drafts):
        facts = folder.facts_of(name)
        if facts and facts.get("state") == "open":
            return _DRAFT_LINE.format(name=name, command=command)
    return ""


@contextmanager
def _new_turn(hook: Hook, prompt: Event, missed: Missed) -> Iterator[SessionMemory | None]:
    """Journal a prompt and begin its turn. Yield None if the prompt was journalled and answered
    before.
    """
    event = hook.event
    with hook.transaction() as state:
        missed.note(state)
        journal_events(hook, state, missed.events)
        # A subagent's task is not a prompt of the user and starts no turn of the session.
        if event.part:
            is_new = not state.prompt_unseen
        else:
            is_new = hook.journal.events.write(prompt, within=event.within)
        if not is_new and not event.again:
            yield None
            return
        state.prompt_unseen, state.given_in_turn = True, 0
        state.stopping, state.near, state.cards = None, [], []
        if not event.part:
            state.spawned = []  # the rest belongs to calls that the user declined
        state.after = hook.journal.events.last_number()
        state.waiting = [text for text in state.waiting if text.about in OUTLIVE_A_PROMPT]
        yield state


def _reoffer_undelivered(hook: Hook, prompt: Event) -> None:
    """Forget which lessons were given if the model did not get them, so that they are given again.

    - The same prompt is reported again by a second hook: forget nothing, since it was answered.
    - The same prompt comes again because the first answer was late (``again``): forget the lessons
      of this turn.
    - Another prompt comes while a block still waits to be delivered: forget the lessons of the
      turn before.
    - Another prompt comes to an agent whose context does not last: forget all lessons except those
      that the agent has opened.

    A subagent's prompt is not journalled. ``prompt_unseen`` shows that it was recorded.
    """
    event, state = hook.event, hook.state
    is_waiting = any(text.about == BLOCK for text in state.waiting)
    if not (is_waiting or event.again) and hook.can.lasting:
        return
    was_noted = (event.part and state.prompt_unseen) or _is_journalled(hook, prompt)
    if was_noted and not event.again:
        return
    cards: set[str] | None = None
    if hook.can.lasting:
        undelivered = is_waiting or was_noted
        cards = {given.card for given in state.cards} if undelivered else set()
    for brain in hook.brains.members:
        brain.hook_journal.forget_context(event.context_id, cards, opened=False)


def _is_journalled(hook: Hook, prompt: Event) -> bool:
    """Return whether the last prompt in the journal is this one."""
    event = hook.event
    for last in hook.journal.events.find(session=event.session, kinds=("prompt",), limit=1):
        if last.id.partition("+")[0] == event.id and last.text == prompt.text:
            return bool(last.id) or abs(last.at - prompt.at) <= event.within
    return False


def _ask_server(hook: Hook, prompt: str) -> ServerQuery | None:
    """Start a request to the server that the user shares with others. Return None if there is no
    server.
    """
    if hook.event.posted or not os.path.exists(user_settings_path()):
        return None
    try:
        project = hook.brains.project
    except ConfigError:  # the search of the brain reports it
        project = None
    query: ServerQuery | None = load(SHARED_SERVER).ask_server(
        prompt, directory=hook.event.directory, project=project, seconds=hook.event.patience
    )
    return query


def _answer_from_server(
    hook: Hook,
    prompt: Event,
    missed: Missed,
    server: ServerQuery | None,
    error: StorageError | ConfigError,
) -> Answer:
    """Answer with the server's lessons alone. Raises ``error`` if there are none."""
    settings = PreflightSettings()
    brain = hook.brains.members[0]
    served = server.collect() if server is not None else ()
    hits = [hit for hit in served if not note_if_withheld(hook, brain, hit.card)]
    block = hook.can.pack_known(hits[: settings.max_lessons], settings)
    with _new_turn(hook, prompt, missed) as state:
        if state is None:
            return NOTHING
        if hits:
            state.cards = [GivenCard("", hit.card.id) for hit in block.lessons]
            _remember_served(state, server, block)
            context = state.deliver([(BLOCK, block.text)], hook.can)
    if not hits:
        raise error
    return Answer(context=context, block=block, trouble=f"{type(error).__name__}: {error}")


def _remember_served(state: SessionMemory, server: ServerQuery | None, block: Preflight) -> None:
    """Store the server's lessons that were given, because no local file contains them."""
    answer = server.lessons if server is not None else []
    lessons = {lesson["id"]: lesson for lesson in answer}
    given = [lessons[hit.card.id] for hit in block.lessons if hit.card.id in lessons]
    given_ids = {lesson["id"] for lesson in given}
    state.served = [lesson for lesson in state.served if lesson.get("id") not in given_ids] + given
