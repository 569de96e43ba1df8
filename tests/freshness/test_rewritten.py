"""A card whose files are gone is given while a file of today is about the same thing."""

import pytest

from lessons_kb.errors import GitError
from lessons_kb.freshness import rewritten
from lessons_kb.process import git_history
from lessons_kb.process.git_history import list_blobs
from tests.kit import commit, git

CAUSE = "Retries of a failed payment must wait, because the gateway counts each attempt as fraud."
OLD = "def retry_payment(gateway, attempt):\n    # failed attempts count as fraud: wait\n"
NEW = "// the gateway counts a failed attempt as fraud\nfunc (g Gateway) Retry(p Payment) { g.wait() }\n"
OTHER = {f"src/pages/page{n}.ts": f"export const page{n} = render('heading')\n" for n in range(9)}
"""Files about other things, without which every word would be rare."""
DAYS = [f"2026-03-0{day}T12:00:00+00:00" for day in range(1, 7)]


@pytest.fixture
def payments(shop, write_card):
    commit(shop, "add", "2026-01-01T13:00:00+00:00", **OTHER, **{"src/pay.py": OLD})
    write_card("pay", "paths: [src/pay.py]\n", CAUSE)
    return shop


@pytest.fixture
def compared(monkeypatch):
    """Return a list to which the number of files that each look reads is added."""
    counts = []
    read = rewritten.read_text_objects

    def record(top, blobs):
        counts.append(len(blobs))
        return read(top, blobs)

    monkeypatch.setattr(rewritten, "read_text_objects", record)
    return counts


def drop(shop, name, when):
    git(shop, "rm", "-q", name)
    commit(shop, f"remove {name}", when)


def test_a_card_whose_code_was_rewritten_in_another_language_is_given(payments, stand):
    commit(payments, "rewrite", DAYS[0], **{"cmd/billing.go": NEW})
    drop(payments, "src/pay.py", DAYS[1])
    standing = stand()["pay"]
    assert not standing.silenced
    assert standing.caveat == "Note: src/pay.py is gone."


def test_a_card_is_silenced_while_no_file_is_about_the_same_thing(payments, stand):
    drop(payments, "src/pay.py", DAYS[0])
    assert stand()["pay"].silenced
    commit(payments, "rewrite", DAYS[1], **{"cmd/billing.go": NEW})
    assert not stand()["pay"].silenced
    commit(payments, "elsewhere", DAYS[2], **{"src/pages/page0.ts": "export const page = 1\n"})
    assert not stand()["pay"].silenced
    drop(payments, "cmd/billing.go", DAYS[3])
    assert stand()["pay"].silenced


def test_only_the_files_of_new_commits_are_compared(payments, write_card, stand, compared):
    drop(payments, "src/pay.py", DAYS[0])
    stand()
    whole = len(list_blobs(payments, ["lessons"]))
    assert compared == [whole, whole], "once with the card, once with its removed file"
    commit(payments, "more", DAYS[1], **{"src/more.ts": "export const more = 1\n"})
    stand()
    assert compared[2:] == [1]
    write_card("pay", "paths: [src/pay.py]\n", "Another cause.")
    commit(payments, "again", DAYS[2], **{"src/more.ts": "export const more = 2\n"})
    stand()
    assert compared[2:] == [1, 1, whole + 1], "new words are compared with all files"


def test_markdown_cards_and_binary_files_are_not_compared(payments, stand):
    text = CAUSE + "\n" + OLD
    files = {"README.md": text, "src/pay.bin": text + "\0"}
    commit(payments, "texts", DAYS[0], **files)
    drop(payments, "src/pay.py", DAYS[1])
    assert stand()["pay"].silenced


def test_a_card_without_latin_letters_is_silenced(payments, write_card, stand):
    write_card("pay", "paths: [src/pay.py]\n", "Повторная оплата", "Подождать")
    drop(payments, "src/pay.py", DAYS[0])
    assert stand()["pay"].silenced


def test_what_most_cards_share_is_no_evidence(payments, write_card, stand):
    headings = "def situation():\n    prevention = checklist = root = cause = examples = index\n"
    commit(payments, "headings", DAYS[0], **{"src/cards.py": headings})
    write_card("pay", "paths: [src/pay.py]\n", "```diff\ndiff --git a/index b/index\n```")
    drop(payments, "src/pay.py", DAYS[1])
    assert stand()["pay"].silenced


def test_a_card_is_given_while_a_file_resembles_the_removed_one(payments, write_card, stand):
    write_card("pay", "paths: [src/pay.py]\n", "Nobody looked.")
    commit(payments, "rewrite", DAYS[0], **{"cmd/billing.go": NEW})
    drop(payments, "src/pay.py", DAYS[1])
    assert stand()["pay"].caveat
    drop(payments, "cmd/billing.go", DAYS[2])
    assert stand()["pay"].silenced


@pytest.mark.parametrize("glob", ["src/pay.py", "pay.py", "src/pay*"])
def test_a_file_that_was_moved_and_then_removed_is_compared_as_it_was_last(
    payments, write_card, stand, glob
):
    write_card("pay", f"paths: ['{glob}']\n", "Nobody looked.")
    commit(payments, "rewrite", DAYS[0], **{"cmd/billing.go": NEW})
    git(payments, "mv", "src/pay.py", "src/money.py")
    commit(payments, "move", DAYS[1])
    drop(payments, "src/money.py", DAYS[2])
    assert stand()["pay"].caveat


def test_all_cards_are_compared_at_once(payments, write_card, stand, compared):
    for number in range(3):
        write_card(f"pay{number}", "paths: [src/pay.py]\n", f"{CAUSE} See `retry_{number}`.")
    drop(payments, "src/pay.py", DAYS[0])
    assert all(standing.silenced for standing in stand().values())
    assert compared == [len(list_blobs(payments, ["lessons"]))] * 2


def test_a_large_project_is_compared_only_with_cards_that_need_it(
    payments, write_card, stand, compared, monkeypatch
):
    write_card("refund", "paths: [src/refund.py]\n", CAUSE)
    monkeypatch.setattr(rewritten, "_MOST_AHEAD", 2)
    assert not stand()["refund"].silenced, "the project never had its file"
    assert compared == []
    drop(payments, "src/pay.py", DAYS[0])
    assert stand()["pay"].silenced
    assert compared == [len(list_blobs(payments, ["lessons"]))] * 2


def test_the_files_of_head_are_compared_while_git_sorts_the_history(
    payments, stand, compared, monkeypatch
):
    before_commits = []
    parse = git_history.parse_name_changes

    def record(parts):
        before_commits.append(list(compared))
        return parse(parts)

    monkeypatch.setattr(git_history, "parse_name_changes", record)
    drop(payments, "src/pay.py", DAYS[0])
    stand()
    assert before_commits[0] == [len(list_blobs(payments, ["lessons"]))]


def test_a_card_is_judged_if_git_fails_while_it_sorts_the_history(payments, stand, monkeypatch):
    def fail(*_arguments):
        raise GitError("no tree")

    monkeypatch.setattr(rewritten.RewrittenCode, "read_ahead", fail)
    drop(payments, "src/pay.py", DAYS[0])
    assert stand()["pay"].silenced
