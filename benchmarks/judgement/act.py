"""Measures which lessons come before an edit that undoes their fix, the right one and others.

Cases are cut from clones of repositories that keep lessons beside their code. *Undone*: a commit
that added a lesson changed code, too; that change is played backwards, after a prompt that tells
the fix's subject and after one that says nothing. *Ordinary*: changes of commits that added none.

``--write FOLDER`` writes what ordinary edits draw for readers, ``FOLDER/prompt-K.md`` with
``FOLDER/key.jsonl``; a reader's answer is ``FOLDER/answers-READER-K.jsonl``, and ``--collect
FOLDER`` keeps the answers (worth, same subject, beside), edits and cards by their hashes. They
score what the edits draw now; no model is asked.
"""

from __future__ import annotations

import hashlib
import io
import random
import re
import subprocess
import tarfile
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, DataError, git, read_rows, write_rows
from benchmarks.judgement.replay import NOT_CODE
from benchmarks.ours import open_indexed, private_state
from lessons_kb.session.dispatch import respond
from lessons_kb.session.event_types import Answer, Capabilities, HookEvent
from lessons_kb.text.token_estimate import estimate_tokens

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Sequence
    from typing import Any

    from lessons_kb import Brain

UNDONE, ORDINARY = 40, 90
"""Cases of a repository."""
_WEEK_COMMITS = 60
_MOMENTS = ("start", "prompt", "before", "after", "stop")
_MOST_LESSONS = 2
_MOST_FILES = 30
"""A commit that changes more of them is about no one thing."""
_MOST_LINES = 120
_SHOWN = 60
"""Lines of an edit that a reader is shown."""
SILENT = "Continue with the next step."
_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|e2e|fixtures?)/|[._-](?:test|spec)\.|Tests?\.swift$"
)
_JUDGED = HERE / "labelled" / "edits_judged.jsonl"
_JUDGED_LATER = HERE / "judged" / "edits_2.jsonl"
_MOST_ITEMS = 40
_ANSWERS = ("worth", "same", "beside")
_INSTRUCTIONS = """\
Below are {count} edits that an author is about to make, each in a repository of its own, and with
each a note that the author would be shown just before it. Judge each by itself, from what stands
here; use no tools and open nothing. Could the note change what a careful author does in this edit?

- worth: yes, it could: it says something to heed or to check in this edit
- same: no, though it is about the same subject as the edit
- beside: no, it is about something else

Answer with one line of JSON for each edit, in their order, and nothing else:

{{"item": 1, "answer": "worth"}}
"""
_APPLIES = re.compile(r"(?m)^applies_to:")


@dataclass(frozen=True, kw_only=True, slots=True)
class Edit:
    """One edit, and the prompt of its turn."""

    commit: str
    prompt: str
    path: str
    before: str
    after: str
    card: str = ""
    """The lesson whose fix it undoes, "" for an ordinary edit."""

    @property
    def key(self) -> str:
        """What the case is called where nothing of the repository may stand."""
        return hashlib.sha256(f"{self.commit} {self.path}".encode()).hexdigest()[:16]


def find_undone(clone: Path, cards: str) -> list[Edit]:
    """Return the edits that take back what a lesson's own commit did to the code.

    Of the files that it changed the one that changed most, if there are any of those that the
    lesson names.
    """
    present = {path.rsplit("/", 1)[-1]: path for path in _list(clone) if path.startswith(cards)}
    files = set(_list(clone))
    log = git(
        *(clone, "log", "--no-merges", "--diff-filter=A", "--name-only", "--format=@%H"),
        *("--", f"{cards}*.md"),
    )
    edits, seen = [], set()
    for block in log.split("@")[1:]:
        commit, *added = block.split()
        known = {present[name] for path in added if (name := path.rsplit("/", 1)[-1]) in present}
        if not known or len(added) > _MOST_LESSONS or known & seen:
            continue
        changes = read_changes(clone, commit)
        if len(changes) > _MOST_FILES:
            continue
        seen |= known
        subject = git(clone, "log", "-1", "--format=%s", commit).strip()
        for card in sorted(known):
            told = git(clone, "show", f"HEAD:{card}")
            fixed = [
                (one[0].rsplit("/", 1)[-1] in told, len(one[1]) + len(one[2]), one)
                for one in changes
                if one[0] in files and one[1].strip() and not _TEST.search(one[0])
            ]
            if fixed:
                path, before, after = max(fixed)[2]
                undone = {"before": after, "after": before}
                edits.append(Edit(commit=commit, prompt=subject, path=path, card=card, **undone))
    random.Random(1).shuffle(edits)
    return edits[:UNDONE]


