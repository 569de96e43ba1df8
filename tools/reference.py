"""Writes docs/reference.md from the code: ``python tools/reference.py``, from a checkout.

``pytest tests/test_docs.py`` compares the page with the code; ``--update`` rewrites it.
"""

from __future__ import annotations

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
import typer  # noqa: E402

from lessons_kb import model  # noqa: E402
from lessons_kb.agents.install.settings_files import (  # noqa: E402
    MCP_HOOKS,
    Entries,
    Request,
    find_targets,
    is_committed,
)
from lessons_kb.agents.table import AGENTS, Agent  # noqa: E402
from lessons_kb.cards.keys import KEYS, MAX_OCCURRENCES  # noqa: E402
from lessons_kb.cards.sections import HEADINGS, LABELS  # noqa: E402
from lessons_kb.cli.main import app  # noqa: E402
from lessons_kb.config import DEFAULTS, flat_settings  # noqa: E402

PAGE = ROOT / "docs" / "reference.md"
TEMPLATE = ROOT / "templates" / "all-settings.toml"

HEAD = """\
# Reference

Generated from the code by `python tools/reference.py`; do not edit.

- [Commands](#commands)
- [Settings](#settings)
- [Card keys](#card-keys)
- [Events](#events)
- [Agents](#agents)
"""

EVENTS = {
    "prompt": "The user asked for something.",
    "answer": "The agent ended its turn.",
    "feedback": "The user judged the work.",
    "interrupt": "The user stopped the agent.",
    "compaction": "The context was compacted into a summary.",
    "tool": "A tool call of none of the following kinds.",
    "read": "A file was viewed, searched or listed.",
    "edit": "A part of a file was changed.",
    "create": "A whole file was written.",
    "remove": "A file was removed.",
    "command": "A command was run.",
    "test": "A command that runs tests was run.",
    "rollback": "Changes were rolled back (git revert, reset, restore …).",
    "rejection": "A call was denied.",
    "stage": "A stage of a workflow ended.",
    "preflight": "A preflight was run outside of a hook.",
}
OUTCOMES = {
    "ok": "It worked.",
    "unknown": "It ended without a known result; guards treat it as a success.",
    "cancelled": "It was cancelled.",
    "invalid_arguments": "The tool rejected the arguments.",
    "tool_not_found": "The tool does not exist.",
    "exec_error": "It ran and failed.",
    "api_error": "An external service failed.",
    "permission_denied": "It was not allowed.",
}
LEVELS = {
    "note": "A line added to a result.",
    "nudge": "Guidance for the model.",
    "escalate": "The turn is stopped and can be resumed.",
}
GUIDES = {
    "check": "check.md",
    "confirm": "freshness.md",
    "daemon": "daemon.md",
    "detect": "detect.md",
    "diet": "diet.md",
    "doctor": "nothing-arrives.md",
    "escalate": "escalate.md",
    "eval": "evaluation.md",
    "install": "agents.md",
    "lsp": "editors.md",
    "mark": "cards.md",
    "mcp": "agents.md",
    "mine": "mine.md",
    "report": "effect.md",
    "review": "learning.md",
    "serve": "server.md",
    "setup": "agents.md",
    "stats": "effect.md",
    "sync": "cluster.md",
    "trial": "trial.md",
    "trust": "trust.md",
    "uninstall": "remove.md",
    "upgrade": "agents.md",
    "why": "nothing-arrives.md",
}
"""Command → the page that explains it."""
MORE = {"detect": " See [detection](detect.md)."}
"""What the page adds to the meaning of a key."""
FORMS = {
    "text": "text",
    "tags": "list of words",
    "texts": "list of texts",
    "globs": "list of globs",
    "count": f"whole number, 1 to {MAX_OCCURRENCES:,}",
    "date": "ISO date",
    "patterns": "list of patterns",
    "sources": "list of sources",
    "card": "name of a card",
}
MOMENTS = ("prompt", "before", "after", "stop")


def build_reference() -> str:
    """Return the text of the page."""
    parts = (HEAD, *_commands(), *_settings(), *_card_keys(), *_events(), *_agents())
    return "\n".join(parts).rstrip() + "\n"


class Parameter(NamedTuple):
    """An argument or an option of a command, as the page shows it."""

    name: str
    meaning: str


def _commands() -> list[str]:
    group = typer.main.get_command(app)
    commands = {
        name: group.get_command(None, name)
        for name in sorted(group.commands)
        if not group.get_command(None, name).hidden
    }
    parameters = {name: _parameters(command) for name, command in commands.items()}
    shared = _find_shared(parameters)
    lines = ["## Commands\n", "Options of every command, before or after its name:\n"]
    lines += _list(_options(group.params))
    lines.append("What means the same in several commands, unless a command says otherwise:\n")
    lines += _list(sorted(shared))
    for name, command in commands.items():
        lines += _command(name, command, parameters[name], shared)
    return lines


