"""A card's body as HTML that may stand in a page: whatever it holds, it is text.

markdown-it escapes what is text. Raw HTML becomes text too, comments are dropped, images become
their description, links lead to web pages, mail or other cards and nowhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from lessons_kb.cards.outline import MAX_STRUCTURE, normal_newlines
from lessons_kb.cards.plain_text import plain_text
from lessons_kb.text.escape_controls import visible

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_WEB = re.compile(r"(?:https?://|mailto:)[^\s]", re.IGNORECASE)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_CHECKBOX = re.compile(r"\A\[([ xX])\](?=\s)")
_DEEPEST = 6


def render_html(
    body: str, *, title: str = "", top: int = 2, link: Callable[[str], str] = lambda _path: ""
) -> str:
    """Return a Markdown body as HTML, headings from level ``top`` on and without gaps.

    A first heading that repeats ``title`` is left out. ``link`` gives the address for a relative
    link, "" for none. Characters that cannot be seen are written out. A body that is too long to
    be parsed is given as it stands.
    """
    text = visible(normal_newlines(body))
    parser = _parser()
    if len(text) > MAX_STRUCTURE:
        tokens = parser.parse("")
        tokens.append(_as_code(text))
    else:
        tokens = list(_tame(parser.parse(text), title, top, link))
    html: str = parser.renderer.render(tokens, parser.options, {})
    return html


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def _as_code(text: str) -> Token:
    from markdown_it.token import Token

    return Token(type="code_block", tag="code", nesting=0, content=text)


def _tame(
    tokens: Sequence[Token], title: str, top: int, link: Callable[[str], str]
) -> Iterator[Token]:
    """Yield the tokens of a body without anything that the page does not want to be."""
    given = top - 1
    skipped = _repeats(tokens, title)
    opened = (t for n, t in enumerate(tokens) if t.type == "heading_open" and n not in skipped)
    least = min((int(one.tag[1]) for one in opened), default=1)
    for place, token in enumerate(tokens):
        if place in skipped:
            continue
        if token.type in ("heading_open", "heading_close"):
            if token.nesting > 0:
                given = min(int(token.tag[1]) - least + top, given + 1, _DEEPEST)
            token.tag = f"h{given}"
        elif token.type == "html_block":
            if not (left := _COMMENT.sub("", token.content).strip()):
                continue
            token = _as_code(left)  # noqa: PLW2901 it stands in its place
        elif token.type in ("table_open", "table_close"):
            yield from _framed(token)
            continue
        elif token.children:
            token.children = list(_tame_inline(token.children, link))
            if place > 1 and tokens[place - 2].type == "list_item_open":
                first = token.children[0]
                first.content = _CHECKBOX.sub(_as_box, first.content)
        yield token


def _as_box(mark: re.Match[str]) -> str:
    return "☐" if mark[1] == " " else "☑"


def _repeats(tokens: Sequence[Token], title: str) -> range:
    """Return the places of a first heading that says the title again."""
    is_first = bool(tokens) and tokens[0].type == "heading_open" and tokens[0].tag == "h1"
    said = plain_text(tokens[1].content) if is_first else ""
    return range(3) if is_first and title and said == plain_text(title) else range(0)


def _framed(token: Token) -> Iterator[Token]:
    """Yield a table's mark with that of a frame in which a wide one scrolls, also by keys."""
    from markdown_it.token import Token as Made

    opens = token.nesting > 0
    frame = Made(type="frame", tag="div", nesting=token.nesting, block=True)
    if opens:
        frame.attrs = {"class": "wide", "tabindex": "0", "role": "region", "aria-label": "Table"}
    yield from (frame, token) if opens else (token, frame)


def _tame_inline(tokens: Sequence[Token], link: Callable[[str], str]) -> Iterator[Token]:
    leads = True
    for token in tokens:
        if token.type == "html_inline":
            token.type, token.content = "text", _COMMENT.sub("", token.content)
        elif token.type == "image":
            token.type, token.content = "text", f"[image: {token.content}]"
        elif token.type == "link_open":
            target = _address(str(token.attrGet("href") or ""), link)
            leads = target != ""
            rel = {"rel": "noopener noreferrer nofollow"} if _WEB.match(target) else {}
            token.attrs = {"href": target, **rel} if leads else {}
            token.tag = "a" if leads else "span"
        elif token.type == "link_close":
            token.tag = "a" if leads else "span"
        yield token


def _address(target: str, link: Callable[[str], str]) -> str:
    if _WEB.match(target):
        return target
    return "" if not target or _SCHEME.match(target) or target[0] in "/#?\\" else link(target)
