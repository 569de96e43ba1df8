"""When a rule holds: for which files, or for which commands; None where it does not say so.

A rule moves only if an event of a session shows that its condition is met: an edit of a file, or a
command. A situation in words ("when adding a provider") can be put in words that nobody foresees,
so such a rule stays.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from lessons_kb.errors import InputError
from lessons_kb.importers.incoming import unmarked
from lessons_kb.importers.rules_file import AgentRule, is_command, is_place
from lessons_kb.text.paths import find_paths
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.values import field, frozen, mutable

PATH, COMMAND = "path", "command"
MAX_SHARE = 0.3
"""Share of a project's files from which on a glob says "any task"."""
_MOST_GLOBS = 8
_CODE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_MARK = re.compile(r"\A(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_LABEL = re.compile(r"\A(?:\*\*|__)[^*_\n]{1,60}?(?:[:.]?(?:\*\*|__)[:.]?|:)\s+")
_CAPITALS = re.compile(r"\b(?:ALWAYS|NEVER|EVERY|ALL)\b")
_PLACEHOLDER = re.compile(r"<[^<>/]*>|\{[^{},/]*\}|\[[^\[\]/]*\]")
_CONDITION = re.compile(
    r"\A(?:(?:please|also|note:?|important:?)\s+)?"
    r"(?P<said>(?:when(?:ever)?|if|before|after|while|during|for|in|on|inside|under|within)\b"
    r"[^:;]*?)(?:[,:;\u2014]|\s-\s|\.\s)",
    re.IGNORECASE | re.DOTALL,
)
_TRAILING = re.compile(
    r"\s(?P<said>(?:when(?:ever)?|if|before|after|while)\s+(?:you\s+)?"
    r"(?:\w+ing|change|edit|add|modify|touch|update|create|write|open|commit|push)\b[^,;:.]*"
    r"(?:\.\w[^,;:.]*)*)\.?\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
_SUBJECT = re.compile(
    r"\A(?P<said>(?:(?:the|all|any|every|each|new|files?|code|tests?|changes?|everything|anything|"
    r"modules?|packages?|scripts?|components?|documentation|docs)\s+){0,4}"
    r"(?:in|under|inside|within|below|of|to)?\s*`[^`\n]+`(?:(?:,|\s+and|,\s+and|\s+or)\s+`[^`\n]+`)*"
    r"(?:\s+(?:files?|directory|folder|package|crate|module))?)\s+"
    r"(?:is|are|must|should|may|can|cannot|can't|uses?|has|have|needs?|requires?|never|only|follows?)\b",
    re.IGNORECASE,
)
_FORBIDDEN_EDIT = re.compile(
    r"(?:do\s+not|don['\u2019]?t|avoid|never|not\s+be|no)\s+(?:\w+\s+){0,2}?"
    r"(?:edit|edited|editing|edits|modify|modified|modifying|change|changed|changing|touch|"
    r"hand-edit|hand-edited|update|updating)\b(?P<said>[^.;:]*(?:\.\w[^.;:]*)*)",
    re.IGNORECASE,
)


class _Event(NamedTuple):
    """A situation that a command shows."""

    words: re.Pattern[str]
    pattern: str
    samples: tuple[str, ...]


_EVENTS = (
    _Event(
        re.compile(
            r"\b(?:creat|open|submitt?|rais|fil)(?:e|es|ing|s)?\s+(?:a\s+|an?\s+new\s+|the\s+)?"
            r"(?:prs?|pull requests?)\b",
            re.IGNORECASE,
        ),
        r"^gh\s+pr\s+create\b",
        ("gh pr create --fill", "gh pr create --title x --body y"),
    ),
    _Event(
        re.compile(r"\bcommit(?:ting|s)?\b(?!\s+hash)", re.IGNORECASE),
        r"^git\b.*\bcommit\b",
        ("git commit -m x", "git add -A && git commit -am wip", "git commit --amend"),
    ),
    _Event(
        re.compile(r"\bpush(?:ing|es)?\b", re.IGNORECASE),
        r"^git\b.*\bpush\b",
        ("git push", "git push -u origin HEAD"),
    ),
)
_RUN = re.compile(
    r"(?:run(?:ning)?|execut\w*|invok\w*|call(?:ing)?|us(?:e|ing)|before|after|via|with)\s+"
    r"(?:the\s+)?`([^`\n]+)`",
    re.IGNORECASE,
)
"""A command that is run, not one that is missing or talked about."""
_NO_ARGUMENT = re.compile(r"[<>{}\[\]|&;$*\"']|\.\.\.")
_DOES = (
    r"\b(?:writ|add|updat|edit|chang|creat|modif|remov|touch|bump|upgrad|work(?!flow))\w*\s+"
    r"(?:\w+\s+){0,3}?"
)


class _KindOfFile(NamedTuple):
    """A situation that an edit of certain files shows."""

    words: re.Pattern[str]
    globs: tuple[str, ...]


_KINDS_OF_FILES = (
    _KindOfFile(
        re.compile(rf"{_DOES}tests?\b|\A(?:for|in)\s[^,]*\btests?\b", re.IGNORECASE),
        (
            *("**/test_*.*", "**/*_test.*", "**/*.test.*", "**/*.spec.*"),
            *("**/tests/**", "**/test/**", "**/__tests__/**"),
        ),
    ),
    _KindOfFile(
        re.compile(rf"{_DOES}(?:dependenc(?:y|ies)|third-party packages?)\b", re.IGNORECASE),
        (
            *("**/package.json", "**/pyproject.toml", "**/Cargo.toml", "**/go.mod"),
            *("**/Gemfile", "**/pom.xml", "**/build.gradle*", "**/requirements*.txt"),
            *("**/composer.json", "pnpm-workspace.yaml"),
        ),
    ),
    _KindOfFile(
        re.compile(rf"{_DOES}(?:docs|documentation)\b", re.IGNORECASE),
        ("docs/**", "doc/**", "website/**", "**/*.md", "**/*.mdx", "**/*.rst"),
    ),
    _KindOfFile(re.compile(rf"{_DOES}changesets?\b", re.IGNORECASE), (".changeset/**",)),
    _KindOfFile(re.compile(rf"{_DOES}changelog\b", re.IGNORECASE), ("**/CHANGELOG.md",)),
    _KindOfFile(
        re.compile(rf"{_DOES}(?:migrations?)\b", re.IGNORECASE),
        ("**/migrations/**", "**/migration/**", "**/migrate/**"),
    ),
    _KindOfFile(
        re.compile(rf"{_DOES}(?:github )?(?:actions?|workflows?)\b", re.IGNORECASE),
        (".github/workflows/**",),
    ),
    _KindOfFile(
        re.compile(rf"{_DOES}(?:protos?|protobufs?|\.proto files?)\b", re.IGNORECASE),
        ("**/*.proto",),
    ),
)
_WORK = re.compile(
    r"(?:when(?:ever)?|if|before|after|to)\s+(?:you\s+)?(?:add|creat|chang|modif|updat|remov|"
    r"renam|implement|introduc|regist|edit|touch|extend)\w*\b",
    re.IGNORECASE,
)
"""A situation in which files are changed."""
_REFERENCE = re.compile(
    r"\b(?:see|read|consult|refer|like|e\.g\.|example|follow|check|described|documented|from)\b",
    re.IGNORECASE,
)
"""What comes before the name of a file that is only to be read."""
_BEFORE = 24
_MOST_BESIDE = 40
"""Files in a folder from which on it is not taken for the place that a rule is about."""
_ANY_TASK = re.compile(
    r"\b(?:any|each|every|all|making|make|made)\s+(?:code\s+)?(?:changes?|edits?|tasks?|work)\b|"
    r"\b(?:in doubt|unsure|possible|needed|necessary|applicable|relevant)\b",
    re.IGNORECASE,
)
UNCONDITIONAL = "names no file or command for which it holds"
IN_CAPITALS = "in capitals: it holds always"
ANY_TASK = "holds for any task"
GONE = "no file of the project fits it"
BROAD = "its files are much of the project"


@frozen
class Condition:
    """When a rule holds, as events of a session can show it."""

    kind: str
    """``path`` or ``command``."""
    said: str
    """The rule's own words for it."""
    globs: tuple[str, ...] = ()
    pattern: str = ""
    samples: tuple[str, ...] = ()
    """Files, or command lines, that meet it."""


@mutable
class Project:
    """The files of a project, looked up by folder and by glob."""

    files: Sequence[str]
    _matches: dict[str, list[str]] = field(default_factory=dict)

    @cached_property
    def folders(self) -> Counter[str]:
        """Each folder with how many files it holds."""
        counts = Counter[str]()
        for path in self.files:
            for place, character in enumerate(path):
                if character == "/":
                    counts[path[:place]] += 1
        return counts

    @cached_property
    def names(self) -> frozenset[str]:
        """All files."""
        return frozenset(self.files)

    def holds(self, name: str) -> bool:
        """Return whether a name is that of a file or folder here."""
        path = name.strip("/").removeprefix("./")
        return path in self.names or path in self.folders

    def match(self, glob: str) -> list[str]:
        """Return the files that a glob fits, none for a glob that cannot be read."""
        if glob not in self._matches:
            found: list[str] = []
            try:
                compiled = compile_globs([glob])
            except InputError:
                self._matches[glob] = found
                return found
            head = glob.split("*", maxsplit=1)[0].rpartition("/")[0]
            below = (path for path in self.files if path.startswith(head))
            self._matches[glob] = [path for path in below if match_globs(compiled, path)]
        return self._matches[glob]

    def find_glob(self, name: str) -> str:
        """Return the glob of a file, folder or glob as a rule names it, "" for none here."""
        path = _PLACEHOLDER.sub("*", name.strip().strip("@").removeprefix("./")).strip("/")
        if not path.strip("*/.") or " " in path or path.startswith(("~", "..", "http")):
            return ""
        if path in self.names:
            return path
        if path in self.folders:
            return f"{path}/**"
        if "/" not in path and "*" not in path:
            return self._find_by_name(path)
        return path if "*" in path and self.match(path) else ""

    def _find_by_name(self, name: str) -> str:
        """Return the glob of a file that is named without its folder; it has to be one file."""
        if "." not in name.strip("."):
            return ""
        found = self.match(f"**/{name}")
        return found[0] if len(found) == 1 else f"**/{name}" if found else ""


def find_condition(rule: AgentRule, project: Project) -> tuple[Condition | None, str]:
    """Return when a rule holds, or None and why it stays."""
    text = _MARK.sub("", rule.text.strip())
    text = _LABEL.sub("", text)
    if _CAPITALS.search(_CODE.sub(" ", text)):
        return None, IN_CAPITALS
    reason = UNCONDITIONAL
    for said in _find_clauses(text, rule.lead):
        if _ANY_TASK.search(said):
            reason = ANY_TASK
            continue
        condition, why = _read_clause(said, project)
        if condition is not None:
            return condition, ""
        reason = why if reason == UNCONDITIONAL else reason
    found = _CONDITION.match(unmarked(text))
    if reason == UNCONDITIONAL and found and _WORK.match(found["said"]):
        return _read_remainder(text, found["said"], project)
    return None, reason


def _read_remainder(text: str, said: str, project: Project) -> tuple[Condition | None, str]:
    """Read a situation in words by the files that the rule changes, and those beside them."""
    places = [span.strip() for span in _CODE.findall(text)]
    globs = []
    for place in places:
        glob = (
            project.find_glob(place) if is_place(place) and not _is_reference(text, place) else ""
        )
        if not glob:
            continue
        folder = glob.rpartition("/")[0]
        beside = f"{folder}/**" if folder and "*" not in glob else glob
        few = len(project.match(beside)) <= _MOST_BESIDE
        globs += [glob, beside] if few else [glob]
    if not globs:
        return None, UNCONDITIONAL
    return _make_path(said, globs, project)


def _is_reference(text: str, place: str) -> bool:
    """Return whether a rule names a file only to be read."""
    before = text[: text.index(place)].rstrip("`").rstrip()[-_BEFORE:]
    return bool(_REFERENCE.search(before))


def _find_clauses(text: str, lead: str) -> Iterator[str]:
    """Yield the clauses of a rule that say when it holds, the surest first."""
    flat = unmarked(text)
    for begins in (flat, unmarked(lead)):
        if found := _CONDITION.match(begins):
            yield found["said"]
    if found := _FORBIDDEN_EDIT.search(flat):
        yield found["said"]
    if found := _SUBJECT.match(flat):
        yield found["said"]
    if found := _TRAILING.search(flat):
        yield found["said"]


def _read_clause(said: str, project: Project) -> tuple[Condition | None, str]:
    spans = [span.strip() for span in _CODE.findall(said)]
    commands = [span.strip() for span in _RUN.findall(said) if is_command(span.strip())]
    if commands:
        return _make_command(said, commands), ""
    named = (*spans, *find_paths(_CODE.sub(" ", said)))
    places = [span for span in dict.fromkeys(named) if is_place(span) or project.holds(span)]
    if places:
        return _make_path(said, [project.find_glob(place) for place in places], project)
    for event in _EVENTS:
        if event.words.search(said):
            return _command(said, event.pattern, event.samples), ""
    for kind in _KINDS_OF_FILES:
        if kind.words.search(said):
            globs = [glob for glob in kind.globs if project.match(glob)]
            return _make_path(said, globs, project)
    return None, UNCONDITIONAL


def _make_path(said: str, globs: Sequence[str], project: Project) -> tuple[Condition | None, str]:
    chosen = tuple(dict.fromkeys(filter(None, globs)))
    # A place that is not there cannot be watched, and the rule may mean that very one.
    if not chosen or not all(globs):
        return None, GONE
    files = sorted({path for glob in chosen for path in project.match(glob)})
    if len(files) > max(len(project.files) * MAX_SHARE, 1) or len(chosen) > _MOST_GLOBS:
        return None, BROAD
    return Condition(kind=PATH, said=said, globs=chosen, samples=_sample(files)), ""


def _sample(files: Sequence[str]) -> tuple[str, ...]:
    """Return three of some files: the first, the last, and one between."""
    if not files:
        return ()
    chosen = (files[0], files[len(files) // 2], files[-1])
    return tuple(dict.fromkeys(chosen))


def _make_command(said: str, commands: Sequence[str]) -> Condition:
    patterns = []
    samples = []
    for line in commands:
        words = _NO_ARGUMENT.split(line)[0].split()
        patterns.append(r"\s+".join(re.escape(word) for word in words))
        samples.append(" ".join(words))
    joined = "|".join(dict.fromkeys(patterns))
    lines = [samples[0], f"cd . && {samples[0]}", *samples[1:]]
    return _command(said, rf"^(?:{joined})(?:\s|$)", tuple(lines[:3]))


def _command(said: str, pattern: str, samples: tuple[str, ...]) -> Condition:
    return Condition(kind=COMMAND, said=said, pattern=pattern, samples=samples)
