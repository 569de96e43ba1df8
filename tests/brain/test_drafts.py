"""From what happened to a draft, and from a draft to a card."""

import os
import pathlib
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.errors import AmbiguousCard, CardNotFound, DuplicateCard, InputError
from lessons_kb.model import Event, as_data
from tests.kit import commit, git

RED = """\
    def test_total_of_cart():
>       assert total([1, 3]) == 4
E       assert 3 == 4
FAILED tests/test_cart.py::test_total_of_cart - assert 3 == 4
1 failed in 0.02s
"""
AWS_KEY = "AKIA" + "IOSFODNN7EXAMPLF"
BEARER = "Bearer " + "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P"
PASSWORD = "hunter2-but-longer"

GOOD = {
    "sections": {"Root Cause": "The total was hard-coded to three instead of a sum of the items."},
    "prevention": ["Cover the total of a cart with two items by a test"],
    "symptoms": ["the total of the cart is wrong", "change how a cart is summed up"],
}


@pytest.fixture
def project(tmp_path):
    """A git work tree with one commit, a day old."""
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
        brain.layers[0].journal.events.append(replace(event, **{"session": "s", **more}))

    return tell


def age(*paths):
    for path in paths:
        os.utime(path, (time.time() - 86_400,) * 2)


def complete(draft, title="The total of a cart was hard-coded"):
    """Write by hand what a draft lacks."""
    path = pathlib.Path(draft.path)
    lines = path.read_text().split("\n")
    lines = [f"title: {title}" if line.startswith("title:") else line for line in lines]
    text = "\n".join(lines).replace(
        "symptoms: []", f"symptoms:\n  - {GOOD['symptoms'][0]}\n  - {GOOD['symptoms'][1]}"
    )
    text = text.replace("## Root Cause\n", "## Root Cause\n\nThe total was hard-coded to three.\n")
    path.write_text(text.rstrip("\n") + "\n\n- [ ] Cover a cart with two items by a test\n")


