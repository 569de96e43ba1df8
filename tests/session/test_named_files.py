"""Block, offer and gate name a card by the path that opens it from the session's folder."""

import re

import pytest

from tests.kit import Claude, commit, make_brain, write
from tests.sessions import MIGRATION, TELEGRAM

PROMPTS = (
    "Add a Telegram command that runs a shell script",
    "Drop the old name field from the users table",
)
GATED = """\
---
type: lesson
title: The bot was started twice
paths: [bot/run.py]
gate: once
---

## Prevention Checklist

- [ ] Take the lock before the first update
"""


@pytest.fixture
def project(tmp_path):
    """A repository whose brain is in docs/brain."""
    root = tmp_path / "project"
    commit(root, **{"bot/run.py": "1\n"})
    make_brain(str(root / "docs" / "brain"))
    for name, text in (("telegram", TELEGRAM), ("column", MIGRATION), ("twice", GATED)):
        write(root, f"docs/brain/lessons/{name}.md", text)
    return root


def test_each_text_names_the_file_by_its_path_from_the_session(project):
    session = Claude(project)
    given, offered = (session.prompt(text, at).context for at, text in enumerate(PROMPTS, 1))
    assert "[ACTIVE LESSONS" in given
    assert "· docs/brain/lessons/telegram.md)" in given
    assert "docs/brain/lessons/column.md" in offered
    edit = {"file_path": str(project / "bot/run.py"), "old_string": "1", "new_string": "2"}
    refused = session.call("Pre", "Edit", edit)
    named = re.findall(r"[\w/.-]*lessons/\w+\.md", f"{given}{offered}{refused}")
    assert {name.rpartition("/")[0] for name in named} == {"docs/brain/lessons"}
    assert all((project / name).is_file() for name in named)


def test_in_a_subfolder_the_path_is_absolute(project):
    session = Claude(project)
    context = session.say("UserPromptSubmit", prompt=PROMPTS[0], cwd=str(project / "bot")).context
    assert f"· {project.resolve()}/docs/brain/lessons/telegram.md)" in context
