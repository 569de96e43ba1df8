"""The command why: what was injected last, why, and which rule suppressed the rest."""

from __future__ import annotations

import datetime as dt
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated

import typer

from lessons_kb import render
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.cards import tell_prompt
from lessons_kb.brain.why import (
    UNNOTED,
    NearMiss,
    Verdict,
    Why,
    explain_prompt,
    find_prompt,
    find_why,
    nearest,
)
from lessons_kb.cli.options import open_brain, options, print_json, print_wrapped, say
from lessons_kb.errors import InputError
from lessons_kb.learn.lesson_effect import MARKS
from lessons_kb.model import SERVED, as_data
from lessons_kb.text.sanitize import clean_line, counted, shell_word

_MAX_SHOWN = 200
"""Characters of a prompt in a question."""


def offer(brain: Brain, near: NearMiss) -> None:
    """Ask whether a prompt is to become a symptom; without a terminal, say how it would."""
    told = tell_prompt(near.prompt)
    shown = clean_line(told)
    if len(shown) > _MAX_SHOWN:
        shown = shown[: _MAX_SHOWN - 1] + "…"
    say(f"held back near {clean_line(near.card)} ({near.confidence:.2f}): \u201c{shown}\u201d")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        say(f"`lessons why --add-symptom {near.card} {shell_word(told)}` adds it as a symptom")
    elif typer.confirm("Add this prompt as a symptom of the card?", default=False, err=True):
        teach(brain, near.card, near.prompt)


def teach(brain: Brain, name: str, prompt: str) -> None:
    """Write a prompt into a card's symptoms, and say so."""
    card = brain.cards.add_symptom(name, prompt)
    say(f"{clean_line(card.id)} is found by \u201c{clean_line(tell_prompt(prompt))}\u201d")


_MAX_PROMPT = 300
"""Characters of a prompt that are shown."""


def why(
    prompt: Annotated[
        list[str] | None,
        typer.Argument(metavar="PROMPT", help="Prompt to explain; nothing is recorded."),
    ] = None,
    session: Annotated[
        str | None, typer.Option(help="Session to explain; default: the latest.")
    ] = None,
    path: Annotated[
        list[str] | None,
        typer.Option(
            "--path", metavar="FILE", help="With PROMPT: file being worked on; repeatable."
        ),
    ] = None,
    stage: Annotated[str | None, typer.Option(help="With PROMPT: workflow stage.")] = None,
    add_symptom: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Add the prompt to the symptoms of this card."),
    ] = None,
) -> None:
    """Explain what was injected last, and why the rest was not.

    On a terminal it offers to teach the prompt to a card that was nearly injected.

    Example: lessons why "Add a Telegram command that runs a shell script"
    """
    text = " ".join(prompt or ())
    if prompt and not text.strip():
        raise InputError("the prompt is empty; leave it out to explain the last one")
    brain = open_brain()
    told = find_why(brain, session) if not prompt else None
    if prompt:
        told = explain_prompt(brain, text, session=session, paths=tuple(path or ()), stage=stage)
    if add_symptom is not None:
        if told is None or not told.prompt:
            raise InputError("no prompt to add; name it, as in `lessons why PROMPT`")
        teach(brain, add_symptom, told.prompt)
        return
    if options().json:
        print_json(as_data(told) if told else None)
        return
    if told is None:
        where = f"for session {session!r}" if session else "yet"
        say(f"no prompts recorded {where}; `lessons why PROMPT` explains a prompt")
        return
    language = brain.layers[0].settings.language
    for line in _why_lines(told, language, when=_ago(told.at) if told.at else ""):
        print_wrapped(line)
    if told.source == UNNOTED:
        say("this session recorded no reasons")
    if near := nearest(told.prompt, told.verdicts):
        offer(brain, near)


def _ago(at: float) -> str:
    """Return how long ago, in the largest unit that is at least one."""
    seconds = max(time.time() - at, 0)
    when = f"{dt.datetime.fromtimestamp(at):%Y-%m-%d %H:%M}"
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= size:
            return f"{when}, {int(seconds // size)} {unit} ago"
    return f"{when}, now"


