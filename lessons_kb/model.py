"""The domain on one page: frozen, keyword-only values without behaviour."""

from __future__ import annotations

from typing import Any

from lessons_kb.values import field, frozen, is_value, list_fields

KINDS = ("lesson", "playbook", "qa-finding")
NOTE = "note"
SERVED = "@server:"
"""Stands in the ids of a server's cards, which are no files here: ``shop@server:lessons/…``."""
SEVERITIES = ("low", "medium", "high")
RULE = "rule"
"""Source of a card that a rules file gave: it comes by its paths and commands alone."""
SOURCES = ("curated", "auto", RULE)
STATUSES = ("active", "ignored", "archived", "draft")
NO_GATE, ASK_GATE, ONCE_GATE = GATES = ("none", "ask", "once")
EVIDENCE = ("evidenced", "anecdotal", "disputed")

FIELDS = ("title", "tags", "symptoms", "checklist", "situation", "body")
"""Indexed fields. ``body`` holds the text of the whole file, the others repeat parts of it."""


PATTERNS = ("regex", "ast", "command", "error")
"""What a pattern of ``detect`` is: a regular expression over code, a syntax pattern, a regular
expression over commands, or the signature of an error."""
RELATIONS = ("inside", "has", "follows", "not-inside", "not-has", "not-follows")
"""How a syntax pattern may stand to other code."""


@frozen
class Pattern:
    """How a mistake looks in code or in a command."""

    kind: str
    """One of PATTERNS."""
    text: str
    files: tuple[str, ...] = ()
    """Gitignore-style globs of the files it is looked for in; empty = every file."""
    language: str = ""
    """Of an ``ast`` pattern; "" = that of the file."""
    unless: str = ""
    """A regular expression; a match on a line that holds it does not count."""
    relations: tuple[tuple[str, str], ...] = ()
    """One of RELATIONS, and a syntax pattern or a word, of which all must hold."""
    bad: tuple[str, ...] = ()
    """Code or commands that it must find."""
    good: tuple[str, ...] = ()
    """Those that it must not find."""


@frozen
class Card:
    """What the catalogue knows of a file: a lesson, playbook, finding or note."""

    id: str
    """POSIX path relative to its brain."""
    kind: str
    """One of KINDS, or NOTE."""
    title: str
    topics: tuple[str, ...] = ()
    """``applies-to``, ``tags`` and the like."""
    project: str | None = None
    stages: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Gitignore-style globs relative to the project root."""
    symptoms: tuple[str, ...] = ()
    not_for: tuple[str, ...] = ()
    """Prompts that look alike and are not meant."""
    severity: str = "medium"
    source: str = "curated"
    status: str = "active"
    occurrences: int = 1
    last_seen: str | None = None
    """ISO date."""
    created: str | None = None
    """ISO date."""
    examples: tuple[str, ...] = ()
    """Tasks in which the mistake happened, oldest first, at most five."""
    gate: str = NO_GATE
    """One of GATES. Before a call that the card is about: ASK_GATE, of high severity, has the user
    asked; ONCE_GATE refuses it, and it passes when it is proposed again."""
    evidence: str | None = None
    supported_by: tuple[str, ...] = ()
    reopen_when: str | None = None
    detect: tuple[Pattern, ...] = ()
    """How the mistake looks, in the order of the header; unusable patterns are left out."""
    why: str = ""
    """First sentence of Root Cause, else of Mistake / Risk; one line, not yet cut."""
    checklist: tuple[str, ...] = ()
    """Items to verify, plain text, one line each. Empty for notes, and where a card names none."""
    shown_by: tuple[str, ...] = ()
    """Regular expression that finds each item's evidence, "" without one; empty = no item has."""
    conditional: bool = False
    """The items say when the card applies: nothing to check."""
    template: bool = False
    """Nobody has filled in the template yet, or its title cannot be read and nothing else says
    what to do: found by a search, never injected."""

    @property
    def is_title_only(self) -> bool:
        """Whether the card says nothing beyond its title, which is offered and never given."""
        return not (self.checklist or self.why)

    @property
    def is_injectable(self) -> bool:
        """Whether it may be put in front of an agent at all."""
        return self.status == "active" and not self.template and self.kind != NOTE


@frozen
class Finding:
    """One thing wrong with one file, and how to fix it."""

    path: str
    """POSIX path relative to the brain."""
    line: int
    """1-based; 0 when the whole file is meant."""
    rule: str
    """Stable kebab-case name, such as ``not-utf-8``."""
    message: str
    fix: str
    level: str = "warning"
    """``error`` (the file is out of use), ``warning`` or ``info``."""


@frozen
class Document:
    """A Markdown file as parsed."""

    card: Card | None
    """None when the file cannot be used; the findings say why."""
    fields: dict[str, str]
    """Text to index, by the names in FIELDS."""
    findings: tuple[Finding, ...] = ()
    body: str = ""
    """The Markdown after the header."""
    checklist_lines: tuple[int, ...] = ()
    """1-based line in the file of each item of ``card.checklist``."""
    key_lines: dict[str, int] = field(default_factory=dict)
    """1-based line in the file of each key of the header."""
    body_line: int = 1
    """1-based line in the file at which ``body`` begins."""


