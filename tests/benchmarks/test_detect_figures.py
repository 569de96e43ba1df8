"""What is counted of learnt patterns, on projects of a few lines."""

import pytest

from benchmarks import __main__
from benchmarks.data import DataError
from benchmarks.judgement import detect, linter_fixes
from benchmarks.judgement.documented_pairs import read_documented
from benchmarks.judgement.linter_fixes import (
    File,
    Project,
    apply_edits,
    find_data,
    part_of,
    pick_sites,
)
from tests.kit import write

BAD = "def f(x):\n    return run(\n        x,\n        shell=True,\n    )\n"


def project(name, text, *wrong):
    """Return a project of one file; the linter finds its rule in these statements."""
    edit = {"location": {"row": 2, "column": 12}, "end_location": {"row": 5, "column": 6}}
    fix = {"filename": "a.py", "fix": {"edits": [{**edit, "content": "run([x])"}]}}
    return Project(
        name=name,
        files={"a.py": File("a.py", text)},
        verdicts={"S602": frozenset(("a.py", line) for line in wrong)},
        fixes={"S602": (fix,)},
        names={"subprocess-with-shell": "S602"},
    )


HOME = project("home", BAD, 2)
AWAY = project("away", f"{BAD}\n\ny = run(1, shell=True)\nz = run(2, shell=True)\n", 2, 8)


def test_a_fix_is_applied_where_the_linter_says():
    file = HOME.files["a.py"]
    edits = HOME.fixes["S602"][0]["fix"]["edits"]
    assert apply_edits(file, edits) == "def f(x):\n    return run([x])\n"
    (site,) = pick_sites(HOME, "S602", most=2, seed=1)
    assert [(c.line, c.after) for c in site.changes] == [(1, "def f(x):\n    return run([x])\n")]
    assert [file.statement(line) for line in range(1, 6)] == [1, 2, 2, 2, 2]
    assert File("b.py", "def (:\n  x\n").statement(2) == 2


def test_what_is_learnt_in_one_project_is_held_against_the_verdict_on_others():
    projects = [HOME, AWAY]
    lessons = detect.learn(projects, ["S602"], most=1, seed=1)[0]
    counts = detect.count_places(projects, lessons, limit=10)
    (lesson,) = (one for one in lessons if one.project == "home")
    proposal = detect.pick(lesson, counts, 5, alone=False)
    assert proposal is not None
    (outcome,) = detect.judge(
        projects, [(lesson, proposal)], detect.find_places(projects, [proposal])
    )
    assert (outcome.right, outcome.wrong, outcome.due) == (2, 1, 2)
    figures = detect.summarise([outcome])
    assert figures["precision"] == pytest.approx(2 / 3)
    assert figures["recall, all"] == 1
    lines = len(AWAY.files["a.py"].lines)
    assert figures["false in 100,000 lines"] == pytest.approx(100_000 / lines)
    (nothing,) = detect.judge(projects, [(lesson, None)], {})
    figures = detect.summarise([nothing])
    assert (figures["proposed"], figures["recall, all"], figures["precision"]) == (0, 0, None)


RUFF = """\
/// ## Example
/// ```python
/// bad(1)
/// ```
///
/// Use instead:
/// ```python
/// good(1)
/// ```
#[derive(X)]
pub(crate) struct NoBadThing;
"""
BIOME = "".join(f"    /// {line}\n" for line in (
    "### Invalid", "```js,expect_diagnostic", "bad();", "```", "```js,expect_diagnostic",
    "worse();", "```", "### Valid", "```js", "good();", "```",
))  # fmt: skip


def test_examples_are_read_from_documentation(tmp_path):
    pylint = "pylint/doc/data/messages/b/bad-thing"
    write(tmp_path, f"{pylint}/bad.py", "x = bad()\n")
    write(tmp_path, f"{pylint}/good.py", "x = good()\n")
    write(tmp_path, "ruff/no_bad.rs", RUFF)
    write(tmp_path, "biome/no_bad.rs", BIOME)
    assert [
        (one.source, one.rule, one.path, one.bad, one.good) for one in read_documented(tmp_path)
    ] == [
        ("pylint", "bad-thing", "a.py", ("x = bad()\n",), ("x = good()\n",)),
        ("ruff", "no-bad-thing", "a.py", ("bad(1)\n",), ("good(1)\n",)),
        ("biome", "no-bad", "a.js", ("bad();\n", "worse();\n"), ("good();\n",)),
    ]


def test_every_rule_belongs_to_one_part():
    assert {part_of(f"X{n:03}") for n in range(50)} == set(linter_fixes.PARTS)


def test_without_data_one_line_says_how_to_get_it(monkeypatch, capsys, tmp_path):
    monkeypatch.delenv("LESSONS_BENCH_DATA", raising=False)
    assert __main__.main(["detect"]) == 2
    assert "LESSONS_BENCH_DATA" in (told := capsys.readouterr().err)
    assert told.count("\n") == 1
    with pytest.raises(DataError, match="git clone"):
        find_data(str(tmp_path))
