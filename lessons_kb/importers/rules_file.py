"""The rules files that people keep for agents (AGENTS.md, CLAUDE.md, rules folders), rule by rule.

Some rules hold for every task; the others hold when something is the case, and become cards.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from lessons_kb.cards.keys import canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import Block, normal_newlines, read_blocks, split_lines
from lessons_kb.data import compile_patterns, read_mapping, read_patterns, read_toml
from lessons_kb.importers.incoming import (
    PREVENTION,
    SECTIONS,
    SITUATION,
    Imported,
    Incoming,
    PassedOver,
    make_origin,
    shorten,
    split_lead,
    unmarked,
)
from lessons_kb.importers.labelled_lessons import LabelledLesson, read_labelled_lessons
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.paths import find_paths
from lessons_kb.values import frozen

ALWAYS, WHEN = "always", "when"
POINTER = "More rules are lesson cards: they arrive when they apply, `lessons search` finds them."
"""Stands at the end of a file whose rules went into cards."""

_DATA, _OF_LESSONS = "rules_files.toml", "a file of lessons"
_LESSONS = re.compile(
    "|".join(rf"\b(?:{w})\b" if w.isascii() else w for w in read_patterns(_DATA)["lessons"]),
    re.IGNORECASE,
)
_GENERAL, _LAYOUT, _NEUTRAL, _CONDITION, _ANY_TASK, _UNIVERSAL, _BUILD, NEGATIVE = compile_patterns(
    _DATA, "general", "layout", "neutral", "condition", "any task", "universal", "build", "negative"
)
_DEMAND = re.compile(read_patterns(_DATA)["universal"][0], re.IGNORECASE)
_PROGRAMS = frozenset(read_toml(_DATA)["programs"].split())
_LABELS = read_mapping(_DATA)["labels"]
_LABEL = re.compile(r"\W*([^\W\d_][^:*_\n]{0,28}?)[*_]*:")
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+[A-Z\w]*(?:\.\w+)?|\b[a-z]+[A-Z]\w+")
_IMPORT = re.compile(r"(?<![\w`@(])@(~?[\w.-]*/?[\w./-]*\w)(?=[\s,;:!?]|\Z)")
"""As in Claude Code: nearly any ending or none, but not behind a bracket or before a dot."""
_NOT_IMPORTED = (".mdc", ".mdx")
_LEAD = re.compile(r".*[:\uff1a][*_]{0,2}", re.DOTALL)
_CLAUSE = re.compile(r"(?:[^,:.;(\u2014]|\.(?=\w))+")
_GLOB_KEYS = ("globs", "applyto", "apply-to", "paths")
_EVERYWHERE = ("*", "**", "**/*")
HEADING, PARAGRAPH, ITEM, LIST, CODE = "heading", "paragraph", "item", "list", "code"
_STRUCTURE = ("hr", "html_block")
_BOLD = re.compile(r"(?:\*\*|__)[^*_.!?]{1,60}(?:\*\*|__):?")
_LEADS, _TITLED = 8, 7
_MEMORY_TYPE = re.compile(r"\s*type:\s*[\"']?(user|feedback|project|reference)[\"']?\s*")
_DESCRIPTION = re.compile(r"description:\s*[\"']?(.+?)[\"'.]?\s*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_OVERVIEW = re.compile(r"\s*\||[^├]*├──")
_NO_PROSE = re.compile(rf"{_OVERVIEW.pattern}|\W*```")
_BULLET = re.compile(r"\s*[-*+]\s")
_MARK = re.compile(r"\A[-*+\d.)\s]*(?:\[[ xX]\] )?(?:[A-Z][\w /&-]{0,30}: )?")
_THRESHOLD = 0.5
_MAX_TITLE = 80
_FEWEST_WORDS = 3
_MAX_SYMPTOMS = 8
_MAX_REASON = 50
_TOPIC_WORDS = 3
_COMMON = 0.15
"""Share of a file's rules from which on a name says nothing about one of them."""


@frozen
class AgentRule:
    """One rule, word for word."""

    text: str
    """Its lines as they stand in the file, indentation taken off; a lead of its own included."""
    line: int
    """1-based."""
    kind: str = ""
    """``always`` or ``when``."""
    reason: str = ""
    title: str = ""
    """Of the file, where it has one."""
    headings: tuple[str, ...] = ()
    """Below the title, the outermost first."""
    lead: str = ""
    """The line that announces the list it stands in."""
    names: tuple[str, ...] = ()
    """Files, folders, globs and code that it names."""

    @property
    def words(self) -> str:
        """Return what it says, whatever its lines and blanks."""
        return " ".join(self.text.split())


