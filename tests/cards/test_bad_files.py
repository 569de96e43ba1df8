"""Bad cards are never lost and never fatal; real headers are often not YAML (SPEC §1, §13)."""

import time

import pytest
import yaml

from lessons_kb.cards import read_header as yaml_reader
from tests.cards.reading import parse


def only_error(document):
    assert document.card is None
    assert document.fields == {}
    first = document.findings[0]
    assert first.level == "error"
    return first.rule, first.line


@pytest.mark.parametrize(("text", "rule", "line"), [
    ("---\ntitle: T\n----\n", "unclosed-header", 1),
    ("---\n: : :\n\t- [\n---\n# T\n", "unreadable-header", 2),
    # a rule far below does not make a header of what stands above it
    ("---\ntitle: T\nseverity: high\n\n# T\n\nOne.\n\nTwo.\n\nThree.\n\n---\nx\n",
     "unreadable-header", None),
    ("---\na: " + "[" * 60_000 + "\n---\n", "header-refused", 2),
    ("---\na:\n" + "- " * 20_000 + "x\n---\n", "header-refused", 3),
    ("---\na: " + "{a: " * 15_000 + "\n---\n", "header-refused", 2),
    ("---\na:\n" + "".join(f"{' ' * n}- b:\n" for n in range(1, 200, 2)) + "---\n",
     "header-refused", None),
])  # fmt: skip
def test_headers_that_cannot_be_used(text, rule, line):
    start = time.perf_counter()
    document = parse(text)
    assert time.perf_counter() - start < 30
    found = only_error(document)
    assert found[0] == rule
    assert line in (None, found[1])


def _refuse_at_once(_loader):
    raise yaml.YAMLError("no brackets today")


@pytest.mark.slow
@pytest.mark.parametrize("parser", ["as installed", "pure Python", "refuses everything"])
@pytest.mark.parametrize(("value", "deep"), [
    ("[" * 18 + "]" * 18, True),
    ("[" * 18, True),
    ("\n  - [" + "x, [" * 17 + "]" * 18, True),
    ("{a: " * 18 + "}" * 18, True),
    ("{a: [" * 9 + "\n" + "]}" * 9, True),
    ("&b !!seq [" + "it's, [" * 17 + "]" * 18, True),
    ("[" * 1_200 + "]" * 1_200, True),
    ("[" * 1_500, True),
    ("{a: " * 1_500, True),
    ("[" * 9 + "]" * 9 + "\nb: " + "[" * 9 + "]" * 9, False),
    ("[" + "[]," * 40 + "]", False),
    ("['" + "[" * 40 + '\', "\\"' + "[" * 40 + '"]', False),
    ("[a, # " + "[" * 40 + "\n  b]", False),
    ("see " + "[" * 40, False),
])  # fmt: skip
def test_depth_is_our_own_rule_whatever_the_yaml_library_refuses(monkeypatch, parser, value, deep):
    loader = {"pure Python": yaml.SafeLoader}.get(parser, yaml.CSafeLoader)
    if parser == "refuses everything":
        loader = type("Loader", (loader,), {"get_event": _refuse_at_once})
    monkeypatch.setattr(yaml, "CSafeLoader", loader)
    yaml_reader._loader.cache_clear()
    try:
        found = parse(f"---\ntitle: T\na: {value}\n---\n# T\n").findings
    finally:
        yaml_reader._loader.cache_clear()
    refused = [finding.message for finding in found if finding.rule == "header-refused"]
    assert refused == ["the header is not accepted: it is nested too deeply"] * deep


