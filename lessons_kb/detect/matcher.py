"""Search one text for many patterns that are compiled together.

One pass of RE2 over the text finds which regular expressions match at all. Only these expressions
are searched again for their positions. Code is parsed only if it contains the words of a syntax
pattern.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache, cached_property, lru_cache
from itertools import chain, islice
from typing import Any

from lessons_kb.data import read_mapping
from lessons_kb.detect.change import Change
from lessons_kb.errors import InputError
from lessons_kb.model import PATTERNS, Pattern
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.text.error_signature import find_errors, is_same_error, normalise_error
from lessons_kb.text.patterns import FindPatterns, Globs, compile_regex, compile_set, match_globs
from lessons_kb.values import NamedTuple, frozen, replace

MAX_PATTERNS = 20
"""The maximum number of patterns per card."""
MAX_TEXT = 500
"""The maximum number of characters of one regular expression or syntax pattern."""
MAX_PROGRAM = 2_000
"""The maximum number of RE2 instructions of one regular expression, which suffices for two Unicode
classes or about 200 characters.
"""
MAX_FILES = 20
"""The maximum number of globs per pattern."""
_MAX_PATTERN_MEMORY = 4 << 20
"""The memory limit per pattern, in bytes. If it is too small, RE2 continues without its fastest
engine.
"""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
"""Matches surrogates, and control characters other than tab and line feed."""
_SINGLE_QUOTES = "put the pattern in single quotes, which keep backslashes as they are"
_SAFE_SIZE = 10
"""The cost of a pattern without a compiled program, in RE2 instructions."""
_WORD = re.compile(r"(?<![\w$])[^\W\d]\w+")
_TOKEN = re.compile(r"\w+|[.(\[]")
_GAP = r"(?:\W|(?:#|//)[^\n]*\n)*"
"""Matches the text between two tokens of code: punctuation, and comments to the end of a line."""
_IGNORED = re.compile(rb"lessons: ?ignore +([^\s,]+(?:, *[^\s,]+)*)")
_METAVARIABLE = re.compile(r"\$\$?\$?[A-Z_][A-Z0-9_]*|\$\$\$")


def check_pattern(pattern: Pattern) -> str:
    """Return why a pattern is invalid, followed by "; " and a suggested fix. Return "" if it is
    valid.

    The syntax of an ``ast`` pattern is not checked here, because its parser is an optional extra.
    """
    texts = [(pattern.kind, pattern.text), ("unless", pattern.unless), *pattern.relations]
    texts += [("an example", example) for example in (*pattern.bad, *pattern.good)]
    for name, text in texts:
        if len(text) > MAX_TEXT:
            return f"{name} has {len(text)} characters; shorten it to {MAX_TEXT}"
        if _CONTROL.search(text):
            return f"{name} contains a control character; {_SINGLE_QUOTES}"
    problem = _check_text(pattern)
    if not problem and pattern.unless:
        problem = _check_regex("unless", pattern.unless)
    return problem


def _check_text(pattern: Pattern) -> str:
    if pattern.kind == "ast":
        if not find_words(pattern):
            return "ast contains no word to look for; name at least one function or keyword"
        return ""
    if pattern.kind == "error":
        if not normalise_error(pattern.text):
            return "error names no error; copy the line of the output that does"
        return ""
    return _check_regex(pattern.kind, pattern.text)


def find_words(pattern: Pattern) -> tuple[str, ...]:
    """Return the words that occur in all code that an ``ast`` pattern matches, longest first."""
    words = _WORD.findall(_METAVARIABLE.sub(" ", pattern.text))
    return tuple(sorted(dict.fromkeys(words), key=len, reverse=True))


def find_segments(pattern: Pattern) -> tuple[str, ...]:
    """Return regular expressions that match all code that an ``ast`` pattern matches.

    A segment is the text between two metavariables: its words in order, with a dot before the
    first and a bracket after the last one. A word that a ``has`` relation requires is a segment,
    too.
    """
    segments = []
    for name, text in pattern.relations:
        if name == "has" and _WORD.fullmatch(text) and text.isascii():
            segments.append(rf"\b{text}\b")
    for piece in _METAVARIABLE.split(pattern.text):
        tokens = _TOKEN.findall(piece)
        words = [place for place, token in enumerate(tokens) if token not in _SIGNS]
        if not words:
            continue
        first = words[0] - (words[0] > 0 and tokens[words[0] - 1] == ".")
        last = min(words[-1] + 1, len(tokens) - 1)
        inner = [token for token in tokens[first + 1 : last] if token not in _SIGNS]
        ends = [tokens[last]] if last > first else []
        segments.append(_GAP.join(map(_token_regex, [tokens[first], *inner, *ends])))
    return tuple(dict.fromkeys(segments))


_SIGNS = (".", "(", "[")


def _token_regex(token: str) -> str:
    return rf"\b{token}\b" if token.isascii() and token not in _SIGNS else re.escape(token)


@lru_cache(maxsize=1_024)
def compile_pattern(text: str) -> Any:
    """Compile a regular expression over UTF-8 bytes, in which ``^`` and ``$`` match at each line.

    Raises InputError if it is invalid.
    """
    return compile_regex(f"(?m){text}", max_memory=_MAX_PATTERN_MEMORY, captures=False)


def measure(pattern: Pattern) -> int:
    """Return the cost of searching for a valid pattern, in RE2 instructions."""
    plain = pattern.kind in ("ast", "error")
    texts = (pattern.unless,) if plain else (pattern.text, pattern.unless)
    sizes = (int(compile_pattern(text).programsize) for text in texts if text)
    return sum(sizes, _SAFE_SIZE)


def _check_regex(name: str, text: str) -> str:
    try:
        compiled = compile_regex(text, max_memory=_MAX_PATTERN_MEMORY, captures=False)
    except InputError as error:
        return f"{name}: {error}"
    if compiled.programsize > MAX_PROGRAM:
        return f"{name} is too large; use smaller bounds such as .{{0,20}}"
    if compiled.search("") is not None:
        return f"{name} matches an empty text, so everything; let it require a word"
    return ""


EXTRA = "ast"
MAX_NODES = 1_000
"""The maximum number of matches of one pattern in one text. The time to find the position of a node
is linear in the length of the text.
"""
_MANY = 3
"""The number of patterns from which it is faster first to find the nodes that any pattern
matches.
"""
_FEW = 500
"""The number of nodes up to which it is faster to test each node with each pattern, which takes 20
µs. A search of the tree for one pattern takes 10 to 15 ms in a file of 5,000 lines.
"""


@cache
def _ast_grep() -> Any:
    try:
        import ast_grep_py  # an extra, and 12 ms on a hook's path
    except ImportError:
        return None
    return ast_grep_py


_LANGUAGES = read_mapping("languages.toml")


def is_available() -> bool:
    """Return whether ast-grep is installed. The first call imports it, which takes 12 ms."""
    return _ast_grep() is not None


def language_of(path: str) -> str:
    """Return the language of a file from its extension, or "" if it is unknown."""
    return _LANGUAGES["extensions"].get(path.rpartition(".")[2].casefold(), "")


def find_language(name: str) -> str:
    """Return the language with a name or file extension, in any case, or "" if it is unknown."""
    extensions, names = _LANGUAGES["extensions"], _LANGUAGES["names"]
    name = name.casefold()
    return name if name in extensions.values() else extensions.get(name) or names.get(name, "")


def name_example(language: str) -> str:
    """Return a file name for code in a language, such as ``example.py``.

    ``language`` is any name of the language. The file name has no extension if it is unknown.
    """
    language = find_language(language)
    for extension, value in _LANGUAGES["extensions"].items():
        if value == language:
            return f"example.{extension}"
    return "example"


_TRAILING = re.compile(r", \$\$\$(?=[)\]}])")
_QUOTED = re.compile(r"(['\"])((?:(?!\1).)*)\1")
_NAME = re.compile(r"[\w-]+(?: ?[=:] ?[^\s$]+)?")
_QUOTE = re.compile(r"['\"`]")


def build_rule(pattern: Pattern) -> dict[str, Any]:
    """Return an ``ast`` pattern as ast-grep's rule object.

    A trailing ``$$$`` also matches if there is no argument at all, and single and double quotes
    match each other. In a relation, a word matches any node with that text, and ``key=value``
    matches an argument or an entry. ``inside`` a decorator matches in the decorated function or
    class. ``inside`` an expression means that the expression is the parent. ``inside`` a statement
    (with ``$$$``) means any ancestor. ``follows`` matches earlier statements of the same block and
    of the blocks around it.
    """
    rules = [_any_of(pattern.text)]
    for name, text in pattern.relations:
        relation = name.removeprefix("not-")
        rule = _build_relation(relation, text)
        rules.append({"not": rule} if relation != name else rule)
    return rules[0] if len(rules) == 1 else {"all": rules}


def _build_relation(relation: str, text: str) -> dict[str, Any]:
    target = _any_of(text)
    if _NAME.fullmatch(text):
        exact = _QUOTE.sub(".", re.escape(text).replace(r"\ ", r"\s*"))
        target = {"regex": f"^{exact}$"}
    elif text.startswith("@"):
        marker = {"kind": "decorator", "regex": rf"^{re.escape(text)}\b"}
        target = {"kind": "decorated_definition", "has": marker, "stopBy": "end"}
    if relation == "follows":  # an expression, or the statement that contains it
        target = {"any": [target, {"has": target}]}
    if relation != "inside" or "$$$" in text:
        target["stopBy"] = "end"
    rule: dict[str, Any] = {relation: target}
    if relation == "follows":
        rule = {"any": [rule, {"inside": {**rule, "stopBy": "end"}}]}
    return rule


def _any_of(text: str) -> dict[str, Any]:
    texts = [text, _TRAILING.sub("", text)]
    texts += [_QUOTED.sub(_swap_quotes, variant) for variant in texts]
    rules = [{"pattern": variant} for variant in dict.fromkeys(texts)]
    return {"any": rules} if len(rules) > 1 else {**rules[0]}


def _swap_quotes(literal: re.Match[str]) -> str:
    """Return a string literal with the other kind of quotes, if its content allows that."""
    quote = "'" if literal[1] == '"' else '"'
    content = literal[2]
    return literal[0] if quote in content or "\\" in content else f"{quote}{content}{quote}"


def check_syntax(pattern: Pattern, language: str) -> str:
    """Return why ast-grep rejects a pattern in a language, or "" if it accepts it."""
    try:
        # A search in an empty text raises ValueError if ast-grep rejects the pattern.
        _find_all(_parse("", language), build_rule(pattern))
    except ValueError as error:
        return str(error)
    return ""


def parse(text: str, language: str) -> Any:
    """Return the root of a text's syntax tree, or None without ast-grep or for an unknown
    language.
    """
    try:
        return _parse(text.encode("utf-8", "replace").decode(), language)
    except ValueError:
        return None


def find_nodes(
    text: str, language: str, patterns: Sequence[Pattern]
) -> Iterator[tuple[int, int, int]]:
    """Yield (index of the pattern, start, end) for each matching node, with positions in
    characters.

    Of each pattern, at most MAX_NODES nodes are yielded. Many patterns are searched together; if
    together they match too many nodes, or one of them is invalid, each is searched by itself. A
    pattern that is not valid code in this language does not match anything. Without ast-grep,
    nothing is yielded.
    """
    root = parse(text, language)
    if root is None:
        return
    rules = [build_rule(pattern) for pattern in patterns]
    nodes = _find_any(root, rules) if len(patterns) >= _MANY else None
    texts = [node.text() for node in nodes or ()]
    matching: Iterable[Any]
    for index, (pattern, rule) in enumerate(zip(patterns, rules, strict=True)):
        if nodes is None:
            try:
                matching = islice(_find_all(root, rule), MAX_NODES)
            except ValueError:
                continue
        else:
            longest_word = next(iter(find_words(pattern)), "")
            likely = [node for node, code in zip(nodes, texts, strict=True) if longest_word in code]
            matching = (node for node in likely if node.matches(**rule))
        for node in matching:
            span = node.range()
            yield index, span.start.index, span.end.index


def _find_any(root: Any, rules: Sequence[dict[str, Any]]) -> list[Any] | None:
    """Return the nodes that any rule matches, or None if there are many nodes or if a rule is
    invalid.
    """
    with suppress(ValueError):
        nodes = [*islice(_find_all(root, {"any": rules}), _FEW + 1)]
        if len(nodes) <= _FEW:
            return nodes
    return None


@contextmanager
def _refuses(problem: str) -> Iterator[None]:
    """Raise ValueError if the parser panics. The class of its exception is identified only by its
    name.
    """
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ValueError(problem) from None


def _parse(text: str, language: str) -> Any:
    if not is_available():
        raise ValueError("ast-grep is not installed")
    with _refuses(f"{language} is not a language that ast-grep knows"):
        return _ast_grep().SgRoot(text, language).root()


def _find_all(root: Any, rule: dict[str, Any]) -> Any:
    try:
        with _refuses("ast-grep cannot read it"):
            return root.find_all({"rule": rule})
    except RuntimeError as error:
        lines = [line.strip() for line in str(error).partition("Stack backtrace")[0].splitlines()]
        why = next((line for line in reversed(lines) if line), "unknown")
        raise ValueError(why.partition(": ")[2] or why) from None


def parse_diff(text: str) -> Iterator[Change]:
    """Yield one change for each hunk of a patch that adds a line."""
    for hunk in parse_hunks(text):
        if any(mark == "+" for mark, _line in hunk.rows):
            yield Change(path=hunk.path, before=hunk.before, after=hunk.after, line=hunk.line)


def place_in(change: Change, text: str) -> Change:
    """Return a change with the text around it, from the ``text`` of the changed file.

    The change is returned unchanged if its lines are not at their place in the file.
    """
    lines = text.splitlines(keepends=True)
    start = change.line - 1
    count = change.after.count("\n")
    prefix, piece = "".join(lines[:start]), "".join(lines[start : start + count])
    if piece.rstrip("\n") != change.after.rstrip("\n"):
        return change
    return replace(change, prefix=prefix, suffix="".join(lines[start + count :]))


MAX_CHARS = 1_000_000
"""The maximum number of characters of a text that are searched."""
MAX_SYNTAX_CHARS = 200_000
"""The maximum length of a text that is parsed. ast-grep takes about a second for garbage of this
length.
"""
MAX_MATCHES = 1_000
"""The maximum number of matches of one pattern in one text."""
_MAX_MEMORY = 64 << 20
"""The memory limit of a compiled set of patterns, in bytes."""
_MAX_SHOWN = 200
"""The maximum number of characters of a line that are quoted."""


@frozen
class Rule:
    """One pattern of one card."""

    card: str
    """Any key that is unique to the card."""
    pattern: Pattern
    globs: Globs = ()
    """``pattern.files``, compiled."""


@frozen
class Match:
    """A match of a pattern."""

    rule: Rule
    path: str
    """The path of the file, or "" for a command."""
    line: int
    """The 1-based number of the line, or 0 if it is unknown."""
    column: int
    """The 1-based column, in characters."""
    text: str
    """The line in which the match begins, stripped, at most 200 characters."""
    length: int = 0
    """The number of characters of that line that belong to the match, or 0 if it is unknown."""
    ignored: tuple[str, ...] = ()
    """Ids or slugs, in lower case, of cards that a comment on the matched lines tells to ignore."""


class _Hit(NamedTuple):
    rule: Rule
    start: int
    end: int
    """The byte offset of the end in the changed part."""
    text: str
    """The matched text with normalised white space."""


class Matcher:
    """Compiled rules, which passed ``check_pattern``. It is safe to share between threads.

    Each kind of pattern is compiled at its first search, because a command needs no patterns of
    files.
    """

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        self._code, self._syntax, self._commands, self._errors = (
            [rule for rule in self.rules if rule.pattern.kind == kind] for kind in PATTERNS
        )

    @cached_property
    def _in_code(self) -> FindPatterns:
        return _set_of(self._code)

    @cached_property
    def _find_command_rules(self) -> FindPatterns:
        """Finds the indexes in ``_commands`` of the rules that match a command."""
        return _set_of(self._commands)

    @cached_property
    def _words(self) -> list[tuple[bytes, ...]]:
        """The words of each syntax pattern."""
        words = [find_words(rule.pattern) for rule in self._syntax]
        return [tuple(map(str.encode, some)) for some in words]

    @cached_property
    def _segments(self) -> tuple[list[frozenset[int]], FindPatterns]:
        """The numbers of the segments of each syntax pattern, and the compiled set of segments."""
        segments = [find_segments(rule.pattern) for rule in self._syntax]
        distinct = dict.fromkeys(chain.from_iterable(segments))
        numbers = {segment: number for number, segment in enumerate(distinct)}
        needed = [frozenset(map(numbers.__getitem__, some)) for some in segments]
        return needed, compile_set(list(numbers), max_memory=_MAX_MEMORY)

    def find_added(self, change: Change) -> list[Match]:
        """Return the matches that a change adds, in the order of the file.

        A text that matched before the change does not count, even if it was moved. If a text
        matches more often than before, matches on new lines take precedence.
        """
        sides = ("before", "after", "prefix", "suffix")
        plain = {side: getattr(change, side).replace("\r\n", "\n") for side in sides}
        change = replace(change, **plain)
        after = _encode(change.after)
        hits = self._find(change, after, change.after)
        if hits and change.before:
            hits = self._without_old(hits, change, after)
        starts = [0, *(end.end() for end in re.finditer(b"\n", after))]
        matches: dict[tuple[str, int], Match] = {}
        for hit in sorted(hits, key=lambda hit: hit.start):
            number = bisect_right(starts, hit.start) - 1
            matches.setdefault((hit.rule.card, number), _match(hit, change, after, number))
        return list(matches.values())

    def _without_old(self, hits: list[_Hit], change: Change, after: bytes) -> list[_Hit]:
        """Return the hits without as many hits of each text as there were before the change. Hits
        on old lines are removed first.
        """
        before = _encode(change.before)
        old_hits = self._find(change, before, change.before, among={hit.rule for hit in hits})
        if not old_hits:
            return hits
        old_lines = {line.strip() for line in before.split(b"\n")}
        remaining = Counter((hit.rule, hit.text) for hit in hits)
        remaining.subtract((hit.rule, hit.text) for hit in old_hits)
        new_hits = []
        for hit in sorted(
            hits, key=lambda hit: _lines_of(after, hit.start, hit.start).strip() in old_lines
        ):
            remaining[hit.rule, hit.text] -= 1
            if remaining[hit.rule, hit.text] >= 0:
                new_hits.append(hit)
        return new_hits

    def find_in_file(self, path: str, text: str) -> list[Match]:
        """Return all matches in a whole file, in order."""
        return self.find_added(Change(path=path, after=text))

    def find_in_commands(self, commands: Sequence[str]) -> list[Match]:
        """Return the matches in simple commands, at most one for each rule and command.

        A rule matches a command if at least one of its hits is not excused. The matches of a
        command are in the order of the rules. Their text is the command, shortened.
        """
        matches = []
        for command in commands:
            data = _encode(command)
            indexes = self._find_command_rules(data) or ()
            for index in sorted(indexes):
                rule = self._commands[index]
                hits = _find_regex(rule, data)
                if any(not _is_excused(hit, data) for hit in hits):
                    shown = " ".join(command.split())[:_MAX_SHOWN]
                    matches.append(Match(rule=rule, path="", line=1, column=1, text=shown))
        return matches

    def find_in_failure(self, output: str) -> list[Match]:
        """Return the matches of error patterns in the output of a failure, one for each rule."""
        lines = find_errors(output) if self._errors else {}
        matches = []
        for rule in self._errors:
            message = normalise_error(rule.pattern.text.partition(" @ ")[0])
            if message in lines and is_same_error(rule.pattern.text, output):
                text = lines[message][:_MAX_SHOWN]
                matches.append(Match(rule=rule, path="", line=0, column=1, text=text))
        return matches

    def _find(
        self, change: Change, data: bytes, text: str, *, among: Collection[Rule] | None = None
    ) -> list[_Hit]:
        """Return the hits in one side of a change, which is given as bytes and as text.

        With ``among``, only hits of these rules are returned.
        """

        def applies(rule: Rule) -> bool:
            if among is not None and rule not in among:
                return False
            return not rule.pattern.files or match_globs(rule.globs, change.path)

        hits: list[_Hit] = []
        for index in sorted(self._in_code(data) or ()):
            if applies(self._code[index]):
                hits += _find_regex(self._code[index], data)
        likely = []
        for index, words in enumerate(self._words):
            if any(word in data for word in words) and applies(self._syntax[index]):
                likely.append(index)
        whole = f"{change.prefix}{text}{change.suffix}" if likely else ""
        if likely and len(whole) <= MAX_SYNTAX_CHARS:
            needed, find_segments_in = self._segments
            present = set(find_segments_in(data if whole == text else _encode(whole)) or ())
            rules = [self._syntax[index] for index in likely if needed[index] <= present]
            hits += _find_syntax(rules, change.path, whole, len(change.prefix), len(text))
        return [hit for hit in hits if not _is_excused(hit, data)]


def _set_of(rules: Sequence[Rule]) -> FindPatterns:
    return compile_set([f"(?m){rule.pattern.text}" for rule in rules], max_memory=_MAX_MEMORY)


def _encode(text: str) -> bytes:
    return text[:MAX_CHARS].encode("utf-8", "replace")


def _find_regex(rule: Rule, data: bytes) -> list[_Hit]:
    hits = []
    for match in islice(compile_pattern(rule.pattern.text).finditer(data), MAX_MATCHES):
        start, end = match.span()
        if end > start:
            text = _fold(data[start:end].decode("utf-8", "replace"))
            hits.append(_Hit(rule, start, end, text))
    return hits


def _find_syntax(
    rules: Sequence[Rule], path: str, whole: str, begin: int, length: int
) -> Iterator[_Hit]:
    """Yield the matching nodes that overlap a part of a text.

    ``begin`` and ``length`` of the part are in characters. The hits have byte offsets in the part.
    """
    whole = whole.encode("utf-8", "replace").decode()
    part = whole[begin : begin + length]

    def byte_offset(position: int) -> int:
        return len(part[: min(max(position - begin, 0), length)].encode())

    file_language = language_of(path)
    by_language: dict[str, list[Rule]] = {}
    for rule in rules:
        language = find_language(rule.pattern.language) or file_language
        if language and file_language in ("", language):
            by_language.setdefault(language, []).append(rule)
    for language, group in by_language.items():
        for index, start, end in find_nodes(whole, language, [rule.pattern for rule in group]):
            if end <= begin or start >= begin + length:
                continue
            text = _fold(whole[start:end])
            yield _Hit(group[index], byte_offset(start), byte_offset(end), text)


def _fold(text: str) -> str:
    return " ".join(text.split())


def _is_excused(hit: _Hit, data: bytes) -> bool:
    """Return whether the pattern's ``unless`` matches on the lines of a hit."""
    unless = hit.rule.pattern.unless
    lines = _lines_of(data, hit.start, hit.end)
    return bool(unless) and compile_pattern(unless).search(lines) is not None


