"""Print the setup of a cloud environment, or write it to the project: `install --cloud`."""

from __future__ import annotations

import os

from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.discovery import look
from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import find_project
from lessons_kb.cli.output import print_answer, say
from lessons_kb.errors import InputError
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import is_inside, shown
from lessons_kb.store.foreign_settings import read_settings_file, replace_settings_file
from lessons_kb.text.sanitize import shell_word
from lessons_kb.version import __version__

_MARK = "Written by `lessons install --cloud"
_PASTE = (
    "Paste it into the settings of the environment, and set LESSONS_TRUST_COMMIT or"
    " LESSONS_TRUST_SIGNER there."
)


def _find_brain(project: str) -> str:
    """Return the brain of a project as a word for a shell, relative to the project."""
    roots = [root for root in look(project).trusted if is_inside(root, project)]
    return shell_word(os.path.relpath(roots[0], project)) if roots else os.curdir


def write_cloud_setup(agent: str, *, dry_run: bool) -> None:
    """Print the setup script of an agent's cloud environment, or write the file that it reads."""
    names = tuple(name for name, row in AGENTS.items() if row.cloud_template)
    check_choice("--cloud", agent, names)
    row = AGENTS[agent]
    text = read_template(os.path.join(*row.cloud_template.split("/")))
    values = {"agent": agent, "version": __version__, "brain": _find_brain(find_project())}
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", value)
    if not row.cloud_file or dry_run:
        print(text, end="")
        if not row.cloud_file:
            say(_PASTE)
        return
    path = os.path.join(find_project(), *row.cloud_file.split("/"))
    before = read_settings_file(path)
    if before is not None and _MARK.encode() not in before:
        print(text, end="")
        raise InputError(
            f"{shown(path)} was not written by lessons; add the steps above to it yourself"
        )
    replace_settings_file(path, text.encode(), expected=before)
    print_answer({"path": path}, f"{shown(path)}: written; commit it to the default branch")
