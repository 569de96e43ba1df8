"""``lessons eval``: a table, thresholds for CI, and one line for bad input."""

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


@pytest.mark.slow
def test_a_table_by_engine(lessons, brain, prompts):
    seen = lessons("eval", prompts, "--engine", "all")
    assert seen.code == 0
    head, first, second = seen.out.splitlines()[:3]
    assert head.split()[:5] == ["ENGINE", "RECALL@5", "HIT@3", "MRR", "NDCG@10"]
    assert first.split()[:6] == ["tantivy", "1.000", "1.000", "1.000", "1.000", "1.000"]
    assert second.split()[0] == "rank-bm25"
    assert "1 prompt with cards, 1 without" in seen.err


def test_a_narrow_terminal_names_each_figure_in_full(brain, prompts, at_terminal):
    rows = [line.split() for line in at_terminal("eval", prompts)]
    assert ["recall@5", "1.000"] in rows
    assert ["false-injection", "0.000"] in rows


def test_json_has_every_figure_and_each_has_its_bound(lessons, brain, prompts):
    good = ("--fail-under", "recall@5=0.9", "--fail-under", "false-injection=0.05")
    assert lessons("eval", prompts, *good).code == 0
    bounds = ("--fail-under", "tokens=0", "--fail-under", "ndcg10=1.1")
    seen = lessons("eval", prompts, "--json", *bounds)
    data = json.loads(seen.out)
    figures = data["engines"]["tantivy"]
    assert figures["recall5"] == figures["false_injection"] + 1 == 1
    assert figures["tokens"] > 0
    assert (seen.code, len(data["failed"])) == (1, 2)
    assert "is above 0" in seen.err
    assert "ndcg@10 1.000 is below 1.1" in seen.err


def test_a_card_that_the_start_of_a_session_lists_could_be_opened(lessons, brain, prompts):
    prompts.write_text(json.dumps({"query": "Give me a joke", "expected": ["kst-day-boundary"]}))
    figures = json.loads(lessons("eval", prompts, "--json").out)["engines"]["tantivy"]
    assert (figures["injected3"], figures["offered"], figures["openable"]) == (0, 0, 1)
    asked = ("offered=1", "openable=1", "recall@5=0.5", "mrr=0.5", "false-injection=0.05")
    bad = lessons("eval", prompts, *(word for one in asked for word in ("--fail-under", one)))
    assert bad.code == 1
    for told in ("offered 0.000 is below 1", "recall@5 0.000 is below 0.5", "mrr 0.000 is below"):
        assert f"tantivy: {told}" in bad.err
    assert "openable" not in bad.err
    assert "false-injection is undefined: the file has no prompt without a card" in bad.err


def test_bad_input_is_one_line(lessons, brain, prompts):
    for text, words in (
        ("", "is empty"),
        ("\n\n", "is empty"),
        ('{"query": "a", "expected": []}\n{"query"', ":2: not JSON"),
        ('{"query": "a", "expected": ["no-such-card"]}', "line 1: no card named 'no-such-card'"),
        ('{"query": "a", "expected": ["lessons/"]}', "line 1: 'lessons/' matches 16 cards"),
    ):
        prompts.write_text(text)
        seen = lessons("eval", prompts)
        assert (seen.code, seen.out, seen.err.count("\n")) == (2, "", 1)
        assert words in seen.err
    metrics = "write METRIC=VALUE; the metrics are recall@5, "
    wrong = ("recall=0.5", "recall@5", "mrr=much", "=1", "mrr=nan")
    for words, told in (
        *((("--fail-under", one), metrics) for one in wrong),
        (("--engine", "lucene"), "choose tantivy, rank-bm25, qdrant, all"),
    ):
        prompts.write_text(json.dumps(LINES[0]))
        seen = lessons("eval", prompts, *words)
        assert (seen.code, seen.err.count("\n"), told in seen.err) == (2, 1, True), words
    prompts.unlink()
    assert "cannot read" in lessons("eval", prompts).err


def test_each_miss_and_each_false_injection_is_named_with_its_reason(lessons, brain, prompts):
    telegram = LINES[0]["query"]
    lines = [
        {"query": "Give me a joke about time", "expected": ["kst-day-boundary"]},
        {"query": telegram, "expected": []},
        {"query": telegram, "expected": ["telegram-allowlist"]},
        {"query": telegram, "expected": ["kst-day-boundary"]},
    ]
    prompts.write_text("\n".join(map(json.dumps, lines)))
    seen = lessons("eval", prompts)
    assert "\nline 1: Give me a joke about time\n  ✗ not injected: lessons/kst-day-boundary.md" in (
        seen.out
    )
    wrong = f"\nline 2: {telegram}\n  + injected, though nothing should be: lessons/telegram-allowlist.md, rank 1\n    shares "
    assert wrong in seen.out
    assert "line 3" not in seen.out
    faults = json.loads(lessons("eval", prompts, "--json").out)["faults"]["tantivy"]
    assert [(one["line"], one["kind"], one["card"]) for one in faults] == [
        (1, "miss", "lessons/kst-day-boundary.md"),
        (2, "false-injection", "lessons/telegram-allowlist.md"),
        (4, "miss", "lessons/kst-day-boundary.md"),
        (4, "extra", "lessons/telegram-allowlist.md"),
    ]
    assert all(one["reason"] for one in faults)
    assert faults[1]["rank"] == 1


def test_why_an_inactive_card_is_missed(lessons, brain, prompts):
    lessons("ignore", "telegram-allowlist")
    (first, *_others) = json.loads(lessons("eval", prompts, "--json").out)["faults"]["tantivy"]
    assert (first["card"], first["rank"]) == ("lessons/telegram-allowlist.md", None)
    assert first["reason"] == "not active, so no prompt finds it"