def _find_shared(parameters: dict[str, list[Parameter]]) -> set[Parameter]:
    """Return the parameters of several commands, each name with one meaning."""
    uses = Counter(parameter for listed in parameters.values() for parameter in listed)
    repeated = [parameter for parameter, count in uses.items() if count > 1]
    meanings = Counter(parameter.name for parameter in repeated)
    return {parameter for parameter in repeated if meanings[parameter.name] == 1}


def _command(
    name: str, command: click.Command, parameters: list[Parameter], shared: set[Parameter]
) -> list[str]:
    """Return the section of one command: its form, its help and the options of its own."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = " ".join(("lessons", name, *map(_argument, arguments)))
    lines = [f"### {name}\n"]
    if arguments:
        lines.append(f"`{words}`\n")
    lines.append(_prose(command.help or "", GUIDES.get(name, "")))
    own = [parameter for parameter in parameters if parameter not in shared]
    lines += _list(own)[:-1]
    options = [
        re.match(r"`--[\w-]+", parameter.name) for parameter in parameters if parameter in shared
    ]
    names = [f"{match[0]}`" for match in options if match]
    if names:
        lines.append(f"- As above: {', '.join(names)}")
    return [*lines, ""] if own or names else lines


def _parameters(command: click.Command) -> list[Parameter]:
    arguments = [p for p in command.params if p.param_type_name == "argument" and p.help]
    return [
        *(Parameter(f"`{_metavar(p)}`", _cell(p.help)) for p in arguments),
        *_options(command.params),
    ]


def _options(params: list) -> list[Parameter]:
    rows = []
    for option in params:
        if option.param_type_name != "option" or option.name == "help":
            continue
        name = option.name.rstrip("_").upper()  # a builtin's has one behind it
        value = "" if option.is_flag else f" {option.metavar or name}"
        first, *others = (*option.opts, *option.secondary_opts)
        names = ", ".join(f"`{name}`" for name in (f"{first}{value}", *others))
        default = option.default
        is_clear = default in (None, "", (), 0) or isinstance(default, bool)
        shown = "" if is_clear else f" Default: `{default}`."
        rows.append(Parameter(names, _cell((option.help or "") + shown)))
    return rows


def _argument(argument: object) -> str:
    word = _metavar(argument)
    word = f"{word}…" if argument.nargs == -1 else word
    return word if argument.required else f"[{word}]"


def _metavar(argument: object) -> str:
    return (argument.metavar or argument.name.upper()).removesuffix("...").strip("[]")


def _prose(text: str, guide: str) -> str:
    """Return a docstring as Markdown, with its example as a code block.

    Of a command that has a guide, the page shows the first paragraph and a link.
    """
    text, example = re.fullmatch(r"(.*?)Example: (.+)", text.strip(), re.DOTALL).groups()
    text, example = (re.sub(r"\n[ \t]+", "\n", part).strip() for part in (text, example))
    if guide:
        text = f"{text.partition(chr(10) * 2)[0]} See [{guide.removesuffix('.md')}]({guide})."
    example = example.replace("\n", " \\\n  ")
    return f"{text}\n\n```sh\n{example}\n```\n"


def _settings() -> list[str]:
    lines = [
        "## Settings\n",
        "Keys of `lessons.toml`: `preflight.budget` is `budget` below `[preflight]`.\n",
    ]
    section, said, rows = "", "", []
    tables: dict[str, tuple[str, list[tuple[str, str, str]]]] = {}
    known = flat_settings(DEFAULTS)
    for line in TEMPLATE.read_text("utf-8").splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section, said, rows = header[1], "", []
            tables[section] = ("", rows)
        elif key := re.fullmatch(r'#("[^"]+"|\w+) = (.*?)\s+# ([A-Z"].*)', line):
            if not section and not tables:
                tables[""] = ("", rows)
            name = key[1].strip('"')
            full = f"{section}.{name}" if section else name
            assert section == "folders" or full in known, full
            rows.append((f"`{full}`", f"`{key[2]}`", _cell(key[3])))
        elif section and line.startswith("# ") and not rows:
            said = f"{said} {line[2:]}".strip()
            tables[section] = (said, rows)
    rows = [row for _about, found in tables.values() for row in found]
    lines += _table(("key", "default", "meaning"), rows)
    lines += [f"- `[{name}]`: {about}" for name, (about, _rows) in tables.items() if about]
    return [*lines, ""]


def _card_keys() -> list[str]:
    own = [(n, k) for n, k in KEYS.items() if k.meaning]
    foreign = [(n, k) for n, k in KEYS.items() if not k.meaning]
    assert all(key.foreign for _name, key in foreign)
    rows = [(f"`{n}`", _form(k), _cell(k.meaning + MORE.get(n, ""))) for n, k in own]
    lines = ["## Card keys\n", "In the header of a card. Unknown keys are kept untouched.\n"]
    lines += _table(("key", "value", "meaning"), rows)
    lines.append("Keys of other systems are read as follows:\n")
    names = {k.field: n for n, k in reversed(own)}
    others: dict[str, list[str]] = {}
    for name, key in foreign:
        meaning = f"`{names[key.field]}`" if key.field in names else "text to search"
        others.setdefault(meaning, []).append(f"`{name}`")
    lines += _table(("read as", "keys"), [(m, ", ".join(found)) for m, found in others.items()])
    lines.append(_SECTIONS)
    rows = []
    for role, tiers in HEADINGS.items():
        first, *others = [f"{name[:1].upper()}{name[1:]}" for tier in tiers for name in tier]
        labels = [label.capitalize() for label, meaning in LABELS.items() if meaning == role]
        rows.append((f"**{first}**", ", ".join(others), ", ".join(labels)))
    return [*lines, *_table(("section", "other headings", "bold labels"), rows)]


_SECTIONS = """\
Sections, by headings of level 2 or 3; letter case does not matter, and what follows a bracket, an
ampersand, a colon or a dash may differ. A bold label at the start of a paragraph or of a list item
(`**Rule**: …`) stands for a heading. `Applies to` as a label gives `paths`:
"""


def _form(key: object) -> str:
    return " / ".join(f"`{choice}`" for choice in key.choices) or FORMS[key.form]


def _events() -> list[str]:
    assert list(EVENTS) == list(model.EVENTS)
    assert set(OUTCOMES) == set(model.OUTCOMES)
    assert list(LEVELS) == list(model.LEVELS)
    return [
        "## Events\n",
        "What the journal records of a session (`lessons events`).\n",
        *_list([(f"`{n}`", t) for n, t in EVENTS.items()]),
        "Outcomes of a call:\n",
        *_list([(f"`{n}`", t) for n, t in OUTCOMES.items()]),
        "Levels of a guard's signals:\n",
        *_list([(f"`{n}`", t) for n, t in LEVELS.items()]),
    ]


def _agents() -> list[str]:
    lines = [
        "## Agents\n",
        "Names for `lessons install` and `lessons-hook`, and the capabilities of each agent.\n",
    ]
    rows = []
    for name, agent in AGENTS.items():
        carries = {agent.events[event] for event in agent.context_at}
        rows.append(
            (
                f"`{name}`",
                agent.tested_version or "by documents",
                *(_tell_moment(agent, moment, carries) for moment in MOMENTS[:3]),
                "yes" if any(agent.events[e] == "stop" for e in agent.lines_at) else "–",
                "yes" if agent.asks_at else "–",
                "yes" if agent.refuses_at else "–",
                "yes" if agent.stops_at else "–",
            )
        )
    head = (
        *("agent", "seen in version", "lessons with the prompt", "before a call", "with a result"),
        *(
            "post-check shown",
            "gate asks",
            "gate refuses",
            "stops a turn",
        ),
    )
    lines += _table(head, rows)
    lines += [_limits(), f"`--via mcp` works in {', '.join(f'`{name}`' for name in MCP_HOOKS)}.\n"]
    lines.append("Files that are written (on Linux): hooks first, then the MCP server.\n")
    return [*lines, *_table(("agent", "user", "project"), _files())]


def _limits() -> str:
    """Return the sentence about the longest text that each agent is given."""
    (tokens, _), *others = Counter(agent.tokens for agent in AGENTS.values()).most_common()
    (longest,) = {agent.max_bytes for agent in AGENTS.values()}
    less = [
        f"`{name}`: {agent.tokens:,}"
        for name, agent in AGENTS.items()
        if agent.tokens in dict(others)
    ]
    return f"A text has at most {tokens:,} tokens ({', '.join(less)}) and {longest:,} bytes.\n"


def _tell_moment(agent: Agent, moment: str, carries: set[str]) -> str:
    """Return a cell: whether lessons reach the model at a moment."""
    if moment not in carries:
        return "–"
    late = agent.late_before if moment == "before" else ""
    return f"yes; {late}" if late else "yes"


def _files() -> list[tuple[str, ...]]:
    rows = []
    with mock.patch.dict(os.environ, {"HOME": "/~"}, clear=True):
        for name, agent in AGENTS.items():
            entries = Entries(hook="lessons-hook", server="lessons")
            request = Request(agent=name, project="/.", scope="user", entries=entries)
            project = replace(request, scope="project")
            shared = replace(project, shared=True)
            cell = "–"
            if agent.has_project:
                cell = _paths(project)
                if not is_committed(project):
                    cell += f"<br>with `--shared`: {_paths(shared)}"
            rows.append((f"`{name}`", _paths(request), cell))
    return rows


def _paths(request: Request) -> str:
    paths = dict.fromkeys(target.path for target in find_targets(request))
    return "<br>".join(f"`{path.removeprefix('/./').removeprefix('/')}`" for path in paths)


BAR = r"\|"
"""Replaces a pipe in a cell of a table, also inside code."""


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |" for row in rows]
    return [*lines, ""]


def _list(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [*(f"- {name}: {meaning}" for name, meaning in rows), ""]


def _cell(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(build_reference(), encoding="utf-8")
    print(PAGE)
