"""Search all brains that apply, and merge their hits into one ranking."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.current_session import session_of
from lessons_kb.find.retrieve import files_to_guard, find, find_usable, merge_hits
from lessons_kb.ledger.withheld import is_withheld
from lessons_kb.model import KINDS, NOTE, Card, Hit, Query
from lessons_kb.on_demand import CALIBRATE, load
from lessons_kb.text.paths import relative_path
from lessons_kb.values import NamedTuple, replace

HIT_LIMIT = 10
"""The number of hits that are judged for a preflight. It is more than can be injected, so that
`why` can list the next hits.
"""
_MOST_CHARS = 60_000
"""The maximum number of characters of a prompt, which have about 8,000 different words and take 0.3
s. Of a longer prompt, only both ends are searched.
"""


class Found(NamedTuple):
    """The result of one query over all brains."""

    hits: list[tuple[Brain, Hit]]
    """Judged hits, best first, each with the brain that contains the card."""
    frequencies: dict[str, int]
    """The document frequency of each term of the query, over all brains."""
    size: int
    """The number of documents in all indexes."""


def search(
    brains: Brains,
    text: str,
    *,
    kinds: Sequence[str] = (*KINDS, NOTE),
    stage: str | None = None,
    paths: Sequence[str] = (),
    tags: Sequence[str] = (),
    limit: int = HIT_LIMIT,
    fresh: bool = True,
    asked_by: str = "",
) -> list[Hit]:
    """Return the best hits for ``text``, best first, including hits that did not pass the gate.

    If ``fresh`` is true, the indexes are refreshed first. Otherwise the last commit is searched.
    The lessons withheld from the session ``asked_by`` (by default the session of this process) are
    left out.
    """
    query = Query(
        text=text,
        kinds=tuple(kinds),
        stage=stage,
        paths=tuple(paths),
        tags=tuple(tags),
        limit=limit,
    )
    query = complete_query(brains, query)
    if fresh:
        brains.refresh_for_search()
        load(CALIBRATE).calibrate(brains)
    session = asked_by or session_of()[0]
    hits: list[Hit] = []
    for brain, hit in find_hits(brains, query).hits:
        if not is_withheld(brain, hit.card, session):
            hits.append(hit)
    return hits[: max(limit, 0)]


def find_lessons(brains: Brains, query: Query) -> list[tuple[Brain, Hit]]:
    """Return the lessons for a query, best first, each with its brain.

    It searches the last commit and includes hits that did not pass the gate.
    """
    return find_hits(brains, complete_query(brains, query)).hits[: query.limit]


def find_guarding(brains: Brains, path: str) -> list[Card]:
    """Return the cards that guard a file by their ``paths``, as of the last commit.

    ``path`` is relative to the project root.
    """
    guarding: list[Card] = []
    for brain in brains.members:
        if brain.ensure_indexed():
            cards = brain.read(
                lambda brain: find_usable(brain, brain.guarding([path]), brains.project)
            )
            guarding += cards.values()
    return guarding


def complete_query(brains: Brains, query: Query) -> Query:
    """Return a copy of a query that also has the project and the files named in its text."""
    text, here = query.text, brains.directory
    if len(text) > _MOST_CHARS:  # the question is before or after a long log
        half = _MOST_CHARS // 2
        text = f"{text[:half]}\n{text[-half:]}"
    text, mentioned = files_to_guard(text)
    paths = [relative_path(path, here, cwd=here) or "." for path in (*query.paths, *mentioned)]
    return replace(query, text=text, project=brains.project, paths=tuple(dict.fromkeys(paths)))


def find_hits(
    brains: Brains, query: Query, served: Callable[[], Sequence[Hit]] | None = None
) -> Found:
    """Search every brain for a completed query. ``served`` returns the hits of a server."""
    answers = [(brain, brain.read(lambda brain: find(brain, query))) for brain in brains.members]
    frequencies: dict[str, int] = {}
    for _brain, answer in answers:
        for term, count in answer.frequencies.items():
            frequencies[term] = frequencies.get(term, 0) + count
    hits = merge_hits(answers, served() if served is not None else ())
    return Found(hits, frequencies, sum(answer.size for _brain, answer in answers))
