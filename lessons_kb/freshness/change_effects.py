"""Find the effects of a change on cards: a last file that it removes, or a condition that it
reverses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.cards.anchors import Claims, parse_claims
from lessons_kb.cards.conditions import list_conditions
from lessons_kb.errors import GitError, InputError
from lessons_kb.model import FILE, GLOB, Anchor
from lessons_kb.on_demand import FRESHNESS_CONDITIONS, load
from lessons_kb.process.git import Diff, Repository, decode
from lessons_kb.store.repositories import MANIFESTS, git_top, read_manifest
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.values import frozen

LOST_FILE, MOVED_FILE, TURNED = ("lost-file", "moved-file", "turned-condition")
"""The rules of the findings about a change."""
_FILE = re.compile(r"^(?=diff --git )", re.MULTILINE)
_RENAME = re.compile(r"^rename from (.+)\nrename to (.+)$", re.MULTILINE)
_BLOBS = re.compile(r"^index ([0-9a-f]+)\.\.([0-9a-f]+)", re.MULTILINE)
_DELETED = "\ndeleted file mode "
_NO_BLOB = re.compile("0+")


@frozen
class Effect:
    """The effect of a change on one card."""

    card: str
    """The id of the card."""
    rule: str
    message: str
    fix: str
    level: str = "warning"


def find_effects(brain: Brain, directory: str, diff: Diff) -> list[Effect]:
    """Return the effects of a change on the active cards of a brain in the same repository."""
    top = git_top(directory)
    if top is None or git_top(brain.root) != top:
        return []
    brain.refresh()
    rows = brain.read(lambda opened: opened.catalogue.claims())
    cards = brain.read(lambda opened: opened.catalogue.cards(rows))
    active = [
        parse_claims(text)
        for number, (text, _standing) in rows.items()
        if number in cards and cards[number].is_injectable
    ]
    return [*_find_lost_files(active, top, diff), *_find_turned(active, top, diff)]


def _find_lost_files(active: Sequence[Claims], top: str, diff: Diff) -> Iterator[Effect]:
    renames = map(_RENAME.search, _list_heads(diff))
    moves = {match[1]: match[2] for match in renames if match}
    tracked = decode(Repository(top).ask("ls-files", "-z")).split("\0")
    deleted = _list_deleted(diff)
    removed = deleted | moves.keys()
    if not removed:
        return
    after = (set(tracked) | set(moves.values())) - removed
    for claims in active:
        anchors = [one for one in claims.anchors if one.is_core and one.kind in (GLOB, FILE)]
        matchers = [_match(anchor) for anchor in anchors]
        lost = sorted(path for path in removed if any(match(path) for match in matchers))
        if not lost or any(match(path) for match in matchers for path in after):
            continue
        if any(path in deleted for path in lost):
            yield Effect(
                card=claims.path,
                rule=LOST_FILE,
                message=f"this change leaves lesson {claims.path} without its file: {lost[0]}",
                fix="correct or archive the lesson with this change",
            )
        else:
            yield Effect(
                card=claims.path,
                rule=MOVED_FILE,
                message=f"this change moves the file of lesson {claims.path}: {lost[0]} to "
                f"{moves[lost[0]]}",
                fix="once it is committed, run `lessons lint --fix`",
                level="info",
            )


def _list_heads(diff: Diff) -> list[str]:
    """Return the head of each file in the diff, which precedes the first change of its lines."""
    return [part.partition("\n@@")[0] for part in _FILE.split(diff.text)]


def _list_deleted(diff: Diff) -> set[str]:
    """Return the files that a change deletes."""
    headings = {f"diff --git a/{name} b/{name}": name for name in diff.files}
    heads = [head for head in _list_heads(diff) if _DELETED in head]
    names = [headings.get(head.partition("\n")[0]) for head in heads]
    return {name for name in names if name is not None}


def _match(anchor: Anchor) -> Callable[[str], bool]:
    if anchor.kind == FILE:
        return lambda path: path == anchor.name or path.endswith(f"/{anchor.name}")
    try:
        globs = compile_globs([anchor.name])
    except InputError:  # `lint` reports it
        return lambda _path: False
    return lambda path: match_globs(globs, path)


def _find_turned(active: Sequence[Claims], top: str, diff: Diff) -> Iterator[Effect]:
    """Yield the conditions that an upgrade or a downgrade makes true or false."""
    conditional = [claims for claims in active if claims.when]
    if not conditional or not set(MANIFESTS).intersection(diff.files):
        return
    conditions = load(FRESHNESS_CONDITIONS)
    before = conditions.read_uses(lambda name: _read_version(top, diff, name, is_before=True))
    after = conditions.read_uses(lambda name: _read_version(top, diff, name, is_before=False))
    for claims in conditional:
        for condition in list_conditions(claims.when):
            was = conditions.decide(condition, before)
            becomes = conditions.decide(condition, after)
            if was.truth == becomes.truth:
                continue
            state = becomes.truth.value
            result = {"true": "is given", "false": "falls silent"}.get(
                state, "is given with a note"
            )
            yield Effect(
                card=claims.path,
                rule=TURNED,
                message=f"{becomes} with this change, so that the condition becomes {state} and "
                f"lesson {claims.path} {result}",
                fix="correct `when` if this is not meant",
                level="info",
            )


def _read_version(top: str, diff: Diff, name: str, *, is_before: bool) -> str | None:
    """Return the text of a manifest before or after a change, or None if there is no manifest."""
    if name not in diff.files:
        return read_manifest(top, name)
    heading = f"diff --git a/{name} b/{name}\n"
    heads = [head for head in _list_heads(diff) if head.startswith(heading)]
    blobs = _BLOBS.search(heads[0]) if heads else None
    if blobs is None:
        return read_manifest(top, name)
    blob = blobs[1] if is_before else blobs[2]
    if _NO_BLOB.fullmatch(blob):
        return None
    try:
        return decode(Repository(top).ask("cat-file", "blob", blob))
    except GitError:  # the working tree, which git has not stored
        return read_manifest(top, name)
