"""The reference is what the code says, and guides name nothing that does not exist."""

import contextlib
import importlib
import json
import pkgutil
import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
import typer
import yaml
from markdown_it import MarkdownIt

import lessons_kb
from lessons_kb.cli.command_table import SUMMARIES
from lessons_kb.cli.main import app
from lessons_kb.config import DEFAULTS
from lessons_kb.store.user_settings import JudgeSettings
from tests.kit import ROOT, load_script

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]


def test_the_reference_is_fresh_and_explains_every_command_and_every_option(request):
    reference = load_script("reference")
    page = reference.build_reference()
    if request.config.getoption("--update"):
        reference.PAGE.write_text(page, encoding="utf-8")
    fresh = reference.PAGE.read_text(encoding="utf-8") == page
    assert fresh, "docs/reference.md is stale: python tools/reference.py writes it anew"
    assert re.findall(r"^- .*: *$", page, re.MULTILINE) == []
    head, *sections = re.split(r"^### ", page.partition("## Settings")[0], flags=re.MULTILINE)
    group = typer.main.get_command(app)
    commands = {name: group.get_command(None, name) for name in group.commands}
    visible = sorted(name for name, command in commands.items() if not command.hidden)
    assert [re.match(r"`([\w-]+)", section)[1] for section in sections] == visible
    of_several = find_explained(head)
    for name, section in zip(visible, sections, strict=True):
        assert len(section.strip().splitlines()) > 1, f"{name} says nothing"
        assert "Example: lessons " in commands[name].help, f"{name} has no example"
        own = find_explained(section)
        also = set(re.findall(r"`(--[\w-]+)`", section.partition("- Also: ")[2]))
        assert also <= of_several, f"{name} refers to options that are not explained"
        for option in commands[name].params:
            if option.param_type_name == "option" and option.name != "help":
                assert option.opts[0] in own | also, f"{name} does not name {option.opts[0]}"


def find_explained(text):
    """Return the options to which an item of a list gives a meaning."""
    return set(re.findall(r"^- `(--[\w-]+).*?: \w", text, re.MULTILINE))


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
        assert words[1] in SUMMARIES, line
    assert len(lines) == 3


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def test_each_page_that_moved_redirects_to_the_section_that_has_its_content():
    site = load_script("docs_site")
    redirects = site.build_redirects()
    assert {"capacity/index.html", "testing/index.html"} <= set(redirects)
    for path, html in redirects.items():
        former = path.removesuffix("/index.html")
        assert not (DOCS / f"{former}.md").exists()
        (address,) = re.findall(r'http-equiv="refresh" content="0; url=\.\./([^"]+)"', html)
        page, section = address.split("/#")
        text = (DOCS / f"{page}.md").read_text("utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        assert section in [heading.lower().replace(" ", "-") for heading in headings]


def test_the_site_wraps_commands_and_keeps_the_columns_of_outputs():
    page = SimpleNamespace(file=SimpleNamespace(src_uri="trial.md"))
    text = "```text\nlessons trial tasks.toml\n```\n\n```text\nlessons: 2 of 3 right\n```\n"
    shown = load_script("docs_site").on_page_markdown(text, page, {"repo_url": ""}, None)
    assert shown == text.replace("text", "sh", 1)
    styles = (DOCS / "stylesheets" / "site.css").read_text("utf-8")
    assert re.search(r"\.language-sh pre > code \{\s*white-space: pre-wrap;", styles)


def test_the_navigation_has_every_page_once():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    named = re.findall(r"[\w-]+\.md", json.dumps(settings["nav"]))
    pages = load_script("docs_site").PAGES.values()
    assert sorted(named) == sorted([*pages, *(path.name for path in DOCS.glob("*.md"))])


ROOMS = "|".join(one.name for one in pkgutil.iter_modules(lessons_kb.__path__))
DOTTED = re.compile(rf"`(?:lessons_kb\.)?((?:{ROOMS})(?:\.\w+)+)[`(]")
PACKAGE = Path(lessons_kb.__file__).parent


def holds(value, names):
    return not names or (hasattr(value, names[0]) and holds(getattr(value, names[0]), names[1:]))


def is_ours(name):
    """Return whether a name is a file, or is in a module, a brain or the settings.

    Examples are ``brain.py``, ``brain.journal`` and ``check.seconds``.
    """
    if name.endswith(".py"):
        return any(PACKAGE.rglob(name))
    names = name.split(".")
    others = {"brain": lessons_kb.Brain, "check": JudgeSettings}
    found = [holds(DEFAULTS, names), holds(others.get(names[0]), names[1:])]
    for end in range(1, len(names) + 1):
        with contextlib.suppress(ModuleNotFoundError):
            module = importlib.import_module(".".join(["lessons_kb", *names[:end]]))
            found.append(holds(module, names[end:]))
    return any(found)


def test_what_is_named_in_backticks_exists():
    read = [*PAGES, ROOT / "SECURITY.md", ROOT / "pyproject.toml"]
    read += [
        path
        for folder in (PACKAGE, ROOT / "tools", ROOT / "benchmarks")
        for path in folder.rglob("*.py")
    ]
    named = {(path.name, name) for path in read for name in DOTTED.findall(path.read_text("utf-8"))}
    assert len(named) > 10
    assert {(file, name) for file, name in named if not is_ours(name)} == set()


@pytest.mark.parametrize(
    "page",
    sorted(
        [*PACKAGE.glob("data/*.txt"), *PACKAGE.glob("data/*.toml"), *PACKAGE.glob("data/*.csv")]
    ),
    ids=lambda page: page.name,
)
def test_a_table_of_data_says_who_reads_it(page):
    head = page.read_text("utf-8")[:500].replace("\n# ", " ").partition("Read by ")[2]
    for name in re.findall(r"[a-z_]+(?:/[a-z_]+)+\.py", head):
        reader = (PACKAGE / name.removeprefix("lessons_kb/")).read_text("utf-8")
        assert f'"{page.stem}' in reader, name


def test_each_term_of_the_glossary_is_used():
    pages = {page.name: page.read_text("utf-8") for page in PAGES}
    for_users, of_the_code = pages.pop("glossary.md").split("## Further terms of the code")
    code = [path.read_text("utf-8") for path in PACKAGE.rglob("*.py")]
    terms: list[str] = []
    for section, texts in ((for_users, list(pages.values())), (of_the_code, code)):
        for term in re.findall(r"^\*\*(.+?)\*\*", section, re.MULTILINE):
            terms.append(term.lower())
            spelled = re.compile(re.escape(term).replace(r"\ ", "[ _-]"), re.IGNORECASE)
            assert any(map(spelled.search, texts)), f"{term} is explained but never used"
    assert len(terms) == len(set(terms))


def test_the_settings_of_editors_are_what_they_read():
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
