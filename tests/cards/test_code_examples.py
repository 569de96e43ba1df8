"""Patterns are held against the card's own bad and good examples (SPEC §6a)."""

import pytest

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sections import find_examples
from lessons_kb.config import KNOWN_FOLDERS

BAD = "subprocess.run(cmd, shell=True)"
GOOD = "subprocess.run([cmd])"


def fence(text, language="python"):
    return f"```{language}\n{text}\n```\n"


def advice(detect, body):
    text = f"---\ntitle: T\ndetect:\n{detect}\n---\n\n{body}"
    document = parse_card(text, path="lessons/a.md", folders=KNOWN_FOLDERS)
    rules = ("misses-bad-example", "finds-good-example", "bad-pattern")
    return [(f.line, f.rule, f.message) for f in check_card(document) if f.rule in rules]


@pytest.mark.parametrize(
    ("body", "examples"),
    [
        (f"## Bad\n\n{fence('x')}\n## Good\n\n{fence('y')}", [(False, "x"), (True, "y")]),
        (f"## Example\n\n### ❌ Wrong\n{fence('x')}\n### ✅ Right\n{fence('y')}", [(False, "x"), (True, "y")]),
        (f"## Fix\n\nBefore:\n\n{fence('x')}\n**After**\n\n{fence('y')}", [(False, "x"), (True, "y")]),
        (f"## Mistake / Risk\n\nIt ran this line for years, and nobody knew why.\n\n{fence('x')}", [(False, "x")]),
        (f"## Bad\n\n1. Here:\n\n   {fence('x').replace(chr(10), chr(10) + '   ')}", [(False, "x")]),
        (f"## Notes\n\n{fence('x')}\n### Before and after\n\n{fence('y')}", []),
        (f"Don’t:\n{fence('x')}\nDo:\n{fence('y')}", [(False, "x"), (True, "y")]),
        (f"## 나쁜 예\n{fence('x')}", [(False, "x")]),
        (f"## Fix\n\n{fence(' a' + chr(10) + '-x' + chr(10) + '+y', 'diff')}", [(False, "a\nx"), (True, "a\ny")]),
        ("## Bad\n\nno block", []),
        ("", []),
    ],
)  # fmt: skip
def test_blocks_are_judged_by_what_stands_above_them(body, examples):
    assert [(one.good, one.text.strip()) for one in find_examples(body)] == examples


BOTH = f"## Bad\n\n{fence(BAD)}\n## Good\n\n{fence(GOOD)}"


@pytest.mark.parametrize("detect", [
    r"- regex: shell\s*=\s*True", "- regex: 'shell=True'\n  files: ['src/**/*.py']",
    "- ast: subprocess.run($$$, shell=True)",
    "- ast: subprocess.run($$$, shell=True)\n  language: python",
    "- regex: console.log\n  files: ['*.js']",  # about another language
    "- command: alembic stamp",  # the examples are no commands
])  # fmt: skip
def test_a_good_pattern_is_silent(detect):
    assert advice(detect, BOTH) == []


def test_a_pattern_that_misses_the_bad_example():
    assert advice("- regex: shell = True\n- regex: shell=True", BOTH) == [
        (3, "misses-bad-example",
         "detect: regex shell = True finds nothing in the bad example on line 10")
    ]  # fmt: skip


def test_a_pattern_that_finds_the_good_example():
    assert advice("- ast: subprocess.run($$$)", BOTH) == [
        (3, "finds-good-example",
         "detect: ast subprocess.run($$$) finds the good example on line 15")
    ]  # fmt: skip


def test_commands_are_looked_for_in_shell_blocks():
    body = f"## Bad\n\n{fence('$ alembic stamp head', 'console')}\n## Good\n\n{fence('alembic upgrade head', 'sh')}"
    assert advice(r"- command: \balembic\s+stamp\b", body) == []
    assert [rule for _line, rule, _message in advice("- command: alembic", body)] == [
        "finds-good-example"
    ]


def test_one_of_several_bad_examples_is_enough():
    body = f"## Bad\n\n{fence('os.system(cmd)')}\n{fence(BAD)}"
    assert advice("- regex: shell=True\n- regex: os.system", body) == []


def test_without_examples_there_is_nothing_to_say():
    assert advice("- regex: shell=True", "## Fix\n\nUse a list.\n") == []
