"""Parse the conditions of a card: ``pandas<2``, ``node>=20``, ``npm:redis<5``."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lessons_kb.errors import InputError
from lessons_kb.values import frozen

PYTHON, NPM, CARGO, GO = ECOSYSTEMS = ("python", "npm", "cargo", "go")
_PREFIXES = {
    **dict.fromkeys(("python", "py", "pypi", "pip"), PYTHON),
    **dict.fromkeys(("npm", "node", "js"), NPM),
    **dict.fromkeys(("cargo", "rust", "crates"), CARGO),
    "go": GO,
}
"""Maps the text before the colon to the ecosystem."""
_CONDITION = re.compile(
    r"(?:(?P<prefix>[A-Za-z]+):)?(?P<name>@?[A-Za-z0-9][\w./-]*?)\s*"
    r"(?P<range>(?:===?|~=|!=|<=|>=|<|>|\^|~|=)\s*[\w.+*-]+"
    r"(?:\s*,\s*(?:===?|~=|!=|<=|>=|<|>|\^|~|=)\s*[\w.+*-]+)*)"
)
_CLAUSE = re.compile(r"(===?|~=|!=|<=|>=|<|>|\^|~|=)\s*v?(\d[\w.+*-]*)")


@frozen
class Condition:
    """A range of versions of a package."""

    text: str
    """The text of the condition in the card, without spaces."""
    ecosystem: str
    """One of ECOSYSTEMS, or "" for any ecosystem that has the package."""
    name: str
    clauses: tuple[tuple[str, str], ...]
    """Pairs of an operator and a version. A version has to satisfy all of them."""


def parse_condition(text: str) -> Condition:
    """Parse a condition. Raises InputError if the text is not a condition."""
    match = _CONDITION.fullmatch(text.strip())
    prefix = match["prefix"] if match else None
    if match is None or (prefix and prefix.casefold() not in _PREFIXES):
        raise InputError(f"{text!r} is no condition; write it as pandas<2 or npm:redis>=4,<5")
    parts = match["range"].split(",")
    clauses = [_CLAUSE.fullmatch(part.strip()) for part in parts]
    pairs = tuple((clause[1], clause[2]) for clause in clauses if clause)
    if len(pairs) < len(parts):
        raise InputError(f"{text!r} names no version; write it as pandas<2 or npm:redis>=4,<5")
    return Condition(
        text="".join(text.split()),
        ecosystem=_PREFIXES[prefix.casefold()] if prefix else "",
        name=match["name"],
        clauses=pairs,
    )


def list_conditions(texts: Iterable[str]) -> list[Condition]:
    """Return the conditions among the values of ``when``. Other texts are left out."""
    conditions = []
    for text in texts:
        try:
            conditions.append(parse_condition(text))
        except InputError:  # `lint` reports it
            continue
    return conditions
