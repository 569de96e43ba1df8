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
NOT_DENIED_AGAIN = (
    "NEVER commit secrets to the repository", "**Never** push with force to the main branch",
    "Don’t rename columns of the customer table",
    "DO NOT rename tables of the customer database", "No force pushes on release branches",
    "“Quick” fixes without a test in the billing code", "하드코딩된 비밀번호를 저장소에 커밋",
)  # fmt: skip
FORBIDDEN = [
    "Do not commit secrets to git", "Avoid using raw SQL", "Never push to main",
    "Encrypt sensitive data",
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "titles"), [
    # items, rows and nested items below a heading about lessons
    ("AGENTS.md", AGENTS, ["`pnpm --filter` silently no-ops", "Never edit an applied migration",
     "Size the canvas by its container", "Pin the zone", "Never rerun failed jobs",
     "PostgreSQL zone drift on the second run", "Use the session factory in jobs"]),
    # a file of lessons needs no heading
    ("tasks/lessons.md", LESSONS, ["The bootstrap opened its own session",
     "Wrapper selectors must not hover", "Generate duplicated content"]),
    ("AGENTS.md", EXPLAINED, ["Never run migrations on startup", "Retry needs an idempotency key",
     "Show the plan first", "Store UTC"]),
    *(("AGENTS.md", f"## {heading}\n\n- One thing to know\n", ["One thing to know"]) for heading in
      ("Lessons Learned", "🔥 Common mistakes", "주의사항", "배운 점", "教訓", "Pitfalls:")),
    ("AGENTS.md", "## Lessons\n\n- (none yet)\n- Real one\n", ["Real one"]),
    # what is forbidden is not told as advice, and what says "not" by itself not denied again
    *(("AGENTS.md", (f"## Common mistakes\n\n{opening}\n\n- Commit secrets to git\n"
       "- Using raw SQL\n- Never push to main\n\n✅ **Do**:\n\n- Encrypt sensitive data\n"),
       FORBIDDEN) for opening in ("❌ **Don't**:", "Never:", "### Don’ts", "**Do not**")),
    ("AGENTS.md", "## Mistakes\n\n### Don't\n\n" + "".join(f"- {item}\n" for item in NOT_DENIED_AGAIN),
     [*(item.replace("*", "") for item in NOT_DENIED_AGAIN[:5]), f"Do not {NOT_DENIED_AGAIN[5]}",
      f"하지 말 것: {NOT_DENIED_AGAIN[6]}"]),
    # a header is not taken for notes
    ("x.md", '---\napplyTo: "**"\nlessons: none\n---\n\n## Gotchas\n\n- The cache lies\n',
     ["The cache lies"]),
])  # fmt: skip
def test_each_item_is_a_lesson(name, text, titles):
    assert [lesson.title for lesson in read_memory(text, name=name).lessons] == titles


DATED = (
    "# Lessons\n\n## 2026-07-16 · Strokes are dropped\n\n"
    "- **What went wrong:** Fast flicks gave nothing.\n"
    "- **Correct behaviour:** Reject strokes by size.\n"
    "- **How to recognise:** It works by hand but not in tests.\n"
)
FLOW = (
    "# Lessons\n\n## 2026-03-02\n\n- Pattern: Some links fail with plain `curl`.\n"
    "- Rule: Switch to the browser first.\n- Reusable flow:\n  - `browse open`\n  - `browse text`\n"
)
FEEDBACK = (
    "---\nname: real-db\ndescription: Integration tests must hit a real database\n{}\n---\n"
    "\nNot mocks.\n\n**Why:** a mocked test passed and the migration failed.\n\n"
    "**How to apply:** use the fixture `db`.\n"
)
REAL = "Integration tests must hit a real database"
WHY, MISTAKE, CHECKLIST = "Root Cause", "Mistake / Risk", "Prevention Checklist"


