from dataclasses import replace

import pytest

from lessons_kb.learn.signs import rolls_back
from lessons_kb.learn.triggers import find_triggers
from lessons_kb.model import Event

RED = "FAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed"


@pytest.fixture
def see():
    """Find the triggers of a session: events a second apart."""

    def see(*events, phrases=()):
        timed = [replace(event, at=event.at or 100.0 + n) for n, event in enumerate(events)]
        return find_triggers(timed, phrases=phrases)

    return see


def say(text):
    return Event(kind="prompt", text=text, session="s")


def run(text, outcome="ok", output="", kind="command"):
    return Event(kind=kind, text=text, outcome=outcome, output=output, tool="Bash", session="s")


def edit(path, output=""):
    return Event(kind="edit", targets=(path,), tool="Edit", output=output, session="s")


def kinds(triggers):
    return [trigger.kind for trigger in triggers]


def test_red_then_green_of_one_command_is_a_trigger(see):
    found = see(
        say("Add a discount"),
        run("pytest -q", "exec_error", RED),
        edit("cart.py", "-    return 3\n+    return 4"),
        run("pytest -q"),
    )
    (trigger,) = found
    assert trigger.kind == "red-green"
    assert trigger.failure
    assert "test_total" in trigger.failure.output
    assert trigger.request == "Add a discount"
    assert trigger.files == ("cart.py",)
    assert trigger.changes == ("-    return 3\n+    return 4",)


@pytest.mark.parametrize("events", [
    [run("pytest"), run("pytest")],
    [run("pytest", "exec_error"), run("pytest", "exec_error")],
    [run("pytest"), run("pytest", "exec_error")],
    [run("pytest | tail", "exec_error"), run("pytest | tail")],
    [run("pytest", "exec_error"), run("npm test")],
    [run("pytest", "exec_error"), run("pytest", "unknown")],
    [run("pytest", "exec_error"), run("pytest", "cancelled")],
    [run("pytest", "cancelled"), run("pytest")],
    [run("ls x", "exec_error"), run("ls x")],
    [say("works great, thanks")],
    [say("잘 됩니다. 감사합니다")],
    [],
])  # fmt: skip
def test_anything_less_is_none(see, events):
    assert see(*events) == []


def test_a_captured_test_run_needs_no_table(see):
    events = [run("./check.sh", "exec_error", kind="test"), run("./check.sh", kind="test")]
    assert kinds(see(*events)) == ["red-green"]


def test_sessions_and_workspaces_are_kept_apart(see):
    red = run("pytest", "exec_error")
    assert see(red, replace(run("pytest"), session="t")) == []
    assert see(red, replace(run("pytest"), scope="/elsewhere")) == []


def test_the_same_failing_test_has_the_same_key_in_every_session(see):
    events = [run("pytest", "exec_error", RED), run("pytest")]
    (first,) = see(*events)
    (second,) = see(*[replace(event, session="t") for event in events])
    assert first.key == second.key
    assert first.ids != second.ids
    (other,) = see(run("pytest", "exec_error", "FAILED tests/test_x.py::test_y"), run("pytest"))
    assert other.key != first.key


def test_a_complaint_is_about_the_request_before(see):
    events = [say("Fix the total"), edit("cart.py"), say("또 안 돼요, 고쳤는데 깨졌어요")]
    (trigger,) = see(*events)
    assert (trigger.kind, trigger.request) == ("feedback", "Fix the total")
    assert trigger.quote == "또 안 돼요, 고쳤는데 깨졌어요"
    assert trigger.files == ("cart.py",)


def test_patterns_of_the_user_count(see):
    assert see(say("schon wieder kaputt")) == []
    assert kinds(see(say("schon wieder kaputt"), phrases=("schon wieder",))) == ["feedback"]


def test_one_turn_makes_one_trigger_and_tests_name_it(see):
    found = see(
        say("it broke again"), run("pytest", "exec_error", RED), edit("cart.py"), run("pytest")
    )
    (trigger,) = found
    assert (trigger.kind, trigger.quote) == ("red-green", "it broke again")
    assert len(trigger.ids) == 2


def test_two_test_suites_fixed_in_one_turn_are_two_mistakes(see):
    found = see(
        run("pytest", "exec_error"), run("npm test", "exec_error"), run("pytest"), run("npm test")
    )
    assert kinds(found) == ["red-green", "red-green"]


