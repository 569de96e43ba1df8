"""The adapter of remem's coding bench: scoring, the table, and a run from its folder to its line."""

import json
import subprocess

import pytest

from benchmarks.trial import reader, remem, remem_bench, remem_cards

FIXTURE = {
    "repo": {
        "files": {
            "README.md": "# Till\n",
            "till/__init__.py": "",
            "till/rounding.py": "def round_total(cents):\n    return cents\n",
            "tests/__init__.py": "",
        }
    },
    "tasks": [
        {
            "id": "round-to-five",
            "category": "stale_memory_avoidance",
            "prompt": "Fix the rounding of a total in `till/rounding.py`.",
            "allowed_paths": ["till/rounding.py", "tests"],
            "forbidden_paths": ["README.md"],
            "score": {
                "commands": [["python3", "-m", "unittest", "tests.test_hidden"]],
                "required_patch_patterns": ["// 5"],
                "forbidden_patch_patterns": ["// 10"],
                "hidden_files": {
                    "tests/test_hidden.py": "import unittest\n"
                    "from till.rounding import round_total\n\n"
                    "class Hidden(unittest.TestCase):\n"
                    "    def test_down(self):\n"
                    "        self.assertEqual(round_total(19), 15)\n"
                },
            },
            "history_episodes": [
                {
                    "reference_time_epoch": 1760000000,
                    "raw_events": [
                        {
                            "event_id": "evt-1",
                            "timestamp_epoch": 1760000000,
                            "role": "user",
                            "tool_name": None,
                            "sanitized_content": "Round totals down to five cents since June. "
                            "Rounding to ten cents is the old rule.",
                        }
                    ],
                    "memories": [
                        {
                            "title": "Rounding of totals",
                            "text": "Round totals down to five cents since June. "
                            "Rounding to ten cents is the old rule.",
                            "topic_key": "rounding",
                            "files": ["till/rounding.py"],
                        }
                    ],
                }
            ],
        }
    ],
}
RIGHT = "def round_total(cents):\n    return cents // 5 * 5\n"
OLD_RULE = "def round_total(cents):\n    return cents // 10 * 10\n"
ANSWER = {
    "no_lesson": "",
    "title": "Totals are rounded to ten cents as in the old rule",
    "cause": {
        "text": "The till rounds totals down to five cents since June.",
        "quote": "Round totals down to five cents since June.",
    },
    "fix": "Round down to five cents in `round_total`.",
    "checklist": [
        {
            "text": "Round totals down to five cents",
            "quote": "Round totals down to five cents since June.",
        },
        {"text": "Drop the old rule of ten cents", "quote": "ten cents is the old rule"},
    ],
    "symptoms": [
        "the receipt shows a total that nobody can pay in coins",
        "change how the till rounds totals of a sale",
        "fix the rounding of the total on a bill",
    ],
    "paths": [],
    "detect": [],
    "severity": "low",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, (False, False, True, True)),
        ({"till/rounding.py": RIGHT}, (True, True, True, True)),
        ({"till/rounding.py": OLD_RULE}, (False, False, False, True)),
        ({"till/rounding.py": RIGHT.replace("// 5", "//5")}, (True, False, True, True)),
        ({"till/rounding.py": RIGHT + "# was: // 10\n"}, (True, True, False, True)),
        ({"till/rounding.py": RIGHT, "README.md": "# New\n"}, (True, True, True, False)),
        ({"till/rounding.py": RIGHT, "notes.txt": ""}, (True, True, True, False)),
        ({"till/rounding.py": RIGHT, "tests/test_own.py": "# // 10\n"}, (True, True, True, True)),
    ],
)
def test_a_change_is_scored_by_tests_patterns_and_paths(tmp_path, changes, expected):
    bench = remem_bench.parse_fixture(FIXTURE)
    remem_bench.write_files(bench.files, tmp_path / "a")
    remem_bench.write_files({**bench.files, **changes}, tmp_path / "b")
    diff = remem.folders.make_diff(tmp_path, "a", "b")
    result = remem_bench.score_work(bench.tasks[0], bench.files, tmp_path / "b", diff)
    assert result == expected
    assert result.right == all(expected)


