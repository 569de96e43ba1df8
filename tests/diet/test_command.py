"""``lessons diet``: what it prints, what it asks, and what it counts."""

import json

import pytest

from lessons_kb.importers.rules_file import read_rules
from tests import kit
from tests.diet.conftest import MOVED, RULES, cards_of


def test_it_prints_the_moves_with_their_proof_and_counts_what_stays(project, diet):
    done = diet()
    assert "src/pay.ts" in done.out
    assert "arrives at an edit of src/pay.ts" in done.out
    assert "2 rules stay (-v lists them)" in done.out
    assert "Answer in English" not in done.out
    assert "next: `lessons diet --apply`" in done.err
    assert "next: `lessons diet AGENTS.md --apply`" in diet("AGENTS.md").err
    verbose = diet("-v").out
    assert "Answer in English" in verbose
    assert "in capitals: it always applies" in verbose
    data = json.loads(diet("AGENTS.md", "--json").out)
    moves = [rule["moves"] for rule in data["files"][0]["rules"]]
    assert moves == [False, True, True, True, False]
    assert len(data["cards"]) == len(MOVED)


def test_nothing_is_moved_without_a_yes_and_undo_brings_it_back(project, diet, lessons):
    refused = diet("--apply")
    assert (refused.code, (project / "AGENTS.md").read_text()) == (2, RULES)
    assert "keep amounts integers" in refused.out
    done = diet("--apply", "--yes")
    assert "3 cards written" in done.err
    assert "## Rules moved to lessons" in done.out
    assert "keep amounts" not in (project / "AGENTS.md").read_text()
    undone = lessons("diet", "--undo")
    assert undone.err == "lessons: AGENTS.md restored; 3 cards moved to the trash\n"
    assert (project / "AGENTS.md").read_text() == RULES
    assert lessons("diet", "--undo").code == 2


def test_the_table_and_the_question_name_the_same_condition(project, diet, monkeypatch):
    listed = diet().out
    assert "`git commit -m x`" in listed.split("name the package")[1].splitlines()[0]
    asked = diet("--apply").out
    assert "holds for: src/pay.ts; arrives at an edit of src/pay.ts" in asked
    assert "holds for: `git commit -m x`; arrives at `git commit -m x`" in asked
    assert "Colleagues, CI and agents without lessons_kb no longer see these rules." in asked
    for columns, has_proof in ((80, False), (120, True)):
        monkeypatch.setattr(
            "lessons_kb.cli.commands.diet.terminal_width", lambda width=columns: width
        )
        assert ("arrives at" in diet().out) == has_proof


def test_a_small_saving_is_called_small_and_the_largest_parts_are_named(project, diet):
    assert "little to gain" not in diet().out
    tree = "".join(f"src/folder{number}/\n" for number in range(300))
    large = (
        f"{RULES}\n## Layout of folders\n\n```text\n# no heading\n{tree}```\n\n## End\n\nText.\n"
    )
    kit.write(project, "AGENTS.md", large)
    assert "little to gain; most tokens are in AGENTS.md:12 Layout of folders (" in diet().out


@pytest.mark.parametrize(("stays", "line"), [
    (1, "1 rule stays (-v lists them)"), (2, "2 rules stay (-v lists them)"),
])  # fmt: skip
def test_the_verb_agrees_with_the_number_of_rules(lessons, tmp_path, monkeypatch, stays, line):
    rules = ["- Always answer in English.\n", "- Never use emojis in answers.\n"]
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\n" + "".join(rules[:stays]))
    monkeypatch.chdir(tmp_path)
    assert line in lessons("diet").out


def test_it_needs_no_brain_to_look(lessons, tmp_path, monkeypatch):
    monkeypatch.chdir(kit.write(tmp_path / "fresh", "CLAUDE.md", RULES).parent)
    assert "every session" in lessons("diet").out
    assert [lessons("diet", "--check", limit).code for limit in (15, 300)] == [1, 0]
    monkeypatch.chdir(tmp_path)
    assert "no CLAUDE.md, AGENTS.md or other rules file here" in lessons("diet").err


