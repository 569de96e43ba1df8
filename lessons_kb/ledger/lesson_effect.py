"""Does a lesson prevent its mistake? From the ledger of its occasions to a verdict.

Sessions that were told a lesson are compared with sessions that it was withheld from. A mistake
that was put right in its session counts as prevented, in each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace

from lessons_kb.ledger.statistics import Pooled, RiskDifference, wilson
from lessons_kb.model import (
    FACTS,
    FAILED,
    KNOWN_OUTCOMES,
    NO_GATE,
    OPENED,
    UNKNOWN_OUTCOME,
    WITHHELD,
    Card,
    Occasion,
)
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen

VERDICTS = ("helps", "harms", "no effect", "too early", "no facts yet", "never used")
MARKS = ("helpful", "harmful", "irrelevant")

SURE, FALSE_HELPS = 0.975, 0.05
"""Probability from which one card helps; that any of many compared is said to for nothing."""
HARM = 0.9
"""Probability from which a card harms."""
MIN_COMPARED = 3
"""With it and without it each: with fewer sessions nothing is compared."""
MIN_HARMFUL = 2
"""Marks of harm, and more than twice as many as of help, that settle it."""
SELDOM_ADDRESSED = 0.25
"""Items that are surely addressed in less than this share of the answers are to be rewritten."""
MIN_RETURNS = 3
"""Sessions in which the mistake was left in spite of the lesson, before that is made louder."""
WEEKS = 26
_TOP = 10
_FACTLESS = "it has no `detect` pattern, and no error message or failing test in its text"

INJECTED, SESSIONS, TOKENS = "injected", "sessions", "tokens"
ADDRESSED, UNADDRESSED = "addressed", "unaddressed"
"""What is counted of a card by day."""


@frozen
class Rate:
    """A share that was observed."""

    times: int
    of: int
    low: float
    """The true share lies between with 95 % probability."""
    high: float


@frozen
class Effect:
    """What is known of one card's work."""

    card: Card
    brain: str = ""
    """Alias of the card's brain; set only where another brain has a card of the same id."""
    injections: int
    sessions: int
    """Sessions that it was given to."""
    opened: int = 0
    """Sessions that read its file."""
    tokens: int
    checked: int
    """Checklist items held against answers."""
    addressed: int
    """Of those, items that were visible."""
    helpful: int
    harmful: int
    irrelevant: int
    outcomes: Mapping[str, int]
    """What became of the sessions that were told: outcome → how many."""
    told: Rate
    """Sessions in which the mistake was left, of those told of which that is known."""
    untold: Rate
    """The same where the lesson was withheld."""
    difference: float
    """Share of the sessions in which it prevents the mistake, below 0 for harm."""
    interval: tuple[float, float]
    """The 95 % interval of that."""
    prevents: float
    """Probability that the difference is above 0."""
    needed: int = 0
    """About how many more sessions would tell; 0 where they do, or nothing is compared."""
    verdict: str = ""
    """One of VERDICTS."""
    proposal: str = ""
    """What its human might do: ``edit``, ``archive``, ``promote``, or "" for nothing."""
    reason: str = ""
    """One sentence for verdict and proposal."""
    first_injected: str | None
    """ISO date."""
    last_injected: str | None
    """ISO date."""
    added: tuple[tuple[str, int, int], ...] = ()
    """How often commits added the mistake, as its patterns detect it: (``2026-01``, times before
    the card was created, times since), oldest first."""
    expected: float | None = None
    """The difference as the brain's other cards make it likely, where they tell."""

    @property
    def name(self) -> str:
        """What ``Cards.find`` knows the card by: its id, the brain's alias in front if needed."""
        return f"{self.brain}:{self.card.id}" if self.brain else self.card.id


def tell_added(effects: Iterable[Effect]) -> str:
    """Return in words how often commits added mistakes that patterns detect, "" for never."""
    months = [month for effect in effects for month in effect.added]
    before = sum(month[1] for month in months)
    since = sum(month[2] for month in months)
    return f"added {before:,}× before the card, {since:,}× since" if before or since else ""


@frozen
class Period:
    """A week of all cards together."""

    start: str
    """ISO date of its Monday."""
    injections: int
    checked: int
    addressed: int
    recurrences: int


