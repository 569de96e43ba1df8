"""`lessons detect`: a linter over the tree, a change and the history (SPEC §6a)."""

import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.kit import commit, git, make_brain, watched, write

SHELL = r"""---
type: lesson
title: A command line built from input ran a stranger's command
severity: high
created: 2026-02-10
detect:
  - regex: 'shell\s*=\s*True'
    files: ["*.py"]
  - ast: os.system($$$)
---

## Bad

```python
subprocess.run(cmd, shell=True)
```
"""
LINE = "subprocess.run(cmd, shell=True)"
SAID = "— “A command line built from input ran a stranger's command” (lessons/shell.md)"


def save(folder, subject, date="2026-01-05"):
    commit(folder, subject, f"{date}T12:00:00+00:00")


@pytest.fixture
def shop(tmp_path, monkeypatch):
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    make_brain(str(folder))
    for name, text in {
        "lessons/shell.md": SHELL,
        ".gitignore": "build/\n",
        "src/run.py": f"import os\n\n\ndef run(cmd):\n    {LINE}\n",
        "src/old.py": "os.system('ls')  # os.system\n",
        "notes.txt": f"{LINE}\n",
        "build/x.py": LINE,
        "src/data.py": "shell=True\0",
    }.items():
        write(folder, name, text)
    save(folder, "first")
    monkeypatch.chdir(folder)
    return folder


def test_a_find_is_ignored_where_the_line_says_so(shop, lessons):
    for name in ("shell", "lessons/shell.md", "other, SHELL"):
        write(shop, "src/run.py", f"import os\n\n{LINE}  # lessons: ignore {name}\n")
        assert "src/run.py" not in lessons("detect").out, name
    write(shop, "src/run.py", f"{LINE}  # lessons: ignore other\nx(\n    {LINE}\n)\n")
    assert lessons("detect").out.count("src/run.py") == 2
    write(shop, "src/run.py", "os.system(  # lessons: ignore shell\n    1\n)\n")
    assert "src/run.py" not in lessons("detect").out


def test_the_tree(shop, lessons, monkeypatch):
    done = lessons("detect")
    old = f"src/old.py:1:1: `os.system('ls')  # os.system` {SAID}\n"
    assert done.out == f"{old}src/run.py:5:25: `{LINE}` {SAID}\n"
    assert (done.code, done.err) == (1, "lessons: 2 matches of 1 card\n")
    assert lessons("detect", "--exit-zero").code == 0
    (one,) = json.loads(lessons("detect", "src/run.py", "--json").out)
    title = "A command line built from input ran a stranger's command"
    pattern = {"kind": "regex", "text": "shell\\s*=\\s*True", "files": ["*.py"]}
    assert one == {
        "card": "lessons/shell.md", "title": title, "severity": "high", "path": "src/run.py",
        "line": 5, "column": 25, "text": LINE, "pattern": {
            **pattern, "language": "", "unless": "", "relations": [], "bad": [], "good": [],
        },
    }  # fmt: skip
    done = lessons("detect", "src/run.py", "--format", "github")
    assert done.out == (
        f"::error file=src/run.py,title=lessons%3A lessons/shell.md,line=5::`{LINE}` {SAID}\n"
    )
    log = json.loads(lessons("detect", "src/run.py", "--format", "sarif").out)
    (result,) = log["runs"][0]["results"]
    assert (result["ruleId"], result["level"]) == ("lessons/shell.md", "error")
    assert result["locations"][0]["physicalLocation"]["region"] == {"startLine": 5}
    monkeypatch.chdir(shop / "src")
    assert lessons("detect", "run.py").out.startswith("run.py:5:25: ")


@pytest.mark.slow
def test_some_of_it(shop, lessons):
    for paths, found in (
        ("src/run.py", ["src/run.py"]),
        ("src", ["src/old.py", "src/run.py"]),
        ("src src/run.py", ["src/old.py", "src/run.py"]),
        ("build/x.py", ["build/x.py"]),  # ignored, but named
        ("notes.txt lessons", []),
        (".", ["src/old.py", "src/run.py"]),
    ):
        done = lessons("detect", *paths.split(), "--json")
        assert [one["path"] for one in json.loads(done.out)] == found
        assert done.code == bool(found)


def test_a_project_without_git(tmp_path, lessons, monkeypatch):
    make_brain(str(tmp_path))
    write(tmp_path, "a.py", f"{LINE}\n")
    write(tmp_path, ".hidden/b.py", f"{LINE}\n")
    monkeypatch.chdir(tmp_path)
    none = lessons("detect")
    assert (none.code, none.out) == (0, "")
    assert "no card has patterns; add `detect:` to a card" in none.err
    write(tmp_path, "lessons/shell.md", SHELL)
    assert lessons("detect").out == f"a.py:1:21: `{LINE}` {SAID}\n"


