"""Rules for agents without hooks: written in their formats, checked, read back, within a budget."""

import pytest

from lessons_kb.collection.rule_export import BEGINS, ENDS, FORMS
from lessons_kb.importers.rules_file import read_rules
from tests.sessions import MIGRATION, TELEGRAM, card

ITEMS = ["Reject every chat id that is not on the allowlist", "Cover the rejection with a test"]
SCOPED = {
    "claude-code": ".claude/rules/lessons-telegram-allowlist.md",
    "copilot-cli": ".github/instructions/lessons-telegram-allowlist.instructions.md",
    "cursor": ".cursor/rules/lessons-telegram-allowlist.mdc",
    "windsurf": ".windsurf/rules/lessons-telegram-allowlist.md",
}


def export(at, project, agent, *options):
    return at(project, "export", "rules", "--for", agent, *options)


@pytest.mark.parametrize("agent", SCOPED)
def test_a_rule_keeps_text_and_paths_when_it_is_read_back(agent, at, project):
    text = TELEGRAM.replace('["bot/**"]', '["./bot/**", "tests/{a,b}.py"]')
    (project / "lessons" / "telegram-allowlist.md").write_text(text)
    assert export(at, project, agent).code == 0
    path = project / SCOPED[agent]
    rules = read_rules(path.read_text(), name=path.name)
    assert [rule.words for rule in rules.rules if rule.words.startswith("- ")] == [
        f"- {item}" for item in ITEMS
    ]
    assert rules.globs == ("bot/**", "tests/{a,b}.py")


@pytest.mark.parametrize("agent", FORMS)
def test_check_fails_until_the_files_are_up_to_date(agent, at, project):
    assert export(at, project, agent, "--check").code == 1
    assert not (project / FORMS[agent].folder / FORMS[agent].file).is_file()
    assert export(at, project, agent).code == 0
    assert export(at, project, agent, "--check").code == 0
    assert "written" not in export(at, project, agent).out.split("as rules")[0]
    (project / "lessons" / "telegram-allowlist.md").write_text(TELEGRAM.replace("group", "team"))
    changed = TELEGRAM.replace("Reject every", "Refuse each").replace("require", "need")
    (project / "lessons" / "telegram-allowlist.md").write_text(changed)
    assert "not up to date" in export(at, project, agent, "--check").out
    assert export(at, project, agent).code == 0
    for name in ("telegram-allowlist", "drop-column"):
        (project / "lessons" / f"{name}.md").unlink()
    assert "not needed any more" in export(at, project, agent).out
    assert export(at, project, agent, "--check").code == 0
    assert not list(project.rglob("lessons-*.m*"))


def test_text_around_the_block_stays(at, project):
    path = project / "AGENTS.md"
    path.write_text("# Ours\n\nUse tabs.\n")
    export(at, project, "agents-md")
    path.write_text(path.read_text() + "\nBelow.\n")
    (project / "lessons" / "drop-column.md").unlink()
    export(at, project, "agents-md")
    text = path.read_text()
    assert text.startswith("# Ours\n\nUse tabs.\n\n" + BEGINS)
    assert text.endswith(ENDS + "\n\nBelow.\n")
    assert "When you change `bot/**`." in text
    assert "drop a column" not in text


def test_the_worst_come_first_and_the_budget_holds(at, project):
    (project / "lessons" / "drop-column.md").write_text(MIGRATION)
    for number in range(5):
        text = card(f"A small lesson number {number}", "Think", severity="low")
        (project / "lessons" / f"small-{number}.md").write_text(text)
    said = export(at, project, "agents-md", "--budget", "120").out
    assert "left out" in said
    text = (project / "AGENTS.md").read_text()
    assert "allowlist" in text
    assert "number 4" not in text


def test_install_writes_the_skill_that_lists_the_cards(at, project):
    assert at(project, "install", "--skill").code == 0
    text = (project / ".agents/skills/lessons/SKILL.md").read_text()
    assert text.startswith('---\nname: "lessons"\ndescription: "Lessons of mistakes')
    assert "- lessons/telegram-allowlist.md: Telegram remote" in text
    assert "(`bot/**`)" in text
    assert "as rules" in export(at, project, "skill", "--check").out


def test_options_of_rules_need_rules(at, project):
    assert at(project, "export", "json", "--check").code == 2
    assert at(project, "export", "rules").code == 2
    assert at(project, "export", "rules", "--for", "emacs").code == 2
