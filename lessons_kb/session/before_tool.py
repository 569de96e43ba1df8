"""Handle a call before it is made, with cards that guard its files and cards whose mistake it
makes.

A call that only reads always passes. The table applies to each card and file of a session. All
commands count as one file, and a mistake about which the user is asked is identified by its line.

====  =============================  =========================  ============================
gate  the first call                 a later call               a call that heeds the card
====  =============================  =========================  ============================
none  passes                         passes                     passes
once  is refused, or passes where    passes                     passes; the next one that
      the agent takes no refusal                                does not is refused
ask   the user is asked (1)          passes                     passes; the next one that
                                                                does not is asked about
====  =============================  =========================  ============================

A strict gate works like once. It also refuses if no decision is possible (docs/agents.md).

(1) If the card has high severity; otherwise as "none". If the agent's dialog does not show the
reason, the call is refused, and the user is asked about the next one. If nobody can answer, the
model gets a message and the call passes. A user who declined is asked again.

A call heeds a card if it shows each item (``shown_by``). A call that makes the card's mistake never
heeds it. In any case, the model gets the card if the session does not have it yet. Otherwise the
model gets a reminder, and at most two reminders for a call. A card without a gate is left out if
only a broad glob matches the call. Later calls get nothing until some prompts have passed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from functools import partial

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains, refresh_in_hook
from lessons_kb.find.broad_paths import is_narrow
from lessons_kb.find.detection import (
    Detected,
    find_detected,
    find_in_files,
    has_detectors,
    mark_matches,
)
from lessons_kb.find.retrieve import find_usable
from lessons_kb.hook_gates import ASKED_NEXT, PASSES, PERMISSION, REFUSED_TEXT, name_act
from lessons_kb.ledger.given import CardInBrain, Known, find_known, is_in_context
from lessons_kb.ledger.session_memory import (
    BLOCK,
    GUARD,
    MATCH,
    AboutCall,
    BroughtCard,
    GivenCard,
    QuestionText,
    Remark,
    SessionMemory,
    SpawnedAgent,
    StandingMistake,
    lend_memory,
)
from lessons_kb.model import (
    ASK_GATE,
    COMMAND,
    NO_GATE,
    ONCE_GATE,
    RULE,
    SEVERITIES,
    SHOWN,
    STRICT_GATE,
    Card,
    Preflight,
)
from lessons_kb.on_demand import ITEM_STATES, SESSION_EVIDENCE, SHARED_SERVER, load
from lessons_kb.session.call_effects import CallEffects, read_effects
from lessons_kb.session.event_types import NOTHING, Answer, Capabilities
from lessons_kb.session.state import Held, Hook, note_if_withheld
from lessons_kb.session.turn_lessons import (
    MOST,
    LessonLimits,
    find_for_change,
    give,
    name_card,
    name_place,
    read_limits,
    remind,
    remind_of_refusal,
    shorten_id,
    tell_after,
    tell_before,
)
from lessons_kb.store.gate_refusals import Refusals
from lessons_kb.store.journal import AT_CALL, TITLE, TITLES
from lessons_kb.store.scan import signature
from lessons_kb.text.paths import show_path
from lessons_kb.text.patterns import find_line
from lessons_kb.text.redact import excerpt, redact_short
from lessons_kb.values import frozen, replace

_MAX_ASKED = 4_000
"""Maximum characters that are stored of the prompt for a subagent."""
_MAX_NAMED = 3
_AGAIN_AFTER = 4
"""The number of prompts after which a text about a change may be repeated."""
_PROCEED = "Approve to go on, or decline to leave {} as {}."
_NOBODY = "A lesson asks for a human's permission, and nobody can be asked here; check its items"


@frozen
class _Concern:
    """A card about a call. It guards files of the call, or describes a mistake that the call
    makes.
    """

    brain: Brain
    card: Card
    files: Mapping[str, str]
    """Mapping from each file of the call to the key under which the session's memory stores it."""
    mistake: Detected | None = None

    @property
    def asks(self) -> bool:
        """Whether the user is asked before the call."""
        return self.card.gate == ASK_GATE and self.card.severity == "high"

    @property
    def marks(self) -> list[str]:
        """Keys under which the session's memory stores the lines of the mistake."""
        return mark_matches([self.mistake] if self.mistake else [])


