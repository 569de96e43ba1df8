"""Table of the modules that are imported by name only when they are needed, with the reasons.

Commands that rarely need such a module would otherwise import it every time. A module that is
always needed is imported at the top of the file that uses it. Commands themselves are imported by
``lessons_kb.cli.main``.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

READ_CARDS = "lessons_kb.brain.search_index"
"""Reads changed files, with the parser of cards, the matcher and base rates. For most commands no
file has changed."""
CARD_KEYS = "lessons_kb.cards.keys"
"""The keys of a card's header. `config --schema` prints them; `config` alone does not need them."""
GATE_FILE = "lessons_kb.brain.gate_file"
"""Writes a missing gate file. Few brains have gates."""
FIND_CONFLICTS = "lessons_kb.cards.conflicts"
"""Compares two cards that a block would hold together: most blocks hold one."""
MATCH_PATTERNS = "lessons_kb.detect.matcher"
"""Compiles the patterns of cards, for changes and commands. Lists and searches do not need it."""
JUDGE_EFFECT = "lessons_kb.ledger.lesson_effect"
"""Judges whether a card helps: of a card that was never given there is nothing to judge."""
CARD_FILES = "lessons_kb.store.card_files"
"""Reads and writes files of cards, and the trash: a search reads the index."""
PACK_LESSONS = "lessons_kb.preflight.block"
"""Packs lessons into a block. Most events of an agent bring none."""
RENDER = "lessons_kb.render"
"""The words for a post-check. Few events have one."""
TITLES = "lessons_kb.find.titles"
"""Lists the titles of a brain, at the start of a session."""
PROGRAMS = "lessons_kb.process.programs"
"""Starts `lessons index` for a brain that a hook has no time to index."""
READ_COMPACTIONS = "lessons_kb.session.compact"
"""Finds compactions in an agent's record, for agents that fire no hook for them."""
TRASH = "lessons_kb.store.trash"
"""Deleted cards: a name is looked for there if no card has it."""
HASHES = "hashlib"
"""Loads OpenSSL (3 MB). A search hashes nothing."""
KEYED_HASHES = "hmac"
"""Decides which lessons are withheld, for a user who wants that."""
FIND_SIMILAR = "difflib"
"""Finds the name that was meant, for the message about an unknown one."""
PATHS = "pathlib"
"""Writes the address of a file, for a database that cannot be opened."""
C_LIBRARY = "ctypes"
"""Calls what Python has no function for, to exchange two files and to watch a folder."""
ENTITIES = "html"
"""The names of HTML's characters: few texts hold any."""
REGULAR_EXPRESSIONS = "re2"
"""RE2 (3 MB), imported with the first pattern or glob. A brain without either does not need it."""
READ_ORIGINS = "lessons_kb.cards.read_header"
"""Reads the origin of an imported card. Only a block with notes needs it."""
SEMANTIC_EXTRA = "lessons_kb.search.semantic_extra"
"""Looks for installed packages. A hook in a process of its own searches words only."""
CARDS_AT_HAND = "lessons_kb.find.at_hand"
"""Asks git which files changed. Only a list of titles that does not fit has to choose."""
EDIT_CARDS = "lessons_kb.collection.card_edits"
"""Edits the header of a card. `why` needs it only to add a prompt to a card."""
EXPORT_RULES = "lessons_kb.cli.export_rules"
"""Writes cards as rules. `export` needs it only for them, `install` only with --skill."""
WRITE_CLOUD_SETUP = "lessons_kb.cli.cloud_setup"
"""Writes the setup of a cloud environment. `install` needs it only with --cloud."""
PIN_CARDS = "lessons_kb.cli.pin_cards"
"""Copies cards of a clone that a variable vouches for: only in the containers of cloud agents."""
OKF_BUNDLE = "lessons_kb.collection.okf_bundle"
"""Writes and reads bundles of the Open Knowledge Format, with PyYAML."""
ORIGIN = "lessons_kb.collection.origin"
"""Describes the sources of a card. `show` needs it only for a card that has some."""
CARD_ORIGIN = "lessons_kb.cli.card_origin"
"""Traces a card to its sources. `why` needs it only with one word, which may name a card."""
READ_DIFF = "lessons_kb.outcome.post_check"
"""Reads a change from git. `preflight` needs it only with --diff."""
JUDGE_CARDS = "lessons_kb.freshness.refresh"
"""Compares the cards with the history of their project: only where either has changed."""
REVIEW_DRAFTS = "lessons_kb.cli.review_drafts"
"""Shows, accepts and merges drafts. `review` does not need it if there are no drafts."""
START_SCREEN = "lessons_kb.cli.start_screen"
"""The state of a brain, which `lessons` prints without a command."""
COMPLETE_IDS = "lessons_kb.cli.complete_ids"
"""Lists the ids of cards: only a shell that completes a command line needs them."""
PROPOSE_DRAFT = "lessons_kb.collection.drafts"
"""Writes a draft. `add` needs it only with --draft."""
SERVE_HOOKS = "lessons_kb.service.daemon"
"""The daemon. `daemon run` needs it; `daemon status` only sends it a request."""
READ_TOML = "tomllib"
"""Reads tables that are kept as data: the pages of help need lists of words alone."""
ENGINES = {
    "tantivy": ("lessons_kb.search.tantivy_engine", "TantivyEngine"),
    "rank-bm25": ("lessons_kb.search.rank_bm25_engine", "RankBM25Engine"),
}
"""Name of an engine → its module and class. A command that does not search opens no engine."""


def load(module: str) -> Any:
    """Import a module of this table and return it."""
    return import_module(module)
