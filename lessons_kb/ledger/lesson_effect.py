"""Judge whether a lesson prevents its mistake from the occasions of the lesson in the ledger.

Sessions that got a lesson are compared with sessions from which it was withheld. A mistake that was
corrected in the same session counts as prevented in both groups.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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
from lessons_kb.text.sanitize import counted, shell_word
from lessons_kb.values import field, frozen, replace

VERDICTS = ("helps", "harms", "no effect", "too early", "no facts yet", "never used")
MARKS = ("helpful", "harmful", "irrelevant")

SURE, FALSE_HELPS = 0.975, 0.05
"""The probability from which a single card is said to help, and the accepted probability that any
of several compared cards is said to help by chance.
"""
HARM = 0.9
"""The probability from which a card is said to harm."""
MIN_COMPARED = 3
"""The minimum number of sessions with the card, and of sessions without it, for a comparison."""
MIN_HARMFUL = 2
"""The minimum number of marks of harm for the verdict. They must be more than twice as many as the
marks of help.
"""
SELDOM_ADDRESSED = 0.25
"""The share of answers below which a checklist should be reworded, if the share is certainly
lower.
"""
MIN_RETURNS = 3
"""The number of sessions with the mistake in spite of the lesson after which a stronger form is
suggested.
"""
WEEKS = 26
_TOP = 10
_FACTLESS = "it has no `detect` pattern, and no error message or failing test in its text"

INJECTED, SESSIONS, TOKENS = "injected", "sessions", "tokens"
ADDRESSED, UNADDRESSED = "addressed", "unaddressed"
"""Names of a card's daily counts."""


@frozen
class Rate:
    """An observed share with its 95 % interval."""

    times: int
    of: int
    low: float
    """The lower bound of the 95 % interval, 0 to 1."""
    high: float
    """The upper bound, 0 to 1."""


@frozen
class Effect:
    """The measured effect of one card."""

    card: Card
    brain: str = ""
    """The alias of the card's brain, or "" unless another brain has a card with the same id."""
    injections: int
    sessions: int
    """The number of sessions that got the card."""
    opened: int = 0
    """The number of sessions that read the card's file."""
    tokens: int
    checked: int
    """The number of checklist items that were compared with answers."""
    addressed: int
    """The number of these items that were addressed."""
    helpful: int
    harmful: int
    irrelevant: int
    outcomes: Mapping[str, int]
    """Mapping from each outcome to the number of sessions, among the sessions that got the
    lesson.
    """
    told: Rate
    """The share of sessions with a remaining mistake, among sessions with the lesson and a known
    outcome."""
    untold: Rate
    """The same share among sessions from which the lesson was withheld."""
    difference: float
    """The share of sessions in which the lesson prevents the mistake. It is negative if the lesson
    harms.
    """
    interval: tuple[float, float]
    """The 95 % interval of the difference."""
    prevents: float
    """The probability that the difference is positive."""
    needed: int = 0
    """The approximate number of further sessions that are needed for a verdict. It is 0 if no more
    are needed, or without a comparison.
    """
    verdict: str = ""
    """One of VERDICTS."""
    proposal: str = ""
    """A suggestion to the user: ``edit``, ``archive``, ``promote``, or "" for none."""
    reason: str = ""
    """One sentence that explains verdict and proposal."""
    first_injected: str | None
    """An ISO date, or None if the card was never injected."""
    last_injected: str | None
    """An ISO date, or None if the card was never injected."""
    added: tuple[tuple[str, int, int], ...] = ()
    """The number of times that commits added the mistake, according to its patterns. The items are
    (month such as ``2026-01``, times before the card was created, times since then), oldest first.
    """
    added_partly: bool = False
    """Whether newer commits have not been searched yet, so that ``added`` will grow."""
    expected: float | None = None
    """The difference, shrunk towards the difference of the brain's other cards, or None without
    enough data.
    """

    @property
    def name(self) -> str:
        """The name by which ``Cards.find`` finds the card: its id, with the alias if needed."""
        return f"{self.brain}:{self.card.id}" if self.brain else self.card.id