@frozen
class _Prepared:
    """What is prepared for the answer to a call before the journal is locked."""

    directory: str
    """The directory to which the paths in texts are relative."""
    limits: LessonLimits
    concerns: Sequence[_Concern]
    """The cards to give with the call."""
    others: Sequence[_Concern]
    """The cards to name by title."""
    for_change: list[CardInBrain]
    """The lessons that the text of the call is surely about."""
    gates: Sequence[_Concern]
    """The cards that the call does not heed. Those with a gate may refuse it or ask about it."""
    claimed: Sequence[_Concern]
    """The cards that refuse it. See `_claim_refusals`."""
    present_mistakes: Sequence[Detected] | None
    """The mistakes that its files contain now, or None if they are not needed."""
    texts_after: Sequence[tuple[Detected, str]]
    """The mistakes that it is about to make, each with the text for after the call."""
    short_names: Mapping[CardInBrain, str]
    """The short names of the cards that the session already has."""
    done: Container[str]
    """The items of these cards that this turn has shown to be done."""


def answer(hook: Hook) -> Answer:
    """Refuse a call, let the user decide, or give the cards about the call. See the table above.

    These cards are the best cards whose ``paths`` match (see ``_choose_guards``), the cards whose
    mistake the call is about to make, with its lines, and the cards that the text of the call is
    surely about. A card that the session already has is given as a reminder. If the model was
    instructed to stop, its next call ends the turn.
    """
    brains = hook.open_brains()
    event = hook.event
    if not event.gives_at(AT_CALL):
        return NOTHING
    if line := _take_stop(hook):
        return Answer(stop_line=line)
    if event.spawns is not None:
        _record_spawn(hook, *event.spawns)
    call = read_effects(hook)
    if not (call.changed or call.changes or call.commands):
        return NOTHING
    if event.gates_of_last_index and any(brain.is_being_built() for brain in brains.members):
        answer = event.gates_of_last_index()
        if answer is not NOTHING:
            return answer
    changed = redact_short(call.changed[0])[:200] if call.changed else ""
    hook.occasion = f"change {changed}" if changed else "command"
    can = replace(hook.can, ask=hook.can.ask and not hook.state.unattended)
    prepared = _prepare(hook, call, can)
    return _decide_and_record(hook, can, prepared) if prepared else NOTHING


def _record_spawn(hook: Hook, kind: str, asked: str) -> None:
    """Record the prompt of a subagent, because the event at its start does not have it."""
    event = hook.event
    inherits = "yes" if event.spawn_inherits else None
    spawned = SpawnedAgent(kind, excerpt(asked, _MAX_ASKED), inherits)
    with lend_memory(hook.journal, event.session) as state:
        name = f"spawn {event.call}"
        if state.answer_once(name, event.token, number=0, at=hook.now) is not None:
            state.spawned.append(spawned)


