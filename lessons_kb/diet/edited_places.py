"""Find the places of which a clause says that they are edited ("When you change `src/pay.ts`")."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

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
    r"\A(?:when(?:ever)?|if|after|once|before)\s+(?:the\s+)?"
    r"(?P<places>`[^`]+`(?:(?:,\s*|\s+(?:or|and)\s+)+`[^`]+`)*)(?:\s+(?:file|folder|module|package)s?)?\s+"
    r"(?:(?:is|are|was|were|has\s+been|have\s+been|gets?)\s+(?:being\s+)?)?"
    r"(?:add|chang|edit|modif|mov|renam|remov|touch|updat)(?:e|es|ed|s|ied)\b",
    re.IGNORECASE,
)
"""Matches places that are edited ("If `src/pay.ts` changes")."""
_NEGATION = re.compile(
    r"\b(?:not|no(?!-)|without|but|except|unless|\w+n['\u2019]t)\b", re.IGNORECASE
)
_CODE = re.compile(r"(`[^`]*`)")
_FILLER = re.compile(
    r"\b(?:by\s+hand|(?:that|which)\s+(?:is|are|lives?|sits?)(?=\s+(?:in|inside|under|within)\b))",
    re.IGNORECASE,
)
"""Matches words that do not change of which place a phrase speaks ("files that are in `src/`")."""
_GLOB = re.compile(r"\b(?:(?:that|which)\s+match(?:es)?|matching)\b", re.IGNORECASE)
_ARTICLES = frozenset(
    ("a", "an", "the", "any", "our", "your", "this", "these", "each", "every", "all")
)
_DIRECT = _ARTICLES | frozenset(
    (
        "existing",
        "new",
        "other",
        "shared",
        "root",
        "file",
        "files",
        "folder",
        "code",
        "anything",
        "both",
    )
)
"""The words that may stand between a verb and its object, if there is no preposition."""
_IN = frozenset(("in", "into", "under", "inside", "within"))
_PREPOSITIONS = _IN | frozenset(("to", "from", "on", "at", "of", "for"))
_PARTS = re.compile(
    r"(?:any|api|behaviou?r|code|constant|content|export|field|format|interface|layout|list|name|output|part|"
    r"schema|section|signature|structure|type|version)s?"
)
"""Matches a word for a part of a file ("the format of `a.toml`")."""
_OF_ANOTHER = re.compile(
    r"that|which|whose|where|as|like|because|when|if|while|than|with|via|by|per|near|next|uses?|"
    r"beside|alongside|against|through|about|around|after|before|similar|read|written|built|kept|"
    r"given|found|shown|calls?|links?|references?|requests?|access|due|identical|equivalent|plan|"
    r"spec|design|proposal"
)
"""Matches a word which shows that the place is only mentioned ("code that uses `src/pay.ts`")."""
_PARTICIPLE = re.compile(r"\w{2,}(?:ed|ing)")
_ADDS = re.compile(r"(?:add|mak|mov|writ)", re.IGNORECASE)
_REMOVES = re.compile(r"(?:delet|mov|remov|renam)", re.IGNORECASE)
_OTHER_THING = re.compile(
    r"['\u2019]s\b|-\w|\s+(?:callers?|users?|clients?|consumers?|tests?|mocks?|snapshots?|parsers?|"
    r"docs|documentation)\b",
    re.IGNORECASE,
)
"""Matches what follows the name of a place if another thing is meant ("`src/pay.ts` callers")."""
_BETWEEN = re.compile(r"(?:,|/|\b(?:and/or|and|or)\b|\s)+", re.IGNORECASE)
_MOST_WORDS, _LONGEST_TAIL = 8, 2


def is_negated(said: str) -> bool:
    """Return whether a clause says what is not done, or where not."""
    return bool(_NEGATION.search(_CODE.sub(" ", said)))


def find_edited_places(said: str, places: Sequence[str]) -> list[str]:
    """Return the places that a clause says are edited, in the order of the clause.

    ``places`` are the names of files and folders in the clause, without backticks.
    """
    parts = _CODE.split(said)
    said = "".join(
        part if _CODE.fullmatch(part) else _GLOB.sub("in", _FILLER.sub("", part)) for part in parts
    )
    passive = _IS_EDITED.match(said)
    if passive:
        return [place for place in places if f"`{place}`" in passive["places"]]
    edit = _EDITS.match(said)
    if edit is None:
        return []
    edited: list[str] = []
    end = edit.end()
    for at, place in sorted((_find(said, place), place) for place in places):
        if at < end:
            continue
        before = said[end:at].rstrip("`\"'(")
        if edited:
            connector = _BETWEEN.match(before)
            if connector is None or not connector[0].strip():
                break
            before = before[connector.end() :]
        if not _is_object(edit["verb"], before):
            break
        end = at + len(place)
        if said[end : end + 1] in ("`", '"', "'"):
            end += 1
        if _OTHER_THING.match(said, end):
            break
        edited.append(place)
    return edited


def _find(said: str, place: str) -> int:
    """Return where a place stands in a clause, preferably as code, or -1."""
    at = said.find(f"`{place}`")
    return at + 1 if at >= 0 else said.find(place)


def _is_object(verb: str, before: str) -> bool:
    """Return whether the words between a verb and a place make the place what is edited."""
    plain = _CODE.sub("x", before).casefold()
    words = [*filter(None, (word.strip("`,;:()\"'") for word in plain.split()))]
    if len(words) > _MOST_WORDS or any(map(_OF_ANOTHER.fullmatch, words)):
        return False
    for previous, word in pairwise(words):
        # After an article, such a word describes the next one ("a required option").
        if _PARTICIPLE.fullmatch(word) and previous not in _ARTICLES and previous != "of":
            return False
    at = [number for number, word in enumerate(words) if word in _PREPOSITIONS]
    last = at[-1] if at else -1
    tail = words[last + 1 :]  # "the", "a package"
    is_of_place = all(word in _DIRECT for word in tail)
    if not is_of_place and not (tail[0] in _ARTICLES and len(tail) <= _LONGEST_TAIL):
        return False
    if not at:
        return True
    others = at[1:-1] if words[0] == "on" else at[:-1]  # "working on files in"
    if any(words[number] not in ("of", "for") for number in others):
        return False
    preposition = words[last]
    if preposition == "of":
        return last > 0 and bool(_PARTS.fullmatch(words[last - 1]))
    if preposition == "to":
        return last == 0 or bool(_ADDS.match(verb))
    if preposition == "from":
        return bool(_REMOVES.match(verb))
    return preposition in _IN or (preposition in ("on", "at") and last == 0)