@frozen
class Query:
    """What is asked of a brain."""

    text: str
    project: str | None = None
    """None = unknown: cards that name a project are left out."""
    stage: str | None = None
    paths: tuple[str, ...] = ()
    """Files at hand, POSIX, relative to the project root."""
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    limit: int = 10
    inactive: bool = False
    """Whether ignored and archived cards are found, too."""


@frozen
class Hit:
    """A card found for a query, with everything that explains its place."""

    card: Card
    score: float
    """``bm25``, and ``meaning`` with it, times every factor; where several brains are merged,
    scaled so that the best of each has its confidence."""
    bm25: float
    meaning: float = 0.0
    """Added to ``bm25`` for likeness in meaning, before the factors."""
    factors: tuple[tuple[str, float], ...] = ()
    matched: tuple[str, ...] = ()
    """Query terms found in the card, most distinctive first."""
    confidence: float = 0.0
    """The gate's 0 to 1 for "this card is about this query"; comparable between brains."""
    passed: bool = False
    reason: str = ""
    """One line: why it passed or was held back."""
    brain: str = ""
    """Alias of the brain; set only where several hold a card of this id."""


@frozen
class Preflight:
    """What is put in front of the agent."""

    text: str
    """The block, or "" when nothing is worth saying."""
    lessons: tuple[Hit, ...] = ()
    notes: tuple[Hit, ...] = ()
    offered: tuple[Hit, ...] = ()
    """Named by title alone, for the agent to open."""
    withheld: tuple[Hit, ...] = ()
    """Found but not given; each ``reason`` says why. Lessons that the experiment keeps from a
    session are not among them."""
    tokens: int = 0


@frozen
class Edit:
    """A file that was written, with the text that this put into it."""

    path: str
    """POSIX, "" if not known."""
    text: str = ""
    """The lines added; all lines of a creation."""
    before: str = ""
    """The lines removed."""
    numbers: tuple[int, ...] = ()
    """1-based line in the file of each line of ``text``; empty = not known."""
    earlier: bool = False
    """Written before the turn that is checked: it can bear out a claim, but shows nothing."""


@frozen
class Command:
    """A command line that was run."""

    line: str
    failed: bool = False
    tests: bool = False
    """Whether it runs tests."""
    earlier: bool = False
    """As of ``Edit``."""


@frozen
class Evidence:
    """What an agent did: never what it read."""

    edits: tuple[Edit, ...] = ()
    commands: tuple[Command, ...] = ()
    complete: bool = False
    """Nothing else was done, so that a claim of anything else is contradicted."""


@frozen
class DetectedLine:
    """A ``detect`` pattern of a card that was found in a change."""

    card: str
    """Its id."""
    where: str
    """``path:line``, or ``command``."""
    quote: str
    """The line."""


ANSWER, COMMAND = "answer", "command"
"""Where a quote stands that is no line of a file."""

SHOWN, DENIED, CONTRADICTED, CLAIMED, OPEN = STATES = (
    *("shown", "denied", "contradicted", "claimed", "open"),
)
"""What a post-check says of an item: done, with the evidence; not done, in the agent's own words;
done, as the agent says, against what happened; closed by the agent, with nothing for or against it;
nothing found."""


DETECTED, NO_TEST_RUN, TESTS_FAILED, NOT_RUN, NOT_CHANGED, NO_TEST_WRITTEN, NO_CHANGE = REASONS = (
    "detected",
    "no test run",
    "tests failed",
    "command not run",
    "file not changed",
    "no test written",
    "no change",
)
"""Why an item is contradicted: its mistake is in the change; the answer says that tests pass, and
none ran, or the last run failed; names a command that did not run, a file that was not changed, a
test where none was written, a change where none was made."""


@frozen
class CheckedItem:
    """What became of one checklist item."""

    card: Card
    item: str
    state: str
    """One of STATES."""
    quote: str = ""
    """The line of an edit, the command or the sentence that decided; of an open item the nearest
    sentence, if any."""
    where: str = ""
    """Where ``quote`` stands: ``path:line``, ``path``, ANSWER or COMMAND."""
    reason: str = ""
    """Of a contradicted item: one of REASONS."""
    terms: tuple[str, ...] = ()
    """Words of the item that were found nowhere."""

    @property
    def denied(self) -> bool:
        """Whether the answer says that it was not done."""
        return self.state == DENIED


@frozen
class Check:
    """The outcome of a post-check."""

    items: tuple[CheckedItem, ...] = ()
    """In the order of cards and checklists; conditions and statements are left out."""
    trouble: str = ""
    """One line: why the program that the user named had no say."""

    @property
    def unaddressed(self) -> tuple[CheckedItem, ...]:
        """All items that are neither shown nor closed by the agent."""
        return tuple(item for item in self.items if item.state not in (SHOWN, CLAIMED))

    @property
    def checked(self) -> int:
        """How many items were looked for."""
        return len(self.items)


