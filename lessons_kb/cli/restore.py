"""`lessons restore`: bring cards back."""

from __future__ import annotations

from lessons_kb.cli.card_lines import Ids
from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.text.sanitize import clean_line


def restore(ids: Ids) -> None:
    """Make ignored, archived or deleted cards active again.

    Example: lessons restore telegram-allowlist
    """
    brain = open_brain()
    done = [brain.cards.restore(name) for name in ids]
    if options().json:
        print_json([{"id": card_id, "done": what} for card_id, what in done])
        return
    for card_id, what in done:
        print(f"{clean_line(card_id)} {_RESTORED[what]}")


_RESTORED = {
    "activated": "is active again",
    "undeleted": "restored from the trash",
    "unchanged": "is already active",
}