@dataclass(kw_only=True, slots=True)
class _Node:
    """A block of a file, with what it stands under."""

    block: Block
    owner: int
    """Place of the lead or heading above it, -1 for none."""
    text: str = ""
    """Of a rule."""
    line: int = 0
    """Of the rule that it is, or is a part of; 0 for what is none."""
    above: tuple[tuple[int, str], ...] = ()
    """(level, text) of the headings above it and of the lead."""


@frozen
class RulesFile:
    """A file of rules, taken apart."""

    name: str
    rules: tuple[AgentRule, ...]
    globs: tuple[str, ...] = ()
    """Files for which an agent reads it; none means every session."""
    imports: tuple[str, ...] = ()
    """Files that it has an agent read too, as it names them."""
    text: str
    _nodes: tuple[_Node, ...]

    def without(self, lines: Collection[int]) -> str:
        """Return the text without the rules of these lines; every other byte stays.

        A heading or a lead goes with the last rule below it. In a file that every session reads a
        pointer says where the others are.
        """
        if not lines:
            return self.text
        gone = self._find_gone(lines)
        whole = split_lines(self.text)
        eol = "\r\n" if "\r\n" in self.text else "\n"
        lost = {line for place in gone for line in self._range(place)}
        rest: list[str] = []
        for line, text in enumerate(whole):
            if line in lost:
                continue
            after_gap = line - 1 in lost
            is_blank = not text.strip()
            is_open = bool(rest) and bool(rest[-1].strip())
            if is_blank and after_gap and not is_open:
                lost.add(line)  # the blank lines behind what goes; those before it stay
                continue
            if after_gap and is_open and not is_blank and not _ITEM.match(text):
                rest.append(eol)  # two paragraphs that a list stood between
            rest.append(text)
        left = "".join(rest)
        mark = "\ufeff" if self.text.startswith("\ufeff") and not left.startswith("\ufeff") else ""
        if self.globs or POINTER in left:
            return mark + left
        gap = "" if not left or left.endswith(("\n", "\r")) else eol
        last = next((text for text in reversed(rest) if text), "")
        blank = eol if last.strip() else ""
        return f"{mark}{left}{gap}{blank}{POINTER}{eol}"

    def has_rules_besides(self, lines: Collection[int]) -> bool:
        """Return whether rules are left without those of these lines."""
        return any(rule.line not in lines for rule in self.rules)

    def _find_gone(self, lines: Collection[int]) -> set[int]:
        """Return the places of the blocks that go with the rules of these lines."""
        lost, kept = set[int](), set[int]()
        for node in self._nodes:
            owners = lost if node.line in lines else kept
            owner = node.owner if node.line or node.block.kind == "html_block" else -1
            while owner >= 0:
                owners.add(owner)
                owner = self._nodes[owner].owner
        gone = lost - kept
        places = set[int]()
        for place, node in enumerate(self._nodes):
            is_rule_off = node.block.kind == "hr" and node.owner in gone
            if node.line in lines or place in gone or is_rule_off:
                places.add(place)
        return places

    def _range(self, place: int) -> range:
        block = self._nodes[place].block
        return range(block.first, block.end)


def read_rules(text: str, *, name: str, folder: str = "") -> RulesFile:
    """Take a rules file apart; ``folder`` is the one, relative to the project, that it is for."""
    split = split_header(text)
    globs: tuple[str, ...] = (f"{folder}/**",) if folder else ()
    if split.header:
        keyed = (e.texts for e in read_header(split).entries if canonical(e.key) in _GLOB_KEYS)
        parts = [part for text in next(keyed, ()) if text for part in split_commas(text)]
        globs = tuple(part for part in parts if part not in _EVERYWHERE) or globs
    nodes = list(_find_nodes(normal_newlines(split.body), split.body_line - 1))
    names = {node.line: find_names(node.text) for node in nodes if node.text}
    common = Counter(one for some in names.values() for one in some)
    often = {one for one, n in common.items() if n > max(2, _COMMON * len(names))}
    levels = [node.block.level for node in nodes if node.block.level]
    is_titled = levels[:1] == [1] and levels.count(1) == 1
    is_of_lessons = _LESSONS.fullmatch(re.split(r"[\\/]", name)[-1].partition(".")[0])
    rules = []
    for node in nodes:
        if not node.text:
            continue
        headings = tuple(said for level, said in node.above if level < _TITLED)
        leads = [said for level, said in node.above if level >= _TITLED]
        is_below = is_titled and node.above[:1] != () and node.above[0][0] == 1
        found = names[node.line]
        rule = AgentRule(
            text=node.text,
            line=node.line,
            title=headings[0] if is_below else "",
            headings=headings[is_below:],
            lead="".join(leads[-1:]),
            names=tuple(found),
        )
        kind, reason = _classify(rule, [one for one in found if one not in often], globs)
        if is_of_lessons:
            kind, reason = WHEN, _OF_LESSONS
        rules.append(replace(rule, kind=kind, reason=reason))
    named = (name for node in nodes for name in _IMPORT.findall(_CODE.sub("", node.text)))
    imports = (name for name in named if not name.endswith(_NOT_IMPORTED))
    return RulesFile(
        name=name,
        rules=tuple(rules),
        globs=globs,
        imports=tuple(dict.fromkeys(imports)),
        text=text,
        _nodes=tuple(nodes),
    )


