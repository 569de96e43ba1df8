"""The MCP tools. Each parses its arguments, calls the facade once, and renders the result.

The docstring of a tool is its description, which models read.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import lru_cache
from typing import Annotated, Any, Literal, NotRequired, Protocol, TypeVar, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import (  # re-exported
    ResourceNotFoundError as ResourceNotFoundError,  # noqa: PLC0414
)
from mcp.server.mcpserver.exceptions import ToolError as ToolError  # noqa: PLC0414 re-exported
from mcp.types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from lessons_kb import render
from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.current_session import session_of
from lessons_kb.errors import BrainNotFound, CardNotFound, InputError, LessonsError, Untrusted
from lessons_kb.library import Library
from lessons_kb.model import KINDS, NOTE, Card, Hit, Pattern, Query
from lessons_kb.service.mcp.session_history import HISTORY_EVENTS, read_history
from lessons_kb.session.opened_cards import open_for
from lessons_kb.store.card_files import read_template
from lessons_kb.store.error_log import log_trouble
from lessons_kb.text.sanitize import clean, defang, defang_line

_HEADER = "mcp-session-id"


@asynccontextmanager
async def connect(_server: object) -> AsyncIterator[str]:
    """Yield a name for this run of the server. The run is one connection over stdio, and all
    connections over HTTP.
    """
    yield f"mcp-{secrets.token_hex(8)}"


def session_of_call(context: Context[Any], named: str | None) -> str:
    """Return the session of a call, which is ``named`` or else the session of its connection.

    Over stdio, the session in the agent's environment is preferred to the connection. Over HTTP
    without protocol sessions, callers cannot be distinguished, and each day is one session.
    """
    if named:
        return named
    connection = str(context.request_context.lifespan_context)
    headers = context.headers
    if headers is None:
        return session_of()[0] or connection
    protocol_session = headers.get(_HEADER)
    if protocol_session:
        digest = hashlib.blake2b(protocol_session.encode(), digest_size=8).hexdigest()
        return f"mcp-{digest}"
    return f"{connection}-{dt.datetime.now(tz=dt.UTC).astimezone().date()}"


# The annotations below are not deferred: the SDK reads them when the tools are registered.


Directory = Annotated[
    str | None, Field(description="Where you work; default: the server's folder.")
]
Session = Annotated[str | None, Field(description="Your session's id: no lesson comes twice.")]
Paths = Annotated[list[str] | None, Field(description="Files at hand, from the project root.")]
CardId = Annotated[str, Field(min_length=1, description="Id, slug or prefix.")]
Texts = list[str] | None
Data = dict[str, Any]
"""An answer without an output schema."""
Answer = Callable[[str, Data], str]
UNLISTED = ("lessons_hook",)
"""Tools that only agents' settings call. They are not listed, so that no model pays for them."""
HOOK_SECONDS = 2.0
"""Time limit of a hook. An agent waits for its hooks, so that a late answer does harm."""
_MOST_MATCHES = 4
"""The maximum number of matches. It is more than a prompt ever gets, because the client's own brain
may contain some of them.
"""
_LINE_CHARS = 300
_HOUR = 3_600
"""The maximum age, in seconds, of the newest prompt whose session is used."""
_CARD_FIELDS = (
    *("id", "kind", "title", "severity", "status", "occurrences", "last_seen"),
    *("topics", "paths", "symptoms", "why", "checklist"),
)
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_NOTES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_REWRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


class _Named(TypedDict):
    id: str
    kind: str
    title: str
    severity: str
    occurrences: int


class Found(_Named):
    """A card or note in a result, with its score."""

    score: float
    confidence: float
    passed: bool
    reason: str


class Block(TypedDict):
    """The lessons for a task; ``block`` is "" if none is relevant."""

    block: str
    tokens: int
    footer: str
    lessons: list[Found]
    context: list[Found]
    offered: list[Found]
    skipped: NotRequired[str]


class Hits(TypedDict):
    """Search results, best first. ``skipped`` names brains with too many files to index all."""

    hits: list[Found]
    skipped: NotRequired[str]


Answered = TypeVar("Answered", Block, Hits)


