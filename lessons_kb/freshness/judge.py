"""Derive the standing of a card from the fates of its anchors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lessons_kb.cards.anchors import Claims
from lessons_kb.freshness.fates import GONE, MOVED, NEVER, Fate
from lessons_kb.model import GLOB, Anchor, Standing
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import replace

MAX_CAVEAT = 12
"""The maximum number of tokens of a caveat."""
_SMALL_SHARE = 0.2
"""The share of gone names, of which none is a core anchor, up to which a card has no caveat."""
_SHORT_HASH = 8
_MOST_NAMED = 2


def judge(
    claims: Claims,
    fates: Mapping[Anchor, Fate],
    changed: Sequence[tuple[str, int]],
) -> Standing:
    """Return the standing of a card whose anchors have these fates.

    A card is silenced if all its core anchors are gone, and most of the names in it. While most of
    its names still exist, the project still has what the lesson is about, so the card is given
    with a caveat. A name that did not exist when the card began to name it has the fate NEVER.
    """
    moved: list[tuple[str, str]] = []
    gone: dict[str, str] = {}
    alive = 0
    is_core_alive = False
    is_core_gone = False
    for anchor in claims.anchors:
        fate = fates[anchor]
        if fate.state == MOVED and anchor.kind == GLOB:
            moved += [(anchor.name, target) for target in fate.targets]
        if fate.state == GONE:
            gone[anchor.name] = fate.commit
            is_core_gone = is_core_gone or anchor.is_core
        elif fate.state != NEVER:
            alive += 1
            is_core_alive = is_core_alive or anchor.is_core
    listed = tuple(gone.items())
    is_silenced = is_core_gone and not is_core_alive and len(gone) > alive
    silenced = describe_gone(listed) if is_silenced else ""
    # A few gone names among many that are only mentioned say little about the lesson.
    matters = is_core_gone or len(gone) > _SMALL_SHARE * (len(gone) + alive)
    return Standing(
        silenced=silenced,
        caveat=write_caveat(listed) if matters and not silenced else "",
        follows=tuple(dict.fromkeys(target for _path, target in moved)),
        moved=tuple(moved),
        gone=listed,
        changed=tuple(changed),
    )


def replace_silence(standing: Standing) -> Standing:
    """Return the standing of a card that is given with a caveat instead of being silenced."""
    return replace(standing, silenced="", caveat=write_caveat(standing.gone))


def describe_gone(gone: Sequence[tuple[str, str]]) -> str:
    """Return one line that names the gone anchors, and the commits that removed them."""
    named = []
    for name, commit in gone[:_MOST_NAMED]:
        named.append(f"{name} (removed in {commit[:_SHORT_HASH]})" if commit else name)
    more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
    verb = "is" if len(gone) == 1 else "are"
    return f"{', '.join(named)}{more} {verb} gone"


def write_caveat(gone: Sequence[tuple[str, str]]) -> str:
    """Return a remark on the gone anchors, of at most MAX_CAVEAT tokens."""
    if len(gone) == 1:
        path = gone[0][0]
        for name in (path, path.rpartition("/")[2]):
            text = f"Note: {name} is gone."
            if estimate_tokens(text) <= MAX_CAVEAT:
                return text
        return "Note: a file or symbol that it names is gone."
    return f"Note: {len(gone)} names in it are gone."
