"""Entries of logs and files of lessons: their dates, titles, topics and files."""

import subprocess

import pytest

from lessons_kb import Brain
from lessons_kb.importers.entry_dates import split_date
from tests.kit import write


@pytest.mark.parametrize(("text", "date", "rest"), [
    ("2026-03-16: Flush first", "2026-03-16", "Flush first"),
    ("2026-03-16 — Flush first", "2026-03-16", "Flush first"),
    ("2026-03-16 - Flush first", "2026-03-16", "Flush first"),
    ("[2026-03-16] Flush first", "2026-03-16", "Flush first"),
    ("(2026/03/16) Flush first", "2026-03-16", "Flush first"),
    ("**2026-03-16**: Flush first", "2026-03-16", "Flush first"),
    ("**2026-03-16 — Flush first.** It reads.", "2026-03-16", "**Flush first.** It reads."),
    ("**[2026-03-16] Flush first**", "2026-03-16", "**Flush first**"),
    ("2026-03-16T10:11:12Z Flush first", "2026-03-16", "Flush first"),
    ("2026-03-16 (Flush first)", "2026-03-16", "Flush first"),
    ("2026-03-16 (Flush) first", "2026-03-16", "(Flush) first"),
    ("2026-03-16", "2026-03-16", ""),
    ("Flush first (2026-03-16)", "2026-03-16", "Flush first"),
    ("Flush first — 2026-03-16", "2026-03-16", "Flush first"),
    ("Flush first (2026-03-16 verbatim)", "2026-03-16", "Flush first (verbatim)"),
    ("2026-03-16-flush.md is wrong", None, "2026-03-16-flush.md is wrong"),
    ("Since 2026-03-16 it flushes", None, "Since 2026-03-16 it flushes"),
    ("2026-13-16: no date", None, "2026-13-16: no date"),
])  # fmt: skip
def test_a_date_at_an_end_is_taken_off(text, date, rest):
    assert split_date(text) == (date, rest)


LOG = """\
# Lessons

What we learned the hard way.

## 2026-09-27 — The sync reads old rows

- Flush before a command syncs.

## 2026-09-28

- Rotate the token twice a day.
- 2026-03-16: Never sell `sandals` in winter.
"""


def test_a_dated_entry_keeps_its_date_apart_from_its_words(plan):
    found = plan("memory", "lessons.md", LOG)
    assert [(one.title, one.created) for one in found.lessons] == [
        ("The sync reads old rows", "2026-09-27"),
        ("Rotate the token twice a day", "2026-09-28"),
        ("Never sell `sandals` in winter", "2026-03-16"),
    ]
    items = [dict(one.sections)["Prevention Checklist"] for one in found.lessons]
    assert items[1:] == [
        "- Rotate the token twice a day.",
        "- Never sell `sandals` in winter.",
    ]
    assert all("2026" not in topic for one in found.lessons for topic in one.topics)


def test_the_introduction_of_a_file_is_no_lesson_and_its_title_no_topic(plan):
    found = plan("memory", "lessons.md", LOG)
    assert [(one.title, one.reason) for one in found.passed_over] == [
        ("What we learned the hard way", "introduces the file")
    ]
    assert [one.topics for one in found.lessons] == [(), (), ()]


def test_a_second_title_does_not_make_the_introduction_a_lesson(plan):
    found = plan("memory", "lessons.md", f"{LOG}\n# Older lessons\n\n- Sync twice.\n")
    assert [one.title for one in found.passed_over] == ["What we learned the hard way"]


def test_paragraphs_alone_are_lessons_of_a_file_of_lessons(plan):
    found = plan("memory", "lessons.md", "# Lessons\n\nFlush first.\n\nSync last.\n")
    text = "\n".join(dict(one.sections)["Prevention Checklist"] for one in found.lessons)
    assert ("Flush first." in text, "Sync last." in text) == (True, True)


LONG = "Wrapper selectors must not hover: the editor fits every child, and whole sections then move"


@pytest.mark.parametrize("heading", [LONG, "Testing notes for the sync", "Rules of the cart page"])
def test_a_heading_of_several_words_is_the_title_as_it_stands(plan, heading):
    text = f"# Lessons\n\n## Editor\n\n### {heading}\n\n- Hover the inner widgets.\n- Test it.\n"
    (found,) = plan("memory", "lessons.md", text).lessons
    assert found.title == heading


@pytest.mark.parametrize(
    "name",
    ["LESSONS_LEARNED.md", "lessons-learned.md", "tasks/lessons.md", ".ai/lessons.md",
     "docs/our-gotchas.md"],
)  # fmt: skip
def test_a_file_of_lessons_is_recognised_by_its_name(plan, name):
    found = plan("memory", name, "# Notes\n\n- The cache is warm.\n- The queue is cold.\n")
    assert [one.title for one in found.lessons] == ["The cache is warm", "The queue is cold"]


def test_paths_are_those_that_the_project_has(plan, tmp_path):
    for name in ("src/sync/rows.py", "src/web/cart.tsx", "config/app.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "src", "config"], cwd=tmp_path, check=True)
    text = (
        "# Lessons\n\n## The sync reads old rows\n\n- `src/sync/rows.py`, `./config/app.yaml:12`, "
        "`rows.py`, `src/web/`, `src/**/*.tsx`, `GET /api/rows`, `/api/rows`, `order.created`, "
        "`lib/gone.py`, `@scope/package`, `SELECT * FROM rows`.\n"
    )
    (found,) = plan("memory", "lessons.md", text).lessons
    assert found.paths == (
        "src/sync/rows.py", "config/app.yaml", "rows.py", "src/web/", "src/**/*.tsx"
    )  # fmt: skip
    assert "`lib/gone.py`" in dict(found.sections)["Prevention Checklist"]


def test_declared_globs_that_match_nothing_stay_words_of_the_card(plan):
    text = "---\napplyTo: 'db/**/*.sql'\n---\n\n# Migrations\n\n- Set a lock timeout\n"
    (found,) = plan("memory", "db.instructions.md", text).lessons
    assert found.paths == ()
    assert "db/**/*.sql" in (found.body or dict(found.sections)["Situation"])


def test_cards_that_the_first_release_made_are_not_made_again(tmp_path, monkeypatch):
    """Three origins as release 0.1.0 wrote them for this file."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "lessons.toml", "")
    text = (
        "# Lessons\n\n## 2026-09-27 — The sync reads old rows\n\n- Flush before a command syncs.\n"
        "- Test it with two rows.\n\n## Tokens\n\n- Rotate the token twice a day.\n"
        "- 2026-03-16: Never sell sandals in winter.\n\n## The cart loses its coupon\n\n"
        "**Problem**: The coupon is gone.\n\n**Rule**: Save it first.\n"
    )
    for name, digest in (("sync", "bb036e21"), ("tokens", "d63fe434"), ("cart", "2277efe1")):
        origin = f"rules:lessons.md#{digest}"
        write(tmp_path, f"lessons/{name}.md", f"---\nimported-from: {origin}\n---\n\n# {name}\n")
    write(tmp_path, "tasks/lessons.md", text)
    with Brain.open(tmp_path) as brain:
        steps = brain.exchange.plan("memory", "tasks/lessons.md").steps
    assert {(step.card, step.reason) for step in steps} == {
        ("lessons/cart.md", "already here"),
        ("lessons/sync.md", "already here"),
        ("lessons/tokens.md", "already here"),
    }
