"""SPEC §3: derived, disposable, never a wrong answer."""

import os
import pathlib

import pytest

from lessons_kb import Brain
from lessons_kb.errors import ConfigError


def ids(brain, text):
    return [hit.card.id for hit in brain.search(text)]


def card(word, number=0):
    return f"# Lesson about {word} {number}\n\n## Prevention Checklist\n\n- Mind the {word}\n"


@pytest.mark.parametrize("engine", ["tantivy", "rank-bm25"])
def test_edits_additions_and_removals_are_seen_by_the_next_search(root, write, engine):
    write("lessons.toml", f'[index]\nengine = "{engine}"\n')
    write("lessons/a.md", card("zebra"))
    brain = Brain.open(root)
    assert ids(brain, "zebra") == ["lessons/a.md"]
    write("lessons/a.md", card("giraffe"))
    write("lessons/b.md", card("zebra"))
    assert ids(brain, "zebra") == ["lessons/b.md"]
    assert ids(brain, "giraffe") == ["lessons/a.md"]
    (root / "lessons/b.md").unlink()
    assert ids(brain, "zebra") == []


@pytest.mark.slow
def test_an_edit_in_the_same_instant_and_of_the_same_length_is_seen(root, write):
    brain = Brain.open(root)
    for word in ("zebra", "tiger", "horse", "mouse") * 5:
        path = write("lessons/a.md", card(word))
        os.utime(path, ns=(1_700_000_000_000_000_001, 1_700_000_000_000_000_001))
        assert ids(brain, word) == ["lessons/a.md"]


def test_a_note_that_becomes_a_card_changes_sides(root, write):
    write("a.md", card("zebra"))
    brain = Brain.open(root)
    assert brain.cards.all() == []
    write("a.md", "---\ntype: lesson\n---\n" + card("zebra"))
    assert [c.id for c in brain.cards.all()] == ["a.md"]
    assert ids(brain, "zebra") == ["a.md"]


@pytest.mark.parametrize("victim", ["catalogue.db", "index-*"])
@pytest.mark.parametrize("damage", ["damaged", "deleted"])
def test_a_deleted_or_damaged_cache_is_rebuilt_silently(root, write, settle, victim, damage):
    write("lessons/a.md", card("zebra"))
    settle()
    with Brain.open(root) as brain:
        assert ids(brain, "zebra")
        cache = pathlib.Path(brain.members[0].cache)
    (target,) = cache.glob(victim)
    for file in target.iterdir() if target.is_dir() else [target]:
        if damage == "deleted":
            file.unlink()
        else:
            file.write_bytes(file.read_bytes()[:5000][:-9] + b"\0" * 5000)
    with Brain.open(root) as brain:
        assert ids(brain, "zebra") == ["lessons/a.md"]


def test_another_analyzer_or_version_means_a_rebuild(root, write, monkeypatch):
    write("lessons/a.md", card("zebra"))
    with Brain.open(root) as brain:
        brain.refresh()
        generation = brain.members[0].state.generation  # type: ignore[union-attr]
    monkeypatch.setattr("lessons_kb.brain.search_index.ANALYZER_VERSION", 999)
    with Brain.open(root) as brain:
        assert ids(brain, "zebra")
        assert brain.members[0].state.generation > generation  # type: ignore[union-attr]


def test_a_changed_folder_mapping_applies_to_files_that_did_not_change(root, write):
    write("kb/a.md", card("zebra"))
    brain = Brain.open(root)
    assert brain.cards.all() == []
    write("lessons.toml", '[folders]\nkb = "playbook"\n')
    assert [c.kind for c in brain.cards.all()] == ["playbook"]


def test_a_bad_lessons_toml_is_an_error_that_names_the_line(root, write):
    write("lessons.toml", "\n[preflight]\nbudgett = 3\n")
    with pytest.raises(ConfigError, match=r"lessons.toml:3: .*did you mean preflight.budget\?"):
        Brain.open(root).preflight("x")


def test_a_bounded_refresh_reads_a_part_only_where_nothing_is_indexed(root, write, settle):
    for number in range(10):
        write(f"lessons/{number}.md", card("zebra", number))
    layer = Brain.open(root).members[0]
    done = layer.refresh(limit=4)
    rest = "6 changed files are not indexed yet; run `lessons index`"
    assert (done.changed, done.stale) == (4, rest)
    left = layer.refresh(limit=4)
    assert (left.changed, left.stale) == (0, done.stale)
    assert layer.refresh(limit=6).changed >= 6
    assert layer.refresh(limit=4).stale == ""
    assert layer.engine is not None
    assert layer.engine.size() == 10
    for number in range(5):
        (root / f"lessons/{number}.md").unlink()
    assert layer.refresh().removed == 5
    assert layer.engine.size() == 5
    assert not layer.engine.needs_compaction(), "what was deleted does not distort the index"
    settle()
    assert layer.refresh().files == 5
    assert layer.refresh().changed == 0, "nothing is read again"


@pytest.mark.slow
def test_several_workers_index_the_same_as_one(root, write):
    for number in range(450):
        write(f"lessons/{number}.md", card(f"zebra{number % 7}", number))
    seen = []
    brain = Brain.open(root)
    brain.refresh(workers=2, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (450, 450)
    assert [done for done, _total in seen] == sorted(done for done, _total in seen)
    two, catalogued = ids(brain, "zebra3"), read_all(brain)
    brain.refresh(rebuild=True)
    assert ids(brain, "zebra3") == two
    assert read_all(brain) == catalogued
    assert len(two) == 10


def read_all(brain):
    """Return every file's number, digest, card, background and terms."""
    (member,) = brain.members
    numbers = member.catalogue.numbers()
    every = [number for number, _digest in numbers.values()]
    documents = member.read(lambda opened: opened.engine.documents(every))
    return numbers, member.catalogue.cards(every), member.catalogue.backgrounds(every), documents


def test_while_another_process_writes_the_last_commit_is_searched(root, write, settle):
    from filelock import FileLock

    write("lessons/a.md", card("zebra"))
    settle()
    layer = Brain.open(root).members[0]
    layer.refresh()
    write("lessons/b.md", card("zebra herd"))
    with FileLock(os.path.join(layer.cache, "writer.lock")):
        done = layer.refresh(patience=0.05)
    assert done.stale == layer.stale == "another process is writing the index"
    assert layer.engine is not None
    assert layer.engine.size() == 1
    assert layer.refresh().stale == ""
    assert layer.engine.size() == 2


def test_one_read_sees_a_single_commit(root, write):
    write("lessons/a.md", card("zebra"))
    layer, other = Brain.open(root).members[0], Brain.open(root).members[0]
    layer.refresh()

    def work(opened):
        engine = opened.engine
        assert engine is not None
        write("lessons/b.md", card("giraffe"))
        other.refresh()
        return engine.size(), opened.settings.language

    assert layer.read(work) == (1, "en")
    assert len(layer.read(lambda brain: brain.catalogue.all_cards())) == 2


def test_a_valid_cache_is_never_rebuilt(root, write):
    write("lessons/a.md", card("zebra"))
    layer = Brain.open(root).members[0]
    assert layer.state is None
    catalogue = pathlib.Path(layer.cache, "catalogue.db")
    began = catalogue.stat().st_ino
    for word in ("zebra", "giraffe", "zebra"):
        write("lessons/a.md", card(word))
        layer.refresh()
        with Brain.open(root) as brain:
            assert ids(brain, word) == ["lessons/a.md"]
        assert catalogue.stat().st_ino == began
    assert len(list(catalogue.parent.glob("index-*"))) == 1
