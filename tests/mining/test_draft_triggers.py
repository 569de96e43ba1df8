"""What the events of a watched session call for."""

from dataclasses import replace

import pytest

from lessons_kb.calls.failure_signs import rolls_back
from lessons_kb.mining.triggers import find_triggers
from lessons_kb.model import Event

RED = "FAILED tests/test_cart.py::test_total - assert 3 == 4\n1 failed"


def see(*events, phrases=()):
    """Find the triggers of a session: events a second apart."""
    timed = [replace(event, at=event.at or 100.0 + n) for n, event in enumerate(events)]
    return find_triggers(timed, phrases=phrases)


def event(kind, text="", **more):
    return Event(kind=kind, text=text, session="s", **more)


def say(text):
    return event("prompt", text)


def run(text, outcome="ok", output="", kind="command"):
    return event(kind, text, outcome=outcome, output=output, tool="Bash")


def edit(path, output=""):
    return event("edit", targets=(path,), tool="Edit", output=output)


def kinds(triggers):
    return [trigger.kind for trigger in triggers]


RED_RUN = run("pytest", "exec_error", RED)
GREEN = "== 2 passed in 0.01s =="
CRASH = run(
    "python -m shop.report", "exec_error", "File \"shop/report.py\", line 7\nKeyError: 'cents'"
)
STOP = event("interrupt")
STAGE = event("stage", "coverage fell", stage="TEST")
STOPPED = run("npm run migrate", "cancelled")
MISTAKE = {"kind": "mistake_recovery", "escalated": False}
LOUD = {"signals": [{"guard": "mistakes", "record": {**MISTAKE, "escalated": True}}]}


@pytest.mark.parametrize("events", [
    [run("pytest"), run("pytest")], [RED_RUN, RED_RUN], [run("pytest"), RED_RUN],
    [run("pytest | tail", "exec_error"), run("pytest | tail")], [RED_RUN, run("npm test")],
    [RED_RUN, run("pytest", "unknown")],
    [run("pytest", "cancelled"), run("pytest")], [run("ls x", "exec_error"), run("ls x")],
    [RED_RUN, replace(run("pytest"), session="t")], [RED_RUN, replace(run("pytest"), scope="/x")],
    [say("Is it still broken, or was that fixed?")], [say("schon wieder kaputt")], [],
    [STOP, say("continue")], [STOP], [STOP, edit("a.py"), say("Now the docs")],
    [STOPPED, say("go on")], [STOPPED, run("ls"), say("Now the docs")],
    [STOPPED, event("answer", "Done."), say("Now the docs")], [STAGE],
    [replace(run("make", "exec_error"), record={"signals": [MISTAKE]})],
    [RED_RUN, edit("cart.py"), run("pytest tests/test_other.py")],
    [run("pytest | tail", output=RED), edit("cart.py"), run("pytest | tail")],
    [CRASH, edit("shop/cart.py"), run("python -m shop.report")],
    [event("create", targets=("shop/report.py",)), CRASH, edit("shop/report.py"),
     run("python -m shop.report")],
    [say("Print euros"), say("That's wrong. You must divide by 100.")],
    [say("Print euros"), edit("report.py"), say("No thanks, now always use blue")],
    [say("Print euros"), edit("report.py"), say("Why did you do that?")],
    [run("git restore .")], [run("git reset --hard origin/main")],
    [edit("a.py"), run("git restore .", "exec_error")],
])  # fmt: skip
def test_weaker_events_make_no_trigger(events):
    assert see(*events) == []


@pytest.mark.parametrize(("events", "kind", "said"), [
    ([run("./check.sh", "exec_error", kind="test"), run("./check.sh", kind="test")], "red-green",
     {}),
    ([say("Fix the total"), edit("cart.py"), say("또 안 돼요, 고쳤는데 깨졌어요")], "feedback",
     {"request": "Fix the total", "quote": "또 안 돼요, 고쳤는데 깨졌어요", "files": ("cart.py",)}),
    ([replace(STOP, text="Not in the vendored copy!")], "interrupt", {}),
    ([STOP, say("Leave the vendored copy alone")], "interrupt", {}),
    ([say("Migrate"), STOPPED, say("Never against the live database!")], "interrupt",
     {"request": "Migrate"}),
    ([replace(STAGE, outcome="exec_error")], "stage", {"quote": "coverage fell"}),
    ([replace(run("make", "exec_error"), record=LOUD)], "mistakes", {}),
    ([run("git reset --hard")], "rollback", {}),
    ([run("pytest | tail", output=RED), edit("cart.py"), run("pytest | tail", output=GREEN)],
     "red-green", {}),
    ([RED_RUN, edit("cart.py"), run("pytest tests/test_cart.py")], "red-green", {}),
    ([run("pytest tests/test_cart.py", "exec_error", RED), edit("cart.py"), run("pytest")],
     "red-green", {}),
    ([CRASH, edit("shop/report.py"), run("python -m shop.report")], "red-green",
     {"files": ("shop/report.py",)}),
    ([say("Print euros"), edit("report.py"), say("That's wrong. You must divide by 100.")],
     "feedback", {"quote": "That's wrong.", "request": "Print euros"}),
    ([say("Store it"), edit("1.sql"), say("No, never edit an applied migration. Add one.")],
     "feedback", {"quote": "No, never edit an applied migration."}),
    ([say("Go"), edit("cart.py"), say("Why did you delete it? You removed a test.")],
     "feedback", {"quote": "You removed a test."}),
    ([event("rollback", "undid the migration", targets=("db.sql",))], "rollback",
     {"files": ("db.sql",)}),
])  # fmt: skip
def test_one_event_makes_one_trigger(events, kind, said):
    (trigger,) = see(*events)
    assert trigger.kind == kind
    assert {name: getattr(trigger, name) for name in said} == said


