"""The domain model on one page: frozen, keyword-only values without behaviour."""

from __future__ import annotations

from typing import Any

from lessons_kb.values import field, frozen, is_value, list_fields

KINDS = ("lesson", "playbook", "qa-finding")
NOTE = "note"
SERVED = "@server:"
"""Part of the ids of a server's cards, which are not files here: ``shop@server:lessons/…``."""
SEVERITIES = ("low", "medium", "high")
RULE = "rule"
"""Source of a card from a rules file: only its paths and commands inject it."""
SOURCES = ("curated", "auto", RULE)
DRAFT = "draft"
"""The status of a card that waits for review; it is never injected."""
STATUSES = ("active", "ignored", "archived", DRAFT)
NO_GATE, ASK_GATE, ONCE_GATE, STRICT_GATE = GATES = ("none", "ask", "once", "strict")
EVIDENCE = ("evidenced", "anecdotal", "disputed")

FIELDS = ("title", "tags", "symptoms", "checklist", "situation", "body")
"""Indexed fields. ``body`` is the text of the whole file; the others repeat parts of it."""


PATTERNS = ("regex", "ast", "command", "error")
"""Kinds of ``detect`` patterns: a regular expression over code, a syntax pattern, a regular
expression over commands, or the signature of an error."""
RELATIONS = ("inside", "has", "follows", "not-inside", "not-has", "not-follows")
"""Relations that a syntax pattern may have to other code."""


@frozen
class Pattern:
    """A pattern that detects a mistake in code, in a command or in an error."""

    kind: str
    """One of PATTERNS."""
    text: str
    files: tuple[str, ...] = ()
    """Gitignore-style globs of the files to search; empty = every file."""
    language: str = ""
    """Language of an ``ast`` pattern; "" = the language of the file."""
    unless: str = ""
    """A regular expression; a match does not count on a line that this one matches."""
    relations: tuple[tuple[str, str], ...] = ()
    """Pairs of one of RELATIONS and a syntax pattern or a word; all of them must hold."""
    bad: tuple[str, ...] = ()
    """Code or commands that the pattern must find."""
    good: tuple[str, ...] = ()
    """Code or commands that the pattern must not find."""


@frozen
class Standing:
    """How a card stands to the present state of its project.

    It is derived from the history of the project when the index is refreshed, and kept with the
    card in the catalogue.
    """

    silenced: str = ""
    """That all of its code is gone, so that it is not injected, in one line; "" if it is not."""
    unmet: str = ""
    """Why its condition (``when``) is false, so that it is not injected, in one line; "" if not."""
    caveat: str = ""
    """What the block adds to the card, at most 12 tokens; "" for nothing."""
    follows: tuple[str, ...] = ()
    """Globs that the card guards besides its ``paths``, because the files were moved there."""
    moved: tuple[tuple[str, str], ...] = ()
    """Pairs of an entry of ``paths`` and the glob that names its files today."""
    gone: tuple[tuple[str, str], ...] = ()
    """Pairs of a name that is gone and the commit that removed it ("" if unknown)."""
    changed: tuple[tuple[str, int], ...] = ()
    """Pairs of a file and the number of commits that changed it since ``confirmed``."""
    yields_to: tuple[str, ...] = ()
    """The ids of cards of the same brain that contradict it and are given in its place."""

    @property
    def silence(self) -> str:
        """Why the card is not injected, in one line; "" if it may be."""
        return self.silenced or self.unmet


CURRENT = Standing()
"""The standing of a card about which nothing is known to have changed."""


