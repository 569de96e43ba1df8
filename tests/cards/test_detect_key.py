r"""The key ``detect``: what it may hold, what is wrong with it, and edits that leave it alone."""

import pytest

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sections import find_examples
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.model import Pattern
from lessons_kb.store.catalogue import card_from_json, card_to_json

DETECT = r"""type: lesson
detect:   # how it looks
  - regex: 'shell\s*=\s*True'
    files: ["*.py"]   # Python only
  - ast: subprocess.run($$$, shell=True)
    language: Python
  - command: '\balembic\s+stamp\b'
    unless: '--sql'
  # the last one
  - { regex: "os\\.system", files: "*.py, tools/**" }"""
PATTERNS = (
    Pattern(kind="regex", text=r"shell\s*=\s*True", files=("*.py",)),
    Pattern(kind="ast", text="subprocess.run($$$, shell=True)", language="python"),
    Pattern(kind="command", text=r"\balembic\s+stamp\b", unless="--sql"),
    Pattern(kind="regex", text=r"os\.system", files=("*.py", "tools/**")),
)


def parse(header):
    return parse_card(f"---\n{header}\n---\n# T\n", path="lessons/a.md", folders=KNOWN_FOLDERS)


def card_of(header):
    card = parse(header).card
    assert card is not None
    return card


def test_each_form_of_pattern_is_read():
    document = parse(DETECT)
    assert document.findings == ()
    assert document.card is not None
    assert document.card.detect == PATTERNS


def test_one_pattern_needs_no_list():
    assert card_of("detect:\n  regex: os.system\n").detect == (
        Pattern(kind="regex", text="os.system"),
    )


@pytest.mark.parametrize("empty", ["", "~", "[]", "''"])
def test_an_empty_key_has_no_patterns_and_no_findings(empty):
    document = parse(f"type: lesson\ndetect: {empty}")
    assert document.findings == ()
    assert document.card is not None
    assert document.card.detect == ()


def test_a_header_that_is_not_yaml_elsewhere_keeps_its_patterns():
    document = parse(f"title: `a` b: c\nsymptoms:\n  - `x` fails\n{DETECT}")
    assert [finding.rule for finding in document.findings] == ["header-not-yaml"]
    assert document.card is not None
    assert document.card.detect == PATTERNS
    assert document.card.symptoms == ("`x` fails",)


LIST = "write each pattern as `- regex: '…'`, `- ast: '…'` or `- command: '…'`"
QUOTES = "put the pattern in single quotes, which keep backslashes as they are"


@pytest.mark.parametrize(("written", "why", "fix"), [
    ("detect: x", "not a pattern", LIST),
    ("detect: [a]", "not a pattern", LIST),
    ("detect:\n- files: x", "none of regex, ast and command in one pattern", LIST),
    ("detect:\n- regex: x\n  ast: foo", "regex and ast in one pattern", LIST),
    ("detect:\n- regexp: x", "unknown key regexp", "did you mean regex?"),
    ("detect:\n- pattern: x", "unknown key pattern",
     "known are regex, ast, command, files, language, unless"),
    ("detect:\n- regex: [x]", "regex is not one text", "put the text in single quotes"),
    ("detect:\n- regex:", "regex is not one text", "put the text in single quotes"),
    ('detect:\n- regex: "\\bfoo"', "regex contains a control character", QUOTES),
    ("detect:\n- regex: foo\n  unless: a*", "unless matches an empty text, so everything",
     "let it require a word"),
    ("detect:\n- regex: ^", "regex matches an empty text, so everything", "let it require a word"),
    ("detect:\n- regex: (", "regex: it is not a valid RE2 regular expression (missing ): ()",
     "see https://github.com/google/re2/wiki/Syntax"),
    ("detect:\n- regex: '(?=x)y'",
     "regex: it is not a valid RE2 regular expression (invalid perl operator: (?=)",
     "see https://github.com/google/re2/wiki/Syntax"),
    ("detect:\n- regex: '(a{0,999}){0,999}'",
     "regex: it is not a valid RE2 regular expression (invalid repetition size: {0,999})",
     "see https://github.com/google/re2/wiki/Syntax"),
    ("detect:\n- regex: '\\pL{100}x'", "regex is too large", "use smaller bounds such as .{0,20}"),
    (f"detect:\n- regex: {'x' * 501}", "regex has 501 characters", "shorten it to 500"),
    ("detect:\n- ast: $A + $B", "ast contains no word to look for",
     "name at least one function or keyword"),
    ("detect:\n- ast: foo\n  language: klingon", "unknown language klingon",
     "write one that ast-grep knows, such as python, typescript or go"),
    ("detect:\n- command: rm\n  files: x", "files has no meaning for a command", "remove it"),
    ("detect:\n- regex: foo\n  language: go", "language is for ast patterns only",
     "remove it, or use files"),
    ("detect:\n- regex: foo\n  files: 'a/[z-a]'", "'a/[z-a]' is not a gitignore glob",
     "write one such as src/**/*.py"),
    ("detect:\n- regex: foo\n  files: {a: b}", "files is not a list of globs",
     'write it as ["*.py"]'),
    ("detect:\n- regex: a: b: c", "YAML cannot read it",
     "put the text of each pattern in single quotes"),
])  # fmt: skip
def test_a_bad_pattern_is_ignored_with_a_finding(written, why, fix):
    document = parse(f"type: lesson\n{written}")
    assert document.card is not None
    assert document.card.detect == ()
    found = [f for f in document.findings if f.rule == "bad-pattern"]
    assert [(f.line, f.level, f.message, f.fix) for f in found] == [
        (
            3 if written[7:8] == " " else 4,
            "warning",
            f"detect: {why}, so this pattern is ignored",
            fix,
        )
    ]


def test_good_patterns_beside_a_bad_one_stay():
    document = parse("type: lesson\ndetect:\n- regex: one\n- regex: (\n- regex: two")
    assert document.card is not None
    assert [pattern.text for pattern in document.card.detect] == ["one", "two"]
    assert [(f.line, f.rule) for f in document.findings] == [(5, "bad-pattern")]


def test_a_card_has_at_most_twenty_patterns():
    written = "\n".join(f"- regex: word{number}" for number in range(30))
    document = parse(f"type: lesson\ndetect:\n{written}")
    assert document.card is not None
    assert len(document.card.detect) == 20
    assert [(f.line, f.message) for f in document.findings] == [
        (24, "detect: more than 20 patterns; from here on they are ignored")
    ]


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_an_edit_of_another_key_leaves_patterns_as_they_are(eol):
    text = f"---\n{DETECT}\noccurrences: 1\n---\n# T\n".replace("\n", eol)
    edited = edit_header(text, {"occurrences": 2, "last-seen": "2026-11-22"})
    assert edited == text.replace(
        f"occurrences: 1{eol}", f"occurrences: 2{eol}last-seen: 2026-11-22{eol}"
    )


def test_an_edit_of_a_header_that_is_not_yaml_leaves_patterns_as_they_are():
    text = f"---\ntitle: `a` b: c\n{DETECT}\noccurrences: 1\n---\n# T\n"
    assert edit_header(text, {"occurrences": 2}) == text.replace("occurrences: 1", "occurrences: 2")


def test_the_catalogue_gives_back_the_same_card():
    card = card_of(DETECT)
    assert card_from_json(card.id, card_to_json(card)) == card


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
