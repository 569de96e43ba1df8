"""Replays turns through the hooks: a prompt, then the changes that followed.

The right lesson of a turn is known where a commit added it beside the code that it is about:
the prompt is one that an author wrote for the card, the calls are the commit's changes. What is
wrong is known where recorded sessions of another project are held against a brain: all of it.
"""

from __future__ import annotations

import random
import re
import shutil
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import EXAMPLE, HERE, DataError, data_folder, git, read_rows
from benchmarks.ours import open_indexed, private_state
from lessons_kb.session.dispatch import respond
from lessons_kb.session.event_types import Capabilities, HookEvent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    from lessons_kb import Brain
    from lessons_kb.model import Preflight

BRAINS = ("compound", "kitcn", "plate")
SOLUTIONS = "docs/solutions/"
_MOST_LESSONS = 2
"""A commit that adds more of them was written about many things."""
_CHANGES = 6
NOT_CODE = re.compile(r"^docs/|^\.changeset/|(?:^|/)changelog\.md$|[.-]lock(?:\.|$)", re.IGNORECASE)
_TURN = re.compile(r"^_\*\*User[^\n]*\*\*_$", re.MULTILINE)
_CALL = re.compile(
    r"^Read file: |<summary>Edit file: (?P<path>[^<]*)</summary>(?P<edit>.*?)</details>"
    r"|<summary>(?:MCP|Listed|Ran|Terminal|Search)[^<]*</summary>",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """A prompt and the calls after it, each a path with the text before and after."""

    session: str
    prompt: str
    changes: tuple[tuple[str, str, str], ...]
    calls: int = 0
    """How many calls there were; those that changed nothing are not played."""
    card: str = ""
    """The right one, "" in a foreign session."""


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Play the turns into each brain, print the table, return its figures."""
    clones = _read_clones(options.folders)
    recorded = _read_sessions()[:: 5 if options.quick else 1]
    figures: dict[str, Any] = {}
    rows = []
    for name in (*BRAINS, "brain-example"):
        linked = find_linked(clones[name], name) if name in clones else []
        with _open(name) as brain:
            arrived = [play(brain, turn) for turn in linked]
            right = [
                places.get(turn.card, -1) for places, turn in zip(arrived, linked, strict=True)
            ]
            given = sum(map(len, arrived))
            foreign = [len(play(brain, turn)) for turn in recorded]
        calls = sum(turn.calls + 1 for turn in recorded)
        figures[name] = {
            "turns": len(linked),
            "at_prompt": right.count(0),
            "with_change": sum(place > 0 for place in right),
            "lessons": given,
            "foreign_lessons": sum(foreign),
            "foreign_calls": calls,
        }
        rows.append(_row(name, figures[name]))
    headers = (
        *("brain", "turns", "right at the prompt", "by a change", "together"),
        *("lessons a turn", "foreign: lessons", "in calls", "in 40 calls"),
    )
    report.print_table("Turns replayed", headers, rows)
    return figures


def find_linked(clone: Path, name: str) -> list[Turn]:
    """Return a turn for each lesson that a commit added beside the code that it is about."""
    prompts = _read_prompts(name)
    listed = git(
        *(clone, "log", "--no-merges", "--diff-filter=A", "--name-only"),
        *("--format=@%H", "--", f"{SOLUTIONS}*.md"),
    )
    turns = []
    for block in listed.split("@")[1:]:
        commit, *added = block.split()
        if len(added) > _MOST_LESSONS:
            continue
        cards = [card for path in added if (card := _named(path, prompts))]
        changes = list(_read_changes(clone, commit)) if cards else []
        changes = [one for one in changes if one[1].strip()] or changes
        rng = random.Random(commit)
        chosen = sorted(rng.sample(range(len(changes)), min(_CHANGES, len(changes))))
        turns += [
            Turn(
                session=f"{commit}-{card}",
                prompt=prompts[card],
                changes=tuple(changes[place] for place in chosen),
                card=card,
            )
            for card in cards
            if chosen
        ]
    return turns


def play(brain: Brain, turn: Turn) -> dict[str, int]:
    """Return the cards that a turn was given → 0 with the prompt, n with the n-th change."""
    given: dict[str, int] = {}
    for number, block in enumerate(find_blocks(brain, turn)):
        for hit in block.lessons if block else ():
            given.setdefault(hit.card.id, number)
    return given


def find_blocks(brain: Brain, turn: Turn) -> Iterator[Preflight | None]:
    """Yield what a turn was given with the prompt and with each change."""
    common = {
        "agent": "claude-code",
        "session": turn.session,
        "directory": brain.directory,
        "cwd": brain.directory,
    }
    events = [HookEvent(what="prompt", text=turn.prompt, id="p0", **common)]
    events += [
        HookEvent(
            what="before",
            tool="Edit",
            id=f"c{number}",
            arguments={"file_path": path, "old_string": before, "new_string": after},
            **common,
        )
        for number, (path, before, after) in enumerate(turn.changes, 1)
    ]
    for event in events:
        yield respond(event, Capabilities(), find=lambda _directory: brain, leave_open=True).block


def _row(name: str, figures: dict[str, int]) -> list[str]:
    turns = figures["turns"]
    together = figures["at_prompt"] + figures["with_change"]
    shares = [
        f"{count / turns:.0%}" if turns else "-"
        for count in (figures["at_prompt"], figures["with_change"], together)
    ]
    each = f"{figures['lessons'] / turns:.1f}" if turns else "-"
    foreign, calls = figures["foreign_lessons"], figures["foreign_calls"]
    return [
        name,
        str(turns),
        *shares,
        each,
        str(foreign),
        str(calls),
        f"{40 * foreign / calls:.2f}",
    ]


@contextmanager
def _open(name: str) -> Iterator[Brain]:
    source = EXAMPLE if name == "brain-example" else data_folder() / "brains" / name
    with (
        tempfile.TemporaryDirectory(prefix="lessons-bench-") as folder,
        private_state(Path(folder)),
    ):
        copy = Path(folder) / name
        shutil.copytree(source, copy)
        with open_indexed(copy) as brain:
            yield brain


def _read_clones(folders: Sequence[str]) -> dict[str, Path]:
    clones = {}
    for given in folders:
        name, _, folder = given.partition("=")
        if name not in BRAINS or not Path(folder).is_dir():
            raise DataError(f"{given}: name clones as NAME=FOLDER, NAME one of {', '.join(BRAINS)}")
        clones[name] = Path(folder)
    return clones


def _read_prompts(name: str) -> dict[str, str]:
    prompts: dict[str, str] = {}
    for file in ("real_manner.jsonl", "replay_prompts.jsonl"):
        for case in read_rows(HERE / "labelled" / file):
            if case["brain"] == name:
                prompts.setdefault(case["card"], case["prompt"])
    return prompts


def _named(path: str, prompts: dict[str, str]) -> str:
    """Return the card of this file name: they were moved between folders later."""
    name = path.rsplit("/", 1)[-1]
    return next((card for card in prompts if card.rsplit("/", 1)[-1] == name), "")


def _read_changes(clone: Path, commit: str) -> Iterator[tuple[str, str, str]]:
    path = ""
    before: list[str] = []
    after: list[str] = []
    shown = git(clone, "show", "--format=", "-U0", "--no-renames", commit)
    for line in (*shown.split("\n"), "@@"):
        if line.startswith(("@@", "diff --git ")):
            if path and (before or after) and not NOT_CODE.search(path):
                yield path, "\n".join(before), "\n".join(after)
            before, after = [], []
            path = path if line.startswith("@@") else ""
        elif line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else ""
        elif path and line[:1] in "-+" and line[:1]:
            (before if line[0] == "-" else after).append(line[1:])


def _read_sessions() -> list[Turn]:
    """Return the recorded turns of another project, in order."""
    turns = []
    for file in sorted((data_folder() / "sessions" / "docgen").glob("*.md")):
        parts = _TURN.split(file.read_text("utf-8"))[1:]
        for part in parts:
            calls = list(_CALL.finditer(part))
            edits = [call for call in calls if call["path"]]
            turns.append(
                Turn(
                    session=file.stem,
                    prompt=part.split("\n---\n")[0].strip(),
                    changes=tuple(change for edit in edits for change in _read_edit(edit)),
                    calls=len(calls),
                )
            )
    return turns


def _read_edit(edit: re.Match[str]) -> Iterator[tuple[str, str, str]]:
    for piece in re.findall(r"```diff\n(.*?)```", edit["edit"], re.DOTALL):
        lines = [line for line in piece.splitlines() if not line.startswith("@@")]
        before = "\n".join(line[1:] for line in lines if line[:1] != "+")
        after = "\n".join(line[1:] for line in lines if line[:1] != "-")
        yield edit["path"], before, after
