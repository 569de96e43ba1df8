"""Files that an import reads, and the one that an export writes."""

import contextlib
import os
import sqlite3

import pytest

from lessons_kb.errors import InputError, StorageError
from lessons_kb.store import files as import_files
from lessons_kb.store.files import (
    read_byte_lines,
    read_source,
    read_source_lines,
    read_table,
    write_export,
)


def test_a_text_has_plain_line_ends_and_no_mark_or_the_line_that_is_no_text_is_named(tmp_path):
    path = tmp_path / "a.md"
    path.write_bytes("\ufeff가\r\nb\rc\n".encode())
    assert read_source(str(path)) == "가\nb\nc\n"
    path.write_bytes(b"good\nb\xffd\n")
    with pytest.raises(InputError, match=r"a.md:2: not UTF-8"):
        read_source(str(path))
    with pytest.raises(InputError, match=r"a.md:2: not UTF-8"):
        list(read_source_lines(str(path)))


def test_lines_are_read_one_by_one(tmp_path, monkeypatch):
    monkeypatch.setattr(import_files, "_CHUNK_BYTES", 3)
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\r\n\ntwo two\nthree")
    found = list(read_source_lines(str(path)))
    assert found == [(1, "one"), (2, ""), (3, "two two"), (4, "three")]
    monkeypatch.setattr(import_files, "_CHUNK_BYTES", 8)
    monkeypatch.setattr(import_files, "MAX_LINE_BYTES", 20)
    path.write_bytes(b"x" * 1000 + b"\nshort\n")
    assert [(n, len(line)) for n, line in read_byte_lines(str(path))] == [(1, 20), (2, 5)]
    with pytest.raises(InputError, match=r"a\.jsonl:1: more than 20 bytes"):
        list(read_source_lines(str(path)))


def test_what_is_no_file_is_said(tmp_path):
    for read in (read_source, lambda path: [*read_source_lines(path)]):
        with pytest.raises(StorageError, match="no such file"):
            read(str(tmp_path / "none.md"))
    with pytest.raises(StorageError, match="a folder, not a file"):
        list(read_source_lines(str(tmp_path)))


def database(path, statements):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(statements)
    return str(path)


def test_a_table_is_read_and_nothing_is_written(tmp_path):
    path = database(
        tmp_path / "m ?#.db",
        "CREATE TABLE mistakes (id INTEGER, description TEXT, extra BLOB);"
        "INSERT INTO mistakes VALUES (2, 'b', x'00'), (1, CAST(x'61ff' AS TEXT), NULL)",
    )
    os.chmod(tmp_path, 0o500)
    try:
        columns, rows = read_table(path, "mistakes", ("id", "description", "stage"))
    finally:
        os.chmod(tmp_path, 0o700)
    assert columns == ["id", "description", "extra"]
    assert rows == [{"id": 1, "description": "a\ufffd"}, {"id": 2, "description": "b"}]
    assert os.listdir(tmp_path) == ["m ?#.db"]


def test_an_open_log_is_read_too(tmp_path):
    db = sqlite3.connect(tmp_path / "m.db")
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE mistakes (id INTEGER)")
    db.execute("INSERT INTO mistakes VALUES (1)")
    db.commit()
    assert read_table(str(tmp_path / "m.db"), "mistakes", ("id",))[1] == [{"id": 1}]
    db.close()


def test_what_is_no_such_database_is_said(tmp_path):
    other = database(tmp_path / "o.db", "CREATE TABLE things (id INTEGER)")
    with pytest.raises(InputError, match="no table mistakes, only things"):
        read_table(other, "mistakes", ("id",))
    (tmp_path / "t.db").write_text("not a database, but long enough to be looked at " * 40)
    with pytest.raises(InputError, match="not readable as SQLite"):
        read_table(str(tmp_path / "t.db"), "mistakes", ("id",))
    (tmp_path / "e.db").touch()
    with pytest.raises(InputError, match="empty"):
        read_table(str(tmp_path / "e.db"), "mistakes", ("id",))
    with pytest.raises(StorageError, match="no such file"):
        read_table(str(tmp_path / "n.db"), "mistakes", ("id",))
    assert not (tmp_path / "n.db").exists()


def test_an_export_is_written_whole(tmp_path):
    path = tmp_path / "out.jsonl"
    write_export(str(path), ["a", "한"])
    path.chmod(0o600)
    write_export(str(path), ["b"])
    assert path.read_text() == "b\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert os.listdir(tmp_path) == ["out.jsonl"]
    with pytest.raises(StorageError, match="not a regular file"):
        write_export(str(tmp_path), ["a"])