def test_a_rejection_counts_however_it_is_told(see):
    call = Event(kind="command", text="rm -rf build", tool="Bash", session="s")
    (told,) = see(replace(call, kind="rejection", output="never by hand"))
    assert (told.kind, told.quote) == ("rejection", "never by hand")
    denied = replace(call, outcome="permission_denied")
    assert kinds(see(denied)) == ["rejection"]
    frame = "The user doesn't want to proceed with this tool use. The tool use was rejected."
    (told,) = see(replace(denied, output=f"{frame} The user said:\nuse make clean"))
    assert told.quote == "use make clean"
    (told,) = see(replace(denied, output=frame))
    assert told.quote == ""


def test_an_interrupt_needs_its_reason(see):
    stop = Event(kind="interrupt", session="s")
    assert kinds(see(replace(stop, text="Not in the vendored copy!"))) == ["interrupt"]
    assert kinds(see(stop, say("Leave the vendored copy alone"))) == ["interrupt"]
    assert see(stop, say("continue")) == []
    assert see(stop, say("계속")) == []
    assert see(stop) == []
    assert see(stop, edit("a.py"), say("Now the docs")) == []


def test_a_call_that_the_user_stopped_is_an_interrupt(see):
    stopped = run("npm run migrate", "cancelled")
    (told,) = see(say("Migrate"), stopped, say("Never against the live database!"))
    assert (told.kind, told.request) == ("interrupt", "Migrate")
    assert see(stopped, say("go on")) == []
    assert see(stopped, run("ls"), say("Now the docs")) == []
    assert see(stopped, Event(kind="answer", text="Done.", session="s"), say("Now the docs")) == []


def test_a_failed_stage_counts_and_a_finished_one_does_not(see):
    stage = Event(kind="stage", stage="TEST", text="coverage fell", session="s")
    assert see(stage) == []
    (trigger,) = see(replace(stage, outcome="exec_error"))
    assert (trigger.kind, trigger.quote) == ("stage", "coverage fell")


def test_only_an_escalated_tracker_counts(see):
    record = {"kind": "mistake_recovery", "escalated": False}
    failed = run("make", "exec_error")
    assert see(replace(failed, record={"signals": [record]})) == []
    loud = {"signals": [{"guard": "mistakes", "record": {**record, "escalated": True}}]}
    assert kinds(see(replace(failed, record=loud))) == ["mistakes"]


@pytest.mark.parametrize(("command", "counts"), [
    ("git revert HEAD", True),
    ("git revert --no-edit abc123", True),
    ("git revert --abort", False),
    ("git reset --hard", True),
    ("cd app && git reset --hard HEAD~1", True),
    ("git reset --hard origin/main", True),
    ("git reset --soft HEAD~1", False),
    ("git restore src/cart.py", True),
    ("git restore .", True),
    ("git restore --staged src/cart.py", False),
    ("git restore other.py", False),
    ("git checkout -- src/cart.py", True),
    ("git checkout HEAD~2 -- src/", True),
    ("git checkout src/cart.py", True),
    ("git checkout .", True),
    ("git checkout main", False),
    ("git checkout -b fix", False),
    ("git status", False),
    ("echo git revert HEAD", False),
    ("LC_ALL=C sudo git revert HEAD", True),
])  # fmt: skip
def test_taking_changes_back_is_a_rollback(see, command, counts):
    found = see(edit("src/cart.py"), run(command))
    assert kinds(found) == (["rollback"] if counts else [])


def test_a_clean_tree_has_nothing_to_take_back(see):
    assert see(run("git restore .")) == []
    assert see(run("git reset --hard origin/main")) == []
    assert see(edit("a.py"), run("git restore .", "exec_error")) == []
    assert kinds(see(run("git reset --hard"))) == ["rollback"]


def test_a_rollback_can_be_told_by_the_caller(see):
    told = Event(kind="rollback", text="undid the migration", targets=("db.sql",), session="s")
    (trigger,) = see(told)
    assert (trigger.kind, trigger.files) == ("rollback", ("db.sql",))


@pytest.mark.parametrize("command", ["", "git", "git -C", "git revert", "git checkout", "'"])
def test_a_command_that_says_little_takes_nothing_back(command):
    assert not rolls_back(command, ["a.py"])
