"""Which files a shell command touched, by its words alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.calls.command_lines import (
    find_changed,
    find_patched,
    find_run,
    find_start,
    find_touched,
    is_known,
    is_patch_command,
)


@pytest.mark.parametrize(("command", "run"), [
    ("alembic stamp head", ["alembic stamp head"]),
    ("cd app && FOO=1 alembic 'stamp' head; ls", ["FOO=1 alembic stamp head"]),
    ("bash -lc 'alembic stamp head && pytest'", ["alembic stamp head", "pytest"]),
    ("ssh host 'alembic stamp head'", ["ssh host alembic stamp head"]),
    ("psql -c 'DROP TABLE a'", ["psql -c DROP TABLE a"]),
    ("psql db <<EOF\nDROP TABLE a;\nEOF", ["psql db", "DROP TABLE a;"]),
    ("cat > a.md <<EOF\nalembic stamp\nEOF", []),
    ("grep -rn 'alembic stamp' .", []),
    ("echo alembic stamp", []),
    ("git commit -am x -m 'No alembic stamp'", ["git commit -am x -m"]),
    ("git commit --message='No alembic stamp'", ["git commit"]),
    ("gh pr create --title 'No alembic stamp' --body x", ["gh pr create --title --body"]),
    ("git push --force", ["git push --force"]),
    ("alembic stamp 'head", ["alembic stamp 'head"]),
    ("", []),
])  # fmt: skip
def test_commands_that_a_line_runs(command, run):
    assert find_run(command) == run


def touched(command):
    return dict(find_touched(command))


READS = {
    ("a",): [
        "head -n 5 a", "head -n5 a", "tail -f a", "grep -e x -e y a", "cut -d ' ' -f 1 a", "cat < a",
        "cat a 2>&1", "cat a 2>&-", "cat a &>/dev/null", "(cat a)", "echo $(cat a)",
        "for f in x y; do cat a; done", "FOO=1 BAR='x y' cat a", "cat a a", "env -i X=1 cat a",
        "timeout 5m cat a", "time -p cat a", "cat - a", "sh -c 'cat a' -c 'cat b'", "cat *.py a",
        "grep x <<< word a",
    ],
    ("a", "b"): [
        "sed -n -e 1p -e 2p a b", "if true; then cat a; else cat b; fi", "/bin/cat -n a b",
        "bash -lc 'cat a && cat b'", "cat a \\\n  b", "cat <<'EOF' a\ncat x\nEOF\ncat b",
    ],
    ("b",): ['cat <<A <<-"B"\ncat x\nA\ncat y\n\tB\ncat b'],
    ("c",): ["cat a\\\nb c", 'cat "a\\\nb" c'],
    ("a", "b", "c", "d", "e", "f"): ["cat a; cat b && cat c || cat d | cat e & cat f"],
    ("-a",): ["cat -- -a"],
    ("a.csv",): ["awk -F , '{print $1}' a.csv"],
    (".",): ["find . \\( -name a -o -name b \\) -print"],
    ("src",): [
        "grep -rnE 'x|y' src", "find src -name x -type f", "grep --ignore-case -e x --recursive src",
    ],
    ("src", "tests"): ["rg -t py 'needle' src tests", "find src tests ! -name x"],
    ("src/a.py",): ["sed -n 1,20p src/a.py", "cd src && cat a.py"],
    ("src/deep/a", "/etc/b"): ["cd src; cd deep; cat a /etc/b"],
    ("/etc/b",): ["cd $X; cat a; cat /etc/b; cd c; cat d"],
    ("my file.md", "other file.md", "a b"): ["cat 'my file.md' \"other file.md\" a\\ b"],
    ('a "b" c',): ['cat "a \\"b\\" c"'],
    ("it's.md",): ["cat it\\'s.md"],
    (): [
        "rg needle", "cd; cat a", "cat <<EOF\nit's\n", "python a.py", "perl -ne print a",
        "cat $FILE `pwd`/a *.py a? [ab] {a,b} ~/a", "echo cat a",
        "", "#", "=", "bash a.sh", "bash -c", "bash -x 'rm a'", "mv a", "cp",
        # cannot be read to its end
        "cat a 'b", 'cat a; cat "b', "cat a; cat b\\",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("read", "command"), [(x, c) for x, cs in READS.items() for c in cs])
def test_reads(command, read):
    assert touched(command) == ({"read": read} if read else {})


CHANGES = {
    "edit a": [
        "echo x >> a", "echo x >| a", "echo x &>> a", "echo x >& a", "echo x 2>a",
        "cat > a <<'EOF'\nit's\nEOF", "touch -d yesterday a", "sed -i '' 's/a/b/' a",
        "sed -i -E 's/a/b/' a", "perl -pi -e 's/a/b/' a", "perl -i -E 's/a/b/' a",
    ],
    "edit b": ["echo 'x > y' a2>b"],
    "edit 2": ["echo x > 2"],
    "edit a b": ["echo x | tee -a a b", "sed -i 's/a;b/c/' a b"],
    "read a": ["grep -i x a"],
    "read a, edit b": ["cat a > b", "cp a b"],
    "read b, edit a": ["echo x > a; cat > ; cat b"],
    "read a b, edit c": ["cp -r a b c"],
    "edit b, remove a": ["mv a b"],
    "remove a": ["rmdir a", "bash -c 'rm a'"],
    "remove build a": ["rm -rf build a"],
    "remove a\\b": ['rm "a\\\\b"'],
}  # fmt: skip


@pytest.mark.parametrize(("does", "command"), [(x, c) for x, cs in CHANGES.items() for c in cs])
def test_changes(command, does):
    found = [" ".join([kind, *paths]) for kind, paths in find_touched(command)]
    assert ", ".join(found) == does


@pytest.mark.slow
@pytest.mark.parametrize("piece", [
    *("<<A", "'", '"a', "a\\", "<", "1", "sh -c ", "(", "a=", "\n<<A\n"),
    *("cd a;", "(cd a)", "pushd a;", "cat a|psql ", "for a in b;"),
])  # fmt: skip
def test_long_commands_take_no_time(piece):
    command = (piece * 20_000)[:20_000]
    started = time.process_time()
    find_touched(command)
    find_changed(command)
    find_start(command, "/p")
    assert time.process_time() - started < 1.5


def test_patch_given_to_a_program():
    patch = "*** Begin Patch\n*** Update File: a\n*** End Patch"
    assert is_patch_command(f"apply_patch <<'EOF'\n{patch}\nEOF")
    assert is_patch_command(f"cd src && apply_patch '{patch}'")
    assert not is_patch_command(f"cat > p <<'EOF'\n{patch}\nEOF")
    assert not is_patch_command("apply_patch --help")
    assert not is_patch_command("echo '*** Begin Patch' | apply_patch")


@pytest.mark.parametrize(("command", "expected"), [
    ("cat a b; git diff a; git -C x log a; sort a; eslint a; awk 1 a; perl -ne print a", {}),
    ("sort -o a b", {"change": ("a", "b")}),
    ("git checkout HEAD -- a", {"change": ("checkout", "HEAD", "a")}),
    ("git -C sub restore a", {"change": ("sub/restore", "sub/a")}),
    ("cp a b/", {"change": ("b/a",)}),
    ("rm *.py", {"change": ("*.py",)}),
    ("cd s && ./r -fx --o=y z=w", {"run": ("s/./r", "s/x", "s/y", "s/w", "s/z=w")}),
    ("cat a | psql", {"run": ("a",)}),
    ("cat a | sort", {}),
    ("cat a; psql", {}),
    ("sh -c 'rm a; make b'", {"change": ("a",), "run": ("b",)}),
    ("for f in a b; do make $f; cat ${f}; done", {"run": ("a", "b")}),
    ("grep -rl x docs/ | xargs sed -i s/x/y/", {"change": ("docs/",), "run": ("sed", "s/x/y/")}),
    ("rg -l x a b | sort | xargs -0 -n 1 perl -pi -e s/x/y/",
     {"change": ("a", "b"), "run": ("1", "perl", "i", "s/x/y/")}),
    ("cd s && find d -name '*.md' | xargs rm", {"change": ("s/d",), "run": ("s/rm",)}),
    ("grep -r x docs | xargs sed -i s/x/y/", {"run": ("sed", "s/x/y/")}),
    ("grep -rl x docs | xargs sed s/x/y/", {"run": ("sed", "s/x/y/")}),
    ("grep -rl x docs | xargs cat", {"run": ("cat",)}),
    ("grep -rl x docs; xargs rm", {"run": ("rm",)}),
    ("python -c \"open('a').read()\"", {}),
    ("python -c \"open('a', 'w')\"", {"run": ("a", "w")}),
    ("make 'a", {}),
])  # fmt: skip
def test_what_a_command_may_change_or_run(command, expected):
    assert dict(find_changed(command)) == expected


@given(st.text(max_size=60) | st.from_regex(r"[a-c ;|()<>$'\"&-]{0,30}", fullmatch=True))
def test_any_text_is_looked_at(command):
    for kind, paths in find_changed(command):
        assert kind in ("change", "run")
        assert paths
    assert find_start(command, "/p") in ("/p", "/") or not is_known(find_start(command, "/p"))


@pytest.mark.parametrize(("command", "end", "start"), [
    ("ls", "/p", "/p"),
    ("cd ./src/; cd deep", "/p/src/deep", "/p"),
    ("cd src && ls", "/p", "/p"),
    ("(cd src && ls)", "/p/src", "/p/src"),
    ("cd src", "C:\\p\\src", "C:/p"),
    ("cd p", "/p", "/"),
    ("pushd src; popd", "/p", "/p"),
    *((command, "/p/x", "") for command in ("cd ..", "cd ../x", "cd /p", "cd $X", "cd",
                                            "popd", "cd -")),
])  # fmt: skip
def test_where_a_command_began(command, end, start):
    found = find_start(command, end)
    assert found == start if start else not is_known(found)


def test_a_patch_lies_below_the_folder_in_which_it_is_applied():
    assert find_patched("cd src && apply_patch <<'EOF'\nx\nEOF", ["a", "/b"]) == ("src/a", "/b")
    assert find_patched("apply_patch 'x'", ["a"]) == ("a",)
