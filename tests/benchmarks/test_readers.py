"""What readers are shown, and the figures of what they chose."""

import argparse
import json

import pytest

from benchmarks import judgement
from benchmarks.data import EXAMPLE

FOREIGN = [f"rename the variable {n} in the shader" for n in range(30)]


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setattr(judgement, "BRAINS", ("brain-example",))
    monkeypatch.setattr(judgement, "_read_skills", lambda _rng: (EXAMPLE, [], []))
    monkeypatch.setattr(judgement, "read_real", lambda: FOREIGN)
    monkeypatch.setattr(judgement, "JUDGED", tmp_path / "judged")
    folder = tmp_path / "readers"

    def run(**options):
        return judgement.run(
            argparse.Namespace(**{"write": "", "collect": "", "seed": 1, **options})
        )

    run(write=str(folder))
    return folder, run


def test_readers_are_shown_titles_and_prompts_and_not_the_key(shown):
    folder, _run = shown
    text = (folder / "catalogue-brain-example" / "prompt-1.md").read_text()
    assert "[LESSON_TITLES]\nThe lessons of earlier work here" in text
    assert text.count("## Prompt ") == 40
    assert "Added to your context" not in text
    assert "expected" not in text
    assert "ACTIVE LESSONS" in (folder / "hook-brain-example" / "prompt-1.md").read_text()


def test_the_figures_are_those_of_the_choices_that_are_kept(shown):
    folder, run = shown
    lines = (folder / "hook-brain-example.key.jsonl").read_text().splitlines()
    key = [json.loads(line) for line in lines]
    own = [one for one in key if one["expected"]]
    for reader, opens in (("a", True), ("b", False)):
        lines = [{"item": one["item"], "open": one["expected"] if opens else []} for one in key]
        text = "Here you are:\n" + "".join(f"{json.dumps(line)}\n" for line in lines)
        (folder / "hook-brain-example" / f"answer-1-{reader}.jsonl").write_text(text)
    figures = run(collect=str(folder))
    row = figures["hook-brain-example"]
    given = sum(one["expected"][0] in one["given"] for one in own) / len(own)
    assert (row["readers"], row["own"], row["foreign"]) == (2, 20, 20)
    assert row["given"] == pytest.approx(given)
    assert row["reached"] == pytest.approx((1 + given) / 2)
    assert (row["right_of_opened"], row["foreign_opened"]) == (1, 0)
    assert run() == figures


def test_an_answer_to_other_items_is_refused(shown):
    folder, run = shown
    (folder / "hook-brain-example" / "answer-1-a.jsonl").write_text('{"item": 7, "open": []}\n')
    with pytest.raises(judgement.DataError, match=r"answer-1-a\.jsonl: answers other items"):
        run(collect=str(folder))
