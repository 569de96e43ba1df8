"""Silence and recall together: what the gate lets through, and what it costs.

A brain is a set's documents as cards. Own prompts are the set's queries; foreign ones are the
queries of other sets and everyday requests that no card is about.

*False injection* is the share of foreign prompts with at least one injected lesson; *kept recall*
is hit@3 with the gate over hit@3 of the ranking without it; *given* is the same of what is injected,
which is two lessons at most.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from benchmarks import metrics, report
from benchmarks.data import Doc, RetrievalSet, read_everyday, read_sets, share_documents
from benchmarks.generate import learn_statistics, make_card
from benchmarks.ours import open_ours
from benchmarks.retrieval import real_prompts, sixcards

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Sequence
    from typing import Any

    from benchmarks.data import Prompt
    from benchmarks.ours import Ours

MIN_KEPT = 0.9
MIN_KEPT_ANYWHERE = 0.8
MAX_FALSE_OTHERS = 0.04
MAX_FALSE_EVERYDAY = 0.01
SMALL_SIZES = (3, 6, 30)
SHORT = 8
"""Everyday prompts of at most so many words are counted apart: they are the hard ones."""
_FOREIGN_PER_SET = 100
_OWN_TOGETHER = 100
_TOGETHER = 12_000
_TRIALS = {3: 24, 6: 18, 30: 9}
_HEADERS = (
    "brain",
    "cards",
    "own",
    "hit@3",
    "kept",
    "in real prompts",
    "given",
    "false: other sets",
    "everyday",
    "short",
    "all",
    "per prompt",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Tally:
    """Outcomes prompt by prompt; tallies of several brains add up."""

    size: int
    found: tuple[float, ...] = ()
    """hit@3 of the ranking for each own prompt."""
    kept: tuple[float, ...] = ()
    """hit@3 of what passes the gate for each own prompt."""
    given: tuple[float, ...] = ()
    """The right card is among those injected, for each own prompt."""
    put_found: tuple[float, ...] = ()
    """As ``found``, for own prompts that were put into recorded ones."""
    put_kept: tuple[float, ...] = ()
    others: tuple[int, ...] = ()
    """Lessons injected for each query of another set."""
    everyday: tuple[int, ...] = ()
    short: tuple[int, ...] = ()
    """The part of ``everyday`` that is at most SHORT words long."""
    drew: tuple[str, ...] = ()
    """Beginnings of the foreign prompts that drew a lesson."""

    def __add__(self, other: Tally) -> Tally:
        names = (
            "found", "kept", "given", "put_found", "put_kept", "others", "everyday", "short", "drew",
        )  # fmt: skip
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure full, small and joined brains, print the tables, return all figures."""
    sets = read_sets(options.sets)
    everyday = read_everyday(options.part)
    rng = random.Random(options.seed)
    full = {}
    for given in sets:
        own = _sample(rng, given.queries, 40 if options.quick else len(given.queries))
        full[given.name] = measure(
            given, own, _foreign(given, sets, rng, options), everyday, typed=not options.quick
        )
        report.tell(f"{given.name}: {_cells(full[given.name])}")
    _print_full(full)
    real = real_prompts.run(quick=options.quick)
    small = {}
    for size in SMALL_SIZES:
        small[str(size)] = _measure_small(sets, size, everyday, rng, options)
    figures = {"sets": _summaries(full), "small": _summaries(small), "real": real}
    if not options.quick:
        together = _measure_together(sets, everyday, rng)
        small["all sets"] = together
        figures["together"] = _summary(together)
    _print("Small brains, and all sets in one", small)
    return figures | {"average": _average(full)} | sixcards.run(options)


def measure(
    given: RetrievalSet,
    own: Iterable[Prompt],
    others: Iterable[Prompt],
    everyday: Iterable[Prompt],
    *,
    typed: bool = False,
) -> Tally:
    """Make a brain of the set's documents and put every prompt to it.

    ``typed`` asks with own prompts inside recorded ones too.
    """
    with open_ours(given.docs) as ours:
        return ask(ours, given, own, others, everyday, typed=typed)


