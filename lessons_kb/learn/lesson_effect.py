"""Does a lesson prevent its mistake? From counts to a verdict that says how sure it is.

A share seen ``times`` out of ``of`` is known as Beta(1 + times, 1 + of - times): what was seen,
and beside it one session with the mistake and one without, so that few sessions say little. The
interval holds the middle 90 % of that belief, and a lesson prevents its mistake as surely as the
belief that the share after it is smaller than the share before.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import exp, lgamma, log, log1p

from lessons_kb.data import read_patterns
from lessons_kb.model import NO_GATE, Card
from lessons_kb.text.sentences import split_sentences

VERDICTS = ("helps", "harms", "no effect", "too early", "never used")
PROPOSALS = ("", "edit", "archive", "promote")
MARKS = ("helpful", "harmful", "irrelevant")

PRIOR = 1
"""Sessions with the mistake, and as many without, that are believed before any was seen."""
TAIL = 0.05
"""Left out at each end of an interval."""
SURE = 0.975
"""Probability from which a difference is a verdict: of lessons without any effect one in twenty
is misjudged, half of them each way."""
MIN_SESSIONS = 8
"""Before and after each: with fewer sessions it is too early to say that nothing changed."""
MIN_COMPARED = 3
"""Before and after each: with fewer sessions nothing is compared."""
OFTEN = 0.25
"""A mistake that surely comes back in more than this share of the sessions is not prevented."""
MIN_HARMFUL = 2
"""Marks of harm, and more than twice as many as of help, that settle it."""
SELDOM_ADDRESSED = 0.25
"""Items that are surely addressed in less than this share of the answers are to be rewritten."""
MIN_RETURNS = 3
"""Sessions in which the mistake came back in spite of the lesson, before that is made louder."""
_NOTHING = 1e-17
"""Share of a sum that no longer changes it."""
WEEKS = 26
_TOP = 10

INJECTED, SESSIONS, TOKENS = "injected", "sessions", "tokens"
ADDRESSED, UNADDRESSED, RECURRED = "addressed", "unaddressed", "recurred"
BEFORE, BEFORE_RECURRED = "before", "before recurred"
"""What is counted of a card by day. The last two are of the sessions before it was first given:
those that it would have been given to, and those of them in which its mistake was seen."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A share that was observed."""

    times: int
    of: int
    low: float
    """5 % and 95 % points of the belief: the share lies between with 90 % probability."""
    high: float
    mean: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Effect:
    """What is known of one card's work."""

    card: Card
    brain: str = ""
    """Alias of the card's brain; set only where another brain has a card of the same id."""
    injections: int
    sessions: int
    """Sessions that it was given to."""
    tokens: int
    checked: int
    """Checklist items held against answers."""
    addressed: int
    """Of those, items that were visible."""
    recurrences: int
    """Sessions in which the mistake was seen again after the card was given."""
    helpful: int
    harmful: int
    irrelevant: int
    before: Rate
    """Sessions with the mistake, of those before its first day that it would have been given to."""
    after: Rate
    """Sessions with the mistake, of those that it was given to."""
    prevents: float
    """Probability that ``after`` is smaller than ``before``."""
    verdict: str
    """One of VERDICTS."""
    proposal: str
    """One of PROPOSALS."""
    reason: str
    """One sentence for verdict and proposal."""
    first_injected: str | None
    """ISO date."""
    last_injected: str | None
    """ISO date."""
    added: tuple[tuple[str, int, int], ...] = ()
    """How often commits added the mistake, as its patterns detect it: (``2026-01``, times before
    the card was created, times since), oldest first."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Period:
    """A week of all cards together."""

    start: str
    """ISO date of its Monday."""
    injections: int
    checked: int
    addressed: int
    recurrences: int


@dataclass(frozen=True, kw_only=True, slots=True)
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
    often = rate(effect.addressed, effect.checked).high
    return effect.injections > 0 and often < SELDOM_ADDRESSED


@lru_cache(maxsize=4096)
def rate(times: int, of: int) -> Rate:
    """Return a share with its 90 % interval; more ``times`` than ``of`` count as all."""
    of = max(of, 0)
    times = min(max(times, 0), of)
    a, b = PRIOR + times, PRIOR + of - times
    low, high = (beta_quantile(share, a, b) for share in (TAIL, 1 - TAIL))
    return Rate(times=times, of=of, low=low, high=high, mean=a / (a + b))


@lru_cache(maxsize=4096)
def probability_less(after: Rate, before: Rate) -> float:
    """Return the probability that ``after`` is the smaller share of the two.

    With whole parameters the integral of one belief over the other is a finite sum (J. Cook,
    "Exact calculation of beta inequalities", 2005), taken over the successes of ``before``.
    """
    a, b = PRIOR + after.times, PRIOR + after.of - after.times
    c, d = PRIOR + before.times, PRIOR + before.of - before.times
    total = sum(
        exp(_log_beta(a + i, b + d) - log(d + i) - _log_beta(1 + i, d) - _log_beta(a, b))
        for i in range(c)
    )
    return min(max(total, 0.0), 1.0)


def beta_quantile(share: float, a: int, b: int) -> float:
    """Return x with ``beta_cdf(x, a, b)`` = ``share``, to twelve places."""
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if beta_cdf(middle, a, b) < share else (low, middle)
    return (low + high) / 2


def beta_cdf(x: float, a: int, b: int) -> float:
    """Return the regularised incomplete beta function I_x(a, b), for positive ``a`` and ``b``.

    For whole numbers it is the probability of at least ``a`` successes in a + b - 1 trials.
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > a / (a + b):
        return 1 - beta_cdf(1 - x, b, a)  # so that the terms below become ever smaller
    trials = a + b - 1
    term = exp(a * log(x) + (b - 1) * log1p(-x) - _log_beta(a, b)) / a
    total = 0.0
    for successes in range(a, trials + 1):
        total += term
        term *= (trials - successes) / (successes + 1) * x / (1 - x)
        if term < _NOTHING * total:
            break
    return total


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def weigh(
    card: Card,
    counts: Mapping[str, int],
    *,
    brain: str = "",
    first: str | None = None,
    last: str | None = None,
    idle: bool = False,
) -> Effect:
    """Return what a card's counts say.

    ``counts`` maps what was counted to its sum over all days; ``brain`` is the alias to be shown;
    ``first`` and ``last`` are the days (ISO) of its injections; ``idle`` says that a card never
    given has had its time.
    """
    seen = Counter(counts)
    before = rate(seen[BEFORE_RECURRED], seen[BEFORE])
    after = rate(seen[RECURRED], seen[SESSIONS])
    effect = Effect(
        card=card,
        brain=brain,
        injections=seen[INJECTED],
        sessions=seen[SESSIONS],
        tokens=seen[TOKENS],
        checked=seen[ADDRESSED] + seen[UNADDRESSED],
        addressed=seen[ADDRESSED],
        recurrences=seen[RECURRED],
        helpful=seen["helpful"],
        harmful=seen["harmful"],
        irrelevant=seen["irrelevant"],
        before=before,
        after=after,
        prevents=probability_less(after, before),
        verdict="",
        proposal="",
        reason="",
        first_injected=first,
        last_injected=last,
    )
    verdict, why = _judge(effect)
    proposal, what = _propose(effect, verdict, idle=idle)
    if what and verdict not in ("too early", "never used"):
        what = f"{why}; {what}"
    return replace(effect, verdict=verdict, proposal=proposal, reason=what or why)


