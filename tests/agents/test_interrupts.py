"""A command that the user interrupts, and what is said of it afterwards, become a draft."""

import datetime as dt
import json

import pytest

from lessons_kb import Brain

REASON = "No, do not run that against the live database, use the copy in fixtures."
COMMAND = "python3 tools/reindex.py --all"
ABORTED = "indexing 1 of 900\n\n<shell_metadata>\nUser aborted the command\n</shell_metadata>"
TIMED_OUT = ABORTED.replace(
    "User aborted the command",
    "shell tool terminated command after exceeding timeout 120000 ms. If this command is expected"
    " to take longer and is not waiting for interactive input, retry with a larger timeout value",
)
CANCELLED = "Command was cancelled by user before it could complete."
CUT_OFF = f"{CANCELLED} Below is the output before it was cancelled:\nindexing 1 of 900"
TOO_LONG = "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes."


def outcomes(project):
    """Return how the journalled commands ended, and the kinds of the drafts made of it all."""
    with Brain.open(project) as brain:
        events = brain.journal.events(session="s1", limit=50)
        brain.drafts.collect("s1")
        made = [draft.kind for draft in brain.drafts.all()]
        return [event.outcome for event in events if event.kind == "command"], made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("output", "code", "outcome", "drafts"),
    [
        (ABORTED, None, "cancelled", ["interrupt"]),
        (TIMED_OUT, None, "exec_error", []),
        ("User aborted the command", 0, "ok", []),
    ],
)
def test_in_opencode_its_output_tells(project, fire, drafted, output, code, outcome, drafts):
    def say(event, **fields):
        fire("opencode", {"event": event, "sessionID": "s1", "cwd": str(project), **fields})

    call = {"tool": "bash", "callID": "c1", "args": {"command": COMMAND}}
    say("prompt", messageID="m1", text="Rebuild the search index")
    say("before", **call)
    say("stop", text="")  # the session is idle before the command has ended
    say("after", messageID="m2", output=output, metadata={"output": output, "exit": code}, **call)
    say("stop", text="")
    say("prompt", messageID="m3", text=REASON)
    drafted()
    assert outcomes(project) == ([outcome], drafts)


def test_in_opencode_a_call_cut_off_is_no_failure(project, fire):
    def say(event, **fields):
        fire("opencode", {"event": event, "sessionID": "s1", "cwd": str(project), **fields})

    call = {"tool": "bash", "callID": "c1", "args": {"command": COMMAND}}
    say("prompt", messageID="m1", text="Rebuild the search index")
    say("failed", messageID="m2", error="Tool execution aborted", **call)
    say("prompt", messageID="m3", text=REASON)
    assert outcomes(project) == (["cancelled"], ["interrupt"])


@pytest.mark.parametrize(
    ("content", "outcome", "drafts"),
    [
        (f"{CANCELLED} There was no output before it was cancelled.", "cancelled", ["interrupt"]),
        (
            f"<untrusted_context>\n{CUT_OFF}\n</untrusted_context>",
            "cancelled",
            ["interrupt"],
        ),
        (f"{TOO_LONG} There was no output before it was cancelled.", "exec_error", []),
        (f"Output: {CANCELLED}", "ok", []),
    ],
)
def test_in_gemini_the_result_tells(project, fire, content, outcome, drafts):
    seconds = iter(range(60))

    def say(event, **fields):
        common = {"session_id": "s1", "cwd": str(project), "hook_event_name": event}
        at = {"timestamp": f"2026-11-22T10:00:{next(seconds):02d}.100Z"}
        fire("gemini-cli", common | at | fields)

    call = {"tool_name": "run_shell_command", "tool_input": {"command": COMMAND}}
    say("BeforeAgent", prompt="Rebuild the search index")
    say("BeforeTool", **call)
    say("AfterTool", tool_response={"llmContent": content, "returnDisplay": ""}, **call)
    say("BeforeAgent", prompt=REASON)
    assert outcomes(project) == ([outcome], drafts)


@pytest.mark.parametrize(
    ("reason", "drafts"), [("interrupted", ["interrupt"]), ("replaced", []), (None, [])]
)
def test_in_codex_the_record_tells(project, fire, reason, drafts):
    record = project.parent / "rollout.jsonl"
    record.touch()

    def say(event, turn, **fields):
        common = {"session_id": "s1", "cwd": str(project), "transcript_path": str(record)}
        fire("codex", common | {"hook_event_name": event, "turn_id": turn} | fields)

    def write(kind, **payload):
        with record.open("a") as file:
            now = dt.datetime.now(dt.UTC).isoformat()  # as of the hooks, which tell no time
            told = {"timestamp": now, "type": kind, "payload": payload}
            file.write(json.dumps(told) + "\n")

    call = {"tool_name": "Bash", "tool_use_id": "call_1", "tool_input": {"command": COMMAND}}
    say("SessionStart", "", source="startup")
    say("UserPromptSubmit", "t1", prompt="Rebuild the search index")
    say("PreToolUse", "t1", **call)
    write("response_item", type="function_call", call_id="call_1", name="exec_command")
    output = "Wall time: 6.1 seconds\naborted by user"
    write("response_item", type="function_call_output", call_id="call_1", output=output)
    if reason:
        write("event_msg", type="turn_aborted", turn_id="t1", reason=reason)
    say("UserPromptSubmit", "t2", prompt=REASON)
    assert outcomes(project)[1] == drafts
    with Brain.open(project) as brain:
        assert all(REASON in draft.text for draft in brain.drafts.all())
