"""What an editor is told, offered and asked to do in a card."""

import itertools
import pathlib
import re
from types import SimpleNamespace

import pytest
from lsprotocol.types import CodeActionKind, Position, Range

from lessons_kb import Brain
from lessons_kb.errors import InputError
from lessons_kb.service.lsp.language_server import (
    COMMANDS,
    complete,
    diagnose,
    find_actions,
    find_lenses,
    find_references,
    find_symbols,
    hover,
    keep_records,
    prepare_rename,
    relink_moved,
    rename,
    uri_of,
)
from lessons_kb.store import locations as locate
from lessons_kb.store import trust

from .conftest import OTHER, SHELL, SHELL_ID, apply, changed

MONEY = "lessons/money-kept-in-floats.md"
SLUG = "a-file-name-pasted-into-a-shell-true-command"
START = Position(0, 0)
ALL = SimpleNamespace(only=None, diagnostics=[])


def diagnostics(editor, name, text=None):
    found = diagnose(editor.files, editor.open(name, text), detect=True, whole=False)[0]
    return [(one.range.start.line, one.code) for one in found]


def offer(editor, name, text):
    """Return the document with ``|`` left out, what stands before it, and what is offered there."""
    before, _, after = text.partition("|")
    document = editor.open(name, before + after)
    found = editor.ask(complete, document, document.text.position_at(len(before)))
    items = [one for one in found.items if one.label != name]
    return document, before, {one.text_edit.new_text: one.text_edit for one in items}


def test_diagnostics_are_those_of_lint(editor, project):
    text = SHELL.replace("severity: high", "severity: urgent").replace("Pass the", "be careful the")
    (project / SHELL_ID).write_text(text)
    expected = [
        (max(one.line - 1, 0), one.rule)
        for one in Brain.open(project, directory=project).lint()
        if one.path == SHELL_ID
    ]
    assert expected
    assert diagnostics(editor, SHELL_ID) == expected


def test_a_card_that_is_new_or_too_large_is_checked_and_no_other_file(editor, project):
    (project / "lessons" / "big.md").write_text("# Big\n" + "한" * 4_000_000)
    assert diagnostics(editor, "lessons/big.md") == [(0, "too-large")]
    assert (0, "no-symptoms") in diagnostics(editor, "lessons/new.md", "# New\n")
    assert diagnostics(editor, "README.md", "# New\n") == []
    assert diagnostics(editor, ".github/lessons/new.md", "# New\n") == []


def test_an_untrusted_brain_is_silent(editor, project):
    trust.revoke(str(project))
    document = editor.open(SHELL_ID)
    assert diagnostics(editor, SHELL_ID) == []
    assert diagnostics(editor, "src/run.py") == []
    for work in (complete, hover, find_lenses, find_symbols, prepare_rename, find_references):
        assert not editor.ask(work, document, START)
    assert not editor.ask(find_actions, document, START, context=ALL)
    assert "lessons trust" in editor.told.pop(0)
    own = pathlib.Path(locate.user_brain())  # beside which it is named as well
    (own / "lessons").mkdir(parents=True)
    (own / "lessons" / "mine.md").write_text(SHELL)
    assert [code for _line, code in diagnostics(editor, "src/run.py")] == ["lessons/mine.md"]
    assert {line for line in editor.told if "lessons trust" in line}
    assert diagnostics(editor, SHELL_ID) == []


def test_keys_are_offered_once_with_their_meaning(editor):
    offered = offer(editor, "lessons/new.md", "---\ntitle: x\n|\n---\n")[2]
    assert "severity: " in offered
    assert not {"title: ", "tags: "} & {*offered}
    itself = offer(editor, MONEY, "---\na: b\n---\nsee [x](mon|")[2]
    assert itself == {}


OFFERS = [
    ("---\nsev|", ["severity: "]),
    ("\n---\ntitle: x\nsev|", ["severity: "]),
    ("---\ndetect:\n  - re|\n---\n", ["regex: "]),
    ("---\ndetect:\n  - regex: x\n    fi|", ["files: "]),
    ("---\nseverity: |", ["low", "medium", "high"]),
    ("---\nseverity:|", ["low", "medium", "high"]),
    ("---\nseverity: hi|\n---\n", ["high"]),
    ("---\napplies-to: [sh|", ["shell"]),
    ("---\ntags: [a, 'sh|", ["shell"]),
    ("---\nApplies_To:\n  - 텔\n  - sh|\n", ["shell"]),
    ("---\nproject: sh|\n---\n", ["shop"]),
    ("---\npaths: [src/|", ["src/run.py"]),
    ("---\npaths:\n  - |", ["lessons.toml", "lessons/", "src/"]),
    ("---\ndetect:\n  - regex: x\n    files: [sr|", ["src/"]),
    ("---\ndetect:\n  - ast: x\n    files: ['src/|", ["src/run.py"]),
    ("---\ndetect:\n  - ast: x\n    language: pyt|", ["python"]),
    ("---\na: b\n---\nsee [x](mon|", ["money-kept-in-floats.md"]),
    ("---\na: b\n---\n😀 [[mon|", ["lessons/money-kept-in-floats"]),
    ("😀 [[mon|", ["lessons/money-kept-in-floats"]),
    ("---\na: b\n---\n## Prev|", ["Prevention Checklist"]),
    ("---\na: b\n---\nwords |", []),
    ("no header: |", []),
]


