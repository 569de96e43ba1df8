"""Put our pieces into the text of a settings file, and take them out again."""

from __future__ import annotations

import json
import re
from typing import Any

from lessons_kb.agents.install.edit_json import get, put, take
from lessons_kb.agents.install.edit_toml import put_table, read_toml, take_table
from lessons_kb.agents.install.hook_entries import is_ours
from lessons_kb.agents.install.parse_jsonc import read_data
from lessons_kb.agents.install.settings_files import Piece, Target
from lessons_kb.agents.install.slash_commands import WRITTEN
from lessons_kb.errors import InputError

_SERVER_PROGRAM = re.compile(r"(?:^|[\\/])lessons(?:\.exe|\.cmd)?$")
_BOM = "\ufeff"


def add_pieces(data: bytes | None, target: Target) -> bytes:
    """Return the file with our pieces in it; nothing else of it changes.

    Raises InputError for a file that cannot be read or holds something else in our place.
    """
    if target.syntax == "text":
        (piece,) = target.pieces
        if is_foreign(data, target):
            if piece.form == "offer" and data is not None:
                return data
            raise InputError("not a file written by lessons; rename it and run this again")
        return str(piece.value).encode()
    text, bom = _decoded(data)
    if target.syntax == "toml":
        for piece in target.pieces:
            _check_foreign(get(read_toml(text), piece.path), piece)
            text = put_table(text, piece.path, piece.value)
        return (bom + text).encode()
    if not text.strip():
        text = "{}\n"
    for piece in target.pieces:
        text = _add(text, piece)
    return (bom + text).encode()


def is_foreign(data: bytes | None, target: Target) -> bool:
    """Tell whether somebody else has written the file that would be ours as a whole."""
    return target.syntax == "text" and data is not None and WRITTEN.encode() not in data


def take_pieces(data: bytes, target: Target, *, like: bytes | None = None) -> bytes | None:
    """Return the file without our pieces, None when nothing else is left of it.

    What they leave empty goes as well, unless ``like``, the file as it was before, had it. A
    file that has none comes back as it is. Raises InputError for one that cannot be read.
    """
    if target.syntax == "text":
        return data if is_foreign(data, target) else None
    old, bom = _decoded(data)
    if not old.strip():
        return data
    text = old
    if target.syntax == "toml":
        for piece in target.pieces:
            if _is_our_server(get(read_toml(text), piece.path)):
                text = take_table(text, piece.path)
        left: object = text.strip()
    else:
        model = _model(like)
        for piece in target.pieces:
            text = _take(text, piece, model)
        marks = {piece.path[0] for piece in target.pieces if piece.form == "mark"}
        data_left = read_data(text)
        left = not isinstance(data_left, dict) or set(data_left) - marks
    if text == old:
        return data
    return (bom + text).encode() if left else None


def _add(text: str, piece: Piece) -> str:
    data = read_data(text)
    if piece.form == "mark":
        return text if get(data, piece.path) is not None else put(text, piece.path, piece.value)
    if piece.form == "entry":
        present = get(data, piece.path)
        if present is None:
            return put(text, piece.path, piece.value)
        _check_foreign(present, piece)
        for key, value in piece.value.items():
            text = put(text, (*piece.path, key), value)
        return text
    text = _take_stale(text, piece)
    for event, groups in piece.value.items():
        for group in groups:
            present = get(read_data(text), (*piece.path, event))
            if present is None:
                text = put(text, (*piece.path, event), [group])
            elif not isinstance(present, list):
                raise InputError(f"{'.'.join((*piece.path, event))} must be a list; correct it")
            elif group not in present:
                old = [number for number, one in enumerate(present) if is_ours(one)]
                place = old[0] if old else len(present)
                text = put(text, (*piece.path, event, place), group)
    return text


def _model(like: bytes | None) -> Any:
    """Return the data of a former file, {} for one that cannot be read."""
    try:
        return read_data(_decoded(like)[0])
    except InputError:
        return {}


def _take(text: str, piece: Piece, model: Any) -> str:
    data = read_data(text)
    if piece.form == "entry":
        if not _is_our_server(get(data, piece.path)):
            return text
        return _take_empty(take(text, piece.path), piece.path[:-1], model)
    return _take_hooks(text, piece.path, {}, model) if piece.form == "hooks" else text


def _take_stale(text: str, piece: Piece) -> str:
    """Take out what an earlier installation left: at most one of ours an event may stay."""
    return _take_hooks(text, piece.path, piece.value, read_data(text))


def _take_hooks(text: str, path: tuple[str, ...], keep: dict[str, Any], model: Any) -> str:
    hooks = get(read_data(text), path)
    for event, groups in hooks.items() if isinstance(hooks, dict) else ():
        if not isinstance(groups, list):
            continue
        ours = [number for number, group in enumerate(groups) if is_ours(group)]
        # One that will be replaced keeps its place in the order.
        wanted = keep.get(event, [])
        same = [number for number in ours if groups[number] in wanted]
        spared = (same or ours)[: len(wanted)]
        for number in reversed(range(len(groups))):
            if number in spared:
                continue
            if number in ours:
                text = take(text, (*path, event, number))
            else:
                text = _take_mixed(text, (*path, event, number), groups[number])
        text = _take_empty(text, (*path, event), model) if ours else text
    return text


def _take_mixed(text: str, path: tuple[str | int, ...], group: Any) -> str:
    found = group.get("hooks") if isinstance(group, dict) else None
    inner: list[Any] = found if isinstance(found, list) else []
    for number in reversed(range(len(inner))):
        if is_ours(inner[number]):
            text = take(text, (*path, "hooks", number))
    return text


def _take_empty(text: str, path: tuple[str, ...], model: Any) -> str:
    while path and get(read_data(text), path) in ({}, []) and get(model, path) is None:
        text = take(text, path)
        path = path[:-1]
    return text


def _check_foreign(present: Any, piece: Piece) -> None:
    if present is not None and not _is_our_server(present):
        name = ".".join(piece.path)
        raise InputError(f"{name} is a different server; rename it and run this again")


def _is_our_server(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    command = entry.get("command")
    words = [command] if isinstance(command, str) else command
    if not isinstance(words, list):
        return False
    words = [*words, *(entry.get("args") or [])]
    first = words[0] if words else None
    return isinstance(first, str) and bool(_SERVER_PROGRAM.search(first)) and "mcp" in words[1:]


def _decoded(data: bytes | None) -> tuple[str, str]:
    try:
        text = (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"byte {error.start}: not UTF-8; save the file as UTF-8") from None
    return (text[1:], _BOM) if text.startswith(_BOM) else (text, "")


def show(data: bytes | None) -> list[str]:
    """Return the lines of a file for a difference."""
    return (data or b"").decode("utf-8", "replace").splitlines()


def digest_of(pieces: tuple[Piece, ...]) -> list[str]:
    """Name pieces, so that two installations can tell whether they want the same."""
    return [json.dumps([piece.form, *piece.path]) for piece in pieces]
