"""Writes the files that installers need: manifests at the root and a plugin for each agent.

``python tools/packages.py`` writes them from the code and `pyproject.toml`, in a checkout;
``python tools/packages.py --build`` makes the bundles of a release in ``dist/`` as well.
``pytest tests/test_packages.py`` compares the files with the code; ``--update`` rewrites them.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT)]

import typer  # noqa: E402
from typer._completion_shared import get_completion_script  # noqa: E402

from lessons_kb.agents.install.settings_files import build_commands, build_hooks  # noqa: E402
from lessons_kb.agents.table import AGENTS  # noqa: E402
from lessons_kb.cli.main import app  # noqa: E402
from lessons_kb.model import KINDS, SEVERITIES  # noqa: E402
from lessons_kb.version import __version__  # noqa: E402

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]
REGISTERED = f"io.github.{REPOSITORY.split('/')[-2]}/{PROJECT['name']}"
"""Name in the registry of MCP servers."""
ABOUT = PROJECT["description"]
HOOKS = "Lessons before each prompt, guards after each tool, a check after the answer"
NAME, MARKET, AUTHOR = "lessons", PROJECT["name"], {"name": "lessons_kb"}
PACKAGE = PROJECT["name"]
EXACT, SERVER_PACKAGE = f"{PACKAGE}=={__version__}", f"{PACKAGE}[mcp]=={__version__}"
PLUGINS, EDITOR = "templates/plugins", "templates/vscode"
FROM_REPOSITORY = f"git+{REPOSITORY}"
PAGES = ("docs/*.md", "templates/ci/gitlab.yml")
"""Pages about the installation of the package."""
COMMANDS = {"claude-code": "lessons:", "codex": "lessons:", "gemini-cli": "", "cursor": ""}
"""Agent → the prefix of a plugin's command names."""
FIRST_SECONDS = 60
"""For the first event of a session, in which uv may have to download the package."""
MISSING = "Lessons are off: install uv, or lessons-kb, and start a new session"


