"""Quick fixes: the finding goes, everything else stays byte for byte."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.check_card import check_card, find_quick_fixes
from lessons_kb.cards.parse import parse_card

FOLDERS = {"lessons": "lesson"}
BODY = "\n# Title\n\n## Root Cause\n\nIt was so.\n\n## Prevention Checklist\n\n- Cover it with a test\n"
SYMPTOMS = "symptoms: [a b]\n"


def fixes(text, rule):
    document = parse_card(text, path="lessons/a.md", folders=FOLDERS)
    (finding,) = [one for one in check_card(document) if one.rule == rule]
    return find_quick_fixes(text, finding, folders=FOLDERS)


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
    ("unclosed-header", "---\n" + SYMPTOMS + BODY, card(SYMPTOMS)),
    ("odd-path", card("paths: [src\\a.py]\n" + SYMPTOMS), card("paths: [src/a.py]\n" + SYMPTOMS)),
    ("no-symptoms", card(""), card("symptoms:\n  - TODO: a phrase of a future task\n")),
    ("no-checklist", card(SYMPTOMS, "\n# T\n\n## Root Cause\n\nSo."), card(SYMPTOMS,
     "\n# T\n\n## Root Cause\n\nSo.\n\n## Prevention Checklist\n\n- [ ] TODO\n")),
    ("no-cause", card(SYMPTOMS, "\n# T\n\n## Prevention Checklist\n\n- Test it\n"), card(SYMPTOMS,
     "\n# T\n\n## Prevention Checklist\n\n- Test it\n\n## Root Cause\n\nTODO\n")),
    ("placeholder", card(SYMPTOMS, BODY + "- TODO\n"), card(SYMPTOMS, BODY)),
])  # fmt: skip
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_the_first_fix_is_what_was_meant(rule, before, after, eol):
    before, after = before.replace("\n", eol), after.replace("\n", eol)
    assert fixes(before, rule)[0].apply(before) == after


def test_every_choice_is_offered_and_removal_last():
    titles = [fix.title for fix in fixes(card("severity: urgent\n" + SYMPTOMS), "wrong-value")]
    assert sorted(titles[:-1]) == ["Write `high`", "Write `low`", "Write `medium`"]
    assert titles[-1] == "Remove `severity`"


def test_a_finding_of_another_text_has_no_fix():
    text = card("severty: high\n" + SYMPTOMS)
    document = parse_card(text, path="lessons/a.md", folders=FOLDERS)
    finding = next(one for one in check_card(document) if one.rule == "unknown-key")
    assert find_quick_fixes(card(SYMPTOMS), finding, folders=FOLDERS) == []


LINES = st.sampled_from(
    [
        *(
            "severity: hihg",
            "severty: low",
            "symptoms:",
            "  - a: b",
            "  - `x`",
            "---",
            "title: a: b",
        ),
        *(
            "# T",
            "## Root Cause",
            "",
            "paths: [a\\b]",
            "  😀",
            "occurrences: x",
            "- TODO",
            "\t",
            '"',
        ),
        *("[", "{{x}}"),
    ]
)


@pytest.mark.slow
@given(
    lines=st.lists(LINES, max_size=9),
    eol=st.sampled_from(("\n", "\r\n", "\r")),
    open_=st.booleans(),
)
def test_whatever_the_text_a_fix_settles_its_finding(lines, eol, open_):
    text = eol.join([*(["---"] if open_ else []), *lines])
    document = parse_card(text, path="lessons/a.md", folders=FOLDERS)
    for finding in check_card(document):
        for fix in find_quick_fixes(text, finding, folders=FOLDERS):
            again = parse_card(fix.apply(text), path="lessons/a.md", folders=FOLDERS)
            assert finding not in check_card(again)
