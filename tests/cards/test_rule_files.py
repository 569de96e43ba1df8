"""Rules of Semgrep and ast-grep as patterns: what is read, what is passed over, what is refused."""

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.cards.foreign_yaml import MAX_DEPTH, MAX_VALUES, read_documents
from lessons_kb.cards.rule_files import parse_rules
from lessons_kb.errors import InputError

AST_GREP = {"id": "a", "message": "Open names no encoding", "language": "python"}
SEMGREP = {"id": "s", "message": "A shell is started", "severity": "ERROR", "languages": ["python"]}


def read_one(**rule):
    """Return the pattern of one rule, and why there is none."""
    ((_about, pattern, reason),) = parse_rules(yaml.safe_dump(rule))
    return pattern, reason


def test_rules_are_read_as_patterns():
    pattern, _reason = read_one(**AST_GREP, rule={"pattern": "open($A)"}, files=["src/**"])
    assert (pattern.kind, pattern.text, pattern.language) == ("ast", "open($A)", "python")
    assert pattern.files == ("src/**",)
    inside = {"pattern": "with $A: $B", "stopBy": "end"}
    every = {"all": [{"pattern": "open($A)"}, {"not": {"inside": inside}}]}
    pattern, _reason = read_one(**AST_GREP, rule=every)
    assert pattern.relations == (("not-inside", "with $A: $B"),)
    pattern, _reason = read_one(**SEMGREP, pattern="subprocess.run(..., shell=True)")
    assert pattern.text == "subprocess.run($$$, shell=True)"
    pattern, _reason = read_one(**SEMGREP, patterns=[{"pattern-regex": "os.system"}])
    assert (pattern.kind, pattern.text) == ("regex", "os.system")


IMPOSSIBLE = {
    "an empty pattern": ({**SEMGREP, "pattern": ""}, "ast is not one text"),
    "an empty place": (
        {**SEMGREP, "patterns": [{"pattern": "x"}, {"pattern-inside": ""}]},
        "pattern-inside is not a text",
    ),
    "a place of blanks": (
        {**SEMGREP, "patterns": [{"pattern": "x"}, {"pattern-not-inside": " \n"}]},
        "pattern-not-inside is not a text",
    ),
    "no languages": (
        {**SEMGREP, "languages": [], "pattern": "x"},
        "`languages` is empty; add a language",
    ),
    "languages of a mapping": (
        {**SEMGREP, "languages": {"a": "b"}, "pattern": "x"},
        "languages is not a list of texts",
    ),
    "all of nothing": ({**AST_GREP, "rule": {"all": None}}, "all is not a list of rules"),
    "all of a number": ({**AST_GREP, "rule": {"all": 5}}, "all is not a list of rules"),
    "all of numbers": ({**AST_GREP, "rule": {"all": [5]}}, "all is not a list of rules"),
    "no rule": ({**AST_GREP, "rule": None}, "rule is not a mapping"),
    "two patterns": (
        {**AST_GREP, "rule": {"all": [{"pattern": "a()"}, {"pattern": "b()"}]}},
        "more than one pattern",
    ),
    "two patterns of Semgrep": (
        {**SEMGREP, "patterns": [{"pattern": "a()"}, {"pattern": "b()"}]},
        "more than one pattern",
    ),
    "a decorator of nothing": (
        {**AST_GREP, "rule": {"inside": {"kind": "decorated_definition", "has": 3}}},
        "inside is not a single pattern or word",
    ),
    "files of a mapping": (
        {**AST_GREP, "rule": {"pattern": "a()"}, "files": [{"glob": "x"}]},
        "files is not a list of texts",
    ),
    "paths of a number": (
        {**SEMGREP, "pattern": "a()", "paths": {"include": 5.5, "exclude": []}},
        "",
    ),
    "patterns of a text": ({**SEMGREP, "patterns": "x"}, "patterns is not a list of mappings"),
    "a pattern of a list": ({**SEMGREP, "pattern": ["x"]}, "pattern is not a text"),
}


@pytest.mark.parametrize(("rule", "reason"), IMPOSSIBLE.values(), ids=IMPOSSIBLE)
def test_a_rule_that_is_no_pattern_says_why(rule, reason):
    ((_about, pattern, found),) = parse_rules(yaml.safe_dump(rule))
    if reason:
        assert pattern is None
        assert reason in found


def test_a_rule_whose_title_is_no_text_has_its_id_for_a_title():
    for message in (None, "", [], {"a": "b"}):
        rule = {**SEMGREP, "message": message, "pattern": "start(x)"}
        ((about, pattern, _reason),) = parse_rules(yaml.safe_dump(rule))
        assert (about["title"], pattern is not None) == ("s", True)


