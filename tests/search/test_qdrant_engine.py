"""What only the engine of a cluster has: fixed means, changes in the making."""

import contextlib

import pytest

from lessons_kb.errors import IndexBroken, IndexBusy, StorageError
from lessons_kb.search.engine_registry import open_engine, open_qdrant

pytestmark = pytest.mark.slow  # an embedded cluster is written in pure Python

BODY = {"body": 1.0}


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "cluster")


@pytest.fixture
def engine(folder):
    opened = open_qdrant(folder, create=True, collection="ours")
    yield opened
    opened.close()


def body(*terms):
    return {"body": terms}


def _scores(engine):
    return dict(engine.search({"a": 1.0}, BODY, 9))


def test_vectors_are_computed_again_once_the_mean_length_has_drifted(engine, tmp_path):
    texts = {n: body("a", *["x"] * 9) for n in range(1, 11)}
    engine.update(texts.items())
    texts[11] = body("a", *["x"] * 12)
    engine.update([(11, texts[11])])
    assert engine._head["means"]["body"] == 10.0  # a little longer now, but not by a tenth
    texts[12] = body("a", *["x"] * 99)
    engine.update([(12, texts[12])])
    assert engine._head["means"]["body"] == pytest.approx(17.75)
    reference = open_engine("rank-bm25", str(tmp_path / "reference"), create=True)
    reference.update(texts.items())
    assert _scores(engine) == pytest.approx(_scores(reference), rel=1e-4)
    reference.close()


def test_an_index_of_another_version_is_broken_and_can_be_dropped(folder, engine, monkeypatch):
    engine.update([(1, body("a"))])
    module = type(engine).__module__
    monkeypatch.setattr(f"{module}.VERSIONS", "0 0")
    for create in (False, True):
        with pytest.raises(IndexBroken, match="another version"):
            open_qdrant(folder, create=create, collection="ours")
    type(engine).drop(folder, collection="ours")
    with pytest.raises(IndexBroken, match="no index"):
        open_qdrant(folder, create=False, collection="ours")
    open_qdrant(folder, create=True, collection="ours").close()


def test_what_another_program_made_is_left_alone(folder, engine):
    engine._client.create_collection("theirs", vectors_config={})
    for create in (False, True):
        with pytest.raises(StorageError, match="another program's"):
            open_qdrant(folder, create=create, collection="theirs")


def test_collections_in_one_folder_know_nothing_of_each_other(folder, engine):
    other = open_qdrant(folder, create=True, collection="other")
    engine.update([(1, body("a"))], labels={1: {"id": "lessons/a.md", "hash": "h"}})
    other.update([(2, body("a", "b"))])
    assert engine.document_frequencies(["b"]) == {"b": 0}
    assert [n for n, _ in engine.search({"a": 1.0}, BODY, 5)] == [1]
    assert other.labels() == {2: {}}
    assert engine.labels() == {1: {"id": "lessons/a.md", "hash": "h"}}
    other.close()


class _Killed(BaseException):
    """In the place of a signal that nobody can catch."""


@pytest.mark.parametrize("writes", range(5))
def test_a_change_that_was_cut_short_is_made_again(folder, engine, writes, monkeypatch):
    engine.update((n, body("a", f"w{n}")) for n in range(1, 6))
    client, left = type(engine._client), writes

    def counted(name):
        real = getattr(client, name)

        def call(*args, **kwargs):
            nonlocal left
            left -= 1
            if left < 0:
                raise _Killed
            return real(*args, **kwargs)

        return call

    change = [(6, body("a", "new")), (2, body("a", "second"))], [1]
    with monkeypatch.context() as patched:
        for name in ("upsert", "delete"):
            patched.setattr(client, name, counted(name))
        with contextlib.suppress(_Killed):
            engine.update(*change)
    engine.reload()
    if engine.is_changing():
        with pytest.raises(IndexBroken, match="was not completed"):
            open_qdrant(folder, create=False, collection="ours")
    else:
        assert writes in (0, 4)
    engine.close()
    again = open_qdrant(folder, create=True, collection="ours")
    again.update(*change)
    assert sorted(n for n, _ in again.search({"a": 1.0}, BODY, 9)) == [2, 3, 4, 5, 6]
    assert again.document_frequencies(["a", "new", "w2"]) == {"a": 5, "new": 1, "w2": 0}
    assert not again.is_changing()
    again.verify(again.stamp())
    again.close()
    monkeypatch.setattr(engine, "close", lambda: None)


def test_one_of_two_simultaneous_writers_gets_busy(folder, engine, monkeypatch):
    """As on a server, where no lock of this process holds."""
    other = open_qdrant(folder, create=False, collection="ours")
    other.update([(1, body("a"))])
    reload, calls = engine.reload, iter([False])  # it has read the head before
    monkeypatch.setattr(engine, "reload", lambda: next(calls, True) and reload())
    with pytest.raises(IndexBusy, match="try again"):
        engine.update([(2, body("b"))])
    monkeypatch.undo()
    engine.update([(2, body("b"))])
    engine.verify(engine.stamp())
    assert engine.size() == 2
    other.close()


def test_a_card_that_is_not_what_was_written_is_found(engine):
    engine.update([(1, body("a")), (2, body("b"))])
    engine.verify(engine.stamp())
    engine._client.delete("ours", [2])
    with pytest.raises(IndexBroken, match="1 cards, not 2"):
        engine.verify(engine.stamp())
    engine.verify(engine.stamp(), whole=False)