def _prepare(hook: Hook, call: CallEffects, can: Capabilities) -> _Prepared | None:
    """Return what the answer to a call needs, or None if there is nothing to give or to record.

    This writes, too: the claims of the cards that refuse the call, and the withheld cards. So it is
    called once for an event.
    """
    event = hook.event
    brains, concerns = _find_concerns(hook, call)
    for_change = find_for_change(hook, brains, call.changes)
    present_mistakes = None
    if call.written and has_detectors(hook.brains):
        present_mistakes = find_in_files(hook.brains, call.written, hook.scope)
    if not (concerns or for_change or present_mistakes is not None):
        return None
    # A client of a server gets the ids of cards, not their paths on the server.
    directory = brains.members[0].root if event.posted else hook.working_directory
    limits = read_limits(brains)
    known = find_known(limits.reinject_after, event.context_id)

    def may_be_given(concern: _Concern) -> bool:
        return not note_if_withheld(hook, concern.brain, concern.card)

    concerns, others = _choose_guards(concerns, known, hook.scope if call.place else "")
    concerns = list(filter(may_be_given, concerns))
    new_lessons = [lesson for lesson in for_change if not is_in_context(known, *lesson)]
    too_many = new_lessons[MOST - hook.state.given_in_turn :]
    for_change = [
        lesson
        for lesson in for_change
        if lesson not in too_many and not note_if_withheld(hook, *lesson)
    ]
    gates = [
        concern for concern in concerns if concern.mistake or not _is_heeded(concern.card, call)
    ]
    mistakes = [concern.mistake for concern in concerns if concern.mistake and call.changes]
    lessons = [*((concern.brain, concern.card) for concern in concerns), *for_change]
    in_context = [lesson for lesson in lessons if is_in_context(known, *lesson)]
    # The index and the files of the claims must not be used while the journal is locked. The claims
    # are written last.
    return _Prepared(
        directory=directory,
        limits=limits,
        concerns=concerns,
        others=list(filter(may_be_given, others)),
        for_change=for_change,
        gates=gates,
        texts_after=[(mistake, tell_after(mistake, directory)) for mistake in mistakes],
        present_mistakes=present_mistakes,
        done=_find_done(hook, known, lessons),
        short_names={(brain, card): shorten_id(brain, card.id) for brain, card in in_context},
        claimed=_claim_refusals(hook, can, gates),
    )


def _decide_and_record(hook: Hook, can: Capabilities, prepared: _Prepared) -> Answer:
    """Lock the journal, decide about a call, and record what was decided and given."""
    event, directory = hook.event, prepared.directory
    texts_after = prepared.texts_after
    with hook.transaction() as state:
        if state.is_refused(event.id) and not event.again:
            return NOTHING  # another process has refused this call
        if event.again and event.id and (undelivered := state.take_back(event.id)):
            for brain in hook.brains.members:  # recorded by a process that answered too late
                brain.hook_journal.forget_context(event.context_id, undelivered)
        ruling = _decide(hook, state, can, prepared.gates, prepared.claimed, directory)
        if ruling.refusal:  # the call is not made, so no text follows it
            texts_after = []
            can = replace(can, inject=True)
        elif prepared.present_mistakes is not None:
            marks = ("", *mark_matches(prepared.present_mistakes))
            state.stood_before += [StandingMistake(event.call, mark) for mark in marks]
        refusing = _list_named(prepared.claimed) if ruling.refusal else []
        reminding = partial(
            _remind, refusing=refusing, short_names=prepared.short_names, done=prepared.done
        )
        block, texts = _give_cards(hook, state, prepared, reminding)
        named = _name_others(hook, state, prepared.others, directory)
        texts = [*texts, (GUARD, named), (GUARD, ruling.context)]
        waiting = list(state.waiting)
        # The reason for a refusal, or context.
        message = state.deliver([(GUARD, ruling.refusal), *texts], can)
        hook.beside = [text for about, text in texts if about != BLOCK and text]
        hook.carried = [text for text in waiting if text not in state.waiting]
        if message and ruling.question and event.id:
            state.question_texts.append(QuestionText(event.id, message))
        # If the user decides, or the text waits for the result anyway, it is not repeated.
        is_covered = ruling.question or any(text.about == MATCH for text in state.waiting)
        for mistake, text in texts_after:
            expected = "" if is_covered else text
            state.expect(event.call, mistake.brain.alias, mistake.card.id, expected)
    if ruling.refusal:
        return Answer(refusal=message, block=block, lines=ruling.lines)
    return Answer(context=message, question=ruling.question, block=block)


