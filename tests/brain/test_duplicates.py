"""Creating a card that may be there already."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons_kb import Brain
from lessons_kb.errors import DuplicateCard


def test_a_near_duplicate_is_named_and_nothing_written(root, telegram):
    with Brain.open(root) as brain:
        with pytest.raises(DuplicateCard) as duplicate:
            brain.create("Remote execution through Telegram must require an allow list")
        assert duplicate.value.existing == "lessons/telegram-allowlist.md"
        assert "similar" in str(duplicate.value)
        assert len(brain.cards.all()) == 1


def test_what_runs_unattended_merges_only_the_same_wording(root, telegram):
    with Brain.open(root) as brain:
        same = "Telegram remote executions must require the allowlist."
        assert brain.create(same, on_duplicate="bump").occurrences == 6
        near = "Remote execution through Telegram must require an allow list"
        assert brain.create(near, on_duplicate="bump").occurrences == 1
        assert len(brain.cards.all()) == 2


@pytest.mark.slow
def test_templated_lessons_are_all_written(root):
    services = "billing auth search cart export import mailer report invoice refund".split()
    with Brain.open(root) as brain:
        for service in services:
            brain.create(f"The {service} service drops the last row of a page")
        assert len(brain.cards.all()) == len(services)


@pytest.mark.slow
def test_one_lesson_created_by_many_at_once_is_one_card(root, monkeypatch):
    with Brain.open(root) as brain:
        cards = type(brain.cards)
    look = cards._find_near_duplicate

    def look_slowly(brain_cards, title, *, near):
        found = look(brain_cards, title, near=near)
        time.sleep(0.05)
        return found

    def create(_number):
        with Brain.open(root) as brain:
            return brain.create("The same mistake, seen by all", on_duplicate="bump").occurrences

    monkeypatch.setattr(cards, "_find_near_duplicate", look_slowly)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(create, range(4))) == [1, 2, 3, 4]
