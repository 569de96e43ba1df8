"""`lessons diet` on real rules files: its verdicts beside readers', and whether moved rules arrive.

The rules files are not ours to publish: ``FOLDER/K.md`` (default: ``rules`` in the evaluation data),
beside each ``K.tree``, the names of its project's files. Two readers who saw the rules alone said of
each whether it holds always or when; ``judged/diet.jsonl`` keeps their choices, rules by their hashes.
An author who saw neither cards nor verdicts wrote a prompt and a change for moved rules,
``FOLDER/prompts.jsonl``: a rule arrives if its card is given with the prompt or before the change.
``--collect READERS`` takes in what readers answered.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.data import HERE, DataError, data_folder, read_rows, write_rows
from benchmarks.judgement.replay import Turn, find_blocks
from benchmarks.ours import open_indexed, private_state
from lessons_kb.collection.cards import Cards
from lessons_kb.diet.diet import Diet, plan_cards
from lessons_kb.find.titles import Access, find_listed
from lessons_kb.importers.rules_file import ALWAYS, WHEN, read_rules
from lessons_kb.text.token_estimate import estimate_tokens

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from lessons_kb import Brain

JUDGED = HERE / "judged" / "diet.jsonl"
READERS = (1, 2)
_HEADERS = (
    *("file", "tokens", "afterwards", "rules", "when", "judged", "readers agree", "we agree"),
    *("cards", "moved rules tried", "at the prompt", "offered", "title listed", "at the edit"),
    "given",
)
_WAYS = ("at_prompt", "offered", "listed", "by_change")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Take each rules file apart, print the table, return its figures."""
    if options.collect:
        _collect(Path(options.collect))
    folder = Path(options.folders[0]) if options.folders else data_folder() / "rules"
    files = sorted(folder.glob("[0-9]*.md"), key=lambda path: int(path.stem))
    if not files:
        raise DataError(f"no rules files in {folder}; name the folder that holds 1.md, 1.tree …")
    choices = {row["rule"]: row["answers"] for row in _read_lines(JUDGED)}
    prompts = {row["hash"]: row for row in _read_lines(folder / "prompts.jsonl")}
    figures = {path.stem: _measure(path, choices, prompts) for path in files}
    sums = {name: Counter[str]() for name in ("odd", "even", "all")}
    for name, one in figures.items():
        sums["odd" if int(name) % 2 else "even"].update(one)
        sums["all"].update(one)
    figures.update((name, dict(one)) for name, one in sums.items())
    rows = [_row(name, one) for name, one in figures.items()]
    report.print_table("Rules files on a diet", _HEADERS, rows)
    return figures


def digest(words: str) -> str:
    """Return what stands for a rule in what is published."""
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def _measure(
    path: Path, choices: dict[str, list[str]], prompts: dict[str, dict[str, str]]
) -> dict[str, int]:
    text = path.read_bytes().decode()
    tree = path.with_suffix(".tree")
    tracked = tree.read_text("utf-8").splitlines() if tree.exists() else []
    file = read_rules(text, name="AGENTS.md")
    diet = Diet(root=str(path.parent), files=[file], tracked=tracked)
    cards, texts = plan_cards(diet)
    judged = [
        (rule.kind, choices[key]) for rule in file.rules if (key := digest(rule.words)) in choices
    ]
    agreed = [(kind, said[0]) for kind, said in judged if len({*said}) == 1]
    figures = {
        "tokens": estimate_tokens(text),
        "afterwards": estimate_tokens(texts[file.name]),
        "rules": len(file.rules),
        "when": sum(rule.kind == WHEN for rule in file.rules),
        "judged": len(judged),
        "readers_agree": len(agreed),
        "we_agree": sum(ours == theirs for ours, theirs in agreed),
        "always_for_when": agreed.count((ALWAYS, WHEN)),
        "when_for_always": agreed.count((WHEN, ALWAYS)),
        "cards": len(cards),
    }
    places = []
    with tempfile.TemporaryDirectory(prefix="lessons-bench-") as name, private_state(Path(name)):
        root = Path(name) / "brain"
        root.mkdir()
        with open_indexed(root) as brain:
            for card in cards:
                made = Cards(brain).add(card.text, kind="lesson", title=card.title).id
                tried = (prompts.get(digest(rule.words)) for rule in card.rules)
                places += [(made, one) for one in tried if one]
            brain.refresh()
            listed = find_listed(brain, Access(directory=str(root)))
            arrived = [_find_ways(brain, made, one, listed) for made, one in places]
    ways = Counter(way for found in arrived for way in found)
    given = sum(bool(found - {"listed"}) for found in arrived)
    counts = {way: ways[way] for way in _WAYS}
    return {**figures, "tried": len(arrived), **counts, "given": given}


def _find_ways(brain: Brain, card: str, case: dict[str, str], listed: Sequence[str]) -> set[str]:
    """Return the ways by which a card comes before the agent in a turn."""
    changes = ((f"{brain.directory}/{case['path']}", "", case["edit"]),) if case["path"] else ()
    turn = Turn(session=case["hash"], prompt=case["prompt"], changes=changes)
    ways = {"listed"} if card in listed else set()
    for number, block in enumerate(find_blocks(brain, turn)):
        given = {hit.card.id for hit in block.lessons} if block else set()
        offered = {hit.card.id for hit in block.offered} if block else set()
        if number:
            ways |= {"by_change"} if card in given | offered else set()
        else:
            ways |= {"at_prompt"} if card in given else {"offered"} if card in offered else set()
    return ways


def _row(name: str, one: dict[str, int]) -> list[str]:
    def share(part: str, whole: str) -> str:
        return f"{one[part] / one[whole]:.0%}" if one[whole] else "-"

    arrived = [share(way, "tried") for way in (*_WAYS, "given")]
    shares = share("readers_agree", "judged"), share("we_agree", "readers_agree")
    counts = (str(one[key]) for key in ("tokens", "afterwards", "rules", "when", "judged"))
    return [name, *counts, *shares, str(one["cards"]), str(one["tried"]), *arrived]


def _collect(folder: Path) -> None:
    """Keep the readers' choices, and their prompts beside the rules files."""
    rows = []
    for keys in sorted(folder.glob("keys-[0-9]*.jsonl")):
        number = keys.stem.partition("-")[2]
        answers = [_read_lines(folder / f"answers-{one}-{number}.jsonl") for one in READERS]
        said = [{row["rule"]: row["answer"] for row in some} for some in answers]
        rows += [
            {"rule": key["hash"], "answers": [one[key["rule"]] for one in said]}
            for key in _read_lines(keys)
            if all(key["rule"] in one for one in said)
        ]
    write_rows(JUDGED, rows)
    written = {row["rule"]: row for row in _read_lines(folder / "answers-author.jsonl")}
    prompts = [
        {**written[key["rule"]], "hash": key["hash"]}
        for key in _read_lines(folder / "keys-author.jsonl")
        if key["rule"] in written
    ]
    write_rows(folder / "files" / "prompts.jsonl", prompts)


def _read_lines(path: Path) -> list[dict[str, Any]]:
    return read_rows(path) if path.exists() else []