@pytest.mark.parametrize(("text", "title", "section", "said"), [
    (AGENTS, "Size the canvas by its container", MISTAKE, "The zoom factor lies."),
    (AGENTS, "PostgreSQL zone drift on the second run", "Fix",
     "Pin the zone after the first apply."),
    (LESSONS, "The bootstrap opened its own session", WHY,
     "Code outside the factory cannot be overridden."),
    (LESSONS, "The bootstrap opened its own session", CHECKLIST,
     "- [ ] Accept a session factory."),
    (LESSONS, "Wrapper selectors must not hover", CHECKLIST,
     "- [ ] Hover goes on inner widgets\n- [ ] Ask before a section moves"),
    (DATED, "Strokes are dropped", MISTAKE, "Fast flicks gave nothing."),
    (DATED, "Strokes are dropped", "Fix", "Reject strokes by size."),
    (DATED, "Strokes are dropped", "Situation",
     "Noted in lessons.md.\n\nIt works by hand but not in tests."),
    (FLOW, "Some links fail with plain `curl`", CHECKLIST, "- [ ] Switch to the browser first."),
    (FLOW, "Some links fail with plain `curl`", "Fix", "- `browse open`\n\n- `browse text`"),
    # what explains an item stays with it and is nothing to check
    (EXPLAINED, "Never run migrations on startup", MISTAKE,
     ("- Two workers raced for the lock and both hung.\n\n- We lost an hour on 3 March.\n\n"
     "The second worker waits for ever, and nobody is told.")),
    (EXPLAINED, "Never run migrations on startup", CHECKLIST,
     "- [ ] Take the advisory lock first"),
    (EXPLAINED, "Retry needs an idempotency key", MISTAKE,
     ("The gateway charged twice, for each retry made an order.\n\n"
     "- Because nothing ties two requests together")),
    (EXPLAINED, "Retry needs an idempotency key", CHECKLIST, None),
    (EXPLAINED, "Show the plan first", MISTAKE, "```sh\nterraform plan\n```"),
    (EXPLAINED, "Store UTC", CHECKLIST, "- [ ] The conversion must stand at the edge"),
    (EXPLAINED, "Store UTC", MISTAKE,
     "- Because cron runs in local time\n\n- 서버 시간이 달라서\n결제가 두 번 됐다"),
    # feedback in Claude Code's memory
    (FEEDBACK.format("type: feedback"), REAL, WHY,
     "a mocked test passed and the migration failed."),
    (FEEDBACK.format("metadata:\n  type: feedback"), REAL, CHECKLIST,
     "- [ ] use the fixture `db`."),
])  # fmt: skip
def test_what_is_said_beyond_the_title_has_its_section(text, title, section, said):
    name = "AGENTS.md" if text in (AGENTS, EXPLAINED) else "lessons.md"
    (lesson,) = [one for one in read_memory(text, name=name).lessons if one.title == title]
    assert dict(lesson.sections).get(section) == said


def test_a_lesson_knows_its_line_its_day_and_what_it_stands_under():
    found = {lesson.title: lesson for lesson in read_memory(AGENTS, name="a/AGENTS.md").lessons}
    canvas = found["Size the canvas by its container"]
    assert (canvas.created, canvas.last_seen) == ("2026-03-22", "2026-03-22")
    assert found["Use the session factory in jobs"].topics == ("database",)
    zone = found["Pin the zone"]
    assert (zone.topics, zone.where) == (("terraform",), "a/AGENTS.md:13")


@pytest.mark.parametrize(("name", "text", "passed", "note"), [
    ("AGENTS.md", "## Lessons\n\n- (none yet)\n- Real one\n",
     ("AGENTS.md:3", "no lesson in it"), ""),
    ("CLAUDE.md", "# Guide\n\n- Run make\n", None,
     "CLAUDE.md: no list or section under a heading such as Lessons, Gotchas, Learned"),
    ("lessons.md", "---\nname: me\ndescription: The user likes tabs\ntype: user\n---\n\n- Tabs\n",
     ("lessons.md:6", "a memory about the user, not a lesson"), ""),
])  # fmt: skip
def test_what_becomes_no_lesson_is_named(name, text, passed, note):
    found = read_memory(text, name=name)
    assert [(one.where, one.reason) for one in found.passed_over] == ([passed] if passed else [])
    assert "".join(found.notes) == note


def test_the_origin_is_what_is_said_wherever_it_stands():
    one = read_memory("## Lessons\n- It broke\n", name="x/AGENTS.md").lessons[0]
    other = read_memory("# T\n\n## Lessons\n\n* It  broke\n", name="AGENTS.md").lessons[0]
    assert one.origin == other.origin


@given(st.text(alphabet=st.sampled_from("#-*|`: \n\tab1.)[]"), max_size=200))
def test_any_text_can_be_read(text):
    for lesson in read_memory(f"# Lessons\n{text}", name="AGENTS.md").lessons:
        assert lesson.title.strip()


def test_a_rule_of_cursors_is_a_lesson_for_the_files_of_its_globs():
    text = (
        "---\ndescription: Migrations\nglobs: migrations/**/*.sql, db/*.py\nalwaysApply: false\n"
        "---\n\n# Migrations\n\n- Never edit an applied migration\n- Set a lock timeout first\n"
    )
    globs = ("migrations/**/*.sql", "db/*.py")
    assert [
        (one.title, one.where, one.paths) for one in read_memory(text, name="a/m.mdc").lessons
    ] == [
        ("Never edit an applied migration", "a/m.mdc:9", globs),
        ("Set a lock timeout first", "a/m.mdc:10", globs),
    ]
