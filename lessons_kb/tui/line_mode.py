"""The rows line by line: numbered rows and plain commands, where there is no terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Sequence

from lessons_kb.errors import DuplicateCard, InputError, LessonsError
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
    Outcome,
    Row,
    RowSource,
    cells,
)

Write = Callable[[str], None]
ROWS = 20
"""Rows that a list shows at once."""
_MORE_WORDS = {"merge": " N ID", "delete": " N yes", "discard": " N yes", "undo": ""}
_COMMANDS = (
    ("list [WORDS]", "cards that hold all of the words, numbered"),
    ("drafts [WORDS]", "drafts that wait, numbered"),
    ("more", "the next rows"),
    ("show N", "the card or draft of that number"),
    *((f"{key.act}{_MORE_WORDS.get(key.act, ' N')}", key.help) for key in KEYS[:10]),
    ("help", "this page"),
    ("quit", "leave (so does the end of the input)"),
)
HELP = "\n".join(f"{words:<16}  {what}" for words, what in _COMMANDS)
HELP += "\n\nN is a number of the last list, or the id of a row in it."
_LISTS = {"list": CARDS, "drafts": DRAFTS}
_OF_ROWS = {key.act: key.tab or BOTH for key in KEYS if key.act in ROW_ACTS} | {"show": BOTH}
"""Command → the tab, or tabs, it works on."""


def run_prompt(source: RowSource, lines: Iterable[str], write: Write, tab: str) -> int:
    """Obey commands, one a line, until ``quit`` or the end; return how many were refused."""
    prompt = _Prompt(source, write, tab)
    refused = 0
    for words in map(str.split, lines):
        if words[:1] in (["quit"], ["q"], ["exit"]):
            break
        try:
            if words:
                prompt.obey(words[0].lower(), words[1:])
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
        """Names of the rows of the last list, as they were numbered."""
        self._shown = 0
        """How many rows of the list were shown."""
        source.load_effects()
        self._board.set(CARDS, source.load())
        self._board.set(DRAFTS, source.load_drafts())
        cards, drafts = (len(self._board.rows[tab]) for tab in BOTH)
        write(f"{counted(cards, 'card')}, {counted(drafts, 'draft')}; `help` lists the commands")
        self._list(tab, "")

    def obey(self, command: str, words: Sequence[str]) -> None:
        """Do what a line says; LessonsError where it cannot be done."""
        if command in _LISTS:
            self._list(_LISTS[command], " ".join(words))
        elif command == "more":
            self._more()
        elif command == "undo":
            self._take(self._source.undo())
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
                other = next(one for one in BOTH if one != tab)
                raise InputError(f"{command} works on {other}; list them with `{_list_of(other)}`")
            if command == "show":  # what a preview would
                _now, view = self._source.look(row)
                lines = [view.title, *view.facts, *(f"! {line}" for line in view.warnings)]
                lines += [f"! missing: {view.missing}"] if view.missing else []
                lines += ["", view.text.strip("\n"), "", view.evidence.strip("\n")]
                self._write("\n".join(lines).rstrip())
            else:
                self._take(self._do(command, row, words[1:]))

    def _do(self, command: str, row: Row, words: Sequence[str]) -> Outcome:
        match command:
            case "edit":
                return self._source.edit(row, open_editor)
            case "accept":
                try:
                    rule = "new" if "new" in words else "fail"
                    return self._source.accept(row, on_duplicate=rule)
                except DuplicateCard as error:
                    raise InputError(
                        f"{str(error).partition(';')[0]}; `merge {row.name} {error.existing}` "
                        f"counts it there, `accept {row.name} new` writes a second card"
                    ) from None
            case "merge" if words:
                return self._source.merge(row, words[0])
            case "merge":
                near = self._source.nearest(row.draft) if row.draft else ()
                hint = f", such as {near[0].id}" if near else ""
                raise InputError(f"merge needs the id of a card{hint}")
            case "delete" | "discard" if list(words) != ["yes"]:
                raise InputError(f"add `yes` to confirm for {row.name}; undo brings it back")
        return self._source.do(command, row)

    def _find(self, word: str) -> Row:
        names = self._listed
        if word.isdecimal():
            if not 1 <= int(word) <= len(names):
                raise InputError(f"no number {word}; the last list has {len(names)}")
            found = [names[int(word) - 1]]
        else:
            found = [n for n in names if word == n] or [n for n in names if word in n]
        if len(found) != 1:
            raise InputError(f"{word!r} matches {len(found) or 'no'} rows of the last list")
        for row in self._board.rows[self._board.tab]:
            if row.name == found[0]:
                return row
        raise InputError(f"{found[0]} no longer exists; see `{_list_of(self._board.tab)}`")

    def _take(self, outcome: Outcome) -> None:
        """Change the lists as an action says and tell the user."""
        self._board.take(outcome)
        if outcome.drafts:
            self._board.set(DRAFTS, self._source.load_drafts())
        self._write(outcome.line)

    def _list(self, tab: str, words: str) -> None:
        """Show the first rows of a tab that hold all of some words."""
        self._board.tab = tab
        self._board.filters[tab] = words
        self._listed = tuple(row.name for row in self._board.shown())
        self._shown = 0
        self._more()

    def _more(self) -> None:
        """Show the next rows."""
        names, tab = self._listed, self._board.tab
        part = names[self._shown : self._shown + ROWS]
        if not part:
            words = self._board.filters[tab]
            nothing = f"no {tab}" + (f" that hold {words!r}" if words else "")
            self._write("no more" if names else nothing)
            return
        there = {row.name: row for row in self._board.rows[tab]}
        columns = CARD_COLUMNS if tab == CARDS else DRAFT_COLUMNS
        for number, name in enumerate(part, self._shown + 1):
            if name in there:
                texts = zip(columns, cells(there[name], self._today), strict=True)
                padded = (
                    text.rjust(column.width) if column.right else text.ljust(column.width)
                    for column, text in texts
                )
                self._write(f"{number:>5}  {'  '.join(padded)}".rstrip())
        self._shown += len(part)
        if self._shown < len(names):
            self._write(f"{self._shown} of {len(names)}; `more` shows more")


def _list_of(tab: str) -> str:
    """Return the command that lists a tab."""
    return next(command for command, listed in _LISTS.items() if listed == tab)
