"""The `detect` patterns of a card that is being written, each tried on its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from lsprotocol.types import Location

from lessons_kb.brain.detect_in_project import find_in_tree, read_source
from lessons_kb.cards.detect_key import read_patterns
from lessons_kb.cards.header import canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.detect.matcher import Matcher, Rule
from lessons_kb.errors import InputError
from lessons_kb.model import Pattern
from lessons_kb.service.lsp.diagnostics import place_match
from lessons_kb.service.lsp.documents import uri_of
from lessons_kb.service.lsp.files import CardFile, DraftFile
from lessons_kb.service.lsp.text import Text
from lessons_kb.text.globs import compile_globs

MOST_MATCHES = 500


def find_patterns(text: str) -> Iterator[tuple[int, int, Pattern]]:
    """Yield first line, the line after the last (both from 0, in the file) and each pattern."""
    split = split_header(text)
    if split.header is None:
        return
    first = split.header.line - 1
    for entry in read_header(split).entries:
        if canonical(entry.key) != "detect" or not entry.mappings:
            continue
        ends = [*(span[0] for span in entry.spans[1:]), entry.end]
        for place, span in enumerate(entry.spans):
            one = slice(place, place + 1)
            alone = replace(
                entry,
                texts=entry.texts[one],
                spans=entry.spans[one],
                styles=entry.styles[one],
                mappings=entry.mappings[one],
            )
            for pattern in read_patterns(alone)[0]:
                yield first + span[0], first + max(ends[place], span[0] + 1), pattern


def find_pattern(text: str, line: int) -> Pattern:
    """Return the pattern that stands on a line of a card; InputError without a usable one."""
    for first, end, pattern in find_patterns(text):
        if first <= line < end:
            return pattern
    raise InputError("no usable pattern on this line; see its diagnostic")


def try_pattern(file: CardFile | DraftFile, pattern: Pattern) -> list[Location]:
    """Return where a pattern is found in the project, at most MOST_MATCHES places.

    Raises InputError for a pattern of commands, which are in no file.
    """
    if pattern.kind == "command":
        raise InputError("a command pattern is looked for in commands, not in files")
    directory = file.brain.directory
    rule = Rule(card=file.id, pattern=pattern, globs=compile_globs(pattern.files))
    matches = find_in_tree(directory, Matcher([rule]), root=file.layer.root)
    texts: dict[str, Text] = {}
    found = []
    for match in islice(matches, MOST_MATCHES):
        path = f"{directory}/{match.path}"
        if path not in texts:
            texts[path] = Text(read_source(path))
        where = place_match(texts[path], match)
        found.append(Location(uri=uri_of(path), range=where))
    return found
