"""Tool calls of each agent as events."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.calls.parse_call import TOOLS, find_changes, find_documents
from lessons_kb.detect.change import Change
from lessons_kb.guards import Event, digest_arguments, kind_of_failure, kind_of_tool, parse_call
from lessons_kb.model import CALLS, FAILURES

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-x
+*** Update File: no
*** Add File: src/new.py
+y
*** Update File: src/old.py
*** Move to: src/moved.py
*** Delete File: gone.py
*** Update File: b.py
*** End Patch
"""


def events(tool, arguments, **fields):
    """Return (kind, tool, targets) of a call's events."""
    options = {key: fields.pop(key) for key in ("cwd", "kinds") if key in fields}
    call = Event(**{"kind": "tool", "tool": tool, "scope": "/w", **fields})
    return [(e.kind, e.tool, e.targets) for e in parse_call(call, arguments, **options)]


@pytest.mark.parametrize(("agent", "tool", "arguments", "kind", "targets"), [
    ("claude-code", "Read", {"file_path": "/w/a.py", "offset": 3}, "read", ("a.py",)),
    ("claude-code", "Glob", {"pattern": "**/*.py"}, "read", ()),
    ("claude-code", "Edit", {"file_path": "/w/a.py", "old_string": "x"}, "edit", ("a.py",)),
    ("claude-code", "Bash", {"command": "pytest -q", "description": "x"}, "command", ()),
    ("codex", "shell", {"command": ["bash", "-lc", "ls"]}, "command", ()),
    ("codex", "exec_command", {"cmd": "ls"}, "command", ()),
    ("gemini-cli", "read_file", {"file_path": "a.py"}, "read", ("a.py",)),
    ("gemini-cli", "read_many_files", {"paths": ["a", "b"]}, "read", ("a", "b")),
    ("cursor", "Write", {"file_path": "/w/a"}, "edit", ("a",)),
    ("copilot-cli", "view", {"path": "/w/a"}, "read", ("a",)),
    ("vscode", "replace_string_in_file", {"filePath": "/w/a"}, "edit", ("a",)),
    ("vscode", "editFiles", {"files": ["/w/a", "/w/b"]}, "edit", ("a", "b")),
    (*("vscode", "multi_replace_string_in_file"), {"replacements": [{"filePath": "/w/a"},
     {"filePath": "/w/b"}, {"filePath": "/w/a"}, 3]}, *("edit", ("a", "b"))),
    ("opencode", "write", {"filePath": "/w/a"}, "create", ("a",)),
    ("", "Write", {"file_path": "/w/a"}, "create", ("a",)),
    ("gemini-cli", "run_shell_command", {"command": "x", "dir_path": "src"}, "command", ()),
    ("claude-code", "mcp__filesystem__read_file", {"path": "/w/a"}, "read", ("a",)),
    ("cursor", "MCP:write_file", {"path": "/w/a"}, "create", ("a",)),
    ("claude-code", "mcp__github__create", {"path": "/w/a"}, "tool", ("a",)),
    ("x", "str_replace_based_edit_tool", {"command": "view", "path": "/w/a"}, "read", ("a",)),
    ("x", "str_replace_editor", {"command": "insert", "path": "/w/a"}, "edit", ("a",)),
    ("x", "text_editor", {"command": "undo_edit", "path": "/w/a"}, "rollback", ("a",)),
    ("", "render", {"path": "/w/a"}, "tool", ("a",)),
])  # fmt: skip
def test_call(agent, tool, arguments, kind, targets):
    assert events(tool, arguments, agent=agent) == [(kind, tool, targets)]


@pytest.mark.parametrize(("tool", "kind", "arguments"), [
    *(("Read", "read", odd) for odd in ("", "no json", "[1]", "3", "null", "[" * 100_000)),
    *(("Read", "read", {"file_path": odd}) for odd in (3, None)),
    *(("Read", "read", odd) for odd in ({"paths": [None, 1, ""]}, {"files": {"a": 1}}, {})),
    *(("Bash", "command", {"command": odd}) for odd in (None, [], {"a": 1})),
    ("Bash", "command", {}),
])  # fmt: skip
def test_odd_arguments_are_survived(tool, kind, arguments):
    assert events(tool, arguments) == [(kind, tool, ())]


