"""Import lessons from other systems, and export them. An import is planned before any write."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.cards.edit import Change, edit_header
from lessons_kb.cards.edit_sources import add_sources, make_file_source
from lessons_kb.cards.file_kinds import is_note_name
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.cards.keys import MAX_EXAMPLES, MAX_OCCURRENCES
from lessons_kb.cards.links import is_reserved, slug
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.read_header import ORIGIN_KEY, read_origins
from lessons_kb.cards.rule_files import parse_rules
from lessons_kb.cards.sections import CAUSE
from lessons_kb.cards.sketch import Sketch
from lessons_kb.collection.card_edits import today
from lessons_kb.collection.cards import Cards
from lessons_kb.collection.compose_card import compose, redact_card
from lessons_kb.collection.near_duplicates import NEAR, SAME, Duplicates, NearDuplicate, compare
from lessons_kb.collection.project_files import ProjectFiles
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.errors import DuplicateCard, EditRefused, InputError, LessonsError, StorageError
from lessons_kb.importers import galangal
from lessons_kb.importers.copilot_memory import is_copilot_memory, read_copilot_memory
from lessons_kb.importers.incoming import (
    Imported,
    Incoming,
    PassedOver,
    add_to_situation,
    make_origin,
    origin_key,
)
from lessons_kb.importers.jsonl import FORMAT, read_lines
from lessons_kb.importers.memory import is_documentation, is_memory, read_memory
from lessons_kb.importers.review_findings import read_review
from lessons_kb.importers.rules_file import RULES_FILES, is_rules_file, read_rules
from lessons_kb.importers.whole_documents import (
    is_changelog,
    is_one_lesson,
    is_rule_document,
    read_document,
)
from lessons_kb.model import NOTE, Card, Pattern, Source, as_data
from lessons_kb.on_demand import OKF_BUNDLE, load
from lessons_kb.store import card_files
from lessons_kb.store import files as import_files
from lessons_kb.store.files import list_folder, relative
from lessons_kb.store.locks import hold_for_new_card
from lessons_kb.text.analyzer import analyze
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, visible_json
from lessons_kb.values import frozen, replace

GALANGAL, REVIEW, MEMORY, JSONL, RULES, DOCUMENT, COPILOT, OKF = SOURCES = (
    *("galangal", "review", "memory", "jsonl", "rules", "document", "copilot", "okf"),
)
PROSE = "prose"
"""A text without a lesson."""
DOCUMENTATION = "documentation"
CHANGES = "changelog"
NAMES = {
    GALANGAL: "a database of mistakes",
    REVIEW: "a review",
    MEMORY: "notes for agents",
    JSONL: "lessons, one a line",
    RULES: "rules of ast-grep or Semgrep",
    DOCUMENT: "one lesson",
    COPILOT: "memories of Copilot",
    OKF: "a bundle of the Open Knowledge Format",
}
"""Maps a source to its name in messages."""

_NAMING = (MEMORY, COPILOT)
"""Sources whose text may name files of other projects."""
_QUOTED = (REVIEW, MEMORY, RULES, DOCUMENT, COPILOT)
"""Sources that are texts. A card quotes the line from which it was imported."""
_TEXTS, _RULE_FILES = (".md", ".mdc", ".markdown", ".txt"), (".yml", ".yaml")
_SQLITE = b"SQLite format 3\0"
_HEAD = 1 << 20
"""The number of bytes from which the format of a file is guessed."""


def find_rules_files(root: str) -> list[str]:
    """Return the rules files for agents in a project."""
    files: list[str] = []
    for name in RULES_FILES:
        pattern = os.path.join(glob.escape(root), name)
        matches = sorted(glob.glob(pattern, recursive=True, include_hidden=True))
        files += filter(os.path.isfile, matches)
    return files


def find_files(path: str) -> list[str]:
    """Return the files that a path names: the file itself, or the texts of a folder.

    If a folder has rules files for agents, these are its texts. Otherwise, they are its Markdown
    and plain texts without a README; outside of a project, those of its subfolders count as well.
    Raises InputError for a folder without any.
    """
    if not os.path.isdir(path):
        return [path]
    found = find_rules_files(path) or _find_texts(path)
    if not found:
        raise InputError(f"{path} holds no notes (*.md, *.mdc, *.txt) and no rules; give a file")
    return [os.path.normpath(one) for one in found]


def _find_texts(folder: str) -> list[str]:
    """Return the texts of a folder. Outside of a project, include the texts of its subfolders.

    Files about a folder of documents, such as its README, are left out.
    """
    is_project = os.path.exists(os.path.join(folder, ".git"))
    pattern = "*" if is_project else "**/*"
    names = glob.glob(pattern, root_dir=folder, recursive=True)
    texts = []
    for name in sorted(names):
        path = os.path.join(folder, name)
        is_about = name.endswith(".md") and is_note_name(os.path.basename(name))
        if name.endswith((*_TEXTS, *_RULE_FILES)) and os.path.isfile(path) and not is_about:
            texts.append(path)
    return texts


def guess_source(path: str) -> str:
    """Return one of SOURCES, or else what the text is: PROSE, DOCUMENTATION or CHANGES.

    Raises StorageError for a file that cannot be read, and InputError for a digest of our own.
    """
    head = import_files.read_head(path, _HEAD)
    if head.startswith(_SQLITE):
        return GALANGAL
    first = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    is_json = first.startswith((b"{", b"["))
    if is_json and is_copilot_memory(head.decode("utf-8", "replace")):
        return COPILOT
    if first.startswith(b"{") or path.endswith((".json", ".jsonl", ".ndjson")):
        return JSONL
    if path.endswith(_RULE_FILES):
        return RULES
    text = head.decode("utf-8", "replace").replace("\r\n", "\n")
    if re.match(r"# Lessons\n\n\d+ cards?\.\n", text):
        raise InputError(f"{path} is a digest for people; import what `lessons export jsonl` wrote")
    if is_one_lesson(text, name=path, folders=KNOWN_FOLDERS):
        return DOCUMENT
    if is_changelog(text, name=path):
        return CHANGES
    found = read_review(text, name=path)
    if found.lessons or found.passed_over:
        return REVIEW
    if is_rules_file(path):
        return MEMORY
    if not is_memory(text, name=path):
        return PROSE
    return DOCUMENTATION if is_documentation(text, name=path) else MEMORY


def is_read_each_session(path: str) -> bool:
    """Return whether agents read this rules file in each session, because it names no files.

    Raises StorageError for a file that cannot be read.
    """
    if not is_rules_file(path):
        return False
    text = import_files.read_source(path)
    return not (is_rule_document(text, name=path) or read_rules(text, name=path).globs)


CREATE, BUMP, SKIP = "create", "bump", "skip"
ON_NEAR = ("skip", "new", "bump")
FORMATS = ("json", "jsonl", "markdown")

_NEAR_HINT = "; use --near new to write it or --near bump to count it"
_ANY_DATE = "2000-01-01"
_ORIGIN_BYTES = re.compile(rb"imported[-_ ]from", re.IGNORECASE)


@frozen
class ImportStep:
    """The action of an import for one lesson, planned or done."""

    action: str
    """``create``, ``bump`` or ``skip``."""
    title: str
    where: str
    """The file and the line, or the row."""
    card: str = ""
    """The id of the card that is bumped or already exists. A new card has it after the write."""
    reason: str = ""


@frozen
class Plan:
    """The steps of an import."""

    steps: tuple[ImportStep, ...]
    notes: tuple[str, ...] = ()
    """Remarks about unknown parts of the source, one line each."""
    lessons: tuple[Incoming | None, ...] = ()
    """The lesson of each step, or None if the reader of the source has already skipped it."""
    near: str = "skip"


class _Places:
    """The places of lessons in the files that are imported, as sources of the cards."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._lines: dict[str, list[str]] = {}
        """Maps a path to the lines of the file."""

    def find(self, where: str, path: str, *, is_quoted: bool) -> Source:
        """Return the place that ``where`` (``FILE:LINE``) names, quoting the line if requested.

        A file outside of the project is named without its folders, which are private.
        """
        place, _colon, number = where.rpartition(":")
        line = int(number) if place and number.isdecimal() else 0
        inside = relative(self._directory, os.path.realpath(path))
        if inside.partition("/")[0] == "..":
            inside = os.path.basename(path)
        quote = self._read_line(path, line) if is_quoted and line else ""
        return make_file_source(inside, line, quote)

    def _read_line(self, path: str, line: int) -> str:
        if path not in self._lines:
            try:
                self._lines[path] = import_files.read_source(path).splitlines()
            except LessonsError:
                self._lines[path] = []
        lines = self._lines[path]
        return lines[line - 1] if line <= len(lines) else ""


