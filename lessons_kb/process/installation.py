"""Find the shell commands that add an extra to this installation, or upgrade it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from functools import cache
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

_PACKAGE = "lessons-kb"


@cache
def install_command(extra: str) -> str:
    """Return the shell command that adds an extra to this installation.

    A tool of pipx or uv has its own environment, which only these programs change. In any other
    environment, the command calls the installer of the environment for this interpreter. An
    installation from a folder, an archive or a repository is repeated from the same source.
    """
    editable, requirement = _find_requirement(extra)
    tool = _find_tool_installer()
    if tool:
        force = " --force" if tool == "pipx" else ""
        return f"{tool} install{force} {'--editable ' if editable else ''}{requirement}"
    return f"{_find_installer()} {'-e ' if editable else ''}{requirement}"


def upgrade_command() -> str:
    """Return the shell command that installs the newest release and then updates the hooks."""
    editable, requirement = _find_requirement("")
    if "archive-v0" in sys.prefix.split(os.sep):  # uvx ran it from its cache
        return f"uvx --from {_PACKAGE}@latest lessons upgrade"
    if sys.prefix.endswith(os.path.join(_PACKAGE, "libexec")):
        command = f"brew upgrade {_PACKAGE}"
    elif editable:
        command = f"git -C {requirement} pull"
    elif tool := _find_tool_installer():
        command = f"{tool} upgrade {_PACKAGE}"
    else:
        command = f"{_find_installer()} --upgrade {requirement}"
    return f"{command} && lessons upgrade"


def _find_tool_installer() -> str:
    """Return the command of pipx or uv that manages this tool's environment, or "" if neither
    does.
    """
    names = os.listdir(sys.prefix)
    marks = {"pipx_metadata.json": "pipx", "uv-receipt.toml": "uv tool"}
    return next((tool for mark, tool in marks.items() if mark in names), "")


def _find_installer() -> str:
    """Return the command that installs into this environment."""
    python = shlex.quote(sys.executable)
    by_uv = False
    made = os.path.join(sys.prefix, "pyvenv.cfg")
    with contextlib.suppress(OSError, ValueError), open(made, encoding="utf-8") as file:
        by_uv = any(line.partition("=")[0].strip() == "uv" for line in file)
    if by_uv or find_spec("pip") is None:
        return f"uv pip install --python {python}"
    return f"{python} -m pip install"


def _find_requirement(extra: str) -> tuple[bool, str]:
    """Return whether the installation is editable, and its requirement with an extra, quoted for a
    shell.

    The requirement is a folder, a file or a URL, or the package's name if it came from an index.
    """
    url, editable, vcs = "", False, None
    from importlib.metadata import PackageNotFoundError, distribution  # its import takes 15 ms

    with contextlib.suppress(PackageNotFoundError, OSError, ValueError, AttributeError):
        origin = json.loads(distribution(_PACKAGE).read_text("direct_url.json") or "{}")
        url = origin["url"] if isinstance(origin.get("url"), str) else ""
        vcs = (origin.get("vcs_info") or {}).get("vcs")
        editable = url.startswith("file:") and bool((origin.get("dir_info") or {}).get("editable"))
    with_extra = f"[{extra}]" if extra else ""
    source = f"{vcs}+{url}" if vcs else url
    if url.startswith("file:"):
        source = unquote(urlsplit(url).path).removeprefix("/" if os.name == "nt" else "")
    elif "://" in source:
        return False, shlex.quote(f"{_PACKAGE}{with_extra} @ {source}")
    return editable, shlex.quote(f"{source or _PACKAGE}{with_extra}")