def test_a_change_is_held_against_what_it_adds(shop, lessons):
    path = shop / "src" / "run.py"
    path.write_text(
        path.read_text().replace("import os", "import os, sys") + f"    again({LINE})\n"
    )
    (shop / "src" / "new.py").write_text(f"{LINE}\n")
    done = lessons("detect", "--diff")
    assert done.out == (
        f"src/new.py:1:21: `{LINE}` {SAID}\nsrc/run.py:6:31: `again({LINE})` {SAID}\n"
    )
    assert done.code == 1
    save(shop, "second")
    assert lessons("detect", "--diff").out == ""
    assert lessons("detect", "--diff", "HEAD~1..HEAD").out == done.out


def test_syntax_in_a_change_is_read_from_the_whole_file(shop, lessons):
    path = shop / "src" / "old.py"
    rows = "".join(f"    {n},\n" for n in range(20))
    path.write_text(f"x = os.path(\n{rows})\n")
    save(shop, "second")
    path.write_text(f"os.system(\n{rows})\n")
    assert lessons("detect", "--diff").out == f"src/old.py:1:1: `os.system(` {SAID}\n"


@pytest.mark.slow
def test_history_counts_before_and_since_the_card(shop, lessons):
    path = shop / "src" / "run.py"
    for month, date in enumerate(("2026-01-20", "2026-02-09", "2026-02-10", "2026-03-01")):
        path.write_text(path.read_text() + f"    step{month}({LINE})\n")
        save(shop, f"change {month}", date)
    path.write_text("")
    save(shop, "all gone", "2026-04-01")
    done = lessons("detect", "--history")
    assert [line.split() for line in done.out.splitlines()] == [
        ["ID", "CREATED", "MONTH", "BEFORE", "SINCE"],
        ["lessons/shell.md", "2026-02-10", "2026-01", "3", "0"],
        ["lessons/shell.md", "2026-02-10", "2026-02", "1", "1"],
        ["lessons/shell.md", "2026-02-10", "2026-03", "0", "1"],
    ]
    assert done.err == "lessons: added 4× before the cards were created, 2× since\n"
    assert done.code == 0
    (one,) = json.loads(lessons("detect", "--history", "--json").out)
    assert (one["before"], one["since"], len(one["months"])) == (4, 2, 3)
    assert "in git" in (told := lessons("stats", "shell").out)
    assert "added 4× before the card, 2× since (2026-01: 3, 2026-02: 2, 2026-03: 1)" in told
    assert "added 4× before their cards, 2× since" in lessons("stats").out
    assert json.loads(lessons("stats", "shell", "--json").out)["added"][-1] == ["2026-03", 0, 1]
    lessons("report", "--output", shop / "page.html")
    assert "added 4× before the card, 2× since" in (shop / "page.html").read_text()


@pytest.mark.slow
def test_a_history_is_read_once_unless_it_was_rewritten(shop, lessons):
    def read():
        """Return what is told, and how often git was asked for it."""
        with watched() as seen:
            out = lessons("detect", "--history").out
        return out, sum(event == "subprocess.Popen" for event, _what in seen)

    first, asked = read()
    again, less = read()
    assert again == first
    assert less < asked
    (shop / "src" / "new.py").write_text(f"f({LINE})\n")
    save(shop, "another", "2026-05-01")
    assert "2026-05" in read()[0]
    card = shop / "lessons" / "shell.md"
    card.write_text(card.read_text().replace("created: 2026-02-10", "created: 2027-01-01"))
    assert "2027-01-01\t2026-05\t1\t0" in read()[0]
    (shop / "src" / "new.py").write_text("pass\n")
    git(shop, "add", ".")
    git(shop, "commit", "-q", "--amend", "-m", "as if it had never been")
    assert "2026-05" not in read()[0]


def test_more_patterns_than_are_looked_for_are_told(shop, lessons):
    rows = "\n".join(rf"  - regex: 'word{n}.{{0,150}}x'" for n in range(20))
    for name in "abc":
        write(shop, f"lessons/{name}.md", f"---\ndetect:\n{rows}\n---\n# {name}\n")
    assert "beyond the limit were not looked for" in lessons("detect", "src").err


WRONG_USES = [
    (["src", "--diff"], "use one of PATHS, --diff, --history and --test"),
    (["--history", "--diff"], "use one of PATHS, --diff, --history and --test"),
    (["--history", "--format", "sarif"], "--history is printed as text or json"),
    (["gone.py"], "no file or folder gone.py"),
    (["--format", "xml"], "--format must be one of"),
    (["--diff", "nowhere"], "unknown revision"),
]


def test_wrong_uses(shop, lessons):
    for arguments, message in WRONG_USES:
        done = lessons("detect", *arguments)
        assert message in done.err
        assert done.code == 2


