"""From what happened to a draft, and from a draft to a card."""

import os
import pathlib
import re
import time
from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.cards.edit_sources import make_commit_source
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.mined_drafts import leave_out_drafted
from lessons_kb.errors import AmbiguousCard, CardNotFound, DuplicateCard, EditRefused, InputError
from lessons_kb.mining.candidates import find_candidates
from lessons_kb.mining.triggers import SessionReader
from lessons_kb.model import Event, as_data
from lessons_kb.store import trash
from tests.kit import commit, git, today

RED = """\
    def test_total_of_cart():
>       assert total([1, 3]) == 4
E       assert 3 == 4
FAILED tests/test_cart.py::test_total_of_cart - assert 3 == 4
1 failed in 0.02s
"""
FIXED = "def total(items):\n    return sum(items)\n"
SHOWN = "+    return sum(items)"
AWS_KEY = "AKIA" + "IOSFODNN7EXAMPLF"
BEARER = "Bearer " + "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PASSWORD = "hunter2-but-longer"
TITLE = "The cart showed a wrong total"
GOOD = {
    "sections": {"Root Cause": "The total was hard-coded to three instead of a sum of the items."},
    "prevention": ["Cover the total of a cart with two items by a test"],
    "symptoms": ["the total of the cart is wrong", "change how a cart is summed up"],
}


@pytest.fixture
def project(tmp_path):
    """A git work tree with one commit."""
    folder = tmp_path / "shop"
    folder.mkdir()
    cart = "def total(items):\n    return 3\n"
    commit(folder, **{"cart.py": cart, "notes.txt": "committed\n"})
    return folder


@pytest.fixture
def brain(root, project):
    with Brain.open(root, directory=project) as brain:
        yield brain


@pytest.fixture
def tell(brain, project):
    """Put an event into the journal."""

    def tell(kind, text="", outcome="ok", output="", **more):
        event = Event(
            kind=kind, text=text, outcome=outcome, output=output, at=time.time(), scope=str(project)
        )
        brain.members[0].journal.events.append(replace(event, **{"session": "s", **more}))

    return tell


@pytest.fixture
def break_and_fix(brain, tell, project):
    """Let a test fail, change a file and let it pass; return the drafts that this makes."""

    def act(text=FIXED, *, output=RED, session="s", kind="test"):
        tell(kind, "pytest -q", "exec_error", output, session=session, tool="Bash")
        if text:
            (project / "cart.py").write_text(text)
        tell(kind, "pytest -q", session=session, tool="Bash")
        return brain.drafts.collect(session)

    return act


def complete(draft, title="The total of a cart was hard-coded"):
    """Write by hand what a draft lacks."""
    path = pathlib.Path(draft.path)
    lines = path.read_text().split("\n")
    lines = [f"title: {title}" if line.startswith("title:") else line for line in lines]
    symptoms = f"symptoms:\n  - {GOOD['symptoms'][0]}\n  - {GOOD['symptoms'][1]}\n"
    text = re.sub(r"(?s)symptoms:.*?\n(?=\w)", symptoms, "\n".join(lines))
    text = text.replace("## Root Cause\n", "## Root Cause\n\nThe total was hard-coded to three.\n")
    path.write_text(text.rstrip("\n") + "\n\n- [ ] Cover a cart with two items by a test\n")
    return draft.id


def test_red_then_a_fix_then_green_is_one_draft(brain, tell, project, break_and_fix):
    (project / "notes.txt").write_text("changed long before\n")
    for name in ("cart.py", "notes.txt"):
        os.utime(project / name, (time.time() - 86_400,) * 2)
    (project / "new_rule.py").write_text("RULE = 1\n")
    (project / "later.py").write_text("thought of later\n")
    os.utime(project / "later.py", (time.time() + 60,) * 2)
    tell("prompt", "Add a discount to the cart")
    (draft,) = break_and_fix()
    assert draft.kind == "red-green"
    for part in (
        "Add a discount to the cart", "`tests/test_cart.py::test_total_of_cart`",
        "E       assert 3 == 4", "-    return 3", SHOWN, "+RULE = 1", "source: auto",
    ):  # fmt: skip
        assert part in draft.text
    assert "changed long before" not in draft.text
    assert "thought of later" not in draft.text
    assert brain.drafts.collect("s") == []
    assert [listed.id for listed in brain.drafts.all()] == [draft.id]
    assert brain.cards.all() == []
    assert brain.preflight("total of the cart").text == ""


