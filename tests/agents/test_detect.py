"""A card's mistake arrives before it is made, with its line, and once more if it went in."""

import pytest

from lessons_kb import Brain

SHELL = r"""
---
type: lesson
title: A command line built from input ran a stranger's command
severity: high
detect:
  - regex: 'shell\s*=\s*True'
    files: ["*.py"]
  - ast: os.system($$$)
---

## Root Cause

The shell read the input.

## Prevention Checklist

- Pass a list of arguments
""".lstrip()
STAMP = r"""
---
type: lesson
title: Stamping skipped two migrations
severity: high
gate: ask
detect:
  - command: '\balembic\s+stamp\b'
    unless: '--sql'
---

## Prevention Checklist

- Upgrade instead of stamping
""".lstrip()
LINE = "subprocess.run(cmd, shell=True)"
NAMED = "“A command line built from input ran a stranger's command” (lessons/shell.md)"
PLACE = "lessons/shell.md"
"""How a line names a card whose title stands in the block behind it."""
BLOCK = "[ACTIVE LESSONS — verify before finalizing]"


@pytest.fixture(autouse=True)
def brain(project):
    (project / "src").mkdir()
    (project / "src" / "run.py").write_text("import subprocess\n\n\ndef run(cmd):\n    pass\n")
    (project / "transcript.jsonl").touch()
    (project / "lessons" / "shell.md").write_text(SHELL)
    (project / "lessons" / "stamp.md").write_text(STAMP)
    with Brain.open(project) as opened:
        opened.refresh()
    return project


def claude(project, name, tool, number=1, **fields):
    return {
        "session_id": "s1",
        "transcript_path": str(project / "transcript.jsonl"),
        "cwd": str(project),
        "permission_mode": "default",
        "hook_event_name": name,
        "tool_name": tool,
        "tool_use_id": f"toolu_{number}",
        **fields,
    }


def edit(project, new=f"    {LINE}", **more):
    path = str(project / "src" / "run.py")
    return {"file_path": path, "old_string": "    pass", "new_string": new, **more}


def context(output):
    return output.get("hookSpecificOutput", {}).get("additionalContext", "")


def asked(output):
    return output.get("hookSpecificOutput", {}).get("permissionDecisionReason", "")


def test_an_edit_that_makes_the_mistake_is_told_its_line_and_lesson(project, fire):
    output = fire("claude-code", claude(project, "PreToolUse", "Edit", tool_input=edit(project)))
    said = context(output)
    first, _, block = said.partition("\n\n")
    assert first == (
        f"This is a mistake that a lesson describes:\n- src/run.py:5: `{LINE}` — {PLACE}"
    )
    assert block.startswith(BLOCK)
    assert said.count("ran a stranger's command") == 1
    assert "Pass a list of arguments" in block
    assert asked(output) == ""


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Write", {"file_path": "src/new.py", "content": f"import subprocess\n{LINE}\n"}),
        ("MultiEdit", {"file_path": "src/run.py", "edits": [
            {"old_string": "import subprocess", "new_string": "import subprocess, os"},
            {"old_string": "    pass", "new_string": f"    {LINE}"}]}),
        ("Bash", {"command": f"cat > src/new.py <<'EOF'\nimport subprocess\n{LINE}\nEOF"}),
    ],
)  # fmt: skip
def test_creations_patches_and_documents_are_looked_at(project, fire, tool, arguments):
    said = context(fire("claude-code", claude(project, "PreToolUse", tool, tool_input=arguments)))
    assert f"`{LINE}` — {PLACE}" in said


def test_what_was_there_before_is_silent(project, fire):
    (project / "src" / "run.py").write_text(f"def run(cmd):\n    {LINE}\n")
    path = str(project / "src" / "run.py")
    for tool, arguments in (
        ("Edit", {"old_string": f"    {LINE}", "new_string": f"    x = 1\n    {LINE}"}),
        ("Edit", {"old_string": f"    {LINE}", "new_string": "    subprocess.run(cmd)"}),
        ("Write", {"content": f"# moved\nif run:\n    {LINE}\n"}),
        ("Read", {}),
    ):
        sent = claude(project, "PreToolUse", tool, tool_input={"file_path": path, **arguments})
        assert fire("claude-code", sent) == {}