def _decide(
    hook: Hook,
    state: SessionMemory,
    can: Capabilities,
    gates: Sequence[_Concern],
    claimed: Sequence[_Concern],
    directory: str,
) -> Answer:
    """Decide about a call and record the decision: the call is refused, the user is asked, or the
    call passes.

    The call is refused for the cards in ``claimed``. No card and file is refused, or asked about,
    twice in a session. If nobody can be asked, the answer is given as ``context``.
    """
    call = hook.event.id
    concerns = list(claimed)  # below, those about which the user is asked are added
    refused = {refusal.key for refusal in state.refused}
    for concern in claimed:
        keys = [key for key in concern.files.values() if key not in refused]
        state.refused += [AboutCall(call, key) for key in keys]
    reason = _name_reason(concerns, directory)
    if any(concern.asks for concern in concerns):
        line = f"{PERMISSION} {reason}"
        return Answer(refusal=f"{line} {ASKED_NEXT}", lines=(line,))
    if reason:
        return Answer(refusal=f"{REFUSED_TEXT} {reason} {PASSES}")
    asked = {question.key for question in state.asked}
    for concern in gates:
        if not concern.asks:
            continue
        new_files = {file: key for file, key in concern.files.items() if key not in asked}
        if concern.mistake and not asked.issuperset(concern.marks):
            concerns.append(concern)
        elif not concern.mistake and new_files:
            concerns.append(replace(concern, files=new_files))
    # If the question has no room for a file, the user has not read about it and is asked again.
    named = _files(concerns)[:_MAX_NAMED]
    for concern in concerns:
        keys = concern.marks or [key for file, key in concern.files.items() if file in named]
        state.asked += [AboutCall(call if can.ask else "", key) for key in keys]
    reason = _name_reason(concerns, directory)
    if not reason:
        return NOTHING
    if not can.ask:
        return Answer(context=f"{_NOBODY} {reason}" if can.inject else "")
    proceed = _PROCEED.format(*(("the file", "it is") if named else ("things", "they are")))
    return Answer(question=f"{PERMISSION} {reason} {proceed}")


def _claim_refusals(hook: Hook, can: Capabilities, gates: Sequence[_Concern]) -> list[_Concern]:
    """Record the cards that refuse this call, and return them.

    They are the cards with ``gate: once`` or ``gate: strict``. If the dialog of the agent does not
    show the reason, they include the cards that ask.
    """
    if not can.refuse:
        return []
    unexplained = can.ask and not can.explains
    refusing = [
        concern
        for concern in gates
        if concern.card.gate in (ONCE_GATE, STRICT_GATE) or (unexplained and concern.asks)
    ]
    return [concern for concern in refusing if _claim(hook, concern)]


def _claim(hook: Hook, concern: _Concern) -> bool:
    """Record that a card refuses this call for its files. Return False if it has done so before.

    The record is a file that the hook's second stage also reads and writes. If it cannot be
    written, the card is given as context, because it would otherwise refuse the call every time.
    """
    refusals = Refusals(context=hook.event.context_id, token=hook.event.token)
    root, card = concern.brain.root, concern.card.id
    new_files = [file for file in concern.files if refusals.claim(root, card, file)]
    hook.refused += [Held(root, card, file) for file in new_files]
    return bool(new_files)


def _choose_guards(
    concerns: Sequence[_Concern], known: Known, scope: str
) -> tuple[list[_Concern], list[_Concern]]:
    """Return the cards to give with a call, and the cards to name by title.

    Of the cards whose globs match a few files, the best MOST are given and the others are named, so
    that a file with many lessons is not guarded less than other files. A glob that matches many
    files is sufficient for a rule, which applies to all its files, but not for a card. Without
    ``scope``, a wildcard counts as matching many files.
    """
    lessons = [concern for concern in concerns if concern.card.source != RULE]
    with_advice = [concern for concern in lessons if not concern.card.is_title_only]
    narrow = [concern for concern in with_advice if is_narrow(concern.card, scope)]
    narrow.sort(key=_rank_guard)
    best = narrow[:MOST]

    def is_given(concern: _Concern) -> bool:
        card = concern.card
        if concern.mistake or card.gate != NO_GATE or card.source == RULE:
            return True
        return concern in best or is_in_context(known, concern.brain, card)

    given = [concern for concern in concerns if is_given(concern)]
    return given, [concern for concern in narrow if concern not in given]


