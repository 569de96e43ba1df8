"""`lessons stats`, `lessons report` and `lessons eval`: what the cards did, and how well."""

from __future__ import annotations

import datetime as dt
import math
import os
import sys
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Annotated

import typer
from typer import Option

from lessons_kb.cli.options import OnlyProject, OnlyStage, open_brain, read_file, relative_path
from lessons_kb.cli.output import (
    options,
    pick,
    print_answer,
    print_beside,
    print_bold,
    print_json,
    print_table,
    print_wrapped,
    say,
    terminal_width,
)
from lessons_kb.cli.why import count_marks
from lessons_kb.errors import InputError
from lessons_kb.ledger.lesson_effect import (
    ADDRESSED,
    INJECTED,
    UNADDRESSED,
    VERDICTS,
    Effect,
    Overview,
    Rate,
    count_verdicts,
    never_used,
    noisy,
    tell_added,
    tell_difference,
    tell_outcomes,
    tell_pooled,
    top,
)
from lessons_kb.model import KNOWN_OUTCOMES, WITHHELD, as_data
from lessons_kb.outcome.evaluation import MISS, Fault, Report
from lessons_kb.outcome.evaluation import evaluate as measure
from lessons_kb.relevance.evaluation_measures import parse_labelled
from lessons_kb.report.page import build_page, file_link
from lessons_kb.store.card_files import read_template
from lessons_kb.store.error_log import LATE_DAYS
from lessons_kb.store.files import write_export
from lessons_kb.text.sanitize import clean_line, counted, shorten

History = tuple[tuple[str, str, int], ...]
ROWS = 10
"""Rows of each table unless all are asked for as JSON."""
_DAYS = 20
_SPARKS = "▁▂▃▄▅▆▇█"
_URGENT = ("archive", "promote", "edit")
_NEVER = VERDICTS[-1]
_COLUMNS = (
    "addressed: items of the checklist that answers addressed, of those checked; without, with: "
    "sessions in which the mistake was left, of those without and with the lesson; blank or not "
    "shown: no such session yet (`[effect] withhold` makes those without)"
)
_HISTORY = {
    INJECTED: "injected",
    ADDRESSED: "addressed",
    UNADDRESSED: "missed",
    **{outcome: outcome for outcome in KNOWN_OUTCOMES},
    "bumped": "bumped",
    "helpful": "helpful",
    "harmful": "harmful",
}
"""What is counted by day → its column."""


def stats(card: str | None = None, stage: OnlyStage = None, project: OnlyProject = None) -> None:
    """Show what was injected, what came back, and what helps.

    With `[effect] withhold = 0.1` in your own settings each lesson is withheld from a tenth of
    your sessions, to compare with; see docs/effect.md.

    Example: lessons stats telegram-allowlist

    [ID]  One card: path, slug, or prefix.
    """
    noun = open_brain().stats
    if card is not None:
        effect, history = noun.effect(card), noun.history(card)
        if options().json:
            rows = [{"day": day, "what": what, "times": n} for day, what, n in history]
            print_json({**as_data(effect), "history": rows})
        else:
            _print_effect(effect, history)
        return
    overview = noun.overview(stage=stage, project=project)
    if options().json:
        print_json({**as_data(overview), "verdicts": dict(count_verdicts(overview.effects))})
    elif overview.cards:
        _print_overview(overview)
    elif stage is not None or project is not None:
        say("no cards match; remove a filter")
    else:
        say('no cards yet; `lessons add "what went wrong"` writes the first')