@frozen
class Card:
    """The content of a Markdown file that is used: a lesson, playbook, finding or note."""

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
    """Prompts that look similar but that the card is not about."""
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
    """One of GATES, for a call that the card is about. ASK_GATE, for a card of high severity, lets
    the agent ask its user first. ONCE_GATE refuses the call once; the repeated call passes. So does
    STRICT_GATE, which also refuses the call where nothing of ours can decide about it."""
    evidence: str | None = None
    supported_by: tuple[str, ...] = ()
    reopen_when: str | None = None
    detect: tuple[Pattern, ...] = ()
    """Patterns of the mistake, in the order of the header; unusable patterns are left out."""
    why: str = ""
    """First sentence of Root Cause, else of Mistake / Risk; one line, not yet cut."""
    checklist: tuple[str, ...] = ()
    """Items to verify, plain text, one line each. Empty for notes and for cards without items."""
    shown_by: tuple[str, ...] = ()
    """For each item a regular expression that finds its evidence, or ""; empty if no item has
    one."""
    conditional: bool = False
    """Whether the items are conditions that say when the card applies; they are not checked."""
    template: bool = False
    """Whether the card is still the unfilled template, or has neither a readable title nor advice.
    A search finds such a card, but it is never injected."""
    confirmed: str | None = None
    """ISO date on which a person last found the card true."""
    stale_after: str | None = None
    """ISO date from which the card waits for `lessons confirm`."""
    supersedes: tuple[str, ...] = ()
    """Cards, by path or file name, in whose place this one stands."""
    superseded_by: str | None = None
    """The card that stands in the place of this one."""
    when: tuple[str, ...] = ()
    """Conditions about versions of the project's packages, such as ``pandas<2``."""
    enforced_by: str | None = None
    """A rule of the project's linter that finds the mistake, such as ``ruff:S602``."""
    escalated: str | None = None
    """ISO date and time of the last step that `lessons escalate` took."""
    standing: Standing = CURRENT
    """How the project has moved on since the card was written; no part of its file."""

    @property
    def is_title_only(self) -> bool:
        """Whether the card contains only its title. It is then offered, but never injected."""
        return not (self.checklist or self.why)

    @property
    def waits_from(self) -> str:
        """The ISO date from which the card waits for a confirmation; "" for never."""
        stale_after = self.stale_after or ""
        return stale_after if stale_after > (self.confirmed or "") else ""

    @property
    def is_injectable(self) -> bool:
        """Whether an agent may see the card at all."""
        is_usable = self.status == "active" and not self.template and self.kind != NOTE
        return is_usable and not self.standing.silence


@frozen
class Finding:
    """A problem of a file, and how to fix it."""

    path: str
    """POSIX path relative to the brain."""
    line: int
    """1-based; 0 for the whole file."""
    rule: str
    """Stable kebab-case name, such as ``not-utf-8``."""
    message: str
    fix: str
    level: str = "warning"
    """``error`` (the file is not used), ``warning`` or ``info``."""


COMMIT_SOURCE, REQUEST_SOURCE, SESSION_SOURCE, FILE_SOURCE = ORIGINS = (
    *("commit", "pull-request", "session", "file"),
)
"""Schemes of a source's ``resource``. Another one, such as ``https``, is an address."""


@frozen
class Source:
    """An entry of a card's ``sources``: where the lesson comes from."""

    resource: str
    """``commit:HASH``, ``pull-request:NAME``, ``session:HASH``, ``file:PATH#L12`` or an address."""
    title: str = ""
    """The subject of the commit, or the like."""
    last_modified: str = ""
    """ISO date, with a time where one is known."""
    quote: str = ""
    """At most 200 characters, without secrets."""

    @property
    def scheme(self) -> str:
        """The part of ``resource`` before its colon, such as ``commit``."""
        return self.resource.partition(":")[0]

    @property
    def name(self) -> str:
        """The part of ``resource`` after its colon, such as a commit's hash."""
        return self.resource.partition(":")[2]


GLOB, FILE, SYMBOL = ANCHORS = ("glob", "file", "symbol")
"""What an anchor of a card is: an entry of ``paths``, a file or a symbol that its text names."""


@frozen
class Anchor:
    """A name by which a card refers to the code of its project."""

    kind: str
    """One of ANCHORS."""
    name: str
    """A glob, a POSIX path or its end, or the last part of a dotted name."""
    is_core: bool = True
    """Whether the lesson depends on it: in ``paths``, title, cause or checklist."""


