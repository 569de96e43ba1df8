"""The requests about labelled pairs: the product's own, without labels; and what answers count as."""

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.data import read_rows
from lessons_kb.writers.contradictions import PAIRS_PER_REQUEST
from lessons_kb.writers.prompt import COMPARE_SYSTEM


@pytest.fixture
def folder(tmp_path):
    """Requests about the labelled pairs, and about the pairs of a small brain."""
    brain = tmp_path / "brain"
    (brain / "lessons").mkdir(parents=True)
    (brain / "lessons.toml").write_text("")
    for name, item in (("one", "Use a cursor for orders"), ("two", "Use an offset for orders")):
        text = f"# Orders were lost by {name}\n\n## Prevention Checklist\n\n- {item}\n"
        (brain / f"lessons/{name}.md").write_text(text)
    assert main(["conflicts", "--write", str(tmp_path / "with"), f"small={brain}"]) == 0
    return tmp_path / "with"


def collect(folder, tmp_path):
    figures = tmp_path / "figures.json"
    assert main(["conflicts", "--collect", str(folder), "--json", str(figures)]) == 0
    return json.loads(figures.read_text("utf-8"))


def answer(folder, reader, decide):
    """Answer each request of a reader: ``decide(row)`` returns whether both can be followed."""
    rows = read_rows(folder / "keys" / f"{reader}.jsonl")
    for start in range(0, len(rows), PAIRS_PER_REQUEST):
        entries = []
        for number, row in enumerate(rows[start : start + PAIRS_PER_REQUEST], 1):
            both = decide(row)
            quotes = ["", ""] if both else [row["first"]["title"], row["second"]["title"]]
            first, second = quotes
            entries.append({"pair": number, "first": first, "second": second, "both": both})
        place = folder / reader / f"{start // PAIRS_PER_REQUEST + 1:02}"
        text = f"Here it is:\n```json\n{json.dumps({'pairs': entries})}\n```\n"
        (place / "answer.txt").write_text(text, encoding="utf-8")


def test_a_reader_sees_the_request_of_the_product_and_no_label(folder):
    for reader in ("a", "b", "real"):
        for place in (folder / reader).iterdir():
            assert {file.name for file in place.iterdir()} == {"README.md", "request.txt"}
            text = (place / "request.txt").read_text("utf-8")
            assert text.startswith(f"{COMPARE_SYSTEM}\n\nBelow are pairs of *lesson cards*")
            assert '"contradict"' not in text
            assert 1 <= text.count("### Pair ") <= PAIRS_PER_REQUEST
    first = (folder / "a/01/request.txt").read_text("utf-8")
    assert first != (folder / "b/01/request.txt").read_text("utf-8")


def test_answers_are_counted_beside_the_labels(folder, tmp_path):
    answer(folder, "a", lambda row: not row["contradict"])
    answer(folder, "b", lambda _row: False)
    answer(folder, "real", lambda _row: False)
    figures = collect(folder, tmp_path)
    assert figures["reader a, both"] == {
        "right": 60, "missed": 0, "false": 0, "no verdict": 0, "pairs": 120,
    }  # fmt: skip
    assert figures["reader b, conflict_pairs_2.jsonl"]["false"] == 30
    assert figures["real"]["called opposed"] == figures["real"]["pairs"] == 1
    assert figures["real"]["in 1,000 cards"] == 500


def test_a_pair_without_an_answer_is_missed_and_counted(folder, tmp_path):
    (folder / "a/01/answer.txt").write_text("I am not sure.", encoding="utf-8")
    counts = collect(folder, tmp_path)["reader a, both"]
    assert counts["pairs"] == counts["no verdict"] == PAIRS_PER_REQUEST
    assert counts["right"] == counts["false"] == 0
