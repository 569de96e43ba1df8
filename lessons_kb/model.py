"""The domain model on one page: frozen, keyword-only values without behaviour."""

from __future__ import annotations

from typing import Any

from lessons_kb.values import field, frozen, is_value, list_fields

KINDS = ("lesson", "playbook", "qa-finding")
NOTE = "note"
SERVED = "@server:"
"""The part that marks the id of a card on a server, which is not a local file.

An example of such an id is ``shop@server:lessons/…``.
"""
SEVERITIES = ("low", "medium", "high")
RULE = "rule"
"""The source of a card from a rules file. Only its paths and commands inject such a card."""
SOURCES = ("curated", "auto", RULE)
DRAFT = "draft"
"""The status of a card that waits for review; it is never injected."""
STATUSES = ("active", "ignored", "archived", DRAFT)
NO_GATE, ASK_GATE, ONCE_GATE, STRICT_GATE = GATES = ("none", "ask", "once", "strict")
EVIDENCE = ("evidenced", "anecdotal", "disputed")

MAX_WHY = 160
"""The maximum number of characters of a ``Why:`` line's text, including the ellipsis."""
FIELDS = ("title", "tags", "symptoms", "checklist", "situation", "body")
"""Indexed fields. ``body`` is the text of the whole file; the others repeat parts of it."""


PATTERNS = ("regex", "ast", "command", "error")
"""The kinds of ``detect`` patterns: a regular expression over code, a syntax pattern, a regular
expression over commands, or the signature of an error."""
RELATIONS = ("inside", "has", "follows", "not-inside", "not-has", "not-follows")
"""The relations that a syntax pattern may have to other code."""


@frozen
class Pattern:
    """A pattern that detects a mistake in code, in a command or in an error."""

    kind: str
    """One of PATTERNS."""
    text: str
    files: tuple[str, ...] = ()
    """Gitignore-style globs of the files to search. If it is empty, every file is searched."""
    language: str = ""
    """The language of an ``ast`` pattern; "" means the language of the file."""
    unless: str = ""
    """A regular expression. Matches of the pattern do not count on lines that it matches."""
    relations: tuple[tuple[str, str], ...] = ()
    """Pairs of one of RELATIONS and a syntax pattern or a word. All relations must be true."""
    bad: tuple[str, ...] = ()
    """Code or commands that the pattern must find."""
    good: tuple[str, ...] = ()
    """Code or commands that the pattern must not find."""


@frozen
class Standing:
    """The relation of a card to the present state of its project.

    It is derived from the history of the project when the index is refreshed, and stored with the
    card in the catalogue.
    """

    silenced: str = ""
    """A line which says that all code of the card was removed, so that the card is not injected.

    It is "" if some of the code still exists.
    """
    unmet: str = ""
    """The reason why the card's condition (``when``) is false, in one line; "" if it is not false.

    A card with such a reason is not injected.
    """
    caveat: str = ""
    """The remark that the block adds to the card, of at most 12 tokens; "" if there is none."""
    follows: tuple[str, ...] = ()
    """Globs of files that the card guards in addition to its ``paths``, because the files were
    moved there."""
    moved: tuple[tuple[str, str], ...] = ()
    """Pairs of an entry of ``paths`` and the glob that matches its files today."""
    gone: tuple[tuple[str, str], ...] = ()
    """Pairs of a name that no longer exists and the commit that removed it ("" if unknown)."""
    changed: tuple[tuple[str, int], ...] = ()
    """Pairs of a file and the number of commits that changed it since ``confirmed``."""
    yields_to: tuple[str, ...] = ()
    """The ids of cards of the same brain that contradict it and are given in its place."""

    @property
    def silence(self) -> str:
        """The reason why the card is not injected, in one line; "" if the card may be injected."""
        return self.silenced or self.unmet


CURRENT = Standing()
"""The standing of a card whose project has no known changes that concern the card."""


