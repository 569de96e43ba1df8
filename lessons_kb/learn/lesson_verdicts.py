"""What an agent says of a lesson in so many words: it helped, or it misled. A table of patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lessons_kb.data import read_patterns
from lessons_kb.text.sentences import split_sentences

PATTERNS = read_patterns("lesson_verdicts.txt")
"""Mark → what is searched in each sentence, in lower case."""
_NOT_SAID = (
    r"\?|^\s*(?:>|\d+\.|- \[)|\b(?:if|whether|would|could|might|may|should|in case|unless)\b"
    r"|\b(?:not|never|no|nobody|nothing|none|neither|nor|hardly|barely|little)\b|n't\b"
    r"|\b(?:but|though|although|except|only|partly|partially)\b"
    r"|\b(?:fixed|corrected|updated|rewrote|edited|mended) (?:it|its|the (?:card|lesson|file))\b"
    r"|\bbefore (?:my|our|the|this) (?:fix|change|edit|update)\b"
    r"|(?:라면|으면|다면|않았|아니|적[이은도]? 없)"
)
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
    return list(dict.fromkeys(_marks(low)))


def _marks(text: str) -> Iterator[tuple[str, str]]:
    for sentence in split_sentences(text):
        if len(sentence) > _MAX_SENTENCE:
            continue
        for mark, patterns in PATTERNS.items():
            for pattern in patterns:
                for found in re.finditer(pattern, sentence):
                    if not re.search(_NOT_SAID, sentence.replace(found[0], " ", 1)):
                        yield found["number"] or found["name"], mark
