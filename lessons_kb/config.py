"""``lessons.toml`` as one frozen value: every setting, its default, and the line that sets it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from lessons_kb.errors import ConfigError
from lessons_kb.model import KINDS, as_data
from lessons_kb.on_demand import FIND_SIMILAR, READ_TOML, load
from lessons_kb.values import field, frozen, is_value, list_defaults

KNOWN_FOLDERS: Mapping[str, str] = {
    "docs/solutions": "lesson",
    "learnings": "lesson",
    ".ai/lessons": "lesson",
    "lessons": "lesson",
    "playbooks": "playbook",
    "qa-findings": "qa-finding",
}
"""A mapping from a folder that repositories often use for cards to the kind of these cards.

These folders need no settings.
"""


@frozen
class Ranking:
    """``[ranking]``: field weights and the factors that multiply BM25."""

    title: float = 0.6
    tags: float = 0.6
    symptoms: float = 0.5
    checklist: float = 0.1
    situation: float = 0.2
    body: float = 1.0
    occurrence: float = 0.05
    """The amount that each doubling of ``occurrences`` adds to the factor 1."""
    severity_low: float = 0.9
    severity_medium: float = 1.0
    severity_high: float = 1.1
    curated: float = 1.0
    auto: float = 0.8
    evidenced: float = 1.0
    anecdotal: float = 0.8
    disputed: float = 0.6
    same_project: float = 1.1
    same_stage: float = 1.1
    path_match: float = 1.5
    max_terms: int = 32
    """A longer query is reduced to this number of its most distinctive terms."""


@frozen
class Gate:
    """``[gate]``: the confidence that a card needs before an agent sees it."""

    min_confidence: float = 0.5
    """The minimum confidence of a lesson in the block. With 0 every lesson passes, with 1 none. The
    value 0.5 is replaced by a threshold that is stored with the index."""
    offer_confidence: float = 0.15
    """The minimum confidence for an offer by title. The value 0.15 is replaced by a threshold that
    is stored with the index: the confidence that a tenth of unrelated prompts reach."""


@frozen
class PreflightSettings:
    """``[preflight]``: the size and shape of the block."""

    budget: int = 3200
    """The maximum number of tokens in the whole block."""
    lesson_share: float = 0.25
    """The share of the budget for lessons if there are also notes. Without notes, lessons get the
    whole budget."""
    max_lessons: int = 2
    weakest: float = 0.15
    """A lesson is left out if its odds are below this fraction of the best lesson's odds."""
    context: bool = True
    max_notes: int = 2
    reinject_after: int = 12
    """The number of turns after which a lesson may be given again in the same session."""
    model_context: int = 0
    """The size of the model's context window in tokens; 0 means a large window. A budget is at most
    a twentieth of it."""


@frozen
class Index:
    """``[index]``: which files are read, and which engine searches them."""

    engine: str = "tantivy"
    collection: str = ""
    """The name of the collection that ``lessons sync`` writes in a cluster."""
    max_files: int = 50_000
    """The maximum number of files. A hook without a daemon scans the default number in half a
    second; see docs/figures.md."""
    max_file_bytes: int = 1_000_000


@frozen
class Semantic:
    """``[semantic]``: semantic similarity in addition to words, where the extra is installed."""

    enabled: bool = True
    """Without the extra, this setting has no effect. ``LESSONS_SEMANTIC=0`` turns semantic search
    off for a process."""
    model: str = ""
    """A folder (relative to the brain), or a name in the local Hugging Face cache; by default the
    model that comes with the extra."""


@frozen
class HookSettings:
    """``[hooks]``: what hooks do inside a coding agent."""

    context: bool = False
    """Whether excerpts of notes are added to the lessons."""
    footer: bool = True
    """Whether the user sees one line with the names of the lessons that were given."""
    catalogue_tokens: int = 1500
    """The maximum number of tokens for card titles at the start of a session; 0 means no titles. Up
    to 60 titles take at most 950 tokens, and up to 100 titles always fit into 1,500."""
    catalogue_file_tokens: int = 8000
    """The maximum number of tokens in the file that lists the titles of a larger brain; 0 means
    that there is no such file."""
    offers: bool = True
    """Whether lessons that may concern a prompt are offered by title; the agent can open them."""
    draft_line: bool = True
    """Whether the agent sees, once and in one line, the draft with the evidence of a mistake that
    it made."""
    during_turn: bool = True
    """Whether lessons are also given during a turn: for the next change, or for a failure."""
    close: bool = False
    """Whether the block asks for a closing line, such as ``Lessons: L1.1 done src/a.py:41; L1.2
    n/a; L1.3 left``, which is then compared with the evidence."""
    daemon: bool = True
    """Whether the daemon answers."""


