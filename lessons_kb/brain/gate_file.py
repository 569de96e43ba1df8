"""The small file from which the hook's second stage decides gates: compiled with the index.

It lies in the user's state folder, never in the brain, and is there for a trusted brain alone.
It names what it was compiled from (the folder's identity, the signature of its settings and of
each card), so that a file that is out of step refuses nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any

from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.detect.matcher import find_words
from lessons_kb.hook_gates import (
    FORMAT,
    MAX_GATE_BYTES,
    MAX_ITEMS,
    find_word,
    is_simple,
    list_times,
)
from lessons_kb.model import Card, Pattern
from lessons_kb.store.catalogue import Catalogue, State
from lessons_kb.store.gate_files import remove_gate_file, write_gate_file
from lessons_kb.store.gate_seal import seal
from lessons_kb.store.identity import identify
from lessons_kb.store.locations import user_brain
from lessons_kb.store.scan import find_card_folders, parse_manifest, settings_signature
from lessons_kb.store.trust import is_trusted
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import defang_line

_MAX_BODY_BYTES = MAX_GATE_BYTES - 1_000
"""Of the gates without the seal of their file."""
_MAX_TITLE, _MAX_WHY, _MAX_ITEM = 160, 300, 200


def bring_into_step(root: str, catalogue: Catalogue, state: State) -> None:
    """Write the gate file of a brain after a commit of its index.

    A brain without a gate, and one that is not trusted, has none.
    """
    if not state.gates or not is_trusted(root):
        remove_gate_file(root)
        return
    gates = compile_gates(root, catalogue, state)
    data = _encode(gates)
    if len(data) > _MAX_BODY_BYTES:
        gates["cards"] = [{**card, "why": "", "items": []} for card in gates["cards"]]
        data = _encode(gates)
    if len(data) > _MAX_BODY_BYTES:  # then the second stage says that it did not check
        data = _encode({**gates, "cards": [], "whole": False})
    write_gate_file(root, seal(root, state, data))


def _encode(gates: dict[str, Any]) -> bytes:
    return json.dumps(gates, ensure_ascii=False).encode("utf-8", "replace")


def compile_gates(root: str, catalogue: Catalogue, state: State) -> dict[str, Any]:
    """Return what the second stage has to know of a brain's gates."""
    info, found = os.stat(root), identify(root)
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
        # Marked in git's own directory: then it holds in the whole work tree.
        "marked": os.path.basename(os.path.dirname(found.mark)) == "lessons-kb",
        "own": root == os.path.realpath(user_brain()),
        "cards": cards,
        "whole": True,
    }


def _compile_card(card: Card, signature: str) -> dict[str, Any]:
    paths = (*card.paths, *card.standing.follows)
    return {
        "id": card.id,
        "title": defang_line(card.title)[:_MAX_TITLE],
        "why": defang_line(card.why)[:_MAX_WHY],
        "items": [defang_line(item)[:_MAX_ITEM] for item in card.checklist[:MAX_ITEMS]],
        "gate": card.gate,
        "project": card.project,
        # A racily clean file is marked so in the manifest: its times tell nothing yet.
        "signature": signature.rstrip("!"),
        "until": card.waits_from,
        "globs": compile_globs(paths),
        "folders": _find_folders(paths),
        "anywhere": any(_begins_anywhere(glob) for glob in paths),
        "patterns": [_compile_pattern(one) for one in card.detect if one.kind != "error"],
        "shown_by": [
            {"text": one, "simple": is_simple(one)} if one else {} for one in card.shown_by
        ],
    }


def _find_folders(globs: Sequence[str]) -> list[str]:
    """Return the names of all folders that stand in globs: a command may remove one of them."""
    words = (word for glob in globs for word in re.split(r"[/{},]", glob))
    return sorted({word for word in words if word and not _WILDCARD.search(word)})


def _begins_anywhere(glob: str) -> bool:
    """Return whether a glob stands for files below folders that it does not name."""
    folders = glob.removeprefix("!").removeprefix("./").lstrip("/").split("/")[:-1]
    return not folders or any(_WILDCARD.search(folder) for folder in folders)


_WILDCARD = re.compile(r"[*?\[\]{}\\!]")


def _compile_pattern(pattern: Pattern) -> dict[str, Any]:
    if pattern.kind == "ast":
        words, simple = list(find_words(pattern)[:1]), False
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
