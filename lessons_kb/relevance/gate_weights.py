"""The numbers of the relevance gate: each with its feature, its unit and its reason.

`python -m benchmarks gate` and `python -m benchmarks quality` judge a change of them. They are
those that keep the most right cards of retrieval sets in English and Korean (rules, weaknesses, bug
reports, lessons; brains of 3 to 12,000 cards) while no brain of real lessons speaks at more than
2.1 % of the prompts that people typed about something else.
"""

from __future__ import annotations

from typing import NamedTuple


class LogOdds(NamedTuple):
    """Weights: the log odds of a card are the sum of each weight times its feature."""

    bias: float
    """Feature: 1. Unit: log odds. Reason: before anything is known a card is not about a prompt."""
    answered: float
    """Feature: ln(r / (`Shape.half_answered` + r)), r being BM25 over what it would be if the card
    held every term of the prompt. Unit: none. Reason: how much of the prompt the card answers."""
    surprise: float
    """Feature: the chance of finding the shared words in a card of this length, faded. Unit: nats.
    Reason: a short prompt is answered in full by any card that holds two common words."""
    lacking: float
    """Feature: what the shared words lack to `Shape.enough`. Unit: nats. Reason: common words
    convince little, in a short card too."""
    rarity: float
    """Feature: how rare the shared words are in prompts about other things, faded. Unit: nats.
    Reason: a word that manuals seldom hold and prompts often do says little about a card."""
    subject: float
    """Feature: the part of the title's information that the shared words make up. Unit: share.
    Reason: a prompt may be about all of a card's subject, or about one word of it."""
    rivals: float
    """Feature: ln(r / (`Shape.many_rivals` + r)), r being the cards that share a word with the
    prompt. Unit: none. Reason: the best of many shares more, by chance alone."""
    domain: float
    """Feature: how much commoner the terms of the prompt are in this brain than in the world,
    faded. Unit: nats. Reason: the prompt is about what the brain is about."""
    phrases: float
    """Feature: ln(1 + pairs of neighbouring words that are neighbours in the card). Unit: none.
    Reason: words that stand together mean more than words that are strewn."""
    background: float
    """Feature: the log of how many prompts about other things would draw the card. Unit: none.
    Reason: some cards match anything."""
    length: float
    """Feature: ln(terms of the prompt), at least `Shape.fewest_terms`. Unit: none. Reason: a long
    prompt shares words with every card."""
    protected: float
    """Feature: 1 if the card's globs match a file of the prompt. Unit: log odds. Reason: its author
    named the file. Not fitted: the retrieval sets name no files."""


class Shape(NamedTuple):
    """Constants inside the features."""

    limit: float
    """Log odds go no further. Reason: nothing here is surer than 1 in 8,000."""
    half_answered: float
    """The r at which half of what can be answered is answered."""
    many_rivals: int
    """Cards. Reason: beyond some, further ones share no more than the commonest words."""
    fewest_rivals: int
    """Cards. Reason: the only card that shares a word may do so by chance, too."""
    fewest_terms: int
    """Terms. Reason: a prompt that is too short says nothing."""
    enough: float
    """Nats of the shared words in any text from which they lack nothing."""
    belief: float
    """Cards. Reason: a brain is believed to be like the world until it has more; from one to six it
    makes no difference."""
    shared_part: float
    """Share of a term's domain nats that says nothing of one card: others have the term, too."""
    least_title: float
    """Nats. Reason: a title of fewer tells no subject."""
    in_prose: float
    """Weight of a shared word that stands only in the prose of a card with symptoms. Reason: of 200
    everyday prompts 17 % draw a card of ``brain-example`` with it, 24 % without, and 3.0 instead of
    5.5 % one of 433 real lessons; of 126 tasks about those, 45 instead of 47 get a right one."""
    everyday: float
    """Nats of a word that stands in one of nine texts. Reason: a card that shares no rarer word is
    not about the prompt."""
    only_files: float
    """Least confidence in a card that guards a file at hand. Reason: its author named the file."""
    alike: float
    """Share of the information of two prompts that both hold, from which they are alike."""
    example: float
    """Confidence in a card if the prompt is nearly one of its examples."""


class AfterPrompt(NamedTuple):
    """Thresholds for a card that a change or an error brings.

    Set on the changes of two repositories with lessons of their own (compound, kitcn); compared
    with others, and with 720 changes of recorded sessions about something else.
    """

    least_names: float
    """Nats of the names that a change and a card share. Reason: in a brain about one repository the
    words of any change are like some card's; the names tell it from others."""
    first: float
    """Log odds and nats together from which a change brings the card that ranks first."""
    further: float
    """The same for the cards behind it."""
    error: float
    """Confidence by the error alone from which a card is given."""
    together: float
    """Confidence by error and prompt together from which a card is given."""
    earlier: float
    """Share of the log odds at the prompt that counts, from those of ``near`` on."""
    near: float
    """Confidence at the prompt from which a card is remembered for the turn."""
    surest: float
    """Confidence beyond which log odds are not computed."""
    least_said: float
    """Share of the information of a card's title that a change says. Reason: on seven repositories
    readers call two thirds of such lessons worth it, else half."""


class ThresholdRules(NamedTuple):
    """How the thresholds of a brain follow from prompts to coding agents about other things."""

    lessons: float
    """Share of these prompts that may reach the threshold of lessons."""
    titles: float
    """Share of these prompts that may reach the threshold of titles."""
    least_lesson: float
    """Confidence. Reason: a quiet brain still meets prompts that are nearly about its subject."""
    most_lesson: float
    """Confidence. Reason: beyond it the gate no longer tells cards apart."""
    least_title: float
    """Confidence. Reason: below it the card is hardly ever the right one."""


class Wording(NamedTuple):
    """When a verdict is put into words."""

    telling: float
    """Nats from which a word is called rare: one text in 55."""
    own: float
    """Nats from which a word is called the brain's own: seven times as common in its cards."""
    shown: int
    """Words."""


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
    example=0.95,
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
)
WORDING = Wording(telling=4.0, own=2.0, shown=3)
