"""Commits are ranked by what shows that they correct a mistake."""

import pytest

from lessons_kb.mining.candidates import find_candidates
from lessons_kb.mining.commit_facts import is_written, read_facts, unpack_lines
from lessons_kb.mining.rank_commits import LEAST, explain_rank, rank_commits

DAY = 86_400.0


def patch(path, removed=(), added=()):
    lines = [f"diff --git a/{path} b/{path}", f"--- a/{path}", f"+++ b/{path}", "@@ -1 +1 @@"]
    lines += [f"-{line}" for line in removed]
    lines += [f"+{line}" for line in added]
    return "\n".join(lines) + "\n"


def make_commit(name, day, message, *patches):
    return read_facts(name * 40, day * DAY, message, "".join(patches).encode())


def rank(*history):
    ranked = rank_commits(history)
    ranked.sort(key=lambda commit: -commit.score)
    return [commit.facts.id[0] for commit in ranked]


def test_a_small_fix_with_a_cause_leads_before_a_large_feature_with_more_of_everything():
    feature = [
        patch(f"src/page{number}.py", [], [f"# never render page {number} before it is loaded"] * 9)
        for number in range(60)
    ]
    tests = patch("tests/test_pages.py", ["old = 1"], ["def test_page():", "    assert page"] * 40)
    body = "\n\nThis is because the pages must not fail. " * 5
    large = make_commit("a", 1, "Add pages with fallbacks for errors" + body, *feature, tests)
    fix = make_commit(
        "b",
        9,
        "fix: do not charge a card twice\n\nThe key was missing because a retry made a new one.",
        patch("src/pay.py", ["    return post(card)"], ["    return post(card, key=key)"]),
    )
    assert rank(large, fix) == ["b", "a"]
    assert [one.id[0] for one in find_candidates([], [large, fix], now=9 * DAY)] == ["b"]


def test_fixes_of_one_subject_within_days_and_a_revert_rank_higher():
    lines = ["uses: actions/cache@v2 with a long key", "uses: actions/cache@v3 with a long key"]
    first = make_commit(
        "a", 1, "fix: restore the cache of the build", patch("ci.py", [], lines[:1])
    )
    again = make_commit(
        "b", 2, "fix: restore the build cache", patch("ci.py", lines[:1], lines[1:])
    )
    alone = make_commit("c", 60, "fix: restore the session", patch("web.py", ["a"], ["b"]))
    ranked = {commit.facts.id[0]: commit for commit in rank_commits([first, again, alone])}
    assert ranked["b"].score > ranked["c"].score
    assert explain_rank(ranked["b"])[0] == f"fixed again after {'a' * 8}"
    late = make_commit("b", 30, again.subject, patch("ci.py", lines[:1], lines[1:]))
    assert all(not commit.before for commit in rank_commits([first, late]))
    revert = make_commit("d", 3, 'Revert "Send events in batches"', patch("web.py", ["b"], ["a"]))
    plain = make_commit("e", 3, "Send events in batches", patch("web.py", ["a"], ["b"]))
    assert rank(plain, revert) == ["d", "e"]


def test_attempts_in_a_row_on_one_line_of_the_configuration_are_a_candidate():
    values = [f"args: release --{option} --output notes.md" for option in ("a", "b", "c", "d")]
    history = [make_commit("0", 1, "Add a release", patch("release.yml", [], values[:1]))]
    for number in (1, 2, 3):
        change = patch("release.yml", values[number - 1 : number], values[number : number + 1])
        message = "Use another option for the notes of an unreleased version"
        history.append(make_commit(str(number), 1 + number / 9, message, change))
    scores = {commit.facts.id[0]: commit.score for commit in rank_commits(history)}
    assert scores["3"] > scores["2"] > scores["1"]


@pytest.mark.parametrize(
    "path", ["deploy.yaml", "App.svelte", "docs/setup.md", "setup.cfg", "main.tf", "Dockerfile"]
)
def test_configuration_and_documentation_count(path):
    subject = "fix: wait for the database before the first request"
    fix = make_commit("a", 1, subject, patch(path, ["old"], ["new value"]))
    (candidate,) = find_candidates([], [fix], now=DAY)
    assert candidate.paths == (path,)


@pytest.mark.parametrize(
    "path", ["package-lock.json", "CHANGELOG.md", "docs/solutions/retry.md", "lessons/retry.md"]
)
def test_generated_files_and_records_of_changes_do_not_count(path):
    assert not is_written(path)


def test_lines_are_remembered_with_their_file_and_without_their_indentation():
    one = make_commit("a", 1, "x", patch("a.py", [], ["    total = price * count"]))
    same = make_commit("b", 1, "x", patch("lib/a.py", ["total = price * count"], []))
    other = make_commit("c", 1, "x", patch("b.py", ["total = price * count"], []))
    assert unpack_lines(one.added_lines) == unpack_lines(same.removed_lines)
    assert unpack_lines(one.added_lines) != unpack_lines(other.removed_lines)


def test_upkeep_and_looks_are_no_candidates():
    subjects = [
        "fix(deps): update dependency left-pad to v2",
        "Fix typo in readme",
        "Add dark mode",
        "chore: release 1.2.0",
    ]
    history = [
        make_commit(str(n), n, subject, patch(f"f{n}.py", ["a"], ["b"]))
        for n, subject in enumerate(subjects)
    ]
    assert find_candidates([], history, now=9 * DAY) == []


