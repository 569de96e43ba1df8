"""``[semantic]``: cards found by meaning, vectors kept up to date, and what happens without."""

import sqlite3

import pytest

from lessons_kb import Brain
from lessons_kb.errors import DuplicateCard, StorageError
from lessons_kb.model import Card

CARD = """\
---
title: Retries need an idempotency key
symptoms:
  - customers are billed twice for one order
---

## Root Cause

The first request had succeeded; only its answer was lost.

## Prevention Checklist

- Send the key with every payment request
"""
PROMPT = "Some people complain that they paid two times this week"


def encode(brain):
    for layer in brain.members:
        layer.encode()


@pytest.fixture
def enable(root, write, minilm, monkeypatch):
    """Turn it on, and encode what a brain holds."""

    def enable(brain=None):
        monkeypatch.delenv("LESSONS_SEMANTIC", raising=False)
        write("lessons.toml", f'[semantic]\nenabled = true\nmodel = "{minilm}"\n')
        if brain is not None:
            brain.refresh()
            encode(brain)

    return enable


@pytest.fixture
def semantic(health, root):
    def semantic():
        lines = health("semantic", None, "--brain", root)
        return [(line.level, line.detail, line.fix) for line in lines]

    return semantic


@pytest.mark.slow
@pytest.mark.semantic
def test_a_paraphrase_without_a_common_word_is_found(root, write, telegram, enable, semantic):
    write("lessons/retry.md", CARD)
    with Brain.open(root, directory=root) as brain:
        assert not brain.preflight(PROMPT, context=False).lessons
        enable(brain)
        assert brain.refresh()[0].stale == ""
        encode(brain)
        (hit,) = brain.preflight(PROMPT, context=False).offered
        assert hit.card.id == "lessons/retry.md"
        assert hit.meaning > 0
        assert hit.score == pytest.approx(hit.bm25 + hit.meaning)
        assert "near enough in meaning" in hit.reason
        assert semantic() == [("ok", "on, all files are encoded", "")]
        assert not brain.preflight("What is for lunch today?", context=False).text


@pytest.mark.slow
@pytest.mark.semantic
def test_vectors_follow_the_files_and_outlive_the_index(root, write, telegram, enable):
    enable()
    path = write("lessons/retry.md", CARD)
    with Brain.open(root, directory=root) as brain:
        assert brain.search(PROMPT)[0].card.id == "lessons/retry.md"
        path.write_text(CARD.replace("billed twice for one order", "fond of bananas"))
        assert brain.search("Who likes a banana?")[0].card.id == "lessons/retry.md"
        brain.refresh(rebuild=True)
        assert brain.members[0].meaning.encode(limit=0) == 0
        path.unlink()
        assert "lessons/retry.md" not in [hit.card.id for hit in brain.search(PROMPT)]


@pytest.mark.slow
@pytest.mark.semantic
def test_a_refresh_reports_what_is_left_and_searches_by_words_until_then(
    root, write, enable, semantic
):
    enable()
    for number in range(12):
        write(f"lessons/{number}.md", CARD.replace("one order", f"order {number}"))
    with Brain.open(root, directory=root) as brain:
        # A hook encodes none, and a search encodes a few files only if that completes them.
        brain.refresh(limit=100)
        assert not any(hit.meaning for hit in brain.search(PROMPT))
        assert "12 files are not encoded yet" in brain.members[0].stale
        ((level, _detail, _fix),) = semantic()
        assert level in ("ok", "warning")
        encode(brain)
        assert brain.refresh()[0].stale == ""


@pytest.mark.semantic
def test_korean_prompts_are_found_by_their_words_alone(root, write, enable):
    write("lessons/ko.md", "# 저장할 때는 인코딩을 항상 명시한다\n\n엑셀로 열면 글자가 깨진다\n")
    prompt = "엑셀에서 글자가 깨져서 나와"
    with Brain.open(root, directory=root) as brain:
        before = brain.search(prompt)
        enable(brain)
        assert brain.search(prompt) == before


