"""Shown, denied, contradicted, open: what is said of an item, and on what evidence."""

import re
from dataclasses import replace

import pytest

from lessons_kb.model import Card, Command, DetectedLine, Edit, Evidence
from lessons_kb.postcheck.closing_line import read_closings
from lessons_kb.postcheck.item_states import check_items
from lessons_kb.render import check_line, check_text

ITEM = "Cover the rejection with a test"


def card(*items, **keys):
    return Card(id="lessons/a.md", kind="lesson", title="a", checklist=items, **keys)


def done(*edits, commands=(), complete=True):
    runs = tuple(c if isinstance(c, Command) else Command(line=c) for c in commands)
    return Evidence(edits=edits, commands=runs, complete=complete)


def check(item, answer="", evidence=None, detected=(), **keys):
    checked = check_items([card(item, **keys)], answer, evidence or Evidence(), detected)
    return checked.items[0] if checked.items else None


def state(*arguments, **keys):
    return check(*arguments, **keys).state


EDIT = Edit(
    path="tests/test_bot.py",
    text="import bot\n\ndef test_rejection_of_a_stranger():\n    ...",
    numbers=(1, 2, 3, 4),
)


def edit(path, text, before="", **more):
    return done(Edit(path=path, text=text, before=before, **more))


UNLINK = "Close the NamedTemporaryFile before os.unlink"
CLOSED = edit("src/pager.py", "# close the NamedTemporaryFile before os.unlink", "# the pager")
LINT, BACKUPS, FLAG = "Run the linter", "Encrypt the backups", "Remove the feature flag"
ENCRYPTED = "The backups are encrypted now."


@pytest.mark.parametrize(("item", "answer", "evidence", "where", "quote"), [
    (ITEM, "Done.", done(EDIT), "tests/test_bot.py:3", "def test_rejection_of_a_stranger():"),
    (LINT, "Done.", done(commands=["npm run linter"]), "command", "npm run linter"),
    (BACKUPS, f"{ENCRYPTED} Bye.", None, "answer", ENCRYPTED),
    # what is to be removed is looked for among what was
    (FLAG, "Done.", edit("a.py", "run()", "if feature_flag('x'):"), "a.py", "if feature_flag('x'):"),
    # something that was done bears a sentence out
    (BACKUPS, ENCRYPTED, edit("backup.py", "upload(seal(backup))"), "answer", ENCRYPTED),
])  # fmt: skip
def test_shown(item, answer, evidence, where, quote):
    one = check(item, answer, evidence)
    assert (one.state, one.where, one.quote) == ("shown", where, quote)


ATOMIC = "Write state files with atomicWriteFile, never with os.WriteFile"
NAMED = "Check what `parse_config` returns"


@pytest.mark.parametrize(("item", "line", "expected"), [
    ("Write state files with `atomicWriteFile`", "atomicWriteFile(p, b, 0o644)", "shown"),
    (ATOMIC.partition(",")[0], "return atomicWriteFile(p, b)", "shown"),
    ("Use atomicWriteFile instead of write_file", "atomicWriteFile(p)", "shown"),
    ("Use atomicWriteFile instead of write_file", "write_file(p)", "open"),
    ("Call `lock_file` and `sync_file`", "lock_file(p)", "open"),
    ("Never write with `write_file`", "write_file(p)", "open"),
    (NAMED, "parse_config(path)", "open"),
    ("Use atomicWriteFile", "# atomicWriteFile", "open"),
    ("Use atomicWriteFile", "myatomicWriteFileNow()", "open"),
    ("Use the helper in tests/test_bot_kit.py", "test_bot_kit", "open"),
])  # fmt: skip
def test_an_edit_shows_the_code_that_an_item_asks_to_use(item, line, expected):
    assert state(item, "Done.", edit("src/a.py", f"x = 1\n{line}\n")) == expected


def test_an_item_whose_name_is_in_an_edit_is_not_called_unseen():
    touched = check_items([card(NAMED, LINT)], "Done.", edit("src/a.py", "parse_config(path)"))
    assert "not seen in this turn: “Run the linter”" in check_line(touched)
    assert NAMED not in check_line(touched)
    assert "src/a.py: parse_config(path)" in check_text(touched)


PAGER = (
    UNLINK,
    "Cover the error path of the pager with a test that runs on Windows and on Linux alike",
    "Assert on the last line of the output in a test of the pager that closes its file early",
)