class Matched(_Named):
    """A lesson for a task, with all fields that a client needs to add it to its own block."""

    why: str
    checklist: list[str]
    shown_by: list[str]
    conditional: bool
    paths: list[str]
    gate: str
    detect: list[dict[str, Any]]
    score: float
    confidence: float


class Matches(TypedDict):
    """The lessons for a task, best first. The question is not recorded."""

    lessons: list[Matched]


class CheckedItem(TypedDict):
    """The outcome of a checklist item."""

    id: str
    title: str
    item: str
    state: str
    quote: str
    where: str
    reason: str
    terms: list[str]


class Checked(TypedDict):
    """The outcome of a post-check."""

    checked: int
    items: list[CheckedItem]
    unaddressed: list[str]
    trouble: str


class Proposed(TypedDict):
    """A draft that waits for the user."""

    id: str
    path: str
    missing: list[str]
    similar: list[str]
    next: str


class Brains(Protocol):
    """The source of open brains: an ``OpenBrains``, or one brain that a server shares."""

    def find(self, directory: str | None = None, /) -> Library:
        """Return the open brains of a directory. Raises Untrusted and BrainNotFound."""


def show_block(data: Data) -> Block:
    """Return a rendered preflight in the shape of the tool's answer. ``data`` is {} if there are no
    lessons.
    """
    empty: Data = {"block": "", "tokens": 0, "footer": ""}
    block = {name: data.get(name, value) for name, value in empty.items()}
    for name in ("lessons", "context", "offered"):
        block[name] = [_show_hit(hit) for hit in data.get(name, ())]
    return cast(Block, block)


def _show_hit(hit: Data) -> Found:
    return cast(Found, {field: hit[field] for field in Found.__annotations__})


_show_line = lru_cache(maxsize=10_000)(defang_line)  # the same cards are shown again and again


def _show_match(hit: Hit) -> Matched:
    """Return a lesson in the shape that a client merges with its own lessons."""
    card = hit.card
    fields: Data = {field: getattr(card, field, None) for field in Matched.__annotations__}
    fields |= {
        "title": _show_line(card.title),
        "why": _show_line(card.why),
        "checklist": [_show_line(item) for item in card.checklist],
        "detect": [_show_pattern(pattern) for pattern in card.detect],
        "score": hit.score,
        "confidence": hit.confidence,
    }
    return cast(Matched, fields)


def _show_pattern(pattern: Pattern) -> Data:
    """Return the fields of a pattern that are not empty."""
    fields: Data = {
        pattern.kind: pattern.text,
        "files": [*pattern.files],
        "language": pattern.language,
        "unless": pattern.unless,
    }
    return {key: value for key, value in fields.items() if value}


def _add_skipped(answer: Answered, brains: Library) -> Answered:
    """Add the brains whose files are not all indexed to an answer.

    Their paths are left out, because the client may run on another machine.
    """
    lines = [
        brain.describe_unindexed().replace(brain.root, brain.alias, 1) for brain in brains.members
    ]
    skipped = defang_line(" ".join(filter(None, lines)))
    if skipped:
        answer["skipped"] = skipped
    return answer


def _read_card(brains: Library, name: str, session: str, asked_by: str) -> tuple[Card, str]:
    """Return a card and its Markdown, defanged so that it cannot imitate a message of another
    role.
    """
    brain, card = brains.cards.find(name)
    open_for(session, brains, (brain, card), asked_by=asked_by)
    return card, defang(clean(brains.cards.read(name)[1].body)).strip()


def _show_fields(card: Card, *fields: str) -> Data:
    """Return fields of a card, each text as one defanged line."""
    values: Data = {field: getattr(card, field) for field in fields}
    for field, value in values.items():
        if isinstance(value, tuple):
            values[field] = [defang_line(item) for item in value]
        elif isinstance(value, str):
            values[field] = defang_line(value)
    return values


def substituted(event: Any) -> Any:
    """Return a hook's event with the values that the agent has inserted into the tool's arguments.

    Placeholders without a value are left out. Objects and flags, which arrive as texts, are parsed.
    """
    if not isinstance(event, dict):
        return event
    fields = {}
    for key, value in event.items():
        is_text = isinstance(value, str)
        if is_text and value.startswith("${") and value.endswith("}"):
            continue
        if key == "is_interrupt":
            fields[key] = value in (True, "true")
            continue
        fields[key] = value
        if is_text and key in ("tool_input", "tool_response") and value.startswith("{"):
            with suppress(ValueError):
                fields[key] = json.loads(value)
        fields[key] = substituted(fields[key])
    return fields


