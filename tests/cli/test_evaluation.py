"""``lessons eval``: a table, thresholds for CI, and one line for bad input."""

from __future__ import annotations

import json

import pytest

LINES = [
    {
        "query": "Add a Telegram command that runs a shell script on the server",
        "expected": ["telegram-allowlist", "lessons/shell-true-file-name.md"],
    },
    {"query": "Rename this variable and run the formatter", "expected": []},
]


@pytest.fixture
def prompts(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in LINES))
    return path


def test_a_table_by_engine(lessons, brain, prompts) -> None:
    seen = lessons("eval", prompts, "--engine", "all")
    assert seen.code == 0
    head, first, second = seen.out.splitlines()
    assert head.split()[:5] == ["ENGINE", "RECALL@5", "HIT@3", "MRR", "NDCG@10"]
    assert first.split()[:6] == ["tantivy", "1.000", "1.000", "1.000", "1.000", "1.000"]
    assert second.split()[0] == "rank-bm25"
    assert "1 prompt with cards, 1 without" in seen.err


def test_json_has_every_figure(lessons, brain, prompts) -> None:
    seen = lessons("eval", prompts, "--json", "--max-tokens", "0")
    data = json.loads(seen.out)
    figures = data["engines"]["tantivy"]
    assert figures["recall5"] == figures["false_injection"] + 1 == 1
    assert figures["tokens"] > 0
    assert len(data["failed"]) == 1
    assert seen.code == 1


def test_thresholds_end_with_one(lessons, brain, prompts) -> None:
    good = lessons("eval", prompts, "--min-recall5", "1", "--max-false-injection", "0")
    assert good.code == 0
    prompts.write_text(json.dumps({"query": "Give me a joke", "expected": ["kst-day-boundary"]}))
    bad = lessons("eval", prompts, "--min-recall5", "0.5", "--min-mrr", "0.5")
    assert bad.code == 1
    assert "tantivy: recall@5 0.000 is below 0.5" in bad.err
    assert "tantivy: mrr 0.000 is below 0.5" in bad.err
    unknown = lessons("eval", prompts, "--max-false-injection", "0.05")
    assert unknown.code == 1
    assert "false-injection is undefined: the file has no prompt without a card" in unknown.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ('{"query": "a", "expected": []}\n{"query"', ":2: not JSON"),
        ('{"query": "a", "expected": ["no-such-card"]}', "line 1: no card named 'no-such-card'"),
        ('{"query": "a", "expected": ["lessons/"]}', "line 1: 'lessons/' matches 16 cards"),
    ],
)
def test_bad_input_is_one_line(lessons, brain, prompts, text: str, words: str) -> None:
    prompts.write_text(text)
    seen = lessons("eval", prompts)
    assert (seen.code, seen.out) == (2, "")
    assert words in seen.err
    assert len(seen.err.splitlines()) == 1


def test_a_missing_file_is_one_line(lessons, brain, tmp_path) -> None:
    for path in (tmp_path / "none.jsonl", tmp_path):
        seen = lessons("eval", path)
        assert seen.code == 2
        assert len(seen.err.splitlines()) == 1
