"""Apply a diet as one transaction, and undo it.

The record is written first, then the cards, then the files. A file is replaced only if it has not
changed since it was read. If the process is killed, the next run undoes its changes, so every rule
is in its file or in its card. A text that an editor saved meanwhile is never overwritten; a rule
that is missing from this text keeps its card.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.links import slug
from lessons_kb.cards.read_header import read_origins
from lessons_kb.errors import CardNotFound, InputError, LessonsError, StorageError
from lessons_kb.store import trash
from lessons_kb.store.diet_records import (
    BEGUN,
    DONE,
    UNDOING,
    DietRecord,
    RecordedCard,
    RecordedFile,
    drop_record,
    drop_unfinished_mark,
    find_records,
    write_record,
)
from lessons_kb.store.files import TEMP_PREFIX, on_failure, shown, storage_errors
from lessons_kb.store.locks import hold_diet, hold_for_new_card
from lessons_kb.store.repositories import find_below, is_brain
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.store.swap_files import (
    create_file,
    put_back,
    read_or_none,
    remove_file,
    swap_file,
)
from lessons_kb.store.trash import digest
from lessons_kb.text.redact import redact
from lessons_kb.values import frozen, replace

_CARD_MODE = 0o644


@frozen
class MovedRule:
    """A rule that becomes a card."""

    file: str
    """The rules file that contains it, relative to the project."""
    words: str
    title: str
    card: str
    """The text of the card."""


@frozen
class FileEdit:
    """The change of a rules file."""

    name: str
    before: bytes
    after: bytes | None
    """The new content, or None if the file is removed."""


@frozen
class Undone:
    """The files and cards that the undoing of a diet has changed."""

    files: tuple[str, ...]
    cards: tuple[str, ...]
    interrupted: bool = False
    """Whether the diet had been interrupted before it was complete."""


def apply_diet(
    root: str, brain: Brain, rules: Sequence[MovedRule], edits: Sequence[FileEdit]
) -> list[str]:
    """Write the cards, then the files, and return the paths of the cards.

    Raises InputError if a file has changed since it was read, and StorageError. Every change is
    then undone.
    """
    with hold_diet(root), hold_for_new_card(brain.root):
        recover(root)  # completes or undoes the diet of a killed process
        for edit in edits:
            if _read(root, edit.name) != edit.before:
                raise InputError(_changed(edit.name))
        record = write_record(_plan_record(root, brain.root, rules, edits))
        with on_failure(_take_back, root, record):
            brain.touch()
            for number, rule in enumerate(rules):
                _write_card(record, number, brain.root, rule.card.encode())
            for number, edit in enumerate(edits):
                if not _replace(root, edit, _temp(root, record, number)):
                    raise InputError(_changed(edit.name))
            write_record(replace(record, state=DONE))
    return [card.path for card in record.cards]


def undo_diet(root: str) -> Undone:
    """Restore the files of the last diet byte for byte, and move its cards to the trash.

    Raises InputError, and changes nothing, if there was no diet or if a file has changed since.
    """
    with hold_diet(root):
        if interrupted := recover(root):
            return replace(interrupted, interrupted=True)
        records = find_records(root)
        if not records:
            raise InputError("no diet to undo in this project")
        record = records[-1]
        for file in record.files:
            if not _can_be_restored(root, record, file):
                raise InputError(
                    f"{shown(file.name)} has changed since the diet; undo its changes first, "
                    f"or copy the original from {record.place} (base64)"
                )
        return _take_back(root, write_record(replace(record, state=UNDOING)))


def _can_be_restored(root: str, record: DietRecord, file: RecordedFile) -> bool:
    """Return whether a file can be restored, because it is unchanged or contains all its rules
    again.
    """
    now = _read(root, file.name)
    if now is None or now == file.before or digest(now) == file.after:
        return True
    text = _flatten(now)
    return all(card.rule in text for card in record.cards if card.file == file.name)


def recover(root: str) -> Undone | None:
    """Undo a killed diet, or complete a killed undo. Return None if there is neither."""
    drop_unfinished_mark(root)
    undone = None
    for record in find_records(root):
        if record.state != DONE:
            undone = _take_back(root, record)
    return undone


def _plan_record(
    root: str, brain: str, rules: Sequence[MovedRule], edits: Sequence[FileEdit]
) -> DietRecord:
    files = [
        RecordedFile(
            name=edit.name,
            before=edit.before,
            after="" if edit.after is None else digest(edit.after),
            mode=stat.S_IMODE(os.stat(_full(root, edit.name)).st_mode),
        )
        for edit in edits
    ]
    taken = set[str]()
    cards = []
    for rule in rules:
        names = numbered_names(f"lessons/{slug(redact(rule.title))}")
        path = next(name for name in names if name not in taken and _is_free(brain, name))
        taken.add(path)
        origins = read_origins(rule.card)
        cards.append(
            RecordedCard(
                path=path,
                digest=digest(rule.card.encode()),
                origin=origins[0] if origins else "",
                rule=rule.words,
                file=rule.file,
            )
        )
    inside = os.path.relpath(brain, root).replace(os.sep, "/")
    return DietRecord(state=BEGUN, root=root, brain=inside, files=tuple(files), cards=tuple(cards))


def _is_free(brain: str, path: str) -> bool:
    return not os.path.lexists(_full(brain, path))


def _write_card(record: DietRecord, number: int, brain: str, data: bytes) -> None:
    path = record.cards[number].path
    full = _full(brain, path)
    with storage_errors(path, brain=brain):
        try:
            create_file(full, data, mode=_CARD_MODE, temp=_card_temp(record, number, full))
        except FileExistsError:
            text = f"{shown(path)} already exists; nothing was moved; run the diet again"
            raise InputError(text) from None


def _replace(root: str, edit: FileEdit, temp: str) -> bool:
    full = _full(root, edit.name)
    with storage_errors(full):
        try:
            if edit.after is None:
                return remove_file(full, edit.before, temp=temp)
            return swap_file(full, edit.before, edit.after, temp=temp)
        except FileNotFoundError:
            return False


def _take_back(root: str, record: DietRecord) -> Undone:
    """Restore the files byte for byte, and remove the cards whose rules are in the files again."""
    restored = []
    for number, file in enumerate(record.files):
        full = _full(root, file.name)
        with storage_errors(full):
            _settle_temps(root, record, number)
            if _restore(full, file, _temp(root, record, number, back=True)):
                restored.append(file.name)
    texts = {file.name: _flatten(_read(root, file.name)) for file in record.files}
    brain = os.path.normpath(os.path.join(root, record.brain))
    for number, card in enumerate(record.cards):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(_card_temp(record, number, _full(brain, card.path)))
    removed = []
    left = []
    for card in record.cards:
        if card.rule not in texts[card.file]:
            left.append(card)
        elif path := _remove_card(root, record, card):
            removed.append(path)
    if left:
        write_record(replace(record, state=DONE, cards=tuple(left)))
    else:
        drop_record(record)
    return Undone(files=tuple(restored), cards=tuple(removed))


def _settle_temps(root: str, record: DietRecord, number: int) -> None:
    """Remove the temporary files that a killed run left, and restore text that an editor has saved.

    Before the exchange, a temporary file contains our bytes or the beginning of them. After it, it
    contains the former content of the rules file.
    """
    file = record.files[number]
    full = _full(root, file.name)
    now = read_or_none(full)
    temp = _temp(root, record, number)
    if (left := read_or_none(temp)) is not None:
        is_exchanged = now is None or digest(now) == file.after
        _drop_or_put_back(full, temp, now, is_saved=is_exchanged and left != file.before)
    temp = _temp(root, record, number, back=True)
    if (left := read_or_none(temp)) is not None:
        is_ours = file.before.startswith(left) or digest(left) == file.after
        _drop_or_put_back(full, temp, now, is_saved=now == file.before and not is_ours)


def _drop_or_put_back(full: str, temp: str, now: bytes | None, *, is_saved: bool) -> None:
    if not is_saved:
        os.unlink(temp)
    elif now is None:
        os.rename(temp, full)
    else:
        put_back(full, temp, now)


def _restore(full: str, file: RecordedFile, temp: str) -> bool:
    now = read_or_none(full)
    if now is None:
        create_file(full, file.before, mode=file.mode, temp=temp)
        return True
    if digest(now) != file.after or now == file.before:
        return False
    return swap_file(full, now, file.before, temp=temp)


def _remove_card(root: str, record: DietRecord, card: RecordedCard) -> str:
    """Remove a card of a diet and return its path, or "" if the card no longer exists."""
    for brain, path in _find_card(root, record, card):
        full = _full(brain, path)
        with contextlib.suppress(CardNotFound), storage_errors(full):
            data = read_or_none(full)
            if data is None:
                continue
            if record.state == BEGUN and digest(data) == card.digest:
                os.unlink(full)  # nobody has read it yet
            else:
                trash.put(brain, path, why="a diet was undone")
            return path
    return ""


def _find_card(root: str, record: DietRecord, card: RecordedCard) -> Iterator[tuple[str, str]]:
    """Yield (brain, path) for the files with a card, found by the card's path first and then by its
    origin.
    """
    brains = [os.path.normpath(os.path.join(root, record.brain))]
    brains += [root] if is_brain(root) else []
    brains += find_below(root)
    for brain in dict.fromkeys(brains):
        if _holds(_full(brain, card.path), card):
            yield brain, card.path
    for brain in dict.fromkeys(brains):
        for place, folders, names in os.walk(brain):
            folders[:] = [name for name in folders if name[0] != "." and name != "node_modules"]
            for name in names:
                full = os.path.join(place, name)
                if name.endswith(SUFFIXES) and _holds(full, card):
                    yield brain, os.path.relpath(full, brain).replace(os.sep, "/")


def _holds(full: str, card: RecordedCard) -> bool:
    try:
        data = read_or_none(full) if os.path.isfile(full) and not os.path.islink(full) else None
    except (OSError, LessonsError):
        return False
    if data is None or (card.origin and card.origin.encode() not in data):
        return False
    return card.origin in read_origins(data.decode("utf-8", "replace")) if card.origin else True


def _temp(root: str, record: DietRecord, number: int, *, back: bool = False) -> str:
    """Return the name of a file's temporary copy, which another process can derive for recovery."""
    kind = "back" if back else "file"
    folder = os.path.dirname(_full(root, record.files[number].name))
    name = os.path.splitext(os.path.basename(record.place))[0]
    return os.path.join(folder, f"{TEMP_PREFIX}diet-{name}-{kind}-{number}")