@frozen
class JournalSettings:
    """``[journal]``: the record of sessions."""

    retention_days: int = 90
    """The age in days at which events are deleted. The daily counts of each card stay."""


@frozen
class TrashSettings:
    """``[trash]``: how long deleted cards can be restored."""

    retention_days: int = 180
    """Cards that were deleted earlier than this are removed permanently."""
    max_bytes: int = 100_000_000
    """The maximum size of the trash. Beyond it, the oldest cards are removed. The newest card
    stays, whatever its size."""


@frozen
class Triggers:
    """``[triggers]``: phrases of a user that call for a draft of a lesson."""

    patterns: tuple[str, ...] = ()
    """RE2 regular expressions in addition to the built-in ones; see
    ``lessons_kb.text.patterns``."""


@frozen
class Learn:
    """``[learn]``: the number of lessons from triggers, and the age at which cards are stale."""

    max_auto_cards: int = 50
    """The maximum number of active cards with ``source: auto``. Further drafts remain drafts until
    some of these cards are archived."""
    stale_days: int = 180
    """A card that was seen once and not used for this number of days may be archived."""


@frozen
class EffectSettings:
    """``[effect]``: the consequences of a lesson's measured effect."""

    withhold_harmful: bool = False
    """Whether cards whose verdict is ``harms`` are not given; `lessons stats` names them."""


@frozen
class Settings:
    """Effective settings of one brain."""

    project: str = ""
    """The name of the project; "" means the name of git's top-level folder."""
    brain: str = ""
    """The folder that is the brain, below the folder with this file; "" means this folder."""
    language: str = "en"
    notes: bool = True
    """Whether Markdown files that are not cards are read as searchable context. It is false if
    `lessons init` found such files in the folder."""
    folders: dict[str, str] = field(default_factory=lambda: dict(KNOWN_FOLDERS))
    """A mapping from each folder to the kind of its cards, including KNOWN_FOLDERS."""
    index: Index = Index()
    ranking: Ranking = Ranking()
    gate: Gate = Gate()
    semantic: Semantic = Semantic()
    preflight: PreflightSettings = PreflightSettings()
    hooks: HookSettings = HookSettings()
    journal: JournalSettings = JournalSettings()
    trash: TrashSettings = TrashSettings()
    triggers: Triggers = Triggers()
    learn: Learn = Learn()
    effect: EffectSettings = EffectSettings()


DEFAULTS = Settings()
SECTIONS: Mapping[str, type[Any]] = {
    name: type(default) for name, default in list_defaults(Settings).items() if is_value(default)
}
"""A mapping from the name of each table in ``lessons.toml`` to its class."""
USERS_OWN = (
    *("check.command", "check.seconds", "writer.command", "writer.seconds"),
    *("effect.withhold", "effect.withhold_high"),
)
"""Keys that only the user's own settings may have.

A brain is other people's data. It must not make lessons_kb run a command, or decide which lessons
are withheld.
"""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "language": ("en", "ko"),
    "index.engine": ("tantivy", "rank-bm25", "qdrant"),
}
RANGES: Mapping[str, tuple[float, float]] = {
    "gate.min_confidence": (0, 1),
    "gate.offer_confidence": (0, 1),
    "preflight.lesson_share": (0, 1),
    "preflight.weakest": (0, 1),
    "preflight.budget": (0, 1_000_000),
    "preflight.max_lessons": (0, 100),
    "preflight.max_notes": (0, 100),
    "preflight.reinject_after": (0, 1_000_000),
    "preflight.model_context": (0, 100_000_000),
    "hooks.catalogue_tokens": (0, 8_000),
    "hooks.catalogue_file_tokens": (0, 25_000),
    "ranking.max_terms": (1, 1_000),
    "index.max_files": (1, 10_000_000),
    "index.max_file_bytes": (1, 100_000_000),
    "journal.retention_days": (1, 36_500),
    "trash.retention_days": (1, 36_500),
    "trash.max_bytes": (1_000_000, 1_000_000_000_000),
    "learn.max_auto_cards": (0, 1_000_000),
    "learn.stale_days": (1, 36_500),
}
_WEIGHT_RANGE = (0, 1_000)

MAX_CONFIG_BYTES = 256_000


