"""A new card from a template: every key set, every comment kept (SPEC §10)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.edit import new_card
from lessons_kb.errors import EditRefused, InputError
from tests.cards.reading import parse

TEMPLATE = """\
---
type: lesson
# name the mistake
title: "{{title}}"   # one sentence
applies-to: []
project: other  # or none
stage:
paths: []
symptoms: []
severity: medium
occurrences: 1
created:
---

# {{title}}

## Root Cause

<!-- why -->
"""


def test_everything_given():
    text = new_card(
        TEMPLATE,
        kind="playbook",
        title="Retries: bill twice",
        topics=("billing", "a, b"),
        project="shop",
        stage="DEV",
        severity="high",
        paths=("src/**", "*.py"),
        created="2026-11-21",
    )
    expected = TEMPLATE.replace("type: lesson", "type: playbook").replace("medium", "high")
    for old, new in (
        ("{{title}}", "Retries: bill twice"), ("applies-to: []", 'applies-to: [billing, "a, b"]'),
        ("project: other", "project: shop"), ("stage:", "stage: DEV"),
        ("paths: []", 'paths: [src/**, "*.py"]'), ("created:", "created: 2026-11-21"),
    ):  # fmt: skip
        expected = expected.replace(old, new)
    assert text == expected


def test_what_is_not_given_stays_empty_whatever_the_template_shows():
    text = new_card(TEMPLATE, kind="lesson", title="T", created="2026-11-21")
    assert '\nproject: ""  # or none\nstage:\npaths: []\n' in text
    assert "\nseverity: medium\n" in text


@pytest.mark.slow
@given(st.text())
def test_any_title(title):
    try:
        text = new_card(TEMPLATE, kind="lesson", title=title, created="2026-11-21")
    except (InputError, EditRefused):
        return
    assert "\n" not in parse(text).card.title
    assert text.count("\n") == TEMPLATE.count("\n")


@pytest.mark.parametrize(("wrong", "message"), [
    ({"title": " "}, "the title is empty; name the mistake in one sentence"),
    ({"kind": "note"}, "kind must be one of lesson, playbook, qa-finding, not 'note'"),
    ({"severity": "urgent"}, "severity must be one of low, medium, high, not 'urgent'"),
    ({"created": "today"}, "created must be a date such as 2026-01-31, not 'today'"),
    ({"created": "2026-01-311"}, "created must be a date such as 2026-01-31, not '2026-01-311'"),
])  # fmt: skip
def test_wrong_values_are_named(wrong, message):
    given_values = {"kind": "lesson", "title": "T", "created": "2026-11-21", **wrong}
    with pytest.raises(InputError) as caught:
        new_card(TEMPLATE, **given_values)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_everything_is_on_one_line_and_a_title_may_stand_anywhere_in_the_body():
    text = new_card(
        TEMPLATE.replace("<!-- why -->", "{{title}}: {{ title }}, {{  title }}"),
        kind="lesson",
        title=r" Never \1\g<0>  twice",
        topics=("two\nlines",),
        paths=("src/ **",),
        project=" a\tb ",
        stage=" ",
        created="2026-11-21",
    )
    assert "\napplies-to: [two lines]\nproject: a b  # or none\nstage:\npaths: [src/ **]\n" in text
    title = r"Never \1\g<0> twice"
    assert f"\n# {title}\n" in text
    assert f"\n{title}: {title}, {{{{  title }}}}\n" in text