def _card_temp(record: DietRecord, number: int, full: str) -> str:
    name = os.path.splitext(os.path.basename(record.place))[0]
    return os.path.join(os.path.dirname(full), f"{TEMP_PREFIX}diet-{name}-card-{number}")


def _full(root: str, name: str) -> str:
    full = os.path.normpath(os.path.join(root, *name.split("/")))
    inside = os.path.realpath(os.path.dirname(full))
    if not f"{inside}{os.sep}".startswith(os.path.realpath(root).rstrip(os.sep) + os.sep):
        raise StorageError(f"{shown(name)}: outside the project; left alone")
    return full


def _read(root: str, name: str) -> bytes | None:
    full = _full(root, name)
    with storage_errors(full):
        return read_or_none(full)


def _flatten(data: bytes | None) -> str:
    return " ".join((data or b"").decode("utf-8", "replace").split())


def _changed(name: str) -> str:
    return f"{shown(name)} has changed meanwhile; nothing was moved; run the diet again"


def edits_of(root: str, texts: Mapping[str, str | None]) -> list[FileEdit]:
    """Return the edits that write ``texts``, a mapping from names to new texts. None removes the
    file.
    """
    edits = []
    for name, text in texts.items():
        before = _read(root, name) or b""
        after = None if text is None else text.encode()
        if before != after:
            edits.append(FileEdit(name=name, before=before, after=after))
    return edits
