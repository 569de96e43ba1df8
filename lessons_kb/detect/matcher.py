"""Many patterns, compiled together, looked for in one text.

One pass of RE2 over the text tells which regular expressions are in it at all; where they stand
is looked up for those alone. Syntax is read only where the words of a pattern occur.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, cached_property, lru_cache
from itertools import islice
from typing import Any, NamedTuple

from lessons_kb.data import read_mapping
from lessons_kb.errors import InputError
from lessons_kb.model import PATTERNS, Pattern
from lessons_kb.text.diffs import parse_hunks
from lessons_kb.text.error_signature import find_errors, is_same_error, normalise_error
from lessons_kb.text.patterns import FindPatterns, Globs, compile_regex, compile_set, match_globs
from lessons_kb.values import frozen

MAX_PATTERNS = 20
"""Of one card."""
MAX_TEXT = 500
"""Characters of one regular expression or syntax pattern."""
MAX_PROGRAM = 2_000
"""Instructions of one compiled regular expression: two Unicode classes, or some 200 characters."""
MAX_FILES = 20
"""Globs of one pattern."""
_MAX_PATTERN_MEMORY = 4 << 20
"""Bytes for one pattern; RE2 goes on without its fastest engine where they do not suffice."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_SINGLE_QUOTES = "put the pattern in single quotes, which keep backslashes as they are"
_SAFE_SIZE = 10
"""What a pattern weighs that has no program."""
_WORD = re.compile(r"(?<![\w$])[^\W\d]\w+")
_TOKEN = re.compile(r"\w+|[.(\[]")
_GAP = r"(?:\W|(?:#|//)[^\n]*\n)*"
"""What may stand between two tokens of code: signs, and comments to the end of a line."""
_IGNORED = re.compile(rb"lessons: ?ignore +([^\s,]+(?:, *[^\s,]+)*)")
_METAVARIABLE = re.compile(r"\$\$?\$?[A-Z_][A-Z0-9_]*|\$\$\$")


def check_pattern(pattern: Pattern) -> str:
    """Return why a pattern cannot be used, with a suggested fix after "; ", "" when it can.

    The syntax of an ``ast`` pattern is not looked at: what reads it is an extra.
    """
    for name, text in (
        *((pattern.kind, pattern.text), ("unless", pattern.unless)),
        *pattern.relations,
        *(("an example", one) for one in (*pattern.bad, *pattern.good)),
    ):
        if len(text) > MAX_TEXT:
            return f"{name} has {len(text)} characters; shorten it to {MAX_TEXT}"
        if _CONTROL.search(text.replace("\n", " ") if name == "an example" else text):
            return f"{name} contains a control character; {_SINGLE_QUOTES}"
    if pattern.kind == "ast":
        if not find_words(pattern):
            return "ast contains no word to look for; name at least one function or keyword"
    elif pattern.kind == "error":
        if not normalise_error(pattern.text):
            return "error names no error; copy the line of the output that does"
    elif problem := _check_regex(pattern.kind, pattern.text):
        return problem
    return _check_regex("unless", pattern.unless) if pattern.unless else ""


def find_words(pattern: Pattern) -> tuple[str, ...]:
    """Return the words that any code holds which an ``ast`` pattern matches, longest first."""
    words = _WORD.findall(_METAVARIABLE.sub(" ", pattern.text))
    return tuple(sorted(dict.fromkeys(words), key=len, reverse=True))


def find_segments(pattern: Pattern) -> tuple[str, ...]:
    """Return regular expressions that are found in any code which an ``ast`` pattern matches.

    Each is what stands between two metavariables: its words in their order, with the dot before
    them and the bracket behind; or a word that it must have.
    """
    has = (text for name, text in pattern.relations if name == "has" and _WORD.fullmatch(text))
    segments = [rf"\b{word}\b" for word in has if word.isascii()]
    for piece in _METAVARIABLE.split(pattern.text):
        tokens = _TOKEN.findall(piece)
        words = [place for place, one in enumerate(tokens) if one not in ".(["]
        if not words:
            continue
        first = words[0] - (words[0] > 0 and tokens[words[0] - 1] == ".")
        last = min(words[-1] + 1, len(tokens) - 1)
        inner = [one for one in tokens[first + 1 : last] if one not in ".(["]
        kept = [tokens[first], *inner, tokens[last]] if last > first else [tokens[first]]
        edges = (rf"\b{t}\b" if t.isascii() and t not in ".([" else re.escape(t) for t in kept)
        segments.append(_GAP.join(edges))
    return tuple(dict.fromkeys(segments))