@pytest.mark.parametrize(("arguments", "text"), [
    ({"command": ["bash", "-lc", "cat a | wc"]}, "cat a | wc"),
    ({"command": ["sh", "-c", "cat a"]}, "cat a"),
    ({"command": ["cat", "a"]}, "cat a"),
    ({"command": [], "cmd": "cat a"}, "cat a"),
    ({"script": "cat a"}, "cat a"),
])  # fmt: skip
def test_command_line_of_a_call(arguments, text):
    first, read = parse_call(Event(kind="tool", tool="shell"), arguments)
    assert first.text == text
    assert (read.kind, read.targets) == ("read", ("a",))


def test_what_the_adapter_knows_is_kept():
    known = {"agent": "codex", "scope": "/w", "session": "s", "id": "1", "at": 3.0, "stage": "DEV"}
    call = Event(kind="tool", tool="Bash", output="ok", **known)
    arguments = {"command": "cat a.py"}
    first, read = parse_call(call, arguments)
    digest = digest_arguments(arguments)
    assert first == replace(call, kind="command", text="cat a.py", arguments=digest)
    assert read == replace(call, kind="read", tool="", targets=("a.py",), output="")


def test_own_text_is_kept_and_own_kinds_count():
    first, read = parse_call(Event(kind="tool", tool="Bash", text="mine"), {"command": "cat a"})
    assert (first.text, read.text) == ("mine", "")
    own = {"patch_page": "edit", "Bash": "tool"}
    assert events("patch_page", {"path": "p"}, kinds=own) == [("edit", "patch_page", ("p",))]
    assert events("Bash", {"command": "cat a"}, kinds=own) == [("tool", "Bash", ())]


@pytest.mark.parametrize(("tool", "arguments", "kinds"), [
    ("apply_patch", {"input": PATCH}, ["rejection"]),
    ("Bash", {"command": "rm a"}, ["rejection"]),
    ("Bash", {"command": "git restore a"}, ["rollback"]),
    ("Bash", {"command": "cat a"}, ["test", "read"]),
])  # fmt: skip
def test_kind_given_by_the_adapter_is_kept_and_the_rest_filled_in(tool, arguments, kinds):
    found = parse_call(Event(kind=kinds[0], tool=tool), arguments)
    assert [event.kind for event in found] == kinds
    assert found[0].text or found[0].targets


def test_files_touched_by_a_command_follow_it():
    command = "cat src/a.py > out.txt && rm old.txt"
    assert events("Bash", {"command": command}) == [
        ("command", "Bash", ()),
        ("read", "", ("src/a.py",)),
        ("edit", "", ("out.txt",)),
        ("remove", "", ("old.txt",)),
    ]
    for outcome, count in (("unknown", 4), ("exec_error", 1), ("cancelled", 1)):
        assert len(events("Bash", {"command": command}, outcome=outcome)) == count


@pytest.mark.parametrize(("tool", "arguments", "outcome", "expected"), [
    ("apply_patch", "*** Begin Patch\n*** Add File: a\n", "ok", [("create", ("a",))]),
    ("apply_patch", "*** Begin Patch\n*** Move to: a\n", "ok", [("create", ("a",))]),
    ("apply_patch", PATCH, "invalid_arguments", [("edit", ("src/a.py", "b.py"))]),
    ("Bash", {"command": f"cat > a.patch <<'EOF'\n{PATCH}EOF"}, "ok",
     [("command", ()), ("edit", ("a.patch",))]),
    ("Bash", {"command": f"apply_patch <<'EOF'\n{PATCH}EOF"}, "ok", [("edit", ("src/a.py", "b.py")),
     ("create", ("src/new.py", "src/moved.py")), ("remove", ("src/old.py", "gone.py"))]),
])  # fmt: skip
def test_patches_of_all_kinds(tool, arguments, outcome, expected):
    found = events(tool, arguments, outcome=outcome)
    assert [(kind, targets) for kind, _tool, targets in found] == expected
    assert found[0][1] == tool


