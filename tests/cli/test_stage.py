"""The view of one workflow stage: `preflight --stage`."""

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


@pytest.mark.slow
def test_a_prompt_gives_the_mistakes_of_its_stage_in_any_case(lessons, stages):
    prompt = "write unit tests for the redis cache"
    assert "fakeredis" in lessons("preflight", prompt, "--stage", "E2E").out
    assert not lessons("preflight", prompt, "--stage", "DEV").out
    for command in (("list", "--all"), ("stats",), ("preflight", prompt)):
        exact, other = (lessons(*command, "--json", "--stage", one).out for one in ("E2E", "e2e"))
        assert "redis" in exact
        assert other == exact
    assert json.loads(lessons("list", "--tag", "TELEGRAM", "--json").out)
