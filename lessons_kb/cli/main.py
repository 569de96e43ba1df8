"""Entry of the ``lessons`` command: global options, commands, and the handling of all errors."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Annotated, Any

import typer
from typer import Option
from typer.core import TyperCommand, TyperGroup

from lessons_kb.cli.command_table import GROUPS, HIDDEN, SUMMARIES, function_name
from lessons_kb.cli.output import Options, at_end, current, discard_output, failures, say, tell
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.on_demand import START_SCREEN, load
from lessons_kb.process.clock import check_clock
from lessons_kb.version import __version__

DEBUG = "LESSONS_DEBUG"
_FLAGS = ("--json", "--no-color")
_WITH_VALUE = ("--brain",)
_RUN, _RUN_OPTIONS = "run", ("--stall", "--session", "--stage")
"""The command that runs other commands, and its options that take a value."""
_SETUP = "setup"
_OPTIONAL_VALUE = ("--diff", "--from-session", "--with")

_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""An OSError with one of these codes and without a file name is about standard output."""


class _Command(TyperCommand):
    """A command whose help has the example on one line, so that it can be copied."""

    def format_help_text(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 typer passes it
        about, heading, example = (self.help or "").partition("Example: ")
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(about.strip())
            if example:
                indent = " " * formatter.current_indent
                formatter.write(f"\n{indent}{heading}{' '.join(example.split())}\n")


class _Commands(TyperGroup):
    """The commands under the headings of GROUPS. Each is imported when it is called."""

    def __init__(self, **attributes: Any) -> None:
        commands = {
            name: TyperCommand(name, help=summary, hidden=name in HIDDEN)
            for name, summary in SUMMARIES.items()
        }
        super().__init__(**{**attributes, "commands": commands})
        self._completing = False

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Complete the name of a command from the table, without importing any command."""
        self._completing = True
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self._completing = False

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002 typer passes it
        if cmd_name not in SUMMARIES:
            return None
        if self._completing:
            return self.commands[cmd_name]
        return build_command(cmd_name)

    def get_params(self, ctx: Any) -> Any:
        """Return the options. The completion options of typer are former names of a command."""
        params: list[Any] = super().get_params(ctx)
        for param in params:
            if param.name in ("install_completion", "show_completion"):
                param.hidden = True
        return params

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 typer passes it
        width = max(len(name) for name in SUMMARIES if name not in HIDDEN)
        for heading, names in GROUPS.items():
            rows = []
            for name in names:
                if name not in HIDDEN:
                    summary = self.commands[name].get_short_help_str(formatter.width - 6 - width)
                    rows.append((name.ljust(width), summary))
            with formatter.section(heading):
                formatter.write_dl(rows)


@cache
def build_command(name: str) -> Any:
    """Import the module of a command and return the command."""
    program = typer.Typer(add_completion=False, rich_markup_mode=None)
    program.command(name, cls=_Command, hidden=name in HIDDEN)(load_command(name))
    return typer.main.get_command(program)


def load_command(name: str) -> Callable[..., None]:
    """Import the module of a command and return its function."""
    function = function_name(name)
    module = import_module(f"lessons_kb.cli.commands.{function}")
    command: Callable[..., None] = getattr(module, function)
    return command


def _print_version(requested: bool) -> None:
    if requested:
        print(f"lessons {__version__}")
        raise typer.Exit


app = typer.Typer(
    name="lessons",
    cls=_Commands,
    help="Keep coding agents from repeating mistakes: a knowledge base of lesson cards.",
    epilog="Example: lessons init lessons-brain && lessons add 'Charged twice'",
    invoke_without_command=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def _global_options(
    ctx: typer.Context,
    brain: Annotated[
        list[str] | None, Option("--brain", metavar="DIR", help="Brain to use; repeatable.")
    ] = None,
    json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
    no_color: Annotated[bool, Option("--no-color", help="Print without colours.")] = False,
    _version: Annotated[
        bool, Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    current.set(Options(brains=tuple(brain or ()), json=json, no_color=no_color))
    try:
        os.getcwd()
    except OSError as error:
        problem = f"the working directory cannot be used: {error.strerror}"
        raise InputError(f"{problem}; change to a folder that exists") from None
    if ctx.invoked_subcommand is None:
        load(START_SCREEN).show_state()


def main() -> None:
    """Run the command line and exit: 0 for success, 1 for findings, 2 for an error in one line."""
    # Cards may contain any script. A terminal with another encoding gets escapes.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    failures.clear()
    try:
        code = _run(_rename_words(hoist_options(sys.argv[1:])))
    finally:
        at_end.close()
    sys.exit(code)


_FORMER_WORDS = {
    "--install-completion": ("completion", "install"),
    "--show-completion": ("completion", "show"),
}
"""Maps former words to the command that replaced them. They work for one more release."""


def _rename_words(arguments: list[str]) -> list[str]:
    """Replace the first word if it is a former name of a command."""
    first = arguments[0] if arguments else ""
    if first not in _FORMER_WORDS:
        return arguments
    return [*_FORMER_WORDS[first], *arguments[1:]]


def hoist_options(arguments: list[str]) -> list[str]:
    """Move global options to the front, so that a user may write them after the command's name.

    Words after ``--`` and the command that ``lessons run`` executes stay in place. An option with
    an optional value gets an empty value if the user gave none.
    """
    front: list[str] = []
    rest: list[str] = []
    queue = list(arguments)
    while queue:
        word = queue.pop(0)
        if word == "--":
            rest += [word, *queue]
            break
        if rest[:1] == [_RUN] and not word.startswith("-"):
            if rest[-1] not in _RUN_OPTIONS:
                rest += ["--", word, *queue]
                break
            rest.append(word)
        elif word in _FLAGS or word.startswith(tuple(f"{name}=" for name in _WITH_VALUE)):
            front.append(word)
        elif word in _WITH_VALUE:
            front += [word, *queue[:1]]
            del queue[:1]
        elif rest[:1] == [_SETUP]:  # its --diff is a flag
            rest.append(word)
        elif word in _OPTIONAL_VALUE and (not queue or queue[0].startswith("-")):
            rest.append(f"{word}=")
        else:
            rest.append(word)
    return front + rest


def _run(arguments: list[str]) -> int:
    try:
        check_clock()
        status = app(arguments, prog_name="lessons", standalone_mode=False)
        sys.stdout.flush()
    except (typer.Abort, KeyboardInterrupt):
        tell("lessons: interrupted")
        return 130
    except typer.TyperException as error:  # a wrong command line
        context = getattr(error, "ctx", None)
        command = context.command_path if context else _find_command(arguments)
        message = error.format_message().rstrip(".").replace("Input should be", "it must be")
        return _fail(f"{message}; see `{command} --help`")
    except (BrokenPipeError, SystemExit) as stop:  # typer turns the first into the second
        if isinstance(stop, SystemExit) and not isinstance(stop.__context__, BrokenPipeError):
            raise
        discard_output(sys.stdout)  # the reader of the pipe has closed it
        return 0
    except LessonsError as error:
        return _fail(str(error))
    except Exception as error:  # a user cannot act on a traceback
        if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
            discard_output(sys.stdout)
            return _fail(f"the answer could not be written: {error.strerror}; send it elsewhere")
        if os.environ.get(DEBUG):
            raise
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
        return _fail(f"internal error: {problem}; run again with {DEBUG}=1 for the traceback")
    return status if isinstance(status, int) else 0


def _find_command(arguments: list[str]) -> str:
    """Return the command of a command line, such as ``lessons review``.

    An error of the option parser, such as an option without its argument, does not name it.
    """
    words = iter(arguments)
    for word in words:
        if word in _WITH_VALUE:
            next(words, None)
        elif word in SUMMARIES:
            return f"lessons {word}"
        elif word not in _FLAGS:
            break
    return "lessons"


def _fail(message: str) -> int:
    failures.append(message)
    say(" ".join(map(str.strip, message.splitlines())))
    return 2


if __name__ == "__main__":
    main()
