"""Options and functions that several commands share: open the brains, read the input."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer
from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.brain.discovery import (
    Discovery,
    describe_unclaimed,
    describe_untrusted,
    find_untrusted_below,
    look,
)
from lessons_kb.cli.declare import choose
from lessons_kb.cli.output import at_end, failures, options, say
from lessons_kb.errors import InputError, LessonsError, Untrusted
from lessons_kb.on_demand import COMPLETE_IDS, load
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import find_brains, git_top
from lessons_kb.text.comma_list import split_commas
from lessons_kb.text.sanitize import counted, shell_word

FORMATS = ("text", "json", "sarif", "github")
FAIL_ON = {
    "error": ("error",),
    "warning": ("error", "warning"),
    "info": ("error", "warning", "info"),
    "never": (),
}
"""Maps a value of ``--fail-on`` to the levels that make the command exit with 1.

A card of high severity is an error, a card of medium severity is a warning, and a card of low
severity is info.
"""
FAIL_ON_HELP = f"Exit 1 from this level on: {', '.join(FAIL_ON)}."
_ID_HELP = "Path or slug of a card, or its beginning."


def complete_ids(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Return the names and titles of the cards, for the completion of a shell."""
    names: list[tuple[str, str]] = load(COMPLETE_IDS).list_ids(ctx, incomplete)
    return names


CardId = Annotated[str, Argument(metavar="ID", help=_ID_HELP, autocompletion=complete_ids)]
OptionalId = Annotated[
    str | None, Argument(metavar="[ID]", help=_ID_HELP, autocompletion=complete_ids)
]
Ids = Annotated[list[str], Argument(metavar="ID...", help=_ID_HELP, autocompletion=complete_ids)]
OptionalIds = Annotated[
    list[str] | None, Argument(metavar="ID...", help=_ID_HELP, autocompletion=complete_ids)
]
Paths = Annotated[
    list[str] | None,
    Option("--path", metavar="FILE", help="File being worked on; repeatable."),
]
Revision = Annotated[
    str | None,
    Option(
        "--diff", metavar="[REV]", help="Use the diff against REV; default: uncommitted changes."
    ),
]
Stage = Annotated[
    str | None, Option("--stage", metavar="STAGE", help="Workflow stage, such as DEV.")
]
Output = Annotated[
    str | None,
    Option("--output", "-o", metavar="FILE", help="File to write."),
]
Verbose = Annotated[bool, Option("--verbose", "-v", help="Print the complete list.")]
DryRun = Annotated[bool, Option("--dry-run", help="Show the changes without making them.")]
Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask for confirmation.")]
WithAgent = Annotated[
    str | None,
    Option(
        "--with",
        metavar="[AGENT]",
        help="Let an agent complete drafts or find contradictions: claude, codex, gemini, "
        "opencode, copilot, or a command that reads a prompt on stdin.",
    ),
]
ShowPrompt = Annotated[bool, Option("--show-prompt", help="Print the prompts, but send nothing.")]
Session = Annotated[
    str | None,
    Option("--session", metavar="SESSION", help="Take this session's injections into account."),
]
OnlyStage = Annotated[
    str | None, Option("--stage", metavar="STAGE", help="Only cards of this stage.")
]
OnlyProject = Annotated[
    str | None, Option("--project", metavar="PROJECT", help="Only cards of this project.")
]
ForProject = Annotated[
    str | None, Option("--project", metavar="PROJECT", help="Limit the card to this project.")
]
Tags = Annotated[
    list[str] | None,
    Option("--tags", metavar="TAGS", help="Topics, separated by commas; repeatable."),
]
Host = Annotated[
    str,
    Option(
        "--host",
        metavar="HOST",
        help="Address to listen on; any but loopback needs tokens.",
    ),
]
Port = Annotated[int, Option("--port", metavar="PORT", min=0, max=65535, help="Port to listen on.")]
Format = Annotated[
    str,
    choose("--format", FORMATS, metavar="FORMAT", help=f"One of {', '.join(FORMATS)}."),
]
FailOn = Annotated[
    str,
    choose(
        "--fail-on",
        tuple(FAIL_ON),
        metavar="LEVEL",
        help=FAIL_ON_HELP,
    ),
]

FAULT = "fault"
"""The value of ``lint --fail-on`` for every finding that is not advice."""
LINT_FAIL_ON = (*FAIL_ON, FAULT)


def check_folder(option: str, name: str) -> None:
    """Raise InputError if the name is the name of a file, because a brain is a folder."""
    if os.path.isfile(name):
        folder = os.path.dirname(name) or "."
        if brains := find_brains(os.path.realpath(folder)):
            folder = os.path.relpath(brains[0])
        raise InputError(f"{option} {name} is a file; give the folder of a brain, such as {folder}")


def find_project() -> str:
    """Return the top folder of the git repository, or the working directory outside of one."""
    here = os.path.realpath(os.getcwd())
    return git_top(here) or here


def split_list(text: str) -> tuple[str, ...]:
    """Split a list at its commas."""
    return tuple(split_commas(text))


def split_lists(texts: Iterable[str] | None) -> tuple[str, ...]:
    """Split the values of a repeated option at their commas."""
    return tuple(part for text in texts or () for part in split_list(text))


