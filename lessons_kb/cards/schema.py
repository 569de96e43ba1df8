"""The header of a card as a JSON Schema, for editors that check YAML alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lessons_kb.cards.keys import KEYS, MAX_OCCURRENCES, SYNONYMS, Key
from lessons_kb.detect.patterns import MAX_FILES, MAX_PATTERNS, MAX_TEXT
from lessons_kb.model import PATTERNS

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_SCALAR: Mapping[str, Any] = {"type": ["string", "number", "boolean", "null"]}
_LIST: Mapping[str, Any] = {"type": ["array", "string", "number", "null"], "items": _SCALAR}
_PATTERN_TEXT: Mapping[str, Any] = {"type": "string", "minLength": 1, "maxLength": MAX_TEXT}
_FORMS: Mapping[str, Mapping[str, Any]] = {
    "text": _SCALAR,
    "tags": _LIST,
    "texts": _LIST,
    "globs": _LIST,
    "count": {"type": ["integer", "null"], "minimum": 1, "maximum": MAX_OCCURRENCES},
    "date": {"type": ["string", "null"], "pattern": r"^\d{4}-\d{2}-\d{2}($|[T ])"},
    "patterns": {
        "type": ["array", "null"],
        "maxItems": MAX_PATTERNS,
        "items": {
            "type": "object",
            "properties": {
                **dict.fromkeys(PATTERNS, _PATTERN_TEXT),
                "files": {
                    "type": ["array", "string"],
                    "items": {"type": "string"},
                    "maxItems": MAX_FILES,
                },
                "language": {"type": "string"},
                "unless": _PATTERN_TEXT,
            },
            "oneOf": [{"required": [kind]} for kind in PATTERNS],
            "additionalProperties": False,
        },
    },
}


def build_schema() -> dict[str, Any]:
    """Return the schema: what it refuses, `lessons lint` warns of; unknown keys are allowed."""
    return {
        "$schema": _DIALECT,
        "title": "Header of a lesson card",
        "type": ["object", "null"],
        "properties": {name: _describe(name, key) for name, key in KEYS.items()},
    }


def _describe(name: str, key: Key) -> dict[str, Any]:
    if not key.meaning:
        names = [own for own, one in KEYS.items() if one.field == key.field and one.meaning]
        return {"description": f"Read as `{names[0]}`." if names else "Text to search."}
    if key.form != "choice":
        return {"description": key.meaning, **_FORMS[key.form]}
    known: dict[str, Any] = {"enum": [*key.choices, *SYNONYMS.get(name, ()), None]}
    if key.foreign:  # other systems write their own values, which are nobody's mistake
        known = {"anyOf": [known, {"type": "string"}]}
    return {"description": key.meaning, **known}