def bomb(levels):
    lines = ["a0: &a0 [lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "---\ntype: lesson\ntitle: T\n" + "\n".join(lines) + "\n---\n# T\n"


def test_alias_bomb_is_refused():
    assert only_error(parse(bomb(9)))[0] == "header-refused"
    assert only_error(parse(bomb(9), path="elsewhere/a.md"))[0] == "header-refused"


@pytest.mark.parametrize("text", [
    "---\n\n# T\n\nText.\n", "---\nA line.\n\n---\n\n# T\n", "# T\n\n---\n\nText.\n\n---\n", "---",
    "----\ntitle: x\n----\n# T\n", "+++\ntitle = 'x'\n+++\n# T\n",
])  # fmt: skip
def test_a_note_may_begin_with_a_thematic_break(text):
    document = parse(text, path="docs/a.md")
    assert document.findings == ()
    assert document.card.title == ("T" if "# T" in text else "a")


@pytest.mark.parametrize("start", ["", "\ufeff", "\n", "\ufeff\n  \n"])
@pytest.mark.parametrize("eol", ["\n", "\r\n", "\r"])
def test_shapes_of_a_header(start, eol):
    fence = "--- \t"
    text = f"{start}{fence}\n# comment\ntitle: T\n\nseverity: high\n{fence}\nBody\n"
    document = parse(text.replace("\n", eol))
    assert (document.card.title, document.card.severity) == ("T", "high")
    assert document.body == f"Body{eol}"
    assert document.findings == ()


NOT_YAML = """\
---
title: `transform` replaces: everything  # for now
date: 2026-03-31
tags: [codegen, "a, b"]
component: tooling # the shared one
symptoms:
  - `bun check` fails: {"code": 1}
  - "quoted \\"text\\"" # comment
  - 'single ''quotes'''
  - plain with `# hash` inside
  - @scope/package is missing
  # a comment between
  - count() returns 0 for
    eq-prefix plus range
related:
  - name: x
    url: y
severity: high
notes: |
  first: line
  - second
empty:
---
# T
"""


def test_header_that_yaml_refuses_is_read_leniently():
    document = parse(NOT_YAML, path="docs/solutions/a.md")
    card = document.card
    assert card.title == "`transform` replaces: everything"
    assert card.created == "2026-03-31"
    assert card.topics == ("codegen", "a, b", "tooling")
    assert card.severity == "high"
    assert card.symptoms == (
        '`bun check` fails: {"code": 1}',
        'quoted "text"',
        "single 'quotes'",
        "plain with `# hash` inside",
        "@scope/package is missing",
        "count() returns 0 for eq-prefix plus range",
    )
    first, *others = document.findings
    assert (first.rule, first.level, first.line) == ("header-not-yaml", "warning", 2)
    assert {(one.rule, one.level) for one in others} == {("cut-value", "info")}


@pytest.mark.parametrize(("header", "field", "value"), [
    ("title: 'it's late'", "title", "'it's late'"),
    ('title: "said" twice', "title", '"said" twice'),
    ("title: [broken Session files", "title", "broken Session files"),
    ('title: "half written', "title", "half written"),
    ("title: {", "title", "T"),
    ("title: [fix] Retry without a key", "title", "[fix] Retry without a key"),
    ("title: @x\noccurrences: 2   #seen", "occurrences", 2),
    ("title: @x\noccurrences: #seen", "occurrences", 1),
    ("title: @x\nseverity: low #noise #1", "severity", "low"),
    ("title: @x #1", "title", "@x #1"),
    ("title: @x\ntags: see #12", "topics", ("see #12",)),
    ("title: @x\npaths: [src/**, '*.py',\n  b/c]", "paths", ("src/**", "*.py", "b/c")),
    ("title: @x\nsymptoms:\n\t- tab", "symptoms", ("tab",)),
    ("title: @x\nproject: # none", "project", None),
    ("title: @x\nreopen-when:\n  it is\n  asked for", "reopen_when", "it is asked for"),
    ('title: "\\ud800"', "title", "\\ud800"),
    ("  title: @x\n  severity: low", "severity", "low"),
    ("title: @x\nseverity: low\nseverity: high", "severity", "high"),
])  # fmt: skip
def test_lenient_values(header, field, value):
    document = parse(f"---\n{header}\n---\n# T\n")
    assert getattr(document.card, field) == value
    assert "header-not-yaml" in [finding.rule for finding in document.findings]


@pytest.mark.parametrize("title", ["!!python/object/apply:os.system ['x']", "[a]"])
@pytest.mark.parametrize(("body", "injected"), [
    ("Some prose.\n", False),
    ("## Root Cause\n\nIt was so.\n", False),
    ("# A heading\n\nSome prose.\n", True),
    ("## Prevention Checklist\n\n- Look twice\n", True),
])  # fmt: skip
def test_a_title_that_cannot_be_read_is_no_lesson_by_itself(title, body, injected):
    document = parse(f'---\ntitle: {title}\npaths: ["*.py"]\n---\n{body}', "lessons/py.md")
    assert document.card.is_injectable is injected
