"""`lessons stats`: show injected lessons, recurring mistakes, and the effect of lessons."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from typer import Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.connected import advise_agents
from lessons_kb.cli.marks import format_marks
from lessons_kb.cli.options import OnlyProject, OnlyStage, OptionalId, advise_add, open_brain
from lessons_kb.cli.output import (
    options,
    print_beside,
    print_bold,
    print_json,
    print_table,
    print_wrapped,
    say,
    terminal_width,
)
from lessons_kb.collection.lookup import CardLookup
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
    tell_checklist,
    tell_difference,
    tell_outcomes,
    tell_pooled,
    top,
)
from lessons_kb.model import KNOWN_OUTCOMES, WITHHELD, as_data
from lessons_kb.on_demand import SESSION_COSTS, load
from lessons_kb.outcome.stats import Stats
from lessons_kb.store.error_log import LATE_DAYS
from lessons_kb.text.sanitize import clean_line, counted

History = tuple[tuple[str, str, int], ...]


COST_DAYS = 30
"""The number of days that --cost looks back by default."""


ROWS = 10
"""The maximum number of rows of each table. The JSON output has all rows."""


_DAYS = 20


_WEEKS_OF_A_CHART = 2


_FEWEST_GROUPS = 2
_SPARKS = "▁▂▃▄▅▆▇█"


_URGENT = ("archive", "promote", "edit")


_NEVER = VERDICTS[-1]


_COLUMNS = {
    "items": "ITEMS: checklist items that an edit, a command or an answer showed to be done, of "
    "those that were checked.",
    "without": "WITHOUT: sessions in which the mistake was left, of those from which the "
    "lesson was withheld.",
    "with": "WITH: sessions in which the mistake was left, of those that had the lesson.",
}
"""Maps columns of the most injected cards to their meanings. A column without a figure is left
out."""
_NUMBERS = " ".join(("injected", *_COLUMNS))
"""The columns that are aligned at the right."""
_NO_FACTS = (
    "NO FACTS YET: no error, test, command or `detect` pattern has shown whether the mistake was "
    "made again."
)
"""The meaning of this verdict, which is printed if a card has it."""


_DECIDED = ("helps", "harms", "no effect")
"""The verdicts that need enough facts."""
_VERDICTS = {
    "harms": ("does harm", "do harm"),
    "helps": ("helps", "help"),
    "no effect": ("has no effect", "have no effect"),
    "too early": ("with too few sessions to compare",) * 2,
    "no facts yet": ("without facts yet",) * 2,
    "never used": ("never injected",) * 2,
}
"""Maps a verdict to its wording after one card, and after several cards."""


_HISTORY = {
    INJECTED: "injected",
    ADDRESSED: "addressed",
    UNADDRESSED: "missed",
    **{outcome: outcome for outcome in KNOWN_OUTCOMES},
    "bumped": "bumped",
    "helpful": "helpful",
    "harmful": "harmful",
}
"""Maps an event that is counted by day to the column of the table."""


_HISTORY_TEXTS = {
    INJECTED: "INJECTED: how often an agent got the card.",
    ADDRESSED: "ADDRESSED: checklist items that an answer or a change showed to be done.",
    UNADDRESSED: "MISSED: checklist items that were not shown to be done; some may be done anyway.",
    "bumped": "BUMPED: how often the mistake was counted again.",
}
"""Maps an event that is counted by day to the meaning of its column."""


def stats(
    card: OptionalId = None,
    stage: OnlyStage = None,
    project: OnlyProject = None,
    cost: Annotated[
        bool,
        Option("--cost", help="Show the cost of the text for the model."),
    ] = False,
    days: Annotated[
        int | None,
        Option("--days", metavar="N", min=1, help="With --cost: number of days; default: 30."),
    ] = None,
) -> None:
    """Show what was injected, which mistakes recurred, what helps.

    With `[effect] withhold = 0.1` in your own settings, each lesson is withheld from a tenth of
    your sessions for comparison.

    Example: lessons stats telegram-allowlist
    """
    if cost:
        if card is not None or stage is not None or project is not None:
            raise InputError("--cost is about whole sessions; leave out the card and the filters")
        load(SESSION_COSTS).print_costs(open_brain(), days=days or COST_DAYS)
        return
    if days is not None:
        raise InputError("--days needs --cost")
    brains = open_brain()
    statistics = Stats(brains)
    if card is not None:
        effect = statistics.effect(card)
        history = statistics.history(card)
        if options().json:
            rows = [{"day": day, "what": event, "times": n} for day, event, n in history]
            print_json({**as_data(effect), "history": rows})
        else:
            _print_effect(effect, history)
        return
    overview = statistics.overview(stage=stage, project=project)
    if options().json:
        print_json({**as_data(overview), "verdicts": dict(count_verdicts(overview.effects))})
    elif overview.cards:
        _print_overview(overview, _shorten_names(brains, overview))
    elif stage is not None or project is not None:
        say("no cards match; remove a filter")
    else:
        say(f"no cards yet; `{advise_add()}` writes the first")


def _shorten_names(brains: Brains, overview: Overview) -> Mapping[str, str]:
    """Return a mapping from ids to the shortest names that commands accept, for a terminal."""
    if terminal_width() is None:
        return {}
    cards = [effect.card for effect in top(overview, ROWS) if not effect.brain]
    return CardLookup(brains).shorten_ids(cards)


def _print_overview(overview: Overview, short_names: Mapping[str, str]) -> None:
    """Print the totals and the lists. ``short_names`` maps ids to names for narrow columns."""
    if overview.injections:
        print_wrapped(_summarize(overview))
        print()
    kinds = ", ".join(counted(n, kind) for kind, n in overview.by_kind)
    notes = f"; {counted(overview.notes, 'note')}" if overview.notes else ""
    rows = {
        "cards": f"{kinds}{notes}",
        "mistakes": f"{overview.occurrences:,} counted by the cards; `lessons bump` adds one",
    }
    if overview.drafts:
        rows["drafts"] = f"{overview.drafts} to review with `lessons review`"
    if overview.injections:
        injections = _spark([period.injections for period in overview.periods])
        recurrences = _spark([period.recurrences for period in overview.periods])
        tokens = counted(overview.tokens, "token")
        rows["injected"] = f"{_injected(overview)}, {tokens}{injections}"
        rows["items"] = _items(overview)
        if overview.sessions:  # mistakes are detected only in sessions
            rows["left"] = f"{_describe_left(overview)}{recurrences}"
    if overview.returned:
        count = counted(overview.returned, "lesson")
        rows["came back"] = f"{count} in spite of being given; `lessons escalate` has the next step"
    if overview.late:
        rows["late"] = f"{counted(overview.late, 'event')} in the last {LATE_DAYS} days"
    if difference := tell_pooled(overview.pooled):
        rows["difference"] = difference
    if added := tell_added(overview.effects):
        rows["in git"] = added.replace("the card,", "their cards,")
    counts_by_verdict = count_verdicts(overview.effects).items()
    verdicts = [f"{n} {_VERDICTS[name][n > 1]}" for name, n in counts_by_verdict if n]
    never = [effect for effect in overview.effects if effect.verdict == _NEVER]
    if ignored := sum(effect.card.status != "active" for effect in never):
        verdicts[-1] += f" ({ignored} of them ignored)"
    archived = overview.cards - len(overview.effects)
    counts = (", ".join(verdicts), f"{archived} archived" if archived else "")
    rows["effect"] = "; ".join(filter(None, counts))
    _print_facts(rows)
    _print_groups(overview)
    if not overview.injections:
        say(f"no agent got a lesson yet; {advise_agents()}")
        return
    if most_injected := top(overview, ROWS):
        _print_title("Most injected")
        columns = ("id", "injected", *_COLUMNS, "verdict")
        table = []
        for effect in most_injected:
            fractions = (
                _fraction(effect.addressed, effect.checked),
                _fraction(effect.untold.times, effect.untold.of),
                _fraction(effect.told.times, effect.told.of),
            )
            name = short_names.get(effect.name, effect.name)
            table.append((name, str(effect.injections), *fractions, effect.verdict))
        used = [
            place
            for place, name in enumerate(columns)
            if name not in _COLUMNS or any(row[place] for row in table)
        ]
        shown = [columns[place] for place in used]
        print_table(shown, [[row[place] for place in used] for row in table], right=_NUMBERS)
        meanings = [text for name, text in _COLUMNS.items() if name in shown]
        if any(effect.verdict == "no facts yet" for effect in most_injected):
            meanings.append(_NO_FACTS)
        _explain(meanings)
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
        outcomes = "; ".join(filter(None, (tell_outcomes(effect), tell_checklist(effect))))
        rows = {
            **rows,
            "injected": f"{_injected(effect)}, {span}, {counted(effect.tokens, 'token')}",
            "outcomes": outcomes or "no answers checked yet",
            "with it": _rate(effect.told),
            WITHHELD: _rate(effect.untold),
            "difference": tell_difference(effect),
        }
    if added := tell_added([effect]):
        months = ", ".join(f"{month}: {before + since}" for month, before, since in effect.added)
        rows["in git"] = f"{added} ({months})"
    has_marks = effect.helpful or effect.harmful or effect.irrelevant
    rows["marks"] = format_marks(effect) if has_marks else ""
    _print_facts({name: text for name, text in rows.items() if text})
    if not history:
        say("no usage recorded yet")
        return
    if not sys.stdout.isatty():
        print()
    days = sorted({day for day, _event, _times in history})
    cells = {(day, event): str(times) for day, event, times in history}
    recorded = {event for _day, event, _times in history}
    columns = {event: column for event, column in _HISTORY.items() if event in recorded}
    table = []
    for day in days[-_DAYS:]:
        counts = [cells.get((day, event), "") for event in columns]
        table.append((day, *counts))
    print_table(("day", *columns.values()), table, right=" ".join(columns.values()))
    if len(days) > _DAYS:
        say(f"{counted(len(days) - _DAYS, 'day')} earlier; use --json")
    _explain(_HISTORY_TEXTS[event] for event in columns if event in _HISTORY_TEXTS)


def _explain(meanings: Iterable[str]) -> None:
    """Print the meanings of columns on a terminal. A program that reads a pipe gets only rows."""
    if sys.stdout.isatty():
        for meaning in meanings:
            print_wrapped(meaning)


def _print_groups(overview: Overview) -> None:
    rows = []
    for by in ("stage", "project", "severity", "source", "status"):
        counts: Sequence[tuple[str, int]] = getattr(overview, f"by_{by}")
        if len(counts) < _FEWEST_GROUPS:  # a single group repeats the total
            continue
        rows += [(by, name, str(n)) for name, n in counts[:ROWS]]
        if rest := counts[ROWS:]:
            rows.append((by, counted(len(rest), "other"), str(sum(n for _name, n in rest))))
    if not rows:
        return
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


def _summarize(overview: Overview) -> str:
    """Return the state of the cards in two plain sentences."""
    given = sum(bool(effect.injections) for effect in overview.effects)
    verdicts = count_verdicts(overview.effects)
    reached = [(verdicts[name], name) for name in _DECIDED if verdicts[name]]
    decided = [f"{count} {_VERDICTS[name][count > 1]}" for count, name in reached]
    text = f"{given} of {counted(overview.cards, 'card')} reached an agent so far."
    if not decided:
        what = "whether it helps" if given == 1 else "which of them help"
        return f"{text} There are not enough facts yet to say {what}."
    open_ = given - sum(verdicts[name] for name in _DECIDED)
    rest = f"; {open_} cannot be judged yet" if open_ > 0 else ""
    return f"{text} {', '.join(decided).capitalize()}{rest}."


def _describe_left(overview: Overview) -> str:
    """Return how often a mistake was left in a session that had its lesson."""
    known = sum(effect.told.of for effect in overview.effects)
    if not known:
        return "not known yet; no fact has shown whether a mistake was made again"
    times = "1 time" if overview.recurrences == 1 else f"{overview.recurrences:,} times"
    return f"{times} a mistake was left in spite of its lesson, in {counted(known, 'known case')}"


def _fraction(part: int, whole: int) -> str:
    return f"{part}/{whole}" if whole else ""


def _injected(effect: Effect | Overview) -> str:
    """Return how often lessons were injected, and in how many sessions.

    An injection by a command on a terminal does not belong to a session.
    """
    if not effect.sessions:
        return f"{effect.injections:,}×, outside any session"
    return f"{effect.injections:,}× in {counted(effect.sessions, 'session')}"


def _rate(rate: Rate) -> str:
    """Return the number of sessions in which the mistake remained, and the rate's interval. Return
    "" without a session whose outcome is known.
    """
    if not rate.of:
        return ""
    sessions = f"the mistake left in {rate.times} of {counted(rate.of, 'session')}"
    return f"{sessions} ({rate.times / rate.of:.0%}), from {rate.low:.0%} to {rate.high:.0%}"


def _items(effect: Effect | Overview) -> str:
    if not effect.checked:
        return "no answers checked yet"
    items = counted(effect.checked, "checklist item")
    share = f"{effect.addressed / effect.checked:.0%}"
    return f"{effect.addressed:,} of {items} shown to be done ({share})"


def _spark(values: Sequence[int]) -> str:
    """Return a sparkline after two spaces, or "" for a single week or without a terminal."""
    most = max(values, default=0)
    if not most or len(values) < _WEEKS_OF_A_CHART or not sys.stdout.isatty():
        return ""
    steps = len(_SPARKS) - 1
    return "  " + "".join(_SPARKS[(value * steps + most - 1) // most] for value in values)
