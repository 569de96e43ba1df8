"""`lessons stats`: what the cards did."""

from __future__ import annotations

import datetime as dt
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.evaluation import MISS, Fault, Report
from lessons_kb.brain.evaluation import evaluate as measure
from lessons_kb.cli.options import (
    open_brain,
    options,
    print_json,
    print_table,
    print_wrapped,
    read_file,
    relative_path,
    say,
    wrap,
)
from lessons_kb.errors import InputError
from lessons_kb.learn.lesson_effect import (
    ADDRESSED,
    INJECTED,
    MARKS,
    RECURRED,
    UNADDRESSED,
    VERDICTS,
    Effect,
    Overview,
    Rate,
    count_verdicts,
    never_used,
    noisy,
    tell_added,
    top,
)
from lessons_kb.model import as_data
from lessons_kb.relevance.evaluation_measures import Evaluation, parse_labelled
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import write_export
from lessons_kb.text.sanitize import clean_line, counted

History = tuple[tuple[str, str, int], ...]
ROWS = 10
"""Rows of each table unless all are asked for as JSON."""
_DAYS = 20
_BAR = 24
_NARROWEST = 30
_SPARKS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
_URGENT = ("archive", "promote", "edit")


EXPLAINED = (
    "Each interval holds the true rate with 90 % probability (Beta posterior with a uniform prior)."
)


_NEVER = VERDICTS[-1]
_COLUMNS = ("id", "injected", "addressed", "before", "with", "verdict")


_HISTORY = {
    INJECTED: "injected",
    ADDRESSED: "addressed",
    UNADDRESSED: "missed",
    RECURRED: "recurred",
    "bumped": "bumped",
    "helpful": "helpful",
    "harmful": "harmful",
}
"""What is counted by day → its column."""


