"""The file paths that a prompt mentions."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.paths import MAX_PATHS, find_paths
from lessons_kb.text.sentences import split_sentences
from tests.text.wild_text import WILD_TEXT

PATHS = {
    "please fix src/app/main.py and lib/util.ts.": ["src/app/main.py", "lib/util.ts"],
    "see `docs/guide.md`, (src/a.py) or [here](src/b.py)!": [
        *("docs/guide.md", "src/a.py", "src/b.py")
    ],
    "**src/a.py**, 'src/b.py', it's src/c.py": ["src/a.py", "src/b.py", "src/c.py"],
    '  File "src/a.py", line 3, in f': ["src/a.py"],
    '  File "/srv/my app/a b.py", line 3, in f': ["/srv/my app/a b.py"],
    "at src/x.ts:10:5": ["src/x.ts"],
    "    at Object.run (/home/u/app/x.ts:10:5)": ["/home/u/app/x.ts"],
    "at x (webpack-internal:///./src/y.tsx:10:5)": ["src/y.tsx"],
    "at file:///home/u/z.mjs:3:1": ["/home/u/z.mjs"],
    "at com.acme.Foo.bar(Foo.java:12)": ["Foo.java"],
    "  --> src/main.rs:10:5": ["src/main.rs"],
    "\t/home/u/app/main.go:42 +0x1d": ["/home/u/app/main.go"],
    "src/b.ts(10,5): error TS2345": ["src/b.ts"],
    "tests/test_a.py::test_b[x] FAILED": ["tests/test_a.py"],
    "app/models/user.rb:10:in `save'": ["app/models/user.rb"],
    "in C:\\src\\X.cs:line 12": ["C:/src/X.cs"],
    "diff --git a/src/x.py b/src/x.py\n--- a/src/x.py\n+++ b/src/x.py\n@@ -1 +1 @@": ["src/x.py"],
    "--- /dev/null\n+++ b/src/new.py": ["src/new.py"],
    "src\\win\\a.cs and C:\\Users\\me\\b.ts": ["src/win/a.cs", "C:/Users/me/b.ts"],
    '"C:\\Program Files\\app\\c.py"': ["C:/Program Files/app/c.py"],
    '{"file": "C:\\\\Users\\\\me\\\\d.py"}': ["C:/Users/me/d.py"],
    "path:src/m.toml --config=src/n.yaml": ["src/m.toml", "src/n.yaml"],
    "src/r.ts#L10-L20 src/s.js?v=3": ["src/r.ts", "src/s.js"],
    "./src/a.py src/a.py ./src/a.py": ["src/a.py"],
    "../up/x.c ~/.ssh/config /etc/hosts": ["../up/x.c", "~/.ssh/config", "/etc/hosts"],
    "app/[id]/page.tsx and app/(auth)/login.tsx": ["app/[id]/page.tsx", "app/(auth)/login.tsx"],
    "README.md, package.json, Makefile and .env": ["README.md", "package.json", "Makefile", ".env"],
    ".github/workflows/ci.yml": [".github/workflows/ci.yml"],
    "main.py를 고치고 src/앱/메인.py에서": ["main.py", "src/앱/메인.py"],
    "「src/x.rb」を直す。": ["src/x.rb"],
    "data/deep/model.onnx": ["data/deep/model.onnx"],
    "in @src/a.py, @./src/b.py and @README.md": ["src/a.py", "src/b.py", "README.md"],
    "from '@/components/Button.tsx'": ["@/components/Button.tsx"],
    "node_modules/@types/node/fs.d.ts": ["node_modules/@types/node/fs.d.ts"],
}


@pytest.mark.parametrize(("text", "paths"), PATHS.items())
def test_find_paths(text, paths):
    assert list(find_paths(text)) == paths


@pytest.mark.parametrize("text", [
    "", "fix the flaky tests",
    "https://example.org/a/b.html and http://localhost:3000/src/App.jsx:10:5",
    "git@github.com:owner/repo.git s3://bucket/key.txt", "github.com/spf13/cobra/cmd.go",
    "1/2 of it, 24/7, 2024/01/15, 01/15/2024, 3.11, v1.2.3, HTTP/1.1",
    "and/or, TCP/IP, client/server, application/json, owner/repo, feature/new-login",
    "e.g. this, i.e. that, etc. Node.js, Next.js",
    "console.log(x), res.json(), self.name, this.config, os.path.join, a.b.c, x.h",
    "src/**/*.py and *.ts and all .py files", "/compact, /api/v1/users, --out=x, \\d+ \\n \\w",
    "me@example.com wrote ... ./ ../ // . ..",
])  # fmt: skip
def test_no_paths(text):
    assert find_paths(text) == ()


def test_find_paths_stops_at_a_limit():
    text = "\n".join(f"src/file{number}.py" for number in range(MAX_PATHS * 3))
    paths = find_paths(text)
    assert len(paths) == MAX_PATHS
    assert paths[0] == "src/file0.py"


@given(WILD_TEXT)
def test_paths_are_posix_and_found_again(text):
    paths = find_paths(text)
    assert len(set(paths)) == len(paths)
    for path in paths:
        assert "\\" not in path
        assert "\n" not in path
        assert not path.startswith("./")
        assert path.strip() == path


@pytest.mark.slow
@given(st.lists(st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True), min_size=2, max_size=5))
def test_a_plain_path_is_found_wherever_it_stands(parts):
    path = "/".join(parts) + ".py"
    for frame in (
        "fix {}", "`{}`", '"{}"', "({})", "[x]({})", "at {}:10:5", "+++ b/{}", "{}.", "{}를",
    ):  # fmt: skip
        assert find_paths(frame.format(path)) == (path,)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [
    *("a", "/", "\\", "a/", "a.", "./", "(", "[", '"', '"/', "a:", "A:\\", "`. ", "https://"),
    *("\n--- a/", "a@", "é", "..", "?#", "](", "*", "x.py ", 'File "', "```\n", "! ", "다.", "。"),
    *("。」", ". ", ".\n", "x\n", "([{"),
])  # fmt: skip
def test_a_megabyte_takes_bounded_time(unit):
    text = unit * (1_000_000 // len(unit))
    if unit == "x.py ":  # no two alike
        text = " ".join(f"x{n}.y{n} a/b{n}/c{n} \\x{n}" for n in range(25_000))
    began = time.process_time()
    find_paths(text)
    assert time.process_time() - began < 30
    split_sentences(text[:200_000])
    assert time.process_time() - began < 30
