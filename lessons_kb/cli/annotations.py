"""Findings about lines of files, as text, JSON, SARIF or annotations for GitHub."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import quote

from lessons_kb.cli.output import print_json, print_wrapped
from lessons_kb.model import Finding
from lessons_kb.text.sanitize import visible, visible_json
from lessons_kb.version import __version__

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}


_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


_INFORMATION = "https://pypi.org/project/lessons-kb/"


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


def format_sarif(annotations: Sequence[Finding], *, version: str) -> str:
    """Return one SARIF 2.1.0 log as JSON text; ``version`` is the tool's.

    Paths are POSIX and relative to the working directory.
    """
    rules = sorted({annotation.rule for annotation in annotations})
    driver = {
        "name": "lessons",
        "version": version,
        "informationUri": _INFORMATION,
        "rules": [{"id": rule} for rule in rules],
    }
    results = []
    for one in annotations:
        file, region = {"uri": quote(one.path)}, {"startLine": max(one.line, 1)}
        place = {"physicalLocation": {"artifactLocation": file, "region": region}}
        result = {"ruleId": one.rule, "ruleIndex": rules.index(one.rule)}
        result |= {"level": _SARIF_LEVELS[one.level], "message": {"text": _tell(one)}}
        results.append({**result, "locations": [place]})
    runs = [{"tool": {"driver": driver}, "results": results}]
    log = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": runs}
    return visible_json(json.dumps(log, ensure_ascii=False, indent=2))


def format_github(annotations: Iterable[Finding]) -> str:
    """Return GitHub Actions workflow commands, one line each."""
    lines = []
    for one in annotations:
        properties = {"file": one.path, "title": f"lessons: {one.rule}"}
        if one.line:
            properties["line"] = str(one.line)
        shown = ",".join(f"{key}={_escape(text, ':,')}" for key, text in properties.items())
        lines.append(f"::{_GITHUB_LEVELS[one.level]} {shown}::{_escape(_tell(one), '')}")
    return "\n".join(lines)


def _tell(finding: Finding) -> str:
    return f"{finding.message}; {finding.fix}" if finding.fix else finding.message


def _escape(text: str, more: str) -> str:
    """Percent-escape what would end a value or start another command; show what is invisible."""
    return visible("".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text))
