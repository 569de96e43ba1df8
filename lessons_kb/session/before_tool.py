"""Before an edit or a command: the cards that protect its files, and those whose mistake it makes.

What only reads is never held. For each card and file of a session (all commands are one file; a
mistake that is asked about goes by its line):

====  =============================  =========================  ============================
gate  the first call                 a later call               a call that heeds the card
====  =============================  =========================  ============================
none  passes                         passes                     passes
once  is refused, or passes where    passes                     passes; the next one that
      the agent takes no refusal                                does not is refused
ask   the user is asked (1)          passes                     passes; the next one that
                                                                does not is asked about
====  =============================  =========================  ============================

(1) If the card is of high severity, else as "none". Where the dialog does not show the reason, the
call is refused and the user is asked about the next one. Where nobody can answer, the model is
told so and the call passes. A user who declined is asked again.

A call heeds a card if it shows each item (``shown_by``); one that makes the card's mistake never
does. Whatever becomes of the call, the model is given the card if the session lacks it, else a
reminder, two at most; a card without a gate that only a broad glob connects with the call is left
out. At a later call nothing, until some prompts have passed.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from glob import has_magic, iglob

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains, refresh_in_hook
from lessons_kb.calls.command_lines import find_changed, find_run, is_known, is_patch_command
from lessons_kb.calls.parse_call import find_changes, find_documents, find_folder, parse_call
from lessons_kb.detect.change import Change
from lessons_kb.find.detection import (
    Detected,
    find_detected,
    find_in_files,
    has_detectors,
    mark_matches,
    place_change,
    place_creation,
)
from lessons_kb.find.retrieve import find_usable
from lessons_kb.find.shared_server import find_in_call, read_card
from lessons_kb.hook_gates import ASKED_NEXT, PASSES, PERMISSION, REFUSED
from lessons_kb.ledger.given import Known, find_known, is_in_context
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
    Card,
    Preflight,
)
from lessons_kb.outcome.post_check import find_session_evidence
from lessons_kb.postcheck.item_states import check_items
from lessons_kb.session.event_types import NOTHING, Answer, Capabilities
from lessons_kb.session.state import Held, Hook
from lessons_kb.session.turn_lessons import (
    MOST,
    Found,
    LessonLimits,
    find_for_change,
    give,
    is_kept_back,
    name_card,
    name_place,
    read_limits,
    remind,
    tell_after,
    tell_before,
)
from lessons_kb.store.gate_refusals import Refusals
from lessons_kb.store.journal import TITLE, TITLES
from lessons_kb.store.scan import signature
from lessons_kb.text.paths import relative_path, show_path
from lessons_kb.text.patterns import compile_globs, find_line, match_globs
from lessons_kb.text.redact import excerpt, redact_short
from lessons_kb.values import frozen, replace

_CHANGES = ("edit", "create", "remove")
_MAX_FILES = 50
_MAX_CHANGED = 1_000
"""Files that one command may change: those below a folder that it removes are looked at, too."""
_DEEP = 3
"""Folders with wildcards in a pattern from which on it may stand for the whole disk."""
_FEW_FILES, _LOOKED_THROUGH = 5, 200
"""Files for which a narrow glob may stand, and among how many they are looked for."""
_MAX_ASKED = 4_000
"""Characters kept of what a subagent is asked."""
_MAX_NAMED = 3
_AGAIN_AFTER = 4
"""Prompts after which what was said at a change has worn off, and is said there once more."""
_PROCEED = "Approve to go on, or decline to leave {} as {}."
_NOBODY = "A lesson asks for a human's permission, and nobody can be asked here; check its items"


@frozen
class _Concern:
    """A card that is about a call: it guards files of it, or describes a mistake that it makes."""

    brain: Brain
    card: Card
    files: Mapping[str, str]
    """Files of the call, with what each is noted as."""
    mistake: Detected | None = None

    @property
    def asks(self) -> bool:
        """Whether a human is asked before the call."""
        return self.card.gate == ASK_GATE and self.card.severity == "high"

    @property
    def marks(self) -> list[str]:
        """What the lines of the mistake are noted as."""
        return mark_matches([self.mistake] if self.mistake else [])


def answer(hook: Hook) -> Answer:
    """Refuse a call, have the user asked, or give the cards about it: see the table above.

    Those are the best of the cards whose ``paths`` match (see ``_choose_guards``), those whose
    mistake the call is about to make, with its lines, and those that its text is surely about; in
    short where the session has them. A call that the model makes after it was told to stop ends
    the turn.
    """
    brains, event = hook.open_brains(), hook.event
    if line := _take_stop(hook):
        return Answer(stop_line=line)
    if event.spawns is not None:  # the event with which a subagent begins does not tell its prompt
        kind, asked = event.spawns
        inherits = "yes" if event.spawn_inherits else None
        spawned = SpawnedAgent(kind, excerpt(asked, _MAX_ASKED), inherits)
        with lend_memory(hook.journal, event.session) as state:
            name = f"spawn {event.call}"
            if state.answer_once(name, event.token, number=0, at=hook.now) is not None:
                state.spawned.append(spawned)
    call = _read_call(hook)
    if not (call.changed or call.changes or call.commands):
        return NOTHING
    changed = redact_short(call.changed[0])[:200] if call.changed else ""
    hook.occasion = f"change {changed}" if changed else "command"
    brains, concerns = _find_concerns(hook, call)
    late = find_for_change(hook, brains, call.changes)
    before = None  # the mistakes that stand in its files, to know those that it adds
    if call.written and has_detectors(hook.brains):
        before = find_in_files(hook.brains, call.written, hook.scope)
    if not (concerns or late or before is not None):
        return NOTHING
    can = replace(hook.can, ask=hook.can.ask and not hook.state.unattended)
    # Of a server's cards a client is told the ids, not where they lie.
    told_from = brains.members[0].root if event.posted else event.directory
    limits = read_limits(brains)
    known = find_known(limits.reinject_after, event.context_id)
    concerns, others = _choose_guards(concerns, known, hook.scope if call.place else "")
    concerns = [one for one in concerns if not is_kept_back(hook, one.brain, one.card)]
    others = [one for one in others if not is_kept_back(hook, one.brain, one.card)]
    more = [one for one in late if not is_in_context(known, *one)][MOST - hook.state.late :]
    late = [one for one in late if one not in more and not is_kept_back(hook, *one)]
    gates = [one for one in concerns if one.mistake or not _is_heeded(one.card, call)]
    mistakes = [one.mistake for one in concerns if one.mistake and call.changes]
    afters = [(one, tell_after(one, told_from)) for one in mistakes]
    done = _find_done(hook, known, [*((one.brain, one.card) for one in concerns), *late])
    # A claim is a file: it is made before the journal is locked.
    claimed = _claim_refusals(hook, can, gates)
    with hook.transaction() as state:
        if state.is_refused(event.id) and not event.again:
            return NOTHING  # another process has refused this very call
        if event.again and event.id and (unsaid := state.take_back(event.id)):
            for brain in brains.members:  # what another process noted and did not get to say is new
                brain.hook_journal.forget_context(event.context_id, unsaid)
        ruling = _decide(hook, state, can, gates, claimed, told_from)
        if ruling.refusal:  # the call is not made: nothing is expected of it
            afters, can = [], replace(can, inject=True)
        elif before is not None:
            marks = ("", *mark_matches(before))
            state.stood_before += [StandingMistake(event.call, mark) for mark in marks]
        block, texts = _tell(hook, state, limits, concerns, late, told_from, done)
        named = _name_others(hook, state, others, told_from)
        texts = [*texts, (GUARD, named), (GUARD, ruling.context)]
        waiting = list(state.waiting)
        # The reason of a refusal, or context.
        message = state.deliver([(GUARD, ruling.refusal), *texts], can)
        hook.beside = [text for about, text in texts if about != BLOCK and text]
        hook.carried = [text for text in waiting if text not in state.waiting]
        if message and ruling.question and event.id:
            state.question_texts.append(QuestionText(event.id, message))
        # What a human decides, or is told with the result anyway, is not told once more.
        told = ruling.question or any(text.about == MATCH for text in state.waiting)
        for one, text in afters:
            state.expect(event.call, one.brain.alias, one.card.id, "" if told else text)
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
    """Note and return what becomes of a call: it is refused, or the user is asked, or it passes.

    The call is refused for the cards in ``claimed``. No card and file is refused, or asked about,
    twice in a session. Where nobody can be asked, that is ``context``.
    """
    call, held = hook.event.id, list(claimed)
    refused = {refusal.key for refusal in state.refused}
    for concern in claimed:
        keys = [key for key in concern.files.values() if key not in refused]
        state.refused += [AboutCall(call, key) for key in keys]
    reason = _name_reason(held, directory)
    if any(one.asks for one in held):
        line = f"{PERMISSION} {reason}"
        return Answer(refusal=f"{line} {ASKED_NEXT}", lines=(line,))
    if reason:
        return Answer(refusal=f"{REFUSED} {reason} {PASSES}")
    asked = {question.key for question in state.asked}
    for one in gates:
        new_files = {file: key for file, key in one.files.items() if key not in asked}
        if one.asks and (not asked.issuperset(one.marks) if one.mistake else new_files):
            held.append(one if one.mistake else replace(one, files=new_files))
    # A file that the question has no room for, so that a human has not read of it, is asked about
    # again.
    named = _files(held)[:_MAX_NAMED]
    for one in held:
        keys = one.marks or [key for file, key in one.files.items() if file in named]
        state.asked += [AboutCall(call if can.ask else "", key) for key in keys]
    reason = _name_reason(held, directory)
    if not reason:
        return NOTHING
    if not can.ask:
        return Answer(context=f"{_NOBODY} {reason}" if can.inject else "")
    proceed = _PROCEED.format(*(("the file", "it is") if named else ("things", "they are")))
    return Answer(question=f"{PERMISSION} {reason} {proceed}")


def _claim_refusals(hook: Hook, can: Capabilities, gates: Sequence[_Concern]) -> list[_Concern]:
    """Return the cards that refuse this call, after recording that they do.

    Those are the cards with ``gate: once``, and those that ask where the dialog of the agent does
    not show the reason.
    """
    if not can.refuse:
        return []
    unexplained = can.ask and not can.explains
    refusing = [
        concern
        for concern in gates
        if concern.card.gate == ONCE_GATE or (unexplained and concern.asks)
    ]
    return [concern for concern in refusing if _claim(hook, concern)]


def _claim(hook: Hook, concern: _Concern) -> bool:
    """Record that a card refuses this call for its files; return False where it did so before.

    The record is a file that the hook's second stage reads and makes, too. Where none can be made
    the card does not refuse, and comes as context: it would refuse the call each time.
    """
    refusals = Refusals(context=hook.event.context_id, token=hook.event.token)
    root, card = concern.brain.root, concern.card.id
    new_files = [file for file in concern.files if refusals.claim(root, card, file)]
    hook.refused += [Held(root, card, file) for file in new_files]
    return bool(new_files)


def _choose_guards(
    concerns: Sequence[_Concern], known: Known, scope: str
) -> tuple[list[_Concern], list[_Concern]]:
    """Return the cards that a call brings, and those of which the title is enough.

    Of the cards whose globs name a few files the best MOST are brought, and the others named: the
    file with most lessons must not be the one that is guarded least. A glob that stands for many
    files is no reason by itself; a rule is brought all the same, for it holds for all its files.
    Without ``scope`` the files that a wildcard stands for are not looked at: many.
    """
    lessons = [one for one in concerns if one.card.source != RULE]
    narrow = [one for one in lessons if not one.card.is_title_only and _is_narrow(one, scope)]
    narrow.sort(key=_rank_guard)
    best = narrow[:MOST]
    brought = [
        one
        for one in concerns
        if one.mistake
        or one.card.gate != NO_GATE
        or one.card.source == RULE
        or is_in_context(known, one.brain, one.card)
        or one in best
    ]
    return brought, [one for one in narrow if one not in brought]


def _is_narrow(concern: _Concern, scope: str) -> bool:
    """Return whether a glob of a card names a file of the call, or stands for a few."""
    return any(_names_few(pattern, scope) for pattern in concern.card.paths)


def _rank_guard(concern: _Concern) -> tuple[object, ...]:
    """Return what puts the cards of one file in order, the best first."""
    card = concern.card
    plain = {pattern.removeprefix("./").lstrip("/") for pattern in card.paths}
    names_it = any(file in plain for file in concern.files)
    return -SEVERITIES.index(card.severity), -card.occurrences, not names_it, card.id


def _names_few(pattern: str, scope: str) -> bool:
    """Tell whether a glob names a file, or stands for a few."""
    parts = pattern.removeprefix("./").strip("/").split("/")
    plain = list(itertools.takewhile(lambda part: not has_magic(part), parts))
    place = os.path.join(scope, *plain)
    if not has_magic(parts[-1]) and not os.path.isdir(place):
        return True
    if not scope or not plain:
        return False
    globs = compile_globs([pattern])
    below = itertools.islice(_below(place), _LOOKED_THROUGH)
    found = (path for path in below if match_globs(globs, relative_path(path, scope)))
    return not any(itertools.islice(found, _FEW_FILES, None)) and not any(below)


def _take_stop(hook: Hook) -> str:
    """Return the line with which the turn ends, "" where nothing ends it.

    A call made together with the one that failed last was made before the model was told.
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


