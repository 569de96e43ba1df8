"""Read the sections of a card by their meaning, under any of the usual headings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from itertools import groupby, pairwise
from typing import TYPE_CHECKING

from lessons_kb.cards.lead_ins import find_lead_ins
from lessons_kb.cards.plain_blocks import find_fenced, read_first_paragraph, read_plain_blocks
from lessons_kb.data import read_patterns
from lessons_kb.on_demand import ENTITIES, load
from lessons_kb.text.paths import find_paths
from lessons_kb.text.sanitize import clean_line, visible
from lessons_kb.text.sentences import first_sentence
from lessons_kb.values import frozen, replace

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


MAX_LENGTH = 1_000
"""In characters. A longer text is cut, because nobody checks an item of this size."""

# Marks a piece that is set aside. A card that contains NUL is refused as a whole.
_HOLD = "\x00"
_MARKUP = re.compile(r"[`*_~\[\]<>\\&]")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_VERBATIM = re.compile(r"(?<!\w)__[a-z0-9][a-z0-9_]*__(?!\w)|(?<!\S)\S*(?:/\*|\*/|\*\.\w)\S*")
"""Matches a name such as ``__init__`` and a glob such as ``src/*.py``, which are no emphasis in a
text about code."""
_HELD = re.compile(rf"{_HOLD}(\d+){_HOLD}")
_TAGS = (
    "a|b|br|code|del|details|em|i|img|ins|kbd|mark|p|q|s|small|span|strong|sub|summary|sup|u|wbr"
)
_TARGET = r"(?:<[^<>]*>|[^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(?:\s+(?:\"[^\"]*\"|'[^']*'))?\s*"
# Emphasis is short. Without a limit, a line of asterisks would take quadratic time.
_STARS = r"(?<![\w*])(\*{1,3})(?=[^\s*])(.{1,300}?)(?<=[^\s*])\1(?![\w*])"
_LINES = r"(?<![\w_])(_{1,3})(?=[^\s_])(.{1,300}?)(?<=[^\s_])\1(?![\w_])"
_STEPS = (
    ("<!--", r"<!--.*?(?:-->|\Z)", ""),
    ("[[", r"!?\[\[(?:[^\[\]|]*\|)?([^\[\]|]+)\]\]", r"\1"),
    ("](", rf"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\({_TARGET}\)", r"\1"),
    ("][", r"!?\[([^\[\]]+)\]\[[^\[\]]*\]", r"\1"),
    ("<", r"<((?:https?://|mailto:)[^<>\s]+)>", r"\1"),
    ("<", rf"(?i)</?(?:{_TAGS})(?:\s[^<>]*)?/?>", ""),
    # This is done twice, because each kind may be inside the other.
    ("*", _STARS, r"\2"),
    ("_", _LINES, r"\2"),
    ("*", _STARS, r"\2"),
    ("~~", r"~~(?=\S)(.{1,300}?)(?<=\S)~~", r"\1"),
)
"""The sign that a text must contain, the pattern and the replacement. A pattern is compiled on its
first use, because the cards that a command reads need few of them."""

_ENTITY = re.compile(r"&#?\w{1,32};")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def _read_entity(match: re.Match[str]) -> str:
    """Return the character of an entity, or the entity itself if nobody would see the character."""
    character: str = load(ENTITIES).unescape(match[0])
    return character if character.isprintable() else match[0]


def one_line(text: str) -> str:
    """Return a text in one line, without control and invisible characters."""
    line = " ".join(text.split())
    return line if line.isprintable() else clean_line(line)


def plain_text(markdown: str) -> str:
    """Return one paragraph in one line, without emphasis, links, code ticks and HTML.

    Code keeps every character, so that ``**kwargs`` in backticks is not read as emphasis. Outside
    of backticks, names such as ``__init__`` and globs are kept, too.
    """
    markdown = markdown[:MAX_LENGTH]
    if not _MARKUP.search(markdown):
        return one_line(markdown)
    held: list[str] = []

    def hold(text: str) -> str:
        held.append(text)
        return f"{_HOLD}{len(held) - 1}{_HOLD}"

    text = markdown.replace(_HOLD, "")
    text = _CODE.sub(lambda match: hold(match[2].strip()), text)
    text = _ESCAPED.sub(lambda match: hold(match[1]), text)
    if "__" in text or "*" in text:
        text = _VERBATIM.sub(lambda match: hold(match[0]), text)
    for sign, pattern, shown in _STEPS:
        if sign in text:
            text = re.sub(pattern, shown, text, flags=re.DOTALL)
    if "&" in text:
        text = _ENTITY.sub(_read_entity, text)
    text = _HELD.sub(lambda match: held[int(match[1])], text)
    return one_line(text)


MAX_STRUCTURE = 100_000
"""The number of characters of a body that are parsed. In the worst case, the parser needs some
microseconds for each of them, and no card is this long."""

_MARK = re.compile(r"\n( {0,3})(?:#{1,3}(?=[ \t\n])|```|~~~|<|[=-]+(?=[ \t]*\n))[^\n]*")


@frozen
class Heading:
    """A heading of level 1 to 3 at the top level of a body."""

    level: int
    text: str
    """The plain text in one line."""
    line: int
    """The line in the body, counted from 0."""
    end: int
    """The line after the heading."""


@frozen
class Item:
    """A list item. Items nested in it are separate items."""

    text: str
    """The plain text in one line, without the checkbox."""
    line: int
    """The line in the given part, counted from 0."""
    shown_by: str = ""
    """The pattern of its ``<!-- shown-by: … -->``, or "" if it has none."""


def normal_newlines(body: str) -> str:
    r"""Return a text with the line end ``\n`` and the same number of lines."""
    return body.replace("\r\n", "\n").replace("\r", "\n") if "\r" in body else body


def split_lines(text: str) -> list[str]:
    r"""Return the lines of a text with their ends: ``\n``, ``\r\n`` or ``\r``."""
    return re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)


def find_headings(body: str, *, deepest: int = 2) -> list[Heading]:
    r"""Return the headings at the top level, in order. Lines end at ``\n``.

    ``deepest`` is the largest level that counts, 2 or 3.

    If every heading and every fence is at the left margin, and there is no HTML block and no
    underlined heading, these lines alone identify the headings. A line at the margin ends every
    list and quote, and only a fence at the margin can contain it. This is the case for 19 of 20
    real bodies. A doubtful line inside a fence does not count. If there is one outside, markdown-it
    reads the whole body.
    """
    lines: list[str] = []
    numbers: list[int] = []
    doubtful: list[int] = []
    seen, number = 0, 0
    framed = f"\n{body}\n"
    for mark in _MARK.finditer(framed):
        start = mark.start()
        underline = mark[0].lstrip()[0] in "=-"
        if underline and (start == 0 or framed[start - 1] == "\n"):
            continue
        if underline or mark[1] or mark[0][1] == "<":
            doubtful.append(len(lines))
        number += framed.count("\n", seen, start)
        seen = start
        lines.append(mark[0][1:])
        numbers.append(number)
    fenced = find_fenced(lines)
    if fenced.issuperset(doubtful):
        headings = [
            _read_heading(line, line_number)
            for index, (line, line_number) in enumerate(zip(lines, numbers, strict=True))
            if index not in fenced and line.startswith("#")
        ]
        return [heading for heading in headings if heading.level <= deepest]
    tokens = _parse(body)
    headings = []
    for index, token in enumerate(tokens):
        is_heading = token.type == "heading_open" and token.level == 0
        if is_heading and int(token.tag[1]) <= deepest:
            first, last = token.map or [0, 1]
            headings.append(
                Heading(
                    level=int(token.tag[1]),
                    text=plain_text(tokens[index + 1].content),
                    line=first,
                    end=last,
                )
            )
    return headings


def find_code_lines(text: str) -> frozenset[int]:
    r"""Return the lines, from 0, of code blocks and HTML blocks. Lines end at ``\n``."""
    tokens = _parse(text[:MAX_STRUCTURE])
    kinds = ("fence", "code_block", "html_block")
    maps = [token.map for token in tokens if token.type in kinds and token.map]
    return frozenset(line for first, end in maps for line in range(first, end))


@frozen
class Block:
    """A block at the top level of a text. Each item of a bullet list is a separate block."""

    kind: str
    """``heading``, ``paragraph``, ``item``, ``list`` (numbered), ``code``, or another name of
    markdown-it."""
    first: int
    """The first line, counted from 0."""
    end: int
    """The line after the block. Blank lines at its end do not belong to it."""
    level: int = 0
    """The level of a heading."""


_BLOCKS = {"ordered_list": "list", "fence": "code", "code_block": "code", "list_item": "item"}


def read_blocks(text: str) -> list[Block]:
    r"""Return the blocks of a text, in order. Lines end at ``\n``."""
    lines = text.split("\n")
    blocks = []
    for token in _parse(text):
        kind = token.type.removesuffix("_open")
        inside = 1 if kind == "list_item" and token.markup in "-*+" else 0
        if token.map is None or token.level != inside or kind == "bullet_list":
            continue
        first, end = token.map
        while end > first + 1 and not lines[end - 1].strip():
            end -= 1
        level = int(token.tag[1]) if kind == "heading" else 0
        blocks.append(Block(kind=_BLOCKS.get(kind, kind), first=first, end=end, level=level))
    return blocks


HEADING, ITEM, ROW, PARAGRAPH = "heading", "item", "row", "paragraph"


@frozen
class Fragment:
    """A heading, a list item, a row of a table or a paragraph, at any depth."""

    kind: str
    line: int
    """The 1-based line."""
    text: str = ""
    """The text. For an item, its paragraphs and code, but not its nested items."""
    level: int = 0
    """The level of a heading from 1 to 6, or the depth of an item or a paragraph in lists."""
    cells: tuple[tuple[str, str], ...] = ()
    """The (column, cell) pairs of a row. Columns are in lower case without markup."""


def read_fragments(text: str) -> list[Fragment]:
    r"""Return the fragments of a text, in order. Lines end at ``\n``."""
    fragments: list[Fragment] = []
    columns: list[str] = []
    cells: list[str] = []
    row = 0
    for above, token in pairwise(_parser((*_ALL, "table")).parse(text)):
        line = token.map[0] + 1 if token.map else 0
        content = token.content.strip()
        if token.type == "list_item_open":
            fragments.append(Fragment(kind=ITEM, line=line, level=token.level))
        elif token.type == "table_open":
            columns = []
        elif token.type == "thead_close":
            columns = [re.sub(r"[*_`]", "", cell).casefold() for cell in cells]
            cells = []
        elif token.type == "tr_close" and columns:
            pairs = tuple(zip(columns, cells, strict=False))
            fragments.append(Fragment(kind=ROW, line=row, cells=pairs))
            cells = []
        elif above.type in ("th_open", "td_open"):
            row = line
            cells.append(content)
        elif above.type == "heading_open":
            level = int(above.tag[1])
            fragments.append(Fragment(kind=HEADING, line=line, text=content, level=level))
        elif token.type in ("inline", "fence", "code_block"):
            last = fragments[-1] if fragments else None
            if last and last.kind == ITEM and token.level > last.level:
                text = f"{last.text}\n\n{content}" if last.text else _CHECKBOX.sub("", content)
                fragments[-1] = replace(last, text=text)
            elif token.type == "inline":
                fragments.append(
                    Fragment(kind=PARAGRAPH, line=line, text=content, level=token.level)
                )
    return [fragment for fragment in fragments if fragment.text or fragment.cells]


def find_items(part: str) -> list[Item]:
    """Return the list items of a part of a body in order, including nested items."""
    blocks = read_plain_blocks(part)
    if blocks is not None:
        items = [_read_item(block.text, block.line) for block in blocks if block.is_item]
        return [item for item in items if item.text]
    tokens = _parse(part)
    items = []
    for index, token in enumerate(tokens):
        if token.type == "list_item_open" and token.map:
            # The paragraph or heading at the beginning of the item, if there is one.
            is_inline = tokens[index + 2 : index + 3] and tokens[index + 2].type == "inline"
            content = tokens[index + 2].content if is_inline else ""
            items.append(_read_item(content, token.map[0]))
    return [item for item in items if item.text]


def _read_item(content: str, line: int) -> Item:
    shown_by = _SHOWN_BY.search(content)
    text = plain_text(_CHECKBOX.sub("", content))
    return Item(text=text, line=line, shown_by=shown_by[1] if shown_by else "")


def first_paragraph(part: str) -> str:
    """Return the first paragraph or list item of a part in one line of plain text, or ""."""
    paragraph = read_first_paragraph(part)
    if paragraph is not None and (text := plain_text(_CHECKBOX.sub("", paragraph))):
        return text
    for above, token in pairwise(_parse(part)):
        is_text = above.type == "paragraph_open"
        if is_text and (text := plain_text(_CHECKBOX.sub("", token.content))):
            return text
    return ""


_SHOWN_BY = re.compile(r"<!--[ \t]*shown-by:[ \t]*([^\n]*?)[ \t]*-->")
_CHECKBOX = re.compile(r"\A\[[ xX]\](?:\s+|\Z)")


def _read_heading(line: str, number: int) -> Heading:
    """Return a line at the left margin as a heading, as markdown-it reads it."""
    level = len(line) - len(line.lstrip("#"))
    rest = line[level:].rstrip(" \t")
    open_end = rest.rstrip("#")  # a row of # after a space closes it
    text = open_end if open_end.endswith((" ", "\t")) else rest
    return Heading(level=level, text=plain_text(text.strip()), line=number, end=number + 1)


_ALL = ("code", "fence", "blockquote", "hr", "list", "html_block", "heading", "lheading")


@cache
def _parser(rules: tuple[str, ...]) -> MarkdownIt:
    """Return a CommonMark parser for these blocks and for paragraphs, without inline text."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("zero", {"html": True}).enable(list(rules))
    parser.core.ruler.enableOnly(["block"])
    return parser


def _parse(text: str) -> list[Token]:
    return _parser(_ALL).parse(text)


SITUATION = "situation"
MISTAKE = "mistake"
CAUSE = "root cause"
FIX = "fix"
PREVENTION = "prevention checklist"
APPLIES = "applies to"
PROSE = "prose"
"""The text of a body without headings and labels. Its first sentence is the cause, and its list
items are the checklist."""
LEAD = "lead"
"""The first text of a body without known headings or labels. It begins with the cause."""

_MEANINGS = (SITUATION, MISTAKE, CAUSE, FIX, PREVENTION, APPLIES)
_TABLE = {
    section: tuple(tuple(line.split(", ")) for line in lines)
    for section, lines in read_patterns("headings.toml").items()
}
HEADINGS: Mapping[str, tuple[tuple[str, ...], ...]] = {role: _TABLE[role] for role in _MEANINGS}
"""Maps a meaning to its headings, in tiers. A lower tier counts only if the tiers above it are
empty: "When to Apply" gives no checks if a "Prevention" section has some."""

CONDITIONS = (PREVENTION, len(HEADINGS[PREVENTION]) - 1)
"""The tier of "When to Apply"."""

_TIERS = {
    heading: (role, tier)
    for role, tiers in HEADINGS.items()
    for tier, headings in enumerate(tiers)
    for heading in headings
}
_ASIDES = frozenset(heading for line in _TABLE["aside"] for heading in line)
LABELS = {label: role for role in _MEANINGS for line in _TABLE[f"label: {role}"] for label in line}
"""Maps a bold label to its meaning."""
_LABEL_TIER = 1
"""Headings of the first tier have precedence over labels."""
MAX_TOPIC_WORDS = 5
_LONGEST_TEMPLATE = 20_000
"""In characters. A longer body is never a template."""
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@frozen
class Section:
    """A part of a body under a heading or after a label with a known meaning."""

    role: str
    tier: int
    head: int
    """The line of the heading or of the label in the body, counted from 0."""
    line: int
    """The first line of the text."""
    text: str
    is_lead_in: bool = False
    """Whether the section follows a label."""


@frozen
class Sections:
    """The structure of a card's body."""

    title: str = ""
    """The first level-1 heading."""
    title_line: int = 0
    parts: tuple[Section, ...] = ()


@frozen
class Checklist:
    """The items to verify, and their origin."""

    items: tuple[Item, ...]
    """The items. Their lines count from 0 in the body."""
    origin: str
    """``prevention``, ``fix``, ``text``, ``sentence``, or ``""`` if there are no items."""
    conditional: bool = False
    """Whether the items state when the card applies instead of what to verify."""


def read_sections(body: str) -> Sections:
    r"""Return the title and the meaningful sections of a body whose lines end at ``\n``.

    Text beyond MAX_STRUCTURE characters is ignored.
    """
    body = body[:MAX_STRUCTURE]
    headings = find_headings(body, deepest=_DEEPEST_SECTION)
    lines = body.split("\n")
    parts: list[Section] = []
    for part in _cut_at_headings(headings, lines):
        if part.role:
            parts.append(part)
        parts += _read_lead_ins(part)
    titles = (heading for heading in headings if heading.level == 1 and heading.text)
    first_title = next(titles, None)
    if not parts:
        parts.append(_find_lead(headings, lines))
    if first_title is None:
        return Sections(parts=tuple(parts))
    return Sections(title=first_title.text, title_line=first_title.line, parts=tuple(parts))


_DEEPEST_SECTION = 3


def _find_lead(headings: Sequence[Heading], lines: Sequence[str]) -> Section:
    """Return the main text of a body in which no heading and no label is known.

    If there are no headings below the title, it is the whole body. Otherwise it is the text before
    the first of these headings, or the text under it if there is none before.
    """
    first = 0
    for heading in headings:
        if heading.level > 1 and "".join(lines[first : heading.line]).strip():
            return _make_part((LEAD, 0), first, lines[first : heading.line], first)
        first = heading.end
    role = PROSE if all(heading.level == 1 for heading in headings) else LEAD
    return _make_part((role, 0), first, lines[first:], first)


def _cut_at_headings(headings: Sequence[Heading], lines: Sequence[str]) -> Iterator[Section]:
    """Yield the parts of a body between known headings. Other parts have the role "".

    An unknown heading of level 3 is text of the section around it.
    """
    outer = role = ("", 0)
    """The role and the tier of the last heading of level 2, and of the last heading of any
    level."""
    head = start = 0
    for heading in headings:
        if heading.level == _DEEPEST_SECTION:
            own = _find_meaning(heading.text) or outer
            if own == outer and role == outer:  # the same section goes on
                continue
        else:
            known = _find_meaning(heading.text) if heading.level > 1 else None
            own = outer = known or ("", 0)
        yield _make_part(role, head, lines[start : heading.line], start)
        role, head, start = own, heading.end - 1, heading.end
    yield _make_part(role, head, lines[start:], start)


def _make_part(role: tuple[str, int], head: int, lines: Sequence[str], first: int) -> Section:
    return Section(role=role[0], tier=role[1], head=head, line=first, text="\n".join(lines))


def _find_meaning(heading: str) -> tuple[str, int] | None:
    """Return the role and the tier of a heading, or None if it is unknown."""
    for name in _names_of(heading):
        if name in _ASIDES:
            return "", 0
        if name in _TIERS:
            return _TIERS[name]
    return None


_SHORT_CODES = re.compile(r"^(?::[a-z0-9_+-]+:\s*)+")
_REST = re.compile(r"\s*[(\[{&:\u2013\u2014]|\s+--?\s")


@lru_cache(4_096)
def _names_of(text: str) -> tuple[str, ...]:
    """Return the names to look up for a heading or a label, the likeliest first.

    The names omit signs around the text, and the text after a bracket, an ampersand, a colon or a
    dash.
    """
    name = " ".join(text.casefold().replace("\u2019", "'").split())
    name = re.sub(r"\s*/\s*", "/", _SHORT_CODES.sub("", name))
    names = [name, _DECORATION.sub("", name)]
    names += [_DECORATION.sub("", _REST.split(long, maxsplit=1)[0]) for long in names]
    return tuple(dict.fromkeys(filter(None, names)))


