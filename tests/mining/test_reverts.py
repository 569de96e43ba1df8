"""A fix that was taken back is no lesson, and its revert is no second fix."""

from lessons_kb.mining.candidates import find_candidates
from tests.mining.test_rank_commits import DAY, make_commit, patch

FIX = "fix: never bill a retried charge of the same card twice (#10)"
BODY = "The key was missing because a retry made a new one."
CHARGE = (["    return post(card)"], ["    return post(card, key=key)"])


def fix(name, day):
    return make_commit(name, day, f"{FIX}\n\n{BODY}", patch("src/pay.py", *CHARGE))


def revert(name, day, message):
    return make_commit(name, day, message, patch("src/pay.py", *reversed(CHARGE)))


def find(*history):
    candidates = find_candidates([], history, now=9 * DAY)
    return {candidate.id[0]: candidate for candidate in candidates}


def test_the_list_says_that_a_fix_was_reverted_and_ranks_it_lower():
    for message in (
        f'Revert "{FIX}" (#12)\n\nReverts shop/shop#10',
        f"Take the key of a charge away again\n\nThis reverts commit {'a' * 12}.",
    ):
        found = find(fix("a", 1), revert("b", 2, message))
        assert found["a"].occurrences == found["b"].occurrences == 1
        assert found["a"].reasons[0] == "reverted by bbbbbbbb"
        assert "commits alike" not in str(found["a"].reasons + found["b"].reasons)
        assert found["a"].rank < find(fix("a", 1))["a"].rank


def test_a_revert_that_was_taken_back_has_no_effect():
    first = f'Revert "{FIX}"'
    for more in ((), ("audit(card)",)):  # the same change again, or a better one
        removed, added = CHARGE
        change = patch("src/pay.py", removed, [*added, *more])
        better = make_commit("c", 3, f"{FIX}\n\n{BODY}", change)
        found = find(fix("a", 1), revert("b", 2, first), better)
        assert found["c"].occurrences == 1
        assert "reverted" not in str(found["c"].reasons)
    again = make_commit("c", 3, f'Revert "{first}"\n\n{BODY}', patch("src/pay.py", *CHARGE))
    assert "reverted" not in str(find(fix("a", 1), revert("b", 2, first), again)["a"].reasons)


def test_two_fixes_of_one_mistake_still_count_twice():
    other = make_commit("b", 3, FIX.replace("10", "11"), patch("src/pay.py", ["a = 1"], ["b = 2"]))
    (found,) = find(fix("a", 1), other).values()
    assert (found.occurrences, "2 commits alike" in found.reasons) == (2, True)


def test_a_revert_of_a_merge_names_the_fix_by_the_subject_of_its_pull_request():
    plain = make_commit(
        "a", 1, f"{FIX.removesuffix(' (#10)')}\n\n{BODY}", patch("src/pay.py", *CHARGE)
    )
    message = f'Revert "{FIX}"\n\nThis reverts commit {"d" * 40}, reversing\nchanges made to eeee.'
    found = find(plain, revert("b", 2, message))
    assert found["a"].reasons[0] == "reverted by bbbbbbbb"
    assert found["a"].occurrences == 1