def _find_nodes(body: str, above: int) -> Iterator[_Node]:
    """Yield the blocks of a body whose first line has ``above`` lines of its file before it."""
    lines = body.split("\n")
    blocks = [
        replace(one, kind="hr") if "".join(lines[one.first : one.end]).strip() == POINTER else one
        for one in read_blocks(body)
    ]
    owners: list[tuple[int, str, int]] = []
    """Level, text and place of the headings and the lead above."""
    rule: _Node | None = None
    for place, block in enumerate(blocks):
        said = lines[block.first : block.end]
        text = "\n".join(said)
        after = blocks[place + 1].kind if place + 1 < len(blocks) else ""
        moved = replace(block, first=block.first + above, end=block.end + above)
        before = blocks[place - 1].kind if place else ""
        lead = block.kind == PARAGRAPH and _LEAD.fullmatch(text) and after in (ITEM, LIST)
        headed = after in ("", "hr", HEADING)
        titled = block.kind == PARAGRAPH and _BOLD.fullmatch(text) and not headed
        if block.kind == HEADING or lead or titled:
            level = block.level or (_TITLED if titled else _LEADS)
            owners = [one for one in owners if one[0] < level]
            yield _Node(block=moved, owner=owners[-1][2] if owners else -1)
            label = unmarked(" ".join(said).strip("#= ").removesuffix("---")).strip(" *_")
            owners.append((level, label, place))
            rule = None
            continue
        if block.kind not in (ITEM, LIST) and before in (ITEM, LIST):
            owners = [one for one in owners if one[0] != _LEADS]  # the list it announced is over
        owner = owners[-1][2] if owners else -1
        node = _Node(block=moved, owner=owner, above=tuple((one, t) for one, t, _ in owners))
        if block.kind in _STRUCTURE:
            rule = None
        elif block.kind == CODE and rule is not None and before != CODE:
            rule.text += "\n\n" + text
            node.line = rule.line
        else:
            rule = node
            node.line, node.text = moved.first + 1, textwrap.dedent(text)
        yield node


def find_names(text: str) -> list[str]:
    """Return the files, globs, code and proper names that a rule names, each once."""
    spans = [span.strip() for span in _CODE.findall(text)]
    spans = [span for span in spans if not is_command(span)]
    prose = _CODE.sub(" ", text)
    return list(dict.fromkeys([*spans, *find_paths(prose), *_NAME.findall(prose)]))


def is_place(name: str) -> bool:
    """Return whether a name is one of a file, a folder or a glob."""
    return " " not in name and bool("/" in name.strip("/@") or "*" in name or find_paths(name))


