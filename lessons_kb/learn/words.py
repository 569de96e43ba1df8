"""What an agent says of a lesson in so many words: it helped, or it misled. A table of patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from lessons_kb.text.prompts import split_sentences

_NAME = r"`?(?P<name>[\w./-]+\.md|(?:lessons|playbooks|qa-findings)/[\w./-]*\w)`?"
_EN = (
    rf"(?:\blessons? (?:#|no\.? ?|number )?(?P<number>\d{{1,2}})\b|{_NAME})"
    r"(?: \([^()]{1,120}\))?"
)
_KO = rf"(?:교훈 ?#?(?P<number>\d{{1,2}})(?: ?번)?|{_NAME})(?:은|는|이|가) ?(?:\S{{1,12}} ){{0,2}}"
_KO_SAID = r"(?:내용|말|조언|정보|설명|교훈)"
_KO_THANKS = rf"(?:교훈 ?#?(?P<number>\d{{1,2}})(?: ?번)?|{_NAME})(?:의)? ?덕분"
_ALSO = r"(?: card| lesson| itself| here| also| really| indeed| actually| clearly| just){0,2}"
_BE = r" (?:is|was|were|has been|proved|turned out|seems|seemed)(?: to be)?"
_VERY = r"(?: (?:very|really|quite|simply|plainly|actually|just|flatly|completely|badly|here)){0,2}"
_BAD = (
    r"(?:wrong|harmful|misleading|incorrect|counterproductive|obsolete|outdated|no longer true"
    r"|bad advice|mistaken(?! for\b))(?![-\w])"
)
_RIGHT = r"right(?= about\b| and\b|[)`*]*(?:$|[.,;:!]| [—–-] ))"
"""Right, and not right *that* something was broken: such a sentence judges the thing."""
_GOOD = rf"(?:helpful|useful|a (?:real |big |great )?help|{_RIGHT})(?![-\w])"
_HELPED = (
    r"(?:helped|paid off|saved(?! (?:in|to|as|at|under|by|for|here|below)\b)"
    r"|prevented(?! (?:me|us|you|it|them)\b)|caught(?! (?:my|our|your|up|in|by|on)\b)"
    r"|pointed (?:me|us)(?! (?:\w+ ){1,2}(?:wrong|old)\b))"
)
_THING = r"(?:it|this|that|everything|(?:the|a|my|our|its|two|some)(?: [\w-]+){1,3})"
_WORSE = r"made (?:it|things) worse"

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "harmful": (
        rf"{_EN}{_ALSO}{_BE}{_VERY} {_BAD}",
        rf"{_EN}{_ALSO} (?:misled|misleads|hurt|harmed|led me astray|{_WORSE})\b",
        rf"\b(?:misled|led astray) by {_EN}",
        rf"\b(?:following|because of|due to) {_EN}(?:,? {_THING})? (?:broke|{_WORSE})\b",
        rf"{_KO}(?:틀렸|잘못됐|잘못되었|(?:틀린|잘못된) {_KO_SAID}|해로|오해를|맞지 않(?![는을]))",
    ),
    "helpful": (
        rf"{_EN}{_ALSO} {_HELPED}\b",
        rf"{_EN}{_ALSO}{_BE}{_VERY} {_GOOD}",
        rf"\b(?:thanks to|helped by|saved by) {_EN}",
        rf"{_KO}(?:도움이 (?:됐|되었|됩|된)|도움을 (?:줬|주었)|유용했)",
        _KO_THANKS,
    ),
}
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
mended since, nothing was said."""
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