@pytest.mark.slow
def test_a_committed_fix_is_in_the_draft(brain, tell, project):
    time.sleep(1.1)  # git's clock has seconds
    tell("test", "pytest", "exec_error", RED)
    time.sleep(1.1)
    (project / "cart.py").write_text(FIXED)
    git(project, "commit", "-qam", "fix")
    tell("test", "pytest")
    (draft,) = brain.drafts.collect()
    assert SHOWN in draft.text


def test_a_turn_that_goes_on_renews_its_draft_unless_a_human_wrote_in_it(
    brain, tell, break_and_fix
):
    tell("prompt", "works great, thanks")
    assert brain.drafts.collect("s") == brain.drafts.collect() == []
    tell("prompt", "또 안 돼요, 고쳤는데 깨졌어요")
    (first,) = brain.drafts.collect("s")
    assert first.kind == "feedback"
    (second,) = break_and_fix(kind="command")
    assert second.id == first.id
    assert "test_total_of_cart" in second.text
    assert "또 안 돼요, 고쳤는데 깨졌어요" in second.text
    tell("prompt", "it broke again")
    (third,) = brain.drafts.collect("s")
    assert third.id == first.id
    complete(third)
    assert break_and_fix(output=RED.replace("cart", "tax"), kind="command") == []
    assert brain.drafts.get(third.id).missing == ()
    assert brain.drafts.count() == 1


def test_a_flaky_test_makes_no_draft(brain, break_and_fix):
    assert break_and_fix("") == []


def test_a_mistake_is_counted_in_its_draft_and_drafted_again_once_that_is_a_card(
    brain, root, break_and_fix
):
    for session in ("a", "b"):
        (draft,) = break_and_fix(f"{FIXED}# {session}\n", session=session)
    assert (draft.seen, len(brain.drafts.all())) == (2, 1)
    with pytest.raises(InputError) as refused:
        brain.drafts.accept(draft.id)
    for word in ("title", "Root Cause", "Prevention", "symptoms", draft.path):
        assert word in str(refused.value)
    card = brain.drafts.accept(complete(draft))
    assert card.id == "lessons/the-total-of-a-cart-was-hard-coded.md"
    assert (card.source, card.status, card.created) == ("auto", "active", today())
    assert card.occurrences == 2
    assert brain.drafts.all() == brain.drafts.collect("b") == []
    assert not os.path.exists(draft.path)
    assert in_trash(root) == []
    assert brain.preflight("the total of the cart is wrong").lessons
    (again,) = break_and_fix("", session="later")
    assert (again.card, again.id) == (card.id, f"{draft.id}-2")
    brain.drafts.discard(again.id)
    assert break_and_fix("", session="discarded") == brain.drafts.collect("later") == []
    assert brain.drafts.all() == []


def test_a_prompt_that_says_it_broke_again_counts_the_card_of_that_mistake(brain, tell):
    card = brain.drafts.accept(brain.drafts.propose(TITLE, **GOOD).id)
    tell("prompt", "Change how the total of the cart is summed up", session="later")
    tell("prompt", "the total of the cart is wrong, it broke again", session="later")
    assert brain.drafts.collect("later") == brain.drafts.collect("later") == []
    assert brain.cards.get(card.id).occurrences == card.occurrences + 1
    tell("prompt", "Let people log in", session="other")
    tell("prompt", "it broke again", session="other")
    (draft,) = brain.drafts.collect("other")
    assert draft.kind == "feedback"
    assert brain.cards.get(card.id).occurrences == card.occurrences + 1
    tell("prompt", "Why is the total of the cart wrong?", session="third")
    tell("prompt", "still broken, it broke again", session="third")
    assert brain.drafts.collect("third") == []
    assert brain.cards.get(card.id).occurrences == card.occurrences + 2


