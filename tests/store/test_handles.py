"""The short handles of cards."""

import multiprocessing
import os

import pytest

from lessons_kb.store.handles import HandledCard, find_handled, give_handles
from lessons_kb.store.locations import state_home

A, B, C = (HandledCard("brain", f"lessons/{name}.md") for name in "abc")


def test_a_handle_is_given_once_and_found_again():
    assert give_handles([A, B]) == {A: "L1", B: "L2"}
    assert give_handles([C, A]) == {A: "L1", C: "L3"}
    assert [find_handled(name) for name in ("L1", "L3")] == [A, C]


@pytest.mark.parametrize("name", ["L0", "L01", "L4", "L", "l1", "1", "L1x", "L-1", "L٣", ""])
def test_what_is_no_handle_names_no_card(name):
    give_handles([A, B, C])
    assert find_handled(name) is None


def test_two_brains_have_different_handles():
    other = HandledCard("another", A.card)
    assert give_handles([A, other]) == {A: "L1", other: "L2"}


def get_path():
    return os.path.join(state_home(), "handles.jsonl")


def test_a_line_that_was_cut_off_costs_a_number_and_changes_no_handle():
    give_handles([A, B])
    with open(get_path(), "ab") as file:
        file.write(b'["brain", "les')
    assert give_handles([A, B, C]) == {A: "L1", B: "L2", C: "L4"}
    assert find_handled("L3") is None


def test_a_folder_that_cannot_be_written_gives_none(monkeypatch):
    monkeypatch.setenv("LESSONS_STATE_HOME", os.devnull)
    assert give_handles([A]) == {}
    assert find_handled("L1") is None


def give_many(number):
    cards = [HandledCard("brain", f"lessons/{name}.md") for name in range(number, number + 30)]
    return give_handles(cards)


def test_processes_at_once_give_each_card_one_handle():
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        answers = pool.map(give_many, range(0, 40, 5))
    handles = {}
    for answer in answers:
        for card, handle in answer.items():
            assert handles.setdefault(card, handle) == handle
    assert len(set(handles.values())) == len(handles) == 65