def open_brain(
    discovery: Discovery | None = None,
    *,
    for_new_card: bool = False,
    for_trial: bool = False,
    for_one: str = "",
    hints: bool = True,
) -> Brains:
    """Open the brains that ``--brain`` names, or else those that apply to the working directory.

    Brains without trust are left out, and one line on stderr reports it. All brains are closed when
    the command ends. A line on stderr then names the folders in them that were not read.
    ``discovery`` is the result of ``look`` for the working directory, if the command has it. With
    ``for_new_card`` or ``for_trial``, Untrusted is raised if the command would use the user's own
    brain only because the brain of the project is not trusted. With ``for_new_card``, InputError is
    raised if the project has several brains and none of them is nearest; also with ``for_one``, a
    verb such as ``"pushed"`` for the message. Without ``hints``, the brains that do not apply are
    not reported.
    """
    for name in options().brains:
        check_folder("--brain", name)
    untrusted: Sequence[str] = ()
    if options().brains:
        brains = Brains.open(*options().brains)
    else:
        here = os.getcwd()
        discovery = discovery or look(here)
        untrusted = discovery.untrusted
        brains = Brains.discover(here, found=discovery)
        done = "written" if for_new_card else for_one
        if done and discovery.peers:
            raise InputError(_describe_peers(discovery.peers, done))
        own = os.path.realpath(user_brain())
        only_user_brain = list(discovery.trusted) == [own]
        is_for_project = (for_new_card or for_trial) and only_user_brain
        if is_for_project and (untrusted or find_untrusted_below(here)):
            reason = describe_unclaimed(here)
            if untrusted:
                reason = describe_untrusted(untrusted, discovery.named)
            other = f"`--brain {shell_word(own)}` uses your own brain"
            raise Untrusted(f"nothing was {done or 'run'}: {reason}; {other}")
        if untrusted and hints:
            say(describe_untrusted(untrusted, discovery.named))
        elif only_user_brain and hints:
            hint = describe_unclaimed(here)
            if hint:
                say(hint)
    at_end.callback(close_brains, brains, untrusted)
    return brains


def _describe_peers(roots: Sequence[str], done: str) -> str:
    """Return an error that names several brains, one of which the user must choose."""
    names = [shell_word(os.path.relpath(root)) for root in roots]
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    return (
        f"nothing was {done}: this repository has {len(names)} brains, {listed}; choose one with "
        f"`--brain {names[0]}`"
    )


def advise_add(discovery: Discovery | None = None) -> str:
    """Return a command that writes a card here. It names a brain if the user must choose one.

    ``discovery`` is the result of ``look`` for the working directory, if the command has it.
    """
    named = options().brains[:1]
    if not named:
        peers = (discovery or look(os.getcwd())).peers
        named = tuple(os.path.relpath(root) for root in peers[:1])
    option = f" --brain {shell_word(named[0])}" if named else ""
    return f'lessons{option} add "what went wrong"'


def close_brains(brains: Brains, reported: Sequence[str]) -> None:
    """Close the brains, and name the folders in them that were not read, unless ``reported``."""
    for brain in brains.members:
        if brain.fault and not failures:
            say(f"{brain.alias}: used the previous index, because {brain.fault}")
        with contextlib.suppress(LessonsError):  # the command has reported this error
            if beyond := brain.describe_unindexed():
                say(beyond)
    skipped = [os.path.join(brain.root, path) for brain in brains.members for path in brain.silent]
    brains.close()
    unreported = [path for path in dict.fromkeys(skipped) if path not in reported]
    if unreported:
        first, *others = unreported
        more = f" and {counted(len(others), 'other folder')}" if others else ""
        inside = f"{os.path.realpath(os.curdir)}{os.sep}".startswith(first + os.sep)
        shown = first if inside else os.path.relpath(first)
        say(
            f"skipped {shown}{more}: not trusted (a separate repository or brain); "
            f"`lessons trust {shell_word(shown)}` trusts it"
        )


def say_stale(brains: Brains) -> None:
    """Name each brain for which an older index was used, and the reason."""
    for brain in brains.members:
        if brain.stale and not brain.fault:  # a fault is reported when the command ends
            say(f"{brain.alias}: used the previous index, because {brain.stale}")


def read_text(words: Sequence[str], *, what: str) -> str:
    """Join the words of an argument. Without words, or for a single ``-``, read stdin.

    ``what`` names the text in the error message.
    """
    if words and list(words) != ["-"]:
        return " ".join(words)
    if sys.stdin.isatty():
        raise InputError(f"{what} missing; pass it as an argument or on stdin")
    return sys.stdin.buffer.read().decode("utf-8", "replace")


def read_file(name: str) -> str:
    """Return the text of a file that the user named. Bytes that are not UTF-8 are replaced."""
    try:
        with open(name, "rb") as file:
            return file.read().decode("utf-8", "replace")
    except OSError as error:
        raise InputError(f"cannot read {name}: {error.strerror}; give a readable file") from None


def relative_path(path: str) -> str:
    """Return ``path`` with slashes, relative to the working directory if it is below it."""
    here = os.getcwd()
    inside = path.startswith(here + os.sep)
    return (os.path.relpath(path, here) if inside else path).replace(os.sep, "/")
