"""The facts about commits, read from a real repository."""

import json

import pytest

from lessons_kb.mining.candidates import Candidate, find_candidates
from lessons_kb.mining.commit_facts import CommitFacts, read_facts
from lessons_kb.mining.mine_project import restore
from lessons_kb.mining.read_commits import add_bodies, read_commits, redact_facts
from lessons_kb.mining.triggers import Sighting
from lessons_kb.process.git import list_commits, read_names, read_patches
from lessons_kb.values import replace
from tests.kit import commit, git

NOW = 1_800_000_000.0
SIGHTING = Sighting(session="s", agent="claude", at=NOW, title="s")


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
    shop = {"shop.py": page, "tests/test_shop.py": test}
    commit(repo, "feat: add a shop\n\nCustomers asked for it.", day(9), **shop)
    taken_back = commit(repo, "fix: never close the shop", day(10), **{"pay.py": "return open\n"})
    message = f"chore: release again\n\nNothing is new.\n\nThis reverts commit {taken_back}.\n"
    commit(repo, message, day(11), **{"pay.py": better})


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
    assert "fix: never close the shop" not in [candidate.title for candidate in expected]
    without_revert = [facts for facts in partial if not facts.body.startswith("This reverts")]
    later = find_candidates([], without_revert, now=NOW)
    assert "fix: never close the shop" in [candidate.title for candidate in later]


def test_the_patch_of_a_feature_is_not_read(repo):
    write_history(repo)
    partial = {facts.subject: facts for facts in read_commits(str(repo), list_commits(str(repo)))}
    assert partial["fix: do not charge twice"].added == 1
    shop = partial["feat: add a shop"]
    assert (shop.added, shop.paths, shop.tests) == (0, ("shop.py",), ("tests/test_shop.py",))


def test_the_message_of_a_feature_is_read_if_the_feature_ended_the_mistake_of_a_session(repo):
    write_history(repo)
    history = {facts.subject: facts for facts in read_commits(str(repo), list_commits(str(repo)))}
    shop, fix = history["feat: add a shop"], history["fix: do not charge twice"]
    assert (shop.body, fix.body) == ("", "The retry caused it.")
    common = {"occurrences": 1, "at": NOW, "rank": 1.0, "reasons": ()}
    of_session = Candidate(id="s", title="s", commits=(shop, fix), sightings=(SIGHTING,), **common)
    of_commit = Candidate(id="c", title="c", commits=(fix,), **common)
    whole, same = add_bodies(str(repo), [of_session, of_commit])
    assert [facts.body for facts in whole.commits] == ["Customers asked for it.", fix.body]
    assert same == of_commit


def test_secrets_are_removed_from_the_texts_of_a_commit_only(repo):
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    lines = "".join(f"LINE_{number} = {number}\n" for number in range(40))
    name = commit(repo, f"fix: drop {key}\n\nThe key {key} leaked.", day(1), **{"a.py": lines})
    (facts,) = read_commits(str(repo), [name])
    row = redact_facts(facts, set())
    assert key not in json.dumps(row)
    assert row["subject"].startswith("fix: drop [redacted")
    assert (row["id"], row["added_lines"], row["added"]) == (name, facts.added_lines, 40)
    assert restore(CommitFacts, json.loads(json.dumps(row))) == replace(
        facts, subject=row["subject"], body=row["body"]
    )


def test_a_secret_in_a_path_is_removed_from_every_commit_that_changes_the_file():
    path = "AKIA" + "IOSFODNN7EXAMPLF" + "/a.py"
    facts = CommitFacts(id="a" * 40, at=NOW, subject="fix: x", paths=("a.py", path))
    clean_paths: set[str] = set()
    for changed in (facts, facts, replace(facts, paths=("a.py",), tests=(path,))):
        row = redact_facts(changed, clean_paths)
        assert path not in json.dumps(row)
        assert row["paths"][0] == "a.py"
    plain = replace(facts, paths=("a.py",), tests=("test_a.py",))
    for _ in range(2):
        row = redact_facts(plain, clean_paths)
        assert (row["paths"], row["tests"]) == (plain.paths, plain.tests)
    assert clean_paths == {"a.py", "test_a.py"}


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
