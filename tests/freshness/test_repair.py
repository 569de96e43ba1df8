"""What people see of a card whose code has moved on, and what puts it right."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.cards.edit import replace_paths
from lessons_kb.model import CURRENT
from tests import kit
from tests.kit import commit, git

LATER = "2026-03-01T12:00:00+00:00"
PATHS = "paths: [src/mail.py]\n"


@pytest.fixture
def moved(shop, write_card):
    write_card("mail", PATHS)
    (shop / "src/core").mkdir()
    git(shop, "mv", "src/mail.py", "src/core/post.py")
    commit(shop, "move", LATER)
    return shop


@pytest.fixture
def gone(shop, write_card):
    write_card("mail", PATHS)
    git(shop, "rm", "-q", "src/mail.py")
    commit(shop, "remove", LATER)
    return shop


def test_lint_says_in_one_line_that_a_file_was_moved(at, moved):
    (line,) = at(moved, "lint", "--rule", "moved-path").out.splitlines()
    assert "src/mail.py was moved to src/core/post.py, which it guards, too" in line
    assert "run `lessons lint --fix`" in line


def test_lint_fix_rewrites_the_path_and_nothing_else(at, moved):
    path = moved / "lessons/mail.md"
    before = path.read_bytes()
    at(moved, "lint", "--fix")
    assert path.read_bytes() == before.replace(b"src/mail.py", b"src/core/post.py")
    assert json.loads(at(moved, "lint", "--json", "--rule", "moved-path").out) == []


def test_lint_fix_twice_changes_nothing_more(at, moved):
    at(moved, "lint", "--fix")
    before = (moved / "lessons/mail.md").read_bytes()
    at(moved, "lint", "--fix")
    assert (moved / "lessons/mail.md").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("paths: [a.py, b.py]", "paths: [x/a.py, b.py]"),
        ("paths: ['a.py']  # why", "paths: ['x/a.py']  # why"),
        ("paths:\r\n  - a.py\r\n  - b.py", "paths:\r\n  - x/a.py\r\n  - b.py"),
        ("paths: a.py, b.py", "paths: x/a.py, b.py"),
        ('globs: "a.py"', 'globs: "x/a.py"'),
        ("applies-to: [a.py]", "applies-to: [a.py]"),
    ],
)
def test_only_the_entries_that_moved_are_replaced(old, new):
    text = "---\ntype: lesson\n{}\ntitle:   odd\n---\nbody\n"
    assert replace_paths(text.format(old), {"a.py": ["x/a.py"]}) == text.format(new)


def test_one_entry_may_become_several():
    text = "---\npaths:\n- a/*.py\n- c.py\n---\n"
    moves = {"a/*.py": ["x/1.py", "y/2.py"]}
    assert replace_paths(text, moves) == "---\npaths:\n- x/1.py\n- y/2.py\n- c.py\n---\n"


def test_doctor_says_how_many_cards_have_moved_on(health, moved):
    (line,) = health("freshness", moved)
    assert line.detail == "1 card whose files were moved (lessons/mail.md)"
    assert line.fix == "run `lessons lint --fix`"


def test_list_stale_names_the_cards_and_why(at, gone):
    kit.write(gone, "lessons/cart.md", "---\ntype: lesson\ntitle: Cart\n---\n- Look\n")
    out = at(gone, "list", "--stale").out
    assert "lessons/mail.md" in out
    assert "not injected: src/mail.py (removed in " in out
    assert "cart" not in out


def test_list_marks_a_card_whose_code_is_gone(at, gone):
    at(gone, "index")
    assert "[gone] mail goes wrong" in at(gone, "list").out


def test_archive_gone_retires_these_cards_after_a_yes(at, gone):
    assert "kept" in at(gone, "archive", "--gone", "--dry-run", "--json").out
    assert at(gone, "archive", "--gone", "--yes").code == 0
    assert "status: archived" in (gone / "lessons/mail.md").read_text()
    assert at(gone, "archive", "--gone", "--yes", "--json").out.strip() == "[]"


def test_archive_takes_one_of_its_three_forms(at, gone):
    assert at(gone, "archive", "--gone", "--stale").code == 2
    assert at(gone, "archive").code == 2


def test_confirm_gives_a_silenced_card_back(at, gone, stand):
    assert stand()["mail"].silenced
    out = at(gone, "confirm", "mail").out
    assert "lessons/mail.md confirmed 20" in out
    assert stand() == {"mail": CURRENT}


def test_confirm_changes_one_line(at, shop, write_card):
    path = write_card("mail", "stale-after: 2026-02-01 # soon\n")
    before = path.read_text().splitlines()
    at(shop, "confirm", "mail")
    after = path.read_text().splitlines()
    assert [line for line in after if line not in before] == [f"confirmed: {kit.today()}"]
    assert [line for line in before if line not in after] == []


@pytest.mark.parametrize(
    ("header", "is_given"),
    [
        ("", True),
        ("stale-after: 2999-01-01\n", True),
        ("stale-after: 2026-02-01\n", False),
        ("stale_after: 2026-02-01\n", False),
        ("stale-after: 2026-02-01\nconfirmed: 2026-02-02\n", True),
        ("stale-after: 2026-02-01\nverified: 2026-02-02\n", True),
        ("stale-after: 2026-02-01\nconfirmed: 2026-01-31\n", False),
    ],
)
def test_from_its_stale_after_on_a_card_waits_until_it_is_confirmed(
    shop, write_card, header, is_given
):
    write_card("mail", f"{header}symptoms: [Send the newsletter by mail]\n{PATHS}")
    for number in range(3):
        write_card(f"other-{number}", cause=f"Number {number} of the cart.")
    with Brain.open(shop, project="shop") as brain:
        block = brain.preflight("Send the newsletter by mail")
        member = brain.members[0]
        titles = member.read(lambda b: b.catalogue.titles(None, limit=9, today=kit.today()))
    assert ("lessons/mail.md" in [hit.card.id for hit in block.lessons]) == is_given
    assert ("lessons/mail.md" in [title.path for title in titles]) == is_given


def test_the_block_has_the_caveat_of_a_card(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py, src/cart.py]\nsymptoms: [Send the newsletter]\n")
    for number in range(3):
        write_card(f"other-{number}", cause=f"Number {number} of the cart.")
    git(shop, "rm", "-q", "src/mail.py")
    commit(shop, "remove", LATER)
    stand()
    with Brain.open(shop, project="shop") as brain:
        lines = brain.preflight("Send the newsletter").text.splitlines()
    assert lines[2] == "   Note: src/mail.py is gone."


def test_show_says_what_changed_since_the_card_was_confirmed(at, shop, write_card):
    write_card("mail", f"{PATHS}confirmed: 2026-01-03\n")
    commit(shop, "edit", LATER, **{"src/mail.py": "1\n"})
    at(shop, "index")
    err = at(shop, "show", "mail").err
    assert "src/mail.py changed in 1 commit since it was confirmed on 2026-01-03" in err
