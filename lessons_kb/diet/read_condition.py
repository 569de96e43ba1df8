"""Find the condition of a rule, which is the files or the commands to which the rule applies.

A rule moves only if a session event shows that its condition is met: an edit of a file, or a
command. A situation in words ("when adding a provider") can be worded in unforeseeable ways, so a
rule with such a condition stays. The first sentence of a rule has to state a condition; a rule that
states a second one moves only if an event shows that, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from lessons_kb.diet.condition import (
    BROAD,
    GONE,
    Condition,
    is_broad,
    join_conditions,
    make_path_condition,
)
from lessons_kb.diet.late_kinds import find_late_kind
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.read_clause import (
    ANY_TASK,
    CODE,
    SENTENCE_END,
    UNCONDITIONAL,
    Reading,
    is_elsewhere,
    is_named_place,
    read_clause,
    read_commands,
    read_situation,
    unmarked,
)
from lessons_kb.diet.read_message import read_message
from lessons_kb.diet.situations import (
    find_by_heading,
    find_by_topic,
    find_named,
    find_subject,
    get_situation,
    is_about_form,
    is_about_tools,
    names_another,
)
from lessons_kb.importers.rules_file import AgentRule, is_command
from lessons_kb.text.paths import find_paths
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.values import replace

_IS_ABOUT_COMMANDS = re.compile(r"\b(?:run|build|install|start|execute)\b|```", re.IGNORECASE)
_MARK = re.compile(r"\A(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL = re.compile(
    r"\A(?:\*\*|__)(?P<label>[^*_\n]{1,80}?)[:.]?(?:\*\*|__)[:.]?\s+(?:[-\u2013\u2014]\s+)?"
)
_TOPIC = re.compile(
    r"\A(?!(?:when|if|before|after|while|for|in|on|to|once)\b)[A-Z][\w/&-]*(?:\s[\w/&-]+){0,2}:\s+(?=\S)",
    re.IGNORECASE,
)
"""Matches a topic before the rule itself, such as "Dependencies: …"."""
_LINK = re.compile(r"\A(?:\*\*)?\[[^\]\n]+\]\([^)\n]*\)")
"""Matches a rule that begins with a link, which an agent looks up."""
_CAPITALS = re.compile(r"\b(?:ALWAYS|NEVER|EVERY|ALL|NO)\b")
_CONDITION = re.compile(
    r"\A(?:(?:please|also|note:?|important:?)\s+)?"
    r"(?P<said>(?:when(?:ever)?|if|before|after|while|during|for|in|on|inside|under|within|once|"
    r"any ?time|each time|every time|as soon as)\b[^:;]*?"
    r"(?:,\s+(?:(?:or|and)\s+)?\w+ing\b[^,:;]*?)*)(?:[,:;\u2014]|\s-\s)(?!\s*(?:or\s+|and\s+)?\w+ing\b)",
    re.IGNORECASE | re.DOTALL,
)
_WITHOUT_COMMA = re.compile(
    r"\A(?P<said>(?:when(?:ever)?|before|after)\s+\w+ing(?:\s+[^\s,:;]+){0,3})", re.IGNORECASE
)
_FURTHER_CLAUSE = re.compile(
    r"(?:\A\W*(?:and|or|but)\s+|\s(?:and|or|but)\s+|[,;\u2014]\s*)(?:(?:also|always)\s+)?"
    r"(?P<said>(?:when(?:ever)?|if|before|after|while|once)\b[^,:;\u2014]*)",
    re.IGNORECASE,
)
"""Matches a second condition ("Before committing, and after merging, …")."""
_NO_CONDITION = re.compile(
    r"\W*(?:for\s+(?:example|instance)|in\s+(?:addition|short|general|particular|doing\s+so|other\s+words|"
    r"the\s+(?:body|subject|title|description|summary|footer))|(?:in|on)\s+the\s+\w+\s+line)\b",
    re.IGNORECASE,
)
"""Matches the start of a sentence that only looks like a condition."""
_GERUND = re.compile(
    r"\A(?P<said>(?:adding|creating|updating|changing|modifying|editing|touching|implementing|"
    r"introducing|renaming|removing|extending|registering)\b[^,:;?\u2014]*?)"
    r"(?:[,:;?\u2014]|\s(?:requires?|must|should|needs?|means|involves?)\b)",
    re.IGNORECASE,
)
_TO_DO = re.compile(
    r"\A(?:need(?:ing)?\s+)?(?P<said>to\s+(?:add|create|update|change|edit|modify|implement|"
    r"introduce|register|extend|rename|remove|bump|upgrade)\b[^:;,?]*)[,:?]",
    re.IGNORECASE,
)
_TRAILING = re.compile(
    r"\s(?P<said>(?:when(?:ever)?|if|before|after|while)\s+(?:you(?:'re)?\s+)?(?:are\s+)?"
    r"(?:\w+ing|change|edit|add|modify|touch|update|create|write|open|commit|push)\b[^,;:.]*"
    r"(?:\.\w[^,;:.]*)*)\.?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_RESULT = re.compile(
    r"\A(?:when(?:ever)?|if|before|after|while)\s+\w+\s+(?:is|are|can|will|may|gets?)\b",
    re.IGNORECASE,
)
"""Matches what happens to a thing ("before commit is allowed"), as opposed to an activity."""
_OF_ANY_CHANGE = re.compile(
    r"\A(?:test|verify|review|check|validate|inspect)\s+(?:(?:all|the|your|any|every|each)\s+)*"
    r"(?:changes?|work|code|everything)\b",
    re.IGNORECASE,
)
"""Matches a demand about any change of the project."""
_BEFORE_THE_END = re.compile(
    r"\bbefore\s+(?:you\s+)?(?:commit|push|open|creat|submit|finish)\w*\b", re.IGNORECASE
)
_BEFORE_A_COMMIT = re.compile(
    r"\bbefore\s+(?:you\s+)?(?:(?:each|every|any|the|an?)\s+)?(?:commit|push)\w*\b", re.IGNORECASE
)
_OWN_STEP = re.compile(
    r"\b(?:run|re-?run|execute|invoke|use|name|sign|squash|rebase|ask|confirm|approv\w*)\b",
    re.IGNORECASE,
)
"""Matches a step of its own ("run the linter"), as opposed to a state ("tests pass")."""
_MUST = re.compile(r"\b(?:must|should|have\s+to|needs?\s+to)\b", re.IGNORECASE)
_IMPERATIVE = re.compile(
    r"\A(?:please\s+)?(?:always|never|do\s+not|don['\u2019]t|make\s+sure|be\s+sure|run|re-?run|use|"
    r"ensure|avoid|update|check|verify|include|add|keep|read|follow|test|build|format|lint|"
    r"regenerate|generate|create|ask|rebase|sync|bump|prefer|remember|consult|confirm|write|set|call|"
    r"execute|invoke|load|review|link|reference|close|apply|target|sign|prefix|put|place|mirror|focus|"
    r"search|squash|fetch|pull|install|restart|validate|document|describe|"
    r"mention|pass|name|fill|fix|remove|stop|open|commit|push|get|do|consider|look|see)\b",
    re.IGNORECASE,
)
_LIMITS_CONTENT = re.compile(
    r"\bkeep\s+(?:it|them|this|these|that|those|the|x)\b(?:\s+(?:files?|modules?|x)){0,2}"
    r"(?:\s+(?:as|very))?"
    r"\s+(?:small|short|simple|focuss?ed|thin|lean|minimal|slim|tiny|light(?:weight)?)\b",
    re.IGNORECASE,
)
"""Matches a limit on the content of a file ("keep it small"). Work that would make the file too
large often begins in another file.
"""
_FORBIDDEN_RUN = re.compile(
    r"\A(?:do\s+not|don['\u2019]t|never|avoid)\s+(?:ever\s+)?"
    r"(?:(?:use|run|call|execute|invoke|using|running)\s+)?"
    r"(?P<said>`[^`\n]+`(?:(?:,\s+|,?\s+(?:or|and|nor)\s+)`[^`\n]+`)*)",
    re.IGNORECASE,
)
_LEAD_FORBIDS = re.compile(
    r"\W*(?:never|do\s+not|don['\u2019]t)(?:\s+(?:do|ever))?\W*", re.IGNORECASE
)
_ALSO_FOR_TITLES = re.compile(r"\b(?:conventional|semantic)\s+commits?\b", re.IGNORECASE)
"""Matches a format of commit messages that is also used for the titles of pull requests."""
_ENTRY = re.compile(
    r"\A(?:`[^`\n]+`(?:,\s+|\s+and\s+)?)+\s*(?:\([^)]*\)\s*)?(?:[:\u2013\u2014]|-\s)"
)
"""An entry of a list of places: ``src/x.py`: the entry point. Keep it small.``"""
_DEMAND = re.compile(
    r"\b(?:must|should|never|do not|don['\u2019]t|avoid|keep|make sure|ensure|always(?!-)|prefer|"
    r"cannot|not be|may not|needs?|requires?)\b",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:must|should|cannot|may\s+not|not\s+be)\b|"
    r"(?:\A|[.;:,(\u2013\u2014*]|-)\s*(?:do\s+not|don['\u2019]t|never|avoid|keep|always|make\s+sure|"
    r"ensure|prefer)\b",
    re.IGNORECASE,
)
"""Matches a demand, as opposed to a statement such as "so that stories don't load it"."""
_REFERENCE = re.compile(
    r"\b(?:see|read(?!-only)|look|reference|consult|refer|like|e\.g\.|example|follow|check|described|documented|from|copy)\b",
    re.IGNORECASE,
)
"""Matches words before the name of a file that is only to be read."""
_BEFORE = 24
_MOST_BESIDE = 40
"""A place with more files is too large to be a further place that a rule is about."""
_REMARK = re.compile(r"\s*\([^()]*\)")
_OTHER_ACTIVITY = re.compile(
    r"\b(?:run|running|runs|commands?|debug\w*|set\s?up|install\w*|environments?|worktrees?|"
    r"containers?|ci|coverage|verif\w+|checks?|checking|build\w*|releas\w+|deploy\w*|workflows?|"
    r"troubleshooting|performance|benchmark\w*|review\w*|commit\w*|pull\s+requests?|prs?|"
    r"when|before|after|if)\b",
    re.IGNORECASE,
)
"""Matches a heading for work that needs no edit of files, or that begins in other files."""
_PLAIN_PLACE = re.compile(r"(?<![\w/.@:#-])(?:\.{0,2}[\w@-][\w.@-]*/)+[\w.@*-]*(?<![.,;:])")
"""Matches a folder or a file with its folder, outside of spans of code."""
_ROOM_BEFORE = 60
_WHEN_TO = re.compile(r"\A\W*when\s+(?:not\s+)?to\b", re.IGNORECASE)
"""Matches an introduction of situations, as opposed to instructions for a situation."""
_FURTHER = re.compile(r"\b(?:when(?:ever)?|before|after|if)\b", re.IGNORECASE)
_NEXT_ITEM = re.compile(r"\n(?:[-*+]|\d+[.)])\s")
_OTHERWISE = re.compile(
    r"(?<!says\s)(?<!say\s)(?<!told\s)(?<!specified\s)(?<!instructed\s)(?<!unless\s)\botherwise\b|"
    r"\b(?:in all other cases|everywhere else)\b|"
    r"(?:\A|[.;]\s+)(?:in|for)\s+(?:(?:all|any|the)\s+)?other\s+(?!words\b)\w+",
    re.IGNORECASE,
)
"""Matches a rule for a condition and for its opposite, which always applies."""
SEVERAL = "states several conditions"
IS_ENTRY = "describes a file in a list, and is often about other files"
IN_CAPITALS = "in capitals: it always applies"
BOTH_WAYS = "also covers the opposite case"


def find_condition(rule: AgentRule, project: Project) -> tuple[Condition | None, str]:
    """Return the condition of a rule, or None and the reason why the rule stays."""
    text = _MARK.sub("", rule.text.strip())
    prose = CODE.sub(" ", text)
    if _CAPITALS.search(prose):
        return None, IN_CAPITALS
    if _OTHERWISE.search(prose):
        return None, BOTH_WAYS
    if _is_entry(text, project) and not _FURTHER.search(prose):
        return None, IS_ENTRY
    above = (rule.lead, *rule.headings[-1:], *filter(None, [_read_label(text)]))
    if any(map(_WHEN_TO.match, map(unmarked, above))):
        return None, UNCONDITIONAL
    is_list = bool(_NEXT_ITEM.search(text))
    words = _TOPIC.sub("", unmarked(_LABEL.sub("", text)))
    sentences = [] if is_list else SENTENCE_END.split(words)
    further = _read_further(sentences, project)
    readings = [*_read_rule(text, sentences, rule, project)]
    found = [reading.condition for reading in readings if reading.condition is not None]
    reasons = [reading.why for reading in readings if reading.why]
    for reason in (ANY_TASK, GONE):
        if reason in reasons and (reason == GONE or not found):
            return None, reason
    if not found:
        message = read_message(rule, text, project)
        found = [message] if message else [*_read_above(text, rule, project)]
    if not found:
        return None, next(iter(reasons), UNCONDITIONAL)
    others = [reading.condition for reading in further]
    if not all(other is not None and not is_broad(other.globs, project) for other in others):
        return None, SEVERAL
    condition = join_conditions([*found, *filter(None, others)])
    if condition.is_final and condition.globs:  # the first such command could not be refused
        return None, SEVERAL
    if condition.is_by_word:
        whole, reason = cover_quoted_places(condition, text, project)
        if whole is None:
            return None, reason
        condition = whole
    if is_broad(condition.globs, project):
        if not condition.pattern:
            return None, BROAD
        condition = replace(condition, globs=(), drafts=(), files=())
    with_lead = f"{rule.lead} {text}".lstrip()
    late = find_late_kind(with_lead, condition, is_of_form=_demands_form(text))
    return (None, late) if late else (condition, "")


def _read_further(sentences: Sequence[str], project: Project) -> list[Reading]:
    """Return the readings of the conditions that a rule states after its first one."""
    if not sentences:
        return []
    begin = _CONDITION.match(sentences[0])
    rest = sentences[0][begin.end() :] if begin else sentences[0]
    said = [found["said"] for found in _FURTHER_CLAUSE.finditer(unmarked(rest))]
    for sentence in map(unmarked, sentences[1:]):
        trailing = _TRAILING.search(sentence)
        if not _NO_CONDITION.match(sentence):
            said += [*_find_conditions(sentence)] or ([trailing["said"]] if trailing else [])
    return [read_clause(one.strip(), project) for one in said]


def _is_entry(text: str, project: Project) -> bool:
    """Return whether a rule is an entry of a list of places."""
    found = _ENTRY.match(unmarked(text))
    spans = [span.strip() for span in CODE.findall(found[0])] if found else []
    return bool(spans) and all(
        is_named_place(span, project) and project.find_glob(span) for span in spans
    )


def cover_quoted_places(
    condition: Condition, text: str, project: Project
) -> tuple[Condition | None, str]:
    """Return a condition that an edit in each place that the rule quotes meets as well.

    The proof has an edit in each of these places. If a place is gone, or all of them together are a
    large part of the project, return None and the reason.
    """
    quoted = _find_quoted_globs(text, project)
    if not all(quoted):
        return None, GONE
    conditions = [condition]
    covered = compile_globs(condition.globs)
    for glob in quoted:
        place = make_path_condition(condition.said, [glob], project)
        files = (*project.match(glob), *place.files)
        if all(match_globs(covered, path) for path in files):
            place = replace(place, globs=())
        conditions.append(place)
    whole = join_conditions(conditions)
    if quoted and is_broad(whole.globs, project):
        return None, BROAD
    return whole, ""


def _find_quoted_globs(text: str, project: Project) -> list[str]:
    """Return the globs of the places that a rule quotes, with "" for a place that is gone.

    A place that is only to be read, or in which the rule does not apply, does not count.
    """
    plain = unmarked(text)
    prose = CODE.sub(" ", plain)
    spans = [span.strip() for span in CODE.findall(plain)]
    names = [*_PLAIN_PLACE.findall(prose), *find_paths(prose)]
    spans_of_places = [span for span in spans if is_named_place(span, project)]
    globs = []
    for place in dict.fromkeys((*spans_of_places, *names)):
        if _is_reference(plain, place) or _is_excluded(plain, place):
            continue
        glob = project.find_glob(place)
        if glob or _is_missing_place(place, is_code=place in spans_of_places):
            globs.append(glob)
    return globs


def _is_excluded(text: str, place: str) -> bool:
    """Return whether a rule applies everywhere except in a place."""
    start = max(0, text.find(place))
    before = text[max(0, start - _ROOM_BEFORE) : start].rstrip("`\"'(")
    return is_elsewhere(f"{before}`")


