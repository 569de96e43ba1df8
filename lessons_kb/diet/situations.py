"""Situations that rules name in words, and the files or commands that show them.

The situations are listed in ``diet_situations.toml``. A rule names a situation by its activity
("when committing"), by its things after a verb ("before adding a migration") or after a preposition
("in unit tests"), in the line above its list ("Commit rules:"), or by the heading of a language.
Where the situation is a command, a sentence about its things ("Commit messages must …") and a
demand about the activity itself ("Never commit to main") name it as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from lessons_kb.data import read_mapping, read_toml

_DATA = "diet_situations.toml"
_CHANGES = (
    r"\b(?:writ|add|updat|edit|chang|creat|modif|remov|touch|bump|upgrad|introduc|work(?!flow)|"
    r"renam|fix|generat|regenerat|implement|refactor|adjust|extend|delet)\w*\s+"
    r"(?:(?:on|with|in|to|a|an|the|any|new|existing|your|of|or|and|\w+ing)\s+){0,4}(?:\w+\s+){0,2}?"
)
_PLACE = r"\A(?:for|in|on|within|inside|with)\s+(?:(?:the|all|any|every|each|our|your|new)\s+)*"
_WRITE_LANGUAGE = (
    r"\b(?:writ|edit|chang|modif|touch|work|updat|add)\w*\s+(?:(?:on|with|in|any|the)\s+)*"
)
_NEGATION = r"\b(?:non|not|no|without|except|other\s+than|outside|unless|besides)\b"
_NEGATION_BEFORE = re.compile(rf"{_NEGATION}\W+(?:\w+\s+)?\Z", re.IGNORECASE)
_END_OF_NOUN = (
    r"(?=\s*\Z|[,:;?/`]|\s+(?:that|which|of|for|in|under|with|and|or|where|using|to|on|by|from|"
    r"before|after|when|directly|manually|use|make|run|follow|prefer|keep)\b)"
)
"""Matches text that may follow a noun, as in "tests of the store", but not in "test results"."""
_VERB = (
    r"(?:must|should|shall|may|can|cannot|can't|needs?|requires?|uses?|never|follows?|always|"
    r"do(?:es)?\s+not|don't|goes?|go|belongs?|have\s+to|"
    r"(?:is|are)\s+(?:not|never|only|always|required|written|named|placed|expected))\b"
)
_ARTICLES = r"(?:(?:a|an|the|all|any|every|each|new|our|your)\s+)*"
_OF_THEM = re.compile(
    r"\A(?:keep|name|prefix|write|structure|group|organi[sz]e|place|put|make|format|title)\s+"
    rf"{_ARTICLES}(?P<things>[\w'\s-]+)",
    re.IGNORECASE,
)
_IN_THEM = re.compile(
    r"\A(?:(?:do not|don't|never)\s+\w+|use|prefer|avoid|keep|mock|stub|include|omit|follow|put|"
    r"assert|reference|mention|link|describe|explain)\b(?:(?!\bunless\b)[^,;:])*\s(?:in|for|to|from)\s+"
    rf"{_ARTICLES}(?P<things>[^,;:.()`]+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_FORM_OF_THEM = re.compile(
    r"\A(?:use|follow)\b[^,;:]*?\s(?P<things>(?:[\w-]+\s+){1,3}?)"
    r"(?:formats?|styles?|conventions?|specification|naming)\Z",
    re.IGNORECASE,
)

_HEADING = (
    r"(?:(?:writing|editing)\s+)?(?:{})(?:\s+(?:code|files?))?(?:\s+(?:code|coding|naming))?"
    r"(?:\s+(?:style|standards?|guidelines?|conventions?|rules?|best\s+practices|guide))?"
)
"""Matches a heading that names a language, such as "TypeScript" or "Python code style"."""
_PARTS = r"(?:titles?|descriptions?|bod(?:y|ies)|subjects?|messages?|names?|templates?)"
_IS_UPKEEP = re.compile(
    r"\A(?:write|make)\b|"
    r"\b(?:current|up[\s-]to[\s-]date|in sync|synchroni[sz]ed|updated|passing|green)\b|"
    r"\b(?:is|are)\s+(?:\w+\s+)?required(?!\s+to\b)|"
    r"\b(?:must|should|needs?\s+to|have\s+to)\s+(?:all\s+)?(?:pass|succeed|be\s+(?:run|added|written))\b",
    re.IGNORECASE,
)
_IS_WRITING = re.compile(r"\A(?:write|make)\b", re.IGNORECASE)
"""Matches activities on the things that accompany any other change."""
_FORM = re.compile(
    r"\A(?:use|avoid|prefer|do not|don['\u2019]t|never|keep|name|place|put|follow|link)\b",
    re.IGNORECASE,
)
"""Matches a demand on the form of things."""
_PATTERN = re.compile(r"\A`[^`\n]*[{<*\[][^`\n]*`")
"""Matches a pattern for a text, such as ``<type>: <subject>``."""
_FORM_OF_CONTENT = re.compile(
    r"\A(?:use|mock|stub|avoid|prefer|do\s+not|don['\u2019]t|never|name|place|put|mirror|wrap|assert|"
    r"import|group|structure|parametri[sz]e|start|begin|declare|extract|favou?r|label|reuse|define|"
    r"nest|isolate)\b",
    re.IGNORECASE,
)
_NOT_ITS_FORM = re.compile(
    r"\b(?:runs?|running|suites?|coverage|pass(?:es|ing)?|fail\w*|skip\w*|fast\w*|iterat\w*|debug\w*|tdd|"
    r"test-driven|docstrings?|[jt]sdocs?|godocs?|rustdocs?|javadocs?|comments?|commit\w*|prs?|"
    r"review\w*)\b|\b(?:before|after)\s+\w+ing\b|`--?\w",
    re.IGNORECASE,
)
"""Matches work on the things that needs no edit of them, and things of other files."""
_OF_TOOLS = re.compile(
    r"\b(?:interpreters?|toolchains?|virtual\s?env\w*|venvs?|nightly|package\s+managers?|production|"
    r"(?:manage|for|install)\s+(?:packages|dependencies)|uv|pnpm|npm|yarn|bun|pip|poetry)\b",
    re.IGNORECASE,
)
"""Matches names of tools, which matter at a command rather than at an edit."""
_LOOK_UP = re.compile(
    r"\A(?:see|read|refer|described|documented)\b|\A\W*(?:[\w.-]*/[\w./-]+\W*)?\Z", re.IGNORECASE
)
"""Matches a text that only says where to look."""


class Situation(NamedTuple):
    """A situation that the files or commands of a session can show."""

    name: str
    things: re.Pattern[str] | None
    """The nouns for the things that change in it."""
    doing: tuple[re.Pattern[str], ...]
    """Phrases for the activity in a condition."""
    demand: re.Pattern[str] | None
    """Matches the start of a sentence that demands something of the activity itself."""
    noun: re.Pattern[str] | None
    """Matches the object or the activity of a command anywhere in a sentence."""
    undecided: re.Pattern[str] | None
    """Matches words that do not show whether the files of the things change ("for tests")."""
    lead: re.Pattern[str] | None
    """Matches a heading, or the line above a list, for demands about the activity."""
    text: re.Pattern[str] | None
    """Matches a heading, or the line above a list, for demands about the text that is written."""
    heading: re.Pattern[str] | None
    """Matches a heading that names a language."""
    globs: tuple[str, ...]
    pattern: str
    samples: tuple[str, ...]
    drafts: tuple[str, ...]
    """Files in which the text for one of its commands is written before the command runs."""
    draft_samples: tuple[str, ...]
    beside: tuple[str, ...]
    """Files that often contain the things beside other code, such as unit tests in Rust."""
    is_final: bool
    """Whether its commands are hard to undo."""
    is_late: bool
    """Whether its rules stay, because they matter at other times than its edits and commands."""


@cache
def read_situations() -> tuple[Situation, ...]:
    """Return all situations, in their order of precedence."""
    texts = read_mapping(_DATA)
    data = {**read_toml(_DATA)}
    final, late = data.pop("final"), data.pop("late")
    del data["fragments"]
    situations = []
    for name, row in data.items():
        things = texts[name].get("things", "") if "things" in row else ""
        doing = [texts[name]["doing"]] if "doing" in row else []
        if things:
            noun = rf"(?:{things})\b{_END_OF_NOUN}"
            doing.append(rf"{_PLACE}(?!run)(?:[\w-]+\s+){{0,3}}{noun}\Z")
            doing.append(rf"{_PLACE}(?!run)(?:[\w-]+\s+)?{noun}")
            doing.append(rf"\A(?:for|in)\s+(?:[\w-]+\s+){{1,4}}in\s+(?:[\w-]+\s+)?{noun}")
            if "doing" not in row:
                doing.append(rf"{_CHANGES}{noun}")
        is_language = name[0].isupper()
        if things and is_language:  # a language, which needs no noun after a verb
            word = "(?-i:Go)" if name == "Go" else re.escape(name)  # "go" is a verb, too
            doing += [rf"{_WRITE_LANGUAGE}{word}\b", rf"\Ain\s+{word}\Z"]
        situations.append(
            Situation(
                name=name,
                things=_compile(rf"(?<!\w)(?:{things})" if things else ""),
                doing=tuple(re.compile(text, re.IGNORECASE) for text in doing),
                demand=_compile(texts[name].get("demand", "")),
                noun=_compile(texts[name].get("noun", "")),
                undecided=_compile(texts[name].get("undecided", "")),
                lead=_compile(texts[name].get("lead", "")),
                text=_compile(texts[name].get("text", "")),
                heading=_compile(
                    _HEADING.format(f"{texts[name].get('alias', re.escape(name))}|{things}")
                    if is_language
                    else ""
                ),
                globs=tuple(row.get("globs", ())),
                pattern=row.get("pattern", ""),
                samples=tuple(row.get("samples", ())),
                drafts=tuple(row.get("drafts", ())),
                draft_samples=tuple(row.get("draft_samples", ())),
                beside=tuple(row.get("beside", ())),
                is_final=name in final,
                is_late=name in late,
            )
        )
    return tuple(situations)


def _compile(text: str) -> re.Pattern[str] | None:
    return re.compile(text, re.IGNORECASE) if text else None


def get_situation(name: str) -> Situation:
    """Return the situation with a name."""
    return next(situation for situation in read_situations() if situation.name == name)


def find_by_command(command: str) -> Situation | None:
    """Return the situation that a command line shows."""
    for situation in read_situations():
        if situation.pattern and re.search(situation.pattern, f"{command} x"):
            return situation
    return None


def find_by_lead(lead: str) -> Situation | None:
    """Return the situation that the line above a list names, as in "Commit guidelines:"."""
    for situation in read_situations():
        if situation.lead is not None and situation.lead.fullmatch(lead.strip(" :")):
            return situation
    return None


def find_by_text(label: str) -> Situation | None:
    """Return the situation whose text a heading or line names, as in "PR title format"."""
    for situation in read_situations():
        if situation.text is not None and situation.text.fullmatch(label.strip(" :")):
            return situation
    return None


def find_by_heading(heading: str) -> Situation | None:
    """Return the situation whose language a heading names, as in "Markdown files"."""
    for situation in read_situations():
        if situation.heading is not None and situation.heading.fullmatch(heading.strip(" :")):
            return situation
    return None


def is_about_form(demands: Sequence[str], text: str) -> bool:
    """Return whether one of a rule's demands is about the form of the content of files.

    ``text`` is the whole rule. It must not name work that needs no edit of these files.
    """
    is_of_form = any(map(_FORM_OF_CONTENT.match, demands))
    return is_of_form and not _NOT_ITS_FORM.search(text) and not is_about_tools(text)


def is_about_tools(text: str) -> bool:
    """Return whether a rule below the heading of a language is about its tools, not its code."""
    return bool(_OF_TOOLS.search(text))


def find_by_topic(topic: str, text: str) -> Situation | None:
    """Return the situation that a topic such as "Commit messages:" names for the text after it.

    A topic for files, such as "Tests", does not count, because such files are made in many ways.
    """
    for situation in read_situations():
        if situation.globs:
            continue
        is_led = situation.lead is not None and situation.lead.fullmatch(topic)
        if is_led and (_PATTERN.match(text) or _FORM.match(text)):
            return situation
        if situation.things is not None and _ends_with(situation.things, topic):
            return None if _LOOK_UP.match(text) else situation
    return None


def _ends_with(things: re.Pattern[str], topic: str) -> bool:
    """Return whether a topic consists of things, with at most one word before them."""
    form = r"(?:\s+(?:formats?|styles?|conventions?))?"
    found = re.fullmatch(rf"(?:[\w-]+\s+)?{things.pattern}{form}", topic, re.IGNORECASE)
    return found is not None


def find_in_clause(clause: str) -> Situation | None:
    """Return the situation of a condition such as "before adding a migration"."""
    for situation in read_situations():
        for pattern in situation.doing:
            found = pattern.search(clause)
            if found is None or re.search(_NEGATION, found[0], re.IGNORECASE):
                continue
            if _is_undecided(situation, found[0]):
                continue
            if not _NEGATION_BEFORE.search(clause[: found.start()]):
                return situation
    return None


def _is_undecided(situation: Situation, text: str) -> bool:
    return situation.undecided is not None and bool(situation.undecided.search(text))


def names_another(sentence: str, situation: Situation) -> bool:
    """Return whether a sentence names the things or the activity of another situation."""
    for other in read_situations():
        patterns = [*other.doing, *([other.things] if other.things is not None else [])]
        if other is not situation and any(pattern.search(sentence) for pattern in patterns):
            return True
    return False


def find_named(sentence: str) -> list[Situation]:
    """Return the situations of which a sentence names the object, as in "in commits or PRs"."""
    all_situations = read_situations()
    return [one for one in all_situations if one.noun is not None and one.noun.search(sentence)]


def find_subject(sentence: str) -> tuple[Situation, str] | None:
    """Return the situation that a sentence is about, and the words that name it.

    A sentence about files, such as "Tests must be small", often matters before one of them is
    edited, so it names no situation.
    """
    for situation in read_situations():
        if situation.globs:
            continue
        demand = situation.demand.match(sentence) if situation.demand is not None else None
        if demand:
            return situation, demand[0]
        if situation.things is None:
            continue
        things = situation.things.pattern
        if _IS_UPKEEP.search(sentence) and not _IS_WRITING.match(sentence):
            continue
        parts = rf"(?:\s+(?:and|or)\s+{_PARTS})?" if situation.pattern else ""
        about = re.match(
            rf"\A(?P<said>{_ARTICLES}{things}{parts})\s+{_VERB}", sentence, re.IGNORECASE
        )
        if about:
            return situation, about["said"]
        for pattern in (_OF_THEM, _IN_THEM, _FORM_OF_THEM):
            found = pattern.match(sentence)
            if found is None:
                continue
            said = found["things"].strip()
            if said and _begins_with(situation.things, said, whole=pattern is not _OF_THEM):
                return situation, said
    return None


def _begins_with(things: re.Pattern[str], text: str, *, whole: bool) -> bool:
    found = things.match(text) or re.match(rf"[\w-]+\s+{things.pattern}", text, re.IGNORECASE)
    if found is None:
        return False
    rest = text[found.end() :]
    if whole:
        return not rest.strip() or bool(re.match(r"\s+(?:that|which|of|under)\b", rest))
    return not rest or not (rest[0].isalnum() or rest[0] in "-'")