def may_harm(counts: Mapping[str, int]) -> bool:
    """Return whether a card's counts could be those of a harmful one; costs next to nothing."""
    seen = counts.get
    more = seen(RECURRED, 0) * seen(BEFORE, 0) > seen(BEFORE_RECURRED, 0) * seen(SESSIONS, 0)
    return more or seen("harmful", 0) >= MIN_HARMFUL


def _judge(effect: Effect) -> tuple[str, str]:
    """Return the verdict and why, without a full stop."""
    before, after = effect.before, effect.after
    with_it, without = (f"{one.times} of {one.of}" for one in (after, before))
    returned = f"the mistake came back in {with_it} sessions"
    change = f"{returned} with it, {without} before it"
    if effect.harmful >= MIN_HARMFUL and effect.harmful > 2 * effect.helpful:
        return "harms", f"marked harmful {effect.harmful}×, helpful {effect.helpful}×"
    if not effect.injections:
        return "never used", "no prompt has matched it yet"
    compared = min(before.of, after.of) >= MIN_COMPARED
    # Two shares of nothing differ too, by what is believed of few sessions and of many: no verdict.
    if compared and effect.prevents >= SURE and before.times:
        sure = _percent(effect.prevents)
        return "helps", f"{change}: the card prevents it with {sure} probability"
    if compared and effect.prevents <= 1 - SURE and after.times:
        worse = _percent(1 - effect.prevents)
        return "harms", f"{change}: it is more frequent with {worse} probability"
    if after.of >= MIN_SESSIONS and after.low > OFTEN:
        return "no effect", f"{returned} despite the card"
    if after.of >= MIN_SESSIONS and before.of >= MIN_SESSIONS:
        return "no effect", f"{change}: no significant difference"
    if not after.of:
        return "too early", "only injected outside of sessions, where no outcome is observed"
    if not before.of:
        return "too early", f"{returned} with it; no earlier session to compare with"
    return "too early", f"{change}: too few sessions to tell"


