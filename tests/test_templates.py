"""The templates are what `create` and `init` write: they must be whole, valid and up to date."""

import re

import frontmatter
import pytest

from lessons_kb import Brain
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.parse import parse_card
from lessons_kb.config import DEFAULTS, KNOWN_FOLDERS, flat_settings, parse_settings
from lessons_kb.model import KINDS
from tests.kit import ROOT

TEMPLATES = ROOT / "templates"
SETTINGS = (TEMPLATES / "all-settings.toml").read_text(encoding="utf-8")
KEY_LINE = re.compile(r'#(?P<key>"[^"]+"|\w+) = (?P<rest>.*)')
HEADER_KEYS = [
    "type", "title", "applies-to", "project", "stage", "paths", "symptoms",
    "severity", "source", "status", "occurrences", "created",
]  # fmt: skip
SECTIONS = ["Situation", "Mistake / Risk", "Root Cause", "Fix", "Prevention Checklist"]


def uncommented():
    return re.sub(r'^#(?=(?:"[^"]+"|\w+) = )', "", SETTINGS, flags=re.MULTILINE)


def test_settings_hold_every_key_at_its_default_in_the_order_of_the_classes():
    assert parse_settings(SETTINGS) == (DEFAULTS, {})
    shown, origins = parse_settings(uncommented())
    assert flat_settings(shown) == flat_settings(DEFAULTS)
    assert shown.folders == KNOWN_FOLDERS
    lines = [int(origins[key].rpartition(":")[2]) for key in flat_settings(DEFAULTS)]
    assert lines == sorted(lines)


def test_each_setting_is_explained_on_its_line():
    keys = [line for line in SETTINGS.splitlines() if KEY_LINE.match(line)]
    assert len(keys) == len(flat_settings(DEFAULTS))
    assert [line for line in keys if not re.search(r"  # [A-Z\"].*\.$", line)] == []


def test_a_new_file_of_settings_has_five_lines_and_all_defaults():
    text = (TEMPLATES / "lessons.toml").read_text("utf-8")
    assert len(text.splitlines()) == 5
    settings, origins = parse_settings(text)
    assert (settings, list(origins)) == (DEFAULTS, ["notes"])


@pytest.mark.parametrize("kind", KINDS)
def test_card_template_has_every_key_and_section(kind):
    text = (TEMPLATES / f"{kind}.md").read_text(encoding="utf-8")
    header, body = frontmatter.parse(text)
    assert list(header) == HEADER_KEYS
    assert header["type"] == kind
    assert header["status"] == "active"
    assert re.findall(r"^## (.+)$", body, re.MULTILINE) == SECTIONS
    # Guidance must never reach an index or an agent, so it all stands in HTML comments.
    left = re.sub(r"<!--.*?-->", "", body, flags=re.DOTALL)
    assert [line for line in left.split("\n") if line.strip() and not line.startswith("## ")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_new_card_lacks_only_what_its_author_must_write(kind, tmp_path):
    (tmp_path / "lessons.toml").touch()
    with Brain.open(tmp_path) as brain:
        text = (tmp_path / brain.create("Orders lost: a queue", kind=kind).id).read_text()
    document = parse_card(text, path=f"{kind}s/new.md", folders=KNOWN_FOLDERS)
    assert document.card
    assert document.card.title == "Orders lost: a queue"
    rules = {finding.rule for finding in check_card(document)}
    assert rules == {"no-checklist", "no-cause", "no-symptoms"}


@pytest.mark.parametrize("kind", KINDS)
def test_guidance_is_never_indexed_or_shown(kind):
    text = (TEMPLATES / f"{kind}.md").read_text(encoding="utf-8")
    document = parse_card(text, path=f"{kind}s/new.md", folders=KNOWN_FOLDERS)
    assert document.card
    assert document.card.why == ""
    guidance = set(re.findall(r"\w+", " ".join(re.findall(r"<!--.*?-->", text, re.DOTALL))))
    shown = set(re.findall(r"\w+", " ".join(document.fields.values())))
    assert guidance & shown <= set(re.findall(r"\w+", " ".join([document.card.title, *SECTIONS])))


def test_commands_take_no_way_of_installing_for_granted():
    found = [path for path in TEMPLATES.rglob("*") if path.suffix in (".md", ".toml")]
    texts = {path: path.read_text(encoding="utf-8") for path in found}
    commands = {path: text for path, text in texts.items() if "If the command is not found" in text}
    assert len(commands) == 7
    assert [path for path, text in commands.items() if "pip install" in text] == []
