"""Shown, denied, contradicted, open: what is said of an item, and on what evidence."""

import pytest

from lessons_kb.check.item_states import check_items, read_closings
from lessons_kb.model import Card, Command, DetectedLine, Edit, Evidence

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


class TestShown:
    def test_an_edit_with_file_and_line(self):
        one = check(ITEM, "Done.", done(EDIT))
        assert (one.state, one.where) == ("shown", "tests/test_bot.py:3")
        assert one.quote == "def test_rejection_of_a_stranger():"

    def test_a_command(self):
        one = check("Run the linter", "Done.", done(commands=["npm run linter"]))
        assert (one.state, one.where, one.quote) == ("shown", "command", "npm run linter")

    def test_the_answers_sentence(self):
        one = check("Encrypt the backups", "The backups are encrypted now. Bye.")
        assert (one.state, one.where) == ("shown", "answer")
        assert one.quote == "The backups are encrypted now."

    def test_a_command_that_failed_shows_nothing(self):
        failed = Command(line="npm run linter", failed=True)
        assert state("Run the linter", "Done.", done(commands=[failed])) == "open"

    def test_what_was_done_before_the_turn_shows_nothing(self):
        earlier = Edit(path=EDIT.path, text=EDIT.text, earlier=True)
        assert state(ITEM, "Done.", done(earlier)) == "open"

    @pytest.mark.parametrize("line", ["# TODO: test the rejection", "// rejection test comes here"])
    def test_a_comment_does_nothing(self, line):
        assert state(ITEM, "Done.", done(Edit(path="bot.py", text=line))) == "open"

    def test_doing_what_is_forbidden_does_not_show_that_it_is_kept(self):
        logged = done(Edit(path="auth.py", text='logger.info("authorization header %s", header)'))
        assert state("Never log the authorization header", "Done.", logged) == "open"

    def test_the_words_of_an_item_without_what_it_asks_for(self):
        edit = Edit(path="a.py", text="emergency_stop = robot.stop_now()")
        assert state("Log every emergency stop", "Done.", done(edit)) == "open"

    def test_what_is_to_be_removed_is_looked_for_among_what_was(self):
        item = "Remove the feature flag"
        kept = Edit(path="a.py", text="if feature_flag('x'):")
        gone = Edit(path="a.py", text="run()", before="if feature_flag('x'):")
        assert state(item, "Done.", done(kept)) == "open"
        assert state(item, "Done.", done(gone)) == "shown"

    def test_nothing_that_was_done_bears_a_sentence_out(self):
        answer = "The backups are encrypted now."
        colours = Edit(path="theme.css", text="color: red;")
        assert state("Encrypt the backups", answer, done(colours)) == "open"
        backup = Edit(path="backup.py", text="upload(seal(backup))")
        assert state("Encrypt the backups", answer, done(backup)) == "shown"


class TestDenied:
    def test_with_the_agents_own_sentence(self):
        one = check(ITEM, "Done. I left the tests for a follow-up.", done(EDIT))
        assert (one.state, one.quote) == ("denied", "I left the tests for a follow-up.")
        assert one.where == "answer"


