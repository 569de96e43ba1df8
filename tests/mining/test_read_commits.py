"""The facts about commits, read from a real repository."""

import pytest

from lessons_kb.mining.candidates import find_candidates
from lessons_kb.mining.commit_facts import read_facts
from lessons_kb.mining.read_commits import read_commits
from lessons_kb.process.git import list_commits, read_names, read_patches
from tests.kit import commit, git

NOW = 1_800_000_000.0


@pytest.fixture
def repo(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def day(number):
    return f"2026-10-{number:02}T10:00:00+00:00"


def write_history(repo):
    """Features, a fix, a fix of that fix, attempts on the configuration, and a quiet fix."""
    page = "".join(f"LINE_{number} = {number}\n" for number in range(200))
    commit(repo, "feat: add pages", day(1), **{"page.py": page, "pay.py": "return post(card)\n"})
    commit(repo, "Add a release", day(2), **{"release.yml": "args: release --notes out.md\n"})
    fix = "return post(card, idempotency_key(card))\n"
    commit(repo, "fix: do not charge twice\n\nThe retry caused it.", day(3), **{"pay.py": fix})
    better = "return post(card, idempotency_key(card, day))\n"
    commit(repo, "fix: charge again on the next day", day(4), **{"pay.py": better})
    for number, option in enumerate(("latest", "unreleased"), 5):
        attempt = f"args: release --{option} --notes out.md\n"
        commit(repo, "Use another option for the notes", day(number), **{"release.yml": attempt})
    quiet = "# Never send an empty page, because the browser keeps it.\n" + page[:-1]
    test = "def test_page():\n    assert LINE_0 == 1\n"
    files = {"page.py": quiet, "tests/test_page.py": test}
    commit(repo, "Send pages with a first line", day(8), **files)
    commit(repo, "feat: add a shop", day(9), **{"shop.py": page, "tests/test_shop.py": test})


def test_candidates_are_the_same_as_from_all_patches(repo):
    write_history(repo)
    ids = list_commits(str(repo))
    whole = [
        read_facts(patch.id, patch.at, patch.message, patch.patch)
        for patch in read_patches(str(repo), ids)
    ]
    partial = list(read_commits(str(repo), ids))
    assert {facts.id for facts in partial} == set(ids)
    expected = find_candidates([], whole, now=NOW)
    assert find_candidates([], partial, now=NOW) == expected
    assert len(expected) >= 3


def test_the_patch_of_a_feature_is_not_read(repo):
    write_history(repo)
    partial = {facts.subject: facts for facts in read_commits(str(repo), list_commits(str(repo)))}
    assert partial["fix: do not charge twice"].added == 1
    shop = partial["feat: add a shop"]
    assert (shop.added, shop.paths, shop.tests) == (0, ("shop.py",), ("tests/test_shop.py",))


def test_names_of_files_are_read_with_the_whole_message(repo):
    commit(repo, "Add one\n\nWith a body.", day(1), **{"a.py": "one\n" * 9, 'q"t.py': "two\n"})
    git(repo, "mv", "a.py", "ü b.py")
    git(repo, "rm", "-q", 'q"t.py')
    commit(repo, "Rename it", day(2))
    renamed, first = read_names(str(repo), list_commits(str(repo)))
    assert renamed.paths == ("ü b.py",)
    assert first.message.strip() == "Add one\n\nWith a body."
    assert first.paths == ("a.py", 'q\\"t.py')
    assert first.at < renamed.at
