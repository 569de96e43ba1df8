"""Entry of the ``lessons`` command: global options, commands, the one boundary for errors."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from lessons_kb.cli.options import Options, close_brains, discard_output, set_options, tell
from lessons_kb.errors import LessonsError
from lessons_kb.text.sanitize import visible
from lessons_kb.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    app: typer.Typer

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Every day": {
        "add": "create:add",
        "create": "create:create",
        "edit": "create:edit",
        "list": "read_cards:list_cards",
        "show": "read_cards:show",
        "search": "read_cards:search",
        "preflight": "preflight:preflight",
        "check": "findings:check",
        "why": "why:why",
        "review": "review:review",
        "bump": "card_commands:bump",
        "mark": "why:mark",
        "manage": "manage:manage",
    },
    "Setup": {
        "init": "init:init",
        "trust": "init:trust",
        "mine": "mine:mine",
        "import": "import_export:import_cards",
        "install": "install:install",
        "uninstall": "install:uninstall",
        "config": "init:config",
        "doctor": "doctor:doctor",
    },
    "Upkeep": {
        "rename": "card_commands:rename",
        "lint": "findings:lint",
        "detect": "findings:detect",
        "stats": "reports:stats",
        "report": "reports:report",
        "eval": "reports:evaluate",
        "ignore": "card_commands:ignore",
        "archive": "card_commands:archive",
        "delete": "card_commands:delete",
        "restore": "card_commands:restore",
        "export": "import_export:export",
        "index": "index:index",
        "watch": "index:watch",
        "sync": "index:sync",
    },
    "For programs": {
        "run": "events:run",
        "events": "events:events",
        "mcp": "serve:mcp",
        "serve": "serve:serve",
        "lsp": "serve:lsp",
        "daemon": "serve:daemon",
        "merge-driver": "entry:merge_driver",
    },
}
"""Heading of the help → command → "FILE:FUNCTION" of this package."""
COMMANDS: Mapping[str, str] = {
    name: file for commands in GROUPS.values() for name, file in commands.items()
}
_HIDDEN = ("merge-driver",)
"""Commands that only other programs call."""
_COMPLETING = "_LESSONS_COMPLETE"
"""A shell asks through this variable which words fit."""
DEBUG = "LESSONS_DEBUG"
_FLAGS = ("--json", "--no-color")
_WITH_VALUE = ("--brain",)
_RUNS_COMMANDS, _ITS_VALUED = "run", ("--stall", "--session", "--stage")
_OPTIONAL_VALUE = ("--diff", "--from-session")

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What says, where no file is named, that standard output takes no more."""

_UsageError: type[typer.BadParameter] = typer.BadParameter.__bases__[0]
"""Root of what a wrong command line raises; typer does not export it."""


class _Grouped(TyperGroup):
    """The commands under the headings of GROUPS."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 typer passes it
        width = max(len(name) for name in COMMANDS if name not in _HIDDEN)
        for heading, names in GROUPS.items():
            found = [(name, self.commands.get(name)) for name in names]
            shown = [(name, command) for name, command in found if command and not command.hidden]
            limit = formatter.width - 6 - width
            rows = [(name.ljust(width), one.get_short_help_str(limit)) for name, one in shown]
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)


def _print_version(asked: bool) -> None:
    if asked:
        print(f"lessons {__version__}")
        raise typer.Exit


def _global_options(
    brain: Annotated[
        list[str] | None,
        typer.Option("--brain", metavar="DIR", help="Brain to use; repeatable."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    no_color: Annotated[bool, typer.Option("--no-color", help="Print without colours.")] = False,
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    set_options(Options(brains=tuple(brain or ()), json=json, no_color=no_color))


def build_app(only: str = "") -> typer.Typer:
    """Return the command line: whole, or with ``only`` one command, which starts sooner."""
    made = typer.Typer(
        name="lessons",
        cls=_Grouped,
        help="Keep coding agents from repeating mistakes: a knowledge base of lesson cards.",
        epilog="Example: lessons init && lessons add 'Retried without an idempotency key'",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    made.callback()(_global_options)
    for name in [only] if only else COMMANDS:
        file, function = COMMANDS[name].split(":")
        module = import_module(f"lessons_kb.cli.{file}")
        made.command(name, hidden=name in _HIDDEN)(getattr(module, function))
    return made


def __getattr__(name: str) -> object:
    if name != "app":
        raise AttributeError(name)
    return build_app()


def main() -> None:
    """Run the command line and exit: 0 done, 1 findings, 2 an error in one line."""
    # Cards hold any script; a terminal of another encoding gets marks instead of a crash.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        front, rest = _hoisted(sys.argv[1:])
        named = rest[0] if rest and _COMPLETING not in os.environ else ""
        code = _run(build_app(named if named in COMMANDS else ""), [*front, *rest] or ["--help"])
    finally:
        close_brains()
    sys.exit(code)


def hoist_options(arguments: list[str]) -> list[str]:
    """Move global options to the front, so that they may stand behind the command's name too.

    What follows ``--``, or the name of a command that ``lessons run`` is given, stays. An option
    whose value may be left out gets an empty one.
    """
    front, rest = _hoisted(arguments)
    return front + rest


def _hoisted(arguments: list[str]) -> tuple[list[str], list[str]]:
    front: list[str] = []
    rest: list[str] = []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += [word, *queue]
            break
        if rest[:1] == [_RUNS_COMMANDS] and not word.startswith("-"):
            if rest[-1] not in _ITS_VALUED:
                rest += ["--", word, *queue]
                break
            rest.append(word)
            continue
        name, _, _value = word.partition("=")
        if word in _FLAGS or (name in _WITH_VALUE and "=" in word):
            front.append(word)
        elif word in _WITH_VALUE:
            front += [word, *queue[:1]]
            del queue[:1]
        elif word in _OPTIONAL_VALUE and (not queue or queue[0].startswith("-")):
            rest.append(f"{word}=")
        else:
            rest.append(word)
    return front, rest


def _run(app: typer.Typer, arguments: list[str]) -> int:
    try:
        try:
            status = app(arguments, prog_name="lessons", standalone_mode=False)
        except typer.Exit as stop:
            status = int(stop.exit_code)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        tell("lessons: interrupted")
        return 130
    except _UsageError as error:
        command = error.ctx.command_path if error.ctx else "lessons"
        return _fail(f"{error.format_message().rstrip('.')}; see `{command} --help`")
    except BrokenPipeError:
        return _reader_has_gone()
    except SystemExit as stop:  # what typer makes of a pipe that its reader closed
        if isinstance(stop.__context__, BrokenPipeError):
            return _reader_has_gone()
        raise
    except LessonsError as error:
        return _fail(str(error))
    except Exception as error:
        if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
            discard_output(sys.stdout)
            return _fail(f"the answer could not be written: {error.strerror}; send it elsewhere")
        if os.environ.get(DEBUG):
            raise
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        return _fail(f"internal error: {what}; run again with {DEBUG}=1 for the traceback")
    return status if isinstance(status, int) else 0


def _reader_has_gone() -> int:
    """End well: the reader has seen enough. Keeps the interpreter from complaining at its end."""
    discard_output(sys.stdout)
    return 0


def _fail(message: str) -> int:

    line = " ".join(map(str.strip, message.splitlines()))
    tell(f"lessons: {visible(line)}")
    return 2


if __name__ == "__main__":
    main()
