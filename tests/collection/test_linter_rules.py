"""Which rule of a project's linter finds a card's mistake, and whether it is enabled."""

import pytest

from lessons_kb.collection.linter_rules import Linters, find_enabled_rule, propose_rule
from lessons_kb.data import read_toml
from lessons_kb.detect.matcher import is_available
from lessons_kb.model import Card, Pattern
from tests.kit import write

BANNED = "ruff:TID251/legacy.send"
SELECTOR = "CallExpression[callee.object.name='moment'][callee.property.name='utc']"


def make_card(*patterns):
    return Card(id="lessons/a-b.md", kind="lesson", title='Say "no"', detect=patterns)


def regex(text, *files):
    return Pattern(kind="regex", text=text, files=files)


@pytest.mark.parametrize(("settings", "is_on"), [
    ("", False), ('lint.select = ["S602"]', True), ('lint.select = ["S"]', True),
    ('lint.select = ["ALL"]', True), ('select = ["S6"]', True), ('lint.select = ["E"]', False),
    ('lint.extend-select = ["S602"]', True), ('lint.select = ["S"]\nlint.ignore = ["S602"]', False),
    ('lint.select = ["S602"]\nlint.ignore = ["S"]', True),
    ('lint.select = ["ALL"]\nlint.ignore = ["S6"]', False), ("lint.select = []", False),
    ("lint = 5", False),
])  # fmt: skip
@pytest.mark.parametrize("file", ["ruff.toml", "pyproject.toml"])
def test_a_rule_of_ruff_is_enabled_by_its_longest_prefix(tmp_path, settings, is_on, file):
    head = "[tool.ruff]\n" if file == "pyproject.toml" else ""
    write(tmp_path, file, f"{head}{settings}\n")
    assert Linters(str(tmp_path)).is_enabled("ruff:S602") is is_on


def test_ruff_enables_some_rules_unasked(tmp_path):
    assert not Linters(str(tmp_path)).is_enabled("ruff:E722")
    write(tmp_path, "ruff.toml", "line-length = 100\n")
    assert Linters(str(tmp_path)).is_enabled("ruff:E722")
    assert not Linters(str(tmp_path)).is_enabled("ruff:S602")


def test_a_ban_of_a_name_counts_if_the_name_is_banned(tmp_path):
    card = make_card(regex(r"legacy\.send\("))
    write(tmp_path, "pyproject.toml", "[tool.ruff]\n")
    proposal = propose_rule(card, Linters(str(tmp_path)))
    assert proposal.name == BANNED
    assert not proposal.enabled
    table = "[tool.ruff.lint.flake8-tidy-imports.banned-api]"
    assert proposal.lines[2:] == (table, '"legacy.send".msg = "Say \\"no\\""')
    write(tmp_path, "pyproject.toml", "\n".join(proposal.lines))
    assert find_enabled_rule(card, Linters(str(tmp_path))) == BANNED


def test_eslint_restricts_a_call(tmp_path):
    card = make_card(regex(r"moment\.utc\(", "*.ts"))
    write(tmp_path, "eslint.config.js", "export default [];\n")
    proposal = propose_rule(card, Linters(str(tmp_path)))
    assert proposal.name == f"eslint:no-restricted-syntax/{SELECTOR}"
    assert proposal.config == "eslint.config.js"
    write(tmp_path, "eslint.config.js", f"export default [{{rules: {{ {proposal.lines[0]} }}}}];\n")
    assert find_enabled_rule(card, Linters(str(tmp_path))) == proposal.name


@pytest.mark.parametrize(("config", "is_on"), [
    ('{"rules": {"no-eval": "error"}}', True), ("rules:\n  no-eval: [2]\n", True),
    ("'no-eval': ['warn']", True), ('"no-eval": "off"', False), ("no-eval: 0", False), ("", False),
])  # fmt: skip
def test_a_rule_of_eslint_is_enabled_by_its_level(tmp_path, config, is_on):
    write(tmp_path, ".eslintrc", config)
    assert Linters(str(tmp_path)).is_enabled("eslint:no-eval") is is_on


def test_a_project_with_ast_grep_gets_a_rule_file(tmp_path):
    write(tmp_path, "sgconfig.yml", "ruleDirs: [rules]\n")
    card = make_card(Pattern(kind="ast", text="risky($$$)", language="python"))
    proposal = propose_rule(card, Linters(str(tmp_path)))
    ((path, text),) = proposal.files
    assert proposal.name == f"ast-grep:{path}" == "ast-grep:rules/lessons-a-b-1.yml"
    write(tmp_path, path, text)
    assert Linters(str(tmp_path)).is_enabled(proposal.name)


def test_a_project_with_semgrep_gets_a_rule_file(tmp_path):
    write(tmp_path, ".semgrep/other.yml", "rules: []\n")
    proposal = propose_rule(make_card(regex("risky")), Linters(str(tmp_path)))
    assert proposal.name == "semgrep:.semgrep/lessons-a-b-1.yml"


def test_without_a_linter_a_test_finds_the_mistake(tmp_path):
    proposal = propose_rule(make_card(regex(r"risky\(")), Linters(str(tmp_path)))
    ((path, text),) = proposal.files
    assert proposal.name == "test:tests/test_a_b.py" == f"test:{path}"
    names = {}
    exec(compile(text, str(tmp_path / path), "exec"), {"__file__": str(tmp_path / path)}, names)
    write(tmp_path, path, text)
    write(tmp_path, "a.py", "safe()\n")
    run = {"__file__": str(tmp_path / path), **names}
    exec(compile(text, str(tmp_path / path), "exec"), run)
    run["test_a_b"]()
    write(tmp_path, "a.py", "risky()\n")
    with pytest.raises(AssertionError, match=r"a\.py"):
        run["test_a_b"]()


def test_a_rule_covers_a_card_only_with_all_of_its_patterns(tmp_path):
    write(tmp_path, "ruff.toml", 'lint.select = ["S"]\n')
    linters = Linters(str(tmp_path))
    assert find_enabled_rule(make_card(regex(r"os\.system\(")), linters) == "ruff:S605"
    more = make_card(regex(r"os\.system\("), regex(r"os\.popen\("))
    assert find_enabled_rule(more, linters) == ""
    # A pattern that finds the repair as well is about something else.
    assert find_enabled_rule(make_card(regex("run")), linters) == ""


def test_a_pattern_of_a_command_has_no_rule(tmp_path):
    card = make_card(Pattern(kind="command", text="rm -rf"))
    assert propose_rule(card, Linters(str(tmp_path))) is None


@pytest.mark.parametrize(
    "rule", read_toml("linter_rules.toml")["rules"], ids=lambda one: one["name"]
)
def test_each_rule_of_the_table_tells_its_mistake_from_the_repair(rule):
    assert rule["bad"] != rule["good"]
    assert rule["name"].partition(":")[0] in ("ruff", "eslint")


@pytest.mark.skipif(not is_available(), reason="ast-grep is not installed")
def test_a_syntax_pattern_is_covered_too(tmp_path):
    write(tmp_path, "ruff.toml", 'lint.select = ["S"]\n')
    pattern = Pattern(kind="ast", text="os.system($X)", language="python")
    assert find_enabled_rule(make_card(pattern), Linters(str(tmp_path))) == "ruff:S605"
