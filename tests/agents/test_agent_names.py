"""What is particular to one agent stands in its row, its payload file, its plugin: nowhere else."""

import ast

import pytest

from lessons_kb.agents.table import AGENTS
from tests.kit import ROOT

PACKAGE = ROOT / "lessons_kb"
FORMAT = "it reads or writes files of that agent"
ALLOWED = {
    "hook_client.py": "it imports nothing of the package, and has to print an answer without it",
    "hook_gates.py": "it imports nothing of the package, and finds the agent by its payload",
    "brain/current_session.py": "variables with a session's id, read below the table",
    "cli/commands/trial.py": "an example of a command line",
    "collection/rule_export.py": FORMAT,
    "cli/commands/export.py": FORMAT,
    "diet/readers.py": "a table of its own: which agent reads which rules files",
    "importers/codex_memory.py": FORMAT,
    "mining/mine_project.py": FORMAT,
    "transcripts/session_records.py": FORMAT,
}
"""File below the package → why it may name agents."""


def find_names(text):
    """Return the strings of a module, but its docstrings, that are the name of an agent."""
    nodes = list(ast.walk(ast.parse(text)))
    docs = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    names = set()
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            words = node.value.replace(",", " ").replace(";", " ").split()
            # Two names are words that mean something else, too: "cursor" and "crush".
            names |= {word for word in words if word in AGENTS and "-" in word}
            names |= {node.value} & AGENTS.keys()
    return names


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith("agents/"):
            yield name, path


def test_no_module_above_or_below_the_table_names_an_agent():
    found = {name: find_names(path.read_text("utf-8")) for name, path in modules()}
    named = {name: names for name, names in found.items() if names}
    assert {name: names for name, names in named.items() if name not in ALLOWED} == {}
    assert [name for name in ALLOWED if name not in named] == [], "allowed without need"


@pytest.mark.parametrize("agent", AGENTS)
def test_one_agent_s_file_names_no_other_agent(agent):
    module = PACKAGE / "agents" / f"{agent.replace('-', '_')}.py"
    if module.is_file():
        assert find_names(module.read_text("utf-8")) <= {agent}
    else:
        assert AGENTS[agent].dialect in AGENTS


def test_the_installer_names_no_agent():
    for path in (PACKAGE / "agents" / "install").glob("*.py"):
        assert find_names(path.read_text("utf-8")) == set(), path.name


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("if agent == 'codex': pass", {"codex"}),
        ("'''For claude-code.'''\n# codex\nx = 'a cursor'", set()),
        ("say(f'run lessons install claude-code; then {x}')", {"claude-code"}),
        ("x = {'cursor': 1}", {"cursor"}),
    ],
)
def test_a_name_is_found_in_strings_alone(text, names):
    assert find_names(text) == names