def test_red_a_fix_green_make_one_draft(brain, tell, project):
    (project / "notes.txt").write_text("changed long before\n")
    age(project / "cart.py", project / "notes.txt")
    tell("prompt", "Add a discount to the cart")
    tell("test", "pytest -q", "exec_error", RED)
    (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    (project / "new_rule.py").write_text("RULE = 1\n")
    tell("test", "pytest -q")
    (draft,) = brain.drafts.collect("s")
    assert draft.kind == "red-green"
    for told in (
        "Add a discount to the cart",
        "`tests/test_cart.py::test_total_of_cart`",
        "E       assert 3 == 4",
        "-    return 3",
        "+    return sum(items)",
        "+RULE = 1",
        "source: auto",
    ):
        assert told in draft.text
    assert "changed long before" not in draft.text
    assert brain.drafts.collect("s") == []
    assert [one.id for one in brain.drafts.all()] == [draft.id]
    assert brain.cards.all() == []
    assert brain.preflight("total of the cart").text == ""


@pytest.mark.slow
def test_a_fix_that_was_committed_is_told(brain, tell, project):
    time.sleep(1.1)  # git's clock has seconds
    tell("test", "pytest", "exec_error", RED)
    time.sleep(1.1)
    (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    git(project, "commit", "-qam", "fix")
    tell("test", "pytest")
    (draft,) = brain.drafts.collect()
    assert "+    return sum(items)" in draft.text


def test_what_was_changed_after_the_green_run_is_not_the_fix(brain, tell, project):
    tell("test", "pytest", "exec_error", RED)
    (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    tell("test", "pytest")
    (project / "notes.txt").write_text("thought of later\n")
    os.utime(project / "notes.txt", (time.time() + 60,) * 2)
    (draft,) = brain.drafts.collect("s")
    assert "+    return sum(items)" in draft.text
    assert "thought of later" not in draft.text


@pytest.mark.parametrize(
    "outcomes", [("ok", "ok"), ("exec_error", "exec_error"), ("ok", "exec_error"), ()]
)
def test_less_than_red_then_green_is_nothing(brain, tell, outcomes):
    for outcome in outcomes:
        tell("test", "pytest", outcome, RED)
    assert brain.drafts.collect("s") == []
    assert brain.drafts.collect() == []


def test_a_complaint_makes_a_draft_and_praise_does_not(brain, tell):
    tell("prompt", "works great, thanks")
    assert brain.drafts.collect("s") == []
    tell("prompt", "또 안 돼요, 고쳤는데 깨졌어요")
    (draft,) = brain.drafts.collect("s")
    assert draft.kind == "feedback"
    assert "또 안 돼요, 고쳤는데 깨졌어요" in draft.text


def test_a_turn_that_goes_on_renews_its_draft(brain, tell):
    tell("prompt", "it broke again")
    (first,) = brain.drafts.collect("s")
    tell("command", "pytest", "exec_error", RED, tool="Bash")
    tell("command", "pytest", tool="Bash")
    (second,) = brain.drafts.collect("s")
    assert second.id == first.id
    assert "test_total_of_cart" in second.text
    assert "it broke again" in second.text
    assert brain.drafts.count() == 1


def test_what_a_human_wrote_is_never_renewed(brain, tell):
    tell("prompt", "it broke again")
    (draft,) = brain.drafts.collect("s")
    complete(draft)
    tell("command", "pytest", "exec_error", RED, tool="Bash")
    tell("command", "pytest", tool="Bash")
    assert brain.drafts.collect("s") == []
    assert brain.drafts.get(draft.id).missing == ()


def test_the_same_mistake_in_another_session_is_counted(brain, tell):
    for session in ("a", "b"):
        tell("test", "pytest", "exec_error", RED, session=session)
        tell("test", "pytest", session=session)
        brain.drafts.collect(session)
    (draft,) = brain.drafts.all()
    assert draft.seen == 2
    complete(draft)
    assert brain.drafts.accept(draft.id).occurrences == 2


def test_a_draft_below_the_bar_is_refused_and_accepted_above_it(brain, tell):
    tell("test", "pytest", "exec_error", RED)
    tell("test", "pytest")
    (draft,) = brain.drafts.collect("s")
    with pytest.raises(InputError) as refused:
        brain.drafts.accept(draft.id)
    for word in ("title", "Root Cause", "Prevention", "symptoms", draft.path):
        assert word in str(refused.value)
    complete(draft)
    card = brain.drafts.accept(draft.id, today="2026-11-21")
    assert card.id == "lessons/the-total-of-a-cart-was-hard-coded.md"
    assert (card.source, card.status, card.created) == ("auto", "active", "2026-11-21")
    assert brain.drafts.all() == []
    assert not os.path.exists(draft.path)
    assert brain.drafts.collect("s") == []
    assert brain.preflight("the total of the cart is wrong").lessons


def test_the_same_lesson_again_bumps_instead_of_doubling(brain):
    brain.drafts.accept(brain.drafts.propose("Total of a cart was hard-coded", **GOOD).id)
    again = brain.drafts.propose("The total of the cart was hard-coded.", example="Tax", **GOOD)
    with pytest.raises(DuplicateCard) as duplicate:
        brain.drafts.accept(again.id)
    assert brain.drafts.find_near_duplicates(again)[0].card.id == duplicate.value.existing
    card = brain.drafts.merge(again.id, duplicate.value.existing, today="2026-11-21")
    assert (card.occurrences, card.last_seen, card.examples) == (2, "2026-11-21", ("Tax",))
    assert brain.drafts.all() == []
    assert len(brain.cards.all()) == 1


def test_a_human_may_insist_on_a_second_card(brain):
    for _ in range(2):
        brain.drafts.accept(
            brain.drafts.propose("Total of a cart was hard-coded", **GOOD).id, on_duplicate="new"
        )
    assert len(brain.cards.all()) == 2


def test_a_discarded_draft_does_not_come_back(brain, tell):
    tell("test", "pytest", "exec_error", RED)
    tell("test", "pytest")
    (draft,) = brain.drafts.collect("s")
    brain.drafts.discard(draft.id)
    tell("test", "pytest", "exec_error", RED, session="later")
    tell("test", "pytest", session="later")
    assert brain.drafts.collect("s") == brain.drafts.collect("later") == []
    assert brain.drafts.all() == []


def test_a_mistake_that_has_a_card_already_names_it(brain, tell):
    tell("test", "pytest", "exec_error", RED)
    tell("test", "pytest")
    (draft,) = brain.drafts.collect("s")
    complete(draft)
    card = brain.drafts.accept(draft.id)
    tell("test", "pytest", "exec_error", RED, session="later")
    tell("test", "pytest", session="later")
    (again,) = brain.drafts.collect("later")
    assert (again.card, again.id) == (card.id, f"{draft.id}-2")


SHELL = "import subprocess\n\n\ndef total(items):\n    return subprocess.run({}, shell=True)\n"
SAFE = "import subprocess\n\n\ndef total(items):\n    return subprocess.run([{}])\n"


def fix_again(tell, path, what, session="s"):
    commit(path.parent, what, **{path.name: SHELL.format(what)})
    age(path)
    tell("prompt", "Add a discount to the cart", session=session)
    tell("test", "pytest -q", "exec_error", RED, session=session)
    path.write_text(SAFE.format(what))
    tell("test", "pytest -q", session=session)


def test_two_fixes_of_one_mistake_agree_on_how_it_looks(brain, tell, project):
    fix_again(tell, project / "cart.py", "items")
    (draft,) = brain.drafts.collect("s")
    assert brain.drafts.find_agreed(draft) == ()
    fix_again(tell, project / "cart.py", "sorted(items, key=str)", "t")
    (again,) = brain.drafts.collect("t")
    assert again.seen == 2
    agreed = brain.drafts.find_agreed(again)
    assert [one.text for one in agreed] == ["subprocess.run($$$, shell=True)"]


def test_a_fix_agrees_with_that_of_the_card_it_has_already(brain, tell, project):
    fix_again(tell, project / "cart.py", "items")
    (draft,) = brain.drafts.collect("s")
    complete(draft)
    card = brain.drafts.accept(draft.id)
    fix_again(tell, project / "cart.py", "names", "t")
    (again,) = brain.drafts.collect("t")
    assert again.card == card.id
    assert [one.text for one in brain.drafts.find_agreed(again)] == [
        "subprocess.run($$$, shell=True)"
    ]


def test_too_many_cards_from_triggers_make_new_ones_wait(brain, root):
    (root / "lessons.toml").write_text("[learn]\nmax_auto_cards = 1\n")
    first = brain.drafts.propose("Total of a cart was hard-coded", **GOOD)
    other = {
        "sections": {
            "Root Cause": "Amounts were added before they were converted to one currency."
        },
        "prevention": ["Convert each amount before the sum, shown by a test with two currencies"],
        "symptoms": ["pay out refunds in batches", "a refund in yen is far too large"],
    }
    second = brain.drafts.propose("Refunds ignored the currency of the order", **other)
    card = brain.drafts.accept(first.id)
    with pytest.raises(InputError, match="1 active card from triggers"):
        brain.drafts.accept(second.id)
    brain.cards.set_status("archived", card.id)
    assert brain.drafts.accept(second.id).source == "auto"


def test_secrets_are_in_no_draft_and_no_card(brain, tell, project, root):
    output = f"{RED}Authorization: {BEARER}\nAWS_ACCESS_KEY_ID={AWS_KEY}\npassword={PASSWORD}\n"
    tell("prompt", f"Log in with password: {PASSWORD}")
    tell("test", "pytest", "exec_error", output)
    (project / "cart.py").write_text(f'password = "{PASSWORD}"\nkey = "{AWS_KEY}"\n')
    tell("test", "pytest")
    (draft,) = brain.drafts.collect("s")
    complete(draft)
    card = brain.drafts.accept(draft.id)
    proposed = brain.drafts.propose("A key leaked", example=f"use {AWS_KEY}", **GOOD)
    for text in (draft.text, (root / card.id).read_text(), proposed.text):
        for secret in (AWS_KEY, BEARER.split()[1], PASSWORD):
            assert secret not in text


def test_a_draft_is_named_by_its_beginning(brain):
    one = brain.drafts.propose("Total of a cart was hard-coded")
    two = brain.drafts.propose("Refunds ignored the currency")
    assert brain.drafts.get(one.id[:-1]).id == one.id
    with pytest.raises(AmbiguousCard, match=two.id):
        brain.drafts.get("proposed-")
    for name in ("", "absent", "../../etc/passwd"):
        with pytest.raises(CardNotFound):
            brain.drafts.get(name)


def test_damaged_state_costs_a_draft_and_no_more(brain):
    draft = brain.drafts.propose("Total of a cart was hard-coded", **GOOD)
    folder = pathlib.Path(draft.path).parent
    (folder / "broken.json").write_text("{")
    (folder / "list.json").write_text("[1]")
    (folder / "lost.json").write_text('{"state": "open"}')
    assert [one.id for one in brain.drafts.all()] == [draft.id]
    pathlib.Path(draft.path).write_text("---\ntitle: [\n---\n\x00")
    assert brain.drafts.get(draft.id).missing


def test_drafts_are_for_their_user_alone(brain):
    draft = brain.drafts.propose("Total of a cart was hard-coded")
    assert os.stat(draft.path).st_mode & 0o077 == 0
    assert os.stat(os.path.dirname(draft.path)).st_mode & 0o077 == 0


def test_a_session_tells_a_card_its_situation(brain, tell, project):
    with pytest.raises(InputError, match="the journal has no session"):
        brain.drafts.sketch_session()
    tell("prompt", "Add a discount to the cart")
    tell("command", "pytest", "exec_error", RED, tool="Bash")
    (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    sketch = brain.drafts.sketch_session()
    assert "Add a discount" in sketch.sections["Situation"]
    assert "+    return sum(items)" in sketch.sections["Fix"]
    with pytest.raises(InputError, match="'absent'"):
        brain.drafts.sketch_session("absent")


def test_the_fix_of_a_session_names_what_its_card_guards(root, tell, project):
    for folder in (project, project / "docs" / "brain"):
        (folder / "lessons").mkdir(parents=True)
        (folder / "lessons.toml").write_text("# a brain in the work tree\n")
    with Brain.open(project, project / "docs" / "brain", root, directory=project) as brain:
        event = Event(kind="test", text="pytest", outcome="exec_error", output=RED, session="s")
        brain.layers[0].journal.events.append(replace(event, at=time.time(), scope=str(project)))
        (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
        (project / "tests").mkdir()
        (project / "tests" / "test_cart.py").write_text("def test_total(): ...\n")
        (project / "README.md").write_text("How a cart is summed up.\n")
        (project / "lessons" / "other.md").write_text("# Another lesson\n")
        (project / "docs" / "brain" / "note.md").write_text("# A note\n")
        sketch = brain.drafts.sketch_session()
    fix = sketch.sections["Fix"]
    assert "+    return sum(items)" in fix
    assert "README.md" in fix
    assert "lesson" not in fix
    assert "note.md" not in fix
    assert set(sketch.paths) == {"cart.py", "README.md"}


def test_a_diff_tells_a_card_its_fix(brain, project, monkeypatch):
    monkeypatch.chdir(project)
    with pytest.raises(InputError, match="no change against HEAD"):
        brain.drafts.sketch_diff("cart.py")
    (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    sketch = brain.drafts.sketch_diff("cart.py:2")
    assert "+    return sum(items)" in sketch.sections["Fix"]
    assert sketch.paths == ("cart.py",)
    with pytest.raises(InputError, match=r"cart\.py:40"):
        brain.drafts.sketch_diff("cart.py:40")


@pytest.mark.slow
def test_processes_that_collect_at_once_make_one_draft(brain, tell, project, root):
    tell("test", "pytest", "exec_error", RED)
    (project / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    tell("test", "pytest")
    code = (
        "import sys; from lessons_kb import Brain\n"
        "print(len(Brain.open(sys.argv[1], directory=sys.argv[2]).drafts.collect('s')))"
    )
    command = [sys.executable, "-c", code, str(root), str(project)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    made = [process.communicate(timeout=60)[0].strip() for process in running]
    assert sorted(made) == ["0", "0", "0", "1"]
    assert brain.drafts.count() == 1


def test_words_of_any_kind_make_a_readable_draft(brain, tell):
    said = 'why does it keep failing: "x" # [a, b] {{title}} --- \'\\ \u202e <!-- ```'
    tell("prompt", said)
    (draft,) = brain.drafts.collect("s")
    assert len(draft.missing) == 4
    assert draft.title.startswith("TODO name the mistake (why does it keep failing")


@pytest.mark.parametrize(
    ("where", "secret"),
    [
        ("paths", 'export DB_PASS="x y z 123Q"'),
        ("topics", 'export DB_PASS="x y z 123Q"'),
        ("example", "-----BEGIN " + "RSA PRIVATE KEY-----"),
        ("title", "-----BEGIN " + "RSA PRIVATE KEY-----"),
    ],
)
def test_taking_a_secret_out_of_a_header_leaves_a_header(brain, where, secret):
    title = f"Leaked {secret} in the log" if where == "title" else "The cart showed a wrong total"
    given = {"example": f"Deploy with {secret}"} if where == "example" else {}
    if where in ("paths", "topics"):
        given = {where: [secret, "other"]}
    draft = brain.drafts.propose(title, **GOOD, **given)  # type: ignore[arg-type]
    card = brain.drafts.accept(draft.id)
    assert "[redacted" in str(as_data(card))
    assert brain.cards.get(card.id).symptoms == tuple(GOOD["symptoms"])
    assert not [one for one in brain.lint() if one.path == card.id and "YAML" in one.message]


def test_a_secret_that_a_human_put_into_a_title_does_not_name_the_card(brain):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    draft = brain.drafts.propose("The cart showed a wrong total", **GOOD)  # type: ignore[arg-type]
    path = pathlib.Path(draft.path)
    path.write_text(path.read_text().replace("a wrong total", f"the token {token}"))
    card = brain.drafts.accept(draft.id)
    assert token.casefold() not in card.id
    assert token not in card.title


def in_trash(root):
    """Return the text of each file in the trash of a brain."""
    from lessons_kb.store import trash
    from lessons_kb.store.trash import CARD, trash_dir

    folder = pathlib.Path(trash_dir(str(root)))
    return [(folder / entry.name / CARD).read_text() for entry in trash.entries(str(root))]


def test_a_proposal_made_again_leaves_what_a_human_wrote_into_the_first(brain):
    first = brain.drafts.propose("The cart showed a wrong total", **GOOD)  # type: ignore[arg-type]
    path = pathlib.Path(first.path)
    path.write_text(edited := path.read_text() + "\nWritten by hand.\n")
    again = brain.drafts.propose("The cart showed a wrong total", **GOOD)  # type: ignore[arg-type]
    assert path.read_text() == edited
    assert again.id != first.id
    third = brain.drafts.propose("The cart showed a wrong total", **GOOD)  # type: ignore[arg-type]
    assert third.id == again.id


@pytest.mark.parametrize("way", ["merge", "discard"])
def test_what_a_human_wrote_into_a_draft_outlives_it(brain, root, way):
    card = brain.create("A payment was sent twice")
    for edit in ("", "\nWritten by hand.\n"):
        draft = brain.drafts.propose("The cart was wrong", **GOOD)  # type: ignore[arg-type]
        with open(draft.path, "a") as file:
            file.write(edit)
        if way == "merge":
            brain.drafts.merge(draft.id, card.id)
        else:
            brain.drafts.discard(draft.id)
    assert [text.endswith(edit) for text in in_trash(root)] == [True]


@pytest.mark.parametrize("saving", ["in place", "by renaming"])
def test_what_is_saved_into_a_draft_while_it_is_accepted_is_kept(brain, root, monkeypatch, saving):
    draft = brain.drafts.propose("The cart showed a wrong total", **GOOD)  # type: ignore[arg-type]
    path = pathlib.Path(draft.path)
    late = path.read_text() + "\nSaved a moment later.\n"
    add = type(brain.cards).add

    def save_then_add(cards, text, *, kind, title):
        if saving == "in place":
            path.write_text(late)
        else:
            (path.parent / "swap").write_text(late)
            (path.parent / "swap").replace(path)
        return add(cards, text, kind=kind, title=title)

    monkeypatch.setattr(type(brain.cards), "add", save_then_add)
    brain.drafts.accept(draft.id)
    assert in_trash(root) == [late]


@pytest.mark.slow
def test_processes_that_accept_one_draft_at_once_make_one_card(brain, root):
    draft = brain.drafts.propose("The cart showed a wrong total", **GOOD)  # type: ignore[arg-type]
    code = """
import pathlib, sys
from lessons_kb import Brain
brain = Brain.open(sys.argv[1])
draft = brain.drafts.get("prop")
brain.drafts.find_near_duplicates(draft)
print("ready", flush=True)
sys.stdin.read()
brain.drafts.accept(draft.id)
"""
    command = [sys.executable, "-c", code, str(root)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [subprocess.Popen(command, text=True, **pipes) for _ in range(3)]  # type: ignore[call-overload]
    for process in started:
        assert process.stdout.readline() == "ready\n"
    for process in started:
        process.stdin.close()
        process.stdin = None
    errors = [process.communicate()[1] for process in started]
    assert sorted(process.returncode for process in started) == [0, 1, 1], errors
    assert len(list((root / "lessons").iterdir())) == 1
    assert brain.drafts.all() == [], draft.id
