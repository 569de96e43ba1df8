"""Whatever is wrong with a cache, the next command and the next hook answer right.

Each case damages a copy of one and the same cache in one way; what is asked next, be it a search,
a preflight or a hook, must say what it says over a whole cache.
"""

import contextlib
import os
import pathlib
import random
import shutil
import sqlite3
import time
from typing import NamedTuple

import pytest

from lessons_kb import Brain
from lessons_kb.store.trust import cache_dir
from tests.kit import Claude, make_brain, write

PROMPT = "Add a telegram command that restarts the service"
CARD = """\
---
type: lesson
title: {0}
severity: high
occurrences: 4
paths: ["{1}"]
gate: ask
detect:
  - regex: never_written_anywhere
---

## Root Cause

{2}

## Prevention Checklist

- {3}
- Cover {4} with a test
"""
CARDS = {
    "telegram-allowlist": (
        "Telegram commands must require an allowlist", "bot/**",
        "The telegram handler ran a restart command and never looked at the sender.",
        "Reject every telegram chat id that is not on the allowlist", "the rejection"
    ),
    "drop-column": (
        "Never drop a column in the release that stops writing it", "migrations/*.sql",
        "Old processes still wrote the column.", "Drop the column one release later", "it"
    ),
    "dates": (
        "Store dates in UTC", "src/dates/*.py", "The server stood in Seoul.",
        "Convert when shown, never when stored", "a summer night"
    ),
    "retries": (
        "Retry only what is idempotent", "src/http/*", "A payment went out twice.",
        "Send an idempotency key", "a timeout"
    )
}  # fmt: skip
EDITED = "migrations/0042.sql"


class Case(NamedTuple):
    root: pathlib.Path
    cache: pathlib.Path
    other: pathlib.Path
    """The cache of another brain, whose cards have the same names."""
    older: pathlib.Path
    """The cache of this brain before one of its cards was edited and another written."""
    whole: pathlib.Path
    rng: random.Random

    def files(self):
        return sorted(path for path in self.cache.rglob("*") if path.is_file())

    def catalogue(self):
        db = sqlite3.connect(self.cache / "catalogue.db", isolation_level=None)
        db.text_factory = bytes
        return db


def ask_search(root):
    """Return what a search finds; tantivy adds scores in single precision, we in double."""
    with Brain.open(root) as brain:
        return [(hit.card.id, round(hit.score, 4), hit.passed) for hit in brain.search(PROMPT)]


def ask_preflight(root):
    with Brain.open(root) as brain:
        return brain.preflight(PROMPT, remember=False, paths=(EDITED,)).text


def ask_cards(root):
    with Brain.open(root) as brain:
        return [brain.cards.all(), brain.lint()]


def session(root):
    # One of its own each time: what was said once is not said again.
    return Claude(root, os.urandom(8).hex())


def ask_prompt_hook(root):
    return session(root).prompt(PROMPT)


def ask_edit_hook(root):
    arguments = {"file_path": str(root / EDITED), "content": "ALTER TABLE a DROP COLUMN b;"}
    return session(root).call("Pre", "Write", arguments)


QUESTIONS = (ask_search, ask_preflight, ask_cards, ask_prompt_hook, ask_edit_hook)


def fill(folder, *, shift=0):
    write(folder, ".git/HEAD", "ref: refs/heads/main\n")
    make_brain(str(folder))
    # Titles stand in the order of their use, which each question changes.
    write(folder, "lessons.toml", "[hooks]\ncatalogue_tokens = 0\n")
    values = list(CARDS.values())
    for place, name in enumerate(CARDS):
        write(folder, f"lessons/{name}.md", CARD.format(*values[(place + shift) % len(values)]))
    write(folder, "notes.md", "# The bot\n\nA telegram command restarts the service.\n")
    write(folder, "lessons/bad.md", "---\ntitle: [unclosed\n\tx: y: z\n}}\n---\nzebra\n")
    for path in folder.rglob("*.md"):  # old enough for their times to be believed
        os.utime(path, (1_700_000_000, 1_700_000_000))
    return folder


def index(root):
    with Brain.open(root) as brain:
        brain.refresh()
        return pathlib.Path(brain.members[0].cache)


@pytest.fixture
def case(tmp_path, monkeypatch):
    monkeypatch.setattr("lessons_kb.process.programs.start_index", lambda *_a: False)
    root = fill(tmp_path / "project").resolve()
    card = root / "lessons/telegram-allowlist.md"
    text = card.read_text()
    card.write_text(text.replace("telegram", "pigeon").replace("Telegram", "Pigeon"))
    (root / "lessons/retries.md").rename(tmp_path / "retries.md")
    cache = index(root)
    older = tmp_path / "older"
    shutil.copytree(cache, older)
    (tmp_path / "retries.md").rename(root / "lessons/retries.md")
    card.write_text(text)
    index(root)
    other = index(fill(tmp_path / "other", shift=1))
    time.sleep(0.05)  # the files are older than the run that reads them
    index(root)
    whole = tmp_path / "whole"
    shutil.copytree(cache, whole)
    assert cache == pathlib.Path(cache_dir(str(root)))
    return Case(root, cache, other, older, whole, random.Random(0))


