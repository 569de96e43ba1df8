"""Which files a shell command touched, by its words alone."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.guards.command_files import (
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
def test_what_a_line_runs(command, run):
    assert find_run(command) == run


def touched(command):
    return dict(find_touched(command))


@pytest.mark.parametrize(("command", "read"), [
    ("cat a.py", "a.py"),
    ("cat -n a.py b.py", "a.py b.py"),
    ("cat -- -a", "-a"),
    ("/bin/cat a.py", "a.py"),
    ("sed -n 1,20p src/a.py", "src/a.py"),
    ("sed -n -e 1p -e 2p a b", "a b"),
    ("head -n 5 a", "a"),
    ("head -n5 a", "a"),
    ("head -5 a", "a"),
    ("tail -f a", "a"),
    ("grep -rn 'def main' src", "src"),
    ("grep -rnE 'x|y' src", "src"),
    ("grep -e x -e y a", "a"),
    ("grep -A 3 x a", "a"),
    ("rg -t py 'needle' src tests", "src tests"),
    ("rg needle", ""),
    ("grep --ignore-case -e x --recursive src", "src"),
    ("grep --ignore-case needle a", "a"),
    ("awk -F, '{print $1}' a.csv", "a.csv"),
    ("awk -F , '{print $1}' a.csv", "a.csv"),
    ("find src -name x -type f", "src"),
    ("find src tests ! -name x", "src tests"),
    ("find . \\( -name a -o -name b \\) -print", "."),
    ("ls -la src", "src"),
    ("ls", ""),
    ("cut -d ' ' -f 1 a", "a"),
    ("diff -u a b", "a b"),
    ("cat < a", "a"),
    ("cat 'my file.md' \"other file.md\" a\\ b", "my file.md|other file.md|a b"),
    ('cat "a \\"b\\" c"', 'a "b" c|'),
    ("cat it\\'s.md", "it's.md"),
    ("cat a 2>/dev/null", "a"),
    ("cat a 2>&1", "a"),
    ("cat a 2>&-", "a"),
    ("cat a &>/dev/null", "a"),
    ("cat a; cat b && cat c || cat d | cat e & cat f\ncat g", "a b c d e f g"),
    ("(cat a)", "a"),
    ("echo $(cat a)", "a"),
    ("for f in x y; do cat a; done", "a"),
    ("if true; then cat a; else cat b; fi", "a b"),
    ("sudo cat a", "a"),
    ("FOO=1 BAR='x y' cat a", "a"),
    ("FOO=a=b cat a", "a"),
    ("env -i X=1 cat a", "a"),
    ("timeout 60 cat a", "a"),
    ("timeout 5m cat a", "a"),
    ("time -p cat a", "a"),
    ("bash -lc 'cat a && cat b'", "a b"),
    ("sh -c 'cat a' -c 'cat b'", "a"),
    ("cat a \\\n  b", "a b"),
    ("cat a\\\nb c", "c"),
    ('cat "a\\\nb" c', "c"),
    ("cd src && cat a.py", "src/a.py"),
    ("cd src; cd deep; cat a /etc/b", "src/deep/a /etc/b"),
    ("cd $X; cat a; cat /etc/b; cd c; cat d", "/etc/b"),
    ("cd; cat a", ""),
    ("cat <<'EOF' a\ncat x\nEOF\ncat b", "a b"),
    ('cat <<A <<-"B"\ncat x\nA\ncat y\n\tB\ncat b', "b"),
    ("cat <<EOF\nit's\n", ""),
    ("grep x <<< word a", "a"),
    ("cat $FILE `pwd`/a *.py a? [ab] {a,b} ~/a", ""),
    ("cat - a", "a"),
    ("cat *.py a", "a"),
    ("cat a 2>/dev/null b", "a b"),
    ("python a.py", ""),
    ("perl -ne print a", ""),
    ("perl -e print a", ""),
    ("echo cat a", ""),
    ("git diff a", ""),
    ("cat a a", "a"),
    ("", ""),
    ("#", ""),
    ("=", ""),
])  # fmt: skip
def test_reads(command, read):
    expected = tuple(read.strip("|").split("|") if "|" in read else read.split())
    assert touched(command) == ({"read": expected} if expected else {})


@pytest.mark.parametrize(("command", "expected"), [
    ("echo x > a", {"edit": ("a",)}),
    ("echo x >> a", {"edit": ("a",)}),
    ("echo x >| a", {"edit": ("a",)}),
    ("echo x &> a", {"edit": ("a",)}),
    ("echo x &>> a", {"edit": ("a",)}),
    ("echo x >& a", {"edit": ("a",)}),
    ("echo x 2>a", {"edit": ("a",)}),
    ("cat a > b", {"read": ("a",), "edit": ("b",)}),
    ("cat > a <<'EOF'\nit's\nEOF", {"edit": ("a",)}),
    ("echo 'x > y' a2>b", {"edit": ("b",)}),
    ("echo x > a; cat > ; cat b", {"read": ("b",), "edit": ("a",)}),
    ("echo x | tee -a a b", {"edit": ("a", "b")}),
    ("touch a", {"edit": ("a",)}),
    ("touch -d yesterday a", {"edit": ("a",)}),
    ("truncate -s 0 a", {"edit": ("a",)}),
    ("sed -i 's/a;b/c/' a b", {"edit": ("a", "b")}),
    ("sed -i '' 's/a/b/' a", {"edit": ("a",)}),
    ("sed -i -e 's/a/b/' a", {"edit": ("a",)}),
    ("sed -i -E 's/a/b/' a", {"edit": ("a",)}),
    ("perl -pi -e 's/a/b/' a", {"edit": ("a",)}),
    ("perl -i -pe 's/a/b/' a", {"edit": ("a",)}),
    ("perl -i -E 's/a/b/' a", {"edit": ("a",)}),
    ("grep -i x a", {"read": ("a",)}),
    ("rm -rf build a", {"remove": ("build", "a")}),
    ("unlink a", {"remove": ("a",)}),
    ("rmdir a", {"remove": ("a",)}),
    ("cp a b", {"read": ("a",), "edit": ("b",)}),
    ("cp -r a b c", {"read": ("a", "b"), "edit": ("c",)}),
    ("mv a b", {"edit": ("b",), "remove": ("a",)}),
    ("mv a", {}),
    ("cp", {}),
    ("cd src && echo x > a", {"edit": ("src/a",)}),
    ("bash -c 'rm a'", {"remove": ("a",)}),
    ("echo x > 2", {"edit": ("2",)}),
    ('rm "a\\\\b"', {"remove": ("a\\b",)}),
    ("bash a.sh", {}),
    ("bash -c", {}),
    ("bash -x 'rm a'", {}),
])  # fmt: skip
def test_changes(command, expected):
    assert touched(command) == expected


@pytest.mark.parametrize("command", ["cat a 'b", 'cat a; cat "b', "cat a; cat b\\"])
def test_command_that_cannot_be_read_to_its_end_touched_nothing(command):
    assert find_touched(command) == []


def test_longest_command_is_20_000_characters():
    assert touched("cat a" + " " * 19_995) == {"read": ("a",)}
    assert touched("cat a" + " " * 19_996) == {}


@given(st.text(st.sampled_from("a1 '\"\\$;|&<>()\n-=./{}EOF"), max_size=60))
def test_any_text_is_survived(command):
    for kind, paths in find_touched(command):
        assert kind in ("read", "edit", "remove")
        assert paths


@pytest.mark.parametrize(
    "piece", ["<<A", "'", '"a', "a\\", "<", "1", "sh -c ", "(", "a=", "\n<<A\n"]
)
def test_long_commands_take_no_time(piece):
    command = (piece * 20_000)[:20_000]
    started = time.perf_counter()
    find_touched(command)
    assert time.perf_counter() - started < 30


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


@pytest.mark.slow
@pytest.mark.parametrize("piece", ["cd a;", "(cd a)", "pushd a;", "cat a|psql ", "for a in b;"])
def test_many_folders_take_no_time(piece):
    command = (piece * 20_000)[:20_000]
    started = time.process_time()
    find_changed(command)
    find_start(command, "/p")
    assert time.process_time() - started < 1.5


@pytest.mark.parametrize(("command", "end", "start"), [
    ("ls", "/p", "/p"),
    ("cd src && ls", "/p/src", "/p"),
    ("cd ./src/; cd deep", "/p/src/deep", "/p"),
    ("cd src; cd ..", "/p", "/p"),
    ("cd src && ls", "/p", "/p"),
    ("(cd src && ls)", "/p/src", "/p/src"),
    ("pushd src; popd", "/p", "/p"),
    ("cd src", "C:\\p\\src", "C:/p"),
    ("cd p", "/p", "/"),
])  # fmt: skip
def test_where_a_command_began(command, end, start):
    assert find_start(command, end) == start


@pytest.mark.parametrize("command", ["cd ..", "cd ../x", "cd /p", "cd $X", "cd", "popd", "cd -"])
def test_where_a_command_began_that_nothing_tells(command):
    assert not is_known(find_start(command, "/p/x"))


def test_a_patch_lies_below_the_folder_in_which_it_is_applied():
    assert find_patched("cd src && apply_patch <<'EOF'\nx\nEOF", ["a", "/b"]) == ("src/a", "/b")
    assert find_patched("apply_patch 'x'", ["a"]) == ("a",)