def _name_reason(held: Sequence[_Concern], directory: str) -> str:
    """Return before what a call is held, by which lessons, and where they lie; "" for none."""
    mistakes = [one.mistake for one in held if one.mistake]
    places = [f"{name_place(one.matches[0])} is added or run" for one in mistakes[:_MAX_NAMED]]
    files = _files(held)
    if COMMAND in files:
        files.remove(COMMAND)
        places.append("this command is run")
    if files:
        more = f" and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else ""
        names = ", ".join(map(show_path, files[:_MAX_NAMED]))
        places.append(f"{names}{more} is changed or run")
    cards = list(dict.fromkeys((one.brain, one.card) for one in held))[:_MAX_NAMED]
    lessons = [name_card(brain, card, directory) for brain, card in cards]
    return f"before {' and '.join(places)}: {'; '.join(lessons)}." if places else ""


def _files(held: Iterable[_Concern]) -> list[str]:
    """Return the guarded files, each once."""
    return list(dict.fromkeys(file for one in held if not one.mistake for file in one.files))


def _tell(
    hook: Hook,
    state: SessionMemory,
    limits: LessonLimits,
    concerns: Sequence[_Concern],
    late: list[Found],
    directory: str,
    done: Container[str],
) -> tuple[Preflight, list[tuple[str, str]]]:
    """Return the block of the cards that the session lacks, and all that is said of a call.

    That is what was not shown in this session, or long ago; of the cards that the session has, the
    first few that are worth it are said again.
    """
    event = hook.event
    prompt = hook.brains.members[0].hook_journal.injections.turn(event.context_id)
    shown = set()
    for remark in state.shown:
        if remark.prompt is None or remark.prompt > prompt - _AGAIN_AFTER:
            shown.add(remark.key)
    keys: dict[str, None] = {}
    cards: dict[Found, bool] = {}  # whether it is worth saying again
    mistakes: list[Detected] = []
    for one in concerns:
        if one.mistake and not shown.issuperset(one.marks):
            mistakes.append(one.mistake)
            keys |= dict.fromkeys(one.marks)
        if not shown.issuperset(one.files.values()):
            # Of the many files of a broad pattern the first one is worth saying it again.
            broad = not one.mistake and all("**" in p or p[:1] == "*" for p in one.card.paths)
            prefix = _key(one.brain, one.card, "")
            was_shown = broad and any(key.startswith(prefix) for key in shown)
            found = one.brain, one.card
            cards[found] = cards.get(found, False) or not was_shown
            keys |= dict.fromkeys(one.files.values())
    state.shown += [Remark(event.id, key, prompt) for key in keys if key not in shown]
    known = find_known(limits.reinject_after, event.context_id)
    late = state.note_late(event.id, late)
    state.late += sum(not is_in_context(known, *one) for one in late)
    cards |= dict.fromkeys(late, True)
    again = [one for one in cards if cards[one] and is_in_context(known, *one)][:MOST]
    told = {card.id: remind(brain, card, directory, done=done) for brain, card in again}
    reminders = {card: text for card, text in told.items() if text}
    block, given = give(hook, limits, cards)
    state.note_given([*given, *(GivenCard(brain.root, card.id) for brain, card in again)])
    state.brought += [BroughtCard(event.id, one.card) for one in given]
    if not hook.can.lines:
        state.named += [hit.card.title for hit in block.lessons]
    named = {hit.card.id for hit in block.lessons} | set(reminders)
    texts = [(MATCH, tell_before(mistakes, directory, given=named))] if mistakes else []
    return block, [*texts, (BLOCK, block.text), *((GUARD, text) for text in reminders.values())]


