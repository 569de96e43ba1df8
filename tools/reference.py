"""Writes docs/reference.md from the code: ``python tools/reference.py``, from a checkout.

``pytest tests/test_docs.py`` compares the page with the code; ``--update`` rewrites it.
"""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

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


def _commands() -> list[str]:
    group = typer.main.get_command(app)
    lines = ["## Commands\n", "Options that can stand before or after the name of any command:\n"]
    lines += [*_table(("option", "meaning"), _options(group.params))]
    for name in sorted(group.commands):
        command = group.get_command(None, name)
        if command.hidden:
            continue
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        words = " ".join(("lessons", name, "[OPTIONS]", *map(_argument, arguments)))
        lines += [f"### {name}\n", f"`{words}`\n", _prose(command.help or "")]
        rows = [(f"`{_metavar(p)}`", _cell(p.help or "")) for p in arguments if p.help]
        rows += _options(command.params)
        if rows:
            lines += _table(("argument or option", "meaning"), rows)
    return lines


def _options(params: list) -> list[tuple[str, str]]:
    rows = []
    for option in params:
        if option.param_type_name != "option" or option.name == "help":
            continue
        name = option.name.rstrip("_").upper()  # a builtin's has one behind it
        value = "" if option.is_flag else f" {option.metavar or name}"
        first, *others = (*option.opts, *option.secondary_opts)
        names = ", ".join(f"`{name}`" for name in (f"{first}{value}", *others))
        default = option.default
        told = default in (None, "", ()) or isinstance(default, bool)
        shown = "" if told else f" Default: `{default}`."
        rows.append((names, _cell((option.help or "") + shown)))
    return rows


def _argument(argument: object) -> str:
    word = _metavar(argument)
    word = f"{word}…" if argument.nargs == -1 else word
    return word if argument.required else f"[{word}]"


def _metavar(argument: object) -> str:
    return (argument.metavar or argument.name.upper()).removesuffix("...").strip("[]")


def _prose(text: str) -> str:
    """Return a docstring as Markdown, with its example as a code block."""
    text = re.sub(r"\n[ \t]+", "\n", text).strip()
    return (
        re.sub(r"(?:\n+|[ \n])Example: (.+)\Z", r"\n\n```sh\n\1\n```", text, flags=re.DOTALL) + "\n"
    )


def _settings() -> list[str]:
    lines = ["## Settings\n", "Keys of `lessons.toml`, each with its default.\n"]
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
            rows.append((f"`{name}`", f"`{key[2]}`", _cell(key[3])))
        elif section and line.startswith("# ") and not rows:
            said = f"{said} {line[2:]}".strip()
            tables[section] = (said, rows)
    for name, (about, found) in tables.items():
        lines.append(f"### [{name}]\n" if name else "### Top level\n")
        if about:
            lines.append(f"{about}\n")
        lines += _table(("key", "default", "meaning"), found)
    return lines


def _card_keys() -> list[str]:
    own = [(n, k) for n, k in KEYS.items() if k.meaning]
    foreign = [(n, k) for n, k in KEYS.items() if not k.meaning]
    assert all(key.foreign for _name, key in foreign)
    rows = [(f"`{n}`", _form(k), _cell(k.meaning + MORE.get(n, ""))) for n, k in own]
    lines = ["## Card keys\n", "In the header of a card. Unknown keys are kept untouched.\n"]
    lines += _table(("key", "value", "meaning"), rows)
    lines.append("Keys of other systems are read as follows:\n")
    names = {k.field: n for n, k in reversed(own)}
    lines += _table(
        ("key", "read as"),
        [
            (f"`{n}`", f"`{names[k.field]}`" if k.field in names else "text to search")
            for n, k in foreign
        ],
    )
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
        *_table(("event", "what happened"), [(f"`{n}`", t) for n, t in EVENTS.items()]),
        "Outcomes of a call:\n",
        *_table(("outcome", "meaning"), [(f"`{n}`", t) for n, t in OUTCOMES.items()]),
        "Levels of a guard's signals:\n",
        *_table(("level", "meaning"), [(f"`{n}`", t) for n, t in LEVELS.items()]),
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
                "yes" if name in MCP_HOOKS else "–",
                f"{agent.tokens:,} / {agent.max_bytes:,}",
            )
        )
    head = (
        *("agent", "seen in version", "lessons with the prompt", "before a call", "with a result"),
        *(
            "post-check shown",
            "gate asks",
            "gate refuses",
            "stops a turn",
            "`--via mcp`",
            "tokens / bytes",
        ),
    )
    lines += _table(head, rows)
    lines.append("Files that are written (on Linux): hooks first, then the MCP server.\n")
    return [*lines, *_table(("agent", "user", "project", "project `--shared`"), _files())]


def _tell_moment(agent: Agent, moment: str, carries: set[str]) -> str:
    """Return a cell: whether lessons reach the model at a moment."""
    if moment not in carries:
        return "–"
    late = agent.late_before if moment == "before" else ""
    return f"yes; {late}" if late else "yes"


def _files() -> list[tuple[str, ...]]:
    rows = []
    with mock.patch.dict(os.environ, {"HOME": "/~"}, clear=True):
        for name in AGENTS:
            cells = []
            for scope, shared in (("user", False), ("project", False), ("project", True)):
                entries = Entries(hook="lessons-hook", server="lessons")
                request = Request(
                    agent=name, project="/.", scope=scope, shared=shared, entries=entries
                )
                paths = dict.fromkeys(target.path for target in find_targets(request))
                same = shared and is_committed(replace(request, shared=False))
                shown = "<br>".join(
                    f"`{path.removeprefix('/./').removeprefix('/')}`" for path in paths
                )
                if scope == "project" and not AGENTS[name].has_project:
                    cells.append("–")
                else:
                    cells.append("the same" if same else shown)
            rows.append((f"`{name}`", *cells))
    return rows


BAR = r"\|"
"""Replaces a pipe in a cell of a table, also inside code."""


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(cell.replace('|', BAR) for cell in row)} |" for row in rows]
    return [*lines, ""]


def _cell(text: str) -> str:
    return " ".join(text.split())


if __name__ == "__main__":
    PAGE.write_text(build_reference(), encoding="utf-8")
    print(PAGE)