def _classify(rule: AgentRule, names: Sequence[str], globs: Sequence[str]) -> tuple[str, str]:
    """Return the kind of a rule and why: the weights of its signs add up, the heaviest is told."""
    if globs:
        return WHEN, f"for {', '.join(globs)}"
    said = unmarked(rule.text)
    first = _MARK.sub("", said)
    near = rule.headings[-1] if rule.headings else rule.title
    begins = next((one for one in (first, rule.lead) if _CONDITION.match(one)), "")
    clause = _CLAUSE.match(begins)
    situation = shorten(clause[0].strip(), _MAX_REASON) if clause else ""
    of_any_task = bool(situation and _ANY_TASK.search(situation))
    places = [name for name in names if is_place(name)]
    others = [name for name in names if name not in places]
    runs = "```" in rule.text or any(map(is_command, _CODE.findall(rule.text)))
    is_item = bool(_ITEM.match(rule.text))
    is_layout, is_general = bool(_LAYOUT.search(near)), bool(_GENERAL.search(near))
    if is_layout and is_item and "." in "".join(places[:1]).rpartition("/")[2]:  # one file of it
        is_layout = is_general = False
    is_own = bool(rule.headings and re.search(r"\w", _NEUTRAL.sub("", near))) and not is_general
    signs = (
        (3.0 * bool(situation and not of_any_task), f"“{situation}”"),
        (3.0 * bool(_LESSONS.search(near)), f"a lesson, under “{near}”"),
        (2.0 * bool(places), f"names {' '.join(places[:1])}"),
        (1.5 * is_own, f"under “{near}”"),
        (0.75 * min(len(others), 2), f"names {' '.join(others[:1])}"),
        (-4.0 * is_layout, f"under “{near}”"),
        (-2.0 * is_general, f"under “{near}”"),
        (-1.5 * bool(runs and _BUILD.search(said)), "how to build and test"),
        (-0.75 * bool(_UNIVERSAL.match(first)), "for all work"),
        (-4.0 * bool(_OVERVIEW.match(rule.text)), "a table or tree of it all"),
        (-1.5 * (not is_item and not rule.headings), "about the project"),
    )
    if sum(weight for weight, _reason in signs) > _THRESHOLD:
        return WHEN, max(signs)[1]
    least, reason = min(signs)
    return ALWAYS, reason if least else "names nothing in particular"


def is_command(span: str) -> bool:
    """Return whether a span of code is a command line."""
    return span.split(" ", maxsplit=1)[0] in _PROGRAMS


def holds_lessons(text: str, *, name: str) -> bool:
    """Tell whether notes hold a lesson or a rule, and are not prose alone.

    An item of a list is one if it forbids or demands something or says when it holds; all are
    below a heading for lessons, in a file of lessons, and in one whose header says what it is for.
    """
    file, header = read_rules(text, name=name), split_header(text).header
    if file.globs or any(map(_MEMORY_TYPE.fullmatch, header.lines if header else ())):
        return True
    for rule in file.rules:
        said = _MARK.sub("", unmarked(rule.text)) if _ITEM.match(rule.text) else ""
        speaks = NEGATIVE.search(said) or _CONDITION.match(said) or _DEMAND.match(said)
        near = rule.headings[-1:] or (rule.title,)
        if speaks or any(map(_LESSONS.search, near)) or rule.reason == _OF_LESSONS:
            return True
    return False


def read_notes(text: str, *, name: str) -> Imported:
    """Return the cards of a file of notes, and what of it becomes none; it stays as it is.

    Rules that hold for every task do not, nor what Claude Code remembers of the user or the
    project. ``name`` is the path, for messages.
    """
    file = read_rules(text, name=name)
    header = split_header(text).header
    known = header.lines if header else ()
    if found := next(filter(None, map(_MEMORY_TYPE.fullmatch, known)), None):
        title = next((m[1] for m in map(_DESCRIPTION.fullmatch, known) if m), file.name)
        if found[1] != "feedback":
            reason = f"a memory about the {found[1]}, not a lesson"
            passed = PassedOver(title=title, where=f"{name}:1", reason=reason)
            return Imported(lessons=(), passed_over=(passed,))
        made = build_cards(file, {rule.line for rule in file.rules}, set())
        return Imported(lessons=tuple(replace(one, title=shorten(title)) for one, _ in made))
    labelled = read_labelled_lessons(text, name=name)
    told = {line for one in labelled for line in range(one.first, one.end)}
    others = [rule for rule in file.rules if rule.line not in told]
    lines = {rule.line for rule in others if rule.kind == WHEN}
    always = [
        PassedOver(title=title_of(one), where=f"{name}:{one.line}", reason=f"always: {one.reason}")
        for one in others
        if one.kind == ALWAYS
    ]
    cards = (lesson for lesson, _rules in build_cards(file, lines, set()))
    lessons = (*(_add_situations(one, file.rules) for one in labelled), *cards)
    return Imported(lessons=lessons, passed_over=tuple(always))


def _add_situations(labelled: LabelledLesson, rules: Sequence[AgentRule]) -> Incoming:
    """Return a lesson with the situations in which its rules hold as symptoms."""
    own = [rule for rule in rules if labelled.first <= rule.line < labelled.end]
    symptoms = tuple(_find_situations(own))[:_MAX_SYMPTOMS]
    return replace(labelled.lesson, symptoms=symptoms)