def _name_others(
    hook: Hook, state: SessionMemory, others: Sequence[_Concern], directory: str
) -> str:
    """Return the titles of further cards that guard the files, once per file and session."""
    said = {remark.key for remark in state.shown}
    new = [one for one in others if any(f"{TITLES} {file}" not in said for file in one.files)]
    if not new:
        return ""
    event = hook.event
    prompt = hook.brains.members[0].hook_journal.injections.turn(event.context_id)
    files = dict.fromkeys(file for one in new for file in one.files)
    keys = [f"{TITLES} {file}" for file in files]
    keys += [f"{TITLE} {key}" for one in new for key in one.files.values()]
    state.shown += [Remark(event.id, key, prompt) for key in keys]
    cards = [name_card(one.brain, one.card, directory) for one in new[:_MAX_NAMED]]
    more = f"; and {len(new) - _MAX_NAMED} more" if len(new) > _MAX_NAMED else ""
    names = ", ".join(map(show_path, [*files][:_MAX_NAMED]))
    return (
        f"More lessons about {names}; open those that concern the change: {'; '.join(cards)}{more}"
    )


def _find_done(hook: Hook, known: Known, cards: Sequence[Found]) -> frozenset[str]:
    """Return the items that this turn shows as done, of the cards that the session has."""
    had = [one[1] for one in cards if is_in_context(known, *one)]
    if not had:
        return frozenset()
    event, after = hook.event, hook.state.after
    evidence = find_session_evidence(hook.journal, event.session, hook.brains.members, after=after)
    items = check_items(had, "", evidence).items
    return frozenset(item.item for item in items if item.state == SHOWN)


