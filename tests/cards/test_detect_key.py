r"""The key ``detect``: what it may hold, what is wrong with it, and edits that leave it alone."""

import pytest

from lessons_kb.cards.edit import edit_header
from lessons_kb.model import Pattern
from tests.cards import reading

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
    return reading.parse(f"---\n{header}\n---\n# T\n")


@pytest.mark.parametrize(("written", "texts"), [
    ("", []), ("~", []), ("[]", []), ("''", []), ("\n  regex: os.system", ["os.system"]),
    ("os.system", ["os.system"]), ("[os.system, b]", ["os.system", "b"]), ("'ast: call($A)'", ["call($A)"]),
])  # fmt: skip
def test_a_key_may_be_empty_or_one_pattern(written, texts):
    document = parse(f"type: lesson\ndetect: {written}")
    assert document.findings == ()
    assert [pattern.text for pattern in document.card.detect] == texts


def test_a_header_that_is_not_yaml_elsewhere_keeps_its_patterns():
    document = parse(f"title: `a` b: c\nsymptoms:\n  - `x` fails\n{DETECT}")
    assert [finding.rule for finding in document.findings] == ["header-not-yaml"]
    assert document.card.detect == PATTERNS
    assert document.card.symptoms == ("`x` fails",)


def test_an_example_of_several_lines_may_stand_in_a_file_with_carriage_returns():
    text = "detect:\n- regex: foo\n  bad: |\n    a = 1\n    foo()"
    document = parse(text.replace("\n", "\r\n"))
    assert [pattern.bad for pattern in document.card.detect] == [("a = 1\nfoo()",)]
    assert document.findings == ()


LIST = "write each pattern as `- regex: '…'`, `- ast: '…'`, `- command: '…'` or `- error: '…'`"
QUOTES = "put the pattern in single quotes, which keep backslashes as they are"


@pytest.mark.parametrize(("written", "why", "fix"), [
    ("detect: [~]", "not a pattern", LIST),
    ("detect:\n- files: x", "none of regex, ast, command and error in one pattern", LIST),
    ("detect:\n- regex: x\n  ast: foo", "regex and ast in one pattern", LIST),
    ("detect:\n- regexp: x", "unknown key regexp", "did you mean regex?"),
    ("detect:\n- pattern: x", "unknown key pattern",
     ("known are regex, ast, command, error, files, language, unless, inside, has, follows, "
      "not-inside, not-has, not-follows, bad, good")),
    ("detect:\n- regex: [x]", "regex is not one text", "put the text in single quotes"),
    ('detect:\n- regex: "\\bfoo"', "regex contains a control character", QUOTES),
    ("detect:\n- regex: foo\n  unless: a*", "unless matches an empty text, so everything",
     "let it require a word"),
    ("detect:\n- regex: ^", "regex matches an empty text, so everything", "let it require a word"),
    ("detect:\n- regex: (", "regex: it is not a valid RE2 regular expression (missing ): ()",
     "see https://github.com/google/re2/wiki/Syntax"),
    ("detect:\n- regex: '\\pL{100}x'", "regex is too large", "use smaller bounds such as .{0,20}"),
    (f"detect:\n- regex: {'x' * 501}", "regex has 501 characters", "shorten it to 500"),
    ("detect:\n- ast: $A + $B", "ast contains no word to look for",
     "name at least one function or keyword"),
    ("detect:\n- ast: foo\n  language: klingon", "unknown language klingon",
     "write one that ast-grep knows, such as python, typescript or go"),
    ("detect:\n- command: rm\n  files: x", "files has no meaning for command patterns", "remove it"),
    ("detect:\n- regex: foo\n  not-has: x", "not-has is for ast patterns only",
     "remove it, or use files"),
    ("detect:\n- ast: foo\n  not-has: []", "not-has is not a text or a list of texts",
     "put it in single quotes"),
    ("detect:\n- error: '...'", "error names no error", "copy the line of the output that does"),
    ("detect:\n- regex: foo\n  language: go", "language is for ast patterns only",
     "remove it, or use files"),
    ("detect:\n- regex: foo\n  files: 'a/[[:odd:]]'", "'a/[[:odd:]]' is not a gitignore glob",
     "write one such as src/**/*.py"),
    ("detect:\n- regex: foo\n  files: {a: b}", "files is not a list of globs",
     'write it as ["*.py"]'),
    ("detect:\n- regex: a: b: c", "YAML cannot read it",
     "put the text of each pattern in single quotes"),
])  # fmt: skip
def test_a_bad_pattern_is_ignored_with_a_finding(written, why, fix):
    document = parse(f"type: lesson\n{written}")
    assert document.card.detect == ()
    found = [f for f in document.findings if f.rule == "bad-pattern"]
    line = 3 if written[7:8] == " " else 4
    expected = f"detect: {why}, so this pattern is ignored"
    assert [(f.line, f.level, f.message, f.fix) for f in found] == [
        (line, "warning", expected, fix)
    ]


def test_a_card_has_at_most_twenty_patterns():
    written = "\n".join(f"- regex: word{number}" for number in range(30))
    document = parse(f"type: lesson\ndetect:\n{written}")
    assert len(document.card.detect) == 20
    assert [(f.line, f.message) for f in document.findings] == [
        (24, "detect: more than 20 patterns; from here on they are ignored")
    ]


@pytest.mark.parametrize("title", ["title: T", "title: `a` b: c"])
@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_an_edit_of_another_key_leaves_patterns_as_they_are(title, eol):
    text = f"---\n{title}\n{DETECT}\noccurrences: 1\n---\n# T\n".replace("\n", eol)
    assert edit_header(text, {"occurrences": 2}) == text.replace("occurrences: 1", "occurrences: 2")


def advice(detect):
    text = f"---\ntitle: T\ndetect:\n{detect}\n---\n"
    rules = ("misses-bad-example", "finds-good-example", "bad-pattern")
    return [(f.line, f.message) for f in reading.check(text) if f.rule in rules]


BOTH = "\n  bad: subprocess.run(cmd, shell=True)\n  good: subprocess.run([cmd])"


@pytest.mark.parametrize(("detect", "message"), [
    (rf"- regex: shell\s*=\s*True{BOTH}", ""),
    (f"- ast: subprocess.run($$$, shell=True)\n  language: python{BOTH}", ""),
    ("- command: alembic\\s+stamp\n  bad: $ alembic stamp head", ""),
    (f"- regex: shell = True{BOTH}",
     "regex shell = True does not find its own bad example subprocess.run(cmd, shell=True)"),
    (f"- ast: subprocess.run($$$)\n  language: python{BOTH}",
     "ast subprocess.run($$$) finds its own good example subprocess.run([cmd])"),
])  # fmt: skip
def test_a_pattern_is_tried_on_its_own_examples(detect, message):
    assert advice(detect) == ([(3, f"detect: {message}")] if message else [])


def test_relations_and_examples_are_texts_or_lists():
    document = parse(
        "type: lesson\ndetect:\n- ast: open($$$)\n  language: python\n  not-has: encoding\n"
        "  not-inside: [await $X, 'with $X: $$$']\n  bad: open(p)\n"
        "  good: |-\n    open(\n        p, encoding=e)\n"
    )
    assert document.findings == ()
    (pattern,) = document.card.detect
    assert pattern.relations == (
        ("not-inside", "await $X"), ("not-inside", "with $X: $$$"), ("not-has", "encoding"),
    )  # fmt: skip
    assert (pattern.bad, pattern.good) == (("open(p)",), ("open(\n    p, encoding=e)",))
