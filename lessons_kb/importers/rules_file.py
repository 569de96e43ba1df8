"""Split rules files for agents (AGENTS.md, CLAUDE.md, rules folders) into their rules.

Some rules apply to every task. The others apply in a certain situation and become cards.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from itertools import groupby
from typing import NamedTuple

from lessons_kb.cards.keys import Split, canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sections import Block, normal_newlines, read_blocks, split_lines
from lessons_kb.data import compile_patterns, read_mapping, read_patterns, read_toml
from lessons_kb.importers.entry_dates import split_date
from lessons_kb.importers.exported_rules import BEGINS, BLOCK, ENDS
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
from lessons_kb.importers.labelled_lessons import (
    LONGEST_HEADING,
    LabelledLesson,
    read_labelled_lessons,
)
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.paths import find_paths
from lessons_kb.text.sanitize import counted
from lessons_kb.values import frozen, mutable, replace

ALWAYS, WHEN = "always", "when"
POINTER = "More rules are lesson cards: they arrive when they apply, `lessons search` finds them."
"""The last line of a file whose rules were moved into cards."""

RULES_FILES = (
    *("AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md", "QWEN.md"),
    *(".cursorrules", ".clinerules/**/*.md", ".kilo/rules/*.md", ".kilocode/rules/*.md"),
    *(".factory/AGENTS.md", ".agents/AGENTS.md"),
    *(".claude/CLAUDE.md", ".claude/rules/**/*.md", ".cursor/rules/**/*.mdc"),
    *(".github/copilot-instructions.md", ".github/instructions/**/*.instructions.md"),
)
"""Globs of the rules files for agents, relative to the root of a project."""
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
"""Matches an import as in Claude Code, with nearly any extension or none, but not after a bracket
or before a dot.
"""
_NOT_IMPORTED = (".mdc", ".mdx")
_LEAD = re.compile(r".*[:\uff1a][*_]{0,2}", re.DOTALL)
_CLAUSE = re.compile(r"(?:[^,:.;(\u2014]|\.(?=\w))+")
GLOB_KEYS = ("globs", "applyto", "apply-to", "paths")
_EVERYWHERE = ("*", "**", "**/*")
HEADING, PARAGRAPH, ITEM, LIST, CODE = "heading", "paragraph", "item", "list", "code"
_STRUCTURE = ("hr", "html_block")
_BOLD = re.compile(r"(?:\*\*|__)[^*_.!?]{1,60}(?:\*\*|__):?")
_LEADS, _TITLED = 8, 7
_INDEX_LINE = re.compile(r"\s*[-*]\s+\[([^\]\n]+)\]\(([^()\s]+\.md)\)")
"""Matches a line of an index, with a link to another file and a description of the file."""
_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
_MARKER = re.compile(rf"\A{_ITEM.pattern}")
_CAPITALISED = re.compile(
    r"(?:\W*[A-Z0-9`(][^\s]*|\W*(?:[a-z]{1,3}|with|from|into|over)\W*|\W+)(?:\s+|\Z)"
)
"""Matches a word of a heading in title case. Only short words begin with a small letter there."""
_OVERVIEW = re.compile(r"\s*\||[^├]*├──")
_NO_PROSE = re.compile(rf"{_OVERVIEW.pattern}|\W*```")
_BULLET = re.compile(r"\s*[-*+]\s")
_MARK = re.compile(r"\A[-*+\d.)\s]*(?:\[[ xX]\] )?(?:[A-Z][\w /&-]{0,30}: )?")
_THRESHOLD = 0.5
_MAX_TITLE = 80
_FILE_FILLERS = frozenset("the our my a dev team project common known and".split())  # noqa: SIM905
_INTRODUCES = "introduces the file"
_REJECTED = "a rejected alternative"
_EXAMPLE = "an example"
_REFERENCE = "a reference"
_OF_REFERENCES = re.compile(
    r"\W*(?:references|further\s+reading|see\s+also|terminology|glossary|"
    r"table\s+of\s+contents)\W*",
    re.IGNORECASE,
)
_OF_ALTERNATIVES = re.compile(
    r"(?:\d+(?:\.\d+)*[.)]?\s+)?(?:(?:considered|rejected|other|discarded|possible)\s+)?"
    r"(?:alternatives?|options?|approach(?:es)?|proposals?|ideas?)"
    r"(?:\s+(?:(?:we\s+|that\s+were\s+)?(?:considered|rejected|discarded|not\s+chosen)|"
    r"and\s+trade-?offs))?|(?:considered\s+and\s+)?rejected|"
    r"pros\s+and\s+cons(?:\s+of\s+the\s+\w+)?",
    re.IGNORECASE,
)
_SAYS_ALTERNATIVES = re.compile(
    r"alternative|consider|reject|discard|not\s+chosen|pros", re.IGNORECASE
)
"""Matches a heading below which alternatives stand. "Options" alone may be settings."""
_OF_EXAMPLES = re.compile(
    r"\W*(?:good|bad|poor|better|worse|wrong|right|correct|incorrect)(?:\s+(?:examples?|code|way))?\W*"
    r"|\W*examples?\W*",
    re.IGNORECASE,
)
"""Matches a heading of an example, as in a pair of "Good" and "Bad"."""
_FEWEST_WORDS = 3
_MAX_SYMPTOMS = 8
_MAX_REASON = 50
_TOPIC_WORDS = 3
_COMMON = 0.15
"""A name in more than this share of a file's rules is not specific to any rule."""


