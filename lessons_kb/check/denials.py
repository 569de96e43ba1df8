"""Where an answer says that something was not done: left out, put off, or only proposed.

What is denied is read from the same clause: a "not" reaches no further than the next "but".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from lessons_kb.text.analyzer import analyze

LEFT, PUT_OFF, ABSENT = "left", "put off", "absent"
"""What a clause says: it was not done; it may be done some day; it is not so."""

MAX_SENTENCE = 2_000
"""Characters. Nobody writes a longer sentence: it is data."""

_BE = r"(?:did|have|has|had|was|were|could)"
_NOT = r"(?:n['\u2019]t|\s+not)"
_WORK = r"(?:pr|pull|change|release|version|step|sprint|task|ticket|issue|commit|time)"
_DONE = (
    r"(?:added|built|changed|checked|committed|covered|created|documented|done|implemented|made|"
    r"measured|run|taken|tested|touched|tried|updated|verified|written)"
)
_LEAVE = r"(?:skipped|omitted|postponed|deferred|left)"
_SAID: dict[str, tuple[str, ...]] = {
    PUT_OFF: (
        r"\b(?:follow-?ups?|to-?do|fixme|tomorrow|for\s+later|later\s+on|revisit|will\s+follow)\b",
        (
            r"\b(?:in|as|for)\s+(?:(?:a|the|another|some|my|our)\s+)?(?:next|later|separate|future)\s+"
            rf"(?:\w+\s+)?{_WORK}\b"
        ),
        r"\bnext\s+(?:week|month|sprint)\b|\b(?:some|one)\s+(?:point|day)\b|\bin\s+(?:the|a)\s+future\b",
        r"\b(?:would|i['\u2019]d|i|we)\s+(?:also\s+)?(?:suggest|recommend|advise|propose)\b",
        r"\b(?:we|you|one|someone|somebody)\s+(?:should|could|might|may\s+want)\b",
        r"\bshould\s+probably\b|\bcould\s+be\s+added\b|\bneeds?\s+to\s+be\b|\bplan(?:ned)?\s+to\b",
        r"^\W*(?:i|we)\s+(?:considered|thought\s+about|wanted\s+to|meant\s+to|intended\s+to)\b",
        r"\b(?:we|you|one|someone|somebody)(?:['\u2019]d)?\s+(?:may|might)\s+(?:also\s+)?want\s+to\b",
        r"\b(?:feel\s+free|say\s+the\s+word)\b|\bplease\s+(?:run|check|test|add|do)\b",
        r"\bwould\s+be\s+(?:good|nice|better|wise)\b|\bhappy\s+to\b|\blet\s+me\s+know\b",
        r"\bif\s+you\s+(?:want|like)\b|\b(?:shall|should)\s+(?:i|we)\b[^?]*\?",
        "좋겠|권장|나중에|추후|다음에|다음\\s(?:작업|스프린트|배포)|향후|보류|예정입|까요",
        "以后|今後|必要があります",
    ),
    LEFT: (
        rf"\b{_BE}{_NOT}\b(?!\s+(?:have|need)\s+to\b)|\bnot\s+(?:been|able|yet)\b|\byet\s+to\b",
        rf"\b(?:is|are|does|do){_NOT}\b[^.;:]{{0,60}}\byet\b",
        rf"\b(?:is|are){_NOT}\s+(?:\w+ed|done|run|set|written)\b",
        rf"\b(?:i|we)\s+(?:have\s+)?(?:\w+\s+)?{_LEAVE}\b|^\W*(?:{_LEAVE}|skipping|leaving)\b",
        r"\b(?:was|were|been)\s+(?:skipped|omitted|postponed|deferred)\b",
        r"\b(?:is|are|was|were|been)\s+(?:put\s+off|left\s+(?:out|alone|for|to|as))\b",
        rf"\bnot\s+{_DONE}\b",
        r"\b(?:untested|unverified|out\s+of\s+scope)\b|\bunable\s+to\b|\bno\s+time\b",
        rf"\bno\b[^.,;:]{{0,60}}\b(?:yet|so\s+far|(?:was|were)\s+{_DONE})\b",
        r"\bthere\s+(?:is|are)\s+no\b[^.;:]{0,60}\b(?:yet|for\s+(?:this|it|that))\b",
        r"\bstill\s+(?:open|missing|lacks?|needs?|to\s+do|to\s+be|has\s+to|have\s+to)\b",
        r"\b(?:un(?:touched|changed|finished|done))\b|\bleft\b[^.;:]{0,40}\balone\b",
        r"\b(?:remains?|stays?|is\s+still|are\s+still)\s+(?:as\s+(?:it|they|is|before)|off|there|hard-?coded)\b",
        r"\bnot\s+(?:with|on|against|for)\s+(?:the|a|an|real)\b|\bthere\s+is\s+none\b",
        r"\b(?:didn['\u2019]t|did\s+not)\s+(?:get\s+(?:to|around)|deal)\b",
        r"\b(?:is|are)\s+(?:still\s+)?missing\b|\bremains?\s+(?:open|to\s+be)\b",
        r"\bwithout\s+(?:adding|writing|running|checking|testing|a\s+test|tests)\b",
        "않았|지\\s?못했|못\\s?했|생략|건너뛰|건너뛴|제외했|빠졌|빠져|미뤘|미루|아직|손대지",
        "还没|没有|未能|ていません|しませんでした|まだ",
        r"\bnicht\s+(?:\w+\s+)?(?:ge|\w+ge)\w+(?:t|en)\b|\bn['\u2019](?:ai|avons|a)\s+pas\b",
        r"\bno\s+(?:he|hemos|ha|se\s+ha)\b|\bpendiente\b",
    ),
    ABSENT: (r"\b(?:is|are|does|do|can)(?:n['\u2019]t|\s*not)\b",),
}
"""What is said → patterns for lower case; the first that fits decides. Grammar, not topics."""

_PATTERNS = {what: "|".join(patterns) for what, patterns in _SAID.items()}
_CLAUSE = (
    r";\s+|,?\s+[\u2013\u2014-]\s+|"
    r",?\s+(?=(?:but|though|although|however|except|because|since|while|which|so(?!\s+far))\s)|"
    "(?:(?<=지만)|(?<=으나)|(?<=는데)|(?<=고)),?\\s+|[\uff0c\uff1b]"
)
_SUBORDINATE = r"\b(?:if|when|where|unless|that|which|who|whose|because|as|since|so)\b[^,;:]*$"
"""Before a "not": it tells when or which, not what was done."""
_LIST_ITEM = r"\s*(?:[-*+•]|\d{1,3}[.)])\s"
_QUOTED = r"`[^`\n]*`|\"[^\"\n]*\"|\u201c[^\u201d\n]*\u201d"
"""What somebody else says, or a program: it may be what is denied, but denies nothing itself."""
_PAST = r"\b(?:before|previously|until\s+now|earlier|formerly)\b\s*(?:[,;:.(|)\u2014]|$)"
"""Behind a "not": so it was, and is no longer."""
_UNTICKED = r"^[-*\s]*\[ \]|^[-*\s]*[❌✗✘☐⬜]"
_WORDS_OF_DENIALS = """
    did not yet left leave follow-up follow up later skip skipped omitted postponed deferred
    untested add added write wrote written make made done do time far still open missing todo next
    step PR separate release suggest recommend should could happy let know
    ich wir habe haben nicht je nous n'ai n'avons pas no he hemos pendiente
    않았습니다 못했습니다 없습니다 생략했습니다 아직 나중에 추후 다음에 추가할 예정입니다 좋겠습니다
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Denial:
    """A clause of an answer that denies something."""

    what: str
    """LEFT, PUT_OFF or ABSENT."""
    cue: str
    """The words that deny, in lower case."""
    sentence: str
    terms: frozenset[str]
    """All terms of the clause."""
    topic: frozenset[str]
    """Those that tell what is denied, not that it is."""