def test_lint_warns_of_patterns_that_find_many_places_or_are_no_code(shop, lessons):
    (shop / "src" / "many.py").write_text("".join(f"step{n}({LINE})\n" for n in range(5)))
    git(shop, "add", ".")
    where = "finds 6 places in the project, the first in src/many.py:1"
    expected = f"detect: regex shell\\s*=\\s*True {where}"
    assert f"lessons/shell.md:6: warning finds-often: {expected}" in lessons("lint").out
    (shop / "src" / "many.py").write_text("")
    assert "finds-often" not in lessons("lint").out
    text = SHELL.replace("os.system($$$)", "foo bar\n    language: python")
    (shop / "lessons" / "shell.md").write_text(text)
    assert "bad-pattern: detect: ast foo bar is not python: " in lessons("lint").out


def test_without_the_extra_one_line_says_so(shop, lessons, monkeypatch):
    monkeypatch.setattr("lessons_kb.detect.matcher._ast_grep", lambda: None)
    done = lessons("detect")
    assert "lessons: 1 ast pattern not looked for; run `" in done.err
    assert "[ast]" in done.err
    assert "src/run.py:5" in done.out
    assert "src/old.py" not in done.out
    (shop / "lessons" / "other.md").write_text(SHELL)
    done = lessons("lint")
    assert done.out.count("info no-ast-grep: ") == 1
    assert "[ast]" in done.out


def test_a_draft_of_a_fix_has_no_pattern_that_nobody_wrote(shop, lessons):
    path = shop / "src" / "old.py"
    path.write_text("import os\n\nos.system('ls')\n")
    save(shop, "second")
    path.write_text("import os\n\nrun(['ls'])\n")
    made = lessons("create", "Listing ran in a shell", "--from-diff", "src/old.py")
    text = (shop / made.out.strip().split(":")[0]).read_text()
    assert "-os.system('ls')" in text
    assert "detect:\n" not in text
    assert "pattern" not in text


def test_the_check_of_a_change_names_what_it_contradicts(shop, lessons):
    (shop / "src" / "run.py").write_text(f"import os\n\n{LINE}\n\ndef run(cmd):\n    {LINE}\n")
    done = lessons("check", "--diff", "--fail-on", "contradicted")
    assert done.code == 1
    assert "A command line built from input ran a stranger's command" in done.out
    assert f"src/run.py:3: {LINE}" in done.out


RULED = r"""
---
type: lesson
title: Text files were read in the machine's encoding
severity: high
detect:
  - ast: open($$$)
    language: python
    not-has: encoding
    bad: "x = open(path)"
    good: "x = open(path, encoding='utf-8')"
  - ast: requests.$A($$$, verify=False, $$$)
    language: python
    bad: "requests.get(url, verify=False)"
    good: "requests.get(url)"
  - regex: 'shell\s*=\s*True'
    files: ["*.py"]
  - ast: "def $A($$$): $$$"
    language: python
    not-inside: "@pytest.mark.asyncio"
    bad: "async def test_a(): await b()"
    good: "@pytest.mark.asyncio\nasync def test_a(): await b()"
---

## Root Cause

The default differs between machines.
""".lstrip()


@pytest.fixture
def ruled(shop):
    write(shop, "lessons/shell.md", RULED)
    return shop


def test_the_examples_of_patterns_are_tested(ruled, lessons):
    done = lessons("detect", "--test")
    assert (done.code, done.out, done.err) == (0, "", "lessons: 6 examples, 0 failed\n")
    write(ruled, "lessons/shell.md", RULED.replace("'utf-8')", "e)").replace("open(path)", "f(p)"))
    done = lessons("detect", "--test")
    assert done.code == 1
    assert done.out == "lessons/shell.md: ast open($$$): bad, and not found: x = f(p)\n"
    assert lessons("detect", "--test", "--exit-zero").code == 0
    assert "does not find its own bad example x = f(p)" in lessons("lint").out


