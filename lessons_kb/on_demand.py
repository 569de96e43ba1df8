"""Modules that are loaded by name once their work is due, and why: all such imports but commands.

Each stands on the way of commands that rarely need it. What always runs is imported at the top of
the module that uses it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

READ_CARDS = "lessons_kb.brain.search_index"
"""Reads changed files: the parser of cards, the matcher, base rates. Most commands find none."""
CARD_KEYS = "lessons_kb.cards.keys"
"""The keys of a card's header: `config --schema` prints them, `config` alone needs none."""
GATE_FILE = "lessons_kb.brain.gate_file"
"""Writes the file of gates anew where it is missing: few brains have gates."""
MATCH_PATTERNS = "lessons_kb.detect.matcher"
"""Compiles the patterns of cards: for changes and commands, not for lists and searches."""
REGULAR_EXPRESSIONS = "re2"
"""RE2, loaded with the first pattern or glob: a brain without either needs none (3 MB)."""
READ_ORIGINS = "lessons_kb.cards.read_header"
"""Reads what a card was imported from: only a block with notes asks."""
CARDS_AT_HAND = "lessons_kb.find.at_hand"
"""Asks git which files changed: only a list of titles that does not fit has to choose."""
EDIT_CARDS = "lessons_kb.collection.card_edits"
"""Edits the header of a card: `why` explains, and teaches a card only if it is told to."""
READ_DIFF = "lessons_kb.outcome.post_check"
"""Reads a change by git: `preflight` does so with --diff alone."""
REVIEW_DRAFTS = "lessons_kb.cli.review_drafts"
"""Shows, accepts and merges drafts: `review` without any draft says so and ends."""
SERVE_HOOKS = "lessons_kb.service.daemon"
"""The daemon itself: `daemon run` is it, `daemon status` asks it."""
ENGINES = {
    "tantivy": ("lessons_kb.search.tantivy_engine", "TantivyEngine"),
    "rank-bm25": ("lessons_kb.search.rank_bm25_engine", "RankBM25Engine"),
}
"""Engine of an index → its module and class: a command that searches nothing opens none."""


def load(module: str) -> Any:
    """Return a module of this table."""
    return import_module(module)
