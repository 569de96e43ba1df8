"""What happens in a session of a coding agent, and what we have to say to it.

An agent's hook becomes an `Occasion`, and `respond` gives the `Answer`; how either looks in a
payload is the business of ``agents``. Whatever a later occasion needs lies in the journal.
"""

from __future__ import annotations

import os
from functools import cached_property

from lessons_kb.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lessons_kb.brain.brain import Brain
    from lessons_kb.brain.discovery import Discovery
    from lessons_kb.model import Check, Preflight
    from lessons_kb.storage.journal import Journal

HANDLERS: Mapping[str, tuple[str, str]] = {
    "start": ("turn_prompts", "started"),
    "prompt": ("turn_prompts", "prompted"),
    "before": ("turn_paths", "about_to_call"),
    "after": ("turn_calls", "called"),
    "stop": ("turn_ends", "stopped"),
    "compact": ("turn_prompts", "compacted"),
    "end": ("turn_ends", "ended"),
}
"""Occasion → module beside this one and its function: a hook imports one of them."""

_PATIENCE = {"after": 1.0, "stop": 1.0, "end": 1.0}
"""Occasion → seconds for which another writer is waited for, where what happened matters more than
what is answered; elsewhere ``SESSION_PATIENCE``."""
MAX_TEXT_CHARS = 1_000_000
"""Of a longer prompt or answer the two ends are looked at: all of it would take seconds."""


class Occasion(Value):
    """Something that happened in an agent, whichever it is."""

    what: str
    """One of HANDLERS."""
    agent: str
    session: str
    part: str = ""
    """The subagent it happened in, "" for the session itself."""
    directory: str
    """Absolute: where the session's project is."""
    cwd: str = ""
    """Where the agent is now; "" = in ``directory``."""
    id: str = ""
    """The agent's own id of the call or prompt: the same one twice is one occasion."""
    at: float = 0.0
    """Seconds since the epoch; 0 = now."""
    within: float = 0.0
    """Seconds within which the same without an id is taken for the same occasion."""
    text: str = ""
    """The prompt, the answer, or the summary of what was compacted."""
    tool: str = ""
    arguments: object = None
    """Of the call: a JSON object, or its text."""
    outcome: str = "ok"
    """One of model.OUTCOMES."""
    output: str = ""
    """What came back: the error, the end of the output, the diff of an edit."""
    transcript: str = ""
    """The agent's own record, "" if there is none that we read."""
    again: bool = False
    """Another process may have noted it, and did not get to say anything."""


class Reach(Value):
    """What the agent lets an answer to this occasion do."""

    context: bool = True
    """Text can be put in front of the model; else it waits for the next occasion that can."""
    lines: bool = True
    """Lines can be shown to the user; what must be seen waits for the next occasion that can."""
    lasting: bool = True
    """What a prompt was answered with is still before the model at the next one."""
    chars: int = 100_000
    tokens: int = 100_000
    """The most that one text may have."""
    ask: bool = False
    stop: bool = False


class Answer(Value):
    """What to say; nothing at all by default."""

    context: str = ""
    """For the model."""
    block: Preflight | None = None
    """The lessons that were found for a prompt, in ``context`` or waiting."""
    check: Check | None = None
    lines: tuple[str, ...] = ()
    """For the user, not for the model."""
    ask: str = ""
    """Let the user decide about the call, for this reason."""
    stop: str = ""
    """End the turn, resumable, with this line for the user."""
    language: str = "en"
    footer: bool = True
    """Tell the user which lessons ``block`` has."""
    trouble: str = ""
    """What went wrong and cost no more than a part of the answer; for the log."""
    debug: tuple[str, ...] = ()
    """What is worth a line in the log only for somebody who looks for a fault."""


NOTHING = Answer()


