"""Find the rule of a project's own linter for a card's mistake, and whether it is enabled.

The configuration is read but never run. Values that JavaScript computes in an ESLint configuration
are not seen. A rule counts as enabled if its name occurs there with a level.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from lessons_kb.cards.rule_files import AST_GREP, SEMGREP, format_rules
from lessons_kb.data import read_toml
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Matcher, Rule, find_language, is_available, language_of
from lessons_kb.errors import StorageError
from lessons_kb.model import Card, Pattern
from lessons_kb.store.files import read_regular
from lessons_kb.values import frozen

RUFF, ESLINT, TEST = "ruff", "eslint", "test"
_BANNED_API, _RESTRICTED = "ruff:TID251", "eslint:no-restricted-syntax"
_MAX_BYTES = 1_000_000
_RUFF_FILES = (".ruff.toml", "ruff.toml", "pyproject.toml")
"""The files in the order in which ruff looks for them."""
_ESLINT_FILES = (
    *("eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts"),
    *(".eslintrc.json", ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.yml", ".eslintrc.yaml"),
    ".eslintrc",
)
_RUFF_DEFAULT = ("E4", "E7", "E9", "F")
"""The rules that ruff enables if `select` is not set."""
_SEMGREP_FOLDER = ".semgrep"
_DOTTED_CALL = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+)\(.*\)", re.DOTALL)
_REGEX_CALL = re.compile(
    r"(?:\\b)?([A-Za-z_]\w*(?:\\?\.[A-Za-z_]\w*)+)(?:\\b|\\\(|\\s\*\\\(|\[\(\])?"
)
_EXTENSIONS = {"python": "py", "javascript": "js"}
_SCRIPTS = ("javascript", "typescript", "tsx", "jsx")


@frozen
class RuleProposal:
    """A rule of a linter, or a test, that finds the mistake of a card."""

    name: str
    """The name as in ``enforced-by``: the tool, a colon, and the rule or the file."""
    enabled: bool = False
    """Whether the project has already enabled it."""
    lines: tuple[str, ...] = ()
    """The lines to add to the configuration by hand."""
    config: str = ""
    """The file of the configuration, or "" if a new file is written instead."""
    files: tuple[tuple[str, str], ...] = ()
    """The paths, relative to the project, and the texts of new files."""


class Linters:
    """The linters of one project. Their configuration is read once."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    @cached_property
    def ruff(self) -> tuple[str, Mapping[str, Any]] | None:
        """The file in which the project configures ruff, and the settings of ruff in it.

        A file that is missing or not valid TOML is skipped. None if no file configures ruff.
        """
        for name in _RUFF_FILES:
            text = self.read(name)
            if text is None:
                continue
            try:
                data = tomllib.loads(text)
            except tomllib.TOMLDecodeError:
                continue
            if name != "pyproject.toml":
                return name, data
            if "ruff" in _table(data, "tool"):
                return name, _table(_table(data, "tool"), "ruff")
        return None

    @cached_property
    def eslint(self) -> tuple[str, str] | None:
        """The file in which the project configures ESLint, and its text."""
        for name in _ESLINT_FILES:
            text = self.read(name)
            if text is not None:
                return name, text
        return None

    @cached_property
    def enabled_rules(self) -> tuple[Mapping[str, str], ...]:
        """The rules of the table that the project has enabled."""
        return tuple(rule for rule in _read_table() if self.is_enabled(rule["name"]))

    def read(self, name: str) -> str | None:
        """Return the text of a file of the project, or None if there is no such file."""
        path = os.path.join(self._directory, *name.split("/"))
        with contextlib.suppress(OSError, StorageError):
            return read_regular(path, limit=_MAX_BYTES, name=path).decode("utf-8", "replace")
        return None

    def has_folder(self, name: str) -> bool:
        """Return whether the project has a folder at its top."""
        return os.path.isdir(os.path.join(self._directory, name))

    def is_enabled(self, name: str) -> bool:
        """Return whether the project has enabled a rule, named as in ``enforced-by``."""
        tool, _, rule = name.partition(":")
        code, _, more = rule.partition("/")
        if tool == RUFF:
            return self.ruff is not None and _is_ruff_enabled(code, self.ruff[1], more)
        if tool == ESLINT:
            return self.eslint is not None and _is_eslint_enabled(code, self.eslint[1], more)
        is_inside = bool(rule) and not rule.startswith("/") and ".." not in rule.split("/")
        return is_inside and self.read(rule) is not None