def test_a_complaint_counts_its_card_although_the_session_fixed_a_test(brain, tell, break_and_fix):
    card = brain.drafts.accept(brain.drafts.propose(TITLE, **GOOD).id)
    (draft,) = break_and_fix(session="s")
    complaint = "the total of the cart is wrong, it broke again"
    tell("prompt", complaint, session="s")
    drafts = Drafts(brain)
    assert drafts.collect("s") == []
    assert [counted.id for counted in drafts.counted] == [card.id]
    assert complaint not in brain.drafts.get(draft.id).text
    assert drafts.collect("s") == drafts.counted == []
    assert brain.cards.get(card.id).occurrences == card.occurrences + 1


def test_a_counted_complaint_takes_over_only_a_request_that_matches_the_card(brain, tell):
    card = brain.drafts.accept(brain.drafts.propose(TITLE, **GOOD).id)
    complaint = "the total of the cart is wrong, it broke again"
    related = "Why is the total of the cart wrong?"
    for session, request in {"a": "Rename the header component", "b": related, "c": ""}.items():
        if request:
            tell("prompt", request, session=session)
        tell("prompt", complaint, session=session)
        drafts = Drafts(brain)
        assert drafts.collect(session) == []
        assert [counted.id for counted in drafts.counted] == [card.id]
        assert drafts.collect(session) == drafts.counted == []
    counted = brain.cards.get(card.id)
    assert counted.occurrences == card.occurrences + 3
    assert counted.examples == (*card.examples, related)


def test_only_a_lesson_that_came_before_the_complaint_was_no_help(brain, tell):
    card = brain.drafts.accept(brain.drafts.propose(TITLE, **GOOD).id)
    complaint = "the total of the cart is wrong, it broke again"
    brain.preflight(complaint, session="earlier")
    tell("prompt", complaint, session="with", at=time.time())
    brain.preflight(complaint, session="with")
    brain.drafts.collect("with")
    brain.preflight(complaint, session="before")
    tell("prompt", complaint, session="before", at=time.time())
    brain.drafts.collect("before")
    assert brain.cards.get(card.id).occurrences == card.occurrences + 2
    occasions = brain.members[0].journal.ledger.find(cards=[card.id])
    outcomes = {occasion.session: occasion.outcome for occasion in occasions}
    assert outcomes == {"earlier": "unknown", "with": "unknown", "before": "came back"}


def test_the_same_lesson_again_bumps_instead_of_doubling(brain):
    brain.drafts.accept(brain.drafts.propose("Total of a cart was hard-coded", **GOOD).id)
    again = brain.drafts.propose("The total of the cart was hard-coded.", example="Tax", **GOOD)
    with pytest.raises(DuplicateCard) as duplicate:
        brain.drafts.accept(again.id)
    assert brain.drafts.find_near_duplicates(again)[0].card.id == duplicate.value.existing
    card = brain.drafts.merge(again.id, duplicate.value.existing)
    assert (card.occurrences, card.last_seen, card.examples) == (2, today(), ("Tax",))
    assert brain.drafts.all() == []
    assert len(brain.cards.all()) == 1
    insisted = brain.drafts.propose("Total of a cart was hard-coded", **GOOD)
    brain.drafts.accept(insisted.id, on_duplicate="new")
    assert len(brain.cards.all()) == 2


def test_a_card_gets_the_sources_of_a_draft_that_is_merged_into_it(brain, tell):
    first = make_commit_source("1a2b3c4d5e6f", "fix", "2026-01-01T00:00:00Z", "because")
    second = make_commit_source("9f8e7d6c5b4a", "fix again", "2026-02-01T00:00:00Z", "because")
    card = brain.drafts.accept(brain.drafts.propose(TITLE, sources=[first], **GOOD).id)
    again = brain.drafts.propose("Total of a cart was hard-coded", sources=[second], **GOOD)
    brain.drafts.merge(again.id, card.id)
    assert source_of(accepted_text(brain, card)) == (first, second)
    tell("prompt", "it broke again: the total of a basket with a coupon")
    (said,) = brain.drafts.collect("s")
    assert source_of(said)[0].quote
    brain.drafts.merge(said.id, card.id)
    *_commits, session = source_of(accepted_text(brain, card))
    assert (session.resource, session.quote) == (source_of(said)[0].resource, "")
    assert brain.cards.get(card.id).occurrences == 3