@frozen
class _Call:
    """What a call is about to do."""

    changed: tuple[str, ...] = ()
    """Files that it changes or runs, relative to the project root: of an edit the one file."""
    changes: tuple[Change, ...] = ()
    """What it writes, as its arguments tell: no file was looked at."""
    commands: tuple[str, ...] = ()
    """What a command line runs, one text for each program, without what ran it."""
    written: tuple[str, ...] = ()
    """Files that a command writes to: what it writes is seen in them once it has ended."""
    place: Callable[[Change], Change] | None = None
    """Looks at the file that a change is made to, and gives the change its lines."""

    def placed(self) -> Iterable[Change]:
        """Return the changes with their lines, as far as we may look."""
        return map(self.place, self.changes) if self.place else self.changes


def _read_call(hook: Hook) -> _Call:
    event, scope = hook.event, hook.scope
    # Parsed, not journalled: it belongs to no session, and has not ended.
    call = replace(hook.as_event("tool", tool=event.tool, outcome="unknown"), session="", id="")
    arguments = event.arguments if isinstance(event.arguments, (dict, str)) else {}
    events = parse_call(call, arguments, cwd=event.cwd, secrets=True)
    does, command = events[0].kind, events[0].text
    targets = [path for one in events if one.kind in _CHANGES for path in one.targets]
    place = place_creation
    commands: list[str] = []
    written: list[str] = []
    if does in _CHANGES:
        patch = command if is_patch_command(command) else arguments
        changes = find_changes(patch, scope=scope, cwd=event.cwd) if does != "remove" else []
        place = place_creation if does == "create" else place_change
    elif does in ("command", "test"):
        begin = (isinstance(arguments, dict) and find_folder(arguments, event.cwd)) or event.cwd
        changes, commands = find_documents(command, scope=scope, cwd=begin), find_run(command)
        written = [] if event.posted else list(dict.fromkeys(targets))[:_MAX_FILES]
        targets += _named_in(command, scope, begin, look=not event.posted)
    else:
        return _Call()
    return _Call(
        changed=tuple(dict.fromkeys(targets)),
        changes=tuple(changes[:_MAX_FILES]),
        commands=tuple(commands),
        written=tuple(written),
        place=None if event.posted else partial(place, root=scope),
    )