def _rank_guard(concern: _Concern) -> tuple[object, ...]:
    """Return the sort key that orders the cards for one file from best to worst."""
    card = concern.card
    plain = {pattern.removeprefix("./").lstrip("/") for pattern in card.paths}
    names_file = any(file in plain for file in concern.files)
    return -SEVERITIES.index(card.severity), -card.occurrences, not names_file, card.id


def _take_stop(hook: Hook) -> str:
    """Return the line with which the turn ends, or "" if it continues.

    A call made in parallel with the last failed call precedes the instruction to stop.
    """
    event = hook.event
    if not hook.can.stop or event.part or not hook.state.stopping:
        return ""
    with hook.transaction() as state:
        step = event.step or state.steps.get(event.id, "")
        if not state.stopping or (step and step == state.stopping.step):
            return ""
        line = state.stopping.line
        state.stopping = None
    return line


def _name_reason(concerns: Sequence[_Concern], directory: str) -> str:
    """Return why a call does not pass: the mistakes or files, and the lessons with their paths.
    Return "" if there is no reason.
    """
    mistakes = [concern.mistake for concern in concerns if concern.mistake]
    firsts = [mistake.matches[0] for mistake in mistakes[:_MAX_NAMED]]
    places = [f"{name_place(match)} is added or run" for match in firsts]
    files = _files(concerns)
    if COMMAND in files:
        files.remove(COMMAND)
        places.append("this command is run")
    if files:
        more = f" and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else ""
        names = ", ".join(map(show_path, files[:_MAX_NAMED]))
        places.append(f"{names}{more} {name_act(files)}")
    lessons = [name_card(brain, card, directory) for brain, card in _list_named(concerns)]
    return f"before {' and '.join(places)}: {'; '.join(lessons)}." if places else ""


def _list_named(concerns: Iterable[_Concern]) -> list[CardInBrain]:
    """Return the cards that the reason names."""
    return list(dict.fromkeys((concern.brain, concern.card) for concern in concerns))[:_MAX_NAMED]


def _files(concerns: Iterable[_Concern]) -> list[str]:
    """Return the guarded files, each once."""
    guards = [concern for concern in concerns if not concern.mistake]
    return list(dict.fromkeys(file for concern in guards for file in concern.files))


