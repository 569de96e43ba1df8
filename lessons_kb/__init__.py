"""A knowledge base of lesson cards that keeps coding agents from repeating mistakes.

>>> from lessons_kb import Brain
>>> block = Brain.open("brain-example").preflight("Add a Telegram command that runs a script")
>>> print(block.text)  # doctest: +SKIP
"""

from __future__ import annotations

from lessons_kb.version import __version__ as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.errors import LessonsError as LessonsError
    from lessons_kb.library import Brain as Brain
    from lessons_kb.model import Card as Card
    from lessons_kb.model import Check as Check
    from lessons_kb.model import CheckedItem as CheckedItem
    from lessons_kb.model import Evidence as Evidence
    from lessons_kb.model import Finding as Finding
    from lessons_kb.model import Hit as Hit
    from lessons_kb.model import Preflight as Preflight

_HOMES = {"Brain": "lessons_kb.library", "LessonsError": "lessons_kb.errors"}
"""A mapping from each public name to its module, if that is not ``lessons_kb.model``."""

__all__ = [
    "Brain",
    "Card",
    "Check",
    "CheckedItem",
    "Evidence",
    "Finding",
    "Hit",
    "LessonsError",
    "Preflight",
]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES.get(name, "lessons_kb.model")), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
