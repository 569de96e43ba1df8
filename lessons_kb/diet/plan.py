"""Plan a diet: which rules move, why the other rules stay, and how many tokens sessions then
read.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sketch import format_patterns
from lessons_kb.collection.card_edits import today
from lessons_kb.collection.exchange import card_text
from lessons_kb.diet.condition import Condition
from lessons_kb.diet.diet import Diet
from lessons_kb.diet.probes import (
    Occasion,
    contains_rule,
    find_failing,
    make_occasions,
    open_proof,
)
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.proposals import may_have_condition
from lessons_kb.diet.read_condition import find_condition
from lessons_kb.diet.transaction import FileEdit, MovedRule
from lessons_kb.importers.incoming import PREVENTION, SITUATION, Incoming, make_origin
from lessons_kb.importers.rules_file import AgentRule, RulesFile, as_item, title_of
from lessons_kb.model import ONCE_GATE, RULE, Card, Pattern
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import field, frozen, mutable, replace

SCOPED = "its file is read only for some files, so moving it saves nothing"
IMPORTED = "its file is read only by an import; name the file to change it"
LINKED = "its file has a second name (a hard link)"
TWICE = "the same rule is also in another place"
NOT_WHOLE = "a card cannot contain it word for word"
NOTHING_SAVED = "moving it would save nothing"
NOT_ARRIVED = "it would not arrive at {}"


@frozen
class Move:
    """A rule that moves into a card."""

    file: str
    rule: AgentRule
    condition: Condition
    title: str
    text: str
    """The text of the card."""
    proof: str = ""
    """The occasions on which an agent got the rule in the proof."""


@frozen
class Stay:
    """A rule that stays in its file, and the reason."""

    file: str
    rule: AgentRule
    reason: str


Propose = Callable[[Sequence[Stay], Project], Mapping[int, Condition]]
"""Returns a mapping from the positions of rules to their conditions, for rules with a condition."""


@mutable
class Plan:
    """The changes of a diet."""

    moves: list[Move] = field(default_factory=list)
    stays: list[Stay] = field(default_factory=list)
    texts: dict[str, str | None] = field(default_factory=dict)
    """The text of each file after the diet, or None if the file is removed."""
    closed: set[str] = field(default_factory=set)
    """The files of which no rule may move."""

    def rules(self) -> list[MovedRule]:
        """Return the rules that the transaction writes as cards."""
        return [
            MovedRule(file=move.file, words=move.rule.words, title=move.title, card=move.text)
            for move in self.moves
        ]

    def list_asked(self, diet: Diet) -> list[Stay]:
        """Return the rules that stay, and for which an agent may propose a condition."""
        words = Counter(rule.words for file in diet.files for rule in file.rules)
        unique = [stay for stay in self.stays if words[stay.rule.words] == 1]
        free = [stay for stay in unique if stay.file not in self.closed]
        return [stay for stay in free if may_have_condition(stay.rule, stay.reason)]

    def edits(self, diet: Diet) -> list[FileEdit]:
        """Return the edits that the transaction makes, with the bytes that were read."""
        edits = []
        for file in diet.files:
            after = self.texts[file.name]
            if after != file.text:
                data = None if after is None else after.encode()
                edits.append(FileEdit(name=file.name, before=file.text.encode(), after=data))
        return edits


def plan_diet(
    diet: Diet,
    brain: Brain | None,
    *,
    stay: Callable[[RulesFile], str] = lambda _file: "",
    propose: Propose = lambda _stays, _project: {},
    improve: Callable[[list[Move]], list[Move]] = lambda moves: moves,
    progress: Callable[[int, int], object] = lambda _done, _all: None,
) -> Plan:
    """Return the plan of a diet. A rule moves only if the proof shows that agents get it.

    ``stay`` returns why no rule of a file may move; the reason is given for rules that would move
    without it. ``propose`` may return conditions of rules in which no condition was found.
    ``improve`` may extend the cards of the candidates. Both run before the proof. Nothing is
    written.
    """
    plan = Plan()
    own = {file.name for file in diet.files}
    project = Project(files=[path for path in diet.tracked if path not in own])
    reasons = {file.name: stay(file) for file in diet.files}
    plan.closed = {name for name, reason in reasons.items() if reason}
    found = _find_candidates(diet, project, plan)
    candidates = [move for move in found if move.file not in plan.closed]
    candidates += _find_proposed(diet, project, plan, propose)
    candidates = improve(candidates)
    candidates += [move for move in found if move.file in plan.closed]
    proved = _prove(diet, brain, candidates, plan, progress)
    for move in _keep_saving(diet, proved, plan):
        if move.file in plan.closed:
            reason = reasons[move.file]
            plan.stays.append(Stay(file=move.file, rule=move.rule, reason=reason))
        else:
            plan.moves.append(move)
    for file in diet.files:
        plan.texts[file.name] = _text_afterwards(file, _lines(plan.moves, file))
    return plan


def _find_candidates(diet: Diet, project: Project, plan: Plan) -> list[Move]:
    candidates = []
    counts = Counter(rule.words for file in diet.files for rule in file.rules)
    for file in diet.files:
        reason = _why_file_stays(diet, file)
        for rule in file.rules:
            condition, why = (None, reason) if reason else find_condition(rule, project)
            if condition is not None and counts[rule.words] > 1:
                condition, why = None, TWICE
            move = _make_move(file, rule, condition) if condition is not None else None
            if move is None:
                plan.stays.append(Stay(file=file.name, rule=rule, reason=why or NOT_WHOLE))
            else:
                candidates.append(move)
    return candidates


def _find_proposed(diet: Diet, project: Project, plan: Plan, propose: Propose) -> list[Move]:
    """Return the moves of rules with proposed conditions, and remove these rules from the stays."""
    files = {file.name: file for file in diet.files}
    asked = plan.list_asked(diet)
    moves = []
    for number, condition in propose(asked, project).items():
        stay = asked[number]
        move = _make_move(files[stay.file], stay.rule, condition)
        if move is not None:
            plan.stays.remove(stay)
            moves.append(move)
    return moves


def _why_file_stays(diet: Diet, file: RulesFile) -> str:
    if file.globs:
        return SCOPED
    if file.name in diet.imported:
        return IMPORTED
    if file.name in diet.linked:
        return LINKED
    return ""


def _make_move(file: RulesFile, rule: AgentRule, condition: Condition) -> Move | None:
    """Return the move of a rule, or None if no card can contain the rule word for word."""
    title = title_of(rule)
    base = os.path.basename(file.name)
    above = " > ".join(filter(None, (rule.title, *rule.headings)))
    under = f" under “{above}”" if above else ""
    lead = f"{rule.lead}\n\n" if rule.lead else ""
    lesson = Incoming(
        title=title,
        where=f"{file.name}:{rule.line}",
        origin=make_origin("rules", base, rule.text),
        sections=((SITUATION, f"From {base}{under}."), (PREVENTION, lead + as_item(rule.text))),
        paths=(*condition.globs, *condition.drafts),
        source=RULE,
        # Context for a call reaches the model with the result of the call, too late for such a
        # command.
        gate=ONCE_GATE if condition.has_to_come_first else None,
    )
    text = card_text(lesson, created=today(), folders={})
    if condition.pattern:
        text = _add_pattern(text, Pattern(kind="command", text=condition.pattern))
    card = parse_card(text, path="lessons/new.md", folders={}).card
    if card is None or card.source != RULE or not _holds(card, rule):
        return None
    if condition.pattern and not card.detect:
        return None
    return Move(file=file.name, rule=rule, condition=condition, title=title, text=text)


def _holds(card: Card, rule: AgentRule) -> bool:
    return contains_rule("\n".join(card.checklist), rule.text)


def _add_pattern(text: str, pattern: Pattern) -> str:
    """Return a card's text with a pattern added to its header, which must have no pattern."""
    end = text.rindex("---", 0, len(text) - len(split_header(text).body))
    return f"{text[:end]}{format_patterns([pattern])}\n{text[end:]}"


