"""Rules files on a diet: what holds for every task stays, the other rules become cards."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from lessons_kb.brain.brains import Brains
from lessons_kb.calls.failure_signs import CHANGES
from lessons_kb.calls.parse_call import kind_of_tool
from lessons_kb.cards.parse import parse_card
from lessons_kb.collection.card_edits import today
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.exchange import card_text, find_rules_files
from lessons_kb.collection.near_duplicates import PROPOSED, similarity
from lessons_kb.errors import CardNotFound, InputError, LessonsError
from lessons_kb.importers.incoming import Incoming
from lessons_kb.importers.rules_file import (
    NEGATIVE,
    WHEN,
    AgentRule,
    RulesFile,
    build_cards,
    is_place,
    read_rules,
)
from lessons_kb.mining.mine_project import find_sources, read_entries
from lessons_kb.model import NOTE
from lessons_kb.process.git import list_files
from lessons_kb.store.files import (
    MAX_TEXT_BYTES,
    list_folder,
    read_regular,
    replace_whole,
    shown,
    storage_errors,
)
from lessons_kb.store.locks import hold_new
from lessons_kb.store.private_files import write_private
from lessons_kb.store.repositories import git_top
from lessons_kb.store.state_folder import state_dir
from lessons_kb.store.trash import digest
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.transcripts.session_records import CALL, PROMPT, mapping
from lessons_kb.values import frozen

_FOLDERS_OF_AGENTS = (".claude", ".github", ".cursor", ".gemini")
_FORBIDDEN = re.compile(rf"(?:{NEGATIVE.pattern})[^.;\n`]{{0,40}}`([^`\n]{{4,}})`", re.IGNORECASE)
_REPLACED = ("old_string", "old_str", "oldString")
"""Of an edit's arguments: what is no longer there."""
_PLACEHOLDER = re.compile(r"<[^<>/]*>|\{[^{},/]*\}|\[[^\[\]/]*\]")
_MAX_DEPTH = 5
"""Of imports within imports, as in Claude Code."""
_MAX_SESSIONS = 200
_FEWEST_SHARED = 4
"""Terms that two rules share before they are compared."""
_SHORTEST_NAME = 4
_MOST_FILES = 0.25
"""Share of a project's files in a folder that says something of a card."""
_MOST_FOLDERS = 4


@dataclass(kw_only=True, slots=True)
class Diet:
    """The rules files of a project, taken apart."""

    root: str
    files: list[RulesFile] = field(default_factory=list)
    """Named by their paths below the root."""
    notes: list[str] = field(default_factory=list)
    """One line each: what was not read, and why."""
    tracked: Sequence[str] = ()
    """The project's files."""


@frozen
class NewCard:
    """A card that a diet makes."""

    title: str
    text: str
    rules: tuple[AgentRule, ...]


def read_diet(directory: str, paths: Sequence[str] = ()) -> Diet:
    """Read rules files and what they import; by default those that the project has.

    Raises InputError for a file that is none, or lies outside the project, StorageError.
    """
    root = git_top(directory) or os.path.realpath(directory)
    diet = Diet(root=root)
    with contextlib.suppress(LessonsError):  # no git
        diet.tracked = list_files(root)
    paths = paths or find_rules_files(root)
    if not paths:
        raise InputError("no CLAUDE.md, AGENTS.md or other rules file here; name one")
    for path in paths:
        _take(diet, path, 0)
    return diet


def _take(diet: Diet, path: str, depth: int) -> None:
    """Add a file and what it imports to a diet, each once, however it is linked."""
    full = os.path.realpath(path)
    name = os.path.relpath(full, diet.root).replace(os.sep, "/")
    if name.startswith("../"):
        if depth:
            diet.notes.append(f"{shown(path)}: outside the project; left alone")
            return
        raise InputError(
            f"{shown(path)} lies outside {shown(diet.root)}; name a file of this project"
        )
    if any(file.name == name for file in diet.files):
        return
    folder = name.rpartition("/")[0]
    if not folder or depth or folder.split("/")[0] in _FOLDERS_OF_AGENTS:
        folder = ""
    try:
        text = _read(full).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(f"{shown(name)}: not UTF-8; save the file as UTF-8") from None
    file = read_rules(text, name=name, folder=folder)
    diet.files.append(file)
    for wanted in file.imports if depth < _MAX_DEPTH else ():
        place = os.path.join(os.path.dirname(full), os.path.expanduser(wanted))
        if os.path.isfile(place):
            _take(diet, place, depth + 1)


def _read(full: str) -> bytes:
    with storage_errors(full):
        return read_regular(full, limit=MAX_TEXT_BYTES, name=full)