def _print_overview(overview: Overview) -> None:
    kinds = ", ".join(counted(n, kind) for kind, n in overview.by_kind)
    rows = {
        "cards": f"{kinds}; {counted(overview.notes, 'note')}",
        "mistakes": f"seen {overview.occurrences:,}×",
    }
    if overview.drafts:
        rows["drafts"] = f"{overview.drafts} to review with `lessons review`"
    if overview.injections:
        weeks = _spark([p.injections for p in overview.periods])
        back = _spark([p.recurrences for p in overview.periods])
        rows["injected"] = f"{_injected(overview)}, {counted(overview.tokens, 'token')}{weeks}"
        rows["addressed"] = _items(overview)
        rows["left"] = f"{overview.recurrences:,}×{back}"
    if overview.late:
        rows["late"] = f"{counted(overview.late, 'event')} in the last {LATE_DAYS} days"
    if told := tell_pooled(overview.pooled):
        rows["difference"] = told
    if added := tell_added(overview.effects):
        rows["in git"] = added.replace("the card,", "their cards,")
    verdicts = [f"{name} {n}" for name, n in count_verdicts(overview.effects).items() if n]
    never = [effect for effect in overview.effects if effect.verdict == _NEVER]
    if ignored := sum(effect.card.status != "active" for effect in never):
        verdicts[-1] += f" ({ignored} of them ignored)"
    archived = overview.cards - len(overview.effects)
    counts = (", ".join(verdicts), f"archived {archived}" if archived else "")
    rows["verdicts"] = "; ".join(filter(None, counts))
    _print_facts(rows)
    _print_groups(overview)
    if not overview.injections:
        say("no injections yet; `lessons setup` connects your agents")
        return
    if found := top(overview, ROWS):
        _print_title("Most injected")
        columns = ("id", "injected", "addressed", "without", "with", "verdict")
        table = []
        for one in found:
            rates = ((rate.times, rate.of) for rate in (one.untold, one.told))
            pairs = ((one.addressed, one.checked), *rates)
            parts = [f"{part}/{whole}" if whole else "" for part, whole in pairs]
            table.append((one.name, str(one.injections), *parts, one.verdict))
        print_table(columns, table, right=" ".join(columns[1:5]))
        print_wrapped(_COLUMNS)
    if proposed := [effect for effect in overview.effects if effect.proposal]:
        _print_title(f"Proposals ({len(proposed)}); nothing changes until you decide")
        proposed.sort(key=lambda effect: _URGENT.index(effect.proposal))
        for effect in proposed[:ROWS]:
            print(f"  {effect.proposal:<7}  {clean_line(effect.name)}")
            print_beside(" " * 11, effect.reason)
        _print_rest(proposed)
    never = [effect for effect in never_used(overview) if effect.verdict == _NEVER]
    lists = {"Noisy: harmful, or rarely addressed": noisy(overview)}
    for title, effects in {**lists, "Active but never injected": never}.items():
        if effects:
            _print_title(f"{title} ({len(effects)})")
            for effect in effects[:ROWS]:
                print(f"  {clean_line(effect.name)}")
            _print_rest(effects)


def _print_effect(effect: Effect, history: History) -> None:
    print(clean_line(effect.name))
    print_wrapped(clean_line(effect.card.title))
    rows = {"verdict": f"{effect.verdict}: {effect.reason}", "proposal": effect.proposal}
    if effect.injections:
        first, last = effect.first_injected, effect.last_injected
        span = f"{first}" if first == last else f"{first} to {last}"
        rows = {
            **rows,
            "injected": f"{_injected(effect)}, {span}, {counted(effect.tokens, 'token')}",
            "addressed": _items(effect),
            "outcomes": tell_outcomes(effect),
            "with it": _rate(effect.told),
            WITHHELD: _rate(effect.untold),
            "difference": tell_difference(effect),
        }
    if added := tell_added([effect]):
        months = ", ".join(f"{month}: {before + since}" for month, before, since in effect.added)
        rows["in git"] = f"{added} ({months})"
    rows["marks"] = count_marks(effect)
    _print_facts({name: text for name, text in rows.items() if text})
    if not history:
        say("no usage recorded yet")
        return
    if not sys.stdout.isatty():
        print()
    days = sorted({day for day, _what, _times in history})
    times_of = {(day, what): str(times) for day, what, times in history}
    seen = {what for _day, what, _times in history}
    columns = {what: column for what, column in _HISTORY.items() if what in seen}
    print_table(
        ("day", *columns.values()),
        [(day, *(times_of.get((day, what), "") for what in columns)) for day in days[-_DAYS:]],
        right=" ".join(columns.values()),
    )
    if len(days) > _DAYS:
        say(f"{counted(len(days) - _DAYS, 'day')} earlier; use --json")


def _print_groups(overview: Overview) -> None:
    rows = []
    for by in ("stage", "project", "severity", "source", "status"):
        found: Sequence[tuple[str, int]] = getattr(overview, f"by_{by}")
        rows += [(by, name, str(n)) for name, n in found[:ROWS]]
        if rest := found[ROWS:]:
            rows.append((by, counted(len(rest), "other"), str(sum(n for _name, n in rest))))
    if not sys.stdout.isatty():
        print()
    print_table(("by", "name", "cards"), rows, right="cards")


def _print_rest(effects: Sequence[Effect]) -> None:
    if len(effects) > ROWS:
        print(f"  … {len(effects) - ROWS} more; use --json")


def _print_facts(rows: Mapping[str, str]) -> None:
    width = max(map(len, rows))
    for name, text in rows.items():
        print_beside(f"{name:<{width}}  ", text)


