"""Before an edit or a command: the cards that guard the files it is about.

Who may ask for permission is asked before changes alone: what only reads is never held.
"""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator, Sequence

from lessons_kb.brain.injected import card_digest
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.retrieve import find_harmful
from lessons_kb.guards.commands import find_changed, is_known
from lessons_kb.guards.paths import relative_path, show_path
from lessons_kb.guards.tools import find_folder, parse_call
from lessons_kb.model import SEVERITIES, Card, Event, Hit, Preflight
from lessons_kb.preflight.block import shown_name
from lessons_kb.session.event import NOTHING, Answer, Capabilities, HookEvent, OpenSession
from lessons_kb.session.prompt import freshen
from lessons_kb.session.state import BLOCK, GUARD, now, pack_known, turn_state
from lessons_kb.store.scan import signature
from lessons_kb.text.sanitize import clean_line, defang

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
    """Return the cards whose ``paths`` match, once per session and file, and who must be asked."""
    touched, changed = _files(open_session, hook_event)
    if not touched:
        return NOTHING
    brain = open_session.brain
    guarding = [found for layer in brain.layers for found in _guarding(brain, layer, touched)]
    if any(_is_stale(layer, card) for layer, card, _files in guarding):
        brain = freshen(brain)[0]
        guarding = [found for layer in brain.layers for found in _guarding(brain, layer, touched)]
    if not guarding:
        return NOTHING
    severity = SEVERITIES.index
    guarding.sort(key=lambda g: (-severity(g[1].severity), -g[1].occurrences, g[1].id))
    journal = open_session.journal
    call = hook_event.id if capabilities.ask else ""
    with turn_state(journal, hook_event.session) as state:
        # What another process noted for this call, and did not get to say, is new once more.
        unsaid = state.take_back(hook_event.id) if hook_event.again and hook_event.id else set()
        asking = _asking(guarding, changed, state.asked_about())
        state.asked += [[call, key] for found in asking for key in _keys(found)]
        shown = {key for _call, key in state.shown}
        new = [found for found in guarding if not shown.issuperset(_keys(found))]
        keys = dict.fromkeys(key for found in new for key in _keys(found))
        state.shown += [[hook_event.id, key] for key in keys if key not in shown]
    for layer in brain.layers if unsaid else ():
        layer.session_journal.forget_context(hook_event.session, unsaid)
    texts: list[tuple[str, str]] = []
    context, block = "", None
    given: list[list[str]] = []
    if new:
        block, given = _block(brain, hook_event, capabilities, new)
        texts = [(BLOCK, block.text)] if block.text else []
    question = _question(asking, open_session.directory) if asking else ""
    if question and not capabilities.ask and capabilities.context:
        texts.append((GUARD, f"{_NOBODY} {question}"))
    if new or texts:
        with turn_state(journal, hook_event.session) as state:
            known = {tuple(pair) for pair in state.cards}
            state.cards += [pair for pair in given if tuple(pair) not in known]
            state.brought += [[hook_event.id, card] for _root, card in given]
            context = state.deliver(texts, capabilities)
            if context and call and question:
                state.held.append([call, context])
    ask = f"{_PERMISSION} {question} {_PROCEED}" if question and capabilities.ask else ""
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