def _read_lead_ins(part: Section) -> list[Section]:
    """Return the labelled sections in a part of a body."""
    lead_ins = find_lead_ins(part.text, LABELS, _names_of, _parse, in_section=bool(part.role))
    return [
        Section(
            role=lead_in.role,
            tier=_LABEL_TIER,
            head=part.line + lead_in.first,
            line=part.line + lead_in.first,
            text=lead_in.text,
            is_lead_in=True,
        )
        for lead_in in lead_ins
    ]


def read_checklist(sections: Sections) -> Checklist:
    """Return the items of Prevention, else of Fix, or else the first sentence of either.

    The checklist of a body without headings consists of its list items.
    """
    for role, origin in ((PREVENTION, "prevention"), (FIX, "fix"), (PROSE, "text")):
        for tier, own in groupby(_in_order(sections, role), key=lambda section: section.tier):
            if items := tuple(item for section in own for item in _items(section)):
                conditional = (role, tier) == CONDITIONS
                return Checklist(items=items, origin=origin, conditional=conditional)
    for section in (*_in_order(sections, PREVENTION), *_in_order(sections, FIX)):
        if sentence := first_sentence(first_paragraph(section.text)):
            blank = section.text[: -len(section.text.lstrip())]
            item = Item(text=sentence, line=section.line + blank.count("\n"))
            conditional = (section.role, section.tier) == CONDITIONS
            return Checklist(items=(item,), origin="sentence", conditional=conditional)
    return Checklist(items=(), origin="")


