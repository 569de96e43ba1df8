"""Before an edit or a command: the cards that guard its files, and those whose mistake it makes.

Who may ask for permission is asked before changes alone: what only reads is never held.
"""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from lessons_kb.brain.detection import (
    Detected,
    find_detected,
    find_in_files,
    has_detectors,
    mark_matches,
    place_change,
    place_creation,
)
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers, freshen
from lessons_kb.brain.retrieve import find_usable
from lessons_kb.brain.shared_server import find_in_call, read_card
from lessons_kb.detect.matcher import Change
from lessons_kb.guards.command_files import find_changed, find_run, is_known, is_patch_command
from lessons_kb.guards.file_names import relative_path, show_path
from lessons_kb.guards.tool_calls import find_changes, find_documents, find_folder, parse_call
from lessons_kb.model import SEVERITIES, Card, Event
from lessons_kb.preflight.block import shown_name
from lessons_kb.session.state import (
    BLOCK,
    GUARD,
    MATCH,
    NOTHING,
    Answer,
    Capabilities,
    HookEvent,
    OpenSession,
    TurnState,
    read_state,
    turn_state,
)
from lessons_kb.session.turn_lessons import (
    describe,
    find_sure,
    give,
    name_call,
    name_card,
    name_place,
    note_begun,
    tell_after,
    tell_before,
)
from lessons_kb.store.scan import signature
from lessons_kb.text.redact import excerpt, redact_short

_CHANGES = ("edit", "create", "remove")
_COMMANDS = ("command", "test")
_MAX_FILES = 50
_MAX_CHANGED = 1_000
"""Files that one command may change: those below a folder that it removes are looked at, too."""
_WILDCARDS = "*?["
_DEEP = 3
"""Folders with wildcards in a pattern from which on it may stand for the whole disk."""

Guarding = tuple["Layer", "Card", tuple[str, ...]]
"""A brain, a card of it, and the files of the call that it guards."""


def answer(open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities) -> Answer:
    """Return the cards about a call and who must be asked.

    Those are the cards whose ``paths`` match, once per session and file, those whose mistake the
    call is about to make, with its lines, and the one that its text is surely about. A call that
    the model makes after it was told to stop ends the turn.
    """
    if capabilities.stop and (stop := _take_stop(open_session, hook_event)):
        return Answer(stop=stop)
    _note_spawned(open_session, hook_event)
    note_begun(open_session.journal, hook_event)
    call = _read_call(open_session, hook_event)
    if not (call.changed or call.changes or call.commands):
        return NOTHING
    journal = open_session.journal
    before = read_state(journal, hook_event.context)
    brain, guarding, detected = _find_fresh(open_session.brain, call, before)
    late = _find_late(brain, call, before)
    _note_holding(open_session, hook_event, call)
    if not guarding and not detected and not late:
        return NOTHING
    # Of a server's cards a client is told the ids, not where they lie.
    told_from = brain.layers[0].root if hook_event.posted else open_session.directory
    capabilities = _if_attended(open_session, hook_event, capabilities)
    asked_by = hook_event.id if capabilities.ask else ""
    with turn_state(journal, hook_event.context) as state:
        # What another process noted for this call, and did not get to say, is new once more.
        unsaid = state.take_back(hook_event.id) if hook_event.again and hook_event.id else set()
        asking, stopping = _note_asked(state, asked_by, guarding, detected)
        new, seen = _note_shown(state, hook_event.id, guarding, detected)
        late = state.note_late(hook_event.id, late)
    for layer in brain.layers if unsaid else ():
        layer.session_journal.forget_context(hook_event.context, unsaid)
    texts: list[tuple[str, str]] = []
    context, block = "", None
    given: list[list[str]] = []
    if new or seen or late:
        cards = list(dict.fromkeys(_cards([], seen) + _cards(new, []) + late))
        block, given = give(brain, hook_event, capabilities, cards)
        named = {hit.card.id for hit in block.lessons}
        texts = [(MATCH, tell_before(seen, told_from, given=named))] if seen else []
        texts += [(BLOCK, block.text)] if block.text else []
    question = _question(asking, stopping, told_from)
    proceed = _PROCEED_FILE if asking else _PROCEED
    ask = f"{_PERMISSION} {question} {proceed}" if question and capabilities.ask else ""
    if question and not capabilities.ask and capabilities.context:
        texts.append((GUARD, f"{_NOBODY} {question}"))
    if detected or new or late or texts:
        with turn_state(journal, hook_event.context) as state:
            known = {tuple(pair) for pair in state.cards}
            state.cards += [pair for pair in given if tuple(pair) not in known]
            state.brought += [[hook_event.id, card] for _root, card in given]
            context = state.deliver(texts, capabilities)
            if block is not None and not capabilities.lines:
                state.named += map(shown_name, block.lessons)
            if context and asked_by and question:
                state.held.append([asked_by, context])
            # What a human decides, or is told with the result anyway, is not told once more.
            told = bool(ask) or any(about == MATCH for about, _text in state.waiting)
            for one in detected if call.changes else ():
                text = "" if told else tell_after(one, told_from)
                state.expect(name_call(hook_event), one.layer.alias, one.card.id, text)
    if not (context or ask or (block is not None and block.lessons)):
        return NOTHING
    settings = brain.layers[0].settings
    return Answer(
        context=context,
        ask=ask,
        block=block,
        language=settings.language,
        footer=settings.hooks.footer,
    )