class Exchange:
    """Import into the nearest brain, and export from all brains."""

    def __init__(self, brains: Brains) -> None:
        self._brains = brains

    def plan(
        self,
        source: str,
        path: str,
        *,
        near: str = "skip",
        project: str | None = None,
        topics: Sequence[str] = (),
    ) -> Plan:
        """Return the steps of an import of a file. Nothing is written.

        ``source`` is one of SOURCES. A lesson that was imported before is skipped, and a lesson
        with the title of a card bumps that card. ``near`` (one of ON_NEAR) is the action for a
        lesson that is a near-duplicate of a card. Raises InputError with the file and the line, and
        StorageError.
        """
        return self.plan_files([(source, path)], near=near, project=project, topics=topics)

    def plan_files(
        self,
        files: Iterable[tuple[str, str]],
        *,
        near: str = "skip",
        project: str | None = None,
        topics: Sequence[str] = (),
        own_project: bool = False,
    ) -> Plan:
        """Return the steps of an import of files, each with its source. See ``plan``.

        With ``own_project``, memories about other projects are skipped.
        """
        if near not in ON_NEAR:
            raise InputError(f"near must be one of {', '.join(ON_NEAR)}, not {near!r}")
        directory = self._brains.directory
        project_files = ProjectFiles(directory)
        places = _Places(directory)
        lessons: list[Incoming] = []
        passed: list[PassedOver] = []
        notes: list[str] = []
        for source, path in files:
            reading = read_lessons(source, path, directory=directory if own_project else "")
            if source == REVIEW and not (reading.lessons or reading.passed_over):
                raise InputError(f"{'; '.join(reading.notes)}; give a review that contains claims")
            for read in reading.lessons:
                lesson = read
                if not lesson.text:
                    every = tuple(dict.fromkeys((*lesson.topics, *topics)))
                    lesson = replace(lesson, project=project or lesson.project, topics=every)
                if source in _NAMING and not lesson.text:
                    lesson = _keep_real_paths(lesson, project_files)
                if not lesson.text:
                    is_text = source in _QUOTED
                    place = places.find(lesson.where, path, is_quoted=is_text)
                    lesson = replace(lesson, sources=(place,))
                lessons.append(lesson)
            passed += reading.passed_over
            notes += reading.notes
        shelf = _Shelf(self._brains, near, lessons)
        steps = [shelf.judge(lesson) for lesson in lessons]
        steps += [
            ImportStep(action=SKIP, title=one.title, where=one.where, reason=one.reason)
            for one in passed
        ]
        return Plan(
            steps=tuple(steps),
            notes=tuple(notes),
            lessons=(*lessons, *(None for _ in passed)),
            near=near,
        )

    def carry_out(self, plan: Plan) -> tuple[ImportStep, ...]:
        """Write the cards of a plan, and return its steps with the ids of the cards.

        A step that fails becomes a skip with the reason, and the other steps continue. If the disk
        cannot be written, StorageError is raised, because the next step would fail as well. A
        second import repeats nothing. Each step is planned again. Therefore, of two simultaneous
        imports of one file, the second finds the cards of the first.
        """
        date = today()
        nearest = self._brains.members[0]
        with hold_for_new_card(nearest.root):
            shelf = _Shelf(self._brains, plan.near, plan.lessons)
            written: dict[str, str] = {}
            """Maps the planned id of a new card to its final id."""
            steps: list[ImportStep] = []
            for planned, lesson in zip(plan.steps, plan.lessons, strict=True):
                step = shelf.judge(lesson) if lesson else planned
                try:
                    if lesson and step.action == CREATE:
                        card_id = self._create(lesson, date)
                        written[step.card] = card_id
                        step = replace(step, card=card_id)
                    elif lesson and step.action == BUMP:
                        target = written.get(step.card, step.card)
                        self._bump(shelf.homes.get(target, nearest), target, lesson, date)
                        step = replace(step, card=target)
                except StorageError:
                    raise
                except LessonsError as error:
                    step = replace(step, action=SKIP, reason=str(error))
                steps.append(step)
        return tuple(steps)

    def export(self, form: str) -> Iterator[str]:
        """Yield the lines of every card in one of FORMATS, in the order of brains and paths."""
        if form not in FORMATS:
            raise InputError(f"the format must be one of {', '.join(FORMATS)}, not {form!r}")
        formatters = {"json": _format_json, "jsonl": _format_jsonl, "markdown": _format_markdown}
        return formatters[form](self._read_redacted())

    def _read_redacted(self) -> Iterator[tuple[Card, str]]:
        """Yield each card with the text of its file, from which secrets are removed."""
        self._brains.refresh()
        for brain in self._brains.members:
            limit, folders = brain.settings.index.max_file_bytes, brain.settings.folders
            for card in brain.read(lambda brain: brain.catalogue.all_cards()):
                if card.kind == NOTE:
                    continue
                data = card_files.read_bytes(brain.root, card.id, limit=limit)
                text = data.decode("utf-8", "replace")
                redacted = redact_card(text)
                redacted_card = None
                if redacted != text:
                    redacted_card = parse_card(redacted, path=card.id, folders=folders).card
                yield redacted_card or card, redacted

    def _create(self, lesson: Incoming, date: str) -> str:
        folders = self._brains.members[0].settings.folders
        text = card_text(lesson, created=date, folders=folders)
        if lesson.kind == NOTE:
            root = self._brains.members[0].root
            return card_files.create(root, lesson.id, text.encode("utf-8"))
        if lesson.text:
            if is_safe_id(lesson.id):
                with contextlib.suppress(DuplicateCard, InputError):
                    root = self._brains.members[0].root
                    return card_files.create(root, lesson.id, text.encode("utf-8"))
            # The id was not possible. Record the origin under the new name.
            origins = dict.fromkeys((*read_origins(text), lesson.origin))
            text = edit_header(text, {ORIGIN_KEY: tuple(origins)})
        return Cards(self._brains).add(text, kind=lesson.kind, title=lesson.title).id

    def _bump(self, brain: Brain, card_id: str, lesson: Incoming, date: str) -> None:
        """Add the occurrences of an imported lesson to a card.

        If the lesson was imported before, the larger of the two totals counts. Otherwise, the
        totals are added.
        """

        def count(card: Card, text: str) -> str:
            origins = read_origins(text)
            total = max(card.occurrences, lesson.occurrences)
            changes: dict[str, Change] = {}
            known = origin_key(lesson.origin) in map(origin_key, origins)
            if not known and not (lesson.id == card.id and lesson.text):
                total = card.occurrences + lesson.occurrences
                changes[ORIGIN_KEY] = (*origins, lesson.origin)
            changes["occurrences"] = min(total, MAX_OCCURRENCES)
            changes["last-seen"] = max(filter(None, (card.last_seen, lesson.last_seen or date)))
            new = [example for example in lesson.examples if example not in card.examples]
            if new:
                changes["examples"] = tuple(map(redact, (*card.examples, *new)[-MAX_EXAMPLES:]))
            return edit_header(text, changes)

        Cards(self._brains).rewrite(brain, card_id, count)


