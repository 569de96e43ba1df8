"""A card's mistake arrives before it is made, with its line, and once more if it went in."""

import pytest

from lessons_kb import Brain
from tests.sessions import card

SHELL = card(
    "A command line built from input ran a stranger's command", "Pass a list of arguments",
    cause="The shell read the input.", severity="high",
    detect=r"""[{regex: 'shell\s*=\s*True', files: ["*.py"]}, {ast: os.system($$$)}]""",
)  # fmt: skip
STAMP = card(
    "Stamping skipped two migrations", "Upgrade instead of stamping", severity="high", gate="ask",
    detect=r"[{command: '\balembic\s+stamp\b', unless: '--sql'}]",
)  # fmt: skip
LINE = "subprocess.run(cmd, shell=True)"
NAMED = "“A command line built from input ran a stranger's command” (lessons/shell.md)"
PLACE = "lessons/shell.md"
"""How a line names a card whose title stands in the block behind it."""
BLOCK = "[ACTIVE LESSONS — verify before finalizing]"


@pytest.fixture(autouse=True)
def brain(project):
    (project / "src").mkdir()
    (project / "src" / "run.py").write_text("import subprocess\n\n\ndef run(cmd):\n    pass\n")
    (project / "lessons" / "shell.md").write_text(SHELL)
    (project / "lessons" / "stamp.md").write_text(STAMP)
    with Brain.open(project, directory=project) as opened:
        opened.refresh()
    return project


def edit(claude, number=1, when="Pre", new=f"    {LINE}", **fields):
    return claude.edit("src/run.py", number, when, new, "    pass", **fields)


def edited(claude, number=1):
    return edit(claude, number, "Post", tool_response={"success": True})


def test_an_edit_that_makes_the_mistake_is_told_its_line_and_lesson(claude):
    said = edit(claude)
    first, _, block = said.context.partition("\n\n")
    assert first == (
        f"This is a mistake that a lesson describes:\n- src/run.py:5: `{LINE}` — {PLACE}"
    )
    assert block.startswith(BLOCK)
    assert said.context.count("ran a stranger's command") == 1
    assert "Pass a list of arguments" in block
    assert said.asked == ""


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
def test_creations_patches_and_documents_are_looked_at(claude, tool, arguments):
    assert f"`{LINE}` — {PLACE}" in claude.call("Pre", tool, arguments).context


def test_a_line_may_ignore_a_card_but_not_pass_its_gate(claude, project):
    assert edit(claude, new=f"    {LINE}  # lessons: ignore shell") == {}
    path = project / "lessons/shell.md"
    path.write_text(SHELL.replace("severity: high", "severity: high\ngate: ask"))
    with Brain.open(project, directory=project) as opened:
        opened.refresh()
    again = edit(claude, 2, new=f"    {LINE}  # lessons: ignore shell")
    assert "ran a stranger's command" in again.refused


def test_what_was_there_before_is_silent(claude, project):
    path = project / "src" / "run.py"
    path.write_text(f"def run(cmd):\n    {LINE}\n")
    for tool, arguments in (
        ("Edit", {"old_string": f"    {LINE}", "new_string": f"    x = 1\n    {LINE}"}),
        ("Edit", {"old_string": f"    {LINE}", "new_string": "    subprocess.run(cmd)"}),
        ("Write", {"content": f"# moved\nif run:\n    {LINE}\n"}),
        ("Read", {}),
    ):
        assert claude.call("Pre", tool, {"file_path": str(path), **arguments}) == {}


def test_other_edits_commands_and_the_card_itself_are_silent(claude, project):
    assert edit(claude, new="    return 1") == {}
    for name, text in (
        *(("src/notes.txt", LINE), ("lessons/shell.md", f"{SHELL}\nos.system('x')\n")),
        ("lessons/another.md", f"{SHELL}\nos.system('x')\n"),
    ):
        arguments = {"file_path": str(project / name), "content": text}
        assert claude.call("Pre", "Write", arguments) == {}
    for command in (
        *("alembic upgrade head", "grep -rn 'alembic stamp' docs"),
        *("git commit -m 'Explain alembic stamp'", "alembic stamp head --sql"),
    ):
        assert claude.run(command) == {}
    for change in ("project: elsewhere\n", "status: ignored\n"):
        text = SHELL.replace("severity", f"{change}severity", 1)
        (project / "lessons" / "shell.md").write_text(text)
        assert edit(claude) == {}


