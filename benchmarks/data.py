"""Read the public evaluation sets: retrieval sets, everyday prompts and real brains.

The data lives outside the project, in ``$LESSONS_BENCH_DATA`` (default ``../shared/data``
beside the repository).
"""

from __future__ import annotations

import contextlib
import csv
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

SETS = (
    "lint_js",
    "lint_js_code",
    "cwe",
    "bugs",
    "bugs_long",
    "plate_cite",
    "plate_cite_long",
    "ko_question",
)
SAME_DOCUMENTS = (
    frozenset({"lint_js", "lint_js_code"}),
    frozenset({"bugs", "bugs_long"}),
    frozenset({"plate_cite", "plate_cite_long"}),
)
"""Sets that share documents are never each other's negatives."""

HERE = Path(__file__).resolve().parent
_CACHE = platformdirs.user_cache_dir("lessons-bench")
"""Looked up once: a run gives lessons_kb a cache folder of its own by the environment."""
EXAMPLE = HERE.parent / "brain-example"


class DataError(Exception):
    """Data that is absent or cannot be used; the message says what to do next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Doc:
    """One document of a retrieval set."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Prompt:
    """One query of a retrieval set, or one everyday request."""

    id: str
    text: str
    part: str = ""
    """``dev`` or ``held-out`` for everyday prompts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RetrievalSet:
    """Documents, queries and which belong together."""

    name: str
    docs: tuple[Doc, ...]
    queries: tuple[Prompt, ...]
    relevant: dict[str, dict[str, int]]
    """Query id → document id → grade (1 or more)."""


def data_folder() -> Path:
    """Return the folder of the evaluation data; DataError if it is not there."""
    given = os.environ.get("LESSONS_BENCH_DATA")
    folder = Path(given) if given else HERE.parent.parent / "shared" / "data"
    if not folder.is_dir():
        raise DataError(
            f"no evaluation data in {folder}; set LESSONS_BENCH_DATA to the folder that holds"
            " retrieval/ and brains/"
        )
    return folder


def cache_folder(name: str) -> Path:
    """Return a folder for what may be thrown away, made if need be.

    ``$LESSONS_BENCH_CACHE``, else ``lessons-bench`` in the user's cache folder.
    """
    folder = Path(os.environ.get("LESSONS_BENCH_CACHE") or _CACHE) / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_names(names: Sequence[str]) -> None:
    """Raise DataError if one of the names is no retrieval set."""
    if unknown := sorted(set(names) - set(SETS)):
        raise DataError(f"no retrieval set {', '.join(unknown)}; known: {', '.join(SETS)}")


def read_set(name: str) -> RetrievalSet:
    """Read one retrieval set; queries without a judged document are left out."""
    folder = data_folder() / "retrieval" / name
    if not folder.is_dir():
        raise DataError(f"no retrieval set {name} in {folder.parent}; known: {', '.join(SETS)}")
    relevant: dict[str, dict[str, int]] = {}
    with (folder / "qrels.tsv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            if int(row["rel"]) > 0:
                relevant.setdefault(row["query"], {})[row["doc"]] = int(row["rel"])
    docs = tuple(
        Doc(id=row["id"], title=row.get("title", ""), text=row["text"])
        for row in read_rows(folder / "docs.jsonl")
    )
    queries = tuple(
        Prompt(id=row["id"], text=row["text"])
        for row in read_rows(folder / "queries.jsonl")
        if row["id"] in relevant
    )
    return RetrievalSet(name=name, docs=docs, queries=queries, relevant=relevant)


def read_sets(names: Sequence[str] = SETS) -> list[RetrievalSet]:
    """Read several retrieval sets in the order given."""
    return [read_set(name) for name in names]


def share_documents(one: str, other: str) -> bool:
    """Return whether two sets have the same documents."""
    return one == other or any({one, other} <= group for group in SAME_DOCUMENTS)


def read_everyday(part: str | None = None) -> list[Prompt]:
    """Read the everyday prompts that no card is about; ``part`` is dev, held-out or None = all."""
    rows = read_rows(HERE / "everyday.jsonl")
    prompts = [
        Prompt(id=f"everyday-{number}", text=row["text"], part=row["part"])
        for number, row in enumerate(rows, 1)
    ]
    return [prompt for prompt in prompts if part in (None, prompt.part)]


def find_real_cards() -> list[Path]:
    """Return the Markdown files of the real brains, else of ``brain-example``, sorted."""
    with contextlib.suppress(DataError):
        if files := sorted((data_folder() / "brains").rglob("*.md")):
            return files
    return sorted(EXAMPLE.rglob("*.md"))


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Return the objects of a file, a line each; what models write around them is no object."""
    rows = []
    for number, line in enumerate(path.read_text("utf-8").split("\n"), 1):
        if line.lstrip().startswith("{"):
            try:
                rows.append(json.loads(line.strip().rstrip(",")))
            except ValueError as error:
                raise DataError(f"{path}:{number}: {error}; fix or remove the line") from None
    return rows


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write objects to a file, a line each."""
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def git(clone: Path, *words: str) -> str:
    """Return what git prints in a clone."""
    command = ["git", "-C", str(clone), *words]
    done = subprocess.run(command, capture_output=True, check=True, timeout=600)
    return done.stdout.decode("utf-8", "replace")