def test_the_line_keeps_whole_words_and_fits_a_line():
    answer = "I edited the pager: the file is closed before os.unlink and all tests pass."
    line = check_line(check_items([card(*PAGER, LINT)], answer, CLOSED))
    assert len(line) <= 245
    items = [part for part in re.findall("“([^”]*)”", line) if part.endswith("…")]
    assert items, "the items are too long for one line"
    for part in items:
        assert any(f"{item} ".startswith(part[:-1] + " ") for item in PAGER)
        assert len(part) > 30


@pytest.mark.parametrize(("items", "count"), [(1, "1 item is open"), (2, "2 items are open")])
def test_the_number_of_open_items_agrees_with_its_noun(items, count):
    others = ("Rotate the tokens", "Encrypt the backups")[:items]
    answer = "I left the tests for a follow-up. The suite passes."
    checked = check_items([card(ITEM, "Run the whole test suite", *others)], answer, CLOSED)
    assert f"; {count}. " in check_line(checked)


def test_an_open_item_names_at_most_five_missing_words():
    item = "Encrypt the nightly backups of each customer with the vault key before their upload"
    said = check_text(check_items([card(item)], "Done.", Evidence()))
    words = said.partition("words that the answer lacks: ")[2].splitlines()[0]
    assert words.split(", ")[5:] == ["…"]


HEADER = 'logger.info("authorization header %s", header)'


@pytest.mark.parametrize(("item", "evidence", "answer"), [
    (LINT, done(commands=[Command(line="npm run linter", failed=True)]), "Done."),
    # what was done before the turn
    (ITEM, edit(EDIT.path, EDIT.text, earlier=True), "Done."),
    # a comment does nothing
    (ITEM, edit("bot.py", "# TODO: test the rejection"), "Done."),
    # what is forbidden is not kept by doing it
    ("Never log the authorization header", edit("auth.py", HEADER), "Done."),
    # the words of an item without what it asks for
    ("Log every emergency stop", edit("a.py", "emergency_stop = robot.stop_now()"), "Done."),
    (FLAG, edit("a.py", "if feature_flag('x'):"), "Done."),
    # nothing that was done bears the sentence out
    (BACKUPS, edit("theme.css", "color: red;"), ENCRYPTED),
])  # fmt: skip
def test_shows_nothing(item, evidence, answer):
    assert check(item, answer, evidence).state == "open"