def test_an_event_or_a_replaced_memory_that_cannot_be_expressed_is_refused():
    broken = json.loads(json.dumps(FIXTURE))
    broken["tasks"].append(broken["tasks"][0])
    with pytest.raises(ValueError, match="two memories have one topic"):
        remem_bench.parse_fixture(broken)
    broken["tasks"] = broken["tasks"][:1]
    broken["tasks"][0]["history_episodes"][0]["raw_events"][0]["tool_name"] = "Bash"
    with pytest.raises(ValueError, match="evt-1 is not a user's message"):
        remem_bench.parse_fixture(broken)


def test_a_memory_becomes_a_card_by_one_rule():
    (task,) = remem_bench.parse_fixture(FIXTURE).tasks
    assert remem_cards.describe_memory(task.memories[0]) == {
        "title": "Rounding of totals",
        "why": "Round totals down to five cents since June.",
        "checklist": ["Rounding to ten cents is the old rule."],
        "paths": ["till/rounding.py"],
        "created": "2025-10-09",
    }


def make_row(task, arm, run, outcome, **more):
    fixed = {"kind": "stale_memory_avoidance", "tests": outcome == "right", "clean": True}
    defaults = {"stale": False, "tokens": 0, "given": "none"}
    return {"task": task, "arm": arm, "run": run, "outcome": outcome, **fixed, **defaults, **more}


def test_the_table_counts_tasks_solved_twice_and_runs_made_worse():
    rows = [
        make_row("a", "none", 1, "right"),
        make_row("a", "none", 2, "right"),
        make_row("b", "none", 1, "wrong"),
        make_row("b", "none", 2, "right"),
        make_row("a", "gold", 1, "wrong", stale=True, tokens=100, given="edit"),
        make_row("a", "gold", 2, "right", tokens=200, given="prompt"),
        make_row("b", "gold", 1, "right", given="prompt"),
        make_row("b", "gold", 2, "right", given="prompt"),
    ]
    lines, figures = remem.describe(rows)
    gold = figures["arms"]["gold"]
    assert (gold["right"], gold["runs"], gold["both"], gold["tasks"]) == (3, 4, 1, 2)
    assert (gold["hurt"], gold["stale"], gold["tokens"]) == (1, 1, 75)
    assert (gold["at_prompt"], gold["before_edit"]) == (3, 1)
    assert (gold["repaired"], gold["broken"], gold["p"]) == (1, 1, 1.0)
    assert figures["kinds"] == {"stale_memory_avoidance": ["3/4", "3/4"]}
    assert "19% to 99%" in lines[0]


def test_a_table_without_results_points_to_the_plan():
    assert remem.describe([]) == (["no results yet; REMEM.md says what will be run"], {})


@pytest.mark.parametrize(
    ("times", "of", "low", "high"),
    [(0, 32, 0.0, 0.1089), (32, 32, 0.8911, 1.0), (3, 4, 0.1941, 0.9937), (16, 32, 0.3189, 0.6811)],
)
def test_the_interval_of_a_share_is_exact(times, of, low, high):
    assert remem.clopper_pearson(times, of) == pytest.approx((low, high), abs=1e-4)


def test_a_request_is_stored_once_and_answered_from_its_file(tmp_path):
    command = [remem_cards.sys.executable, "-P", reader.__file__, str(tmp_path)]
    first = subprocess.run(command, input="Write a card.", capture_output=True, text=True)
    assert first.returncode == 1
    assert f"no answer yet: write {tmp_path / '01' / 'answer.txt'}" in first.stderr
    (tmp_path / "01" / "answer.txt").write_text("{}")
    second = subprocess.run(command, input="Write a card.\n", capture_output=True, text=True)
    assert (second.returncode, second.stdout) == (0, "{}\n")
    assert [path.name for path in tmp_path.glob("*/request.txt")] == ["request.txt"]


