"""`lessons completion`: complete commands, options and card ids in the user's shell."""

from __future__ import annotations

import os
from typing import Annotated

from typer import Argument

from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.install_completion import (
    SHELLS,
    Change,
    install_completion,
    read_script,
    remove_completion,
)
from lessons_kb.cli.output import options, print_answer, print_json
from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import visible

_ACTIONS = ("install", "show", "remove")


def completion(
    action: Annotated[
        str,
        Argument(metavar="ACTION", help="install, show or remove; a shell prints its script."),
    ],
    shell: Annotated[
        str | None,
        Argument(metavar="SHELL", help=f"{', '.join(SHELLS)}; default: your login shell."),
    ] = None,
) -> None:
    """Complete commands, options and card ids in your shell.

    `install` also adds a line to the start file of bash or zsh.

    Example: lessons completion install
    """
    if action in SHELLS and shell is None:  # as other programs do
        action, shell = "show", action
    check_choice("ACTION", action, _ACTIONS if shell else (*_ACTIONS, *SHELLS))
    check_choice("SHELL", shell, tuple(SHELLS))
    if action == "remove":
        _print_changes(remove_completion(), "There is no completion to remove.")
        return
    name = shell or os.path.basename(os.environ.get("SHELL", ""))
    if name not in SHELLS:
        known = ", ".join(f"`lessons completion {action} {shell}`" for shell in SHELLS)
        raise InputError(f"your shell is unknown; run {known}")
    if action == "show":
        script = read_script(name)
        print_answer({"shell": name, "script": script}, "") if options().json else print(script)
        return
    _print_changes(install_completion(name), "Already installed.")


def _print_changes(changes: list[Change], nothing: str) -> None:
    if options().json:
        print_json([change._asdict() for change in changes])
        return
    lines = [f"{change.action} {visible(change.path)}" for change in changes]
    if any(change.action == "wrote" for change in changes):
        lines.append("It takes effect in the next shell; `lessons completion remove` undoes it.")
    print("\n".join(lines) or nothing)
