"""What git brings: three versions of a card, and the attributes file of a repository."""

from __future__ import annotations

from lessons_kb.cards.merge import merge_cards
from lessons_kb.cards.parse import parse_card
from lessons_kb.collection.git_merge import build_patterns, find_patterns, put_block, remove_block
from lessons_kb.config import KNOWN_FOLDERS

BETWEEN = b"\n====\n"


def merge(data: bytes) -> None:
    """Any three texts merge; what one side alone changed stands; counts know no side."""
    try:
        texts = [part.decode("utf-8") for part in data.split(BETWEEN)]
    except UnicodeDecodeError:
        return
    base, ours, theirs = (*texts, "", "", "")[:3]
    assert merge_cards(base, base, ours, merge_text=_by_lines).text == ours
    assert merge_cards(base, ours, base, merge_text=_by_lines).text == ours
    one = merge_cards(base, ours, theirs, merge_text=_by_lines)
    other = merge_cards(base, theirs, ours, merge_text=_by_lines)
    if one.conflict or other.conflict:
        return
    counts = []
    for merged in (one, other):
        document = parse_card(merged.text, path="lessons/a.md", folders=KNOWN_FOLDERS)
        if document.card is None or document.findings:
            return  # what the lenient reader makes of a line may differ with its neighbours
        counts.append(document.card.occurrences)
    assert counts[0] == counts[1], counts


def _by_lines(base: str, ours: str, theirs: str) -> tuple[str, bool]:
    """Merge as git would, as far as one side alone changed a text."""
    if ours in (base, theirs):
        return theirs, False
    if theirs == base:
        return ours, False
    return f"<<<<<<<\n{ours}\n=======\n{theirs}\n>>>>>>>\n", True


def attributes(data: bytes) -> None:
    """Our block is put into any text and taken out of it again without a trace."""
    text, _, brain = data.decode("utf-8", "replace").partition("\n====\n")
    patterns = build_patterns(brain.replace("\n", " "), ("lessons", "qa-findings"))
    there = find_patterns(text)
    put = put_block(text, patterns)
    assert put_block(put, patterns) == put
    assert find_patterns(put) == patterns
    if not there and "# lessons_kb" not in text:
        left = remove_block(put)
        assert left in (text, text + "\n", text + "\r\n")
