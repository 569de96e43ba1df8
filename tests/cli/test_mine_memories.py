"""`lessons mine --memories`: what agents remember by themselves, as drafts beside the cards."""

import json
import os
import pathlib
import re

import pytest

from tests.importers.test_memories import CODEX, FEEDBACK, INDEX, USER
from tests.kit import make_brain, write
from tests.sessions import card

COVERED = """\
---
name: Use Decimal for money
description: Money is never a float
type: feedback
---

Use Decimal for amounts of money.

**Why:** Sums lost cents.

**How to apply:** In invoices.
"""
CARD = card("Use Decimal for money", "Use Decimal", cause="Sums lost cents.")


@pytest.fixture
def home(_own_home):
    return _own_home


@pytest.fixture
def shop(tmp_path, home, monkeypatch):
    """A project with a card, and memories of both agents about it."""
    folder = tmp_path / "shop"
    folder.mkdir()
    make_brain(str(folder))
    write(folder, "lessons/money.md", CARD)
    project = re.sub(r"[^A-Za-z0-9]", "-", os.path.realpath(folder))
    memories = f".claude/projects/{project}/memory"
    texts = {"feedback_deploy": FEEDBACK, "money": COVERED, "user_ada": USER, "MEMORY": INDEX}
    for name, text in texts.items():
        write(home, f"{memories}/{name}.md", text)
    write(home, ".codex/memories/MEMORY.md", CODEX.format(cwd=folder))
    monkeypatch.chdir(folder)
    return folder


def snapshot(home):
    """Return path → content and times of all that agents keep."""
    files = [path for name in (".claude", ".codex") for path in (home / name).rglob("*")]
    return {
        path: (path.read_bytes() if path.is_file() else b"", path.stat().st_mtime_ns)
        for path in files
    }


def rows(lessons, *words):
    return json.loads(lessons("mine", "--memories", "--json", *words).out)


def test_each_memory_is_new_covered_by_a_card_or_no_lesson(shop, lessons):
    found = {row["title"]: row for row in rows(lessons)["memories"]}
    assert found["Use Decimal for money"]["card"] == "lessons/money.md"
    assert not found["Use Decimal for money"]["new"]
    assert found["Ada likes tea"]["reason"] == "a memory about the user, not a lesson"
    new = [title for title, row in found.items() if row["new"]]
    assert len(new) >= 3
    assert "the total was off by one cent" in new, "a memory of Codex"
    said = lessons("mine", "--memories")
    assert "1 covered by cards" in said.err
    assert "lessons/money.md" in said.out


def test_drafts_keep_why_and_how_to_apply_and_come_once(shop, lessons):
    written = rows(lessons, "--draft", "9")["drafts"]
    assert len(written) == len([row for row in rows(lessons)["memories"] if row["new"]])
    shown = json.loads(lessons("review", "--list", "--json").out)
    texts = "\n".join(pathlib.Path(draft["path"]).read_text() for draft in shown)
    assert "The web server enqueues jobs that an old worker cannot read." in texts
    assert "restart the worker first" in texts
    assert "Use Decimal for money" not in texts
    again = lessons("mine", "--memories", "--draft", "9")
    assert "each has a draft already" in again.err
    assert rows(lessons, "--draft", "9")["drafts"] == []


def test_an_accepted_memory_is_covered(shop, lessons):
    (draft,) = rows(lessons, "--draft", "1")["drafts"]
    (shown,) = json.loads(lessons("review", "--list", "--json").out)
    path = pathlib.Path(shown["path"])
    header, _, body = path.read_text().partition("\n---\n")
    header += "\nsymptoms: [a test fails at random, a seed is missing]"
    body += "\n## Root Cause\n\nThe generator had no seed, so each run drew other numbers.\n"
    path.write_text(f"{header}\n---\n{body}")
    said = lessons("review", "--accept", draft["id"])
    assert said.code == 0, said.err
    covered = [row["title"] for row in rows(lessons)["memories"] if row["card"]]
    assert draft["title"] in covered


def test_nothing_is_written_where_agents_keep_memories(shop, lessons, home):
    before = snapshot(home)
    lessons("mine", "--memories")
    lessons("mine", "--memories", "--draft", "9")
    assert snapshot(home) == before


def test_memories_of_another_project_are_not_read(shop, lessons, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    make_brain(str(other))
    monkeypatch.chdir(other)
    titles = [row["title"] for row in rows(lessons)["memories"] if row["new"]]
    assert titles == []


@pytest.mark.parametrize("words", [["--all-projects"], ["--since", "2026-01-01"]])
def test_options_that_read_the_past_do_not_apply(words, shop, lessons):
    assert lessons("init", "--user").code == 0
    assert lessons("mine", "--memories", *words).code == 2
