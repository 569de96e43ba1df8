"""What an editor is told where code is written: the same as `lessons detect`."""

import json
import shutil
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lsprotocol.types import DiagnosticSeverity, Position, Range, TextDocumentContentChangePartial

from lessons_kb.service.lsp.language_server import (
    COMMANDS,
    NOTHING,
    diagnose,
    find_actions,
    find_lenses,
    hover,
)
from lessons_kb.store import trust

from .conftest import CODE, SHELL_ID

START = Position(0, 0)


def found(editor, name, text=None):
    return [one.range for one in marked(editor, editor.open(name, text))]


def marked(editor, document, *, detect=True):
    return diagnose(editor.files, document, detect=detect, whole=False)[0]


def test_a_mistake_is_marked_with_its_why_and_a_link_to_the_card(editor, project):
    document = editor.open("src/run.py")
    (one,) = marked(editor, document)
    assert one.severity == DiagnosticSeverity.Warning
    assert one.range == Range(start=Position(2, 21), end=Position(2, 31))  # the emoji counts twice
    assert one.message == (
        "A file name pasted into a shell=True command: The shell parses the finished string."
    )
    assert one.code == SHELL_ID
    assert one.code_description.href == (project / SHELL_ID).as_uri()
    assert marked(editor, document, detect=False) == []


@pytest.mark.parametrize("eol", ["\n", "\r\n"])
def test_lines_are_those_of_detect(editor, project, lessons, monkeypatch, eol):
    text = (CODE * 3).replace("\n", eol)
    (project / "src" / "run.py").write_bytes(text.encode())
    monkeypatch.chdir(project)
    found_there = json.loads(lessons("--brain", project, "detect", "src/run.py", "--json").out)
    lines = [match["line"] for match in found_there]
    assert lines == [3, 6, 9]
    assert [where.start.line + 1 for where in found(editor, "src/run.py", text)] == lines


def test_unsaved_text_is_checked(editor):
    for what, name, text, lines in (
        ("a lone CR ends a line too", "cr.py", "x = 1\ry = 2\r\nz(shell=True)\n", [2]),
        ("typed, and not what is on the disk", "run.py", "pass\n", []),
        ("not on the disk", "new.py", CODE, [2]),
        ("binary", "binary.py", "\0" + CODE, []),
        ("too many characters", "long.py", "x" * 1_000_001 + CODE, []),
        ("too many bytes", "wide.py", "한" * 400_000 + CODE, []),
    ):
        assert [one.start.line for one in found(editor, f"src/{name}", text)] == lines, what


def test_files_outside_of_a_project_are_nobodys_business(editor, tmp_path, monkeypatch):
    other = tmp_path.resolve() / "library"
    other.mkdir()
    monkeypatch.setenv("LESSONS_BRAIN", str(editor.root))  # which holds everywhere
    assert len(found(editor, "src/run.py")) == 1
    assert found(editor, str(other / "run.py"), CODE) == []
    editor.files.folders = (str(editor.root), str(other))
    assert len(found(editor, str(other / "run.py"), CODE)) == 1


def test_the_folders_of_a_project_share_one_brain(editor, project):
    (project / "src" / "deep").mkdir()
    folders = [str(project), str(project / "src"), str(project / "src" / "deep")]
    first, *others = [editor.files.brain_of(folder) for folder in folders]
    assert all(other is first for other in others)
    shutil.rmtree(project / ".git")
    trust.trust(str(project))  # whose mark went with it
    first, *others = [editor.files.brain_of(folder) for folder in folders]
    assert first is not None
    assert all(other is first for other in others)
    assert len(found(editor, "src/deep/run.py", CODE)) == 1


def test_a_lens_counts_the_lessons_that_guard_a_file(editor):
    document = editor.open("src/run.py")
    (lens,) = editor.ask(find_lenses, document, START)
    assert lens.command.title == "1 lesson guards this file"
    assert "- [ ] Pass the command as a list" in lens.command.tooltip
    told = editor.ask(hover, document, START).contents.value
    assert told == lens.command.tooltip
    outcome = COMMANDS["lessons.showGuards"](editor.files, document.uri)
    assert outcome.message == told
    assert editor.ask(find_lenses, editor.open("README.rst", ""), START) == []
    editor.files.show_guards = False
    assert editor.ask(find_lenses, document, START) == []
    assert editor.ask(hover, document, START) is None


def test_a_marked_line_shows_its_checklist_and_leads_to_the_card(editor, project):
    document = editor.open("src/run.py")
    at = editor.at(document, "shell=True")
    assert editor.ask(hover, document, at) is None
    marked(editor, document)
    assert "- [ ] Test with a quote" in editor.ask(hover, document, at).contents.value
    context = SimpleNamespace(only=None, diagnostics=[])
    opened, bumped, _ignored = editor.ask(find_actions, document, at, context=context)
    title = "A file name pasted into a shell=True command"
    assert (opened.title, bumped.title) == (f"Open: {title}", f"Count once more: {title}")
    outcome = COMMANDS[opened.command.command](editor.files, *opened.command.arguments)
    assert outcome.show == str(project / SHELL_ID)
    assert editor.ask(find_actions, document, START, context=context) == []


def test_a_find_is_ignored_by_a_comment_that_an_action_writes(editor, project):
    shell = project / SHELL_ID
    shell.write_text(shell.read_text().replace('files: ["*.py"]', 'files: ["*"]'))
    context = SimpleNamespace(only=None, diagnostics=[])
    for name, comment in (("py", "  # {}"), ("js", "  // {}"), ("css", "  /* {} */")):
        document = editor.open(f"src/run.{name}", CODE)
        marked(editor, document)
        at = editor.at(document, "shell=True")
        (one,) = [x for x in editor.ask(find_actions, document, at, context=context) if x.edit]
        assert one.title == "Ignore here: A file name pasted into a shell=True command"
        (edit,) = one.edit.document_changes[0].edits
        told = comment.format("lessons: ignore a-file-name-pasted-into-a-shell-true-command")
        assert (edit.range.start, edit.new_text) == (edit.range.end, told)
        lines = CODE.splitlines()
        lines[edit.range.start.line] += edit.new_text
        assert found(editor, f"src/run.{name}", "\n".join(lines)) == []


EDITS = st.lists(
    st.tuples(
        st.integers(0, 12), st.integers(0, 30), st.integers(0, 12), st.integers(0, 30),
        st.sampled_from(["", "\n", "x = 1\n", "run(shell=True)", "\r\n", "😀", "shell=", "True", "\n\n\n"]),
    ),
    max_size=8,
)  # fmt: skip


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(edits=EDITS)
def test_checking_the_changed_lines_finds_the_same_as_checking_the_whole_text(editor, edits):
    """Of a pattern that stays within a line."""
    document = editor.open("src/run.py", CODE * 3)
    diagnose(editor.files, document, detect=True, whole=True)
    for number, (line, column, last, end, text) in enumerate(edits, 2):
        where = Range(start=Position(line, column), end=Position(last, end))
        change = TextDocumentContentChangePartial(range=where, text=text)
        editor.documents.change(document.uri, number, [change])
        changed = editor.documents.get(document.uri)
        near, _left = diagnose(editor.files, changed, detect=True, whole=False)
        whole, left = diagnose(editor.files, changed, detect=True, whole=True)
        assert left == NOTHING
        assert near == whole
