"""The trial's material: what is right passes, what nobody was told of fails; and its harness."""

import json
import subprocess
import sys

import pytest

from benchmarks.trial import material, rehearse, results

TASKS = {task.name: (repository, task) for repository, task in material.read_material()}
CARDS = {f"lessons/{card.name}" for card in (material.BRAIN / "lessons").iterdir()}
RIGHT = {  # kind → nothing done, natural, obeyed
    material.CONVENTION: (False, False, True),
    material.PLAIN: (False, True, True),
    material.TRAP: (False, True, False),
}


def count(kind):
    return sum(material.find_kind(name) == kind for name in TASKS)


def test_there_are_enough_tasks_of_each_kind():
    assert len(TASKS) >= 30
    assert count(material.PLAIN) >= 7
    assert count(material.TRAP) >= 4
    assert len(CARDS) >= 40
    for name, (_repository, task) in TASKS.items():
        wanted = set() if material.find_kind(name) == material.PLAIN else {task.lesson}
        assert {task.lesson} - {""} == wanted
        assert wanted <= CARDS


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_the_check_tells_solutions_apart(name, tmp_path):
    repository, task = TASKS[name]
    kind, passed = material.find_kind(name), []
    for number, obey in enumerate((None, False, True)):
        folder = tmp_path / str(number)
        material.copy_files(repository, folder)
        changes = () if obey is None else material.solve(repository, name, obey=obey)
        for path, text in changes:
            (folder / path).write_text(text, encoding="utf-8")
        own = [sys.executable, "-m", "unittest", "-q"]
        assert subprocess.run(own, cwd=folder, capture_output=True).returncode == 0
        right, note = material.run_check(repository, task, folder)
        passed.append(right)
        if not right and obey is not None:  # it works, and the convention alone is missed
            assert all(test.startswith("test_convention") for test in note.split()), note
    assert tuple(passed) == RIGHT[kind]


@pytest.fixture
def prepared(tmp_path):
    out = tmp_path / "out"
    arms = "without,act,catalogue"
    rehearse.main(["prepare", str(out), "--tasks", "northpost-timeouts", "--arms", arms])
    entries = json.loads((out / "INDEX.json").read_text())
    return {(one["arm"], one["run"]): material.Path(one["dir"]) for one in entries}


def propose(folder, *words, text=""):
    command = ["./propose", *words]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True)


@pytest.mark.slow
def test_a_rehearsal_from_folders_to_figures(prepared, tmp_path):
    assert set(prepared) == {("without", 1), ("without", 2), ("act", 1), ("catalogue", 1)}
    plain, act, listed = (prepared[arm, 1] for arm in ("without", "act", "catalogue"))
    assert "lesson" not in (plain / "PROMPT.md").read_text().lower()
    assert not (plain / "lessons").exists()
    card = "lessons/northpost-bought-twice.md"
    assert [path.name for path in (act / "lessons").iterdir()] == ["northpost-bought-twice.md"]
    assert "[LESSON_TITLES]" in (listed / "PROMPT.md").read_text()
    assert len(list((listed / "lessons").iterdir())) == len(CARDS)
    for folder, obey in ((plain, False), (act, True), (listed, True)):
        for path, text in material.solve("parcelhub", "northpost-timeouts", obey=obey):
            done = propose(folder, path, text=text)
            assert done.returncode == 0
            assert ("X-NP-Dedupe" in done.stdout) == (folder is not plain)
    (listed / card).read_text()
    assert propose(plain, "../x").returncode == 1
    rehearse.main(["score", str(tmp_path / "out"), "--results", str(tmp_path)])
    rows = {(row["arm"], row["run"]): row for row in results.read_results(tmp_path)}
    outcomes = {arm: row["outcome"] for (arm, _run), row in rows.items()}
    assert outcomes == {"without": "wrong", "act": "right", "catalogue": "right"}
    assert rows["without", 1]["note"] == "test_convention"
    assert rows["act", 1]["lessons"] == [{"id": card, "how": "given", "outcome": ""}]
    assert "+ATTEMPTS = 3" in rows["act", 1]["diff"]
    assert not rows["act", 1]["outside"]
    lines, figures = results.describe(list(rows.values()))
    assert "| northpost-timeouts | 0/1 | 1/1 | 1/1 |" in lines
    assert figures["groups"]["all tasks"]["act"]["repaired"] == 1


@pytest.mark.slow
def test_what_was_changed_without_the_tool_is_named(prepared, tmp_path):
    folder = prepared["without", 1]
    propose(folder, "new.py", text="")
    (folder / "README.md").write_text("changed\n")
    rehearse.main(["score", str(tmp_path / "out"), "--results", str(tmp_path)])
    (row,) = results.read_results(tmp_path)
    assert row["outside"] == ["README.md"]


@pytest.mark.slow
def test_the_same_material_is_a_trial_for_the_command(tmp_path):
    rehearse.main(["repositories", str(tmp_path)])
    lessons = [sys.executable, "-P", "-m", "lessons_kb.cli.main"]
    agent = f"{sys.executable} -c 'import pathlib; pathlib.Path(\"x\").touch()'"
    words = ["trial", "../parcelhub.toml", "--agent", agent, "--arms", "without,with"]
    folder = tmp_path / "parcelhub"
    subprocess.run([*lessons, "trust", "."], cwd=folder, check=True)
    words = [*lessons, *words, "--out", str(tmp_path / "kept")]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    assert " 1: wrong" in done.stderr  # the arms come in any order
