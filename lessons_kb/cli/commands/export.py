"""`lessons export`: print every card, or write rules for agents without hooks."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, Option

from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.options import Output
from lessons_kb.cli.output import say
from lessons_kb.cli.shared_brains import open_shared_brains
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.exchange import FORMATS, OKF, Exchange
from lessons_kb.errors import InputError
from lessons_kb.on_demand import EXPORT_RULES, OKF_BUNDLE, load
from lessons_kb.store.files import write_export
from lessons_kb.text.sanitize import counted, visible

RULES = "rules"


def export(
    form: Annotated[str, Argument(metavar="FORMAT", help="json, jsonl, markdown, rules or okf.")],
    folder: Annotated[
        str | None, Argument(metavar="[DIR]", help="With okf: new folder for the bundle.")
    ] = None,
    output: Output = None,
    agent: Annotated[
        str,
        Option(
            "--for",
            metavar="AGENT",
            help="With rules: claude-code, copilot-cli, cursor, windsurf, agents-md or skill.",
        ),
    ] = "",
    budget: Annotated[
        int,
        Option("--budget", metavar="TOKENS", min=1, help="With rules: maximum number of tokens."),
    ] = 4_000,
    check: Annotated[
        bool,
        Option("--check", help="With rules: write nothing; fail if a file is outdated."),
    ] = False,
) -> None:
    """Print every card, or write rules for agents without hooks.

    `lessons import` reads json and jsonl.
    With `rules`, write a rules file, such as AGENTS.md.
    With `okf`, write cards and notes in the Open Knowledge Format, which `import okf` reads.

    Your own brain is exported only if it is the only one, or if --brain names it.

    Example: lessons export jsonl -o lessons.jsonl
    """
    check_choice("FORMAT", form, (*FORMATS, RULES, OKF))
    if (form == OKF) != (folder is not None):
        raise InputError(f"DIR belongs to {OKF}; run `lessons export {OKF} DIR`")
    if output is not None and form not in FORMATS:
        raise InputError(f"{form} is written to files of its own; leave out -o")
    if form == RULES:
        load(EXPORT_RULES).export_rules(agent, budget, check=check)
        return
    if folder is not None:
        concepts = load(OKF_BUNDLE).write_bundle(open_shared_brains(), folder)
        say(f"{counted(len(concepts), 'concept')} written to {visible(folder)}")
        return
    if agent or check:
        raise InputError(f"--for and --check belong to rules; run `lessons export {RULES}`")
    brains = open_shared_brains()
    lines = Exchange(brains).export(form)
    if output is None:
        for line in lines:
            print(line)
        return
    Cards(brains).check_free(output)
    write_export(output, lines)
    say(f"written to {output}")
