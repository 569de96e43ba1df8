"""What an import would bring, as its plan tells."""

import contextlib
import sqlite3
from types import SimpleNamespace

import pytest

from lessons_kb import Brain
from tests import kit


@pytest.fixture
def plan(tmp_path, monkeypatch):
    """Plan the import of a file: ``plan(source, name, text)``, or of one that lies there."""
    monkeypatch.chdir(tmp_path)
    brain = Brain.open(kit.write(tmp_path, "brain/lessons.toml", "").parent)

    def plan(source, name, text=None):
        if text is not None:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text, "utf-8")
        found = brain.exchange.plan(source, name)
        pairs = list(zip(found.steps, found.lessons, strict=True))
        return SimpleNamespace(
            lessons=tuple(lesson for _step, lesson in pairs if lesson),
            passed_over=tuple(step for step, lesson in pairs if not lesson),
            notes=found.notes,
        )

    yield plan
    brain.close()


@pytest.fixture
def mistakes(plan, tmp_path):
    """Plan the import of a database of Galangal's: of a row, or of columns without any."""

    def mistakes(row=None, columns=(), name="mistakes.db"):
        (tmp_path / name).unlink(missing_ok=True)
        names = ", ".join(columns or row)
        with contextlib.closing(sqlite3.connect(tmp_path / name)) as db:
            db.execute(f"CREATE TABLE mistakes ({names})")
            if row:
                marks = ", ".join("?" * len(row))
                insert = f"INSERT INTO mistakes ({', '.join(row)}) VALUES ({marks})"
                db.execute(insert, tuple(row.values()))
            db.commit()
        return plan("galangal", name)

    return mistakes