CALLS = ("tool", "read", "edit", "create", "remove", "command", "test")
"""Tool calls by what they do, ``tool`` where nothing else fits: ``create`` writes its target whole,
``edit`` a part of it. An agent that runs tests makes a ``command``; a ``test`` is what ``lessons
run`` has captured."""

EVENTS = (
    *("prompt", "answer", "feedback", "interrupt", "compaction"),
    *CALLS,
    *("rollback", "rejection", "stage", "preflight"),
)
"""What can be observed. ``rejection``: a call was denied; ``stage``: a workflow stage ended;
``preflight``: lessons were asked for outside of a hook, by a command, MCP or the library."""

FAILURES = ("invalid_arguments", "tool_not_found", "exec_error", "api_error", "permission_denied")
DONE = ("ok", "unknown")
"""``unknown``: it ended, and nobody said how. Guards give it the benefit of the doubt."""

OUTCOMES = (*DONE, "cancelled", *FAILURES)

BLOCK_TOLD, ACT_TOLD, OFFER_TOLD, OPENED = "block", "act", "offer", "opened"
"""How a session was told a lesson: with a prompt, with a change or an error, by its title, by
reading its file."""
WITHHELD = "withheld"
"""How it was not."""

AVOIDED, CORRECTED, LEFT, CAME_BACK = KNOWN_OUTCOMES = ("avoided", "corrected", "left", "came back")
UNKNOWN_OUTCOME = "unknown"
FAILED = (LEFT, CAME_BACK)
"""What became of a mistake in a session that its lesson is about: never made; made, and put right;
made, and still there; the same in spite of what an earlier session was told; nobody knows."""
FACTS = PATTERN_FACT, ERROR_FACT, TEST_FACT = ("pattern", "error", "test")
"""What shows it: a pattern of ``detect`` in a change or command, an error's signature, a failing
test. The fourth fact, a bump, needs nothing of the card."""


@frozen
class Occasion:
    """A session, or a subagent's part of one, for which a lesson was due."""

    session: str
    card: str
    at: float
    """When it was due, seconds since the epoch."""
    occasion: str
    """``prompt``, ``error``, ``command``, or ``change`` with the file."""
    told: str
    outcome: str = UNKNOWN_OUTCOME
    """One of KNOWN_OUTCOMES, or UNKNOWN_OUTCOME."""
    fact: str = ""
    """What shows it: one of FACTS, or ``bump``."""


LEVELS = ("note", "nudge", "escalate")


@frozen
class Event:
    """One observation of a session. A tool call is one event, made when its outcome is known."""

    kind: str
    """One of EVENTS."""
    at: float = 0.0
    """Seconds since the epoch."""
    session: str = ""
    id: str = ""
    """Of the call or prompt: the same (session, id, kind) twice is one event, unless the
    prompts differ: the id of the later one is continued behind a ``+``."""
    agent: str = ""
    scope: str = ""
    """The workspace: its root as a POSIX path, or any name."""
    stage: str | None = None
    tool: str = ""
    """The tool's name in its agent; "" where no call was made: a file touched on the way."""
    targets: tuple[str, ...] = ()
    """What it was done to: POSIX paths relative to the scope, absolute outside it."""
    arguments: str = ""
    """Digest of the call's arguments, equal for equal calls; "" = not known."""
    step: str = ""
    """Names the message of the model that made the call; "" = not known. Calls made together have
    the same: the model has seen the outcome of none when it makes the others. Not journalled."""
    outcome: str = "ok"
    """One of OUTCOMES."""
    text: str = ""
    """What was said or run: the prompt, the answer, the feedback, the summary, the command line."""
    output: str = ""
    """Excerpt of the error, of the end of what was printed, or of what an edit writes."""
    record: dict[str, object] = field(default_factory=dict)
    """Plain JSON data beyond this: ``before`` (what an edit replaced), ``run`` (how a captured
    command ended), ``signals`` (what the guards said, their records), ``lessons`` (what was given
    for a prompt and what held back)."""


@frozen
class Signal:
    """What a guard has to say about an event."""

    guard: str
    level: str
    """One of LEVELS: added to the result; guidance for the model; stop the turn, resumable."""
    message: str
    """For the model."""
    user_line: str = ""
    """For the user; "" = nothing to show."""
    record: dict[str, object]
    """Plain JSON data for the journal; ``kind`` names it."""


def as_data(value: Any) -> Any:
    """Return plain JSON data: a dataclass as a dict of its fields, a tuple as a list."""
    if is_value(value):
        return {name: as_data(getattr(value, name)) for name in list_fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_data(item) for item in value]
    if isinstance(value, dict):
        return {key: as_data(item) for key, item in value.items()}
    return value