@pytest.mark.slow
@pytest.mark.semantic
def test_titles_that_mean_the_same_are_proposed(root, write, telegram, enable):
    write("lessons/retry.md", "# A retried payment bills the customer twice\n\nText.\n")
    title = "Customers get charged two times after payment retries"
    with Brain.open(root, directory=root) as brain:
        card = Card(id="new.md", kind="lesson", title=title)
        assert not brain.cards.find_near_duplicates(card)
        enable(brain)
        (duplicate,) = brain.cards.find_near_duplicates(card)
        assert (duplicate.card.id, duplicate.level) == ("lessons/retry.md", "near")
        assert "has nearly the same meaning (distance 0." in duplicate.reason
        with pytest.raises(DuplicateCard, match="has nearly the same meaning"):
            brain.create(title)
        assert brain.create(title, on_duplicate="bump").id != "lessons/retry.md"


@pytest.mark.slow
@pytest.mark.semantic
def test_titles_of_one_form_are_no_duplicates(root, enable):
    enable()
    services = "billing auth search cart export import mailer report invoice refund".split()
    with Brain.open(root, directory=root) as brain:
        for service in services:
            brain.create(f"The {service} service times out under load after a deploy")
            encode(brain)
        assert len(brain.cards.all()) == len(services)


@pytest.mark.semantic
def test_the_model_of_the_extra_needs_no_setting(root, write, telegram, minilm, monkeypatch):
    write("lessons/retry.md", CARD)
    with Brain.open(root, directory=root) as brain:
        assert not brain.preflight(PROMPT, context=False).lessons
        monkeypatch.delenv("LESSONS_SEMANTIC")
        encode(brain)
        block = brain.preflight(PROMPT, context=False)
        (hit,) = block.lessons or block.offered
        assert hit.card.id == "lessons/retry.md"
        assert hit.meaning > 0
        brain.members[0].words_only = True
        assert not brain.preflight(PROMPT, context=False).lessons


@pytest.mark.parametrize("model", ["/nowhere", "org/none"])
def test_a_missing_model_costs_nothing_but_meaning(
    root, write, telegram, model, semantic, monkeypatch
):
    ((level, detail, _fix),) = semantic()
    assert (level, detail[:3], detail[-29:]) == ("off", "off", "cards are found by words only")
    with Brain.open(root, directory=root) as brain:
        before = brain.search("telegram allowlist")
        monkeypatch.delenv("LESSONS_SEMANTIC")
        write("lessons.toml", f'[semantic]\nenabled = true\nmodel = "{model}"\n')
        assert brain.search("telegram allowlist") == before
        ((level, detail, fix),) = semantic()
        assert level == "warning"
        assert detail.startswith(("off: semantic.model", "off: semantic search is off"))
        assert fix


@pytest.mark.slow
@pytest.mark.semantic
def test_a_search_notices_what_another_connection_did_to_files_and_vectors(
    root, write, telegram, enable
):
    def find(brain):
        return [hit.card.id for hit in brain.preflight(PROMPT, context=False).offered]

    def read_vectors(brain):
        return brain.members[0].meaning._ready[1]

    write("lessons/retry.md", CARD)
    with Brain.open(root, directory=root) as brain, Brain.open(root, directory=root) as other:
        enable(brain)
        assert find(brain) == find(other) == ["lessons/retry.md"]
        read_vectors(other).keep_only(())
        assert find(brain) == ["lessons/retry.md"]
        assert find(brain) == find(brain) == ["lessons/retry.md"]
        path = write("lessons/retry.md", CARD.replace("billed twice", "charged two times"))
        assert find(brain) == find(brain) == ["lessons/retry.md"]
        digests = {digest for _n, digest in brain.members[0].catalogue.numbers().values()}
        assert read_vectors(other).find_absent(digests) == []
        path.write_text(CARD.replace("billed twice for one order", "fond of bananas"))
        for one in (other, brain):
            assert one.search("Who likes a banana?")[0].meaning > 0


@pytest.mark.slow
@pytest.mark.semantic
def test_damaged_vectors_are_replaced_by_the_next_search(root, write, telegram, enable):
    write("lessons/retry.md", CARD)
    with Brain.open(root, directory=root) as brain:
        enable(brain)
    with Brain.open(root, directory=root) as brain:
        meaning = brain.members[0].meaning
        vectors = meaning._ready[1]
        assert brain.preflight(PROMPT, context=False).offered
        meaning._loaded = None
        with pytest.raises(StorageError, match="was damaged"), vectors._translating():
            raise sqlite3.DatabaseError("malformed")
        (hit,) = brain.preflight(PROMPT, context=False).offered
        assert hit.card.id == "lessons/retry.md"
        assert hit.meaning > 0
