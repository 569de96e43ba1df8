"""The commands that a user types in the agent's chat, in the form that each agent knows.

Where the agent lets us, the model does not see them before the user calls one: they cost a session
nothing.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from lessons_kb.agents.capabilities import AGENTS
from lessons_kb.store.templates import read_template

WRITTEN = "Written by `lessons install"
"""Stands in every file of ours that is not somebody else's settings."""

COMMANDS: Mapping[str, str] = {
    "lesson": "Draft a lesson card about the mistake that was just made",
    "lessons-review": "Confirm, complete or discard drafts of lesson cards",
}
"""Name → what the agent's menu says of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Form:
    """How one agent wants a command."""

    path: str
    """Of the file, below the agent's folder."""
    layout: str
    """One of _LAYOUTS."""
    arguments: str = ""
    """What stands for the words that the user typed behind the command."""


_SKILL = os.path.join("skills", "{}", "SKILL.md")
_FORMS: Mapping[str, _Form] = {
    "claude-code": _Form(
        path=os.path.join("commands", "{}.md"), layout="silent", arguments="$ARGUMENTS"
    ),
    "codex": _Form(path=_SKILL, layout="skill"),
    "gemini-cli": _Form(
        path=os.path.join("commands", "{}.toml"), layout="toml", arguments="{{args}}"
    ),
    "cursor": _Form(path=os.path.join("commands", "{}.md"), layout="plain"),
    "copilot-cli": _Form(path=_SKILL, layout="silent"),
    "vscode": _Form(path=_SKILL, layout="silent"),
    "opencode": _Form(
        path=os.path.join("commands", "{}.md"), layout="described", arguments="$ARGUMENTS"
    ),
}
_POLICY = os.path.join("skills", "{}", "agents", "openai.yaml")
_EXPLICIT_ONLY = "policy:\n  allow_implicit_invocation: false\n"


def build_commands(agent: str, program: str) -> dict[str, str]:
    """Return the text of each file, by its path below the agent's folder.

    ``program`` is the path or name of ``lessons``.
    """
    form = _FORMS[agent]
    files = {}
    for name, about in COMMANDS.items():
        files[form.path.format(name)] = _layout(agent, name, about, _body(agent, name, program))
        if agent == "codex":
            files[_POLICY.format(name)] = f"# {_note(agent)}\n{_EXPLICIT_ONLY}"
    return files


def find_skill(path: str) -> str:
    """Return the skill that a file of ours is only the policy of, "" for any other file."""
    folder, name = os.path.split(path)
    is_policy = name == os.path.basename(_POLICY)
    return os.path.join(os.path.dirname(folder), os.path.basename(_SKILL)) if is_policy else ""


def _body(agent: str, name: str, program: str) -> str:
    form = _FORMS[agent]
    arguments = f" The user adds: {form.arguments}" if form.arguments else ""
    shown = {
        "arguments": arguments,
        "agent": agent,
        "lessons": program if os.name == "nt" else shlex.quote(program),
        "review": AGENTS[agent].call.format("lessons-review"),
    }
    text = read_template(os.path.join("commands", f"{name}.md"))
    for key, value in shown.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def _layout(agent: str, name: str, about: str, body: str) -> str:
    layout = _FORMS[agent].layout
    if layout == "toml":
        prompt = f'"""\n{body}"""' if '"""' not in body and "\\" not in body else json.dumps(body)
        return f"# {_note(agent)}\ndescription = {json.dumps(about)}\nprompt = {prompt}\n"
    if layout == "plain":
        return f"<!-- {_note(agent)} -->\n\n{body}"
    keys = [f"# {_note(agent)}"]
    if layout in ("skill", "silent"):
        keys.append(f"name: {name}")
    keys.append(f"description: {about}")
    if layout == "silent":
        keys.append("disable-model-invocation: true")
    return "\n".join(["---", *keys, "---", "", body])


def _note(agent: str) -> str:
    return f"{WRITTEN} {agent}`; `lessons uninstall {agent}` removes it."