@frozen
class Overview:
    """Everything about a brain on one page. Pairs are (name, cards), most first."""

    cards: int
    notes: int
    occurrences: int
    drafts: int
    by_kind: tuple[tuple[str, int], ...]
    by_stage: tuple[tuple[str, int], ...]
    by_project: tuple[tuple[str, int], ...]
    by_severity: tuple[tuple[str, int], ...]
    by_source: tuple[tuple[str, int], ...]
    by_status: tuple[tuple[str, int], ...]
    sessions: int
    injections: int
    tokens: int
    checked: int
    addressed: int
    recurrences: int
    periods: tuple[Period, ...]
    """Weeks, oldest first, without gaps, at most 26; none before anything happened."""
    effects: tuple[Effect, ...]
    """Of every card that is not archived, the most injected first."""
    pooled: Pooled = field(default_factory=Pooled)
    """What its cards prevent together."""
    late: int = 0
    """Events of the last seven days, on this machine, whose lessons came late."""


def top(overview: Overview, limit: int = _TOP) -> tuple[Effect, ...]:
    """Return the cards that were given most often, those never given left out."""
    return tuple(effect for effect in overview.effects[:limit] if effect.injections)


def never_used(overview: Overview) -> tuple[Effect, ...]:
    """Return the active cards that no session was ever given, by id."""
    found = [e for e in overview.effects if not e.injections and e.card.status == "active"]
    return tuple(sorted(found, key=lambda effect: (effect.card.id, effect.brain)))


def noisy(overview: Overview) -> tuple[Effect, ...]:
    """Return the cards that take room and do not help: harmful, or hardly ever addressed.

    The most injected stand first.
    """
    return tuple(e for e in overview.effects if e.verdict == "harms" or is_ignored(e))


def is_ignored(effect: Effect) -> bool:
    """Return whether a card's items are surely addressed in few of the answers only."""
    often = wilson(effect.addressed, effect.checked)[1]
    return effect.injections > 0 and often < SELDOM_ADDRESSED


def rate(times: int, of: int) -> Rate:
    """Return a share with its interval."""
    low, high = wilson(times, of)
    return Rate(times=times, of=of, low=low, high=high)


def group_by_card(occasions: Iterable[Occasion]) -> Mapping[str, list[Occasion]]:
    """Return card → its occasions."""
    found: dict[str, list[Occasion]] = {}
    for one in occasions:
        found.setdefault(one.card, []).append(one)
    return found


def compare(occasions: Sequence[Occasion]) -> RiskDifference:
    """Return how often a card's mistake was left with it and where it was withheld."""
    known = [one for one in occasions if one.outcome in KNOWN_OUTCOMES]
    told = [one for one in known if one.told != WITHHELD]
    control = [one for one in known if one.told == WITHHELD]
    made, without = (sum(one.outcome in FAILED for one in some) for some in (told, control))
    return RiskDifference(made=made, of=len(told), made_without=without, of_without=len(control))


def weigh(
    card: Card,
    counts: Mapping[str, int],
    occasions: Sequence[Occasion] = (),
    *,
    brain: str = "",
    first: str | None = None,
    last: str | None = None,
    idle: bool = False,
    facts: Sequence[str] = FACTS,
    compared: int = 1,
) -> Effect:
    """Return what a card's counts and occasions say.

    ``counts`` maps what was counted to its sum over all days; ``brain`` is the alias to be shown;
    ``first`` and ``last`` are the days (ISO) of its injections; ``idle`` says that a card never
    given has had its time; ``facts`` are those that could show its mistake; ``compared`` is how
    many cards are, for one of many is soon lucky.
    """
    seen = Counter(counts)
    two = compare(occasions)
    effect = Effect(
        card=card,
        brain=brain,
        injections=seen[INJECTED],
        sessions=seen[SESSIONS],
        opened=seen[OPENED],
        tokens=seen[TOKENS],
        checked=seen[ADDRESSED] + seen[UNADDRESSED],
        addressed=seen[ADDRESSED],
        helpful=seen["helpful"],
        harmful=seen["harmful"],
        irrelevant=seen["irrelevant"],
        outcomes=Counter(one.outcome for one in occasions if one.told != WITHHELD),
        told=rate(two.made, two.of),
        untold=rate(two.made_without, two.of_without),
        difference=two.value,
        interval=two.interval,
        prevents=two.prevents,
        first_injected=first,
        last_injected=last,
    )
    verdict, why = _judge(effect, two, facts, compared)
    proposal, what = _propose(effect, verdict, idle=idle)
    if what and verdict not in ("no facts yet", "never used"):
        what = f"{why}; {what}"
    unsure = verdict == "too early" and two.known
    needed = max(two.needed - two.of - two.of_without, 1) if unsure else 0
    return replace(effect, verdict=verdict, proposal=proposal, reason=what or why, needed=needed)


