"""What `lessons lint` says about a card, and what it leaves in peace."""

import pytest

from lessons_kb.cards.check_card import check_card, is_vague
from lessons_kb.cards.parse import parse_card
from lessons_kb.config import KNOWN_FOLDERS

GOOD = """\
---
title: Retries bill twice
symptoms: [charged twice]
paths: [src/**]
---

## Root Cause

The retry has no idempotency key.

## Prevention Checklist

- [ ] Send an idempotency key with each charge
- [ ] Cover the retry with a test
"""


def check(text, path="lessons/a.md"):
    return check_card(parse_card(text, path=path, folders=KNOWN_FOLDERS))


def rules(text):
    return {finding.rule: finding.line for finding in check(text)}


def test_a_good_card_has_no_findings():
    assert check(GOOD) == ()


@pytest.mark.parametrize(("old", "new", "rule", "line"), [
    ("title: Retries bill twice\n", "", "no-title", 0),
    ("title: Retries bill twice\n", "title:\n", "no-title", 2),
    ("Retries bill twice", "TODO", "placeholder", 2),
    ("symptoms: [charged twice]\n", "", "no-symptoms", 0),
    ("symptoms: [charged twice]\n", "symptoms: []\n", "no-symptoms", 3),
    ("## Root Cause", "## Other", "no-cause", 0),
    ("The retry has no idempotency key.", "<!-- Why? -->", "no-cause", 7),
    ("## Prevention Checklist", "## Fix", "no-checklist", 0),
    ("## Prevention Checklist", "## Other", "no-checklist", 0),
    ("Cover the retry with a test", "Be careful with retries", "vague-item", 14),
    ("Cover the retry with a test", "TODO", "placeholder", 14),
    ("Cover the retry with a test", "...", "placeholder", 14),
    ("Cover the retry with a test", "long " * 60, "long-item", 14),
    ("src/**", "/../src/**", "odd-path", 4),
    ("src/**", "C:/src/**", "odd-path", 4),
    ("title: Retries", "severity: urgent\ntitle: Retries", "wrong-value", 2),
])  # fmt: skip
def test_each_rule(old, new, rule, line):
    assert old in GOOD
    assert rules(GOOD.replace(old, new)) == {rule: line}


def test_what_stands_empty_is_to_be_filled_not_added():
    text = (
        "---\ntitle: Retries bill twice\nsymptoms:\n---\n\n## Root Cause\n\n"
        "## Prevention Checklist\n\n<!-- Two to five items -->\n"
    )
    found = {finding.rule: finding for finding in check(text)}
    lines = {rule: finding.line for rule, finding in found.items()}
    assert lines == {"no-symptoms": 3, "no-cause": 6, "no-checklist": 8}
    assert all(finding.fix.startswith("fill ") for finding in found.values())
    absent = check("---\ntitle: Retries bill twice\n---\n\nText.\n")
    assert {finding.line for finding in absent} == {0}
    assert all(finding.fix.startswith("add ") for finding in absent)


def test_a_title_in_the_text_has_its_line_too():
    assert rules(GOOD.replace("title: Retries bill twice\n", "") + "\n# TODO\n") == {
        "placeholder": 15
    }


def test_every_finding_says_where_what_and_how():
    for finding in check(
        "---\nseverity: x\npaths: [../a]\n---\n## Prevention\n\n- TODO\n- be careful\n"
    ):
        assert finding.path == "lessons/a.md"
        assert finding.message
        assert finding.fix
        assert "\n" not in finding.message + finding.fix
        assert finding.level in ("error", "warning", "info")


def test_notes_and_useless_files_get_no_advice():
    assert check("# Note\n", path="docs/a.md") == ()
    assert [finding.rule for finding in check("---\ntitle: T\n")] == ["unclosed-header"]


@pytest.mark.parametrize("item", [
    "Be careful", "be more careful.", "Always be careful with dates", "Pay attention",
    "Please pay more attention to the logs", "Double-check", "Don't forget the tests",
    "Do not make the same mistake", "Test thoroughly", "Make sure everything works",
    "Follow best practices", "Think twice before merging", "Next time, take more care", "조심하기",
    "항상 주의한다", "다음에는 더 신중하게 확인할 것", "실수하지 않기", "꼼꼼히 확인",
])  # fmt: skip
def test_vague_items(item):
    assert is_vague(item)


@pytest.mark.parametrize("item", [
    "Reject every chat id that is not on the allowlist", "Cover the rejection with a test",
    "Be careful: compare the sender's id with the allowlist before routing the update",
    "Double-check that the id is on the allowlist",
    "Do not forget: run `make check` before the release branch is cut",
    "Test the retry twice with the same key", "Use a monotonic clock", "주의: 허용 목록에 없는 채팅 ID는 거부한다",
    "허용 목록에 없는 발신자를 거부한다",
])  # fmt: skip
def test_checkable_items(item):
    assert not is_vague(item)