def _lines_of(data: bytes, start: int, end: int) -> bytes:
    """Return the complete lines of a range of bytes."""
    end = data.find(b"\n", end)
    return data[data.rfind(b"\n", 0, start) + 1 : len(data) if end < 0 else end]


def _match(hit: _Hit, change: Change, data: bytes, number: int) -> Match:
    """Return a hit as a match. ``number`` is the 0-based number of its line in ``data``."""
    line = _lines_of(data, hit.start, hit.start)
    marked = b",".join(_IGNORED.findall(_lines_of(data, hit.start, hit.end)))
    ignored = marked.decode("utf-8", "replace")
    inside = hit.start - data.rfind(b"\n", 0, hit.start) - 1
    shown = line[max(inside - _MAX_SHOWN // 2, 0) :] if len(line) > _MAX_SHOWN else line
    own = line[inside : inside + hit.end - hit.start]
    return Match(
        rule=hit.rule,
        path=change.path,
        line=change.line + number if change.line else 0,
        column=len(line[:inside].decode("utf-8", "replace")) + 1,
        text=shown[: 4 * _MAX_SHOWN].decode("utf-8", "replace").strip()[:_MAX_SHOWN],
        length=len(own.decode("utf-8", "replace")),
        ignored=tuple(name.strip().casefold() for name in ignored.split(",")) if ignored else (),
    )