def _give_cards(
    hook: Hook, state: SessionMemory, prepared: _Prepared, reminding: Callable[[CardInBrain], str]
) -> tuple[Preflight, list[tuple[str, str]]]:
    """Return the block of the cards that the session lacks, and all texts about a call.

    A text is left out if it was shown within the last few prompts of the session. Of the cards that
    the session already has, the first MOST are repeated, with the reminders that ``reminding``
    returns.
    """
    event = hook.event
    prompt = hook.brains.members[0].hook_journal.injections.turn(event.context_id)
    shown = set()
    for remark in state.shown:
        if remark.prompt is None or remark.prompt > prompt - _AGAIN_AFTER:
            shown.add(remark.key)
    keys: dict[str, None] = {}
    cards: dict[CardInBrain, bool] = {}  # maps each card to whether a reminder is useful
    mistakes: list[Detected] = []
    for concern in prepared.concerns:
        if concern.mistake and not shown.issuperset(concern.marks):
            mistakes.append(concern.mistake)
            keys |= dict.fromkeys(concern.marks)
        if not shown.issuperset(concern.files.values()):
            # A card with only broad globs is repeated for the first of its many files.
            is_broad = not concern.mistake and all(map(_is_broad_glob, concern.card.paths))
            prefix = _key(concern.brain, concern.card, "")
            was_shown = is_broad and any(key.startswith(prefix) for key in shown)
            lesson = concern.brain, concern.card
            cards[lesson] = cards.get(lesson, False) or not was_shown
            keys |= dict.fromkeys(concern.files.values())
    state.shown += [Remark(event.id, key, prompt) for key in keys if key not in shown]
    known = find_known(prepared.limits.reinject_after, event.context_id)
    for_change = state.note_in_turn(event.id, prepared.for_change)
    state.given_in_turn += sum(not is_in_context(known, *lesson) for lesson in for_change)
    cards |= dict.fromkeys(for_change, True)
    repeatable = [lesson for lesson, is_useful in cards.items() if is_useful]
    repeated = [lesson for lesson in repeatable if is_in_context(known, *lesson)][:MOST]
    reminders: dict[str, str] = {}
    for lesson in repeated:
        if text := reminding(lesson):
            reminders[lesson[1].id] = text
    block, given = give(hook, prepared.limits, cards)
    state.note_given([*given, *(GivenCard(brain.root, card.id) for brain, card in repeated)])
    state.brought += [BroughtCard(event.id, given_card.card) for given_card in given]
    if not hook.can.lines:
        state.named += [hit.card.title for hit in block.lessons]
    named = {hit.card.id for hit in block.lessons} | set(reminders)
    texts = [(MATCH, tell_before(mistakes, prepared.directory, given=named))] if mistakes else []
    return block, [*texts, (BLOCK, block.text), *((GUARD, text) for text in reminders.values())]


def _remind(
    lesson: CardInBrain,
    *,
    refusing: Container[CardInBrain],
    short_names: Mapping[CardInBrain, str],
    done: Container[str],
) -> str:
    """Return the reminder of a card. A card in ``refusing`` is repeated without its path, because
    the refusal has named it.
    """
    card = lesson[1]
    if lesson in refusing:
        return remind_of_refusal(card, done=done)
    return remind(card, short_names.get(lesson, card.id), done=done)


def _name_others(
    hook: Hook, state: SessionMemory, others: Sequence[_Concern], directory: str
) -> str:
    """Return the titles of further cards that guard the files. Each title is given once per file
    and session.
    """
    shown = {remark.key for remark in state.shown}

    def has_new_file(concern: _Concern) -> bool:
        return any(f"{TITLES} {file}" not in shown for file in concern.files)

    new = list(filter(has_new_file, others))
    if not new:
        return ""
    event = hook.event
    prompt = hook.brains.members[0].hook_journal.injections.turn(event.context_id)
    files = dict.fromkeys(file for concern in new for file in concern.files)
    keys = [f"{TITLES} {file}" for file in files]
    keys += [f"{TITLE} {key}" for concern in new for key in concern.files.values()]
    state.shown += [Remark(event.id, key, prompt) for key in keys]
    cards = [name_card(concern.brain, concern.card, directory) for concern in new[:_MAX_NAMED]]
    more = f"; and {len(new) - _MAX_NAMED} more" if len(new) > _MAX_NAMED else ""
    names = ", ".join(map(show_path, [*files][:_MAX_NAMED]))
    return (
        f"More lessons about {names}; open those that concern the change: {'; '.join(cards)}{more}"
    )


def _find_done(hook: Hook, known: Known, cards: Sequence[CardInBrain]) -> frozenset[str]:
    """Return the items, of cards in the session's context, that this turn shows to be done."""
    in_context = [card for brain, card in cards if is_in_context(known, brain, card)]
    if not in_context:
        return frozenset()
    event, after = hook.event, hook.state.after
    evidence = load(SESSION_EVIDENCE).find_session_evidence(
        hook.journal, event.session, hook.brains.members, after=after
    )
    items = load(ITEM_STATES).check_items(in_context, "", evidence).items
    return frozenset(item.item for item in items if item.state == SHOWN)


