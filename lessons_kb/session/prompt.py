"""When a prompt arrives: the lessons for it, in front of the model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import refresh_in_hook
from lessons_kb.config import PreflightSettings
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.find.block import RetrievalOptions, find_block
from lessons_kb.find.shared_server import Asking, ask_server
from lessons_kb.find.titles import find_place, is_whole
from lessons_kb.ledger.given import OUTCOME, note_given, note_offered, outcome
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
from lessons_kb.preflight.offers import shown_name
from lessons_kb.relevance.gate import NEAR
from lessons_kb.session.record_event import Missed, journal_events, read_missed
from lessons_kb.session.state import NOTHING, Answer, Hook
from lessons_kb.session.turn_lessons import find_titles, is_kept_back
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.journal import redact_event, redact_record
from lessons_kb.store.locations import state_home, user_settings_path
from lessons_kb.store.session_notes import note_first
from lessons_kb.text.paths import show_path
from lessons_kb.values import replace

_DRAFT_LINE = (
    "A mistake of this session is drafted as a lesson; `lessons review --show {name} --json` "
    "prints its evidence and its file. Leave it alone unless you are asked for {command}: then "
    "complete it."
)


def answer(hook: Hook) -> Answer:
    """Return the lessons for a prompt; the second report of one prompt gets nothing.

    Where the agent forgets them with the next call of the model, it gets the same again.
    """
    brains, event, can = hook.open_brains(), hook.event, hook.can
    session = event.context_id
    last = hook.state.told
    if event.repeats and last is not None and last.prompt == event.id:
        return Answer(context=last.context)
    missed = read_missed(hook)
    prompt = redact_event(hook.as_event("prompt", text=event.text))
    _forget_unheard(hook, prompt)
    asking = _ask(hook, prompt.text)
    try:
        brains, trouble = refresh_in_hook(brains)
    except (StorageError, ConfigError) as error:
        return _answer_alone(hook, prompt, missed, asking, error)
    settings = brains.members[0].settings

    def find_file(brain: Brain, hit: Hit) -> str:
        """Return the file of a card as the agent opens it, "" where it would have to ask."""
        if event.posted or SERVED in hit.card.id:
            return ""
        return show_path(find_place(brains, brain, hit.card.id, hook.access))

    options = RetrievalOptions(
        session=session or None,
        budget=min(settings.preflight.budget, can.tokens),
        context=settings.hooks.context,
        alone=False,
        max_chars=can.max_bytes,
        counter=can.count_tokens,
        served=asking.collect if asking is not None else None,
        place=find_file,
        titled=hook.state.all_titles,
        lasting=can.lasting and not event.again,
    )
    block, homes = find_block(brains, event.text, options)
    # Due where the session has none yet, or the lost answer to this very prompt had carried them.
    due = hook.state.titles_from in ("", event.id if event.again else "")
    titles = find_titles(hook, brains) if due and can.lasting else ""
    evidence = _tell_draft(hook) if hook.state.drafts else ""
    prompt = replace(prompt, record=redact_record({OUTCOME: outcome(block)}))
    with _new_turn(hook, prompt, missed) as state:
        if state is None:
            return NOTHING
        for brain in brains.members:
            brain.hook_journal.next_turn(session)
        state.cards = note_given(homes, block, session, at=hook.now)
        note_offered(homes, block, session, at=hook.now)
        state.near = [
            NearHit(shown_name(hit), f"{hit.confidence:.4f}")
            for hit in (*block.offered, *block.withheld)
            if hit.confidence >= NEAR
        ]
        _remember_served(state, asking, block)
        texts = [
            (BLOCK, block.text),
            *state.take_titles(titles, event.id, whole=is_whole(titles)),
            (DRAFT, evidence),
        ]
        state.drafts = state.drafts if event.part else []
        context = state.deliver(texts, can)
        state.told = RepeatedAnswer(event.id, context) if event.repeats else None
        lines = state.tell_drafted(can)
    line = asking.tell() if asking is not None else ""
    if line and can.lines:
        said = f"server {event.agent} {event.session}"
        lines += (line,) if note_first(state_home(), said, unknown=True) else ()
    if asking is not None and asking.is_new:  # for the log: it came up just now
        trouble = trouble or line
    told = Answer(context=context, block=block, lines=lines, trouble=trouble)
    return replace(told, language=settings.language, footer=settings.hooks.footer)


def _tell_draft(hook: Hook) -> str:
    """Return the line that hands the model the newest draft of its session, "" without one."""
    brain, command = hook.brains.members[0], hook.can.review.replace("lessons-review", "lesson")
    if not (command and brain.settings.hooks.draft_line) or hook.event.part:
        return ""
    folder = DraftFolder(brain.root)
    known = ((name, folder.facts_of(name)) for name in reversed(hook.state.drafts))
    name = next((name for name, facts in known if facts and facts.get("state") == "open"), "")
    return _DRAFT_LINE.format(name=name, command=command) if name else ""


@contextmanager
def _new_turn(hook: Hook, prompt: Event, missed: Missed) -> Iterator[SessionMemory | None]:
    """Journal a prompt and begin its turn; None if it was journalled before, and answered."""
    event = hook.event
    with hook.transaction() as state:
        missed.note(state)
        journal_events(hook, state, missed.events)
        # What a subagent is asked is no prompt of the user: nothing of the session begins anew.
        if event.part:
            is_new = not state.prompt_unseen
        else:
            is_new = hook.journal.events.write(prompt, within=event.within)
        if not is_new and not event.again:
            yield None
            return
        state.prompt_unseen, state.late = True, 0
        state.stopping, state.near, state.cards = None, [], []
        if not event.part:
            state.spawned = []  # of calls that the user declined
        state.after = hook.journal.events.last_number()
        state.waiting = [text for text in state.waiting if text.about in OUTLIVE_A_PROMPT]
        yield state


def _forget_unheard(hook: Hook, prompt: Event) -> None:
    """Let lessons come again that the model was not given.

    - The same prompt came again, by a second hook: none, the first one has answered it.
    - The same prompt came again, after a late process that noted it (``again``): those of the turn,
      for nobody heard that answer.
    - Another prompt came, and a block still waits for an event: those of the turn before.
    - Another prompt came, and the agent keeps no block before the model (not ``lasting``): all, but
      for those that it has opened.

    A subagent's prompt is not journalled: ``prompt_unseen`` says that it was noted.
    """
    event, state = hook.event, hook.state
    waits = any(text.about == BLOCK for text in state.waiting)
    if not (waits or event.again) and hook.can.lasting:
        return
    noted = event.part and state.prompt_unseen
    for one in hook.journal.events.find(session=event.session, kinds=("prompt",), limit=1):
        is_same = one.id.partition("+")[0] == event.id and one.text == prompt.text
        noted = noted or (is_same and bool(one.id or abs(one.at - prompt.at) <= event.within))
    if noted and not event.again:
        return
    unheard = {given.card for given in state.cards} if waits or noted else set()
    for brain in hook.brains.members:
        cards = unheard if hook.can.lasting else None
        brain.hook_journal.forget_context(event.context_id, cards, opened=False)


def _ask(hook: Hook, prompt: str) -> Asking | None:
    """Begin to ask the server that the user shares with others, if there is one."""
    if hook.event.posted or not os.path.exists(user_settings_path()):
        return None
    try:
        project = hook.brains.project
    except ConfigError:  # told where the brain itself is asked
        project = None
    return ask_server(
        prompt, directory=hook.event.directory, project=project, seconds=hook.event.patience
    )


def _answer_alone(
    hook: Hook,
    prompt: Event,
    missed: Missed,
    asking: Asking | None,
    error: StorageError | ConfigError,
) -> Answer:
    """Answer with the server's lessons alone; raises ``error`` where there are none."""
    settings, brain = PreflightSettings(), hook.brains.members[0]
    told = asking.collect() if asking is not None else ()
    hits = [hit for hit in told if not is_kept_back(hook, brain, hit.card)]
    block = hook.can.pack_known(hits[: settings.max_lessons], settings)
    with _new_turn(hook, prompt, missed) as state:
        if state is None:
            return NOTHING
        if hits:
            state.cards = [GivenCard("", hit.card.id) for hit in block.lessons]
            _remember_served(state, asking, block)
            context = state.deliver([(BLOCK, block.text)], hook.can)
    if not hits:
        raise error
    return Answer(context=context, block=block, trouble=f"{type(error).__name__}: {error}")


def _remember_served(state: SessionMemory, asking: Asking | None, block: Preflight) -> None:
    """Remember the server's lessons that were given: no file here holds them."""
    told = {one["id"]: one for one in asking.told} if asking is not None else {}
    given = [told[hit.card.id] for hit in block.lessons if hit.card.id in told]
    names = {one["id"] for one in given}
    state.served = [one for one in state.served if one.get("id") not in names] + given
