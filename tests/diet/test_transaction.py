"""A diet is one transaction: what it writes, what it refuses, and how it is taken back."""

import os
import shutil
import stat
import subprocess
import sys

import pytest

from lessons_kb.brain.brain import Brain
from lessons_kb.diet.transaction import FileEdit, MovedRule, apply_diet, undo_diet
from lessons_kb.errors import InputError
from lessons_kb.store import diet_records
from tests import kit
from tests.diet.conftest import MOVED, RULES, cards_of, count_rule


def test_it_refuses_without_a_brain_in_the_repository(project, diet):
    (project / "lessons.toml").unlink()
    shutil.rmtree(project / ".lessons", ignore_errors=True)
    kit.make_brain(os.path.expanduser("~/.local/share/lessons-kb"))
    done = diet("--apply", "--yes")
    assert (done.code, "lessons init" in done.err) == (2, True)
    assert (project / "AGENTS.md").read_text() == RULES


def test_the_destination_is_printed_before_the_question(project, diet):
    done = diet("--apply")  # no terminal: the answer is no
    assert (done.code, f"The cards go to {project}/lessons" in done.out) == (2, True)
    assert (project / "AGENTS.md").read_text() == RULES
    assert cards_of(project) == []


@pytest.mark.parametrize("change", ["moved", "renamed", "deleted", "brain", "below"])
def test_undo_finds_the_diet_whatever_has_become_of_the_project(
    project, diet, change, monkeypatch, at
):
    diet("--apply", "--yes")
    assert len(cards_of(project)) == len(MOVED)
    here = project
    if change == "moved":
        here = project.rename(project.with_name("elsewhere"))
    elif change == "renamed":
        card = min(project.glob("lessons/*.md"))
        card.rename(card.with_name("another-name.md"))
    elif change == "deleted":
        (project / "AGENTS.md").unlink()
    elif change == "brain":
        (project / "lessons.toml").write_text("language = 'ko'\n")
    elif change == "below":
        here = project / "src"
        (here / "lessons.toml").write_text("")
    done = at(here, "diet", "--undo")
    top = project if here != project.with_name("elsewhere") else here
    assert "AGENTS.md restored; 3 cards moved to the trash" in done.err
    assert (top / "AGENTS.md").read_text() == RULES
    assert cards_of(top) == []


def test_a_copy_of_the_project_has_no_diet_to_undo(project, diet, at, tmp_path):
    diet("--apply", "--yes")
    copy = shutil.copytree(project, tmp_path / "copy")
    assert "no diet to undo" in at(copy, "diet", "--undo").err
    assert "AGENTS.md restored" in at(project, "diet", "--undo").err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("AGENTS.md", "---\nname: guide\n---\n\n" + RULES),
        ("AGENTS.md", "\ufeff" + RULES),
        ("AGENTS.md", RULES.replace("\n", "\r\n")),
        (".cursor/rules/all.mdc", "---\nalwaysApply: true\n---\n" + RULES),
    ],
)
def test_header_mark_mode_and_line_ends_stay(project, diet, name, text):
    (project / "AGENTS.md").unlink()
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    file.chmod(0o640)
    before = file.read_bytes()
    diet("--apply", "--yes")
    after = file.read_bytes()
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    gone = [line for line in before.splitlines(True) if line not in after.splitlines(True)]
    assert [any(rule.encode() in line for rule in MOVED) for line in gone] == [True] * 3
    head = text[: text.index("# Guide")].encode()
    assert after.startswith(head + b"# Guide")
    assert (b"\r\n" in after) == (b"\r\n" in before)
    assert b"\n" not in after.replace(b"\r\n", b"") or b"\r\n" not in before
    diet("--undo")
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (before, 0o640)


def test_a_link_stays_a_link_and_a_hard_link_is_left_alone(project, diet):
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    diet("--apply", "--yes")
    assert (project / "CLAUDE.md").is_symlink()
    assert len(cards_of(project)) == len(MOVED)
    diet("--undo")
    os.link(project / "AGENTS.md", project / "second.md")
    assert "hard link" in diet("-v").out
    diet("--apply", "--yes")
    assert (project / "AGENTS.md").read_text() == RULES


def test_a_file_that_is_only_imported_is_changed_only_if_it_is_named(project, diet):
    kit.write(project, "README.md", RULES)
    kit.write(project, "AGENTS.md", "# Guide\n\nSee @README.md\n")
    diet("--apply", "--yes")
    assert (project / "README.md").read_text() == RULES
    diet("README.md", "--apply", "--yes")
    assert "integers in cents" not in (project / "README.md").read_text()
    diet("--undo")
    assert (project / "README.md").read_text() == RULES


