"""Code found by its syntax, through ast-grep: the optional extra ``[ast]``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any

from lessons_kb.data import read_mapping

INSTALL = "pip install 'lessons-kb[ast]'"
MAX_NODES = 1_000
"""Of one pattern in one text; asking for the place of one takes as long as the text is."""
_MANY = 3
"""Patterns from which on it is cheaper to ask first whether any of them is there."""
_PANIC = "PanicException"
"""What a bug in the parser raises; its class can only be told by its name."""


def is_available() -> bool:
    """Tell whether ast-grep is installed; its import takes 12 ms, once."""
    return _ast_grep() is not None


def language_of(path: str) -> str:
    """Return the language of a file by its extension, "" where none is known."""
    return _names()["extensions"].get(path.rpartition(".")[2].casefold(), "")


def find_language(name: str) -> str:
    """Return a language by a name in any case, its extension among them; "" for an unknown one."""
    extensions, names = _names()["extensions"], _names()["names"]
    name = name.casefold()
    known = name in extensions.values()
    return name if known else extensions.get(name) or names.get(name, "")


def name_example(language: str) -> str:
    """Return the name of a file that is in a language, by any name of it."""
    language = find_language(language)
    extensions = (name for name, value in _names()["extensions"].items() if value == language)
    return ".".join(("example", *list(extensions)[:1]))


def check_syntax(pattern: str, language: str) -> str:
    """Return why ast-grep does not take a pattern in a language, "" where it does."""
    try:
        _find_all(_parse("", language), pattern)
    except ValueError as error:
        return str(error)
    return ""


def parse(text: str, language: str) -> Any:
    """Return the root of a text's syntax tree, None without ast-grep or such a language."""
    if not is_available():
        return None
    try:
        return _parse(text.encode("utf-8", "replace").decode(), language)
    except ValueError:
        return None


def find_nodes(text: str, language: str, patterns: Sequence[str]) -> Iterator[tuple[int, int, int]]:
    """Yield (place of the pattern, start, end), in characters, of nodes that match.

    A pattern that is no code in this language finds nothing, and so does everything where
    ast-grep is not installed.
    """
    if not is_available():
        return
    try:
        root = _parse(text, language)
    except ValueError:
        return
    if len(patterns) >= _MANY and not _is_any_in(root, patterns):
        return
    for place, pattern in enumerate(patterns):
        try:
            nodes = _find_all(root, pattern)
        except ValueError:
            continue
        for node in islice(nodes, MAX_NODES):
            span = node.range()
            yield place, span.start.index, span.end.index


def _is_any_in(root: Any, patterns: Sequence[str]) -> bool:
    """Tell whether one walk finds any of some patterns; true where one of them is no code."""
    try:
        return root.find({"rule": {"any": [{"pattern": one} for one in patterns]}}) is not None
    except BaseException as error:
        if not isinstance(error, RuntimeError) and type(error).__name__ != _PANIC:
            raise
        return True


def _parse(text: str, language: str) -> Any:
    try:
        return _ast_grep().SgRoot(text, language).root()
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise ValueError(f"{language} is not a language that ast-grep knows") from None


def _find_all(root: Any, pattern: str) -> Any:
    try:
        return root.find_all(pattern=pattern)
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines()]
        why = next((line for line in reversed(lines) if line), "unknown")
        raise ValueError(why.partition(": ")[2] or why) from None
    except BaseException as error:
        if type(error).__name__ != _PANIC:
            raise
        raise ValueError("ast-grep cannot read it") from None


@cache
def _ast_grep() -> Any:
    try:
        import ast_grep_py  # an extra, and 12 ms on a hook's path
    except ImportError:
        return None
    return ast_grep_py


@cache
def _names() -> dict[str, dict[str, str]]:
    return read_mapping("languages.txt")