def test_the_same_line_is_told_once_and_another_one_without_the_block(claude):
    assert BLOCK in edit(claude, 1).context
    assert edit(claude, 2) == {}
    secret = "ghp_" + "a1B2" * 9
    other = f'subprocess.run("curl -H {secret}", shell=True)'
    said = edit(claude, 3, new=f"    check(cmd)\n    {other}").context
    assert "src/run.py:6: `subprocess.run(" in said
    assert "shell=True" in said
    assert secret not in said
    assert BLOCK not in said


def test_a_change_that_went_in_all_the_same_is_told_once_more(claude):
    other = f"    x = {LINE}"
    edit(claude, 0, new=other)
    assert "went in" not in edit(claude, 0, "Failed", other, error="not found").context
    edit(claude)
    edit(claude, environment={"LESSONS_HOOK_AGAIN": "1"})  # nobody heard the first answer
    assert edited(claude).context == (
        f"The change went in with src/run.py:5: `{LINE}`, a mistake that a lesson describes: "
        f"{NAMED}. Fix it, or say why it is right here."
    )
    edit(claude, 2)
    assert edited(claude, 2) == {}


@pytest.mark.slow
def test_what_went_in_and_stays_counts_as_left(claude, project):
    path = project / "src" / "run.py"
    with Brain.open(project, directory=project) as opened:
        edit(claude)
        claude.stop("Not yet.")
        assert opened.stats.effect("shell").outcomes == {"unknown": 1}
        path.write_text(path.read_text().replace("    pass", f"    {LINE}"))
        edited(claude)
        claude.stop("Done.")
        assert opened.stats.effect("shell").outcomes == {"left": 1}


def test_a_gate_asks_before_a_command_once(claude):
    command = "cd app && poetry run alembic stamp head"
    said = claude.run(command)
    assert said["hookSpecificOutput"]["permissionDecision"] == "ask"
    assert said.asked == (
        "A lesson asks for your permission before `poetry run alembic stamp head` is added or run: "
        "“Stamping skipped two migrations” (lessons/stamp.md). "
        "Approve to go on, or decline to leave things as they are."
    )
    assert "Upgrade instead of stamping" in said.context
    assert claude.run(command, 2).asked == ""


def test_codex_patches(claude):
    claude.agent = "codex"
    patch = (
        "*** Begin Patch\n*** Update File: src/run.py\n@@ def run(cmd):\n def run(cmd):\n"
        f"-    pass\n+    {LINE}\n*** End Patch"
    )
    call = ("apply_patch", {"command": patch})
    assert f"src/run.py:5: `{LINE}` — {PLACE}" in claude.call("Pre", *call).context
    done = claude.call("Post", *call, tool_response={"exit_code": 0})
    assert "went in with src/run.py:5" in done.context


def test_gemini_is_told_with_the_result(session):
    gemini = session("gemini-cli")
    change = {"file_path": "src/run.py", "old_string": "    pass", "new_string": f"    {LINE}"}
    assert gemini.call("Pre", "replace", change) == {}
    done = {"llmContent": "Successfully modified file", "returnDisplay": ""}
    said = gemini.call("Post", "replace", change, tool_response=done).context
    assert said.count(f"`{LINE}`") == 1
    assert BLOCK in said


def change_in_opencode(session, when, **done):
    path = str(session.project / "src" / "run.py")
    change = {"filePath": path, "oldString": "    pass", "newString": f"    {LINE}"}
    return session.call(when, "edit", change, **done)


def test_opencode_edits(session):
    opencode = session("opencode")
    assert f"src/run.py:5: `{LINE}` — {PLACE}" in change_in_opencode(opencode, "Pre")["context"]
    done = change_in_opencode(opencode, "Post", output="ok", metadata={})
    assert "went in with src/run.py:5" in done["context"]


@pytest.mark.parametrize("there", [True, False])
def test_a_syntax_pattern_is_found_where_the_extra_is_installed(claude, monkeypatch, there):
    if not there:
        monkeypatch.setattr("lessons_kb.detect.matcher._ast_grep", lambda: None)
    said = edit(claude, new="    os.system(cmd)")
    assert ("src/run.py:5: `os.system(cmd)`" in said.context) is there
    assert bool(said) is there


