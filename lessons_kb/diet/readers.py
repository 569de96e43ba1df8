"""List the rules files that each agent reads, in every session or only for some files.

docs/diet.md has the source of each row.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from lessons_kb.agents.install.install_agent import has_hooks
from lessons_kb.agents.install.settings_files import is_present
from lessons_kb.agents.table import AGENTS
from lessons_kb.cards.keys import split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.diet.diet import Diet
from lessons_kb.errors import InputError
from lessons_kb.importers.rules_file import RulesFile
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import field, frozen

_EVERYWHERE = ("**", "*", "**/*")
_COMMENT = re.compile(r"(?ms)^<!--.*?-->[ \t]*\n?")
WITHOUT_AN_OPTION = "(--yes-without-hooks moves it)"
WITHOUT_HOOKS = f"read by {{}} without our hooks {WITHOUT_AN_OPTION}"
NO_HOOKS = f"no agent here has our hooks {WITHOUT_AN_OPTION}"
NOT_READ = "no agent reads this file by itself"
NOT_READ_HERE = "no agent in use here reads this file"


class HidingFolders(NamedTuple):
    """Two folders of rules. A rule in the newer folder hides the rule with the same name in the
    older folder.
    """

    newer: str
    older: str


@frozen
class ReadingAgent:
    """The rules files that one agent reads in a repository."""

    files: tuple[str, ...]
    """File names or globs, relative to the root."""
    otherwise: tuple[str, ...] = ()
    """The files that it reads if none of ``files`` exists."""
    is_always: Callable[[Mapping[str, str], str], bool] = lambda _header, _name: True
    """Returns whether the agent reads a file with this header in every session."""
    own: tuple[str, ...] = ()
    """Files and folders in a repository that show that the agent is used there."""
    program: str = ""
    home: str = ""
    """The agent's folder in the user's home."""
    imports: bool = False
    """Whether the agent follows ``@file`` imports."""
    hides: HidingFolders | None = None
    strips_comments: bool = False
    cuts_header: bool = False


def _claude_always(header: Mapping[str, str], _name: str) -> bool:
    return header.get("paths", "") in ("", "**")


def _cursor_always(header: Mapping[str, str], name: str) -> bool:
    if not name.endswith(".mdc"):
        return True
    return header.get("alwaysApply", "").casefold() == "true"


def _copilot_always(header: Mapping[str, str], name: str) -> bool:
    if not name.endswith(".instructions.md"):
        return True
    return header.get("applyTo", "") in _EVERYWHERE


_COPILOT = ReadingAgent(
    files=(
        ".github/copilot-instructions.md",
        ".github/instructions/*.instructions.md",
        "AGENTS.md",
    ),
    is_always=_copilot_always,
    own=(".github/copilot-instructions.md", ".github/instructions"),
    cuts_header=True,
)
READING_AGENTS: Mapping[str, ReadingAgent] = {
    "claude-code": ReadingAgent(
        files=("CLAUDE.md", ".claude/CLAUDE.md", "CLAUDE.local.md", ".claude/rules/*.md"),
        otherwise=("AGENTS.md",),
        is_always=_claude_always,
        own=("CLAUDE.md", "CLAUDE.local.md", ".claude"),
        imports=True,
        strips_comments=True,
        cuts_header=True,
    ),
    "codex": ReadingAgent(
        files=("AGENTS.override.md",),
        otherwise=("AGENTS.md",),
        own=("AGENTS.override.md", ".codex"),
    ),
    "gemini-cli": ReadingAgent(files=("GEMINI.md",), own=("GEMINI.md", ".gemini"), imports=True),
    "qwen-code": ReadingAgent(files=("QWEN.md",), own=("QWEN.md", ".qwen"), imports=True),
    "opencode": ReadingAgent(
        files=("AGENTS.md",), otherwise=("CLAUDE.md",), own=("opencode.json", ".opencode")
    ),
    "cursor": ReadingAgent(
        files=(".cursor/rules/*.mdc", ".cursorrules", "AGENTS.md"),
        is_always=_cursor_always,
        own=(".cursor", ".cursorrules"),
        cuts_header=True,
    ),
    "copilot-cli": _COPILOT,
    "vscode": _COPILOT,
    "crush": ReadingAgent(
        files=("AGENTS.md", "CRUSH.md", "CLAUDE.md", "GEMINI.md"), own=("CRUSH.md", ".crush.json")
    ),
    "grok-cli": ReadingAgent(files=("AGENTS.md",), own=(".grok",)),
    "antigravity": ReadingAgent(files=("AGENTS.md", "GEMINI.md"), own=(".agents/rules",)),
    "droid": ReadingAgent(
        files=("AGENTS.md", "CLAUDE.md", ".factory/AGENTS.md", ".agents/AGENTS.md"),
        own=(".factory",),
        program="droid",
        home=".factory",
    ),
    "cline": ReadingAgent(
        files=(".clinerules/*", "AGENTS.md"),
        own=(".clinerules",),
        program="cline",
        home=".cline",
        cuts_header=True,
    ),
    "kilo": ReadingAgent(
        files=(".kilo/rules/*", ".kilocode/rules/*", "AGENTS.md"),
        own=(".kilo", ".kilocode"),
        hides=HidingFolders(newer=".kilo/", older=".kilocode/"),
        program="kilo",
        home=".kilocode",
    ),
    "pi": ReadingAgent(files=("AGENTS.md",), own=(".pi",), program="pi", home=".pi"),
    "kimi": ReadingAgent(files=("AGENTS.md",), own=(".kimi",), program="kimi", home=".kimi"),
}


@frozen
class Reader:
    """An agent that is used here, and the files of the diet that it reads."""

    agent: str
    has_hooks: bool
    files: tuple[str, ...] = field(default_factory=tuple)


def find_readers(diet: Diet) -> list[Reader]:
    """Return the agents that this repository or machine uses, with the files that they read."""
    readers = []
    for agent, row in READING_AGENTS.items():
        files = tuple(file.name for file in _find_read(diet, agent))
        if files and _is_in_use(diet.root, agent, row):
            connected = agent in AGENTS and has_hooks(agent, diet.root)
            readers.append(Reader(agent=agent, has_hooks=connected, files=files))
    return readers


def why_file_stays(diet: Diet, file: RulesFile, readers: Sequence[Reader]) -> str:
    """Return why the rules of a file must stay, or "" if all agents that read it have our hooks."""
    own = [reader for reader in readers if file.name in reader.files]
    without = [reader.agent for reader in own if not reader.has_hooks]
    if without:
        return WITHOUT_HOOKS.format(" and ".join(without))
    if own:
        return ""
    if not any(file in _find_read(diet, agent) for agent in READING_AGENTS):
        return NOT_READ
    return NOT_READ_HERE if _has_connected_agent(diet.root) else NO_HOOKS


def _has_connected_agent(root: str) -> bool:
    in_use = (agent for agent, row in READING_AGENTS.items() if _is_in_use(root, agent, row))
    return any(agent in AGENTS and has_hooks(agent, root) for agent in in_use)


def count_for_agent(diet: Diet, agent: str | None) -> tuple[str, int]:
    """Return an agent, and the number of tokens of rules that it sends in every session.

    Without a name, this is the agent that sends the most. Raises InputError for an unknown name.
    """
    if agent is not None and agent not in READING_AGENTS:
        raise InputError(f"no agent {agent!r}; it is one of {', '.join(sorted(READING_AGENTS))}")
    names = [agent] if agent is not None else [*READING_AGENTS]
    counts = {name: estimate_tokens(read_as_agent(diet, name)) for name in names}
    largest = max(names, key=lambda name: counts[name])
    return largest, counts[largest]


def read_as_agent(diet: Diet, agent: str) -> str:
    """Return the text of the rules that an agent sends in every session."""
    row = READING_AGENTS[agent]
    texts = []
    for file in _find_read(diet, agent):
        if not _is_always(file, row):
            continue
        text = split_header(file.text).body if row.cuts_header else file.text.removeprefix("\ufeff")
        texts.append(_COMMENT.sub("", text) if row.strips_comments else text)
    return "\n".join(texts)


def _is_always(file: RulesFile, row: ReadingAgent) -> bool:
    is_nested = "/" in file.name and not file.name.startswith(".")
    if is_nested and not (row.imports and not file.globs):
        return False
    return row.is_always(_read_header(file.text), file.name)


def _read_header(text: str) -> dict[str, str]:
    """Return the keys of a header as they are written, with lists joined by commas.

    The agents do not recognise a header after a blank line.
    """
    if not text.removeprefix("\ufeff").startswith("---"):
        return {}
    entries = read_header(split_header(text)).entries
    return {
        entry.key: ",".join(part.strip("\"' ") for part in entry.texts if part) for entry in entries
    }


def _find_read(diet: Diet, agent: str) -> Iterator[RulesFile]:
    """Yield the files of a diet that an agent reads and the files that they import, without
    duplicates.
    """
    row = READING_AGENTS[agent]
    files = {file.name: file for file in diet.files}
    names = [name for name in files if _is_named(diet, name, row.files)]
    plain = [name for name in names if "rules/" not in name]
    if row.otherwise and not plain:
        names = [name for name in files if _is_named(diet, name, row.otherwise)] + names
    pending = [*dict.fromkeys(names)]
    if row.hides is not None:
        pending = _drop_hidden(pending, row.hides)
    seen = set(pending)
    for name in pending:  # imported files are appended
        yield files[name]
        folder = os.path.dirname(name)
        for wanted in files[name].imports if row.imports else ():
            inner = os.path.normpath(os.path.join(folder, wanted)).replace(os.sep, "/")
            if inner in files and inner not in seen:
                seen.add(inner)
                pending.append(inner)


def _drop_hidden(names: Sequence[str], folders: HidingFolders) -> list[str]:
    """Return the names without rules in an older folder that the newer folder has as well."""
    newer = {os.path.basename(name) for name in names if name.startswith(folders.newer)}

    def is_hidden(name: str) -> bool:
        return name.startswith(folders.older) and os.path.basename(name) in newer

    return [name for name in names if not is_hidden(name)]


def _is_named(diet: Diet, name: str, patterns: Sequence[str]) -> bool:
    """Return whether an agent reads a file, by its own name or by the name of a link to it."""
    for pattern in patterns:
        link = os.path.join(diet.root, *pattern.split("/"))
        is_linked = os.path.islink(link) and os.path.realpath(link) == os.path.realpath(
            os.path.join(diet.root, *name.split("/"))
        )
        is_nested = "/" not in pattern and name.endswith(f"/{pattern}")
        if is_linked or is_nested or fnmatch.fnmatchcase(name, pattern):
            return True
    return False


def _is_in_use(root: str, agent: str, row: ReadingAgent) -> bool:
    if any(os.path.lexists(os.path.join(root, *name.split("/"))) for name in row.own):
        return True
    if agent in AGENTS:
        return is_present(agent)
    home = os.path.join(os.path.expanduser("~"), row.home)
    return bool(shutil.which(row.program)) or os.path.isdir(home)
