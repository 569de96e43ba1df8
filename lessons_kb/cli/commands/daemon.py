"""`lessons daemon`: run, inspect or stop the process that answers hooks."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

from lessons_kb.cli.declare import check_choice
from lessons_kb.cli.output import options, print_json
from lessons_kb.errors import StorageError
from lessons_kb.on_demand import SERVICE_DAEMON, load
from lessons_kb.service import daemon_client as hook_daemon


def daemon(
    action: Annotated[
        str, Argument(metavar="[ACTION]", help="run (in the foreground), status or stop.")
    ] = "run",
) -> None:
    """Run, inspect or stop the process that answers hooks.

    The first hook starts the daemon; the daemon ends after 15 idle minutes.

    Example: lessons daemon status
    """
    check_choice("ACTION", action, ("run", "status", "stop"))
    if action == "run":
        if hook_daemon.ask_daemon(hook_daemon.STATUS) is not None:
            print("the daemon is already running; see `lessons daemon status`")
        else:
            exit_code = load(SERVICE_DAEMON).serve()
            if exit_code:
                raise StorageError(
                    hook_daemon.find_obstacle() or hook_daemon.read_record().get("error", "")
                )
        return
    is_stop = action == "stop"
    answer = hook_daemon.stop_daemon() if is_stop else hook_daemon.ask_daemon(hook_daemon.STATUS)
    if options().json:
        print_json(answer)
    elif answer is not None and is_stop:
        print("the daemon has stopped")
    else:
        health = hook_daemon.find_daemon()
        print(health.detail if answer else f"daemon: {health.detail}")
        if health.fix:
            print(f"  → {health.fix}")
