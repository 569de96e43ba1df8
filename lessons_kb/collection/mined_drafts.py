"""Write drafts of the mistakes that mining found in the past of a project."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
from collections import Counter
from collections.abc import Sequence

from lessons_kb.brain.brains import Brains
from lessons_kb.calls.failure_signs import is_test
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.sketch import Sketch
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.draft_lookup import ACCEPTED, Draft, DraftLookup
from lessons_kb.collection.drafts import Drafts
from lessons_kb.errors import GitError, StorageError
from lessons_kb.mining.candidates import Candidate, typed_before
from lessons_kb.mining.commit_facts import is_code
from lessons_kb.mining.draft_text import (
    MAX_DIFF,
    names_of,
    pick_hunks_with,
    sketch_candidate,
    split_files,
)
from lessons_kb.mining.triggers import REVIEW, Sighting
from lessons_kb.model import COMMIT_SOURCE, DRAFT, NOTE, Card
from lessons_kb.process.git import find_change, read_commit
from lessons_kb.store import card_files
from lessons_kb.store.repositories import git_top
from lessons_kb.text.redact import redact
from lessons_kb.values import replace

_SOURCE_DIGITS = 12
"""The number of digits of a commit in the `sources` of a card."""
_CAUSE_WORDS = 5
"""The first words of a cause, which identify it in a diff."""


def draft(
    brains: Brains, candidates: Sequence[Candidate], count: int, *, write: bool = True
) -> list[Draft]:
    """Write and return drafts of the first ``count`` candidates that have no draft.

    Without ``write`` no file is changed.
    """
    drafts: list[Draft] = []
    for place, candidate in enumerate(candidates):
        if len(drafts) >= count:
            break
        sketch = _sketch(brains.directory, candidate)
        draft = Drafts(brains).add_mined(candidate, sketch, place=place, write=write)
        if draft is not None:
            drafts.append(draft)
    return drafts


def write_card(brains: Brains, draft: Draft) -> Card:
    """Write a draft as a card of the nearest brain that waits for review.

    Raises DuplicateCard if a card, perhaps another draft, is the same lesson, and Contradiction if
    an active card demands the opposite.
    """
    return Cards(brains).add_text(edit_header(draft.text, {"status": DRAFT}))


def pick_answered(brains: Brains, candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates with a review comment that a later change of its line answered."""

    def is_answered(candidate: Candidate) -> bool:
        return any(_find_answer(brains.directory, sighting) for sighting in candidate.sightings)

    return [candidate for candidate in candidates if is_answered(candidate)]


def _sketch(directory: str, candidate: Candidate) -> Sketch:
    """Return the sketch of a candidate, with the change that fixed the mistake."""
    diff, tests = _read_fix(directory, candidate)
    return sketch_candidate(
        replace(candidate, paths=find_existing(directory, candidate.paths)),
        prompts=typed_before(candidate),
        diff=redact(diff),
        tests=redact(tests) if tests not in diff else "",
    )


def leave_out_drafted(
    brains: Brains, candidates: Sequence[Candidate]
) -> tuple[list[Candidate], Counter[str]]:
    """Return the candidates without a draft and without a card, and count the others by state.

    The states are those of drafts. A candidate also counts as accepted if a card, perhaps of a
    colleague, names one of its commits as a source.
    """
    states: dict[str, str] = {}
    for brain in reversed(brains.members):  # the nearest brain has the last word
        states |= DraftLookup(brains.led_by(brain)).read_mined_states()
    commits_of_cards = _find_commits_of_cards(brains)
    new: list[Candidate] = []
    left_out: Counter[str] = Counter()
    for candidate in candidates:
        state = next((states[key] for key in candidate.keys if key in states), "")
        ids = [*candidate.keys, *(commit.id for commit in candidate.commits)]
        if not state and any(id_[:_SOURCE_DIGITS] in commits_of_cards for id_ in ids):
            state = ACCEPTED
        if state:
            left_out[state] += 1
        else:
            new.append(candidate)
    return new, left_out


def _find_commits_of_cards(brains: Brains) -> set[str]:
    """Return the first digits of the commits that the cards of some brains name as sources."""
    commits: set[str] = set()
    for brain in brains.members:
        for card in brain.read(lambda opened: opened.catalogue.all_cards()):
            if card.kind == NOTE:
                continue
            with contextlib.suppress(StorageError):
                data = card_files.read_bytes(brain.root, card.id, limit=card_files.MAX_BYTES)
                text = data.decode("utf-8", "replace")
                if f"{COMMIT_SOURCE}:" in text:
                    sources = read_sources_of(text)
                    commits |= {
                        source.name[:_SOURCE_DIGITS]
                        for source in sources
                        if source.scheme == COMMIT_SOURCE
                    }
    return commits


def _read_fix(directory: str, candidate: Candidate) -> tuple[str, str]:
    """Return the diff of the code that fixed a mistake, and the diff of its tests."""
    diff = tests = ""
    for commit in candidate.commits[:1]:
        with contextlib.suppress(GitError):
            whole = read_commit(directory, commit.id)
            diff = pick_code(whole, commit.causes)
            tests = "".join(part for part in split_files(whole) if is_test(names_of(part)[-1]))
    for sighting in candidate.sightings:
        diff = diff or _find_answer(directory, sighting)
    return diff, tests


def find_existing(directory: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the paths that exist: a card cannot guard a file that was deleted."""
    roots = {git_top(directory) or directory, directory}

    def exists(path: str) -> bool:
        return any(os.path.isfile(os.path.join(root, path)) for root in roots)

    return tuple(filter(exists, paths))


def _find_answer(directory: str, sighting: Sighting) -> str:
    """Return the change that answered a reviewer's comment, in the file of the comment, or ""."""
    line = sighting.excerpt.rpartition("\n")[2][1:].strip()
    if sighting.agent != REVIEW or not (line and sighting.paths and sighting.at):
        return ""
    path = sighting.paths[0]
    since = dt.datetime.fromtimestamp(sighting.at, dt.UTC).isoformat()
    with contextlib.suppress(GitError):
        commit = find_change(directory, line, path, since=since)
        parts = split_files(read_commit(directory, commit)) if commit else ()
        return "".join(part for part in parts if path in names_of(part))
    return ""


def pick_code(diff: str, causes: Sequence[str] = ()) -> str:
    """Return the part of a diff that changes code.

    Lessons are left out, because they would reveal the answer. Tests are left out unless nothing
    else changed. If the result is too long to be shown, only the hunks that contain a cause stay.
    """
    parts: list[tuple[str, str]] = []
    for part in split_files(diff):
        name = names_of(part)[-1]
        if not name.endswith((".md", ".lock")):
            parts.append((name, part))
    code = [part for name, part in parts if is_code(name) and not is_test(name)]
    whole = "".join(code or [part for _name, part in parts])
    cause_words = [cause.split(maxsplit=_CAUSE_WORDS)[:_CAUSE_WORDS] for cause in causes]
    if len(whole) <= MAX_DIFF or not cause_words:
        return whole
    return "".join(pick_hunks_with(part, cause_words) for part in code) or whole
