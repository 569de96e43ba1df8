"""Read the facts about commits, and the patches of only those that can correct a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from lessons_kb.mining.candidates import Candidate
from lessons_kb.mining.commit_facts import CommitFacts, name_facts, read_facts
from lessons_kb.mining.rank_commits import needs_patch
from lessons_kb.mining.reverts import quote_revert
from lessons_kb.process.git import read_names, read_patches
from lessons_kb.text.redact import redact, redact_data
from lessons_kb.values import list_fields, replace

_FIELDS = tuple(list_fields(CommitFacts))
_TEXTS = ("subject", "body", "causes")


def read_commits(directory: str, commits: Sequence[str]) -> Iterator[CommitFacts]:
    """Yield the facts about commits, in no particular order. Raises GitError.

    git spends most of its time on the patches of large features, which are no candidates. So a
    first pass reads messages and names of files, and the second pass reads the patches that count.
    Of the message of another commit, only the subject and the commit that it takes back are kept;
    see `add_bodies`. A commit whose content is missing in this clone is left out.
    """
    needed: list[str] = []
    for names in read_names(directory, commits):
        facts = name_facts(names.id, names.at, names.message, names.paths)
        if needs_patch(facts):
            needed.append(names.id)
        else:
            yield replace(facts, body=quote_revert(facts.body))
    if needed:
        for patch in read_patches(directory, needed):
            yield read_facts(patch.id, patch.at, patch.message, patch.patch)


def add_bodies(directory: str, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with the whole messages of the commits that fixed them.

    The mistake of a session may be fixed by a commit whose patch was not read. Raises GitError.
    """
    cut: set[str] = set()
    for candidate in candidates:
        if candidate.sightings:
            cut.update(facts.id for facts in candidate.commits if not _has_patch(facts))
    if not cut:
        return list(candidates)
    bodies: dict[str, str] = {}
    for names in read_names(directory, sorted(cut)):
        facts = name_facts(names.id, names.at, names.message, names.paths)
        bodies[facts.id] = redact(facts.body)
    complete: list[Candidate] = []
    for candidate in candidates:
        commits = (
            replace(facts, body=bodies.get(facts.id, facts.body)) for facts in candidate.commits
        )
        complete.append(replace(candidate, commits=tuple(commits)))
    return complete


def _has_patch(facts: CommitFacts) -> bool:
    return bool(facts.added or facts.removed or facts.test_lines)


def redact_facts(facts: CommitFacts, clean_paths: set[str]) -> dict[str, Any]:
    """Return the facts about a commit as data, without secrets.

    Hash and checksums are not redacted, because they contain no text but look like a secret.
    ``clean_paths`` collects the paths without a secret, which most commits repeat. Short texts are
    redacted in less time than the same texts joined.
    """
    row = {name: getattr(facts, name) for name in _FIELDS}
    for name in _TEXTS:
        row[name] = redact_data(row[name])
    new_paths = [path for path in (*facts.paths, *facts.tests) if path not in clean_paths]
    if redact_data(new_paths) == new_paths:
        clean_paths.update(new_paths)
    else:
        row["paths"], row["tests"] = redact_data(facts.paths), redact_data(facts.tests)
    return row