def _find_concerns(hook: Hook, call: CallEffects) -> tuple[Brains, list[_Concern]]:
    """Return the cards about a call, and the brains in which they were found.

    Mistakes come first, then cards by severity. Lessons of a server come last, and only if the user
    allows them for calls. They are returned with the nearest brain.
    """
    brains = hook.brains
    concerns = _find_local(brains, call)
    if any(_is_stale(concern.brain, concern.card) for concern in concerns):
        brains = refresh_in_hook(brains)[0]
        concerns = _find_local(brains, call)
    served = [
        card for card in hook.state.served if card.get("gate") != NO_GATE or card.get("detect")
    ]
    if served:
        server = load(SHARED_SERVER)
        cards = list(map(server.read_card, served))
        guarded, matches = server.find_in_call(cards, call.changed, call.placed(), call.commands)
        brain = brains.members[0]
        mistakes = [Detected(brain=brain, card=card, matches=lines) for card, lines in matches]
        concerns += map(_concern_of, mistakes)
        concerns += [_make_concern(brain, card, files) for card, files in guarded]
        concerns.sort(key=lambda concern: not concern.mistake)
    return brains, concerns


def _find_local(brains: Brains, call: CallEffects) -> list[_Concern]:
    """Search the last commit of the index, because a hook before every call has no time for a
    scan.
    """
    spelled = tuple(dict.fromkeys([*call.changed, *call.links]))  # a glob may name either path

    def search(brain: Brain) -> list[_Concern]:
        matching = brain.guarding(spelled)
        concerns = []
        for number, card in find_usable(brain, matching, brains.project).items():
            files = dict.fromkeys(call.links.get(path, path) for path in matching[number])
            concerns.append(_make_concern(brain, card, files))
        return concerns

    mistakes = find_detected(brains, call.placed(), call.commands, proposed=True)
    concerns = list(map(_concern_of, mistakes))
    if call.changed:
        for brain in brains.members:
            if brain.ensure_indexed():
                concerns += brain.read(search)
    return sorted(concerns, key=_rank_concern)


def _rank_concern(concern: _Concern) -> tuple[object, ...]:
    """Return the sort key of the cards about a call, which puts mistakes first and then sorts by
    severity.
    """
    card = concern.card
    severity = -SEVERITIES.index(card.severity)
    return not concern.mistake, severity, -card.occurrences, card.id


def _concern_of(mistake: Detected) -> _Concern:
    if mistake.card.source == RULE:  # its pattern states when the rule applies, not a mistake
        return _make_concern(mistake.brain, mistake.card, [COMMAND])
    files = [match.path for match in mistake.matches]
    return replace(_make_concern(mistake.brain, mistake.card, files), mistake=mistake)


def _make_concern(brain: Brain, card: Card, files: Iterable[str]) -> _Concern:
    keys = {file: _key(brain, card, redact_short(file))[:300] for file in files}
    return _Concern(brain=brain, card=card, files=keys)


def _key(brain: Brain, card: Card, file: str) -> str:
    return f"{brain.alias}:{card.id}:{file}"


def _is_stale(brain: Brain, card: Card) -> bool:
    """Return whether a card's file has changed since it was indexed, or was removed."""
    try:
        stamp = signature(os.stat(os.path.join(brain.root, *card.id.split("/"))))
    except OSError:
        return True
    if brain.state is None:
        return False
    manifest = brain.state.manifest
    # The last line has no line break. A copy with one would take long in a large brain.
    return f"{stamp}\n" not in manifest and not manifest.endswith(stamp)


def _is_heeded(card: Card, call: CallEffects) -> bool:
    """Return whether the changes show every item of a card, by the items' patterns."""
    lines: list[str] = []
    for change in call.changes:
        lines += (change.path, *change.after.split("\n"))
    shown = [pattern and find_line(pattern, lines) is not None for pattern in card.shown_by]
    return bool(shown) and all(shown)


def _is_broad_glob(pattern: str) -> bool:
    return "**" in pattern or pattern[:1] == "*"
