"""What users say when it broke again, or when something should be recorded: a table of patterns.

Only what people write is looked at, not what they paste: code, quotes and logs stay out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lessons_kb.data import read_patterns
from lessons_kb.text.sentence_patterns import search_any
from lessons_kb.text.sentences import split_sentences

FEEDBACK = "feedback"
REQUEST = "request"


PHRASES = read_patterns("feedback_phrases.txt")
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

    ``extra`` are further patterns for feedback, checked by ``text.sentence_patterns``. A request
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
