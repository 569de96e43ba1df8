"""What each key does, by the names in ``keys``: the questions it asks and whom it calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported
from textual.widgets import Input

from lessons_kb.errors import DuplicateCard, InputError, LessonsError
from lessons_kb.manage.dialogs import Help, Pick
from lessons_kb.manage.keys import CARDS
from lessons_kb.process.editor import open_editor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lessons_kb.manage.app import ManageApp
    from lessons_kb.manage.rows import Row

_YES, _MERGE, _NEW = "y", "m", "n"


def _edit(app: ManageApp, row: Row) -> None:
    def editor(path: str) -> None:
        if not (os.environ.get("VISUAL") or os.environ.get("EDITOR")):
            raise InputError(f"no editor is set; set $EDITOR, or edit {path} and press ctrl+r")
        try:
            with app.suspend():
                open_editor(path)
        except SuspendNotSupported:
            open_editor(path)  # no terminal to give away: the editor has a window of its own

    async def edit() -> None:
        await app.later(lambda: None)  # what was asked for before comes first
        try:
            app.take(app.actions.edit(row, editor))
        except LessonsError as error:
            app.say(str(error), bad=True)

    app.begin(edit, group="acts")


def _delete(app: ManageApp, row: Row) -> None:
    def then(answer: str) -> None:
        if answer == _YES:
            app.perform(lambda: app.actions.delete(row))

    question = f"Move {row.path} to the trash? u brings it back.\n\n{row.title}"
    app.ask(question, [(_YES, "delete"), ("n", "keep")], then)


def _discard(app: ManageApp, row: Row) -> None:
    def then(answer: str) -> None:
        if answer == _YES:
            app.perform(lambda: app.actions.discard(row))

    question = f"Discard this draft? u brings it back.\n\n{row.title}"
    app.ask(question, [(_YES, "discard"), ("n", "keep")], then)


def _accept(app: ManageApp, row: Row) -> None:
    def duplicate(error: DuplicateCard) -> None:
        def then(answer: str) -> None:
            if answer == _MERGE:
                app.perform(lambda: app.actions.merge(row, error.existing))
            elif answer == _NEW:
                app.perform(lambda: app.actions.accept(row, on_duplicate="new"))

        reason = str(error).partition(";")[0]
        answers = [(_MERGE, "count it there"), (_NEW, "write a second card"), ("w", "wait")]
        app.ask(f"The lesson may be there already: {reason}.", answers, then)

    app.perform(lambda: app.actions.accept(row), on_duplicate=duplicate)


def _merge(app: ManageApp, row: Row) -> None:
    def then(name: str | None) -> None:
        if name:
            app.perform(lambda: app.actions.merge(row, name))

    async def choose() -> None:
        draft = row.draft
        near = await app.later(lambda: app.desk.nearest(draft)) if draft else ()
        places = {card.id: n for n, card in enumerate(near)}
        cards = [one for one in app.board.rows[CARDS] if one.card is not None]
        cards.sort(key=lambda one: places.get(one.path, len(places)))
        app.push_screen(Pick("Count it on which card?", cards, app.day), then)

    app.begin(choose, group="acts")


def _clear(app: ManageApp) -> None:
    app.board.typed = ""
    _write_filter(app)


def _write_filter(app: ManageApp) -> None:
    """Show what this tab's filter is, and what it lets through."""
    app.query_one("#filter", Input).value = app.board.typed
    app.show()


def _order(app: ManageApp) -> None:
    app.board.next_order()
    app.show(top=True)


def _switch(app: ManageApp) -> None:
    app.board.switch()
    app.say("")
    _write_filter(app)


def _scroll(app: ManageApp, by: int) -> None:
    preview = app.query_one("#preview")
    preview.scroll_relative(y=by * max(preview.size.height - 2, 1), animate=False)


def _of_row(act: Callable[[ManageApp, Row], None]) -> Callable[[ManageApp], object]:
    def on_current(app: ManageApp) -> None:
        row = app.listing.current
        if row is not None:
            act(app, row)

    return on_current


def _status(status: str) -> Callable[[ManageApp], object]:
    def change(app: ManageApp, row: Row) -> None:
        app.perform(lambda: app.actions.set_status(row, status))

    return _of_row(change)


ACTS: Mapping[str, Callable[[ManageApp], object]] = {
    "edit": _of_row(_edit),
    "bump": _of_row(lambda app, row: app.perform(lambda: app.actions.bump(row))),
    "ignore": _status("ignored"),
    "archive": _status("archived"),
    "restore": _status("active"),
    "delete": _of_row(_delete),
    "accept": _of_row(_accept),
    "merge": _of_row(_merge),
    "discard": _of_row(_discard),
    "undo": lambda app: app.perform(app.actions.undo),
    "filter": lambda app: app.focus_on(app.query_one("#filter")),
    "clear": _clear,
    "order": _order,
    "page_down": lambda app: _scroll(app, 1),
    "page_up": lambda app: _scroll(app, -1),
    "switch": _switch,
    "reload": lambda app: app.load(),
    "help": lambda app: app.push_screen(Help()),
    "quit": lambda app: app.exit(),
}