@frozen
class Document:
    """A parsed Markdown file."""

    card: Card | None
    """None if the file cannot be used; the findings say why."""
    fields: dict[str, str]
    """Name in FIELDS → text to index."""
    findings: tuple[Finding, ...] = ()
    body: str = ""
    """The Markdown after the header."""
    checklist_lines: tuple[int, ...] = ()
    """1-based line in the file of each item of ``card.checklist``."""
    key_lines: dict[str, int] = field(default_factory=dict)
    """1-based line in the file of each key of the header."""
    body_line: int = 1
    """1-based line in the file at which ``body`` begins."""
    anchors: tuple[Anchor, ...] = ()
    """The names of files and code on which the card depends, as they stand in its text."""
    sources: tuple[Source, ...] = ()
    """Where the lesson comes from, as its header says."""


@frozen
class Query:
    """A query for the cards of a brain."""

    text: str
    project: str | None = None
    """None = unknown; cards that name a project are then left out."""
    stage: str | None = None
    paths: tuple[str, ...] = ()
    """Files being worked on, as POSIX paths relative to the project root."""
    tags: tuple[str, ...] = ()
    kinds: tuple[str, ...] = KINDS
    limit: int = 10
    inactive: bool = False
    """Whether ignored and archived cards are included."""


@frozen
class Hit:
    """A card that matches a query, with the values that explain its rank."""

    card: Card
    score: float
    """The sum of ``bm25`` and ``meaning`` times every factor. If several brains are merged, scores
    are scaled so that the best hit of each brain has its confidence as score."""
    bm25: float
    meaning: float = 0.0
    """Semantic similarity, which is added to ``bm25`` before the factors."""
    factors: tuple[tuple[str, float], ...] = ()
    matched: tuple[str, ...] = ()
    """Query terms found in the card, most distinctive first."""
    confidence: float = 0.0
    """The gate's confidence, 0 to 1, that the card is about the query; comparable between
    brains."""
    passed: bool = False
    reason: str = ""
    """Why the card passed the gate or was suppressed, in one line."""
    brain: str = ""
    """Alias of the brain; set only if several brains have a card with this id."""
    parts: tuple[tuple[int, ...], ...] = ()
    """The parts of the query, by their places, by each of which alone it would be given. The best
    are first. () where words do not tell."""
    leads: tuple[tuple[int, ...], ...] = ()
    """Those of ``parts`` of which no other card is nearly as sure."""
    lesson_at: float = 0.5
    """The confidence from which its brain gives a lesson."""
    title_at: float = 0.15
    """The confidence from which its brain offers a title."""


@frozen
class Preflight:
    """The block for an agent, and the hits that it is made of."""

    text: str
    """The block, or "" if no lesson applies."""
    lessons: tuple[Hit, ...] = ()
    notes: tuple[Hit, ...] = ()
    offered: tuple[Hit, ...] = ()
    """Hits that are offered by title; the agent can open them."""
    withheld: tuple[Hit, ...] = ()
    """Hits that are not in the block; each ``reason`` says why. Lessons that the experiment
    withholds from the session are not among them."""
    tokens: int = 0
    """Size of the block."""


@frozen
class Edit:
    """A change of a file, with the text that it added and removed."""

    path: str
    """POSIX path, "" if unknown."""
    text: str = ""
    """The added lines; all lines of a new file."""
    before: str = ""
    """The removed lines."""
    numbers: tuple[int, ...] = ()
    """1-based line in the file of each line of ``text``; empty = unknown."""
    earlier: bool = False
    """Whether the change was made before the turn that is checked. Such a change can support a
    claim, but shows no item as done."""


@frozen
class Command:
    """A command line that was run."""

    line: str
    failed: bool = False
    tests: bool = False
    """Whether it runs tests."""
    earlier: bool = False
    """See ``Edit.earlier``."""


