"""Export cards as rules in the formats of agents that run no hook of ours.

Each rule is in a marked block. The text of other authors around the block stays.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.find.retrieve import find_usable
from lessons_kb.freshness.refresh import refresh_standings
from lessons_kb.importers.exported_rules import (
    BEGINS,
    BLOCK,
    CARD_LEAD,
    CAUSE_LEAD,
    ENDS,
    FILES_LEAD,
)
from lessons_kb.ledger.effect import weigh_cards
from lessons_kb.ledger.lesson_effect import Effect
from lessons_kb.model import SEVERITIES, Card
from lessons_kb.store.files import read_regular, shown
from lessons_kb.text.sanitize import defang_line
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import field, frozen

_NOTE = "<!-- Written by `lessons export rules`; change the cards instead. -->"
_MAX_BYTES = 1_000_000
_NAME = "lessons-{}"
_HELPS = "helps"
_PLACES = {_HELPS: -1, "no effect": 1, "harms": 2}
"""Maps a verdict to the place of its cards in the export. Other verdicts have the place 0."""


@frozen
class RuleForm:
    """The rules of one agent: their location, and the form in which a header names their files."""

    folder: str
    """The folder of the files, relative to the project, or "" if all rules are in one file."""
    file: str
    """The name of a file with a placeholder, or the name of the only file."""
    scoped: Callable[[Sequence[str]], Mapping[str, object]] | None = None
    """Returns the header of a rule for some globs."""
    general: Mapping[str, object] = field(default_factory=dict)
    """The header of a rule that applies to every file."""


def _scope_claude(globs: Sequence[str]) -> Mapping[str, object]:
    return {"paths": list(globs)}


def _scope_copilot(globs: Sequence[str]) -> Mapping[str, object]:
    return {"applyTo": ",".join(globs)}


def _scope_cursor(globs: Sequence[str]) -> Mapping[str, object]:
    return {"globs": ",".join(globs), "alwaysApply": False}


def _scope_windsurf(globs: Sequence[str]) -> Mapping[str, object]:
    return {"trigger": "glob", "globs": ",".join(globs)}


FORMS: Mapping[str, RuleForm] = {
    "claude-code": RuleForm(folder=".claude/rules", file="{}.md", scoped=_scope_claude),
    "copilot-cli": RuleForm(
        folder=".github/instructions",
        file="{}.instructions.md",
        scoped=_scope_copilot,
        general={"applyTo": "**"},
    ),
    "cursor": RuleForm(
        folder=".cursor/rules",
        file="{}.mdc",
        scoped=_scope_cursor,
        general={"alwaysApply": True},
    ),
    "windsurf": RuleForm(
        folder=".windsurf/rules",
        file="{}.md",
        scoped=_scope_windsurf,
        general={"trigger": "always_on"},
    ),
    "agents-md": RuleForm(folder="", file="AGENTS.md"),
    "skill": RuleForm(
        folder="",
        file=".agents/skills/lessons/SKILL.md",
        general={
            "name": "lessons",
            "description": (
                "Lessons of mistakes made before in this project. Use before changing code: read"
                " the list, then the file of each lesson that concerns the task."
            ),
        },
    ),
}


@frozen
class RuleChange:
    """A file of an export, and whether it is up to date."""

    path: str
    """The path relative to the project."""
    before: bytes | None
    after: bytes | None
    """The new content, or None if the file is not needed any more."""

    @property
    def is_current(self) -> bool:
        """Return whether the content of the file is already the content of the export."""
        return self.before == self.after


@frozen
class RuleExport:
    """The planned content of an export."""

    changes: tuple[RuleChange, ...]
    cards: int
    left_out: tuple[str, ...]
    """The ids of the cards that exceed the budget, the best first."""


def plan_rules(brains: Brains, form_name: str, project: str, *, budget: int) -> RuleExport:
    """Plan the rules of the cards with the best record, up to ``budget`` tokens."""
    form = FORMS[form_name]
    ranked = _rank_cards(brains)
    write_rule = _write_index_line if form_name == "skill" else _write_rule
    chosen: list[tuple[Card, str]] = []
    left_out: list[str] = []
    used = 0
    for brain, card in ranked:
        place = os.path.relpath(os.path.join(brain.root, card.id), project)
        text = write_rule(card, place)
        tokens = estimate_tokens(text)
        if used + tokens <= budget:
            used += tokens
            chosen.append((card, text))
        else:
            left_out.append(card.id)
    files = _build_files(form, chosen)
    stale = {path for path in _list_written(form, project) if path not in files}
    changes = [_plan_file(project, path, files[path]) for path in sorted(files)]
    changes += [_plan_file(project, path, ("", "")) for path in sorted(stale)]
    return RuleExport(changes=tuple(changes), cards=len(chosen), left_out=tuple(left_out))


class _Rank(NamedTuple):
    """The sort key of a card in an export."""

    standing: int
    """The rank of its verdict. A helpful lesson comes first, a harmful one last."""
    difference: float
    """The share of sessions in which the lesson prevents its mistake, negated."""
    severity: int
    occurrences: int
    name: str


def _rank_cards(brains: Brains) -> list[tuple[Brain, Card]]:
    """Return the cards that may be injected today, with the best record first."""
    rows: list[tuple[_Rank, Brain, Card]] = []
    for brain in brains.members:
        refresh_standings(brain)
        cards = brain.read(partial(_find_exported, project=brains.project))
        effects = weigh_cards(brain, cards)
        rows += [(_rank_card(card, effects.get(card.id)), brain, card) for card in cards]
    rows.sort(key=lambda row: row[0])
    return [(brain, card) for _rank, brain, card in rows]


def _find_exported(brain: Brain, project: str | None) -> list[Card]:
    """Return the cards that may be injected today. A successor replaces its predecessors."""
    numbers = [number for number, _digest in brain.catalogue.numbers().values()]
    usable = find_usable(brain, numbers, project)
    return list({card.id: card for card in usable.values()}.values())


def _rank_card(card: Card, effect: Effect | None) -> _Rank:
    verdict = effect.verdict if effect is not None else ""
    return _Rank(
        standing=_PLACES.get(verdict, 0),
        difference=-effect.difference if effect is not None and verdict == _HELPS else 0.0,
        severity=-SEVERITIES.index(card.severity),
        occurrences=-card.occurrences,
        name=card.id,
    )


def _write_rule(card: Card, card_path: str) -> str:
    """Return a card as a rule: its title, cause and checklist."""
    lines = [f"## {defang_line(card.title)}", ""]
    if card.why:
        lines += [f"{CAUSE_LEAD}{defang_line(card.why)}", ""]
    lines += [f"- {defang_line(item)}" for item in card.checklist]
    return "\n".join([*lines, "", f"{CARD_LEAD}{card_path}", ""])


def _write_index_line(card: Card, card_path: str) -> str:
    """Return a card as a line of an index."""
    globs = ", ".join(f"`{glob}`" for glob in _plain_globs(card))
    files = f" ({globs})" if globs else ""
    return f"- {card_path}: {defang_line(card.title)}{files}\n"


def _plain_globs(card: Card) -> list[str]:
    """Return the globs of a card without a leading ``./``.

    Claude Code never loads a rule whose glob begins with it.
    """
    return [glob.removeprefix("./").lstrip("/") for glob in card.paths]


def _build_files(form: RuleForm, chosen: Sequence[tuple[Card, str]]) -> dict[str, tuple[str, str]]:
    """Return a mapping from each path of an export to the header and the text of its block."""
    if not form.folder:
        texts = [_name_paths(card, text, form) for card, text in chosen]
        return {form.file: (_write_header(form.general), "\n".join(texts))} if texts else {}
    files: dict[str, tuple[str, str]] = {}
    for card, text in chosen:
        slug = os.path.basename(card.id).rpartition(".")[0]
        path = f"{form.folder}/{form.file.format(_NAME.format(slug))}"
        number = 2
        while path in files:  # cards of two folders may have one file name
            path = f"{form.folder}/{form.file.format(_NAME.format(f'{slug}-{number}'))}"
            number += 1
        globs = _plain_globs(card)
        values = form.scoped(globs) if globs and form.scoped is not None else form.general
        files[path] = (_write_header(values), text)
    return files


def _name_paths(card: Card, text: str, form: RuleForm) -> str:
    """Return a rule that names its files, for a form whose header cannot name them."""
    globs = _plain_globs(card)
    if not globs or form.general:
        return text
    names = ", ".join(f"`{glob}`" for glob in globs)
    return f"{text}\n{FILES_LEAD}{names}.\n"


def _write_header(values: Mapping[str, object]) -> str:
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()]
    return "\n".join(["---", *lines, "---", "", ""]) if lines else ""


def _list_written(form: RuleForm, project: str) -> Iterator[str]:
    """Yield the files that an earlier export wrote."""
    if not form.folder:
        if BEGINS.encode() in (_read(os.path.join(project, form.file)) or b""):
            yield form.file
        return
    prefix, _, ending = form.file.partition("{}")
    folder = os.path.join(project, form.folder)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        is_named = name.startswith(prefix + _NAME.format("")) and name.endswith(ending)
        if is_named and BEGINS.encode() in (_read(os.path.join(folder, name)) or b""):
            yield f"{form.folder}/{name}"


def _plan_file(project: str, path: str, content: tuple[str, str]) -> RuleChange:
    """Plan the change of one file: replace or append its block, or remove it if it is empty."""
    before = _read(os.path.join(project, path))
    header, text = content
    old = (before or b"").decode("utf-8", "replace")
    block = f"{BEGINS}\n{_NOTE}\n\n{text.rstrip()}\n{ENDS}\n" if text else ""
    match = BLOCK.search(old)
    if match is not None:
        above = old[: match.start()]
        below = old[match.end() :]
        has_our_header = header and not _without_header(above).strip()
        new = f"{header if has_our_header else above}{block}{below}"
    elif old.strip():
        new = f"{old.rstrip()}\n\n{block}" if block else old
    else:
        new = header + block
    is_left = _without_header(new).strip() if not block else new
    return RuleChange(path=path, before=before, after=new.encode() if is_left else None)


def _without_header(text: str) -> str:
    """Return a text without the header that an export wrote."""
    return re.sub(r"\A---\n.*?^---\n", "", text, count=1, flags=re.DOTALL | re.MULTILINE)


def _read(path: str) -> bytes | None:
    try:
        return read_regular(path, limit=_MAX_BYTES, name=shown(path))
    except FileNotFoundError:
        return None