def _files(
    open_session: OpenSession, hook_event: HookEvent
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the files that a call touches, and those of them that it changes or runs."""
    scope = open_session.scope
    call = Event(
        kind="tool", agent=hook_event.agent, scope=scope, tool=hook_event.tool, outcome="unknown"
    )
    arguments = hook_event.arguments if isinstance(hook_event.arguments, (dict, str)) else {}
    events = parse_call(call, arguments, cwd=hook_event.cwd, secrets=True)
    does = events[0].kind
    if does not in (*_CHANGES, *_COMMANDS):
        return (), frozenset()
    touched = dict.fromkeys(target for event in events for target in event.targets)
    changed = dict.fromkeys(
        target for event in events if event.kind in _CHANGES for target in event.targets
    )
    if does in _COMMANDS:
        folder = find_folder(arguments, hook_event.cwd) if isinstance(arguments, dict) else ""
        for path in _changed_by(events[0].text, scope, folder or hook_event.cwd):
            changed[path] = None
    several = (*changed, *touched)
    most = max(_MAX_FILES, len(changed))
    return tuple(dict.fromkeys(several))[:most], frozenset(changed)


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


def _is_absent_file(place: str) -> bool:
    """Tell a file that is yet to come from any other word: it has an ending, and a folder."""
    folder, name = os.path.split(place)
    ending = os.path.splitext(name)[1][1:]
    return ending.isalnum() and not os.path.lexists(place) and os.path.isdir(folder)


def _below(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (os.path.join(place, name) for name in files)


def _asking(
    guarding: Sequence[Guarding], changed: frozenset[str], asked: set[str]
) -> list[Guarding]:
    """Return those who ask before a change, with the files that nobody was asked about yet."""
    asking = []
    for layer, card, files in guarding:
        if card.gate == "ask" and card.severity == "high":
            new = [file for file in files if file in changed]
            new = [file for file in new if _key(layer, card, file) not in asked]
            if new:
                asking.append((layer, card, tuple(new)))
    return asking


def _guarding(brain: Layers, layer: Layer, files: Sequence[str]) -> list[Guarding]:
    """Look into the last commit as it is: a hook before every call has no time for a scan."""
    layer.prepare()
    if layer.state is None:
        return []

    def search(one: Layer) -> list[Guarding]:
        matching = {
            number: touched
            for number, touched in one.catalogue.guarding(files).items()
            if number > 0
        }
        cards = one.catalogue.cards(matching)
        harmful: dict[str, str] = {}
        if matching and one.settings.effect.withhold_harmful:
            harmful = find_harmful(one, cards.values())
        return [
            (one, card, matching[number])
            for number, card in cards.items()
            if card.status == "active"
            and card.project in (None, brain.project)
            and card.id not in harmful
        ]

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
    return f"{layer.alias}:{card.id}:{file}"[:300]


def _block(
    brain: Layers, hook_event: HookEvent, capabilities: Capabilities, found: Sequence[Guarding]
) -> tuple[Preflight, list[list[str]]]:
    """Return the block of these cards, those left out that the session has in its context."""
    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    homes: dict[str, tuple[Layer, int]] = {}
    known: set[str] = set()
    ids = [card.id for _layer, card, _files in found]
    for layer, card, _files in found:
        alias = layer.alias if ids.count(card.id) > 1 else ""
        hit = Hit(card=card, score=1.0, bm25=0.0, passed=True, brain=alias)
        turn = layer.session_journal.next_turn(hook_event.session, by=0)
        since = turn - settings.reinject_after
        given = layer.session_journal.in_context(hook_event.session, since_turn=since)
        if (card.id, card_digest(card)) in given:
            known.add(shown_name(hit))
        homes[shown_name(hit)] = (layer, turn)
        hits.append(hit)
    missing = [hit for hit in hits if shown_name(hit) not in known]
    block = pack_known(missing, settings, capabilities)
    for rank, hit in enumerate(block.lessons, 1):
        layer, turn = homes[shown_name(hit)]
        tokens = block.tokens // len(block.lessons)
        row = (hit.card.id, card_digest(hit.card), tokens)
        layer.session_journal.record_injections(
            hook_event.session, turn=turn, at=int(now(hook_event)), cards=[row], ranks=[rank]
        )
    return block, [[homes[shown_name(hit)][0].root, hit.card.id] for hit in block.lessons]


def _question(asking: Sequence[Guarding], directory: str) -> str:
    """Return which lessons want a permission for which files, and where their cards lie."""
    files = list(dict.fromkeys(file for _layer, _card, files in asking for file in files))
    more = f" and {len(files) - _MAX_NAMED} more" if len(files) > _MAX_NAMED else ""
    names = ", ".join(map(show_path, files[:_MAX_NAMED]))
    lessons = []
    for layer, card, _files in asking[:_MAX_NAMED]:
        place = relative_path(os.path.join(layer.root, card.id), directory)
        lessons.append(f"“{defang(clean_line(card.title))[:_MAX_TITLE]}” ({show_path(place)})")
    return f"before {names}{more} is changed or run: {'; '.join(lessons)}."


_MAX_NAMED = 3
_MAX_TITLE = 160
_PERMISSION = "A lesson asks for your permission"
_PROCEED = "Approve to go on, or decline to leave the file as it is."
_NOBODY = "A lesson asks for a human's permission, and nobody can be asked here; check its items"