def build_packages() -> dict[str, str]:
    """Return the text of each file, by its path in the repository."""
    facts = {
        "name": NAME,
        "version": __version__,
        "description": ABOUT,
        "author": AUTHOR,
        "homepage": REPOSITORY,
        "repository": REPOSITORY,
        "license": PROJECT["license"],
        "keywords": PROJECT["keywords"],
    }
    entry = {"name": NAME, "description": ABOUT}
    server = {"command": "sh", "args": ["-c", START_SERVER]}
    servers = {"mcpServers": {NAME: server}}
    claude, codex, gemini, cursor, copilot = (
        f"{PLUGINS}/{agent}"
        for agent in ("claude-code", "codex", "gemini-cli", "cursor", "copilot-cli")
    )
    extension = {key: facts[key] for key in ("name", "version", "description")} | servers
    data: dict[str, Any] = {
        ".claude-plugin/marketplace.json": {
            "name": MARKET,
            "owner": AUTHOR,
            "description": ABOUT,
            "plugins": [{**entry, "source": f"./{claude}"}],
        },
        f"{claude}/.claude-plugin/plugin.json": {**facts, "displayName": "Lessons"},
        f"{claude}/.mcp.json": {"mcpServers": {NAME: {"type": "stdio", **server}}},
        f"{claude}/hooks/hooks.json": {
            "description": HOOKS,
            "modules": ["./lessons.ts"],
            "hooks": plugin_hooks("claude-code", unless=USE_MARK),
        },
        ".agents/plugins/marketplace.json": {
            "name": MARKET,
            "interface": {"displayName": "lessons_kb"},
            "plugins": [
                {
                    "name": NAME,
                    "source": {"source": "local", "path": f"./{codex}"},
                    "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                    "category": "Coding",
                }
            ],
        },
        f"{codex}/.codex-plugin/plugin.json": {
            **facts,
            "skills": "./skills/",
            "mcpServers": "./.mcp.json",
            "hooks": "./hooks/hooks.json",
            "interface": {
                "displayName": "Lessons",
                "shortDescription": ABOUT,
                "category": "Coding",
            },
        },
        f"{codex}/.mcp.json": servers,
        f"{codex}/hooks/hooks.json": {"description": HOOKS, "hooks": plugin_hooks("codex")},
        # At the root for the gallery and for its server; a release has the whole extension.
        "gemini-extension.json": extension,
        f"{gemini}/gemini-extension.json": extension,
        f"{gemini}/hooks/hooks.json": {"hooks": plugin_hooks("gemini-cli")},
        ".cursor-plugin/marketplace.json": {
            "name": MARKET,
            "owner": AUTHOR,
            "metadata": {"description": ABOUT},
            "plugins": [{**entry, "source": f"./{cursor}"}],
        },
        # The repository itself is a plugin, too.
        ".cursor-plugin/plugin.json": {
            **facts,
            "displayName": "Lessons",
            "commands": f"./{cursor}/commands/",
            "hooks": f"./{cursor}/hooks/hooks.json",
            "mcpServers": f"./{cursor}/mcp.json",
        },
        f"{cursor}/.cursor-plugin/plugin.json": {**facts, "displayName": "Lessons"},
        f"{cursor}/hooks/hooks.json": {"version": 1, "hooks": plugin_hooks("cursor")},
        f"{cursor}/mcp.json": servers,
        # Copilot CLI would take Claude Code's otherwise.
        ".github/plugin/marketplace.json": {
            "name": MARKET,
            "owner": AUTHOR,
            "metadata": {"description": ABOUT, "version": __version__},
            "plugins": [{**entry, "source": f"./{copilot}"}],
        },
        # No "$schema": with one, Codex cuts skills at 8,000 bytes.
        "plugin.json": {
            **facts,
            "skills": f"./{copilot}/skills/",
            "hooks": f"./{copilot}/hooks.json",
            "mcpServers": f"./{copilot}/.mcp.json",
        },
        f"{copilot}/plugin.json": {
            **facts,
            "skills": "skills/",
            "hooks": "hooks.json",
            "mcpServers": ".mcp.json",
        },
        f"{copilot}/hooks.json": {"version": 1, "hooks": plugin_hooks("copilot-cli")},
        f"{copilot}/.mcp.json": {"mcpServers": {NAME: {"type": "stdio", "tools": ["*"], **server}}},
        "server.json": {
            "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
            "name": REGISTERED,
            "title": "Lessons",
            "description": ABOUT,
            "version": __version__,
            "repository": {"url": REPOSITORY, "source": "github"},
            "packages": [
                {
                    "registryType": "pypi",
                    "identifier": PACKAGE,
                    "version": __version__,
                    "runtimeHint": "uvx",
                    "runtimeArguments": [
                        {"type": "named", "name": "--from", "value": SERVER_PACKAGE}
                    ],
                    "packageArguments": [
                        {"type": "positional", "value": NAME},
                        {"type": "positional", "value": "mcp"},
                    ],
                    "transport": {"type": "stdio"},
                }
            ],
        },
    }
    antigravity = f"{PLUGINS}/antigravity"
    data[f"{antigravity}/hooks.json"] = {NAME: plugin_hooks("antigravity")}
    data[f"{antigravity}/plugin.json"] = facts
    data[f"{antigravity}/mcp_config.json"] = servers
    files = {path: json.dumps(value, indent=2) + "\n" for path, value in data.items()}
    for agent in (*COMMANDS, "copilot-cli", "antigravity"):
        files |= {f"{PLUGINS}/{agent}/{path}": text for path, text in plugin_commands(agent)}
        files[f"{PLUGINS}/{agent}/README.md"] = plugin_readme(agent)
    files[f"{claude}/hooks/lessons.ts"] = (ROOT / MODULE).read_text("utf-8")
    files["Formula/lessons-kb.rb"] = formula()
    files |= shell_files() | {f"{EDITOR}/snippets.json": editor_snippets()}
    published = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"][PACKAGE][
        "published"
    ]
    return files | install_pages(published=published)


def install_pages(*, published: bool) -> dict[str, str]:
    """Return the text of each page about the installation of the package, by its path."""
    paths = [path for pattern in PAGES for path in sorted(ROOT.glob(pattern))]
    return {
        path.relative_to(ROOT).as_posix(): say_how_to_install(
            path.read_text("utf-8"), published=published
        )
        for path in paths
        if path.name != "reference.md"  # which tools/reference.py writes
    }


