"""A diet reads rules files once, and says what is gone, said twice or broken."""

import json
import re

import pytest

from tests import kit
from tests.diet.conftest import RULES


@pytest.fixture
def data(lessons):
    """Return the data of `lessons diet`."""
    return lambda *words: json.loads(lessons("diet", *words, "--json").out)


def test_files_are_read_once_with_what_they_import(project, data, diet, tmp_path):
    (project / "AGENTS.md").unlink()
    kit.write(project, "docs/style.md", "- Be brief\n\n@../CLAUDE.md\n")
    kit.write(project, "CLAUDE.md", f"{RULES}\n@docs/style.md and @no.md\n")
    (project / "AGENTS.md").symlink_to("CLAUDE.md")
    kit.write(project, "src/AGENTS.md", "- Be brief\n")
    assert [file["path"] for file in data()["files"]] == ["CLAUDE.md", "docs/style.md"]
    (nested,) = data("src/AGENTS.md")["files"]
    assert nested["every_session"] is False
    away = kit.write(tmp_path / "away", "CLAUDE.md", RULES)
    assert "lies outside" in diet(away).err


def test_what_is_gone_said_twice_or_contradicted_is_named(project, data):
    rules = (
        "- Read `src/old.ts` first, like `lib/example.ts`\n"
        "- Keep the lines of every source file below 80 characters\n"
        "- Keep the lines of every source file below 100 characters\n"
        "- Commit generated clients together with the schema\n"
        "- Never commit generated clients together with the schema\n"
        "- Always run the whole integration suite before a release\n"
        "- Before a release, always run the whole integration suite\n"
    )
    (project / "AGENTS.md").write_text(rules)
    found = data()
    assert [one["path"] for one in found["gone"]] == ["src/old.ts"]
    assert [(one["what"], *one["lines"]) for one in found["pairs"]] == [
        ("contradicts", 2, 3), ("contradicts", 4, 5), ("same", 6, 7),
    ]  # fmt: skip


def test_tags_links_examples_and_other_code_are_not_said_twice(project, data):
    code = '  ```py\n  agent = Agent(task="write the report of the week", llm=model)\n  ```\n'
    rules = (
        "- <browser_use_docs>\n- </browser_use_docs>\n"
        "- Source: https://docs.example.org/quickstart/agent-settings-and-more\n"
        "- Source: https://docs.example.org/quickstart/agent-settings-and-more.md\n"
        "- Run a single test of the suite: `pytest tests/ci/test_one.py`\n"
        "- Run all tests of the suite: `pytest tests/ci`\n"
        f"- Example:\n{code}- Example two:\n{code}"
        "- Read `src/test_EventNameHere.py`\n"
        "- [the rules of the models package](lib/models/package/AGENTS.md)\n"
        "- [the rules of the graph package](lib/graph/package/AGENTS.md)\n"
    )
    (project / "AGENTS.md").write_text(rules)
    found = data()
    assert (found["pairs"], found["gone"]) == ([], [])


@pytest.mark.parametrize(("first", "second"), [
    # Each pair is from a project: it demands the same thing in other words, or two things.
    ("Always run tasks through `nx`, never the underlying tooling",
     "When running tasks, prefer `nx` instead of the underlying tooling"),
    ("All public methods need both sync and async variants",
     "Don't skip async variants of public methods"),
    ("Always use `bun` instead of `npm`", "Package manager: always use `bun`, never `npm`"),
    ("Most integration tests require Docker and fail in this environment",
     "Integration tests: skip tests that do not require Docker in this environment"),
    ("`[ONE]` matches the next character", "`[MANY(5)]` matches any of the next 5 characters"),
    ("Bug fixes: backport to all active release lines except the oldest",
     "Security fixes: backport to all active release lines including the oldest"),
    ("When changes are RPC related, add the A-rpc label",
     "When changes are docs related, add the C-docs label"),
    ("Complete reference for all agent configuration options",
     "Complete reference for all browser configuration options"),
])  # fmt: skip
def test_rules_that_share_most_words_are_neither_the_same_nor_opposed(project, data, first, second):
    (project / "AGENTS.md").write_text(f"# Guide\n\n- {first}\n- {second}\n")
    assert data()["pairs"] == []


def test_the_number_of_a_list_is_no_difference(project, data):
    step = "Run the whole integration suite before a release"
    (project / "AGENTS.md").write_text(f"## One\n\n1. {step}\n\n## Two\n\n1. Wait\n2. {step}\n")
    assert [one["what"] for one in data()["pairs"]] == ["same"]


def test_three_remarks_of_a_kind_are_printed_and_the_others_are_counted(project, diet):
    rules = (
        "- Always run the whole integration suite before a release\n"
        "- Answer each question of a reviewer within one working day\n"
        "- Keep generated clients out of the pull requests of humans\n"
        "- Prefer composition over inheritance in every new module\n"
        "- Name each feature flag after the ticket that removes it\n"
    )
    (project / "AGENTS.md").write_text(rules * 2)
    shown = diet().out
    assert shown.count("says the same as") == 3
    assert "2 more rules say the same as another rule (-v lists them)" in shown
    assert diet("-v").out.count("says the same as") == 5


def test_the_sum_is_of_what_one_agent_reads(project, lessons):
    (project / "CLAUDE.md").write_text("- Be brief in all of your answers\n")
    (project / ".codex").mkdir()
    shown = lessons("diet").out
    sums = dict(re.findall(r"every session of ([\w-]+): (\d+) tokens today", shown))
    assert list(sums) == ["claude-code", "codex"]
    assert int(sums["claude-code"]) < 20 < int(sums["codex"])


def test_sessions_of_this_machine_tell_what_was_relevant_and_broken(
    project, data, monkeypatch, tmp_path
):
    (project / "AGENTS.md").write_text("- Never run `npm publish` here\n- See `src/pay.ts`\n")
    home = tmp_path / "claude" / "projects" / re.sub(r"\W", "-", str(project)).replace("_", "-")
    home.mkdir(parents=True)
    call = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "npm publish"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "done"}
    lines = [
        {"type": "user", "message": {"role": "user", "content": "ship it"}},
        {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [call]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    ]
    common = {"sessionId": "s", "cwd": str(project), "timestamp": "2026-01-01T00:00:00Z"}
    (home / "s.jsonl").write_text("".join(json.dumps({**common, **line}) + "\n" for line in lines))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    rules = data()["files"][0]["rules"]
    assert [(one["relevant"], one["broken"]) for one in rules] == [(1, 1), (0, 0)]
