"""The keys, once: what binds them, what the bottom line says of them and what ``?`` explains."""

from __future__ import annotations

from dataclasses import dataclass

from lessons_kb.tui.rows import Row

CARDS, DRAFTS = "cards", "drafts"
BOTH = (CARDS, DRAFTS)


@dataclass(frozen=True, kw_only=True, slots=True)
class Key:
    """A key and what it does while the list has the focus."""

    keys: str
    """As textual names them, separated by commas."""
    shown: str
    act: str
    label: str = ""
    """For the bottom line; "" = not there."""
    help: str
    tabs: tuple[str, ...] = BOTH
    statuses: tuple[str, ...] = ()
    """The bottom line names it for rows of these; () = for all."""


KEYS = (
    Key(keys="enter,e", shown="enter e", act="edit", label="e open", help="open in $EDITOR"),
    Key(
        keys="plus",
        shown="+",
        act="bump",
        label="+ bump",
        help="it happened again: seen + 1, last seen today",
        tabs=(CARDS,),
        statuses=("active", "ignored", "archived"),
    ),
    Key(
        keys="i",
        shown="i",
        act="ignore",
        label="i ignore",
        help="stop injecting it",
        tabs=(CARDS,),
        statuses=("active",),
    ),
    Key(
        keys="a",
        shown="a",
        act="archive",
        label="a archive",
        help="retire it",
        tabs=(CARDS,),
        statuses=("active", "ignored"),
    ),
    Key(
        keys="r",
        shown="r",
        act="restore",
        label="r restore",
        help="make an ignored or archived one active again",
        tabs=(CARDS,),
        statuses=("ignored", "archived"),
    ),
    Key(
        keys="d",
        shown="d",
        act="delete",
        label="d delete",
        help="move it to the trash (asks first)",
        tabs=(CARDS,),
        statuses=("active", "ignored", "archived"),
    ),
    Key(
        keys="a",
        shown="a",
        act="accept",
        label="a accept",
        help="turn the draft into a card, once it is complete",
        tabs=(DRAFTS,),
    ),
    Key(
        keys="m",
        shown="m",
        act="merge",
        label="m merge",
        help="count the draft as an occurrence of an existing card",
        tabs=(DRAFTS,),
    ),
    Key(
        keys="d",
        shown="d",
        act="discard",
        label="d discard",
        help="remove the draft (asks first)",
        tabs=(DRAFTS,),
    ),
    Key(
        keys="u",
        shown="u",
        act="undo",
        label="u undo",
        help="undo the latest change, then the one before …",
    ),
    Key(keys="slash", shown="/", act="filter", label="/ filter", help="type to filter the list"),
    Key(keys="escape", shown="esc", act="clear", help="clear the filter"),
    Key(keys="s", shown="s", act="order", help="change the order: last, seen, effect, title"),
    Key(keys="space", shown="space b", act="page_down", help="scroll the preview, and back"),
    Key(keys="b", shown="b", act="page_up", help=""),
    Key(keys="tab", shown="tab", act="switch", label="tab drafts", help="cards ↔ drafts"),
    Key(keys="ctrl+r,f5", shown="ctrl+r", act="reload", help="reload the folder"),
    Key(keys="question_mark", shown="?", act="help", label="? help", help="this page"),
    Key(keys="q", shown="q", act="quit", label="q quit", help="quit (ctrl+c anywhere)"),
)
"""In the order in which help names them."""

_DISPENSABLE = ("filter", "switch", "undo")
"""Left out first where a line is too narrow for all."""

FILTER_HINTS = "type to filter  ↓ enter to the list  esc clear  ? help  ctrl+c quit"
"""The bottom line while the filter has the focus."""


def hints(tab: str, row: Row | None, width: int) -> tuple[Key, ...]:
    """Return the keys that the bottom line has room for, for the row under the cursor."""
    shown = [
        key
        for key in KEYS
        if key.label
        and tab in key.tabs
        and (not key.statuses or (row is not None and row.status in key.statuses))
        and (row is not None or key.act not in ("edit", "accept", "merge", "discard"))
    ]
    for act in _DISPENSABLE:
        if sum(len(key.label) + 2 for key in shown) <= width:
            break
        shown = [key for key in shown if key.act != act]
    return tuple(shown)


def label(key: Key, tab: str) -> str:
    """Return what the bottom line says of a key."""
    return f"tab {CARDS}" if key.act == "switch" and tab == DRAFTS else key.label


def help_text() -> str:
    """Return the page that ``?`` shows: 76 columns at most, at most 22 lines."""
    lines = []
    for key in KEYS:
        only = f" ({key.tabs[0]})" if key.tabs != BOTH else ""
        if key.help:
            lines.append(f"{key.shown:>7}  {key.help}{only}")
    return "\n".join([*_OPENING, "", *lines])


_OPENING = (
    "Type to filter: every word must be there, in title, id, topics, symptoms,",
    "severity, status or effect (try: broken, archived, harms). ↓ or enter goes",
    "to the list, where single keys act on the card under the cursor:",
)
