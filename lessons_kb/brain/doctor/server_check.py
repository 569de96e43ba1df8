"""The doctor's question to the server that hooks ask: does it answer, and is its index fresh?"""

from __future__ import annotations

import time
from collections.abc import Iterator

from lessons_kb.brain.discovery import is_settings_moved
from lessons_kb.brain.doctor.health import Health
from lessons_kb.brain.shared_server.ask_server import explain, name_server, probe_server
from lessons_kb.store.server_backoff import forget_failure
from lessons_kb.store.user_settings import read_server_settings


def check_server(directory: str) -> Iterator[Health]:
    """Tell whether the server that hooks ask answers, and what it says of its index."""
    settings = read_server_settings()
    if not settings.url:
        return
    url = settings.url
    if is_settings_moved(directory):
        detail = "your settings lie in this project because of a variable; hooks do not use them"
        yield Health(level="warning", what="server", detail=detail, fix="unset XDG_CONFIG_HOME")
        return
    began = time.monotonic()
    try:
        stale = probe_server(settings)
    except Exception as error:
        detail = f"{url} {explain(error)}; hooks give the local brain's lessons alone"
        fix = "see docs/server.md, or `lessons uninstall --server`"
        yield Health(level="warning", what="server", detail=detail, fix=fix)
        return
    forget_failure()
    where = f" from {', '.join(settings.folders)}" if settings.folders else ""
    told = f"{name_server(url)} at {url}, {1_000 * (time.monotonic() - began):.0f} ms"
    told += f"; prompts{where} are sent there, without secrets"
    if stale:
        fix = "tell whoever runs the server"
        yield Health(level="warning", what="server", detail=f"{told}; {stale}", fix=fix)
    else:
        yield Health(level="ok", what="server", detail=told)