def _find_concerns(hook: Hook, call: _Call) -> tuple[Brains, list[_Concern]]:
    """Return the cards about a call, and the brain that they were found in.

    Mistakes come first, then the worst; a server's lessons are last, and about calls only where
    the user allows it: the nearest brain stands for theirs.
    """
    brains = hook.brains
    concerns = _find_local(brains, call)
    if any(_is_stale(one.brain, one.card) for one in concerns):
        brains = refresh_in_hook(brains)[0]
        concerns = _find_local(brains, call)
    served = (one for one in hook.state.served if one.get("gate") != NO_GATE or one.get("detect"))
    if cards := [read_card(one) for one in served]:
        guarded, matches = find_in_call(cards, call.changed, call.placed(), call.commands)
        brain = brains.members[0]
        mistakes = [Detected(brain=brain, card=card, matches=found) for card, found in matches]
        concerns += map(_concern_of, mistakes)
        concerns += (_make_concern(brain, card, files) for card, files in guarded)
        concerns.sort(key=lambda one: not one.mistake)
    return brains, concerns


def _find_local(brains: Brains, call: _Call) -> list[_Concern]:
    """Look into the last commit as it is: a hook before every call has no time for a scan."""

    def search(one: Brain) -> list[_Concern]:
        matching = one.guarding(call.changed)
        cards = find_usable(one, matching, brains.project)
        return [_make_concern(one, card, matching[n]) for n, card in cards.items()]

    concerns = [
        *map(_concern_of, find_detected(brains, call.placed(), call.commands, proposed=True))
    ]
    for brain in brains.members if call.changed else ():
        if brain.ensure_indexed():
            concerns += brain.read(search)
    return sorted(
        concerns,
        key=lambda one: (
            not one.mistake,
            -SEVERITIES.index(one.card.severity),
            -one.card.occurrences,
            one.card.id,
        ),
    )