@frozen
class Evidence:
    """What an agent did; not what it read."""

    edits: tuple[Edit, ...] = ()
    commands: tuple[Command, ...] = ()
    complete: bool = False
    """Whether the agent did nothing else. A claim of anything else is then contradicted."""


@frozen
class DetectedLine:
    """A line of a change, or a command, that a card's ``detect`` pattern matches."""

    card: str
    """Id of the card."""
    where: str
    """``path:line``, or ``command``."""
    quote: str
    """Text of the line."""


ANSWER, COMMAND = "answer", "command"
"""Place of a quote that is not a line of a file."""

SHOWN, DENIED, CONTRADICTED, CLAIMED, OPEN = STATES = (
    *("shown", "denied", "contradicted", "claimed", "open"),
)
"""States of an item after a post-check. *shown*: there is evidence that it was done. *denied*: the
agent says that it was not done. *contradicted*: the agent says that it was done, but the evidence
says otherwise. *claimed*: the agent says that it was done, and there is no evidence either way.
*open*: neither evidence nor a statement."""


DETECTED, NO_TEST_RUN, TESTS_FAILED, NOT_RUN, NOT_CHANGED, NO_TEST_WRITTEN, NO_CHANGE = REASONS = (
    "detected",
    "no test run",
    "tests failed",
    "command not run",
    "file not changed",
    "no test written",
    "no change",
)
"""Reasons why an item is contradicted. DETECTED: the change contains the mistake. NO_TEST_RUN,
TESTS_FAILED: the answer says that tests pass, but none ran, or the last run failed. The others: the
answer names a command that did not run, a file that was not changed, a test although none was
written, or a change although none was made."""


@frozen
class CheckedItem:
    """A checklist item with its state after a post-check."""

    card: Card
    item: str
    state: str
    """One of STATES."""
    quote: str = ""
    """The line of an edit, the command or the sentence that decided the state. For an open item,
    the nearest sentence of the answer, if any."""
    where: str = ""
    """Place of ``quote``: ``path:line``, ``path``, ANSWER or COMMAND."""
    reason: str = ""
    """One of REASONS for a contradicted item, else ""."""
    terms: tuple[str, ...] = ()
    """Words of the item that appear neither in the answer nor in the evidence."""

    @property
    def denied(self) -> bool:
        """Whether the answer says that the item was not done."""
        return self.state == DENIED


@frozen
class Check:
    """The result of a post-check."""

    items: tuple[CheckedItem, ...] = ()
    """In the order of cards and checklists; conditions and statements are left out."""
    trouble: str = ""
    """Why the user's program for checks (``check.command``) failed, in one line; "" if it did
    not."""
    ignored: tuple[CheckedItem, ...] = ()
    """Open items whose evidence would have been visible and was not seen: to be named."""

    @property
    def unaddressed(self) -> tuple[CheckedItem, ...]:
        """All items that are neither shown nor closed by the agent."""
        return tuple(item for item in self.items if item.state not in (SHOWN, CLAIMED))

    @property
    def checked(self) -> int:
        """The number of checked items."""
        return len(self.items)


CALLS = ("tool", "read", "edit", "create", "remove", "command", "test")
"""Kinds of tool calls. ``tool`` is any other call. ``create`` writes a whole file, ``edit`` a part
of it. If an agent runs tests, that is a ``command``; a ``test`` is a run by ``lessons run``."""

EVENTS = (
    *("prompt", "answer", "feedback", "interrupt", "compaction"),
    *CALLS,
    *("rollback", "rejection", "stage", "preflight"),
)
"""Kinds of events. ``rejection``: a call was denied. ``stage``: a workflow stage ended.
``preflight``: a command, MCP or the library, not a hook, asked for lessons."""

FAILURES = ("invalid_arguments", "tool_not_found", "exec_error", "api_error", "permission_denied")
DONE = ("ok", "unknown")
"""Outcomes of calls that ended and are not known to have failed. ``unknown``: the call ended with
an unknown result. Guards treat it as a success."""