def _judge(
    effect: Effect, two: RiskDifference, facts: Sequence[str], compared: int
) -> tuple[str, str]:
    """Return the verdict and why, without a full stop."""
    if effect.harmful >= MIN_HARMFUL and effect.harmful > 2 * effect.helpful:
        return "harms", f"marked harmful {effect.harmful}×, helpful {effect.helpful}×"
    if not effect.injections and not two.of:
        return "never used", "no prompt has matched it yet"
    if not two.of:
        seen = f"no session with it has shown whether its {' or '.join(facts)} comes back"
        return "no facts yet", seen if facts else _FACTLESS
    change = f"the mistake was left in {two.made} of {counted(two.of, 'session')} with it"
    if not two.known:
        return "too early", f"{change}; there is no session without it to compare with"
    change += f", in {two.made_without} of {two.of_without} when it was withheld"
    if min(two.of, two.of_without) >= MIN_COMPARED:
        # Two shares of nothing differ too, by what is believed of few sessions and of many.
        if two.prevents >= max(SURE, 1 - FALSE_HELPS / max(compared, 1)) and two.made_without:
            return "helps", f"{change}: it prevents it with {_percent(two.prevents)} probability"
        if 1 - two.prevents >= HARM and two.made:
            return "harms", f"{change}: it does harm with {_percent(1 - two.prevents)} probability"
        if two.telling and two.prevents < SURE:
            return "no effect", f"{change}: no difference that matters"
    return "too early", f"{change}: too few sessions to tell"


def _propose(effect: Effect, verdict: str, *, idle: bool) -> tuple[str, str]:
    """Return what its human might do, and why, without a full stop."""
    card = effect.card
    if verdict == "harms":
        return "archive", "archive or rewrite it"
    if is_ignored(effect):
        said = f"{effect.addressed} of {effect.checked} items were addressed"
        return "edit", f"{said}; reword the checklist"
    if verdict != "helps" and effect.told.times >= MIN_RETURNS:
        if card.severity != "high":
            return "promote", "it keeps coming back; raise its severity"
        if card.gate == NO_GATE and card.paths:
            return "promote", "it keeps coming back; require permission for its files (gate: ask)"
        return "edit", "it keeps coming back; improve its checklist"
    if idle and verdict == "never used":
        return "archive", "no prompt has matched it for a long time"
    return "", ""


def tell_difference(effect: Effect) -> str:
    """Return what the sessions with and without a card show, "" where nothing is compared."""
    if not effect.untold.of:
        return ""
    low, high = (f"{100 * bound:+.0f}" for bound in effect.interval)
    told = f"{100 * effect.difference:+.0f} points (95 % interval {low} to {high})"
    if effect.expected is not None:
        told += f", {100 * effect.expected:+.0f} in the light of the other cards"
    return f"{told}; about {effect.needed:,} more sessions would tell" if effect.needed else told


def tell_outcomes(effect: Effect) -> str:
    """Return in how many sessions a card was opened, and what became of those told of it."""
    times = {OPENED: effect.opened, **effect.outcomes}
    names = (OPENED, *KNOWN_OUTCOMES, UNKNOWN_OUTCOME)
    return ", ".join(f"{name} {times[name]}×" for name in names if times.get(name))


def tell_pooled(pooled: Pooled) -> str:
    """Return what the cards prevent together, "" where nothing is compared."""
    if not pooled.lessons:
        return ""
    value, low, high = (f"{100 * part:+.0f}" for part in (pooled.value, pooled.low, pooled.high))
    return f"{value} points over {counted(pooled.lessons, 'card')} (95 % interval {low} to {high})"


def count_verdicts(effects: Iterable[Effect]) -> Mapping[str, int]:
    """Return how many cards have each verdict, in the order of VERDICTS."""
    found = [effect.verdict for effect in effects]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def _percent(share: float) -> str:
    return ">99 %" if share > 0.995 else f"{share:.0%}".replace("%", " %")  # noqa: PLR2004
