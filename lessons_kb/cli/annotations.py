"""Print findings about lines of files as text, JSON, SARIF or GitHub annotations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lessons_kb.cli.output import print_json, print_wrapped
from lessons_kb.cli.sarif import describe_finding, format_sarif
from lessons_kb.model import Finding
from lessons_kb.text.sanitize import visible
from lessons_kb.version import __version__

_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def print_findings(
    form: str, data: Any, lines: Iterable[str], annotations: Iterable[Finding]
) -> None:
    """Print findings in one of the FORMATS of ``options``.

    ``data`` is printed as JSON, ``lines`` as text, and ``annotations`` as SARIF or for GitHub.
    """
    if form == "json":
        print_json(data)
    elif form == "sarif":
        print(format_sarif([*annotations], version=__version__))
    elif form == "text":
        for line in lines:
            print_wrapped(line, hang=4)
    elif text := format_github(annotations):
        print(text)


def format_github(annotations: Iterable[Finding]) -> str:
    """Return GitHub Actions workflow commands, one line each."""
    lines = []
    for finding in annotations:
        properties = {"file": finding.path, "title": f"lessons: {finding.rule}"}
        if finding.line:
            properties["line"] = str(finding.line)
        level = _GITHUB_LEVELS[finding.level]
        fields = ",".join(f"{key}={_escape(text, ':,')}" for key, text in properties.items())
        lines.append(f"::{level} {fields}::{_escape(describe_finding(finding))}")
    return "\n".join(lines)


def _escape(text: str, separators: str = "") -> str:
    """Percent-escape line ends, ``%`` and the separators, and replace invisible characters."""
    escapes = {ord(character): f"%{ord(character):02X}" for character in "%\r\n" + separators}
    return visible(text.translate(escapes))
