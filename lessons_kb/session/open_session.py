"""The brain and the journal of a session, opened when an event first needs them."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from lessons_kb.brain.discovery import Discovery, require
from lessons_kb.store.journal import SESSION_PATIENCE, Journal, open_session_journal
from lessons_kb.store.locate import git_top
from lessons_kb.store.trust import cache_dir

if TYPE_CHECKING:
    from lessons_kb.brain.layers import Layers

_PATIENCE = {"after": 1.0, "stop": 1.0, "end": 1.0}
"""Kind of event → seconds for which another writer is waited for, where what happened matters
more than what is answered; elsewhere ``SESSION_PATIENCE``."""


class OpenSession:
    """The brain and the journal of a session, opened when first needed.

    ``what`` is the event's kind; ``look`` finds the brains around a directory, and ``find`` gives
    one that is open already (and stays so). Where the session was ``posted``, its directory is
    the name of one elsewhere.
    """

    def __init__(
        self,
        directory: str,
        what: str,
        look: Callable[[str], Discovery],
        find: Callable[[str], Layers] | None = None,
        *,
        posted: bool = False,
    ) -> None:
        self.directory = directory
        self._posted = posted
        self._look = look
        self._what = what
        self._find = find
        self._brain: Layers | None = None
        self._journal: Journal | None = None

    @property
    def brain(self) -> Layers:
        """The trusted brains; Untrusted or BrainNotFound when there are none."""
        if self._brain is None:
            if self._find is not None:
                self._brain = self._find(self.directory)
            else:
                from lessons_kb.brain.layers import Layers  # most events need but the journal

                self._brain = Layers.open(*self._roots, directory=self.directory)
                if self._journal is not None:
                    self._brain.layers[0].use_session_journal(self._journal)
                    self._journal = None
        return self._brain

    @property
    def journal(self) -> Journal:
        """The journal of the nearest trusted brain, opened without opening that brain."""
        if self._brain is not None or self._find is not None:
            return self.brain.layers[0].session_journal
        if self._journal is None:
            patience = _PATIENCE.get(self._what, SESSION_PATIENCE)
            self._journal = open_session_journal(self._roots[0], patience=patience)
        return self._journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, trusted and silent."""
        return self._look(self.directory)

    @property
    def _roots(self) -> tuple[str, ...]:
        return tuple(require(self.found).trusted)

    @property
    def scope(self) -> str:
        """The project root, spelled as the agent spells its directory: what paths start from."""
        if self._posted:
            return self.directory
        real = os.path.realpath(self.directory)
        top = git_top(real) or real
        if top == real:
            return self.directory
        below = os.sep + os.path.relpath(real, top)
        cut = self.directory.removesuffix(below)
        return top if cut == self.directory else cut

    def find_trouble(self) -> tuple[str, str]:
        """Return why nothing is remembered, and a cache folder of ours; "" while all is well."""
        if self._journal is not None and self._journal.trouble:
            return self._journal.trouble, cache_dir(self._roots[0])
        for layer in self._brain.layers if self._brain is not None else ():
            if layer.journal_trouble:
                return layer.journal_trouble, layer.cache
        return "", ""

    def find_faults(self) -> list[str]:
        """Return what makes the settings of each open brain unusable, or leaves files out."""
        layers = self._brain.layers if self._brain is not None else ()
        faults = [fault for layer in layers if (fault := layer.find_fault())]
        beyond = [told for layer in layers if (told := layer.tell_beyond())]
        return [*(f"{fault}; until then this brain is silent" for fault in faults), *beyond]

    def close(self) -> None:
        """Close what was opened here."""
        if self._brain is not None and self._find is None:
            self._brain.close()
        if self._journal is not None:
            self._journal.close()
