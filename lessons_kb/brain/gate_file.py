"""The small file from which the hook's second stage decides gates: compiled with the index.

It lies in the user's state folder, never in the brain, and is there for a trusted brain alone.
It names what it was compiled from (the folder's identity, the signature of its settings and of
each card), so that a file that is out of step refuses nothing.
"""

from __future__ import annotations

import json
import os
from typing import Any

from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.detect.matcher import find_words
from lessons_kb.hook_gates import FORMAT, MAX_FILE_BYTES, MAX_ITEMS, find_word, is_simple
from lessons_kb.model import Card, Pattern
from lessons_kb.store.catalogue import Catalogue, State
from lessons_kb.store.gate_files import remove_gate_file, write_gate_file
from lessons_kb.store.identity import identify
from lessons_kb.store.locations import user_brain
from lessons_kb.store.scan import parse_manifest, settings_signature
from lessons_kb.store.trust import is_trusted
from lessons_kb.text.patterns import compile_globs
from lessons_kb.text.sanitize import defang_line

_MAX_TITLE, _MAX_WHY, _MAX_ITEM = 160, 300, 200


def bring_into_step(root: str, catalogue: Catalogue, state: State) -> None:
    """Write the gate file of a brain after a commit of its index.

    A brain without a gate, and one that is not trusted, has none.
    """
    if not state.gates or not is_trusted(root):
        remove_gate_file(root)
        return
    text = json.dumps(compile_gates(root, catalogue, state), ensure_ascii=False)
    data = text.encode("utf-8", "replace")
    if len(data) < MAX_FILE_BYTES:
        write_gate_file(root, data)
    else:
        remove_gate_file(root)


def compile_gates(root: str, catalogue: Catalogue, state: State) -> dict[str, Any]:
    """Return what the second stage has to know of a brain's gates."""
    info, found = os.stat(root), identify(root)
    signatures = parse_manifest(state.manifest)
    cards = [_compile_card(card, signatures.get(card.id, "")) for card in catalogue.gated_cards()]
    return {
        "format": FORMAT,
        "root": root,
        "identity": [info.st_dev, info.st_ino],
        "settings": settings_signature(root),
        "folders": sorted({*KNOWN_FOLDERS, *state.settings.get("folders", {})}),
        "project": state.settings.get("project"),
        # Marked in git's own directory: then it holds in the whole work tree.
        "marked": os.path.basename(os.path.dirname(found.mark)) == "lessons-kb",
        "own": root == os.path.realpath(user_brain()),
        "cards": cards,
    }


def _compile_card(card: Card, signature: str) -> dict[str, Any]:
    return {
        "id": card.id,
        "title": defang_line(card.title)[:_MAX_TITLE],
        "why": defang_line(card.why)[:_MAX_WHY],
        "items": [defang_line(item)[:_MAX_ITEM] for item in card.checklist[:MAX_ITEMS]],
        "gate": card.gate,
        "project": card.project,
        # A racily clean file is marked so in the manifest: its times tell nothing yet.
        "signature": signature.rstrip("!"),
        "globs": compile_globs(card.paths),
        "patterns": [_compile_pattern(one) for one in card.detect if one.kind != "error"],
        "shown_by": [
            {"text": one, "simple": is_simple(one)} if one else {} for one in card.shown_by
        ],
    }


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
