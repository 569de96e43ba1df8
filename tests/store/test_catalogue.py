"""The catalogue: a cache that is either right or made anew."""

import contextlib
import pathlib
import sqlite3
from dataclasses import replace

import pytest

from lessons_kb.config import DEFAULTS
from lessons_kb.errors import StorageError
from lessons_kb.model import Card, Finding, as_data
from lessons_kb.store.catalogue import (
    Catalogue,
    CatalogueEntry,
    State,
    card_from_json,
    card_to_json,
)
from lessons_kb.text.patterns import compile_globs

STATE = State(
    versions="1", generation=1, manifest="lessons.toml\t-\n.lessonsignore\t-\na.md\t1.2.3.4",
    settings=as_data(DEFAULTS), ignored=(("^x$", True),),
)  # fmt: skip
CARD = Card(
    id="a.md", kind="lesson", title='Say "no" to 한글\nlines', topics=("a", "b"), project="shop",
    paths=("src/**",), occurrences=3, last_seen="2026-01-02", checklist=("One", "Two"),
)  # fmt: skip


def entry(path, card=CARD, **changes):
    return CatalogueEntry(path=path, digest="d", card=card, terms={}, **changes)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "catalogue.db")


@pytest.fixture
def catalogue(path):
    catalogue = Catalogue.open(path)
    yield catalogue
    catalogue.close()


def test_what_is_committed_is_there_for_the_next_process(path):
    finding = Finding(path="a.md", line=2, rule="r", message="m", fix="x")
    first = Catalogue.open(path)
    first.commit(
        STATE,
        entries=[
            (1, entry("a.md", findings=(finding,), globs=(("^src", True),), title_key="no")),
            (-2, entry("b.md", Card(id="b.md", kind="note", title="B"))),
            (3, entry("c.md", None)),
        ],
    )
    first.close()
    catalogue = Catalogue.open(path)
    assert catalogue.state() == replace(STATE, cards=1, notes=1)
    assert catalogue.cards([1, -2, 3, 99]) == {1: CARD, -2: Card(id="b.md", kind="note", title="B")}
    assert catalogue.numbers() == {"a.md": (1, "d"), "b.md": (-2, "d"), "c.md": (3, "d")}
    assert catalogue.guarding(["src/a.py", "docs/a.md"]) == {1: ("src/a.py",)}
    assert catalogue.guarding(["docs/a.md"]) == {}
    assert catalogue.findings() == [finding]
    assert catalogue.paths_titled("no") == ["a.md"]
    assert catalogue.paths_titled("") == []
    catalogue.close()


def another_format(path):
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE docs (x)")
        other.execute('CREATE TABLE "odd ""name" (x)')
        other.execute("PRAGMA user_version = 999")


@pytest.mark.parametrize(
    "place",
    [
        lambda path: path.write_bytes(b"not a database at all" * 100),
        lambda path: path.touch(),
        lambda path: path.mkdir(),
        another_format,
    ],
)
def test_what_is_no_catalogue_is_replaced(path, place):
    place(pathlib.Path(path))
    with contextlib.closing(Catalogue.open(path)) as catalogue:
        assert catalogue.state() is None
        assert catalogue.numbers() == {}


def test_a_place_that_cannot_be_opened_is_one_line(tmp_path):
    with pytest.raises(StorageError, match="cannot open the catalogue"):
        Catalogue.open(str(tmp_path / "nowhere" / "catalogue.db"))


def test_cards_survive_json_and_defaults_cost_nothing():
    assert card_from_json(CARD.id, card_to_json(CARD)) == CARD
    plain = Card(id="a", kind="lesson", title="t")
    assert card_to_json(plain) == '{"kind":"lesson","title":"t"}'
    empty = Card(id="", kind="", title="")
    assert card_from_json(empty.id, card_to_json(empty)) == empty


def test_guards_change_with_their_cards(catalogue):
    globs = {name: compile_globs([f"{name}/**", f"**/{name}.py"]) for name in ("web", "api")}
    entries = [(1, entry("a.md", globs=globs["web"])), (2, entry("b.md", globs=globs["api"]))]
    catalogue.commit(STATE, entries=entries)
    assert catalogue.guarding(["web/web.py", "api/x"]) == {1: ("web/web.py",), 2: ("api/x",)}
    catalogue.commit(STATE, entries=[(1, entry("a.md", globs=globs["api"]))], removed=[2])
    assert catalogue.guarding(["web/web.py", "api/x"]) == {1: ("api/x",)}
    catalogue.commit(STATE, afresh=True)
    assert catalogue.guarding(["api/x"]) == {}
    path = "caf\udce9/a\n'b.py"
    catalogue.commit(STATE, entries=[(1, entry("a.md", globs=compile_globs(["caf\udce9/"])))])
    assert catalogue.guarding([path, "cafe/x"]) == {1: (path,)}