IN_CLONE = "   # in a clone"
"""The comment after a command that works only in a clone."""


def say_how_to_install(text: str, *, published: bool) -> str:
    """Return a page whose commands install from PyPI, or from a clone or the repository.

    In prose that is ``pip install ".[EXTRA]"`` from a clone, in a script a requirement with the
    address of the repository.
    """
    extra = r"\[(\w+)\]"
    if published:
        text = re.sub(
            rf'`pip install "\.{extra}"` from a clone', rf'`pip install "{PACKAGE}[\1]"`', text
        )
        text = re.sub(
            rf'^pip install "\.{extra}"{IN_CLONE}$',
            rf'pip install "{PACKAGE}[\1]"',
            text,
            flags=re.MULTILINE,
        )
        return re.sub(rf'"({PACKAGE}(?:{extra})?) @ {re.escape(FROM_REPOSITORY)}"', r'"\1"', text)
    text = re.sub(rf'`pip install "{PACKAGE}{extra}"`', r'`pip install ".[\1]"` from a clone', text)
    text = re.sub(
        rf'^pip install "{PACKAGE}{extra}"$',
        rf'pip install ".[\1]"{IN_CLONE}',
        text,
        flags=re.MULTILINE,
    )
    asked = rf'(pip install |LESSONS_PACKAGE: )"({PACKAGE}(?:{extra})?)"'
    return re.sub(asked, rf'\1"\2 @ {FROM_REPOSITORY}"', text)


START_SERVER = (
    f"lessons mcp; case $? in 2|127) exec uvx -q --from '{SERVER_PACKAGE}' lessons mcp;; esac"
)
"""The installed command; 127: there is none, 2: it lacks the extra."""


MODULE = "templates/claude-code/lessons.ts"
"""The module of the plugin for Claude Code, which the plugin's folder needs as a copy."""
MODULE_MARK = '"$CLAUDE_PLUGIN_DATA/module-$CLAUDE_CODE_SESSION_ID-$CLAUDE_PID"'
"""The file with which the module of the plugin informs a hook that it has answered the event."""
USE_MARK = f"[ -s {MODULE_MARK} ] && true >{MODULE_MARK}"
"""A command that succeeds if there is a mark, and empties it. A mark is valid for one event, so the
hooks answer again as soon as the module leaves none."""


def plugin_hooks(agent: str, *, unless: str = "") -> dict[str, Any]:
    """Return the hooks of an agent, which run the installed command, else one fetched with uv.

    ``unless`` is a shell command. If it succeeds, the hook ends at once.
    """
    row = AGENTS[agent]
    hooks = build_hooks(agent, "lessons-hook", via="command")
    installed = f"lessons-hook {agent}"
    # What uv has fetched already starts in a third of the time without a look at the index.
    # Compiled when it is fetched: else the first prompt would wait for that, longer than it may.
    ways = ("-q --offline", "-q --compile-bytecode")
    known, fetched = (f"uvx {how} --from {EXACT} {installed}" for how in ways)
    for event, groups in hooks.items():
        first = row.events[event] == "start"
        told = f"echo {row.silence}" if row.silence else "exit 0"
        if first and row.begins:
            told = f"echo '{row.show_line(MISSING)}'"
        first_way = f"{unless} || {installed}" if unless else installed
        line = f"{first_way} || {known} || {fetched} || {told}"
        for handler in groups[0].get("hooks", groups):
            handler.pop("args", None)
            for key, value in handler.items():
                if key == "powershell":
                    handler[key] = f"try {{ {installed} }} catch {{ {fetched} }}; exit 0"
                elif key in ("command", "bash"):
                    called = "vscode" if "vscode" in value else agent
                    handler[key] = line.replace(f"hook {agent}", f"hook {called}")
                elif first and key.startswith("timeout"):
                    handler[key] = FIRST_SECONDS * (1000 if value > FIRST_SECONDS else 1)
    return hooks


