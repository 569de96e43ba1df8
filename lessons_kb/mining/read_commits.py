"""Read the facts about commits, and the patches of only those that can correct a mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lessons_kb.mining.commit_facts import CommitFacts, name_facts, read_facts
from lessons_kb.mining.rank_commits import needs_patch
from lessons_kb.process.git import read_names, read_patches


def read_commits(directory: str, commits: Sequence[str]) -> Iterator[CommitFacts]:
    """Yield the facts about commits, in no particular order. Raises GitError.

    git spends most of its time on the patches of large features, which are no candidates. So a
    first pass reads messages and names of files, and the second pass reads the patches that count.
    A commit whose content is missing in this clone is left out.
    """
    needed: list[str] = []
    for names in read_names(directory, commits):
        facts = name_facts(names.id, names.at, names.message, names.paths)
        if needs_patch(facts):
            needed.append(names.id)
        else:
            yield facts
    if needed:
        for patch in read_patches(directory, needed):
            yield read_facts(patch.id, patch.at, patch.message, patch.patch)
