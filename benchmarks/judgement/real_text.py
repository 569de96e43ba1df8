"""Compares the parsed cards of real repositories before and after a change.

Each ``NAME=CLONE:PATH`` names a clone, bare or not, and a path in it: a folder, whose Markdown
files are read as lessons (`.` is all of it), or a file, whose lessons are imported. Only names and figures are printed;
nothing of a repository is kept. ``--against CHECKOUT`` measures another checkout of lessons_kb, with
a `.venv` of its own, on the same files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import DataError
from benchmarks.ours import private_state
from lessons_kb.errors import InputError
from lessons_kb.text.patterns import compile_globs, match_globs

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

_HEADERS = (
    *("repository", "cards", "cause", "checklist", "cause and checklist", "symptoms"),
    *("only a title", "paths", "that exist", "placeholders", "lint lines"),
)
_DEADLINE = 600


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Lessons in a clone."""

    name: str
    clone: str
    path: str
    """A folder, or one file of notes; "" for the whole of it."""

    @property
    def is_file(self) -> bool:
        """Whether the path is one file, whose lessons are imported."""
        return self.path.endswith(".md")


@dataclass(kw_only=True, slots=True)
class Figures:
    """Counts of cards, of those that say something, and of lines."""

    cards: int = 0
    cause: int = 0
    checklist: int = 0
    both: int = 0
    symptoms: int = 0
    only_title: int = 0
    paths: int = 0
    existing_paths: int = 0
    placeholders: int = 0
    lint_lines: int = 0

    def add(self, other: Figures) -> None:
        """Add the counts of another."""
        for name, count in asdict(other).items():
            setattr(self, name, getattr(self, name) + count)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Read each source with this checkout, and with another one; print a table of each."""
    sources = [_parse_source(text) for text in options.folders]
    if not sources:
        raise DataError("name at least one NAME=CLONE:PATH")
    here = Path(__file__).resolve().parents[2]
    checkouts = {"after": here}
    if options.against:
        checkouts = {"before": Path(options.against).resolve(), **checkouts}
    figures: dict[str, Any] = {}
    for when, checkout in checkouts.items():
        program = _find_program(checkout)
        measured = {source.name: _measure(source, program) for source in sources}
        total = Figures()
        for one in measured.values():
            total.add(one)
        measured["all"] = total
        rows = [[name, *map(str, asdict(one).values())] for name, one in measured.items()]
        report.print_table(f"Cards of real repositories, {when}", _HEADERS, rows)
        figures[when] = {name: asdict(one) for name, one in measured.items()}
    return figures


def _parse_source(text: str) -> Source:
    name, _, rest = text.partition("=")
    clone, _, path = rest.rpartition(":")
    if not (name and clone and path):
        raise DataError(f"{text!r} is not NAME=CLONE:PATH")
    return Source(name=name, clone=clone, path="" if path == "." else path.strip("/"))


def _find_program(checkout: Path) -> list[str]:
    """Return how to start the command line of a checkout."""
    installed = checkout / ".venv" / "bin" / "lessons"
    if installed.is_file():
        return [str(installed)]
    if checkout == Path(__file__).resolve().parents[2]:
        return [sys.executable, "-m", "lessons_kb"]
    raise DataError(f"no {installed}; install the checkout there")


def _measure(source: Source, program: Sequence[str]) -> Figures:
    """Read one source in a folder of its own and count what its cards say."""
    files = _list_files(source.clone)
    with tempfile.TemporaryDirectory() as place, private_state(Path(place, "state")):
        root = Path(place, "brain")
        root.mkdir()
        texts = _read_texts(source, [path for path in files if _is_source(source, path)])
        if not texts:
            raise DataError(f"{source.name}: no Markdown in {source.path}")
        if source.is_file:
            (notes,) = texts.values()
            (root / "lessons.toml").touch()
            (root / "lessons").mkdir()
            Path(place, "lessons.md").write_bytes(notes)
            notes_file = str(Path(place, "lessons.md"))
            project = _make_project(Path(place, "project"), files)
            arguments = ("import", "memory", notes_file, "--yes", "--near", "new")
            _call(program, root, *arguments, cwd=project)
        else:
            folder = source.path or "lessons"
            settings = f'[folders]\n"{folder}" = "lesson"\n'
            (root / "lessons.toml").write_text(settings, encoding="utf-8")
            for name, data in texts.items():
                target = root / name if source.path else root / folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(data)
        cards = json.loads(
            _call(program, root, "list", "--all", "--status", "all", "--json") or "[]"
        )
        findings = json.loads(_call(program, root, "lint", "--json") or "[]")
        lines = _call(program, root, "lint").count("\n")
    own = [card for card in cards if card["kind"] != "note"]
    figures = _count(own, files)
    figures.placeholders = sum(finding["rule"] == "placeholder" for finding in findings)
    figures.lint_lines = lines
    return figures


def _make_project(folder: Path, files: Sequence[str]) -> Path:
    """Make a repository with empty files of these names: an import asks which names it has."""
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=_DEADLINE)
    for name in files:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    return folder


def _count(cards: Sequence[dict[str, Any]], files: Sequence[str]) -> Figures:
    figures = Figures(cards=len(cards))
    for card in cards:
        items = [item for item in card["checklist"] if item != card["title"]]
        figures.cause += bool(card["why"])
        figures.checklist += bool(items)
        figures.both += bool(card["why"] and items)
        figures.symptoms += bool(card["symptoms"])
        figures.only_title += not (card["why"] or items)
        figures.paths += len(card["paths"])
        figures.existing_paths += sum(_exists(path, files) for path in card["paths"])
    return figures


def _exists(glob: str, files: Sequence[str]) -> bool:
    try:
        globs = compile_globs([glob])
    except InputError:
        return False
    return any(match_globs(globs, file) for file in files)


def _is_source(source: Source, path: str) -> bool:
    if source.is_file:
        return path == source.path
    folder = f"{source.path}/" if source.path else ""
    return path.startswith(folder) and path.endswith(".md")


def _list_files(clone: str) -> list[str]:
    return _git(clone, "ls-tree", "-r", "-z", "--name-only", "HEAD").decode().split("\0")[:-1]


def _read_texts(source: Source, paths: Sequence[str]) -> dict[str, bytes]:
    return {path: _git(source.clone, "show", f"HEAD:{path}") for path in paths}


def _git(clone: str, *arguments: str) -> bytes:
    done = subprocess.run(
        ["git", "-C", clone, *arguments], capture_output=True, check=False, timeout=_DEADLINE
    )
    if done.returncode:
        raise DataError(f"{clone}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout


def _call(program: Sequence[str], root: Path, *arguments: str, cwd: Path | None = None) -> str:
    """Return what a command prints about a brain, whatever it finds there."""
    done = subprocess.run(
        [*program, "--brain", str(root), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=_DEADLINE,
        stdin=subprocess.DEVNULL,
        cwd=cwd,
        env={**os.environ, "NO_COLOR": "1"},
    )
    if done.returncode not in (0, 1):
        raise DataError(f"lessons {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout
