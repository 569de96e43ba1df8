"""The folder of a run, with the files of a commit, the cards of an arm, and later the files of the
check.

A commit and an agent's work may contain links. No function here follows a link out of the run's
folder. As in git, a link is replaced if a folder belongs in its place.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle

from lessons_kb.cards.parse import parse_card
from lessons_kb.config import KNOWN_FOLDERS, parse_settings
from lessons_kb.data import read_lines
from lessons_kb.errors import InputError, LessonsError, StorageError
from lessons_kb.model import NOTE
from lessons_kb.process.git import Repository, ask_git
from lessons_kb.process.marks import end_marked, new_mark
from lessons_kb.process.run import run_bounded
from lessons_kb.store.files import is_inside, read_json, storage_errors, write_unsynced
from lessons_kb.store.journal import PLACEBO, WITHOUT, read_output
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME
from lessons_kb.store.private_files import write_private
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES
from lessons_kb.text.sanitize import counted
from lessons_kb.trial.tasks import Task
from lessons_kb.values import frozen

_WORK, _STATE = "work-", "state-"
_MARK = re.compile(r"[0-9a-f]{16}")
_RECORD = "running.json"
_MAX_RECORD = 10_000
_TRUST_SECONDS = 60.0
_FILE_MODES = (b"100644", b"100755")
_EXECUTABLE = b"100755"


@frozen
class Place:
    """The folders of a run in progress, and the mark of its processes."""

    mark: str
    work: str
    """The parent of the folder with the task's files, which is named like the repository."""
    state: str
    """The state folder of our hooks in this run."""


def open_place(run_folder: str) -> Place:
    """Create the folders of a run, and record them in ``run_folder``, the folder of its results."""
    mark = new_mark()
    temporary = tempfile.gettempdir()
    work, state = (os.path.join(temporary, f"{kind}{mark}") for kind in (_WORK, _STATE))
    record = {"mark": mark, "temporary": temporary}
    write_private(os.path.join(run_folder, _RECORD), json.dumps(record).encode())
    for folder in (work, state):
        with storage_errors(folder):
            os.mkdir(folder, 0o700)
    return Place(mark=mark, work=work, state=state)


def close_place(run_folder: str, place: Place) -> list[str]:
    """End the processes of a run and remove its folders. Return the folders that cannot be removed.

    If a folder remains, the record in ``run_folder`` remains as well, and the next trial tries
    again.
    """
    end_marked(place.mark)
    remaining = [folder for folder in (place.work, place.state) if not _remove_folder(folder)]
    if not remaining:
        with contextlib.suppress(OSError):
            os.remove(os.path.join(run_folder, _RECORD))
    return remaining