OUTCOMES = (*DONE, "cancelled", *FAILURES)

BLOCK_TOLD, ACT_TOLD, OFFER_TOLD, OPENED = "block", "act", "offer", "opened"
"""How a session got a lesson: in the block for a prompt, with a change or an error, as an offer by
title, or by reading its file."""
WITHHELD = "withheld"
"""Stands in place of these if the experiment withheld the lesson."""

AVOIDED, CORRECTED, LEFT, CAME_BACK = KNOWN_OUTCOMES = ("avoided", "corrected", "left", "came back")
UNKNOWN_OUTCOME = "unknown"
FAILED = (LEFT, CAME_BACK)
"""Outcomes of a session for which a lesson was due. AVOIDED: the mistake was not made. CORRECTED:
it was made and corrected. LEFT: it was made and left. CAME_BACK: it was left, or counted again by
`bump`, although the session and an earlier one had the lesson. UNKNOWN_OUTCOME: there is no
evidence. FAILED has the bad outcomes."""
FACTS = PATTERN_FACT, ERROR_FACT, TEST_FACT = ("pattern", "error", "test")
"""Evidence of an outcome: a ``detect`` pattern in a change or command, the signature of an error,
or a failing test. A fourth kind, a bump, does not depend on the card."""


@frozen
class Occasion:
    """A session, or a subagent's part of one, for which a lesson was due."""

    session: str
    card: str
    at: float
    """When the lesson was due, in seconds since the epoch."""
    occasion: str
    """``prompt``, ``error``, ``command``, or ``change`` with the file."""
    told: str
    """BLOCK_TOLD, ACT_TOLD, OFFER_TOLD, OPENED or WITHHELD."""
    outcome: str = UNKNOWN_OUTCOME
    """One of KNOWN_OUTCOMES, or UNKNOWN_OUTCOME."""
    fact: str = ""
    """Evidence of the outcome: one of FACTS, ``bump``, or ""."""


LEVELS = ("note", "nudge", "escalate")


@frozen
class Event:
    """One observation of a session. A tool call is one event, created when its outcome is known."""

    kind: str
    """One of EVENTS."""
    at: float = 0.0
    """Seconds since the epoch."""
    session: str = ""
    id: str = ""
    """Id of the call or prompt. Two reports with the same session, id and kind are one event,
    unless their prompts differ; the id of the later prompt is then extended after a ``+``."""
    agent: str = ""
    scope: str = ""
    """The workspace: its root as a POSIX path, or any name."""
    stage: str | None = None
    tool: str = ""
    """The agent's name of the tool; "" if there was no call of its own, as for a file that a
    command changed."""
    targets: tuple[str, ...] = ()
    """The affected files: POSIX paths relative to the scope, or absolute outside of it."""
    arguments: str = ""
    """Digest of the call's arguments, equal for equal calls; "" = unknown."""
    step: str = ""
    """Identifies the model's message that made the call; "" = unknown. Parallel calls have the same
    step: the model made them before it saw the outcome of any. Not stored in the journal."""
    outcome: str = "ok"
    """One of OUTCOMES."""
    text: str = ""
    """The prompt, the answer, the feedback, the summary or the command line."""
    output: str = ""
    """Excerpt of the error, of the end of the output, or of the text that an edit writes."""
    record: dict[str, object] = field(default_factory=dict)
    """Further plain JSON data: ``before`` (the text that an edit replaced), ``run`` (the end of a
    captured command), ``signals`` (the records of the guards), ``lessons`` (the lessons given and
    suppressed for a prompt)."""


@frozen
class Signal:
    """A guard's response to an event."""

    guard: str
    level: str
    """One of LEVELS. ``note``: a remark in the result. ``nudge``: guidance for the model.
    ``escalate``: stop the turn, which the user can resume."""
    message: str
    """Text for the model."""
    user_line: str = ""
    """Text for the user; "" = nothing to show."""
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