def plugin_commands(agent: str) -> list[tuple[str, str]]:
    """Return path and text of each command, without the notes on how an installation wrote it."""
    files = []
    for path, text in build_commands(agent, NAME).items():
        lines = [line for line in text.split("\n") if "Written by `lessons install" not in line]
        called, inside = (
            AGENTS[agent].call.format(f"{prefix}lessons-review")
            for prefix in ("", COMMANDS.get(agent, ""))
        )
        files.append((path, "\n".join(lines).lstrip().replace(f"`{called}`", f"`{inside}`")))
    return files


def plugin_readme(agent: str) -> str:
    """Return the description of a plugin for a marketplace."""
    lesson, review = (
        AGENTS[agent].call.format(f"{COMMANDS.get(agent, '')}{name}")
        for name in ("lesson", "lessons-review")
    )
    return f"""\
# Lessons

{ABOUT}

- Hooks put the few lessons that matter in front of the agent, most often none.
- `{lesson}` drafts a lesson card about what just went wrong; `{review}` goes through the drafts.
- The MCP server lets the agent search, check and propose.

It runs `lessons-hook` and `lessons` where they are on the PATH, else `uvx --from {PACKAGE}`.
It works offline from then on: no model, no API key, no telemetry. See [{PACKAGE}]({REPOSITORY}).
"""


def formula() -> str:
    """Return the formula for Homebrew, for which this repository is the tap.

    Programs are called by the path without a version, so that hooks outlive an upgrade.
    """
    return f"""\
class LessonsKb < Formula
  desc "{ABOUT[2:].rstrip(".").capitalize()}"
  homepage "{REPOSITORY}"
  url "{REPOSITORY}.git",
      tag: "v{__version__}"
  license "{PROJECT["license"]}"

  depends_on "python@3.13"

  def install
    system "python3.13", "-m", "venv", libexec
    system libexec/"bin/pip", "install", "#{{buildpath}}[mcp]"
    programs = Dir[libexec/"bin/lessons*"]
    inreplace programs, libexec.to_s, opt_libexec.to_s
    bin.install_symlink programs
    man1.install "templates/shell/lessons.1"
    bash_completion.install "templates/shell/lessons.bash" => "lessons"
    zsh_completion.install "templates/shell/_lessons"
    fish_completion.install "templates/shell/lessons.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{{bin}}/lessons --version")
    system bin/"lessons", "init", "brain"
  end
end
"""


def shell_files() -> dict[str, str]:
    """Return the manual page and the completion of each shell, which a wheel puts in `share/`."""
    group = typer.main.get_command(app)
    parts = [f'.TH LESSONS 1 "" "lessons-kb {__version__}"', ".SH NAME", f"lessons \\- {ABOUT}"]
    commands = {name: group.get_command(None, name) for name in sorted(group.commands)}
    for name, command in {"": group, **commands}.items():
        if not command.hidden:
            parts += manual_section(f"lessons {name}".strip(), command)
    files = {"lessons.1": "\n".join(parts) + "\n"}
    for shell, name in {"bash": "lessons.bash", "zsh": "_lessons", "fish": "lessons.fish"}.items():
        script = get_completion_script(
            prog_name="lessons", complete_var="_LESSONS_COMPLETE", shell=shell
        )
        files[name] = script.strip() + "\n"
    return {f"templates/shell/{name}": text for name, text in files.items()}


def manual_section(name: str, command: Any) -> list[str]:
    """Return the lines of a command in the manual page, with any version of typer."""
    about, _, example = (command.help or "").partition("Example: ")
    lines = [f'.SH "{name}"', roff(" ".join(about.split()))]
    lines += [".PP", ".nf", *map(roff, example.split("\n")), ".fi"] if example else []
    for param in command.params:
        if param.help and param.name != "help":
            names = ", ".join((*param.opts, *param.secondary_opts))
            if param.param_type_name == "argument":
                names = param.name.upper()
            elif not param.is_flag:
                names += f" {param.metavar or param.name.strip('_').upper()}"
            lines += [".TP", f"\\fB{roff(names)}\\fR", roff(" ".join(param.help.split()))]
    return lines


def roff(line: str) -> str:
    """Return a line of text with the escapes of roff."""
    line = line.strip().replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{line}" if line.startswith((".", "'")) else line