def test_other_edits_and_commands_are_silent(project, fire):
    for tool, arguments in (
        ("Edit", edit(project, "    return 1")),
        ("Write", {"file_path": "src/notes.txt", "content": LINE}),
        ("Bash", {"command": "alembic upgrade head"}),
        ("Bash", {"command": "grep -rn 'alembic stamp' docs"}),
        ("Bash", {"command": "git commit -m 'Explain alembic stamp'"}),
        ("Bash", {"command": "alembic stamp head --sql"}),
    ):
        sent = claude(project, "PreToolUse", tool, tool_input=arguments)
        assert fire("claude-code", sent) == {}


def test_writing_the_card_itself_is_silent(project, fire):
    for name in ("lessons/shell.md", "lessons/another.md"):
        arguments = {"file_path": str(project / name), "content": f"{SHELL}\nos.system('x')\n"}
        assert (
            fire("claude-code", claude(project, "PreToolUse", "Write", tool_input=arguments)) == {}
        )


def test_the_same_line_is_told_once_and_another_one_without_the_block(project, fire):
    first = claude(project, "PreToolUse", "Edit", 1, tool_input=edit(project))
    assert BLOCK in context(fire("claude-code", first))
    again = claude(project, "PreToolUse", "Edit", 2, tool_input=edit(project))
    assert fire("claude-code", again) == {}
    other = f"    check(cmd)\n    {LINE.replace('cmd', 'line')}"
    third = claude(project, "PreToolUse", "Edit", 3, tool_input=edit(project, other))
    said = context(fire("claude-code", third))
    assert f"src/run.py:6: `{LINE.replace('cmd', 'line')}`" in said
    assert BLOCK not in said


def after(project, name="PostToolUse", number=1, **more):
    response = {"filePath": str(project / "src" / "run.py"), "success": True}
    fields = {"tool_input": edit(project), "tool_response": response, **more}
    return claude(project, name, "Edit", number, **fields)


def test_a_change_that_went_in_all_the_same_is_told_once_more(project, fire):
    fire("claude-code", claude(project, "PreToolUse", "Edit", tool_input=edit(project)))
    said = context(fire("claude-code", after(project)))
    assert said == (
        f"The change went in with src/run.py:5: `{LINE}`, a mistake that a lesson describes: "
        f"{NAMED}. Fix it, or say why it is right here."
    )
    fire("claude-code", claude(project, "PreToolUse", "Edit", 2, tool_input=edit(project)))
    assert fire("claude-code", after(project, number=2)) == {}


def test_a_change_that_failed_is_not_told_again(project, fire):
    fire("claude-code", claude(project, "PreToolUse", "Edit", tool_input=edit(project)))
    failed = after(project, "PostToolUseFailure", error="String not found", tool_response={})
    assert "went in" not in context(fire("claude-code", failed))


@pytest.mark.slow
def test_what_went_in_counts_as_a_recurrence(project, fire):
    with Brain.open(project) as opened:
        fire("claude-code", claude(project, "PreToolUse", "Edit", tool_input=edit(project)))
        assert opened.stats.effect("shell").recurrences == 0
        fire("claude-code", after(project))
        assert opened.stats.effect("shell").recurrences == 1


def test_a_gate_asks_before_a_command_once(project, fire):
    command = "cd app && poetry run alembic stamp head"
    sent = claude(project, "PreToolUse", "Bash", tool_input={"command": command})
    output = fire("claude-code", sent)
    assert output["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert asked(output) == (
        "A lesson asks for your permission before `poetry run alembic stamp head` is added or run: "
        "“Stamping skipped two migrations” (lessons/stamp.md). "
        "Approve to go on, or decline to leave things as they are."
    )
    assert "Upgrade instead of stamping" in context(output)
    again = claude(project, "PreToolUse", "Bash", 2, tool_input={"command": command})
    assert asked(fire("claude-code", again)) == ""


