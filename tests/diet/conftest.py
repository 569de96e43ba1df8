"""A project with rules files and a brain of its own."""

import pytest

from tests import kit
from tests.cli.conftest import writer

RULES = (
    "# Guide\n\n- Answer in English\n\n## Payments\n\n"
    "- When you change `src/pay.ts`, keep amounts integers in cents and never store a float there\n"
    "- When you change `src/tax.ts`, round once, at the very end of the whole calculation, half up\n"
    "- When committing, name the package in the subject, such as `feat(core): add a currency`\n"
    "- ALWAYS use semantic commits\n"
)
__all__ = ["writer"]
MOVED = ("keep amounts integers", "round once, at the very end", "name the package in the subject")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A repository whose AGENTS.md has three rules that can move and two that cannot."""
    root = tmp_path / "shop"
    files = {f"docs/{number}.txt": "x\n" for number in range(9)}
    kit.commit(
        root,
        **{
            "AGENTS.md": RULES,
            "src/pay.ts": "1\n",
            "src/tax.ts": "1\n",
            "lessons.toml": "",
            **files,
        },
    )
    kit.trust_brain(str(root))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def diet(lessons):
    """Run `lessons diet`, whatever agents read the files."""
    return lambda *words: lessons("diet", *words, "--yes-without-hooks")


def cards_of(root):
    """Return the texts of the cards of a diet."""
    return [path.read_text() for path in sorted(root.rglob("lessons/*.md"))]


def count_rule(root, rule, name="AGENTS.md"):
    """Return how often a rule stands in its file and in cards together."""
    file = root / name
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    # A card repeats a rule in its title, so whole cards are counted.
    return text.count(rule) + sum(rule in card for card in cards_of(root))
