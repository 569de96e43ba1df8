"""Let an agent compare cards, and let a person confirm the contradictions that it names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import typer

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.conflicts import Conflict
from lessons_kb.cards.draft_gaps import find_lacks
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sketch import Sketch
from lessons_kb.cli.complete_drafts import open_ask, print_prompts
from lessons_kb.cli.output import draw_progress, say
from lessons_kb.cli.write_card import CardOptions
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.compose_card import compose, redact_card
from lessons_kb.collection.contradictions import Verdicts, find_all, link, order_by_age
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.mining.draft_text import split_evidence
from lessons_kb.model import Card
from lessons_kb.process.clock import today
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.text.sanitize import clean_line, counted
from lessons_kb.writers.contradictions import (
    Pair,
    build_requests,
    judge_pairs,
    list_pairs,
    list_pairs_of,
)
from lessons_kb.writers.prompt import COMPARE_SYSTEM, CONTRADICTION_SCHEMA

_READ_FIRST = "add --yes, or --show-prompt to read it first"


def compare_brains(brains: Brains, command: str, *, yes: bool) -> None:
    """Let an agent compare the similar cards of each brain that were not compared yet."""
    brains.refresh()
    for brain in brains.members:
        pairs = list_pairs(brain)
        if pairs:
            _compare(brain, pairs, command, yes=yes, hint=_READ_FIRST)
        else:
            say(f"{clean_line(brain.root)}: no cards to compare")


def show_requests(brains: Brains) -> None:
    """Print the prompts that ``compare_brains`` would send."""
    brains.refresh()
    for brain in brains.members:
        prompts = build_requests(list_pairs(brain))
        named = {f"{brain.root} {number}": prompt for number, prompt in prompts.items()}
        print_prompts(named, system=COMPARE_SYSTEM)


def compare_new_card(
    brains: Brains, title: str, chosen: CardOptions, command: str, *, yes: bool
) -> None:
    """Let an agent compare a card that is about to be written, if the card is complete."""
    sketch = Sketch(title=" ".join(title.split()), **chosen.as_details())
    text = redact_card(compose(sketch, created=today(), whole=True))
    folders = brains.members[0].settings.folders
    document = parse_card(text, path="lessons/new.md", folders=folders)
    if document.card is None or find_lacks(document):
        return
    brains.refresh()
    for brain in brains.members:
        pairs = list_pairs_of(brain, document.card)
        _compare(brain, pairs, command, yes=yes, hint="add --yes")


def compare_drafts(brains: Brains, drafts: Sequence[Draft], command: str, *, yes: bool) -> None:
    """Let an agent compare complete drafts with the cards that are similar to them."""
    cards = [card for card in map(_read_draft, drafts) if card is not None]
    if not cards:
        return
    brains.refresh()
    for brain in brains.members:
        pairs = [pair for card in cards for pair in list_pairs_of(brain, card)]
        _compare(brain, pairs, command, yes=yes, hint="add --yes")


def _read_draft(draft: Draft) -> Card | None:
    text = split_evidence(draft.text)[0]
    return parse_card(text, path=f"lessons/{draft.id}.md", folders={}).card


def _compare(brain: Brain, pairs: Sequence[Pair], command: str, *, yes: bool, hint: str) -> None:
    """Let an agent compare pairs once the user has agreed, and print the result in one line."""
    if not pairs:
        return
    ask = open_ask(
        command,
        build_requests(pairs),
        "request",
        schema=CONTRADICTION_SCHEMA,
        yes=yes,
        system=COMPARE_SYSTEM,
        hint=hint,
    )
    with interrupt_by_signals(), draw_progress("comparing") as show:
        judgement = judge_pairs(brain.root, pairs, ask, progress=show)
    if judgement.problem:
        say(judgement.problem)
        return
    compared = counted(judgement.compared, "pair")
    found = counted(len(judgement.conflicts), "contradiction")
    say(f"{compared} of similar cards compared: {found}")


def confirm_contradictions(brains: Brains) -> None:
    """Ask the user about each pair of cards that an agent calls opposed.

    After a yes, the newer card names the older one in ``contradicts``. After a no, the pair is not
    reported again.
    """
    brains.refresh()
    for brain in brains.members:
        cards = brain.read(lambda one: one.catalogue.all_cards())
        for conflict in find_all(brain.root, cards):
            if conflict.is_judged:
                _confirm(brains, brain, conflict)


def _confirm(brains: Brains, brain: Brain, conflict: Conflict) -> None:
    newer, older = order_by_age(conflict.first, conflict.second)
    for card, demand in (
        (conflict.first, conflict.demand),
        (conflict.second, conflict.opposed),
    ):
        say(f"{clean_line(card.id)}: \u201c{clean_line(demand)}\u201d")
    question = "Shall an agent get only one of them? [y]es, [n]o, they go together, or [l]ater?"
    answer = typer.prompt(question, default="l", err=True).strip().casefold()[:1]
    if answer == "y":
        Cards(brains).rewrite(brain, newer.id, partial(_link, older=older.id))
        say(f"{clean_line(newer.id)}: contradicts {clean_line(older.id)}")
    elif answer == "n":
        Verdicts(brain.root).add([], [(conflict.first, conflict.second)])


def _link(card: Card, text: str, *, older: str) -> str:
    return link(text, card, [older])
