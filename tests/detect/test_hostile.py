"""No pattern and no text makes detection slow, wrong or loud."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import (
    Matcher,
    Rule,
    check_pattern,
    check_syntax,
    find_nodes,
    measure,
    parse_diff,
)
from lessons_kb.model import Pattern

pytestmark = pytest.mark.slow  # random patterns

TEXTS = st.text(st.sampled_from("ab(){}[]'\"\\\n\r\0\ud800é한 =,:#$")) | st.text()


def regex(text, **more):
    return Rule(card="a.md", pattern=Pattern(kind="regex", text=text, **more))


AST = Rule(card="b.md", pattern=Pattern(kind="ast", text="subprocess.run($$$, shell=True)"))
CATASTROPHIC = (r"(a+)+$x?b", r"(a|aa)+b", r"(x+x+)+y", r"^(([a-z])+.)+[A-Z]([a-z])+$")


@pytest.mark.parametrize("pattern", CATASTROPHIC)
def test_a_catastrophic_expression_takes_linear_time(pattern):
    # Python's re would not come back from any of these.
    one = regex(pattern)
    assert check_pattern(one.pattern) == ""
    for text in ("a" * 1_000_000, "x" * 1_000_000, "a!" * 500_000):
        Matcher([one]).find_in_file("a.py", text)


@pytest.mark.parametrize("line", ["x" * 10_000_000, "shell=True\n" * 1_000_000, "\0" * 10_000_000])
def test_ten_megabytes_are_cut(line):
    found = Matcher([regex("shell=True"), AST]).find_in_file("a.py", line)
    assert len(found) <= 1_000


def test_code_with_invalid_characters_is_still_matched():
    text = "\ud800\0 subprocess.run(cmd, shell=True)\n"
    found = Matcher([regex("shell=True"), AST]).find_in_file("a.py", text)
    assert {match.rule.card for match in found} == {"a.md", "b.md"}


@given(TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_any_pattern_is_rejected_or_can_be_searched(pattern, text):
    one = regex(pattern)
    if check_pattern(one.pattern) == "":
        assert measure(one.pattern) > 0
        Matcher([one]).find_in_file("a.py", text)


@given(TEXTS, TEXTS, TEXTS)
@settings(max_examples=200, deadline=None)
def test_any_change_can_be_searched(before, after, around):
    one = regex("[ab]=?")
    change = Change(path="a.py", before=before, after=after, prefix=around, suffix=around)
    found = Matcher([one, AST]).find_added(change)
    lines = after.replace("\r\n", "\n").split("\n")
    assert all(1 <= match.line <= len(lines) for match in found)
    same = Change(path="a.py", before=after, after=after, prefix=around, suffix=around)
    assert Matcher([one, AST]).find_added(same) == []


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_any_text_can_be_an_ast_pattern(pattern):
    if check_pattern(Pattern(kind="ast", text=pattern)) == "":
        check_syntax(Pattern(kind="ast", text=pattern), "python")
        list(find_nodes("subprocess.run(cmd)\n", "python", [Pattern(kind="ast", text=pattern)]))


@given(st.text())
def test_any_text_can_be_parsed_as_a_diff(text):
    list(parse_diff(text))
    list(parse_diff(f"+++ {text}\n@@ -0,0 +1 @@\n+{text}"))


@given(st.lists(st.sampled_from(["aa", "b+", "[cd]e", "x.{0,5}y", r"\bz"]), max_size=8), TEXTS)
def test_a_compiled_set_matches_like_each_pattern_alone(patterns, text):
    rules = [Rule(card=str(n), pattern=regex(p).pattern) for n, p in enumerate(patterns)]
    together = {match.rule.card for match in Matcher(rules).find_in_file("a", text)}
    alone = {one.card for one in rules if Matcher([one]).find_in_file("a", text)}
    assert together == alone


def test_patterns_that_exceed_one_set_all_match():
    rules = [
        Rule(card=str(n), pattern=Pattern(kind="regex", text=rf"\pL.{{0,50}}k{n};"))
        for n in range(40)
    ]
    assert all(check_pattern(one.pattern) == "" for one in rules)
    text = "\n".join(f"x k{n};" for n in range(40))
    found = Matcher(rules).find_in_file("a", text)
    assert {match.rule.card for match in found} == {str(n) for n in range(40)}


def test_an_unknown_language_matches_nothing(capfd):
    one = Rule(card="a", pattern=Pattern(kind="ast", text="foo($A)", language="klingon"))
    assert Matcher([one]).find_in_file("a.xyz", "foo(1)\n") == []
    assert capfd.readouterr() == ("", "")
