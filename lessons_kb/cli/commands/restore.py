"""`lessons restore`: make ignored, archived or deleted cards active again."""

from __future__ import annotations

from lessons_kb.cli.options import OptionalIds, open_brain
from lessons_kb.cli.output import options, print_answer, print_json, print_table, say
from lessons_kb.collection.cards import Cards
from lessons_kb.errors import LessonsError
from lessons_kb.model import as_data
from lessons_kb.store.trash import entries
from lessons_kb.text.sanitize import clean_line

_RESTORED = {
    "activated": "is active again",
    "undeleted": "restored from the trash",
    "unchanged": "is already active",
}


def restore(ids: OptionalIds = None) -> None:
    """Make ignored, archived or deleted cards active again.

    Without an ID, list the trash.

    Example: lessons restore telegram-allowlist
    """
    brains = open_brain()
    if not ids:
        trashed = [entry for brain in brains.members for entry in entries(brain.root)]
        if options().json:
            print_json([as_data(entry) for entry in trashed])
        elif trashed:
            rows = [(entry.path, entry.when[:10], entry.why) for entry in trashed]
            print_table(("id", "since", "why"), rows)
        else:
            say("the trash is empty; name an ignored or archived card, which `lessons list` shows")
        return
    restored: list[tuple[str, str]] = []
    errors: list[LessonsError] = []
    for name in ids:
        try:
            restored.append(Cards(brains).restore(name))
        except LessonsError as error:
            errors.append(error)
    data = [{"id": card_id, "done": action} for card_id, action in restored]
    lines = [f"{clean_line(card_id)} {_RESTORED[action]}" for card_id, action in restored]
    print_answer(data, *lines)
    for further in errors[1:]:
        say(str(further))
    if errors:
        raise errors[0]
