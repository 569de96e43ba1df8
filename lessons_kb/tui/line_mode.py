"""The rows line by line: numbered rows and plain commands, where there is no terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence

from lessons_kb.errors import DuplicateCard, InputError, LessonsError
from lessons_kb.process.programs import open_editor
from lessons_kb.text.sanitize import counted
from lessons_kb.tui.actions import CARDS, DRAFTS, Actions, Board, Outcome
from lessons_kb.tui.rows import CARD_COLUMNS, DRAFT_COLUMNS, Row, RowSource, cells

ROWS = 20
"""Rows that a list shows at once."""

HELP = """\
list [WORDS]      cards that hold all of the words, numbered
drafts [WORDS]    drafts that wait, numbered
more              the next rows
show N            the card or draft of that number
edit N            open it in $EDITOR
bump N            it happened again: seen + 1, last seen today
ignore N          stop injecting it
archive N         put it away for good
restore N         make it active again
delete N yes      move it to the trash
accept N          make a draft a card
merge N ID        count a draft on a card
discard N yes     remove a draft
undo              take the latest change back, then the one before …
help              this page
quit              leave (so does the end of the input)

N is a number of the last list, or the id of a row in it."""


def run_prompt(
    source: RowSource,
    lines: Iterable[str],
    write: Callable[[str], None],
    *,
    today: dt.date | None = None,
) -> int:
    """Obey commands, one a line, until ``quit`` or the end; return how many were refused."""
    today = today or dt.datetime.now(tz=dt.UTC).astimezone().date()
    return _Prompt(source, write, today).run(lines)


class _Prompt:
    """One session."""

    def __init__(self, source: RowSource, write: Callable[[str], None], today: dt.date) -> None:
        self._source = source
        self.write = write
        self._today = today
        self.actions = Actions(source)
        self._board = Board()
        self._listed: tuple[str, ...] = ()
        """Names of the rows of the last list, as they were numbered."""
        self._shown = 0
        """How many rows of the list were shown."""

    def run(self, lines: Iterable[str]) -> int:
        """Obey every line."""
        self._source.load_effects()
        self._board.set(CARDS, self._source.load())
        self._board.set(DRAFTS, self._source.load_drafts())
        counts = self._board.counts
        self.write(
            f"{counted(counts[CARDS], 'card')}, {counted(counts[DRAFTS], 'draft')}; "
            "`help` lists the commands"
        )
        self.list_rows(CARDS, "")
        refused = 0
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0] in ("quit", "q", "exit"):
                break
            try:
                self._obey(words[0].lower(), words[1:])
            except LessonsError as error:
                refused += 1
                self.write(f"not done: {error}")
        return refused

    def _obey(self, command: str, words: Sequence[str]) -> None:
        if command in _OF_LISTS:
            _OF_LISTS[command](self, words)
            return
        if command not in _OF_ROWS:
            raise InputError(f"unknown command {command!r}; see `help`")
        if not words:
            raise InputError(f"{command} needs a number, such as `{command} 1`")
        tab, work = _OF_ROWS[command]
        row = self._find(words[0])
        if tab and tab != self._board.tab:
            raise InputError(f"{command} works on {tab}; list them with `{_LISTS[tab]}`")
        outcome = work(self, row, words[1:])
        if outcome is not None:
            self.take(outcome)

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
        raise InputError(f"{found[0]} no longer exists; see `{_LISTS[self._board.tab]}`")

    def take(self, outcome: Outcome) -> None:
        """Change the lists as an action says and tell the user."""
        self._board.take(outcome)
        if outcome.drafts:
            self._board.set(DRAFTS, self._source.load_drafts())
        self.write(outcome.line)

    def list_rows(self, tab: str, words: str) -> None:
        """Show the first rows of a tab that hold all of some words."""
        self._board.tab = tab
        self._board.typed = words
        self._listed = tuple(row.name for row in self._board.shown())
        self._shown = 0
        self.more()

    def more(self) -> None:
        """Show the next rows."""
        names = self._listed
        part = names[self._shown : self._shown + ROWS]
        if not part:
            what = "no more" if names else f"no {self._board.tab}"
            wanted = f" that hold {self._board.typed!r}" if self._board.typed and not names else ""
            self.write(what + wanted)
            return
        there = {row.name: row for row in self._board.rows[self._board.tab]}
        columns = CARD_COLUMNS if self._board.tab == CARDS else DRAFT_COLUMNS
        for number, name in enumerate(part, self._shown + 1):
            if name not in there:
                continue
            texts = zip(columns, cells(there[name], self._today), strict=True)
            padded = (
                text.rjust(column.width) if column.right else text.ljust(column.width)
                for column, text in texts
            )
            self.write(f"{number:>5}  {'  '.join(padded)}".rstrip())
        self._shown += len(part)
        if self._shown < len(names):
            self.write(f"{self._shown} of {len(names)}; `more` shows more")

    def show(self, row: Row) -> None:
        """Show what a preview would."""
        if row.draft is not None:
            view = self._source.look_draft(row.draft)
        else:
            _now, view = self._source.look(row)
        lines = [view.title, *view.facts, *(f"! {line}" for line in view.warnings)]
        self.write("\n".join([*lines, "", view.text.strip("\n")]).rstrip())

    def edit(self, row: Row) -> Outcome:
        """Open a row in the editor."""
        return self.actions.edit(row, open_editor)

    def accept(self, row: Row, words: Sequence[str]) -> Outcome:
        """Make a draft a card."""
        try:
            rule = "new" if "new" in words else "fail"
            return self.actions.accept(row, on_duplicate=rule)
        except DuplicateCard as error:
            reason = str(error).partition(";")[0]
            raise InputError(
                f"{reason}; `merge {row.name} {error.existing}` counts it there, "
                f"`accept {row.name} new` writes a second card"
            ) from None

    def merge(self, row: Row, words: Sequence[str]) -> Outcome:
        """Count a draft on the card named first."""
        if words:
            return self.actions.merge(row, words[0])
        near = self._source.nearest(row.draft) if row.draft else ()
        hint = f", such as {near[0].id}" if near else ""
        raise InputError(f"merge needs the id of a card{hint}")

    def sure(self, row: Row, words: Sequence[str], act: Callable[[Row], Outcome]) -> Outcome:
        """Do what asks for a `yes`."""
        if list(words) != ["yes"]:
            raise InputError(f"add `yes` to confirm for {row.name}; undo brings it back")
        return act(row)


_LISTS = {CARDS: "list", DRAFTS: "drafts"}
_OF_LISTS: Mapping[str, Callable[[_Prompt, Sequence[str]], object]] = {
    "list": lambda p, words: p.list_rows(CARDS, " ".join(words)),
    "drafts": lambda p, words: p.list_rows(DRAFTS, " ".join(words)),
    "more": lambda p, _words: p.more(),
    "undo": lambda p, _words: p.take(p.actions.undo()),
    "help": lambda p, _words: p.write(HELP),
}
_OF_ROWS: Mapping[str, tuple[str, Callable[[_Prompt, Row, Sequence[str]], Outcome | None]]] = {
    "show": ("", lambda p, row, _words: p.show(row)),
    "edit": ("", lambda p, row, _words: p.edit(row)),
    "bump": (CARDS, lambda p, row, _words: p.actions.bump(row)),
    "ignore": (CARDS, lambda p, row, _words: p.actions.set_status(row, "ignored")),
    "archive": (CARDS, lambda p, row, _words: p.actions.set_status(row, "archived")),
    "restore": (CARDS, lambda p, row, _words: p.actions.set_status(row, "active")),
    "delete": (CARDS, lambda p, row, words: p.sure(row, words, p.actions.delete)),
    "accept": (DRAFTS, lambda p, row, words: p.accept(row, words)),
    "merge": (DRAFTS, lambda p, row, words: p.merge(row, words)),
    "discard": (DRAFTS, lambda p, row, words: p.sure(row, words, p.actions.discard)),
}
"""Command → the tab it belongs to, "" for both, and what it does."""
COMMANDS = (*_OF_LISTS, *_OF_ROWS, "quit")
"""All that there are."""