@frozen
class Card:
    """The content of a usable Markdown file: a lesson, playbook, finding or note."""

    id: str
    """POSIX path relative to its brain."""
    kind: str
    """One of KINDS, or NOTE."""
    title: str
    topics: tuple[str, ...] = ()
    """The values of ``applies-to``, ``tags`` and similar keys."""
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
    """One of GATES, for a call that the card is about. ASK_GATE, for a card of high severity, makes
    the agent ask its user first. ONCE_GATE refuses the call once; the repeated call passes.
    STRICT_GATE works in the same way, but also refuses a call about which no gate can decide."""
    evidence: str | None = None
    supported_by: tuple[str, ...] = ()
    reopen_when: str | None = None
    detect: tuple[Pattern, ...] = ()
    """Patterns of the mistake, in the order of the header; unusable patterns are left out."""
    why: str = ""
    """The first sentence of Root Cause, or else of Mistake / Risk, as one line of any length."""
    checklist: tuple[str, ...] = ()
    """The items to verify, as plain text, one line each. Notes and some cards have no items."""
    shown_by: tuple[str, ...] = ()
    """A regular expression for each item that finds its evidence, or "" for an item without one.
    The tuple is empty if no item has such an expression."""
    conditional: bool = False
    """Whether the items are conditions for the use of the card. Such items are not checked."""
    template: bool = False
    """Whether the card is still the unfilled template, or has neither a readable title nor advice.
    A search finds such a card, but it is never injected."""
    confirmed: str | None = None
    """ISO date on which a person last found the card true."""
    stale_after: str | None = None
    """ISO date from which the card waits for `lessons confirm`."""
    supersedes: tuple[str, ...] = ()
    """The cards that this card replaces, by path or file name."""
    superseded_by: str | None = None
    """The card that replaces this card."""
    contradicts: tuple[str, ...] = ()
    """The cards that no block may have beside this card, by path or file name."""
    when: tuple[str, ...] = ()
    """Conditions about versions of the project's packages, such as ``pandas<2``."""
    enforced_by: str | None = None
    """A rule of the project's linter that finds the mistake, such as ``ruff:S602``."""
    escalated: str | None = None
    """ISO date and time of the last step that `lessons escalate` took."""
    standing: Standing = CURRENT
    """The changes of the project since the card was written. They are not part of its file."""

    @property
    def latest_day(self) -> str:
        """The day on which the mistake was last seen or the card was written; "" if unknown."""
        return max(self.last_seen or "", self.created or "")

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
        """Whether an agent may see the card."""
        is_usable = self.status == "active" and not self.template and self.kind != NOTE
        return is_usable and not self.standing.silence


INVALID_HEADER = "header-not-yaml"
"""The rule of a finding about a header that YAML cannot read."""


@frozen
class Finding:
    """A problem of a file, with its fix."""

    path: str
    """POSIX path relative to the brain."""
    line: int
    """The 1-based line; 0 for the whole file."""
    rule: str
    """A stable kebab-case name, such as ``not-utf-8``."""
    message: str
    fix: str
    level: str = "warning"
    """``error`` (the file is not used), ``warning`` or ``info``."""


COMMIT_SOURCE, REQUEST_SOURCE, SESSION_SOURCE, FILE_SOURCE = ORIGINS = (
    *("commit", "pull-request", "session", "file"),
)
"""The schemes of a source's ``resource``. A resource with another scheme is an address."""


@frozen
class Source:
    """An entry of a card's ``sources``: the origin of the lesson."""

    resource: str
    """``commit:HASH``, ``pull-request:NAME``, ``session:HASH``, ``file:PATH#L12`` or an address."""
    title: str = ""
    """A description of the source, such as the subject of the commit."""
    last_modified: str = ""
    """An ISO date, with a time if the time is known."""
    quote: str = ""
    """A quote of at most 200 characters, without secrets."""

    @property
    def scheme(self) -> str:
        """The part of ``resource`` before its colon, such as ``commit``."""
        return self.resource.partition(":")[0]

    @property
    def name(self) -> str:
        """The part of ``resource`` after its colon, such as a commit's hash."""
        return self.resource.partition(":")[2]


GLOB, FILE, SYMBOL = ANCHORS = ("glob", "file", "symbol")
"""The kinds of anchors: an entry of ``paths``, or a file or a symbol that the card's text names."""


@frozen
class Anchor:
    """A name by which a card refers to the code of its project."""

    kind: str
    """One of ANCHORS."""
    name: str
    """A glob, a POSIX path or the end of one, or the last part of a dotted name."""
    is_core: bool = True
    """Whether the lesson depends on the name, because it is in ``paths``, the title, the cause or
    the checklist."""


@frozen
class Document:
    """A parsed Markdown file."""

    card: Card | None
    """The card, or None if the file cannot be used. The findings then give the reason."""
    fields: dict[str, str]
    """A mapping from each name in FIELDS to the text to index."""
    findings: tuple[Finding, ...] = ()
    body: str = ""
    """The Markdown after the header."""
    checklist_lines: tuple[int, ...] = ()
    """The 1-based line in the file of each item of ``card.checklist``."""
    key_lines: dict[str, int] = field(default_factory=dict)
    """The 1-based line in the file of each key of the header."""
    body_line: int = 1
    """The 1-based line in the file at which ``body`` begins."""
    anchors: tuple[Anchor, ...] = ()
    """The names of files and code to which the card refers, as its text spells them."""
    sources: tuple[Source, ...] = ()
    """The origins of the lesson, according to its header."""


