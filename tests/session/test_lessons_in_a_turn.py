"""What the prompt did not bring, a change or an error of its turn does: once, and only if sure."""

import itertools
import pathlib
import shutil

import pytest

from lessons_kb import Brain
from tests.kit import trust_brain
from tests.sessions import card

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"
SHELL = "lessons/shell-true-file-name.md"
MONEY = "lessons/money-in-floats.md"
UPLOAD = """\
    path = os.path.abspath(file_name)
    os.system(f'file {path}')
    subprocess.run(f'convert {path} out.png', shell=True)
"""
FLOATS = "    amount_minor = round_money(value, code)\n    return value\n"
PLAIN = "    <Button colour='primary'>{label}</Button>\n"
LOCKED = """\
Traceback (most recent call last):
  File "worker.py", line 31, in claim
    state = json.load(open("state.json"))
json.decoder.JSONDecodeError: Expecting value: two processes wrote state.json without a lock
"""
UNRELATED = "Please go on with the next step"


@pytest.fixture(autouse=True)
def project(tmp_path):
    folder = tmp_path / "shop"
    shutil.copytree(EXAMPLE, folder)
    for path in folder.glob("lessons/*.md"):  # they have guards and patterns of their own
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(x for x in lines if not x.startswith("paths:")), "utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "transcript.jsonl").touch()
    trust_brain(str(folder))
    with Brain.open(folder) as brain:
        brain.refresh()
    return folder


@pytest.fixture
def calls():
    return itertools.count(1)


@pytest.fixture
def change(claude, calls):
    """Return what a change brings: ``change(new text, path)``."""
    return lambda new, path="app/view.py": (
        claude.edit(path, next(calls), new=new, old="    pass\n").context
    )


@pytest.fixture
def fail(claude, calls):
    """Return what a command that fails brings: ``fail(error)``."""
    return lambda error: (
        claude.run("python worker.py", next(calls), "Failed", error=f"Exit code 1\n{error}").context
    )


def test_a_change_brings_the_lesson_that_it_is_about_once(claude, change):
    claude.say("SessionStart", source="startup")
    assert claude.prompt(UNRELATED).context == ""
    assert change(PLAIN) == ""
    assert SHELL in change(UPLOAD)
    assert change(UPLOAD) == ""
    claude.prompt(UNRELATED)
    assert change(UPLOAD) == ""


def test_an_error_brings_the_lesson_that_it_is_about_once(claude, fail):
    claude.prompt(UNRELATED)
    assert "ACTIVE LESSONS" not in fail("ModuleNotFoundError: No module named 'requests'\n")
    assert "lessons/json-state-without-lock.md" in fail(LOCKED)
    assert "lessons/json-state-without-lock.md" not in fail(LOCKED)


GUIDE = card(
    "Nightly exports stop halfway when two hosts disagree about midnight",
    "Call `releaseLease` and `dropHeartbeat` in the end, whatever has happened",
    "Let `leaseManager` forget a worker that `pingWorker` does not find",
    cause="A worker that stops in the middle of its export leaves the lease, and nobody else can"
    " take it.",
)
NAMES = "leaseManager.pingWorker(dropHeartbeat, releaseLease)"


@pytest.mark.parametrize(("old", "new", "given"), [
    ("    pass\n", f"{NAMES}\n", False),
    ("    pass\n", f"{NAMES}  # exports stop at midnight\n", True),
    (f"{NAMES}\n", "return None\n", True),
])  # fmt: skip
def test_a_change_that_shares_names_says_the_title_or_takes_them_out(
    claude, project, old, new, given
):
    (project / "lessons/lease.md").write_text(GUIDE)
    with Brain.open(project) as brain:
        brain.refresh()
    claude.prompt(UNRELATED)
    assert ("lessons/lease.md" in claude.edit("app/view.py", 1, new=new, old=old).context) == given


def test_what_the_prompt_nearly_drew_needs_less(claude, change):
    """Its words and names alone are not enough; the prompt was nearly about the same."""
    claude.prompt(UNRELATED)
    assert change(FLOATS) == ""
    claude.prompt("add a discount of ten percent to the order total")
    assert MONEY in change(FLOATS)


def test_a_lesson_of_the_prompt_is_said_again_in_short(claude, change):
    prompt = "convert the uploaded image by a shell command with the file name of the user"
    assert SHELL in claude.prompt(prompt).context
    assert "(shell-true-file-name.md)\n- [ ] " in change(UPLOAD)
    assert change(UPLOAD) == ""


@pytest.mark.slow
def test_at_most_two_come_in_a_turn(claude, change, project):
    claude.prompt(UNRELATED)
    given = [change(path.read_text("utf-8")) for path in sorted(project.glob("lessons/*.md"))]
    assert sum("ACTIVE LESSONS" in text for text in given) == 2


def test_a_card_that_is_edited_does_not_bring_itself(change, project):
    text = (project / MONEY).read_text("utf-8")
    assert change(text, path=MONEY) == ""


def test_it_can_be_turned_off(claude, change, fail, project):
    (project / "lessons.toml").write_text("[hooks]\nduring_turn = false\n")
    claude.prompt(UNRELATED)
    assert change(UPLOAD) == ""
    assert "ACTIVE LESSONS" not in fail(LOCKED)


def test_the_post_check_knows_what_came_with_a_change(claude, change):
    claude.prompt(UNRELATED)
    change(UPLOAD)
    done = {"tool_response": {"success": True}}
    claude.edit("app/view.py", 99, "Post", UPLOAD, "    pass\n", **done)
    said = claude.stop("Uploads are converted. I did not add a timeout to the child.")
    assert "timeout" in said.line
