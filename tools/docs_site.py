"""Hooks of the docs site: adds pages from the repository's root and adapts their links."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": "index.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
"""File at the root → page of the site."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside of ``docs/``."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, page, content=_follow(text, "", config["repo_url"])))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Change the links of a page so that they lead to the site or to the repository."""
    if page.file.src_uri in PAGES.values():
        return markdown
    return _follow(markdown, "docs", config["repo_url"])


def _follow(text: str, folder: str, repository: str) -> str:
    def lead(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        path = posixpath.normpath(posixpath.join(folder, target))
        if path in PAGES:
            return f"]({PAGES[path]}{anchor})"
        if path.startswith("docs/") and path.endswith((".md", ".svg", ".png")):
            return f"]({path.removeprefix('docs/')}{anchor})"
        return f"]({repository}/blob/main/{path}{anchor})"

    return re.sub(r"\]\((?![\w+]+:|#)([^)#\s]+)(#[^)\s]*)?\)", lead, text)
