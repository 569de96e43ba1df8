"""`lessons ignore`: silence cards that do not apply here."""

from __future__ import annotations

from lessons_kb.cli.card_status import set_status
from lessons_kb.cli.options import Ids


def ignore(ids: Ids) -> None:
    """Silence cards that do not apply here; `restore` undoes it.

    Example: lessons ignore telegram-allowlist
    """
    set_status("ignored", ids)
