"""Lessons among the notes of AGENTS.md, CLAUDE.md, tasks/lessons.md."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.importers.agent_notes import read_memory

AGENTS = """\
# Guide

## Setup

- Run make

## Gotchas (learned the hard way)

- **`pnpm --filter` silently no-ops** on this machine. Build apps directly.
- Never edit an applied migration.
- **2026-03-22 — Size the canvas by its container:** The zoom factor lies.
- Terraform:
  - Pin the zone
  - Never rerun failed jobs

| Gotcha | Fix |
|---|---|
| PostgreSQL zone drift on the second run | Pin the zone after the first apply. |

### Database

- Use the session factory in jobs

## Style

- Tabs
"""

LESSONS = """\
# Error patterns

Read this first.

## Format

- What happened: …

## Lesson 4

**Mistake:** The bootstrap opened its own session. In tests it is bound to production.

**Root cause:** Code outside the factory cannot be overridden.

**Rule:** Accept a session factory.

## L-021 — Wrapper selectors must not hover

**What failed:** The whole section moved.

**Rule to prevent recurrence:**
- Hover goes on inner widgets
- Ask before a section moves

## Active Rules

1. **Generate duplicated content.** A script makes the copy.
"""


def titles(text, name="AGENTS.md"):
    return [lesson.title for lesson in read_memory(text, name=name).lessons]


def test_items_rows_and_nested_items_below_such_headings_are_lessons():
    assert titles(AGENTS) == [
        "`pnpm --filter` silently no-ops",
        "Never edit an applied migration",
        "Size the canvas by its container",
        "Pin the zone",
        "Never rerun failed jobs",
        "PostgreSQL zone drift on the second run",
        "Use the session factory in jobs",
    ]


def test_what_is_said_beyond_the_title_has_its_section():
    found = {lesson.title: lesson for lesson in read_memory(AGENTS, name="a/AGENTS.md").lessons}
    canvas = found["Size the canvas by its container"]
    assert (canvas.created, canvas.last_seen) == ("2026-03-22", "2026-03-22")
    assert dict(canvas.sections)["Mistake / Risk"] == "The zoom factor lies."
    row = found["PostgreSQL zone drift on the second run"]
    assert dict(row.sections)["Fix"] == "Pin the zone after the first apply."
    assert found["Use the session factory in jobs"].topics == ("database",)
    assert found["Pin the zone"].topics == ("terraform",)
    assert found["Pin the zone"].where == "a/AGENTS.md:13"


def test_a_file_of_lessons_needs_no_heading():
    assert titles(LESSONS, "tasks/lessons.md") == [
        "The bootstrap opened its own session",
        "Wrapper selectors must not hover",
        "Generate duplicated content",
    ]


def test_labels_lead_to_sections():
    first, second, _ = read_memory(LESSONS, name="lessons.md").lessons
    said = dict(first.sections)
    assert said["Root Cause"] == "Code outside the factory cannot be overridden."
    assert said["Prevention Checklist"] == "- [ ] Accept a session factory."
    assert dict(second.sections)["Prevention Checklist"] == (
        "- [ ] Hover goes on inner widgets\n- [ ] Ask before a section moves"
    )


@pytest.mark.parametrize(
    "heading", ["Lessons Learned", "🔥 Common mistakes", "주의사항", "배운 점", "教訓", "Pitfalls:"]
)
def test_headings_are_known_by_their_words(heading):
    assert titles(f"## {heading}\n\n- One thing to know\n") == ["One thing to know"]


def test_without_such_a_heading_it_says_so():
    found = read_memory("# Guide\n\n- Run make\n", name="CLAUDE.md")
    assert not found.lessons
    assert found.notes[0].startswith("CLAUDE.md: no list or section under a heading")


def test_a_placeholder_is_passed_over():
    found = read_memory("## Lessons\n\n- (none yet)\n- Real one\n", name="AGENTS.md")
    assert [lesson.title for lesson in found.lessons] == ["Real one"]
    assert found.passed_over[0].where == "AGENTS.md:3"


def test_the_origin_is_what_is_said_wherever_it_stands():
    one = read_memory("## Lessons\n- It broke\n", name="x/AGENTS.md").lessons[0]
    other = read_memory("# T\n\n## Lessons\n\n* It  broke\n", name="AGENTS.md").lessons[0]
    assert one.origin == other.origin


@given(st.text(alphabet=st.sampled_from("#-*|`: \n\tab1.)[]"), max_size=200))
def test_any_text_can_be_read(text):
    for lesson in read_memory(f"# Lessons\n{text}", name="AGENTS.md").lessons:
        assert lesson.title.strip()


def test_a_dated_section_with_labels_is_one_lesson():
    text = (
        "# Lessons\n\n## 2026-07-16 · Strokes are dropped\n\n"
        "- **What went wrong:** Fast flicks gave nothing.\n"
        "- **Correct behaviour:** Reject strokes by size.\n"
        "- **How to recognise:** It works by hand but not in tests.\n"
    )
    (lesson,) = read_memory(text, name="lessons.md").lessons
    assert (lesson.title, lesson.last_seen) == ("Strokes are dropped", "2026-07-16")
    sections = dict(lesson.sections)
    assert sections["Mistake / Risk"] == "Fast flicks gave nothing."
    assert sections["Fix"] == "Reject strokes by size."
    assert "works by hand" in sections["Situation"]


def test_what_stands_below_a_label_is_part_of_it():
    text = (
        "# Lessons\n\n## 2026-03-02\n\n- Pattern: Some links fail with plain `curl`.\n"
        "- Rule: Switch to the browser first.\n- Reusable flow:\n  - `browse open`\n  - `browse text`\n"
    )
    (lesson,) = read_memory(text, name="lessons.md").lessons
    assert lesson.title == "Some links fail with plain `curl`"
    sections = dict(lesson.sections)
    assert sections["Prevention Checklist"] == "- [ ] Switch to the browser first."
    assert "`browse text`" in sections["Fix"]


def test_what_says_not_by_itself_is_not_denied_again():
    items = (
        "NEVER commit secrets to the repository", "**Never** push with force to the main branch",
        "Don’t rename columns of the customer table",
        "DO NOT rename tables of the customer database", "No force pushes on release branches",
        "“Quick” fixes without a test in the billing code", "하드코딩된 비밀번호를 저장소에 커밋",
    )  # fmt: skip
    text = "## Common mistakes\n\n### Don't\n\n" + "".join(f"- {item}\n" for item in items)
    titles = [lesson.title for lesson in read_memory(text, name="AGENTS.md").lessons]
    assert titles[:5] == [item.replace("*", "") for item in items[:5]]
    assert titles[5].startswith("Do not “Quick” fixes")
    assert titles[6] == f"하지 말 것: {items[6]}"


@pytest.mark.parametrize("opening", ["❌ **Don't**:", "Never:", "### Don’ts", "**Do not**"])
def test_what_is_forbidden_is_not_told_as_advice(opening):
    text = (
        f"## Common mistakes\n\n{opening}\n\n- Commit secrets to git\n- Using raw SQL\n"
        "- Never push to main\n\n✅ **Do**:\n\n- Encrypt sensitive data\n"
    )
    titles = [lesson.title for lesson in read_memory(text, name="AGENTS.md").lessons]
    assert titles == [
        "Do not commit secrets to git",
        "Avoid using raw SQL",
        "Never push to main",
        "Encrypt sensitive data",
    ]


EXPLAINED = """\
## Gotchas