def _if_attended(
    open_session: OpenSession, hook_event: HookEvent, capabilities: Capabilities
) -> Capabilities:
    """Return the capabilities without a question where nobody may be there to answer it."""
    asks = capabilities.ask and not read_state(open_session.journal, hook_event.session).unattended
    return replace(capabilities, ask=asks)


def _take_stop(open_session: OpenSession, hook_event: HookEvent) -> str:
    """Return the line with which the turn ends, "" where nothing ends it.

    A call made together with the one that failed last was made before the model was told.
    """
    stopping = read_state(open_session.journal, hook_event.context).stopping
    if not stopping or hook_event.part:
        return ""
    with turn_state(open_session.journal, hook_event.context) as state:
        step = hook_event.step or state.steps.get(hook_event.id, "")
        if not state.stopping or (step and step == state.stopping[0]):
            return ""
        _step, line = state.stopping
        state.stopping = []
    return line


def _note_spawned(open_session: OpenSession, hook_event: HookEvent) -> None:
    """Keep what a subagent is asked: the event with which it begins does not say."""
    if hook_event.spawns is not None:
        kind, asked = hook_event.spawns
        kept = [kind, excerpt(asked, _MAX_ASKED)]
        with turn_state(open_session.journal, hook_event.session) as state:
            state.spawned.append(kept)


def _note_holding(open_session: OpenSession, hook_event: HookEvent, call: _Call) -> None:
    """Keep the mistakes in the files that a command writes to, to know those that it adds."""
    if call.written and has_detectors(open_session.brain):
        held = find_in_files(open_session.brain, call.written, open_session.scope)
        marks = ["", *mark_matches(held)]
        with turn_state(open_session.journal, hook_event.context) as state:
            state.holding += [[name_call(hook_event), mark] for mark in marks]


def _note_asked(
    state: TurnState,
    asked_by: str,
    guarding: Sequence[Guarding],
    detected: Sequence[Detected],
) -> tuple[list[Guarding], list[Detected]]:
    """Return what a human is to be asked about, and was not asked about in this session."""
    asked = state.asked_about()
    asking = _asking(guarding, asked)
    stopping = [d for d in detected if _may_ask(d.card) and not asked.issuperset(mark_matches([d]))]
    keys = [key for found in _only_named(asking) for key in _keys(found)]
    state.asked += [[asked_by, key] for key in (*keys, *mark_matches(stopping))]
    return asking, stopping


def _note_shown(
    state: TurnState, call: str, guarding: Sequence[Guarding], detected: Sequence[Detected]
) -> tuple[list[Guarding], list[Detected]]:
    """Return what was not shown in this session."""
    shown = {key for _call, key in state.shown}
    new = [found for found in guarding if not shown.issuperset(_keys(found))]
    seen = [found for found in detected if not shown.issuperset(mark_matches([found]))]
    keys = dict.fromkeys([key for found in new for key in _keys(found)] + mark_matches(seen))
    state.shown += [[call, key] for key in keys if key not in shown]
    return new, seen


def _as_told(change: Change) -> Change:
    """Leave a change as the arguments tell it: its file is on another machine."""
    return change


@dataclass(frozen=True, kw_only=True, slots=True)
class _Call:
    """What a call is about to do."""

    changed: tuple[str, ...] = ()
    """Files that it changes or runs, relative to the project root."""
    changes: tuple[Change, ...] = ()
    """What it writes, as its arguments tell: no file was looked at."""
    commands: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    """Files that a command writes to: what it writes is seen in them once it has ended."""
    place: Callable[[Change], Change] = _as_told
    """Looks at the file that a change is made to, and gives the change its lines."""


