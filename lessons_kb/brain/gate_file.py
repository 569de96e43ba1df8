"""Compile the gate file, from which the second stage of a hook decides gates without an index.

The file is in the user's state folder, never in the brain, and only trusted brains have one. It
contains the identity of the folder, and the signatures of its settings and of each card. Therefore,
an outdated file refuses nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any

from lessons_kb.brain.simple_patterns import find_word, is_simple
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.detect.matcher import find_words
from lessons_kb.errors import InputError
from lessons_kb.hook_gates import (
    FORMAT,
    MAX_GATE_BYTES,
    MAX_ITEMS,
    list_times,
)
from lessons_kb.model import STRICT_GATE, Card, Pattern
from lessons_kb.store.catalogue import Catalogue, State
from lessons_kb.store.gate_files import remove_gate_file, write_gate_file
from lessons_kb.store.gate_seal import seal
from lessons_kb.store.identity import identify
from lessons_kb.store.locations import user_brain
from lessons_kb.store.scan import find_card_folders, parse_manifest, settings_signature
from lessons_kb.store.trust import is_trusted
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import defang_line, shorten_at_word

_MAX_BODY_BYTES = MAX_GATE_BYTES - 1_000
"""The maximum number of bytes of the gates, without the seal of the file."""
_MAX_TITLE, _MAX_WHY, _MAX_ITEM = 160, 300, 200
"""In characters."""


def update_gate_file(root: str, catalogue: Catalogue, state: State) -> None:
    """Write the gate file of a brain after a commit of its index.

    If the brain has no gate or is not trusted, the file is removed.
    """
    if not state.gates or not is_trusted(root):
        remove_gate_file(root)
        return
    gates = compile_gates(root, catalogue, state)
    data = _encode(gates)
    if len(data) > _MAX_BODY_BYTES:
        gates["cards"] = [{**card, "why": "", "items": []} for card in gates["cards"]]
        data = _encode(gates)
    if len(data) > _MAX_BODY_BYTES:  # the second stage then reports that it did not check
        data = _encode({**gates, "cards": [], "whole": False})
    write_gate_file(root, seal(root, state, data))


def _encode(gates: dict[str, Any]) -> bytes:
    return json.dumps(gates, ensure_ascii=False).encode("utf-8", "replace")


def compile_gates(root: str, catalogue: Catalogue, state: State) -> dict[str, Any]:
    """Return the content of the gate file, as JSON data."""
    info = os.stat(root)
    identity = identify(root)
    card_folders = find_card_folders(state)
    signatures = parse_manifest(state.manifest)
    cards = [_compile_card(card, signatures.get(card.id, "")) for card in catalogue.gated_cards()]
    return {
        "format": FORMAT,
        "root": root,
        "identity": [info.st_dev, info.st_ino],
        "settings": settings_signature(root),
        "folders": sorted({*KNOWN_FOLDERS, *state.settings.get("folders", {})}),
        "card_folders": list(card_folders),
        "listing": list_times(root, card_folders),
        "project": state.settings.get("project"),
        # A brain that is marked in git's own directory applies to the whole work tree.
        "marked": os.path.basename(os.path.dirname(identity.mark)) == "lessons-kb",
        "own": root == os.path.realpath(user_brain()),
        "cards": cards,
        "whole": True,
    }


def _read_paths(card: Card) -> tuple[str, ...]:
    """Return the globs that the card guards, or no globs if one is invalid, as in the index."""
    try:
        compile_globs(card.paths)  # raises InputError for an invalid glob
    except InputError:
        return ()
    return card.paths


def _compile_card(card: Card, signature: str) -> dict[str, Any]:
    paths = (*_read_paths(card), *card.standing.follows)
    strict = {"paths": list(paths)} if card.gate == STRICT_GATE else {}
    return strict | {
        "id": card.id,
        "title": shorten_at_word(defang_line(card.title), _MAX_TITLE),
        "why": shorten_at_word(defang_line(card.why), _MAX_WHY),
        "items": [
            shorten_at_word(defang_line(item), _MAX_ITEM) for item in card.checklist[:MAX_ITEMS]
        ],
        "gate": card.gate,
        "project": card.project,
        # "!" marks a file that changed just before it was read, so that its times prove nothing.
        "signature": signature.rstrip("!"),
        "until": card.waits_from,
        "globs": compile_globs(paths),
        "folders": _find_folders(paths),
        "anywhere": any(_begins_anywhere(glob) for glob in paths),
        "patterns": [
            _compile_pattern(pattern) for pattern in card.detect if pattern.kind != "error"
        ],
        "shown_by": [_compile_shown_by(text) for text in card.shown_by],
    }


def _compile_shown_by(text: str) -> dict[str, Any]:
    return {"text": text, "simple": is_simple(text)} if text else {}


def _find_folders(globs: Sequence[str]) -> list[str]:
    """Return the folder names in globs, sorted, because a command may remove such a folder."""
    names: set[str] = set()
    for glob in globs:
        names.update(word for word in re.split(r"[/{},]", glob) if not _WILDCARD.search(word))
    return sorted(names - {""})


def _begins_anywhere(glob: str) -> bool:
    """Return whether a glob matches files in folders that it does not name."""
    folders = glob.removeprefix("!").removeprefix("./").lstrip("/").split("/")[:-1]
    return not folders or any(_WILDCARD.search(folder) for folder in folders)


_WILDCARD = re.compile(r"[*?\[\]{}\\!]")


def _compile_pattern(pattern: Pattern) -> dict[str, Any]:
    if pattern.kind == "ast":
        words = list(find_words(pattern)[:1])
        simple = False
    else:
        word = find_word(pattern.text)
        words = [word] if word else []
        simple = is_simple(pattern.text) and (not pattern.unless or is_simple(pattern.unless))
    return {
        "kind": pattern.kind,
        "text": pattern.text,
        "unless": pattern.unless,
        "files": compile_globs(pattern.files),
        "words": words,
        "simple": simple,
    }
