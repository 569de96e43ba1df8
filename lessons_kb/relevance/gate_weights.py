"""The numbers of the relevance gate, each with its feature, its unit and its reason.

`python -m benchmarks gate` and `python -m benchmarks quality` evaluate a change of the numbers.
These values retain the most right cards of retrieval sets in English and Korean (rules, weaknesses,
bug reports, lessons; brains of 3 to 12,000 cards) under one constraint: no brain of real lessons
gives a card at more than 2.1 % of the unrelated prompts that people typed.
"""

from __future__ import annotations

from lessons_kb.values import frozen


@frozen
class LogOdds:
    """Weights of the features. The log odds of a card are the sum of each weight times its
    feature.
    """

    bias: float
    """Feature: 1. Unit: log odds. Reason: without evidence, a card is not about a prompt."""
    answered: float
    """Feature: ln(r / (`Shape.half_answered` + r)), where r is BM25 divided by its value for
    a card with every term of the prompt. Unit: none. Reason: a card should answer much of the
    prompt."""
    surprise: float
    """Feature: the chance of finding the shared words in a card of this length, faded. Unit: nats.
    Reason: a short prompt is answered in full by any card with two common words."""
    lacking: float
    """Feature: how far the shared words fall short of `Shape.enough`. Unit: nats. Reason: common
    words are weak evidence, in a short card too."""
    rarity: float
    """Feature: how rare the shared words are in prompts about other things, faded. Unit: nats.
    Reason: a word that is rare in manuals but common in prompts says little about a card."""
    subject: float
    """Feature: the part of the title's information that is in the shared words. Unit: share.
    Reason: a prompt may be about all of a card's subject, or about one word of it."""
    rivals: float
    """Feature: ln(r / (`Shape.many_rivals` + r)), where r is the number of cards that share a
    word with the prompt. Unit: none. Reason: by chance, the best of many cards shares more."""
    domain: float
    """Feature: how much more common the prompt's terms are in this brain than in the world, faded.
    Unit: nats. Reason: the prompt is about the subject of the brain.
    """
    phrases: float
    """Feature: ln(1 + pairs of adjacent words that are adjacent in the card). Unit: none. Reason:
    words that occur together mean more than scattered words."""
    background: float
    """Feature: the log of the number of unrelated prompts that match the card. Unit: none.
    Reason: some cards match anything."""
    length: float
    """Feature: ln(terms of the prompt), at least `Shape.fewest_terms`. Unit: none. Reason: a long
    prompt shares words with every card."""
    protected: float
    """Feature: 1 if the card's globs match a file of the prompt. Unit: log odds. Reason: its author
    named the file. Not fitted: the retrieval sets name no files."""


@frozen
class Shape:
    """Constants inside the features."""

    limit: float
    """The limit of the log odds. Reason: nothing here is more certain than 1 in 8,000."""
    half_answered: float
    """The r at which r / (``half_answered`` + r) is one half."""
    many_rivals: int
    """Cards. Reason: beyond this number, further cards share only the most common words."""
    fewest_rivals: int
    """Cards. Reason: even the only card that shares a word may do so by chance."""
    fewest_terms: int
    """Terms. Reason: a prompt that is too short says nothing."""
    enough: float
    """Nats of the shared words from which ``lacking`` is 0."""
    belief: float
    """Cards. Reason: a brain with fewer cards is assumed to be like the world; values from one to
    six make no difference."""
    shared_part: float
    """Share of a term's domain nats that does not count for a card, since others have the term."""
    least_title: float
    """Nats. Reason: a title with fewer nats names no subject."""
    in_prose: float
    """Weight of a shared word that is only in the prose of a card with symptoms. Reason: with this
    weight 17 % of 200 everyday prompts match a card of ``brain-example``, without it 24 %; 3.0 %
    instead of 5.5 % match one of 433 real lessons, and 45 instead of 47 of 126 tasks about these
    lessons get a right lesson."""
    everyday: float
    """Nats of a word that is in one of nine texts. Reason: a card that shares no rarer word is not
    about the prompt."""
    only_files: float
    """Lowest confidence in a card that guards a file at hand. Reason: its author named the file."""
    alike: float
    """Share of the information of two prompts that they must have in common to be similar."""
    nearly: float
    """Part of the confidence in a card for a part of a prompt, from which another card is nearly
    as sure. Reason: with 0.9, three in four of the further cards given are right (19 of 25 on four
    brains); without a limit, half of them are."""
    example: float
    """Confidence in a card if the prompt is nearly one of its examples, or has the words of one of
    its symptoms."""
    least_stated: int
    """The minimum number of terms of such a symptom. A shorter one says too little."""
    stated_share: float
    """The share of the terms of a prompt that such a symptom must have. Reason: "add a new model
    provider" means the symptom "add a model provider"."""