def tell_added(effects: Iterable[Effect]) -> str:
    """Describe how often commits added mistakes that patterns detect. Return "" if they never
    did.
    """
    before = since = 0
    so_far = ""
    for effect in effects:
        before += sum(month[1] for month in effect.added)
        since += sum(month[2] for month in effect.added)
        if effect.added_partly:
            so_far = " so far; the rest of the history is read the next time"
    return f"added {before:,}× before the card, {since:,}× since{so_far}" if before or since else ""


@frozen
class Period:
    """The sums over all cards for one week."""

    start: str
    """The ISO date of its Monday."""
    injections: int
    checked: int
    addressed: int
    recurrences: int


@frozen
class Overview:
    """The statistics of a brain. Pairs are (name, number of cards), the most frequent first."""

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
    """At most 26 weeks without gaps, oldest first, or () before the first event."""
    effects: tuple[Effect, ...]
    """The effects of all cards that are not archived, the most injected card first."""
    pooled: Pooled = field(default_factory=Pooled)
    """The common effect of its cards."""
    returned: int = 0
    """The number of active cards whose mistake occurred again since the last step of `lessons
    escalate`.
    """
    late: int = 0
    """The number of events of the last seven days, on this machine, whose lessons were late."""


def top(overview: Overview, limit: int = _TOP) -> tuple[Effect, ...]:
    """Return the most injected cards. Cards that were never injected are left out."""
    return tuple(effect for effect in overview.effects[:limit] if effect.injections)


def never_used(overview: Overview) -> tuple[Effect, ...]:
    """Return the active cards that were never injected, sorted by id."""
    active = [effect for effect in overview.effects if effect.card.status == "active"]
    unused = [effect for effect in active if not effect.injections]
    return tuple(sorted(unused, key=lambda effect: (effect.card.id, effect.brain)))


def noisy(overview: Overview) -> tuple[Effect, ...]:
    """Return the cards that are harmful or rarely addressed, the most injected first."""
    return tuple(
        effect for effect in overview.effects if effect.verdict == "harms" or is_ignored(effect)
    )


def is_ignored(effect: Effect) -> bool:
    """Return whether a card's items are certainly addressed in only a small share of answers.

    Facts about the mistake count more than the items: a card that helps, or about which it is too
    early to judge, is not ignored.
    """
    _low, high = wilson(effect.addressed, effect.checked)
    is_judged_by_items = effect.verdict in ("no effect", "no facts yet")
    return is_judged_by_items and effect.injections > 0 and high < SELDOM_ADDRESSED


def rate(times: int, of: int) -> Rate:
    """Return a share with its interval."""
    low, high = wilson(times, of)
    return Rate(times=times, of=of, low=low, high=high)


def group_by_card(occasions: Iterable[Occasion]) -> Mapping[str, list[Occasion]]:
    """Return a mapping from each card id to the occasions of the card."""
    groups: dict[str, list[Occasion]] = {}
    for occasion in occasions:
        groups.setdefault(occasion.card, []).append(occasion)
    return groups


