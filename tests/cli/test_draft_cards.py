"""Cards with `status: draft`: written by `lessons mine --as-cards`, reviewed by `lessons review`."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.collection.undo import Undoing
from tests.kit import commit, git, make_brain, write
from tests.sessions import card

TITLE = "The cart showed a wrong total"
PATH = "lessons/cart.md"
CARD = card(
    TITLE,
    "Cover the total of a cart with two items by a test",
    cause="The total was hard-coded to three instead of a sum of the items.",
    symptoms='["the total of the cart is wrong", "change how a cart is summed up"]',
    status="draft",
)  # fmt: skip
INCOMPLETE = "---\ntitle: The refund was paid twice\nstatus: draft\n---\n\n## Root Cause\n"
REPORT = '<testsuite><testcase classname="test_cart" name="test_total">{}</testcase></testsuite>'
FAILURE = '<failure message="AssertionError: assert 3 == 4">E assert 3 == 4</failure>'
COMMENT = {
    "path": "pay.py",
    "pull_request_url": "https://api.example.org/repos/o/r/pulls/7",
    "diff_hunk": "@@ -0,0 +1,2 @@\n+def pay():\n+    charge()",
    "created_at": "2026-10-02T10:00:00Z",
    "body": "A retry must not run without a key, because the card is billed twice.",
}


@pytest.fixture
def project(tmp_path, monkeypatch):
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    make_brain(str(root))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def draft(project):
    write(project, PATH, CARD)
    return project / PATH


def list_drafts(lessons):
    return json.loads(lessons("review", "--list", "--json").out)


def test_a_draft_is_not_given_to_agents_and_is_listed_for_review(lessons, draft):
    task = "the total of the cart is wrong"
    assert TITLE not in lessons("preflight", task).out
    (listed,) = list_drafts(lessons)
    assert (listed["id"], listed["kind"], listed["missing"]) == (PATH, "card", [])
    assert TITLE in lessons("review", "--show", PATH).out
    assert f"[draft] {TITLE}" in lessons("list").out
    assert PATH in lessons("list", "--status", "draft").out
    assert "1 draft " in lessons("doctor").out
    assert "1 to review" in lessons().out
    assert lessons("review", "--accept", PATH).out == f"{PATH}\n"
    assert "status: active" in draft.read_text()
    assert TITLE in lessons("preflight", task).out
    assert list_drafts(lessons) == []


def test_a_draft_that_lacks_parts_is_no_fault_and_cannot_be_accepted(lessons, project):
    write(project, "lessons/refund.md", INCOMPLETE)
    checked = lessons("lint")
    assert checked.code == 0
    assert checked.out.count("\n") == 1
    assert "info draft: the card is a draft" in checked.out
    refused = lessons("review", "--accept", "lessons/refund.md")
    assert refused.code == 2
    assert refused.err.startswith(
        f"lessons: {project / 'lessons/refund.md'}: the draft is incomplete; add "
    )
    assert (project / "lessons/refund.md").read_text() == INCOMPLETE


def test_a_discarded_draft_is_in_the_trash(lessons, draft):
    lessons("review", "--discard", PATH)
    assert not draft.exists()
    assert list_drafts(lessons) == []
    lessons("restore", PATH)
    assert draft.read_text() == CARD


def test_a_draft_is_counted_on_a_card_and_never_on_itself(lessons, draft, project):
    write(project, "lessons/sum.md", card("A discount was applied twice", "Apply it once"))
    assert lessons("review", "--merge", PATH, PATH).code == 2
    assert draft.read_text() == CARD
    assert "seen 2×" in lessons("review", "--merge", PATH, "lessons/sum.md").out
    assert not draft.exists()


def test_a_draft_that_changed_meanwhile_is_not_accepted(draft, project):
    with Brain.open(project, directory=project) as brain:
        digest = brain.drafts.get(PATH).digest
        write(project, PATH, CARD.replace("two items", "three items"))
        with pytest.raises(Exception, match="read it again"):
            brain.drafts.accept(PATH, digest=digest)
    assert "status: draft" in draft.read_text()


def test_a_completed_draft_stays_a_draft(draft, project):
    with Brain.open(project, directory=project) as brain:
        text = CARD.replace("status: draft\n", "").replace("two items", "three items")
        brain.drafts.rewrite(PATH, text, digest=brain.drafts.get(PATH).digest)
    assert "three items" in draft.read_text()
    assert "status: draft" in draft.read_text()


def test_each_decision_can_be_undone(draft, project):
    with Brain.open(project, directory=project) as brain:
        write(project, "lessons/sum.md", card("A discount was applied twice", "Apply it once"))
        undoing = Undoing(brain)
        for act in (
            lambda: undoing.accept(PATH),
            lambda: undoing.discard(PATH),
            lambda: undoing.merge(PATH, "lessons/sum.md"),
            lambda: undoing.edit_draft(PATH, lambda _path: write(project, PATH, INCOMPLETE)),
        ):
            act()
            assert not draft.exists() or draft.read_text() != CARD
            assert undoing.undo()[0].startswith("undone: ")
            assert draft.read_text() == CARD


def test_a_repaired_test_becomes_a_card_that_waits_for_review(lessons, project):
    commit(project, "Add a cart", **{"cart.py": "def total(items):\n    return 3\n"})
    commit(project, "fix: add up", **{"cart.py": "def total(items):\n    return sum(items)\n"})
    write(project, "red.xml", REPORT.format(FAILURE))
    write(project, "green.xml", REPORT.format(""))
    done = lessons("mine", "--junit", "red.xml", "green.xml", "--as-cards")
    assert done.out == "lessons/fix-add-up.md\n"
    text = (project / "lessons" / "fix-add-up.md").read_text()
    assert "status: draft" in text
    assert "+    return sum(items)" in text
    assert [draft["id"] for draft in list_drafts(lessons)] == ["lessons/fix-add-up.md"]
    again = lessons("mine", "--junit", "red.xml", "green.xml", "--as-cards")
    assert (again.code, again.out) == (0, "")
    assert "no card was written" in again.err


def test_a_comment_that_led_to_a_change_becomes_a_card(lessons, project, tmp_path):
    for day, call in enumerate(("charge()", "charge(KEY)"), 1):
        files = {"pay.py": f"def pay():\n    {call}\n    log()\n"}
        commit(project, f"Pay by {call}", f"2026-10-0{2 * day - 1}T10:00:00+00:00", **files)
    unanswered = {
        **COMMENT,
        "diff_hunk": "@@ -0,0 +1,3 @@\n+    log()",
        "body": "The log must not name the customer, because it is kept for a year.",
    }
    export = tmp_path / "comments.json"
    export.write_text(json.dumps([COMMENT, unanswered]))
    done = lessons("mine", "--reviews", export, "--as-cards")
    (path,) = done.out.splitlines()
    text = (project / path).read_text()
    assert "status: draft" in text
    assert "+    charge(KEY)" in text
    assert "customer" not in text


def test_cards_need_a_source(lessons, project):
    refused = lessons("mine", "--as-cards")
    assert (refused.code, "--junit or --reviews" in refused.err) == (2, True)
