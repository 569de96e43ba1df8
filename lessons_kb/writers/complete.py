"""Complete drafts and moved rules from the checked answers of a writer.

A *writer* is a function that returns a model's answer to a prompt.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any

from lessons_kb.brain.brains import Brains
from lessons_kb.cards.draft_gaps import find_lacks
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.parse import parse_card
from lessons_kb.cards.sketch import Sketch
from lessons_kb.cards.sources import read_sources_of
from lessons_kb.collection.compose_card import compose
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.collection.drafts import Drafts
from lessons_kb.data import read_lines
from lessons_kb.detect.matcher import Matcher, Rule, check_pattern, parse_diff
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.find.block import RetrievalOptions, preflight
from lessons_kb.find.calibrate import calibrate
from lessons_kb.find.project_detection import find_in_tree, list_tree
from lessons_kb.mining.draft_text import EVIDENCE, NOT_SHOWN, find_diff, finish, split_evidence
from lessons_kb.model import NOTE, PATTERNS, SEVERITIES, Document, Pattern
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.files import write_unsynced
from lessons_kb.store.state_folder import state_dir
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line, counted, shorten
from lessons_kb.values import frozen, replace
from lessons_kb.writers.prompt import (
    build_prompt,
    build_second_prompt,
    build_support_prompt,
    build_task_prompt,
)
from lessons_kb.writers.support import Support, list_statements, mark_unsupported, read_support

Ask = Callable[[str, threading.Event], Mapping[str, Any]]
"""A function that returns the answer to a prompt, or raises InputError if there is none."""
Answers = Mapping[str, Mapping[str, Any]]
_AT_ONCE = 3
_MOST_COPIED = 500
"""The number of the brain's cards that are searched in addition to new cards. A larger number
changes no verdict."""
_NOT_COMPARED = "not all of its statements were compared with the evidence"
_TASKS = 2
"""The number of tasks that have to find a card."""
_MAX_ITEMS, _MAX_TEXT, _MAX_FIX, _MAX_SHOWN = 4, 300, 800, 80
_SHORT_QUOTE = 3
"""The minimum number of words in a quote. A shorter quote could occur in any text."""
_UNRELATED, _MOST_UNRELATED = 300, 3
"""The number of unrelated prompts with which a card is tested, and the number that may match it."""
_MOST_PLACES = 3
"""The number of places in the present code that a pattern may match, as overlooked mistakes."""
_KEYS = {"topics": "applies-to"}
"""A mapping from each field of a card to its key in the header, if they differ."""
_LINE_START = re.compile(r"(?m)^(?:[ \t]*>)?[+ \t-]*")
"""Matches all marks at the start of a line, also those of its own text, as in "+- item"."""
_LINE_MARK = re.compile(r"(?m)^(?:[ \t]*>|[+-])")
"""Matches only the mark of the diff or the quotation."""


@frozen
class TaskTrial:
    """The result of a search for a card with tasks, written without knowledge of its symptoms."""

    tasks: int
    found: int
    found_without_symptoms: int
    """The number of tasks that find the card if it has no symptoms."""


@frozen
class Completed:
    """The result for one draft."""

    id: str
    title: str = ""
    """The new title; "" if the draft did not change."""
    problems: tuple[str, ...] = ()
    """The reason why the draft did not change, or else the parts of the answer that were left out
    or marked."""
    trial: TaskTrial | None = None
    """The trial of the card with tasks that another call wrote; None if there were no tasks."""


@frozen
class _Card:
    """The valid parts of an answer as a sketch of a card, and the problems of the answer."""

    sketch: Sketch
    problems: tuple[str, ...] = ()
    trial: TaskTrial | None = None
    remark: str = ""
    """A remark for the user, which is not sent back to the writer."""
    is_empty: bool = False
    """Whether the answer says that there is no lesson."""


def complete(
    brains: Brains,
    drafts: Sequence[Draft],
    ask: Ask,
    *,
    ask_for_tasks: Ask | None = None,
    ask_for_support: Ask | None = None,
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[Completed]:
    """Complete drafts, each with its own prompt, so that they cannot influence each other.

    An answer that fails a check is sent back once with the reasons. A draft does not change if its
    second answer is not a complete card either. ``ask_for_tasks`` answers in the form of
    `TASK_SCHEMA`. Its answer contains two tasks for each card, which are written without knowledge
    of the symptoms and have to find the card. ``ask_for_support`` answers in the form of
    `SUPPORT_SCHEMA`. It reads each card and the evidence, and names the statements that the
    evidence does not support. Raises InputError if the first prompt has no answer.
    """
    cards: dict[str, _Card] = {}
    tasks: dict[str, tuple[str, ...]] = {}
    support: dict[str, Support] = {}

    def check(answers: Answers) -> dict[str, Sequence[str]]:
        answered = [draft for draft in drafts if draft.id in answers]
        if ask_for_tasks is not None:
            new = {draft.id: answers[draft.id] for draft in answered if draft.id not in tasks}
            tasks.update(_write_tasks(brains, answered, new, ask_for_tasks))
        checked = _check(brains, answered, answers, tasks)
        if ask_for_support is not None:
            checked |= _check_support(answered, checked, ask_for_support, support)
        cards.update(checked)
        return {name: card.problems for name, card in checked.items()}

    prompts = {draft.id: build_prompt(brains, draft) for draft in drafts}
    answers, failed = put_all(prompts, ask, check, progress=progress)
    return [
        _write(brains, draft, answers[draft.id], cards[draft.id])
        if draft.id in answers
        else Completed(id=draft.id, problems=(failed[draft.id],))
        for draft in drafts
    ]


def put_all(
    prompts: Mapping[str, str],
    ask: Ask,
    check: Callable[[Answers], Mapping[str, Sequence[str]]],
    *,
    progress: Callable[[int, int], None],
) -> tuple[Answers, dict[str, str]]:
    """Send prompts to a writer, and return the answers and the reasons for missing answers.

    ``check`` returns the problems of answers. An answer with problems is sent back once, and
    ``check`` is also called with the second answers. Raises InputError if the first prompt has no
    answer, because the other prompts would have no answer either.
    """
    from concurrent.futures import ThreadPoolExecutor

    stop = threading.Event()
    texts = {**prompts}
    answers = dict[str, Mapping[str, Any]]()
    failed = dict[str, str]()

    def put(name: str) -> None:
        try:
            answers[name] = ask(texts[name], stop)
        except InputError as error:
            if name not in answers:  # otherwise the first answer is used
                failed[name] = str(error)
        progress(len(answers) + len(failed), len(prompts))

    first, *others = prompts
    put(first)
    if first in failed:
        raise InputError(f"{failed[first]}; nothing was changed")
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            list(pool.map(put, others))
            problems = check(answers)
            again = [name for name in answers if problems[name]]
            for name in again:
                texts[name] = build_second_prompt(texts[name], answers[name], problems[name])
            list(pool.map(put, again))
        except BaseException:
            stop.set()
            raise
    if again:
        check({name: answers[name] for name in again})
    return answers, failed


def _write(brains: Brains, draft: Draft, answer: Mapping[str, Any], card: _Card) -> Completed:
    """Write a completed draft, followed by its evidence, if the card is complete."""
    sketch, problems = card.sketch, (*card.problems, *filter(None, [card.remark]))
    text = _compose(draft, sketch)
    reason = _line(answer.get("no_lesson"))
    lacks = (f"no lesson in it: {reason}",) if reason else find_lacks(_parse(text))
    if lacks:
        return Completed(id=draft.id, problems=lacks)
    try:
        Drafts(brains).rewrite(draft.id, text, digest=draft.digest)
    except LessonsError as error:
        return Completed(id=draft.id, problems=(str(error),))
    return Completed(id=draft.id, title=sketch.title, problems=problems, trial=card.trial)


def _write_tasks(
    brains: Brains, drafts: Sequence[Draft], answers: Answers, ask: Ask
) -> dict[str, tuple[str, ...]]:
    """Return a mapping from each draft to two tasks in which its mistake could be made again.

    Drafts for which no call wrote tasks are left out.
    """
    answered = [draft for draft in drafts if draft.id in answers]
    asked = [draft for draft in answered if not _line(answers[draft.id].get("no_lesson"))]
    prompts = {
        draft.id: build_task_prompt(_read(brains, draft, answers[draft.id], ())[0])
        for draft in asked
    }
    # If there are no tasks, only the symptoms are tested.
    return {
        name: _read_lines(answer.get("prompts"))[:_TASKS]
        for name, answer in _ask_all(prompts, ask).items()
    }


def _ask_all(prompts: Mapping[str, str], ask: Ask) -> Answers:
    """Send prompts to a writer, and return the answers. A prompt without an answer is left out."""
    from concurrent.futures import ThreadPoolExecutor

    stop = threading.Event()
    answers = dict[str, Mapping[str, Any]]()

    def put(name: str) -> None:
        with contextlib.suppress(InputError):
            answers[name] = ask(prompts[name], stop)

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        try:
            list(pool.map(put, prompts))
        except BaseException:
            stop.set()
            raise
    return answers


def _check_support(
    drafts: Sequence[Draft],
    cards: Mapping[str, _Card],
    ask: Ask,
    support: dict[str, Support],
) -> dict[str, _Card]:
    """Return the cards with a mark at each statement that their evidence does not support.

    ``support`` maps each draft to its last comparison, and is updated. Statements that have not
    changed since are not compared again.
    """
    statements = {
        draft.id: list_statements(cards[draft.id].sketch)
        for draft in drafts
        if not cards[draft.id].is_empty
    }
    prompts = {
        draft.id: build_support_prompt(draft, statements[draft.id])
        for draft in drafts
        if draft.id in statements
        and (draft.id not in support or not support[draft.id].covers(statements[draft.id]))
    }
    for name, answer in _ask_all(prompts, ask).items():
        support[name] = read_support(answer, statements[name], before=support.get(name))
    checked: dict[str, _Card] = {}
    for name, own in statements.items():
        result = support.get(name, Support())
        sketch, problems = mark_unsupported(cards[name].sketch, result.unsupported)
        checked[name] = replace(
            cards[name],
            sketch=sketch,
            problems=(*cards[name].problems, *problems),
            remark="" if result.covers(own) else _NOT_COMPARED,
        )
    return checked


def _check(
    brains: Brains,
    drafts: Sequence[Draft],
    answers: Answers,
    tasks: Mapping[str, tuple[str, ...]],
) -> dict[str, _Card]:
    """Return the answers as cards.

    An answer which says that there is no lesson has no problems. ``tasks`` maps a draft to the
    tasks that have to find its card.
    """
    files = list_tree(brains.directory)
    sketches: dict[str, Sketch] = {}
    problems: dict[str, list[str]] = {}
    texts: dict[str, str] = {}
    for draft in drafts:
        sketch, problems[draft.id] = _read(brains, draft, answers[draft.id], files)
        sketches[draft.id] = sketch
        texts[draft.id] = finish(_compose(draft, sketch), template="")
    texts_by_card = _find_reaching_texts(brains, texts, tasks)
    tasks_without_symptoms: dict[str, set[str]] = {}
    if tasks:
        without_symptoms = {
            name: edit_header(text, {"symptoms": ()}) for name, text in texts.items()
        }
        tasks_without_symptoms = _find_reaching_texts(
            brains, without_symptoms, tasks, with_unrelated_prompts=False
        )
    cards: dict[str, _Card] = {}
    for name, sketch in sketches.items():
        if _line(answers[name].get("no_lesson")):
            cards[name] = _Card(sketch=sketch, is_empty=True)
            continue
        finds_card = texts_by_card[name]
        lacks = [f"missing: {lack}" for lack in find_lacks(_parse(texts[name]))]
        fitting, search_problems, _is_broad = _check_symptoms(sketch.symptoms, finds_card)
        own_tasks = tasks.get(name, ())
        lost = [task for task in own_tasks if task not in finds_card]
        for task in lost:
            search_problems.append(
                f"the task {task!r} does not find the card; a symptom should name its work"
            )
        trial = None
        if own_tasks:
            trial = TaskTrial(
                tasks=len(own_tasks),
                found=len(own_tasks) - len(lost),
                found_without_symptoms=len(tasks_without_symptoms[name].intersection(own_tasks)),
            )
        cards[name] = _Card(
            sketch=replace(sketch, symptoms=fitting),
            problems=(*problems[name], *lacks, *search_problems),
            trial=trial,
        )
    return cards


def _read(
    brains: Brains, draft: Draft, answer: Mapping[str, Any], files: Sequence[str]
) -> tuple[Sketch, list[str]]:
    """Return the valid parts of an answer as a card, and the problems of the other parts."""
    evidence = split_evidence(draft.text)[1]
    problems: list[str] = []

    def quoted(value: object) -> tuple[str, str]:
        """Return a sentence, and a comment with the quote that supports it and its source."""
        parts = value if isinstance(value, Mapping) else {}
        text, quote = _line(parts.get("text")), _line(parts.get("quote"))
        place = find_quote(evidence, quote)
        if not place:
            shown = shorten(quote, _MAX_SHOWN)
            problems.append(f"the quote {shown!r} is not in the evidence, character by character")
        remark = f"“{quote}” ({place})".replace("--", "- -") if place else NOT_SHOWN
        return text, f"<!-- {remark} -->"

    cause, why = quoted(answer.get("cause"))
    items = [quoted(item) for item in _list(answer.get("checklist"))]
    checklist = "\n".join(f"- [ ] {text}\n  {shown}" for text, shown in items if text)
    sections = {
        "Root Cause": f"{cause}\n\n{why}" if cause else "",
        "Fix": _line(answer.get("fix"), _MAX_FIX),
        "Prevention Checklist": checklist,
    }
    paths, path_problems = _read_paths(answer, files)
    problems += path_problems
    patterns = []
    for proposal in _list(answer.get("detect")):
        if isinstance(proposal, Mapping) and proposal.get("kind") in PATTERNS:
            pattern = Pattern(kind=str(proposal["kind"]), text=_code_line(proposal.get("text")))
            problem = _check_pattern(brains, pattern, evidence)
            problems += [f"detect {pattern.text!r}: {problem}"] if problem else []
            patterns += [] if problem else [pattern]
    known = _parse(draft.text).card
    severity = str(answer.get("severity"))
    sketch = Sketch(
        title=_line(answer.get("title")) or draft.title,
        sections={name: text for name, text in sections.items() if text},
        stage=known.stages[0] if known and known.stages else None,
        severity=severity if severity in SEVERITIES else None,
        paths=paths,
        symptoms=_read_lines(answer.get("symptoms")),
        detect=patterns,
        example=known.examples[-1] if known and known.examples else "",
        sources=read_sources_of(draft.text),
    )
    return sketch, problems


def _read_paths(
    answer: Mapping[str, Any], files: Sequence[str]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the globs of an answer that match a file of the project.

    The second value has a problem for each of the other globs.
    """
    fitting: list[str] = []
    problems: list[str] = []
    for glob in filter(None, map(_code_line, _list(answer.get("paths")))):
        with contextlib.suppress(InputError):
            if any(match_globs(compile_globs([glob]), path) for path in files):
                fitting.append(glob)
                continue
        problems.append(f"paths: no file of the project fits {glob!r}")
    return tuple(fitting), problems


