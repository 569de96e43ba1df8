"""The command daemon: run, inspect or stop the process that answers hooks."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import check_choice, options, print_json

ACTIONS = ("run", "status", "stop")


def daemon(
    action: Annotated[str, typer.Argument(help="run (in the foreground), status or stop.")] = "run",
) -> None:
    """Run, inspect or stop the process that answers hooks.

    The first hook starts it; it ends after 15 idle minutes.

    Example: lessons daemon status
    """
    from lessons_kb.service import start_daemon
    from lessons_kb.service.daemon import STATUS, STOP, serve

    check_choice("ACTION", action, ACTIONS)
    if action == "run":
        if start_daemon.ask_daemon(STATUS) is not None:
            print("the daemon is already running; see `lessons daemon status`")
            return
        raise typer.Exit(serve())
    answer = start_daemon.ask_daemon(STATUS if action == "status" else STOP)
    if options().json:
        print_json(answer)
    elif answer is None:
        print("the daemon is not running; the next hook starts it")
    elif action == "stop":
        print("the daemon is stopping")
    else:
        print(start_daemon.describe(answer))