def test_a_scoped_file_without_rules_is_removed_and_undo_restores_it(project):
    file = kit.write(
        project, ".cursor/rules/pay.mdc", "---\nglobs: src/**\n---\n- Count in cents\n"
    )
    file.chmod(0o600)
    before = file.read_bytes()
    rule = MovedRule(
        file=".cursor/rules/pay.mdc",
        words="- Count in cents",
        title="Count in cents",
        card='---\ntype: lesson\ntitle: Count in cents\nimported-from: "rules:pay.mdc#1"\n---\n',
    )
    brain = Brain(str(project), alias="shop")
    edit = FileEdit(name=".cursor/rules/pay.mdc", before=before, after=None)
    apply_diet(str(project), brain, [rule], [edit])
    assert not file.exists()
    assert undo_diet(str(project)).files == (".cursor/rules/pay.mdc",)
    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (before, 0o600)
    brain.close()


def test_what_an_editor_saved_before_the_question_was_answered_wins(project, diet, monkeypatch):
    def confirm(_question):
        (project / "AGENTS.md").write_text(RULES + "- More\n")
        return True

    monkeypatch.setattr("lessons_kb.cli.commands.diet.confirm", confirm)
    done = diet("--apply")
    assert (done.code, "has changed meanwhile" in done.err) == (2, True)
    assert (project / "AGENTS.md").read_text() == RULES + "- More\n"
    assert cards_of(project) == []


def test_what_an_editor_saved_since_is_not_overwritten_by_undo(project, diet):
    diet("--apply", "--yes")
    with (project / "AGENTS.md").open("a") as file:
        file.write("- And more\n")
    assert "AGENTS.md has changed since the diet" in diet("--undo").err
    assert len(cards_of(project)) == len(MOVED)


def test_undo_removes_the_cards_of_rules_that_an_editor_has_put_back(project, diet):
    diet("--apply", "--yes")
    (project / "AGENTS.md").write_text(RULES + "- And more\n")
    assert "3 cards moved to the trash" in diet("--undo").err
    assert (project / "AGENTS.md").read_text() == RULES + "- And more\n"


def test_an_error_in_the_middle_takes_back_what_was_written(project, monkeypatch):
    brain = Brain(str(project), alias="shop")
    before = (project / "AGENTS.md").read_bytes()
    kit.write(project, "CLAUDE.md", "- B\n")
    rules = [
        MovedRule(file="AGENTS.md", words="- A", title="A", card="---\ntitle: A\n---\n"),
        MovedRule(file="CLAUDE.md", words="- B", title="B", card="---\ntitle: B\n---\n"),
    ]
    edits = [
        FileEdit(name="AGENTS.md", before=before, after=b"x"),
        FileEdit(name="CLAUDE.md", before=b"- B\n", after=b"y"),
    ]
    real = diet_records.write_record

    def save_meanwhile(record):
        (project / "CLAUDE.md").write_text("- B\n- C\n")
        return real(record)

    monkeypatch.setattr("lessons_kb.diet.transaction.write_record", save_meanwhile)
    with pytest.raises(InputError, match=r"CLAUDE\.md has changed meanwhile"):
        apply_diet(str(project), brain, rules, edits)
    assert (project / "AGENTS.md").read_bytes() == before
    assert (project / "CLAUDE.md").read_text() == "- B\n- C\n"
    assert [path for path in project.rglob("*") if ".lessons-tmp" in path.name] == []
    brain.close()


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_read(project, lessons, tmp_path):
    (project / "CLAUDE.md").symlink_to(kit.write(tmp_path / "dotfiles", "CLAUDE.md", RULES))
    (project / "GEMINI.md").write_bytes(b"- \xff\n")
    done = lessons("diet")
    assert done.code == 0
    assert "CLAUDE.md lies outside" in done.err
    assert "GEMINI.md: not UTF-8" in done.err
    assert "every session" in done.out
    assert lessons("diet", "GEMINI.md").code == 2


def test_two_runs_at_once_move_each_rule_once(project):
    worker = os.path.join(os.path.dirname(__file__), "diet_worker.py")
    command = [sys.executable, worker, str(project), "apply"]
    environment = {**os.environ, "PYTHONPATH": str(kit.ROOT)}
    runs = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    told = sorted(run.communicate()[0] for run in runs)
    assert told[0] == "done\n"
    assert [count_rule(project, rule) for rule in MOVED] == [1, 1, 1]