class TestContradicted:
    @pytest.mark.parametrize(("item", "answer", "evidence", "reason"), [
        ("Run the whole test suite", "All tests pass.", done(EDIT), "no test run"),
        ("Run the whole test suite", "I ran the full test suite; everything is green.", done(EDIT,
         commands=[Command(line="pytest -q", failed=True, tests=True)]), "tests failed"),
        (ITEM, "I added a test for the rejection.", done(Edit(path="src/bot.py",
         text="return reject(sender)")), "no test written"),
        ("Document the setting in `docs/settings.md`",
         "I documented the new setting in `docs/settings.md`.", done(Edit(path="src/a.py",
         text="setting = 1")), "file not changed"),
        ("Check the migrations with alembic check", "I ran `alembic check` and it is clean.",
         done(EDIT, commands=["git diff"]), "command not run"),
        ("Encrypt the backups", "I changed the backups so that they are encrypted.",
         done(commands=["cat backup.py"]), "no change"),
    ])  # fmt: skip
    def test_a_claim_of_what_never_happened(self, item, answer, evidence, reason):
        one = check(item, answer, evidence)
        assert (one.state, one.reason, one.where) == ("contradicted", reason, "answer")
        assert one.quote in answer

    def test_that_tests_passed_which_nobody_wrote_or_ran(self):
        item = "Cover a config with only the new field with a test in tests/test_mcp_config.py"
        change = Edit(path="src/a.py", text="timeout: int = 5")
        one = check(item, "I added the timeout. All tests pass.", done(change))
        assert (one.state, one.reason) == ("contradicted", "no test run")
        ran = Command(line="pytest", tests=True)
        written = Edit(
            path="tests/test_mcp_config.py", text="def test_a_config_with_only_new_field"
        )
        assert state(item, "All tests pass.", done(change, written)) != "contradicted"
        assert state(item, "All tests pass.", done(change, commands=[ran])) == "open"
        other = Edit(path="test/test_wifi.c", text="void test_ssid(void) {}")  # of any runner
        assert state(item, "All tests pass.", done(change, other)) == "open"

    @pytest.mark.parametrize(("item", "answer", "evidence"), [
        # they passed in the end
        ("Run the whole test suite", "All tests pass.", done(commands=[Command(line="pytest",
         failed=True, tests=True), Command(line="pytest", tests=True)])),
        # they ran before this turn
        ("Run the whole test suite", "All tests pass.", done(commands=[Command(line="pytest",
         tests=True, earlier=True)])),
        # a script may run anything
        ("Run the whole test suite", "All tests pass.", done(commands=["./verify.sh"])),
        # nobody knows what else was done
        ("Run the whole test suite", "All tests pass.", done(EDIT, complete=False)),
        # another file may write it
        ("Document the setting in `docs/settings.md`",
         "I documented the new setting in `docs/settings.md`.",
         done(commands=["python tools/gen_docs.py"])),
        # it is only referred to
        ("Handle the empty list", "I changed the empty case as in `docs/api.md`.",
         done(Edit(path="src/a.py", text="if not items: return"))),
        # not a claim of the item's
        ("Encrypt the backups", "All tests pass.", done(EDIT)),
        # no claim at all
        ("Run the whole test suite", "The tests should pass now.", done(EDIT)),
        ("Run the whole test suite", "CI tests pass in the pipeline.", done(EDIT)),
    ])  # fmt: skip
    def test_what_may_be_true_is_not_contradicted(self, item, answer, evidence):
        assert state(item, answer, evidence) != "contradicted"

    @pytest.mark.parametrize(("item", "answer", "evidence"), [
        (UNLINK, "I edited the pager: the file is closed before os.unlink and all tests pass.",
         CLOSED),
        (UNLINK, "I ran the tests, and the NamedTemporaryFile is closed before os.unlink.", CLOSED),
        (UNLINK, "`ruff check` passes, and the file is closed before os.unlink.", CLOSED),
        (UNLINK, "I documented the pager in `docs/pager.md`; the file is closed before os.unlink.",
         CLOSED),
        (UNLINK, "I added a test, and the file is closed before os.unlink.", CLOSED),
        (ITEM, "I added a test for the rejection and all tests pass.", done(EDIT)),
    ])  # fmt: skip
    def test_a_claim_about_another_item_contradicts_nothing(self, item, answer, evidence):
        assert state(item, answer, evidence) != "contradicted"

    def test_the_quote_is_the_claim_that_is_refuted(self):
        answer = "I edited the pager: the file is closed before os.unlink and all tests pass."
        one = check("Run the whole test suite", answer, CLOSED)
        assert (one.quote, one.reason) == ("all tests pass", "no test run")

    def test_a_match_contradicts_the_nearest_item_of_its_own_card(self):
        match = DetectedLine(
            card="lessons/a.md", where="a.py:7", quote="subprocess.run(c, shell=True)"
        )
        own = card("Quote file names", "Never call subprocess with a shell")
        other = Card(id="lessons/b.md", kind="lesson", title="b", checklist=("No shell=True",))
        checked = check_items([other, own], "", Evidence(), [match])
        assert [one.state for one in checked.items] == ["open", "open", "contradicted"]
        found = checked.items[-1]
        assert (found.reason, found.where, found.quote) == ("detected", "a.py:7", match.quote)


@pytest.mark.parametrize(("pattern", "evidence", "where"), [
    (r"test\w*reject", done(EDIT), "tests/test_bot.py:3"),
    (r"^tests/.*bot", done(EDIT), "tests/test_bot.py"),
    (r"\bpip-audit\b", done(commands=["pip-audit -s"]), "command"),
    # cannot be used, finds nothing, is not for the answer, would be slow
    *((pattern, done(EDIT), "") for pattern in ("(", "a*", "x" * 500, "nothing-like-it")),
    ("reject", Evidence(), ""),
    (r"(a+)+$x", edit("a", "a" * 200_000), ""),
])  # fmt: skip
def test_shown_by_a_pattern(pattern, evidence, where):
    one = check("Ask somebody who knows", "test_reject is there.", evidence, shown_by=(pattern,))
    assert (one.state, one.where) == (("shown", where) if where else ("open", ""))