class _Shelf:
    """The existing cards, and the cards that a plan adds."""

    def __init__(self, brains: Brains, near: str, lessons: Iterable[Incoming | None]) -> None:
        self._near = near
        self._exported = {(one.id, one.title) for one in lessons if one and one.text}
        """The id and the title of each card of an export, which never has two cards of one
        lesson."""
        self._added: dict[tuple[str, ...], list[Card]] = {}
        """Maps the terms of a title to the cards that the plan adds. Two lessons of one source are
        merged only if their titles have the same terms."""
        self._origins: dict[tuple[str, str], str] = {}
        """Maps a system and a digest to the id of the card with this origin."""
        self.homes: dict[str, Brain] = {}
        cards = Cards(brains).all()
        for brain in brains.members[:1] if self._exported else brains.members:
            limit = brain.settings.index.max_file_bytes
            for card in brain.read(lambda brain: brain.catalogue.all_cards()):
                self.homes.setdefault(card.id, brain)
                with contextlib.suppress(StorageError):
                    data = card_files.read_bytes(brain.root, card.id, limit=limit)
                    text = data.decode("utf-8", "replace") if _ORIGIN_BYTES.search(data) else ""
                    for origin in read_origins(text):
                        self._origins.setdefault(origin_key(origin), card.id)
        self._folders = brains.members[0].settings.folders
        self._ids = {card.id: card for card in reversed(cards) if card.id in self.homes}
        self._known = Duplicates(self._ids.values())
        self._taken = set(self._ids)

    def judge(self, lesson: Incoming) -> ImportStep:
        """Return the step for a lesson, and record it for the lessons that follow."""
        step = ImportStep(action=CREATE, title=lesson.title, where=lesson.where)
        origin = origin_key(lesson.origin)
        known = self._origins.get(origin, "")
        try:
            card = self._parse(lesson)
        except LessonsError as error:
            return replace(step, action=SKIP, reason=str(error))
        if card.kind == NOTE:
            return self._judge_note(step, card)
        for former in lesson.former:
            earlier = self._origins.get(origin_key(former), "")
            if not known and earlier in self._ids:
                known = earlier
        own = self._ids.get(known) or self._ids.get(lesson.id)
        if own is not None and not known:
            alike = compare(card.title, own)
            own = own if alike and alike.level == SAME else None
        if own is not None:
            step = replace(step, card=own.id)
            if lesson.occurrences > own.occurrences:
                why = f"imported before, now seen {lesson.occurrences}×"
                return replace(step, action=BUMP, reason=why)
            return replace(step, action=SKIP, reason="already here")
        if known:
            return replace(step, action=SKIP, card=known, reason="twice in the source")
        duplicate = self._find_near_duplicate(card, lesson)
        if duplicate is not None:
            action = self._near if duplicate.level == NEAR else BUMP
            hint = "" if action == BUMP else _NEAR_HINT
            if action == BUMP:
                self._origins[origin] = duplicate.card.id
            reason = f"{duplicate.reason}{hint}"
            return replace(step, action=action, card=duplicate.card.id, reason=reason)
        if not is_safe_id(lesson.id) or card.id in self._taken:
            names = numbered_names(f"{lesson.kind}s/{slug(redact(lesson.title))}")
            card = replace(card, id=next(name for name in names if name not in self._taken))
        self._added.setdefault(tuple(analyze(card.title)), []).append(card)
        self._taken.add(card.id)
        self._origins[origin] = card.id
        return replace(step, card=card.id)

    def _judge_note(self, step: ImportStep, note: Card) -> ImportStep:
        """Return the step for a note of a bundle, which is written if its name is free."""
        if not is_safe_id(note.id):
            return replace(step, action=SKIP, reason="its name is not safe here")
        if note.id in self._taken:
            return replace(step, action=SKIP, card=note.id, reason="already here")
        self._taken.add(note.id)
        return replace(step, card=note.id)

    def _find_near_duplicate(self, card: Card, lesson: Incoming) -> NearDuplicate | None:
        """Return the card with the same or a similar lesson that decides the step, or None."""
        text = "\n".join((card.why, *card.checklist))
        is_exported = bool(lesson.text)
        for duplicate in self._known.find(card.title, text=text, limit=len(self._ids)):
            if is_exported and (duplicate.card.id, duplicate.card.title) in self._exported:
                continue
            if duplicate.level == SAME or (duplicate.level == NEAR and self._near != "new"):
                return duplicate
        if is_exported:
            return None
        for other in self._added.get(tuple(analyze(card.title)), ()):
            planned = compare(card.title, other)
            if planned and planned.level == SAME:
                return planned
        return None

    def _parse(self, lesson: Incoming) -> Card:
        """Return the card that an import makes of a lesson."""
        path = lesson.id if is_safe_id(lesson.id) else f"{lesson.kind}s/{slug(lesson.title)}.md"
        text = card_text(lesson, created=_ANY_DATE, folders=self._folders)
        document = parse_card(text, path=path, folders=self._folders)
        card = document.card
        is_lost = card is not None and card.kind == NOTE and lesson.kind != NOTE
        if card is None or is_lost:
            reason = document.findings[0].message if document.findings else "would be a note"
            raise EditRefused(f"not a valid card: {reason}")
        return card


