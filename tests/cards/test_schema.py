"""The JSON Schema of the header against the reader, the reference and real cards."""

import re
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from lessons_kb.cards.keys import KEYS, MAX_OCCURRENCES, build_schema
from lessons_kb.detect.matcher import MAX_FILES, MAX_PATTERNS, MAX_TEXT
from lessons_kb.model import PATTERNS, RELATIONS
from tests.cards.reading import parse

ROOT = Path(__file__).parents[2]
SCHEMA = build_schema()


class Plain(yaml.SafeLoader):
    """YAML 1.2 as editors read it: a date is text."""


Plain.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in rules if not tag.endswith(":timestamp")]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def accepts(header):
    return Draft202012Validator(SCHEMA).is_valid(yaml.load(header, Loader=Plain))


def findings(header):
    return [one.rule for one in parse(f"---\n{header}\n---\n\n# T\n").findings]


def test_it_is_a_schema_and_names_every_key_with_its_meaning():
    Draft202012Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == list(KEYS)
    page = (ROOT / "docs" / "reference.md").read_text("utf-8").partition("## Card keys")[2]
    rows = dict(re.findall(r"^- `([\w-]+)` \(.*?\): (.*)$", page, re.MULTILINE))
    for name, key in KEYS.items():
        if key.meaning:
            assert rows[name].startswith(SCHEMA["properties"][name]["description"])


@pytest.mark.parametrize(
    "path", sorted((ROOT / "brain-example").rglob("*.md")), ids=lambda p: p.stem
)
def test_it_accepts_real_cards(path):
    text = path.read_text("utf-8")
    if text.startswith("---\n"):
        assert accepts(text.split("---\n")[1])


@pytest.mark.parametrize("header", [
    "severity: high", "severity: critical", "severity:", "type: bug-fix", "status: resolved",
    "applies-to: a, b", "applies-to: [a, 2]", "paths: src/*.py", "occurrences: 3",
    "last-seen: 2026-01-31", "last-seen: 2026-01-31T10:00:00", "title: 2026", "symptoms: [a]",
    "detect: [{regex: 'shell=True', files: ['*.py'], unless: noqa}]",
    "detect: [{ast: 'fetch($X)', language: python}]", "detect: [{command: 'rm -rf'}]",
    "colour: blue", "tags: {a: b}",
])  # fmt: skip
def test_it_accepts_what_the_reader_takes_without_a_word(header):
    assert findings(header) == []
    assert accepts(header)


@pytest.mark.parametrize("header", [
    "severity: urgent", "gate: always", "occurrences: many", "occurrences: 0",
    "last-seen: yesterday", "title: [a]", "symptoms: {a: b}", "detect: [{regex: a, ast: b}]",
    "detect: [{regexp: a}]", "detect: [[shell]]", "detect: [{command: a, colour: b}]",
])  # fmt: skip
def test_it_refuses_what_the_reader_warns_of(header):
    assert findings(header)
    assert not accepts(header)


def test_its_bounds_are_those_of_the_reader():
    patterns = SCHEMA["properties"]["detect"]
    of_one = patterns["items"]["properties"]
    assert patterns["maxItems"] == MAX_PATTERNS
    assert of_one["files"]["maxItems"] == MAX_FILES
    assert {of_one[kind]["maxLength"] for kind in PATTERNS} == {MAX_TEXT}
    assert set(of_one) == {*PATTERNS, *RELATIONS, "files", "language", "unless", "bad", "good"}
    assert SCHEMA["properties"]["occurrences"]["maximum"] == MAX_OCCURRENCES
    assert accepts("detect:\n- ast: open($$$)\n  not-has: encoding\n  bad: open(p)")