def test_a_rule_that_an_agent_without_hooks_reads_stays(project, lessons):
    kit.write(project, ".cursor/settings.json", "{}")
    done = lessons("diet", "--apply", "--yes")
    assert "cursor (without our hooks)" in lessons("diet").out
    assert "× read by cursor without our hooks (--yes-without-hooks moves it)" in done.out
    assert (project / "AGENTS.md").read_text() == RULES
    assert cards_of(project) == []


def test_the_option_is_named_only_for_rules_that_it_moves(project, lessons):
    kit.write(project, ".cursor/settings.json", "{}")
    data = json.loads(lessons("diet", "--json").out)
    reasons = [rule["reason"] for rule in data["files"][0]["rules"]]
    named = ["--yes-without-hooks" in reason for reason in reasons]
    assert named == [False, True, True, True, False]
    kit.write(project, "AGENTS.md", "# Guide\n\n- Answer in English\n- Be brief in each answer\n")
    done = lessons("diet")
    assert "--yes-without-hooks" not in done.out
    assert "lessons setup" not in done.err


def test_the_advice_names_a_command_that_connects_the_agent(project, lessons):
    assert "next: `lessons setup` connects your agents" in lessons("diet").err
    kit.write(project, ".github/instructions/tests.instructions.md", "# Tests\n")
    done = lessons("diet")
    assert "lessons setup" not in done.err, "setup offers only agents of this machine"
    advice = "`lessons install copilot-cli` and `lessons install vscode` connect them"
    assert f"next: {advice}, and then rules can move" in done.err
    for agent in ("copilot-cli", "vscode"):
        lessons("install", agent)
    assert "next: `lessons diet --apply` shows the diff and asks" in lessons("diet").err


def test_rules_move_where_all_agents_in_use_have_our_hooks(project, lessons):
    done = lessons("diet", "--apply", "--yes")
    assert "no agent here has our hooks" in done.out
    (project / ".codex").mkdir()
    lessons("install", "codex", "--scope", "project", "--shared")
    assert "codex (with our hooks)" in lessons("diet").out
    lessons("diet", "--apply", "--yes")
    assert len(cards_of(project)) == len(MOVED)


def test_a_file_that_no_agent_reads_stays_for_this_reason(project, lessons):
    kit.write(project, "CONTEXT.md", RULES)
    for hooks in (False, True):
        if hooks:
            (project / ".codex").mkdir()
            lessons("install", "codex", "--scope", "project", "--shared")
        done = lessons("diet", "CONTEXT.md")
        assert "no agent reads this file by itself" in done.out
        assert "lessons setup" not in done.err


def test_a_file_that_no_agent_in_use_reads_stays_for_this_reason(project, lessons):
    kit.write(project, "CLAUDE.md", "# Guide\n\n- Be brief\n")  # hides AGENTS.md
    lessons("install", "claude-code", "--scope", "project", "--shared")
    done = lessons("diet")
    assert "no agent in use here reads this file" in done.out
    assert "lessons setup" not in done.err


def test_a_rule_that_names_a_file_stays_for_a_true_reason(project, diet):
    kit.write(project, "AGENTS.md", "# Guide\n\n- Add new public routes to `src/pay.ts`\n")
    shown = diet("-v").out
    assert "states no condition that a file or command shows" in shown
    assert "names no file" not in shown