def plan_cards(diet: Diet) -> tuple[list[NewCard], dict[str, str]]:
    """Return the cards that hold the moved rules, and what each file holds afterwards.

    A rule that a card cannot hold word for word (a secret in it, a byte that no card may have)
    stays where it is.
    """
    cards, seen = list[NewCard](), set[str]()
    for file in diet.files:
        lines = {rule.line for rule in file.rules if rule.kind == WHEN}
        for lesson, rules in build_cards(file, lines, seen):
            paths = file.globs or tuple(_find_paths(diet, lesson))
            text = card_text(replace(lesson, paths=paths), created=today(), folders={})
            card = parse_card(text, path="lessons/new.md", folders={}).card
            words = " ".join(text.split())
            if card and card.kind != NOTE and all(rule.words in words for rule in rules):
                cards.append(NewCard(title=lesson.title, text=text, rules=tuple(rules)))
    held = {rule.words for card in cards for rule in card.rules}
    return cards, {
        file.name: file.without(
            {rule.line for rule in file.rules if rule.kind == WHEN and rule.words in held}
        )
        for file in diet.files
    }


def _find_paths(diet: Diet, lesson: Incoming) -> Iterator[str]:
    """Yield globs of what a card's rules name, and of folders that its headings name, each once."""
    seen = {file.name for file in diet.files}
    folders = _find_folders(diet)
    for name in (*lesson.paths, *_find_topical(folders, lesson, len(diet.tracked))):
        path = _PLACEHOLDER.sub("*", name.strip("@/").removeprefix("./"))
        path += "/**" if path in folders else ""
        if path in seen or not path.strip("*/."):
            continue
        seen.add(path)
        with contextlib.suppress(InputError):
            globs = compile_globs([path])
            if any(match_globs(globs, known) for known in diet.tracked):
                yield path


def _find_topical(folders: Counter[str], lesson: Incoming, files: int) -> list[str]:
    """Return the outermost folders that are called what a card is about.

    None that holds much of the project: it would say nothing. None of a name that is frequent.
    """
    said = {*analyze(" ".join((lesson.title, *lesson.topics, *lesson.symptoms)))}
    found = [
        folder
        for folder, held in folders.items()
        if held < files * _MOST_FILES
        and (named := {*analyze(folder.rpartition("/")[2])})
        and named <= said
    ]
    found.sort(key=lambda folder: (folder.count("/"), folder))
    outer = [one for one in found if not any(one.startswith(f"{other}/") for other in found)]
    return outer if len(outer) <= _MOST_FOLDERS else []


def find_gone(diet: Diet) -> list[tuple[RulesFile, AgentRule, str]]:
    """Return (file, rule, name) of files and folders that rules name and the project lacks.

    Only what lies below a folder that is there: the rest may be an example.
    """
    known = {*diet.tracked, *_find_folders(diet)}
    tops = {path.partition("/")[0] for path in known}
    return [
        (file, rule, name)
        for file in diet.files
        for rule in file.rules
        for name in rule.names
        if is_place(name)
        and (path := name.strip("@/").removeprefix("./")).partition("/")[0] in tops
        and re.fullmatch(r"[\w./-]+", path)
        and path not in known
        and not os.path.exists(os.path.join(diet.root, path))
    ]


def _find_folders(diet: Diet) -> Counter[str]:
    """Return each folder of the project with how many files it holds."""
    return Counter(
        path[:place] for path in diet.tracked for place, char in enumerate(path) if char == "/"
    )


def find_pairs(diet: Diet) -> Iterator[tuple[str, tuple[str, AgentRule], tuple[str, AgentRule]]]:
    """Yield (``same`` or ``contradicts``, one, other) for rules, each with its file.

    They contradict each other if they are alike and one of them forbids, or if they differ in
    numbers alone.
    """
    rules = [(file.name, rule) for file in diet.files for rule in file.rules]
    terms = {id(rule): frozenset(analyze(rule.text)) for _name, rule in rules}
    for one, other in combinations(rules, 2):
        texts = [rule.text for rule in (one[1], other[1])]
        shared = terms[id(one[1])] & terms[id(other[1])]
        either = terms[id(one[1])] | terms[id(other[1])]
        if len(shared) < _FEWEST_SHARED or len(shared) < len(either) / 2:
            continue
        if similarity(*texts) < PROPOSED:
            continue
        forbids = [bool(NEGATIVE.search(text)) for text in texts]
        first, second = (re.findall(r"\d+", text) for text in texts)
        apart = either - shared
        opposed = forbids[0] != forbids[1] or (first != second and all(map(str.isdigit, apart)))
        yield ("contradicts" if opposed else "same"), one, other


