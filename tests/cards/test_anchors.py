"""Which names in a card are anchors: SPEC §3, freshness."""

import pytest

from lessons_kb.cards.parse import parse_card
from lessons_kb.model import FILE, GLOB, SYMBOL


def anchors(body, header=""):
    text = f"---\ntype: lesson\ntitle: A card\n{header}---\n{body}"
    return {
        (anchor.kind, anchor.name): anchor.is_core
        for anchor in parse_card(text, path="lessons/a.md", folders={}).anchors
    }


@pytest.mark.parametrize(
    ("span", "anchor"),
    [
        ("src/app.py", (FILE, "src/app.py")),
        ("./src/app.py", (FILE, "src/app.py")),
        ("app.py:12", (FILE, "app.py")),
        ("src/app.ts#L10-L20", (FILE, "src/app.ts")),
        ("Dockerfile", (FILE, "Dockerfile")),
        ("getUserById", (SYMBOL, "getUserById")),
        ("Client.connect()", (SYMBOL, "connect")),
        ("std::make_pair", (SYMBOL, "make_pair")),
        ("test_refund_is_final", (SYMBOL, "test_refund_is_final")),
    ],
)
def test_files_symbols_and_tests_in_backticks_are_anchors(span, anchor):
    assert anchors(f"## Root Cause\n\nThe `{span}` is to blame.\n") == {anchor: True}


def test_a_test_in_a_file_gives_two_anchors():
    found = anchors("## Root Cause\n\nSee `tests/test_pay.py::test_refund`.\n")
    assert found == {(FILE, "tests/test_pay.py"): True, (SYMBOL, "test_refund"): True}


@pytest.mark.parametrize(
    "line",
    [
        "See `https://example.org/src/app.py`.",
        "See `acme/shop:src/app.py`.",
        "See `acme/shop@v2`.",
        "Run `pytest src/app.py`.",
        "See src/app.py and getUserById.",
        "It is `x`, `pending` or `Addressed`.",
        "> Error in `src/app.py`",
        "```\nError in `src/app.py`\n```",
        "    `src/app.py` in indented code",
    ],
)
def test_urls_other_repositories_commands_prose_and_quoted_output_are_none(line):
    assert anchors(f"## Root Cause\n\n{line}\n") == {}


def test_what_title_cause_and_checklist_name_is_core_and_the_rest_is_not():
    body = """\
# The `MailQueue` drops mail

## Situation

It showed in `src/other.py`.

## Root Cause

`send_mail` forgot it.

## Prevention Checklist

- Look at `src/mail.py`
"""
    assert anchors(body, "paths: [src/mail/**]\n") == {
        (GLOB, "src/mail/**"): True,
        (SYMBOL, "MailQueue"): True,
        (FILE, "src/other.py"): False,
        (SYMBOL, "send_mail"): True,
        (FILE, "src/mail.py"): True,
    }


def test_a_name_that_is_core_once_is_core():
    body = "## Situation\n\n`src/mail.py`\n\n## Root Cause\n\n`src/mail.py` again\n"
    assert anchors(body) == {(FILE, "src/mail.py"): True}
