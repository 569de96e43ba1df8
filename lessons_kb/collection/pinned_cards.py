"""Provide the cards of a clone for which a secret of the environment vouches.

A cloud agent starts in a fresh container without trust records. A variable names a commit or the
signing key. The cards for which this commit vouches are copied to the user's own brain, so that no
later change in the clone reaches an agent.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.discovery import NO_VARIABLES, is_set_in_project, look
from lessons_kb.errors import BrainNotFound, InputError, Untrusted
from lessons_kb.process.git import Repository, decode
from lessons_kb.store.files import is_inside
from lessons_kb.store.locations import CONFIG_NAME, user_brain
from lessons_kb.store.pinned_files import replace_pinned
from lessons_kb.store.scan import IGNORE_NAME, SUFFIXES

COMMIT_VARIABLE, SIGNER_VARIABLE = "LESSONS_TRUST_COMMIT", "LESSONS_TRUST_SIGNER"
_MAX_BYTES = 100_000_000
_HASH = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_FILE_MODES = ("100644", "100755")
_GOOD = ("G", "U")
"""Git's letters for a good signature, by a key that it trusts or by another key. Only the
fingerprint decides here."""
_NO_REPLACEMENT = {"GIT_NO_REPLACE_OBJECTS": "1"}
_ADVICE = f"set {COMMIT_VARIABLE} or {SIGNER_VARIABLE} in the settings of the environment"


class Pinned(NamedTuple):
    """The cards that were copied, and the cards that are not used."""

    root: str
    """The brain in the clone."""
    commit: str
    copied: tuple[str, ...]
    """The paths of the files, relative to the brain."""
    silent: tuple[str, ...]
    """The paths of the files in HEAD that differ from the commit or are not in it."""


def pin_cards(folder: str, environment: Mapping[str, str]) -> Pinned:
    """Copy the cards for which a variable vouches to the user's own brain.

    Raises InputError or Untrusted if the variables do not vouch for them, and BrainNotFound,
    GitError or StorageError.
    """
    root, repository = _find_brain(folder)
    inside = os.path.relpath(root, repository.top).replace(os.sep, "/")
    commit = _find_commit(repository, inside, environment)
    vouched = _list_files(repository, commit, inside)
    present = _list_files(repository, "HEAD", inside)
    same = {path: blob for path, blob in vouched.items() if present.get(path) == blob}
    contents = _read_blobs(repository, list(dict.fromkeys(same.values())))
    copied = {path: contents[blob] for path, blob in same.items()}
    _replace_copies(copied, commit)
    return Pinned(
        root=root,
        commit=commit,
        copied=tuple(copied),
        silent=tuple(path for path in present if path not in copied),
    )


def _find_brain(folder: str) -> tuple[str, Repository]:
    """Return the brain of a clone, and its repository."""
    real, own = os.path.realpath(folder), os.path.realpath(user_brain())
    found = look(real, NO_VARIABLES)
    roots = [root for root in (*found.untrusted, *found.trusted) if root != own]
    if not roots:
        raise BrainNotFound(f"no brain in or above {folder}; run this in the clone")
    repository = Repository(roots[0])
    for variable in (COMMIT_VARIABLE, SIGNER_VARIABLE):
        if is_set_in_project(repository.top, variable):
            raise Untrusted(
                f"files of the project contain {variable}; remove it there, because a clone must "
                "not decide whom to trust"
            )
    if is_inside(own, repository.top):
        raise Untrusted(f"{own} is in the clone; set HOME and XDG_DATA_HOME outside of it")
    return roots[0], repository


def _find_commit(repository: Repository, inside: str, environment: Mapping[str, str]) -> str:
    """Return the hash of the commit for which the environment vouches."""
    commit = environment.get(COMMIT_VARIABLE, "").strip().lower()
    signer = environment.get(SIGNER_VARIABLE, "").strip()
    if commit and signer:
        raise InputError(f"{COMMIT_VARIABLE} and {SIGNER_VARIABLE} are both set; set one of them")
    if signer:
        return _find_signed(repository, inside, signer)
    if not commit:
        raise InputError(f"nothing vouches for the cards; {_ADVICE}")
    if not _HASH.fullmatch(commit):
        raise InputError(f"{COMMIT_VARIABLE} is not the full hash of a commit; copy all digits")
    kind = repository.run("cat-file", "-t", commit, **_NO_REPLACEMENT)
    if decode(kind.output).strip() != "commit":
        fix = f"run `git fetch --depth=1 origin {commit}`"
        raise Untrusted(f"the clone has no commit {commit}; {fix}")
    return commit


def _find_signed(repository: Repository, inside: str, signer: str) -> str:
    """Return the newest commit that changes the brain. Raises Untrusted without this signature."""
    words = ("log", "-1", "--format=%H", "HEAD", "--", f":(top,literal){inside}")
    commit = decode(repository.ask(*words, **_NO_REPLACEMENT)).strip()
    if not _HASH.fullmatch(commit):
        raise Untrusted("no commit has the brain; commit and sign it")
    with tempfile.NamedTemporaryFile() as nobody:  # git wants a list, if only an empty one
        settings = (f"gpg.ssh.allowedSignersFile={nobody.name}", *_PROGRAMS)
        options = [word for setting in settings for word in ("-c", setting)]
        form = "--format=%G?%n%GF%n%GP"
        answer = repository.ask(*options, "log", "-1", form, commit, **_NO_REPLACEMENT)
    status, *keys = decode(answer).split("\n")
    expected = _normalize(signer)
    if status not in _GOOD or expected not in map(_normalize, filter(None, keys)):
        reason = "is not signed" if status == "N" else "has no good signature of that key"
        fix = f"sign a commit that changes it, or set {COMMIT_VARIABLE} instead"
        raise Untrusted(f"{commit}, the newest commit that touches the brain, {reason}; {fix}")
    if _find_tree(repository, commit, inside) != _find_tree(repository, "HEAD", inside):
        raise Untrusted(f"the brain differs from {commit}, which is signed; sign its newest commit")
    return commit


_PROGRAMS = (
    *("gpg.program=gpg", "gpg.openpgp.program=gpg"),
    *("gpg.ssh.program=ssh-keygen", "gpg.x509.program=gpgsm"),
)
"""The programs that verify signatures. The configuration of the repository must not set them."""


def _normalize(fingerprint: str) -> str:
    """Return a fingerprint as git prints it. For OpenPGP it is in capitals and without spaces."""
    if fingerprint.startswith("SHA256:"):
        return fingerprint.rstrip("=")
    return fingerprint.replace(" ", "").removeprefix("0x").upper()


def _find_tree(repository: Repository, commit: str, inside: str) -> str:
    path = "" if inside == "." else inside
    words = ("rev-parse", "--verify", "--end-of-options", f"{commit}:{path}")
    return decode(repository.ask(*words, **_NO_REPLACEMENT)).strip()


def _list_files(repository: Repository, commit: str, inside: str) -> dict[str, str]:
    """Return a mapping from paths to blobs of the cards and settings of a brain in a commit.

    Links are left out.
    """
    words = ["ls-tree", "-r", "-z", "--full-tree", commit]
    if inside != ".":
        words += ["--", f"{inside}/"]
    output = repository.ask(*words, limit=_MAX_BYTES, **_NO_REPLACEMENT)
    files = {}
    for row in filter(None, output.split(b"\0")):
        facts, _, name = row.partition(b"\t")
        mode, kind, blob = facts.decode("ascii").split()
        path = os.fsdecode(name)
        if inside != ".":
            path = path.removeprefix(f"{inside}/")
        is_used = path.endswith(SUFFIXES) or path in (CONFIG_NAME, IGNORE_NAME)
        if kind == "blob" and mode in _FILE_MODES and is_used:
            files[path] = blob
    return files


def _read_blobs(repository: Repository, blobs: Sequence[str]) -> dict[str, bytes]:
    """Return a mapping from blobs to their content."""
    if not blobs:
        return {}
    asked = "".join(f"{blob}\n" for blob in blobs).encode()
    output = repository.ask("cat-file", "--batch", stdin=asked, limit=_MAX_BYTES, **_NO_REPLACEMENT)
    contents = {}
    at = 0
    for blob in blobs:
        end = output.index(b"\n", at)
        size = int(output[at:end].split()[2])
        contents[blob] = output[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return contents


def _replace_copies(files: Mapping[str, bytes], commit: str) -> None:
    """Write the files to the user's own brain, and replace the files of an earlier run."""
    own = os.path.realpath(user_brain())
    replace_pinned(own, files, commit)
    brain = Brain(own)
    try:
        brain.refresh()
    finally:
        brain.close()