@frozen
class AgentRule:
    """One rule in its own words."""

    text: str
    """The lines of the rule as in the file, without indentation, including its own lead."""
    line: int
    """The 1-based number of its first line."""
    kind: str = ""
    """``always`` or ``when``."""
    reason: str = ""
    """The reason for the kind."""
    title: str = ""
    """The title of the file, or "" if it has none."""
    headings: tuple[str, ...] = ()
    """The headings above it, without the title, starting with the outermost."""
    lead: str = ""
    """The line that introduces its list."""
    names: tuple[str, ...] = ()
    """The files, folders, globs and code that it names."""
    topics: tuple[str, ...] = ()
    """The headings above it that are topics, which are short, below level 1 and without a date."""
    is_introduction: bool = False
    """Whether it is a paragraph between the title and the file's lists."""

    @property
    def words(self) -> str:
        """Return its text on one line, with single spaces."""
        return " ".join(self.text.split())


@mutable
class _Node:
    """A block of a file, and the headings above it."""

    block: Block
    owner: int
    """The position of the lead or heading above it, or -1 if there is none."""
    text: str = ""
    """The text of a rule, or "" if no rule begins with this block."""
    line: int = 0
    """The line of the rule that contains the block, or 0 if the block is not part of a rule."""
    above: tuple[tuple[int, str], ...] = ()
    """Pairs (level, text) for the headings and the lead above it."""


@frozen
class RulesFile:
    """A rules file and its rules."""

    name: str
    rules: tuple[AgentRule, ...]
    globs: tuple[str, ...] = ()
    """The files for which an agent reads this file, or () if it is read in every session."""
    imports: tuple[str, ...] = ()
    """Names of the files that it imports for the agent."""
    text: str
    _nodes: tuple[_Node, ...]

    def without(self, lines: Collection[int]) -> str:
        """Return the text without the rules at these lines. The bytes of the rest do not change.

        A heading or a lead is removed with the last rule below it. ``POINTER`` is appended to a
        file that every session reads.
        """
        if not lines:
            return self.text
        gone = self._find_gone_lines(lines)
        rest: list[str] = []
        eol = "\r\n" if "\r\n" in self.text else "\n"
        for line, text in enumerate(split_lines(self.text)):
            if line in gone:
                continue
            is_after_gap = line - 1 in gone
            is_blank = not text.strip()
            has_text_before = bool(rest) and bool(rest[-1].strip())
            if is_blank and is_after_gap and not has_text_before:
                gone.add(line)  # the blank lines after a removed block; those before it stay
                continue
            if is_after_gap and has_text_before and not is_blank and not _ITEM.match(text):
                # Two blocks that become neighbours need an empty line between them.
                rest.append(eol)
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
        """Return whether the file has rules at other lines than these, or rules of an export."""
        return BEGINS in self.text or any(rule.line not in lines for rule in self.rules)

    def _find_gone_lines(self, lines: Collection[int]) -> set[int]:
        """Return the lines of the blocks that are removed with the rules at these lines, from 0."""
        owners = self._find_gone_owners(lines)
        gone = set[int]()
        for place, node in enumerate(self._nodes):
            is_gone_rule = node.block.kind == "hr" and node.owner in owners
            if node.line in lines or place in owners or is_gone_rule:
                gone.update(range(node.block.first, node.block.end))
        return gone

    def _find_gone_owners(self, lines: Collection[int]) -> set[int]:
        """Return the positions of headings and leads that have only rules at these lines."""
        of_removed, of_kept = set[int](), set[int]()
        for node in self._nodes:
            owners = of_removed if node.line in lines else of_kept
            owner = node.owner if node.line or node.block.kind == "html_block" else -1
            while owner >= 0:
                owners.add(owner)
                owner = self._nodes[owner].owner
        return of_removed - of_kept


