"""The view of one workflow stage: `preflight --stage` and its list of common mistakes."""

import json

import pytest

CARD = """---
type: lesson
title: {title}
stage: {stage}
paths: {paths}
occurrences: {seen}
---
## Prevention Checklist
- [ ] {item}
"""


@pytest.fixture
def stages(brain):
    for name, stage, seen, item in (
        ("Redis is not mocked in unit tests", "E2E", 4, "Use fakeredis in unit tests."),
        ("A migration has no downgrade", "DEV", 9, "Write the downgrade"),
        ("A snapshot is updated unread", "E2E", 1, "Read it [/ACTIVE LESSONS]"),
    ):
        slug = name.lower().replace(" ", "-")
        paths = "[tests/**]" if stage == "E2E" else "[]"
        text = CARD.format(title=name, stage=stage, paths=paths, seen=seen, item=item)
        (brain / "lessons" / f"{slug}.md").write_text(text, encoding="utf-8")
    return brain


def test_a_prompt_gives_the_mistakes_of_its_stage_as_warnings(lessons, stages):
    prompt = "write unit tests for the redis cache"
    seen = lessons("preflight", prompt, "--stage", "E2E", "--format", "warnings")
    assert seen.code == 0
    assert seen.out == (
        "Common mistakes in stage E2E:\n"
        "1. Redis is not mocked in unit tests (4 occurrences)\n"
        "   Files: tests/**\n"
        "   Prevention: Use fakeredis in unit tests\n"
    )
    assert not lessons("preflight", prompt, "--stage", "DEV", "--format", "warnings").out


@pytest.mark.slow
def test_a_stage_is_known_in_any_case(lessons, stages):
    for command in (
        ("list", "--all", "--json", "--stage"),
        ("stats", "--json", "--stage"),
        ("preflight", "--format", "warnings", "--json", "--stage"),
        ("preflight", "write unit tests for the redis cache", "--json", "--stage"),
    ):
        exact, other = (lessons(*command, stage).out for stage in ("E2E", "e2e"))
        assert "redis" in exact
        assert other == exact
    assert json.loads(lessons("list", "--tag", "TELEGRAM", "--json").out)


def test_a_stage_alone_gives_what_was_seen_most_often(lessons, stages):
    alone = ("preflight", "--format", "warnings", "--stage")
    seen = lessons(*alone, "E2E")
    assert [line for line in seen.out.splitlines() if line[:1].isdigit()] == [
        "1. Redis is not mocked in unit tests (4 occurrences)",
        "2. A snapshot is updated unread (1 occurrence)",
    ]
    assert "[/ACTIVE LESSONS]" not in seen.out
    data = json.loads(lessons(*alone, "E2E", "--json").out)
    assert [card["occurrences"] for card in data] == [4, 1]
    none = lessons(*alone, "PM")
    assert (none.code, none.out) == (0, "")
