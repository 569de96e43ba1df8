"""Before an edit or a command: the cards that guard the files it is about.

Who may ask for permission is asked before changes alone: what only reads is never held.
"""

from __future__ import annotations

import os

from lessons_kb.brain.turn import NOTHING, Answer
from lessons_kb.brain.turn_state import BLOCK, GUARD, now, pack_known, turn_state
from lessons_kb.guards.commands import find_changed, is_known
from lessons_kb.guards.paths import relative_path
from lessons_kb.guards.tools import find_folder, parse_call
from lessons_kb.model import SEVERITIES, Event, Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.layer import Layer
    from lessons_kb.brain.turn import House, Occasion, Reach
    from lessons_kb.model import Card, Preflight

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


def about_to_call(house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Return the cards whose ``paths`` match, once per session and file, and who must be asked."""
    touched, changed = _files(house, occasion)
    if not touched:
        return NOTHING
    brain = house.brain
    guarding = [found for layer in brain.layers for found in _guarding(brain, layer, touched)]
    if any(_is_stale(layer, card) for layer, card, _files in guarding):
        from lessons_kb.brain.turn_prompts import freshen

        brain = freshen(brain)[0]
        guarding = [found for layer in brain.layers for found in _guarding(brain, layer, touched)]
    if not guarding:
        return NOTHING
    severity = SEVERITIES.index
    guarding.sort(key=lambda g: (-severity(g[1].severity), -g[1].occurrences, g[1].id))
    journal = house.journal
    call = occasion.id if reach.ask else ""
    with turn_state(journal, occasion.session) as state:
        # What another process noted for this call, and did not get to say, is new once more.
        unsaid = state.take_back(occasion.id) if occasion.again and occasion.id else set()
        asking = _asking(guarding, changed, state.asked_about())
        state.asked += [[call, key] for found in asking for key in _keys(found)]
        shown = {key for _call, key in state.shown}
        new = [found for found in guarding if not shown.issuperset(_keys(found))]
        keys = dict.fromkeys(key for found in new for key in _keys(found))
        state.shown += [[occasion.id, key] for key in keys if key not in shown]
    for layer in brain.layers if unsaid else ():
        layer.session_journal.forget_context(occasion.session, unsaid)
    texts: list[tuple[str, str]] = []
    context, block = "", None
    given: list[list[str]] = []
    if new:
        block, given = _block(brain, occasion, reach, new)
        texts = [(BLOCK, block.text)] if block.text else []
    question = _question(asking, house.directory) if asking else ""
    if question and not reach.ask and reach.context:
        texts.append((GUARD, f"{_NOBODY} {question}"))
    if new or texts:
        with turn_state(journal, occasion.session) as state:
            known = {tuple(pair) for pair in state.cards}
            state.cards += [pair for pair in given if tuple(pair) not in known]
            state.brought += [[occasion.id, card] for _root, card in given]
            context = state.deliver(texts, reach)
            if context and call and question:
                state.held.append([call, context])
    ask = f"{_PERMISSION} {question} {_PROCEED}" if question and reach.ask else ""
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


def _files(house: House, occasion: Occasion) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the files that a call touches, and those of them that it changes or runs."""
    scope = house.scope
    call = Event(
        kind="tool", agent=occasion.agent, scope=scope, tool=occasion.tool, outcome="unknown"
    )
    arguments = occasion.arguments if isinstance(occasion.arguments, (dict, str)) else {}
    events = parse_call(call, arguments, cwd=occasion.cwd)
    does = events[0].kind
    if does not in (*_CHANGES, *_COMMANDS):
        return (), frozenset()
    touched = dict.fromkeys(target for event in events for target in event.targets)
    changed = dict.fromkeys(
        target for event in events if event.kind in _CHANGES for target in event.targets
    )
    if does in _COMMANDS:
        folder = find_folder(arguments, occasion.cwd) if isinstance(arguments, dict) else ""
        for path in _changed_by(events[0].text, scope, folder or occasion.cwd):
            changed[path] = None
    several = (*changed, *touched)
    most = max(_MAX_FILES, len(changed))
    return tuple(dict.fromkeys(several))[:most], frozenset(changed)


def _changed_by(command: str, scope: str, cwd: str) -> Iterator[str]:
    """Yield the files there are that a command may change or run, relative to ``scope``."""
    import glob
    import itertools

    def find() -> Iterator[str]:
        for kind, paths in find_changed(command):
            for path in filter(is_known, paths):
                place = os.path.join(cwd or scope, path)
                patterns = sum(any(c in part for c in _WILDCARDS) for part in path.split("/"))
                if patterns >= _DEEP:
                    continue
                for one in glob.iglob(place) if patterns else (place,):
                    if os.path.isfile(one):
                        yield one
                    elif kind == "change" and os.path.isdir(one):
                        yield from _below(one)

    for path in itertools.islice(find(), _MAX_CHANGED):
        if placed := relative_path(path, scope):
            yield placed


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


def _guarding(brain: Brain, layer: Layer, files: Sequence[str]) -> list[Guarding]:
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
            from lessons_kb.brain.withholding import find_harmful

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
    from lessons_kb.storage.scan import signature

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
    brain: Brain, occasion: Occasion, reach: Reach, found: Sequence[Guarding]
) -> tuple[Preflight, list[list[str]]]:
    """Return the block of these cards, those left out that the session has in its context."""
    from lessons_kb.brain.memory import card_digest
    from lessons_kb.recall.preflight import shown_name

    settings = brain.layers[0].settings.preflight
    hits: list[Hit] = []
    homes: dict[str, tuple[Layer, int]] = {}
    known: set[str] = set()
    ids = [card.id for _layer, card, _files in found]
    for layer, card, _files in found:
        alias = layer.alias if ids.count(card.id) > 1 else ""
        hit = Hit(card=card, score=1.0, bm25=0.0, passed=True, brain=alias)
        turn = layer.session_journal.next_turn(occasion.session, by=0)
        since = turn - settings.reinject_after
        given = layer.session_journal.in_context(occasion.session, since_turn=since)
        if (card.id, card_digest(card)) in given:
            known.add(shown_name(hit))
        homes[shown_name(hit)] = (layer, turn)
        hits.append(hit)
    missing = [hit for hit in hits if shown_name(hit) not in known]
    block = pack_known(missing, settings, reach)
    for rank, hit in enumerate(block.lessons, 1):
        layer, turn = homes[shown_name(hit)]
        tokens = block.tokens // len(block.lessons)
        row = (hit.card.id, card_digest(hit.card), tokens)
        layer.session_journal.record_injections(
            occasion.session, turn=turn, at=int(now(occasion)), cards=[row], ranks=[rank]
        )
    return block, [[homes[shown_name(hit)][0].root, hit.card.id] for hit in block.lessons]


def _question(asking: Sequence[Guarding], directory: str) -> str:
    """Return which lessons want a permission for which files, and where their cards lie."""
    from lessons_kb.guards.paths import show_path
    from lessons_kb.text.sanitize import clean_line, defang

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
