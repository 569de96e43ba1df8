"""Every reader, held against its promises on fuzzed bytes: findings of the past, and mutations.

The coverage-guided runs are `python -m fuzz`; here nothing is needed but the suite.
"""

import random
import shutil

import pytest

from fuzz.corpus import mutate, seeds_of
from fuzz.targets import TARGETS, run

pytestmark = pytest.mark.slow

AMOUNT = 20_000
COUNTED = ("card", "edit", "payload")
"""The table of trust has figures for these; the others get a part of the mutations."""


@pytest.mark.parametrize("name", TARGETS)
def test_no_bytes_break_what_a_reader_promises(name, figure, monkeypatch):
    monkeypatch.setenv("LESSONS_STATE_HOME", "")
    target = TARGETS[name]
    seeds = seeds_of(name, target)
    chance = random.Random(f"{name} {AMOUNT}")
    number = AMOUNT if name in COUNTED else AMOUNT * 3 // 20
    for data in seeds:
        run(target, data)
    for _ in range(number):
        run(target, mutate(chance, chance.choice(seeds), seeds))
    if name in COUNTED:
        figure("fuzzed inputs", f"{number:,} of {name}: no promise broken")


def test_a_brain_of_fuzzed_cards_answers(root, figure, at):
    """Whole commands over files that are anything; a good card among them is found."""
    target = TARGETS["card"]
    seeds = seeds_of("card", target)
    chance = random.Random(AMOUNT)
    good = root / "lessons/zebra.md"
    for _half in range(2):
        shutil.rmtree(root / "lessons")
        (root / "lessons").mkdir()
        good.write_text("# Mind the zebra crossing\n\n## Prevention\n\n- Look at the zebra\n")
        for number in range(AMOUNT // 2):
            data = mutate(chance, chance.choice(seeds), seeds)
            (root / "lessons" / f"{number:05}.md").write_bytes(data)
        for arguments in (["index"], ["preflight", "mind the zebra crossing"], ["lint"], ["list"]):
            seen = at(root, *arguments)
            assert seen.code in (0, 1), (arguments, seen.err)
            assert "Traceback" not in seen.err
            assert "unexpected" not in seen.err
            assert not set(seen.out + seen.err) & set("\x1b\x07\x00\x9b\u202e"), arguments
            if arguments[0] == "preflight":
                assert "lessons/zebra.md" in seen.out
    figure("fuzzed inputs", f"a brain of {AMOUNT:,} card files: no traceback, good card found")
