"""Show the cards of brains that are not trusted yet, so that a person can read them first.

Agents receive nothing from such a brain. In the session of an agent, and for ``--json``, which
programs read, these functions therefore open only the trusted brains.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.brain.discovery import Discovery, find_untrusted_below, look
from lessons_kb.cli.options import close_brains, open_brain
from lessons_kb.cli.output import at_end, options, say
from lessons_kb.errors import LessonsError
from lessons_kb.store.locations import user_brain
from lessons_kb.text.sanitize import clean_line, shell_word

_MARK = "[not trusted] "


class UntrustedCards:
    """The names of all cards in the brains that are not trusted."""

    def __init__(self, brains: Sequence[Brain] = ()) -> None:
        self._names: set[str] = set()
        for brain in brains:
            paths = brain.read(lambda brain: brain.catalogue.numbers())
            self._names.update(paths)
            self._names.update(f"{brain.alias}:{path}" for path in paths)

    def mark(self, name: str, title: str) -> str:
        """Return the title of a card, with a mark if its brain is not trusted."""
        return f"{_MARK}{title}" if name in self._names else title


def open_to_read() -> tuple[Brains, UntrustedCards]:
    """Open the brains as `open_brain` does, and for a person also those that are not trusted."""
    discovery = look(os.getcwd())
    is_for_person = not options().brains and not options().json and not session_of()[0]
    roots = _find_readable(discovery) if is_for_person and not discovery.missing else []
    if not roots:
        return open_brain(discovery), UntrustedCards()
    brains = Brains.open(*discovery.trusted, *roots)
    untrusted = [brain for brain in brains.members if brain.root not in discovery.trusted]
    for brain in untrusted:
        brain.words_only = True  # its settings may name any model
    at_end.callback(close_brains, brains, discovery.untrusted)
    paths = [_from_here(brain.root) for brain in untrusted]
    commands = " and ".join(f"`lessons trust {shell_word(path)}`" for path in paths)
    shown = [clean_line(path) for path in paths]
    are = "is" if len(shown) == 1 else "are"
    say(
        f"{' and '.join(shown)} {are} not trusted yet, so no agent receives these cards; "
        f"read them, then run {commands}"
    )
    return brains, UntrustedCards(untrusted)


def _find_readable(discovery: Discovery) -> list[str]:
    """Return the brains that are not trusted and that can be read."""
    roots = discovery.untrusted
    own = os.path.realpath(user_brain())
    if not roots and all(root == own for root in discovery.trusted):
        roots = tuple(find_untrusted_below(os.getcwd()))
    readable: list[str] = []
    for root in roots:
        # `open_brain` reports a brain whose settings cannot be used as not trusted.
        with contextlib.suppress(LessonsError), contextlib.closing(Brain(root)) as brain:
            brain.words_only = True
            brain.refresh()
            readable.append(root)
    return readable


def _from_here(root: str) -> str:
    """Return a path relative to the working directory if it is below it."""
    here = os.path.realpath(os.getcwd())
    return os.path.relpath(root, here) if root.startswith(here + os.sep) else root
