"""`lessons sync`: what is in the files is in the cluster, whatever happened on the way."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from lessons_kb.search.engine_registry import open_qdrant
from tests.qdrant_server import QdrantServer

pytestmark = pytest.mark.slow  # an embedded cluster is written in pure Python

NAME = '[index]\ncollection = "shop"\n'
CARD = "# Mind the {0}\n\n## Prevention Checklist\n\n- Look at the {0}\n"


@pytest.fixture
def brain(tmp_path):
    root = tmp_path / "brain"
    (root / "lessons").mkdir(parents=True)
    (root / "lessons.toml").write_text(NAME)
    for word in ("zebra", "giraffe", "결제"):
        (root / f"lessons/{word}.md").write_text(CARD.format(word))
    (root / "note.md").write_text("# A note about zebras\n")
    return root


@pytest.fixture
def sync(lessons, brain):
    return lambda to, *more: lessons("--brain", brain, "sync", "--to", to, *more)


def held(to, **key):
    engine = open_qdrant(str(to), create=False, collection="shop", **key)
    labels = engine.labels().values()
    engine.verify(engine.stamp())
    engine.close()
    return sorted(one["id"] for one in labels)


def ids(root):
    files = (path.relative_to(root).as_posix() for path in root.rglob("*.md"))
    return sorted(name for name in files if not name.startswith("."))


def test_what_changed_is_pushed_and_deletions_too(sync, brain, tmp_path):
    to = tmp_path / "cluster"
    nothing = sync(to, "--verify")
    assert (nothing.code, nothing.err.count("\n")) == (1, 1)
    assert "lessons sync --to" in nothing.err
    first = sync(to)
    assert (first.code, first.out) == (0, f"{to}: 4 files; 4 added, 0 changed, 0 removed\n")
    assert held(to) == ids(brain)
    again = json.loads(sync(to, "--json").out)
    assert {again[key] for key in ("added", "changed", "removed")} == {0}
    same = sync(to, "--verify")
    assert (same.code, same.out) == (0, f"{to}: 4 files here, 4 there; no difference\n")
    (brain / "lessons/zebra.md").unlink()
    (brain / "lessons/giraffe.md").write_text(CARD.format("giraffe neck"))
    (brain / "lessons/walrus.md").write_text(CARD.format("walrus"))
    for _ in range(2):  # it pushes nothing
        other = sync(to, "--verify")
        assert other.code == 1
        assert other.out.splitlines()[:3] == [
            "missing: lessons/walrus.md",
            "changed: lessons/giraffe.md",
            "extra: lessons/zebra.md",
        ]
    found = json.loads(sync(to, "--verify", "--json").out)
    assert (found["same"], found["extra"]) == (False, ["lessons/zebra.md"])
    assert sync(to).out == f"{to}: 4 files; 1 added, 1 changed, 1 removed\n"
    assert held(to) == ids(brain)
    (brain / "lessons.toml").write_text(NAME + '[folders]\n"lessons" = "note"\n')
    assert sync(to, "--verify").code == 1  # a card that becomes a note moves
    sync(to)
    assert held(to) == ids(brain)
    assert sync(to, "--verify").code == 0


def test_a_collection_of_another_analyzer_is_built_anew(sync, brain, tmp_path, monkeypatch):
    to = tmp_path / "cluster"
    sync(to)
    monkeypatch.setattr("lessons_kb.search.qdrant_engine.VERSIONS", "1 0")
    stale = sync(to, "--verify")
    assert stale.code == 1
    assert "another version" in stale.err
    assert "4 added" in sync(to).out
    assert held(to) == ids(brain)


def test_a_damaged_folder_says_what_to_do(sync, brain, tmp_path):
    to = tmp_path / "cluster"
    sync(to)
    (to / "meta.json").write_text("{")
    broken = sync(to)
    assert (broken.code, broken.err.count("\n")) == (2, 1)
    assert f"delete {to}" in broken.err


def test_a_server_gets_the_same_as_a_folder(sync, brain, monkeypatch):
    monkeypatch.setenv("LESSONS_SYNC_KEY", "secret")
    with QdrantServer(key="secret") as server:
        first = sync(server.url)
        assert (first.code, first.err) == (0, "")
        assert "4 added" in first.out
        assert held(server.url, key="secret") == ids(brain)
        (brain / "lessons/zebra.md").unlink()
        assert "1 removed" in sync(server.url).out
        assert sync(server.url, "--verify").code == 0
        assert "PUT /collections/shop/index?wait=true" in server.requests


def test_a_wrong_key_or_a_server_that_does_not_answer_is_one_line(sync, brain):
    with QdrantServer(key="secret") as server:
        expected = [(sync(server.url), "LESSONS_SYNC_KEY")]
        url = server.url
    expected.append((sync(url), "does not answer"))
    for refused, said in expected:
        assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 1)
        assert said in refused.err


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("http://example.com:6333", "unencrypted"),
        ("http://127.0.0.1.example.com", "unencrypted"),
        ("https://:secret@example.com", "LESSONS_SYNC_KEY"),
        ("ftp://example.com", "https://"),
        ("https://", "https://"),
        ("https://[::1", "not an address"),
    ],
)
def test_an_address_that_is_not_safe_is_refused(sync, brain, to, words):
    refused = sync(to)
    assert (refused.code, refused.out, refused.err.count("\n")) == (2, "", 1)
    assert words in refused.err
    assert "secret@" not in refused.err


def test_a_server_is_told_the_name_that_the_brain_was_given(sync, brain):
    (brain / "lessons.toml").write_text("")
    nameless = sync("https://127.0.0.1:1")
    assert nameless.code == 2
    assert "collection" in nameless.err
    (brain / "lessons.toml").write_text('[index]\ncollection = "a/b"\n')
    assert "letters" in sync("https://127.0.0.1:1").err


def test_without_the_extra_it_says_how_to_add_it(sync, brain, tmp_path, monkeypatch):
    monkeypatch.setattr("lessons_kb.brain.cluster_search.find_spec", lambda _name: None)
    absent = sync(tmp_path / "cluster")
    assert (absent.code, absent.err.count("\n")) == (2, 1)
    assert "lessons-kb[cluster]" in absent.err or "[cluster]" in absent.err


@pytest.mark.slow
def test_a_run_that_is_killed_is_ended_by_the_next(brain, tmp_path, monkeypatch):
    for number in range(700):
        (brain / f"lessons/card-{number}.md").write_text(CARD.format(f"thing{number}"))
    to = tmp_path / "cluster"
    script = os.path.join(os.path.dirname(sys.executable), "lessons")
    command = [script, "--brain", str(brain), "sync", "--to", str(to)]
    storage = to / "collection" / "shop" / "storage.sqlite"
    killed = 0
    for goal in (1, 60_000, 200_000, 400_000, 700_000):  # bytes: so far each run may come
        run = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        end = time.monotonic() + 60
        while run.poll() is None and time.monotonic() < end:
            if storage.exists() and storage.stat().st_size >= goal:
                break
            time.sleep(0.001)
        if run.poll() is None:
            run.send_signal(signal.SIGKILL)
            killed += 1
        run.communicate()
    assert killed >= 3
    last = subprocess.run(command, capture_output=True, text=True, check=True)
    assert last.stdout.startswith(f"{to}: 704 files; "), last.stdout
    assert held(to) == ids(brain)
    subprocess.run([*command, "--verify"], check=True, capture_output=True)
    engine = open_qdrant(str(to), create=False, collection="shop")
    assert engine.document_frequencies(["thing7", "mind"]) == {"thing7": 1, "mind": 703}
    engine.close()