def read_rules(text: str, *, name: str, folder: str = "") -> RulesFile:
    """Split a rules file into its rules, without those that `lessons export rules` wrote.

    ``folder`` is the folder to which the file applies, relative to the project, or "" for the whole
    project.
    """
    split = split_header(text)
    globs: tuple[str, ...] = (f"{folder}/**",) if folder else ()
    if split.header:
        globs = _read_globs(split) or globs
    body = BLOCK.sub(_empty_block, normal_newlines(split.body))
    nodes = list(_find_nodes(body, split.body_line - 1))
    names = {node.line: find_names(node.text) for node in nodes if node.text}
    common = _find_common(names)
    levels = [node.block.level for node in nodes if node.block.level]
    is_titled = levels[:1] == [1] and levels.count(1) == 1
    is_lessons_file = is_name_of_lessons(name)
    rules = []
    starts_with_title = levels[:1] == [1]
    headings_before = 0
    is_listing = False
    has_list = any(node.block.kind in (ITEM, LIST) for node in nodes)
    for node in nodes:
        headings_before += bool(node.block.level)
        is_listing = is_listing or node.block.kind in (ITEM, LIST) or headings_before > 1
        if not node.text:
            continue
        headings = tuple(label for level, label in node.above if level < _TITLED)
        leads = [label for level, label in node.above if level >= _TITLED]
        is_below_title = is_titled and bool(node.above) and node.above[0][0] == 1
        rule = AgentRule(
            text=node.text,
            line=node.line,
            title=headings[0] if is_below_title else "",
            headings=headings[1:] if is_below_title else headings,
            lead=leads[-1] if leads else "",
            names=tuple(names[node.line]),
            topics=tuple(_find_topics(node.above)),
            is_introduction=starts_with_title
            and headings_before == 1
            and not is_listing
            and node.block.kind == PARAGRAPH
            and (has_list or len(levels) > 1),
        )
        specific = [name for name in rule.names if name not in common]
        kind, reason = _classify(rule, specific, globs)
        if is_lessons_file:
            kind, reason = WHEN, _OF_LESSONS
        rules.append(replace(rule, kind=kind, reason=reason))
    imports: list[str] = []
    for node in nodes:
        named = _IMPORT.findall(_CODE.sub("", node.text))
        imports += [name for name in named if not name.endswith(_NOT_IMPORTED)]
    return RulesFile(
        name=name,
        rules=tuple(rules),
        globs=globs,
        imports=tuple(dict.fromkeys(imports)),
        text=text,
        _nodes=tuple(nodes),
    )


def _empty_block(block: re.Match[str]) -> str:
    """Return the marks of a block that an export wrote, with as many lines as the block has."""
    last_line = block[0].rpartition(ENDS)[2]
    inner_lines = block[0].count("\n") - len(last_line)
    gap = "\n" * inner_lines
    return f"{BEGINS}{gap}{ENDS}{last_line}"


def is_rules_file(name: str) -> bool:
    """Return whether a path is the path of a rules file for agents."""
    path = "/" + name.replace("\\", "/")
    # `**/` also stands for no folder at all.
    patterns = (*RULES_FILES, *(pattern.replace("**/", "") for pattern in RULES_FILES))
    return any(fnmatch(path, f"*/{pattern}") for pattern in patterns)


def is_name_of_lessons(name: str) -> bool:
    """Return whether a file is named after lessons, such as lessons.md, LESSONS_LEARNED.md or
    gotchas.md.
    """
    stem = re.split(r"[\\/]", name)[-1].partition(".")[0]
    words = [word for word in re.split(r"[\W_]+", stem.casefold()) if word not in _FILE_FILLERS]
    return bool(words) and all(_LESSONS.fullmatch(word) for word in words)


def _find_topics(above: Sequence[tuple[int, str]]) -> Iterator[str]:
    """Yield the short headings above a rule that name its topic."""
    for level, label in above:
        is_short = 1 < level < _TITLED and len(label.split()) <= _TOPIC_WORDS
        if is_short and not _LESSONS.fullmatch(label) and not split_date(label).date:
            yield label.casefold()