def editor_snippets() -> str:
    """Return the snippets of the extension for VS Code: each kind of card, and a pattern."""
    snippets: dict[str, Any] = {
        "Pattern of a card": {
            "prefix": "detect",
            "body": ["detect:", "  - regex: '${1:pattern}'", '    files: ["${2:*.py}"]'],
        }
    }
    for kind in KINDS:
        text = (ROOT / "templates" / f"{kind}.md").read_text("utf-8")
        snippets[f"Card: {kind}"] = {
            "prefix": kind,
            "isFileTemplate": True,
            "body": template_stops(text).rstrip("\n").split("\n"),
        }
    return json.dumps(snippets, indent=2) + "\n"


def template_stops(text: str) -> str:
    """Return a card template as the body of a snippet, with a stop at each place to fill in."""
    needless = r"^(?:#(?! ?#).*|project:|stage:|source:.*|status:.*|occurrences:.*)\n"
    text = re.sub(needless, "", text, flags=re.MULTILINE)
    text = re.sub(r"[\\$}]", r"\\\g<0>", text)
    text = text.replace("created:", "created: $CURRENT_YEAR-$CURRENT_MONTH-$CURRENT_DATE")
    numbers = itertools.count(1)

    def stop(place: re.Match[str]) -> str:
        if place[0] in SEVERITIES:
            return f"${{{next(numbers)}|{place[0]},{','.join(one for one in SEVERITIES if one != place[0])}|}}"
        return f"${{{next(numbers)}:{place[0]}}}"

    places = r"(?<=^title: ).+|(?<=\[)(?=\]$)|(?<=^severity: )\w+|<!--(?:.|\n)*?-->"
    return re.sub(places, stop, text, flags=re.MULTILINE)


def write_bundles(folder: Path) -> list[Path]:
    """Write the MCP bundle and the extension for Gemini CLI; return their paths."""
    folder.mkdir(exist_ok=True)
    bundle = folder / f"{PACKAGE}-{__version__}.mcpb"
    with zipfile.ZipFile(bundle, "w", zipfile.ZIP_DEFLATED) as file:
        for path, text in mcp_bundle().items():
            file.writestr(zipfile.ZipInfo(path), text)
    extension = folder / "gemini-cli.tar.gz"
    with tarfile.open(extension, "w:gz") as tar:
        start = f"{PLUGINS}/gemini-cli/"
        for path, text in build_packages().items():
            if path.startswith(start):
                info = tarfile.TarInfo(path.removeprefix(start))
                info.size = len(data := text.encode())
                tar.addfile(info, io.BytesIO(data))
    return [bundle, extension]


def mcp_bundle() -> dict[str, str]:
    """Return the files of the MCP bundle: uv installs what its `pyproject.toml` names."""
    start = "server.py"
    manifest = {
        "manifest_version": "0.4",
        "name": PACKAGE,
        "display_name": "Lessons",
        "version": __version__,
        "description": ABOUT,
        "author": AUTHOR,
        "repository": {"type": "git", "url": REPOSITORY},
        "license": PROJECT["license"],
        "server": {
            "type": "uv",
            "entry_point": start,
            "mcp_config": {
                "command": "uv",
                "args": ["run", "--directory", "${__dirname}", start],
            },
        },
        "tools_generated": True,
        "compatibility": {
            "platforms": ["darwin", "linux", "win32"],
            "runtimes": {"python": PROJECT["requires-python"]},
        },
    }
    project = f"""\
[project]
name = "{PACKAGE}-bundle"
version = "{__version__}"
requires-python = "{PROJECT["requires-python"]}"
dependencies = ["{SERVER_PACKAGE}"]
"""
    program = """\
import sys

from lessons_kb.cli.entry import main

sys.argv[1:] = ["mcp"]
main()
"""
    return {
        "manifest.json": json.dumps(manifest, indent=2) + "\n",
        "pyproject.toml": project,
        start: program,
    }


def main(arguments: list[str]) -> None:
    """Write the files, and the bundles on request."""
    for path, text in build_packages().items():
        place = ROOT / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    for path in write_bundles(ROOT / "dist") if "--build" in arguments else ():
        print(path.relative_to(ROOT))


if __name__ == "__main__":
    main(sys.argv[1:])
