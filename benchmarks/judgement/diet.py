"""`lessons diet` on real rules files: what moves, whether it arrives, and what a session saves.

``diet_files.toml`` names the files; ``CLONES`` is a folder with a clone of each repository, as
``owner+name/repo`` or ``owner+name``. Their text is not ours to publish: ``--moved FILE`` writes the
moved rules, with their cards, outside the repository.

``--occasions FILE`` plays occasions that readers wrote for moved rules: JSON, a list of
``{"rule": id, "prompt": text, "path": file, "edit": text}`` or with ``"command"`` in place of the
edit. A rule has arrived if its whole text reached the agent with the prompt or before the call. With
``CLONES``, the project in which an occasion is played has the files of the repository, without their
text, because the hook looks for the files that a command line names.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, DataError, git
from benchmarks.ours import private_state
from lessons_kb.diet.diet import Diet
from lessons_kb.diet.plan import Plan, count_afterwards, count_every_session, plan_diet
from lessons_kb.diet.probes import Occasion, contains_rule, make_occasions, open_proof
from lessons_kb.importers.rules_file import read_rules

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

FILES = HERE / "diet_files.toml"
_HEADERS = ("repository", "rules", "moved", "probes passed", "tokens", "afterwards", "change")


@dataclass(frozen=True, kw_only=True, slots=True)
class RulesOf:
    """A rules file of a repository."""

    repository: str
    commit: str
    path: str


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the diet, or play the occasions; print the table and return its figures."""
    if options.occasions:
        return _play(options)
    if not options.folders:
        raise DataError("name the folder of clones")
    figures: dict[str, Any] = {}
    moved: list[dict[str, str]] = []
    rows = []
    for file in _read_list(options.group):
        clone = _find_clone(Path(options.folders[0]), file)
        with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name:
            diet = _read_diet(clone, file, Path(name))
            with private_state(Path(name) / "home"):
                plan = plan_diet(diet, None)
            one = _measure(diet, plan)
        figures[file.repository] = one
        moved += _describe_moves(file, plan)
        share = f"{one['afterwards'] / one['tokens'] - 1:.0%}"
        counts = [str(one[key]) for key in ("rules", "moved", "probes", "tokens", "afterwards")]
        rows.append([file.repository, *counts, share])
    report.print_table("Rules files on a diet", _HEADERS, rows)
    if options.moved:
        Path(options.moved).write_text(json.dumps(moved, indent=1, ensure_ascii=False), "utf-8")
    return figures


def _read_list(group: str) -> Iterator[RulesOf]:
    groups = tomllib.loads(FILES.read_text("utf-8"))
    if group not in groups:
        raise DataError(f"no group {group}; choose from: {', '.join(groups)}")
    for row in groups[group]:
        yield RulesOf(repository=row["repository"], commit=row["commit"], path=row["path"])


def _find_clone(folder: Path, file: RulesOf) -> Path:
    name = file.repository.replace("/", "+")
    for clone in (folder / name / "repo", folder / name):
        if clone.is_dir():
            return clone
    raise DataError(f"no clone of {file.repository} in {folder}")


def _read_diet(clone: Path, file: RulesOf, root: Path) -> Diet:
    text = git(clone, "show", f"{file.commit}:{file.path}")
    tracked = _list_files(clone, file)
    return Diet(root=str(root), files=[read_rules(text, name=file.path)], tracked=tracked)


def _list_files(clone: Path, file: RulesOf) -> list[str]:
    listed = git(clone, "ls-tree", "-r", "-z", "--name-only", file.commit)
    return [name for name in listed.split("\0") if name]


def _create_files(names: Sequence[str], root: Path) -> None:
    """Create empty files. A submodule, which has the name of a folder, becomes an empty file too."""
    for folder in {(root / name).parent for name in names}:
        folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (root / name).touch()


def _measure(diet: Diet, plan: Plan) -> dict[str, int | dict[str, int]]:
    reasons = Counter(one.reason.partition(" at ")[0] for one in plan.stays)
    unproved = sum(one.reason.startswith("it would not arrive") for one in plan.stays)
    return {
        "rules": sum(len(file.rules) for file in diet.files),
        "moved": len(plan.moves),
        "probes": sum(len(make_occasions(move.condition)) for move in plan.moves),
        "unproved": unproved,
        "tokens": count_every_session(diet),
        "afterwards": count_afterwards(diet, plan),
        "reasons": dict(reasons),
    }


def _describe_moves(file: RulesOf, plan: Plan) -> Iterator[dict[str, str]]:
    for move in plan.moves:
        yield {
            "id": f"{file.repository}:{move.rule.line}",
            "rule": move.rule.text,
            "headings": " > ".join(filter(None, (*move.rule.headings, move.rule.lead))),
            "file": file.path,
            "repository": file.repository,
            "condition": move.condition.said,
            "card": move.text,
        }


def _play(options: argparse.Namespace) -> dict[str, Any]:
    """Play the occasions of readers, print and return how many rules arrived."""
    occasions, moved = Path(options.occasions), Path(options.moved or "")
    files = {file.repository: file for file in _read_list(options.group)}
    if not moved.is_file():
        raise DataError("name the moved rules, --moved FILE")
    rules = {row["id"]: row for row in json.loads(moved.read_text("utf-8"))}
    rows = json.loads(occasions.read_text("utf-8"))
    by_repository: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in rows:
        by_repository[rules[row["rule"]]["repository"]].append(row)
    results = []
    for repository, own in by_repository.items():
        cards = {
            f"lessons/rule-{number}.md": row["card"]
            for number, row in enumerate(rules.values())
            if row["repository"] == repository
        }
        with (
            tempfile.TemporaryDirectory(prefix="lessons-bench-") as name,
            tempfile.TemporaryDirectory(prefix="lessons-bench-") as project,
            private_state(Path(name) / "home"),
            open_proof(cards, project) as proof,
        ):
            if options.folders:
                clone = _find_clone(Path(options.folders[0]), files[repository])
                _create_files(_list_files(clone, files[repository]), Path(project))
            for row in own:
                occasion = Occasion(
                    prompt=row["prompt"],
                    path=row.get("path", ""),
                    edit=row.get("edit", ""),
                    command=row.get("command", ""),
                )
                arrived = contains_rule(proof.play(occasion).text, rules[row["rule"]]["rule"])
                results.append({**row, "arrived": arrived})
    total = Counter(row["arrived"] for row in results)
    missing = [[row["rule"], row["prompt"][:60]] for row in results if not row["arrived"]]
    report.print_table("Occasions at which the rule did not arrive", ("rule", "prompt"), missing)
    share = total[True] / len(results) if results else 0.0
    report.tell(f"{total[True]} of {len(results)} occasions arrived ({share:.0%})")
    return {"occasions": len(results), "arrived": total[True], "results": results}