def ask(
    ours: Ours,
    given: RetrievalSet,
    own: Iterable[Prompt],
    others: Iterable[Prompt],
    everyday: Iterable[Prompt],
    *,
    typed: bool = False,
) -> Tally:
    """Put every prompt to an open brain."""
    found, kept, injected = [], [], []
    for prompt in own:
        relevant = given.relevant[prompt.id]
        found.append(metrics.compute_hit(ours.search(prompt.text, 3), relevant))
        kept.append(metrics.compute_hit(ours.keep(prompt.text, 3), relevant))
        injected.append(metrics.compute_hit(ours.inject(prompt.text), relevant))
    put = real_prompts.put_into(given, 1) if typed else []
    strange = [(prompt, len(ours.inject(prompt.text))) for prompt in others]
    daily = [(prompt, len(ours.inject(prompt.text))) for prompt in everyday]
    return Tally(
        size=len(given.docs),
        found=tuple(found),
        kept=tuple(kept),
        given=tuple(injected),
        put_found=tuple(
            metrics.compute_hit(ours.search(text, 3), given.relevant[name]) for name, text in put
        ),
        put_kept=tuple(
            metrics.compute_hit(ours.keep(text, 3), given.relevant[name]) for name, text in put
        ),
        others=tuple(count for _, count in strange),
        everyday=tuple(count for _, count in daily),
        short=tuple(count for prompt, count in daily if len(prompt.text.split()) <= SHORT),
        drew=tuple(prompt.text[:80] for prompt, count in [*daily, *strange] if count),
    )


