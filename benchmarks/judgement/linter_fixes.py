"""Finds problems and their fixes in real code: runs ruff over clones of public projects."""

from __future__ import annotations

import ast
import difflib
import json
import os
import random
import shutil
import subprocess
import warnings
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from benchmarks.data import DataError
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import parse_diff, place_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

DEV = ("ansible", "celery", "fastapi", "langgraph", "networkx", "paramiko")
"""Projects on which the recipe was chosen; the others in the folder were not looked at."""
PARTS = ("dev", "held-out")
HOW = (
    "get the data with `git clone --depth 1 URL DATA/code/NAME` for some twelve Python projects "
    "(six are ansible, celery, fastapi, langgraph, networkx, paramiko) and DATA/docs/ruff, pylint "
    "and biome; then give --data DATA or LESSONS_BENCH_DATA"
)
_IGNORED = (
    *("D", "COM", "Q", "W", "I", "E1", "E2", "E3", "ERA", "CPY"),  # layout, comments
    *("ANN", "TC", "F401", "RUF022", "RUF023", "RUF100"),  # annotations, order, unused names
)
_RUFF = (
    *("check", "--isolated", "--no-cache", "--select", "ALL", "--ignore", ",".join(_IGNORED)),
    *("--ignore-noqa", "--unsafe-fixes", "--target-version", "py311"),
    *("--output-format", "json", "--exit-zero", "."),
)
_MAX_CHARS = 200_000
"""Of a file; a larger one is generated, and syntax is not looked for in it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Site:
    """One place that a rule is about, and the change that puts it right."""

    rule: str
    project: str
    path: str
    changes: tuple[Change, ...]


class File:
    """A source file, its lines and statements."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.lines = text.splitlines(keepends=True)

    @cached_property
    def _statements(self) -> list[int]:
        """Return the first line of the innermost statement of each line."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(self.text)
        except (SyntaxError, ValueError, RecursionError):
            return []
        owner = list(range(len(self.lines) + 2))
        waiting: list[ast.AST] = [tree]
        while waiting:
            node = waiting.pop()
            if isinstance(node, ast.stmt):
                last = node.end_lineno or node.lineno
                owner[node.lineno : last + 1] = [node.lineno] * (last + 1 - node.lineno)
            for name in ("body", "orelse", "handlers", "finalbody", "cases"):
                inner = getattr(node, name, ())
                waiting += inner if isinstance(inner, list) else ()
        return owner

    def statement(self, line: int) -> int:
        """Return the first line of the innermost statement that a line belongs to."""
        return self._statements[line] if line < len(self._statements) else line


@dataclass(frozen=True, kw_only=True, slots=True)
class Project:
    """The Python files of a project, and what the linter says of them."""

    name: str
    files: Mapping[str, File]
    verdicts: Mapping[str, frozenset[tuple[str, int]]]
    """Rule → (path, first line of the statement)."""
    fixes: Mapping[str, tuple[Mapping[str, Any], ...]]
    """Rule → the linter's diagnostics that bring a fix."""
    names: Mapping[str, str]
    """Name of a rule, with hyphens → its code."""

    @property
    def lines(self) -> int:
        """Lines of all files."""
        return sum(len(file.lines) for file in self.files.values())


def part_of(rule: str) -> str:
    """Return the part to which a rule belongs, by its code alone."""
    return PARTS[crc32(rule.encode()) % 2]


def find_data(given: str | None) -> Path:
    """Return the folder of the data; DataError with how to get it."""
    folder = Path(given or os.environ.get("LESSONS_BENCH_DATA", ""))
    if not str(given or os.environ.get("LESSONS_BENCH_DATA", "")) or not (folder / "code").is_dir():
        raise DataError(HOW)
    return folder


def read_projects(folder: Path, part: str, *, most: int | None = None) -> list[Project]:
    """Read the projects of a part, or ``most`` files of each, and lint them.

    Raises DataError where there are fewer than two.
    """
    names = sorted(path.name for path in (folder / "code").iterdir() if path.is_dir())
    chosen = [name for name in names if (name in DEV) == (part == "dev")]
    if len(chosen) < 2:
        raise DataError(f"fewer than two projects for {part} in {folder / 'code'}; {HOW}")
    return [_read_project(folder / "code" / name, most) for name in chosen]


