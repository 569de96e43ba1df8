"""Each tool is parse, one call of a Brain, render."""

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
from typing import Annotated, Any, Literal, NotRequired, Protocol, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.exceptions import ToolError as ToolError  # noqa: PLC0414 re-exported
from mcp.types import ToolAnnotations
from pydantic import Field
from typing_extensions import TypedDict

from lessons_kb import render
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.injected import session_of
from lessons_kb.errors import BrainNotFound, CardNotFound, LessonsError, Untrusted
from lessons_kb.model import EVENTS, KINDS, NOTE, Card, Event, Hit
from lessons_kb.session.turn_lessons import note_shown
from lessons_kb.store.user_state import log_trouble
from lessons_kb.text.sanitize import clean, defang, defang_line

_HEADER = "mcp-session-id"


@asynccontextmanager
async def connect(_server: object) -> AsyncIterator[str]:
    """Give what the server runs for a name: over stdio one connection, over HTTP all of them."""
    yield f"mcp-{secrets.token_hex(8)}"


def session_of_call(context: Context[Any], named: str | None) -> str:
    """Return the session that a call belongs to, ``named`` or that of its connection.

    An agent that tells its processes the session says more than a connection over stdio. Of HTTP
    without the protocol's own sessions nothing tells the callers apart: there a day is one.
    """
    if named:
        return named
    running = str(context.request_context.lifespan_context)
    headers = context.headers
    if headers is None:
        return session_of()[0] or running
    if known := headers.get(_HEADER):
        return f"mcp-{hashlib.blake2b(known.encode(), digest_size=8).hexdigest()}"
    return f"{running}-{dt.datetime.now(tz=dt.UTC).astimezone().date()}"


# No deferred annotations here: the SDK reads these types when the tools are registered.


Directory = Annotated[
    str | None,
    Field(description="Where you work; default: the server's folder."),
]
Session = Annotated[str | None, Field(description="Your session's id: no lesson comes twice.")]
Paths = Annotated[list[str] | None, Field(description="Files at hand, from the project root.")]
CardId = Annotated[
    str,
    Field(min_length=1, description="Id, slug or prefix."),
]
Texts = list[str] | None
HISTORY_EVENTS = 50
"""Of a session, where a client does not say how many it wants."""
HistoryLimit = Annotated[int, Field(ge=1, le=200)]


class Found(TypedDict):
    """A card or note that was found."""

    id: str
    kind: str
    title: str
    severity: str
    occurrences: int
    score: float
    confidence: float
    passed: bool
    reason: str


class Block(TypedDict):
    """What to keep in mind for a task; ``block`` is "" when nothing is worth saying."""

    block: str
    tokens: int
    footer: str
    lessons: list[Found]
    context: list[Found]
    skipped: NotRequired[str]


class Hits(TypedDict):
    """Search results, best first; ``skipped`` says that files are too many to be searched."""

    hits: list[Found]
    skipped: NotRequired[str]


class Matched(TypedDict):
    """A lesson for a task, with all that a client needs to put it into a block of its own."""

    id: str
    kind: str
    title: str
    severity: str
    occurrences: int
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
    """The lessons for a task, best first; nothing is remembered of the question."""

    lessons: list[Matched]


class CardText(TypedDict):
    """One card."""

    id: str
    kind: str
    title: str
    severity: str
    status: str
    occurrences: int
    last_seen: str | None
    topics: list[str]
    paths: list[str]
    symptoms: list[str]
    why: str
    checklist: list[str]
    text: str


class CheckedItem(TypedDict):
    """What became of a checklist item."""

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


class Counted(TypedDict):
    """A card and how often its mistake was seen."""

    id: str
    title: str
    occurrences: int


class Bumped(TypedDict):
    """Cards that were counted once more."""

    cards: list[Counted]


class Marked(TypedDict):
    """A mark that was noted."""

    id: str
    mark: str
    times: int


class SessionEvent(TypedDict):
    """One thing that happened in a session."""

    at: float
    kind: str
    tool: str
    targets: list[str]
    outcome: str
    text: str
    output: str


class History(TypedDict):
    """Events of a session, oldest first."""

    session: str
    events: list[SessionEvent]


_SYSTEM_ROWS = ("compaction", "stage", "preflight")
"""Kinds of events that neither the user nor the agent did."""