class TestContradicted:
    @pytest.mark.parametrize(("item", "answer", "evidence", "reason"), [
        ("Run the whole test suite", "All tests pass.", done(EDIT), "no test run"),
        ("Run the whole test suite", "All tests pass.", done(EDIT, commands=["git status",
         "ruff check ."]), "no test run"),
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

    @pytest.mark.parametrize(("item", "answer", "evidence"), [
        # the tests ran
        ("Run the whole test suite", "All tests pass.", done(EDIT,
         commands=[Command(line="pytest -q", tests=True)])),
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

    def test_the_mistake_is_in_the_change(self):
        match = DetectedLine(card="lessons/a.md", where="src/a.py:7", quote="run(cmd, shell=True)")
        one = check("Pass arguments as a list", "I pass arguments as a list.", detected=[match])
        assert (one.state, one.reason) == ("contradicted", "detected")
        assert (one.where, one.quote) == ("src/a.py:7", "run(cmd, shell=True)")

    def test_a_match_contradicts_the_nearest_item_of_its_own_card(self):
        match = DetectedLine(
            card="lessons/a.md", where="a.py:7", quote="subprocess.run(c, shell=True)"
        )
        own = card("Quote file names", "Never call subprocess with a shell")
        other = Card(id="lessons/b.md", kind="lesson", title="b", checklist=("No shell=True",))
        checked = check_items([other, own], "", Evidence(), [match])
        assert [one.state for one in checked.items] == ["open", "open", "contradicted"]


class TestShownBy:
    ITEM = "Ask somebody who knows"

    def shown(self, pattern, evidence, answer="Done."):
        return check(self.ITEM, answer, evidence, shown_by=(pattern,))

    def test_in_a_line_of_an_edit(self):
        one = self.shown(r"test\w*reject", done(EDIT))
        assert (one.state, one.where) == ("shown", "tests/test_bot.py:3")

    def test_in_a_path_and_in_a_command(self):
        assert self.shown(r"^tests/.*bot", done(EDIT)).where == "tests/test_bot.py"
        assert self.shown(r"\bpip-audit\b", done(commands=["pip-audit -s"])).where == "command"

    @pytest.mark.parametrize("pattern", ["(", "a*", "x" * 500, "nothing-like-it"])
    def test_a_pattern_that_finds_nothing_or_cannot_be_used(self, pattern):
        assert self.shown(pattern, done(EDIT)).state == "open"

    def test_not_in_the_answer(self):
        assert self.shown("reject", Evidence(), "test_reject is there.").state == "open"

    def test_no_pattern_is_slow(self):
        line = "a" * 200_000
        assert self.shown(r"(a+)+$x", done(Edit(path="a", text=line))).state == "open"


@pytest.mark.parametrize("item", [
    "When several agents write to one branch", "detached HEAD with unpushed work",
    "Before a release", "If the queue is shared",
])  # fmt: skip
def test_conditions_and_statements_are_no_items(item):
    assert check(item) is None


@pytest.mark.parametrize("item", [
    "When you rename a column, add a view under the old name",
    "Before a release: run the smoke tests", "Seed the random generator",
    "Shared state must be locked", "Failed jobs are retried", "Run the linter before committing",
])  # fmt: skip
def test_what_asks_for_something_is_one(item):
    assert check(item)


def test_a_list_of_when_to_apply_is_not_checked():
    assert check("Run the linter", conditional=True) is None


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


ITEMS = ("Reject unknown senders", "Cover the rejection with a test")
CARD = Card(id="lessons/a.md", kind="lesson", title="a", checklist=ITEMS)
DONE = Evidence(
    edits=(Edit(path="src/bot.py", text="x = 1"),),
    commands=(Command(line="cd api && pytest -q tests/test_bot.py", tests=True),),
    complete=True,
)


def close(answer, evidence=DONE):
    closings = read_closings(answer, {1: CARD.id}, {CARD.id: ITEMS})
    items = check_items([CARD], answer, evidence, closings=closings).items
    return [(item.state, item.where) for item in items]


@pytest.mark.parametrize(("line", "expected"), [
    ("L1.2 done src/bot.py:41", ("shown", "src/bot.py:41")),
    ("- L1.2 done: `src/bot.py`", ("shown", "src/bot.py")),
    ("L1.2 done `pytest -q tests/test_bot.py`", ("shown", "command")),
    ("L1.2 done tests/test_bot.py:3", ("contradicted", "answer")),
    ("L1.2 done `npm test`", ("contradicted", "answer")),
    ("L1.2 left: no time", ("denied", "answer")),
    ("L1.2 done", ("open", "")),
    ("L1.2 I wonder", ("open", "answer")),
    ("L1.2 done src/nothing.py\nL1.2 left", ("denied", "answer")),
    ("L1.9 done src/bot.py:41", ("open", "")),
    ("L2.2 done src/bot.py:41", ("open", "")),
])  # fmt: skip
def test_a_closing_is_held_against_what_happened(line, expected):
    assert close(f"All of it is in place.\n\n{line}\n")[1][0] == expected[0]
    if expected[1]:
        assert close(f"Fine.\n\n{line}\n")[1][1] in (expected[1], "")


def test_a_closing_shows_its_own_item_alone():
    assert close("L1.1 done src/bot.py:1")[1] == ("open", "")


def test_where_not_all_is_known_nothing_is_contradicted():
    some = Evidence(edits=DONE.edits)
    assert close("L1.2 done tests/test_bot.py:3", some)[1] == ("open", "answer")
