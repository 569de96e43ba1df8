"""Tables: an id is whole, whatever the width; other texts give way."""

import json
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from lessons_kb.cli.output import lay_out
from tests.kit import write

COLUMNS = ("id", "stage", "count", "title", "last task", "age")
SHORT = ("lessons/a.md", "", "1", "A title of some length that goes on and on for long", "", "2d")
LONG = (
    f"lessons/{'long-' * 20}.md",
    "",
    "12",
    "텔레그램 원격 실행은 허용 목록이 있어야 한다",
    "",
    "1w",
)


def test_in_full_every_column_is_as_wide_as_its_longest_text():
    rows = [("lessons/a.md", "", "1", "A title"), ("b.md", "", "22", "텔레그램")]
    assert lay_out(COLUMNS[:4], rows, right=["count"]) == [
        "ID            STAGE  COUNT  TITLE",
        "lessons/a.md             1  A title",
        "b.md                    22  텔레그램",
    ]
    # A terminal is spared columns that say nothing, and a title is cut before an id is.
    assert lay_out(COLUMNS[:4], [SHORT[:4]], width=80)[0].split() == ["ID", "COUNT", "TITLE"]
    assert lay_out(COLUMNS, [SHORT], right=["count"], width=50) == [
        "ID            COUNT  TITLE                     AGE",
        "lessons/a.md      1  A title of some length…   2d",
    ]


def test_an_id_that_is_too_long_has_a_line_of_its_own():
    lines = lay_out(COLUMNS, [LONG, SHORT], right=["count"], width=60)
    assert lines[1] == LONG[0]
    assert lines[2].split()[0] == "12"
    assert lines[3].startswith("lessons/a.md")
    assert all(cell_len(line) <= 60 for line in lines if line != LONG[0])
    (_head, fits) = lay_out(("id", "title"), [("x" * 30, "y" * 40)], width=48)
    assert fits == f"{'x' * 30}  {'y' * 15}…"


@given(
    st.lists(st.tuples(*[st.text("ab가-/ ", max_size=60)] * 6), min_size=1, max_size=4),
    st.integers(40, 120),
)
def test_every_id_is_whole_and_nothing_else_is_too_wide(rows, width):
    lines = lay_out(COLUMNS, rows, width=width)
    ids = [row[0] for row in rows if row[0].strip()]
    assert all(any(one.rstrip() in line for line in lines) for one in ids)
    assert all(cell_len(line) <= width for line in lines if line not in ids)


LONG_TITLE = "Never run the migrations of the order service when two workers start at once"


def cells_of(lines):
    assert all(cell_len(line) <= 80 for line in lines)
    return [re.split(r"\s{2,}", line.strip()) for line in lines[3:] if line]


@pytest.mark.slow
def test_a_terminal_lists_a_card_a_line_by_its_title_and_a_short_id(lessons, brain, at_terminal):
    long = lessons("create", LONG_TITLE, "--no-edit").out.strip()
    other = "Never run the migrations of customers by hand"
    near = lessons("create", other, "--no-edit", "--on-duplicate", "new").out.strip()
    same = brain / "playbooks" / "telegram-allowlist.md"
    same.write_text("---\ntitle: Set up the allowlist\n---\n\n## Fix\n\n- Ask for the ids\n")
    shown = at_terminal("list", "--all")
    assert shown[1].split() == ["TITLE", "ID", "COUNT", "AGE"]
    assert shown[3].startswith("[template] Never run the mig")
    rows = cells_of(shown)
    assert len(rows) == 23
    found = {json.loads(lessons("show", row[1], "--json").out)["id"] for row in rows}
    everything = json.loads(lessons("list", "--all", "--json").out)
    assert found == {card["id"] for card in everything} >= {long, near}


def test_a_terminal_shows_a_hit_a_line_by_its_title_and_a_short_id(lessons, brain, at_terminal):
    long = lessons("create", LONG_TITLE, "--no-edit").out.strip()
    note = "docs/order-service-migrations-and-how-its-two-workers-start-at-night.md"
    write(brain, note, "# Migrations\n\nTwo workers of the order service start at night.\n")
    query = "migrations of the order service with two workers"
    shown = at_terminal("search", query)
    assert shown[1].split() == ["TITLE", "ID", "KIND"]
    named = {json.loads(lessons("show", row[1], "--json").out)["id"] for row in cells_of(shown)}
    assert named == {hit["id"] for hit in json.loads(lessons("search", query, "--json").out)}
    assert named >= {long, note}


