"""Patterns learnt from a fix match before it and not after (SPEC §6a)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.detect import matcher as ast_patterns
from lessons_kb.detect.matcher import Change, Matcher, Rule
from lessons_kb.detect.propose import count_matches, find_agreeing, find_candidates
from lessons_kb.detect.propose import propose as propose_rare


def propose(changes):
    return propose_rare(changes, lambda proposals, _most: [True] * len(proposals))


@pytest.mark.parametrize(("path", "before", "after", "patterns"), [
    ("a.py", "subprocess.run(cmd, shell=True)", "subprocess.run(shlex.split(cmd))",
     ["subprocess.run($$$, shell=True)"]),
    ("a.py", "requests.get(url, verify=False, timeout=3)", "requests.get(url, timeout=3)",
     ["requests.get($$$, verify=False, $$$)", "requests.get($$$, verify=False)"]),
    ("a.py", "x = os.system('rm ' + name)", "x = subprocess.run(['rm', name])", ["os.system"]),
    ("a.py", "when = datetime.utcnow()", "when = datetime.now(UTC)", ["datetime.utcnow"]),
    ("a.js", "el.innerHTML = value;", "el.textContent = value;", ["$A.innerHTML"]),
    ("a.go", "t := time.Now()", "t := clock.Now()", ["time.Now()"]),
    ("a.py", "assert x == None", "assert x is None", ["$A == None"]),
    ("a.py", "self.assertEqual(a, b)", "assert a == b", ["$A.assertEqual($$$)"]),
    ("a.py", "raise ValueError('bad')", "raise CartError('bad')", ["ValueError($$$)"]),
    ("a.py", 'hasattr(x, "__call__")', "callable(x)", ['hasattr($$$, "$A")', "hasattr($$$, '$A')"]),
    # A text that was only moved may be any, one that went away may not.
    ("a.py", 'raise ValueError("bad")', 'msg = "bad"\nraise ValueError(msg)', ['ValueError("$A")',
     "ValueError('$A')"]),
    ("a.py", "check('a, b', c)", "check(('a', 'b'), c)", []),
    ("a.py", "open(p, 'r')", "open(p)", ["open($$$, 'r')", 'open($$$, "r")']),
    # Nothing specific was removed.
    ("a.py", "x = 1", "x = 2", []),
    ("a.py", "total(a)", "total(b)", []),
    ("a.py", "assert x == y", "assert x is y", []),
    ("a.py", "x = open(path)", "x = open(path, encoding='utf-8')", ["open($$$)"]),
    # A piece of ordinary code, and a name that means nothing elsewhere.
    ("a.py", "def f(a):\n    if a:\n        return True\n    return False",
     "def f(a):\n    return a", []),
    ("a.py", "raise Stop(f'{x}')", "msg = f'{x}'\nraise Stop(msg)", []),
    ("a.txt", "subprocess.run(cmd, shell=True)", "x", []),
    ("a.py", "", "import os", []),
    ("a.py", "import os", "", []),
])  # fmt: skip
def test_what_a_fix_removed_becomes_a_pattern(path, before, after, patterns):
    change = Change(path=path, before=f"{before}\n", after=f"{after}\n")
    found = propose([change])
    assert [one.text for one in found] == patterns
    for pattern in found[:1]:
        matcher = Matcher([Rule(card="a", pattern=pattern)])
        assert matcher.find_in_file(path, change.before)
        assert not matcher.find_in_file(path, change.after)


def test_all_that_was_removed_is_part_of_the_mistake():
    change = Change(path="a.py", before="list(x)[0]\n", after="next(iter(x))\n")
    texts = [proposal[0].text for proposal in find_candidates(change)]
    assert texts == ["list($$$)", "list($$$)[0]"]


def test_a_pattern_finds_the_next_instance_elsewhere():
    fix = Change(
        path="a.py", before="subprocess.run(cmd, shell=True)\n", after="subprocess.run([cmd])\n"
    )
    matcher = Matcher([Rule(card="a", pattern=propose([fix])[0])])
    assert matcher.find_in_file("b.py", "out = subprocess.run(f'ls {x}', cwd=here, shell=True)\n")
    assert not matcher.find_in_file("b.py", "subprocess.run(['ls'], check=True)\n")


def test_at_most_three_are_proposed():
    changes = [
        Change(path="a.py", before=f"mod.bad{n}(x)\n", after=f"mod.good{n}(x)\n") for n in range(9)
    ]
    assert len(propose(changes)) == 3


def test_without_the_extra_nothing_is_proposed(monkeypatch):
    monkeypatch.setattr(ast_patterns, "_ast_grep", lambda: None)
    assert propose([Change(path="a.py", before="os.system(x)\n", after="run(x)\n")]) == []


CODE = st.lists(
    st.sampled_from(
        ["f", "(", ")", ",", "x", "=", "'s'", ".", "\n", "    ", "def ", "1", "é", "{"]
    ),
    max_size=25,
).map("".join)


@pytest.mark.slow
@given(CODE | st.text(), CODE | st.text())
@settings(max_examples=150, deadline=None)
def test_any_fix_is_read(before, after):
    # With the variants of a pattern, each of which may find nothing here: of other quotes, say.
    if patterns := propose([Change(path="a.py", before=before, after=after)]):
        matcher = Matcher([Rule(card="a", pattern=pattern) for pattern in patterns])
        assert len(matcher.find_in_file("a.py", after)) < len(matcher.find_in_file("a.py", before))


FIRST = Change(path="a.py", before="out = run(x, shell=True)\n", after="out = run([x])\n")
SECOND = Change(path="b.py", before="run(cmd, cwd=d, shell=True)\n", after="run(parts, cwd=d)\n")
OTHER = Change(path="b.py", before="sock.connect(a)\n", after="sock.connect_ex(a)\n")


def test_two_fixes_agree_on_what_both_show():
    def every(proposals, _most):
        return [True] * len(proposals)

    agreed = propose_rare([FIRST], every, again=[SECOND])
    assert "run($$$, shell=True)" in [one.text for one in agreed]
    assert propose_rare([FIRST], every, again=[OTHER]) == []
    assert propose_rare([FIRST], every, again=[]) == []


def test_what_is_not_rare_in_the_project_is_not_proposed():
    files = [(name, "x = run(a, shell=True)\n" * 9) for name in ("c.py", "d.py")]

    def are_rare(proposals, most):
        return [count <= most for count in count_matches(proposals, files, most=most)]

    assert propose_rare([FIRST], are_rare) == []


def test_counting_ends_above_the_limit():
    candidates = [one for one in find_candidates(FIRST) if one[0].text == "run($$$, shell=True)"]
    read = []

    def files():
        for number in range(9):
            read.append(number)
            yield "c.py", "run(a, shell=True)\n" * 4

    assert count_matches(candidates, files(), most=5) == [6]
    assert read == [0, 1]


def test_what_was_added_excuses_the_code_it_was_added_to():
    (pattern,) = propose(
        [Change(path="a.py", before="x = open(p)\n", after="x = open(p, encoding='utf-8')\n")]
    )
    matcher = Matcher([Rule(card="a", pattern=pattern)])
    assert matcher.find_in_file("b.py", "with open(name, 'r') as file:\n    pass\n")
    assert not matcher.find_in_file("b.py", "y = open(name, encoding='ascii')\n")


def test_names_of_the_file_are_read_from_around_the_piece():
    fix = Change(
        path="a.py",
        prefix="import os\n\nclient = make()\n\n\ndef f(path):\n",
        before="    client.remove(os.environ, path)\n",
        after="    client.delete(os.environ, path)\n",
        line=6,
    )
    assert [one[0].text for one in find_candidates(fix)][:1] == ["$A.remove"]


def test_a_proposal_finds_either_kind_of_quotes():
    fix = Change(path="a.py", before="x = f(y, 'w')\n", after="x = g(y)\n")
    for one in find_candidates(fix):
        if "w" in one[0].text:
            assert find_agreeing([one], replace(fix, before='f(z, "w")\n', after="g(z)\n"))