def run_tool(*command, cwd):
    environment = {**os.environ, "HOME": str(cwd), "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_ast_grep_runs_the_exported_rules_and_their_tests(ruled, lessons):
    done = lessons("detect", "--export", "ast-grep", "rules")
    reason = "ast-grep supports only ast patterns with a language"
    assert f"lessons/shell.md: regex pattern 3 left out: {reason}" in done.err
    assert "7 files written to rules" in done.err
    tool = os.path.join(os.path.dirname(sys.executable), "ast-grep")
    code, told = run_tool(tool, "test", "--skip-snapshot-tests", cwd=ruled / "rules")
    assert (code, "3 passed; 0 failed" in told) == (0, True), told
    (ruled / "src" / "bad.py").write_text("x = open(p)\ny = open(p, encoding=e)\n")
    config = str(ruled / "rules" / "sgconfig.yml")
    _code, told = run_tool(tool, "scan", "-c", config, "src/bad.py", "--json", cwd=ruled)
    (found,) = json.loads(told.partition("\nError: ")[0])
    assert found["message"] == "Text files were read in the machine's encoding"
    assert found["note"] == "The default differs between machines."
    assert found["range"]["start"]["line"] == 0


@pytest.mark.parametrize("tool", ["semgrep", "opengrep"])
def test_semgrep_and_opengrep_run_the_exported_rules_and_their_tests(ruled, lessons, tool):
    path = shutil.which(tool)
    if path is None:
        pytest.skip(f"{tool} is not on the PATH")
    assert lessons("detect", "--export", tool, "rules").code == 0
    quiet = ("--metrics=off", "--disable-version-check") if tool == "semgrep" else ()
    code, told = run_tool(path, "--test", *quiet, ".", cwd=ruled / "rules")
    assert (code, "3/3: ✓ All tests passed" in told) == (0, True), told


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["ast-grep", "semgrep"])
def test_exported_rules_come_back_as_cards(ruled, lessons, tmp_path, tool):
    lessons("detect", "--export", tool, str(tmp_path / "rules"))
    (marker,) = (tmp_path / "rules").rglob("*-4.yml")
    for place, source in (("other", marker.parent), ("one", marker)):
        make_brain(str(tmp_path / place))
        named = ("--brain", tmp_path / place)
        done = lessons(*named, "import", source, "--near", "new", "--yes")
        assert done.code == 0, done.err
    cards = sorted((tmp_path / "other").glob("lessons/*.md"), key=lambda path: len(path.name))
    assert len(cards) >= 3, "each rule keeps its pattern"
    first = cards[0].read_text()
    assert "title: Text files were read in the machine's encoding" in first
    assert "not-has: 'encoding'" in first
    assert "severity: high" in first
    (card,) = (tmp_path / "one").glob("lessons/*.md")
    assert re.search(r"not-inside: .?@pytest\.mark\.asyncio", card.read_text())


def test_a_rule_that_no_pattern_says_is_passed_over(shop, lessons):
    rule = "id: a\nmessage: Too deep\nlanguage: python\nrule: {any: [{kind: call}]}\n"
    (shop / "rule.yml").write_text(rule)
    done = lessons("import", "rule.yml")
    assert "Too deep" in done.out
    assert "pattern has no counterpart in a card" in done.out
    (shop / "rule.yml").write_text("a: [")
    done = lessons("import", "rule.yml")
    assert done.code == 2
    assert "not YAML" in done.err


def test_one_rule_that_makes_no_card_does_not_keep_the_others_back(shop, lessons):
    (shop / "rules.yml").write_text(
        "rules:\n"
        "  - {id: a, message: '', languages: [python], pattern: 'eval(x)'}\n"
        "  - {id: '', message: '', languages: [python], pattern: 'eval(x)'}\n"
        "  - {id: c, message: No languages, languages: [], pattern: 'eval(x)'}\n"
        f"  - {{id: d, message: Too long, languages: [python], pattern: 'f({'x, ' * 30_000})'}}\n"
        "  - {id: e, message: The good one, languages: [python], pattern: 'exec(x)'}\n"
    )
    done = lessons("import", "rules.yml", "--yes")
    assert done.code == 0, done.err
    assert "No languages" in done.out
    assert (shop / "lessons" / "the-good-one.md").exists()
    lines = ["a0: &a0 [x, x]", *(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]" for n in range(1, 40))]
    (shop / "rules.yml").write_text("\n".join([*lines, "rules: [{id: *a39, languages: x}]"]))
    done = lessons("import", "rules.yml")
    assert (done.code, "rules.yml: line" in done.err) == (2, True), done.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: 5\n", "bad.yml: `rules` is not a list"),
        ("rules: {}\n", "bad.yml: `rules` is not a list"),
        ("rules:\n  - 7\n  - null\n", "bad.yml: item 1 of `rules` is not a rule"),
    ],
)
def test_a_file_without_rules_is_no_success(shop, lessons, text, said):
    (shop / "bad.yml").write_text(text)
    done = lessons("import", "bad.yml")
    assert done.code == 2
    assert said in done.err


def test_a_plain_text_is_a_pattern_and_one_that_is_none_is_told_of(shop, lessons, health):
    write(shop, "lessons/old.md", "---\ntitle: Old call\ndetect: os.system\n---\n")
    assert "“Old call”" in lessons("detect", "src").out
    write(shop, "lessons/old.md", "---\ntitle: Old call\ndetect: os.(system\n---\n")
    assert "1 pattern cannot be used; `lessons lint` says why" in lessons("detect", "src").err
    assert "lessons/old.md:3: detect: regex" in "".join(map(str, health("file")))