def test_relative_paths_start_at_the_working_directory():
    assert events("Bash", {"command": "cat a ../b /w/c"}, cwd="/w/src")[1][2] == ("src/a", "b", "c")
    assert events("Read", {"path": "a"}, cwd="/w/src")[0][2] == ("src/a",)


@pytest.mark.parametrize(("path", "scope", "cwd", "expected"), [
    ("/w/a", "/w", "", "a"),
    ("/w", "/w", "", ""),
    (".", "/w", "", ""),
    ("./a//b/../c", "/w", "", "a/c"),
    ("/wide/a", "/w", "", "/wide/a"),
    ("/w/a", "", "", "/w/a"),
    ("/a", "/", "", "a"),
    ("a", "/w", "/w/src", "src/a"),
    ("a", "/w", "/v", "/v/a"),
    ("~/a", "/w", "/v", "~/a"),
    ("C:\\w\\src\\a.py", "C:\\w", "", "src/a.py"),
    ("c:/W/a.py", "C:\\w", "", "a.py"),
    ("src\\a.py", "C:\\w", "", "src/a.py"),
    ("a.py", "C:\\w", "C:\\w\\src", "src/a.py"),
    ("1:\\a", "/w", "", "1:\\a"),
    ("D:\\a", "C:\\w", "C:\\w\\src", "D:/a"),
    ("/W/a", "/w", "", "/W/a"),
    ("a\\b", "/w", "", "a\\b"),
    ("https://x//y", "/w", "/w", "https://x//y"),
    ("page-1", "canvas", "", "page-1"),
])  # fmt: skip
def test_paths_are_relative_to_the_scope(path, scope, cwd, expected):
    call = Event(kind="tool", tool="Read", scope=scope)
    (event,) = parse_call(call, {"path": path}, cwd=cwd)
    assert event.targets == ((expected,) if expected else ())


def test_tables_hold_kinds_of_calls_and_every_agent():
    assert set(TOOLS) - {""} == {
        *("claude-code", "codex", "gemini-cli", "cursor", "copilot-cli", "vscode", "opencode"),
        *("cline", "crush", "droid", "grok-cli", "kilo", "kimi", "pi"),
    }
    for agent, kinds in TOOLS.items():
        assert set(kinds.values()) <= set(CALLS)
        for name, kind in kinds.items():
            assert kind_of_tool(name, agent=agent) == kind


@pytest.mark.parametrize(("text", "kind"), [
    ("<tool_use_error>Error: No such tool available: NoSuchTool</tool_use_error>", 1),
    ("unsupported call: no_such", 1),
    ('Tool "no_such_tool" not found. Did you mean one of: "write_todos"', 1),
    ("<tool_use_error>InputValidationError: Read failed due to the following issue:", 0),
    ("<tool_use_error>String to replace not found in file.", 0),
    ("Could not find an exact match for 'old_string' in 'a.py'.", 0),
    ("Exit code 1\nunknown tool: overloaded_error", 2),
    ("", 2),
    ("API Error: 529 overloaded", 3),
    ("Permission to use Bash with command x has been denied.", 4),
    ("The user doesn't want to proceed with this tool use. The tool use was rejected", 4),
    ("x" * 400 + "API Error", 2),
    ("x" * 391 + "API Error", 3),
])  # fmt: skip
def test_error_texts_tell_the_kind_of_failure(text, kind):
    assert kind_of_failure(text) == FAILURES[kind]


def test_digest_is_equal_for_equal_calls():
    digest = digest_arguments({"a": 1, "b": [1, {"c": 2, "d": 3}]})
    assert digest == digest_arguments({"b": [1, {"d": 3, "c": 2}], "a": 1})
    assert digest == digest_arguments(' {"b": [1, {"d": 3, "c": 2}],\n "a": 1}')
    assert digest == digest_arguments({"a": 1, "b": [1, {"c": 2, "d": 3}], "e": 4}, ignore=("e",))