def take_small(given: RetrievalSet, size: int, rng: random.Random) -> RetrievalSet:
    """Return a set of ``size`` documents, half of them (at least one) with a query of their own."""
    by_id = {doc.id: doc for doc in given.docs}
    chosen: dict[str, Doc] = {}
    for query in rng.sample(given.queries, len(given.queries)):
        if len(chosen) >= max(1, size // 2):
            break
        answers = sorted(doc for doc in given.relevant[query.id] if doc in by_id)
        chosen |= {doc: by_id[doc] for doc in answers[:1]}
    rest = [doc for doc in given.docs if doc.id not in chosen]
    docs = [*chosen.values(), *rng.sample(rest, max(0, size - len(chosen)))]
    queries = [query for query in given.queries if chosen.keys() & given.relevant[query.id].keys()]
    return replace(given, docs=tuple(docs), queries=tuple(queries))


def _foreign(
    given: RetrievalSet,
    sets: Sequence[RetrievalSet],
    rng: random.Random,
    options: argparse.Namespace,
) -> list[Prompt]:
    count = 15 if options.quick else _FOREIGN_PER_SET
    foreign = [other for other in sets if not share_documents(given.name, other.name)]
    return [prompt for other in foreign for prompt in _sample(rng, other.queries, count)]


def _measure_small(
    sets: Sequence[RetrievalSet],
    size: int,
    everyday: Sequence[Prompt],
    rng: random.Random,
    options: argparse.Namespace,
) -> Tally:
    total = Tally(size=size)
    for given in sets:
        for _ in range(1 if options.quick else _TRIALS[size]):
            small = take_small(given, size, rng)
            own = _sample(rng, small.queries, 2 * size)
            others = _sample(rng, _foreign(given, sets, rng, options), 50)
            total += measure(small, own, others, _sample(rng, everyday, 50))
    report.tell(f"{size} cards: {_cells(total)}")
    return total


def _measure_together(
    sets: Sequence[RetrievalSet], everyday: Sequence[Prompt], rng: random.Random
) -> Tally:
    """Put all documents in one brain, filled up with generated cards to 12,000."""
    docs: dict[str, Doc] = {}
    relevant: dict[str, dict[str, int]] = {}
    own: list[Prompt] = []
    for given in sets:
        home = next(other.name for other in sets if share_documents(given.name, other.name))
        docs |= {f"{home} {doc.id}": replace(doc, id=f"{home} {doc.id}") for doc in given.docs}
        for prompt in _sample(rng, given.queries, _OWN_TOGETHER):
            name = f"{given.name} {prompt.id}"
            grades = given.relevant[prompt.id]
            relevant[name] = {f"{home} {doc}": grade for doc, grade in grades.items()}
            own.append(replace(prompt, id=name))
    statistics = learn_statistics()
    for number in range(_TOGETHER - len(docs)):
        _, text = make_card(statistics, number, seed=1, real_size=False)
        body = text.split("---\n", 2)[2]
        docs[f"filler {number}"] = Doc(id=f"filler {number}", title="", text=body)
    joined = RetrievalSet(
        name="all", docs=tuple(docs.values()), queries=tuple(own), relevant=relevant
    )
    tally = measure(joined, own, (), everyday)
    report.tell(f"all sets in one: {_cells(tally)}")
    return tally


def _sample(rng: random.Random, prompts: Sequence[Prompt], count: int) -> Sequence[Prompt]:
    return prompts if len(prompts) <= count else rng.sample(prompts, count)


def _share(counts: Sequence[int]) -> float:
    return metrics.mean([float(count > 0) for count in counts])


def _summary(tally: Tally) -> dict[str, Any]:
    foreign = tally.others + tally.everyday
    found, kept = sum(tally.found), sum(tally.kept)
    return {
        "cards": tally.size,
        "own": len(tally.found),
        "hit@3": metrics.mean(tally.found),
        "kept": kept / found if found else 1.0,
        "given": sum(tally.given) / found if found else 1.0,
        "kept_in_real": sum(tally.put_kept) / sum(tally.put_found) if any(tally.put_found) else 1.0,
        "foreign": len(foreign),
        "false_others": _share(tally.others),
        "false_everyday": _share(tally.everyday),
        "false_short": _share(tally.short),
        "false": _share(foreign),
        "lessons_per_foreign_prompt": metrics.mean(foreign),
        "drew": tally.drew,
    }


def _summaries(tallies: dict[str, Tally]) -> dict[str, Any]:
    return {name: _summary(tally) for name, tally in tallies.items()}


def _average(tallies: dict[str, Tally]) -> dict[str, Any]:
    rows = [_summary(tally) for tally in tallies.values()]
    names = (
        "hit@3",
        "kept",
        "given",
        "kept_in_real",
        "false_others",
        "false_everyday",
        "false_short",
        "false",
    )
    average: dict[str, Any] = {name: metrics.mean([row[name] for row in rows]) for name in names}
    average["least_kept"] = min((row["kept"] for row in rows), default=1.0)
    average["reached"] = (
        average["kept"] >= MIN_KEPT
        and average["least_kept"] >= MIN_KEPT_ANYWHERE
        and average["false_others"] <= MAX_FALSE_OTHERS
        and average["false_everyday"] <= MAX_FALSE_EVERYDAY
    )
    return average


def _cells(tally: Tally) -> list[str]:
    row = _summary(tally)
    names = ("hit@3", "kept", "kept_in_real", "given")
    wrong = ("false_others", "false_everyday", "false_short", "false")
    shares = [f"{row[name]:.1%}" for name in (*names, *wrong)]
    if not tally.put_found:
        shares[2] = "-"
    if not tally.others:
        shares[4] = "-"
    return [str(tally.size), str(row["own"]), *shares, f"{row['lessons_per_foreign_prompt']:.2f}"]


def _print_full(full: dict[str, Tally]) -> None:
    average = _average(full)
    _print("Each set as a brain", full)
    reached = "reached" if average["reached"] else "NOT REACHED"
    print(
        f"\non average {average['kept']:.1%} of recall kept (target: {MIN_KEPT:.0%}),"
        f" {average['least_kept']:.1%} at least (target: {MIN_KEPT_ANYWHERE:.0%}),"
        f" {average['given']:.1%} given; false: other sets {average['false_others']:.1%} (target:"
        f" at most {MAX_FALSE_OTHERS:.0%}), everyday {average['false_everyday']:.1%} (target: at most"
        f" {MAX_FALSE_EVERYDAY:.0%}): {reached}"
    )


def _print(title: str, tallies: dict[str, Tally]) -> None:
    rows = [[name, *_cells(tally)] for name, tally in tallies.items()]
    report.print_table(title, _HEADERS, rows)