class House:
    """The brain and the journal of a session, opened when first needed.

    ``what`` is the occasion's; ``find`` gives a brain that is open already (and stays so) for a
    directory.
    """

    def __init__(
        self,
        directory: str,
        what: str,
        find: Callable[[str], Brain] | None = None,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.directory = directory
        self._environment = environment
        self._what = what
        self._find = find
        self._brain: Brain | None = None
        self._journal: Journal | None = None

    @property
    def brain(self) -> Brain:
        """The trusted brains; Untrusted or BrainNotFound when there are none."""
        if self._brain is None:
            if self._find is not None:
                self._brain = self._find(self.directory)
            else:
                from lessons_kb.brain.brain import Brain

                self._brain = Brain.open(*self._roots, directory=self.directory)
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
            from lessons_kb.storage.journal import SESSION_PATIENCE, open_session_journal

            patience = _PATIENCE.get(self._what, SESSION_PATIENCE)
            self._journal = open_session_journal(self._roots[0], patience=patience)
        return self._journal

    @cached_property
    def found(self) -> Discovery:
        """The brains around the session, trusted and silent."""
        from lessons_kb.brain.discovery import look

        return look(self.directory, self._environment, in_agent=True)

    @property
    def _roots(self) -> tuple[str, ...]:
        from lessons_kb.brain.discovery import require

        return tuple(require(self.found).trusted)

    @property
    def scope(self) -> str:
        """The project root, spelled as the agent spells its directory: what paths start from."""
        from lessons_kb.storage.locate import git_top

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
            from lessons_kb.storage.trust import cache_dir

            return self._journal.trouble, cache_dir(self._roots[0])
        for layer in self._brain.layers if self._brain is not None else ():
            if layer.journal_trouble:
                return layer.journal_trouble, layer.cache
        return "", ""

    def close(self) -> None:
        """Close what was opened here."""
        if self._brain is not None and self._find is None:
            self._brain.close()
        if self._journal is not None:
            self._journal.close()


def respond(
    occasion: Occasion,
    reach: Reach,
    *,
    find: Callable[[str], Brain] | None = None,
    leave_open: bool = False,
    environment: Mapping[str, str] = os.environ,
) -> Answer:
    """Return the answer to an occasion, `NOTHING` where no trusted brain holds.

    ``find`` is for a process that keeps brains open; ``leave_open`` for one that ends at once,
    for closing a journal costs time. Raises LessonsError, or anything that a damaged file may
    cause: the one who asks is the rim.
    """
    from lessons_kb.errors import BrainNotFound, Untrusted

    module, name = HANDLERS[occasion.what]
    house = House(occasion.directory, occasion.what, find, environment)
    if len(occasion.text) > MAX_TEXT_CHARS:
        half = MAX_TEXT_CHARS // 2
        occasion = occasion.replace(text=f"{occasion.text[:half]}\n{occasion.text[-half:]}")
    try:
        # Not importlib.import_module: that module is one more for every hook to load.
        handler = getattr(__import__(f"lessons_kb.brain.{module}", fromlist=[name]), name)
        answer: Answer = handler(house, occasion, reach)
        answer = _with_trouble(answer, house, occasion, reach)
    except (BrainNotFound, Untrusted) as error:
        from lessons_kb.brain.discovery import ENVIRONMENT

        # No brain is no trouble, unless the user has named one.
        answer = Answer(trouble=str(error)) if ENVIRONMENT in str(error) else NOTHING
    finally:
        if not leave_open:
            house.close()
    if reach.lines and (line := _name_silent(house, occasion)):
        return answer.replace(lines=(line, *answer.lines))
    return answer


def _with_trouble(answer: Answer, house: House, occasion: Occasion, reach: Reach) -> Answer:
    """Log and tell, once a session, that the answer was given without a journal."""
    trouble, cache = house.find_trouble()
    if not trouble:
        return answer
    from lessons_kb.storage.pins import is_first

    if is_first(cache, f"logged {occasion.session}", unknown=not answer.trouble):
        answer = answer.replace(trouble=trouble)
    # Where no mark can be kept it is said once a turn at most.
    ends_turn = occasion.what in ("prompt", "stop")
    if reach.lines and is_first(cache, f"told {occasion.session}", unknown=ends_turn):
        line = f"lessons: lessons still arrive, but nothing is remembered: {trouble}"
        answer = answer.replace(lines=(*answer.lines, line))
    return answer


def _name_silent(house: House, occasion: Occasion) -> str:
    """Return a line on brains that were found and are silent, "" when it was said already."""
    from lessons_kb.errors import BrainNotFound

    try:
        silent = house.found.untrusted
    except BrainNotFound:  # the user has named one: that is told elsewhere
        return ""
    if not silent:
        return ""
    from lessons_kb.brain.discovery import tell_untrusted
    from lessons_kb.storage.locate import state_home
    from lessons_kb.storage.pins import is_first

    # Where the state cannot be written it is said at every prompt, which is better than never.
    often = occasion.what in ("start", "prompt")
    if not is_first(state_home(), f"silent {occasion.agent} {occasion.session}", unknown=often):
        return ""
    return f"Lessons: {tell_untrusted(silent)}"