def test_a_secret_in_the_line_is_hidden(project, fire):
    secret = "ghp_" + "a1B2" * 9
    line = f'subprocess.run("curl -H {secret}", shell=True)'
    sent = claude(project, "PreToolUse", "Edit", tool_input=edit(project, f"    {line}"))
    said = context(fire("claude-code", sent))
    assert "shell=True" in said
    assert secret not in said


def test_a_card_of_another_project_or_put_away_is_silent(project, fire):
    for change in ("project: elsewhere\n", "status: ignored\n"):
        text = SHELL.replace("severity", f"{change}severity", 1)
        (project / "lessons" / "shell.md").write_text(text)
        sent = claude(project, "PreToolUse", "Edit", tool_input=edit(project))
        assert fire("claude-code", sent) == {}


def test_codex_patches(project, fire):
    patch = (
        "*** Begin Patch\n*** Update File: src/run.py\n@@ def run(cmd):\n def run(cmd):\n"
        f"-    pass\n+    {LINE}\n*** End Patch"
    )
    sent = claude(project, "PreToolUse", "apply_patch", tool_input={"command": patch})
    said = context(fire("codex", sent))
    assert f"src/run.py:5: `{LINE}` — {PLACE}" in said
    done = {**sent, "hook_event_name": "PostToolUse", "tool_response": {"exit_code": 0}}
    assert "went in with src/run.py:5" in context(fire("codex", done))


def test_gemini_is_told_with_the_result(project, fire):
    common = {
        "session_id": "s1",
        "transcript_path": "",
        "cwd": str(project),
        "tool_name": "replace",
        "tool_input": edit(project),
    }
    before = {**common, "hook_event_name": "BeforeTool", "timestamp": "2026-11-22T10:00:00Z"}
    assert fire("gemini-cli", before) == {}
    response = {"llmContent": "Successfully modified file", "returnDisplay": ""}
    done = {**common, "hook_event_name": "AfterTool", "timestamp": "2026-11-22T10:00:01Z",
            "tool_response": response}  # fmt: skip
    said = context(fire("gemini-cli", done))
    assert said.count(f"`{LINE}`") == 1
    assert BLOCK in said


def test_opencode_edits(project, fire):
    sent = {
        "event": "before",
        "sessionID": "s1",
        "callID": "c1",
        "tool": "edit",
        "args": {
            "filePath": str(project / "src" / "run.py"),
            "oldString": "    pass",
            "newString": f"    {LINE}",
        },
        "cwd": str(project),
    }
    assert f"src/run.py:5: `{LINE}` — {PLACE}" in fire("opencode", sent)["context"]
    done = {**sent, "event": "after", "output": "ok", "metadata": {}}
    assert "went in with src/run.py:5" in fire("opencode", done)["context"]


def test_syntax_patterns_without_the_extra_are_silent(project, fire, monkeypatch):
    from lessons_kb.detect import matcher as ast_patterns

    monkeypatch.setattr(ast_patterns, "_ast_grep", lambda: None)
    sent = claude(project, "PreToolUse", "Edit", tool_input=edit(project, "    os.system(cmd)"))
    assert fire("claude-code", sent) == {}


def test_a_syntax_pattern_is_found(project, fire):
    sent = claude(project, "PreToolUse", "Edit", tool_input=edit(project, "    os.system(cmd)"))
    assert "src/run.py:5: `os.system(cmd)`" in context(fire("claude-code", sent))


WRITES = {
    "sed": f"sed -i 's/pass/{LINE}/' src/run.py",
    "perl": f"cd src && perl -pi -e 's/pass/{LINE}/' run.py",
    "redirect": f"printf '%s' '{LINE}' >> src/run.py",
    "here-document": f"cat > src/run.py <<'EOF'\n{LINE}\nEOF",
    "copy": "cp /tmp/elsewhere.py src/run.py",
}