def _remove_folder(folder: str) -> bool:
    """Remove a folder, even if it contains read-only folders, and return whether it was removed.

    The caches of some build tools, such as Go's modules, are read-only.
    """
    shutil.rmtree(folder, ignore_errors=True)
    if not os.path.lexists(folder):
        return True
    with contextlib.suppress(OSError):
        os.chmod(folder, 0o700)
    for parent, names, _files in os.walk(folder):  # it enters a folder after its turn here
        for name in names:
            full = os.path.join(parent, name)
            if not os.path.islink(full):
                with contextlib.suppress(OSError):
                    os.chmod(full, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
    return not os.path.lexists(folder)


def close_dead_place(run_folder: str) -> list[str]:
    """Close the place of a run whose trial was killed. Do nothing if it was closed already.

    Returns the folders that cannot be removed.
    """
    record = read_json(os.path.join(run_folder, _RECORD), limit=_MAX_RECORD)
    mark, temporary = record.get("mark"), record.get("temporary")
    if not isinstance(mark, str) or not isinstance(temporary, str) or not _MARK.fullmatch(mark):
        return []
    work, state = (os.path.join(temporary, f"{kind}{mark}") for kind in (_WORK, _STATE))
    return close_place(run_folder, Place(mark=mark, work=work, state=state))


def check_out(repository: str, commit: str, work: str) -> None:
    """Write the files of a commit into an empty folder. Raises GitError."""
    whole = Repository(repository)
    with tempfile.TemporaryDirectory() as folder:
        index = os.path.join(folder, "index")
        whole.ask("read-tree", f"{commit}^{{tree}}", GIT_INDEX_FILE=index)
        command = (f"--work-tree={work}", "checkout-index", "--all", "--force")
        whole.ask(*whole.filters_off(), *command, GIT_INDEX_FILE=index)


def bring_cards(
    *,
    top: str,
    root: str,
    brain: str,
    cards: Sequence[str],
    arm: str,
    environment: Mapping[str, str],
) -> None:
    """Replace the cards of the commit by today's cards, or remove them in the arm without lessons.

    ``root`` is the folder of the brain in the run, at or below ``top``. ``brain`` is the root of
    today's brain. Raises InputError if the cards cannot be read there afterwards.
    """
    for full in _find_earlier_cards(top, root, brain):
        _remove_card(top, full)
    for path in (*cards, CONFIG_NAME, IGNORE_NAME, CACHE_NAME):
        _remove_card(top, os.path.join(root, path))
    placed = place_cards(cards, arm)
    for name, path in placed.items():
        card = read_output(os.path.join(brain, path))
        text = make_placebo(card) if arm == PLACEBO and path.endswith(SUFFIXES) else card
        full = os.path.join(root, name)
        try:
            make_way(top, full)
            write_unsynced(full, text.encode("utf-8", "replace"))
        except OSError as error:
            raise InputError(f"the cards did not arrive: {name}: {error.strerror}") from None
    if arm == WITHOUT:
        return
    _ask_lessons(["--brain", root, "trust", root], root, environment)
    # The brain is found as the agent's hooks find it, from the folder in which the agent starts.
    listed = json.loads(_ask_lessons(["list", "--all", "--json"], top, environment))
    arrived = {card["id"].rpartition(":")[2] for card in listed}  # without the brain's alias
    missing = [name for name in placed if name.endswith(SUFFIXES) and name not in arrived]
    if missing:
        what = counted(len(missing), "card")
        raise InputError(f"the cards did not arrive: {what} of {len(placed)}, such as {missing[0]}")


def _find_earlier_cards(top: str, root: str, brain: str) -> list[str]:
    """List the cards of the commit's brain in any place, including cards that it ignored.

    A card that was renamed, moved or deleted since then would otherwise stay in each arm. A link is
    listed if it leads to a card, or if it is a card folder outside of ``top``.
    """
    listed = []
    real_top = os.path.realpath(top)
    for earlier_root in _find_earlier_roots(top, root):
        folders = {**_read_folders(brain), **_read_folders(earlier_root)}
        for folder in folders:
            full = os.path.join(earlier_root, folder)
            if os.path.islink(full) and not is_inside(full, real_top):
                listed.append(full)
        for full in _list_markdown(earlier_root):
            path = os.path.relpath(full, earlier_root).replace(os.sep, "/")
            if _is_card(full, path, folders):
                listed.append(full)
    return listed


def _is_card(full: str, path: str, folders: Mapping[str, str]) -> bool:
    """Return whether a file is a card, or would be one if its header could be read."""
    try:
        text = read_output(full).replace("\0", "")
    except StorageError:
        return False
    card = parse_card(text, path=path, folders=folders).card
    return card is None or card.kind != NOTE


def _find_earlier_roots(top: str, root: str) -> list[str]:
    """List the folders of the commit's brain: ``root``, or the folders with settings if ``root``
    has none.
    """
    if os.path.exists(os.path.join(root, CONFIG_NAME)):
        return [root]
    with_settings = [folder for folder, names in _walk(top) if CONFIG_NAME in names]
    return [root, *with_settings]


def _read_folders(root: str) -> dict[str, str]:
    """Return the card folders of a brain, from its settings if they can be read."""
    try:
        settings, _origins = parse_settings(read_output(os.path.join(root, CONFIG_NAME)))
    except LessonsError:
        return dict(KNOWN_FOLDERS)
    return settings.folders


def _list_markdown(root: str) -> list[str]:
    """List the Markdown files below a folder, and the links that are named like one."""
    files = []
    for folder, names in _walk(root):
        files += [os.path.join(folder, name) for name in names if name.endswith(SUFFIXES)]
    return files


def _walk(root: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each folder below ``root`` with the names of its files. Links are not followed."""
    for folder, folders, names in os.walk(root):
        if ".git" in folders:
            folders.remove(".git")
        yield folder, names


def _remove_card(top: str, full: str) -> None:
    """Remove a card file of the commit. A link that points inside ``top`` is followed."""
    folder = os.path.dirname(full)
    if not is_inside(folder, os.path.realpath(top)):
        return
    with contextlib.suppress(OSError):  # it does not exist, or its folder has other files
        os.remove(full)
        os.rmdir(folder)


def make_way(top: str, full: str) -> None:
    """Create the folders between ``top`` and ``full``. Links and files in their way are removed."""
    folder = top
    for name in os.path.relpath(os.path.dirname(full), top).split(os.sep):
        folder = os.path.normpath(os.path.join(folder, name))
        if os.path.islink(folder) or not os.path.isdir(folder):
            with contextlib.suppress(FileNotFoundError):
                os.remove(folder)
            os.mkdir(folder)
    if os.path.islink(full):
        os.remove(full)


def _ask_lessons(words: Sequence[str], folder: str, environment: Mapping[str, str]) -> str:
    """Return the output of our own command, run in ``folder``. Raises InputError."""
    command = [sys.executable, "-P", "-m", "lessons_kb.cli.main", *words]
    with tempfile.TemporaryDirectory() as results:
        output, errors = os.path.join(results, "output"), os.path.join(results, "errors")
        with open(errors, "wb") as stream:
            code = run_bounded(
                command,
                cwd=folder,
                env=environment,
                output=output,
                errors=stream.fileno(),
                seconds=_TRUST_SECONDS,
            )
        if code:
            raise InputError(f"the cards did not arrive: {' '.join(read_output(errors).split())}")
        return read_output(output)


def place_cards(cards: Iterable[str], arm: str) -> dict[str, str]:
    """Return a mapping from the paths in the run to the cards of an arm.

    A placebo's file gets a neutral name, because a card's file name reveals its topic.
    """
    if arm != PLACEBO:
        return {path: path for path in cards if arm != WITHOUT}
    placed = {}
    for number, path in enumerate(cards, 1):
        folder = os.path.dirname(path)
        name = f"advice-{number:02}.md" if path.endswith(SUFFIXES) else os.path.basename(path)
        placed[os.path.join(folder, name)] = path
    return placed


def require_check_files(repository: str, task: Task) -> None:
    """Raise InputError for a check file that is in neither of a task's commits, because its name is
    wrong.
    """
    for path in task.check_files:
        name = os.path.normpath(path).replace(os.sep, "/")
        if name.startswith(("/", "../")):
            raise InputError(
                f"task {task.name}: check_files: {path!r} leads out of the repository; name a file"
            )
        commits = (task.check_from, task.commit)
        literal = f":(literal){name}"
        if not any(ask_git(repository, "ls-tree", commit, "--", literal) for commit in commits):
            raise InputError(
                f"task {task.name}: check_files: there is no {path!r} at {task.check_from[:12]}; "
                "correct the name"
            )


def bring_check(repository: str, task: Task, work: str) -> None:
    """Copy the files of a task's check into the work. Check files that their commit lacks are
    removed.

    Raises InputError for a path that is not a regular file.
    """
    for path in task.check_files:
        full = os.path.normpath(os.path.join(work, path))
        if not full.startswith(work + os.sep):
            raise InputError(f"check_files: {path!r} leads out of the repository")
        name = os.path.relpath(full, work).replace(os.sep, "/")
        listed = ask_git(repository, "ls-tree", "-z", task.check_from, "--", f":(literal){name}")
        if not listed:
            _remove_file(work, full)
            continue
        mode = listed.split(b" ", 1)[0]
        if mode not in _FILE_MODES or listed.count(b"\0") > 1:
            raise InputError(f"check_files: {path!r} is no file of {task.check_from}; name files")
        content = ask_git(repository, "cat-file", "blob", f"{task.check_from}:{name}")
        with storage_errors(full):
            make_way(work, full)
            with open(full, "wb") as file:
                file.write(content)
            os.chmod(full, 0o755 if mode == _EXECUTABLE else 0o644)


def _remove_file(work: str, full: str) -> None:
    """Remove a file below ``work`` unless it is behind a link, where git does not look for it."""
    folder = os.path.dirname(full)
    if os.path.realpath(folder) != os.path.join(
        os.path.realpath(work), os.path.relpath(folder, work)
    ):
        return
    with storage_errors(full), contextlib.suppress(FileNotFoundError):
        os.remove(full)


_ADVICE = read_lines("placebo_advice.txt")
_LINE = re.compile(r"^([\s>#*+\-\d.]*(?:\[[ xX]\]\s*)?)(.*)$")
_TITLE = re.compile(r"^title:.*$", re.MULTILINE)
_HEADER = re.compile(r"\A(---\r?\n.*?^---\r?\n)(.*)\Z", re.MULTILINE | re.DOTALL)


def make_placebo(card: str) -> str:
    """Return a card's text with general advice in place of its title and sentences.

    A placebo is injected at the same moments, in the same form and length, but without specific
    content. It shows the effect of mere text in the context, which may add care or distract.
    Headings remain, as do keys such as ``symptoms`` and ``paths`` that decide when the card is
    injected.
    """
    match = _HEADER.match(card)
    header, body = match.groups() if match else ("", card)
    title = _TITLE.search(header)
    if title:
        words = len(title[0].split()) - 1
        header = header.replace(title[0], f'title: "{_advise(words, 0)}"', 1)
    turn = cycle(range(3))
    lines = []
    for line in body.splitlines():
        mark, text = _LINE.match(line).groups()  # type: ignore[union-attr]
        heading = mark.lstrip().startswith("#")
        lines.append(line if heading or not text else mark + _advise(len(text.split()), next(turn)))
    return header + "\n".join(lines) + "\n"


def _advise(words: int, turn: int) -> str:
    """Return advice of about ``words`` words. ``turn`` selects among texts of similar length."""
    sentences = sorted(_ADVICE, key=lambda sentence: abs(len(sentence.split()) - words))
    text = sentences[turn]
    while words - len(text.split()) >= len(_ADVICE[0].split()):
        text += f". {_advise(words - len(text.split()), turn)}"
    return text