def test_a_terminal_shows_what_is_imported_a_line_each(brain, at_terminal):
    rule = "Never call commit inside the loop, because each call syncs the disk of the service"
    write(brain, "gotchas.md", f"# Agents\n\n## Gotchas\n\n- {rule}\n")
    shown = at_terminal("import", "gotchas.md")
    assert shown[1].split() == ["ACTION", "TITLE", "WHERE"]
    assert cells_of(shown)[0][:1] == ["create"]
    assert shown[3].startswith("create  Never call commit inside the loop")


def test_a_wide_terminal_shows_more_of_each_card_and_a_pipe_whole_ids(lessons, brain, at_terminal):
    first, second = lessons("list").out.splitlines()[:2]
    assert first.split()[:2] == ["ID", "STAGE"]
    assert second.startswith("playbooks/rename-column-without-downtime.md\t")
    lessons("bump", "telegram-allowlist", "--task", "Add a restart command")
    head, first = at_terminal("list", columns=160)[1:4:2]
    assert "LAST TASK" in head
    assert "Add a restart command" in first


PROMPT = "Add a Telegram command that runs a shell script"
TABLES = (
    ("list",),
    ("list", "--all", "--status", "all"),
    ("search", "telegram allowlist"),
    ("stats",),
    ("stats", "telegram-allowlist"),
    ("doctor",),
    ("review", "--list"),
    ("config",),
    ("events",),
    ("restore",),
    ("archive", "--stale", "--dry-run"),
    ("eval", "labelled.jsonl"),
    ("why",),
    ("why", PROMPT),
    ("lint",),
    ("diet",),
    ("mine",),
    ("index",),
    ("serve", "token", "list"),
    ("--help",),
    (),
)


@pytest.fixture
def used_brain(brain, lessons):
    """A brain with drafts, deleted cards, events, injections and a rules file."""
    write(brain, "AGENTS.md", f"# Agents\n\n- When you edit `bot/**/*.py`, {LONG_TITLE.lower()}.\n")
    write(brain, "labelled.jsonl", json.dumps({"query": PROMPT, "expected": []}) + "\n")
    write(brain, "lessons/bad.md", "---\ntype: lesson\nseverity: [\n---\n")
    for number in range(3):
        lessons("preflight", PROMPT, "--session", f"0b9d7a52-{number}")
    lessons("run", "--session", "0b9d7a52-1", "--", sys.executable, "-c", "raise SystemExit(1)")
    lessons("add", f"{LONG_TITLE} in the night", "--draft")
    lessons("create", LONG_TITLE, "--no-edit")
    lessons("delete", "never-run", "--yes")
    return brain


@pytest.mark.slow
@pytest.mark.parametrize("words", TABLES, ids=" ".join)
def test_no_line_is_wider_than_the_terminal(used_brain, at_terminal, words):
    for columns in (60, 80):
        lines = at_terminal(*words, columns=columns)
        wide = [line for line in lines if cell_len(line) > columns]
        # What is longer than a line and has no blank stays whole, so that it can be copied.
        assert [line for line in wide if len(line.split()) > 1] == [], columns


@pytest.mark.parametrize("words", [("list",), ("search", "telegram"), ("config",), ("stats",)])
def test_a_pipe_gets_columns_between_tabs(lessons, brain, words):
    lines = [line for line in lessons(*words).out.splitlines() if "\t" in line]
    head, *rows = [line.split("\t") for line in lines]
    assert all(name.isupper() for name in head)
    assert rows
    assert all(len(row) == len(head) for row in rows)


def test_where_no_lesson_applies_a_terminal_gets_a_sentence_and_a_pipe_nothing(
    lessons, brain, at_terminal
):
    assert at_terminal("preflight", "Paint the fence") == [
        "No lesson applies to this. `lessons why 'Paint the fence'` explains."
    ]
    assert lessons("preflight", "Paint the fence").out == ""
    assert lessons("why", "Paint the fence").out
    assert "SCORE" not in lessons("search", "telegram").out
    assert "= bm25 " in lessons("search", "telegram", "--explain").out