def stats(
    card: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="One card: path, slug, or prefix.")
    ] = None,
    stage: Annotated[str | None, typer.Option(help="Only this stage's cards.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project's cards.")] = None,
) -> None:
    """Show what was injected, what came back, and what helps.

    Example: lessons stats telegram-allowlist
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
    elif not overview.cards:
        chosen = stage is not None or project is not None
        say(
            "no cards match; remove a filter"
            if chosen
            else 'no cards yet; `lessons add "what went wrong"` writes the first'
        )
    else:
        _print_overview(overview)


def _print_overview(overview: Overview) -> None:
    kinds = ", ".join(counted(n, kind) for kind, n in overview.by_kind)
    rows = [
        ("cards", f"{kinds}; {counted(overview.notes, 'note')}"),
        ("mistakes", f"seen {overview.occurrences:,}×"),
    ]
    if overview.drafts:
        rows.append(("drafts", f"{overview.drafts} to review with `lessons review`"))
    if overview.injections:
        bar = _bar(overview.addressed, overview.checked)
        weeks = _spark([p.injections for p in overview.periods])
        back = _spark([p.recurrences for p in overview.periods])
        given = f"{_given(overview)}, {counted(overview.tokens, 'token')}"
        rows += [
            ("injected", f"{given}{weeks}"),
            ("addressed", f"{_items(overview)}{bar}"),
            ("came back", f"{overview.recurrences:,}×{back}"),
        ]
    if added := tell_added(overview.effects):
        rows.append(("in git", added.replace("the card,", "their cards,")))
    rows.append(("verdicts", _verdicts(overview)))
    _print_facts(rows)
    _print_groups(overview)
    if not overview.injections:
        say("no injections yet; `lessons install --all` connects your agents")
        return
    if found := top(overview, ROWS):
        _title("Most injected", gap=not _drawn())
        print_table(
            _COLUMNS, [_row(effect) for effect in found], right="injected addressed before with"
        )
    _print_proposals([effect for effect in overview.effects if effect.proposal])
    _print_list("Noisy: harmful, or rarely addressed", noisy(overview))
    never = [effect for effect in never_used(overview) if effect.verdict == _NEVER]
    _print_list("Active but never injected", never)


def _print_effect(effect: Effect, history: History) -> None:
    card = effect.card
    print(clean_line(effect.name))
    print_wrapped(clean_line(card.title))
    rows = [("verdict", f"{effect.verdict}: {effect.reason}")]
    if effect.proposal:
        rows.append(("proposal", effect.proposal))
    if effect.injections:
        weeks = _spark(_weekly(history))
        first, last = effect.first_injected, effect.last_injected
        span = f"{first}" if first == last else f"{first} to {last}"
        tokens = counted(effect.tokens, "token")
        rows += [
            ("injected", f"{_given(effect)}, {span}, {tokens}{weeks}"),
            ("addressed", _items(effect)),
            ("before", _told(effect.before)),
            ("with it", _told(effect.after)),
        ]
    elif effect.checked:  # by `lessons check`, outside of sessions
        rows.append(("addressed", _items(effect)))
    if added := tell_added([effect]):
        rows.append(("in git", f"{added} ({', '.join(map(_month, effect.added))})"))
    rows.append(("marks", ", ".join(f"{name} {getattr(effect, name)}×" for name in MARKS)))
    _print_facts(rows)
    if effect.before.of or effect.after.of:
        print_wrapped(EXPLAINED)
    if not history:
        say("no usage recorded yet")
        return
    if not _drawn():
        print()
    days = sorted({day for day, _what, _times in history})
    times_of = {(day, what): times for day, what, times in history}
    whats = [what for what in _HISTORY if any(what == one for _day, one, _times in history)]
    columns = ("day", *(_HISTORY[what] for what in whats))
    print_table(
        columns,
        [(day, *(str(times_of.get((day, what), "")) for what in whats)) for day in days[-_DAYS:]],
        right=" ".join(columns[1:]),
    )
    if len(days) > _DAYS:
        say(f"{counted(len(days) - _DAYS, 'day')} earlier; use --json")


def _month(added: tuple[str, int, int]) -> str:
    month, before, since = added
    return f"{month}: {before + since}"


def _print_groups(overview: Overview) -> None:
    rows = []
    for by in ("stage", "project", "severity", "source", "status"):
        found: Sequence[tuple[str, int]] = getattr(overview, f"by_{by}")
        most = max((n for _name, n in found), default=0)
        for name, n in found[:ROWS]:
            rows.append((by, name, str(n), *([_bar(n, most).strip()] if _drawn() else [])))
        if len(found) > ROWS:
            rest = sum(n for _name, n in found[ROWS:])
            others = counted(len(found) - ROWS, "other")
            rows.append((by, others, str(rest), *([""] if _drawn() else [])))
    if not _drawn():
        print()
    columns = ("by", "name", "cards", "share") if _drawn() else ("by", "name", "cards")
    print_table(columns, rows, right="cards")


def _row(effect: Effect) -> tuple[str, ...]:
    checked = f"{effect.addressed}/{effect.checked}" if effect.checked else ""
    return (
        effect.name,
        str(effect.injections),
        checked,
        _brief(effect.before),
        _brief(effect.after),
        effect.verdict,
    )


def _print_list(title: str, effects: Sequence[Effect]) -> None:
    if effects:
        _title(f"{title} ({len(effects)})")
        for effect in effects[:ROWS]:
            print(f"  {clean_line(effect.name)}")
        _print_rest(effects)


def _print_proposals(effects: Sequence[Effect]) -> None:
    if effects:
        effects = sorted(effects, key=lambda effect: _URGENT.index(effect.proposal))
        _title(f"Proposals ({len(effects)}); nothing changes until you decide", gap=not _drawn())
        for effect in effects[:ROWS]:
            print(f"  {effect.proposal:<7}  {clean_line(effect.name)}")
            _print_beside(" " * 11, effect.reason)
        _print_rest(effects)


def _print_rest(effects: Sequence[Effect]) -> None:
    if len(effects) > ROWS:
        print(f"  … {len(effects) - ROWS} more; use --json")


def _print_facts(rows: Sequence[tuple[str, str]]) -> None:
    width = max(len(name) for name, _text in rows)
    for name, text in rows:
        _print_beside(f"{name:<{width}}  ", text)


def _print_beside(head: str, text: str) -> None:
    """Print a text behind its head; on a terminal it is folded and stays in its column."""
    pieces = [text]
    if _drawn():
        pieces = list(wrap(text, max(shutil.get_terminal_size().columns - len(head), _NARROWEST)))
    for piece in pieces:
        print((head + piece).rstrip())
        head = " " * len(head)


def _title(text: str, *, gap: bool = True) -> None:
    """Print a heading; ``gap`` is an empty line before it, which a drawn table brings along."""
    if gap:
        print()
    if not _drawn():
        print(text)
        return
    from rich.console import Console
    from rich.text import Text

    no_color = options().no_color or bool(os.environ.get("NO_COLOR"))
    Console(no_color=no_color).print(Text(text, style="bold"))


def _given(seen: Effect | Overview) -> str:
    """Return how often something was given, and where: a call by hand is of no session."""
    where = f" in {counted(seen.sessions, 'session')}" if seen.sessions else ", outside any session"
    return f"{seen.injections:,}×{where}"


def _verdicts(overview: Overview) -> str:
    """Return how many cards have each verdict, and which cards are counted otherwise."""
    told = [f"{name} {n}" for name, n in count_verdicts(overview.effects).items() if n]
    never = [effect for effect in overview.effects if effect.verdict == _NEVER]
    ignored = sum(effect.card.status != "active" for effect in never)
    if ignored:
        told[-1] += f" ({ignored} of them ignored)"
    archived = overview.cards - len(overview.effects)
    return "; ".join(filter(None, (", ".join(told), f"archived {archived}" if archived else "")))


def _told(share: Rate) -> str:
    if not share.of:
        return "no sessions"
    seen = f"the mistake in {share.times} of {counted(share.of, 'session')}"
    return f"{seen}{_share(share.times, share.of)}, from {share.low:.0%} to {share.high:.0%}"


def _items(seen: Effect | Overview) -> str:
    if not seen.checked:
        return "no answers checked yet"
    share = _share(seen.addressed, seen.checked)
    return f"{seen.addressed:,} of {counted(seen.checked, 'item')}{share}"


def _brief(share: Rate) -> str:
    return f"{share.times}/{share.of}" if share.of else ""


def _share(part: int, whole: int) -> str:
    return f" ({part / whole:.0%})" if whole else ""


def _weekly(history: History) -> list[int]:

    weeks: dict[int, int] = {}
    for day, what, times in history:
        if what == INJECTED:
            number = dt.date.fromisoformat(day).toordinal() // 7
            weeks[number] = weeks.get(number, 0) + times
    return [weeks.get(n, 0) for n in range(min(weeks), max(weeks) + 1)][-26:] if weeks else []


def _spark(values: Sequence[int]) -> str:
    """Return a spark line with a space before it; "" when the output is read by a program."""
    if not _drawn() or not any(values):
        return ""
    most = max(values)
    return "  " + "".join(
        _SPARKS[(value * (len(_SPARKS) - 1) + most - 1) // most] for value in values
    )


def _bar(part: int, whole: int) -> str:
    """Return a bar with a space before it; "" when the output is read by a program."""
    if not _drawn() or not whole:
        return ""
    eighths = round(part / whole * _BAR * 8) or (1 if part else 0)
    return "  " + "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def _drawn() -> bool:
    return sys.stdout.isatty()


FILE = "lessons-report.html"
STDOUT = "-"


def report(
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File to write; - for stdout.")
    ] = FILE,
    stage: Annotated[str | None, typer.Option(help="Only this stage's cards.")] = None,
    project: Annotated[str | None, typer.Option(help="Only this project's cards.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Maximum number of cards in each list.")] = 20,
) -> None:
    """Write an HTML report on which lessons come up and help.

    The page needs no network and no scripts. If it lies in the brain or above it, its links to
    cards stay valid when both are moved together.

    Example: lessons report -o report.html
    """
    from lessons_kb.report import build_page

    if options().json and output == STDOUT:
        raise InputError("--json and -o - both write to stdout; use one")
    if output == FILE and os.path.islink(output):  # whoever made it chose what is overwritten
        raise InputError(
            f"{FILE} is a symbolic link here; remove it, or choose a file with --output"
        )
    brain = open_brain()
    overview = brain.stats.overview(stage=stage, project=project)
    path = os.path.realpath(output)
    page = build_page(
        overview,
        template=read_template("report.html"),
        brain=" + ".join(os.path.basename(layer.root) for layer in brain.layers),
        made=dt.datetime.now(tz=dt.UTC).astimezone().date().isoformat(),
        link=_linker(brain, None if output == STDOUT else os.path.dirname(path)),
        scope=", ".join(
            f"{name} {value}" for name, value in (("stage", stage), ("project", project)) if value
        ),
        rows=rows,
    )
    if output == STDOUT:
        print(page)
        return
    brain.cards.check_free(path)
    write_export(path, page.split("\n"))
    if options().json:
        figures = ("cards", "sessions", "injections", "checked", "addressed", "recurrences")
        print_json({"file": path, **{name: getattr(overview, name) for name in figures}})
        return
    print(clean_line(relative_path(path)))
    say("open it in any browser")


def _linker(brain: Brain, page_folder: str | None) -> Callable[[Effect], str]:
    """Return what gives the URL of a card, in its own brain."""
    from lessons_kb.report.page import file_link

    several = brain.layers[1:]
    known = {
        layer: set(layer.read(lambda one: one.catalogue.numbers())) if several else set()
        for layer in brain.layers
    }

    def link(effect: Effect) -> str:
        path = effect.card.id
        homes = (layer for layer in brain.layers if path in known[layer])
        named = (layer for layer in homes if effect.brain in ("", layer.alias))
        home = next(named, brain.layers[0])
        return file_link(os.path.join(home.root, *path.split("/")), page_folder=page_folder)

    return link


COLUMNS = {
    "recall5": "recall@5",
    "hit3": "hit@3",
    "mrr": "mrr",
    "ndcg10": "ndcg@10",
    "injected3": "injected@3",
    "kept": "kept",
    "false_injection": "false-injection",
    "tokens": "tokens",
    "milliseconds": "ms",
}
"""Figure → its column."""
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


def _percent(told: str) -> Any:
    return typer.Option(min=0, max=1, metavar="SHARE", help=told)


def evaluate(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help='JSON lines: {"query": "…", "expected": ["id"]}.')
    ],
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-under",
            metavar="METRIC=VALUE",
            help="Exit 1 if a figure is worse than this, as recall@5=0.8; repeatable.",
        ),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(help="tantivy, rank-bm25, qdrant or all; default: the brain's.")
    ] = None,
    min_recall5: Annotated[float | None, _percent("Exit 1 if recall@5 is below this.")] = None,
    min_hit3: Annotated[float | None, _percent("Exit 1 if hit@3 is below this.")] = None,
    min_mrr: Annotated[float | None, _percent("Exit 1 if mrr is below this.")] = None,
    min_ndcg10: Annotated[float | None, _percent("Exit 1 if ndcg@10 is below this.")] = None,
    min_kept: Annotated[float | None, _percent("Exit 1 if kept is below this.")] = None,
    max_false_injection: Annotated[
        float | None, _percent("Exit 1 if false injection is above this.")
    ] = None,
    max_tokens: Annotated[
        float | None,
        typer.Option(min=0, metavar="TOKENS", help="Exit 1 if the mean size is above this."),
    ] = None,
    max_ms: Annotated[
        float | None,
        typer.Option(min=0, metavar="MS", help="Exit 1 if the median time is above this."),
    ] = None,
) -> None:
    """Measure retrieval on labelled prompts; name what went wrong.

    Each line of FILE is {"query": "…", "expected": ["id", …]}; an empty list means that nothing
    should be injected. recall@5, hit@3, mrr and ndcg@10 measure the ranking without the gate.
    injected@3 measures what the gate lets through; kept is the ratio of the two. false injection
    is the share of prompts without a card that drew one, tokens the mean size of what is
    injected, ms the median time of a prompt. Less is better of the last three, so --fail-under
    false-injection=0.05 fails above that.

    Example: lessons eval prompts.jsonl --fail-under recall@5=0.8 --fail-under false-injection=0.05
    """
    least: dict[str, float | None] = {"recall5": min_recall5, "hit3": min_hit3, "mrr": min_mrr}
    least |= {"ndcg10": min_ndcg10, "kept": min_kept}
    most: dict[str, float | None] = {"false_injection": max_false_injection}
    most |= {"tokens": max_tokens, "milliseconds": max_ms}
    for name, bound in map(_read_bound, fail_under or ()):
        (most if name in most else least)[name] = bound
    labelled = parse_labelled(read_file(file), name=file)
    report = measure(open_brain(), labelled, engine=engine)
    failed = [
        f"{name}: {line}"
        for name, found in report.engines.items()
        for line in _find_failed(found, least, most)
    ]
    if options().json:
        print_json({**as_data(report), "failed": failed})
    else:
        _print(report)
    for line in failed:
        say(line)
    if failed:
        raise typer.Exit(1)


def _print(report: Report) -> None:
    rows = [(name, *_cells(found)) for name, found in report.engines.items()]
    table = [("engine", *COLUMNS.values()), *rows]
    if sys.stdout.isatty() and shutil.get_terminal_size().columns < _ROOM:
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
            print()
            print_wrapped(
                f"line {fault.line}{engine}: {_shortened(clean_line(fault.query))}", hang=2
            )
            line = fault.line
        place = "" if fault.rank is None else f", rank {fault.rank}"
        mark = "✗" if fault.kind == MISS else "+"
        words = _KINDS[fault.kind]
        print_wrapped(f"  {mark} {words}: {clean_line(fault.card)}{place}", hang=2)
        reason = clean_line(fault.reason).removeprefix("suppressed: ")
        print_wrapped(f"    {reason}", hang=2)


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_QUERY else text[: _MAX_QUERY - 1] + "…"


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


def _find_failed(
    found: Evaluation, least: Mapping[str, float | None], most: Mapping[str, float | None]
) -> Iterator[str]:
    for bounds, is_wrong, word in (
        (least, float.__lt__, "below"),
        (most, float.__gt__, "above"),
    ):
        for name, bound in bounds.items():
            value = getattr(found, name)
            if bound is None:
                continue
            if value is None:
                kind = "without a card" if name == "false_injection" else "with a card"
                yield f"{COLUMNS[name]} is undefined: the file has no prompt {kind}"
            elif is_wrong(float(value), float(bound)):
                yield f"{COLUMNS[name]} {value:.3f} is {word} {bound:g}"


def _cells(found: Evaluation) -> Iterator[str]:
    for name in COLUMNS:
        value = getattr(found, name)
        yield "-" if value is None else f"{value:.{_DIGITS.get(name, 3)}f}"