def _keep_real_paths(lesson: Incoming, files: ProjectFiles) -> Incoming:
    """Return a lesson whose paths are limited to names that the project has.

    Declared globs that match nothing here are moved into the text of the lesson.
    """
    paths = files.choose_paths(lesson.paths)
    lost = [path for path in lesson.paths if path not in paths]
    if not (lesson.declared_paths and lost):
        return replace(lesson, paths=paths)
    line = f"For {', '.join(f'`{path}`' for path in lost)}."
    if lesson.body:
        return replace(lesson, paths=paths, body=f"{line}\n\n{lesson.body}")
    return replace(lesson, paths=paths, sections=add_to_situation(lesson.sections, line))


def read_lessons(source: str, path: str, *, directory: str = "") -> Imported:
    """Return the lessons of a file of one of SOURCES.

    With ``directory``, memories about other projects are skipped. Raises InputError, which names
    the file and the line.
    """
    if source == GALANGAL:
        columns, rows = import_files.read_table(path, galangal.TABLE, galangal.COLUMNS)
        return galangal.read_mistakes(rows, name=os.path.basename(path), columns=columns)
    if source == JSONL:
        return read_lines(import_files.read_source_lines(path), name=path)
    if source == RULES:
        return _read_rules(import_files.read_source(path), os.path.basename(path))
    if source == REVIEW:
        return read_review(import_files.read_source(path), name=path)
    if source == DOCUMENT:
        return read_document(import_files.read_source(path), name=path)
    if source == COPILOT:
        return read_copilot_memory(import_files.read_source(path), name=path)
    if source == OKF:
        imported: Imported = load(OKF_BUNDLE).read_bundle(path)
        return imported
    if source == MEMORY:
        siblings = list_folder(os.path.dirname(path) or ".")
        text = import_files.read_source(path)
        return read_memory(text, name=path, siblings=siblings, directory=directory)
    raise InputError(f"import supports {', '.join(SOURCES)}, not {source!r}")