def find_ordinary(clone: Path, cards: str) -> list[Edit]:
    """Return changes of commits that added no lesson: one file of each, drawn by lot."""
    files = set(_list(clone))
    dice = random.Random(1)
    commits = git(clone, "log", "--no-merges", "-n", "1500", "--format=%H", "--", ".").split()
    dice.shuffle(commits)
    edits: list[Edit] = []
    for commit in commits:
        names = git(clone, "show", "--format=", "--name-only", commit).split("\n")
        if any(name.startswith(cards) for name in names) or len(names) > _MOST_FILES:
            continue
        changes = [
            one
            for one in read_changes(clone, commit)
            if one[0] in files and one[2].strip() and one[2].count("\n") < _MOST_LINES
        ]
        if changes:
            path, before, after = dice.choice(changes)
            subject = git(clone, "log", "-1", "--format=%s", commit).strip()
            edits.append(Edit(commit=commit, prompt=subject, path=path, before=before, after=after))
        if len(edits) == ORDINARY:
            break
    return edits


def read_changes(clone: Path, commit: str) -> list[tuple[str, str, str]]:
    """Return (path, removed, added) of each file of code that a commit changed."""
    files: dict[str, tuple[list[str], list[str]]] = {}
    path = ""
    try:
        shown = git(clone, "show", "--format=", "-U0", "--no-renames", commit)
    except subprocess.CalledProcessError:  # a partial clone lacks the content of a large file
        return []
    for line in shown.split("\n"):
        if line.startswith("diff --git "):
            path = ""
        elif line.startswith("+++ "):
            path = line[6:] if line.startswith("+++ b/") else ""
        elif path and line[:1] in ("-", "+"):
            before, after = files.setdefault(path, ([], []))
            (before if line[0] == "-" else after).append(line[1:])
    return [
        (path, "\n".join(before), "\n".join(after))
        for path, (before, after) in files.items()
        if not NOT_CODE.search(path) and not path.endswith(".md")
    ]


@contextmanager
def open_project(clone: Path, cards: str) -> Iterator[Brain]:
    """Open the lessons of a repository in a copy that has its other files by name alone."""
    kept = tempfile.TemporaryDirectory(prefix="lessons-act-", ignore_cleanup_errors=True)
    with kept as place, private_state(Path(place)):  # the end of a turn starts a process
        root = Path(place) / "project"
        for path in _list(clone):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).touch()
        packed = subprocess.run(
            ["git", "-C", str(clone), "archive", "HEAD", cards], capture_output=True, check=True
        ).stdout
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(root, filter="data")
        for card in (root / cards).rglob("*.md"):  # theirs are globs: what `paths` is here
            card.write_text(_APPLIES.sub("paths:", card.read_text("utf-8")), "utf-8")
        git(root, "init", "-q")
        git(root, "add", "-A", "-f")
        with open_indexed(root) as brain:
            yield brain


