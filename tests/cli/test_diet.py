"""``lessons diet``."""

import json

import pytest

from tests import kit

RULES = "# Guide\n\n- Answer in English\n\n## Payments\n\n- Amounts in `src/pay.ts` are integers\n"


@pytest.fixture
def rules(brain):
    kit.commit(brain, **{"AGENTS.md": RULES, "src/pay.ts": "1\n"})
    return brain / "AGENTS.md"


def test_each_rule_is_told_with_its_kind_its_reason_and_what_it_costs(lessons, rules):
    done = lessons("diet")
    assert [line.split() for line in done.out.splitlines()[1:3]] == [
        ["always", "AGENTS.md:3", "-", "Answer", "in", "English", "for", "all", "work"],
        ["when", "AGENTS.md:7", "-", "Amounts", "in", "`src/pay.ts`", "are", "integers",
         "names", "src/pay.ts"],
    ]  # fmt: skip
    assert "AGENTS.md: 23 tokens today, 28 afterwards\n" in done.out
    assert "next: `lessons diet --apply`" in done.err
    data = json.loads(lessons("diet", "AGENTS.md", "--json").out)
    assert [rule["kind"] for rule in data["files"][0]["rules"]] == ["always", "when"]
    assert data["cards"] == ["Amounts in `src/pay.ts` are integers"]


def test_nothing_is_moved_without_a_yes_and_undo_brings_it_back(lessons, rules, brain):
    refused = lessons("diet", "--apply")
    assert (refused.code, rules.read_text()) == (2, RULES)
    assert "-- Amounts in `src/pay.ts` are integers" in refused.out
    assert "1 card written" in lessons("diet", "--apply", "--yes").err
    assert "Amounts" not in rules.read_text()
    assert "and up to 11 for the titles of 1 card\n" in lessons("diet").out
    undone = lessons("diet", "--undo")
    assert undone.err == "lessons: AGENTS.md restored; 1 card moved to the trash\n"
    assert rules.read_text() == RULES
    assert lessons("diet", "--undo").code == 2


def test_it_needs_no_brain_to_look(lessons, tmp_path, monkeypatch):
    monkeypatch.chdir(kit.write(tmp_path / "fresh", "CLAUDE.md", RULES).parent)
    assert "when" in lessons("diet").out
    assert [lessons("diet", "--check", limit).code for limit in (15, 300)] == [1, 0]
    monkeypatch.chdir(tmp_path)
    assert "no CLAUDE.md, AGENTS.md or other rules file here" in lessons("diet").err


@pytest.mark.slow
def test_an_agent_adds_what_holds_to_the_cards_and_the_rules_stay(lessons, rules, brain, writer):
    said = {
        "symptoms": ["convert a payment to cents before it is sent", "make it work"],
        "paths": ["src/**", "nowhere/**"],
        "tags": ["Payments", "--> money"],
    }
    shown = lessons("diet", "--show-prompt").out
    assert ("Amounts in `src/pay.ts` are integers" in shown, "- src/" in shown) == (True, True)
    command = writer(f"print({json.dumps(said)!r})")
    assert "add --apply" in lessons("diet", "--with", command).err
    refused = lessons("diet", "--apply", "--with", command)
    assert (refused.code, rules.read_text()) == (2, RULES)
    assert "1 card, about" in refused.err
    done = lessons("diet", "--apply", "--yes", "--with", command)
    assert "symptoms: convert a payment to cents before it is sent\n" in done.out
    second = writer.asked()[1]["prompt"]
    assert ("'nowhere/**'" in second, "'make it work' does not" in second) == (True, True)
    (made,) = [p.read_text() for p in brain.glob("lessons/amounts*.md")]
    assert all(one in made for one in ("src/pay.ts", "src/**", "payments", "money"))
    assert not any(one in made for one in ("nowhere", "make it work", "-->"))
    assert "- Amounts in `src/pay.ts` are integers" in made
    lessons("diet", "--undo")
    assert rules.read_text() == RULES


def test_an_agent_that_says_nothing_moves_nothing(lessons, rules, writer):
    for body, told in (("print('Please log in')", "Please log in"), ("sys.exit(3)", "exit code 3")):
        done = lessons("diet", "--apply", "--yes", "--with", writer(body))
        assert (done.code, told in done.err, rules.read_text()) == (2, True, RULES)