def _read_globs(split: Split) -> tuple[str, ...]:
    """Return the globs in a header, except globs that match everything."""
    for entry in read_header(split).entries:
        if canonical(entry.key) in GLOB_KEYS:
            globs: list[str] = []
            for text in filter(None, entry.texts):
                globs += split_commas(text)
            return tuple(glob for glob in globs if glob not in _EVERYWHERE)
    return ()


def _find_common(names: Mapping[int, Sequence[str]]) -> set[str]:
    """Return the names that occur in many rules of a file. ``names`` contains the names of each
    rule.
    """
    counts: Counter[str] = Counter()
    for names_of_rule in names.values():
        counts.update(names_of_rule)
    limit = max(2, _COMMON * len(names))
    return {name for name, count in counts.items() if count > limit}


class _Owner(NamedTuple):
    """A heading or a lead above the current block."""

    level: int
    label: str
    place: int
    """Its position among the blocks."""


def _read_file_blocks(body: str) -> list[Block]:
    """Return the blocks of a body. The pointer counts as a horizontal rule."""
    lines = body.split("\n")
    blocks = []
    for block in read_blocks(body):
        is_pointer = "".join(lines[block.first : block.end]).strip() == POINTER
        blocks.append(replace(block, kind="hr") if is_pointer else block)
    return blocks


def _find_nodes(body: str, offset: int) -> Iterator[_Node]:
    """Yield the blocks of a body. ``offset`` is the number of lines before the body in the file."""
    lines = body.split("\n")
    blocks = _read_file_blocks(body)
    owners: list[_Owner] = []
    rule: _Node | None = None
    for place, block in enumerate(blocks):
        block_lines = lines[block.first : block.end]
        text = "\n".join(block_lines)
        after = blocks[place + 1].kind if place + 1 < len(blocks) else ""
        moved = replace(block, first=block.first + offset, end=block.end + offset)
        before = blocks[place - 1].kind if place else ""
        is_paragraph = block.kind == PARAGRAPH
        is_lead = is_paragraph and _LEAD.fullmatch(text) and after in (ITEM, LIST)
        has_content = after not in ("", "hr", HEADING)
        is_bold_title = is_paragraph and _BOLD.fullmatch(text) and has_content
        if block.kind == HEADING or is_lead or is_bold_title:
            level = block.level or (_TITLED if is_bold_title else _LEADS)
            owners = [owner for owner in owners if owner.level < level]
            yield _Node(block=moved, owner=owners[-1].place if owners else -1)
            line = " ".join(block_lines).strip("#= ").removesuffix("---")
            owners.append(_Owner(level, unmarked(line).strip(" *_"), place))
            rule = None
            continue
        if block.kind not in (ITEM, LIST) and before in (ITEM, LIST):
            owners = [owner for owner in owners if owner.level != _LEADS]  # the lead's list ended
        node = _Node(
            block=moved,
            owner=owners[-1].place if owners else -1,
            above=tuple((owner.level, owner.label) for owner in owners),
        )
        if block.kind in _STRUCTURE:
            rule = None
        elif block.kind == CODE and rule is not None and before != CODE:
            rule.text += "\n\n" + text
            node.line = rule.line
        else:
            rule = node
            node.line = moved.first + 1
            node.text = textwrap.dedent(text)
        yield node


def find_names(text: str) -> list[str]:
    """Return the files, globs, code and proper names in a rule, without duplicates."""
    spans = [span.strip() for span in _CODE.findall(text)]
    spans = [span for span in spans if not is_command(span)]
    prose = _CODE.sub(" ", text)
    return list(dict.fromkeys([*spans, *find_paths(prose), *_NAME.findall(prose)]))


def is_place(name: str) -> bool:
    """Return whether a name denotes a file, a folder or a glob."""
    return " " not in name and bool("/" in name.strip("/@") or "*" in name or find_paths(name))


