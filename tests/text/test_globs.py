"""Globs mean what git means by them, with braces expanded before."""

import re
import time

import pytest

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
    ("src/** !src/legacy/ !src/legacy/** src/legacy/keep.py", "src/a.py"),
    ("src/** !src/legacy/ !src/legacy/** src/legacy/keep.py", "src/legacy/keep.py"),
    # nothing below a folder that matches can be taken back
    ("src/** !src/legacy/**", "src/legacy/a.py"),
    ("build/ !build/keep.txt", "build/keep.txt"),
    ("v[[:digit:]].py", "v1.py"),
    ("a[[:space:]]b", "a b"),
    ("[!]a]x.py", "bx.py"),
    (r"x[\]]y", "x]y"),
    ("***/a", "deep/down/a"),
    ("a/***/b", "a/x/y/b"),
    ("a/***/b", "a/b"),
    ("src/**/", "src/deep/a.py"),
    ("src/[a/b]", "src/a"),
    ("[z-a]", "z"),
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
    ("src/** !src/legacy/ !src/legacy/** src/legacy/keep.py", "src/legacy/a.py"),
    ("src/**/", "src/top.py"),
    ("[!]a]x.py", "]x.py"),
    ("v[[:digit:]].py", "va.py"),
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
    "glob", ["!", "\\", "a[", "[[:word:]]", "[/]", "a" * (MAX_GLOB + 1), "{a,b}" * 7, "./"]
)
def test_bad_glob_is_named(glob):
    with pytest.raises(InputError, match=re.escape(repr(glob[:80]))):
        compile_globs(["fine/*.py", glob])


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