def test_a_fix_is_not_lower_because_of_the_files_of_its_tests():
    change = patch("src/pay.py", ["    return post(card)"], ["    return post(card, key=key)"])
    tests = [patch(f"tests/test_pay{n}.py", [], [f"    assert charge({n}) == 1"]) for n in range(9)]
    message = "fix: do not charge a card twice"
    tested = make_commit("a", 1, message, change, *tests)
    alone = make_commit("b", 99, message, change)
    scores = {commit.facts.id[0]: commit.score for commit in rank_commits([tested, alone])}
    assert scores["a"] > scores["b"]
    lines = [f"    assert charge({n}) == 1" for n in range(9)]
    pages = [patch(f"src/page{n}.py", [], lines) for n in range(9)]
    wide = make_commit("c", 50, message, change, *pages)
    assert rank_commits([wide])[0].score < scores["b"]


def test_a_fix_is_not_lower_because_it_repeats_a_line_in_many_files():
    def change_pages(message, count):
        old, new = ["    return post(card)"], ["    return post(card, key=key)"]
        pages = [patch(f"src/page{number}.py", old, new) for number in range(count)]
        return rank_commits([make_commit("a", 1, message, *pages)])[0].score

    fix = "fix: do not charge a card twice"
    assert change_pages(fix, 14) >= change_pages(fix, 1)
    assert change_pages("Pass the key to the bank", 14) < change_pages(
        "Pass the key to the bank", 1
    )


@pytest.mark.parametrize("key", ["SHOP-108: ", "[SHOP-108] ", "SHOP-108 ", "#108: ", "(#108) "])
def test_a_subject_may_begin_with_the_key_of_an_issue(key):
    change = patch("src/pay.py", ["    return post(card)"], ["    return post(card, key=key)"])
    for subject in ("Fix a second charge of a card", "Add a second charge of a card", "Release 2"):
        plain = make_commit("a", 1, subject, change)
        keyed = make_commit("b", 99, key + subject, change)
        with_key, without_key = rank_commits([keyed, plain])
        assert with_key.signals == without_key.signals


def test_fixes_of_one_subject_within_days_are_one_candidate():
    wait = make_commit(
        "a",
        1,
        "fix(cache): wait for the lock of the artifact store\n\nThe build failed because two jobs "
        "wrote the same file.",
        patch("store.py", ["    write(path)"], ["    with lock(path):", "        write(path)"]),
    )
    wide = make_commit(
        "b",
        3,
        "fix(jobs): take the artifact lock before a job reads the store",
        *(patch(f"job{n}.py", ["    read()"], ["    read(lock)"] * 90) for n in range(30)),
        patch("store.py", ["    read(path)"], ["    with lock(path):", "        read(path)"] * 50),
    )
    other = make_commit("c", 3, "fix: round the total of a cart", patch("cart.py", ["a"], ["b"]))
    assert [commit.facts.id[0] for commit in rank_commits([wide]) if commit.score >= LEAST] == []
    first, second = find_candidates([], [wait, wide, other], now=9 * DAY)
    assert [facts.id[0] for facts in first.commits] == ["a", "b"]
    assert first.keys == ("a" * 40, "b" * 40)
    assert first.occurrences == 1
    assert "1 more fix of its subject" in first.reasons
    assert [facts.id[0] for facts in second.commits] == ["c"]


def test_a_candidate_has_no_more_fixes_of_its_subject_than_a_draft_names():
    history = [
        make_commit(
            name,
            day,
            f"fix: {words}",
            patch("store.py", [f"before_{name}(lock)"], [f"after_{name}(lock)"]),
        )
        for day, (name, words) in enumerate(
            {
                "a": "wait for the artifact lock before the first job reads",
                "b": "release the artifact lock if an upload is cancelled",
                "c": "let a slow worker renew its artifact lock in time",
                "d": "do not inherit the artifact lock in a child process",
            }.items()
        )
    ]
    candidates = find_candidates([], history, now=9 * DAY)
    assert [len(candidate.commits) for candidate in candidates] == [3, 1]


def test_ordinary_words_of_a_history_make_no_subject():
    history = [
        make_commit(
            f"{number:x}",
            number / 9,
            f"fix: resolve review findings in the {part} module",
            patch("app.py", [f"{part}_before()"], [f"{part}_after()"]),
        )
        for number, part in enumerate(("cart", "tax", "login", "mail", "menu", "theme"))
    ]
    assert all(not commit.same_subject for commit in rank_commits(history))


def test_a_fix_that_adds_lines_and_a_long_subject_rank_higher():
    subject = "fix: do not charge a card twice"
    lines = [f"retry({number})" for number in range(8)]

    def score(message, change):
        (commit,) = rank_commits([make_commit("a", 1, message, change)])
        return commit.score

    assert score(subject, patch("pay.py", ["x"], lines)) > score(
        subject, patch("pay.py", lines, ["x"])
    )
    short, change = "fix: second charge", patch("pay.py", ["a"], ["b"])
    assert score(f"{subject} (#3)", change) == score(subject, change)
    assert score(subject, change) > score(short, change)


def test_a_fix_of_files_that_are_gone_today_ranks_lower():
    old = make_commit(
        "a", 9, "fix: do not charge a card twice", patch("src/pay.py", ["post(card)"], ["post(k)"])
    )
    new = make_commit(
        "b", 8, "fix: do not send a letter twice", patch("src/mail.py", ["send(it)"], ["send(k)"])
    )

    def find(*files):
        found = find_candidates([], [new, old], now=9 * DAY, files=files)
        return {one.id[0]: one for one in found}

    assert list(find("src/pay.py", "src/mail.py")) == ["a", "b"]
    gone = find("src/mail.py")
    assert next(iter(gone)) == "b"
    assert "a" not in gone or gone["a"].reasons[0] == "its files are gone today"
    assert list(find("lib/pay.py", "src/mail.py")) == ["a", "b"], "the file was moved"
    assert list(find()) == ["a", "b"], "the files of the project are not known"