WRITES = {
    "sed": f"sed -i 's/pass/{LINE}/' src/run.py",
    "perl": f"cd src && perl -pi -e 's/pass/{LINE}/' run.py",
    "redirect": f"printf '%s' '{LINE}' >> src/run.py",
    "here-document": f"cat > src/run.py <<'EOF'\n{LINE}\nEOF",
    "copy": "cp /tmp/elsewhere.py src/run.py",
}


def states(project):
    """Return what the check of the turn says of each checklist item."""
    with Brain.open(project, directory=project) as brain:
        return {item.item: item.state for item in brain.check_last().items}


@pytest.mark.slow
@pytest.mark.parametrize("command", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("agent", ["codex", "claude-code"])
def test_what_a_command_writes_is_seen_once_it_has_run(project, claude, agent, command):
    claude.agent = agent
    path = project / "src" / "run.py"
    claude.prompt("run a command in src/run.py built from the input")
    before = claude.run(command).context
    path.write_text(path.read_text().replace("pass", LINE))  # what the agent runs
    response = {"exit_code": 0} if agent == "codex" else {"stdout": ""}
    said = claude.run(command, when="Post", tool_response=response).context
    assert NAMED in before + said
    assert said.count("The change went in with src/run.py:") == said.count("went in") == 1
    claude.stop("I have changed src/run.py.")
    with Brain.open(project, directory=project) as brain:
        assert brain.stats.effect("shell").outcomes == {"left": 1}
    assert states(project)["Pass a list of arguments"] == "contradicted"


@pytest.mark.parametrize("looked", [True, False])
def test_what_stood_in_the_file_of_a_command_is_silent(project, claude, looked):
    """Nor is a command blamed for what is in a file that nobody looked at before."""
    claude.agent = "codex"
    path = project / "src" / "run.py"
    path.write_text(f"{LINE}\nx = 1\n")
    command = "sed -i 's/x/y/' src/run.py"
    if looked:
        assert claude.run(command).context == ""
    path.write_text(f"{LINE}\ny = 1\n")
    assert claude.run(command, when="Post", tool_response={"exit_code": 0}).context == ""


@pytest.mark.parametrize("globs", ['["*.py"]', '["src/*.py"]'])
def test_an_edit_in_opencode_that_adds_the_mistake_contradicts(project, session, globs):
    path = project / "src" / "run.py"
    (project / "lessons" / "shell.md").write_text(SHELL.replace('["*.py"]', globs))
    opencode = session("opencode")
    opencode.prompt("run a command in src/run.py built from the input")
    change_in_opencode(opencode, "Pre")
    path.write_text(path.read_text().replace("pass", LINE))
    diff = (
        f"Index: {path}\n{'=' * 67}\n--- {path}\n+++ {path}\n@@ -2,4 +2,4 @@\n \n \n"
        f" def run(cmd):\n-    pass\n+    {LINE}\n"
    )
    change_in_opencode(opencode, "Post", output="Edit applied.", metadata={"diff": diff})
    opencode.stop("I have changed src/run.py.")
    assert states(project)["Pass a list of arguments"] == "contradicted"


KNOWN_ERROR = card(
    "Prices of a basket were read before they were loaded", "Load the price list first",
    detect="""[{error: "KeyError: 'apple' @ cart.py"}]""",
)  # fmt: skip
FAILED = """\
Exit code 1
Traceback (most recent call last):
  File "/home/ann/shop/{file}", line 12, in total
    return table[name]
KeyError: 'apple'
"""


@pytest.mark.parametrize(("file", "comes"), [("cart.py", True), ("stock.py", False)])
def test_an_error_that_comes_back_brings_its_card_in_other_words(claude, project, file, comes):
    (project / "lessons" / "prices.md").write_text(KNOWN_ERROR)
    with Brain.open(project, directory=project) as opened:
        opened.refresh()
    claude.prompt("make the totals of an order exact")
    assert claude.run("python main.py") == {}
    said = claude.run("python main.py", when="Failed", error=FAILED.format(file=file)).context
    assert ("Load the price list first" in said) is comes
