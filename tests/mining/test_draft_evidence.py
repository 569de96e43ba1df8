"""A card keeps little of the evidence that lessons_kb wrote, and everything that a person typed."""

from lessons_kb.mining.draft_evidence import list_evidence, shorten_evidence
from lessons_kb.mining.draft_text import finish

CHANGE = "\n".join(f"+    charge({number})" for number in range(200))
DRAFT = f"""\
---
title: A retried charge is booked twice
---

## Situation

Seen 1×: gives a cause; 12 lines of tests.

Commit `1a2b3c4d5e`: Send one key for all attempts

Its message:

> The bank books each request.
>
> ## Not a heading of the card

What failed: `pytest`

```text
## E  assert 1 == 2
```

## Root Cause

## Fix

What fixed it:

```diff
diff --git a/pay.py b/pay.py
index 1..2 100644
--- a/pay.py
+++ b/pay.py
@@ -1,2 +1,200 @@
{CHANGE}
```

Its tests:

```diff
+def test_retry(): ...
```

## Prevention Checklist
"""


def write_in(text):
    return text.replace("## Root Cause\n", "## Root Cause\n\nEach attempt has its own key.\n")


def finish_card(text, evidence):
    return finish(shorten_evidence(text, evidence), "", cut_diffs=False)


def test_a_card_names_the_commit_and_keeps_an_excerpt_of_its_change():
    card = finish_card(write_in(DRAFT), list_evidence(DRAFT))
    for kept in (
        "Commit `1a2b3c4d5e`: Send one key for all attempts",
        "`git show 1a2b3c4d5e` shows its whole message and change.",
        "What failed: `pytest`\n\n```text\n## E  assert 1 == 2\n```",
        "--- a/pay.py\n+++ b/pay.py\n@@ -1,2 +1,200 @@\n+    charge(0)",
        "\n…\n```\n",
        "Each attempt has its own key.",
    ):
        assert kept in card
    for dropped in (
        "Seen 1×",
        "Its message",
        "> The bank",
        "diff --git",
        "Its tests",
        "test_retry",
    ):
        assert dropped not in card


def test_what_a_person_typed_stays_word_for_word():
    typed = {
        "Seen 1×: gives a cause; 12 lines of tests.": "Seen 1×: on a Sunday, by a customer.",
        "> The bank books each request.\n": "> The bank books each request. Ask Rita.\n",
        "## Fix\n": "## Fix\n\nI looked at the log of the bank first.\n",
        "+    charge(7)\n": "+    charge(7)  # this line matters\n",
        "+def test_retry(): ...": "+def test_retry(): ...  # mine",
    }
    text = write_in(DRAFT)
    for old, new in typed.items():
        assert old in text
        text = text.replace(old, new)
    card = finish_card(text, list_evidence(DRAFT))
    for new in typed.values():
        assert new.strip() in card
    assert CHANGE.replace("charge(7)", "charge(7)  # this line matters") in card


def test_spaces_that_an_editor_removes_and_the_ends_of_lines_make_no_difference():
    draft = DRAFT.replace("+    charge(3)", "+    charge(3)   ")
    evidence = list_evidence(draft)
    card = finish_card(write_in(DRAFT), evidence)
    assert "Its tests" not in card
    windows = finish_card(write_in(DRAFT).replace("\n", "\r\n"), evidence)
    assert "Its tests" not in windows
    assert "`git show 1a2b3c4d5e`" in windows


def test_a_short_change_stays_as_it_is():
    draft = DRAFT.replace(CHANGE, "+    charge(1)")
    card = finish_card(write_in(draft), list_evidence(draft))
    assert "diff --git a/pay.py b/pay.py\nindex 1..2 100644" in card
    assert "…" not in card


def test_an_excerpt_spends_its_lines_on_the_change_rather_than_on_what_stands_around_it():
    before = "\n".join(f"     before_the_fix_of_the_key({number})" for number in range(12))
    between = "\n".join(f"     between_the_two_changes({number})" for number in range(12))
    change = f"""\
{before}
-    key = new_key()
+    key = key_of(charge)
{between}
-    post(charge)
+    post(charge, key)
     after_the_fix()"""
    draft = DRAFT.replace(CHANGE, f" import bank\n+import keys\n import log\n{change}")
    card = finish_card(write_in(draft), list_evidence(draft))
    for changed in (
        "+import keys\n",
        "-    key = new_key()\n+    key = key_of(charge)\n",
        "-    post(charge)\n+    post(charge, key)\n",
    ):
        assert changed in card
    assert "@@ -1,2 +1,200 @@" in card
    beside = "     before_the_fix_of_the_key(11)\n-    key = new_key()"
    assert beside in card, "lines beside the change stay while there is room"
    assert "before_the_fix_of_the_key(5)" not in card
    assert "\n…\n" in card
    excerpt = card.split("```diff\n")[1].split("\n```")[0]
    assert len(excerpt) <= 820


def test_a_change_without_lines_around_it_stays_whole_before_any_line_around_another():
    lines = "\n".join(f"+    charge_the_customer_by_number({number})" for number in range(15))
    long = "\n".join(f"     {'context ' * 20}{number}" for number in range(6))
    draft = DRAFT.replace(CHANGE, f"{long}\n{lines}\n{long}")
    card = finish_card(write_in(draft), list_evidence(draft))
    assert lines in card
    assert "context" not in card