@lru_cache(maxsize=1_024)
def compile_pattern(text: str) -> Any:
    """Return a regular expression over UTF-8 bytes whose ``^`` and ``$`` are those of lines.

    Raises InputError where it cannot be compiled.
    """
    return compile_regex(f"(?m){text}", max_memory=_MAX_PATTERN_MEMORY, captures=False)


def measure(pattern: Pattern) -> int:
    """Return how much a pattern that was checked costs to look for, in instructions of RE2."""
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
"""Of one pattern in one text; asking for the place of one takes as long as the text is."""
_MANY = 3
"""Patterns from which on it is cheaper to find first what any of them matches."""
_FEW = 500
"""Nodes up to which it is cheaper to ask each which patterns match it: 20 µs a pattern, where a
walk for one pattern takes 10 to 15 ms in a file of 5,000 lines."""


@cache
def _ast_grep() -> Any:
    try:
        import ast_grep_py  # an extra, and 12 ms on a hook's path
    except ImportError:
        return None
    return ast_grep_py


_LANGUAGES = read_mapping("languages.toml")


def is_available() -> bool:
    """Tell whether ast-grep is installed; its import takes 12 ms, once."""
    return _ast_grep() is not None


def language_of(path: str) -> str:
    """Return the language of a file by its extension, "" where none is known."""
    return _LANGUAGES["extensions"].get(path.rpartition(".")[2].casefold(), "")


def find_language(name: str) -> str:
    """Return a language by a name in any case, its extension among them; "" for an unknown one."""
    extensions, names = _LANGUAGES["extensions"], _LANGUAGES["names"]
    name = name.casefold()
    return name if name in extensions.values() else extensions.get(name) or names.get(name, "")


def name_example(language: str) -> str:
    """Return the name of a file that is in a language, by any name of it."""
    language = find_language(language)
    known = (name for name, value in _LANGUAGES["extensions"].items() if value == language)
    return ".".join(["example", *islice(known, 1)])


_TRAILING = re.compile(r", \$\$\$(?=[)\]}])")
_QUOTED = re.compile(r"(['\"])((?:(?!\1).)*)\1")
_NAME = re.compile(r"[\w-]+(?: ?[=:] ?[^\s$]+)?")
_QUOTE = re.compile(r"['\"`]")


def build_rule(pattern: Pattern) -> dict[str, Any]:
    """Return an ``ast`` pattern as ast-grep's rule object.

    A trailing ``$$$`` also stands for no argument at all, and either kind of quotes for the other.
    The word of a relation is any node that reads so, and ``key=value`` an argument or an entry;
    ``inside`` a decorator is the function or the class that has it, or what stands in that; else
    ``inside`` an expression is its parent, a
    statement (with ``$$$``) any around it; ``follows`` is of what stands before it in its block,
    and before the blocks around that.
    """
    rules = [_any_of(pattern.text)]
    for name, text in pattern.relations:
        near = name.removeprefix("not-")
        found = _any_of(text)
        if _NAME.fullmatch(text):
            exact = _QUOTE.sub(".", re.escape(text).replace(r"\ ", r"\s*"))
            found = {"regex": f"^{exact}$"}
        elif text.startswith("@"):
            marker = {"kind": "decorator", "regex": rf"^{re.escape(text)}\b"}
            found = {"kind": "decorated_definition", "has": marker, "stopBy": "end"}
        if near == "follows":  # the statement of an expression, too
            found = {"any": [found, {"has": found}]}
        if near != "inside" or "$$$" in text:
            found["stopBy"] = "end"
        one: dict[str, Any] = {near: found}
        if near == "follows":
            one = {"any": [one, {"inside": {**one, "stopBy": "end"}}]}
        rules.append({"not": one} if near != name else one)
    return rules[0] if len(rules) == 1 else {"all": rules}