def _is_missing_place(place: str, *, is_code: bool) -> bool:
    """Return whether a name that fits no file of the project is certainly that of a place."""
    if not re.fullmatch(r"(?:\./)?[\w.-]+(?:/[\w.-]+)*/?", place) or place.startswith(".."):
        return False
    has_folder = "/" in place.removeprefix("./")
    return has_folder and (bool(find_paths(place)) or (is_code and place.endswith("/")))


def _read_label(text: str) -> str:
    """Return the bold words at the start of a rule, or "" if there are none."""
    label = _LABEL.match(text)
    return label["label"] if label else ""


def _read_rule(
    text: str, sentences: Sequence[str], rule: AgentRule, project: Project
) -> Iterator[Reading]:
    """Yield the reading of each clause of a rule, and of the line above its list.

    If a whole list is one rule, no item can state a condition for the other items.
    """
    sentence = sentences[0].strip().rstrip(".!") if sentences else ""
    lead = "" if _LINK.match(text) else unmarked(rule.lead)
    begin = _CONDITION.match(sentence)
    main_clause = sentence[begin.end() :].lstrip() if begin else sentence
    is_of_any_change = any(map(_OF_ANY_CHANGE.match, (main_clause, unmarked(text))))
    if is_of_any_change and _BEFORE_THE_END.search(sentence):
        yield Reading(why=ANY_TASK)
        return
    is_step = bool(_OWN_STEP.search(sentence)) or any(map(is_command, CODE.findall(sentence)))
    if _BEFORE_A_COMMIT.search(sentence) and not is_step:
        yield Reading(why=ANY_TASK)
        return
    if sentence and _LEAD_FORBIDS.fullmatch(lead):
        sentence = f"Never {sentence[:1].lower()}{sentence[1:]}"
    label = _read_label(text) if sentences else ""
    for part in (f"{label}:" if label else "", sentence, lead):
        for said in _find_conditions(unmarked(part)):
            read = _read_introduction if part is lead else read_clause
            yield _widen(read(said, project), part, project)
    if not sentence:
        return
    yield from _read_topic(text, sentences[1:], project)
    if label and _ORDER.search(label):  # the text after such a label explains it
        yield from _read_subject(label, [sentence, *sentences[1:]], project)
        return
    if label and not CODE.fullmatch(label):
        yield from _read_subject(label, [sentence, *sentences[1:]], project)
    yield from _read_subject(sentence, [*filter(None, [label]), *sentences[1:]], project)
    if any(_IMPERATIVE.match(other) or _FURTHER.search(other) for other in sentences[1:]):
        return
    trailing = _TRAILING.search(sentence)
    is_demand = bool(_IMPERATIVE.match(main_clause) or _MUST.search(main_clause))
    if trailing and is_demand and not _RESULT.match(trailing["said"]):
        reading = read_clause(trailing["said"], project)
        # "Read the rules in `a/` when writing code": the place is not where the code is.
        is_place = reading.condition is not None and not reading.condition.pattern
        yield Reading(why=UNCONDITIONAL) if is_place else reading