def test_too_many_cards_from_triggers_make_new_ones_wait(brain, root):
    (root / "lessons.toml").write_text("[learn]\nmax_auto_cards = 1\n")
    first = brain.drafts.propose("Total of a cart was hard-coded", **GOOD)
    cause = "Amounts were added before they were converted to one currency."
    second = brain.drafts.propose(
        "Refunds ignored the currency of the order",
        sections={"Root Cause": cause},
        prevention=["Convert each amount before the sum, shown by a test with two currencies"],
        symptoms=["pay out refunds in batches", "a refund in yen is far too large"],
    )
    card = brain.drafts.accept(first.id)
    with pytest.raises(InputError, match="1 active card came from triggers"):
        brain.drafts.accept(second.id)
    brain.cards.set_status("archived", card.id)
    assert brain.drafts.accept(second.id).source == "auto"


def test_secrets_are_in_no_draft_and_no_card(brain, tell, root, break_and_fix):
    tell("prompt", f"Log in with password: {PASSWORD}")
    (draft,) = break_and_fix(
        f'password = "{PASSWORD}"\nkey = "{AWS_KEY}"\n',
        output=f"{RED}Authorization: {BEARER}\nAWS_ACCESS_KEY_ID={AWS_KEY}\npassword={PASSWORD}\n",
    )
    card = brain.drafts.accept(complete(draft))
    proposed = brain.drafts.propose("A key leaked", example=f"use {AWS_KEY}", **GOOD)
    for text in (draft.text, (root / card.id).read_text(), proposed.text):
        for secret in (AWS_KEY, BEARER.split()[1], PASSWORD):
            assert secret not in text


def test_a_draft_is_named_by_its_beginning(brain):
    draft = brain.drafts.propose("Total of a cart was hard-coded")
    two = brain.drafts.propose("Refunds ignored the currency")
    assert brain.drafts.get(draft.id[:-1]).id == draft.id
    with pytest.raises(AmbiguousCard, match=two.id):
        brain.drafts.get("proposed-")
    for name in ("", "absent", "../../etc/passwd"):
        with pytest.raises(CardNotFound):
            brain.drafts.get(name)


def test_damaged_state_costs_a_draft_and_no_more(brain):
    draft = brain.drafts.propose(TITLE, **GOOD)
    folder = pathlib.Path(draft.path).parent
    for path in (draft.path, folder):  # they are for their user alone
        assert os.stat(path).st_mode & 0o077 == 0
    for name, text in {"broken": "{", "list": "[1]", "lost": '{"state": "open"}'}.items():
        (folder / f"{name}.json").write_text(text)
    assert [listed.id for listed in brain.drafts.all()] == [draft.id]
    pathlib.Path(draft.path).write_text("---\ntitle: [\n---\n\x00")
    assert brain.drafts.get(draft.id).missing


def test_the_fix_of_a_session_names_what_its_card_guards(root, project):
    for folder in (project, project / "docs" / "brain"):
        (folder / "lessons").mkdir(parents=True)
        (folder / "lessons.toml").write_text("# a brain in the work tree\n")
    with Brain.open(project, project / "docs" / "brain", root, directory=project) as brain:
        event = Event(kind="test", text="pytest", outcome="exec_error", output=RED, session="s")
        brain.members[0].journal.events.append(replace(event, at=time.time(), scope=str(project)))
        (project / "tests").mkdir()
        for name, text in {
            "cart.py": FIXED,
            "tests/test_cart.py": "def test_total(): ...\n",
            "README.md": "How a cart is summed up.\n",
            "lessons/other.md": "# Another lesson\n",
            "docs/brain/note.md": "# A note\n",
        }.items():
            (project / name).write_text(text)
        sketch = brain.drafts.sketch_session()
    fix = sketch.sections["Fix"]
    assert [word in fix for word in (SHOWN, "README.md", "lesson", "note.md")] == [1, 1, 0, 0]
    assert sketch.paths == ("cart.py",)


def test_words_of_any_kind_make_a_readable_draft(brain, tell):
    tell("prompt", 'why does it keep failing: "x" # [a, b] {{title}} --- \'\\ \u202e <!-- ```')
    (draft,) = brain.drafts.collect("s")
    assert len(draft.missing) == 3
    assert draft.title.startswith("why does it keep failing")


EXPORT, KEY = 'export DB_PASS="x y z 123Q"', "-----BEGIN " + "RSA PRIVATE KEY-----"


