"""The command daemon: run, inspect or stop the process that answers hooks."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import check_choice, options, print_json

ACTIONS = ("run", "status", "stop")


def register(app: typer.Typer) -> None:
    """Add this noun's commands."""
    app.command("daemon")(daemon)


def daemon(
    action: Annotated[str, typer.Argument(help="run (here, until idle), status or stop.")] = "run",
) -> None:
    """Run, inspect or stop the process that answers hooks; the first hook starts it by itself.

    Example: lessons daemon status
    """
    from lessons_kb.service import daemon_state
    from lessons_kb.service.daemon import STATUS, STOP, serve

    check_choice("ACTION", action, ACTIONS)
    if action == "run":
        if daemon_state.ask_daemon(STATUS) is not None:
            print("a daemon is running; `lessons daemon status` shows it")
            return
        raise typer.Exit(serve())
    answer = daemon_state.ask_daemon(STATUS if action == "status" else STOP)
    if options().json:
        print_json(answer)
    elif answer is None:
        print("no daemon is running; the next hook starts one")
    elif action == "stop":
        print("the daemon has been asked to stop")
    else:
        print(daemon_state.describe(answer))
