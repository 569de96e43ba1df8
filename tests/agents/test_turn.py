"""What the prompt did not bring, a change or an error of its turn does: once, and only if sure."""

from __future__ import annotations

import pathlib
import shutil
from typing import Any

import pytest

from lessons_kb import Brain
from lessons_kb.brain.make_brain import trust_brain

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"
SHELL = "lessons/shell-true-file-name.md"
MONEY = "lessons/money-in-floats.md"
UPLOAD = "    cmd = f'convert {file_name} out.png'\n    subprocess.run(cmd, shell=True)\n"
FLOATS = "    price = float(item.price) * quantity\n    total += price\n"
PLAIN = "    <Button colour='primary'>{label}</Button>\n"
LOCKED = """\
Traceback (most recent call last):
  File "worker.py", line 31, in claim
    state = json.load(open("state.json"))
json.decoder.JSONDecodeError: Expecting value: two processes wrote state.json without a lock
"""
UNRELATED = "Please go on with the next step"


@pytest.fixture(autouse=True)
def project(tmp_path: pathlib.Path) -> pathlib.Path:
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
def tell(project: pathlib.Path, fire: Any) -> Any:
    calls = iter(range(1, 1_000))

    def tell(name: str, **fields: Any) -> str:
        payload = {
            "session_id": "s1",
            "transcript_path": str(project / "transcript.jsonl"),
            "cwd": str(project),
            "hook_event_name": name,
            **fields,
        }
        if "tool_name" in fields:
            payload["tool_use_id"] = f"toolu_{next(calls)}"
        output = fire("claude-code", payload)
        return output.get("hookSpecificOutput", {}).get("additionalContext", "")

    return tell


def edit(tell: Any, new: str, path: str = "app/view.py") -> str:
    return tell(
        "PreToolUse",
        tool_name="Edit",
        tool_input={"file_path": path, "old_string": "    pass\n", "new_string": new},
    )


def fail(tell: Any, error: str) -> str:
    return tell(
        "PostToolUseFailure",
        tool_name="Bash",
        tool_input={"command": "python worker.py"},
        error=f"Exit code 1\n{error}",
    )


def test_a_change_brings_the_lesson_that_it_is_about_once(tell) -> None:
    assert tell("UserPromptSubmit", prompt=UNRELATED) == ""
    assert SHELL in edit(tell, UPLOAD)
    assert edit(tell, UPLOAD) == ""
    tell("UserPromptSubmit", prompt=UNRELATED)
    assert edit(tell, UPLOAD) == ""


def test_a_change_about_something_else_brings_nothing(tell) -> None:
    tell("UserPromptSubmit", prompt=UNRELATED)
    assert edit(tell, PLAIN) == ""


def test_an_error_brings_the_lesson_that_it_is_about(tell) -> None:
    tell("UserPromptSubmit", prompt=UNRELATED)
    assert "lessons/json-state-without-lock.md" in fail(tell, LOCKED)
    assert "lessons/json-state-without-lock.md" not in fail(tell, LOCKED)


def test_an_error_about_something_else_brings_nothing(tell) -> None:
    tell("UserPromptSubmit", prompt=UNRELATED)
    assert "ACTIVE LESSONS" not in fail(tell, "ModuleNotFoundError: No module named 'requests'\n")


def test_what_the_prompt_nearly_drew_needs_less(tell) -> None:
    """0.94 by the change alone is not enough; the prompt was nearly about the same."""
    tell("UserPromptSubmit", prompt=UNRELATED)
    assert edit(tell, FLOATS) == ""
    tell("UserPromptSubmit", prompt="add a discount of ten percent to the order total")
    assert MONEY in edit(tell, FLOATS)


def test_a_lesson_of_the_prompt_is_not_given_again(tell) -> None:
    prompt = "convert the uploaded image by a shell command with the file name of the user"
    assert SHELL in tell("UserPromptSubmit", prompt=prompt)
    assert SHELL not in edit(tell, UPLOAD)


def test_at_most_two_come_in_a_turn(tell, project) -> None:
    tell("UserPromptSubmit", prompt=UNRELATED)
    given = [edit(tell, path.read_text("utf-8")) for path in sorted(project.glob("lessons/*.md"))]
    assert sum("ACTIVE LESSONS" in text for text in given) == 2


def test_a_card_that_is_edited_does_not_bring_itself(tell, project) -> None:
    text = (project / MONEY).read_text("utf-8")
    assert edit(tell, text, path=MONEY) == ""


def test_it_can_be_turned_off(tell, project) -> None:
    (project / "lessons.toml").write_text("[hooks]\nduring_turn = false\n")
    tell("UserPromptSubmit", prompt=UNRELATED)
    assert edit(tell, UPLOAD) == ""
    assert "ACTIVE LESSONS" not in fail(tell, LOCKED)


def test_the_post_check_knows_what_came_with_a_change(tell, fire, project) -> None:
    tell("UserPromptSubmit", prompt=UNRELATED)
    edit(tell, UPLOAD)
    call = {"file_path": "app/view.py", "old_string": "    pass\n", "new_string": UPLOAD}
    tell("PostToolUse", tool_name="Edit", tool_input=call, tool_response={"success": True})
    stop = {
        "session_id": "s1",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "hook_event_name": "Stop",
        "last_assistant_message": "Uploads are converted. I did not add a timeout to the child.",
    }
    assert "timeout" in fire("claude-code", stop)["systemMessage"]
