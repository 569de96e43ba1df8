"""The files of pinned cards in the user's own brain, and the record that lists them."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping

from lessons_kb.errors import InputError
from lessons_kb.store.card_files import create
from lessons_kb.store.files import list_folder, read_json, resolve, storage_errors
from lessons_kb.store.private_files import make_private, write_private

_RECORD_NAME = ".pinned.json"
_MAX_RECORD_BYTES = 10_000_000


def replace_pinned(root: str, files: Mapping[str, bytes], commit: str) -> None:
    """Write files to a brain, and remove the files of an earlier call.

    Raises InputError if the brain has other files, or StorageError.
    """
    record = os.path.join(root, _RECORD_NAME)
    former = [str(path) for path in read_json(record, limit=_MAX_RECORD_BYTES).get("files", ())]
    if not os.path.exists(record) and any(name[:1] != "." for name in list_folder(root)):
        raise InputError(f"{root} has files of your own; pinned cards need an empty brain there")
    make_private(root)
    # Both lists are recorded first, so that an interrupted call can be repeated.
    _write_record(record, commit, [*former, *files])
    for path in former:
        full = resolve(root, path, follow=False, writing=True)
        with storage_errors(full), contextlib.suppress(FileNotFoundError):
            os.unlink(full)
    for path, data in files.items():
        create(root, path, data)
    _write_record(record, commit, [*files])


def _write_record(path: str, commit: str, files: list[str]) -> None:
    content = {"commit": commit, "files": list(dict.fromkeys(files))}
    write_private(path, json.dumps(content).encode())