def read_why(sections: Sections) -> str:
    """Return the first sentence of Root Cause, Mistake / Risk or the lead, in this order, or ""."""
    for role in (CAUSE, MISTAKE, PROSE, LEAD):
        for section in _in_order(sections, role):
            paragraph = first_paragraph(section.text)
            sentence = first_sentence(paragraph)
            announces_items = sentence.endswith((":", "\uff1a")) and sentence == paragraph
            may_be_item = role in (PROSE, LEAD)
            if announces_items or may_be_item:
                items = [item.text for item in find_items(section.text)]
                if may_be_item and paragraph in items:
                    continue
                if announces_items and items:
                    sentence = f"{sentence} {items[0]}"
            if sentence:
                return sentence
    return ""


def read_topics(sections: Sections) -> tuple[str, ...]:
    """Return the short list items under Applies To. Prose there does not name topics."""
    return tuple(
        item.text
        for section in _in_order(sections, APPLIES)
        if not section.is_lead_in
        for item in _items(section)
        if len(item.text.split()) <= MAX_TOPIC_WORDS
    )


_CODE_SPAN = re.compile(r"`([^`\s]+)`")
_IN_PATHS = re.compile(r"[\w.*?{}\[\],()@+~/-]+")


def read_paths(sections: Sections) -> tuple[str, ...]:
    """Return the files and folders in backticks after an Applies-to label, as globs.

    Brackets are escaped, because a folder named ``[id]`` is not a character class.
    """
    texts = [part.text for part in sections.parts if part.role == APPLIES and part.is_lead_in]
    names = [name for text in texts for name in _CODE_SPAN.findall(text)]
    paths = [re.sub(r"([\[\]])", r"\\\1", name) for name in names if _is_path(name)]
    return tuple(dict.fromkeys(paths))


