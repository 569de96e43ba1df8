"""`lessons why`: explain why a lesson was injected or not."""

from __future__ import annotations

import contextlib
import datetime as dt
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

from typer import Argument, Option

from lessons_kb import render
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.standings import list_remarks
from lessons_kb.cli.options import Paths, Stage, complete_ids, open_brain
from lessons_kb.cli.output import confirm, options, print_json, print_wrapped, say
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.collection.prompt_text import shorten_prompt
from lessons_kb.errors import AmbiguousCard, CardNotFound, InputError
from lessons_kb.model import SERVED, as_data
from lessons_kb.on_demand import CARD_EDITS, CARD_ORIGIN, load
from lessons_kb.outcome.near_miss import find_missed, find_near_miss
from lessons_kb.outcome.why import UNNOTED, Verdict, Why, explain_prompt, find_why
from lessons_kb.preflight.block import footer
from lessons_kb.preflight.offers import OFFERED
from lessons_kb.process.clock import today
from lessons_kb.store.locations import FIRST_LESSON
from lessons_kb.text.sanitize import ago, clean_line, counted, shell_word, shorten

_MAX_OFFERED, _MAX_PROMPT = 200, 300
"""The numbers of characters of a prompt in a question and in an explanation."""


def _offer(brains: Brains, near_miss: Verdict, prompt: str) -> None:
    """Offer to add the prompt to a card's symptoms. Without a terminal, print the command."""
    symptom = shorten_prompt(prompt)
    shown = shorten(clean_line(symptom), _MAX_OFFERED)
    name = clean_line(near_miss.id)
    confidence = f"{near_miss.confidence:.2f}"
    say(f"{name} was nearly injected ({confidence}) for \u201c{shown}\u201d")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        command = f"lessons why --add-symptom {near_miss.id} {shell_word(symptom)}"
        say(f"`{command}` adds it as a symptom")
    elif confirm("Add this prompt as a symptom of the card?"):
        _teach(brains, near_miss.id, prompt)


def _teach(brains: Brains, name: str, prompt: str) -> None:
    """Add a prompt to a card's symptoms, and print a confirmation."""
    card = load(CARD_EDITS).CardEdits(brains).teach(name, "symptoms", prompt)
    say(f"{clean_line(card.id)}: + symptoms: \u201c{clean_line(shorten_prompt(prompt))}\u201d")


def why(
    prompt: Annotated[
        list[str] | None,
        Argument(metavar="PROMPT...", help="Prompt to explain; nothing is recorded."),
    ] = None,
    session: Annotated[
        str | None,
        Option("--session", metavar="SESSION", help="Session to explain; default: the latest."),
    ] = None,
    path: Paths = None,
    stage: Stage = None,
    add_symptom: Annotated[
        str | None,
        Option(
            "--add-symptom",
            metavar="ID",
            help="Add the prompt to the symptoms of this card.",
            autocompletion=complete_ids,
        ),
    ] = None,
) -> None:
    """Explain what was injected last, and why the rest was not.

    With an ID, a unique beginning of it or a short name such as L2 instead of a prompt, print the
    card's sources and its standing.
    If a card was nearly injected, the command offers to add the prompt to its symptoms.

    Example: lessons why "Add a Telegram command that runs a shell script"
    """
    text = " ".join(prompt or ())
    if prompt and not text.strip():
        raise InputError("the prompt is empty; leave it out to explain the last one")
    brains = open_brain()
    if prompt and len(prompt) == 1 and add_symptom is None and load(CARD_ORIGIN).tell(brains, text):
        return
    reasons: Why | None
    if prompt:
        paths = tuple(path or ())
        reasons = explain_prompt(brains, text, session=session, paths=paths, stage=stage)
    else:
        reasons = find_why(brains, session)
    if add_symptom is not None:
        if reasons is None or not reasons.prompt:
            raise InputError("no prompt to add; name it, as in `lessons why PROMPT`")
        _teach(brains, add_symptom, reasons.prompt)
        return
    if options().json:
        print_json(as_data(reasons) if reasons else None)
        return
    if reasons is None:
        where = f"for session {session!r}" if session else "yet"
        print_wrapped(f"no prompts recorded {where}; `lessons why PROMPT` explains a prompt")
        return
    language = brains.members[0].settings.language
    for line in _explain(reasons, language, _list_remarks(brains, reasons)):
        print_wrapped(line)
    if reasons.source == UNNOTED:
        say("this session recorded no reasons")
    if near_miss := find_near_miss(reasons):
        _offer(brains, near_miss, reasons.prompt)
    elif missed := find_missed(reasons):
        name, symptom = clean_line(missed.id), shell_word(shorten_prompt(reasons.prompt))
        print_wrapped("If one of these cards is about the prompt, add the prompt to its symptoms:")
        print_wrapped(f"  lessons why --add-symptom {name} {symptom}")


def _ago(at: float) -> str:
    """Return a date and time, and how long ago they were."""
    return f"{dt.datetime.fromtimestamp(at):%Y-%m-%d %H:%M}, {ago(time.time() - at)}"


