"""From the JSON of one hook event to the JSON of the answer.

The one place that fails open: whatever goes wrong, the output is valid, and a line in the hook
log says what it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import import_module

from lessons_kb.agents.capabilities import (
    AGENTS,
    Agent,
    Payload,
    event_name,
    find_host,
    is_attended,
    put_into_words,
    replaced_by,
    text_of,
)
from lessons_kb.brain.discovery import Discovery, look_in_agent
from lessons_kb.brain.injected import posted_session
from lessons_kb.brain.layers import Layers
from lessons_kb.hook_client import DEADLINE_VARIABLE, LONGER_SECONDS, read_deadline
from lessons_kb.session.dispatch import respond
from lessons_kb.session.state import (
    NOTHING,
    Capabilities,
    HookEvent,
)
from lessons_kb.store.user_state import is_silenced, log_trouble, pin_directory

_LATE_SECONDS = 3.0
"""Within which the process that answers after a late one has noted the same, where it has no id."""
MODULES = {
    "claude-code": "claude_code",
    "codex": "codex",
    "copilot-cli": "copilot_cli",
    "cursor": "cursor",
    "gemini-cli": "gemini_cli",
    "opencode": "opencode",
    "vscode": "vscode",
}


def answer_event(
    agent: str,
    data: bytes | str,
    environment: Mapping[str, str],
    *,
    cwd: str = os.sep,
    look: Callable[[str], Discovery] | None = None,
    find: Callable[[str], Layers] | None = None,
    leave_open: bool = False,
    posted_by: str = "",
) -> tuple[str, str]:
    """Return what to print for one event of ``agent``, and a line for its log or "".

    ``data`` is the JSON that the agent sends, ``cwd`` where its process stands, for a payload
    that names no directory. A process that keeps brains open gives ``find``, which returns the one
    for a directory, and ``look``, which tells what lies around it. Where another machine sent the
    event, ``posted_by`` names its user: no path in it is looked for here, nobody is asked, and its
    sessions are that user's alone. Whatever goes wrong is logged; then the output is the valid
    one that says nothing.
    """
    table = AGENTS[agent]
    name = "?"
    try:
        payload = _parse(data)
        if payload is None:
            log_failure(agent, name, "the event is not a JSON object; nothing was done")
            return table.silence, ""

        host = find_host(agent, payload, environment)
        table = AGENTS[host]
        name = event_name(payload, host)
        if name not in table.events:
            return table.silence, ""
        return _answer(
            agent,
            host,
            name,
            payload,
            environment,
            table,
            cwd=cwd,
            look=look or partial(look_in_agent, environment=environment),
            find=find,
            leave_open=leave_open,
            posted_by=posted_by,
        )
    except Exception as error:
        log_failure(agent, name, error)
        return table.silence, ""


def _answer(
    agent: str,
    host: str,
    name: str,
    payload: Payload,
    environment: Mapping[str, str],
    table: Agent,
    *,
    cwd: str,
    look: Callable[[str], Discovery],
    find: Callable[[str], Layers] | None,
    leave_open: bool,
    posted_by: str,
) -> tuple[str, str]:
    module = import_module(f"lessons_kb.agents.{MODULES[host]}")
    found = module.read(payload, name)
    if found is None or not found["session"]:
        return table.silence, ""
    what = found.pop("what", table.events[name])
    takes_context = found.pop("takes_context", True)
    if posted_by:
        found["session"] = posted_session(posted_by, found["session"])
        found["transcript"] = ""  # a file of the other machine
    directory, cwd = _directories(
        host,
        payload,
        environment,
        table,
        session=found["session"],
        standing=cwd,
        look=not posted_by,
    )
    if not posted_by and is_silenced(agent, f"{host} {found['session']}", directory):
        return table.silence, ""
    cwd = found.pop("cwd", "") or cwd
    again = environment.get("LESSONS_HOOK_AGAIN") == "1"
    hook_event = HookEvent(
        what=what,
        agent=host,
        directory=directory,
        cwd=cwd,
        keeps_directory=table.keeps_directory,
        within=max(table.within, _LATE_SECONDS) if again else table.within,
        again=again,
        before=replaced_by(found.get("arguments")) if what == "after" else "",
        patience=_find_patience(environment, resident=find is not None),
        posted=bool(posted_by),
        **found,
    )
    shown = name in table.lines and not (posted_by and table.progress)
    capabilities = Capabilities(
        context=takes_context and name in table.context,
        lines=shown,
        lasting=table.lasting,
        max_bytes=table.max_bytes,
        tokens=table.tokens,
        # Whoever runs a server may not hold up the agents of others.
        ask=name in table.ask and not posted_by and is_attended(host, payload, environment),
        stop=name in table.stop,
        review=table.call.format("lessons-review"),
    )
    answer = respond(hook_event, capabilities, look=look, find=find, leave_open=leave_open)
    if answer is NOTHING:
        return table.silence, ""
    if answer.trouble:
        log_failure(host, name, answer.trouble)

    said = put_into_words(answer)
    unseen = ""
    if said.message and not shown:
        said, unseen = replace(said, message=""), said.message
    output = module.write(name, said)
    progress = module.write_progress(said.message) if table.progress else ""
    if not output and not progress:
        return table.silence, unseen

    return progress + json.dumps(output, ensure_ascii=True), unseen


def _find_patience(environment: Mapping[str, str], *, resident: bool) -> float:
    """Return for how long a server may be waited for: the local answer has to come in time.

    A client leaves a ``resident`` process that takes longer than it waits.
    """
    patience = read_deadline(environment.get(DEADLINE_VARIABLE.decode(), "")) / 4
    return min(patience, LONGER_SECONDS / 2) if resident else patience


def _directories(
    host: str,
    payload: Payload,
    environment: Mapping[str, str],
    table: Agent,
    *,
    session: str,
    standing: str,
    look: bool,
) -> tuple[str, str]:
    """Return the session's project and the agent's working directory, both absolute."""
    cwd = text_of(payload, "cwd")
    if look and not os.path.isabs(cwd):  # another machine may have other paths
        cwd = ""
    for variable in table.project:
        project = environment.get(variable, "")
        if os.path.isabs(project) and os.path.isdir(project):
            return project, cwd or project
    roots = payload.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else cwd
    if not look:
        directory = first or standing
    else:
        directory = first if os.path.isabs(first) and os.path.isdir(first) else standing

    return pin_directory(f"{host} {session}", directory, look=look), cwd or directory


def _parse(data: bytes | str) -> Payload | None:

    try:
        text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
        payload = json.loads(text.removeprefix("\ufeff"))
        if "\\u" in text and "\\ud" in text.lower():
            # Half a surrogate pair is no text: no file or database takes it.
            whole = json.dumps(payload, ensure_ascii=False)
            payload = json.loads(whole.encode("utf-8", "replace").decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return payload if isinstance(payload, dict) else None


def log_failure(agent: str, hook_event: str, error: BaseException | str) -> None:
    """Add a line to the hook log; never raises."""
    try:
        what = error if isinstance(error, str) else f"{type(error).__name__}: {error}"
        log_trouble(agent, hook_event, what)
    except BaseException:
        return
