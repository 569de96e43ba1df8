"""Everything wrong with the files of one brain."""

from __future__ import annotations

from lessons_kb.brain.digest import check_globs, read_document
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.refresh import scan_brain
from lessons_kb.cards.lint import check_card
from lessons_kb.errors import ConfigError, StorageError
from lessons_kb.model import NOTE, Finding
from lessons_kb.store.locate import CONFIG_NAME
from lessons_kb.store.settings import read_ignored, read_settings


def lint(layer: Layer) -> list[Finding]:
    """Read every file of a brain anew and return its findings, by path and line."""
    try:
        settings, _origins = read_settings(layer.root)
        ignored = read_ignored(layer.root)
    except ConfigError as error:
        return [_config_finding(error)]
    seen = scan_brain(layer.root, settings, ignored)
    findings = list(seen.findings)
    limit = settings.index.max_file_bytes
    for path in seen.files:
        try:
            document = read_document(layer.root, path, settings.folders, limit)[1]
        except StorageError as error:
            findings.append(_unreadable(path, str(error)))
            continue
        if document.card is None or document.card.kind != NOTE:
            findings += check_card(document)
        else:
            findings += document.findings
        findings += check_globs(document)
    return sorted(findings, key=lambda finding: (finding.path, finding.line, finding.rule))


def _config_finding(error: ConfigError) -> Finding:
    name, _, rest = str(error).partition(":")
    number, _, message = rest.partition(":")
    line = int(number) if number.strip().isdigit() else 0
    return Finding(
        path=name or CONFIG_NAME,
        line=line,
        rule="bad-settings",
        message=(message if line else rest).strip(),
        mend="see `lessons config` for the valid keys",
        level="error",
    )


def _unreadable(path: str, message: str) -> Finding:
    mend = "grant yourself read access, or remove the file"
    return Finding(path=path, line=0, rule="unreadable", message=message, mend=mend, level="error")