def parse_settings(text: str, *, name: str = "lessons.toml") -> tuple[Settings, dict[str, str]]:
    """Parse the text of a ``lessons.toml``.

    Returns the settings, and a mapping from the dotted name of each key in the text to
    ``name:line``. Raises ConfigError, which names the line and, for an unknown key, the nearest
    valid key.
    """
    toml = load(READ_TOML)
    try:
        data = toml.loads(text)
    except (toml.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}; fix or remove the line") from None
    lines = _find_lines(text)

    def locate(key: str) -> str:
        return f"{name}:{lines.get(key, lines.get(key.partition('.')[0], 1))}"

    top: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, value in data.items():
        if key not in ("folders", "check", *SECTIONS):  # [check] has only keys of the user
            origins[key] = locate(key)
            top[key] = _check_value(key, value, origins[key])
            continue
        if not isinstance(value, dict):
            raise ConfigError(
                f"{locate(key)}: {key} is a table; write [{key}] and its keys below it"
            )
        checked: dict[str, Any] = {}
        for inner, inner_value in value.items():
            dotted = f"{key}.{inner}"
            origins[dotted] = locate(dotted)
            if key == "folders":
                checked[_check_folder(inner, inner_value, origins[dotted])] = inner_value
            else:
                checked[inner] = _check_value(dotted, inner_value, origins[dotted])
        if key == "folders":
            top[key] = {**KNOWN_FOLDERS, **checked}
        elif key in SECTIONS:
            top[key] = SECTIONS[key](**checked)
    return Settings(**top), origins


def settings_from_dict(data: Mapping[str, Any]) -> Settings:
    """Rebuild settings from ``model.as_data(settings)``, which the catalogue stores."""
    settings = dict(data)
    for name, section in SECTIONS.items():
        if name in data:
            settings[name] = section(**{key: _freeze(value) for key, value in data[name].items()})
    return Settings(**settings)


def _freeze(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def flat_settings(settings: Settings) -> dict[str, Any]:
    """Return a mapping from the dotted name of every setting to its value.

    The settings are in the order of the classes above.
    """
    flat: dict[str, Any] = {}
    for key, value in as_data(settings).items():
        if isinstance(value, dict):
            flat |= {f"{key}.{inner}": inner_value for inner, inner_value in value.items()}
        else:
            flat[key] = value
    return flat


def _check_folder(folder: str, kind: Any, where: str) -> str:
    clean = folder.replace("\\", "/").strip("/").removeprefix("./")
    if kind not in (*KINDS, "note"):
        raise ConfigError(f"{where}: {folder!r} must be one of {', '.join(KINDS)}, note")
    if not clean or ".." in clean.split("/"):
        raise ConfigError(f"{where}: {folder!r} must be a folder inside the brain")
    return clean


def _check_value(dotted: str, value: Any, where: str) -> Any:
    if dotted in USERS_OWN:
        raise ConfigError(
            f"{where}: {dotted} is not a setting of a brain; put it into your own settings.toml "
            f"(see `lessons {'stats' if dotted.startswith('effect') else 'check'} --help`)"
        )
    defaults = flat_settings(DEFAULTS)
    valid = [key for key in defaults if not key.startswith("folders.")]
    if dotted not in valid:
        table, dot, _ = dotted.partition(".")
        in_table = [key for key in valid if key.startswith(f"{table}.")]
        candidates = in_table if dot and in_table else [*SECTIONS, "folders"]
        find_similar = load(FIND_SIMILAR).get_close_matches
        similar = find_similar(dotted, [*valid, *candidates], n=1, cutoff=0.5)
        hint = f"did you mean {similar[0]}?" if similar else f"use one of {', '.join(candidates)}"
        raise ConfigError(f"{where}: unknown key {dotted}; {hint}")
    default = defaults[dotted]
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    has_type = type(value) is type(default)
    if has_type and isinstance(default, list):
        has_type = all(isinstance(item, str) for item in value)
    if not has_type:
        raise ConfigError(f"{where}: {dotted} must be {_TYPES[type(default)]}, not {value!r}")
    if isinstance(default, list):
        return tuple(value)
    choices = CHOICES.get(dotted)
    if choices and value not in choices:
        raise ConfigError(f"{where}: {dotted} must be one of {', '.join(choices)}, not {value!r}")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = RANGES.get(dotted, _WEIGHT_RANGE)
        if not low <= value <= high:
            raise ConfigError(f"{where}: {dotted} must be from {low} to {high}, not {value!r}")
    return value


_TYPES: Mapping[type, str] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list of texts",
}


def _find_lines(text: str) -> dict[str, int]:
    """Return a mapping from each dotted key to its 1-based line.

    It is used in messages only, because tomllib gives no positions.
    """
    lines: dict[str, int] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([^\[\]]+)\]", line):
            section = header[1].strip().strip("\"'")
            lines.setdefault(section, number)
        elif key := re.match(r"""\s*("[^"]*"|'[^']*'|[\w.-]+)\s*=""", line):
            inner = key[1].strip("\"'")
            lines.setdefault(f"{section}.{inner}" if section else inner, number)
    return lines
