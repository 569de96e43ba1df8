"""How readily prompts about other things draw a card."""

import json
import pathlib

from lessons_kb.data import read_lines
from lessons_kb.relevance.background_prompts import UNKNOWN, measure_background, measure_rarity
from lessons_kb.text.analyzer import analyze

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROMPTS = ROOT / "benchmarks/labelled/background_prompts.jsonl"

HOW_WE_WORK = """\
Before you open a pull request run the tests, look at the failing ones first, fix them, and write
a short plan. Update the docs and the readme, check the logs, review the change, and ask when the
build in CI is red. Keep commits small, merge the branch when the tests pass, and deploy.
"""
ONE_FUNCTION = "The rope solver diverges: clamp the angular velocity of a hinge before the sweep."


def test_a_card_about_everything_is_drawn_more_readily_than_one_about_one_thing():
    broad, narrow = (measure_background(analyze(text)) for text in (HOW_WE_WORK, ONE_FUNCTION))
    assert narrow < broad < UNKNOWN + 2


def test_a_card_without_words_is_drawn_by_nothing():
    assert measure_background([]) < -4


def test_a_longer_card_with_the_same_words_shares_them_more_by_chance():
    terms = analyze(HOW_WE_WORK)
    assert measure_background(terms * 5) < measure_background(terms)


def test_a_word_is_the_rarer_the_fewer_prompts_hold_it():
    rarities = [measure_rarity(term) for term in ("test", "push", "spinner", "qwertz")]
    assert rarities == sorted(rarities)
    assert rarities[0] < 3
    assert rarities[-1] == measure_rarity("zzyzx") < 8


def test_the_shipped_terms_are_those_of_a_thousand_written_prompts():
    prompts = [json.loads(line)["prompt"] for line in PROMPTS.read_text("utf-8").splitlines()]
    lines = [" ".join(dict.fromkeys(analyze(prompt))) for prompt in prompts]
    shipped = read_lines("background_prompts.txt")
    assert len(shipped) >= 1_000
    agreeing = len(set(shipped) & set(filter(None, lines)))
    assert agreeing >= 0.99 * len(shipped)  # Snowball corrects a rule from time to time