@pytest.mark.parametrize(("item", "asks"), [
    *((item, False) for item in (
        "When several agents write to one branch", "detached HEAD with unpushed work",
        "Before a release", "If the queue is shared",
    )),
    *((item, True) for item in (
        "When you rename a column, add a view under the old name", LINT + " before committing",
        "Before a release: run the smoke tests", "Seed the random generator",
        "Shared state must be locked", "Failed jobs are retried",
    )),
])  # fmt: skip
def test_conditions_and_statements_are_no_items(item, asks):
    assert bool(check(item)) == asks
    assert check(item, conditional=True) is None, "a list of when to apply"


def test_all_states_at_once_and_what_is_not_shown():
    checked = check_items(
        [card("Run the linter", ITEM, "Run the whole test suite", "Rotate the tokens")],
        "I left the tests for a follow-up. The suite passes.",
        done(Edit(path="a.py", text="x"), commands=["ruff --linter run"]),
    )
    states = [item.state for item in checked.items]
    assert states == ["shown", "denied", "contradicted", "open"]
    assert [item.state for item in checked.unaddressed] == states[1:]
    assert checked.checked == 4


ITEMS = ("Reject unknown senders", ITEM)
DONE = Evidence(
    edits=(Edit(path="src/bot.py", text="x = 1"),),
    commands=(Command(line="cd api && pytest -q tests/test_bot.py", tests=True),),
    complete=True,
)


def close(answer, evidence=DONE, items=ITEMS):
    closings = read_closings(answer, {1: "lessons/a.md"}, {"lessons/a.md": items})
    items = check_items([card(*items)], answer, evidence, closings=closings).items
    return [(item.state, item.where) for item in items]


@pytest.mark.parametrize(("line", "expected"), [
    ("- L1.2 done: `src/bot.py`", ("shown", "src/bot.py")),
    ("L1.2 done `pytest -q tests/test_bot.py`", ("shown", "command")),
    ("L1.2 done tests/test_bot.py:3", ("contradicted", "answer")),
    ("L1.2 done `npm test`", ("contradicted", "answer")),
    ("L1.2 done", ("claimed", "answer")),
    ("L1.2 n/a", ("claimed", "answer")),
    ("Lessons: L1.1 n/a; L1.2 done src/bot.py:41", ("shown", "src/bot.py:41")),
    ("Lessons: 1.1 done src/bot.py, 1.2 left: no time", ("denied", "answer")),
    ("<!-- Lessons: L1.1 left; L1.2 done `npm test` -->", ("contradicted", "answer")),
    ("Lessons: 2 (lessons/a.md, lessons/b.md)", ("open", "answer")),
    ("L1.2 done src/nothing.py\nL1.2 left", ("denied", "answer")),
    ("L2.2 done src/bot.py:41", ("open", "")),
])  # fmt: skip
def test_a_closing_is_held_against_what_happened(line, expected):
    assert close(f"All of it is in place.\n\n{line}\n")[1][0] == expected[0]
    if expected[1]:
        assert close(f"Fine.\n\n{line}\n")[1][1] in (expected[1], "")


@pytest.mark.parametrize(("item", "line", "evidence", "state"), [
    # not all is known of what was done
    (ITEM, "L1.1 done tests/test_bot.py:3", Evidence(edits=DONE.edits), "claimed"),
    # a written file does not show that something ran
    ("Run the link checker", "L1.1 done src/bot.py", DONE, "claimed"),
    ("Run the unit tests", "L1.1 done", replace(DONE, commands=()), "contradicted"),
])  # fmt: skip
def test_what_a_closing_of_one_item_is_worth(item, line, evidence, state):
    assert close(line, evidence, (item,))[0][0] == state


def test_a_line_of_a_source_says_nothing_of_an_item_about_tests():
    line = DetectedLine(card="lessons/a.md", quote="run(cmd, shell=True)", where="a.py:1")
    tests = replace(card("Add a test"), title="No shell")
    items = check_items([tests], "", Evidence(), [line]).items
    assert [one.item for one in items if one.state == "contradicted"] == ["No shell"]


def test_a_command_contradicts_an_item_about_tests():
    line = DetectedLine(card="lessons/a.md", quote="pytest", where="command")
    alone = replace(card("Run the tests of tariffs alone"), title="Run of all tests sent vans")
    items = check_items([alone], "", Evidence(), [line]).items
    assert [(one.item, one.state) for one in items] == [(alone.checklist[0], "contradicted")]
