"""Labelled prompts put to a brain, by engine."""

import json
import os

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError
from lessons_kb.model import as_data
from lessons_kb.outcome.evaluation import ENGINES, LOCAL_ENGINES, evaluate
from lessons_kb.relevance.evaluation_measures import Labelled
from tests import kit

CARD = "# {title}\n\n## Prevention Checklist\n\n- {item}\n"


@pytest.fixture
def brain(root, write, telegram):
    retries = {"title": "Retries need an idempotency key", "item": "Send the key with the payment"}
    write("lessons/idempotency.md", CARD.format(**retries))
    write("lessons/utc.md", CARD.format(title="Store timestamps in UTC", item="Convert late"))
    write("notes/bot.md", "# How the telegram bot is deployed\n\nBy hand.\n")
    with Brain.open(root, directory=root) as brain:
        yield brain


def prompt(query, *expected, line=1):
    return Labelled(line=line, query=query, expected=expected)


PROMPTS = [
    prompt("Reject a telegram sender that is not on the allowlist", "telegram-allowlist"),
    prompt("Send an idempotency key when the payment is retried", "lessons/idem"),
    prompt("Store the timestamps of bookings in UTC", "lessons/utc.md"),
    prompt("Thank you, that is all"),
]


@pytest.mark.slow
@pytest.mark.parametrize("engine", [None, *ENGINES, "all"])
def test_every_engine_answers(brain, engine):
    report = evaluate(brain, PROMPTS, engine=engine)
    names = {None: ("tantivy",), "all": LOCAL_ENGINES}.get(engine, (engine,))
    assert tuple(report.engines) == names
    for evaluation in report.engines.values():
        assert (evaluation.positive, evaluation.negative) == (3, 1)
        assert evaluation.recall5 == evaluation.hit3 == evaluation.mrr == 1
        assert evaluation.ndcg10 == pytest.approx(1)
        assert evaluation.false_injection == 0
        assert evaluation.milliseconds > 0


def test_nothing_is_remembered_and_a_card_that_cannot_come_up_is_named(brain):
    brain.cards.set_status("archived", "utc")
    report = evaluate(brain, PROMPTS, engine="all")
    assert brain.members[0].journal.last_injected(None) == []
    assert (
        len([name for name in os.listdir(brain.members[0].cache) if name.startswith("index")]) == 1
    )
    assert report.inactive == ("lessons/utc.md",)
    evaluation = report.engines["tantivy"]
    assert evaluation.hit3 == pytest.approx(2 / 3)
    blocks = [brain.preflight(prompt.query, context=False) for prompt in PROMPTS]
    assert evaluation.tokens == sum(block.tokens for block in blocks) / len(PROMPTS)
    with pytest.raises(InputError, match=r"^line 1: notes/bot.md is a note"):
        evaluate(brain, [prompt("a", "notes/bot.md")])


def test_the_same_id_in_two_brains_is_two_cards(brain, tmp_path, root):
    text = CARD.format(title="Bananas are yellow", item="Look at them")
    kit.write(tmp_path, "other/lessons/utc.md", text)
    asked = [
        prompt("Store timestamps in UTC", "utc"),
        prompt("Bananas are yellow, look at them", "other:lessons/utc.md"),
    ]
    with Brain.open(root, tmp_path / "other", directory=root) as both:
        assert evaluate(both, asked).engines["tantivy"].mrr == 1
    assert json.dumps(as_data(evaluate(brain, PROMPTS)))
