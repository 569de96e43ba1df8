"""Writes docs/reference.md from the code: ``python tools/reference.py``, from a checkout.

``pytest tests/test_docs.py`` compares the page with the code; ``--update`` rewrites it.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import click  # noqa: E402
import typer  # noqa: E402

from lessons_kb import model  # noqa: E402
from lessons_kb.agents.install.settings_files import MCP_HOOKS  # noqa: E402
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
"""

EVENTS = {
    "prompt": "",
    "answer": "end of a turn",
    "feedback": "by the user",
    "interrupt": "by the user",
    "compaction": "",
    "tool": "any other call",
    "read": "also a search",
    "edit": "a part of a file",
    "create": "a whole file",
    "remove": "",
    "command": "",
    "test": "a command that runs tests",
    "rollback": "git revert, reset, restore …",
    "rejection": "of a call",
    "stage": "end of a workflow stage",
    "preflight": "outside of a hook",
}
OUTCOMES = {
    "ok": "",
    "unknown": "guards treat it as a success",
    "cancelled": "",
    "invalid_arguments": "",
    "tool_not_found": "",
    "exec_error": "it ran and failed",
    "api_error": "an external service failed",
    "permission_denied": "",
}
LEVELS = {
    "note": "a line in a result",
    "nudge": "guidance for the model",
    "escalate": "the turn is stopped and can be resumed",
}
"""Name → its explanation, if the name does not explain itself."""
GUIDES = {
    "add": "cards.md",
    "check": "check.md",
    "confirm": "freshness.md",
    "create": "cards.md",
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
NAME_OF_AGENT = "A name from [Agents](#agents)"
"""What the page shows instead of all names."""
MORE = {"detect": " See [detection](detect.md)."}
"""What the page adds to the meaning of a key."""
FORMS = {
    "text": "text",
    "tags": "words",
    "texts": "texts",
    "globs": "globs",
    "count": f"1 to {MAX_OCCURRENCES:,}",
    "date": "ISO date",
    "patterns": "patterns",
    "sources": "sources",
    "card": "card",
}
ON_ONE_LINE = {
    "[folders]": "Defaults",
    "[ranking]": "`lessons config --all` explains each",
}
"""Table of settings whose keys share one line of the page → what precedes them."""
MOMENTS = {"prompt": "prompt", "before": "before", "after": "result"}
"""Moment at which lessons can reach a model → its name on the page."""


def build_reference() -> str:
    """Return the text of the page."""
    parts = (HEAD, *_commands(), *_settings(), *_card_keys(), *_events(), *_agents())
    return "\n".join(parts).rstrip() + "\n"


class Parameter(NamedTuple):
    """An argument or an option of a command, as the page shows it."""

    name: str
    meaning: str
    default: str = ""

    @property
    def line(self) -> tuple[str, str]:
        """The name with the default, and the meaning."""
        default = f" (`{self.default}`)" if self.default else ""
        return f"{self.name}{default}", self.meaning


class Shared(NamedTuple):
    """What several commands share about a parameter with one name and one meaning."""

    commands: tuple[str, ...]
    default: str
    """The default, or "" if the commands differ in it."""


SharedParameters = dict[tuple[str, str], Shared]
"""Name and meaning of a parameter → its commands and their default."""


def _commands() -> list[str]:
    group = typer.main.get_command(app)
    commands = {
        name: group.get_command(None, name)
        for name in sorted(group.commands)
        if not group.get_command(None, name).hidden
    }
    parameters = {name: _parameters(command) for name, command in commands.items()}
    shared = _find_shared(parameters)
    lines = [
        "## Commands\n",
        "A default is in brackets. These options may stand before or after every command:\n",
    ]
    lines += _list(parameter.line for parameter in _options(group.get_params(click.Context(group))))
    lines.append("Several commands have these arguments and options; some define their own:\n")
    lines += _list(_describe_shared(shared))
    for name, command in commands.items():
        lines += _command(name, command, parameters[name], shared)
    return lines


def _find_shared(parameters: dict[str, list[Parameter]]) -> SharedParameters:
    uses: dict[tuple[str, str], dict[str, str]] = {}
    for command, listed in parameters.items():
        for name, meaning, default in listed:
            uses.setdefault((name, meaning), {})[command] = default
    shared = {}
    for key, defaults in uses.items():
        common = set(defaults.values())
        if len(defaults) > 1:
            default = common.pop() if len(common) == 1 else ""
            shared[key] = Shared(commands=tuple(defaults), default=default)
    return shared


def _describe_shared(shared: SharedParameters) -> list[tuple[str, str]]:
    """Return a row for each shared parameter.

    If a name has several meanings, all but the most frequent one name their commands.
    """
    rows = []
    seen = set()
    for name, meaning in sorted(shared, key=lambda key: (key[0], -len(shared[key].commands))):
        row = Parameter(name, meaning, shared[name, meaning].default).line
        if name in seen:
            commands = ", ".join(shared[name, meaning].commands)
            row = (f"{row[0]} ({commands})", meaning)
        seen.add(name)
        rows.append(row)
    return rows


def _command(
    name: str, command: click.Command, parameters: list[Parameter], shared: SharedParameters
) -> list[str]:
    """Return the section of one command: its form, its help and the options of its own."""
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    words = " ".join((name, *map(_argument, arguments)))
    lines = [f"### `{words}`\n"]
    lines.append(_prose(command.help or "", GUIDES.get(name, "")))
    own, names = [], []
    for parameter in parameters:
        common = shared.get((parameter.name, parameter.meaning))
        option = re.match(r"`--[\w-]+", parameter.name)
        if common is None:
            own.append(parameter.line)
        elif option:
            differs = parameter.default != common.default
            names.append(f"{option[0]}` (`{parameter.default}`)" if differs else f"{option[0]}`")
    lines += _list(own)[:-1]
    if names:
        lines.append(f"- Also: {', '.join(names)}")
    return [*lines, ""] if own or names else lines


def _parameters(command: click.Command) -> list[Parameter]:
    arguments = [p for p in command.params if p.param_type_name == "argument" and p.help]
    return [
        *(
            Parameter(f"`{_metavar(p)}`", _cell(p.help).replace(", ".join(AGENTS), NAME_OF_AGENT))
            for p in arguments
        ),
        *_options(command.params),
    ]


def _options(params: list) -> list[Parameter]:
    rows = []
    for option in params:
        if option.param_type_name != "option" or option.name == "help" or option.hidden:
            continue
        name = option.name.rstrip("_").upper()  # a builtin's has one behind it
        value = "" if option.is_flag else f" {option.metavar or name}"
        first, *others = (*option.opts, *option.secondary_opts)
        names = ", ".join(f"`{name}`" for name in (f"{first}{value}", *others))
        default = option.default
        if isinstance(default, tuple):
            default = " ".join(default)
        is_clear = default in (None, "", 0) or isinstance(default, bool)
        shown = "" if is_clear else f"{default:g}" if isinstance(default, float) else f"{default}"
        rows.append(Parameter(names, _cell(option.help or ""), shown))
    return rows


def _argument(argument: object) -> str:
    word = _metavar(argument)
    word = f"{word}…" if argument.nargs == -1 else word
    return word if argument.required else f"[{word}]"


def _metavar(argument: object) -> str:
    return (argument.metavar or argument.name.upper()).strip("[].…")


def _prose(text: str, guide: str) -> str:
    """Return a docstring as Markdown, without its example.

    Of a command that has a guide, the page shows the first paragraph and a link.
    """
    text = re.sub(r"\n[ \t]+", "\n", text.partition("Example: ")[0]).strip()
    if guide:
        text = text.partition("\n\n")[0]
        text = f"{text.removesuffix('.')} ([{guide.removesuffix('.md')}]({guide}))."
    return f"{text}\n"


class Setting(NamedTuple):
    """A key of ``lessons.toml``, or a whole table (its default is then empty)."""

    name: str
    default: str
    meaning: str


def _settings() -> list[str]:
    lines = [
        "## Settings\n",
        "Keys of `lessons.toml`: `preflight.budget` is `budget` below `[preflight]`.\n",
    ]
    settings = _read_settings()
    for name, default, meaning in settings:
        table = f"[{name.partition('.')[0]}]"
        shown = f" (`{default}`)" if default else ""
        if name in ON_ONE_LINE:
            keys = [s for s in settings if s.name.startswith(f"{name.strip('[]')}.")]
            lines.append(f"- `{name}`: {meaning} {ON_ONE_LINE[name]}: {_name_keys(keys)}.")
        elif table not in ON_ONE_LINE:
            lines.append(f"- `{name}`{shown}: {meaning}")
    return [*lines, ""]


def _name_keys(settings: list[Setting]) -> str:
    """Return the keys of one table with their defaults, separated by commas."""
    names = [(setting.name.partition(".")[2], setting.default) for setting in settings]
    return ", ".join(f"`{name}` (`{default}`)" for name, default in names)


def _read_settings() -> list[Setting]:
    """Return the settings in the order of the template, each table before its keys."""
    known = flat_settings(DEFAULTS)
    settings: list[Setting] = []
    section = about = ""
    for line in TEMPLATE.read_text("utf-8").splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            section, about = header[1], ""
        elif key := re.fullmatch(r'#("[^"]+"|\w+) = (.*?)\s+# ([A-Z"].*)', line):
            if about:
                settings.append(Setting(f"[{section}]", "", about))
                about = ""
            name = key[1].strip('"')
            full = f"{section}.{name}" if section else name
            assert section == "folders" or full in known, full
            settings.append(Setting(full, key[2], _cell(key[3])))
        elif section and line.startswith("# "):
            is_first = not settings[-1].name.startswith(f"{section}.")
            about = f"{about} {line[2:]}".strip() if is_first else ""
    return settings


def _card_keys() -> list[str]:
    own = [(n, k) for n, k in KEYS.items() if k.meaning]
    foreign = [(n, k) for n, k in KEYS.items() if not k.meaning]
    assert all(key.foreign for _name, key in foreign)
    lines = [
        "## Card keys\n",
        "In the header of a card. A plural in brackets stands for a list. Unknown keys are preserved.\n",
    ]
    lines += _list((f"`{n}` ({_form(k)})", _cell(k.meaning + MORE.get(n, ""))) for n, k in own)
    lines.append("Keys of other systems are read as follows:\n")
    names = {k.field: n for n, k in reversed(own)}
    others: dict[str, list[str]] = {}
    for name, key in foreign:
        meaning = f"`{names[key.field]}`" if key.field in names else "text to search"
        others.setdefault(meaning, []).append(f"`{name}`")
    lines += _list((meaning, ", ".join(found)) for meaning, found in others.items())
    lines.append(_SECTIONS)
    rows = []
    for role, tiers in HEADINGS.items():
        first, *headings = [_capitalize(name) for tier in tiers for name in tier]
        labels = [_capitalize(label) for label, meaning in LABELS.items() if meaning == role]
        shown = [f"**{name}**" if name in labels else name for name in headings]
        shown += [f"*{label}*" for label in labels if label not in (first, *headings)]
        name = f"**{first}**" if first in labels else first
        rows.append((name, ", ".join(shown)))
    return [*lines, *_list(rows)]


def _capitalize(name: str) -> str:
    return f"{name[:1].upper()}{name[1:]}"


_SECTIONS = """\
A section begins with a heading of level 2 or 3, or with a bold label at the start of a paragraph or a list item
(`**Rule**: …`). Text behind a bracket, an ampersand, a colon or a dash is ignored. The label `Applies to` gives
`paths`. Each section and its other names (bold: heading or label; italic: label only):
"""


def _form(key: object) -> str:
    return ", ".join(f"`{choice}`" for choice in key.choices) or FORMS[key.form]


def _events() -> list[str]:
    assert list(EVENTS) == list(model.EVENTS)
    assert set(OUTCOMES) == set(model.OUTCOMES)
    assert list(LEVELS) == list(model.LEVELS)
    return [
        "## Events\n",
        f"`lessons events` lists what the journal recorded: {_explain(EVENTS)}.\n",
        f"Outcomes of a call: {_explain(OUTCOMES)}.\n",
        f"Levels of a guard's signals: {_explain(LEVELS)}.\n",
    ]


def _explain(names: dict[str, str]) -> str:
    """Return names separated by commas, with their explanations in brackets."""
    return ", ".join(f"`{name}` ({text})" if text else f"`{name}`" for name, text in names.items())


def _agents() -> list[str]:
    lines = ["## Agents\n", _ABOUT_AGENTS]
    rows = []
    for name, agent in AGENTS.items():
        version = agent.tested_version or "not tested"
        rows.append((f"`{name}` ({version})", f"{'; '.join(_capabilities(agent))}."))
    lines += _list(rows)
    lines += [_limits(), f"`--via mcp` works in {', '.join(f'`{name}`' for name in MCP_HOOKS)}.\n"]
    return lines


_ABOUT_AGENTS = """\
Names for `lessons install`, each with the tested version and its capabilities. Lessons reach the model with the *prompt*, *before* a call, or with the *result* of a call. A *post-check* is shown to the user. A gate
can *ask* the user or *refuse* a call, and a guard can *stop* a turn.
"""


def _capabilities(agent: Agent) -> list[str]:
    """Return the groups of an agent's capabilities: lessons, post-check, and control."""
    carries = {agent.events[event] for event in agent.context_at}
    moments = [_tell_moment(agent, moment) for moment in MOMENTS if moment in carries]
    has_post_check = any(agent.events[event] == "stop" for event in agent.lines_at)
    control = {"ask": agent.asks_at, "refuse": agent.refuses_at, "stop": agent.stops_at}
    groups = [
        moments,
        ["post-check"] if has_post_check else [],
        [name for name, events in control.items() if events],
    ]
    return [", ".join(group) for group in groups if group]


def _limits() -> str:
    """Return the sentence about the longest answer that each agent gets."""
    (tokens, _), *others = Counter(agent.tokens for agent in AGENTS.values()).most_common()
    (longest,) = {agent.max_bytes for agent in AGENTS.values()}
    less = [
        f"`{name}`: {agent.tokens:,}"
        for name, agent in AGENTS.items()
        if agent.tokens in dict(others)
    ]
    return f"An answer of a hook has at most {tokens:,} tokens ({', '.join(less)}) and {longest:,} bytes.\n"


def _tell_moment(agent: Agent, moment: str) -> str:
    """Return the name of a moment at which lessons reach the model."""
    late = agent.late_before if moment == "before" else ""
    name = MOMENTS[moment]
    return f"{name} ({late})" if late else name


def _list(rows: Iterable[tuple[str, str]]) -> list[str]:
    return [*(f"- {name}: {meaning}" for name, meaning in rows), ""]


def _cell(text: str) -> str:
    """Return a text as one line, in which the name of another page is a link to its file."""
    return re.sub(r"\bdocs/([a-z-]+)\.md", _link_page, " ".join(text.split()))


def _link_page(name: re.Match[str]) -> str:
    page = f"{name[1]}.md"
    return f"[{name[1]}]({page})" if PAGE.with_name(page).exists() else name[0]


if __name__ == "__main__":
    PAGE.write_text(build_reference(), encoding="utf-8")
    print(PAGE)
