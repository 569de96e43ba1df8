"""Report the versions of the clients and the approval of our hooks, for `lessons doctor`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lessons_kb.agents.install.install_agent import has_hooks
from lessons_kb.agents.table import AGENTS, Agent
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.collection.health import Health
from lessons_kb.model import NO_GATE, Card
from lessons_kb.process.programs import find_program
from lessons_kb.process.run import ask_in_lines

_SECONDS = 5.0
"""The maximum time to print a version or list hooks. Both usually take less than one second."""
_VERSION = re.compile(r"\d+(?:\.\d+)+")
_MAX_NAMED = 3
_APPROVE = "open `{}`, type /hooks and approve them"


def check_clients(project: str) -> Iterator[Health]:
    """Yield lines about the connected agents whose programs are on the PATH. Never raises."""
    for agent, row in AGENTS.items():
        program = find_program(row.program)
        if program is None or not has_hooks(agent, project):
            continue
        if row.tested_version:
            yield from _check_version(row, program)
        if row.hook_server:
            yield from _check_approval(row, program, project)


def advise_gates(project: str, brains: Brains) -> Iterator[Health]:
    """Yield a line about cards whose lesson reaches an agent's model only after the change."""
    names = [name for name, row in AGENTS.items() if row.late_before and has_hooks(name, project)]
    if not names:
        return
    cards = [card for brain in brains.members for card in _list_ungated(brain)]
    if not cards:
        return
    titles = ", ".join(card.id for card in cards[:_MAX_NAMED])
    more = f" and {len(cards) - _MAX_NAMED} more" if len(cards) > _MAX_NAMED else ""
    for name in names:
        detail = f"{name}: {AGENTS[name].late_before}, its model reads {titles}{more}"
        fix = "add `gate: once` to a card that must arrive before the change"
        yield Health("off", "agent", detail, fix)


def _list_ungated(brain: Brain) -> list[Card]:
    """Return the cards of high severity that protect files and have no gate."""
    if brain.state is None:
        return []
    cards = brain.read(lambda opened: opened.catalogue.all_cards())
    return [
        card
        for card in cards
        if card.severity == "high" and card.paths and card.gate == NO_GATE and card.is_injectable
    ]


def _check_version(row: Agent, program: str) -> Iterator[Health]:
    """Yield a line if the client is newer than the version we ran, or if npm held it back."""
    version = _read_version(program)
    numbers = _split_version(version)
    if row.held_version and version == row.held_version:
        detail = (
            f"{row.name}: version {version} is installed; npm installs it silently where Node.js"
            f" is older than {row.newer_node}"
        )
        fix = f"use Node.js {row.newer_node} or later, then install {row.program} again"
        yield Health("warning", "agent", detail, fix)
    elif numbers > _split_version(row.tested_version):
        tested = f"lessons-kb was tested with {row.tested_version}"
        detail = f"{row.name}: version {version} is installed; {tested}"
        yield Health("off", "agent", detail)


def _read_version(program: str) -> str:
    """Return the version that a client prints, or "" if it prints none in time."""
    line = ask_in_lines(
        [program, "--version"],
        [],
        is_answer=lambda line: bool(_VERSION.search(line)),
        seconds=_SECONDS,
    )
    match = _VERSION.search(line or "")
    return match[0] if match else ""


def _split_version(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("."))) if version else ()


def _check_approval(row: Agent, program: str, project: str) -> Iterator[Health]:
    """Yield a line if there are hooks of ours that the user has not approved."""
    module = row.module
    answer = ask_in_lines(
        [program, *row.hook_server.split()],
        module.ask_for_hooks(project),
        is_answer=lambda line: module.read_unapproved(line) is not None,
        seconds=_SECONDS,
        cwd=project,
    )
    events = module.read_unapproved(answer or "")
    if events:
        names = ", ".join(events)
        detail = f"{row.name}: hooks are written, not approved, and skipped silently: {names}"
        yield Health("warning", "agent", detail, _APPROVE.format(row.program))
