"""`lessons diet`: rules files keep what holds for every task; the rest becomes cards."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb.cards.parse import parse_card
from lessons_kb.cli.complete_drafts import open_ask, print_prompts
from lessons_kb.cli.options import open_brain
from lessons_kb.cli.output import (
    confirm,
    draw_progress,
    options,
    pick,
    print_json,
    print_table,
    print_wrapped,
    say,
)
from lessons_kb.diet.diet import (
    Diet,
    Diets,
    NewCard,
    Use,
    count_uses,
    find_gone,
    find_pairs,
    plan_cards,
    read_diet,
)
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.importers.rules_file import ALWAYS, WHEN, AgentRule, RulesFile
from lessons_kb.model import as_data
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.text.sanitize import clean_line, counted, shorten, visible
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.writers.complete import improve
from lessons_kb.writers.prompt import DIET_SCHEMA, build_diet_prompt

_SHOWN = 70


def diet(
    paths: Annotated[
        list[str] | None,
        Argument(
            metavar="FILE…",
            help="Rules files; default: those of the project, with what they import.",
        ),
    ] = None,
    apply: Annotated[
        bool, Option("--apply", help="Show the diff, ask, and move the rules.")
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask.")] = False,
    undo: Annotated[bool, Option("--undo", help="Take the last diet back, byte for byte.")] = False,
    check: Annotated[
        int | None,
        Option(
            "--check",
            metavar="N",
            min=0,
            help="Exit 1 if every session reads more than N tokens of rules.",
        ),
    ] = None,
    with_: Annotated[
        str | None,
        Option(
            "--with",
            metavar="[AGENT]",
            help="With --apply: have an agent add paths, symptoms and tags to the cards; see "
            "`lessons mine`.",
        ),
    ] = None,
    show_prompt: Annotated[
        bool, Option("--show-prompt", help="Print what would be sent, send nothing.")
    ] = False,
) -> None:
    """Move rules that apply now and then from rules files to cards.

    Each rule holds always, or when something is the case. Example: lessons diet CLAUDE.md
    """
    if undo:
        files, gone = Diets(open_brain()).undo()
        say(f"{', '.join(files)} restored; {counted(len(gone), 'card')} moved to the trash")
        return
    found = read_diet(os.getcwd(), paths or ())
    for note in found.notes:
        say(note)
    if check is not None:
        total = sum(estimate_tokens(file.text) for file in found.files if not file.globs)
        say(f"{total:,} tokens of rules in every session; {check:,} allowed")
        raise typer.Exit(int(total > check))
    cards, texts = plan_cards(found)
    named = {f"diet-{number}": card for number, card in enumerate(cards, 1)}
    prompts = {name: build_diet_prompt(card.text, found.tracked) for name, card in named.items()}
    if show_prompt:
        print_prompts(prompts)
        return
    if with_ is not None and cards:
        if not apply:
            raise InputError("--with writes into cards: add --apply, or --show-prompt")
        ask = open_ask(with_, prompts, "card", schema=DIET_SCHEMA, yes=yes)
        with interrupt_by_signals(), draw_progress("writing") as show:
            cards = improve(open_brain(), named, prompts, ask, files=found.tracked, progress=show)
    if apply:
        _apply(found, cards, texts, yes=yes)
        return
    sessions, uses = count_uses(found)
    if options().json:
        _print_data(found, cards, texts, uses)
        return
    _print_rules(found, uses if sessions else {})
    _print_remarks(found)
    _print_sum(found, cards, texts, sessions)


def _print_rules(found: Diet, uses: Mapping[str, Use]) -> None:
    columns = ["kind", "place", "rule", "why", *(["sessions", "broken"] if uses else [])]
    rows = []
    for kind in (ALWAYS, WHEN):
        for file, rule in ((f, one) for f in found.files for one in f.rules if one.kind == kind):
            use = uses.get(rule.words)
            told = [str(use.relevant), str(use.broken)] if use else ["", ""]
            row = [kind, f"{file.name}:{rule.line}", shorten(rule.words, _SHOWN), rule.reason]
            rows.append([*row, *(told if uses else [])])
    print_table(columns, rows, right="sessions broken")


def _print_remarks(found: Diet) -> None:
    verbs = {"same": "says the same as", "contradicts": "contradicts"}
    for kind, (name, one), (there, other) in find_pairs(found):
        what = f"{there}:{other.line} {verbs[kind]} {name}:{one.line}"
        print_wrapped(clean_line(f"{what}: {shorten(other.words, _SHOWN)}"))
    for file, rule, name in find_gone(found):
        print_wrapped(clean_line(f"{file.name}:{rule.line} names {name}, which is gone"))


def _print_sum(
    found: Diet, cards: Sequence[NewCard], texts: Mapping[str, str], sessions: int
) -> None:
    if sessions:
        say(f"sessions: of {counted(sessions, 'session')} of this machine, how many a rule met")
    for file in found.files:
        before, after = estimate_tokens(file.text), estimate_tokens(texts[file.name])
        where = f" (only for {', '.join(file.globs)})" if file.globs else ""
        told = clean_line(f"{file.name}: {before:,} tokens today, {after:,} afterwards{where}")
        print_wrapped(told)
    whole = [file for file in found.files if not file.globs]
    before = sum(estimate_tokens(file.text) for file in whole)
    after = sum(estimate_tokens(texts[file.name]) for file in whole)
    share = f" ({after / before - 1:.0%})" if before > after else ""
    titles = [card.title for card in cards]
    with contextlib.suppress(LessonsError):  # without a brain there was no diet
        titles += Diets(open_brain()).titles()
    listed = "\n".join(titles)
    print_wrapped(
        f"every session: {before:,} tokens today, {after:,} afterwards{share}, "
        f"and up to {estimate_tokens(listed):,} for the titles of {counted(len(titles), 'card')}"
    )
    if cards:
        say("next: `lessons diet --apply` shows the diff and asks")


def _print_data(
    found: Diet, cards: Sequence[NewCard], texts: Mapping[str, str], uses: Mapping[str, Use]
) -> None:
    def describe(rule: AgentRule) -> dict[str, object]:
        use = uses.get(rule.words)
        return {**pick(rule, "line", "text", "kind", "reason"), **(as_data(use) if use else {})}

    def weigh(file: RulesFile) -> dict[str, object]:
        tokens = {"tokens": estimate_tokens(file.text)}
        tokens["tokens_afterwards"] = estimate_tokens(texts[file.name])
        return {"path": file.name, "every_session": not file.globs, **tokens}

    pairs = [
        {"what": kind, "files": [name, there], "lines": [one.line, other.line]}
        for kind, (name, one), (there, other) in find_pairs(found)
    ]
    gone = [{"file": f.name, "line": rule.line, "path": name} for f, rule, name in find_gone(found)]
    files = [{**weigh(file), "rules": list(map(describe, file.rules))} for file in found.files]
    titles = [card.title for card in cards]
    print_json({"files": files, "cards": titles, "pairs": pairs, "gone": gone})


def _apply(found: Diet, cards: Sequence[NewCard], texts: Mapping[str, str], *, yes: bool) -> None:
    if not cards:
        say("no rule to move")
        return
    brains = open_brain()
    for file in found.files:
        old, new = (text.splitlines() for text in (file.text, texts[file.name]))
        for line in difflib.unified_diff(old, new, file.name, file.name, lineterm="", n=1):
            print(visible(line))
    for card in cards:
        print_wrapped(clean_line(f"card: {card.title} ({counted(len(card.rules), 'rule')})"))
        read = parse_card(card.text, path="lessons/new.md", folders={}).card
        for key in ("paths", "symptoms", "topics"):
            if values := getattr(read, key, ()):
                print_wrapped(f"  {key}: {clean_line('; '.join(values))}")
    if not (yes or confirm(f"Move these rules into {counted(len(cards), 'card')}?")):
        raise InputError("nothing was changed; --yes moves the rules without asking")
    made = Diets(brains).apply(found, cards, texts)
    say(f"{counted(len(made), 'card')} written; `lessons diet --undo` takes it back")
