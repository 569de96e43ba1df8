"""The example brain meets the bar it sets for others, and holds one card of every shape."""

from collections import Counter

import pytest

from lessons_kb import Brain
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.parse import parse_card
from lessons_kb.config import DEFAULTS
from lessons_kb.model import KINDS, NOTE
from lessons_kb.text.analyzer import analyze
from tests.kit import EXAMPLE, copy_example


def read(path):
    name = path.relative_to(EXAMPLE).as_posix()
    return parse_card(path.read_text(encoding="utf-8"), path=name, folders=DEFAULTS.folders)


DOCUMENTS = {d.card.id: d for d in map(read, sorted(EXAMPLE.glob("*/*.md"))) if d.card}
CARDS = [d.card for d in DOCUMENTS.values() if d.card and d.card.kind != NOTE]
MAX_WHY = 160


def test_every_file_is_read():
    assert len(DOCUMENTS) == len(list(EXAMPLE.glob("*/*.md")))
    kinds = Counter(d.card.kind for d in DOCUMENTS.values() if d.card)
    assert 12 <= len(CARDS) <= 20
    assert 3 <= kinds[NOTE] <= 4
    assert all(kinds[kind] for kind in KINDS)


def test_linter_has_nothing_to_say():
    assert {name: found for name, one in DOCUMENTS.items() if (found := check_card(one))} == {}


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.id)
def test_card_meets_the_bar(card):
    assert 2 <= len(card.symptoms) <= 3
    assert 2 <= len(card.checklist) <= 5
    assert 0 < len(card.why) <= MAX_WHY
    assert card.topics
    assert card.created
    assert card.last_seen
    assert card.created <= card.last_seen
    title = set(analyze(card.title))
    assert all(len(title & set(analyze(symptom))) <= 2 for symptom in card.symptoms)


def test_the_telegram_card_reads_as_documented():
    card = DOCUMENTS["lessons/telegram-allowlist.md"].card
    assert card
    assert card.title == "Telegram remote execution must require an allowlist"
    assert (card.severity, card.occurrences, card.source) == ("high", 5, "curated")
    assert card.why == (
        "any group member could run shell commands, because the handler never looked at the sender."
    )
    assert card.checklist == (
        "Reject every chat id that is not on the allowlist",
        "Cover the rejection with a test",
    )


@pytest.mark.parametrize("shape", [
    lambda card: card.project,
    lambda card: card.stages,
    lambda card: card.paths,
    lambda card: card.examples,
    lambda card: card.source == "auto",
    lambda card: card.status == "ignored",
    lambda card: card.status == "archived",
    lambda card: card.gate == "ask" and card.severity == "high" and card.paths,
    lambda card: card.kind == "qa-finding" and card.evidence and card.supported_by,
    lambda card: card.reopen_when,
    lambda card: any("\uac00" <= letter <= "\ud7a3" for letter in card.title),
])  # fmt: skip
def test_each_shape_of_card_is_there(shape):
    assert callable(shape)
    assert any(shape(card) for card in CARDS)


PARAPHRASES = {
    "lessons/cached-list-mutated-by-caller.md": "use functools.cache on the permissions loader",
    "lessons/cors-reflected-origin.md": "let preview builds of the frontend talk to the backend",
    "lessons/docker-build-arg-secret.md": "the container build needs our private npm registry",
    "lessons/json-state-without-lock.md": "several workers update a small counter on disk",
    "lessons/kst-day-boundary.md": "대시보드에 하루 단위 주문 수를 보여줘",
    "lessons/lazy-relation-in-loop.md": "show the customer's name in the order list endpoint",
    "lessons/money-in-floats.md": "compute VAT and the discount on an invoice",
    "lessons/offset-pagination-skips-rows.md": "let partners export all orders in pages",
    "lessons/shell-true-file-name.md": "turn uploaded videos into mp4 with ffmpeg",
    "lessons/sleep-in-test.md": "the pipeline is red, but it passes on my machine",
    "lessons/telegram-allowlist.md": "let people in the group chat start a deploy",
    "lessons/terraform-forces-replacement.md": "give the RDS instance a name like the others",
    "lessons/unicode-usernames-not-normalised.md": "accept umlauts when somebody signs up",
    "playbooks/remove-a-feature-flag.md": "the experiment has ended, clean up its toggle",
    "playbooks/rename-column-without-downtime.md": "split the address field into street and city",
    "qa-findings/rate-limit-trusts-forwarded-for.md": "slow down people who guess passwords",
    "qa-findings/webhook-signature-over-parsed-body.md": "receive events from Stripe",
}


@pytest.mark.slow
def test_each_active_card_is_the_first_found_by_a_paraphrase(tmp_path):
    active = {card.id for card in CARDS if card.status == "active" and not card.project}
    assert set(PARAPHRASES) == active
    with Brain.open(copy_example(tmp_path / "brain")) as brain:
        first = {name: brain.search(text, kinds=KINDS)[0] for name, text in PARAPHRASES.items()}
    assert {name: hit.card.id for name, hit in first.items()} == {name: name for name in active}
