"""Folders in which agents that have only a shell do the trial's tasks, and what came of them.

``python -m benchmarks.trial.rehearse prepare OUT`` writes a folder for each task and arm, and
``OUT/INDEX.json`` with all of them in random order. An agent reads ``PROMPT.md`` there and changes
files by ``./propose``, which starts the real hooks of its arm. ``score OUT`` brings the hidden
checks and adds a line for each run to ``results.jsonl``. ``repositories OUT`` makes git
repositories and files of tasks of the same material, for `lessons trial`.

What hooks need lies in ``OUT-state``. Folders hold no card but those that were named there, or all
in the arms with a catalogue.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.trial import folders, material, propose
from benchmarks.trial.folders import STATES, Context, Place
from benchmarks.trial.results import read_results, write_results
from lessons_kb.process.git import ask_git
from lessons_kb.store.journal import read_injected
from lessons_kb.trial.place import make_placebo
from lessons_kb.trial.runs import RIGHT, WRONG

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lessons_kb.trial.tasks import Task

WITHOUT, PLACEBO, PROMPT, CATALOGUE = "without", "placebo", "prompt", "catalogue"
ARMS: Mapping[str, str] = {
    WITHOUT: "",
    PLACEBO: "",
    PROMPT: "[hooks]\ncatalogue_tokens = 0\noffers = false\nduring_turn = false\n",
    "act": "[hooks]\ncatalogue_tokens = 0\noffers = false\n",
    "offers": "[hooks]\ncatalogue_tokens = 0\n",
    CATALOGUE: "",
}
"""Arm → what its brain's settings add to the defaults."""
RUNS = {WITHOUT: 2}
_JOBS = 4
_LISTED, _NO_ACT = (PLACEBO, CATALOGUE), (WITHOUT, PROMPT)
_OFFER = re.compile(r"\[LESSON_OFFER\](.*?)\[/LESSON_OFFER\]", re.DOTALL)
_PROMPT = """\
You work on the repository in this folder. Read files and run the tests as you like
(`python -m unittest`); files are changed with `./propose` and in no other way:

    ./propose PATH            the whole new content of the file on stdin; PATH may be new
    ./propose PATH --patch    a unified diff of this one file on stdin
    ./propose PATH --delete

Here is what you see when your session begins and the user's prompt comes in.
{start}
User: {prompt}
{context}"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepare folders, score them, or make repositories."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trial.rehearse", description=__doc__
    )
    parser.add_argument("what", choices=("prepare", "score", "repositories"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--tasks", default="", help="only these, with commas")
    parser.add_argument("--arms", default=",".join(ARMS))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", type=Path, default=material.HERE)
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    if options.what == "prepare":
        prepare(out, set(filter(None, options.tasks.split(","))), options.arms, options.seed)
    elif options.what == "score":
        score(out, options.results)
    else:
        make_repositories(out)
    return 0


def prepare(out: Path, tasks: set[str], arms: str, seed: int) -> None:
    """Write a folder for each task, arm and run, and their index in random order."""
    order = random.Random(seed)
    todo = [
        (repository, task, arm, run)
        for repository, task in material.read_material()
        for arm in arms.split(",")
        for run in range(1, RUNS.get(arm, 1) + 1)
        if not tasks or task.name in tasks
    ]
    order.shuffle(todo)
    states = out.with_name(f"{out.name}{STATES}")
    tool = folders.compile_tool(states)
    index = []
    with ThreadPoolExecutor(_JOBS) as pool:
        futures = []
        for repository, task, arm, run in todo:
            name = f"{order.getrandbits(32):08x}"
            place = Place(out / name, states / name, states / name / repository)
            futures.append(pool.submit(_write_folder, place, tool, repository, task, arm))
            index.append({"dir": str(out / name), "task": task.name, "arm": arm, "run": run})
        for future in futures:
            future.result()
    (out / "INDEX.json").write_text(json.dumps(index, indent=1) + "\n", "utf-8")


def _write_folder(place: Place, tool: str, repository: str, task: Task, arm: str) -> None:
    folders.clear_place(place)
    setup = folders.make_setup(place, hooks=arm not in _NO_ACT)
    for folder in (place.folder, place.project):
        material.copy_files(repository, folder)
    context = Context()
    if arm != WITHOUT:
        _bring_brain(place.project, arm, setup["environment"])
        if arm in _LISTED:
            for card in sorted((place.project / "lessons").iterdir()):
                propose.bring_card(setup, f"lessons/{card.name}")
        context = folders.open_session(setup, task.prompt)
        if bool(context.start) != (arm in _LISTED):
            message = f"{place.folder}: the session of {arm} starts with {context.start!r}"
            raise RuntimeError(message)
    folders.write_folder(place, setup, tool, text=_PROMPT, prompt=task.prompt, context=context)


def _bring_brain(project: Path, arm: str, environment: Mapping[str, str]) -> None:
    """Put cards and settings into a project, and have it trusted, as `init` and `trust` do."""
    cards = project / "lessons"
    cards.mkdir()
    for number, source in enumerate(sorted((material.BRAIN / "lessons").iterdir()), 1):
        text, name = source.read_text("utf-8"), source.name
        if arm == PLACEBO:  # the file's name would tell what the card is about
            text, name = make_placebo(text), f"advice-{number:02}.md"
        (cards / name).write_text(text, "utf-8")
    settings = (material.BRAIN / "lessons.toml").read_text("utf-8")
    (project / "lessons.toml").write_text(settings + ARMS[arm], "utf-8")
    ask_git(str(project), "init", "-q")
    folders.run_lessons(project, environment, "trust", str(project))


def score(out: Path, results: Path) -> None:
    """Check each folder in which something was proposed; keep what came of it."""
    tasks = {task.name: (repository, task) for repository, task in material.read_material()}
    rows = {(row["task"], row["arm"], row["run"]): row for row in read_results(results)}
    untouched = 0
    for entry in json.loads((out / "INDEX.json").read_text("utf-8")):
        folder = Path(entry.pop("dir"))
        repository, task = tasks[entry["task"]]
        state = out.with_name(f"{out.name}{STATES}") / folder.name
        said = folders.read_calls(state)
        proposals = sum("path" in one for one in said)
        if not proposals:
            untouched += 1
            continue
        place = Place(folder, state, state / repository)
        rows[tuple(entry.values())] = entry | _score(place, said, repository, task)
    write_results(results, list(rows.values()))
    print(f"{len(rows)} results; {untouched} folders in which nothing was proposed yet")


def _score(
    place: Place, said: Sequence[dict[str, Any]], repository: str, task: Task
) -> dict[str, Any]:
    answers = [one["answer"].get("additionalContext", "") for one in said if "answer" in one]
    opened = [
        f"lessons/{card.name}"
        for card in sorted((place.folder / "lessons").glob("*.md"))
        if card.stat().st_atime > 1  # it was put there with 0
    ]
    with tempfile.TemporaryDirectory() as parent:
        before, work = Path(parent, "a"), Path(parent, "b")
        material.copy_files(repository, before)
        folders.copy_work(place.folder, work)
        diff = folders.make_diff(Path(parent), "a", "b")
        outside = folders.find_outside(place, work)
        passed, note = material.run_check(repository, task, work)
    return {
        "outcome": RIGHT if passed else WRONG,
        "note": "" if passed else note,
        "lessons": read_injected(str(place.state)),
        "offered": sorted({card for text in answers for offer in _OFFER.findall(text)
                           for card in propose.NAMED.findall(offer)}),
        "opened": opened,
        "proposals": sum("path" in one for one in said),
        "refused": sum(one.get("answer", {}).get("permissionDecision") == "deny" for one in said),
        "outside": outside,
        "diff": diff,
    }  # fmt: skip


_AS = ("-c", "user.name=trial", "-c", "user.email=trial@localhost", "-c", "commit.gpgSign=false")


def make_repositories(out: Path) -> None:
    """Make a git repository of each, its checks on a branch of their own, and its file of tasks."""
    for name in material.REPOSITORIES:
        place = out / name
        material.copy_files(name, place)
        shutil.copytree(material.BRAIN, place, dirs_exist_ok=True)
        ask_git(str(place), "init", "-q", "-b", "main")
        for branch in ("main", "checks"):
            if branch == "checks":
                ask_git(str(place), "switch", "-q", "-c", branch)
                shutil.copytree(material.HERE / name / "checks", place / "checks")
            ask_git(str(place), "add", "-A")
            ask_git(str(place), *_AS, "commit", "-q", "-m", branch)
        ask_git(str(place), "switch", "-q", "main")
        shutil.copyfile(material.HERE / name / "tasks.toml", out / f"{name}.toml")


if __name__ == "__main__":
    sys.exit(main())