@pytest.mark.slow
@pytest.mark.parametrize("parts", [
    {"paths": [EXPORT, "other"]}, {"topics": [EXPORT, "other"]},
    {"example": f"Deploy with {KEY}"}, {"title": f"Leaked {KEY} in the log"},
])  # fmt: skip
def test_taking_a_secret_out_of_a_header_leaves_a_header(brain, parts):
    draft = brain.drafts.propose(**{"title": TITLE, **GOOD, **parts})
    card = brain.drafts.accept(draft.id)
    assert "[redacted" in str(as_data(card))
    assert brain.cards.get(card.id).symptoms == tuple(GOOD["symptoms"])
    assert not [
        finding for finding in brain.lint() if finding.path == card.id and "YAML" in finding.message
    ]


def test_a_secret_that_a_human_put_into_a_title_does_not_name_the_card(brain):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    draft = brain.drafts.propose(TITLE, **GOOD)
    path = pathlib.Path(draft.path)
    path.write_text(path.read_text().replace("a wrong total", f"the token {token}"))
    card = brain.drafts.accept(draft.id)
    assert token.casefold() not in card.id
    assert token not in card.title


def in_trash(root):
    """Return the text of each file in the trash of a brain."""
    folder = pathlib.Path(trash.trash_dir(str(root)))
    return [(folder / entry.name / trash.CARD).read_text() for entry in trash.entries(str(root))]


def test_a_proposal_made_again_leaves_what_a_human_wrote_into_the_first(brain):
    first = brain.drafts.propose(TITLE, **GOOD)
    path = pathlib.Path(first.path)
    path.write_text(edited := path.read_text() + "\nWritten by hand.\n")
    again, third = (brain.drafts.propose(TITLE, **GOOD) for _ in range(2))
    assert path.read_text() == edited
    assert third.id == again.id != first.id
    theirs = brain.drafts.propose("A refund was late", by="rita", **GOOD)
    mine = brain.drafts.propose("A refund was late", example="Pay back", **GOOD)
    assert brain.drafts.get(theirs.id).text == theirs.text != mine.text


def test_a_draft_that_another_process_discarded_meanwhile_is_gone(brain, monkeypatch):
    draft = brain.drafts.propose(TITLE, **GOOD)
    brain.drafts.discard(draft.id)
    monkeypatch.setattr(Drafts, "_get_unchanged", lambda *_how: draft)  # it had read it before
    with pytest.raises(CardNotFound, match="the draft is gone"):
        brain.drafts.discard(draft.id)


@pytest.mark.parametrize("way", ["merge", "discard"])
def test_what_a_human_wrote_into_a_draft_outlives_it(brain, root, way):
    more = [brain.create("A payment was sent twice").id] if way == "merge" else []
    for edit in ("", "\nWritten by hand.\n"):
        draft = brain.drafts.propose("The cart was wrong", **GOOD)
        with open(draft.path, "a") as file:
            file.write(edit)
        getattr(brain.drafts, way)(draft.id, *more)
    assert [text.endswith(edit) for text in in_trash(root)] == [True]


@pytest.mark.parametrize("saving", ["in place", "by renaming"])
def test_what_is_saved_into_a_draft_while_it_is_accepted_is_kept(brain, root, monkeypatch, saving):
    draft = brain.drafts.propose(TITLE, **GOOD)
    path = pathlib.Path(draft.path)
    late = path.read_text() + "\nSaved a moment later.\n"
    add = type(brain.cards).add

    def save_then_add(cards, text, *, kind, title):
        target = path if saving == "in place" else path.parent / "swap"
        target.write_text(late)
        target.replace(path)
        return add(cards, text, kind=kind, title=title)

    monkeypatch.setattr(type(brain.cards), "add", save_then_add)
    brain.drafts.accept(draft.id)
    assert in_trash(root) == [late]
    assert brain.drafts.all() == []
    path.write_text(late)
    assert ["already accepted" in draft.trouble for draft in brain.drafts.all()] == [True]


def _replace_by_folder(path):
    path.unlink()
    path.mkdir()
    (path / "inside.txt").write_text("somebody's")


def _replace_by_fifo(path):
    path.unlink()
    os.mkfifo(path)


def _replace_by_dangling_link(path):
    path.unlink()
    path.symlink_to("nowhere")


