"""Which brains hold for a working directory, and which of them this user trusts."""

from __future__ import annotations

import os

from lessons_kb.errors import BrainNotFound, Untrusted
from lessons_kb.storage import locate, trust
from lessons_kb.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ENVIRONMENT = "LESSONS_BRAIN"


class Discovery(Value):
    """The brains of a working directory, nearest first."""

    trusted: dict[str, str]
    """Root → alias."""
    untrusted: tuple[str, ...]
    """Roots that wait for ``lessons trust``."""


def look(directory: str, environment: Mapping[str, str] = os.environ) -> Discovery:
    """Find the brains of ``directory``: ``LESSONS_BRAIN``, its ancestors, the user's own."""
    named = [part for part in environment.get(ENVIRONMENT, "").split(os.pathsep) if part]
    for root in named:
        if not os.path.isdir(root):
            raise BrainNotFound(f"{ENVIRONMENT} names {root}, which is no folder; correct it")
    around = locate.find_brains(directory)
    own = locate.user_brain()
    trusted = [os.path.realpath(root) for root in named]
    untrusted: list[str] = []
    for root in around:
        (trusted if trust.is_trusted(root) else untrusted).append(root)
    if os.path.isdir(own):
        trusted.append(os.path.realpath(own))
    return Discovery(
        trusted=name_roots(trusted),
        untrusted=tuple(root for root in untrusted if root not in trusted),
    )


def discover(directory: str, environment: Mapping[str, str] = os.environ) -> Discovery:
    """Return ``look(directory)`` if it holds a trusted brain.

    Raises Untrusted where brains were found but none is trusted, else BrainNotFound.
    """
    found = look(directory, environment)
    if found.trusted:
        return found
    if found.untrusted:
        raise Untrusted(untrusted_hint(found.untrusted))
    raise BrainNotFound("no brain here; `lessons init` makes one, `--brain DIR` names one")


def untrusted_hint(roots: tuple[str, ...]) -> str:
    """Say in one line what to do with brains that are not trusted yet."""
    shown = ", ".join(roots)
    return f"{shown} holds lessons you have not trusted; read them, then run `lessons trust`"


def name_roots(roots: Sequence[str]) -> dict[str, str]:
    """Give each root its folder's name, numbered where two share it."""
    aliases: dict[str, str] = {}
    for root in dict.fromkeys(roots):
        name = os.path.basename(root) or "brain"
        taken = set(aliases.values())
        numbered = (name if n == 1 else f"{name}-{n}" for n in range(1, len(roots) + 2))
        aliases[root] = next(alias for alias in numbered if alias not in taken)
    return aliases
