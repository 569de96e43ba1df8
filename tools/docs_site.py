"""Hooks of the docs site.

They add the pages of the repository's root, adapt links, and redirect from the pages that moved.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"README.md": "index.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changelog.md"}
"""File at the root → page of the site."""
MOVED = {"capacity": "figures/#large-brains", "testing": "contributing/#test-the-tests"}
"""Former page → the page and section that have its content now, as addresses of the site."""

_NOT_RUN = re.compile(r"^```text\n(?=(?:\$ )?(?:lessons|pip|mkdocs|code|chmod) )", re.MULTILINE)
"""The start of a block with commands that the tests of the pages do not run."""


def on_files(files: Any, config: Any) -> Any:
    """Add the pages outside of ``docs/``, and a redirect for each page that moved."""
    from mkdocs.structure.files import File  # the tests read this module without MkDocs

    for name, page in PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, page, content=_follow(text, "", config["repo_url"])))
    for path, content in build_redirects().items():
        files.append(File.generated(config, path, content=content))
    return files


def build_redirects() -> dict[str, str]:
    """Return the path and the HTML of each redirect."""
    redirects = {}
    for page, target in MOVED.items():
        address = f"../{target}"
        redirects[f"{page}/index.html"] = _REDIRECT.format(address=address)
    return redirects


_REDIRECT = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>This page has moved</title>
<meta http-equiv="refresh" content="0; url={address}">
<link rel="canonical" href="{address}">
<p>This page has moved: <a href="{address}">{address}</a></p>
</html>
"""


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:  # noqa: ARG001
    """Adapt the links of a page, and show each block of commands as one."""
    markdown = _NOT_RUN.sub("```sh\n", markdown)
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