@frozen
class Query:
    """A query for the cards of a brain."""

    text: str
    project: str | None = None
    """The name of the project, or None if it is unknown. Cards that name a project are then left
    out."""
    stage: str | None = None
    paths: tuple[str, ...] = ()
    """The files of the task, as POSIX paths relative to the project root."""
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
    """The sum of ``bm25`` and ``meaning``, multiplied by every factor. If several brains are
    merged, the scores are scaled so that the score of each brain's best hit is its confidence."""
    bm25: float
    meaning: float = 0.0
    """Semantic similarity, which is added to ``bm25`` before the factors."""
    factors: tuple[tuple[str, float], ...] = ()
    matched: tuple[str, ...] = ()
    """The query terms that occur in the card, most distinctive first."""
    confidence: float = 0.0
    """The gate's confidence, 0 to 1, that the card is about the query. It can be compared between
    brains."""
    passed: bool = False
    reason: str = ""
    """The reason why the card passed the gate or was suppressed, in one line."""
    brain: str = ""
    """The alias of the brain. It is set only if several brains have a card with this id."""
    parts: tuple[tuple[int, ...], ...] = ()
    """The parts of the query each of which suffices for the card to be given, best first. A part is
    a tuple of positions. The value is () if the words of the query do not decide."""
    leads: tuple[tuple[int, ...], ...] = ()
    """The members of ``parts`` for which no other card has nearly the same confidence."""
    lesson_at: float = 0.5
    """The minimum confidence at which the brain gives a lesson."""
    title_at: float = 0.15
    """The minimum confidence at which the brain offers a title."""


@frozen
class Preflight:
    """The block for an agent, and the hits from which it was built."""

    text: str
    """The block, or "" if no lesson applies."""
    lessons: tuple[Hit, ...] = ()
    notes: tuple[Hit, ...] = ()
    offered: tuple[Hit, ...] = ()
    """Hits that are offered by title; the agent can open them."""
    withheld: tuple[Hit, ...] = ()
    """The hits that are not in the block, each with its ``reason``. Lessons that the experiment
    withholds from the session are not among them."""
    tokens: int = 0
    """The size of the block in tokens."""


@frozen
class Edit:
    """A change of a file, with the text that it added and removed."""

    path: str
    """The POSIX path; "" if it is unknown."""
    text: str = ""
    """The added lines; all lines of a new file."""
    before: str = ""
    """The removed lines."""
    numbers: tuple[int, ...] = ()
    """The 1-based line in the file of each line of ``text``; empty if the lines are unknown."""
    earlier: bool = False
    """Whether the change was made before the checked turn. Such a change can support a claim, but
    it does not show that an item is done."""


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
    """The actions of an agent, without the files that it only read."""

    edits: tuple[Edit, ...] = ()
    commands: tuple[Command, ...] = ()
    complete: bool = False
    """Whether the evidence is complete. A claim of any other action is then contradicted."""


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
"""The place of a quote that is not a line of a file."""

SHOWN, DENIED, CONTRADICTED, CLAIMED, OPEN = STATES = (
    *("shown", "denied", "contradicted", "claimed", "open"),
)
"""The states of an item after a post-check. *shown*: there is evidence that it was done. *denied*:
the agent says that it was not done. *contradicted*: the agent says that it was done, but the
evidence refutes this. *claimed*: the agent says that it was done, and there is no evidence for or
against this. *open*: there is neither evidence nor a statement."""


DETECTED, NO_TEST_RUN, TESTS_FAILED, NOT_RUN, NOT_CHANGED, NO_TEST_WRITTEN, NO_CHANGE = REASONS = (
    "detected",
    "no test run",
    "tests failed",
    "command not run",
    "file not changed",
    "no test written",
    "no change",
)
"""The reasons why an item is contradicted. DETECTED: the change contains the mistake. NO_TEST_RUN
and TESTS_FAILED: the answer says that tests pass, but no test ran, or the last run failed. The
other reasons: the answer names a command that did not run, a file that was not changed, a test
although no test was written, or a change although no change was made."""


@frozen
class CheckedItem:
    """A checklist item with its state after a post-check."""

    card: Card
    item: str
    state: str
    """One of STATES."""
    quote: str = ""
    """The line of an edit, the command or the sentence that decided the state. For an open item, it
    is the sentence of the answer that is nearest to the item, if there is one."""
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
    """The items in the order of cards and checklists, without conditions and statements."""
    trouble: str = ""
    """The reason why the user's program for checks (``check.command``) failed, in one line; "" if
    it did not fail."""
    ignored: tuple[CheckedItem, ...] = ()
    """The open items whose evidence would have been visible but is missing. They must be named."""

    @property
    def unaddressed(self) -> tuple[CheckedItem, ...]:
        """All items that are neither shown nor closed by the agent."""
        return tuple(item for item in self.items if item.state not in (SHOWN, CLAIMED))

    @property
    def checked(self) -> int:
        """The number of checked items."""
        return len(self.items)


