"""``lessons.toml`` as one frozen value: every tunable, its default, and where it came from."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from typing import Any

from lessons_kb.errors import ConfigError
from lessons_kb.model import KINDS, as_data
from lessons_kb.values import field, frozen, is_value, list_defaults

KNOWN_FOLDERS: Mapping[str, str] = {
    "docs/solutions": "lesson",
    "learnings": "lesson",
    ".ai/lessons": "lesson",
    "lessons": "lesson",
    "playbooks": "playbook",
    "qa-findings": "qa-finding",
}
"""Folders that hold cards in repositories untouched by us."""


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
    """Added to the factor 1 per doubling of ``occurrences``."""
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
    """A longer query is reduced to this many most distinctive terms."""


@frozen
class Gate:
    """``[gate]``: how sure a card must be before it is put in front of an agent."""

    min_confidence: float = 0.5
    """0 lets everything through, 1 nothing."""
    offer_confidence: float = 0.15
    """From it on a title is offered: to less than a tenth of the prompts about other things."""


@frozen
class PreflightSettings:
    """``[preflight]``: the size and shape of the block."""

    budget: int = 3200
    """Tokens in all."""
    lesson_share: float = 0.25
    """Part of the budget that lessons may fill beside notes; without notes all of it is theirs."""
    max_lessons: int = 2
    weakest: float = 0.15
    """A lesson whose odds are below this part of the first one's is left out."""
    context: bool = True
    max_notes: int = 2
    reinject_after: int = 12
    """Turns after which a lesson already in the session may be given again."""
    model_context: int = 0
    """The model's window in tokens, 0 = large. Budgets never pass a twentieth of it."""


@frozen
class Index:
    """``[index]``: what is read and how it is searched."""

    engine: str = "tantivy"
    collection: str = ""
    """Name in a cluster of what ``lessons sync`` writes."""
    max_files: int = 50_000
    """A hook without a daemon looks at so many files within half a second; see docs/figures.md."""
    max_file_bytes: int = 1_000_000


@frozen
class Semantic:
    """``[semantic]``: likeness in meaning beside likeness in words; needs the extra."""

    enabled: bool = False
    model: str = ""
    """A folder (relative to the brain), or a name in the local Hugging Face cache."""


@frozen
class HookSettings:
    """``[hooks]``: what happens inside a coding agent."""

    context: bool = False
    """Excerpts of notes beside the lessons."""
    footer: bool = True
    """Tell the user in one line which lessons were given."""
    catalogue_tokens: int = 1000
    """Tokens that the cards' titles may take at the start of a session; 0 = none are given."""
    catalogue_file_tokens: int = 8000
    """Tokens of the file that lists the titles of a brain that does not fit; 0 = there is none."""
    offers: bool = True
    """Name lessons that may concern a prompt by title, for the agent to open."""
    draft_line: bool = True
    """Tell the agent once, in one line, where the evidence of a mistake that it made is drafted."""
    during_turn: bool = True
    """Give a lesson for what is about to be changed or has failed, too."""
    close: bool = False
    """The block asks for one line at the end that closes its items, such as ``Lessons: L1.1 done
    src/a.py:41; L1.2 n/a; L1.3 left``, which is held against what happened."""
    daemon: bool = True
    """Let the resident process answer."""


@frozen
class JournalSettings:
    """``[journal]``: what is remembered of sessions."""

    retention_days: int = 90
    """Events older than this are forgotten; daily counts per card are kept."""


@frozen
class TrashSettings:
    """``[trash]``: how long what was deleted can be brought back."""

    retention_days: int = 180
    """Deleted cards older than this are removed for good."""
    max_bytes: int = 100_000_000
    """The oldest are removed beyond this size; the latest stays, whatever its size."""


@frozen
class Triggers:
    """``[triggers]``: what a user may say to call for a lesson."""

    patterns: tuple[str, ...] = ()
    """Regular expressions of RE2 beyond our own: see ``lessons_kb.text.patterns``."""


@frozen
class Learn:
    """``[learn]``: how many lessons may come from triggers, and when cards are stale."""

    max_auto_cards: int = 50
    """Active cards with ``source: auto``; more drafts wait until some are put away."""
    stale_days: int = 180
    """A card seen once and not used for so long may be archived."""


@frozen
class EffectSettings:
    """``[effect]``: what follows from what a lesson was seen to do."""

    withhold_harmful: bool = False
    """Give no card whose verdict is ``harms``; `lessons stats` names them."""


@frozen
class Settings:
    """Effective settings of one brain."""

    project: str = ""
    """"" = the name of the git top-level folder."""
    brain: str = ""
    """A folder below that is the brain in place of the one with this file."""
    language: str = "en"
    folders: dict[str, str] = field(default_factory=lambda: dict(KNOWN_FOLDERS))
    """Folder → kind, the well-known ones included."""
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
USERS_OWN = (
    *("check.command", "check.seconds", "writer.command", "writer.seconds"),
    *("effect.withhold", "effect.withhold_high"),
)
"""Keys of the user's own settings: a brain is others' data, and may not make us run a command, nor
decide what is withheld."""

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
    """Read the text of a ``lessons.toml``.

    Returns the settings and, for each key set in the text, its dotted name → ``name:line``.
    Raises ConfigError naming the line and, for an unknown key, the nearest valid one.
    """
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}; fix or remove the line") from None
    lines = _find_lines(text)

    def locate(key: str) -> str:
        return f"{name}:{lines.get(key, lines.get(key.partition('.')[0], 1))}"

    top: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for key, value in data.items():
        if key not in ("folders", "check", *SECTIONS):  # of [check] all are the user's own
            origins[key] = locate(key)
            top[key] = _check_value(key, value, origins[key])
            continue
        if not isinstance(value, dict):
            what = f"{key} is a table; write [{key}] and its keys below it"
            raise ConfigError(f"{locate(key)}: {what}")
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
    """Rebuild settings from ``model.as_data(settings)``: the catalogue keeps them ready."""
    built = {
        key: SECTIONS[key](**{k: tuple(v) if isinstance(v, list) else v for k, v in value.items()})
        for key, value in data.items()
        if key in SECTIONS
    }
    return Settings(**{**data, **built})


def flat_settings(settings: Settings) -> dict[str, Any]:
    """Return every setting by its dotted name, in the order of the classes above."""
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
        own = [key for key in valid if key.startswith(f"{table}.")]
        known = own if dot and own else [*SECTIONS, "folders"]
        near = difflib.get_close_matches(dotted, [*valid, *known], n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"use one of {', '.join(known)}"
        raise ConfigError(f"{where}: unknown key {dotted}; {hint}")
    default = defaults[dotted]
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if type(value) is type(default) is list and all(isinstance(item, str) for item in value):
        return tuple(value)
    if type(value) is not type(default) or isinstance(default, list):
        raise ConfigError(f"{where}: {dotted} must be {_TYPES[type(default)]}, not {value!r}")
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
    """Return dotted key → 1-based line, for messages only (tomllib keeps no positions)."""
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