def _read_introduction(said: str, project: Project) -> Reading:
    """Read the condition of a heading, or of the line above a list.

    What stands below "Before committing" is about the work that precedes the command.
    """
    reading = read_clause(said, project)
    is_command_shown = reading.condition is not None and bool(reading.condition.pattern)
    is_early = said.casefold().startswith("before") and is_command_shown
    return Reading(why=UNCONDITIONAL) if is_early else reading


def _find_conditions(text: str) -> Iterator[str]:
    """Yield the condition at the start of a text, if there is one."""
    for pattern in (_CONDITION, _GERUND, _TO_DO, _WITHOUT_COMMA):
        found = pattern.match(text)
        if found:
            yield found["said"]
            return


def _read_subject(sentence: str, further: Sequence[str], project: Project) -> Iterator[Reading]:
    """Yield the condition that follows from the subject of a rule's demand."""
    forbidden = _FORBIDDEN_RUN.match(sentence)
    if forbidden and not any(map(_IMPERATIVE.match, further)):
        # The rule also has to arrive before the commands that serve the same purpose.
        spans = [span.strip() for span in CODE.findall(forbidden["said"])]
        if all(map(is_command, spans)):
            yield read_commands(forbidden["said"], spans, project)
        return
    subject = find_subject(sentence)
    if subject is not None:
        situation, said = subject
        if any(names_another(other, situation) for other in further):
            return
        others = find_named(sentence) if situation.is_final else []
        if _ALSO_FOR_TITLES.search(said):
            others.append(get_situation("pull requests"))
        readings = [read_situation(said, one, project) for one in (situation, *others)]
        conditions = [reading.condition for reading in readings if reading.condition is not None]
        yield Reading(join_conditions(conditions)) if conditions else readings[0]