def _describe_event(event: Data) -> str:
    """Return one line about an event of the journal."""
    words = (event["kind"], event["tool"], ", ".join(event["targets"][:3]), event["outcome"])
    head = " · ".join(word for word in words if word and word != "ok")
    return defang_line(f"{head}: {event['text'] or event['output']}")[:_LINE_CHARS]


@contextmanager
def _tool_errors() -> Iterator[None]:
    """Turn our errors, whose messages contain advice, into ToolError."""
    try:
        yield
    except CardNotFound as error:
        raise ToolError(f"{defang_line(str(error))}; lessons_search finds ids") from None
    except LessonsError as error:
        raise ToolError(defang_line(str(error))) from None


class Tools:
    """The tools over one workspace. Several threads may call them at once."""

    def __init__(self, workspace: Brains, answer_hook: Answer | None) -> None:
        self._workspace = workspace
        self._answer_hook = answer_hook

    def _asked_by(self, brains: Library) -> str:
        """Return the agent's session. The lessons withheld from it are left out of answers.

        Few agents pass their session to MCP servers. Otherwise, the session of the newest prompt is
        used.
        """
        session = session_of()[0]
        if session or self._answer_hook is None:  # the organisation's server: others' sessions
            return session
        since = time.time() - _HOUR
        newest = brains.members[0].journal.events.find(kinds=("prompt",), since=since, limit=1)
        return newest[0].session if newest else ""

    def register(self, server: MCPServer) -> None:
        """Add the tools, the resource and the prompt to a server."""
        for tool, title, hints in (
            (self.lessons_preflight, "Lessons for a task", _NOTES),
            (self.lessons_search, "Search lessons", _READS),
            (self.lessons_get, "Read a lesson", _READS),
            (self.lessons_check, "Check an answer", _READS),
            (self.lessons_propose, "Propose a lesson", _REWRITES),
            (self.lessons_bump, "Count a mistake again", _NOTES),
            (self.lessons_mark, "Mark a lesson", _NOTES),
            (self.session_history, "Session history", _READS),
        ):
            description = " ".join((tool.__doc__ or "").split())
            server.tool(title=title, annotations=hints, description=description)(tool)
        server.tool(structured_output=False)(self.lessons_hook)
        server.resource(
            "lesson://{+id}", title="A lesson", mime_type="text/markdown", name="lesson"
        )(self.lesson)
        server.prompt(title="Look back on a session")(self.retrospective)

    @_tool_errors()
    def lessons_preflight(
        self,
        prompt: Annotated[str, Field(description="The task, as the user put it.")],
        paths: Paths = None,
        stage: Annotated[str | None, Field(description="Workflow stage, such as DEV.")] = None,
        session: Session = None,
        budget: Annotated[int | None, Field(ge=0, le=100_000, description="Tokens.")] = None,
        context: Annotated[bool, Field(description="Add excerpts of notes.")] = False,
        directory: Directory = None,
    ) -> Block:
        """Return the few lessons that matter for a task, as a checklist to verify before you
        finish, and titles of others that may, for lessons_get; empty when none is relevant.
        """
        try:
            brains = self._workspace.find(directory)
        except Untrusted:  # a brain that the user does not trust yet stays silent
            return show_block({})
        preflight = brains.preflight(
            prompt,
            paths=paths or (),
            stage=stage,
            session=session,
            budget=budget,
            context=context,
            asked_by=session or self._asked_by(brains),
        )
        data = render.block_data(preflight, brains.members[0].settings.language)
        return _add_skipped(show_block(data), brains)

    @_tool_errors()
    def lessons_match(
        self,
        prompt: Annotated[str, Field(min_length=1, max_length=20_000)],
        directory: Directory = None,
    ) -> Matches:
        """Return the lessons for a task as data, for a client that adds them to its own.

        No model is offered this, and nothing is noted: the client knows what it injects.
        """
        hits = self._workspace.find(directory).find_lessons(Query(text=prompt))
        passed = [hit for _brain, hit in hits if hit.passed]
        return Matches(lessons=[_show_match(hit) for hit in passed[:_MOST_MATCHES]])

    @_tool_errors()
    def lessons_search(
        self,
        query: Annotated[str, Field(min_length=1, description="Words, an error, file names.")],
        kinds: Annotated[
            list[Literal["lesson", "playbook", "qa-finding", "note"]] | None,
            Field(description="Default: all."),
        ] = None,
        stage: str | None = None,
        paths: Paths = None,
        limit: Annotated[int, Field(ge=1, le=50)] = 10,
        directory: str | None = None,
    ) -> Hits:
        """Search cards and notes, best first. ``passed`` says whether a hit is relevant."""
        brains = self._workspace.find(directory)
        hits = brains.search(
            query,
            kinds=tuple(kinds or (*KINDS, NOTE)),
            stage=stage,
            paths=paths or (),
            limit=limit,
            asked_by=self._asked_by(brains),
        )
        return _add_skipped(Hits(hits=[_show_hit(render.hit_data(hit)) for hit in hits]), brains)

    @_tool_errors()
    def lessons_get(
        self,
        id: CardId,  # noqa: A002
        context: Context[Any],
        directory: str | None = None,
    ) -> Data:
        """Read one whole card."""
        brains = self._workspace.find(directory)
        session = session_of_call(context, None)
        card, text = _read_card(brains, id, session, self._asked_by(brains))
        return {**_show_fields(card, *_CARD_FIELDS), "text": text}

    @_tool_errors()
    def lessons_check(
        self,
        answer: Annotated[str, Field(description="What you are about to tell the user.")],
        cards: Annotated[
            Texts, Field(description="Ids; default: the cards of the last preflight.")
        ] = None,
        evidence: Annotated[
            Texts, Field(description="What was done: edits made, commands run.")
        ] = None,
        session: str | None = None,
        directory: str | None = None,
    ) -> Checked:
        """Report for each checklist item: shown, denied, contradicted or open."""
        brains = self._workspace.find(directory)
        result = brains.check(answer, cards=cards, evidence=evidence or (), session=session)
        return cast(Checked, render.check_data(result))

    @_tool_errors()
    def lessons_propose(
        self,
        title: Annotated[str, Field(min_length=1, description="The mistake, in one line.")],
        root_cause: Annotated[
            str, Field(min_length=1, description="Why it happened: the concrete mechanism.")
        ],
        prevention: Annotated[
            list[str],
            Field(
                min_length=1,
                description="Checkable items, one line each; `<!-- shown-by: regex -->` behind one "
                "finds its evidence in edits and commands.",
            ),
        ],
        symptoms: Annotated[
            list[str],
            Field(
                description="Two or three phrases in the voice of a future task, such as "
                '"let the nightly job pay customers back".'
            ),
        ],
        situation: str = "",
        mistake: str = "",
        fix: str = "",
        kind: Literal["lesson", "playbook", "qa-finding"] = "lesson",
        topics: Texts = None,
        paths: Annotated[Texts, Field(description="Globs of the files it guards.")] = None,
        detect: Annotated[
            list[dict[str, Any]] | None,
            Field(description='How it looks: {"regex": …} in code or {"command": …}.'),
        ] = None,
        severity: Literal["low", "medium", "high"] | None = None,
        example: Annotated[str, Field(description="The task in which it happened.")] = "",
        directory: str | None = None,
    ) -> Proposed:
        """Draft a lesson for the user to confirm; the same title replaces an open draft. Complete
        what ``missing`` lists. If one of ``similar`` is the same mistake, call lessons_bump.
        """
        drafts = self._workspace.find(directory).drafts
        names = ("Situation", "Mistake / Risk", "Root Cause", "Fix")
        texts = zip(names, (situation, mistake, root_cause, fix), strict=True)
        draft = drafts.propose(
            title,
            prevention=prevention,
            kind=kind,
            severity=severity,
            example=example,
            symptoms=symptoms,
            topics=topics or (),
            paths=paths or (),
            detect=detect or (),
            sections={name: text for name, text in texts if text.strip()},
        )
        near_duplicates = drafts.find_near_duplicates(draft)
        return Proposed(
            id=draft.id,
            path=draft.path,
            missing=list(draft.missing),
            similar=[defang_line(duplicate.card.id) for duplicate in near_duplicates],
            next="Ask the user to run `lessons review`, which accepts, edits or discards it.",
        )

    @_tool_errors()
    def lessons_bump(
        self,
        ids: Annotated[list[CardId], Field(min_length=1, max_length=20)],
        task: Annotated[str | None, Field(description="The task in which it came back.")] = None,
        directory: str | None = None,
    ) -> Data:
        """Record that the mistake of these cards happened again."""
        cards = self._workspace.find(directory).bump(*ids, task=task)
        return {"cards": [_show_fields(card, "id", "title", "occurrences") for card in cards]}

    @_tool_errors()
    def lessons_mark(
        self,
        id: CardId,  # noqa: A002
        mark: Annotated[
            Literal["helpful", "harmful", "irrelevant"],
            Field(description="harmful: it misled you; irrelevant: not about this task."),
        ],
        context: Context[Any],
        session: Annotated[
            str | None, Field(description="Your session's id; default: this connection.")
        ] = None,
        directory: str | None = None,
    ) -> Data:
        """Record whether a lesson helped."""
        stats = self._workspace.find(directory).stats
        effect = stats.mark(id, mark, session=session_of_call(context, session))
        return {"id": effect.name, "mark": mark, "times": getattr(effect, mark)}

    async def lessons_hook(
        self,
        agent: Annotated[str, Field(json_schema_extra={"enum": list(AGENTS)})],
        event: Annotated[
            dict[str, Any], Field(description="The hook's JSON, as sent by the agent.")
        ],
    ) -> str:
        """Answer an event of an agent's hook; called by the agent's own settings, not by you."""
        if self._answer_hook is None:
            raise ToolError("this server answers no hooks; start it with `lessons mcp`")
        if agent not in AGENTS:
            raise ToolError(f"agent must be one of {', '.join(AGENTS)}")
        work = asyncio.to_thread(self._answer_hook, agent, substituted(event))
        task = asyncio.ensure_future(work)
        done, _pending = await asyncio.wait({task}, timeout=HOOK_SECONDS)
        if done:
            return task.result()
        task.add_done_callback(lambda late: self._forget_late_answer(event, late))
        log_trouble(agent, "mcp", f"no answer within {HOOK_SECONDS:g} s; nothing was injected")
        return ""

    def _forget_late_answer(self, event: Data, late: asyncio.Future[str]) -> None:
        """Record that the model never saw a late answer, so that its lessons may be injected
        again.
        """
        if late.cancelled() or late.exception() or not late.result():
            return
        with suppress(LessonsError):
            for brain in self._workspace.find(event.get("cwd")).members:
                brain.journal.forget_context(str(event.get("session_id", "")))

    @_tool_errors()
    def session_history(
        self,
        session_id: Annotated[str, Field(min_length=1)],
        chat_id: Annotated[str | None, Field(description="Only this subagent.")] = None,
        limit: Annotated[int, Field(ge=1, le=200)] = HISTORY_EVENTS,
        directory: str | None = None,
    ) -> Data:
        """Return the newest prompts and calls of a session, oldest first."""
        events = read_history(self._workspace.find(directory), session_id, chat_id, limit)
        return {"session": session_id, "events": events}

    def lesson(self, id: str) -> str:  # noqa: A002
        """Return one card as Markdown."""
        try:
            brains = self._workspace.find()
            return _read_card(brains, id, "", self._asked_by(brains))[1]
        except (CardNotFound, InputError, BrainNotFound, Untrusted) as error:
            raise ResourceNotFoundError(str(error)) from None

    def retrospective(
        self,
        session_id: Annotated[str, Field(description="Your session's id; adds its journal.")] = "",
    ) -> str:
        """Look back on a session and propose the lessons that it taught."""
        events: list[Data] = []
        if session_id:
            with suppress(LessonsError):  # the prompt is useful without the journal, too
                events = read_history(self._workspace.find(), session_id, None, HISTORY_EVENTS)
        lines = ["- " + _describe_event(event) for event in events]
        journal = "\n\nThe journal of this session:\n" if lines else ""
        return read_template("retrospective.md").rstrip() + journal + "\n".join(lines)
