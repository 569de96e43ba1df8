"""What each agent reads of a repository in every session, as clients were seen to do."""

import pytest

from lessons_kb.diet.diet import read_diet
from lessons_kb.diet.readers import count_for_agent, read_as_agent
from tests import kit


@pytest.fixture
def sent(tmp_path):
    """Return whether an agent sends a rule in every session: ``sent(agent, rule, **files)``."""

    def sent(agent, rule, **files):
        for name, text in files.items():
            kit.write(tmp_path, name, text)
        return rule in read_as_agent(read_diet(str(tmp_path)), agent)

    return sent


@pytest.mark.parametrize(
    ("header", "always"),
    [
        ("", True),
        ("---\npaths:\n  - src/**\n---\n", False),
        ("---\npaths: src/**\n---\n", False),
        ('---\npaths: "**"\n---\n', True),
        ('---\npaths: "**/*"\n---\n', False),
        ("---\npaths: ./src/**\n---\n", False),
        ("---\npaths: []\n---\n", True),
        ("---\npaths:\n---\n", True),
        ("---\nPaths: src/**\n---\n", True),
        ("---\npath: src/**\n---\n", True),
        ("---\nglobs: src/**\n---\n", True),
        ("\n---\npaths: src/**\n---\n", True),
    ],
)
def test_claude_code_reads_a_rule_always_unless_its_header_has_paths(sent, header, always):
    assert (
        sent("claude-code", "the rule", **{".claude/rules/a.md": f"{header}- the rule\n"}) is always
    )


@pytest.mark.parametrize(
    ("name", "is_rule"),
    [("README.md", True), (".hidden.md", True), ("a.mdc", False), ("a.txt", False)],
)
def test_claude_code_reads_md_files_alone_in_its_folder(sent, name, is_rule):
    files = {"CLAUDE.md": "- x\n", f".claude/rules/{name}": "- the rule\n"}
    assert sent("claude-code", "the rule", **files) is is_rule


@pytest.mark.parametrize(
    ("line", "is_import"),
    [
        ("See @docs/guide.md", True), ("See @docs/guide", True), ("See @package.json", True),
        ("See (@docs/a.md)", False), ("See @docs/a.md.", False), ("See @docs/b.mdc", False),
        ("See @docs/c.mdx", False), ("See `@docs/guide.md`", False),
    ],
)  # fmt: skip
def test_claude_code_imports_texts_of_nearly_any_ending(sent, line, is_import):
    names = ("docs/guide.md", "docs/guide", "package.json", "docs/a.md", "docs/b.mdc", "docs/c.mdx")
    files = dict.fromkeys(names, "- the rule\n")
    assert sent("claude-code", "the rule", **files, **{"CLAUDE.md": f"- {line}\n"}) is is_import


def test_claude_code_strips_comments_and_headers(sent):
    text = "---\nname: x\n---\n<!-- the rule\nof people -->\n- y <!-- inline -->\n"
    assert not sent("claude-code", "the rule", **{"CLAUDE.md": text})
    assert sent("claude-code", "inline", **{"CLAUDE.md": text})
    assert not sent("claude-code", "name: x", **{"CLAUDE.md": text})


@pytest.mark.parametrize("name", ["CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md"])
def test_claude_code_reads_agents_md_only_without_a_file_of_its_own(sent, name):
    assert sent("claude-code", "the rule", **{"AGENTS.md": "- the rule\n"})
    assert not sent("claude-code", "the rule", **{name: "- x\n"})


@pytest.mark.parametrize(
    ("header", "always"),
    [
        ("---\nalwaysApply: true\nglobs: src/**\n---\n", True),
        ("---\nglobs: src/**,lib/**\nalwaysApply: false\n---\n", False),
        ("---\ndescription: about x\n---\n", False),
    ],
)
def test_cursor_reads_a_rule_always_if_it_says_so(sent, header, always):
    assert sent("cursor", "the rule", **{".cursor/rules/a.mdc": f"{header}- the rule\n"}) is always


@pytest.mark.parametrize(("globs", "always"), [('"**"', True), ('"**/*.ts"', False)])
def test_copilot_reads_instructions_for_all_files(sent, globs, always):
    name = ".github/instructions/a.instructions.md"
    text = f"---\napplyTo: {globs}\n---\n- the rule\n"
    assert sent("copilot-cli", "the rule", **{name: text}) is always


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        ("codex", "AGENTS.md"), ("codex", "AGENTS.override.md"), ("qwen-code", "QWEN.md"),
        ("gemini-cli", "GEMINI.md"), ("droid", "AGENTS.md"), ("droid", "CLAUDE.md"),
        ("cline", ".clinerules/a.md"), ("pi", "AGENTS.md"), ("kilo", ".kilo/rules/a.md"),
        ("kilo", ".kilocode/rules/a.md"), ("opencode", "AGENTS.md"),
    ],
)  # fmt: skip
def test_other_agents_read_their_own_files(sent, agent, name):
    text = "---\npaths: src/**\n---\n- the rule\n" if agent == "cline" else "- the rule\n"
    assert sent(agent, "the rule", **{name: text})


def test_codex_reads_the_override_in_place_of_agents_md(sent):
    files = {"AGENTS.md": "- the rule\n", "AGENTS.override.md": "- other\n"}
    assert not sent("codex", "the rule", **files)


def test_kilo_drops_a_rule_of_kilocode_whose_name_kilo_has(sent):
    files = {".kilo/rules/a.md": "- new\n", ".kilocode/rules/a.md": "- the rule\n"}
    assert not sent("kilo", "the rule", **files)


def test_droid_reads_both_files_and_is_the_largest(tmp_path, lessons, monkeypatch):
    kit.commit(tmp_path, **{"AGENTS.md": "- one rule\n" * 50, "CLAUDE.md": "- another\n" * 50})
    diet = read_diet(str(tmp_path))
    assert count_for_agent(diet, None)[0] in ("droid", "crush")
    assert count_for_agent(diet, "droid")[1] > count_for_agent(diet, "codex")[1]
    monkeypatch.chdir(tmp_path)
    assert lessons("diet", "--check", "10000", "--agent", "codex").code == 0
    assert "no agent 'nobody'" in lessons("diet", "--check", "1", "--agent", "nobody").err
