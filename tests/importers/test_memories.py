"""What agents and neighbours keep comes in whole: a count per format, in and out."""

import json
import subprocess

import pytest

from lessons_kb.collection.exchange import find_files, guess_source

FEEDBACK = """\
---
name: Deploy order
description: Deploy the worker before the web server
metadata:
  type: feedback
---

Deploy the worker before the web server, see `deploy/worker.yaml` and `MEMORY.md`.

**Why:** The web server enqueues jobs that an old worker cannot read.

**How to apply:** When a job changes, restart the worker first.
"""
PROJECT = """\
---
name: Flaky import
description: The import of large files stops
type: project
---

The import stops with `MemoryError: cannot allocate` above 2 GB.
"""
PLAN = "---\nname: Plan\ndescription: We ship in May\ntype: project\n---\n\nWe ship in May.\n"
USER = "---\nname: Ada\ndescription: Ada likes tea\ntype: user\n---\n\nShe likes tea.\n"
INDEX = (
    "# Memory\n\n- [Deploy order](feedback_deploy.md) — worker first\n"
    "- [Flaky import](project_import.md) — large files\n- When a test is flaky, seed its generator\n"
)


@pytest.fixture
def memory(tmp_path):
    folder = tmp_path / "memory"
    folder.mkdir()
    texts = {
        "feedback_deploy.md": FEEDBACK,
        "project_import.md": PROJECT,
        "project_plan.md": PLAN,
        "user_ada.md": USER,
        "MEMORY.md": INDEX,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return folder


def test_each_memory_of_claude_code_is_a_card_or_named(memory, plan):
    lessons, passed = [], []
    for path in find_files(str(memory)):
        found = plan(guess_source(path), path)
        lessons += found.lessons
        passed += found.passed_over
    assert sorted(one.title for one in lessons) == [
        "Deploy order", "Flaky import", "When a test is flaky, seed its generator"
    ]  # fmt: skip
    assert sorted((one.title, one.reason) for one in passed) == [
        ("Ada likes tea", "a memory about the user, not a lesson"),
        ("Deploy order", "kept in feedback_deploy.md"),
        ("Flaky import", "kept in project_import.md"),
        ("We ship in May", "a memory about the project, not a lesson"),
    ]


def test_a_memory_keeps_why_and_how_and_guards_no_memory_file(memory, plan, tmp_path):
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/worker.yaml").touch()
    (found,) = plan("memory", str(memory / "feedback_deploy.md")).lessons
    assert (found.title, found.symptoms) == (
        "Deploy order", ("Deploy the worker before the web server",)
    )  # fmt: skip
    assert found.paths == ("deploy/worker.yaml",)
    sections = dict(found.sections)
    assert sections["Root Cause"] == (
        "The web server enqueues jobs that an old worker cannot read."
    )
    assert sections["Prevention Checklist"] == (
        "- Deploy the worker before the web server, see `deploy/worker.yaml` and `MEMORY.md`.\n\n"
        "- When a job changes, restart the worker first."
    )


def test_a_memory_with_headings_keeps_its_text(plan):
    text = "---\ntype: feedback\ndescription: Two steps\n---\n\n## First\n\nDo a.\n\n## Then\n\nDo b.\n"
    (found,) = plan("memory", "memory/two.md", text).lessons
    assert found.body.strip() == "## First\n\nDo a.\n\n## Then\n\nDo b."


CODEX = """\
# Task Group: checkout rework

scope: Use when the checkout changes.
applies_to: cwd={cwd}; reuse_rule=safe for this checkout

## Task 1: Move the coupon field, success

### rollout_summary_files

- rollout_summaries/2026-01-02-coupon.md (cwd={cwd}, updated_at=2026-01-02)

### keywords

- coupon, checkout, discount

## User preferences

- when a total is shown, the user asked for two decimals -> round at the edge [Task 1]

## Reusable knowledge

- The coupon rules are shared by the API and the page [Task 1]
- Totals are stored in cents
  and never as floats [Task 1]

## Failures and how to do differently

- the total was off by one cent -> floats were subtracted -> use decimals end to end [Task 1]
- Symptom: the patch failed. Cause: the lines had moved. Fix: read them again first [Task 1]
- The review was slow [Task 1]
"""


def test_codex_memories_are_read_without_their_metadata(plan, tmp_path):
    found = plan("memory", "MEMORY.md", CODEX.format(cwd=tmp_path))
    assert [one.title for one in found.lessons] == [
        "checkout rework: user preferences",
        "checkout rework: reusable knowledge",
        "the total was off by one cent",
        "the patch failed",
        "The review was slow",
    ]
    preferences, knowledge, cents, patch, review = (dict(one.sections) for one in found.lessons)
    assert preferences["Prevention Checklist"].count("- ") == 1
    assert knowledge["Prevention Checklist"] == (
        "- The coupon rules are shared by the API and the page\n"
        "- Totals are stored in cents\n  and never as floats"
    )
    assert (cents["Mistake / Risk"], cents["Root Cause"], cents["Prevention Checklist"]) == (
        "the total was off by one cent", "floats were subtracted", "- use decimals end to end"
    )  # fmt: skip
    assert (patch["Mistake / Risk"], patch["Root Cause"], patch["Prevention Checklist"]) == (
        "the patch failed.", "the lines had moved.", "- read them again first"
    )  # fmt: skip
    assert review["Prevention Checklist"] == "- The review was slow"
    for sections in (preferences, knowledge, cents, patch, review):
        assert "Use when the checkout changes." in sections["Situation"]
        assert "coupon, checkout, discount" in sections["Situation"]
    text = json.dumps([one.sections for one in found.lessons])
    assert "rollout_summaries" not in text
    assert "Task 1" not in text


CLUSTERED = """\
---
rollout_summary_files:
  - one.md (success, cwd=/a, updated_at=2026-02-12)
description: building the parser
keywords: parser, lexer, EOF
---

- Regenerate the tables after the grammar changes.
- An unexpected EOF means an unclosed comment.
"""


def test_the_older_form_of_codex_memories_is_read(plan):
    found = plan("memory", "MEMORY.md", f"{CLUSTERED}\n{CLUSTERED.replace('parser', 'printer')}")
    assert [one.title for one in found.lessons] == ["building the parser", "building the printer"]
    sections = dict(found.lessons[0].sections)
    assert sections["Prevention Checklist"].count("- ") == 2
    assert "parser, lexer, EOF" in sections["Situation"]


SOLUTION = """\
---
title: Rows vanish after a retry
date: 2026-03-16
module: sync
severity: high
symptoms:
  - rows vanish
  - the retry is green
root_cause: missing_transaction
tags: [sync, database]
---

# Rows vanish

## Problem

Rows vanish.

## Root Cause

No transaction spans the two writes.

### Detail

Both writes commit alone.

## Prevention

- Open a transaction around both writes
"""


def test_a_document_of_solutions_is_one_card_word_for_word(plan, tmp_path):
    (tmp_path / "docs").mkdir()
    found = plan("document", "docs/solutions/rows.md", SOLUTION)
    (lesson,) = found.lessons
    assert (lesson.title, lesson.text) == ("Rows vanish after a retry", SOLUTION)
    assert found.passed_over == ()


def test_the_card_of_a_solution_has_its_keys(tmp_path, plan, lessons, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    (tmp_path / "docs/solutions").mkdir(parents=True)
    (tmp_path / "docs/solutions/rows.md").write_text(SOLUTION)
    assert lessons("init").code == 0
    assert lessons("import", str(tmp_path / "docs/solutions"), "--yes").code == 0
    (card,) = json.loads(lessons("list", "--json").out)
    assert (card["severity"], card["created"], card["symptoms"]) == (
        "high", "2026-03-16", ["rows vanish", "the retry is green"]
    )  # fmt: skip
    assert {"sync", "database"} <= {*card["topics"]}
    (hit, *_) = json.loads(lessons("search", "missing_transaction", "--json").out)
    assert hit["id"] == card["id"]
    again = lessons("import", str(tmp_path / "docs/solutions"), "--yes")
    assert "0 created" in again.err


GPTME = "---\nmatch:\n  keywords:\n    - tests hang\n---\n\n# Set a timeout\n\n## Rule\n\nAlways.\n"


def test_a_folder_of_gptme_lessons_is_read_with_its_folders(plan, tmp_path):
    for name in ("lessons/tools/timeout.md", "lessons/workflow/branch.md", "lessons/README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        text = GPTME.replace("Set a timeout", name) if "README" not in name else "# About\n"
        (tmp_path / name).write_text(text)
    files = find_files("lessons")
    assert [guess_source(path) for path in files] == ["document", "document"]
    assert [len(plan(guess_source(path), path).lessons) for path in files] == [1, 1]


@pytest.mark.parametrize(("name", "header"), [
    (".cursor/rules/db.mdc", "description: Work on migrations\nglobs: db/**/*.sql\nalwaysApply: false"),
    (".github/instructions/db.instructions.md", "description: Work on migrations\napplyTo: 'db/**/*.sql'"),
])  # fmt: skip
def test_a_rule_for_some_files_is_one_card(plan, tmp_path, name, header):
    (tmp_path / "db/new").mkdir(parents=True)
    (tmp_path / "db/new/1.sql").touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / name).parent.mkdir(parents=True)
    body = "# Migrations\n\n## Locks\n\n- Set a lock timeout\n\n## Order\n\n- Add before you drop\n"
    found = plan("memory", name, f"---\n{header}\n---\n\n{body}")
    (lesson,) = found.lessons
    assert (lesson.title, lesson.paths, lesson.symptoms) == (
        "Migrations", ("db/**/*.sql",), ("Work on migrations",)
    )  # fmt: skip
    assert lesson.body.strip() == body.strip()


COPILOT = [
    {
        "subject": "testing",
        "fact": "Tests of the queue need a running broker.",
        "citations": "tests/queue.py:12, docs/gone.md:3",
        "reason": "They hang without it.",
        "category": "general",
    },
    {"subject": "naming", "fact": "Use snake_case for columns.", "citations": [], "reason": ""},
]


@pytest.mark.parametrize("wrap", [
    json.dumps, lambda all_: json.dumps({"memories": all_}), lambda all_: "\n".join(map(json.dumps, all_)),
])  # fmt: skip
def test_exported_memories_of_copilot_are_cards(plan, tmp_path, wrap):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/queue.py").touch()
    (tmp_path / "memories.json").write_text(wrap(COPILOT))
    assert guess_source("memories.json") == "copilot"
    first, second = plan("copilot", "memories.json").lessons
    assert (first.title, first.topics, first.paths) == (
        "Tests of the queue need a running broker", ("testing",), ("tests/queue.py",)
    )  # fmt: skip
    sections = dict(first.sections)
    assert sections["Prevention Checklist"] == "- Tests of the queue need a running broker."
    assert sections["Root Cause"] == "They hang without it."
    assert "docs/gone.md:3" in sections["Situation"]
    assert second.title == "Use snake_case for columns"