def test_a_completion_replaces_the_typed_text(editor):
    for (text, expected), eol in itertools.product(OFFERS, ("\n", "\r\n")):
        document, before, offered = offer(editor, "lessons/new.md", text.replace("\n", eol))
        assert [*offered] == expected, text
        typed = re.search(r"[^\s\[('#:-]*$", before)[0] if expected else ""
        after = document.text.whole.removeprefix(before)
        for new, edit in offered.items():
            made = before.removesuffix(typed) + new + after
            assert apply(document.text.whole, [edit]) == made, text


def test_hover_explains_a_key_and_shows_the_effect_of_the_card(editor):
    document = editor.open(SHELL_ID)
    told = editor.ask(hover, document, editor.at(document, "severity", 3)).contents.value
    assert "How severe the mistake is" in told
    assert "low, medium, high" in told
    assert editor.ask(hover, document, editor.at(document, "high")) is None
    told = editor.ask(hover, document, editor.at(document, "A file name")).contents.value
    assert "- seen 3×\n- last 2026-08-27\n" in told
    assert "verdict: never used" in told


def test_symbols_are_title_sections_and_checklist(editor):
    document = editor.open(SHELL_ID)
    (root,) = editor.ask(find_symbols, document, START)
    assert root.name == "A file name pasted into a shell=True command"
    assert [one.name for one in root.children] == ["Root Cause", "Prevention Checklist"]
    items = root.children[1].children
    assert [one.name for one in items] == [
        "Pass the command as a list",
        "Test with a quote in the name",
    ]
    assert items[0].range.start.line == editor.at(document, "- [ ] Pass").line


def run(editor, command, *arguments):
    return COMMANDS[command](editor.files, *arguments)


def test_a_bump_of_an_open_card_is_made_in_the_editor_and_counted(editor, project):
    document = editor.open(SHELL_ID, SHELL.replace("Pass the", "Hand over the"))
    outcome = run(editor, "lessons.bump", document.uri)
    made = apply(document.text.whole, outcome.edit.edits)
    assert "occurrences: 4" in made
    assert made.partition("---\n\n")[2] == document.text.whole.partition("---\n\n")[2]
    assert (project / SHELL_ID).read_text() == SHELL  # what is open is never changed on the disk
    outcome.then()
    with Brain.open(project) as brain:
        assert [what for _day, what, _n in brain.stats.history(SHELL_ID)] == ["bumped"]
    del editor.documents[document.uri]  # what is closed is changed there
    assert run(editor, "lessons.bump", document.uri).edit is None
    assert "occurrences: 4" in (project / SHELL_ID).read_text()


def test_a_status_changes_one_line(editor):
    document = editor.open(SHELL_ID)
    for status in ("ignored", "archived"):
        edit = run(editor, "lessons.setStatus", document.uri, status).edit.edits
        assert apply(SHELL, edit) == SHELL.replace("\n---\n\n", f"\nstatus: {status}\n---\n\n", 1)


def test_lenses_show_the_effect_of_a_card_and_offer_its_commands(editor):
    document = editor.open(SHELL_ID)
    lenses = [
        (one.range.start.line, one.command.title)
        for one in editor.ask(find_lenses, document, START)
    ]
    line = editor.at(document, "title:").line
    assert lenses == [
        (line, "seen 3× · last 2026-08-27 · given 0× · never used"),
        (line, "Count the mistake once more"),
        (line, "Ignore"),
        (line, "Archive"),
        (editor.at(document, "- regex").line, "Test this pattern"),
    ]


def test_a_pattern_is_tested_in_the_tree(editor, project):
    document = editor.open(SHELL_ID)
    line = editor.at(document, "- regex").line
    outcome = run(editor, "lessons.testPattern", document.uri, line)
    assert outcome.message == "1 match: src/run.py:3"
    (place,) = outcome.result
    assert place.uri == (project / "src" / "run.py").as_uri()
    assert place.range == Range(start=Position(2, 21), end=Position(2, 31))
    assert editor.ask(find_references, document, Position(line + 1, 4)) == [place]
    with pytest.raises(InputError):
        run(editor, "lessons.testPattern", document.uri, editor.at(document, "- command").line)


def test_a_quick_fix_settles_its_diagnostic(editor):
    document = editor.open(SHELL_ID, SHELL.replace("severity", "severty"))
    at = editor.at(document, "severty")
    context = SimpleNamespace(only=[CodeActionKind.QuickFix], diagnostics=[])
    found = editor.ask(find_actions, document, at, context=context)
    assert [one.title for one in found] == ["Write `severity`"]
    (change,) = found[0].edit.document_changes
    assert apply(document.text.whole, change.edits) == SHELL
    assert found[0].diagnostics[0].code == "unknown-key"