def _read_topic(text: str, further: Sequence[str], project: Project) -> Iterator[Reading]:
    """Yield the condition that the topic at the start of a rule states ("Commit messages: …").

    A topic may also be a demand, which the remaining text explains ("Apply PR labels: …").
    """
    plain = unmarked(text)
    topic = _TOPIC.match(plain)
    if topic is None:
        return
    said = topic[0].strip().rstrip(":")
    rest = plain[topic.end() :]
    situation = find_by_topic(said, rest)
    if situation is not None and not any(map(is_command, CODE.findall(rest))):
        yield read_situation(said, situation, project)
    elif _IMPERATIVE.match(said):
        yield from _read_subject(said, further, project)


def _widen(reading: Reading, sentence: str, project: Project) -> Reading:
    """Add the edits of other files that the sentence names to a condition about a place."""
    condition = reading.condition
    if condition is None or not condition.globs:
        return reading
    others = []
    for place in map(str.strip, CODE.findall(sentence)):
        glob = project.find_glob(place) if is_named_place(place, project) else ""
        if glob and not _is_reference(sentence, place):
            others.append(glob)
    others = [glob for glob in others if len(project.match(glob)) <= _MOST_BESIDE]
    if not others:
        return reading
    beside = make_path_condition(condition.said, others, project)
    return Reading(join_conditions([condition, beside]))


