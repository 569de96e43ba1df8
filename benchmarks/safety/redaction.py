"""Make the redactor's table of vendors' secrets; count its false alarms and time it.

``python -m benchmarks redaction --rules gitleaks.toml --version V`` writes
``lessons_kb/data/gitleaks_secrets.jsonl`` from the rules that gitleaks (MIT) maintains, as RE2 runs
them in our view of a text. Without ``--rules``: what the redactor takes out of the code in the
folders given, where no secret should be, and how long it takes.
"""

from __future__ import annotations

import json
import re
import sysconfig
import time
import tomllib
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, DataError
from lessons_kb.text.patterns import compile_regex
from lessons_kb.text.redact import redact

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

_TABLE = HERE.parent / "lessons_kb" / "data" / "gitleaks_secrets.jsonl"
_NOTICE = """\
gitleaks_secrets.jsonl is made by `python -m benchmarks redaction --rules config/gitleaks.toml` from
gitleaks {version}, https://github.com/gitleaks/gitleaks.

"""
_LEFT_OUT = re.compile(
    r"generic-api-key|curl-auth-.*|private-key|jwt.*|kubernetes-secret-yaml|hashicorp-tf-password"  # ours see more forms
    r"|.*-(?:client-id|public-key|account-id)"  # no secrets
)
_CHANGES = (
    (r"""(?:[\x60'"\s;]|\\[nr]|$)""", r"(?:[^\w=-]|$)"),  # "&", ")" and "," end a value, too
    # Escaped quotes of the view are quotes.
    (r"""[\x60'"\s=]""", r"""[\x60'"\x{e000}-\x{e00f}\s=]"""),
    (r"""[\s'"]{0,3}""", r"""[\s'"\x{e000}-\x{e00f}]{0,3}"""),
    ("(login|token)", "(?:login|token)"),  # the first group is the secret
    (r"[\w.-]{0,50}?", ""),  # the text before a name does not matter
    (r"""(?:^|[\\'"\x60\s>=:(,)])""", r"(?:^|[^\w~.])"),
    (r"""(?:$|[\\'"\x60\s<),])""", r"(?:$|[^\w~])"),
)
_MEMORY = 8 << 20
_FIXTURES = re.compile(r"(?i)(?:^|/)(?:tests?|fixtures?|detect_secrets|testdata|__snapshots__)/")
_CODE = (".py", ".pyi", ".js", ".mjs", ".cjs", ".ts", ".tsx", ".c", ".h", ".go", ".rs", ".sh")
_LINES = 100_000
_ROUNDS = 7


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Write the table, or measure."""
    if options.rules:
        return {"rules": _write_table(Path(options.rules), options.version)}
    return {**_count_alarms(options.folders or [sysconfig.get_path("purelib")]), **_time()}


def _write_table(source: Path, version: str) -> int:
    rules = tomllib.loads(source.read_text("utf-8"))["rules"]
    records = []
    seen = Counter(dict.fromkeys((old for old, _ in _CHANGES), 0))
    for rule in rules:
        if "regex" not in rule or _LEFT_OUT.fullmatch(rule["id"]):
            continue
        pattern = rule["regex"]
        for old, new in _CHANGES:
            seen[old] += old in pattern
            pattern = pattern.replace(old, new)
        compile_regex(pattern, max_memory=_MEMORY)
        record = {
            "kind": rule["id"].replace("-", " "),
            "entropy": float(rule.get("entropy", 0)),
            "words": [_spell(word, pattern) for word in rule["keywords"]],
            "pattern": pattern,
        }
        records.append(json.dumps(record, ensure_ascii=False) + "\n")
    if unused := [old for old, count in seen.items() if not count]:
        raise DataError(f"no rule holds {unused[0]} any more; see _CHANGES")
    licence = (source.resolve().parents[1] / "LICENSE").read_text("utf-8")
    _TABLE.write_text("".join(records), "utf-8")
    _TABLE.with_suffix(".NOTICE").write_text(_NOTICE.format(version=version) + licence, "utf-8")
    report.tell(f"{len(records)} of {len(rules)} rules written to {_TABLE}")
    return len(records)


def _spell(word: str, pattern: str) -> str:
    """Return a keyword in capitals if its rule finds it in capitals alone.

    "sk" stands in every text that holds the word task, and "SK" in hardly any.
    """
    capitals = word.upper()
    everywhere = pattern.lower().count(word)
    is_sure = "(?i" not in pattern and everywhere == pattern.count(capitals) > 0
    return capitals if is_sure else word


def _count_alarms(folders: list[str]) -> dict[str, Any]:
    lines = 0
    kinds: Counter[str] = Counter()
    for text in _code(folders):
        whole = text.splitlines()[: _LINES - lines]
        lines += len(whole)
        for before, after in zip(whole, redact("\n".join(whole)).split("\n"), strict=False):
            if before != after:
                kinds.update(set(re.findall(r"\[redacted ([^\]]+)\]", after)))
                report.tell(f"{before.strip()[:160]}\n  → {after.strip()[:160]}")
        if lines >= _LINES:
            break
    if not lines:
        raise DataError(f"no code in {', '.join(folders)}; name folders with code")
    report.tell(f"{lines:,} lines, {sum(kinds.values())} false alarms: {dict(kinds)}")
    return {"lines": lines, "false_alarms": dict(kinds)}


def _code(folders: list[str]) -> Iterator[str]:
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in _CODE and path.is_file() and not _FIXTURES.search(path.as_posix()):
                yield path.read_text("utf-8", "replace").replace("\r", "")


def _time() -> dict[str, Any]:
    source = Path(__file__).read_text("utf-8")
    times = {}
    for size, rounds in ((200, 300), (20_000, 5)):
        text = (source * 4)[:size]
        best = float("inf")
        for _ in range(_ROUNDS):
            begun = time.perf_counter()
            for _ in range(rounds):
                redact(text)
            best = min(best, (time.perf_counter() - begun) / rounds)
        times[f"us_{size}"] = round(best * 1e6, 1)
        report.tell(f"{size:,} characters: {best * 1e6:,.0f} µs")
    return times
