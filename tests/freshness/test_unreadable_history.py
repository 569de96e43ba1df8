"""git cannot read the history of a clone with missing objects: `doctor` says so, and why."""

import pytest

from tests import kit
from tests.kit import git


@pytest.fixture
def lost(shop, write_card):
    """Return the file of an object that git needs to follow a moved file, after its removal."""
    write_card("mail", "paths: [src/mail.py]\n")
    kit.commit(shop, "card", "2026-01-03T12:00:00+00:00")
    blob = git(shop, "rev-parse", "HEAD:src/mail.py").strip()
    git(shop, "mv", "src/mail.py", "src/post.py")
    text = (shop / "src/post.py").read_text()
    kit.commit(shop, "move", "2026-03-01T12:00:00+00:00", **{"src/post.py": f"{text}# moved\n"})
    file = shop / ".git/objects" / blob[:2] / blob[2:]
    away = shop.parent / "object"
    file.rename(away)
    return file, away


def find_lines(lessons, *words):
    return [line for line in lessons("doctor").out.splitlines() if all(map(line.count, words))]


def test_doctor_names_the_reason_in_one_line(shop, lost, lessons, monkeypatch):
    monkeypatch.chdir(shop)
    (line,) = find_lines(lessons, "freshness")
    assert line.startswith("⚠ freshness: git cannot read the history, so moved and ")
    assert "unable to read" in line
    assert "git fsck" in line


def test_the_history_is_read_again_by_doctor_alone_or_after_a_commit(
    shop, lost, lessons, monkeypatch
):
    monkeypatch.chdir(shop)
    assert "moved-path" not in lessons("lint").out
    file, away = lost
    away.rename(file)
    assert "moved-path" not in lessons("lint").out
    kit.commit(shop, "next", "2026-03-02T12:00:00+00:00", **{"src/new.py": "1\n"})
    assert "moved-path" in lessons("lint").out


def test_doctor_sees_that_the_history_was_repaired(shop, lost, lessons, monkeypatch):
    monkeypatch.chdir(shop)
    assert find_lines(lessons, "cannot read the history")
    file, away = lost
    away.rename(file)
    assert not find_lines(lessons, "cannot read the history")
    assert find_lines(lessons, "freshness", "guard files that were moved")
    assert "moved-path" in lessons("lint").out