def _classify(rule: AgentRule, names: Sequence[str], globs: Sequence[str]) -> tuple[str, str]:
    """Return the kind of a rule and the reason.

    The weights of its features are added up. The reason is the feature with the largest weight.
    ``names`` are the specific names of the rule, and ``globs`` are the globs of the file.
    """
    if globs:
        return WHEN, f"for {', '.join(globs)}"
    text = unmarked(rule.text)
    first = _MARK.sub("", text)
    heading = rule.headings[-1] if rule.headings else rule.title
    condition = next(filter(_CONDITION.match, (first, rule.lead)), "")
    clause = _CLAUSE.match(condition)
    situation = shorten(clause[0].strip(), _MAX_REASON) if clause else ""
    is_any_task = bool(situation and _ANY_TASK.search(situation))
    places = [name for name in names if is_place(name)]
    others = [name for name in names if name not in places]
    runs = "```" in rule.text or any(map(is_command, _CODE.findall(rule.text)))
    is_item = bool(_ITEM.match(rule.text))
    is_layout, is_general = bool(_LAYOUT.search(heading)), bool(_GENERAL.search(heading))
    if is_layout and is_item and "." in "".join(places[:1]).rpartition("/")[2]:
        is_layout = is_general = False  # an item about a single file
    is_specific = re.search(r"\w", _NEUTRAL.sub("", heading)) is not None
    has_topic = bool(rule.headings) and is_specific and not is_general
    features = (
        (3.0 * bool(situation and not is_any_task), f"“{situation}”"),
        (3.0 * bool(_LESSONS.search(heading)), f"a lesson, under “{heading}”"),
        (2.0 * bool(places), f"names {' '.join(places[:1])}"),
        (1.5 * has_topic, f"under “{heading}”"),
        (0.75 * min(len(others), 2), f"names {' '.join(others[:1])}"),
        (-4.0 * is_layout, f"under “{heading}”"),
        (-2.0 * is_general, f"under “{heading}”"),
        (-1.5 * bool(runs and _BUILD.search(text)), "how to build and test"),
        (-0.75 * bool(_UNIVERSAL.match(first)), "for all work"),
        (-4.0 * bool(_OVERVIEW.match(rule.text)), "a table or tree of it all"),
        (-1.5 * (not is_item and not rule.headings), "about the project"),
    )
    if sum(weight for weight, _reason in features) > _THRESHOLD:
        return WHEN, max(features)[1]
    least, reason = min(features)
    return ALWAYS, reason if least else "names nothing in particular"


def is_command(span: str) -> bool:
    """Return whether a span of code begins with the name of a program."""
    return span.split(" ", maxsplit=1)[0] in _PROGRAMS


def has_heading_of_lessons(text: str, *, name: str) -> bool:
    """Return whether a heading above a rule announces lessons, or the header names files."""
    file = read_rules(text, name=name)
    headings = {heading for rule in file.rules for heading in (rule.title, *rule.headings)}
    return bool(file.globs) or any(map(_LESSONS.search, headings))


def holds_lessons(text: str, *, name: str) -> bool:
    """Return whether notes contain a lesson or a rule, and not only prose.

    A list item is a rule if it forbids or demands something, or names its situation. Below a
    heading for lessons, in a file of lessons, and in a file whose header names its files, every
    part is a rule.
    """
    file = read_rules(text, name=name)
    if file.globs:
        return True
    for rule in file.rules:
        heading = rule.headings[-1] if rule.headings else rule.title
        if _LESSONS.search(heading) or rule.reason == _OF_LESSONS:
            return True
        item = _MARK.sub("", unmarked(rule.text)) if _ITEM.match(rule.text) else ""
        if NEGATIVE.search(item) or _CONDITION.match(item) or _DEMAND.match(item):
            return True
    return False


def read_notes(text: str, *, name: str, siblings: Collection[str] = ()) -> Imported:
    """Return the cards of a file of notes, and the parts that do not become cards.

    Rules for every task do not become cards. Lines of an index that only name a file among
    ``siblings`` do not become cards either. ``name`` is the path, for messages. The file itself is
    not changed.
    """
    file = read_rules(text, name=name)
    former = find_former_origins(file)
    labelled = read_labelled_lessons(text, name=name)
    labelled_lines: set[int] = set()
    for lesson in labelled:
        labelled_lines.update(range(lesson.first, lesson.end))
    others = [rule for rule in file.rules if rule.line not in labelled_lines]
    passed_over = []
    for rule in others:
        entry = _INDEX_LINE.match(rule.text)
        if entry and entry[2] in siblings:
            where = f"{name}:{rule.line}"
            passed_over.append(
                PassedOver(title=entry[1], where=where, reason=f"kept in {entry[2]}")
            )
            labelled_lines.add(rule.line)
    for rule in others:
        reason = _why_no_lesson(rule)
        if reason and rule.line not in labelled_lines:
            where = f"{name}:{rule.line}"
            passed_over.append(PassedOver(title=title_of(rule), where=where, reason=reason))
            labelled_lines.add(rule.line)
    others = [rule for rule in others if rule.line not in labelled_lines]
    lines = {rule.line for rule in others if rule.kind == WHEN and not rule.is_introduction}
    for rule in others:
        if rule.line not in lines:
            reason = _INTRODUCES if rule.is_introduction else f"always: {rule.reason}"
            where = f"{name}:{rule.line}"
            passed_over.append(PassedOver(title=title_of(rule), where=where, reason=reason))
    lessons = []
    for lesson in labelled:
        own = [rule.line for rule in file.rules if lesson.first <= rule.line < lesson.end]
        whole = _add_situations(lesson, file.rules)
        lessons.append(replace(whole, former=collect_former(former, own)))
    topics = 0
    is_single = is_rules_file(name)  # its rules are independent of each other
    for card, rules in build_cards(file, lines, set(), single=is_single):
        own = [rule.line for rule in rules]
        title = _complete_topic(card.title, rules)
        topics += _is_titled_by_topic(title, rules[0])
        lessons.append(replace(card, title=title, former=collect_former(former, own)))
    notes = (_describe_topics(name, topics),) if topics else ()
    return Imported(
        lessons=tuple(lessons), passed_over=tuple(passed_over), notes=notes, topics=topics
    )


