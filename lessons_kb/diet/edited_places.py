"""Find the places of which a clause says that they are edited ("When you change `src/pay.ts`")."""

from __future__ import annotations

import re
from collections.abc import Sequence

_VERB = (
    r"(?:add|adjust|bump|chang|creat|delet|edit|extend|fix|implement|introduc|migrat|modif|mov|"
    r"optimi[sz]|refactor|remov|renam|reorgani[sz]|replac|rewrit|split|touch|updat|work|writ)"
    r"(?:e|es|ed|s|[td]?ing|y|ies|ied|ying|ten)?"
)
_EDITS = re.compile(
    r"\A(?:(?:when(?:ever)?|if|before|after|while|once|to|any ?time|each time|every time)\s+)?"
    r"(?:(?:you(?:['\u2019]re)?|we)\s+)?(?:are\s+|have\s+)?(?:need(?:ing)?\s+to\s+)?"
    rf"(?:\w+ing,?\s+(?:and\s+|or\s+)?)*(?P<verb>{_VERB}|mak(?:e|ing)\s+(?:a\s+|any\s+)?changes?)\b",
    re.IGNORECASE,
)
"""Matches the start of a clause up to its verb of edit."""
_IS_EDITED = re.compile(
    r"\A(?:when(?:ever)?|if|after|once|before)\s+(?:the\s+)?`[^,;]*?\s(?:is|are|was|were|has\s+been|gets?)?\s*"
    r"(?:being\s+)?(?:add|chang|edit|modif|mov|renam|remov|touch|updat)(?:e|es|ed|s|ied)\b",
    re.IGNORECASE,
)
"""Matches a place that is edited ("If `src/pay.ts` changes")."""
_NEGATION = re.compile(
    r"\b(?:not|no|without|but|except|unless|outside|\w+n['\u2019]t)\b",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:by\s+hand|(?:that|which)\s+(?:is|are|lives?|sits?)(?=\s+(?:in|inside|under|within)\b))",
    re.IGNORECASE,
)
"""Matches words that do not change of which place a phrase speaks ("files that are in `src/`")."""
_GLOB = re.compile(r"\b(?:(?:that|which)\s+match(?:es)?|matching)\b", re.IGNORECASE)
_IN = frozenset(("in", "into", "to", "under", "inside", "within", "from", "on", "at"))
_OTHER_PREPOSITIONS = frozenset(("of", "for"))
_PARTS = re.compile(
    r"(?:behaviou?r|code|constant|content|format|interface|layout|output|part|section|signature|structure|type|"
    r"version)s?"
)
"""Matches a word for a part of a file ("the format of `a.toml`")."""
_OF_ANOTHER = re.compile(
    r"that|which|whose|where|as|like|because|when|if|while|than|with|via|by|per|near|next|match|"
    r"uses?|beside|alongside|parallel|against|through|about|around|after|before|similar|read|written|"
    r"built|kept|calls?|references?|(?!(?:shared|generated|nested|embed|seed|feed)\b)\w{2,}ed|"
    r"(?!(?:existing|string|thing|\w+thing|setting|heading|mapping|binding)s?\b)\w{2,}ing"
)
"""Matches a word which shows that the place is only mentioned ("code that uses `src/pay.ts`")."""
_NEEDS_PLACE = re.compile(r"(?:implement|migrat|optimi|reorgani|split|work)", re.IGNORECASE)
"""Matches a verb whose object is no file, unless the object is the place itself."""
_REMOVES = re.compile(r"(?:delet|mov|remov|renam)", re.IGNORECASE)
_PEOPLE_AND_TESTS = re.compile(
    r"\s+(?:callers?|users?|clients?|consumers?|tests?|mocks?|docs|documentation)\b", re.IGNORECASE
)
_BETWEEN = re.compile(r"\s*(?:,|/|\b(?:and/or|and|or)\b|\s)*\s*", re.IGNORECASE)
_MOST_WORDS, _MOST_BEFORE_NAME = 8, 2


def is_negated(said: str) -> bool:
    """Return whether a clause says what is not done, or where not."""
    return bool(_NEGATION.search(re.sub(r"`[^`]*`", " ", said)))


def find_edited_places(said: str, places: Sequence[str]) -> list[str]:
    """Return the places that a clause says are edited, in the order of the clause.

    ``places`` are the names of files and folders in the clause, without backticks.
    """
    said = _GLOB.sub("in", _FILLER.sub("", said))
    ordered = sorted((said.find(place), place) for place in places if place in said)
    if _IS_EDITED.match(said):
        return [place for at, place in ordered if at >= 0][:1]
    edit = _EDITS.match(said)
    if edit is None:
        return []
    edited: list[str] = []
    end = edit.end()
    for at, place in ordered:
        if at < end:
            continue
        before = said[end:at].rstrip("`\"'(")
        if edited:
            connector = _BETWEEN.match(before)
            before = before[connector.end() :] if connector else before
            if connector is None or not connector[0].strip():
                break
        if not _is_object(edit["verb"], before):
            break
        end = at + len(place)
        if said[end : end + 1] in ("`", '"', "'"):
            end += 1
        if _PEOPLE_AND_TESTS.match(said, end):
            break
        edited.append(place)
    return edited


def _is_object(verb: str, before: str) -> bool:
    """Return whether the words between a verb and a place make the place what is edited."""
    words = [word.strip("`,;:()\"'").casefold() for word in re.sub(r"`[^`]*`", "x", before).split()]
    if len(words) > _MOST_WORDS or any(map(_OF_ANOTHER.fullmatch, words)):
        return False
    at = [n for n, word in enumerate(words) if word in _IN or word in _OTHER_PREPOSITIONS]
    if not at:
        return len(words) <= _MOST_BEFORE_NAME
    last = at[-1]
    if len(words) - last - 1 > _MOST_BEFORE_NAME:
        return False
    if words[last] == "of":
        return last > 0 and bool(_PARTS.fullmatch(words[last - 1]))
    if words[last] == "from" and not _REMOVES.match(verb):
        return False
    return words[last] in _IN and (last == 0 or not _NEEDS_PLACE.match(verb))
