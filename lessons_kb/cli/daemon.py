"""The command daemon: run, inspect or stop the process that answers hooks."""

from __future__ import annotations

from typing import Annotated

import typer

from lessons_kb.cli.options import check_choice, options, print_json
from lessons_kb.errors import StorageError

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
        if serve():
            raise StorageError(
                start_daemon.find_obstacle() or start_daemon.read_record().get("error", "")
            )
        return
    answer = start_daemon.ask_daemon(STATUS if action == "status" else STOP)
    if options().json:
        print_json(answer)
    elif answer is not None and action == "stop":
        print("the daemon is stopping")
    else:
        found = start_daemon.find_daemon()
        print(found.detail if answer else f"daemon: {found.detail}")
        if found.fix:
            print(f"  → {found.fix}")