@frozen
class AfterPrompt:
    """Thresholds for a card that is given for a change or an error.

    They were fitted to the changes of two repositories with their own lessons (compound, kitcn),
    and checked on other repositories and on 720 unrelated changes of recorded sessions.
    """

    least_names: float
    """Nats of the names that a change and a card share. Reason: in a brain about one repository the
    words of any change resemble some card; the names distinguish the cards."""
    first: float
    """Sum of log odds and nats from which the card that ranks first is given for a change."""
    further: float
    """The same sum for the cards that rank below the first card."""
    error: float
    """Confidence for the error alone from which a card is given."""
    together: float
    """Confidence for error and prompt together from which a card is given."""
    earlier: float
    """Share of the log odds at the prompt, above those of ``near``, that counts."""
    near: float
    """Confidence at the prompt from which a card is stored for the turn."""
    surest: float
    """Highest confidence for which log odds are computed."""
    least_said: float
    """Share of the information of a card's title that a change must contain. Reason: on seven
    repositories readers found two thirds of such lessons useful, but only half of the others."""


@frozen
class ThresholdRules:
    """Rules that derive the thresholds of a brain from unrelated prompts to coding agents."""

    lessons: float
    """Share of these prompts that may reach the threshold of lessons."""
    titles: float
    """Share of these prompts that may reach the threshold of titles."""
    least_lesson: float
    """Confidence. Reason: even a brain that few prompts match gets prompts close to its subject."""
    most_lesson: float
    """Confidence. Reason: above it the gate no longer distinguishes cards."""
    least_title: float
    """Confidence. Reason: below it the card is hardly ever right."""
    title_by_meaning: float
    """Confidence from which a brain with few cards offers titles if similarity in meaning is used:
    a tenth of unrelated prompts reach it."""


@frozen
class Wording:
    """Limits for the words in the reason of a verdict."""

    telling: float
    """Nats from which a word is called rare (in one of 55 texts)."""
    own: float
    """Nats from which a word is called the brain's own (seven times as common in its cards)."""
    shown: int
    """The maximum number of words shown."""


WEIGHTS = LogOdds(
    bias=-6.5,
    answered=2.5,
    surprise=0.57,
    lacking=-0.5,
    rarity=0.35,
    subject=5.5,
    rivals=-1.6,
    domain=0.2,
    phrases=2.2,
    background=-0.2,
    length=-1.85,
    protected=1.5,
)
SHAPE = Shape(
    limit=9.0,
    half_answered=0.5,
    many_rivals=100,
    fewest_rivals=3,
    fewest_terms=4,
    enough=8.0,
    belief=2.0,
    shared_part=0.35,
    least_title=12.0,
    in_prose=0.7,
    everyday=2.2,
    only_files=0.75,
    alike=0.75,
    nearly=0.9,
    example=0.95,
    least_stated=3,
    stated_share=0.75,
)
AFTER_PROMPT = AfterPrompt(
    least_names=6.0,
    first=12.0,
    further=19.0,
    error=0.95,
    together=0.9,
    earlier=0.5,
    near=0.02,
    surest=0.9999,
    least_said=0.3,
)
THRESHOLDS = ThresholdRules(
    lessons=0.05,
    titles=0.1,
    least_lesson=0.4,
    most_lesson=0.99,
    least_title=0.05,
    title_by_meaning=0.33,
)
WORDING = Wording(telling=4.0, own=2.0, shown=3)
