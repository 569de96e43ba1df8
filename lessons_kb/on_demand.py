"""A table of the modules that are imported by name only when they are needed, with the reasons.

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
MATCH_PATTERNS = "lessons_kb.detect.matcher"
"""Compiles the patterns of cards for changes and commands. Lists and searches do not need it."""
JUDGE_EFFECT = "lessons_kb.ledger.lesson_effect"
"""Judges whether a card helps. A card that was never given cannot be judged."""
CARD_FILES = "lessons_kb.store.card_files"
"""Reads and writes the files of cards, and the trash. A search reads only the index."""
PACK_LESSONS = "lessons_kb.preflight.block"
"""Packs lessons into a block. Most events of an agent need no block."""
RENDER = "lessons_kb.render"
"""Renders a post-check in words. Few events have a post-check."""
TITLES = "lessons_kb.find.titles"
"""Lists the titles of a brain. Only the start of a session needs it."""
PROGRAMS = "lessons_kb.process.programs"
"""Starts `lessons index`. Only a brain that a hook has no time to index needs it."""
PACK_ALL = "lessons_kb.session.all_cards"
"""Packs all cards into a block. Only a trial of moments needs it."""
READ_COMPACTIONS = "lessons_kb.session.compact"
"""Finds compactions in an agent's record. Only agents without a hook for compactions need it."""
FIND_LESSONS = "lessons_kb.find.search"
"""Searches the cards. A draft needs it only for a prompt that says that something broke again."""
TRASH = "lessons_kb.store.trash"
"""Lists deleted cards. A name is searched among them only if no card has this name."""
ROWS = "lessons_kb.tui.rows"
"""Builds rows of cards for a full screen. `show` and `edit` need it only without an ID."""
HASHES = "hashlib"
"""Computes hashes, and loads OpenSSL (3 MB). A search computes no hashes."""
KEYED_HASHES = "hmac"
"""Computes which lessons are withheld. Only users who withhold lessons need it."""
FIND_SIMILAR = "difflib"
"""Finds the name that the user probably meant, for the message about an unknown name."""
PATHS = "pathlib"
"""Builds the URL of a file. Only a database that cannot be opened normally needs it."""
C_LIBRARY = "ctypes"
"""Calls system functions that Python lacks, to exchange two files and to watch a folder."""
ENTITIES = "html"
"""Decodes the named characters of HTML. Few texts contain any."""
REGULAR_EXPRESSIONS = "re2"
"""RE2 (3 MB). It is imported with the first pattern or glob; a brain without either does not need
it."""
READ_ORIGINS = "lessons_kb.cards.read_header"
"""Reads the origin of an imported card. Only a block with notes needs it."""
SEMANTIC_EXTRA = "lessons_kb.search.semantic_extra"
"""Looks for installed packages. A hook in a separate process searches only by words."""
CARDS_AT_HAND = "lessons_kb.find.at_hand"
"""Asks git which files changed. It is needed only if a list of titles is too long."""
BROAD_PATHS = "lessons_kb.find.broad_paths"
"""Counts the files of a project. `add` needs it only after it has written a card with ``paths``."""
LIST_TREE = "lessons_kb.find.project_detection"
"""Lists the files of a project. A hook before a call does not need them."""
EDIT_CARDS = "lessons_kb.collection.card_edits"
"""Edits the header of a card. `why` needs it only to add a prompt to a card."""
EXPORT_RULES = "lessons_kb.cli.export_rules"
"""Writes cards as rules. `export` needs it only for rules, and `install` only with --skill."""
MINE_MEMORIES = "lessons_kb.cli.mine_memories"
"""Compares agents' memories with the cards. `mine` needs it only with --memories."""
WRITE_CLOUD_SETUP = "lessons_kb.cli.cloud_setup"
"""Writes the setup of a cloud environment. `install` needs it only with --cloud."""
PIN_CARDS = "lessons_kb.cli.pin_cards"
"""Copies cards of a clone that an environment variable vouches for. Only the containers of cloud
agents need it."""
OKF_BUNDLE = "lessons_kb.collection.okf_bundle"
"""Writes and reads bundles of the Open Knowledge Format. It imports PyYAML."""
ORIGIN = "lessons_kb.collection.origin"
"""Describes the sources of a card. `show` needs it only for a card with sources."""
CARD_ORIGIN = "lessons_kb.cli.card_origin"
"""Traces a card to its sources. `why` needs it only with a single word, which may name a card."""
READ_DIFF = "lessons_kb.outcome.post_check"
"""Reads a change from git. `preflight` needs it only with --diff."""
FIND_CONFLICTS = "lessons_kb.cards.conflicts"
"""Compares the demands of cards with tables of opposed words. It is needed only after a card was
written."""
NEAREST_CARDS = "lessons_kb.find.nearest"
"""Finds the cards that may contradict a card. `add` needs it only with --draft and --json."""
COMPARE_CARDS = "lessons_kb.cli.compare_cards"
"""Lets an agent compare cards. `lint` and `add` need it only with --with, or to confirm a verdict.
"""
FIND_RIVALS = "lessons_kb.collection.contradictions"
"""Looks for contradictions of a card. It is needed only before a card is written."""
DECIDE_CONDITIONS = "lessons_kb.freshness.conditions"
"""Compares versions, for which it imports two libraries (100 ms). Few cards have a condition."""
JUDGE_CARDS = "lessons_kb.freshness.refresh"
"""Compares the cards with the history of their project. It is needed only if either has changed."""
REVIEW_DRAFTS = "lessons_kb.cli.review_drafts"
"""Shows, accepts and merges drafts. `review` does not need it if there are no drafts."""
START_SCREEN = "lessons_kb.cli.start_screen"
"""Shows the state of a brain. Only `lessons` without a command needs it."""
COMPLETE_IDS = "lessons_kb.cli.complete_ids"
"""Lists the ids of cards. Only a shell that completes a command line needs it."""
SESSION_COSTS = "lessons_kb.cli.session_costs"
"""Reads the records of agents. `stats` needs it only with --cost."""
PICK_CARD = "lessons_kb.cli.pick_card"
"""Lets the user choose a card. `show` and `edit` need it only without an ID."""
PROPOSE_DRAFT = "lessons_kb.collection.drafts"
"""Writes a draft. `add` needs it only with --draft."""
SERVE_HOOKS = "lessons_kb.service.daemon"
"""Runs the daemon. `daemon run` needs it; `daemon status` only sends a request to the daemon."""
READ_TOML = "tomllib"
"""Reads data files with tables. The pages of help need only lists of words."""
ENGINES = {
    "tantivy": ("lessons_kb.search.tantivy_engine", "TantivyEngine"),
    "rank-bm25": ("lessons_kb.search.rank_bm25_engine", "RankBM25Engine"),
}
"""A mapping from the name of each engine to its module and class. A command that does not search
opens no engine."""


def load(module: str) -> Any:
    """Import a module of this table and return it."""
    return import_module(module)