def _read_call(open_session: OpenSession, hook_event: HookEvent) -> _Call:
    scope = open_session.scope
    call = Event(
        kind="tool", agent=hook_event.agent, scope=scope, tool=hook_event.tool, outcome="unknown"
    )
    arguments = hook_event.arguments if isinstance(hook_event.arguments, (dict, str)) else {}
    events = parse_call(call, arguments, cwd=hook_event.cwd, secrets=True)
    does, command = events[0].kind, events[0].text
    if does not in (*_CHANGES, *_COMMANDS):
        return _Call()
    changed = dict.fromkeys(
        target for event in events if event.kind in _CHANGES for target in event.targets
    )
    written = tuple(changed)[:_MAX_FILES] if does in _COMMANDS and not hook_event.posted else ()
    folder = find_folder(arguments, hook_event.cwd) if isinstance(arguments, dict) else ""
    begin = folder or hook_event.cwd
    if does in _COMMANDS:
        find = _named_by if hook_event.posted else _changed_by
        for path in find(command, scope, begin):
            changed[path] = None
        changes = find_documents(command, scope=scope, cwd=begin)
    elif does == "remove":
        changes = []
    else:
        patch = command if is_patch_command(command) else arguments
        changes = find_changes(patch, scope=scope, cwd=hook_event.cwd)
    place = place_creation if does == "create" or does in _COMMANDS else place_change
    return _Call(
        changed=tuple(changed),
        changes=tuple(changes[:_MAX_FILES]),
        commands=tuple(find_run(command)) if does in _COMMANDS else (),
        written=written,
        place=_as_told if hook_event.posted else partial(place, root=scope),
    )


def _find_fresh(
    brain: Layers, call: _Call, state: TurnState
) -> tuple[Layers, list[Guarding], list[Detected]]:
    """Return the cards about a call, and the brain that they were found in; a server's are last."""
    guarding, detected = _find(brain, call)
    if any(_is_stale(layer, card) for layer, card in _cards(guarding, detected)):
        brain = freshen(brain)[0]
        guarding, detected = _find(brain, call)
    if any(map(_is_about_calls, state.served)):
        more, found = _find_served(brain, call, state.served)
        guarding, detected = guarding + more, detected + found
    return brain, guarding, detected


def _find(brain: Layers, call: _Call) -> tuple[list[Guarding], list[Detected]]:
    """Return the cards about a call, those of the worst mistakes first."""
    guarding: list[Guarding] = []
    if call.changed:
        guarding = [found for one in brain.layers for found in _guarding(brain, one, call.changed)]
    placed = map(call.place, call.changes)  # only where it is asked for
    detected = find_detected(brain, placed, call.commands)
    severity = SEVERITIES.index
    guarding.sort(key=lambda g: (-severity(g[1].severity), -g[1].occurrences, g[1].id))
    detected.sort(key=lambda d: (-severity(d.card.severity), -d.card.occurrences, d.card.id))
    return guarding, detected


def _is_about_calls(served: Mapping[str, Any]) -> bool:
    return served.get("gate") == "ask" or bool(served.get("detect"))


def _find_served(
    brain: Layers, call: _Call, served: Sequence[dict[str, Any]]
) -> tuple[list[Guarding], list[Detected]]:
    """Return the server's lessons that ask before a call, and those whose mistake is in it.

    They are about calls only where the user allows it. The nearest brain stands for theirs.
    """
    cards = [read_card(one) for one in served if _is_about_calls(one)]
    placed = map(call.place, call.changes)
    guarded, matches = find_in_call(cards, call.changed, placed, call.commands)
    layer = brain.layers[0]
    return (
        [(layer, card, files) for card, files in guarded],
        [Detected(layer=layer, card=card, matches=found) for card, found in matches],
    )


def _find_late(brain: Layers, call: _Call, state: TurnState) -> list[tuple[Layer, Card]]:
    return find_sure(brain, describe(brain, call.changes), state) if call.changes else []


def _cards(guarding: Iterable[Guarding], detected: Iterable[Detected]) -> list[tuple[Layer, Card]]:
    cards = [(layer, card) for layer, card, _files in guarding]
    return cards + [(one.layer, one.card) for one in detected]