def _concern_of(mistake: Detected) -> _Concern:
    if mistake.card.source == RULE:  # its pattern says when the rule holds: there is no mistake
        return _make_concern(mistake.brain, mistake.card, [COMMAND])
    files = [match.path for match in mistake.matches]
    return replace(_make_concern(mistake.brain, mistake.card, files), mistake=mistake)


def _make_concern(brain: Brain, card: Card, files: Iterable[str]) -> _Concern:
    keys = {file: _key(brain, card, redact_short(file))[:300] for file in files}
    return _Concern(brain=brain, card=card, files=keys)


def _key(brain: Brain, card: Card, file: str) -> str:
    return f"{brain.alias}:{card.id}:{file}"


def _is_stale(brain: Brain, card: Card) -> bool:
    """Tell whether a card's file is not what was read: it may have been put away meanwhile."""
    try:
        stamp = signature(os.stat(os.path.join(brain.root, *card.id.split("/"))))
    except OSError:
        return True
    return brain.state is not None and f"{stamp}\n" not in f"{brain.state.manifest}\n"


def _is_heeded(card: Card, call: _Call) -> bool:
    """Tell whether a call does all that a card advises, as the pattern of each item shows."""
    lines = [line for one in call.changes for line in (one.path, *one.after.split("\n"))]
    shown = [pattern and find_line(pattern, lines) is not None for pattern in card.shown_by]
    return bool(shown) and all(shown)


def _named_in(command: str, scope: str, cwd: str, *, look: bool) -> list[str]:
    """Return the files that a command may change or run, relative to ``scope``.

    Unless we may ``look``, those are the ones that it names.
    """

    def find() -> Iterator[str]:
        named = ((kind, path) for kind, paths in find_changed(command) for path in paths)
        for kind, path in (one for one in named if is_known(one[1])):
            if not look:
                yield path
                continue
            wildcards = sum(map(has_magic, path.split("/")))
            place = os.path.join(cwd or scope, os.path.expanduser(path))
            for one in () if wildcards >= _DEEP else iglob(place) if wildcards else (place,):
                if kind == "change" and os.path.isdir(one):
                    yield from _below(one)
                elif os.path.isfile(one) or _is_absent_file(one):
                    yield one

    found = itertools.islice(find(), _MAX_CHANGED)
    placed = (relative_path(path, scope, cwd="" if look else cwd) for path in found)
    return [path for path in placed if path]


def _is_absent_file(place: str) -> bool:
    """Tell a file that is yet to come from any other word: it has an ending, and a folder."""
    folder, name = os.path.split(place)
    ending = os.path.splitext(name)[1][1:]
    return ending.isalnum() and not os.path.lexists(place) and os.path.isdir(folder)


def _below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(place, name) for name in files)