def test_the_same_failing_test_has_the_same_key_in_every_session():
    events = [RED_RUN, run("pytest")]
    (first,) = see(*events)
    (second,) = see(*[replace(event, session="t") for event in events])
    (other,) = see(run("pytest", "exec_error", "FAILED tests/test_x.py::test_y"), run("pytest"))
    assert first.key == second.key != other.key
    assert first.ids != second.ids


def test_patterns_of_the_user_are_used():
    assert kinds(see(say("schon wieder kaputt"), phrases=("schon wieder",))) == ["feedback"]


def test_one_turn_makes_one_trigger_and_tests_name_it():
    (trigger,) = see(say("it broke again"), RED_RUN, edit("cart.py"), run("pytest"))
    assert (trigger.kind, trigger.quote) == ("red-green", "it broke again")
    assert len(trigger.ids) == 2
    two = see(RED_RUN, run("npm test", "exec_error"), run("pytest"), run("npm test"))
    assert kinds(two) == ["red-green", "red-green"]


FRAME = "The user doesn't want to proceed with this tool use. The tool use was rejected."
CALL = event("command", "rm -rf build", tool="Bash")
DENIED = replace(CALL, outcome="permission_denied")


@pytest.mark.parametrize(("events", "quote"), [
    ([replace(CALL, kind="rejection", output="never by hand")], "never by hand"),
    ([replace(DENIED, output=f"{FRAME} The user said:\nuse make clean")], "use make clean"),
    ([replace(DENIED, output=FRAME), say("Never delete build by hand")],
     "Never delete build by hand"),
    ([replace(DENIED, output="Permission to use Bash with rm has been denied.")], None),
    ([DENIED], None), ([replace(DENIED, output=FRAME), say("Now the docs")], None),
])  # fmt: skip
def test_a_rejection_counts_with_its_reason(events, quote):
    assert [(one.kind, one.quote) for one in see(*events)] == [("rejection", quote)] * bool(quote)


ABSENT = "E   ModuleNotFoundError: No module named 'requests'"
RENAMED = "E   NameError: name 'total' is not defined"
TOLD = "-def test_total():\n+def test_total():\n+    assert total([-1]) is None"
OLD = event(
    "edit", targets=("a.py",), output="def total_cents(): ...", record={"before": "def total():"}
)


@pytest.mark.parametrize("events", [
    [event("create", targets=("tests/test_cart.py",)), RED_RUN, edit("cart.py"), run("pytest")],
    [run("pytest", "exec_error", ABSENT), run("pip install requests"), run("pytest")],
    [OLD, run("pytest", "exec_error", RENAMED), edit("b.py"), run("pytest")],
    [edit("tests/test_cart.py", TOLD), RED_RUN, edit("cart.py"), run("pytest")],
    [edit("cart.py"), RED_RUN, edit("tests/test_cart.py"), run("pytest")],
    [run("pytest", "exec_error", "no tests ran in 0.01s"), edit("test_a.py"), run("pytest")],
])  # fmt: skip
def test_a_test_failure_without_a_mistake_makes_no_trigger(events):
    """It came before its feature, lacked a package, a name was being changed, or it was old."""
    assert see(say("Add a discount"), *events) == []


def test_a_complaint_after_a_fix_belongs_to_the_fix():
    session = [say("Add a discount"), RED_RUN, edit("cart.py"), run("pytest")]
    (told,) = see(*session, say("it broke again"))
    assert (told.kind, told.quote, len(told.ids)) == ("red-green", "it broke again", 2)


BACK = """\
git revert --no-edit abc123; git reset --hard origin/main; cd app && git reset --hard HEAD~1
git restore src/cart.py; git restore .; git checkout HEAD~2 -- src/; LC_ALL=C sudo git revert HEAD"""
STAYS = """\
git revert --abort; git reset --soft HEAD~1; git restore --staged src/cart.py; git checkout main
git restore other.py; git checkout -b fix; git status; echo git revert HEAD; git; git -C
git revert; git checkout; '"""


@pytest.mark.parametrize(("command", "counts"), [
    *((one, True) for line in BACK.splitlines() for one in line.split("; ")),
    *((one, False) for line in STAYS.splitlines() for one in line.split("; ")), ("", False),
])  # fmt: skip
def test_taking_changes_back_is_a_rollback(command, counts):
    assert kinds(see(edit("src/cart.py"), run(command))) == (["rollback"] if counts else [])
    assert rolls_back(command, ["src/cart.py"]) is counts


def test_a_complaint_belongs_to_the_fix_that_it_speaks_of():
    cart = [say("Add a discount to the cart"), RED_RUN, edit("cart.py"), run("pytest")]
    red = "FAILED tests/test_login.py::test_login_page - AssertionError: 1 == 2"
    tests = "pytest tests/test_login.py"
    login = [say("Let people log in"), run(tests, "exec_error", red), edit("login.py"), run(tests)]
    first, second = see(*cart, *login, say("the cart is broken again"))
    assert [trigger.quote for trigger in (first, second)] == ["the cart is broken again", ""]
    first, second = see(*cart, *login, say("it broke again"))
    assert [trigger.quote for trigger in (first, second)] == ["", "it broke again"]
    kinds = [one.kind for one in see(*cart, *login, say("the newsletter is broken again"))]
    assert kinds == ["red-green", "red-green", "feedback"]
