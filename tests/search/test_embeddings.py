"""Meaning: fusing two kinds of evidence, keeping vectors, running a model."""

import math
import subprocess
import sys

import pytest

from lessons_kb.config import Gate
from lessons_kb.errors import ModelMissing, StorageError
from lessons_kb.model import Card, Hit
from lessons_kb.search.embeddings import (
    Vectors,
    compute_most,
    find_absent_libraries,
    find_model,
    judge_meaning,
    open_model,
    widen,
)
from tests.kit import write

np = pytest.importorskip("numpy")


def hit(name="a", confidence=0.5, **more):
    card = Card(id=name, kind="lesson", title=name)
    return Hit(card=card, score=1.0, bm25=1.0, confidence=confidence, reason="covers 10%", **more)


def test_meaning_adds_in_units_of_a_good_score():
    assert widen({1: 4.0}, {1: 0.5, 2: 0.1, 3: -0.2}, most=16.0) == {1: 4.0, 2: pytest.approx(0.8)}
    assert widen({}, {2: 0.5}, most=16.0)[2] == pytest.approx(math.sqrt(4 * 16) / 2)
    assert widen({}, {2: 0.5}, most=0.0)[2] == 0.5


def test_the_most_a_query_can_score():
    assert compute_most({"a": 2.0, "b": 1.0}, {"a": 1}, 3) == pytest.approx(
        2.2 * (2 * math.log(1 + 2.5 / 1.5) + math.log(1 + 3.5 / 0.5))
    )


def test_a_verdict_weighs_words_and_meaning():
    def verdict(confidence, cosine, **more):
        (judged,) = judge_meaning([hit("a", confidence, **more)], {"a": cosine}, Gate())
        return judged

    assert verdict(0.0, 0.7).passed
    assert not verdict(0.0, 0.4).passed
    assert verdict(0.9, 0.4).passed
    assert not verdict(0.9, 0.05).passed
    assert verdict(0.0, 0.7).reason == "near in meaning (0.70); covers 10%"
    assert verdict(0.6, 0.05).reason.startswith("suppressed: not near enough in meaning (0.05)")
    untouched = hit("a", 0.9, passed=True)
    assert judge_meaning([untouched], {"a": None}, Gate()) == [untouched]
    guarding = hit("a", 0.9, passed=True, factors=(("path", 1.5),))
    assert judge_meaning([guarding], {"a": 0.0}, Gate()) == [guarding]


def rows(*values):
    return np.array([[value, 1 - value] for value in values], dtype=np.float32)


def test_vectors_are_kept_by_digest_for_one_model(tmp_path):
    store = Vectors(str(tmp_path), "m")
    assert store.find_absent(["a", "b", "a"]) == ["a", "b"]
    store.add([("a", rows(0.25, 0.5)), ("b", rows()), ("c", rows(1.0))])
    store.close()
    store = Vectors(str(tmp_path), "m")
    assert store.find_absent(["d", "a", "b"]) == ["d"]
    places, vectors = store.read(["c", "d", "b", "a"])
    assert places == [0, 3, 3]
    assert vectors.tolist() == [[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]
    assert store.read([])[0] == store.read(["d"])[0] == []
    store.keep_only({"a"})
    assert store.find_absent(["a", "b", "c"]) == ["b", "c"]
    store.close()
    other = Vectors(str(tmp_path), "n")
    assert other.find_absent(["a"]) == ["a"]
    other.close()
    assert [path.name for path in tmp_path.iterdir()] == ["vectors-2-n.db"]


def test_a_damaged_file_begins_anew(tmp_path):
    path = tmp_path / "vectors-2-m.db"
    path.write_bytes(b"no database" * 1000)
    store = Vectors(str(tmp_path), "m")
    assert store.find_absent(["a"]) == ["a"]
    store.add([(f"digest {n}", np.ones((20, 384), dtype=np.float32)) for n in range(50)])
    path.write_bytes(path.read_bytes()[:4096] + b"x" * 400_000)
    with pytest.raises(StorageError, match="was damaged and has been reset"):
        store.read(["digest 1"])
    assert store.find_absent(["a"]) == ["a"]
    store.close()


def test_a_folder_that_refuses_is_named(tmp_path):
    with pytest.raises(StorageError, match="cannot open"):
        Vectors(str(tmp_path / "none"), "m")


def test_a_model_is_found_in_a_folder_or_in_the_local_cache(tmp_path, monkeypatch):
    root, hub = str(tmp_path / "brain"), tmp_path / "hub" / "models--org--small"
    folder = write(tmp_path, "brain/models/tokenizer.json", "").parent
    assert find_model("models", root=root) == str(folder)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    write(hub, "refs/main", "abc\n")
    snapshot = write(hub, "snapshots/abc/tokenizer.json", "").parent
    assert find_model("org/small", root=root) == str(snapshot)


@pytest.mark.parametrize("name", ["", "none", "org/none", "/nowhere", "../.."])
def test_a_model_that_is_not_there_says_what_to_name(tmp_path, name):
    with pytest.raises(ModelMissing, match=r"semantic\.model = .*; name a folder"):
        find_model(name, root=str(tmp_path))


@pytest.mark.skipif(
    bool(find_absent_libraries()), reason="needs pip install 'lessons-kb[semantic]'"
)
def test_a_broken_model_is_one_line(tmp_path):
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelMissing, match="no ONNX file"):
        open_model(str(tmp_path))
    (tmp_path / "model.onnx").write_bytes(b"broken")
    with pytest.raises(ModelMissing, match=r"cannot be loaded \([^\n]*\); name another"):
        open_model(str(tmp_path))


@pytest.mark.semantic
def test_a_real_model_knows_what_is_alike_and_what_it_does_not_know(minilm):
    model = open_model(str(minilm))
    texts = ["the customer paid twice", "somebody was billed two times", "bananas are yellow", ""]
    first, second, far, nothing = model.encode(texts)
    assert model.size == len(first) == 384
    assert first @ first == pytest.approx(1, abs=1e-3)
    assert first @ second > 0.5
    assert first @ far < 0.3
    assert not nothing.any()
    assert model.encode([]).shape == (0, 384)
    unknown = ["엑셀로 열면 글자가 깨진다", "日本語のテスト", "뷁쀍 꿻뛟 쒫쮋"]
    assert not model.encode(unknown).any()
    assert model.encode(["foo(bar[0]); x = get_user(id)"]).any()


_ENCODE_FILES = """
import sys
from lessons_kb.search.embeddings import open_model

def read_megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 // 1_000_000

model = open_model(sys.argv[1])
texts = [f"lesson {number}: the nightly job pays customers twice, so check. " * 40 for number in range(64)]
model.encode(texts)
model.encode(["warm"])
print(read_megabytes())
"""


@pytest.mark.slow
@pytest.mark.semantic
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
def test_the_memory_of_the_largest_batch_is_given_back(minilm):
    command = [sys.executable, "-c", _ENCODE_FILES, str(minilm)]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    assert int(printed) < 330
