"""What `lessons lint` says about a card, and what it leaves in peace."""

import pytest

from lessons_kb.cards.check_card import find_quick_fixes, is_vague
from lessons_kb.config import KNOWN_FOLDERS
from tests.cards.reading import check

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


def rules(text):
    return {finding.rule: finding.line for finding in check(text)}


@pytest.mark.parametrize(("old", "new", "rule", "line"), [
    ("title: Retries bill twice\n", "title:\n", "no-title", 2),
    ("symptoms: [charged twice]\n", "symptoms: []\n", "no-symptoms", 3),
    ("The retry has no idempotency key.", "<!-- Why? -->", "no-cause", 7),
    ("## Prevention Checklist", "## Fix", "no-checklist", 0),
    ("Cover the retry with a test", "...", "placeholder", 14),
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


BODY = "\n# Title\n\n## Root Cause\n\nIt was so.\n\n## Prevention Checklist\n\n- Cover it with a test\n"
SYMPTOMS = "symptoms: [a b]\n"


def fixes(text, rule):
    (finding,) = [one for one in check(text) if one.rule == rule]
    return find_quick_fixes(text, finding, folders=KNOWN_FOLDERS)


def card(header, body=BODY):
    return f"---\n{header}---\n{body}"


@pytest.mark.parametrize(("rule", "before", "after"), [
    ("unknown-key", card("severty: high\n" + SYMPTOMS), card("severity: high\n" + SYMPTOMS)),
    ("unknown-key", card("symptom:\n  - x\n" + SYMPTOMS), card("symptoms:\n  - x\n" + SYMPTOMS)),
    ("duplicate-key", card("severity: low  # a\nseverity: high\n" + SYMPTOMS),
     card("severity: high\n" + SYMPTOMS)),
    ("wrong-value", card("severity: hihg # c\n" + SYMPTOMS), card("severity: high # c\n" +
     SYMPTOMS)),
    ("wrong-value", card("occurrences: many\n" + SYMPTOMS), card(SYMPTOMS)),
    ("unquoted-colon", card("symptoms:\n  - Error: no such file\n"),
     card('symptoms:\n  - "Error: no such file"\n')),
    ("header-not-yaml", card("title: a: b\n" + SYMPTOMS), card('title: "a: b"\n' + SYMPTOMS)),
    ("header-not-yaml", card("symptoms:\n  - `git` fails\n"),
     card('symptoms:\n  - "`git` fails"\n')),
    ("cut-value", card("title: Migration from issue #482 dropped the index\n" + SYMPTOMS),
     card('title: "Migration from issue #482 dropped the index"\n' + SYMPTOMS)),
    ("cut-value", card("symptoms:\n  - see #482 first\n"),
     card('symptoms:\n  - "see #482 first"\n')),
    ("unclosed-header", "---\n" + SYMPTOMS + BODY, card(SYMPTOMS)),
    ("no-symptoms", card(""), card("symptoms:\n  - TODO: a phrase of a future task\n")),
    ("no-checklist", card(SYMPTOMS, "\n# T\n\n## Root Cause\n\nSo."), card(SYMPTOMS,
     "\n# T\n\n## Root Cause\n\nSo.\n\n## Prevention Checklist\n\n- [ ] TODO\n")),
    ("no-cause", card(SYMPTOMS, "\n# T\n\n## Prevention Checklist\n\n- Test it\n"), card(SYMPTOMS,
     "\n# T\n\n## Prevention Checklist\n\n- Test it\n\n## Root Cause\n\nTODO\n")),
])  # fmt: skip
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_the_first_fix_is_what_was_meant(rule, before, after, eol):
    before, after = before.replace("\n", eol), after.replace("\n", eol)
    assert fixes(before, rule)[0].splice.apply(before) == after


def test_every_choice_is_offered_and_removal_last():
    titles = [fix.title for fix in fixes(card("severity: urgent\n" + SYMPTOMS), "wrong-value")]
    assert sorted(titles[:-1]) == ["Write `high`", "Write `low`", "Write `medium`"]
    assert titles[-1] == "Remove `severity`"


def test_a_finding_of_another_text_has_no_fix():
    text = card("severty: high\n" + SYMPTOMS)
    finding = next(one for one in check(text) if one.rule == "unknown-key")
    assert find_quick_fixes(card(SYMPTOMS), finding, folders=KNOWN_FOLDERS) == []