def _any_of(text: str) -> dict[str, Any]:
    texts = [text, _TRAILING.sub("", text)]
    texts += [_QUOTED.sub(_swap_quotes, one) for one in texts]
    found = [{"pattern": one} for one in dict.fromkeys(texts)]
    return {"any": found} if len(found) > 1 else {**found[0]}


def _swap_quotes(found: re.Match[str]) -> str:
    mark = "'" if found[1] == '"' else '"'
    return found[0] if mark in found[2] or "\\" in found[2] else f"{mark}{found[2]}{mark}"


def check_syntax(pattern: Pattern, language: str) -> str:
    """Return why ast-grep does not take a pattern in a language, "" where it does."""
    try:
        _find_all(_parse("", language), build_rule(pattern))
    except ValueError as error:
        return str(error)
    return ""


def parse(text: str, language: str) -> Any:
    """Return the root of a text's syntax tree, None without ast-grep or such a language."""
    try:
        return _parse(text.encode("utf-8", "replace").decode(), language)
    except ValueError:
        return None


def find_nodes(
    text: str, language: str, patterns: Sequence[Pattern]
) -> Iterator[tuple[int, int, int]]:
    """Yield (place of the pattern, start, end), in characters, of nodes that match.

    A pattern that is no code in this language finds nothing, and so does everything where
    ast-grep is not installed.
    """
    root = parse(text, language)
    if root is None:
        return
    rules = [build_rule(one) for one in patterns]
    nodes: list[Any] | None = None  # what any of many matches, unless that is much
    if len(patterns) >= _MANY:
        with suppress(ValueError):  # one of them is no code
            nodes = [*islice(_find_all(root, {"any": rules}), _FEW + 1)]
            nodes = nodes if len(nodes) <= _FEW else None
    texts = [node.text() for node in nodes or ()]
    own: Iterator[Any]
    for place, (pattern, rule) in enumerate(zip(patterns, rules, strict=True)):
        if nodes is None:
            try:
                own = islice(_find_all(root, rule), MAX_NODES)
            except ValueError:
                continue
        else:
            word = next(iter(find_words(pattern)), "")
            pairs = zip(nodes, texts, strict=True)
            own = (node for node, has in pairs if word in has and node.matches(**rule))
        for node in own:
            span = node.range()
            yield place, span.start.index, span.end.index


@contextmanager
def _refuses(problem: str) -> Iterator[None]:
    """Raise ValueError where the parser panics; its class can only be told by its name."""
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


@frozen
class Change:
    """One piece of a file, before and after; whole lines where they are known."""

    path: str
    """POSIX, relative to the project root where it lies below it."""
    before: str = ""
    after: str
    line: int = 1
    """1-based, in the changed file, of the first line of ``after``; 0 = not known."""
    prefix: str = ""
    suffix: str = ""
    """The rest of the file around the piece, if it is known: what syntax is read from."""


def parse_diff(text: str) -> Iterator[Change]:
    """Yield the pieces of a patch, one for each hunk that adds a line."""
    for hunk in parse_hunks(text):
        if any(mark == "+" for mark, _line in hunk.rows):
            yield Change(path=hunk.path, before=hunk.before, after=hunk.after, line=hunk.line)


def place_in(change: Change, text: str) -> Change:
    """Return a piece with what stands around it in its changed file, if its lines are there."""
    lines = text.splitlines(keepends=True)
    start, count = change.line - 1, change.after.count("\n")
    prefix, piece = "".join(lines[:start]), "".join(lines[start : start + count])
    if piece.rstrip("\n") != change.after.rstrip("\n"):
        return change
    return replace(change, prefix=prefix, suffix="".join(lines[start + count :]))