def _list_remarks(brains: Brains, why: Why) -> dict[str, Sequence[str]]:
    """Return a mapping from the id of each injected card to the remarks on its standing.

    The indexes are fresh, because the explanation has just read them.
    """
    lookup = CardLookup(brains)
    remarks: dict[str, Sequence[str]] = {}
    for verdict in (*why.verdicts, *why.later, *why.earlier):
        if verdict.given:
            with contextlib.suppress(
                CardNotFound, AmbiguousCard
            ):  # a card of a server, or one that was deleted
                card = lookup.find(verdict.id, fresh=False)[1]
                remarks[verdict.id] = list_remarks(card, today())
    return remarks


def _explain(why: Why, language: str, remarks: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the lines of the explanation: the injected and suppressed cards, with the reasons."""
    words = render.words_by_term(why.prompt)
    injected = [verdict for verdict in why.verdicts if verdict.given]
    if why.at:
        agent = f" ({clean_line(why.agent)})" if why.agent else ""
        session = clean_line(why.session)
        where = f"Session {session}{agent}" if session else "Outside any session"
        yield f"{where}, {_ago(why.at)}"
    if why.prompt:
        yield f"Prompt: {shorten(clean_line(why.prompt), _MAX_PROMPT)}"
    if injected:
        yield footer([verdict.id for verdict in injected], language)
    yield ""
    offered = [verdict for verdict in why.verdicts if verdict.offered]
    cost = ""
    if injected and why.tokens:
        offers = ", offers included" if offered else ""
        cost = f" ({counted(why.tokens, 'token')}{offers})"
    yield f"Injected{cost}:"
    yield from _list_verdicts(injected, "✓", words, remarks)
    if offered:
        yield "Offered by title:"
        yield from _list_verdicts(offered, "?", words, remarks)
    yield "Suppressed:"
    suppressed = [verdict for verdict in why.verdicts if not (verdict.given or verdict.offered)]
    yield from _list_verdicts(suppressed, "✗", words, remarks)
    for title, verdicts in (
        ("Injected later:", why.later),
        ("Already in the context:", why.earlier),
    ):
        if verdicts:
            yield title
            yield from _list_verdicts(verdicts, "✓", words, remarks)
    if why.named:
        yield "Named by title before a change:"
        yield from _list_verdicts(why.named, "?", words, remarks)
    if why.words_only:
        yield (
            "Only words were searched: a hook without a daemon does not load the model of"
            " [semantic], and a daemon that has just started has not loaded it yet."
        )
    if why.withheld:
        yield "Withheld from this session, to compare with [effect.withhold]:"
        yield from (f"  ✗ {clean_line(card)}" for card in why.withheld)


def format_confidence(confidence: float, *thresholds: float | None) -> str:
    """Return a confidence with enough digits to show that it is below a threshold."""
    text = f"{confidence:.2f}"
    for least in thresholds:
        if least is not None and confidence < least and text == f"{least:.2f}":
            return f"{confidence:.4f}"
    return text


def _tell_difference(one: Verdict) -> str:
    """Describe the thresholds that a card missed, and the words that would raise its score."""
    text = f"a lesson takes {one.lesson_at:.2f}"
    if one.title_at is not None and not one.offered:
        text += f", a title {one.title_at:.2f}"
    if one.with_missing is not None:
        words = ", ".join(f"“{clean_line(word)}”" for word in one.missing)
        text += f"; with {words} in the prompt it would be {one.with_missing:.2f}"
    return text


def _describe_missing(card_id: str) -> str:
    """Describe a card that was given, but that is in no brain of this machine now."""
    if SERVED in card_id:
        return "a server's card"
    if card_id.endswith(FIRST_LESSON):
        return "the first lesson of `lessons setup`, which removed itself after it had arrived"
    return "a card that no longer exists"


def _list_verdicts(
    verdicts: Sequence[Verdict],
    mark: str,
    words: Mapping[str, str],
    remarks: Mapping[str, Sequence[str]],
) -> Iterator[str]:
    for verdict in verdicts:
        facts = [clean_line(verdict.id)]
        if verdict.confidence is not None:
            confidence = format_confidence(verdict.confidence, verdict.lesson_at, verdict.title_at)
            facts.append(f"confidence {confidence}")
        if verdict.changed:
            facts.append("changed since")
        if verdict.given:
            yield f"  {mark} {clean_line(verdict.title) or _describe_missing(verdict.id)}"
            yield f"    {', '.join(facts)}"
            yield from (f"    {clean_line(remark)}" for remark in remarks.get(verdict.id, ()))
        else:
            yield f"  {mark} {', '.join(facts)}"
        reason = render.in_words(clean_line(verdict.reason), words)
        reason = reason.removeprefix("suppressed: ").removeprefix(OFFERED)
        if reason:
            yield f"    {reason}{f' [{verdict.rule}]' if verdict.rule else ''}"
        if verdict.symptom:
            yield f"    closest symptom: “{clean_line(verdict.symptom)}”"
        if verdict.is_below_threshold and verdict.lesson_at is not None:
            yield f"    {_tell_difference(verdict)}"
    if not verdicts:
        yield "  nothing"
