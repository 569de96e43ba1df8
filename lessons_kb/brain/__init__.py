"""Brain: the use cases, and the only place where the rooms are put together."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lessons_kb.brain.brain import Brain as Brain

__all__ = ["Brain"]


def __getattr__(name: str) -> object:
    if name == "Brain":
        from lessons_kb.brain.brain import Brain

        return Brain
    raise AttributeError(name)