MAX_CHARS = 1_000_000
"""Of one text; what is behind them is not looked at."""
MAX_SYNTAX_CHARS = 200_000
"""Of a text whose syntax is read: garbage of this length takes ast-grep about a second."""
MAX_MATCHES = 1_000
"""Of one pattern in one text."""
_MAX_MEMORY = 64 << 20
"""Bytes for one compiled set."""
_MAX_SHOWN = 200
"""Characters of a line that are quoted."""


@frozen
class Rule:
    """One pattern of one card."""

    card: str
    """Whatever tells the card from others."""
    pattern: Pattern
    globs: Globs = ()
    """``pattern.files`` compiled."""


@frozen
class Match:
    """One place where a pattern was found."""

    rule: Rule
    path: str
    """Of the file; "" for a command."""
    line: int
    """1-based; 0 = not known."""
    column: int
    """1-based, in characters."""
    text: str
    """The line in which it begins, without the white space around it, at most 200 characters."""
    length: int = 0
    """Characters of that line which belong to it; 0 = not known."""
    ignored: tuple[str, ...] = ()
    """Cards, by id or slug in lower case, that its lines say are to be ignored there."""


class _Hit(NamedTuple):
    rule: Rule
    start: int
    end: int
    """Bytes in the piece."""
    found: str
    """What was found, without regard to white space."""