- Never run migrations on startup
  - Two workers raced for the lock and both hung.
  - We lost an hour on 3 March.

  The second worker waits for ever, and nobody is told.

  - Take the advisory lock first
- Retry needs an idempotency key

  The gateway charged twice, for each retry made an order.

  - Because nothing ties two requests together
- Show the plan first:
  ```sh
  terraform plan
  ```
- Store UTC:
  - Because cron runs in local time
  - 서버 시간이 달라서
    결제가 두 번 됐다
  - The conversion must stand at the edge
"""


def test_what_explains_an_item_stays_with_it_and_is_nothing_to_check():
    found = [dict(one.sections) for one in read_memory(EXPLAINED, name="AGENTS.md").lessons]
    assert titles(EXPLAINED) == [
        "Never run migrations on startup",
        "Retry needs an idempotency key",
        "Show the plan first",
        "Store UTC",
    ]
    migrations, retry, plan, utc = found
    assert migrations["Mistake / Risk"] == (
        "- Two workers raced for the lock and both hung.\n\n- We lost an hour on 3 March.\n\n"
        "The second worker waits for ever, and nobody is told."
    )
    assert migrations["Prevention Checklist"] == "- [ ] Take the advisory lock first"
    assert retry["Mistake / Risk"].startswith("The gateway charged twice")
    assert "- Because nothing ties" in retry["Mistake / Risk"]
    assert "Prevention Checklist" not in retry
    assert "terraform plan" in plan["Mistake / Risk"]
    assert utc["Prevention Checklist"] == "- [ ] The conversion must stand at the edge"
    assert "두 번 됐다" in utc["Mistake / Risk"]


def test_a_rule_of_cursors_is_a_lesson_for_the_files_of_its_globs():
    text = (
        "---\ndescription: Migrations\nglobs: migrations/**/*.sql, db/*.py\nalwaysApply: false\n"
        "---\n\n# Migrations\n\n- Never edit an applied migration\n- Set a lock timeout first\n"
    )
    lessons = read_memory(text, name=".cursor/rules/migrations.mdc").lessons
    assert [(one.title, one.where) for one in lessons] == [
        ("Never edit an applied migration", ".cursor/rules/migrations.mdc:9"),
        ("Set a lock timeout first", ".cursor/rules/migrations.mdc:10"),
    ]
    assert {one.paths for one in lessons} == {("migrations/**/*.sql", "db/*.py")}


def test_a_header_is_not_taken_for_notes():
    text = '---\napplyTo: "**"\nlessons: none\n---\n\n## Gotchas\n\n- The cache lies\n'
    (lesson,) = read_memory(text, name="x.instructions.md").lessons
    assert (lesson.title, lesson.where, lesson.paths) == (
        "The cache lies",
        "x.instructions.md:8",
        (),
    )


@pytest.mark.parametrize("kind", ["type: feedback", "metadata:\n  type: feedback"])
def test_feedback_in_claude_codes_memory_is_one_lesson(kind):
    text = (
        f"---\nname: real-db\ndescription: Integration tests must hit a real database\n{kind}\n---\n"
        "\nNot mocks.\n\n**Why:** a mocked test passed and the migration failed.\n\n"
        "**How to apply:** use the fixture `db`.\n"
    )
    (lesson,) = read_memory(text, name="memory/real_db.md").lessons
    assert lesson.title == "Integration tests must hit a real database"
    sections = dict(lesson.sections)
    assert sections["Root Cause"] == "a mocked test passed and the migration failed."
    assert sections["Prevention Checklist"] == "- [ ] use the fixture `db`."


def test_other_memories_of_claude_code_are_no_lessons():
    text = "---\nname: me\ndescription: The user likes tabs\ntype: user\n---\n\n- Tabs\n"
    found = read_memory(text, name="memory/lessons.md")
    assert found.lessons == ()
    assert found.passed_over[0].reason == "a memory about the user, not a lesson"