def _read_above(text: str, rule: AgentRule, project: Project) -> Iterator[Condition]:
    """Yield the condition in the headings above a rule, if one states it or names a language.

    A heading that only names a subject, such as "Committing", states no condition.
    """
    is_labelled = bool(_ENTRY.match(unmarked(text)) or _LABEL.match(text))
    is_entry = is_labelled and not _DEMAND.search(CODE.sub(" ", text))
    if not rule.headings or is_entry or _REFERENCE.search(rule.lead):
        return
    heading, *outer = (unmarked(heading) for heading in reversed(rule.headings))
    explicit = _CONDITION.match(f"{heading}:")
    if explicit:
        reading = _read_introduction(explicit["said"], project)
    elif _GERUND.match(f"{heading}:"):
        return
    else:
        reading = _read_language_of_heading(heading, text, project)
    if reading.condition is None and _demands_form(text):
        reading = _read_outer_headings(heading, outer, project)
    if reading.condition is not None:
        yield reading.condition


def _read_outer_headings(heading: str, outer: Sequence[str], project: Project) -> Reading:
    """Read the nearest heading above a rule's own heading that names a language.

    Every heading below it has to name a part of its code ("Rust > Errors"), not an activity ("Rust
    > Building").
    """
    for above in outer:
        if _OTHER_ACTIVITY.search(_REMARK.sub("", heading)) or CODE.search(heading):
            break
        situation = find_by_heading(above)
        if situation is not None:
            return read_situation(above, situation, project)
        heading = above
    return Reading(why=UNCONDITIONAL)