def _read_rules(text: str, name: str) -> Imported:
    """Return the rules of a file as lessons. A rule that cannot be a card has a reason."""
    lessons: list[Incoming] = []
    passed: list[PassedOver] = []
    try:
        rules = list(parse_rules(text))
    except InputError as error:
        raise InputError(f"{name}: {error}") from None
    for about, pattern, reason in rules:
        where = f"{name} {about['id']}"
        problem = reason
        if pattern is not None:
            try:
                lessons.append(_compose_rule(about, pattern, name))
            except LessonsError as error:
                problem = str(error)
        if problem:
            passed.append(PassedOver(title=about["title"], where=where, reason=problem))
    return Imported(lessons=tuple(lessons), passed_over=tuple(passed))


def _compose_rule(about: Mapping[str, str], pattern: Pattern, name: str) -> Incoming:
    """Return a rule as a lesson. Raises InputError or EditRefused if it cannot be a card."""
    sketch = Sketch(
        title=about["title"],
        severity=about["severity"],
        sections={CAUSE: about["why"]} if about["why"] else {},
        detect=(pattern,),
    )
    origin = make_origin(RULES, name, about["id"], pattern.text)
    composed = compose(sketch, created=today(), whole=True)
    return Incoming(
        title=about["title"],
        where=f"{name} {about['id']}",
        origin=origin,
        text=add_sources(edit_header(composed, {ORIGIN_KEY: origin}), (make_file_source(name),)),
    )