def states(project):
    """Return what the check of the turn says of each checklist item."""
    with Brain.open(project) as brain:
        return {item.item: item.state for item in brain.check_last().items}


@pytest.mark.parametrize(
    ("agent", "command"),
    [("codex", command) for command in WRITES.values()] + [("claude-code", WRITES["sed"])],
)
def test_what_a_command_writes_is_seen_once_it_has_run(project, fire, agent, command):
    path = project / "src" / "run.py"
    prompt = {"prompt": "run a command in src/run.py built from the input", "prompt_id": "p1"}
    fire(agent, claude(project, "UserPromptSubmit", "", **prompt))
    sent = claude(project, "PreToolUse", "Bash", tool_input={"command": command})
    before = context(fire(agent, sent))
    path.write_text(path.read_text().replace("pass", LINE))  # what the agent runs
    response = {"exit_code": 0} if agent == "codex" else {"stdout": ""}
    done = {**sent, "hook_event_name": "PostToolUse", "tool_response": response}
    said = context(fire(agent, done))
    assert (before + said).count(NAMED) >= 1
    assert "The change went in with src/run.py:" in said
    with Brain.open(project) as brain:
        assert brain.stats.effect("shell").recurrences == 1
    fire(agent, claude(project, "Stop", "", last_assistant_message="I have changed src/run.py."))
    assert states(project)["Pass a list of arguments"] == "contradicted"


def test_what_stood_in_the_file_of_a_command_is_silent(project, fire):
    path = project / "src" / "run.py"
    path.write_text(f"{LINE}\nx = 1\n")
    sent = claude(
        project, "PreToolUse", "Bash", tool_input={"command": "sed -i 's/x/y/' src/run.py"}
    )
    assert context(fire("codex", sent)) == ""
    path.write_text(f"{LINE}\ny = 1\n")
    done = {**sent, "hook_event_name": "PostToolUse", "tool_response": {"exit_code": 0}}
    assert context(fire("codex", done)) == ""


def test_without_a_look_before_it_a_command_is_blamed_for_nothing(project, fire):
    (project / "src" / "run.py").write_text(f"{LINE}\n")
    arguments = {"command": "sed -i 's/x/y/' src/run.py"}
    done = claude(project, "PostToolUse", "Bash", tool_input=arguments)
    assert context(fire("codex", {**done, "tool_response": {"exit_code": 0}})) == ""


@pytest.mark.parametrize("globs", ['["*.py"]', '["src/*.py"]'])
def test_an_edit_in_opencode_that_adds_the_mistake_contradicts(project, fire, globs):
    path = project / "src" / "run.py"
    (project / "lessons" / "shell.md").write_text(SHELL.replace('["*.py"]', globs))
    common = {"sessionID": "s1", "cwd": str(project)}
    prompt = "run a command in src/run.py built from the input"
    fire("opencode", {**common, "event": "prompt", "messageID": "m1", "text": prompt})
    arguments = {"filePath": str(path), "oldString": "    pass", "newString": f"    {LINE}"}
    sent = {**common, "event": "before", "callID": "c1", "tool": "edit", "args": arguments}
    fire("opencode", sent)
    path.write_text(path.read_text().replace("pass", LINE))
    diff = (
        f"Index: {path}\n{'=' * 67}\n--- {path}\n+++ {path}\n@@ -2,4 +2,4 @@\n \n \n"
        f" def run(cmd):\n-    pass\n+    {LINE}\n"
    )
    done = {"event": "after", "output": "Edit applied.", "metadata": {"diff": diff}}
    fire("opencode", {**sent, **done})
    fire("opencode", {**common, "event": "stop", "text": "I have changed src/run.py."})
    assert states(project)["Pass a list of arguments"] == "contradicted"
