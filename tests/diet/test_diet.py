"""A diet: what is read, what is said of it, and that nothing is lost."""

import json
import re

import pytest

from lessons_kb.importers.rules_file import POINTER
from tests import kit

RULES = """\
# Guide

Answer in English.

## Payments

- Amounts in `src/pay.ts` are integers
- Every charge needs a key
"""


@pytest.fixture
def project(root, monkeypatch):
    kit.commit(root, **{"CLAUDE.md": RULES, "src/pay.ts": "1\n", "lessons.toml": ""})
    kit.trust_brain(str(root))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def diet(lessons):
    """Run `lessons diet`; return what it refuses, or else has done."""
    return lambda *words: lessons("diet", *words).err


@pytest.fixture
def told(lessons):
    """Return the data of `lessons diet`."""
    return lambda *words: json.loads(lessons("diet", *words, "--json").out)


def test_rules_become_cards_word_for_word_and_come_back_byte_for_byte(project, diet, lessons):
    before = (project / "CLAUDE.md").read_bytes()
    diet("--apply", "--yes")
    assert (project / "CLAUDE.md").read_text() == f"# Guide\n\nAnswer in English.\n\n{POINTER}\n"
    (card,) = project.glob("lessons/payments*.md")
    assert (
        "- Amounts in `src/pay.ts` are integers\n\n- Every charge needs a key\n" in card.read_text()
    )
    assert "paths:\n  - src/pay.ts\n" in card.read_text()
    assert "Every charge" in lessons("preflight", "edit src/pay.ts").out
    assert diet("--undo") == "lessons: CLAUDE.md restored; 1 card moved to the trash\n"
    assert (project / "CLAUDE.md").read_bytes() == before
    assert not card.exists()
    assert "no diet to undo" in diet("--undo")


def test_a_file_that_was_changed_since_is_not_touched(project, diet, monkeypatch):
    def confirm(_question):
        (project / "CLAUDE.md").write_text(RULES + "- More\n")
        return True

    monkeypatch.setattr("lessons_kb.cli.commands.diet.confirm", confirm)
    assert "has changed meanwhile" in diet("--apply")
    diet("--apply", "--yes")
    with (project / "CLAUDE.md").open("a") as file:
        file.write("- And more\n")
    assert "CLAUDE.md has changed since the diet" in diet("--undo")
    assert list(project.glob("lessons/payments*.md"))


def test_what_no_card_can_hold_word_for_word_stays(project, diet):
    secret = "- If the gateway refuses, use `sk_live_51H8abcdefghijklmnopqrstuv` as the key"
    text = f"# Guide\n\n## Payments\n\n{secret}\n"
    (project / "CLAUDE.md").write_text(text)
    assert diet("--apply", "--yes") == "lessons: no rule to move\n"
    assert (project / "CLAUDE.md").read_text() == text


def test_files_are_read_once_with_what_they_import(project, told, diet, tmp_path):
    kit.write(project, "docs/style.md", "- Be brief\n\n@../CLAUDE.md\n")
    kit.write(project, "CLAUDE.md", f"{RULES}\n@docs/style.md and @no.md\n")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    kit.write(project, "src/AGENTS.md", "- Be brief\n")
    assert [file["path"] for file in told()["files"]] == ["CLAUDE.md", "docs/style.md"]
    (nested,) = told("src/AGENTS.md")["files"]
    assert nested["every_session"] is False
    away = kit.write(tmp_path / "away", "CLAUDE.md", RULES)
    assert "lies outside" in diet(away)


def test_what_is_gone_said_twice_or_contradicted_is_named(project, told):
    rules = (
        "- Read `src/old.ts` first, like `lib/example.ts`\n"
        "- Keep the lines of every source file below 80 characters\n"
        "- Keep the lines of every source file below 100 characters\n"
        "- Commit generated clients together with the schema\n"
        "- Never commit generated clients together with the schema\n"
        "- Always run the whole integration suite before a release\n"
        "- Before a release, always run the whole integration suite\n"
    )
    (project / "CLAUDE.md").write_text(rules)
    data = told()
    assert [one["path"] for one in data["gone"]] == ["src/old.ts"]
    assert [(one["what"], *one["lines"]) for one in data["pairs"]] == [
        ("contradicts", 2, 3), ("contradicts", 4, 5), ("same", 6, 7),
    ]  # fmt: skip


def test_sessions_of_this_machine_tell_what_was_relevant_and_broken(
    project, told, diet, monkeypatch, tmp_path
):
    (project / "CLAUDE.md").write_text("- Never run `npm publish` here\n- See `src/pay.ts`\n")
    home = tmp_path / "claude" / "projects" / re.sub(r"\W", "-", str(project)).replace("_", "-")
    home.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "npm publish"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    lines = [
        {"type": "user", "message": {"role": "user", "content": "ship it"}},
        {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    known = {"sessionId": "s", "cwd": str(project), "timestamp": "2026-01-01T00:00:00Z"}
    (home / "s.jsonl").write_text("".join(json.dumps({**known, **line}) + "\n" for line in lines))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    rules = told()["files"][0]["rules"]
    assert [(one["relevant"], one["broken"]) for one in rules] == [(1, 1), (0, 0)]
    assert "of 1 session of this machine" in diet()
