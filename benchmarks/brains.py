"""Turn documents of a retrieval set into a brain: one Markdown card a document."""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from benchmarks.data import Doc

MODEL = "LESSONS_BENCH_MODEL"
"""Names a model folder: then every brain is searched by meaning too."""
_UNSAFE = re.compile(r"[^a-zA-Z0-9]+")


def write_brain(
    folder: Path, docs: Iterable[Doc], *, engine: str = "tantivy", prefix: str = "d"
) -> dict[str, str]:
    """Write a brain of one lesson a document; return card id → document id.

    The card has the document's title, if it has one, and its text as it is. The file is named by
    a number alone: a title in the file name would help or hinder us unlike the references.
    """
    lessons = folder / "lessons"
    lessons.mkdir(parents=True, exist_ok=True)
    write_settings(folder, engine=engine)
    ids: dict[str, str] = {}
    for number, doc in enumerate(docs, 1):
        name = f"{prefix}{number:05}.md"
        (lessons / name).write_text(format_card(doc), encoding="utf-8", newline="")
        ids[f"lessons/{name}"] = doc.id
    return ids


def write_settings(folder: Path, *, engine: str = "tantivy", max_files: int = 1_000_000) -> None:
    """Write a ``lessons.toml`` with everything at its default but size, engine and model."""
    folder.mkdir(parents=True, exist_ok=True)
    text = f'[index]\nengine = "{engine}"\nmax_files = {max_files}\n'
    if model := os.environ.get(MODEL):
        text += f"[semantic]\nenabled = true\nmodel = {json.dumps(model)}\n"
    (folder / "lessons.toml").write_text(text, encoding="utf-8")


def format_card(doc: Doc) -> str:
    """Return a document as a card. The title is quoted as JSON, which YAML reads as well."""
    header = ["type: lesson"]
    if doc.title:
        header.append(f"title: {json.dumps(doc.title, ensure_ascii=False)}")
    return "\n".join(["---", *header, "---", "", doc.text, ""])


def slug(text: str, limit: int = 60) -> str:
    """Return lower-case ASCII words joined by hyphens."""
    return _UNSAFE.sub("-", text.lower()).strip("-")[:limit].strip("-") or "card"
