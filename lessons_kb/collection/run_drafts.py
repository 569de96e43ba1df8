"""Draft the mistake between a failed and a passed run of the same tests."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.brain.brains import Brains
from lessons_kb.calls.failure_signs import is_test
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.collection.mined_drafts import find_existing, pick_code
from lessons_kb.errors import InputError
from lessons_kb.mining.candidates import Candidate
from lessons_kb.mining.commit_facts import CommitFacts, is_written, read_facts
from lessons_kb.mining.draft_text import names_of, sketch_candidate, split_files
from lessons_kb.mining.junit import MAX_BYTES, Failure, Report, find_repaired, read_report
from lessons_kb.mining.rank_commits import is_fix, rank_commits
from lessons_kb.mining.triggers import THEN_GREEN, Sighting
from lessons_kb.process.git import Repository, decode, read_diff, read_patches
from lessons_kb.store.files import read_regular, storage_errors
from lessons_kb.text.error_signature import error_signature
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import counted
from lessons_kb.values import replace

CI = "ci"
"""Replaces the name of the agent for runs of tests."""
_MAX_COMMITS = 20
"""The maximum number of commits between the two runs whose messages are read."""
_MAX_FAILURES = 3


def draft_runs(
    brains: Brains, reports: tuple[str, str], commits: tuple[str, str], *, write: bool = True
) -> tuple[Draft | None, list[Failure]]:
    """Write a draft of the change that repaired tests, and return it with the repaired tests.

    ``reports`` are the JUnit reports of the failed and the passed run, and ``commits`` are their
    commits. The draft is None if there was ever a draft of this change. Raises InputError if no
    test was repaired, or if only tests changed between the commits.
    """
    before, after = (_read(path) for path in reports)
    failures = find_repaired(before, after)
    if not failures:
        raise InputError(
            f"no test that failed in {reports[0]} passes in {reports[1]}; "
            "give the failed run first, then the passed one"
        )
    repository = Repository(brains.directory)
    bad, good = (_resolve(repository, name) for name in commits)
    diff = read_diff(brains.directory, f"{bad}..{good}").text
    parts = split_files(diff)
    paths = [names_of(part)[-1] for part in parts]
    written = [path for path in paths if is_written(path) and not is_test(path)]
    if not written:
        raise InputError(
            f"only tests changed between {bad[:10]} and {good[:10]}, so the code had no mistake"
        )
    tests = "".join(part for part in parts if is_test(names_of(part)[-1]))
    candidate = _make_candidate(failures, _read_commits(repository, bad, good), bad, good)
    existing = find_existing(brains.directory, written)
    sketch = sketch_candidate(
        replace(candidate, paths=existing), diff=redact(pick_code(diff)), tests=redact(tests)
    )
    return Drafts(brains).add_mined(candidate, sketch, place=0, write=write), failures


def _read(path: str) -> Report:
    with storage_errors(path):
        data = read_regular(path, limit=MAX_BYTES, name=path)
    return read_report(data, name=path)


def _resolve(repository: Repository, name: str) -> str:
    """Return the hash of a commit. Raises InputError if there is no commit with this name."""
    arguments = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
    done = repository.run(*arguments)
    if done.code or not name.strip():
        raise InputError(f"{name!r} is not a commit of this clone; fetch it, or use --commits")
    return decode(done.output).strip()


def _read_commits(repository: Repository, bad: str, good: str) -> list[CommitFacts]:
    """Return the commits between the runs, with the likeliest correction of a mistake first."""
    arguments = ("rev-list", "--no-merges", f"--max-count={_MAX_COMMITS}", f"{bad}..{good}")
    names = decode(repository.ask(*arguments)).split()
    patches = read_patches(repository.top, names)
    history = [read_facts(one.id, one.at, one.message, one.patch) for one in patches]
    ranked = sorted(rank_commits(history), key=lambda commit: -commit.score)
    return [commit.facts for commit in ranked]


def _make_candidate(
    failures: Sequence[Failure], commits: Sequence[CommitFacts], bad: str, good: str
) -> Candidate:
    """Return the candidate of a change that repaired tests."""
    at = max((facts.at for facts in commits), default=0.0)
    sightings = []
    for failure in failures[:_MAX_FAILURES]:
        said = failure.message or str(failure.test)
        sightings.append(
            Sighting(
                session=f"{bad}..{good}",
                agent=CI,
                at=at,
                title=redact(said),
                signature=error_signature(failure.output) or said,
                signals=(THEN_GREEN,),
                command=redact(str(failure.test)),
                excerpt=redact(failure.output),
            )
        )
    names_fix = bool(commits) and is_fix(commits[0])
    return Candidate(
        id=f"{bad}..{good}",
        title=commits[0].subject if names_fix else sightings[0].title,
        occurrences=1,
        at=at,
        rank=0.0,
        reasons=(f"{counted(len(failures), 'test')} failed before, and passed after the change",),
        sightings=tuple(sightings),
        commits=tuple(commits[:_MAX_FAILURES]),
        keys=(f"{bad}..{good}", *(facts.id for facts in commits)),
    )