def test_why_a_command_is_run_makes_no_other_call():
    def digest(tool, **arguments):
        return parse_call(Event(kind="tool", tool=tool), arguments)[0].arguments

    assert digest("Bash", command="make", description="a") == digest("Bash", command="make")
    assert digest("replace", path="a", instruction="a") == digest("replace", path="a")
    assert digest("Bash", command="make", timeout=3) != digest("Bash", command="make")
    assert digest("create_issue", description="a") != digest("create_issue", description="b")


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(["command", "path", "paths", "input", "edits", "x"]),
        st.recursive(
            st.none() | st.integers() | st.text(max_size=12),
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["path", "y"]), inner)
            ),
        ),
    ),
    st.sampled_from([name for kinds in TOOLS.values() for name in kinds]),
)
def test_any_arguments_give_events(arguments, tool):
    call = Event(kind="tool", tool=tool, scope="/w")
    first, *rest = parse_call(call, arguments)
    assert first.tool == tool
    assert first.kind in (*CALLS, "rollback")
    assert all(event.tool == "" and event.targets for event in rest)
    kinds = [event.kind for event in (first, *rest)]
    assert len(kinds) == len(set(kinds))
    assert parse_call(call, json.dumps(arguments)) == (first, *rest)


OLD_NEW = [("a.py", "old", "new")]


@pytest.mark.parametrize(("arguments", "changes"), [
    ({"file_path": "/p/a.py", "old_string": "old", "new_string": "new"}, OLD_NEW),
    ({"path": "a.py", "old_str": "old", "new_str": "new", "command": "str_replace"}, OLD_NEW),
    ('{"file_path": "a.py", "old_string": "old", "new_string": "new"}', OLD_NEW),
    ({"file_path": "a.py", "content": "new"}, [("a.py", "", "new")]),
    ({"file_path": "a.py", "edits": [{"old_string": "old", "new_string": "new"}, {"old_string":
     "x", "new_string": "y"}]}, [*OLD_NEW, ("a.py", "x", "y")]),
    ({"replacements": [{"filePath": "a.py", "oldString": "old", "newString": "new"}, {"filePath":
     "b.py", "oldString": "x", "newString": "y"}]}, [*OLD_NEW, ("b.py", "x", "y")]),
    ({"file_path": "a.py", "old_string": "old", "new_string": ""}, []),
    ({"content": "new"}, []),
    ({}, []),
    ("no json", []),
])  # fmt: skip
def test_arguments_of_edit_tools(arguments, changes):
    found = find_changes(arguments, scope="/p")
    assert [(c.path, c.before, c.after) for c in found] == changes


PLANNED = """*** Begin Patch
*** Update File: a.py
*** Move to: b.py
@@ def f():
 one
-two
+TWO
@@
+three
*** Add File: c.py
+four
+five
*** Delete File: d.py
*** End Patch
"""


def test_patches():
    assert find_changes({"patch": PLANNED}) == [
        Change(path="b.py", before="one\ntwo\n", after="one\nTWO\n", line=0),
        Change(path="b.py", after="three\n", line=0),
        Change(path="c.py", after="four\nfive\n", line=0),
    ]


@pytest.mark.parametrize(("command", "changes"), [
    ("cat > a.py <<'EOF'\nx = 1\ny = 2\nEOF\nls", [("a.py", "x = 1\ny = 2\n")]),
    ("cd src && tee -a a.py <<EOF\nx\nEOF", [("src/a.py", "x\n")]),
    ("cat <<A > a.py\nx\nA\ncat <<B > b.py\ny\nB", [("a.py", "x\n"), ("b.py", "y\n")]),
    ("psql db <<EOF\nDROP TABLE a;\nEOF", []),
])  # fmt: skip
def test_here_documents(command, changes):
    assert [(c.path, c.after) for c in find_documents(command)] == changes


@pytest.mark.slow
@given(st.recursive(st.text() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_arguments_are_read(arguments):
    find_changes({"edits": arguments, "input": arguments})


@given(st.text())
def test_any_text_is_read_as_a_patch_and_a_command(text):
    find_changes({"input": f"*** Update File: a\n{text}"})
    find_documents(f"cat > a <<EOF\n{text}")
