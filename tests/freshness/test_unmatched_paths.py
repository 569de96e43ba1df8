"""A pattern in ``paths`` that matches no file, now or in the history, is named as information."""

import shutil

import pytest

from tests import kit

UNMATCHED = "matches no file of the project, now or in its history"


@pytest.fixture(autouse=True)
def inside(shop, monkeypatch):
    monkeypatch.chdir(shop)


def find_lines(lessons, *words):
    return [line for line in lessons(*words).out.splitlines() if UNMATCHED in line]


def test_lint_names_the_pattern_and_its_line(lessons, write_card):
    write_card("mail", "paths: ['srcs/**', src/mail.py, nofile.py, '!srcs/old/**']\n")
    lines = find_lines(lessons, "lint", "-v")
    assert [line.partition(" → ")[0] for line in lines] == [
        f"lessons/mail.md:5: info unmatched-path: paths: 'srcs/**' {UNMATCHED}",
        f"lessons/mail.md:5: info unmatched-path: paths: 'nofile.py' {UNMATCHED}",
    ]
    assert lessons("lint", "--fail-on", "fault").code == 0


def test_doctor_counts_the_cards_in_one_line(lessons, write_card):
    write_card("mail", "paths: ['srcs/**', nofile.py]\n")
    write_card("cart", "paths: [nofile.js]\n")
    (line,) = [line for line in lessons("doctor").out.splitlines() if "of no file" in line]
    assert "2 cards with paths of no file of the project (lessons/cart.md, …)" in line


def test_a_file_that_is_gone_moved_ignored_or_not_committed_is_known(shop, lessons, write_card):
    kit.git(shop, "rm", "-q", "src/cart.py")
    kit.git(shop, "mv", "src/mail.py", "src/post.py")
    kit.commit(shop, "change", **{".gitignore": "dist/\n*.pyc\n"})
    kit.write(shop, "src/new.py", "1\n")
    kit.commit(shop / "other", "submodule", **{"deep/code.py": "1\n"})
    kit.git(shop, "submodule", "--quiet", "add", str(shop / "other"), "vendor/other")
    kit.commit(shop, "vendor")
    globs = "src/cart.py, src/mail.py, 'vendor/other/**', 'dist/**/*.js', dist, cart.pyc, src/new.py, 'src/ne*', /src/"
    write_card("mail", f"paths: [{globs}]\n")
    assert find_lines(lessons, "lint", "-v") == []


def test_a_kind_of_file_may_be_absent(lessons, write_card):
    write_card("mail", "paths: ['*.tfvars', '**/db/migrate/**']\n")
    assert find_lines(lessons, "lint", "-v") == []


def test_an_archived_card_is_left_alone(lessons, write_card):
    write_card("mail", "paths: [nofile.py]\nstatus: archived\n")
    assert find_lines(lessons, "lint", "-v") == []
    assert "of no file" not in lessons("doctor").out


def test_nothing_is_named_where_the_files_are_not_known(shop, tmp_path, lessons, write_card):
    write_card("mail", "paths: [nofile.py]\n")
    kit.commit(shop, "card")
    assert find_lines(lessons, "lint", str(shop))
    kit.git(tmp_path, "clone", "-q", "--depth=1", f"file://{shop}", "shallow")
    assert find_lines(lessons, "lint", str(tmp_path / "shallow")) == []
    shutil.copytree(shop, tmp_path / "plain", ignore=shutil.ignore_patterns(".git"))
    assert find_lines(lessons, "lint", str(tmp_path / "plain")) == []


def test_a_repository_of_cards_alone_is_not_the_project_of_its_cards(shop, lessons, write_card):
    write_card("mail", "paths: [nofile.py]\n")
    kit.git(shop, "rm", "-qr", "src")
    kit.commit(shop, "cards alone", **{"README.md": "Cards.\n", ".github/ci.yml": "on: push\n"})
    assert find_lines(lessons, "lint", "-v") == []