def test_selected_words_become_a_symptom(editor):
    document = editor.open(SHELL_ID)
    start, end = editor.at(document, "The shell parses"), editor.at(document, "string.", 6)
    where = Range(start=start, end=end)
    found = editor.ask(find_actions, document, start, range=where, context=ALL)
    titles = [one.title for one in found]
    assert titles == ["Count the mistake once more", "Ignore", "Archive", "Add a symptom"]
    (change,) = found[-1].edit.document_changes
    expected = "user uploaded\n  - The shell parses the finished string\n"
    assert apply(SHELL, change.edits) == SHELL.replace("user uploaded\n", expected)


def test_a_new_title_renames_the_file_and_the_links_to_it(editor, project):
    document = editor.open(SHELL_ID)
    at = editor.at(document, "A file name")
    assert editor.ask(prepare_rename, document, at).start == at
    assert editor.ask(prepare_rename, document, START) is None
    edit = editor.ask(rename, document, at, new_name="Shell = code: 위험")
    title = "title: A file name pasted into a shell=True command"
    assert changed(project, edit) == {
        SHELL_ID: SHELL.replace(title, 'title: "Shell = code: 위험"'),
        MONEY: OTHER.replace(f"({SLUG}.md)", "(shell-code-%EC%9C%84%ED%97%98.md)").replace(
            f"[[{SLUG}]]", "[[shell-code-위험]]"
        ),
        f"{SHELL_ID} -> lessons/shell-code-위험.md": "",
    }
    assert list(edit.document_changes)[-1].old_uri == document.uri
    document = editor.open(MONEY)  # whose title is a heading
    edit = editor.ask(rename, document, editor.at(document, "Money"), new_name="Floats")
    assert changed(project, edit) == {
        MONEY: OTHER.replace("Money kept in floats", "Floats"),
        f"{MONEY} -> lessons/floats.md": "",
    }
    document = editor.open("lessons/new.md", "## Fix\n\n```sh\n# install deps\n```\n")
    at = editor.at(document, "install deps")
    assert editor.ask(prepare_rename, document, at) is None, "a comment in code is no title"


def test_references_of_a_title_are_the_links_to_the_card(editor, project):
    document = editor.open(SHELL_ID)
    found = editor.ask(find_references, document, editor.at(document, "A file name"))
    assert {one.uri for one in found} == {(project / MONEY).as_uri()}
    assert [one.range.start for one in found] == [Position(2, 16), Position(2, 71)]


def moved(project, **moves):
    """Return what an editor says of files that it moves: ``old=new``."""
    uris = [[uri_of(str(project / name)) for name in move] for move in moves.items()]
    return SimpleNamespace(files=[SimpleNamespace(old_uri=old, new_uri=new) for old, new in uris])


def test_links_follow_a_file_that_the_user_moves(editor, project):
    (project / "playbooks").mkdir()
    moves = moved(project, **{MONEY: "playbooks/money.md", SHELL_ID: "lessons/shell.md"})
    new = OTHER.replace(f"({SLUG}.md)", "(../lessons/shell.md)").replace(f"[[{SLUG}]]", "[[shell]]")
    assert changed(project, relink_moved(editor.files, moves)) == {MONEY: new}


@pytest.mark.slow
def test_the_records_of_a_card_follow_its_moved_file(editor, project):
    with Brain.open(project) as brain:
        brain.stats.mark(SHELL_ID, "helpful")
        assert brain.stats.effect(SHELL_ID).helpful == 1
        (project / SHELL_ID).rename(project / "lessons/shell.md")
        keep_records(editor.files, moved(project, **{SHELL_ID: "lessons/shell.md"}))
        brain.refresh()
        assert brain.stats.effect("shell").helpful == 1


DRAFT = {
    "sections": {"Root Cause": "The worker retried without a key."},
    "prevention": ["Send the same key on every retry"],
    "symptoms": ["pay a customer back", "charge a card again", "retry a payment"],
}


@pytest.mark.slow
def test_a_draft_is_accepted_where_it_is_read(editor, project):
    with Brain.open(project) as brain:
        draft = brain.drafts.propose("Retried the charge without an idempotency key", **DRAFT)
        lacking = brain.drafts.propose("Retried a refund without an idempotency key")
    assert {code for _line, code in diagnostics(editor, lacking.path)} == {"incomplete-draft"}
    document = editor.open(draft.path)
    assert diagnostics(editor, draft.path) == []
    lenses = [one.command.title for one in editor.ask(find_lenses, document, START)]
    assert lenses == ["Accept this draft", "Discard this draft"]
    editor.open(draft.path, document.text.whole + "more")
    with pytest.raises(InputError, match="save it first"):
        run(editor, "lessons.acceptDraft", document.uri)
    editor.open(draft.path)
    outcome = run(editor, "lessons.acceptDraft", document.uri)
    assert pathlib.Path(outcome.show).read_text().count("idempotency")