def with_keys(move: Move, changes: Mapping[str, tuple[str, ...]]) -> Move:
    """Return a move with some header keys of its card changed."""
    return replace(move, text=edit_header(move.text, dict(changes)))


def _prove(
    diet: Diet,
    brain: Brain | None,
    candidates: Sequence[Move],
    plan: Plan,
    progress: Callable[[int, int], object],
) -> list[Move]:
    """Return the candidates that agents get in the proof, and list the others as stays."""
    if not candidates:
        return []
    cards = {f"lessons/diet-{number}.md": move.text for number, move in enumerate(candidates)}
    rules = [(move.rule.text, move.condition) for move in candidates]
    with open_proof(cards, diet.root, brain) as proof:
        failing = find_failing(proof, rules, progress)
    proved = []
    for place, move in enumerate(candidates):
        if place in failing:
            reason = NOT_ARRIVED.format(failing[place])
            plan.stays.append(Stay(file=move.file, rule=move.rule, reason=reason))
        else:
            proved.append(replace(move, proof=_describe(make_occasions(move.condition))))
    return proved


def _describe(occasions: Sequence[Occasion]) -> str:
    return f"arrives at {', '.join(dict.fromkeys(map(str, occasions)))}"


def _keep_saving(diet: Diet, moves: Sequence[Move], plan: Plan) -> list[Move]:
    """Return the moves of the files that become smaller, including the added pointer."""
    kept: list[Move] = []
    for file in diet.files:
        own = [move for move in moves if move.file == file.name]
        after = _text_afterwards(file, _lines(own, file)) or ""
        if own and estimate_tokens(after) < estimate_tokens(file.text):
            kept += own
            continue
        for move in own:
            plan.stays.append(Stay(file=move.file, rule=move.rule, reason=NOTHING_SAVED))
    return kept


def _lines(moves: Sequence[Move], file: RulesFile) -> set[int]:
    return {move.rule.line for move in moves if move.file == file.name}


def _text_afterwards(file: RulesFile, lines: set[int]) -> str | None:
    """Return the text of a file without some rules, or None if a scoped file has no rules left."""
    if lines and file.globs and not file.has_rules_besides(lines):
        return None
    return file.without(lines)


def count_every_session(diet: Diet) -> int:
    """Return the tokens of the rules that every session reads."""
    return sum(estimate_tokens(file.text) for file in diet.files if not file.globs)


def count_afterwards(diet: Diet, plan: Plan) -> int:
    """Return the tokens of the rules that every session reads after the diet.

    The cards add nothing to the list of titles, because a rule is given only where it applies.
    """
    texts = (plan.texts[file.name] or "" for file in diet.files if not file.globs)
    return sum(map(estimate_tokens, texts))