def _is_path(name: str) -> bool:
    """Return whether a name in backticks is a file, a folder or a glob."""
    if not _IN_PATHS.fullmatch(name) or name.startswith(("/", "@", "~", "-")):
        return False
    return "/" in name or name.startswith("*.") or name in find_paths(name)


def text_of(sections: Sections, roles: Iterable[str]) -> str:
    """Return the Markdown of all sections with these roles."""
    wanted = tuple(roles)
    return "\n\n".join(part.text.strip() for part in sections.parts if part.role in wanted)


def is_unfilled(body: str) -> bool:
    """Return whether a body is a template, which has only headings and at least one comment."""
    if "<!--" not in body or len(body) > _LONGEST_TEMPLATE:
        return False
    lines = _COMMENT.sub("", body).split("\n")
    return not any(line.strip() and not line.startswith("#") for line in lines)


def _items(section: Section) -> list[Item]:
    items = find_items(section.text)
    if section.is_lead_in:
        items = [*_find_first_item(section.text, has_items=bool(items)), *items]
    return [replace(item, line=section.line + item.line) for item in items]


def _find_first_item(text: str, *, has_items: bool) -> list[Item]:
    """Return the first paragraph of a text as an item, unless it introduces the other items."""
    tokens = _parse(text)
    if not tokens or tokens[0].type != "paragraph_open":
        return []
    paragraph = plain_text(tokens[1].content)
    first = tokens[0].map
    if not paragraph or first is None or (has_items and paragraph.endswith(":")):
        return []
    shown_by = _SHOWN_BY.search(tokens[1].content)
    return [Item(text=paragraph, line=first[0], shown_by=shown_by[1] if shown_by else "")]


