"""`lessons trust`: allow the cards of a brain to reach agents."""

from __future__ import annotations

import os
from typing import Annotated

from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.make_brain import trust_brain
from lessons_kb.cli.output import options, print_answer
from lessons_kb.cli.path_trust import say_goes_by_path
from lessons_kb.collection.lookup import CardLookup
from lessons_kb.errors import InputError
from lessons_kb.on_demand import PIN_CARDS, load
from lessons_kb.text.sanitize import clean_line, counted, visible

_SHOWN = 20
"""The maximum number of titles that the command prints."""


def trust(
    folder: Annotated[
        str, Argument(metavar="DIR", help="Folder of the brain; default: this one.")
    ] = ".",
    revoke: Annotated[bool, Option("--revoke", help="Revoke the trust in the brain.")] = False,
    from_environment: Annotated[
        bool,
        Option(
            "--from-environment",
            help="In containers: trust LESSONS_TRUST_COMMIT or LESSONS_TRUST_SIGNER.",
        ),
    ] = False,
) -> None:
    """Allow the cards of a brain to reach your agents.

    A brain in a cloned repository is not used until you trust it. Read its cards first: your
    agents will see them.

    Example: lessons trust docs/brain
    """
    named = options().brains
    if named and folder == os.curdir:
        if len(named) > 1:
            raise InputError(f"trust takes one brain, not {' and '.join(named)}; name one folder")
        folder = named[0]
    if from_environment:
        if revoke:
            raise InputError("--revoke and --from-environment exclude each other; choose one")
        load(PIN_CARDS).pin_and_report(folder)
        return
    root = trust_brain(folder, revoke=revoke)
    if revoke:
        print_answer({"brain": root, "trusted": False}, f"{visible(root)} is no longer trusted")
        return
    with Brains.open(root) as brains:
        titles = [clean_line(card.title) for card in CardLookup(brains).all()]
    lines = [f"{visible(root)} is now trusted, with {counted(len(titles), 'card')}"]
    if titles:
        lines[0] += ":"
    lines += [f"  {title}" for title in titles[:_SHOWN]]
    if titles[_SHOWN:]:
        lines.append(f"  and {len(titles) - _SHOWN} more; `lessons list --all` shows all")
    print_answer({"brain": root, "trusted": True, "cards": titles}, *lines)
    say_goes_by_path(root)
