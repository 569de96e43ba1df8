"""The measure of mining: what is linked, and what a ranking is worth."""

from benchmarks.mine import Lesson, link, measure
from lessons_kb.learn.mining import CommitFacts

DAY = 86_400.0


def commits(count):
    return [
        CommitFacts(
            id=f"{number:040x}", at=number * DAY, subject=f"Change {number}", paths=("a.py",)
        )
        for number in range(count)
    ]


def scores(history, best):
    return {"mine": {facts.id: float(facts.id in best) for facts in history}}


def test_a_ranking_that_knows_the_fixes_finds_them_all():
    history = commits(400)
    fixes = {history[number].id for number in range(50, 400, 25)}
    figures = measure(history, fixes, scores(history, fixes), seed=1)
    assert (figures["mine r@5"], figures["mine r@20"]) == (1.0, 1.0)
    assert figures["mine p@10"] > 3 * figures["base"]


def test_a_ranking_that_knows_nothing_is_no_better_than_chance():
    history = commits(400)
    fixes = {history[number].id for number in range(50, 400, 25)}
    figures = measure(history, fixes, scores(history, set()), seed=1)
    assert figures["mine r@20"] == 0.0, "ties count as half above"
    assert figures["mine p@10"] < 0.2


def test_a_lesson_is_linked_to_the_commit_that_shares_its_rare_words():
    history = commits(300)
    terms = {facts.id: frozenset({"common_name"}) for facts in history}
    terms[history[200].id] |= {"retry_budget_exceeded", "drain_dispatcher", "settle_queue"}
    text = "The `retry_budget_exceeded` of `drain_dispatcher` and `settle_queue`, `common_name`."
    lesson = Lesson(path="docs/solutions/a.md", commit="x", at=202 * DAY, text=text)
    late = Lesson(path="docs/solutions/b.md", commit="x", at=100 * DAY, text=text)
    assert list(link([lesson, late], history, terms)) == [history[200].id]