def _read_language_of_heading(heading: str, text: str, project: Project) -> Reading:
    """Read the language that a heading names, if the rule demands something of its files."""
    situation = find_by_heading(heading)
    demand = unmarked(CODE.sub("x", text))
    if situation is None or _LIMITS_CONTENT.search(demand) or is_about_tools(text):
        return Reading(why=UNCONDITIONAL)
    is_order = bool(_ORDER.search(demand) or _IMPERATIVE.match(demand))
    names_command = _IS_ABOUT_COMMANDS.search(text) or any(map(is_command, CODE.findall(text)))
    if _demands_form(text) or (is_order and not names_command):
        return read_situation(heading, situation, project)
    return Reading(why=UNCONDITIONAL)


def _demands_form(text: str) -> bool:
    """Return whether a rule demands a form of the content of files, in its text or in its label.

    A condition before the demand may narrow it ("When writing assertions, prefer …"). A rule that
    shows code or a command line does not count.
    """
    spans = [span.strip() for span in CODE.findall(text)]
    if "```" in text or any(" " in span and is_command(span) for span in spans):
        return False
    plain = unmarked(text)
    words = _TOPIC.sub("", unmarked(_LABEL.sub("", text)))
    demands = [words, _CONDITION.sub("", words).lstrip(), unmarked(_read_label(text))]
    return is_about_form(demands, plain)


def _is_reference(text: str, place: str) -> bool:
    """Return whether a rule names a file only to be read."""
    start = max(0, text.find(place))  # a path with backslashes is found in another form
    before = text[:start].rstrip("`").rstrip()[-_BEFORE:]
    return bool(_REFERENCE.search(before))