def _changed_by(command: str, scope: str, cwd: str) -> Iterator[str]:
    """Yield the files that a command may change or run, relative to ``scope``."""

    def find() -> Iterator[str]:
        for kind, paths in find_changed(command):
            for path in filter(is_known, paths):
                place = os.path.join(cwd or scope, os.path.expanduser(path))
                patterns = sum(any(c in part for c in _WILDCARDS) for part in path.split("/"))
                if patterns >= _DEEP:
                    continue
                for one in glob.iglob(place) if patterns else (place,):
                    if os.path.isfile(one) or _is_absent_file(one):
                        yield one
                    elif kind == "change" and os.path.isdir(one):
                        yield from _below(one)

    for path in itertools.islice(find(), _MAX_CHANGED):
        if placed := relative_path(path, scope):
            yield placed


def _named_by(command: str, scope: str, cwd: str) -> Iterator[str]:
    """Yield the files that a command names to change or run them, relative to ``scope``."""
    paths = (path for _kind, found in find_changed(command) for path in found if is_known(path))
    for path in itertools.islice(paths, _MAX_CHANGED):
        if placed := relative_path(path, scope, cwd=cwd):
            yield placed


def _is_absent_file(place: str) -> bool:
    """Tell a file that is yet to come from any other word: it has an ending, and a folder."""
    folder, name = os.path.split(place)
    ending = os.path.splitext(name)[1][1:]
    return ending.isalnum() and not os.path.lexists(place) and os.path.isdir(folder)


def _below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(place, name) for name in files)


def _asking(guarding: Sequence[Guarding], asked: set[str]) -> list[Guarding]:
    """Return those who ask before a change, with the files that nobody was asked about yet."""
    asking = []
    for layer, card, files in guarding:
        if _may_ask(card):
            new = [file for file in files if _key(layer, card, file) not in asked]
            if new:
                asking.append((layer, card, tuple(new)))
    return asking


def _only_named(asking: Sequence[Guarding]) -> list[Guarding]:
    """Return what the question names: a file that a human has not read of is asked about again."""
    named = list(dict.fromkeys(file for _layer, _card, files in asking for file in files))
    shown = set(named[:_MAX_NAMED])
    return [
        (layer, card, tuple(file for file in files if file in shown))
        for layer, card, files in asking
        if shown.intersection(files)
    ]


def _may_ask(card: Card) -> bool:
    return card.gate == "ask" and card.severity == "high"


def _guarding(brain: Layers, layer: Layer, files: Sequence[str]) -> list[Guarding]:
    """Look into the last commit as it is: a hook before every call has no time for a scan."""
    layer.prepare()
    if layer.state is None:
        return []

    def search(one: Layer) -> list[Guarding]:
        matching = one.guarding(files)
        cards = find_usable(one, matching, brain.project)
        return [(one, card, matching[number]) for number, card in cards.items()]

    return layer.read(search)


def _is_stale(layer: Layer, card: Card) -> bool:
    """Tell whether a card's file is not what was read: it may have been put away meanwhile."""
    try:
        stamp = signature(os.stat(os.path.join(layer.root, *card.id.split("/"))))
    except OSError:
        return True
    return layer.state is not None and f"{stamp}\n" not in f"{layer.state.manifest}\n"


def _keys(found: Guarding) -> list[str]:
    layer, card, files = found
    return [_key(layer, card, file) for file in files]


def _key(layer: Layer, card: Card, file: str) -> str:
    return f"{layer.alias}:{card.id}:{redact_short(file)}"[:300]


def _question(asking: Sequence[Guarding], stopping: Sequence[Detected], directory: str) -> str:
    """Return which lessons want a permission for which files or lines, and where they lie."""
    files = list(dict.fromkeys(file for _layer, _card, files in asking for file in files))
    places = [f"{name_place(one.matches[0])} is added or run" for one in stopping[:_MAX_NAMED]]
    if files:
        more = f" and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else ""
        names = ", ".join(map(show_path, files[:_MAX_NAMED]))
        places.append(f"{names}{more} is changed or run")
    cards = list(dict.fromkeys(_cards([], stopping) + _cards(asking, [])))[:_MAX_NAMED]
    lessons = [name_card(layer, card, directory) for layer, card in cards]
    return f"before {' and '.join(places)}: {'; '.join(lessons)}." if places else ""


_MAX_ASKED = 4_000
"""Characters kept of what a subagent is asked."""
_MAX_NAMED = 3
_PERMISSION = "A lesson asks for your permission"
_PROCEED = "Approve to go on, or decline to leave things as they are."
_PROCEED_FILE = "Approve to go on, or decline to leave the file as it is."
_NOBODY = "A lesson asks for a human's permission, and nobody can be asked here; check its items"
