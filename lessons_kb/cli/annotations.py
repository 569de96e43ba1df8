"""Findings as other tools read them: SARIF 2.1.0 and GitHub workflow commands."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import quote

from lessons_kb.text.escape_controls import visible, visible_json
from lessons_kb.version import __version__

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_INFORMATION = "https://pypi.org/project/lessons-kb/"


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """Something to say about one line of one file."""

    path: str
    """POSIX path, relative to the working directory."""
    line: int
    """1-based; 0 for the whole file."""
    rule: str
    message: str
    level: str = "warning"
    """``error``, ``warning`` or ``info``."""


def print_annotations(annotations: Sequence[Annotation], form: str) -> None:
    """Print annotations as ``github`` or ``sarif``."""
    if form == "sarif":
        print(format_sarif(annotations, version=__version__))
    elif annotations:
        print(format_github(annotations))


def format_sarif(annotations: Sequence[Annotation], *, version: str) -> str:
    """Return one SARIF 2.1.0 log as JSON text; ``version`` is the tool's."""
    rules = sorted({annotation.rule for annotation in annotations})
    log = {
        "$schema": _SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "lessons",
                        "version": version,
                        "informationUri": _INFORMATION,
                        "rules": [{"id": rule} for rule in rules],
                    }
                },
                "results": [_result(annotation, rules) for annotation in annotations],
            }
        ],
    }
    return visible_json(json.dumps(log, ensure_ascii=False, indent=2))


def format_github(annotations: Sequence[Annotation]) -> str:
    """Return GitHub Actions workflow commands, one line each."""
    return "\n".join(_command(annotation) for annotation in annotations)


def _result(annotation: Annotation, rules: list[str]) -> dict[str, object]:
    return {
        "ruleId": annotation.rule,
        "ruleIndex": rules.index(annotation.rule),
        "level": _SARIF_LEVELS[annotation.level],
        "message": {"text": annotation.message},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(annotation.path)},
                    "region": {"startLine": max(annotation.line, 1)},
                }
            }
        ],
    }


def _command(annotation: Annotation) -> str:
    properties = {"file": annotation.path, "title": f"lessons: {annotation.rule}"}
    if annotation.line:
        properties["line"] = str(annotation.line)
    shown = ",".join(f"{key}={_escaped(text, ':,')}" for key, text in properties.items())
    return f"::{_GITHUB_LEVELS[annotation.level]} {shown}::{_escaped(annotation.message, '')}"


def _escaped(text: str, more: str) -> str:
    """Percent-escape what would end a value or start another command; show what is invisible."""
    return visible("".join(f"%{ord(c):02X}" if c in "%\r\n" + more else c for c in text))
