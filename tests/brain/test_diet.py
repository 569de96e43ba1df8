"""A diet: what is read, what is said of it, and that nothing is lost."""

import json
import re

import pytest

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.diet import Diets, count_uses, find_gone, find_pairs, plan_cards, read_diet
from lessons_kb.errors import InputError
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
def project(root):
    kit.commit(root, **{"CLAUDE.md": RULES, "src/pay.ts": "1\n"})
    return root


def carry_out(project):
    diet = read_diet(str(project))
    return Diets(Brain.open(project)).apply(diet, *plan_cards(diet))


def test_rules_become_cards_word_for_word_and_come_back_byte_for_byte(project):
    before = (project / "CLAUDE.md").read_bytes()
    assert carry_out(project) == ["lessons/payments-amounts-in-src-pay-ts-are-integers.md"]
    assert (project / "CLAUDE.md").read_text() == f"# Guide\n\nAnswer in English.\n\n{POINTER}\n"
    card = (project / "lessons/payments-amounts-in-src-pay-ts-are-integers.md").read_text()
    assert "- Amounts in `src/pay.ts` are integers\n\n- Every charge needs a key\n" in card
    assert "paths:\n  - src/pay.ts\n" in card
    assert "Every charge" in Brain.open(project).preflight("edit src/pay.ts").text
    assert Diets(Brain.open(project)).undo() == (
        ["CLAUDE.md"],
        ["lessons/payments-amounts-in-src-pay-ts-are-integers.md"],
    )
    assert (project / "CLAUDE.md").read_bytes() == before
    assert not (project / "lessons/payments-amounts-in-src-pay-ts-are-integers.md").exists()
    with pytest.raises(InputError, match="no diet to undo"):
        Diets(Brain.open(project)).undo()


def test_a_file_that_was_changed_since_is_not_touched(project):
    stale = read_diet(str(project))
    (project / "CLAUDE.md").write_text(RULES + "- More\n")
    with pytest.raises(InputError, match="has changed meanwhile"):
        Diets(Brain.open(project)).apply(stale, *plan_cards(stale))
    carry_out(project)
    with (project / "CLAUDE.md").open("a") as file:
        file.write("- And more\n")
    with pytest.raises(InputError, match=r"CLAUDE.md has changed since the diet"):
        Diets(Brain.open(project)).undo()
    assert (project / "lessons/payments-amounts-in-src-pay-ts-are-integers.md").exists()


def test_what_no_card_can_hold_word_for_word_stays(project):
    secret = "- If the gateway refuses, use `sk_live_51H8abcdefghijklmnopqrstuv` as the key"
    (project / "CLAUDE.md").write_text(f"# Guide\n\n## Payments\n\n{secret}\n")
    cards, texts = plan_cards(read_diet(str(project)))
    assert (cards, secret in texts["CLAUDE.md"]) == ([], True)


def test_files_are_read_once_with_what_they_import(project, tmp_path):
    kit.write(project, "docs/style.md", "- Be brief\n\n@../CLAUDE.md\n")
    kit.write(project, "CLAUDE.md", f"{RULES}\n@docs/style.md and @no.md\n")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    kit.write(project, "src/AGENTS.md", "- Be brief\n")
    assert [file.name for file in read_diet(str(project)).files] == ["CLAUDE.md", "docs/style.md"]
    (nested,) = read_diet(str(project), [str(project / "src/AGENTS.md")]).files
    assert nested.globs == ("src/**",)
    with pytest.raises(InputError, match="lies outside"):
        read_diet(str(project), [str(kit.write(tmp_path / "away", "CLAUDE.md", RULES))])


def test_what_is_gone_said_twice_or_contradicted_is_named(project):
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
    diet = read_diet(str(project))
    assert [name for _file, _rule, name in find_gone(diet)] == ["src/old.ts"]
    assert [(kind, one.line, other.line) for kind, (_, one), (_, other) in find_pairs(diet)] == [
        ("contradicts", 2, 3), ("contradicts", 4, 5), ("same", 6, 7),
    ]  # fmt: skip


def test_sessions_of_this_machine_tell_what_was_relevant_and_broken(project, monkeypatch, tmp_path):
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
    diet = read_diet(str(project))
    sessions, uses = count_uses(diet)
    assert sessions == 1
    assert [(use.relevant, use.broken) for use in uses.values()] == [(1, 1), (0, 0)]