def _table(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return a table of TOML, or an empty table if the value is not a table."""
    value = data.get(key)
    return value if isinstance(value, dict) else {}


def _read_table() -> tuple[Mapping[str, str], ...]:
    return tuple(read_toml("linter_rules.toml")["rules"])


def _is_ruff_enabled(code: str, settings: Mapping[str, Any], banned: str) -> bool:
    """Return whether ruff's settings enable a rule and, for a ban, contain the banned name."""
    lint = _table(settings, "lint")

    def read(key: str, default: tuple[str, ...] = ()) -> list[str]:
        values = lint.get(key, settings.get(key))
        return [str(value) for value in values] if isinstance(values, list) else [*default]

    on = _longest(code, [*read("select", _RUFF_DEFAULT), *read("extend-select")])
    off = _longest(code, [*read("ignore"), *read("extend-ignore")])
    if on <= off:
        return False
    tidy = _table(lint, "flake8-tidy-imports") or _table(settings, "flake8-tidy-imports")
    return not banned or banned in _table(tidy, "banned-api")


def _longest(code: str, prefixes: Iterable[str]) -> int:
    """Return the length of the longest prefix of a code among ``prefixes``, or -1 without one."""
    lengths = [-1]
    for prefix in prefixes:
        if prefix == "ALL":
            lengths.append(0)
        elif code.startswith(prefix):
            lengths.append(len(prefix))
    return max(lengths)


def _is_eslint_enabled(rule: str, config: str, selector: str) -> bool:
    level = r"[\"']?(?:error|warn|[12])\b"
    stated = re.search(rf"[\"']?{re.escape(rule)}[\"']?\s*:\s*\[?\s*{level}", config)
    return stated is not None and selector in config


def find_enabled_rule(card: Card, linters: Linters) -> str:
    """Return an enabled rule of the project's linter that covers a card, or "" if none does."""
    for rule in linters.enabled_rules:
        if _covers(rule, card):
            return rule["name"]
    for ban in _propose_bans(card, linters):
        if ban.enabled:
            return ban.name
    return ""


def _propose_bans(card: Card, linters: Linters) -> list[RuleProposal]:
    """Return the bans of a name or a call for a card. A card with several patterns has none."""
    if len(card.detect) != 1:
        return []
    (pattern,) = card.detect
    bans = (_propose_ban(card, pattern, linters), _propose_syntax(card, pattern, linters))
    return [ban for ban in bans if ban is not None]


def propose_rule(card: Card, linters: Linters) -> RuleProposal | None:
    """Return the linter rule of the project for a card, or None without a usable pattern.

    The first rule that fits is returned. The order is a rule of the linter, a ban of a name or of a
    piece of syntax, a rule file of ast-grep or Semgrep, and a test.
    """
    enabled = find_enabled_rule(card, linters)
    if enabled:
        return RuleProposal(name=enabled, enabled=True)
    for rule in _read_table():
        proposal = _propose_to_enable(rule["name"], linters) if _covers(rule, card) else None
        if proposal is not None:
            return proposal
    bans = _propose_bans(card, linters)
    if bans:
        return bans[0]
    return _propose_rule_file(card, linters) or _propose_test(card)


def _covers(rule: Mapping[str, str], card: Card) -> bool:
    """Return whether each pattern of a card matches a rule's bad example but not its good one."""
    extension = _EXTENSIONS[rule["language"]]
    for pattern in card.detect:
        if not _finds(pattern, rule["bad"], extension):
            return False
        if _finds(pattern, rule["good"], extension):
            return False
    return bool(card.detect)


def _finds(pattern: Pattern, line: str, extension: str) -> bool:
    if pattern.kind not in ("regex", "ast") or (pattern.kind == "ast" and not is_available()):
        return False
    matcher = Matcher([Rule(card="card", pattern=pattern)])
    return bool(matcher.find_added(Change(path=f"example.{extension}", after=f"{line}\n")))


def _propose_to_enable(name: str, linters: Linters) -> RuleProposal | None:
    tool, _, rule = name.partition(":")
    if tool == RUFF and linters.ruff is not None:
        file = linters.ruff[0]
        lines = (_name_ruff_table(file, "lint"), f'extend-select = ["{rule}"]')
        return RuleProposal(name=name, lines=lines, config=file)
    if tool == ESLINT and linters.eslint is not None:
        return RuleProposal(name=name, lines=(f'"{rule}": "error"',), config=linters.eslint[0])
    return None


def _name_ruff_table(file: str, table: str) -> str:
    return f"[tool.ruff.{table}]" if file == "pyproject.toml" else f"[{table}]"


def _propose_ban(card: Card, pattern: Pattern, linters: Linters) -> RuleProposal | None:
    """Return ruff's ban of a name, for a pattern that matches calls of that name."""
    called = _find_called(pattern)
    if linters.ruff is None or not called or _language(pattern) not in ("python", ""):
        return None
    file = linters.ruff[0]
    lines = (
        _name_ruff_table(file, "lint"),
        'extend-select = ["TID251"]',
        _name_ruff_table(file, "lint.flake8-tidy-imports.banned-api"),
        f'"{called}".msg = "{_escape(card.title)}"',
    )
    name = f"{_BANNED_API}/{called}"
    return RuleProposal(name=name, enabled=linters.is_enabled(name), lines=lines, config=file)


def _propose_syntax(card: Card, pattern: Pattern, linters: Linters) -> RuleProposal | None:
    """Return ESLint's ban of a call, for a pattern that matches that call."""
    called = _find_called(pattern)
    is_script = _language(pattern) in (*_SCRIPTS, "")
    if linters.eslint is None or called.count(".") != 1 or not is_script:
        return None
    owner, _, member = called.partition(".")
    selector = f"CallExpression[callee.object.name='{owner}'][callee.property.name='{member}']"
    entry = f'{{ "selector": "{selector}", "message": "{_escape(card.title)}" }}'
    name = f"{_RESTRICTED}/{selector}"
    return RuleProposal(
        name=name,
        enabled=linters.is_enabled(name),
        lines=(f'"no-restricted-syntax": ["error", {entry}]',),
        config=linters.eslint[0],
    )


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _find_called(pattern: Pattern) -> str:
    """Return the dotted name whose calls a pattern matches, or "" for other patterns."""
    if pattern.unless or pattern.relations or pattern.kind not in ("ast", "regex"):
        return ""
    form = _DOTTED_CALL if pattern.kind == "ast" else _REGEX_CALL
    match = form.fullmatch(pattern.text.strip())
    return match[1].replace("\\", "") if match else ""


def _language(pattern: Pattern) -> str:
    if pattern.language:
        return find_language(pattern.language)
    return language_of(pattern.files[0]) if pattern.files else ""


def _propose_rule_file(card: Card, linters: Linters) -> RuleProposal | None:
    """Return a rule file of ast-grep or Semgrep, if the project uses one of them."""
    if linters.read("sgconfig.yml") is not None:
        files = format_rules(AST_GREP, [card])[0]
        files.pop("sgconfig.yml", None)
        if files:
            return _propose_files(AST_GREP, files, linters)
    if linters.has_folder(_SEMGREP_FOLDER):
        rules = format_rules(SEMGREP, [card])[0]
        files = {f"{_SEMGREP_FOLDER}/{name}": text for name, text in rules.items()}
        if files:
            return _propose_files(SEMGREP, files, linters)
    return None


def _propose_files(tool: str, files: Mapping[str, str], linters: Linters) -> RuleProposal:
    name = f"{tool}:{next(iter(files))}"
    is_there = linters.is_enabled(name)
    written = () if is_there else tuple(files.items())
    return RuleProposal(name=name, enabled=is_there, files=written)


_STUB = '''\
"""{title}"""

import pathlib
import re

MISTAKE = re.compile({pattern!r}, re.MULTILINE)
ROOT = pathlib.Path(__file__).parents[1]


def test_{name}():
    found = []
    for path in sorted(ROOT.rglob("*{suffix}")):
        if path != pathlib.Path(__file__) and MISTAKE.search(path.read_text("utf-8", "replace")):
            found.append(path.relative_to(ROOT).as_posix())
    assert not found, found
'''


def _propose_test(card: Card) -> RuleProposal | None:
    """Return a test that looks for a regular expression in the files of the project."""
    patterns = [pattern for pattern in card.detect if pattern.kind == "regex"]
    if not patterns:
        return None
    stem = card.id.rpartition("/")[2].rpartition(".")[0]
    name = re.sub(r"\W+", "_", stem).strip("_").lower()
    endings = [os.path.splitext(glob)[1] for glob in patterns[0].files]
    endings = [ending for ending in endings if re.fullmatch(r"\.\w+", ending, re.ASCII)]
    title = card.title.replace("\\", "").replace('"', "'")
    suffix = endings[0] if endings else ".py"
    text = _STUB.format(title=title, pattern=patterns[0].text, name=name, suffix=suffix)
    path = f"tests/test_{name}.py"
    return RuleProposal(name=f"{TEST}:{path}", files=((path, text),))
