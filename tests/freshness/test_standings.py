"""What became of the files and symbols that a card names: SPEC §3, freshness."""

import os
import sqlite3
import sys

import pytest

from lessons_kb import Brain
from lessons_kb.freshness.judge import MAX_CAVEAT
from lessons_kb.model import CURRENT
from lessons_kb.store.file_history import HISTORY_NAME
from lessons_kb.store.trust import cache_dir
from lessons_kb.text.token_estimate import estimate_tokens
from tests import kit
from tests.kit import commit, git

LATER = "2026-03-01T12:00:00+00:00"


def remove(shop, *names, when=LATER):
    git(shop, "rm", "-q", *names)
    return commit(shop, "remove", when)


def move(shop, old, new, when=LATER):
    (shop / new).parent.mkdir(parents=True, exist_ok=True)
    git(shop, "mv", old, new)
    return commit(shop, "move", when)


def test_a_card_whose_files_are_there_is_current(write_card, stand):
    write_card("mail", "paths: [src/mail.py, 'src/api/**']\n", "See `cart.py` and `add_item`.")
    assert stand() == {"mail": CURRENT}


def test_a_card_whose_only_file_is_gone_is_silenced_and_names_the_commit(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    removal = remove(shop, "src/mail.py")
    standing = stand()["mail"]
    assert standing.silenced == f"src/mail.py (removed in {removal[:8]}) is gone"
    assert standing.gone == (("src/mail.py", removal),)
    assert standing.caveat == ""


DIFF = "The fix:\n\n```diff\n@@ -1 +1 @@\n-old({removed})\n+new()\n {context}\n```"


@pytest.mark.parametrize(
    ("cause", "is_given"),
    [
        (DIFF.format(removed="add_item", context=""), True),
        (DIFF.format(removed="send_3", context="add_item"), False),
        ("```python\nsend_3(add_item())\n```", True),
        ("A name in prose, as add_item here, is not what the search in code looks for.", False),
        ("As in TypeScript and `1_000`.", False),
    ],
    ids=["changed line", "context", "code", "prose", "no name"],
)
def test_a_card_whose_code_has_a_name_that_still_exists_is_given_with_a_caveat(
    shop, write_card, stand, cause, is_given
):
    write_card("mail", "paths: [src/mail.py]\n", cause)
    remove(shop, "src/mail.py")
    standing = stand()["mail"]
    assert bool(standing.silenced) != is_given
    assert standing.caveat == ("Note: src/mail.py is gone." if is_given else "")


def test_a_card_is_silenced_when_the_last_name_in_its_code_goes_and_given_when_it_returns(
    shop, write_card, stand
):
    write_card("mail", "paths: [src/mail.py]\n", "```python\nadd_item(send_3())\n```")
    remove(shop, "src/mail.py")
    assert not stand()["mail"].silenced
    remove(shop, "src/cart.py", when="2026-04-01T12:00:00+00:00")
    assert stand()["mail"].silenced
    files = {"src/basket.py": "def add_item():\n    return 2\n"}
    commit(shop, "again", "2026-05-01T12:00:00+00:00", **files)
    assert stand()["mail"].caveat
    write_card("mail", "paths: [src/mail.py]\n", "```python\nsend_3()\n```")
    assert stand()["mail"].silenced, "an edit of its code counts at once"


def test_a_card_of_which_a_part_is_gone_has_a_short_caveat(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py, src/cart.py]\n")
    remove(shop, "src/mail.py")
    standing = stand()["mail"]
    assert standing.silenced == ""
    assert standing.caveat == "Note: src/mail.py is gone."


@pytest.mark.parametrize("length", [1, 20, 60, 200])
def test_no_caveat_is_longer_than_twelve_tokens(shop, write_card, stand, length):
    name = "x" * length
    commit(shop, "add", "2026-01-01T13:00:00+00:00", **{f"src/{name}.py": "1\n"})
    write_card("mail", f"paths: [src/{name}.py, src/cart.py]\n")
    remove(shop, f"src/{name}.py")
    caveat = stand()["mail"].caveat
    assert caveat
    assert estimate_tokens(caveat) <= MAX_CAVEAT


def test_a_name_that_stands_elsewhere_gives_a_caveat_only(shop, write_card, stand):
    write_card("cart", "paths: [src/cart.py]\nexamples: [a]\n")
    kit.write(
        shop,
        "lessons/mention.md",
        "---\ntype: lesson\ntitle: Mention\ncreated: 2026-01-02\n---\n## Situation\n\n`src/mail.py`\n"
        "\n## Prevention Checklist\n\n- Look\n",
    )
    remove(shop, "src/mail.py")
    standing = stand()["mention"]
    assert (standing.silenced, standing.caveat) == ("", "Note: src/mail.py is gone.")


def test_names_that_never_existed_here_count_for_nothing(shop, write_card, stand):
    write_card("mail", "paths: [lib/other.py, 'vendor/**']\n", "See `else/where.py`, `no_such`.")
    remove(shop, "src/mail.py")
    assert stand() == {"mail": CURRENT}


def test_what_was_gone_before_the_card_was_written_does_not_count(shop, write_card, stand):
    remove(shop, "src/mail.py", when="2026-01-02T09:00:00+00:00")
    write_card("mail", "paths: [src/mail.py]\n")
    assert stand() == {"mail": CURRENT}


def test_what_was_gone_when_the_card_was_confirmed_does_not_count(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\nconfirmed: 2026-03-01\n")
    remove(shop, "src/mail.py")
    assert stand() == {"mail": CURRENT}


def test_a_moved_file_is_followed(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    move(shop, "src/mail.py", "src/core/post.py")
    standing = stand()["mail"]
    assert standing.moved == (("src/mail.py", "src/core/post.py"),)
    assert standing.follows == ("src/core/post.py",)
    assert (standing.silenced, standing.caveat) == ("", "")


def test_a_file_that_moved_twice_is_followed_to_where_it_is(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    move(shop, "src/mail.py", "src/core/post.py")
    stand()
    move(shop, "src/core/post.py", "lib/post.py", "2026-04-01T12:00:00+00:00")
    assert stand()["mail"].follows == ("lib/post.py",)


def test_a_file_that_moved_and_was_then_removed_is_gone(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    move(shop, "src/mail.py", "src/core/post.py")
    removal = remove(shop, "src/core/post.py", when="2026-04-01T12:00:00+00:00")
    assert stand()["mail"].gone == (("src/mail.py", removal),)


def test_the_guard_of_a_file_that_moved_into_a_folder_with_brackets_follows_it(
    shop, write_card, stand
):
    write_card("mail", "paths: [src/mail.py]\n")
    move(shop, "src/mail.py", "src/[id]/post.py")
    assert stand()["mail"].follows == (r"src/\[id\]/post.py",)
    with Brain.open(shop) as brain:
        guards = brain.members[0].read(lambda one: one.guarding(["src/[id]/post.py"]))
    assert guards


def test_what_only_a_merge_moved_or_removed_is_found(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    write_card("cart", "paths: [src/cart.py]\n")
    commit(shop, "cards", "2026-01-03T12:00:00+00:00")
    git(shop, "switch", "-qc", "side")
    commit(shop, "side", "2026-02-01T12:00:00+00:00", **{"src/side.py": "1\n"})
    git(shop, "switch", "-q", "main")
    commit(shop, "main", "2026-02-02T12:00:00+00:00", **{"src/more.py": "1\n"})
    git(shop, "merge", "-q", "--no-ff", "--no-commit", "side")
    git(shop, "rm", "-q", "src/cart.py")
    git(shop, "mv", "src/mail.py", "src/post.py")
    text = (shop / "src/post.py").read_text("utf-8")
    merge = commit(shop, "merge", LATER, **{"src/post.py": f"{text}# moved\n"})
    standings = stand()
    assert standings["mail"].follows == ("src/post.py",)
    assert standings["cart"].gone == (("src/cart.py", merge),)


def test_a_glob_of_a_folder_that_moved_names_the_new_folder(shop, write_card, stand):
    write_card("api", "paths: ['src/api/**/*.py']\n")
    move(shop, "src/api", "server/http")
    assert stand()["api"].moved == (("src/api/**/*.py", "server/http/**/*.py"),)


def test_the_guard_of_a_moved_file_follows_it(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    move(shop, "src/mail.py", "src/core/post.py")
    stand()
    with Brain.open(shop) as brain:
        guards = brain.members[0].read(lambda one: one.guarding(["src/core/post.py"]))
    assert list(guards.values()) == [("src/core/post.py",)]


def test_a_symbol_that_is_gone_silences_a_card_about_nothing_else(shop, write_card, stand):
    write_card("cart", cause="`add_item` counts twice.")
    kit.write(shop, "src/cart.py", "def put():\n    return 1\n")
    removal = commit(shop, "rename", LATER)
    standing = stand()["cart"]
    assert standing.silenced == f"add_item (removed in {removal[:8]}) is gone"
    assert stand()["cart"] == standing


def test_a_symbol_that_markdown_alone_names_is_gone(shop, write_card, stand):
    write_card("cart", cause="`add_item` counts twice.")
    kit.write(shop, "src/cart.py", "def put():\n    return 1\n")
    commit(shop, "rename", LATER, **{"README.md": "`add_item`\n"})
    assert stand()["cart"].silenced


def test_a_symbol_that_never_stood_in_the_code_counts_for_nothing(shop, write_card, stand):
    write_card("cart", cause="`addThings` counts twice.")
    commit(shop, "cards", LATER)
    assert stand() == {"cart": CURRENT}


def test_a_file_that_came_back_is_there(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    remove(shop, "src/mail.py")
    assert stand()["mail"].silenced
    commit(shop, "back", "2026-04-01T12:00:00+00:00", **{"src/mail.py": "1\n"})
    assert stand() == {"mail": CURRENT}


def test_a_file_that_git_ignores_today_is_there(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    git(shop, "rm", "-q", "--cached", "src/mail.py")
    kit.write(shop, ".gitignore", "mail.py\n")
    git(shop, "commit", "-qm", "ignore it", when=LATER)
    assert stand() == {"mail": CURRENT}


def test_changes_since_confirmed_are_counted_and_silence_nothing(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\nconfirmed: 2026-01-03\n")
    for month in (3, 4):
        commit(shop, "edit", f"2026-0{month}-01T12:00:00+00:00", **{"src/mail.py": f"{month}\n"})
    standing = stand()["mail"]
    assert standing.changed == (("src/mail.py", 2),)
    assert (standing.silenced, standing.caveat) == ("", "")


def test_without_dates_a_card_is_as_old_as_its_first_commit(shop, stand):
    remove(shop, "src/mail.py", when="2026-02-01T12:00:00+00:00")
    text = "---\ntype: lesson\ntitle: A\npaths: [src/mail.py, src/cart.py]\n---\n- Look\n"
    commit(shop, "card", LATER, **{"lessons/a.md": text})
    removal = remove(shop, "src/cart.py", when="2026-04-01T12:00:00+00:00")
    assert stand()["a"].gone == (("src/cart.py", removal),)


@pytest.mark.parametrize("kind", ["shallow", "none", "unborn"])
def test_an_unknown_history_gives_neither_a_warning_nor_silence(
    shop, write_card, stand, tmp_path, kind
):
    write_card("mail", "paths: [src/mail.py]\n", "`add_item` and `src/mail.py`")
    commit(shop, "card", "2026-01-02T12:00:00+00:00")
    remove(shop, "src/mail.py")
    other = tmp_path / "other"
    if kind == "shallow":
        git(tmp_path, "clone", "-q", "--depth", "1", f"file://{shop}", str(other))
    else:
        kit.write(other, "lessons/mail.md", (shop / "lessons/mail.md").read_text())
        kit.write(other, "lessons.toml", "")
        if kind == "unborn":
            git(other, "init", "-q")
    shop.rename(tmp_path / "away")
    other.rename(shop)
    assert stand() == {"mail": CURRENT}


def test_a_file_below_a_submodule_is_of_unknown_fate(shop, write_card, stand, tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    commit(library, "start", **{"a.py": "1\n"})
    commit(shop, "vendored", "2026-01-01T13:00:00+00:00", **{"vendor/lib/b.py": "def b(): 1\n" * 9})
    write_card("lib", "paths: [vendor/lib/b.py]\n")
    remove(shop, "vendor/lib/b.py")
    git(shop, "submodule", "--quiet", "add", str(library), "vendor/lib")
    commit(shop, "submodule", LATER)
    assert stand() == {"lib": CURRENT}


def test_only_new_commits_are_read(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    stand()
    path = os.path.join(cache_dir(str(shop)), HISTORY_NAME)
    with sqlite3.connect(path) as db:
        db.execute("UPDATE commits SET day = '2020-01-01'")
    removal = remove(shop, "src/mail.py")
    assert stand()["mail"].gone == (("src/mail.py", removal),)
    with sqlite3.connect(path) as db:
        days = [day for (day,) in db.execute("SELECT day FROM commits ORDER BY number")]
    assert days == ["2020-01-01", "2026-03-01"]


def test_a_rewritten_history_is_read_again(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    remove(shop, "src/mail.py")
    assert stand()["mail"].silenced
    git(shop, "reset", "-q", "--hard", "HEAD~1")
    assert stand() == {}
    write_card("mail", "paths: [src/mail.py]\n")
    assert stand() == {"mail": CURRENT}


def test_an_edit_that_leaves_the_claims_keeps_the_standing(shop, write_card, stand):
    path = write_card("mail", "paths: [src/mail.py]\n")
    remove(shop, "src/mail.py")
    assert stand()["mail"].silenced
    path.write_text(path.read_text().replace("Look at it", "Look at it twice"))
    with Brain.open(shop) as brain:
        (card,) = brain.cards.all()
    assert card.standing.silenced
    path.write_text(path.read_text().replace("src/mail.py", "src/cart.py"))
    with Brain.open(shop) as brain:
        (card,) = brain.cards.all()
    assert card.standing == CURRENT


def test_a_silenced_card_reaches_no_prompt_and_no_title_and_is_found_by_search(
    shop, write_card, stand
):
    write_card("mail", "paths: [src/mail.py]\nsymptoms: [Send the newsletter by mail]\n")
    for number in range(3):
        write_card(f"other-{number}", cause=f"Number {number} of the cart.")
    commit(shop, "cards", "2026-01-02T12:00:00+00:00")
    stand()
    prompt = "Send the newsletter by mail"
    with Brain.open(shop, project="shop") as brain:
        assert [hit.card.id for hit in brain.preflight(prompt).lessons] == ["lessons/mail.md"]
    remove(shop, "src/mail.py")
    stand()
    with Brain.open(shop, project="shop") as brain:
        block = brain.preflight(prompt)
        (held,) = [hit for hit in block.withheld if hit.card.id == "lessons/mail.md"]
        assert held.reason.startswith("suppressed by freshness: src/mail.py")
        assert not block.lessons
        assert "lessons/mail.md" in [hit.card.id for hit in brain.search(prompt)]
        titles = brain.members[0].read(
            lambda one: one.catalogue.titles(None, limit=9, today="2026-05-01")
        )
    assert "lessons/mail.md" not in [title.path for title in titles]


@pytest.mark.slow
def test_the_watch_of_a_daemon_notices_a_new_commit(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    stand()
    with Brain.open(shop) as brain:
        brain.watch()
        move(shop, "src/mail.py", "src/core/post.py")
        kit.wait_until(lambda: brain.members[0].read(lambda b: b.guarding(["src/core/post.py"])))


def test_of_two_equal_files_that_became_one_both_have_moved(shop, write_card, stand):
    text = "".join(f"def both_{n}(): return {n}\n" for n in range(20))
    when = "2026-01-01T13:00:00+00:00"
    commit(shop, "twice", when, **{"a/same.py": text, "b/same.py": text})
    write_card("a", "paths: [a/same.py]\n")
    write_card("b", "paths: [b/same.py]\n")
    (shop / "c").mkdir()
    git(shop, "mv", "a/same.py", "c/same.py")
    git(shop, "rm", "-q", "b/same.py")
    commit(shop, "one", LATER)
    assert {name: one.follows for name, one in stand().items()} == {
        "a": ("c/same.py",),
        "b": ("c/same.py",),
    }


def test_a_module_that_became_a_package_has_moved_into_it(shop, write_card, stand):
    write_card("mail", "paths: [src/mail.py]\n")
    git(shop, "rm", "-q", "src/mail.py")
    parts = {"src/mail/__init__.py": "from .core import *\n", "src/mail/core.py": "x = 1\n"}
    commit(shop, "split", LATER, **parts)
    assert stand()["mail"].follows == ("src/mail/**",)
    (shop / "lib").mkdir()
    git(shop, "mv", "src/mail", "lib/post")
    commit(shop, "move", "2026-04-01T12:00:00+00:00")
    assert stand()["mail"].follows == ("lib/post/**",)


def test_a_card_most_of_whose_names_still_exist_is_given_with_a_caveat(shop, write_card, stand):
    commit(shop, "add", "2026-01-01T13:00:00+00:00", **{"src/tax.py": "1\n", "src/rate.py": "1\n"})
    write_card("mail", "paths: [src/mail.py]\n", "See `src/tax.py` and `src/rate.py`.")
    remove(shop, "src/mail.py")
    standing = stand()["mail"]
    assert standing.silenced == ""
    assert standing.caveat == "Note: src/mail.py is gone."


def write_file(shop, name, content):
    """Write a file whose name is given in bytes, since it need not be UTF-8."""
    path = os.path.join(os.fsencode(shop), name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8")
def test_names_that_are_not_utf_8_mix_up_no_files(shop, write_card, stand):
    write_file(shop, b"src/caf\xe9.py", b"1\n")
    write_file(shop, b"src/caf\xe8.py", b"2\n")
    names = ("first", "second", "third", "fourth")
    for number, name in enumerate(names):
        write_file(shop, b"src/caf\xe9.py", b"%d\n" % number)
        text = f"def {name}(): pass\n" * 9
        commit(shop, "add", f"2026-01-01T13:0{number}:00+00:00", **{f"src/{name}.py": text})
        write_card(name, f"paths: [src/{name}.py]\n")
        stand()
    remove(shop, *(f"src/{name}.py" for name in names))
    standings = stand()
    assert [standings[name].silenced[:5] for name in names] == ["src/f", "src/s", "src/t", "src/f"]


@pytest.mark.skipif(sys.platform != "linux", reason="file names are UTF-8")
def test_a_file_that_was_moved_to_a_name_that_is_not_utf_8_is_of_unknown_fate(
    shop, write_card, stand
):
    write_card("mail", "paths: [src/mail.py]\n")
    content = (shop / "src/mail.py").read_bytes()
    write_file(shop, b"src/caf\xe9.py", content)
    remove(shop, "src/mail.py")
    assert stand() == {"mail": CURRENT}


def test_the_configuration_of_the_user_hides_no_files(shop, write_card, stand, monkeypatch):
    write_card("mail", "paths: [src/mail.py]\n")
    write_card("cart", "paths: [src/cart.py]\n")
    move(shop, "src/mail.py", "src/post.py")
    remove(shop, "src/cart.py")
    own = kit.write(shop.parent, "gitconfig", "[log]\nshowRoot = false\n[diff]\norderFile = away\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
    standings = stand()
    assert standings["mail"].follows == ("src/post.py",)
    assert standings["cart"].silenced