def _list(clone: Path) -> list[str]:
    return git(clone, "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0")[:-1]


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Play the cases of each repository, print the table, return its figures."""
    if options.collect:
        _collect(Path(options.collect))
    judged = _read_judged()
    figures: dict[str, Any] = {}
    rows, drawn = [], []
    for given in options.folders:
        name, _, place = given.partition("=")
        clone, _, cards = place.partition(":")
        figures[name] = one = _measure(name, Path(clone), cards or "docs/solutions/", drawn)
        answers = [a for case in drawn if case["brain"] == name for a in judged.get(_key(case), ())]
        shares = [answers.count(what) / len(answers) if answers else 0.0 for what in _ANSWERS]
        one |= {"answers": len(answers), **dict(zip(_ANSWERS, shares, strict=True))}
        undone = one["undone"]
        rows.append(
            [
                name,
                str(undone),
                *(f"{one[what]} of {undone}" for what in ("at_prompt", "telling", "silent")),
                f"{one['draw']} of {one['ordinary']}",
                *(str(one[what]) for what in ("cards", "tokens", "answers")),
                *(f"{share:.0%}" if answers else "-" for share in shares),
            ]
        )
    headers = (
        *("repository", "undone", "at a telling prompt", "or before the edit", "silent prompt"),
        *("ordinary: draw", "cards", "tokens", "answers", *_ANSWERS),
    )
    report.print_table("Lessons at the act", headers, rows)
    headers = ("repository", "days", "sessions", "edits", *_MOMENTS, "tokens a day", "a session")
    weeks = [[name, *(str(cell) for cell in one["week"])] for name, one in figures.items()]
    report.print_table("The last week of commits, each a session: times, tokens", headers, weeks)
    if options.write:
        _write(Path(options.write), drawn, options.seed)
    return figures


def _measure(name: str, clone: Path, cards: str, drawn: list[dict[str, str]]) -> dict[str, Any]:
    undone, ordinary = find_undone(clone, cards), find_ordinary(clone, cards)
    with open_project(clone, cards) as brain:
        telling = [_play(brain, edit, f"t{n}", edit.prompt) for n, edit in enumerate(undone)]
        silent = [_play(brain, edit, f"s{n}", SILENT) for n, edit in enumerate(undone)]
        draws = [_play(brain, edit, f"o{n}", SILENT)[1] for n, edit in enumerate(ordinary)]
        week = _replay_week(brain, clone, cards)
    for edit, given in zip(ordinary, draws, strict=True):
        drawn += (
            {"brain": name, "case": edit.key, "card": card, "edit": _show(edit), "text": text}
            for card, text in given.items()
        )
    return {
        "week": week,
        "undone": len(undone),
        "at_prompt": sum(e.card in played[0] for e, played in zip(undone, telling, strict=True)),
        "telling": sum(e.card in {**a, **b} for e, (a, b) in zip(undone, telling, strict=True)),
        "silent": sum(e.card in {**a, **b} for e, (a, b) in zip(undone, silent, strict=True)),
        "ordinary": len(ordinary),
        "draw": sum(map(bool, draws)),
        "cards": sum(map(len, draws)),
        "tokens": sum(estimate_tokens("\n".join(given.values())) for given in draws),
    }


def _replay_week(brain: Brain, clone: Path, cards: str) -> list[Any]:
    """Return days, sessions, edits, what was said at each moment, tokens a day and a session.

    The week ends with the newest commit. A session is a commit: its subject is the prompt, its
    changes are the edits; those that only change lessons are left out.
    """
    newest = git(clone, "log", "-1", "--format=%ct").strip()
    log = git(
        *(clone, "log", "--no-merges", "--reverse", f"--since={int(newest) - 7 * 86_400}"),
        "--format=%H %cs %s",
    )
    times, tokens = dict.fromkeys(_MOMENTS, 0), dict.fromkeys(_MOMENTS, 0)
    days, sessions, edits = set(), 0, 0
    for line in log.splitlines()[-_WEEK_COMMITS:]:
        commit, day, subject = line.split(" ", 2)
        changes = [one for one in read_changes(clone, commit) if not one[0].startswith(cards)]
        if not changes or len(changes) > _MOST_FILES:
            continue
        days.add(day)
        sessions, edits = sessions + 1, edits + len(changes)
        events: list[dict[str, Any]] = [{"what": "start"}]
        events.append({"what": "prompt", "text": subject, "id": "p"})
        for number, (path, before, after) in enumerate(changes):
            arguments = {"file_path": path, "old_string": before, "new_string": after}
            call = {"tool": "Edit", "id": f"c{number}", "arguments": arguments}
            events += ({"what": "before", **call}, {"what": "after", **call, "outcome": "ok"})
        events.append({"what": "stop", "text": f"Done: {subject}"})
        for event in events:
            if said := _respond(brain, commit, event).context:
                times[event["what"]] += 1
                tokens[event["what"]] += estimate_tokens(said)
    total = sum(tokens.values())
    said_at = [f"{times[moment]} × {tokens[moment]:,}" for moment in _MOMENTS]
    rates = (round(total / max(1, count)) for count in (len(days), sessions))
    return [len(days), sessions, edits, *said_at, *rates]


def _play(brain: Brain, edit: Edit, session: str, prompt: str) -> list[dict[str, str]]:
    """Return what a prompt and an edit brought: the id of each card, with what is said of it."""
    arguments = {"file_path": edit.path, "old_string": edit.before, "new_string": edit.after}
    played = []
    for event in (
        {"what": "prompt", "text": prompt, "id": "p"},
        {"what": "before", "tool": "Edit", "id": "c", "arguments": arguments},
    ):
        answer = _respond(brain, session, event)
        given = [hit.card.id for hit in answer.block.lessons] if answer.block else []
        parts = re.split(r"(?m)^(?=\d+\. )", answer.context)[1:]
        played.append(dict(zip(given, parts, strict=False)))
    return played


def _respond(brain: Brain, session: str, event: dict[str, Any]) -> Answer:
    where = {"directory": brain.directory, "cwd": brain.directory}
    hook_event = HookEvent(agent="claude-code", session=session, **where, **event)
    return respond(hook_event, Capabilities(), find=lambda _directory: brain, leave_open=True)


def _show(edit: Edit) -> str:
    rows = [f"-{line}" for line in edit.before.split("\n") if edit.before]
    rows += [f"+{line}" for line in edit.after.split("\n")]
    more = [f"… {len(rows) - _SHOWN} more lines"] if len(rows) > _SHOWN else []
    return "\n".join([edit.path, *(row[:200] for row in rows[:_SHOWN]), *more])


def _key(case: dict[str, str]) -> tuple[str, str]:
    return case["case"], hashlib.sha256(case["card"].encode()).hexdigest()[:12]


def _write(folder: Path, drawn: Sequence[dict[str, str]], seed: int) -> None:
    """Write at most 40 items of each repository that has as many, and of the others together."""
    dice = random.Random(seed)
    by_brain: dict[str, list[dict[str, str]]] = {}
    for case in drawn:
        by_brain.setdefault(case["brain"], []).append(case)
    large = [cases for cases in by_brain.values() if len(cases) >= _MOST_ITEMS]
    others = [case for cases in by_brain.values() if cases not in large for case in cases]
    rows = []
    folder.mkdir(parents=True, exist_ok=True)
    files = [*large, others] if others else large
    for number, cases in enumerate(files, 1):
        chosen = dice.sample(cases, min(_MOST_ITEMS, len(cases)))
        parts = [_INSTRUCTIONS.format(count=len(chosen))]
        for item, case in enumerate(chosen, 1):
            note = case["text"].replace("[/ACTIVE LESSONS]", "").strip()
            parts.append(
                f"## {item}\n\n~~~~\n{case['edit']}\n~~~~\n\nThe note:\n\n~~~~\n{note}\n~~~~\n"
            )
            hashed, card = _key(case)
            rows.append(
                {"file": number, "item": item, "brain": case["brain"], "case": hashed, "card": card}
            )
        (folder / f"prompt-{number}.md").write_text("\n".join(parts), encoding="utf-8")
    write_rows(folder / "key.jsonl", rows)


def _collect(folder: Path) -> None:
    """Keep the answers of all readers, beside those that are kept of other repositories."""
    keys = {(row.pop("file"), row.pop("item")): row for row in read_rows(folder / "key.jsonl")}
    asked = {row["brain"] for row in keys.values()}
    kept = [row for row in read_rows(_JUDGED) if row["brain"] not in asked]
    for file in sorted(folder.glob("answers-*-*.jsonl")):
        _answers, reader, number = file.stem.split("-")
        for row in read_rows(file):
            if row["answer"] not in _ANSWERS or (int(number), row["item"]) not in keys:
                raise DataError(f"{file}: {row} answers nothing that was asked")
            kept.append(
                {"reader": reader, **keys[int(number), row["item"]], "answer": row["answer"]}
            )
    write_rows(_JUDGED, kept)


def _read_judged() -> dict[tuple[str, str], list[str]]:
    judged: dict[tuple[str, str], list[str]] = {}
    for row in (*read_rows(_JUDGED), *read_rows(_JUDGED_LATER)):
        judged.setdefault((row["case"], row["card"]), []).append(row["answer"])
    return judged