class Matcher:
    """Rules that passed ``check_pattern``, compiled once; safe to share between threads.

    Each kind is compiled when it is first looked for: a command needs no pattern of files.
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
    def _in_command(self) -> FindPatterns:
        return _set_of(self._commands)

    @cached_property
    def _words(self) -> list[tuple[bytes, ...]]:
        """Of each syntax pattern."""
        return [tuple(w.encode() for w in find_words(rule.pattern)) for rule in self._syntax]

    @cached_property
    def _segments(self) -> tuple[list[frozenset[int]], FindPatterns]:
        """What of each syntax pattern is in any code that it matches, and what tells that it is."""
        segments = [find_segments(rule.pattern) for rule in self._syntax]
        places = {one: n for n, one in enumerate(dict.fromkeys(s for own in segments for s in own))}
        needed = [frozenset(places[one] for one in own) for own in segments]
        return needed, compile_set(list(places), max_memory=_MAX_MEMORY)

    def find_added(self, change: Change) -> list[Match]:
        """Return what a change adds, in the order of the file.

        What was in the piece before does not count, wherever it stands now: of a text that is
        found more often than before, the places on new lines are returned first.
        """
        sides = ("before", "after", "prefix", "suffix")
        plain = {side: getattr(change, side).replace("\r\n", "\n") for side in sides}
        change = replace(change, **plain)
        after = _encode(change.after)
        hits = self._find(change, after, change.after)
        if hits and change.before:
            before = _encode(change.before)
            was = self._find(change, before, change.before, among={hit.rule for hit in hits})
            old = {line.strip() for line in before.split(b"\n")} if was else set()
            # As many of a text as there are more than before, those on new lines first.
            left = Counter((hit.rule, hit.found) for hit in hits)
            left.subtract((hit.rule, hit.found) for hit in was)
            hits.sort(key=lambda hit: _lines_of(after, hit.start, hit.start).strip() in old)
            kept = []
            for hit in hits:
                left[hit.rule, hit.found] -= 1
                if left[hit.rule, hit.found] >= 0:
                    kept.append(hit)
            hits = kept
        starts = [0, *(end.end() for end in re.finditer(b"\n", after))]
        found: dict[tuple[str, int], Match] = {}
        for hit in sorted(hits, key=lambda hit: hit.start):
            number = bisect_right(starts, hit.start) - 1
            found.setdefault((hit.rule.card, number), _match(hit, change, after, number))
        return list(found.values())

    def find_in_file(self, path: str, text: str) -> list[Match]:
        """Return every match in a whole file, in its order."""
        return self.find_added(Change(path=path, after=text))

    def find_in_commands(self, commands: Sequence[str]) -> list[Match]:
        """Return the matches in some simple commands, one for each rule and command."""
        found = []
        for command in commands:
            data = _encode(command)
            for place in sorted(self._in_command(data) or ()):
                rule = self._commands[place]
                if not all(_is_excused(hit, data) for hit in _find_regex(rule, data)):
                    shown = " ".join(command.split())[:_MAX_SHOWN]
                    found.append(Match(rule=rule, path="", line=1, column=1, text=shown))
        return found

    def find_in_failure(self, output: str) -> list[Match]:
        """Return the errors in the output of something that failed, one for each rule."""
        lines = find_errors(output) if self._errors else {}
        return [
            Match(rule=rule, path="", line=0, column=1, text=lines[message][:_MAX_SHOWN])
            for rule in self._errors
            if (message := normalise_error(rule.pattern.text.partition(" @ ")[0])) in lines
            and is_same_error(rule.pattern.text, output)
        ]

    def _find(
        self, change: Change, data: bytes, text: str, *, among: Collection[Rule] | None = None
    ) -> list[_Hit]:
        """Return the matches in one side of a change; of some rules alone, if they are given."""

        def applies(rule: Rule) -> bool:
            if among is not None and rule not in among:
                return False
            return not rule.pattern.files or match_globs(rule.globs, change.path)

        hits: list[_Hit] = []
        for place in sorted(self._in_code(data) or ()):
            if applies(self._code[place]):
                hits += _find_regex(self._code[place], data)
        told = [
            place
            for place, words in enumerate(self._words)
            if any(word in data for word in words) and applies(self._syntax[place])
        ]
        whole = f"{change.prefix}{text}{change.suffix}" if told else ""
        if told and len(whole) <= MAX_SYNTAX_CHARS:
            needed, tell = self._segments
            around = set(tell(data if whole == text else _encode(whole)) or ())
            rules = [self._syntax[place] for place in told if needed[place] <= around]
            hits += _find_syntax(rules, change.path, whole, len(change.prefix), len(text))
        return [hit for hit in hits if not _is_excused(hit, data)]


def _set_of(rules: Sequence[Rule]) -> FindPatterns:
    return compile_set([f"(?m){rule.pattern.text}" for rule in rules], max_memory=_MAX_MEMORY)


def _encode(text: str) -> bytes:
    return text[:MAX_CHARS].encode("utf-8", "replace")


def _find_regex(rule: Rule, data: bytes) -> list[_Hit]:
    occurrences = islice(compile_pattern(rule.pattern.text).finditer(data), MAX_MATCHES)
    spans = ((one.start(), one.end()) for one in occurrences)
    return [
        _Hit(rule, start, end, _fold(data[start:end].decode("utf-8", "replace")))
        for start, end in spans
        if end > start
    ]


def _find_syntax(
    rules: Sequence[Rule], path: str, whole: str, begin: int, length: int
) -> Iterator[_Hit]:
    """Yield the nodes that reach into a piece of a text; places are bytes in that piece."""
    whole = whole.encode("utf-8", "replace").decode()
    piece = whole[begin : begin + length]
    known = language_of(path)
    by_language: dict[str, list[Rule]] = {}
    for rule in rules:
        language = find_language(rule.pattern.language) or known
        if language and known in ("", language):
            by_language.setdefault(language, []).append(rule)
    for language, some in by_language.items():
        for place, start, end in find_nodes(whole, language, [r.pattern for r in some]):
            if end <= begin or start >= begin + length:
                continue
            inside = (min(max(at - begin, 0), length) for at in (start, end))
            first, last = (len(piece[:at].encode()) for at in inside)
            yield _Hit(some[place], first, last, _fold(whole[start:end]))


def _fold(text: str) -> str:
    return " ".join(text.split())


def _is_excused(hit: _Hit, data: bytes) -> bool:
    """Tell whether ``unless`` stands on the lines of a match."""
    unless, lines = hit.rule.pattern.unless, _lines_of(data, hit.start, hit.end)
    return bool(unless) and compile_pattern(unless).search(lines) is not None


def _lines_of(data: bytes, start: int, end: int) -> bytes:
    """Return the lines on which some bytes stand."""
    end = data.find(b"\n", end)
    return data[data.rfind(b"\n", 0, start) + 1 : len(data) if end < 0 else end]


def _match(hit: _Hit, change: Change, data: bytes, number: int) -> Match:
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
