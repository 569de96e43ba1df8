"""When a prompt arrives: the lessons for it, in front of the model."""

from __future__ import annotations

import os

from lessons_kb.brain.injected import OUTCOME, name_cards, outcome
from lessons_kb.brain.layers import freshen
from lessons_kb.brain.shared_server import Asking, ask_server
from lessons_kb.config import PreflightSettings
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import Preflight
from lessons_kb.preflight.block import shown_name
from lessons_kb.relevance.gate import NEAR
from lessons_kb.session.record_event import find_missed, journal_missed
from lessons_kb.session.state import (
    BLOCK,
    NOTHING,
    OUTLIVE_A_PROMPT,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    TurnState,
    counter_for,
    event_of,
    pack_known,
    turn_state,
)
from lessons_kb.store.journal import Journal, prepare
from lessons_kb.store.user_state import is_first, state_home, user_settings_path


def ask(open_session: OpenSession, hook_event: HookEvent, prompt: str) -> Asking | None:
    """Begin to ask the server that the user shares with others, if there is one."""
    if hook_event.posted or not os.path.exists(user_settings_path()):
        return None

    try:
        project = open_session.brain.project
    except ConfigError:  # told where the brain itself is asked
        project = None
    return ask_server(
        prompt,
        directory=hook_event.directory,
        project=project,
        seconds=hook_event.patience,
    )


def answer_alone(
    asking: Asking | None,
    journal: Journal,
    hook_event: HookEvent,
    capabilities: Capabilities,
    error: StorageError | ConfigError,
) -> Answer:
    """Answer with the server's lessons alone; raises ``error`` where there are none."""
    hits = asking.collect() if asking is not None else ()
    if not hits:
        raise error
    settings = PreflightSettings()
    block = pack_known(hits[: settings.max_lessons], settings, capabilities)
    with turn_state(journal, hook_event.context) as state:
        context = state.deliver([(BLOCK, block.text)], capabilities)
        state.cards = [["", hit.card.id] for hit in block.lessons]
        remember(state, asking, block)
    return Answer(context=context, block=block, trouble=f"{type(error).__name__}: {error}")


def remember(state: TurnState, asking: Asking | None, block: Preflight) -> None:
    """Remember the server's lessons that were given: no file here holds them."""
    told = {one["id"]: one for one in asking.told} if asking is not None else {}
    given = [told[hit.card.id] for hit in block.lessons if hit.card.id in told]
    names = {one["id"] for one in given}
    state.served = [one for one in state.served if one.get("id") not in names] + given


def tell(
    asking: Asking | None, hook_event: HookEvent, capabilities: Capabilities
) -> tuple[str, ...]:
    """Return the line on a server that does not answer, once a session."""
    line = asking.tell() if asking is not None and capabilities.lines else ""
    session = f"server {hook_event.agent} {hook_event.session}"
    return (line,) if line and is_first(state_home(), session, unknown=True) else ()


def find_trouble(asking: Asking | None) -> str:
    """Return what keeps the server from answering, for the log, where it came up just now."""
    return asking.tell() if asking is not None and asking.is_new else ""


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Return the lessons for a prompt; the second report of one prompt gets nothing."""
    brain, journal, scope = open_session.brain, open_session.journal, open_session.scope
    missed = find_missed(journal, hook_event, scope)
    prompt = prepare(event_of(hook_event, "prompt", scope))
    with turn_state(journal, hook_event.context) as state:
        journal_missed(journal, missed, hook_event, scope, state)
        # What a subagent is asked is no prompt of the user: nothing of the session begins anew.
        known = hook_event.part and state.begun
        unheard = known or not (
            hook_event.part or journal.events.write(prompt, within=hook_event.within)
        )
        if unheard and not hook_event.again:
            return NOTHING
        state.begun, turn = True, state.turn
        state.stopping = []
        if not hook_event.part:
            state.spawned = []  # of calls that the user declined
        waits = any(about == BLOCK for about, _text in state.waiting)
        undelivered = {card for _root, card in state.cards} if waits else set()
        state.after, state.cards = journal.events.last_number(), []
        state.waiting = [pair for pair in state.waiting if pair[0] in OUTLIVE_A_PROMPT]
    for layer in brain.layers if undelivered else ():  # what was never told may be given again
        layer.session_journal.forget_context(hook_event.context, undelivered)
    for layer in brain.layers if unheard and _is_answered(journal, hook_event, turn) else ():
        notes = layer.session_journal
        turn = notes.next_turn(hook_event.context, by=0)
        injected = {card for card, _ in notes.in_context(hook_event.context, since_turn=turn)}
        notes.forget_context(hook_event.context, injected)
    asking = ask(open_session, hook_event, prompt.text)
    try:
        brain, trouble = freshen(brain)
    except (StorageError, ConfigError) as error:
        return answer_alone(asking, journal, hook_event, capabilities, error)
    settings = brain.layers[0].settings
    if not capabilities.lasting:
        for layer in brain.layers:
            layer.session_journal.forget_context(hook_event.context)
    block = brain.preflight(
        hook_event.text,
        session=hook_event.context or None,
        budget=min(settings.preflight.budget, capabilities.tokens),
        context=settings.hooks.context,
        alone=False,
        max_chars=capabilities.max_bytes,
        counter=counter_for(capabilities),
        fresh=False,
        noted=True,
        served=asking.collect if asking is not None else None,
    )

    if not hook_event.part:
        journal.events.tell(prompt, OUTCOME, outcome(block))
    with turn_state(journal, hook_event.context) as state:
        state.turn = journal.next_turn(hook_event.context, by=0)
        state.cards = name_cards(brain.layers, block.lessons)
        state.late = 0
        state.near = [
            [shown_name(hit), f"{hit.confidence:.4f}"]
            for hit in block.withheld
            if hit.confidence >= NEAR
        ]
        context = state.deliver([(BLOCK, block.text)] if block.text else [], capabilities)
        lines = state.tell_drafted(capabilities)
        remember(state, asking, block)
    return Answer(
        context=context,
        block=block,
        lines=(*lines, *tell(asking, hook_event, capabilities)),
        language=settings.language,
        footer=settings.hooks.footer,
        trouble=trouble or find_trouble(asking),
    )


def _is_answered(journal: Journal, hook_event: HookEvent, turn: int) -> bool:
    """Tell whether lessons were looked up for the latest prompt; ``turn`` is the last one told."""
    latest = journal.events.find(session=hook_event.session, kinds=("prompt",), limit=1)
    noted = any(OUTCOME in event.record for event in latest)
    return noted or journal.next_turn(hook_event.context, by=0) != turn
