"""Each tool is parse, one call of a Brain, render."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any, Literal, Protocol, cast

from mcp.server import MCPServer
from mcp.server.mcpserver import Context  # the SDK reads it to register a tool
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp.server.mcpserver.exceptions import ToolError as ToolError  # noqa: PLC0414 caught elsewhere
from mcp.types import ToolAnnotations
from pydantic import Field

from lessons_kb import render
from lessons_kb.brain.brain import Brain
from lessons_kb.errors import BrainNotFound, CardNotFound, LessonsError, Untrusted
from lessons_kb.model import KINDS, NOTE
from lessons_kb.service.mcp.client_sessions import session_of_call
from lessons_kb.service.mcp.results import (
    RETROSPECTIVE,
    read_card,
    read_history,
    show_block,
    show_hit,
    show_match,
    show_row,
    substituted,
)
from lessons_kb.service.mcp.schemas import (
    HISTORY_EVENTS,
    Block,
    Bumped,
    CardId,
    CardText,
    Checked,
    Counted,
    Directory,
    History,
    HistoryLimit,
    Hits,
    Marked,
    Matches,
    Paths,
    Proposed,
    Row,
    Session,
    Texts,
)
from lessons_kb.store.hook_log import log_trouble
from lessons_kb.text.sanitize import defang_line

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
            return show_block(render.preflight_data(found, brain.layers[0].settings.language))

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
            return Hits(hits=[show_hit(render.hit_data(hit)) for hit in hits])

    def lessons_get(self, id: CardId, directory: str | None = None) -> CardText:  # noqa: A002
        """Read one whole card."""
        with _said():
            brain = self._workspace.find(directory)
            card, text = read_card(brain, id)
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
        rows: list[Row] = []
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