def propose(folder, *words, text=""):
    command = ["./propose", *words]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True)


@pytest.mark.slow
def test_runs_from_their_folders_to_their_lines(tmp_path):
    out, results = tmp_path / "out", tmp_path / "remem.jsonl"
    assert remem.prepare(FIXTURE, out, ("none", "gold"), results=results) == 4
    folders = {(name.arm, name.run): out / name.find_code(1) for name in all_runs("none", "gold")}
    index = json.loads((out / "INDEX.json").read_text())
    assert {entry["dir"] for entry in index} == {str(folder) for folder in folders.values()}
    for (arm, _run), folder in folders.items():
        prompt = (folder / "PROMPT.md").read_text()
        assert ("five cents since June" in prompt) == (arm == "gold")
        assert "Fix the rounding of a total" in prompt
        assert not (folder / "tests/test_hidden.py").exists()
    assert propose(folders["none", 1], "till/rounding.py", text=OLD_RULE).returncode == 0
    assert propose(folders["gold", 1], "till/rounding.py", text=RIGHT).returncode == 0
    # Between the calls, no file on the disk has the text of a card in clear.
    states = b"".join(path.read_bytes() for path in tmp_path.glob("out-state/*"))
    assert not [path for path in (tmp_path / "out-state").iterdir() if path.is_dir()]
    assert b"five cents" not in states
    assert remem.score(out, results=results) == 2
    rows = {(row["arm"], row["run"]): row for row in remem.read_results(results)}
    assert rows["none", 1]["outcome"] == "wrong"
    assert rows["none", 1]["stale"]
    assert (rows["none", 1]["tokens"], rows["none", 1]["given"]) == (0, "none")
    assert rows["gold", 1]["outcome"] == "right"
    assert (rows["gold", 1]["given"], rows["gold", 1]["outside"]) == ("prompt", 0)
    assert rows["gold", 1]["tokens"] > 50
    assert "cents" not in results.read_text()
    # A scored run is neither prepared nor scored again; another arm is added to the rest.
    assert remem.score(out, results=results) == 0
    assert remem.prepare(FIXTURE, out, ("placebo",), results=results) == 4
    # A run that ended without a change is scored when it is named.
    idle = folders["gold", 2]
    assert remem.score(out, [idle.name], results=results) == 1
    assert {row["outcome"] for row in remem.read_results(results) if row["run"] == 2} == {"wrong"}


def all_runs(*arms):
    return [remem.RunName("round-to-five", arm, run) for arm in arms for run in (1, 2)]


@pytest.mark.slow
def test_a_history_becomes_cards_once_a_person_asks_and_a_model_answers(tmp_path):
    bench = remem_bench.parse_fixture(FIXTURE)
    untouched = remem_cards.make_history_cards(bench, tmp_path, "history")
    assert (untouched.sessions, untouched.candidates) == (1, 0)
    assert untouched.drafts == {"round-to-five": []}
    asked = remem_cards.make_history_cards(bench, tmp_path, "history-asked")
    assert len(asked.drafts["round-to-five"]) == 1
    (waiting,) = asked.open_requests
    request = remem_cards.Path(waiting, "request.txt").read_text()
    assert "Round totals down to five cents since June." in request
    remem_cards.Path(waiting, "answer.txt").write_text(json.dumps(ANSWER))
    answered = remem_cards.make_history_cards(bench, tmp_path, "history-asked")
    (card,) = answered.cards
    assert card.task == "round-to-five"
    assert "title: Totals are rounded to ten cents" in card.text
    assert remem_cards.make_arm_cards("history-asked", bench, tmp_path) == [card]