def _in_order(sections: Sections, role: str) -> list[Section]:
    """Return the sections with a role. Sections of higher tiers come first."""
    with_role = (section for section in sections.parts if section.role == role)
    return sorted(with_role, key=lambda section: section.tier)


_DECORATION = re.compile(r"^[\W\d_]+|[\W_]+$")

# Compiled on first use, because most commands render no HTML.
_HTML_COMMENT = r"(?s)<!--.*?(?:-->|\Z)"
_WEB = r"(?i)(?:https?://|mailto:)[^\s]"
_SCHEME = r"(?i)[a-z][a-z0-9+.-]*:|//"
_HTML_CHECKBOX = r"\A\[([ xX])\](?=\s)"
_DEEPEST = 6


def render_html(
    body: str, *, title: str = "", top: int = 2, link: Callable[[str], str] = lambda _path: ""
) -> str:
    """Return a Markdown body as HTML without gaps, with headings from level ``top`` on.

    A first heading that repeats ``title`` is omitted. ``link`` returns the address of a relative
    link, or "" if it has none. Invisible characters are shown as their codes. A body that is too
    long to be parsed is returned as one block of code.
    """
    from markdown_it.token import Token as Made

    def code(text: str) -> Token:
        return Made(type="code_block", tag="code", nesting=0, content=text)

    text = visible(normal_newlines(body))
    parser = _html_parser()
    tokens = parser.parse(text) if len(text) <= MAX_STRUCTURE else [code(text)]
    shown: list[Token] = []
    is_title = title and tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    if is_title and plain_text(tokens[1].content) == plain_text(title):
        tokens = tokens[3:]
    opened = (int(token.tag[1]) for token in tokens if token.type == "heading_open")
    level = top - 1
    least = min(opened, default=1)
    for index, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            if token.nesting > 0:
                level = min(int(token.tag[1]) - least + top, level + 1, _DEEPEST)
            token.tag = f"h{level}"
        elif token.type in ("table_open", "table_close"):
            # A frame in which a wide table scrolls, also with the keyboard.
            attrs: dict[str, str | int | float] = {**_FRAME} if token.nesting > 0 else {}
            frame = Made("frame", "div", token.nesting, attrs=attrs, block=True)
            shown += (frame, token) if token.nesting > 0 else (token, frame)
            continue
        elif token.type == "html_block":
            visible_html = re.sub(_HTML_COMMENT, "", token.content).strip()
            if visible_html:
                shown.append(code(visible_html))
            continue
        elif token.children:
            _make_safe(token.children, link)
            if index > 1 and tokens[index - 2].type == "list_item_open":
                first = token.children[0]
                first.content = re.sub(
                    _HTML_CHECKBOX, lambda mark: "☐" if mark[1] == " " else "☑", first.content
                )
        shown.append(token)
    html: str = parser.renderer.render(shown, parser.options, {})
    return html


_FRAME = {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Table"}


@cache
def _html_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _make_safe(tokens: Sequence[Token], link: Callable[[str], str]) -> None:
    """Replace HTML and images among inline tokens with text, and remove unsafe links."""
    has_target = True
    for token in tokens:
        if token.type == "html_inline":
            token.type, token.content = "text", re.sub(_HTML_COMMENT, "", token.content)
        elif token.type == "image":
            token.type, token.content = "text", f"[image: {token.content}]"
        elif token.type == "link_open":
            target = str(token.attrGet("href") or "")
            if not re.match(_WEB, target):
                is_unsafe = not target or re.match(_SCHEME, target) or target[0] in "/#?\\"
                target = "" if is_unsafe else link(target)
            has_target = target != ""
            rel = {"rel": "noopener noreferrer nofollow"} if re.match(_WEB, target) else {}
            token.attrs = {"href": target, **rel} if has_target else {}
        if token.type in ("link_open", "link_close"):
            token.tag = "a" if has_target else "span"
