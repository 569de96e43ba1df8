"""Globs name the paths that `git check-ignore` names.

The reference is git itself, 2.39.5 when this was written. Patterns and paths are drawn at random;
each set of patterns becomes the `.gitignore` of a folder of its own, so that one call of git
answers for all of them. Patterns with braces or commas are ours alone and tested in test_globs.
"""

import random
import re
import subprocess

import pytest

from lessons_kb import hook_gates
from lessons_kb.errors import InputError
from lessons_kb.text.patterns import compile_globs, get_hints, match_globs

FOLDERS = ["a", "b", "src", "src/deep", "src/deep/a", "a/b", "a/x", "a/x/y", "build", "v1"]
FILES = [
    *("top.py", "a.py", "x", "v2.py", "]x.py", "bx.py", "x]y", "a b", "-x", "[x", "c", "{a"),
    *("src/top.py", "src/deep/b.py", "src/deep/a/b", "a/b/c", "a/x/y/b", "a/x/b", "a/c.py"),
    *("build/keep.txt", "build/a", ".hidden", "a/.hidden", "v1/a.py", "Z1", "!x", "#x", "x\\y"),
]
TREE = [*FILES, *(f"{folder}/" for folder in FOLDERS)]
NAMES = [
    *("a", "b", "x", "src", "deep", "build", "*", "**", "***", "*.py", "a*", "*b", "?", "a?b"),
    *("[ab]", "[!a]", "[^b]*", "[]x]x.py", "[!]a]x.py", r"x[\]]y", "[a-c]", "[z-a]", "[a-]*"),
    *("v[[:digit:]].py", "a[[:space:]]b", "[[:upper:]]?", "[[:alpha:][:digit:]]", "[![:alnum:]]x"),
    *(
        "[[:foo:]]",
        "[a",
        "\\a",
        "\\",
        "a\\*",
        ".*",
        "*.*",
        "keep.txt",
        "top.py",
        "c",
        "[/]",
        "[[x]*",
    ),
    *("**a", "b**", "?**", "*[b]", r"[\a-c]", "[--x]x", r"x\\y", "[[:x]", "a[b/c]"),
]
SIGNS = "ab*?[]!^-\\/.x:"


def draw_pattern(rng):
    """Return one line of an ignore file."""
    kind = rng.random()
    if kind < 0.15:
        return "".join(rng.choice(SIGNS) for _ in range(rng.randint(1, 8)))
    names = [rng.choice(NAMES) for _ in range(rng.choice((1, 1, 2, 2, 3, 4)))]
    start = rng.choice(("", "", "", "/", "!", "!", "!/"))
    end = rng.choice(("", "", "", "/", " "))
    return f"{start}{'/'.join(names)}{end}"


def is_left_out(pattern):
    """Return whether git and we differ on a pattern, for one of these reasons.

    - A leading `./` is nothing for us, as card authors expect; git never matches it.
    - Two asterisks behind a name (`a**/b`) are ordinary asterisks, says gitignore(5). git 2.39
      takes them for any number of folders where only plain characters stand before them.
    """
    plain = pattern.removeprefix("!")
    return plain.startswith("./") or bool(re.match(r"/?[^*?\[\\]*[^*?\[\\/]\*\*", plain))


def is_refused(pattern):
    """Return whether we name a pattern as bad; git must never match it then."""
    try:
        compile_globs([pattern])
    except InputError:
        return True
    return False


def ask_git(folder, sets):
    """Return the paths that git ignores: `3/a.py` lies in the folder of the third set."""
    subprocess.run(["git", "init", "-q", folder], check=True)
    for number, patterns in enumerate(sets):
        base = folder / str(number)
        for name in FOLDERS:
            (base / name).mkdir(parents=True, exist_ok=True)
        for name in FILES:
            (base / name).touch()
        (base / ".gitignore").write_text("".join(f"{line}\n" for line in patterns))
    # git knows a folder from the disk; a slash behind its name would be part of the name.
    names = [path.rstrip("/") for path in TREE]
    asked = [f"{number}/{name}" for number in range(len(sets)) for name in names]
    answer = subprocess.run(
        ["git", "-c", "core.ignorecase=false", "check-ignore", "--no-index", "--stdin", "-z"],
        cwd=folder,
        input="\0".join(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode in (0, 1), answer.stderr
    return {path for path in answer.stdout.split("\0") if path}


def find_differences(folder, sets):
    """Yield each path of which git and we say different things, with its patterns."""
    ignored = ask_git(folder, sets)
    for number, patterns in enumerate(sets):
        compiled = compile_globs([line for line in patterns if not is_refused(line)])
        for path in TREE:
            by_git = f"{number}/{path.rstrip('/')}" in ignored
            assert hook_gates.match_globs(compiled, path) == match_globs(compiled, path), path
            if match_globs(compiled, path) != by_git:
                yield patterns, path, by_git
            if by_git:
                assert any(hint in path for hint in get_hints(compiled)), (patterns, path)


def draw_sets(count, seed):
    rng = random.Random(seed)
    sets = []
    for _ in range(count):
        patterns = [draw_pattern(rng) for _ in range(rng.choice((1, 1, 2, 3)))]
        sets.append([one for one in patterns if one.strip() and not is_left_out(one)])
    return sets


def test_the_cases_that_git_decides(tmp_path):
    sets = [[name] for name in NAMES if not is_left_out(name)]
    sets += [
        *(
            ["build/", "!build/keep.txt"],
            ["src/**/"],
            ["***/a"],
            ["a/***/b"],
            ["src/**", "!src/deep"],
        ),
        *(["*", "!a/", "!a/x/", "!a/x/b"], ["/*", "!/a"], ["\\!x"], ["\\#x"], ["#x"], ["a\\ b"]),
    ]
    assert not list(find_differences(tmp_path, sets))


def test_drawn_patterns_name_what_git_names(tmp_path):
    assert not list(find_differences(tmp_path, draw_sets(60, seed=7)))


@pytest.mark.slow
def test_twenty_thousand_drawn_pairs_name_what_git_names(tmp_path):
    sets = draw_sets(1_500, seed=41)
    pairs = sum(len(patterns) for patterns in sets) * len(TREE)
    assert pairs > 20_000
    assert not list(find_differences(tmp_path, sets))
