"""The reference is what the code says, and guides name nothing that does not exist."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest
import yaml
from markdown_it import MarkdownIt

from lessons_kb.cli.main import COMMANDS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


@pytest.fixture(scope="module")
def reference():
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.platform != "linux", reason="it names the folders of Linux")
def test_the_reference_is_fresh(reference, request):
    page = reference.build_reference()
    if request.config.getoption("--update", default=False):
        reference.PAGE.write_text(page, encoding="utf-8")
    fresh = reference.PAGE.read_text(encoding="utf-8") == page
    assert fresh, "docs/reference.md is stale: python docs/reference.py writes it anew"


def test_every_command_and_every_option_is_explained(reference):
    page = reference.build_reference()
    commands = page.partition("## Settings")[0]
    assert re.findall(r"^\| .* \|  \|$", page, re.MULTILINE) == []
    for name in re.findall(r"^### (\S+)$", commands, re.MULTILINE):
        section = commands.partition(f"### {name}\n")[2].partition("\n### ")[0]
        assert len(section.strip().splitlines()) > 1, f"{name} says nothing"
        assert "\n```sh\nlessons " in section, f"{name} has no example"


def blocks(page, language):
    tokens = MarkdownIt().parse(page.read_text(encoding="utf-8"))
    return [t.content for t in tokens if t.type == "fence" and t.info == language]


def test_the_settings_of_other_programs_call_commands_that_exist():
    hooks, workflow = map(yaml.safe_load, blocks(DOCS / "sharing.md", "yaml"))
    offered = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    ids = [hook["id"] for hook in hooks["repos"][0]["hooks"]]
    assert ids == [hook["id"] for hook in offered]
    steps = workflow["jobs"]["lessons"]["steps"]
    lines = [step["run"] for step in steps if step.get("run", "").startswith("lessons ")]
    for line in lines:
        words = line.replace("--brain .", "").split()
        assert words[1] in COMMANDS, line
    assert len(lines) == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def glossary_terms():
    page = (DOCS / "glossary.md").read_text(encoding="utf-8")
    return re.findall(r"^\*\*(.+?)\*\*", page, re.MULTILINE)


def test_the_glossary_stays_short():
    terms = glossary_terms()
    assert 0 < len(terms) <= 25
    assert len(terms) == len({term.lower() for term in terms})


@pytest.mark.parametrize("term", glossary_terms())
def test_each_term_of_the_glossary_is_used(term):
    readers = [page for page in PAGES if page.name != "glossary.md"]
    spelled = re.compile(re.escape(term).replace(r"\ ", "[ -]"), re.IGNORECASE)
    used = [page.name for page in readers if spelled.search(page.read_text("utf-8"))]
    assert used, f"{term} is explained but never used"


def test_the_settings_of_editors_are_what_they_read():
    import json
    import tomllib

    page = DOCS / "editors.md"
    (toml,), (zed,) = blocks(page, "toml"), blocks(page, "json")
    server = tomllib.loads(toml)["language-server"]["lessons"]
    binary = json.loads(zed)["lsp"]["marksman"]["binary"]
    assert (server["command"], server["args"]) == (binary["path"], binary["arguments"])
    extension = json.loads((ROOT / "templates" / "vscode" / "package.json").read_text("utf-8"))
    settings = extension["contributes"]["configuration"]["properties"]
    assert settings["lessons.command"]["default"] == server["command"]
    text = page.read_text("utf-8")
    assert all(f"`{name}`" in text for name in settings)
    assert f"{extension['name']}-{extension['version']}.vsix" in text
