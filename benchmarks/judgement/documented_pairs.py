"""Bad and good examples from the documentation of linters: pylint, ruff, Biome."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks.judgement.linter_fixes import diff_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from lessons_kb.detect.change import Change

_DOC = re.compile(r"(?m)(?:^[ \t]*///.*\n)+")
_PARTS = re.compile(
    r"(?s)## Examples?\n.*?```(?:python|py)\n(.*?)```(.*?)```(?:python|py)\n(.*?)```"
)
_STRUCT = re.compile(r"\s*(?:#\[[^\n]*\]\s*)*pub(?:\(crate\))? struct (\w+)")
_BLOCK = re.compile(r"(?s)```(jsx?|tsx?|js|ts)([^\n]*)\n(.*?)```")
_BIOME_NAME = re.compile(r'name: "(\w+)"')


@dataclass(frozen=True, kw_only=True, slots=True)
class Documented:
    """The examples of one rule."""

    source: str
    rule: str
    """Its name, with hyphens."""
    path: str
    """A file name in the language of the examples."""
    bad: tuple[str, ...]
    good: tuple[str, ...]

    def changes(self) -> tuple[Change, ...]:
        """Return the change from the first bad example to the first good one."""
        return diff_changes(self.path, self.bad[0], self.good[0])


def read_documented(folder: Path) -> list[Documented]:
    """Read the examples of every rule that has both sides; none where there are no documents."""
    found = [*_read_pylint(folder / "pylint"), *_read_ruff(folder / "ruff")]
    return [*found, *_read_biome(folder / "biome")]


def _read_pylint(folder: Path) -> Iterator[Documented]:
    for bad in sorted(folder.rglob("doc/data/messages/*/*/bad.py")):
        good = bad.with_name("good.py")
        if good.is_file():
            sides = (bad.read_text(encoding="utf-8"), good.read_text(encoding="utf-8"))
            yield _make("pylint", bad.parent.name, "a.py", [sides[0]], [sides[1]])


def _read_ruff(folder: Path) -> Iterator[Documented]:
    for _path, doc, behind in _read_docs(folder):
        struct, parts = _STRUCT.match(behind), _PARTS.search(doc)
        if struct and parts and "Use instead" in parts[2]:
            name = re.sub(r"(?<!^)(?=[A-Z])", "-", struct[1]).casefold()
            yield _make("ruff", name, "a.py", [parts[1]], [parts[3]])


def _read_biome(folder: Path) -> Iterator[Documented]:
    for path, doc, _behind in _read_docs(folder):
        if "### Invalid" not in doc or "### Valid" not in doc:
            continue
        invalid, _, valid = doc.partition("### Invalid")[2].partition("### Valid")
        bad, good = ([(b[1], b[3]) for b in _BLOCK.finditer(text)] for text in (invalid, valid))
        if bad and good:
            name = path.stem.replace("_", "-")
            texts = ([text for _kind, text in side] for side in (bad, good))
            yield _make("biome", name, f"a.{bad[0][0]}", *texts)


def _read_docs(folder: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield (file, a comment of documentation without its marks, what follows)."""
    for path in sorted(folder.rglob("*.rs")):
        text = path.read_text(encoding="utf-8")
        for doc in _DOC.finditer(text):
            lines = (line.strip().removeprefix("///") for line in doc[0].splitlines())
            plain = "\n".join(line.removeprefix(" ") for line in lines)
            yield path, plain, text[doc.end() : doc.end() + 500]


def _make(source: str, rule: str, path: str, bad: Iterable[str], good: Iterable[str]) -> Documented:
    return Documented(source=source, rule=rule, path=path, bad=tuple(bad), good=tuple(good))