_SAFE_PART = re.compile(
    r"[^._\-\s/\\:*?\"<>|\x00-\x1f](?:[^/\\:*?\"<>|\x00-\x1f]{0,119}[^. /\\:*?\"<>|\x00-\x1f])?"
)


_KEYS = (
    *("paths", "symptoms", "not-for", "severity", "source", "status", "occurrences", "last-seen"),
    *("created", "examples", "gate", "evidence", "supported-by", "reopen-when"),
)
"""The keys of a header in the order of a card. A lesson has attributes of the same names."""
_DEFAULTS = {"severity": "medium", "source": "curated", "status": "active"}


def card_text(lesson: Incoming, *, created: str, folders: Mapping[str, str]) -> str:
    """Return the text of a card: the exported text, or else a text composed from the lesson.

    Secrets are removed. ``created`` is the date of a lesson without a date. An exported card may
    have been a lesson only because of its folder. If ``folders`` does not have that folder, the
    kind is added to the header.
    """
    if lesson.text:
        text = redact_card(lesson.text)
        card = parse_card(text, path=lesson.id, folders=folders).card
        is_lost = card is not None and card.kind == NOTE and lesson.kind != NOTE
        return edit_header(text, {"type": lesson.kind}) if is_lost else text
    header: dict[str, Change] = {
        "type": lesson.kind,
        "title": lesson.title,
        "applies-to": lesson.topics,
        "project": lesson.project,
        "stage": lesson.stages[0] if len(lesson.stages) == 1 else lesson.stages,
        **{key: getattr(lesson, key.replace("-", "_")) or _DEFAULTS.get(key) for key in _KEYS},
        "examples": lesson.examples[-MAX_EXAMPLES:],
    }
    header["created"] = header["created"] or created
    for name, value in header.items():
        if isinstance(value, str):
            header[name] = redact(value)
        elif isinstance(value, tuple):
            header[name] = tuple(map(redact, value)) or None
    header[ORIGIN_KEY] = lesson.origin or None
    given = {name: value for name, value in header.items() if value is not None}
    parts = [f"## {heading}\n\n{text}\n" for heading, text in lesson.sections]
    body = f"{lesson.body.strip()}\n" if lesson.body else "\n".join(parts)
    return add_sources(edit_header("\n" + redact(body), given), lesson.sources)


