"""How this package was installed, and so how an extra of it is added."""

from __future__ import annotations

import json
import os
import shlex
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from urllib.parse import unquote, urlsplit

_PACKAGE = "lessons-kb"


@cache
def install_command(extra: str) -> str:
    """Return the command that adds an extra to this installation, as a shell takes it.

    pipx and uv keep a tool in an environment of its own, which only they change; elsewhere the
    installer that made the environment is called for this very interpreter. What was installed
    from a folder, an archive or a repository is installed from there again.
    """
    editable, source = _find_source()
    remote = "://" in source
    requirement = shlex.quote(f"{_PACKAGE}[{extra}] @ {source}" if remote else f"{source}[{extra}]")
    option = "-e " if editable else ""
    if _holds("pipx_metadata.json"):
        return f"pipx install --force {'--editable ' if editable else ''}{requirement}"
    if _holds("uv-receipt.toml"):
        return f"uv tool install {'--editable ' if editable else ''}{requirement}"
    python = shlex.quote(sys.executable)
    if _is_made_by_uv() or find_spec("pip") is None:
        return f"uv pip install --python {python} {option}{requirement}"
    return f"{python} -m pip install {option}{requirement}"


def _holds(name: str) -> bool:
    return os.path.isfile(os.path.join(sys.prefix, name))


def _is_made_by_uv() -> bool:
    try:
        with open(os.path.join(sys.prefix, "pyvenv.cfg"), encoding="utf-8") as file:
            return any(line.partition("=")[0].strip() == "uv" for line in file)
    except (OSError, ValueError):
        return False


def _find_source() -> tuple[bool, str]:
    """Return whether this is an editable installation, and the folder, file or URL it is from.

    The name of the package, where it came from an index.
    """
    try:
        text = distribution(_PACKAGE).read_text("direct_url.json")
        told = json.loads(text) if text else {}
        url = told["url"] if isinstance(told.get("url"), str) else ""
        editable = bool((told.get("dir_info") or {}).get("editable"))
        vcs = (told.get("vcs_info") or {}).get("vcs")
    except (PackageNotFoundError, OSError, ValueError, AttributeError):
        return False, _PACKAGE
    if url.startswith("file:"):
        path = unquote(urlsplit(url).path)
        return editable, path.removeprefix("/") if os.name == "nt" else path
    if vcs:
        return False, f"{vcs}+{url}"
    return False, url or _PACKAGE