def improve(
    brains: Brains,
    cards: Mapping[str, str],
    prompts: Mapping[str, str],
    ask: Ask,
    *,
    files: Sequence[str],
    progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> list[str]:
    """Return the texts of a diet's cards with additional valid paths, symptoms and tags.

    ``prompts`` are those of `build_diet_prompt` under the same names, ``files`` those of the
    project. The text of the rules does not change. A search for a symptom must find its card. A
    card that unrelated prompts match gets no symptoms. An answer with problems is asked for once
    more, and the second answer replaces the first. Raises InputError if the first prompt has no
    answer.
    """
    texts = dict(cards)

    def add_keys_and_check(answers: Answers) -> dict[str, list[str]]:
        """Put the valid keys of answers into ``texts``, and return the problems by name."""
        problems: dict[str, list[str]] = {}
        more: dict[str, dict[str, tuple[str, ...]]] = {}
        for name, answer in answers.items():
            paths, problems[name] = _read_paths(answer, files)
            tags = tuple(map(str.casefold, _read_lines(answer.get("tags"))))
            symptoms = _read_lines(answer.get("symptoms"))
            more[name] = {"paths": paths, "topics": tags, "symptoms": symptoms}
        fuller = {name: _add_keys(cards[name], keys) for name, keys in more.items()}
        texts_by_card = _find_reaching_texts(brains, {**texts, **fuller})
        for name, keys in more.items():
            fitting, symptom_problems, is_broad = _check_symptoms(
                keys["symptoms"], texts_by_card[name]
            )
            problems[name] += symptom_problems
            symptoms = () if is_broad else tuple(fitting)
            texts[name] = _add_keys(cards[name], {**keys, "symptoms": symptoms})
        return problems

    put_all(prompts, ask, add_keys_and_check, progress=progress)
    return [texts[name] for name in cards]


def _add_keys(text: str, more: Mapping[str, tuple[str, ...]]) -> str:
    """Return the text of a card with additional values for keys of its header, each once."""
    card = _parse(text).card
    known = {key: getattr(card, key) if card else () for key in more}
    whole = {key: tuple(dict.fromkeys((*known[key], *new))) for key, new in more.items()}
    return redact(edit_header(text, {_KEYS.get(key, key): value for key, value in whole.items()}))


def _read_unrelated_prompts() -> list[str]:
    """Return prompts that are unrelated to all cards."""
    return read_lines("background_prompts.txt")[:_UNRELATED]


def _check_symptoms(
    symptoms: Sequence[str], finds_card: set[str]
) -> tuple[list[str], list[str], bool]:
    """Return the symptoms that find their card, the problems, and whether the card is too broad.

    ``finds_card`` contains the symptoms and the unrelated prompts that find the card.
    """
    fitting = [symptom for symptom in symptoms if symptom in finds_card]
    lost = [symptom for symptom in symptoms if symptom not in finds_card]
    problems = [f"symptom {symptom!r} does not find the card; name its subject" for symptom in lost]
    count = len(finds_card.intersection(_read_unrelated_prompts()))
    is_broad = count > _MOST_UNRELATED
    if is_broad:
        problems.append(
            f"{count} of {_UNRELATED} prompts about other things draw the card; "
            "leave out words that fit any task"
        )
    return fitting, problems, is_broad


def find_quote(evidence: str, quote: str) -> str:
    """Return the place of a quote in the evidence; "" if the quote is missing or too short.

    The place is the name of a file or the heading above the quote. Line breaks are ignored. The
    quote may have the marks of a diff or a quotation at the starts of its lines, or none of them.
    """
    forms = (
        (_flatten_without_marks, _flatten_without_marks),
        (_flatten_without_one_mark, _flatten),
        (_flatten, _flatten),
    )
    for flat, flat_quote in forms:
        wanted = flat_quote(quote)
        at = flat(evidence).find(wanted)
        is_short = len(wanted.split()) < _SHORT_QUOTE and len(wanted) < 4 * _SHORT_QUOTE
        if at < 0 or is_short:
            continue
        place, size = "the evidence", 0
        for line in evidence.splitlines():
            file = re.match(r"(?:\+\+\+|---) [ab]/(\S+)", line)
            if file:
                place = file[1]
            elif re.match(r"[A-Z][^>|]*:$|Commit `|What failed", line):
                place = shorten(line.rstrip(":"), 60)
            size += len(flat(line)) + bool(flat(line))
            if size > at:
                break
        return place
    return ""


def _flatten(text: str) -> str:
    return " ".join(text.split())


def _flatten_without_marks(text: str) -> str:
    return _flatten(_LINE_START.sub("", text))


def _flatten_without_one_mark(text: str) -> str:
    """Keep the marks that the lines of a diff or a quotation have themselves, as in "+- item"."""
    return _flatten(_LINE_MARK.sub("", text))


def _check_pattern(brains: Brains, pattern: Pattern, evidence: str) -> str:
    """Return the reason why a pattern does not describe the mistake, or "" if it does."""
    problem = check_pattern(pattern)
    if problem:
        return problem
    matcher = Matcher([Rule(card="", pattern=pattern)])
    if pattern.kind == "command":
        ran = re.findall(r"`([^`\n]+)`", evidence)
        return "" if matcher.find_in_commands(ran) else "no command of the evidence fits"
    changes = list(parse_diff(find_diff(evidence)))
    if not any(matcher.find_in_file(change.path, change.before) for change in changes):
        return "it matches nothing that the diff removes"
    if any(matcher.find_in_file(change.path, change.after) for change in changes):
        return "it matches the code after the fix"
    root = brains.members[0].root
    places = list(islice(find_in_tree(brains.directory, matcher, root=root), _MOST_PLACES + 1))
    return "" if len(places) <= _MOST_PLACES else "it matches too much of the code as it is"


@frozen
class BackgroundTest:
    """The result of a search for a card with unrelated prompts."""

    found: int
    prompts: int

    @property
    def is_broad(self) -> bool:
        """Whether the card would be given for too many unrelated prompts."""
        return self.found > _MOST_UNRELATED


def run_background_test(brains: Brains, draft: Draft) -> BackgroundTest:
    """Search for a draft, as a card of its brain, with unrelated prompts."""
    text = finish(split_evidence(draft.text)[0], template="")
    finds_card = _find_reaching_texts(brains, {draft.id: text})[draft.id]
    unrelated = _read_unrelated_prompts()
    return BackgroundTest(found=len(finds_card.intersection(unrelated)), prompts=len(unrelated))


def _find_reaching_texts(
    brains: Brains,
    texts: Mapping[str, str],
    tasks: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
    *,
    with_unrelated_prompts: bool = True,
) -> dict[str, set[str]]:
    """Return a mapping from each card to the symptoms, tasks and unrelated prompts that find it.

    A symptom finds a card if the title of the card is offered. A task or a prompt finds it if the
    lesson is given. The search runs in a temporary copy of the brain that contains all of the
    cards.
    """
    brain = brains.members[0]
    texts_by_card: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory(prefix="lessons-writer-") as folder:
        root = os.path.realpath(folder)
        limit = brain.settings.index.max_file_bytes
        all_cards = brain.read(lambda opened: opened.catalogue.all_cards())
        paths = [card.id for card in all_cards if card.kind != NOTE][:_MOST_COPIED]
        cards = {path: read_bytes(brain.root, path, limit=limit) for path in paths}
        cards |= {f"lessons/{name}.md": text.encode() for name, text in texts.items()}
        for path, data in cards.items():
            full = os.path.join(root, *path.split("/"))
            os.makedirs(os.path.dirname(full), exist_ok=True)
            write_unsynced(full, data)
        with _open_temporary(root) as copy:
            copy.refresh()
            calibrate(copy)
            unrelated = _read_unrelated_prompts() if with_unrelated_prompts else []
            cards_by_text = {prompt: _find_given(copy, prompt, sure=True) for prompt in unrelated}
            for name, text in texts.items():
                card = _parse(text).card
                own_id = f"lessons/{name}.md"
                for symptom in card.symptoms if card else ():
                    cards_by_text[symptom] = _find_given(copy, symptom)
                for task in tasks.get(name, ()):
                    cards_by_text[task] = _find_given(copy, task, sure=True)
                texts_by_card[name] = {
                    searched for searched, found in cards_by_text.items() if own_id in found
                }
    return texts_by_card


@contextlib.contextmanager
def _open_temporary(root: str) -> Iterator[Brains]:
    """Open a temporary brain, and afterwards remove its cache and its state, which lie elsewhere.

    `private_state_home` would change the environment of agents that other threads start.
    """
    brains = Brains.open(root, directory=root)
    try:
        with brains:
            yield brains
    finally:
        for folder in (brains.members[0].cache, state_dir(root, create=False)):
            shutil.rmtree(folder, ignore_errors=True)


def _find_given(brains: Brains, prompt: str, *, sure: bool = False) -> set[str]:
    block = preflight(brains, prompt, RetrievalOptions(context=False), fresh=False, remember=False)
    return {hit.card.id for hit in (*block.lessons, *(() if sure else block.offered))}


def _compose(draft: Draft, sketch: Sketch) -> str:
    """Return the text of a completed draft."""
    text = compose(sketch, created="", source="auto", whole=True)
    return redact(f"{text}\n## {EVIDENCE}\n\n{split_evidence(draft.text)[1]}\n")


def _parse(text: str) -> Document:
    return parse_card(split_evidence(text)[0], path="lessons/draft.md", folders={})


def _list(value: object) -> list[Any]:
    return value[:_MAX_ITEMS] if isinstance(value, list) else []


def _read_lines(value: object) -> tuple[str, ...]:
    return tuple(filter(None, map(_line, _list(value))))


def _line(value: object, limit: int = _MAX_TEXT) -> str:
    """Return a text of the answer as one line, without comments and marks of a Markdown block."""
    text = clean_line(value if isinstance(value, str) else "")
    return shorten(re.sub(r"<!--|-->", "", text).lstrip("#>-* ").strip(), limit)


def _code_line(value: object) -> str:
    """Return a glob or a pattern of the answer as one line, with every mark that it begins with."""
    return shorten(clean_line(value if isinstance(value, str) else "").strip(), _MAX_TEXT)


def _describe_trial(trial: TaskTrial) -> str:
    tasks = f"{trial.found} of {trial.tasks} tasks that another call wrote find it"
    return f"{tasks}, {trial.found_without_symptoms} without its symptoms"


def tell(done: Sequence[Completed]) -> Iterator[str]:
    """Yield one redacted line for each draft: titles and remarks quote an agent's answer."""
    for completed in done:
        remarks = "; ".join(completed.problems)
        if completed.title:
            count = counted(len(completed.problems), "remark")
            marked = f" ({count}: {remarks})" if remarks else ""
            tested = f"; {_describe_trial(completed.trial)}" if completed.trial else ""
            yield redact(f"{completed.id}: {completed.title}{marked}{tested}")
        else:
            yield redact(f"{completed.id} stays as it was: {remarks}")