def _read_project(root: Path, most: int | None) -> Project:
    files = {}
    paths = sorted(root.rglob("*.py"))
    if most is not None:
        random.Random(root.name).shuffle(paths)
    for path in paths[:most]:
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= _MAX_CHARS:
            try:
                text = path.read_bytes().decode("utf-8")
            except UnicodeDecodeError:
                continue
            if "\r" not in text and "\f" not in text:
                name = path.relative_to(root).as_posix()
                files[name] = File(name, text)
    verdicts: dict[str, set[tuple[str, int]]] = defaultdict(set)
    fixes: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    names: dict[str, str] = {}
    for one in _lint(root):
        name = Path(one["filename"]).relative_to(root.resolve()).as_posix()
        file, rule = files.get(name), one["code"]
        if file is None or rule is None or rule == "invalid-syntax":
            continue
        names[one["name"]] = rule
        verdicts[rule].add((name, file.statement(one["location"]["row"])))
        if one["fix"]:
            fixes[rule].append({**one, "filename": name})
    return Project(
        name=root.name,
        files=files,
        verdicts={rule: frozenset(found) for rule, found in verdicts.items()},
        fixes={rule: tuple(found) for rule, found in fixes.items()},
        names=names,
    )


def _lint(root: Path) -> list[dict[str, Any]]:
    ruff = shutil.which("ruff")
    if ruff is None:
        raise DataError("ruff is not on the PATH; pip install ruff")
    done = subprocess.run([ruff, *_RUFF], cwd=root, capture_output=True, check=False)
    if done.returncode:
        raise DataError(f"ruff failed: {done.stderr.decode()[:200]}; try a newer one")
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def find_rules(projects: Sequence[Project], *, least: int) -> list[str]:
    """Return the rules with a fix and at least so many places, in at least two projects."""
    rules = sorted({rule for project in projects for rule in project.fixes})
    return [
        rule
        for rule in rules
        if sum(len(project.verdicts.get(rule, ())) for project in projects) >= least
        and sum(rule in project.verdicts for project in projects) >= 2
    ]


def pick_sites(project: Project, rule: str, *, most: int, seed: int) -> list[Site]:
    """Return some fixes of a rule in a project, in different files if there are enough."""
    found = list(project.fixes.get(rule, ()))
    random.Random(f"{seed} {project.name} {rule}").shuffle(found)
    taken: dict[str, int] = defaultdict(int)
    ranked = []
    for one in found:
        ranked.append((taken[one["filename"]], one))
        taken[one["filename"]] += 1
    ranked.sort(key=lambda pair: pair[0])
    sites: list[Site] = []
    for _rank, one in ranked:
        if len(sites) == most:
            break
        file = project.files[one["filename"]]
        changes = diff_changes(file.path, file.text, apply_edits(file, one["fix"]["edits"]))
        if changes:
            sites.append(Site(rule=rule, project=project.name, path=file.path, changes=changes))
    return sites


def apply_edits(file: File, edits: Iterable[Mapping[str, Any]]) -> str:
    """Return a file's text after some edits as ruff prints them."""
    starts = [0]
    for line in file.lines:
        starts.append(starts[-1] + len(line))

    def place(at: Mapping[str, int]) -> int:
        return min(starts[min(at["row"], len(starts)) - 1] + at["column"] - 1, len(file.text))

    text = file.text
    spans = [(place(e["location"]), place(e["end_location"]), e["content"]) for e in edits]
    for start, end, content in sorted(spans, reverse=True):
        text = text[:start] + content + text[end:]
    return text


def diff_changes(path: str, before: str, after: str) -> tuple[Change, ...]:
    """Return the changes of a unified diff, as they are learnt from."""
    rows = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), n=3
    )
    text = "".join(row if row.endswith("\n") else f"{row}\n" for row in rows)
    text = text.replace("+++ \n", f"+++ b/{path}\n", 1)
    return tuple(place_in(change, after) for change in parse_diff(text))
