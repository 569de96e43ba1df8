"""Print the memories of agents next to the cards, and draft the others: `mine --memories`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.memory_folders import find_memory_folders
from lessons_kb.cli.output import options, pick, print_json, print_table, say
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.memories import Memory, draft_memories, read_memories
from lessons_kb.text.sanitize import counted


def mine_memories(
    brains: Brains, count: int, limit: int, *, confirm_many: Callable[[int], None]
) -> list[Draft]:
    """Print the memories of the open project, and return the drafts that were written.

    ``confirm_many`` is called with the number of drafts before they are written.
    """
    claude, codex = find_memory_folders()
    memories = read_memories(brains, claude=claude, codex=codex)
    new = sum(memory.lesson is not None for memory in memories)
    confirm_many(min(count, new))
    drafts = draft_memories(brains, memories, count) if count else []
    if options().json:
        rows = [_describe(memory) for memory in memories]
        print_json({"memories": rows, "drafts": [pick(one, "id", "title") for one in drafts]})
        return drafts
    if not memories:
        say("no memory of this project was found in ~/.claude/projects or ~/.codex/memories")
        return drafts
    _print_memories(memories, limit)
    if drafts:
        print(f"{counted(len(drafts), 'draft')} written; next: lessons review")
    elif any(memory.lesson for memory in memories):
        how = "each has a draft already" if count else "next: `lessons mine --memories --draft 10`"
        say(how)
    return drafts


def _print_memories(memories: Sequence[Memory], limit: int) -> None:
    columns = ("memory", "state", "card", "where")
    rows = []
    for memory in memories[:limit]:
        state = "new" if memory.lesson else memory.reason
        rows.append([memory.title, state, memory.card, memory.where])
    print_table(columns, rows)
    new = sum(memory.lesson is not None for memory in memories)
    covered = sum(bool(memory.card) for memory in memories)
    others = len(memories) - new - covered
    total = counted(len(memories), "memory", "memories")
    say(f"{total}: {new} new, {covered} covered by cards, {others} no lessons")


def _describe(memory: Memory) -> dict[str, object]:
    return {**pick(memory, "title", "where", "card", "reason"), "new": memory.lesson is not None}
