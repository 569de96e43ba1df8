"""What a change adds is matched, what was there before is not (SPEC §6a)."""

from dataclasses import replace

import pytest

from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Matcher, Rule, check_pattern, find_nodes, parse_diff
from lessons_kb.model import Pattern
from lessons_kb.text.patterns import compile_globs

CALL = "subprocess.run(cmd, shell=True)"


def rule(text, kind="regex", card="a.md", **more):
    pattern = Pattern(kind=kind, text=text, **more)  # type: ignore[arg-type]
    assert check_pattern(pattern) == ""
    return Rule(card=card, pattern=pattern, globs=compile_globs(pattern.files))


@pytest.mark.parametrize(("character", "is_valid"), [
    ("\n", True), ("\t", True), ("\r", False), ("\x1b", False), ("\ud800", False),
])  # fmt: skip
def test_control_characters_other_than_tab_and_line_feed_are_refused(character, is_valid):
    text = f"foo{character}bar"
    for pattern, name in (
        (Pattern(kind="regex", text=text), "regex"),
        (Pattern(kind="regex", text="foo", unless=text), "unless"),
        (Pattern(kind="regex", text="foo", bad=(text,)), "an example"),
    ):
        reason = check_pattern(pattern)
        assert (reason == "") is is_valid
        assert is_valid or reason.startswith(f"{name} contains a control character; ")


def places(matches):
    return [(match.line, match.column, match.text) for match in matches]


SHELL = rule(r"shell\s*=\s*True", files=("*.py",))
RUN = rule("subprocess.run($$$, shell=True)", "ast")


@pytest.mark.parametrize("one", [SHELL, RUN], ids=["regex", "ast"])
@pytest.mark.parametrize(("before", "after", "line", "found"), [
    ("", f"import subprocess\n\n\ndef run(cmd):\n    {CALL}\n", 1, [f"5: {CALL}"]),
    (f"{CALL}\n", f"x = 1\n{CALL}\n", 1, []),  # was there before
    (f"{CALL}\nready = 1\n", f"if ready:\n    {CALL}\n", 1, []),  # only indented or moved
    (f"{CALL}\n", f"{CALL}\nx = 1\n    {CALL}  # again\n", 1, [f"3: {CALL}  # again"]),
    (f"{CALL}\n", "subprocess.run(cmd)\n", 1, []),
    ("x\n", f"{CALL}\n", 41, [f"41: {CALL}"]),
    ("x\n", f"{CALL}\n", 0, [f"0: {CALL}"]),  # not known
    ("x = 1\r\n", f"x = 1\r\n{CALL}\r\n", 1, [f"2: {CALL}"]),
])  # fmt: skip
def test_matches_that_a_change_adds(one, before, after, line, found):
    change = Change(path="src/run.py", before=before, after=after, line=line)
    matches = Matcher([one]).find_added(change)
    assert [f"{match.line}: {match.text}" for match in matches] == found
    assert {match.path for match in matches} <= {"src/run.py"}


@pytest.mark.parametrize("one", [SHELL, RUN], ids=["regex", "ast"])
def test_the_position_of_a_match_and_its_file_globs(one):
    matches = Matcher([one]).find_in_file("a.py", f"# 실수\né = '한'; {CALL}\n")
    column = 10 if one is RUN else 10 + CALL.index("shell")
    assert places(matches) == [(2, column, f"é = '한'; {CALL}")]
    assert Matcher([one]).find_in_file("notes.md", f"{CALL}\n") == []


def test_syntax_spans_lines_and_uses_the_text_around_the_change():
    change = Change(
        path="a.py",
        before="    check=True,\n",
        after="    shell=True,\n    check=True,\n",
        prefix="subprocess.run(\n    cmd,\n",
        suffix=")\n",
        line=3,
    )
    one = rule("subprocess.run($$$, shell=True, $$$)", "ast")
    assert places(Matcher([one]).find_added(change)) == [(3, 1, "shell=True,")]
    assert Matcher([one]).find_added(replace(change, prefix="", suffix="")) == []


@pytest.mark.parametrize("name", ["javascript", "js", "JS"])
def test_syntax_patterns_of_another_language_do_not_match(name):
    one = rule("console.log($$$)", "ast", language=name)
    for path, found in (("a.js", 1), ("a.mjs", 1), ("a.py", 0)):
        assert len(Matcher([one]).find_in_file(path, "console.log(1)\n")) == found


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_anchors_match_at_each_line(end):
    text = end.join(["x", "import os", "import oslo", ""])
    found = Matcher([rule(r"^import os$")]).find_in_file("a.py", text)
    assert [match.line for match in found] == [2]


@pytest.mark.parametrize(("commands", "found"), [
    (["alembic stamp head"], ["alembic stamp head"]),
    (["cd app", "poetry run  alembic   stamp head"], ["poetry run alembic stamp head"]),
    (["alembic stamp head --sql"], []),
    (["alembic stamp head --sql", "alembic stamp head"], ["alembic stamp head"]),
    (["alembic upgrade head"], []),
    ([], []),
])  # fmt: skip
def test_matches_in_commands(commands, found):
    matcher = Matcher([rule(r"\balembic\s+stamp\b", "command", unless="--sql"), SHELL])
    assert [m.text for m in matcher.find_in_commands(commands)] == found
    assert matcher.find_in_commands(["python -c shell=True"]) == []


