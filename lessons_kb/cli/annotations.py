"""Findings about lines of files, as text, JSON, SARIF or annotations for GitHub."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lessons_kb.cli.output import print_json, print_wrapped
from lessons_kb.cli.sarif import describe_finding, format_sarif
from lessons_kb.model import Finding
from lessons_kb.text.sanitize import visible
from lessons_kb.version import __version__

_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def print_found(form: str, data: Any, lines: Iterable[str], annotations: Iterable[Finding]) -> None:
    """Print what was found: as JSON data, as lines of text, or as annotations of lines."""
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
    for one in annotations:
        properties = {"file": one.path, "title": f"lessons: {one.rule}"}
        if one.line:
            properties["line"] = str(one.line)
        shown = ",".join(f"{key}={_escape(text, ':,')}" for key, text in properties.items())
        lines.append(f"::{_GITHUB_LEVELS[one.level]} {shown}::{_escape(describe_finding(one), '')}")
    return "\n".join(lines)


def _escape(text: str, more: str) -> str:
    """Percent-escape what would end a value or start another command; show what is invisible."""
    return visible("".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text))
