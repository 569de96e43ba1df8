"""Format findings as a SARIF 2.1.0 log, which code scanners and editors read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import quote

from lessons_kb.model import Finding
from lessons_kb.text.sanitize import visible_json

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_INFORMATION = "https://pypi.org/project/lessons-kb/"


def format_sarif(annotations: Sequence[Finding], *, version: str) -> str:
    """Return one SARIF 2.1.0 log as JSON text. ``version`` is the version of the tool.

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
    for annotation in annotations:
        location = {
            "artifactLocation": {"uri": quote(annotation.path)},
            "region": {"startLine": max(annotation.line, 1)},
        }
        result = {
            "ruleId": annotation.rule,
            "ruleIndex": rules.index(annotation.rule),
            "level": _LEVELS[annotation.level],
            "message": {"text": describe_finding(annotation)},
            "locations": [{"physicalLocation": location}],
        }
        results.append(result)
    runs = [{"tool": {"driver": driver}, "results": results}]
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}
    return visible_json(json.dumps(log, ensure_ascii=False, indent=2))


def describe_finding(finding: Finding) -> str:
    """Return the message of a finding, followed by its fix if there is one."""
    return f"{finding.message}; {finding.fix}" if finding.fix else finding.message
