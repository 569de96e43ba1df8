"""Line mode, with numbered rows and plain commands, for standard input without a terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence

from lessons_kb.errors import Contradiction, DuplicateCard, InputError, LessonsError
from lessons_kb.process.programs import open_editor
from lessons_kb.text.sanitize import counted
from lessons_kb.tui.rows import (
    BOTH,
    CARD_COLUMNS,
    CARDS,
    DRAFT_COLUMNS,
    DRAFTS,
    KEYS,
    ROW_ACTS,
    Board,
    Column,
    Outcome,
    Row,
    RowSource,
    cells,
)

Write = Callable[[str], None]
ROWS = 20
"""The number of rows that a list shows at once."""
_MORE_WORDS = {
    "accept": " N [quote]",
    "merge": " N ID",
    "delete": " N yes",
    "discard": " N yes",
    "undo": "",
}
_COMMANDS = (
    ("list [WORDS]", "cards that hold all of the words, numbered"),
    ("drafts [WORDS]", "drafts that wait, numbered"),
    ("more", "the next rows"),
    ("show N", "the card or draft of that number"),
    *((f"{key.act}{_MORE_WORDS.get(key.act, ' N')}", key.help) for key in KEYS[:11]),
    ("help", "this page"),
    ("quit", "leave (so does the end of the input)"),
)
HELP = "\n".join(f"{command:<16}  {meaning}" for command, meaning in _COMMANDS)
HELP += "\n\nN is a number of the last list, or the id of a row in it."
_LISTS = {"list": CARDS, "drafts": DRAFTS}
_OF_ROWS = {key.act: key.tab or BOTH for key in KEYS if key.act in ROW_ACTS} | {"show": BOTH}
"""A mapping from each command to the tab or tabs whose rows it accepts."""


def run_prompt(source: RowSource, lines: Iterable[str], write: Write, tab: str) -> int:
    """Run commands, one per line, until ``quit`` or the end of the input.

    Return the number of refused commands.
    """
    prompt = _Prompt(source, write, tab)
    refused = 0
    for words in map(str.split, lines):
        if words[:1] in (["quit"], ["q"], ["exit"]):
            break
        try:
            if words:
                prompt.run(words[0].lower(), words[1:])
        except LessonsError as error:
            refused += 1
            write(f"not done: {error}")
    return refused


class _Prompt:
    """One session."""

    def __init__(self, source: RowSource, write: Write, tab: str) -> None:
        self._source = source
        self._write = write
        self._today = dt.datetime.now(tz=dt.UTC).astimezone().date()
        self._board = Board()
        self._listed: tuple[str, ...] = ()
        """The names of the rows of the last list, in the order of their numbers."""
        self._shown = 0
        """The number of rows of the list that were shown."""
        source.load_effects()
        self._board.set(CARDS, source.load())
        self._board.set(DRAFTS, source.load_drafts())
        cards, drafts = (len(self._board.rows[tab]) for tab in BOTH)
        write(f"{counted(cards, 'card')}, {counted(drafts, 'draft')}; `help` lists the commands")
        self._list(tab, "")

    def run(self, command: str, words: Sequence[str]) -> None:
        """Run one command. Raises LessonsError if the command fails."""
        if command in _LISTS:
            self._list(_LISTS[command], " ".join(words))
        elif command == "more":
            self._more()
        elif command == "undo":
            self._apply(self._source.undo())
        elif command == "help":
            self._write(HELP)
        elif command not in _OF_ROWS:
            raise InputError(f"unknown command {command!r}; see `help`")
        elif not words:
            raise InputError(f"{command} needs a number, such as `{command} 1`")
        else:
            row = self._find(words[0])
            tab = self._board.tab
            if tab not in _OF_ROWS[command]:
                other = DRAFTS if tab == CARDS else CARDS
                raise InputError(f"{command} works on {other}; list them with `{_list_of(other)}`")
            if command == "show":
                self._show(row)
            else:
                self._apply(self._do(command, row, words[1:]))

    def _show(self, row: Row) -> None:
        """Write the preview of a row."""
        _now, view = self._source.look(row)
        lines = [view.title, *view.facts, *(f"! {line}" for line in view.warnings)]
        if view.missing:
            lines.append(f"! missing: {view.missing}")
        lines += ["", view.text.strip("\n"), "", view.evidence.strip("\n")]
        self._write("\n".join(lines).rstrip())

    def _do(self, command: str, row: Row, words: Sequence[str]) -> Outcome:
        """Run a command for a row. Raises LessonsError."""
        match command:
            case "edit":
                return self._source.edit(row, open_editor)
            case "accept":
                try:
                    rules = [word for word in words if word in ("new", "contradicts")]
                    rule = rules[0] if rules else "fail"
                    keep = "quote" in words
                    return self._source.accept(row, on_duplicate=rule, keep_quotes=keep)
                except Contradiction as error:
                    raise InputError(
                        f"{str(error).partition(';')[0]}; `accept {row.name} contradicts` writes "
                        "it, and an agent gets only one of the two"
                    ) from None
                except DuplicateCard as error:
                    raise InputError(
                        f"{str(error).partition(';')[0]}; `merge {row.name} {error.existing}` "
                        f"counts it there, `accept {row.name} new` writes a second card"
                    ) from None
            case "merge" if words:
                return self._source.merge(row, words[0])
            case "merge":
                nearest = self._source.nearest(row.draft) if row.draft else ()
                hint = f", such as {nearest[0].id}" if nearest else ""
                raise InputError(f"merge needs the id of a card{hint}")
            case "delete" | "discard" if list(words) != ["yes"]:
                raise InputError(f"add `yes` to confirm for {row.name}; undo brings it back")
        return self._source.do(command, row)

    def _find(self, word: str) -> Row:
        """Return the row with a number, a name, or a part of a name. Raises InputError."""
        name = self._find_name(word)
        for row in self._board.rows[self._board.tab]:
            if row.name == name:
                return row
        raise InputError(f"{name} no longer exists; see `{_list_of(self._board.tab)}`")

    def _find_name(self, word: str) -> str:
        """Return the name in the last list that a number or a part of the name identifies."""
        names = self._listed
        if word.isdecimal():
            if not 1 <= int(word) <= len(names):
                raise InputError(f"no number {word}; the last list has {len(names)}")
            return names[int(word) - 1]
        if word in names:
            return word
        matches = [name for name in names if word in name]
        if len(matches) != 1:
            raise InputError(f"{word!r} matches {len(matches) or 'no'} rows of the last list")
        return matches[0]

    def _apply(self, outcome: Outcome) -> None:
        """Change the lists after an action, and show the outcome to the user."""
        self._board.take(outcome)
        if outcome.drafts:
            self._board.set(DRAFTS, self._source.load_drafts())
        self._write(outcome.line)

    def _list(self, tab: str, words: str) -> None:
        """Show the first rows of a tab that contain all of some words."""
        self._board.tab = tab
        self._board.set_filter(words)
        self._listed = tuple(row.name for row in self._board.shown())
        self._shown = 0
        self._more()

    def _more(self) -> None:
        """Show the next rows."""
        names, tab = self._listed, self._board.tab
        page = names[self._shown : self._shown + ROWS]
        if not page:
            words = self._board.filters[tab]
            empty = f"no {tab} with {words!r}" if words else f"no {tab}"
            self._write("no more" if names else empty)
            return
        rows = {row.name: row for row in self._board.rows[tab]}
        columns = CARD_COLUMNS if tab == CARDS else DRAFT_COLUMNS
        for number, name in enumerate(page, self._shown + 1):
            if name in rows:
                texts = zip(columns, cells(rows[name], self._today), strict=True)
                line = "  ".join(_pad(text, column) for column, text in texts)
                self._write(f"{number:>5}  {line}".rstrip())
        self._shown += len(page)
        if self._shown < len(names):
            self._write(f"{self._shown} of {len(names)}; `more` shows more")


def _pad(text: str, column: Column) -> str:
    """Return a text with the width and the alignment of its column."""
    return text.rjust(column.width) if column.right else text.ljust(column.width)


def _list_of(tab: str) -> str:
    """Return the command that lists a tab."""
    return next(command for command, listed in _LISTS.items() if listed == tab)
