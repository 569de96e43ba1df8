"""Drafts that become commits: what is written where, by whom, and what is never lost."""

import datetime as dt
import threading

import pytest

from lessons_kb import Brain
from lessons_kb.collection.branch_review import BRANCH, BranchReview
from lessons_kb.errors import CardNotFound, DuplicateCard, EditRefused, InputError
from lessons_kb.process.git import Author
from tests.kit import commit, git

RITA = Author(name="Rita Kim", email="rita@example.org")
TITLE = "Charged a customer twice because the form was sent twice"
PATH = "lessons/charged-a-customer-twice-because-the-form-was-sent-twice.md"
PARTS = {
    "sections": {"Root Cause": "the client retried although the first request had gone through"},
    "prevention": ["Send an idempotency key with each payment"],
    "symptoms": ["a customer was charged twice", "two invoices for one order"],
    "by": "ci",
}
CARD = "---\ntype: lesson\ntitle: Money was kept in floats\n---\n\n## Fix\n\n- Keep cents\n"


@pytest.fixture(params=["top", "below"])
def root(request, tmp_path):
    """A brain that is a repository, or lies in one."""
    top = tmp_path / "clone"
    root = top if request.param == "top" else top / "docs" / "brain"
    (root / "lessons").mkdir(parents=True)
    (root / "lessons" / "money.md").write_text(CARD)
    commit(top, "Begin")
    return root


@pytest.fixture
def brain(root):
    with Brain.open(root) as brain:
        yield brain


def review(brain, branch=BRANCH):
    return BranchReview(brain, branch=branch, author=RITA)


def propose(brain, title=TITLE, **more):
    return brain.drafts.propose(title, **{**PARTS, **more})


def show(root, path, branch=BRANCH):
    return git(root, "show", f"{branch}:./{path}")


@pytest.mark.slow
def test_an_accepted_draft_is_a_commit_of_its_reviewer_and_no_other_is_made_of_it(brain, root):
    draft = propose(brain)
    done = review(brain)
    assert done.accept(draft.id, digest=draft.digest).id == PATH
    text = show(root, PATH)
    assert f"created: {dt.date.today()}" in text
    assert git(root, "log", "-1", "--format=%an <%ae>%n%B", BRANCH).splitlines()[:4] == [
        "Rita Kim <rita@example.org>",
        f"Add a lesson: {TITLE}",
        "",
        f"Reviewed on the server's page; proposed by ci as {draft.id}.",
    ]
    assert not (root / PATH).exists(), "it is served once the branch is merged"
    assert git(root, "status", "--porcelain") == ""
    assert [card.id for card in done.find_waiting()] == [PATH]
    assert done.find_outcome(draft.id) == ("accepted", PATH)
    with pytest.raises(CardNotFound):
        done.accept(draft.id)

    again = propose(brain, TITLE.replace("Charged", "charged") + "!")
    assert [duplicate.card.id for duplicate in done.find_near_duplicates(again)] == [PATH]
    with pytest.raises(DuplicateCard):
        done.accept(again.id)
    assert done.merge(again.id, PATH).occurrences == 2
    assert "occurrences: 2" in show(root, PATH)
    third = done.accept(propose(brain).id, on_duplicate="new").id
    assert third == PATH.replace(".md", "-2.md")
    git(root, "merge", "-q", BRANCH)
    assert "Send an idempotency key" in (root / third).read_text()
    assert done.find_waiting() == []


def test_a_merge_counts_on_the_branch(brain, root):
    (root / "lessons" / "money.md").write_text(CARD + "\nAn edit that is not committed.\n")
    draft = propose(brain, example="the invoice of a customer was a cent off")
    card = review(brain).merge(draft.id, "money", digest=draft.digest)
    assert (card.id, card.occurrences) == ("lessons/money.md", 2)
    text = show(root, "lessons/money.md")
    assert f"last-seen: {dt.date.today()}" in text
    assert "a cent off" in text
    assert "not committed" not in text
    assert "occurrences" not in (root / "lessons" / "money.md").read_text()
    (root / "lessons" / "fresh.md").write_text(CARD.replace("Money", "Fresh money"))
    with pytest.raises(InputError, match="is not committed"):
        review(brain).merge(propose(brain).id, "lessons/fresh.md")


@pytest.mark.slow
def test_a_branch_that_is_shown_is_served_at_once(brain, root):
    (root / "lessons" / "other.md").write_text(CARD.replace("Money", "Other"))
    git(root, "add", "-A")
    (root / "lessons" / "third.md").write_text(CARD.replace("Money", "Third"))
    before = git(root, "status", "--porcelain")
    done = review(brain, "main")
    assert done.is_checked_out()
    card = done.accept(propose(brain).id)
    assert "idempotency key" in (root / card.id).read_text()
    assert done.merge(propose(brain, "Some other thing went wrong").id, "money").occurrences == 2
    assert "occurrences: 2" in (root / "lessons" / "money.md").read_text()
    assert git(root, "status", "--porcelain") == before, "what others do stays as it is"
    assert {card.title for card in brain.cards.all()} >= {TITLE}
    (root / "lessons" / "money.md").write_text(CARD)
    draft = propose(brain, "Yet another thing went wrong")
    with pytest.raises(InputError, match="not committed"):
        done.merge(draft.id, "money")
    assert (root / "lessons" / "money.md").read_text() == CARD
    assert done.get(draft.id), "the draft still waits"


def test_what_was_changed_after_it_was_read_is_not_decided(brain):
    draft = propose(brain)
    done = review(brain)
    changed = done.rewrite(draft.id, draft.text + "\nMore.\n", digest=draft.digest)
    assert changed.text.endswith("More.\n")
    for decide in (
        lambda: done.accept(draft.id, digest=draft.digest),
        lambda: done.merge(draft.id, "money", digest=draft.digest),
        lambda: done.discard(draft.id, digest=draft.digest),
        lambda: done.rewrite(draft.id, "x", digest=draft.digest),
    ):
        with pytest.raises(EditRefused, match="changed after you opened it"):
            decide()
    assert done.get(draft.id).text == changed.text
    propose(brain, sections={"Root Cause": "another cause, which the proposer thought of later"})
    assert done.get(draft.id).text == changed.text, "what a reviewer wrote is not written over"
    with pytest.raises(InputError, match="at most"):
        done.rewrite(draft.id, "x" * 300_000, digest=changed.digest)
    done.discard(draft.id, digest=changed.digest)
    assert done.find_outcome(draft.id) == ("discarded", "")
    assert done.find_outcome("../drafts/x") == ("", "")


@pytest.mark.slow
def test_two_reviewers_at_once(root):
    with Brain.open(root) as brain:
        drafts = [propose(brain, f"Mistake number {n} of the {w} team") for n, w in
                  enumerate(("red", "green", "blue", "brown", "grey", "black"))]  # fmt: skip
    done = []
    lost = []

    def work():
        with Brain.open(root) as brain:
            for draft in drafts:
                try:
                    done.append(review(brain).accept(draft.id, on_duplicate="new").id)
                except CardNotFound as error:
                    lost.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(done), len(set(done)), len(lost)) == (6, 6, 6)
    assert git(root, "rev-list", "--count", f"main..{BRANCH}") == "6\n"
    assert all("idempotency" in show(root, path) for path in done)
