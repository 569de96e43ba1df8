"""Compare the memories of agents about a project with its cards, and draft the missing cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lessons_kb.brain.brains import Brains
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.exchange import CREATE, NAMES, Exchange, card_text, guess_source
from lessons_kb.collection.kept_lessons import find_memories
from lessons_kb.importers.incoming import Incoming
from lessons_kb.process.clock import today
from lessons_kb.store.repositories import git_top


class Memory(NamedTuple):
    """A lesson or another text in the memory of an agent."""

    title: str
    where: str
    """The file and the line."""
    lesson: Incoming | None
    """The content of a draft, or None if no draft is needed."""
    card: str = ""
    """The id of the card that covers it."""
    reason: str = ""
    """Why no draft is needed."""


def read_memories(brains: Brains, *, claude: str, codex: str) -> list[Memory]:
    """Return the memories of the open project. Nothing is written.

    ``claude`` and ``codex`` are the folders of the two agents.
    """
    root = git_top(brains.directory) or brains.directory
    paths = find_memories(root, claude, codex)
    files = [(guess_source(path), path) for path in paths]
    files = [(source, path) for source, path in files if source in NAMES]
    brains.refresh()
    plan = Exchange(brains).plan_files(files, own_project=True)
    memories = []
    for step, lesson in zip(plan.steps, plan.lessons, strict=True):
        is_new = step.action == CREATE
        memories.append(
            Memory(
                title=step.title,
                where=step.where,
                lesson=lesson if is_new else None,
                card="" if is_new else step.card,
                reason=step.reason,
            )
        )
    return memories


def draft_memories(brains: Brains, memories: Sequence[Memory], count: int) -> list[Draft]:
    """Write and return drafts of the first ``count`` memories that no card covers."""
    drafts: list[Draft] = []
    folders = brains.members[0].settings.folders
    lessons = [memory.lesson for memory in memories if memory.lesson is not None]
    for place, lesson in enumerate(lessons):
        if len(drafts) >= count:
            break
        text = card_text(lesson, created=today(), folders=folders)
        draft = Drafts(brains).add_memory(text, origin=lesson.origin, place=place)
        if draft is not None:
            drafts.append(draft)
    return drafts
