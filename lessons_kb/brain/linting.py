"""Everything wrong with the files of one brain."""

from __future__ import annotations

from lessons_kb.brain.digest import read_document
from lessons_kb.brain.refresh import scan_brain
from lessons_kb.cards import check_card
from lessons_kb.errors import ConfigError, InputError, StorageError
from lessons_kb.model import NOTE, Finding
from lessons_kb.storage.locate import CONFIG_NAME
from lessons_kb.storage.settings import read_ignored, read_settings
from lessons_kb.text.globs import compile_globs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.brain.layer import Layer


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
            findings.append(_finding(path, "unreadable", str(error)))
            continue
        if document.card is None or document.card.kind != NOTE:
            findings += check_card(document)
        else:
            findings += document.findings
        if document.card is not None:
            line = document.key_lines.get("paths", 0)
            findings += _bad_globs(document.card.id, document.card.paths, line)
    return sorted(findings, key=lambda finding: (finding.path, finding.line, finding.rule))


def _bad_globs(path: str, globs: tuple[str, ...], line: int) -> list[Finding]:
    try:
        compile_globs(globs)
    except InputError as error:
        return [_finding(path, "bad-glob", str(error)).replace(line=line)]
    return []


def _config_finding(error: ConfigError) -> Finding:
    name, _, rest = str(error).partition(":")
    number, _, message = rest.partition(":")
    line = int(number) if number.strip().isdigit() else 0
    return Finding(
        path=name or CONFIG_NAME,
        line=line,
        rule="bad-settings",
        message=(message if line else rest).strip(),
        mend="`lessons config` lists the valid keys",
        level="error",
    )


_MENDS = {
    "unreadable": "give yourself read access, or remove the file",
    "bad-glob": "write gitignore-style globs, such as src/**/*.py",
}


def _finding(path: str, rule: str, message: str) -> Finding:
    return Finding(path=path, line=0, rule=rule, message=message, mend=_MENDS[rule], level="error")