CALLS = ("tool", "read", "edit", "create", "remove", "command", "test")
"""The kinds of tool calls. ``create`` writes a whole file, and ``edit`` a part of a file. A
``command`` includes the tests that an agent runs, while a ``test`` is a run by ``lessons run``.
``tool`` is any other call."""
CHANGES = ("edit", "create", "remove")
"""The kinds of tool calls that change files."""

EVENTS = (
    *("prompt", "answer", "feedback", "interrupt", "compaction"),
    *CALLS,
    *("rollback", "rejection", "stage", "preflight"),
)
"""The kinds of events. ``rejection``: a call was denied. ``stage``: a workflow stage ended.
``preflight``: a command, MCP or the library requested lessons, but not a hook."""

FAILURES = ("invalid_arguments", "tool_not_found", "exec_error", "api_error", "permission_denied")
DONE = ("ok", "unknown")
"""Outcomes of calls that ended and are not known to have failed. ``unknown``: the call ended with
an unknown result. Guards treat it as a success."""

OUTCOMES = (*DONE, "cancelled", *FAILURES)

BLOCK_TOLD, ACT_TOLD, OFFER_TOLD, OPENED = "block", "act", "offer", "opened"
"""The ways in which a session receives a lesson: in the block for a prompt, with a change or an
error, as an offer by title, or by reading its file."""
WITHHELD = "withheld"
"""The value in place of these ways if the experiment withheld the lesson."""

AVOIDED, CORRECTED, LEFT, CAME_BACK = KNOWN_OUTCOMES = ("avoided", "corrected", "left", "came back")
UNKNOWN_OUTCOME = "unknown"
FAILED = (LEFT, CAME_BACK)
"""The outcomes of a session for which a lesson was due. AVOIDED: the mistake was not made.
CORRECTED: it was made and corrected. LEFT: it was made and not corrected. CAME_BACK: it was not
corrected, or `bump` counted it again, although the session and an earlier session had the lesson.
UNKNOWN_OUTCOME: there is no evidence. FAILED contains the bad outcomes."""
FACTS = PATTERN_FACT, ERROR_FACT, TEST_FACT = ("pattern", "error", "test")
"""The kinds of evidence of an outcome: a ``detect`` pattern in a change or command, the signature
of an error, or a failing test. A fourth kind, a bump, does not depend on the card."""


@frozen
class Occasion:
    """A session, or a subagent's part of one, for which a lesson was due."""

    session: str
    card: str
    at: float
    """The time at which the lesson was due, in seconds since the epoch."""
    occasion: str
    """``prompt``, ``error``, ``command``, or ``change`` with the file."""
    told: str
    """BLOCK_TOLD, ACT_TOLD, OFFER_TOLD, OPENED or WITHHELD."""
    outcome: str = UNKNOWN_OUTCOME
    """One of KNOWN_OUTCOMES, or UNKNOWN_OUTCOME."""
    fact: str = ""
    """The evidence of the outcome: one of FACTS, ``bump``, or "" for none."""


LEVELS = ("note", "nudge", "escalate")


@frozen
class Event:
    """One observation of a session. A tool call is one event, created when its outcome is known."""

    kind: str
    """One of EVENTS."""
    at: float = 0.0
    """The time in seconds since the epoch."""
    session: str = ""
    id: str = ""
    """The id of the call or prompt. Two reports with the same session, id and kind are one event,
    unless their prompts differ. The id of the later prompt is then extended after a ``+``."""
    agent: str = ""
    scope: str = ""
    """The workspace: its root as a POSIX path, or any name."""
    stage: str | None = None
    tool: str = ""
    """The agent's name of the tool; "" if there was no separate call, such as for a file that a
    command changed."""
    targets: tuple[str, ...] = ()
    """The affected files: POSIX paths relative to the scope, or absolute outside of it."""
    arguments: str = ""
    """The digest of the call's arguments, which is equal for equal calls; "" if it is unknown."""
    step: str = ""
    """The id of the model's message that made the call; "" if it is unknown. Parallel calls have
    the same step, because the model made them before it saw any of their outcomes. The journal does
    not store it."""
    outcome: str = "ok"
    """One of OUTCOMES."""
    text: str = ""
    """The prompt, the answer, the feedback, the summary or the command line."""
    output: str = ""
    """An excerpt of the error, of the end of the output, or of the text that an edit writes."""
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
    """Text for the user; "" if there is nothing to show."""
    record: dict[str, object]
    """Plain JSON data for the journal; its key ``kind`` names the signal."""


def as_data(value: Any) -> Any:
    """Return plain JSON data: a dataclass as a dict of its fields, a tuple as a list."""
    if is_value(value):
        return {name: as_data(getattr(value, name)) for name in list_fields(value)}
    if isinstance(value, (tuple, list)):
        return [as_data(item) for item in value]
    if isinstance(value, dict):
        return {key: as_data(item) for key, item in value.items()}
    return value