def build_cards(
    file: RulesFile, lines: Collection[int], seen: set[str]
) -> Iterator[tuple[Incoming, list[AgentRule]]]:
    """Yield a card for each section that has rules of these lines, and the rules in it.

    Below a heading such as Lessons or Gotchas each rule has a card of its own. The rules stand in
    the card word for word; one that is ``seen`` already is left out, and they are added to it.
    """
    base = file.name.replace("\\", "/").rpartition("/")[2]
    chosen = [rule for rule in file.rules if rule.line in lines]
    for _key, group in groupby(chosen, _key_of):
        rules = []
        for rule in group:
            rules += [] if rule.words in seen else [rule]
            seen.add(rule.words)
        if not rules:
            continue
        first = rules[0]
        near = first.headings[-1] if first.headings else first.lead.strip(" :")
        title = title_of(first)
        if near and (len(rules) > 1 or not _BULLET.match(first.text)):
            above = "".join(first.headings[:-1][-1:])
            is_bare = len(near.split()) == 1 or _NEUTRAL.search(near)
            title = shorten(f"{above}: {near}" if above and is_bare else near, _MAX_TITLE)
            if len(title.split()) < _FEWEST_WORDS:  # a topic, which names no mistake
                prose = [rule for rule in rules if not _NO_PROSE.match(rule.text)]
                naming = [rule for rule in prose if NEGATIVE.search(rule.text)]
                more = "".join(f": {title_of(rule)}" for rule in (*naming, *prose)[:1])
                title = shorten(f"{near}{more}", _MAX_TITLE)
        said: dict[str, list[str]] = {}
        lead = ""
        for rule in rules:
            if rule.lead != lead and rule.lead and not _CODE.fullmatch(rule.lead):
                said.setdefault(PREVENTION, []).append(rule.lead)
            lead = rule.lead
            found = _LABEL.match(rule.text)
            label = " ".join(found[1].casefold().split()) if found else ""
            said.setdefault(_LABELS.get(label, PREVENTION), []).append(as_item(rule.text))
        above_all = " > ".join(filter(None, (first.title, *first.headings)))
        under = f" under “{above_all}”" if above_all else ""
        said.setdefault(SITUATION, []).insert(0, f"From {base}{under}.")
        topics = [one.casefold() for one in first.headings if len(one.split()) <= _TOPIC_WORDS]
        names = (n for rule in rules for n in (*find_names(rule.lead), *rule.names))
        lesson = Incoming(
            title=title,
            where=f"{file.name}:{first.line}",
            origin=make_origin("rules", base, *(rule.text for rule in rules)),
            sections=tuple((h, "\n\n".join(said[h])) for h in SECTIONS if h in said),
            topics=tuple(topics),
            paths=file.globs or tuple(dict.fromkeys(filter(is_place, names))),
            symptoms=tuple(_find_situations(rules))[:_MAX_SYMPTOMS],
        )
        yield lesson, rules


def _key_of(rule: AgentRule) -> tuple[object, ...]:
    """Return what the rules of one card have in common."""
    near = rule.headings[-1] if rule.headings else rule.title
    is_lesson = _LESSONS.search(near) and _ITEM.match(rule.text)
    return (rule.headings, rule.line if is_lesson else 0)


def title_of(rule: AgentRule) -> str:
    """Return the title of a card that holds one rule."""
    title = split_lead(_ITEM.sub("", rule.text, count=1))[0]
    return shorten(title, _MAX_TITLE) or " ".join(rule.headings[-1:]) or "Rule"


def as_item(text: str) -> str:
    """Return a rule as a list item: its words unchanged, prose below a dash."""
    if _ITEM.match(text):
        return text
    return "- " + text.replace("\n", "\n  ").replace("\n  \n", "\n\n")


def _find_situations(rules: Sequence[AgentRule]) -> Iterator[str]:
    """Yield in what situations rules hold, as they say it, each once."""
    seen = set[str]()
    for rule in rules:
        for said in (_MARK.sub("", unmarked(one)) for one in (rule.lead, rule.text)):
            found = _CONDITION.match(said) and _CLAUSE.match(said)
            words = found[0].strip() if found else ""
            if words and len(words.split()) <= _TOPIC_WORDS:  # the first of several, by commas
                words = shorten(said, _MAX_TITLE)
            if words and words not in seen and not _ANY_TASK.search(words):
                seen.add(words)
                yield words