def _why_lines(why: Why, language: str = "en", *, when: str = "") -> Iterator[str]:
    """Yield the lines that say what a prompt brought and what was held back by which setting.

    ``when`` says when it was; nothing is wrapped.
    """
    words = render.words_by_term(why.prompt)
    given = [one for one in why.verdicts if one.given]
    held = [one for one in why.verdicts if not one.given]
    if when:
        agent = f" ({clean_line(why.agent)})" if why.agent else ""
        session = clean_line(why.session)
        yield f"{f'Session {session}{agent}' if session else 'Outside any session'}, {when}"
    if why.prompt:
        yield f"Prompt: {_shortened(clean_line(why.prompt))}"
    if given:
        yield render.footer([one.id for one in given], language)
    yield ""
    yield f"Injected ({counted(why.tokens, 'token')}):" if given and why.tokens else "Injected:"
    yield from _verdict_lines(given, "✓", words)
    yield "Suppressed:"
    yield from _verdict_lines(held, "✗", words)
    for title, verdicts in (
        ("Injected later:", why.later),
        ("Already in the context:", why.earlier),
    ):
        if verdicts:
            yield title
            yield from _verdict_lines(verdicts, "✓", words)


def _verdict_lines(
    verdicts: Sequence[Verdict], mark: str, words: Mapping[str, str]
) -> Iterator[str]:
    for one in verdicts:
        facts = [clean_line(one.id)]
        if one.given:
            missing = "a server's card" if SERVED in one.id else "a card that no longer exists"
            yield f"  {mark} {clean_line(one.title) or missing}"
        if one.confidence is not None:
            facts.append(f"confidence {one.confidence:.2f}")
        if one.changed:
            facts.append("changed since")
        yield f"    {', '.join(facts)}" if one.given else f"  {mark} {', '.join(facts)}"
        reason = render.in_words(clean_line(one.reason), words).removeprefix("suppressed: ")
        if reason:
            yield f"    {reason}{f' [{one.rule}]' if one.rule else ''}"
    if not verdicts:
        yield "  nothing"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_PROMPT else text[: _MAX_PROMPT - 1] + "…"


def mark(
    card: Annotated[str, typer.Argument(metavar="ID", help="Path, slug, or prefix.")],
    what: Annotated[str, typer.Argument(metavar="MARK", help="helpful, harmful, or irrelevant.")],
    session: Annotated[
        str | None, typer.Option(help="Session that the mark is about; one mark per session.")
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(help="With irrelevant: the prompt. Default: the last one with this card."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With irrelevant: write it without asking.")
    ] = False,
) -> None:
    """Record that a lesson helped, misled or was not relevant.

    For an irrelevant one it also offers to write the prompt into the card's `not-for`: the card
    stays silent for that prompt and its like.

    Example: lessons mark telegram-allowlist irrelevant --prompt "rename the bot"
    """
    brain = open_brain()
    effect = brain.stats.mark(card, what, session=session)
    told = ""
    if what == "irrelevant":
        told = tell_prompt(prompt if prompt is not None else find_prompt(brain, effect.card))
    if options().json:
        print_json(as_data(effect))
    else:
        counts = ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)
        print(f"{clean_line(effect.name)} marked {what} ({counts})")
    if told:
        _write(brain, effect.name, told, sure=yes)
    elif what == "irrelevant":
        say("no prompt with this lesson is remembered; name it with --prompt")


def _write(brain: Brain, name: str, prompt: str, *, sure: bool) -> None:
    shown = clean_line(prompt)
    ask = sys.stdin.isatty() and sys.stderr.isatty()
    question = f"Write not-for: \u201c{shown}\u201d into {clean_line(name)}?"
    if sure or (ask and typer.confirm(question, default=False, err=True)):
        brain.cards.add_not_for(name, prompt)
        say(f"{clean_line(name)} stays silent for \u201c{shown}\u201d")
    elif not ask:
        say(f"add --yes to write \u201c{shown}\u201d into the card\u2019s not-for")