def is_safe_id(card_id: str) -> bool:
    """Return whether an id from another system is a safe file name that a scan would find."""
    parts = card_id.split("/")
    return (
        card_id.endswith((".md", ".markdown"))
        and all(_SAFE_PART.fullmatch(part) and part != "node_modules" for part in parts)
        and not any(map(is_reserved, parts))
        and card_id.isprintable()
    )


_DIGEST_HEADINGS = {"lesson": "Lessons", "playbook": "Playbooks", "qa-finding": "Review findings"}


def _format_jsonl(cards: Iterable[tuple[Card, str]]) -> Iterator[str]:
    """Yield one line of JSON for each (card, text of its file), without line ends."""
    for card, text in cards:
        data = {"format": FORMAT, **as_data(card), "text": text}
        yield visible_json(json.dumps(data, ensure_ascii=False))


def _format_json(cards: Iterable[tuple[Card, str]]) -> Iterator[str]:
    """Yield one JSON document with every card."""
    data = [{**as_data(card), "text": text} for card, text in cards]
    whole = {"format": FORMAT, "cards": data}
    yield visible_json(json.dumps(whole, ensure_ascii=False, indent=2))


def _format_markdown(cards: Iterable[tuple[Card, str]]) -> Iterator[str]:
    """Yield a digest for people: the title, marks, cause and checklist of each card, by kind."""
    every = [card for card, _text in cards]
    yield f"# Lessons\n\n{counted(len(every), 'card')}."
    for kind, heading in _DIGEST_HEADINGS.items():
        chosen = [card for card in every if card.kind == kind]
        yield from ("", f"## {heading}") if chosen else ()
        for card in chosen:
            values = {
                "last": card.last_seen,
                "stage": ", ".join(card.stages),
                "project": card.project,
                "topics": ", ".join(card.topics),
                "paths": ", ".join(card.paths),
                "": card.evidence,
                "reopen when": card.reopen_when,
            }
            marks = [card.severity, f"seen {card.occurrences}×"]
            marks += [f"{name} {value}".strip() for name, value in values.items() if value]
            marks += [card.status, card.id] if card.status != "active" else [card.id]
            yield f"\n### {_plain(card.title)}\n\n{_plain(' · '.join(marks))}"
            yield from ("", f"Why: {_plain(card.why)}") if card.why else ()
            yield from [""] if card.checklist else ()
            yield from (f"- [ ] {_plain(item)}" for item in card.checklist)


def _plain(text: str) -> str:
    return clean_line(text).replace("<!--", "&lt;!--")
