"""Readers judge the first candidates that nobody has judged, and earlier verdicts are kept."""

import json

import pytest

from benchmarks.drafting import mine_readers
from tests.kit import commit, git

EARLIER = {"repository": "a/b", "verdicts": ["yes", "no"]}


@pytest.fixture
def clone(tmp_path, monkeypatch):
    root = tmp_path / "a+b"
    root.mkdir()
    git(root, "init", "-q")
    for number in range(3):
        commit(root, f"Fix page {number}", **{"page.py": f"N = {number}\n"})
    names = git(root, "log", "--reverse", "--format=%H").split()
    rows = [
        {**EARLIER, "commit": names[0], "places": {"this": 1}},
        {**EARLIER, "commit": names[1], "places": {"this": 2, "other": 3}},
    ]
    judged = tmp_path / "judged.jsonl"
    judged.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    monkeypatch.setattr(mine_readers, "JUDGED", judged)
    monkeypatch.setattr(mine_readers, "list_first", lambda _clone, _build: names[1:])
    return root, names, judged


def test_readers_judge_what_nobody_has_judged(clone, tmp_path):
    root, names, judged = clone
    folder = tmp_path / "readers"
    assert mine_readers.write_packets([str(root)], str(folder), against=None, seed=1) == 1
    for reader in mine_readers.READERS:
        shown = [path.read_text() for path in (folder / reader / "commits").iterdir()]
        assert [text.splitlines()[0] for text in shown] == ["# Fix page 2"]
        (folder / reader / mine_readers.ANSWERS).write_text('{"file": "001", "verdict": "yes"}\n')
    figures = mine_readers.collect(str(folder))
    rows = {row["commit"]: row for row in map(json.loads, judged.read_text().splitlines())}
    assert [rows[name]["places"] for name in names] == [
        {"former": 1},
        {"former": 2, "other": 3, "this": 1},
        {"this": 2},
    ]
    assert [rows[name]["verdicts"] for name in names] == [["yes", "no"]] * 2 + [["yes", "yes"]]
    assert figures["all this mine-reader-2"] == 0.5