def _is_titled_by_topic(title: str, first: AgentRule) -> bool:
    """Return whether the heading above a card's first rule is a topic that a rule completes."""
    headings = _undated_headings(first)
    return bool(headings) and not _is_own_card(first) and title.startswith(f"{headings[-1]}: ")


def _describe_topics(name: str, count: int) -> str:
    """Return what becomes of headings that are only topics."""
    headings = counted(count, "heading names a topic", "headings name topics")
    made = "each becomes one card" if count > 1 else "it becomes one card"
    return (
        f"{name}: {headings}, no mistake: {made} of the rules below it, with a rule in the "
        "title; `lessons rename CARD TITLE` names the mistake"
    )


def _why_no_lesson(rule: AgentRule) -> str:
    """Return why a text is no lesson because of the headings above it, or "" if it may be one.

    In a file of lessons and below a heading for lessons, every text is part of a lesson.
    """
    above = (rule.title, *rule.headings)
    if rule.reason == _OF_LESSONS or any(map(_LESSONS.search, above)):
        return ""
    if any(map(is_about_alternatives, rule.headings)):
        return _REJECTED
    if any(map(_OF_REFERENCES.fullmatch, rule.headings)):
        return _REFERENCE
    return _EXAMPLE if any(map(_OF_EXAMPLES.fullmatch, rule.headings)) else ""


def is_about_alternatives(heading: str) -> bool:
    """Return whether a heading stands above alternatives that were not chosen."""
    label = heading.strip(" :")
    return bool(_OF_ALTERNATIVES.fullmatch(label) and _SAYS_ALTERNATIVES.search(label))


def find_former_origins(file: RulesFile) -> dict[int, str]:
    """Return a mapping from the line of each rule to the origin of its card in release 0.1.0."""
    base = file.name.replace("\\", "/").rpartition("/")[2]
    origins: dict[int, str] = {}
    chosen = [rule for rule in file.rules if rule.kind == WHEN]
    for _key, group in groupby(chosen, _former_card_key):
        rules = list(group)
        origin = make_origin("rules", base, *(rule.text for rule in rules))
        origins.update(dict.fromkeys((rule.line for rule in rules), origin))
    return origins


def collect_former(origins: Mapping[int, str], lines: Iterable[int]) -> tuple[str, ...]:
    """Return the origins at these lines without duplicates."""
    return tuple(dict.fromkeys(origins[line] for line in lines if line in origins))


def _add_situations(labelled: LabelledLesson, rules: Sequence[AgentRule]) -> Incoming:
    """Return a lesson with the situations of its rules as symptoms."""
    own = [rule for rule in rules if labelled.first <= rule.line < labelled.end]
    symptoms = tuple(_find_situations(own))[:_MAX_SYMPTOMS]
    return replace(labelled.lesson, symptoms=symptoms)


