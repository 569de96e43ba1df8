"""Rules for agents without hooks: written in their formats, checked, read back, within a budget."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.collection.rule_export import BEGINS, ENDS, FORMS
from lessons_kb.importers.rules_file import read_rules
from lessons_kb.model import as_data
from tests import kit
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
    # Diet leaves marked blocks out, but an agent reads them.
    unmarked = path.read_text().replace(BEGINS, "").replace(ENDS, "")
    rules = read_rules(unmarked, name=path.name)
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


def write_shop(folder):
    """Make a project in git, with a card in each standing; return its folder."""
    headers = {
        "Current": "paths: [src/mail.py]",
        "Archived": "status: archived",
        "Gone": "paths: [src/cart.py]\ncreated: 2026-01-02",
        "Stale": "stale-after: 2026-02-01",
        "Confirmed": "stale-after: 2026-02-01\nconfirmed: 2026-02-02",
        "Replaced": "superseded-by: lessons/current.md",
        "Elsewhere": "project: other",
    }
    cards = {}
    for name, header in headers.items():
        text = f"---\ntype: lesson\ntitle: {name} goes wrong\n{header}\n---\n\n- Look at it\n"
        cards[f"lessons/{name.lower()}.md"] = text
    cart = "def add(voucher, discount): ...\n"
    code = {"src/mail.py": "def send(): ...\n", "src/cart.py": cart}
    settings = 'project = "shop"\n'
    kit.commit(folder, "start", "2026-01-01T12:00:00+00:00", **code, **{"lessons.toml": settings})
    kit.commit(folder, "cards", "2026-01-03T12:00:00+00:00", **cards)
    (folder / "src" / "cart.py").unlink()
    kit.commit(folder, "no cart", "2026-01-04T12:00:00+00:00")
    kit.trust_brain(folder)
    return folder


@pytest.mark.parametrize("agent", ["agents-md", "skill", "claude-code"])
def test_only_cards_that_an_agent_may_see_today_become_rules(agent, at, tmp_path):
    shop = tmp_path / "shop"
    shop.mkdir()
    write_shop(shop)
    assert "2 cards as rules" in export(at, shop, agent).out
    folder = shop / (FORMS[agent].folder or FORMS[agent].file)
    files = [folder] if folder.is_file() else sorted(folder.iterdir())
    text = "".join(file.read_text() for file in files)
    titles = [word for word in text.split("\n") if "goes wrong" in word]
    assert len(titles) == 2
    assert "Current goes wrong" in text
    assert "Confirmed goes wrong" in text


@pytest.mark.parametrize("withheld", [False, True])
def test_the_best_record_comes_first_and_a_harmful_lesson_last_or_never(withheld, at, tmp_path):
    shop = tmp_path / "shop"
    for name in ("Plain", "Helping", "Halving", "Harming"):
        severity = "high" if name == "Plain" else "low"
        text = card(f"{name} lesson", "Look at it", severity=severity)
        kit.write(shop, f"lessons/{name.lower()}.md", text)
    setting = f"[effect]\nwithhold_harmful = {str(withheld).lower()}\n"
    kit.write(shop, "lessons.toml", setting)
    kit.trust_brain(shop)
    counts = {
        "helping": {"block": (1, 60), "withheld": (28, 30)},
        "halving": {"block": (20, 60), "withheld": (28, 30)},
        "harming": {"block": (28, 30), "withheld": (1, 60)},
    }
    with Brain.open(shop) as brain:
        ledger = brain.members[0].journal.ledger
        for name, arms in counts.items():
            for occasion in kit.occasions(f"lessons/{name}.md", **arms):
                ledger.note(**as_data(occasion))
    export(at, shop, "agents-md")
    text = (shop / "AGENTS.md").read_text()
    titles = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    best = ["Helping lesson", "Halving lesson", "Plain lesson"]
    assert titles == (best if withheld else [*best, "Harming lesson"])


@pytest.mark.parametrize("agent", [form for form in FORMS if form != "skill"])
def test_an_exported_rule_is_imported_as_one_card(agent, at, project, tmp_path):
    export(at, project, agent)
    file = project / SCOPED.get(agent, "AGENTS.md")
    other = tmp_path / "other"
    other.mkdir()
    at(other, "init")
    file.write_text(file.read_text() + "\n- Never call the bot from a test.\n")
    copy = other / file.name
    copy.write_bytes(file.read_bytes())
    assert at(other, "import", "memory", copy, "--yes").code == 0
    cards = {row["title"]: row for row in json.loads(at(other, "list", "--json").out)}
    read_back = cards.pop("Telegram remote execution must require an allowlist")
    assert not any("Why" in title or "More" in title for title in cards)
    text = (other / read_back["id"]).read_text()
    assert [line[6:] for line in text.splitlines() if line.startswith("- [ ] ")] == ITEMS
    assert "bot/**" in text.split("---")[1]
    assert "## Root Cause" in text


def test_the_index_of_a_skill_is_no_lesson(at, project, tmp_path):
    export(at, project, "skill")
    other = tmp_path / "other"
    other.mkdir()
    at(other, "init")
    result = at(other, "import", "memory", project / FORMS["skill"].file, "--dry-run")
    assert "an index of cards" in result.out
    assert "0 to create" in result.err