def find_denials(
    sentences: Iterable[tuple[str, frozenset[str]]], about: frozenset[str]
) -> list[Denial]:
    """Return the clauses of an answer that say of something that it was not done.

    So does an open box of a checklist, and what stands in a list below "Not done:". ``sentences``
    come with their terms; those without a term of ``about`` are passed over.
    """
    found: list[Denial] = []
    is_left = False
    for sentence, terms in sentences:
        is_left = is_left and bool(re.match(_LIST_ITEM, sentence))
        is_heading = sentence.startswith("#") or sentence.rstrip(" *_").endswith(":")
        if (about.isdisjoint(terms) and not is_heading) or len(sentence) > MAX_SENTENCE:
            continue
        if is_left or re.match(_UNTICKED, sentence):
            found.append(_denial(LEFT, "", sentence, sentence))
            continue
        clauses = list(_denying_clauses(sentence))
        found += [_denial(what, cue, sentence, clause) for what, cue, clause in clauses]
        is_left = is_heading and bool(clauses)
    return found


def _denying_clauses(sentence: str) -> Iterator[tuple[str, str, str]]:
    own = re.sub(_QUOTED, lambda quoted: "_" * len(quoted[0]), sentence)
    start = 0
    for end in [*re.finditer(_CLAUSE, own), None]:
        clause = slice(start, end.start() if end else None)
        start = end.end() if end else start
        low = own[clause].lower()
        for what, pattern in _PATTERNS.items():
            cue = re.search(pattern, low)
            if cue and (what == PUT_OFF or not re.search(_SUBORDINATE, low[: cue.start()])):
                if what == PUT_OFF or not re.search(_PAST, low[cue.end() :]):
                    yield what, cue[0], sentence[clause]
                break


def _denial(what: str, cue: str, sentence: str, clause: str) -> Denial:
    terms = frozenset(analyze(clause))
    topic = terms - _cue_terms()
    return Denial(what=what, cue=cue, sentence=sentence, terms=terms, topic=topic)


@cache
def _cue_terms() -> frozenset[str]:
    return frozenset(analyze(_WORDS_OF_DENIALS))
