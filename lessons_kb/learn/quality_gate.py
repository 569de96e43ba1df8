"""The quality gate that a draft must pass before it becomes a card."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

MIN_SYMPTOMS = 2
_MIN_TITLE = 3
"""Words; of a script without spaces two characters count as one."""
_MIN_CAUSE = 4
_MIN_ITEM = 2

MISSING = {
    "title": "a title that names the mistake in one sentence",
    "cause": "a concrete Root Cause: the mechanism, not a lack of care",
    "items": "a Prevention Checklist item that can be checked in a diff or an answer",
    "symptoms": "two or three `symptoms`, worded like a future task",
    "symptom": "a second of the `symptoms`, in other words than the first",
}
"""Part of a card → what is said where it is missing."""

_OPEN = re.compile(
    r"^\W*(?:todo|tbd|fixme|xxx)\b|\{\{.*?\}\}|^\W*(?:n/?a|none|unknown|not sure|no idea|\?+)\W*$"
    r"|^\W*(?:모름|없음|미정)\W*$|name the mistake in one sentence|^\W*$",
    re.IGNORECASE,
)
_NO_MISTAKE = re.compile(
    r"^\W*(?:fix(?:ed|es)?|bug|bugfix|error|mistake|lesson|problem|issue|test(?:s)?|failure|failed)"
    r"(?:\W+\w+){0,2}\W*$|^\W*(?:it |this )?(?:is |was )?(?:still )?(?:broke|broken|failed|fails)"
    r"(?: again)?\W*$|^\W*또\s*안\s*(?:돼|되|됨)\S*\W*$",
    re.IGNORECASE,
)
_NO_CAUSE = re.compile(
    r"\b(?:lack of (?:care|attention|testing)|careless(?:ness)?|human error|oversight|negligence"
    r"|was (?:not|n't) careful|did(?: not|n't) pay attention|simply wrong|my (?:bad|mistake))\b"
    r"|부주의|실수(?:였|로|했)|조심하지|깜빡|꼼꼼하지",
    re.IGNORECASE,
)
_LONG_CAUSE = 14
"""Words; a longer one says more than its vague part."""


def find_missing(
    *,
    title: str,
    cause: str,
    items: Sequence[str],
    symptoms: Sequence[str],
    is_vague: Callable[[str], bool],
) -> tuple[str, ...]:
    """Return what a draft lacks, each as one line that says what to write; none if it may pass.

    ``cause`` is the text under Root Cause, ``items`` those of the Prevention Checklist;
    ``is_vague`` tells an attitude ("be careful") from a check.
    """
    missing = []
    if _is_open(title) or _NO_MISTAKE.match(title) or _words(title) < _MIN_TITLE:
        missing.append(MISSING["title"])
    vague = _NO_CAUSE.search(cause) is not None and _words(cause) < _LONG_CAUSE
    if _is_open(cause) or vague or is_vague(cause) or _words(cause) < _MIN_CAUSE:
        missing.append(MISSING["cause"])
    checks = [i for i in items if not _is_open(i) and not is_vague(i) and _words(i) >= _MIN_ITEM]
    if not checks:
        missing.append(MISSING["items"])
    told = {_plain(symptom) for symptom in symptoms if not _is_open(symptom)}
    if len(told) < MIN_SYMPTOMS:
        missing.append(MISSING["symptom" if told else "symptoms"])
    return tuple(missing)


def _is_open(text: str) -> bool:
    return _OPEN.search(text.strip()) is not None


def _words(text: str) -> float:
    dense = len(re.findall(r"[\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3]", text))
    return len(re.findall(r"[^\W\u3041-\u318f\u31a0-\u9fff\uac00-\ud7a3]+", text)) + dense / 2


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
