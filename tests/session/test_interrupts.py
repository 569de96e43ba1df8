"""A command that the user interrupts, and what is said of it afterwards, become a draft."""

import datetime as dt

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
@pytest.mark.parametrize(("output", "code", "outcome", "drafts"), [
    (ABORTED, None, "cancelled", ["interrupt"]),
    (TIMED_OUT, None, "exec_error", []),
    ("User aborted the command", 0, "ok", []),
])  # fmt: skip
def test_in_opencode_its_output_tells(project, session, drafted, output, code, outcome, drafts):
    opencode = session("opencode")
    call = ("bash", {"command": COMMAND})
    opencode.prompt("Rebuild the search index")
    opencode.call("Pre", *call)
    opencode.stop("")  # the session is idle before the command has ended
    done = {"output": output, "metadata": {"output": output, "exit": code}}
    opencode.call("Post", *call, messageID="m2", **done)
    opencode.stop("")
    opencode.prompt(REASON, 3)
    drafted()
    assert outcomes(project) == ([outcome], drafts)


def test_in_opencode_a_call_cut_off_is_no_failure(project, session):
    opencode = session("opencode")
    opencode.prompt("Rebuild the search index")
    error = {"messageID": "m2", "error": "Tool execution aborted"}
    opencode.call("Failed", "bash", {"command": COMMAND}, **error)
    opencode.prompt(REASON, 3)
    assert outcomes(project) == (["cancelled"], ["interrupt"])


@pytest.mark.slow
@pytest.mark.parametrize(("content", "outcome", "drafts"), [
    (f"{CANCELLED} There was no output before it was cancelled.", "cancelled", ["interrupt"]),
    (f"<untrusted_context>\n{CUT_OFF}\n</untrusted_context>", "cancelled", ["interrupt"]),
    (f"{TOO_LONG} There was no output before it was cancelled.", "exec_error", []),
    (f"Output: {CANCELLED}", "ok", []),
])  # fmt: skip
def test_in_gemini_the_result_tells(project, session, content, outcome, drafts):
    gemini = session("gemini-cli")
    call = ("run_shell_command", {"command": COMMAND})
    gemini.prompt("Rebuild the search index")
    gemini.call("Pre", *call)
    gemini.call("Post", *call, tool_response={"llmContent": content, "returnDisplay": ""})
    gemini.prompt(REASON)
    assert outcomes(project) == ([outcome], drafts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reason", "drafts"), [("interrupted", ["interrupt"]), ("replaced", []), (None, [])]
)
def test_in_codex_the_record_tells(project, session, reason, drafts):
    codex = session("codex")
    codex.transcript.touch()

    def write(kind, **payload):
        now = dt.datetime.now(dt.UTC).isoformat()  # as of the hooks, which tell no time
        codex.record({"timestamp": now, "type": kind, "payload": payload})

    codex.say("SessionStart", source="startup")
    codex.prompt("Rebuild the search index", turn_id="t1")
    codex.run(COMMAND)
    call = {"call_id": "toolu_1"}
    write("response_item", type="function_call", name="exec_command", **call)
    output = "Wall time: 6.1 seconds\naborted by user"
    write("response_item", type="function_call_output", output=output, **call)
    if reason:
        write("event_msg", type="turn_aborted", turn_id="t1", reason=reason)
    codex.prompt(REASON, turn_id="t2")
    assert outcomes(project)[1] == drafts
    with Brain.open(project) as brain:
        assert all(REASON in draft.text for draft in brain.drafts.all())
