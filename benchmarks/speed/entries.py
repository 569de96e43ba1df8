"""Finds the programs that the speed benchmark starts."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.speed import clock
from benchmarks.speed.clock import Command
from lessons_kb.agents.install.launcher import launcher_path, write_launcher
from lessons_kb.store.locations import state_home
from lessons_kb.store.private_files import make_private

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, Self

_sessions = itertools.count()
"""No two hooks share a session: a lesson is given once in each."""
PEER_VARIABLE = "LESSONS_BENCH_PEER"
ROOT = Path(__file__).resolve().parents[2]


class NotBuiltError(Exception):
    """The program or feature that a row measures is not there yet."""


def bare_python() -> Command:
    """Return the measure of everything: an interpreter that does nothing."""
    return Command(argv=(sys.executable, "-c", "pass"))


def run_code(code: str, *arguments: str, must_print: str = "") -> Command:
    """Return a fresh interpreter that runs ``code`` with this repository importable."""
    return Command(
        argv=(sys.executable, "-c", code, *arguments),
        environment={"PYTHONPATH": str(ROOT)},
        must_print=must_print,
    )


def script(name: str, *arguments: str, must_print: str = "") -> Command:
    """Return a console script: the installed one, else what ``pyproject.toml`` says it runs."""
    installed = Path(sys.executable).with_name(name)
    if installed.is_file():
        return Command(argv=(str(installed), *arguments), must_print=must_print)
    with (ROOT / "pyproject.toml").open("rb") as file:
        target = tomllib.load(file)["project"]["scripts"].get(name)
    if target is None:
        raise NotBuiltError(f"no script {name}")
    module, function = target.split(":")
    path = ROOT.joinpath(*module.split("."))
    if not (path.with_suffix(".py").is_file() or path.is_dir()):
        raise NotBuiltError(f"no module {module}")
    code = f"import sys; sys.argv[0] = {name!r}; from {module} import {function}; sys.exit({function}())"
    return run_code(code, *arguments, must_print=must_print)


def client(brain: Path, event: Callable[[int], dict[str, Any]], *, must_print: str = "") -> Command:
    """Return the hook as agents start it, on one event; each run is a session of its own.

    Before a prompt the session has begun, outside the time: its first would bring the titles else.
    """
    make_private(state_home())
    write_launcher()
    command = Command(
        argv=(launcher_path(), "claude-code"),
        stdin=partial(_payload, brain, event),
        cwd=str(brain),
        environment={"LESSONS_BRAIN": str(brain), "LESSONS_HOOK_DEADLINE": "20"},
        must_print=must_print,
    )

    def begin(number: int) -> str:
        payload = json.loads(_payload(brain, event, number))
        if payload["hook_event_name"] == "UserPromptSubmit":
            start = json.dumps(payload | start_event()(number))
            clock.start(replace(command, stdin=lambda _: start, must_print=""))
        return json.dumps(payload)

    return replace(command, stdin=begin)


@contextmanager
def peer(brain: Path, event: Callable[[int], dict[str, Any]]) -> Iterator[Command]:
    """Give claude-memory-engine the cards of a brain; yield its hook for a prompt.

    NotBuiltError unless ``$LESSONS_BENCH_PEER`` names the ``claude-memory`` of an environment
    with that package (0.24).
    """
    program = os.environ.get(PEER_VARIABLE, "")
    if not program:
        raise NotBuiltError(f"{PEER_VARIABLE} names no claude-memory")
    with tempfile.TemporaryDirectory(prefix="lessons-peer-") as name:
        project, memory = Path(name, "project"), Path(name, "memory")
        project.mkdir()
        memory.mkdir()
        for number, card in enumerate(sorted(brain.rglob("*.md"))):
            text = card.read_text(encoding="utf-8").replace("\ntitle: ", "\nname: ", 1)
            title = text.split("\nname: ", 1)[1].split("\n", 1)[0]
            text = text.replace("\nname: ", f"\ndescription: {title}\nname: ", 1)
            (memory / f"feedback_{number:06}.md").write_text(text, encoding="utf-8")
        command = (program, "init", str(project), str(memory))
        subprocess.run(command, cwd=project, check=True, capture_output=True)
        yield Command(
            argv=("/bin/bash", str(project / ".claude/hooks/cme_hook.sh"), "retrieve"),
            stdin=partial(_payload, project, event),
            cwd=str(project),
            environment={"CLAUDE_PROJECT_DIR": str(project)},
            must_print="feedback_",
        )


def _payload(project: Path, event: Callable[[int], dict[str, Any]], number: int) -> str:
    session = f"benchmark-{os.getpid()}-{next(_sessions)}"
    common = {"session_id": session, "transcript_path": "", "cwd": str(project)}
    return json.dumps(common | {"permission_mode": "default"} | event(number))


def prompt_event(prompt: str) -> Callable[[int], dict[str, Any]]:
    """Return the event of a prompt."""
    return lambda _number: {"hook_event_name": "UserPromptSubmit", "prompt": prompt}


def start_event() -> Callable[[int], dict[str, Any]]:
    """Return the event of a session that begins."""
    return lambda _number: {"hook_event_name": "SessionStart", "source": "startup"}


def tool_event() -> Callable[[int], dict[str, Any]]:
    """Return the event after a successful command."""
    return lambda number: {
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": f"ls src/{number}", "description": "list"},
        "tool_response": {"stdout": "a.py\n", "stderr": "", "interrupted": False},
        "tool_use_id": f"tool-{number}",
    }


def edit_event(folder: Path) -> Callable[[int], dict[str, Any]]:
    """Return the event before an edit of a file, another one each time."""
    return lambda number: {
        "hook_event_name": "PreToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": f"{folder}/src/{number}.py", "old_string": "a"},
        "tool_use_id": f"edit-{number}",
    }


class McpClient:
    """A minimal client of ``lessons mcp`` over stdio: JSON-RPC, one message a line."""

    def __init__(self, brain: Path) -> None:
        server = script("lessons", "--brain", str(brain), "mcp")
        self._server = subprocess.Popen(
            server.argv,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=brain,
            env={**os.environ, **server.environment},
        )
        self._number = 0

    def __enter__(self) -> Self:
        client = {"name": "benchmark", "version": "1"}
        versions = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        self._request("initialize", versions)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self

    def __exit__(self, *_error: object) -> None:
        self._server.terminate()
        self._server.communicate()

    def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool and return its text; NotBuiltError if it reports an error."""
        result = self._request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise NotBuiltError(f"{tool}: {result['content'][:1]}")
        return "".join(part.get("text", "") for part in result["content"])

    def find_argument(self, tool: str) -> str:
        """Return the name of a tool's first required argument."""
        tools = {found["name"]: found for found in self._request("tools/list", {})["tools"]}
        if tool not in tools:
            raise NotBuiltError(f"the server has no tool {tool}")
        return str(tools[tool]["inputSchema"]["required"][0])

    def _request(self, method: str, parameters: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": parameters}
        self._send(message)
        assert self._server.stdout is not None
        for line in self._server.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise NotBuiltError(f"{method}: {answer['error'].get('message')}")
                result: dict[str, Any] = answer["result"]
                return result
        raise NotBuiltError("`lessons mcp` ended without an answer")

    def _send(self, message: dict[str, Any]) -> None:
        assert self._server.stdin is not None
        try:
            self._server.stdin.write(json.dumps(message).encode() + b"\n")
            self._server.stdin.flush()
        except BrokenPipeError:
            raise NotBuiltError("`lessons mcp` does not run") from None