RETROSPECTIVE = """\
Look back on this session. For each mistake that cost time (a failed command, a wrong assumption, \
a change taken back, a complaint of the user):

1. Name the mistake in one line and its concrete root cause. Leave out what cannot come back.
2. Call lessons_search with its symptoms. If a card says the same, call lessons_bump with its id.
3. Otherwise call lessons_propose: title, root cause, two or three symptoms in the words of a \
future task, and at least one prevention item that can be checked ("be careful" cannot).
4. Mark lessons that helped or misled you with lessons_mark.

At most three proposals; none is a good answer. Tell the user that `lessons review` confirms them.\
"""


def substituted(event: Any) -> Any:
    """Return an event without the placeholders that its agent had no value for."""
    if not isinstance(event, dict):
        return event
    kept = {}
    for key, value in event.items():
        if isinstance(value, str) and value.startswith("${") and value.endswith("}"):
            continue
        kept[key] = substituted(_parsed(value) if key in _OBJECTS else value)
        if key in _FLAGS:
            kept[key] = value in (True, "true")
    return kept


_OBJECTS = ("tool_input", "tool_response")
_FLAGS = ("is_interrupt",)
"""True and false, put into a text like everything else."""


def _parsed(value: Any) -> Any:
    """Return an object that was put into a text, anything else as it is."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def show_block(data: dict[str, Any]) -> Block:
    """Return a rendered preflight in the tool's shape."""
    return Block(
        block=data.get("block", ""),
        tokens=data.get("tokens", 0),
        footer=data.get("footer", ""),
        lessons=[show_hit(hit) for hit in data.get("lessons", ())],
        context=[show_hit(hit) for hit in data.get("context", ())],
    )


def show_hit(hit: dict[str, Any]) -> Found:
    """Return a rendered hit in the tool's shape."""
    return cast(Found, {field: hit[field] for field in Found.__annotations__})


def _tell_skipped(brain: Brain) -> str:
    """Say which brains hold more files than are indexed, "" where none does.

    They are named without their paths: the client may be another machine's.
    """
    told = (layer.tell_beyond().replace(layer.root, layer.alias, 1) for layer in brain.layers)
    return defang_line(" ".join(filter(None, told)))


_show_line = lru_cache(maxsize=10_000)(defang_line)  # of cards: each is shown again and again


def show_match(hit: Hit) -> Matched:
    """Return a lesson in the shape of a client that merges it with its own."""
    card = hit.card
    patterns = [
        {
            one.kind: one.text,
            "files": list(one.files),
            "language": one.language,
            "unless": one.unless,
        }
        for one in card.detect
    ]
    return Matched(
        id=card.id,
        kind=card.kind,
        title=_show_line(card.title),
        severity=card.severity,
        occurrences=card.occurrences,
        why=_show_line(card.why),
        checklist=[_show_line(one) for one in card.checklist],
        shown_by=list(card.shown_by),
        conditional=card.conditional,
        paths=list(card.paths),
        gate=card.gate,
        detect=[{key: value for key, value in one.items() if value} for one in patterns],
        score=hit.score,
        confidence=hit.confidence,
    )


def read_card(brain: Brain, name: str) -> tuple[Card, str]:
    """Return a card and its Markdown, which is data: nothing in it can pose as somebody else."""
    card = brain.cards.get(name)
    return card, defang(clean(brain.cards.read(name)[1].body)).strip()


def read_history(brain: Brain, session: str, chat: str | None, limit: int) -> list[SessionEvent]:
    """Return the newest rows of a session, or of one chat of it, oldest first."""
    kinds = [kind for kind in EVENTS if kind not in _SYSTEM_ROWS]
    most = None if chat else limit
    events = brain.layers[0].journal.events.find(session=session, kinds=kinds, limit=most)
    if chat:
        events = [event for event in events if chat in _chats(event)][-limit:]
    return [_row(event) for event in events]


def _chats(event: Event) -> tuple[object, ...]:
    return event.record.get("chat"), event.record.get("part")


def _row(event: Event) -> SessionEvent:
    return SessionEvent(
        at=event.at,
        kind=event.kind,
        tool=event.tool,
        targets=[defang_line(one) for one in event.targets],
        outcome=event.outcome,
        text=defang(clean(event.text)),
        output=defang(clean(event.output)),
    )


def show_row(row: SessionEvent) -> str:
    """Return a row as one line."""
    words = (row["kind"], row["tool"], ", ".join(row["targets"][:3]), row["outcome"])
    told = " · ".join(word for word in words if word and word != "ok")
    return defang_line(f"{told}: {row['text'] or row['output']}")[:_LINE_CHARS]


_LINE_CHARS = 300


