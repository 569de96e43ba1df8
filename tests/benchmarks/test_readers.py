"""What readers are shown, and the figures of what they chose."""

import argparse
import json

import pytest

from benchmarks.__main__ import main
from benchmarks.data import EXAMPLE
from benchmarks.judgement import judgement

FOREIGN = [f"rename the variable {n} in the shader" for n in range(30)]


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.setattr(judgement, "BRAINS", ("brain-example",))
    monkeypatch.setattr(judgement, "_read_skills", lambda _rng: (EXAMPLE, [], FOREIGN[:2]))
    monkeypatch.setattr(judgement, "read_real", lambda: FOREIGN)
    monkeypatch.setattr(judgement, "JUDGED", tmp_path / "judged")
    monkeypatch.setattr(judgement.at_prompt, "run", lambda _options: {})
    folder = tmp_path / "readers"

    def run(**options):
        return judgement.run(
            argparse.Namespace(**{"write": "", "collect": "", "seed": 1, **options})
        )

    run(write=str(folder))
    return folder, run


def read_key(folder):
    cards, *key = map(json.loads, (folder / "example.key.jsonl").read_text().splitlines())
    return cards["cards"], key


@pytest.mark.slow
def test_readers_are_shown_what_the_hook_prints_and_not_the_key(shown):
    folder, run = shown
    text = (folder / "example" / "prompt-1.md").read_text()
    cards, key = read_key(folder)
    assert "[LESSON_TITLES]\nThe lessons of earlier work here" in text
    assert text.count("## Prompt ") == len(key) == 37, "three of its cards are archived"
    assert "ACTIVE LESSONS — verify" in text
    assert "expected" not in text
    assert cards.keys() >= {card for one in key for card in one["expected"]}
    (folder / "example" / "answers-a-1.jsonl").write_text('{"item": 77, "open": []}\n')
    with pytest.raises(judgement.DataError, match=r"answers-a-1\.jsonl: item 77 was not asked"):
        run(collect=str(folder))


@pytest.mark.slow
def test_the_figures_are_those_of_the_choices_that_are_kept(shown):
    folder, run = shown
    cards, key = read_key(folder)
    own = [one for one in key if one["expected"]]
    for reader, name in (("a", lambda card: card), ("b", cards.get), ("c", lambda _card: None)):
        lines = [
            {"item": one["item"], "open": [*filter(None, map(name, one["expected"]))]}
            for one in key
        ]
        text = "Here you are:\n" + "".join(f"{json.dumps(line)}\n" for line in lines[:-1])
        (folder / "example" / f"answers-{reader}-1.jsonl").write_text(text)
    figures = run(collect=str(folder))
    row = figures["hook-example"]
    given = sum(one["expected"][0] in one["given"] for one in own) / len(own)
    assert (row["readers"], row["own"], row["foreign"]) == (3, 17, 20)
    assert row["given"] == pytest.approx(given)
    assert given < row["reached"] <= (2 + given) / 3
    assert (row["right_of_opened"], row["foreign_opened"]) == (1, 0)
    assert run() == {"prompts": {}, **figures}


def test_the_kept_choices_are_printed_without_a_model(capsys):
    assert main(["judgement"]) == 0
    assert "hook-skills" in capsys.readouterr().out