def compare(occasions: Sequence[Occasion]) -> RiskDifference:
    """Compare how often a card's mistake remained with the card and without it.

    Occasions with an unknown outcome are left out.
    """
    settled = [occasion for occasion in occasions if occasion.outcome in KNOWN_OUTCOMES]
    withheld = [occasion for occasion in settled if occasion.told == WITHHELD]
    told = [occasion for occasion in settled if occasion.told != WITHHELD]
    return RiskDifference(
        made=sum(occasion.outcome in FAILED for occasion in told),
        of=len(told),
        made_without=sum(occasion.outcome in FAILED for occasion in withheld),
        of_without=len(withheld),
    )


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
    """Compute a card's effect from its counts and occasions.

    ``counts`` maps the name of each count to the sum over all days. ``brain`` is the alias to show.
    ``first`` and ``last`` are the ISO dates of its injections. ``idle`` states that a card without
    injections has existed long enough to be judged. ``facts`` are the kinds of facts that could
    show its mistake. ``compared`` is the number of cards that are judged together, which corrects
    for multiple comparisons.
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
    effect = replace(effect, verdict=verdict)
    proposal, suggestion = _propose(effect, idle=idle)
    reason = suggestion or why
    if suggestion and verdict not in ("no facts yet", "never used"):
        reason = f"{why}; {suggestion}"
    unsure = verdict == "too early" and two.known
    needed = max(two.needed - two.of - two.of_without, 1) if unsure else 0
    return replace(effect, proposal=proposal, reason=reason, needed=needed)


def _judge(
    effect: Effect, two: RiskDifference, facts: Sequence[str], compared: int
) -> tuple[str, str]:
    """Return the verdict and its reason, without a full stop."""
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
        # Two shares of zero differ as well if one group has more sessions: require a mistake.
        if two.prevents >= max(SURE, 1 - FALSE_HELPS / max(compared, 1)) and two.made_without:
            return "helps", f"{change}: it prevents it with {_percent(two.prevents)} probability"
        if 1 - two.prevents >= HARM and two.made:
            return "harms", f"{change}: it does harm with {_percent(1 - two.prevents)} probability"
        if two.telling and two.prevents < SURE:
            return "no effect", f"{change}: no difference that matters"
    return "too early", f"{change}: too few sessions to compare"


def _propose(effect: Effect, *, idle: bool) -> tuple[str, str]:
    """Return a suggestion to the user and its reason, without a full stop, or ("", "") if there is
    none.
    """
    card, verdict = effect.card, effect.verdict
    if verdict == "harms":
        return "archive", "archive or rewrite it"
    if is_ignored(effect):
        share = f"{effect.addressed} of {effect.checked} items were addressed"
        return "edit", f"{share}; reword the checklist"
    escalate = f"`lessons escalate {shell_word(effect.name)}`"
    if verdict != "helps" and effect.told.times >= MIN_RETURNS:
        if card.severity != "high":
            return "promote", f"it keeps coming back; raise its severity, or {escalate}"
        if card.gate == NO_GATE and card.paths:
            gate = "require permission for its files (gate: ask)"
            return "promote", f"it keeps coming back; {gate}, or {escalate}"
        return "edit", f"it keeps coming back; improve its checklist, or {escalate}"
    if idle and verdict == "never used":
        return "archive", "no prompt has matched it for a long time"
    return "", ""


def tell_difference(effect: Effect) -> str:
    """Describe the difference between sessions with and without a card. Return "" unless there are
    both.
    """
    if not effect.untold.of:
        return ""
    low, high = (f"{100 * bound:+.0f}" for bound in effect.interval)
    text = f"{100 * effect.difference:+.0f} points (95 % interval {low} to {high})"
    if effect.expected is not None:
        text += f", {100 * effect.expected:+.0f} in the light of the other cards"
    if effect.needed:
        text += f"; about {effect.needed:,} more sessions would tell"
    return text


def tell_outcomes(effect: Effect) -> str:
    """Describe the number of sessions that opened a card, and the outcomes of the sessions that got
    it.
    """
    times = {OPENED: effect.opened, **effect.outcomes}
    names = (OPENED, *KNOWN_OUTCOMES, UNKNOWN_OUTCOME)
    return ", ".join(f"{name} {times[name]}×" for name in names if times.get(name))


def tell_checklist(effect: Effect) -> str:
    """Describe how many checklist items the answers and changes showed. Return "" without a check.

    An item that is not shown may still have been done, and its mistake may have been avoided.
    """
    if not effect.checked:
        return ""
    return f"{effect.addressed:,} of {counted(effect.checked, 'checklist item')} shown"


def tell_pooled(pooled: Pooled) -> str:
    """Describe by how much the cards together prevent their mistakes; "" without a comparison.

    An example is ``+12 points over 3 cards (95 % interval 4 to 20)``. The number is negative if
    sessions with the lessons make the mistakes more often.
    """
    if not pooled.lessons:
        return ""
    value, low, high = (f"{100 * part:+.0f}" for part in (pooled.value, pooled.low, pooled.high))
    return f"{value} points over {counted(pooled.lessons, 'card')} (95 % interval {low} to {high})"


def count_verdicts(effects: Iterable[Effect]) -> Mapping[str, int]:
    """Return a mapping from each verdict to its number of cards, in the order of VERDICTS."""
    counts = Counter(effect.verdict for effect in effects)
    return {verdict: counts[verdict] for verdict in VERDICTS}


def _percent(share: float) -> str:
    return ">99 %" if share > 0.995 else f"{share:.0%}".replace("%", " %")  # noqa: PLR2004