def _propose(effect: Effect, verdict: str, *, idle: bool) -> tuple[str, str]:
    """Return what its human might do, and why, without a full stop."""
    card = effect.card
    if verdict == "harms":
        return "archive", "archive or rewrite it"
    if is_ignored(effect):
        said = f"{effect.addressed} of {effect.checked} items were addressed"
        return "edit", f"{said}; reword the checklist"
    if verdict != "helps" and effect.after.times >= MIN_RETURNS:
        if card.severity != "high":
            return "promote", "it keeps coming back; raise its severity"
        if card.gate == NO_GATE and card.paths:
            return "promote", "it keeps coming back; require permission for its files (gate: ask)"
        return "edit", "it keeps coming back; improve its checklist"
    if idle and verdict == "never used":
        return "archive", "no prompt has matched it for a long time"
    return "", ""


def count_verdicts(effects: Iterable[Effect]) -> Mapping[str, int]:
    """Return how many cards have each verdict, in the order of VERDICTS."""
    found = [effect.verdict for effect in effects]
    return {verdict: found.count(verdict) for verdict in VERDICTS}


def _percent(share: float) -> str:
    return ">99 %" if share > 0.995 else f"{share:.0%}".replace("%", " %")  # noqa: PLR2004


PATTERNS = read_patterns("lesson_verdicts.txt")
"""Mark → what is searched in each sentence, in lower case."""
_NOT_SAID = "|".join(PATTERNS.pop("not said"))
"""In a sentence that asks, supposes, quotes, denies, gives and takes, or tells of what has been
fixed since, nothing was said."""
_MAX_TEXT = 40_000
_MAX_SENTENCE = 400


def find_marks(answer: str) -> list[tuple[str, str]]:
    """Return (what, mark) of each lesson that an answer judges, in order, each pair once.

    ``what`` is the number that the lesson had in its block, or its id as it was written; the
    mark is ``helpful`` or ``harmful``.
    """
    low = answer[:_MAX_TEXT].lower()
    if "lesson" not in low and "교훈" not in low and ".md" not in low:
        return []
    marks: dict[tuple[str, str], None] = {}
    for sentence in (one for one in split_sentences(low) if len(one) <= _MAX_SENTENCE):
        for mark, patterns in PATTERNS.items():
            for found in (each for one in patterns for each in re.finditer(one, sentence)):
                if not re.search(_NOT_SAID, sentence.replace(found[0], " ", 1)):
                    marks[found["number"] or found["name"], mark] = None
    return list(marks)