def build_cards(
    file: RulesFile, lines: Collection[int], seen: set[str], *, single: bool = False
) -> Iterator[tuple[Incoming, list[AgentRule]]]:
    """Yield a card for each section with rules at these lines, and the rules in the card.

    With ``single``, each rule gets a card of its own.

    Three kinds of rules get a card of their own: a rule below a heading such as Lessons or Gotchas,
    an entry with a date, and in a file of lessons a rule below a mere topic. Cards contain the
    rules word for word, without the dates that lead them. A rule whose words are in ``seen`` is
    left out; the words of the other rules are added to ``seen``. A section without other rules gets
    no card.
    """
    chosen = [rule for rule in file.rules if rule.line in lines]
    if single:
        for rule in chosen:
            if rule.words not in seen:
                seen.add(rule.words)
                yield replace(_build_card(file, [rule]), title=_title_of_single(rule)), [rule]
        return
    for _key, group in groupby(chosen, _card_key):  # neighbours with the same key
        rules: list[AgentRule] = []
        for rule in group:
            if rule.words not in seen:
                rules.append(rule)
                seen.add(rule.words)
        if rules:
            yield _build_card(file, rules), rules


def _build_card(file: RulesFile, rules: Sequence[AgentRule]) -> Incoming:
    """Return the card with these rules of a section."""
    base = file.name.replace("\\", "/").rpartition("/")[2]
    first = rules[0]
    sections = _sort_into_sections(rules)
    path = " > ".join(filter(None, (first.title, *first.headings)))
    under = f" under “{path}”" if path else ""
    sections.setdefault(SITUATION, []).insert(0, f"From {base}{under}.")
    ordered = [name for name in SECTIONS if name in sections]
    dates = [split_date(_MARKER.sub("", first.text)).date]
    dates += [split_date(label).date for label in reversed(first.headings)]
    names: list[str] = []
    for rule in rules:
        names += [*find_names(rule.lead), *rule.names]
    return Incoming(
        title=_title_for(rules),
        where=f"{file.name}:{first.line}",
        origin=make_origin("rules", base, *(rule.text for rule in rules)),
        sections=tuple((name, "\n\n".join(sections[name])) for name in ordered),
        topics=first.topics,
        created=next(filter(None, dates), None),
        paths=file.globs or tuple(dict.fromkeys(filter(is_place, names))),
        declared_paths=bool(file.globs),
        symptoms=tuple(_find_situations(rules))[:_MAX_SYMPTOMS],
    )


def _title_for(rules: Sequence[AgentRule]) -> str:
    """Return the title of a card with some rules, which is the heading above them or the first
    rule.
    """
    first = rules[0]
    headings = _undated_headings(first)
    heading = headings[-1] if headings else first.lead.strip(" :")
    if len(heading.split()) >= _FEWEST_WORDS and headings and not _is_own_card(first):
        return shorten(heading, LONGEST_HEADING) if len(heading) > LONGEST_HEADING else heading
    if not heading or (len(rules) == 1 and _BULLET.match(first.text)):
        return title_of(first)
    above = headings[-2] if len(headings) > 1 else ""
    is_vague = len(heading.split()) == 1
    title = shorten(f"{above}: {heading}" if above and is_vague else heading, _MAX_TITLE)
    if len(title.split()) >= _FEWEST_WORDS:
        return title
    # A short heading is a topic and does not name a mistake, so a rule completes it.
    prose = [rule for rule in rules if not _NO_PROSE.match(rule.text)]
    forbidding = [rule for rule in prose if NEGATIVE.search(rule.text)]
    completing = (*forbidding, *prose)[:1]
    return shorten(": ".join([heading, *map(title_of, completing)]), _MAX_TITLE)


def _title_of_single(rule: AgentRule) -> str:
    """Return the title of a rule that is alone in its card.

    A short lead ("Never:") is the beginning of the title. A title of one or two words is completed
    by the lead or the heading above it.
    """
    title = title_of(rule)
    is_fragment = len(title.split()) < _FEWEST_WORDS
    lead = unmarked(rule.lead).rstrip(" :")
    is_label = 0 < len(lead.split()) <= _TOPIC_WORDS
    above = lead if is_label or is_fragment else ""
    if is_fragment and not above and rule.headings:
        above = rule.headings[-1]
    return shorten(f"{above}: {title}", _MAX_TITLE) if above else title