STATEMENTS = (
    "DROP TABLE meta", "DROP TABLE docs", "DROP TABLE card_globs", "DROP INDEX docs_by_title",
    "ALTER TABLE docs RENAME COLUMN card TO kard", "ALTER TABLE card_globs ADD COLUMN more",
    "ALTER TABLE docs ADD COLUMN more", "ALTER TABLE meta RENAME TO atem",
    "ALTER TABLE docs DROP COLUMN findings", "CREATE TABLE more (a)",
    "PRAGMA user_version = 0", "PRAGMA user_version = 99", "PRAGMA journal_mode = DELETE"
)  # fmt: skip


def damage_tables(case):
    """A table, a column or an index is missing, or the version lies."""
    statement = case.rng.choice(STATEMENTS)
    with contextlib.closing(case.catalogue()) as db:
        db.execute(statement)
    return statement


def damage_bytes(case):
    """Some bytes of the engine's files are others; SQLite sees no change of a text in its own."""
    path = case.rng.choice([path for path in case.files() if "catalogue" not in path.name])
    data = bytearray(path.read_bytes())
    if not data:
        return "nothing"
    at = case.rng.randrange(len(data))
    size = min(case.rng.choice([1, 1, 4, 64, 512]), len(data) - at)
    what = case.rng.choice(["flip", "zero", "random"])
    for place in range(at, at + size):
        data[place] = {
            "flip": data[place] ^ (1 << case.rng.randrange(8)),
            "zero": 0,
            "random": case.rng.randrange(256),
        }[what]
    path.write_bytes(data)
    return f"{what} {size} bytes of {path.name} at {at}"


def damage_length(case):
    """A file is cut, emptied or goes on."""
    path = case.rng.choice(case.files())
    data = path.read_bytes()
    cut = case.rng.choice([0, case.rng.randrange(len(data) + 1), len(data)])
    path.write_bytes(data[:cut] + (case.rng.randbytes(99) if cut == len(data) else b""))
    return f"{path.name} cut at {cut} of {len(data)}"


def damage_names(case):
    """A file or a folder is gone, or something else has its name."""
    path = case.rng.choice(sorted(case.cache.rglob("*")))
    what = case.rng.choice(["gone", "gone", "folder", "file", "link", "pipe"])
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    if what == "folder":
        path.mkdir()
        (path / "x").write_text("x")
    elif what == "file":
        path.write_text("x")
    elif what == "link":
        path.symlink_to("nowhere")
    elif what == "pipe":
        os.mkfifo(path)
    return f"{path.name} {what}"


def damage_places(case):
    """Two files have changed places, or one comes from another brain or from before."""
    files = case.files()
    what = case.rng.choice(["exchange", "exchange", "other", "older", "older file"])
    if what == "exchange":
        first, second = case.rng.sample(files, 2)
        one, two = first.read_bytes(), second.read_bytes()
        first.write_bytes(two)
        second.write_bytes(one)
        return f"exchange {first.name} and {second.name}"
    source = case.other if what == "other" else case.older
    if what == "older file":
        path = case.rng.choice([p for p in source.rglob("*") if p.is_file()])
        target = case.cache / path.relative_to(source)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, target)
        return f"{what} {path.name}"
    pattern = case.rng.choice(["catalogue.db*", "index-*"])
    for path in case.cache.glob(pattern):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in source.glob(pattern):
        # Another brain's index may well have the name that the catalogue here asks for.
        name = next(case.whole.glob(pattern)).name if path.is_dir() else path.name
        copy = shutil.copytree if path.is_dir() else shutil.copyfile
        copy(path, case.cache / name)
    return f"{pattern} of {what}"


@pytest.mark.slow
@pytest.mark.parametrize(("damage", "count"), [
    (damage_tables, 150), (damage_bytes, 400), (damage_length, 150), (damage_names, 250),
    (damage_places, 250),
], ids=lambda one: getattr(one, "__name__", ""))  # fmt: skip
def test_the_next_answer_is_right(case, damage, count, figure):
    expected = {question: question(case.root) for question in QUESTIONS}
    assert all(expected.values()), expected
    wrong = []
    for number in range(count):
        while case.cache.exists():  # a process that indexes may still be writing into it
            shutil.rmtree(case.cache, ignore_errors=True)
        shutil.copytree(case.whole, case.cache)
        case.rng.seed(f"{damage.__name__} {number}")
        what, question = damage(case), QUESTIONS[number % len(QUESTIONS)]
        try:
            answer = question(case.root)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        if answer != expected[question]:
            wrong.append(f"{number}: {what}, {question.__name__}: {str(answer)[:200]}")
    assert not wrong, "\n".join(wrong)
    figure(f"cache: {damage.__doc__}", f"{count} damaged caches, every next answer right")


@pytest.mark.slow
def test_a_process_that_stays_follows_a_cache_that_another_has_rebuilt(case):
    with Brain.open(case.root) as stays:
        assert stays.search(PROMPT)
        for word in ("walrus", "giraffe"):
            with contextlib.closing(case.catalogue()) as db:
                db.execute("UPDATE meta SET value = '0'")
            card = case.root / "lessons/dates.md"
            card.write_text(card.read_text().replace("Seoul", word))
            with Brain.open(case.root) as other:
                assert [hit.card.id for hit in other.search(word)] == ["lessons/dates.md"]
            assert [hit.card.id for hit in stays.search(word)] == ["lessons/dates.md"]
            card.write_text(card.read_text().replace(word, "Seoul"))
            assert stays.search(word) == []
