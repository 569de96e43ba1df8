"""Tests for the names that files have had: copies of removed files, and merges of the main line."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lessons_kb.store import file_history
from lessons_kb.store.file_history import FileHistory
from lessons_kb.text.name_changes import NameChange, NamedCommit

CONTENT, OTHER, EMPTY = "a" * 40, "b" * 40, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


@pytest.fixture(params=["in one batch", "each by itself"])
def history(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FileHistory]:
    if request.param == "each by itself":
        monkeypatch.setattr(file_history, "_BATCH", 0)
        monkeypatch.setattr(file_history, "_MOST_COLLECTED", 0)
    with contextlib.closing(FileHistory(str(tmp_path / "history.sqlite"))) as opened:
        yield opened


def commit(number: int, *changes: tuple[str, str, str], parents: str = "") -> NamedCommit:
    """Return a commit, whose parent is the commit before it unless ``parents`` are given."""
    named = tuple(NameChange(status, path, "", blob) for status, path, blob in changes)
    before = [f"c{number - 1}"] if number > 1 else []
    return NamedCommit(
        id=f"c{number}",
        day=f"2026-01-{number:02}",
        parents=tuple(parents.split() or before),
        changes=named,
    )


@pytest.mark.parametrize(
    ("changes", "copies"),
    [
        pytest.param([("A", "copy", CONTENT)], ["copy"], id="a copy"),
        pytest.param([("A", "x", OTHER), ("M", "x", CONTENT)], [], id="edited to the same"),
        pytest.param([("A", "copy", OTHER)], [], id="another content"),
    ],
)
def test_a_removed_file_has_copies(
    history: FileHistory, changes: list[tuple[str, str, str]], copies: list[str]
) -> None:
    commits = [
        commit(1, ("A", "old", CONTENT)),
        commit(2, *changes),
        commit(3, ("D", "old", CONTENT)),
    ]
    history.add(commits, head="c3", afresh=True)
    assert history.find_copies("old", 3) == copies


@pytest.mark.parametrize("change", [("M", "copy", OTHER), ("D", "copy", CONTENT)])
def test_a_copy_counts_only_while_it_is_one(
    history: FileHistory, change: tuple[str, str, str]
) -> None:
    first = commit(1, ("A", "old", CONTENT), ("A", "copy", CONTENT))
    history.add([first, commit(2, change)], head="c2", afresh=True)
    history.add([commit(3, ("D", "old", CONTENT))], head="c3", afresh=False)
    assert history.find_copies("old", 3) == []


def test_a_copy_that_came_later_does_not_count(history: FileHistory) -> None:
    first = commit(1, ("A", "old", CONTENT))
    removal = commit(2, ("D", "old", CONTENT))
    later = commit(3, ("A", "copy", CONTENT))
    history.add([first, removal, later], head="c3", afresh=True)
    assert history.find_copies("old", 2) == []


def test_a_copy_that_another_line_edited_is_still_a_copy(history: FileHistory) -> None:
    commits = [
        commit(1, ("A", "old", CONTENT)),
        commit(2, ("A", "copy", CONTENT)),
        commit(3, ("M", "copy", OTHER), parents="c2"),
        commit(4, ("D", "old", CONTENT), parents="c2"),
        commit(5, parents="c4 c3"),
    ]
    history.add(commits, head="c5", afresh=True)
    assert history.find_copies("old", 4) == ["copy"]


def test_a_copy_on_another_line_does_not_count(history: FileHistory) -> None:
    commits = [
        commit(1, ("A", "old", CONTENT)),
        commit(2, ("A", "copy", CONTENT), parents="c1"),
        commit(3, ("D", "old", CONTENT), parents="c1"),
        commit(4, parents="c3 c2"),
    ]
    history.add(commits, head="c4", afresh=True)
    assert history.find_copies("old", 3) == []


def test_a_commit_that_git_cannot_read_hides_no_copy(history: FileHistory) -> None:
    first = commit(1, ("A", "old", CONTENT), ("A", "copy", CONTENT))
    removal = commit(2, ("D", "old", CONTENT), parents="unreadable")
    history.add([first, removal], head="c2", afresh=True)
    assert history.find_copies("old", 2) == ["copy"]


def test_an_empty_file_has_no_copies(history: FileHistory) -> None:
    first = commit(1, ("A", "old", EMPTY), ("A", "__init__.py", EMPTY))
    history.add([first, commit(2, ("D", "old", EMPTY))], head="c2", afresh=True)
    assert history.find_copies("old", 2) == []


def test_only_merges_of_the_main_line_are_listed(history: FileHistory) -> None:
    commits = [
        commit(1),
        commit(2, parents="c1"),
        commit(3, parents="c2 c1"),  # a merge on the side line
        commit(4, parents="c1 c3"),
        commit(5, parents="c4"),
    ]
    history.add(commits, head="c5", afresh=True)
    assert history.list_merges() == ["c4"]


def test_a_merge_removes_only_wanted_files_and_keeps_known_changes(history: FileHistory) -> None:
    first = commit(1, ("A", "wanted", CONTENT), ("A", "other", OTHER))
    merge = commit(2, parents="c1 c0")
    history.add([first, merge], head="c2", afresh=True)
    removed = commit(2, ("D", "wanted", CONTENT), ("D", "other", OTHER), parents="c1 c0")
    history.add_removals([removed], ["wanted"])
    removal = history.find_removal("wanted", after=0)
    assert removal is not None
    assert removal.commit == "c2"
    assert history.find_removal("other", after=0) is None


def test_the_changes_of_a_file_are_counted_from_a_day(history: FileHistory) -> None:
    commits = [commit(1, ("A", "file", CONTENT))]
    commits += [commit(number, ("M", "file", OTHER)) for number in range(2, 12)]
    history.add(commits, head="c11", afresh=True)
    history.add([commit(12, ("D", "file", OTHER))], head="c12", afresh=False)
    assert history.count_changes("file", since="2026-01-05") == 6
    assert [version.commit for version in history.list_versions("file")] == [
        f"c{number}" for number in range(1, 12)
    ]
    assert history.find_first_day("file") == "2026-01-01"
    assert history.has_file("file", on="2026-01-11")
    assert not history.has_file("file", on="2026-01-12")
    assert not history.has_file("file", on="2025-12-31")


def test_a_file_that_took_the_place_of_another_is_a_copy(history: FileHistory) -> None:
    first = commit(1, ("A", "old", CONTENT), ("A", "pkg", OTHER))
    history.add(
        [first, commit(2, ("D", "old", CONTENT), ("M", "pkg", CONTENT))], head="c2", afresh=True
    )
    assert history.find_copies("old", 2) == ["pkg"]


def test_two_changes_of_one_name_in_a_commit_count_once(history: FileHistory) -> None:
    name = "caf\ufffd.txt"  # two names that are not UTF-8
    changed = commit(2, ("D", name, CONTENT), ("A", name, CONTENT))
    history.add([commit(1, ("A", name, CONTENT)), changed], head="c2", afresh=True)
    assert history.find_removal(name, after=0) is None
    assert history.has_file(name, on="2026-01-02")
    assert len(history.list_versions(name)) == 2
