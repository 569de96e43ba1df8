"""What users say when it broke again, or when something should be recorded: a table of patterns.

Only what people write is looked at, not what they paste: code, quotes and logs stay out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lessons_kb.learn.bounded import search_any
from lessons_kb.text.prompts import split_sentences

FEEDBACK = "feedback"
REQUEST = "request"

_FAILS = (
    r"(?:fail|broken?\b|breaks|crash|error|hang|not (?:work|fix)|n[o']t work|n'?t (?:work|fix))"
)
_FAILING = r"(?:failing|breaking|crashing|hanging|happening|coming back|recurring|erroring)"
_FIX = r"(?:fix|change|patch|commit|edit|refactor\w*|update|code)"
_NOT = r"(?:안|못)\s?(?:돼|되|됨|됩|된|나와|나오|열|뜨|먹|고쳐|돌|켜|보)"
_BAD = (
    rf"(?:{_NOT}|깨[졌진지져]|터[졌진지져]|에러|오류|실패|죽[었는어]|틀[렸리]|고장|망가|멈[췄추])"
)

PHRASES: Mapping[str, tuple[str, ...]] = {
    FEEDBACK: (
        rf"\bstill\b[^.]{{0,25}}{_FAILS}",
        r"\bstill (?:the|getting the|seeing the|have the|has the) same\b",
        r"\b(?:broken?|breaks|breaking|fail(?:s|ed|ing)?|crash(?:es|ed|ing)?) again\b",
        rf"\b(?:again|once more)\b[^.?]{{0,20}}\b(?:it|this|that)\b[^.?]{{0,10}}{_FAILS}",
        (
            r"\bsame (?:mistake|error|bug|problem|issue|failure)s?\b.{0,15}\b(?:again|as (?:before"
            r"|last)|is back|came back|twice|every time)"
        ),
        (
            r"\b(?:again|repeat(?:ed|ing)?|made|making|is)\b.{0,15}\b(?:the|that|this) same"
            r" (?:mistake|error|bug)"
        ),
        r"\bsimilar mistakes?\b",
        rf"\b(?:it|this|that|you|tests?|build|ci|why)\b[^.]{{0,40}}\bkeeps? (?:on )?{_FAILING}",
        r"\bwhy\b[^.]{0,40}\bkeeps? (?:on )?\w+ing\b",
        r"\b(?:you|we)(?:'ve| have)? (?:just )?(?:broke|broken)\b",
        (
            rf"\b(?:your|last|latest|previous|that) {_FIX}\b.{{0,12}}\b(?:broke|breaks|did ?n.t"
            r"|does ?n.t|made)\b.{0,10}(?:\b(?:work|fix|help|worse|it|the)\b|$)"
        ),
        r"\b(?:fixed|repaired)\b.{0,15}\b(?:but|and|yet)\b.{0,20}\b(?:broke|broken|breaks|fails)\b",
        r"\b(?:bug|error|problem|issue|crash|failure) (?:is|has come|came|comes) back\b",
        (
            r"\b(?:this|that|it|which|a)(?:'s| is| was| looks like)?"
            r"(?: (?!linear|logistic)\w+){0,2} regression\b(?! test)"
        ),
        r"^\W*(?:another |a |new |yet another )?regression\W*$",
        r"\b(?:it|this|that|has|have) (?:has |have )?regressed\b",
        r"\bi (?:already |just )?told you\b",
        r"\bhow many times\b.{0,15}\b(?:do|must|have|should) (?:i|we)\b",
        r"^\W*(?:oh )?(?:no,? )?not again\b",
        r"\bworked (?:fine )?(?:before|until) (?:you|your)\b",
        rf"또\s?(?:다시\s?)?{_BAD}",
        r"또\s?(?:이래|그래|이러|그러|똑같|같은|반복|문제)",
        rf"(?:여전히|아직도|계속|자꾸|매번).{{0,12}}{_BAD}",
        rf"다시\s?{_BAD}",
        r"(?:비슷한|같은|똑같은|동일한)\s?실수(?!.{0,6}(?:찾|검색|없))",
        r"(?:같은|똑같은|동일한|비슷한)\s?(?:오류|에러|문제|버그|실패).{0,8}(?:또|다시|반복|계속|자꾸)",
        r"(?:또|다시|계속|자꾸).{0,6}(?:같은|똑같은|동일한|비슷한)\s?(?:오류|에러|문제|버그|실패|실수)",
        r"왜.{0,12}(?:반복|자꾸|매번|또\s|또다시)",
        rf"왜.{{0,8}}계속.{{0,6}}{_BAD}",
        rf"(?:고쳤|고친|수정했|수정한|해결했|해결한).{{0,12}}(?:{_BAD}|그대로|똑같)",
        r"(?:몇|여러)\s?번(?:을|이나|째)?.{0,6}(?:말|얘기|이야기|설명).{0,4}(?:했|해야|하)",
        r"(?:하지\s?말라고|안\s?된다고).{0,4}했(?:잖|는데)",
        r"원래(?:는)?\s?(?:잘\s?)?(?:됐|되던|됬).{0,2}(?:는데|건데|거)",
        r"회귀(?:했|됐|네|잖|\s?버그(?:네|잖|가 (?:또|생|났)))",
    ),
    REQUEST: (
        (
            r"\brecord this\b(?=\W*$|[.,;!:]"
            r"|\s+(?:down|please|mistake|lesson|bug|one|for|so|as a|and)\b)"
        ),
        (
            r"\b(?:record|remember|save|store|note|log|keep|add|write)\b[^.]{0,40}\b(?:as|to|in)"
            r" (?:a |the |our |my |your )?(?:lessons?|gotchas?|pitfalls?)\b"
            r"(?! (?:table|page|model|plan))"
        ),
        (
            r"\b(?:record|remember|note|write down|save) (?:down )?(?:this|that|the) "
            r"(?:mistake|lesson|gotcha|pitfall)\b"
        ),
        r"\bremember (?:this|that|it) (?:for|the) (?:next time|the future|later)\b",
        (
            r"\b(?:do ?n.t|never) (?:ever )?(?:make|repeat|do) (?:this|that|the same)"
            r"(?: mistake| error)? (?:ever )?again\b"
        ),
        r"(?<!에)(?<!에\s)(?<!에다\s)(?<!에다)(?<!으로\s)기록해(?=\W*$|[\s.,!~]|줘|주세|주십|둬|두|놔|놓|라)",
        r"교훈(?:으로|을|도|에|에도)?.{0,8}(?:남겨|남기자|기록|저장해|추가해|적어)",
        r"(?:이|그|저|방금|이번)\s?실수.{0,12}(?:기억|적어|메모|남겨)",
        r"(?:다음부터|다음엔|다음에는|앞으로|다시는).{0,20}(?:실수|반복)\s?하지\s?(?:마|말|않)",
        r"(?:이거|이걸|이것|이건|이\s\S{1,6}|꼭)\s?기억해\s?(?:줘|둬|두|놔|주)",
    ),
}
"""Kind of trigger → patterns, searched in each sentence in lower case."""

MAX_SENTENCE = 400
"""Characters of a sentence that are looked at."""
MAX_SENTENCES = 40

_FENCE = re.compile(r"^\s*(?:```|~~~).*?(?:^\s*(?:```|~~~)\s*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`[^`\n]{1,200}`")
_PASTED = re.compile(
    r"^\s*(?:>|\||[-+]{3} |@@|[{}\[\]<]|[EF]  |\$ |at \S+[(:]|File \"|Traceback|\d{4}-\d\d-\d\d[T ]"
    r"|\d\d:\d\d:\d\d|\[?(?:ERROR|WARN\w*|INFO|DEBUG|FATAL)\b|(?:FAILED|PASSED|ERROR) |\s{4}\S"
    r"|\w*(?:Error|Exception): )"
)


def find_phrase(text: str, extra: Sequence[str] = ()) -> tuple[str, str] | None:
    """Return (``feedback`` or ``request``, the sentence) of what a user wrote, None if neither.

    ``extra`` are further patterns for feedback, which ``learn.bounded`` has checked. A request
    decides over a complaint. Takes time linear in the first and last sentences of the text.
    """
    sentences = list(_sentences(text))
    for kind in (REQUEST, FEEDBACK):
        patterns = PHRASES[kind]
        further = tuple(extra) if kind == FEEDBACK else ()
        for sentence in sentences:
            low = sentence.lower()
            ours = any(re.search(pattern, low, re.IGNORECASE) for pattern in patterns)
            if ours or search_any(further, low):
                return kind, sentence
    return None


def _sentences(text: str) -> Iterator[str]:
    said = _INLINE.sub(" ", _FENCE.sub("\n", text[:20_000])).replace("\u2019", "'")
    lines = [line for line in said.splitlines() if line.strip() and not _PASTED.match(line)]
    found = [sentence for line in lines for sentence in split_sentences(line)]
    half = MAX_SENTENCES // 2
    chosen = found if len(found) <= MAX_SENTENCES else [*found[:half], *found[-half:]]
    for sentence in chosen:
        yield sentence[:MAX_SENTENCE]
