"""SPEC §13: any number of processes at once, and no increment, no byte, no card lost."""

import multiprocessing
import pathlib

import pytest

from lessons_kb import Brain

pytestmark = pytest.mark.slow

CONTEXT = multiprocessing.get_context("spawn")


def run_all(target, *arguments):
    workers = [CONTEXT.Process(target=target, args=args) for args in arguments]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * len(workers)


def _bump(root, times):
    with Brain.open(root) as brain:
        for _ in range(times):
            brain.bump("telegram-allowlist")


def test_eight_processes_bump_one_card_twenty_five_times(root, telegram):
    before = telegram.read_text()
    run_all(_bump, *[(str(root), 25)] * 8)
    after = telegram.read_text()
    assert "occurrences: 205  # counted by hand\n" in after
    changed = {(a, b) for a, b in zip(before.split("\n"), after.split("\n"), strict=True) if a != b}
    assert {a.split(":")[0] for a, _b in changed} == {"occurrences", "last-seen"}


def _create(root, who):
    with Brain.open(root) as brain:
        for number in range(5):
            brain.create(f"The same mistake number {number}", on_duplicate="new", project=f"p{who}")


def test_cards_created_at_once_never_overwrite_each_other(root):
    run_all(_create, *[(str(root), who) for who in range(4)])
    with Brain.open(root) as brain:
        cards = brain.cards.all()
    assert len(cards) == 20
    assert {card.project for card in cards} == {"p0", "p1", "p2", "p3"}


def _edit_and_search(root, who):
    path = pathlib.Path(root) / f"lessons/{who}.md"
    with Brain.open(root) as brain:
        for number in range(6):
            path.write_text(f"# Mind the animal{who}x{number}\n\n- item\n")
            assert brain.search(f"animal{who}x{number}")[0].card.id == f"lessons/{who}.md"


def test_every_process_finds_what_it_has_just_written(root, telegram):
    run_all(_edit_and_search, *[(str(root), who) for who in range(4)])