def test_plain_texts_stay_as_they_are_written():
    text = "id: 007\nmessage: no\nlanguages: [python]\npattern: yes\n"
    ((about, pattern, _reason),) = parse_rules(text)
    assert (about["id"], about["title"], pattern.text) == ("007", "no", "yes")


def test_anchors_and_merge_keys_are_followed():
    text = """\
base: &base {languages: [python], severity: ERROR}
rules:
  - <<: *base
    id: &name first
    pattern: one()
  - <<: [*base, {severity: INFO, message: of the second mapping}]
    id: second
    message: *name
    pattern: two()
"""
    rules = [(about["title"], about["severity"], one.text) for about, one, _ in parse_rules(text)]
    assert rules == [("first", "high", "one()"), ("first", "high", "two()")]


def doubling(levels):
    """Return a list that holds the one before it twice, again and again."""
    lines = ["a0: &a0 [x, x]"]
    lines += [f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, levels)]
    return "\n".join([*lines, f"rules: [{{id: a, languages: *a{levels - 1}, pattern: x}}]"])


REFUSED = {
    "aliases that double": (doubling(40), "aliases"),
    "aliases that double in keys that are merged": (
        "a0: &a0 {k: v, l: v}\n"
        + "\n".join(f"a{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}" for n in range(1, 40))
        + "\nrules: [{<<: *a39}]",
        "aliases",
    ),
    "an alias of what it is in": ("rules: &a [*a]", "nothing is named"),
    "an alias of nothing": ("rules: [*b]", "nothing is named"),
    "brackets": ("[" * 100_000, ""),
    "nested lists": ("rules: " + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "deeply"),
    "dashes": ("- " * 50_000, ""),
    "nested mappings": ("\n".join(f"{' ' * n}a:" for n in range(2_000)), "deeply"),
    "many values": ("rules:\n" + "- x\n" * (MAX_VALUES + 1), "values"),
    "a key that is a list": ("rules:\n  ? [a]\n  : b\n", "a key is not plain text"),
    "a merge of a text": ("rules: [{<<: text}]", "<< names no mapping"),
    "no YAML": ("a: [", "not YAML"),
    "a control character": ("a: \x01", "not YAML"),
    "half a character": ("a: \ud800", "not YAML"),
}


@pytest.mark.parametrize(("text", "reason"), REFUSED.values(), ids=REFUSED)
def test_a_file_that_would_exhaust_its_reader_is_refused_in_one_line(text, reason):
    with pytest.raises(InputError) as refused:
        list(parse_rules(text))
    assert reason in str(refused.value)
    assert "\n" not in str(refused.value)


ODD = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.sampled_from(["", " ", "\n", "x", "python", "open($A)", "...", "@a", "^x$", "a" * 300])
    | st.floats(allow_nan=True),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["all", "any", "not", "inside", "has", "pattern", "regex", "kind", "", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
RULE_KEYS = (
    *("id", "message", "note", "severity", "language", "languages", "files", "rule", "patterns"),
    *("pattern", "pattern-regex", "pattern-not-regex", "pattern-inside", "pattern-not-inside"),
    *("pattern-either", "paths", "metadata"),
)
PARTS = st.lists(st.dictionaries(st.sampled_from(RULE_KEYS[9:15]), ODD, max_size=2), max_size=3)
RULE = st.dictionaries(
    st.sampled_from(RULE_KEYS),
    ODD | PARTS | st.fixed_dictionaries({"all": PARTS}) | st.fixed_dictionaries({"include": ODD}),
    max_size=6,
)


@given(st.fixed_dictionaries({"rules": st.lists(RULE, max_size=3) | ODD}) | RULE)
def test_any_shape_at_any_place_of_the_schema_is_a_pattern_or_a_reason(data):
    try:
        rules = [*parse_rules(yaml.safe_dump(data))]
    except InputError:  # of `rules` that are no list of mappings the whole file is refused
        return
    for about, pattern, reason in rules:
        assert (pattern is None) == bool(reason), about
        assert len(reason.splitlines()) <= 1
        assert all(isinstance(value, str) for value in about.values())


@given(
    st.recursive(
        st.none() | st.text("ab: -#'\"\n[]{}&*!|>", max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner)
        ),
        max_leaves=10,
    )
)
def test_the_reader_gives_back_what_was_written(data):
    assert read_documents(yaml.safe_dump(data, allow_unicode=True)) == [data]