def _complete_topic(title: str, rules: Sequence[AgentRule]) -> str:
    """Return a title that is only a topic, as a heading in title case is, with a rule of the card.

    A rule that forbids something comes first, because it names the mistake.
    """
    words = list(_CAPITALISED.finditer(title))
    is_topic = sum(len(word[0]) for word in words) == len(title)
    if not is_topic or NEGATIVE.search(title):
        return title
    prose = [title_of(rule) for rule in rules if not _NO_PROSE.match(rule.text)]
    leads = [unmarked(rule.lead).rstrip(" :") for rule in rules[:1] if rule.lead]
    forbidding = [text for text in prose if NEGATIVE.search(text)]
    texts = [text for text in (*forbidding, *leads, *prose) if not title.endswith(text)]
    heading = title.rpartition(": ")[2]
    if not texts:
        return title
    whole = texts[0] if texts[0].startswith(heading) else f"{heading}: {texts[0]}"
    if len(whole) <= _MAX_TITLE:
        return whole
    return whole[: whole.rfind(" ", 0, _MAX_TITLE)].rstrip(" ,.;:") + "…"


def _undated_headings(rule: AgentRule) -> list[str]:
    """Return the headings above a rule without dates. A heading that is only a date is left out."""
    texts = [split_date(label).text for label in rule.headings]
    return [text for text in texts if text]


def _sort_into_sections(rules: Sequence[AgentRule]) -> dict[str, list[str]]:
    """Return the rules as Markdown by section. A label such as "Why:" selects the section."""
    sections: dict[str, list[str]] = {}
    lead = ""
    for rule in rules:
        if rule.lead != lead and rule.lead and not _CODE.fullmatch(rule.lead):
            sections.setdefault(PREVENTION, []).append(rule.lead)
        lead = rule.lead
        text = _undated(rule.text)
        match = _LABEL.match(text)
        label = " ".join(match[1].casefold().split()) if match else ""
        sections.setdefault(_LABELS.get(label, PREVENTION), []).append(as_item(text))
    return sections


def _card_key(rule: AgentRule) -> tuple[object, ...]:
    """Return the key that the rules of one card share.

    Rules below the same headings share a card. An entry of a list of lessons has a card of its own,
    so its line is in the key.
    """
    return (rule.headings, rule.line if _is_own_card(rule) else 0)


def _is_own_card(rule: AgentRule) -> bool:
    """Return whether a rule is an entry of a list of lessons and therefore becomes its own card."""
    marker = _ITEM.match(rule.text)
    if not marker:
        return False
    headings = _undated_headings(rule)
    heading = headings[-1] if headings else rule.title
    is_below_topic = rule.reason == _OF_LESSONS and len(heading.split()) < _FEWEST_WORDS
    has_date = split_date(rule.text[marker.end() :]).date
    return bool(_LESSONS.search(heading) or is_below_topic or has_date)


def _former_card_key(rule: AgentRule) -> tuple[object, ...]:
    """Return the key by which release 0.1.0 put rules into cards."""
    heading = rule.headings[-1] if rule.headings else rule.title
    is_lesson = _LESSONS.search(heading) and _ITEM.match(rule.text)
    return (rule.headings, rule.line if is_lesson else 0)


def _undated(text: str) -> str:
    """Return a rule without the date at its beginning."""
    marker = _ITEM.match(text)
    start = marker.end() if marker else 0
    dated = split_date(text[start:].partition("\n")[0])
    if not dated.date:
        return text
    rest = text[start:].partition("\n")
    return text[:start] + dated.text + rest[1] + rest[2]


def title_of(rule: AgentRule) -> str:
    """Return the title of a single rule."""
    text = _MARKER.sub("", _undated(rule.text))
    title = split_lead(text)[0]
    if len(title.split()) < _FEWEST_WORDS:  # "NEVER" or "Formatting" says nothing without the rest
        title = split_lead(unmarked(text))[0]
    return shorten(title, _MAX_TITLE) or " ".join(rule.headings[-1:]) or "Rule"


def as_item(text: str) -> str:
    """Return a rule as a list item with the same words. A paragraph gets a dash."""
    if _ITEM.match(text):
        return text
    return "- " + text.replace("\n", "\n  ").replace("\n  \n", "\n\n")


def _find_situations(rules: Sequence[AgentRule]) -> Iterator[str]:
    """Yield the situations to which rules apply, in the rules' own words and without duplicates."""
    seen = set[str]()
    for rule in rules:
        for text in (rule.lead, rule.text):
            sentence = _MARK.sub("", unmarked(text))
            clause = _CONDITION.match(sentence) and _CLAUSE.match(sentence)
            situation = clause[0].strip() if clause else ""
            if situation and len(situation.split()) <= _TOPIC_WORDS:  # the start of a list
                situation = shorten(sentence, _MAX_TITLE)
            if situation and situation not in seen and not _ANY_TASK.search(situation):
                seen.add(situation)
                yield situation
