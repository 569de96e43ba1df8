"""The rules of AGENTS.md, CLAUDE.md and their like: taken apart, told apart, put into cards."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.importers.rules_file import (
    ALWAYS,
    POINTER,
    WHEN,
    build_cards,
    read_notes,
    read_rules,
)

GUIDE = """\
# Guide

Shop is a web shop.

## Commands

- Build with `npm run build`
- Run all tests with `npm test` before you commit

## Code style

Write short functions.

## Payments

Every charge needs an idempotency key.

```ts
charge(order, { key })
```

When adding a provider:

- Register it in `src/payments/providers.ts`
- Add a sandbox account

### Refunds

1. Lock the order.
2. Refund.

## Gotchas

- `pnpm --filter` silently does nothing here
- Never edit an applied migration
"""


TOPICS = """\
# Guide

Shop is a web shop (Python 3.10) for building pages.

## Payment Provider Objects

When changing `src/pay/base.py`, apply the change to all providers:

- **Cards** (`src/pay/cards.py`)

## Documentation

- **Structure:** see `docs/site.json` for all pages
- Do not edit `docs/api/**` by hand

## Git

- **NEVER** force-push to `main`
- **CRITICAL**: Always sign commits
"""


def test_a_title_of_an_imported_rule_says_more_than_its_topic():
    imported = read_notes(TOPICS, name="notes.md")
    titles = [lesson.title for lesson in imported.lessons]
    titles += [passed.title for passed in imported.passed_over]
    for title in (
        "Payment Provider Objects: When changing `src/pay/base.py`, apply the change to…",
        "Documentation: Do not edit `docs/api/**` by hand",
        "NEVER force-push to `main`", "CRITICAL: Always sign commits",
        "Shop is a web shop (Python 3.10) for building pages",
    ):  # fmt: skip
        assert title in titles, titles


def test_each_rule_is_listed_with_its_kind_and_reason():
    found = [
        (rule.line, rule.kind, rule.reason) for rule in read_rules(GUIDE, name="AGENTS.md").rules
    ]
    assert found == [
        (3, ALWAYS, "about the project"),
        (7, ALWAYS, "under “Commands”"),
        (8, ALWAYS, "under “Commands”"),
        (12, ALWAYS, "under “Code style”"),
        (16, WHEN, "under “Payments”"),
        (24, WHEN, "“When adding a provider”"),
        (25, WHEN, "“When adding a provider”"),
        (29, WHEN, "under “Refunds”"),
        (34, WHEN, "a lesson, under “Gotchas”"),
        (35, WHEN, "a lesson, under “Gotchas”"),
    ]


@pytest.mark.parametrize(("heading", "rule", "kind"), [
    ("", "- Answer in English", ALWAYS),
    ("", "- Be concise, and explain what you did", ALWAYS),
    ("", "- Before you commit, run `make check`", ALWAYS),
    ("", "- When you are unsure, ask", ALWAYS),
    ("", "- Never use `any`", ALWAYS),
    ("", "- When editing a migration, set a lock timeout", WHEN),
    ("", "- Files in `src/legacy/` are generated", WHEN),
    ("", "- If `bun run fixtures` hangs, remove the cache", WHEN),
    ("", "- Keep `useCart` and `CartProvider` apart", WHEN),
    ("", "- 마이그레이션을 수정할 때는 잠금 시간을 정한다", WHEN),
    ("", "- Read all review comments first", WHEN),
    ("## Project Overview\n\n", "- `src/sound.ts` - Sound effects", WHEN),
    ("## Project Overview\n\n", "- `src/` - The game", ALWAYS),
    ("## Packages\n\n", "| `a/` | one |\n|---|---|\n| `b/` | two |", ALWAYS),
    ("## Provider Development\n\n", "- Be as restrictive as you can", WHEN),
    ("## Code Review Guidelines\n\n", "- Suggest specific improvements", WHEN),
    ("## Architecture\n\n", "- Workers take jobs off a queue", ALWAYS),
])  # fmt: skip
def test_a_rule_with_a_place_a_situation_or_such_a_heading_applies_only_then(heading, rule, kind):
    (found,) = read_rules(f"# Guide\n\n{heading}{rule}\n", name="AGENTS.md").rules
    assert (found.kind, found.reason != "") == (kind, True)


@pytest.mark.parametrize("header", [
    "globs: migrations/**/*.sql, db/*.py\nalwaysApply: false",
    "applyTo: 'migrations/**/*.sql, db/*.py'",
    'paths:\n  - "migrations/**/*.sql"\n  - "db/*.py"',
])  # fmt: skip
def test_a_file_for_some_files_holds_for_them(header):
    text = f"---\n{header}\n---\n\n# Migrations\n\n- Be brief\n"
    file = read_rules(text, name="db.mdc")
    assert file.globs == ("migrations/**/*.sql", "db/*.py")
    ((card, _rules),) = build_cards(file, {file.rules[0].line}, set())
    assert (card.paths, card.title) == (file.globs, "Be brief")


def test_a_section_is_a_card_and_a_gotcha_has_its_own_card():
    file = read_rules(GUIDE, name="a/AGENTS.md")
    lines = {rule.line for rule in file.rules if rule.kind == WHEN}
    cards = [card for card, _rules in build_cards(file, lines, set())]
    assert [card.title for card in cards] == [
        "Payments: Every charge needs an idempotency key",
        "Refunds: Lock the order", "`pnpm --filter` silently does nothing here",
        "Never edit an applied migration",
    ]  # fmt: skip
    assert cards[0].sections == (
        ("Situation", "From AGENTS.md under “Guide > Payments”."),
        ("Prevention Checklist", (
            "- Every charge needs an idempotency key.\n\n"
            "  ```ts\n  charge(order, { key })\n  ```\n\n"
            "When adding a provider:\n\n"
            "- Register it in `src/payments/providers.ts`\n\n"
            "- Add a sandbox account"
        )),
    )  # fmt: skip
    assert cards[0].symptoms == ("When adding a provider",)
    assert cards[0].paths == ("src/payments/providers.ts",)
    assert cards[1].topics == ("payments", "refunds")


def test_a_labelled_rule_is_in_the_section_of_its_label(plan):
    text = (
        "# Lessons\n\n## Wrapper selectors must not hover\n\n**What failed:** The section moved.\n\n"
        "**Root cause:** The selector fits all of it.\n\n**Rule:** Hover inner widgets.\n"
    )
    (card,) = plan("memory", "tasks/lessons.md", text).lessons
    assert card.title == "Wrapper selectors must not hover"
    assert dict(card.sections) == {
        "Situation": "From lessons.md under “Lessons > Wrapper selectors must not hover”.",
        "Mistake / Risk": "The section moved.",
        "Root Cause": "The selector fits all of it.",
        "Prevention Checklist": "- Hover inner widgets.",
    }


def test_a_lesson_told_with_labels_loses_no_word(plan, tmp_path):
    (tmp_path / "src/sync").mkdir(parents=True)
    (tmp_path / "src/sync/rows.py").touch()
    text = (
        "# Lessons\n\nIntro.\n\n## Flush before a sync\n\nSeen twice.\n\n**Context**: The sync reads.\n\n"
        "**Problem**: It read old rows.\n\n```\nsync()\n```\n\n**Rule**: When a command syncs:\n\n- flush it\n\n"
        "**Rule**: Test it\nwith two rows.\n\n**Applies to**: `src/sync/*.py`, any command.\n\n"
        "## Never sell sandals in winter\n\n- Ask first\n"
    )
    first, *others = plan("memory", "lessons.md", text).lessons
    assert (first.title, first.paths) == ("Flush before a sync", ("src/sync/*.py",))
    assert dict(first.sections) == {
        "Situation": "From lessons.md under “Lessons > Flush before a sync”.\n\nSeen twice.\n\n"
        "The sync reads.\n\nApplies to `src/sync/*.py`, any command.",
        "Mistake / Risk": "It read old rows.\n\n```\nsync()\n```",
        "Prevention Checklist": "- When a command syncs:\n\n  - flush it\n\n- Test it\n  with two rows.",
    }
    assert first.symptoms == ("When a command syncs",)
    assert "Ask first" in dict(others[-1].sections)["Prevention Checklist"]


@pytest.mark.parametrize(("kind", "lessons", "reason"), [
    ("feedback", ["Use uv here"], ""),
    ("user", [], "a memory about the user, not a lesson"),
])  # fmt: skip
def test_only_feedback_memories_of_claude_code_are_lessons(plan, kind, lessons, reason):
    text = f"---\ndescription: Use uv here\nmetadata:\n  type: {kind}\n---\n\nNo pip.\n"
    found = plan("memory", "memory/a.md", text)
    assert [lesson.title for lesson in found.lessons] == lessons
    assert "".join(one.reason for one in found.passed_over) == reason


def test_imports_are_named_but_not_in_code():
    text = "See @docs/style.md and `@docs/no.md`.\n\n- @AGENTS.md\n- me@example.md\n"
    assert read_rules(text, name="CLAUDE.md").imports == ("docs/style.md", "AGENTS.md")


def test_a_heading_is_removed_with_its_last_rule_and_the_rest_keeps_its_bytes():
    text = (
        "\ufeff# Guide\r\n\r\n## A\r\n\r\n- one  \r\n- two\r\n\r\n## B\r\n\r\nLead:\r\n\r\n- three"
    )
    file = read_rules(text, name="AGENTS.md")
    one, two, three = (rule.line for rule in file.rules)
    end = f"\r\n\r\n{POINTER}\r\n"
    assert file.without([]) == text
    assert file.without([two]) == text.replace("- two\r\n", "") + end
    assert file.without([three]) == text[: text.index("\r\n\r\n## B")] + end
    assert file.without([one, two]) == "\ufeff# Guide\r\n\r\n## B" + text.partition("## B")[2] + end


_LINE = st.sampled_from([
    "# A", "## B", "### C", "- item one", "* other `x/y.py`", "  nested", "  - below", "1. first",
    "2. second", "plain text", "When it rains:", "**Bold**", "```", "---", "===", "<!-- c -->",
    "> quote", "", "", "| a | b |", "|---|---|", "\t- tab", "item: two", "@docs/x.md", POINTER,
])  # fmt: skip


@given(st.lists(_LINE, max_size=30), st.data())
def test_each_rule_is_in_the_file_or_in_one_card(lines, data):
    file = read_rules("\n".join(lines), name="AGENTS.md")
    moved = data.draw(st.sets(st.sampled_from([rule.line for rule in file.rules] or [0])))
    held = [rule.words for _card, rules in build_cards(file, moved, set()) for rule in rules]
    assert len(held) == len({*held})
    rest = " ".join(file.without(moved).split())
    for rule in file.rules:
        assert (rule.words in held) if rule.line in moved else (rule.words in rest)
    for card, rules in build_cards(file, moved, set()):
        said = " ".join("\n".join(text for _heading, text in card.sections).split())
        assert all(rule.words in said for rule in rules)


RECORD = (
    "# ADR 0007: Names of users\n\nStatus: Accepted\n\n## Context\n\nNames were not checked.\n\n"
    "## Decision\n\n- Check each name in `src/names.py` before it is stored\n\n"
    "## Consequences\n\n- Never show an old name\n\n"
    "## Alternatives considered\n\n### Allow any name\n\nDo not check names at all.\n"
)


def test_a_decision_record_is_one_lesson_without_its_rejected_alternatives(plan):
    (lesson,) = plan("memory", "docs/0007-names.md", RECORD).lessons
    assert lesson.title == "Names of users"
    assert dict(lesson.sections)["Prevention Checklist"] == (
        "- Check each name in `src/names.py` before it is stored"
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (RECORD.replace("Accepted", "Superseded by 0009"), "a decision that is superseded"),
        (
            RECORD.replace("before it", "and again " * 200 + "before it"),
            "a decision record that is too long for a card",
        ),
        (
            RECORD.replace("- Check each name in `src/names.py` before it is stored\n\n", ""),
            "a record without a decision",
        ),
    ],
)
def test_a_decision_record_that_fits_no_card_is_passed_over(plan, text, reason):
    found = plan("memory", "docs/0007-names.md", text)
    assert found.lessons == ()
    assert [one.reason for one in found.passed_over] == [reason]


@pytest.mark.parametrize(
    ("heading", "reason"),
    [
        ("Alternatives considered", "a rejected alternative"),
        ("Considered options", "a rejected alternative"),
        ("Rejected", "a rejected alternative"),
        ("Rejected ideas", "a rejected alternative"),
        ("Good", "an example"),
        ("Poor", "an example"),
        ("\u274c Bad", "an example"),
        ("Good examples", "an example"),
        ("References", "a reference"),
        ("Terminology", "a reference"),
        ("Options", ""),
        ("Good commits", ""),
    ],
)
def test_alternatives_examples_and_references_are_no_lessons(plan, heading, reason):
    text = (
        "# Style of logs\n\n## Logging of fields\n\n- Never write a name into `src/log.py`\n\n"
        f"### {heading}\n\n#### Allow empty fields\n\n- When logging, leave `src/log.py` empty\n"
    )
    found = plan("memory", "docs/style.md", text)
    skipped = [one.reason for one in found.passed_over if one.title.startswith("When logging")]
    assert skipped == ([reason] if reason else [])
    assert any("name into" in str(lesson.sections) for lesson in found.lessons)


def test_good_and_bad_below_a_heading_of_lessons_belong_to_the_lesson(plan):
    text = "# Lessons\n\n## Close each file\n\n### Bad\n\n- Never call `open()` in `a.py` alone\n"
    assert "open()" in str([one.sections for one in plan("memory", "lessons.md", text).lessons])