@dataclass(kw_only=True, slots=True)
class Use:
    """How often sessions of this machine had to do with a rule."""

    relevant: int = 0
    """Sessions in which something that it names was spoken of or touched."""
    broken: int = 0
    """Sessions in which the agent wrote or ran what it forbids."""


def count_uses(diet: Diet) -> tuple[int, dict[str, Use]]:
    """Return how many sessions of the project there are, and by what a rule says its use.

    A rule that names nothing has none: no record tells when it holds.
    """
    rules = [rule for file in diet.files for rule in file.rules]
    forbidden = {rule.words: _FORBIDDEN.findall(rule.text) for rule in rules}
    names = {
        rule.words: [
            name.casefold()
            for name in (*rule.names, *forbidden[rule.words])
            if len(name) >= _SHORTEST_NAME
        ]
        for rule in rules
    }
    uses = {words: Use() for words, some in names.items() if some}
    sources = find_sources(diet.root)[-_MAX_SESSIONS:]
    for source in sources:
        said, done = [], []
        with contextlib.suppress(LessonsError, OSError, ValueError):
            for entry in read_entries(source):
                said.append(entry.text if entry.kind == PROMPT else "")
                if entry.kind == CALL:
                    given = mapping(entry.arguments) or {"text": entry.arguments}
                    text = json.dumps(
                        {k: v for k, v in given.items() if k not in _REPLACED}, ensure_ascii=False
                    )
                    kind = kind_of_tool(entry.tool, agent=source.agent)
                    done += [text] if kind in (*CHANGES, "command") else []
                    said.append(text)
        spoken, written = "\n".join(said).casefold(), "\n".join(done)
        for words, use in uses.items():
            use.relevant += any(name in spoken for name in names[words])
            use.broken += any(code in written for code in forbidden[words])
    return len(sources), uses


class Diets:
    """Carry out diets, and take them back."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains
        self._folder = os.path.join(state_dir(brains.members[0].root), "diet")

    def apply(self, diet: Diet, cards: Sequence[NewCard], texts: Mapping[str, str]) -> list[str]:
        """Write cards and files, and return the ids of the cards.

        What `undo` needs is written first; the files last: a rule is never nowhere. Raises
        InputError for a file that has changed since it was read, StorageError.
        """
        before = {file.name: _read(os.path.join(diet.root, file.name)) for file in diet.files}
        for file in diet.files:
            if before[file.name] != file.text.encode():
                raise InputError(f"{shown(file.name)} has changed meanwhile; run it again")
        place = os.path.join(self._folder, f"{time.time_ns():020d}.json")
        files = {
            name: [base64.b64encode(before[name]).decode(), digest(text.encode())]
            for name, text in texts.items()
            if before[name] != text.encode()
        }
        made: list[str] = []
        with hold_new(self._brains.members[0].root):
            for card in cards:
                made.append(Cards(self._brains).add(card.text, kind="lesson", title=card.title).id)
                record = {"root": diet.root, "files": files, "cards": made}
                write_private(place, json.dumps(record).encode())
        for name in files:
            _write(os.path.join(diet.root, name), texts[name].encode())
        return made

    def titles(self) -> list[str]:
        """Return the titles of the cards that earlier diets made and that are there."""
        names = [name for name in list_folder(self._folder) if name.endswith(".json")]
        records = [json.loads(_read(os.path.join(self._folder, name))) for name in names]
        known = {card.id: card.title for card in Cards(self._brains).all()}
        return [known[card] for one in records for card in one["cards"] if card in known]

    def undo(self) -> tuple[list[str], list[str]]:
        """Give the files of the last diet their bytes back and move its cards to the trash.

        Returns the files and the cards. Raises InputError if there was no diet, or if a file has
        changed since; then nothing is done.
        """
        names = [name for name in list_folder(self._folder) if name.endswith(".json")]
        if not names:
            raise InputError("no diet to undo in this brain")
        place = os.path.join(self._folder, names[-1])
        record = json.loads(_read(place))
        before = {}
        for name, (data, after) in record["files"].items():
            full = os.path.join(record["root"], name)
            before[full] = base64.b64decode(data)
            now = _read(full)
            if digest(now) != after and now != before[full]:
                kept = f"{place}, base64"
                raise InputError(
                    f"{shown(name)} has changed since the diet; put its changes aside first, "
                    f"or take the original from {kept}"
                )
        for full, data in before.items():
            _write(full, data)
        gone = []
        for card in record["cards"]:
            with contextlib.suppress(CardNotFound):
                gone += [one.id for one in Cards(self._brains).delete(card)]
        with storage_errors(place):
            os.unlink(place)
        return list(record["files"]), gone


def _write(full: str, data: bytes) -> None:
    with storage_errors(full):
        replace_whole(full, data, fresh=False)
