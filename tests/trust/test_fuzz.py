"""Every reader, held against its promises on fuzzed bytes: findings of the past, and mutations.

The coverage-guided runs are `python -m fuzz`; here nothing is needed but the suite.
"""

import pathlib
import random
import shutil
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # fuzz/ is no installed package
    sys.path.insert(0, str(ROOT))

from fuzz.corpus import mutate, seeds_of  # noqa: E402
from fuzz.targets import TARGETS, run  # noqa: E402

COUNTED = ("card", "edit", "payload")
"""The table of trust has figures for these; the others get a part of the mutations."""


@pytest.mark.slow
@pytest.mark.amounts(60, 20_000)
@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_break_what_a_reader_promises(name, amount, figure, monkeypatch):
    monkeypatch.setenv("LESSONS_STATE_HOME", "")
    target = TARGETS[name]
    seeds = seeds_of(name, target)
    chance = random.Random(f"{name} {amount}")
    number = amount if name in COUNTED else max(30, amount * 3 // 20)
    for data in seeds:
        run(target, data)
    for _ in range(number):
        run(target, mutate(chance, chance.choice(seeds), seeds))
    if name in COUNTED:
        figure("fuzzed inputs", f"{number:,} of {name}: no promise broken")


@pytest.mark.slow
@pytest.mark.amounts(150, 20_000)
def test_a_brain_of_fuzzed_cards_answers(root, amount, figure, monkeypatch, lessons):
    """Whole commands over files that are anything; a good card among them is found."""
    target = TARGETS["card"]
    seeds = seeds_of("card", target)
    chance = random.Random(amount)
    good = root / "lessons/zebra.md"
    monkeypatch.chdir(root)
    done = 0
    while done < amount:
        shutil.rmtree(root / "lessons")
        (root / "lessons").mkdir()
        good.write_text("# Mind the zebra crossing\n\n## Prevention\n\n- Look at the zebra\n")
        for number in range(min(10_000, amount - done)):
            data = mutate(chance, chance.choice(seeds), seeds)
            (root / "lessons" / f"{number:05}.md").write_bytes(data)
            done += 1
        for arguments in (["index"], ["preflight", "mind the zebra crossing"], ["lint"], ["list"]):
            seen = lessons(*arguments)
            assert seen.code in (0, 1), (arguments, seen.err)
            assert "Traceback" not in seen.err
            assert "unexpected" not in seen.err
            assert not set(seen.out + seen.err) & set("\x1b\x07\x00\x9b\u202e"), arguments
            if arguments[0] == "preflight":
                assert "lessons/zebra.md" in seen.out
    figure("fuzzed inputs", f"a brain of {amount:,} card files: no traceback, good card found")