@pytest.mark.slow
def test_an_agent_adds_what_holds_to_the_cards_and_the_rules_stay(project, diet, writer):
    said = {
        "symptoms": ["convert a payment to cents before it is sent", "make it work"],
        "paths": ["src/**", "nowhere/**"],
        "tags": ["Payments", "--> money"],
        "condition": "",
        "commands": [],
    }
    shown = diet("--show-prompt").out
    assert "keep amounts integers in cents" in shown
    command = writer(f"print({json.dumps(said)!r})")
    assert "add --apply" in diet("--with", command).err
    refused = diet("--apply", "--with", command)
    assert (refused.code, (project / "AGENTS.md").read_text()) == (2, RULES)
    diet("--apply", "--yes", "--with", command)
    made = [text for text in cards_of(project) if "keep amounts" in text]
    assert len(made) == 1
    assert all(word in made[0] for word in ("src/pay.ts", "src/**", "payments"))
    assert not any(word in made[0] for word in ("nowhere", "make it work", "-->"))
    diet("--undo")
    assert (project / "AGENTS.md").read_text() == RULES


def test_an_agent_that_says_nothing_moves_nothing(project, diet, writer):
    for body, message in (
        ("print('Please log in')", "Please log in"),
        ("sys.exit(3)", "exit code 3"),
    ):
        done = diet("--apply", "--yes", "--with", writer(body))
        assert (done.code, message in done.err) == (2, True)
        assert (project / "AGENTS.md").read_text() == RULES


def test_a_moved_rule_reaches_an_agent_before_the_edit_and_the_commit(project, diet):
    diet("--apply", "--yes")

    def ask(tool, arguments):
        event = {
            "session_id": f"s-{tool}",
            "hook_event_name": "PreToolUse",
            "cwd": str(project),
            "tool_name": tool,
            "tool_input": arguments,
            "tool_use_id": "t",
        }
        return kit.answer("claude-code", event)

    edit = {"file_path": str(project / "src/pay.ts"), "old_string": "1", "new_string": "2"}
    told = str(ask("Edit", edit))
    assert "keep amounts integers in cents and never store a float there" in told
    commit = {"command": "git commit -m x"}
    held = ask("Bash", commit)["hookSpecificOutput"]
    assert held["permissionDecision"] == "deny"
    assert "before this command is run: " in held["permissionDecisionReason"]
    assert "name the package in the subject" in held["permissionDecisionReason"]
    assert "mistake" not in str(held)
    assert "deny" not in str(ask("Bash", commit))


def test_what_an_export_wrote_is_no_rule_and_stays(project, lessons, diet):
    title = "Charged twice because the retry made a new key"
    header = "---\nseverity: high\npaths: src/pay.ts\n---\n"
    card = f"{header}# {title}\n\n## Prevention Checklist\n\n- [ ] Send the same key again\n"
    kit.write(project, "lessons/pay.md", card)
    alone = lessons("diet", "--json")
    for agent in ("agents-md", "claude-code"):
        assert lessons("export", "rules", "--for", agent).code == 0
    written = (project / "AGENTS.md").read_text().removeprefix(RULES)
    assert title in written
    rules = [
        [rule["text"] for rule in file["rules"]]
        for done in (alone, lessons("diet", "--json"))
        for file in json.loads(done.out)["files"]
        if file["rules"]
    ]
    assert len(rules) == 2
    assert rules[0] == rules[1]
    assert "lessons-pay.md" not in lessons("diet", "-v").out
    assert diet("--apply", "--yes").code == 0
    assert (project / "AGENTS.md").read_text().count(written.strip()) == 1


def test_a_scoped_file_with_an_export_below_its_rules_is_not_removed():
    block = "<!-- lessons: begin -->\n\n## Charges twice\n\n- Ask first\n<!-- lessons: end -->\n"
    text = f"---\npaths: src/*\n---\n\n# Payments\n\n- Keep amounts integers\n\n{block}"
    file = read_rules(text, name="x.md")
    lines = {rule.line for rule in file.rules}
    assert [rule.text for rule in file.rules] == ["- Keep amounts integers"]
    assert file.has_rules_besides(lines)
    assert file.without(lines).endswith(block)
    assert "# Payments" in file.without(lines)