def test_a_long_line_is_quoted_around_the_match():
    (match,) = Matcher([SHELL]).find_in_file("a.py", f"{'x' * 5_000}{CALL}{'y' * 5_000}\n")
    assert CALL in match.text
    assert len(match.text) == 200
    assert match.column == 5_000 + CALL.index("shell") + 1


DIFF = """\
diff --git a/src/run.py b/src/run.py
--- a/src/run.py
+++ b/src/run.py
@@ -1,3 +1,4 @@
 import subprocess
-x = 1
+x = 2
+--- y
 z = 3
@@ -40 +41,2 @@ def f():
-a
+b
+c
\\ No newline at end of file
diff --git "a/\\353\\202\\230.py" "b/\\353\\202\\230.py"
new file mode 100644
--- /dev/null
+++ "b/\\353\\202\\230.py"
@@ -0,0 +1 @@
+new
diff --git a/gone.py b/gone.py
--- a/gone.py
+++ /dev/null
@@ -1 +0,0 @@
-old
"""


def test_a_diff_is_parsed_hunk_by_hunk():
    assert list(parse_diff(DIFF)) == [
        Change(
            path="src/run.py",
            before="import subprocess\nx = 1\nz = 3\n",
            after="import subprocess\nx = 2\n--- y\nz = 3\n",
            line=1,
        ),
        Change(path="src/run.py", before="a\n", after="b\nc\n", line=41),
        Change(path="나.py", before="", after="new\n", line=1),
    ]


@pytest.mark.parametrize(("pattern", "code"), [
    ("os.system($$$)", "os.system(x)"),
    ("os.system($$$)", "os . system  (x)"),
    ("os.system($$$)", "os.\\\n    system(x)"),
    ("call($$$, key=1)", "call(\n    a,  # why: a remark of many words\n    key = 1,\n)"),
    ("assert False, $A", "assert False , 'x'"),
    ("len($A) == 0", "len(x) == 0"),
    ("$A.items()[0]", "d.items()[0]"),
    ("grüße($$$)", "grüße(1)"),
    ("dict()", "dict ( )"),
    ("{$A: None for $A in $B}", "{k: None for k in ks}"),
])  # fmt: skip
def test_the_search_for_words_first_loses_no_match(pattern, code):
    assert Matcher([rule(pattern, "ast")]).find_in_file("a.py", f"{code}\n")


def test_many_syntax_patterns_match_together_like_each_alone():
    patterns = [
        "fetch($$$)", "$A + $A", "fetch($X, retry=$Y)", "def $F(): $$$", "$X.run($$$)", "print($A)",
    ]  # fmt: skip
    text = "def f():\n    fetch(fetch(a), retry=print(b + b))\n" * 40 + "c.run(fetch(d)).run(1)\n"
    for some in (patterns, [*patterns, "def"], patterns * 5):
        alone = [
            (place, start, end)
            for place, one in enumerate(some)
            for _, start, end in find_nodes(text, "python", [Pattern(kind="ast", text=one)])
        ]
        together = [Pattern(kind="ast", text=one) for one in some]
        assert list(find_nodes(text, "python", together)) == alone
    assert len({place for place, _start, _end in alone}) > 4


@pytest.mark.parametrize(("relation", "code", "found"), [
    (("not-has", "encoding"), "open(p)\nopen(p, encoding=e)\n", [1]),
    (("not-has", "encoding"), "open(\n    p,\n    encoding=e,\n)\nopen(\n    p,\n)\n", [5]),
    (("has", "rb"), "open(p, 'rb')\nopen(p, 'r')\n", [1]),
    (("not-inside", "await $X"), "async def f():\n    await open(p)\n    open(p)\n", [3]),
    (("inside", "with $X: $$$"), "open(p)\nwith a:\n    if b:\n        open(p)\n", [4]),
    (("follows", "lock()"), "def f():\n    lock()\n    if a:\n        open(p)\nopen(p)\n", [4]),
    (("not-follows", "if not $A: $$$"),
     "def f(p):\n    if not p:\n        return\n    open(p)\n\ndef g(p):\n    open(p)\n", [7]),
])  # fmt: skip
def test_relations_of_syntax_patterns(relation, code, found):
    text = "open($A)" if relation[1] == "if not $A: $$$" else "open($$$)"
    one = rule(text, "ast", relations=(relation,))
    assert [match.line for match in Matcher([one]).find_in_file("a.py", code)] == found
    others = [rule(f"other{n}($$$)", "ast") for n in range(5)]  # found in one walk
    assert [m.line for m in Matcher([one, *others]).find_in_file("a.py", code)] == found


def test_trailing_arguments_and_either_quotes_match():
    one = rule("run($$$, mode='x', $$$)", "ast")
    for code in ("run(a, mode='x')", 'run(mode="x", b=1)', "run(\n    mode='x',\n)"):
        assert Matcher([one]).find_in_file("a.py", f"{code}\n"), code
    assert not Matcher([one]).find_in_file("a.py", "run(a, mode='y')\n")


def test_an_error_is_found_in_the_output_of_a_failure():
    matcher = Matcher([rule("KeyError: 'total' @ cart.py", "error"), SHELL])
    output = "Traceback:\n  File \"/x/cart.py\", line 3, in f\nKeyError: 'total'\n"
    assert [match.text for match in matcher.find_in_failure(output)] == ["KeyError: 'total'"]
    assert matcher.find_in_failure(output.replace("cart", "stock")) == []
    assert matcher.find_in_failure("shell=True") == []
