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

    Without an ID it lists the trash.

    Example: lessons restore telegram-allowlist
    """
    brains = open_brain()
    done, failed = list[tuple[str, str]](), list[LessonsError]()
    if not ids:
        trashed = [one for brain in brains.members for one in entries(brain.root)]
        if options().json:
            print_json([as_data(one) for one in trashed])
        elif trashed:
            rows = [(one.path, one.when[:10], one.why) for one in trashed]
            print_table(("id", "since", "why"), rows)
        else:
            say("the trash is empty; name an ignored or archived card, which `lessons list` shows")
        return
    for name in ids:
        try:
            done.append(Cards(brains).restore(name))
        except LessonsError as error:
            failed.append(error)
    data = [{"id": card_id, "done": what} for card_id, what in done]
    print_answer(data, *(f"{clean_line(card_id)} {_RESTORED[what]}" for card_id, what in done))
    for other in failed[1:]:
        say(str(other))
    if failed:
        raise failed[0]