def _print_title(text: str) -> None:
    print()
    print_bold(text)


def _injected(seen: Effect | Overview) -> str:
    """Return how often something was injected, and where: a call by hand is of no session."""
    where = f" in {counted(seen.sessions, 'session')}" if seen.sessions else ", outside any session"
    return f"{seen.injections:,}×{where}"


def _rate(rate: Rate) -> str:
    """Return in how many sessions a mistake was left, and the interval of its rate."""
    if not rate.of:
        return "no sessions"
    seen = f"the mistake left in {rate.times} of {counted(rate.of, 'session')}"
    return f"{seen} ({rate.times / rate.of:.0%}), from {rate.low:.0%} to {rate.high:.0%}"


def _items(seen: Effect | Overview) -> str:
    if not seen.checked:
        return "no answers checked yet"
    items = counted(seen.checked, "item")
    return f"{seen.addressed:,} of {items} ({seen.addressed / seen.checked:.0%})"


def _spark(values: Sequence[int]) -> str:
    """Return a spark line with a space before it; "" when the output is read by a program."""
    most = max(values, default=0)
    if not most or not sys.stdout.isatty():
        return ""
    steps = len(_SPARKS) - 1
    return "  " + "".join(_SPARKS[(value * steps + most - 1) // most] for value in values)


FILE = "lessons-report.html"
STDOUT = "-"


def report(
    output: str | None = None,
    stage: OnlyStage = None,
    project: OnlyProject = None,
    rows: Annotated[int, Option(min=1)] = 20,
) -> None:
    """Write an HTML report on which lessons come up and help.

    The page needs no network and no scripts. Your own brain is left out beside others, unless
    --brain names it. If the page lies in the brain or above it, its links to
    cards stay valid when both are moved together.

    Example: lessons report -o report.html

    --output, -o FILE  File to write; - for stdout. Default: lessons-report.html in .lessons,
                       which git ignores.
    --rows             Maximum number of cards in each list.
    """
    if options().json and output == STDOUT:
        raise InputError("--json and -o - both write to stdout; use one")
    brains, chosen = open_brain(own=False), output is not None
    if output is None:
        output = os.path.join(os.path.dirname(brains.members[0].cache), FILE)
        if os.path.islink(output):  # whoever made it chose what is overwritten
            raise InputError(
                f"{FILE} is a symbolic link here; remove it, or choose a file with --output"
            )
    overview = brains.stats.overview(stage=stage, project=project)
    path = os.path.realpath(output)
    if output != STDOUT and chosen and not os.path.isdir(os.path.dirname(path)):
        raise InputError(f"there is no folder {os.path.dirname(path)}; create it first")

    def link(effect: Effect) -> str:
        """Return the URL of a card, in its own brain."""
        name, folder = effect.card.id, None if output == STDOUT else os.path.dirname(path)
        homes = [brain for brain in brains.members if effect.brain in ("", brain.alias)]
        known = (one for one in homes if one.read(lambda it: it.catalogue.numbers(name)))
        root = next(known, brains.members[0]).root
        return file_link(os.path.join(root, *name.split("/")), page_folder=folder)

    scope = {"stage": stage, "project": project}
    page = build_page(
        overview,
        template=read_template("report.html"),
        brain=" + ".join(os.path.basename(brain.root) for brain in brains.members),
        made=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat(),
        link=link,
        scope=", ".join(f"{name} {value}" for name, value in scope.items() if value),
        rows=rows,
    )
    if output == STDOUT:
        print(page)
        return
    brains.cards.check_free(path)
    write_export(path, page.split("\n"))
    figures = ("cards", "sessions", "injections", "checked", "addressed", "recurrences")
    data = {"file": path, **pick(overview, *figures)}
    print_answer(data, clean_line(relative_path(path)))
    say("open it in any browser")


COLUMNS = {
    "recall5": "recall@5",
    "hit3": "hit@3",
    "mrr": "mrr",
    "ndcg10": "ndcg@10",
    "injected3": "injected@3",
    "kept": "kept",
    "offered": "offered",
    "openable": "openable",
    "false_injection": "false-injection",
    "false_offer": "false-offer",
    "tokens": "tokens",
    "milliseconds": "ms",
}
"""Figure → its column."""
_LESS_IS_BETTER = ("false_injection", "false_offer", "tokens", "milliseconds")
_ROOM = 100
"""Columns of a terminal from which on all figures stand side by side."""
_DIGITS = {"tokens": 1, "milliseconds": 1}
_SHOWN = 5
_KINDS = {
    "miss": "not injected",
    "false-injection": "injected, though nothing should be",
    "extra": "injected beside what is expected",
}
_MAX_QUERY = 200
"""Characters of a prompt that are shown."""


def evaluate(file: str, fail_under: list[str] | None = None, engine: str | None = None) -> None:
    """Measure retrieval on labelled prompts; name what went wrong.

    Each line of FILE is {"query": "…", "expected": ["id", …]}; an empty list means that nothing
    should be injected. recall@5, hit@3, mrr and ndcg@10 measure the ranking without the gate.
    injected@3 measures what the gate lets through; kept is the ratio of the two. offered counts
    cards that are offered by title as well, openable also those that a session lists at its start.
    false injection is the share of prompts without a card that drew one, false offer of those
    that drew a title, tokens the mean size of what is injected, ms the median time of a prompt.
    Less is better of the last four, so --fail-under false-injection=0.05 fails above that.

    Example: lessons eval prompts.jsonl --fail-under recall@5=0.8 --fail-under false-injection=0.05

    FILE                         JSON lines: {"query": "…", "expected": ["id"]}.
    --fail-under METRIC=VALUE    Exit 1 if a figure is worse than this, as recall@5=0.8; repeatable.
    --engine                     tantivy, rank-bm25, qdrant or all; default: the brain's.
    """
    bounds = dict(map(_read_bound, fail_under or ()))
    labelled = parse_labelled(read_file(file), name=file)
    report = measure(open_brain(), labelled, engine=engine)
    failed = []
    for (name, found), (figure, bound) in product(report.engines.items(), bounds.items()):
        value, less = getattr(found, figure), figure in _LESS_IS_BETTER
        which = f"{name}: {COLUMNS[figure]}"
        if value is None:
            kind = "without a card" if figure.startswith("false") else "with a card"
            failed.append(f"{which} is undefined: the file has no prompt {kind}")
        elif value > bound if less else value < bound:
            failed.append(f"{which} {value:.3f} is {'above' if less else 'below'} {bound:g}")
    if options().json:
        print_json({**as_data(report), "failed": failed})
    else:
        _print_evaluation(report)
    for line in failed:
        say(line)
    if failed:
        raise typer.Exit(1)


def _read_bound(text: str) -> tuple[str, float]:
    """Return the figure that METRIC=VALUE names, and its bound; raise InputError."""
    name, _, value = text.rpartition("=")
    figures = {column: figure for figure, column in COLUMNS.items()}
    figures |= {figure: figure for figure in COLUMNS}
    figure = figures.get(name.strip().casefold().replace(" ", "-"))
    try:
        bound = float(value)
    except ValueError:
        bound = math.nan
    if figure is None or not math.isfinite(bound):
        known = ", ".join(COLUMNS.values())
        raise InputError(f"--fail-under {text!r}: write METRIC=VALUE; the metrics are {known}")
    return figure, bound


def _print_evaluation(report: Report) -> None:
    table = [("engine", *COLUMNS.values())]
    for name, found in report.engines.items():
        figures = {figure: getattr(found, figure) for figure in COLUMNS}
        cells = (
            "-" if value is None else f"{value:.{_DIGITS.get(figure, 3)}f}"
            for figure, value in figures.items()
        )
        table.append((name, *cells))
    if (terminal_width() or _ROOM) < _ROOM:
        table = list(zip(*table, strict=True))  # a figure a line
    print_table(table[0], table[1:], right=" ".join(table[0][1:]))
    for name, faults in report.faults.items():
        _print_faults(faults, f" ({name})" if len(report.faults) > 1 else "")
    first = next(iter(report.engines.values()))
    say(f"{counted(first.positive, 'prompt')} with cards, {first.negative} without")
    if count := len(report.inactive):
        shown = ", ".join(report.inactive[:_SHOWN]) + (" …" if count > _SHOWN else "")
        say(f"{count} expected cards are not active, so they cannot be found: {shown}")


def _print_faults(faults: Sequence[Fault], engine: str) -> None:
    """Print each prompt of which something is wrong, below it the cards and the reasons."""
    line = 0
    for fault in faults:
        if fault.line != line:
            line = fault.line
            query = shorten(clean_line(fault.query), _MAX_QUERY)
            print()
            print_wrapped(f"line {line}{engine}: {query}")
        place = "" if fault.rank is None else f", rank {fault.rank}"
        mark = "✗" if fault.kind == MISS else "+"
        print_wrapped(f"  {mark} {_KINDS[fault.kind]}: {clean_line(fault.card)}{place}")
        reason = clean_line(fault.reason).removeprefix("suppressed: ")
        print_wrapped(f"    {reason}")
