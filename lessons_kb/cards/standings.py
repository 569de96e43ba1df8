"""Describe the standing of a card: as findings of `lint`, and as remarks for people."""

from __future__ import annotations

from collections.abc import Iterator

from lessons_kb.model import Card, Finding
from lessons_kb.text.sanitize import counted, shell_word

MOVED_PATH, GONE_CODE, GONE_NAME, STALE_CARD, UNMET = (
    *("moved-path", "gone-code", "gone-name", "stale-card", "unmet-condition"),
)
"""The ids of the lint rules about freshness."""


def check_standing(
    card: Card, today: str, *, paths_line: int = 0, stale_line: int = 0
) -> list[Finding]:
    """Return the findings about the standing of a card, the worst first.

    ``paths_line`` and ``stale_line`` are the lines of ``paths`` and ``stale-after`` in its file.
    """
    if card.status != "active":
        return []
    return list(_check(card, today, paths_line, stale_line))


def _check(card: Card, today: str, paths_line: int, stale_line: int) -> Iterator[Finding]:
    standing = card.standing
    name = shell_word(card.id)
    confirm = f"`lessons confirm {name}`, if it is still true"
    if card.waits_from and card.waits_from <= today:
        message = f"not injected since {card.waits_from} (`stale-after`)"
        yield _find(card, stale_line, STALE_CARD, message, confirm)
    if standing.unmet:
        fix = "nothing, unless `when` is wrong; it is given again once the condition holds"
        message = f"not injected: {standing.unmet}"
        yield _find(card, 0, UNMET, message, fix, level="info")
    if standing.silenced:
        fix = f"rewrite it, `lessons archive {name}`, or {confirm}"
        yield _find(card, paths_line, GONE_CODE, f"not injected: {standing.silenced}", fix)
    elif standing.gone:
        gone = " and ".join(anchor for anchor, _commit in standing.gone[:3])
        verb = "is" if len(standing.gone) == 1 else "are"
        message = f"{counted(len(standing.gone), 'name')} in it {verb} gone: {gone}"
        fix = f"correct the card, or {confirm}"
        yield _find(card, 0, GONE_NAME, message, fix, level="info")
    moves: dict[str, list[str]] = {}
    for old, new in standing.moved:
        moves.setdefault(old, []).append(new)
    for old, targets in moves.items():
        message = f"paths: {old} was moved to {', '.join(targets)}, which it guards, too"
        yield _find(card, paths_line, MOVED_PATH, message, "run `lessons lint --fix`")


def _find(
    card: Card, line: int, rule: str, message: str, fix: str, *, level: str = "warning"
) -> Finding:
    return Finding(path=card.id, line=line, rule=rule, message=message, fix=fix, level=level)


def list_remarks(card: Card, today: str) -> list[str]:
    """Return remarks on the standing of a card, including code changes since its confirmation."""
    lines = [finding.message for finding in check_standing(card, today)]
    for name, count in card.standing.changed:
        since = f"since it was confirmed on {card.confirmed}"
        lines.append(f"{name} changed in {counted(count, 'commit')} {since}")
    return lines