Answer = Callable[[str, dict[str, Any]], str]


UNLISTED = ("lessons_hook",)
"""Tools that agents' settings call by name: no model is offered them, or pays for them."""
_MOST_MATCHES = 4
"""More than a prompt is ever given: some may be in the client's own brain too."""
HOOK_SECONDS = 2.0
"""An agent waits for its hooks: later than this an answer is worth less than none."""
_AGENT_NAMES = Literal[
    "claude-code", "codex", "gemini-cli", "cursor", "copilot-cli", "vscode", "opencode"
]

_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_NOTES = ToolAnnotations(read_only_hint=False, destructive_hint=False, open_world_hint=False)
_REWRITES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)


class Brains(Protocol):
    """Gives the brain for a directory: a ``Workspace``, or one brain that a server shares."""

    def find(self, directory: str | None = None, /) -> Brain:
        """Return the open brain of a directory; Untrusted, BrainNotFound."""


class Tools:
    """The tools over one workspace; each is safe to be called from several threads."""

    def __init__(self, workspace: Brains, answer_hook: Answer | None) -> None:
        self._workspace = workspace
        self._answer_hook = answer_hook

    def register(self, server: MCPServer) -> None:
        """Add everything to a server."""
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
            server.tool(title=title, annotations=hints, description=_said_of(tool))(tool)
        server.tool(structured_output=False)(self.lessons_hook)
        server.resource(
            "lesson://{+id}", title="A lesson", mime_type="text/markdown", name="lesson"
        )(self.lesson)
        server.prompt(title="Look back on a session")(self.retrospective)

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
        finish; empty when none is relevant.
        """
        with _said():
            try:
                brain = self._workspace.find(directory)
            except Untrusted:  # a brain nobody trusts yet is silent, and so is its absence
                return show_block({})
            found = brain.preflight(
                prompt,
                paths=paths or (),
                stage=stage,
                session=session,
                budget=budget,
                context=context,
            )
            data = render.preflight_data(found, brain.layers[0].settings.language)
            block = show_block(data)
            if skipped := _tell_skipped(brain):
                block["skipped"] = skipped
            return block

    def lessons_match(
        self,
        prompt: Annotated[str, Field(min_length=1, max_length=20_000)],
        directory: Directory = None,
    ) -> Matches:
        """Return the lessons for a task as data, for a client that adds them to its own.

        No model is offered this, and nothing is noted: what is given in the end the client knows.
        """
        with _said():
            found = self._workspace.find(directory).find_lessons(prompt)
            passed = [hit for _layer, hit in found if hit.passed]
            return Matches(lessons=[show_match(hit) for hit in passed[:_MOST_MATCHES]])

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
        with _said():
            brain = self._workspace.find(directory)
            chosen = tuple(kinds or (*KINDS, NOTE))
            hits = brain.search(query, kinds=chosen, stage=stage, paths=paths or (), limit=limit)
            found = Hits(hits=[show_hit(render.hit_data(hit)) for hit in hits])
            if skipped := _tell_skipped(brain):
                found["skipped"] = skipped
            return found

    def lessons_get(
        self,
        id: CardId,  # noqa: A002
        context: Context[Any],
        directory: str | None = None,
    ) -> CardText:
        """Read one whole card."""
        with _said():
            brain = self._workspace.find(directory)
            card, text = read_card(brain, id)
            found = brain.cards.find(id)
            note_shown(brain, session_of_call(context, None), found, at=time.time())
            return CardText(
                id=defang_line(card.id),
                kind=card.kind,
                title=defang_line(card.title),
                severity=card.severity,
                status=card.status,
                occurrences=card.occurrences,
                last_seen=card.last_seen,
                topics=[defang_line(one) for one in card.topics],
                paths=[defang_line(one) for one in card.paths],
                symptoms=[defang_line(one) for one in card.symptoms],
                why=defang_line(card.why),
                checklist=[defang_line(one) for one in card.checklist],
                text=text,
            )

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
        with _said():
            brain = self._workspace.find(directory)
            seen = evidence or ()
            result = brain.check(answer, cards=cards, evidence=seen, session=session)
            return cast(Checked, render.check_data(result))

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
            list[str], Field(description="Two or three phrases a future task would use.")
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
        parts = {
            "Situation": situation,
            "Mistake / Risk": mistake,
            "Root Cause": root_cause,
            "Fix": fix,
        }
        with _said():
            drafts = self._workspace.find(directory).drafts
            draft = drafts.propose(
                title,
                kind=kind,
                sections={name: text for name, text in parts.items() if text.strip()},
                prevention=prevention,
                symptoms=symptoms,
                topics=topics or (),
                paths=paths or (),
                detect=detect or (),
                severity=severity,
                example=example,
            )
            return Proposed(
                id=draft.id,
                path=draft.path,
                missing=list(draft.missing),
                similar=[defang_line(one.card.id) for one in drafts.find_near_duplicates(draft)],
                next="Ask the user to run `lessons review`, which accepts, edits or discards it.",
            )

    def lessons_bump(
        self,
        ids: Annotated[list[CardId], Field(min_length=1, max_length=20)],
        task: Annotated[str | None, Field(description="The task in which it came back.")] = None,
        directory: str | None = None,
    ) -> Bumped:
        """Record that the mistake of these cards happened again."""
        with _said():
            cards = self._workspace.find(directory).bump(*ids, task=task)
            return Bumped(
                cards=[
                    Counted(
                        id=defang_line(c.id), title=defang_line(c.title), occurrences=c.occurrences
                    )
                    for c in cards
                ]
            )

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
    ) -> Marked:
        """Record whether a lesson helped."""
        with _said():
            known = session_of_call(context, session)
            effect = self._workspace.find(directory).stats.mark(id, mark, session=known)
            return Marked(id=effect.name, mark=mark, times=getattr(effect, mark))

    async def lessons_hook(
        self,
        agent: _AGENT_NAMES,
        event: Annotated[
            dict[str, Any], Field(description="The hook's JSON, as sent by the agent.")
        ],
    ) -> str:
        """Answer an event of an agent's hook; called by the agent's own settings, not by you."""
        if self._answer_hook is None:
            raise ToolError("this server answers no hooks; start it with `lessons mcp`")
        working = asyncio.ensure_future(
            asyncio.to_thread(self._answer_hook, agent, substituted(event))
        )
        try:
            return await asyncio.wait_for(asyncio.shield(working), HOOK_SECONDS)
        except TimeoutError:
            working.add_done_callback(lambda late: self._forget(event, late))
            log_trouble(agent, "mcp", f"no answer within {HOOK_SECONDS:g} s; nothing was injected")
            return ""

    def _forget(self, event: dict[str, Any], late: asyncio.Future[str]) -> None:
        """Note that what came too late was never before the model: it may be given again."""
        if late.cancelled() or late.exception() or not late.result():
            return
        with suppress(LessonsError):
            for layer in self._workspace.find(event.get("cwd")).layers:
                layer.journal.forget_context(str(event.get("session_id", "")))

    def session_history(
        self,
        session_id: Annotated[str, Field(min_length=1)],
        chat_id: Annotated[str | None, Field(description="Only this subagent.")] = None,
        limit: HistoryLimit = HISTORY_EVENTS,
        directory: str | None = None,
    ) -> History:
        """Return the newest prompts and calls of a session, oldest first."""
        with _said():
            brain = self._workspace.find(directory)
            return History(
                session=session_id, events=read_history(brain, session_id, chat_id, limit)
            )

    def lesson(self, id: str) -> str:  # noqa: A002
        """Return one card as Markdown."""
        try:
            return read_card(self._workspace.find(), id)[1]
        except (CardNotFound, BrainNotFound, Untrusted) as error:
            raise ResourceNotFoundError(str(error)) from None

    def retrospective(
        self,
        session_id: Annotated[str, Field(description="Your session's id; adds its journal.")] = "",
    ) -> str:
        """Look back on a session and propose the lessons that it taught."""
        rows: list[SessionEvent] = []
        if session_id:
            with suppress(LessonsError):  # without a journal it is still a good question
                rows = read_history(self._workspace.find(), session_id, None, HISTORY_EVENTS)
        told = "\n".join(f"- {show_row(row)}" for row in rows)
        seen = f"\n\nThe journal of this session:\n{told}" if told else ""
        return RETROSPECTIVE + seen


def _said_of(tool: Callable[..., Any]) -> str:
    """Return a tool's description: its docstring without the breaks of its lines."""
    return " ".join((tool.__doc__ or "").split())


@contextmanager
def _said() -> Iterator[None]:
    """Turn our errors, which say what to do next, into errors of the tool."""
    try:
        yield
    except CardNotFound as error:
        raise ToolError(f"{defang_line(str(error))}; lessons_search finds ids") from None
    except LessonsError as error:
        raise ToolError(defang_line(str(error))) from None