def _replace_by_link(path):
    path.unlink()
    (path.parent.parent / "secret.txt").write_text("root:x:0:0\n")
    path.symlink_to("../secret.txt")


DAMAGES = {
    "a text that is too large": lambda path: path.write_text("x" * 1_600_000),
    "no facts": lambda path: path.with_suffix(".json").unlink(),
    "facts that are no JSON": lambda path: path.with_suffix(".json").write_text("{"),
    "facts that are a list": lambda path: path.with_suffix(".json").write_text("[1]"),
    "facts without fields": lambda path: path.with_suffix(".json").write_text("{}"),
    "facts of other types": lambda path: path.with_suffix(".json").write_text(
        '{"kind": 1, "at": "soon", "seen": [], "ids": 3, "state": {}, "fix": 1, "place": "x"}'
    ),
    "a time in the far future": lambda path: path.with_suffix(".json").write_text(
        '{"kind": "proposed", "at": 1e300, "seen": -1, "state": "open"}'
    ),
    "no text": lambda path: path.write_text(""),
    "bytes that are not UTF-8": lambda path: path.write_bytes(b"\xff\xfe\0"),
    "a folder": _replace_by_folder,
    "a FIFO": _replace_by_fifo,
    "a dangling link": _replace_by_dangling_link,
    "a link to a file": _replace_by_link,
    "another name": lambda path: path.rename(path.with_name("My own (draft) [1].md")),
    "a name that is not UTF-8": lambda path: path.rename(
        os.fsdecode(os.path.join(os.fsencode(path.parent), b"\xff.md"))
    ),
    "an ending alone": lambda path: path.rename(path.with_name(".md")),
    "another ending": lambda path: path.rename(path.with_name("notes.txt")),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_every_file_in_the_folder_is_listed_and_can_be_discarded(brain, damage):
    draft = brain.drafts.propose(TITLE, **GOOD)
    other = brain.drafts.propose("Sent the newsletter twice", **GOOD)
    damage(pathlib.Path(draft.path))
    listed = brain.drafts.all()
    assert len(listed) == brain.drafts.count() == 2
    (damaged,) = [candidate for candidate in listed if candidate.id != other.id]
    assert brain.drafts.get(damaged.id) == damaged
    brain.drafts.collect()
    brain.drafts.learnt_from()
    brain.drafts.discard(damaged.id, digest=damaged.digest)
    assert [candidate.id for candidate in brain.drafts.all()] == [other.id]
    assert brain.drafts.count() == 1
    assert not os.path.lexists(damaged.path)


def test_a_draft_is_not_read_through_a_link(brain):
    path = pathlib.Path(brain.drafts.propose(TITLE, **GOOD).path)
    _replace_by_link(path)
    (listed,) = brain.drafts.all()
    assert listed.text == ""
    assert "is a link" in listed.trouble
    with pytest.raises(InputError, match="is a link"):
        brain.drafts.accept(listed.id)
    brain.drafts.discard(listed.id)
    assert (path.parent.parent / "secret.txt").read_text() == "root:x:0:0\n"


def test_a_draft_that_cannot_be_read_says_so_and_becomes_no_card(brain, root):
    draft = brain.drafts.propose(TITLE, **GOOD)
    pathlib.Path(draft.path).write_text("x" * 1_600_000)
    (listed,) = brain.drafts.all()
    assert "more than 1,000,000 bytes" in listed.trouble
    assert listed.trouble in listed.missing
    with pytest.raises(InputError, match="more than 1,000,000 bytes"):
        brain.drafts.accept(draft.id)
    with pytest.raises(EditRefused, match="more than 1,000,000 bytes"):
        brain.drafts.merge(draft.id, "any-card")
    brain.drafts.discard(draft.id)
    assert [entry.size for entry in trash.entries(str(root))] == [1_600_000]


def test_a_text_that_was_saved_after_the_decision_is_listed_with_the_decision(brain):
    draft = brain.drafts.propose(TITLE, **GOOD)
    card = brain.drafts.accept(draft.id)
    pathlib.Path(draft.path).write_text("an editor saved late\n")
    (late,) = brain.drafts.all()
    assert late.trouble == f"it was already accepted as {card.id}; discard it"
    with pytest.raises(InputError, match="already accepted"):
        brain.drafts.accept(draft.id)
    brain.drafts.discard(draft.id)
    assert brain.drafts.all() == []
    assert brain.drafts.find_outcome(draft.id) == ("accepted", card.id)


@pytest.mark.parametrize(
    "parts",
    [
        {"title": "x" * 1_600_000},
        {"sections": {"Root Cause": "y " * 200_000}},
        {"prevention": ["z" * 150_000, "w" * 150_000]},
        {"symptoms": ["s" * 300_000]},
        {"example": "e" * 60_000},
        {"detect": [{"regex": "d" * 900} for _ in range(100)]},
    ],
    ids=lambda parts: next(iter(parts)),
)
def test_a_proposal_that_is_too_large_is_refused_before_it_is_written(brain, parts):
    first = brain.drafts.propose(TITLE, **GOOD)
    folder = pathlib.Path(first.path).parent
    before = sorted(os.listdir(folder))
    with pytest.raises(InputError, match=r"at most (200|50),000 bytes"):
        brain.drafts.propose(**{"title": "Another title", **GOOD, **parts})
    assert sorted(os.listdir(folder)) == before
    assert brain.drafts.all() == [first]


def source_of(draft_or_text):
    return read_sources_of(getattr(draft_or_text, "text", draft_or_text))


def test_a_draft_names_its_session_by_a_hash_and_quotes_it(brain, tell):
    tell("prompt", "it broke again", session="secret-session-id")
    (draft,) = brain.drafts.collect("secret-session-id")
    (source,) = source_of(draft)
    assert source.scheme == "session"
    assert source.quote == "it broke again"
    assert "secret-session-id" not in draft.text


def accepted_text(brain, card):
    return (pathlib.Path(brain.members[0].root) / card.id).read_text()


@pytest.mark.parametrize("keep", [False, True])
def test_a_quote_of_a_session_reaches_the_card_only_if_it_is_kept(brain, break_and_fix, keep):
    (draft,) = break_and_fix()
    assert source_of(draft)[0].quote
    card = brain.drafts.accept(complete(draft), keep_quotes=keep)
    (source,) = source_of(accepted_text(brain, card))
    assert source.resource == source_of(draft)[0].resource
    assert bool(source.quote) is keep


def test_a_proposal_of_an_agent_names_its_session_without_a_quote(brain, monkeypatch):
    monkeypatch.setenv("LESSONS_SESSION", "abc")
    (source,) = source_of(brain.drafts.propose(TITLE, **GOOD))
    assert source.scheme == "session"
    assert source.last_modified
    assert not source.quote


def test_a_proposal_keeps_the_sources_that_it_is_given(brain):
    source = make_commit_source("1a2b3c4d5e6f", "fix", "2026-01-01T00:00:00Z", "because")
    draft = brain.drafts.propose(TITLE, sources=[source], **GOOD)
    card = brain.drafts.accept(draft.id)
    assert source_of(accepted_text(brain, card)) == (source,)


@pytest.mark.parametrize(
    "complaint",
    [
        "the total of the cart is wrong, it broke again",
        "It broke again. The total of the cart is wrong! Please look at it.",
        "it broke again: the total of the cart is wrong",
    ],
)
def test_a_prompt_that_was_counted_on_a_card_is_no_candidate(brain, tell, complaint):
    reader = SessionReader()
    for at, text in enumerate(("Add a coupon to the cart", complaint)):
        reader.see(Event(kind="prompt", text=text, at=float(at), session="s"))
    candidates = find_candidates(reader.finish(), [], now=10.0)
    assert len(candidates) == 1
    card = brain.drafts.accept(brain.drafts.propose(TITLE, **GOOD).id)
    assert leave_out_drafted(brain, candidates)[0] == candidates
    tell("prompt", complaint)
    assert brain.drafts.collect() == []
    assert brain.cards.get(card.id).occurrences == card.occurrences + 1
    assert leave_out_drafted(brain, candidates)[0] == []


def test_files_that_an_editor_keeps_beside_a_draft_are_no_drafts(brain):
    draft = brain.drafts.propose(TITLE, **GOOD)
    path = pathlib.Path(draft.path)
    for name in (f".{path.name}.swp", f"{path.name}~", f"#{path.name}#", f".#{path.name}"):
        path.with_name(name).write_bytes(b"b0VIM")
    assert brain.drafts.ids() == [draft.id]
