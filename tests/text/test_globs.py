"""Globs mean what git and pathspec mean by them."""

import re
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pathspec import GitIgnoreSpec

from lessons_kb.errors import InputError
from lessons_kb.text.patterns import MAX_GLOB, MAX_PATH, compile_globs, get_hints, match_globs

MATCHING = [
    ("src/**/*.py", "src/a.py"),
    ("src/**/*.py", "src/a/b/c.py"),
    ("/src/*.py", "./src/a.py"),
    ("*.py", "deep/down/x.py"),
    ("/setup.py", "setup.py"),
    ("docs", "docs/a/b.md"),
    ("docs/", "docs/a/b.md"),
    ("a/**/b/**/c", "a/x/b/y/z/c"),
    ("src/[a-c]?.ts", "src/bx.ts"),
    ("src/[!a]b.ts", "src/cb.ts"),
    (r"\!important.md", "!important.md"),
    ("./src/*.py", "src/a.py"),
    ("src/**/*.{ts,tsx}", "src/ui/button.tsx"),
    ("{src,lib}/{a,b}.py", "lib/b.py"),
    ("한글/*.md", "한글/파일.md"),
    ("**/migrations/**", "app/db/migrations/0001.py"),
    ("(a)/*.py", "(a)/x.py"),
    # Python warns of classes that look like set operations on the error output of who compiles them
    ("[[a]x", "[x"),
    ("[+--]", ","),
    ("[a&&b]", "&"),
    ("[a||b]", "|"),
    ("[a~~b]", "~"),
    ("[]a[]", "["),
    ("\\[a[[]", "[a["),
    ("[!-a]x", "bx"),
    # later ones take back
    ("src/** !src/legacy/** src/legacy/keep.py", "src/a.py"),
    ("src/** !src/legacy/** src/legacy/keep.py", "src/legacy/keep.py"),
    ("* !lessons/ !lessons/a.md", "notes/"),
    ("* !lessons/ !lessons/a.md", "lessons/b.md"),
    ("* !lessons/ !lessons/a.md", "lessons/deep/"),
]
NOT_MATCHING = [
    ("src/**/*.py", "lib/src/a.py"),
    ("/setup.py", "sub/setup.py"),
    ("docs/", "docs"),
    ("src/*.py", "src/a/b.py"),
    ("*.py", "x.pyc"),
    ("#comment", "#comment"),
    ("", "anything"),
    ("!src/a.py", "src/a.py"),
    ("*.{ts,tsx}", "a.{ts,tsx}"),
    ("x[!a]y", "x/y"),
    ("[!-a]x", "ax"),
    ("[!-a]x", "-x"),
    ("src/** !src/legacy/** src/legacy/keep.py", "src/legacy/a.py"),
    ("* !lessons/ !lessons/a.md", "lessons/"),
    ("* !lessons/ !lessons/a.md", "lessons/a.md"),
    ("*", "a" * (MAX_PATH + 1)),
]


@pytest.mark.parametrize(
    ("glob", "path", "matches"),
    [*((*one, True) for one in MATCHING), *((*one, False) for one in NOT_MATCHING)],
)
def test_matching(glob, path, matches):
    assert match_globs(compile_globs(glob.split(" ")), path) is matches


def test_most_globs_are_ruled_out_without_matching():
    compiled = compile_globs(["src/billing/**/*.py", "!src/web/**"])
    assert get_hints(compiled) == ("billing",)
    assert get_hints(compile_globs(["*"])) == ("",)
    assert get_hints(()) == ()


@pytest.mark.parametrize(
    "glob", ["!", "\\", "a[", "[z-a]", "a" * (MAX_GLOB + 1), "{a,b}" * 7, "src/[a/b]", "./"]
)
def test_bad_glob_is_named(glob):
    with pytest.raises(InputError, match=re.escape(repr(glob[:80]))):
        compile_globs(["fine/*.py", glob])


SEGMENT = st.one_of(
    st.sampled_from(["a", "b", "ab", "a.py", "*.py", "*", "**", "a*", "*b", "a*b*c", "?", "[ab]"]),
    st.sampled_from(["*a*", "a**b", "***", ".hidden", "a?b", "[a-c]*", "한*", "a b", "*.*"]),
    st.text("ab.*?", min_size=1, max_size=6),
)
GLOB = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENT, min_size=1, max_size=5).map("/".join),
    st.sampled_from(["", "", "/"]),
).filter(lambda glob: not glob.removeprefix("!").startswith("./"))  # where we differ on purpose
NAME = st.one_of(
    st.sampled_from(["a", "b", "ab", "a.py", "abc", "axbyc", ".hidden", "한글", "a b", "a.b.py"]),
    st.text("ab.c", min_size=1, max_size=6).filter(lambda name: name.strip(".")),
)
PATH = st.builds(
    "{}{}".format, st.lists(NAME, min_size=1, max_size=6).map("/".join), st.sampled_from(["", "/"])
)


@pytest.mark.slow
@given(st.lists(GLOB, max_size=4), st.lists(PATH, max_size=8))
@example(["!a/b", "a/"], ["a/b"])
@example(["a/**/b/**/b/c"], ["a/b/b/c", "a/b/c", "a/b/x/b/c", "a/b/b/b/c"])
@example(["**/a/**/a/**/b"], ["a/a/b", "x/a/a/a/b", "a/b"])
@example(["*ab*ab*ab"], ["abab", "ababab", "xabxabxababx", "abababab"])
def test_agrees_with_pathspec(globs, paths):
    spec = GitIgnoreSpec.from_lines(globs)
    compiled = compile_globs(globs)
    for path in paths:
        assert match_globs(compiled, path) == spec.match_file(path), path
    if any(spec.match_file(path) for path in paths):
        assert any(hint in "\n".join(paths) for hint in get_hints(compiled))


@pytest.mark.parametrize(("glob", "path"), [
    ("*a" * 30 + "b", "a" * 250),
    ("**/a" * 30 + "/b", "a/" * 2000 + "a"),
    ("a/**/" * 30 + "b", "a/" * 2000 + "a"),
    ("*a*/**/" * 20 + "b", "aaa/" * 1000 + "a"),
    ("[ab]*" * 40 + "c", "ab" * 100),
])  # fmt: skip
def test_time_stays_bounded_on_hostile_globs(glob, path):
    compiled = compile_globs([glob])
    began = time.process_time()
    match_globs(compiled, path)
    assert time.process_time() - began < 30
