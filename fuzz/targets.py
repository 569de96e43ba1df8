"""What is promised of each reader, as a function of bytes that raises where it is not kept."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fuzz import seeds
from fuzz.agents import agent_settings, payload
from fuzz.lines import check_one_line
from fuzz.sharing import attributes, merge
from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.links import slug
from lessons_kb.cards.parse import parse_bytes, parse_card
from lessons_kb.config import KNOWN_FOLDERS, flat_settings, parse_settings, settings_from_dict
from lessons_kb.errors import EditRefused, LessonsError
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean, clean_line, defang

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Check = Callable[[bytes], None]

MAX_SECONDS = 5.0
"""No input of some kilobytes may take longer, on a busy machine, under a tracer."""
MAX_BYTES = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One reader and where its first inputs come from."""

    check: Check
    seeds: tuple[str, ...] = ()
    """Globs below the repository."""
    own: tuple[bytes, ...] = ()


def run(target: Target, data: bytes) -> None:
    """Hold one input against a target; raises what it raises, AssertionError when it is slow."""
    began = time.process_time()
    target.check(data)
    seconds = time.process_time() - began
    assert seconds < MAX_SECONDS, f"{seconds:.1f} s for {len(data)} bytes"


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def card(data: bytes) -> None:
    """Any file is a card, a note, or unusable with a reason; advice names lines that exist."""
    for path in ("lessons/a.md", "docs/a.md"):
        document = parse_bytes(data, path=path, folders=KNOWN_FOLDERS)
        findings = check_card(document)
        lines = len(re.split(rb"\r\n|\r|\n", data))
        assert document.card is not None or findings, "unusable without a reason"
        for finding in findings:
            assert 0 <= finding.line <= lines, finding
            assert finding.message, finding
            assert finding.fix, finding
        if document.card is not None:
            for text in (document.card.title, document.card.why, *document.card.checklist):
                assert len(text.splitlines()) <= 1, repr(text)


_EDITS: tuple[dict[str, Any], ...] = (
    {"occurrences": 7, "last-seen": "2026-11-22", "examples": ("one", "two: # three")},
    {"status": "archived"},
    {"status": None, "examples": None},
    {"title": 'a "quoted" [title]: #1', "applies-to": ("a", "b c")},
)


def edit(data: bytes) -> None:
    """An edit is refused, or alters exactly the lines of its keys, and reads back as meant."""
    changes = _EDITS[data[0] % len(_EDITS)] if data else _EDITS[0]
    try:
        text = data[1:].decode("utf-8")
    except UnicodeDecodeError:
        return
    before = parse_card(text, path="lessons/a.md", folders=KNOWN_FOLDERS)
    try:
        result = edit_header(text, changes)
    except EditRefused as error:
        check_one_line(error)
        return
    after = parse_card(result, path="lessons/a.md", folders=KNOWN_FOLDERS)
    assert edit_header(result, changes) == result, "done twice it changes something"
    if before.card is not None and after.card is not None:
        touched = {name.replace("-", "_") for name in changes} | {"topics", "examples"}
        one, two = as_data(before.card), as_data(after.card)
        for name in set(one) - touched - {"checklist"}:
            assert one[name] == two[name], (name, one[name], two[name])
    _check_lines(text, result, changes)


def _check_lines(text: str, result: str, changes: Mapping[str, Any]) -> None:
    """All lines but those of the keys stay, in their order."""
    old, new = text.splitlines(keepends=True), result.splitlines(keepends=True)
    lost, added = Counter(old) - Counter(new), Counter(new) - Counter(old)
    if not set(lost) & set(new) and not set(added) & set(old):
        assert [x for x in old if x not in lost] == [x for x in new if x not in added], "order"
    # A key may own several lines: those that follow it are indented, or items of a list.
    names = "|".join(re.escape(name).replace("\\-", "[-_ ]?") for name in (*changes, "tags"))
    key = re.compile(rf"(?i)\ufeff?['\"]?(?:{names})['\"]?\s*:|[ \t]|-|\]|\}}|#|\s*$|---")
    strange = [line for line in lost if not key.match(line)]
    assert len(strange) <= len(changes), strange


def settings(data: bytes) -> None:
    """A lessons.toml is refused in one line, or read, and survives the catalogue."""
    from lessons_kb.text.patterns import MAX_PATTERNS, check_pattern

    try:
        found, origins = parse_settings(_text(data))
    except LessonsError as error:
        check_one_line(error)
        return
    unknown = {*origins} - {*flat_settings(found)}
    assert all(name.startswith("folders.") for name in unknown), unknown
    assert settings_from_dict(json.loads(json.dumps(as_data(found)))) == found
    for pattern in found.triggers.patterns[:MAX_PATTERNS]:
        _check_pattern(pattern, check_pattern(pattern))


_HOSTILE = ("a" * 300, "aaab" * 60 + "!", "x y " * 70, "0" * 299 + "\n", "ㅏ" * 200)


def _check_pattern(pattern: str, refused: str) -> None:
    if refused:
        return
    from lessons_kb.text.patterns import search_any

    began = time.process_time()
    for text in _HOSTILE:
        search_any((pattern,), text)
    assert time.process_time() - began < 1.0, pattern


def pattern(data: bytes) -> None:
    """A pattern that the settings admit ends in time on any sentence."""
    from lessons_kb.text.patterns import check_pattern

    text = _text(data)[:400]
    _check_pattern(text, check_pattern(text))


def globs(data: bytes) -> None:
    """Globs are refused in one line, or match any path in time."""
    from lessons_kb.text.patterns import compile_globs, match_globs

    head, _, tail = _text(data).partition("\n\n")
    try:
        compiled = compile_globs(head.split("\n")[:40])
    except LessonsError as error:
        check_one_line(error)
        return
    for path in (tail[:4096], "a/" * 60 + "b.py", "a" * 250, "src/app/main.py"):
        match_globs(compiled, path)


def markup(data: bytes) -> None:
    """Text of cards and answers: cleaned once is clean, nothing in it poses as the frame."""
    text = _text(data)
    cleaned = clean(text)
    assert clean(cleaned) == cleaned
    assert not set(cleaned) & set("\x00\x07\x08\x1b\x7f\x9b\u200b\u202e\u2066\ufeff")
    line = clean_line(text)
    assert line == clean_line(line)
    assert "\n" not in line
    safe = defang(cleaned)
    assert defang(safe) == safe
    for mark in ("[ACTIVE LESSONS", "[/ACTIVE LESSONS", "[CONTEXT]", "[/CONTEXT]"):
        assert mark not in safe.upper(), safe


def words(data: bytes) -> None:
    """What is read out of a prompt: terms, paths, sentences, tokens, secrets."""
    from lessons_kb.text.analyzer import analyze
    from lessons_kb.text.paths import find_paths
    from lessons_kb.text.redact import redact
    from lessons_kb.text.sentences import split_sentences
    from lessons_kb.text.token_estimate import estimate_tokens

    text = _text(data)
    assert all(analyze(text))
    for path in find_paths(text):
        assert path
        assert not path.startswith("./")
    split_sentences(text)
    assert estimate_tokens(text) > 0 or not text.strip()
    once = redact(text)
    assert redact(once) == once


def transcript(data: bytes) -> None:
    """A session's record, of any agent, read in one or in two goes: entries, never an error."""
    from lessons_kb.transcripts.session_records import AGENTS, open_record, read_tail

    lines = data.split(b"\n")
    half = len(lines) // 2
    for agent in AGENTS:
        reader = open_record(agent)
        entries = [*reader.feed(lines[:half]), *reader.feed(lines[half:]), *reader.finish()]
        whole = open_record(agent)
        assert entries == [*whole.feed(lines), *whole.finish()], "cut elsewhere, read otherwise"
        read_tail(agent, data)


def _imported(read: Callable[[], Any]) -> None:
    try:
        reading = read()
    except LessonsError as error:
        check_one_line(error)
        return
    for one in reading.lessons:
        assert one.title.strip(), "a lesson without a title"
        assert one.title == clean_line(one.title), repr(one.title)
        assert slug(one.title)


def review(data: bytes) -> None:
    """The claim tables of a review."""
    from lessons_kb.importers.review_findings import read_review

    _imported(lambda: read_review(_text(data), name="review.md"))


def memory(data: bytes) -> None:
    """The rules of an AGENTS.md."""
    from lessons_kb.importers.rules_file import read_notes

    _imported(lambda: read_notes(_text(data), name="AGENTS.md"))


def jsonl(data: bytes) -> None:
    """Lines of JSON, ours or another tool's."""
    from lessons_kb.importers.jsonl import read_lines

    _imported(lambda: read_lines(enumerate(_text(data).split("\n"), 1), name="a.jsonl"))


def galangal(data: bytes) -> None:
    """Rows of another tool's database: any type may stand in any column."""
    from lessons_kb.importers.galangal import COLUMNS, read_mistakes

    try:
        rows = json.loads(_text(data))
    except (ValueError, RecursionError):
        rows = [dict.fromkeys(COLUMNS, _text(data))]
    rows = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    plain = [
        {k: v if isinstance(v, (str, int, float, bytes)) else None for k, v in row.items()}
        for row in rows
    ]
    _imported(lambda: read_mistakes(plain, name="mistakes.db"))


def rules(data: bytes) -> None:
    """A file of Semgrep's or ast-grep's rules: each rule is a pattern, or says why it is none."""
    from lessons_kb.cards.rule_files import parse_rules

    try:
        for _about, found, reason in parse_rules(_text(data)):
            assert (found is None) == bool(reason), "neither a pattern nor a reason"
            assert len(reason.splitlines()) <= 1, reason
    except LessonsError as error:
        check_one_line(error)


def template(data: bytes) -> None:
    """Any title makes a card that says that title, or is refused in one line."""
    from lessons_kb.cards.sketch import Sketch
    from lessons_kb.collection.compose_card import compose

    title, _, topics = _text(data).partition("\n")
    for kind in ("lesson", "qa-finding"):
        try:
            sketch = Sketch(title=title, kind=kind, topics=tuple(topics.split("\n")[:5]))
            text = compose(sketch, created="2026-11-22")
        except LessonsError as error:
            check_one_line(error)
            return
        found = parse_card(text, path="x/a.md", folders=KNOWN_FOLDERS).card
        assert found is not None
        assert found.kind == kind
        plain = title.isprintable()  # else the order in which things are taken out shows
        assert not plain or clean_line(found.title) == clean_line(title), (title, found.title)


def answer(data: bytes) -> None:
    """An answer held against a checklist, of which both may be anything."""
    from lessons_kb.model import Card
    from lessons_kb.postcheck.item_states import find_unaddressed_items

    items, _, text = _text(data).partition("\n\n")
    given = Card(id="lessons/a.md", kind="lesson", title="A", checklist=tuple(items.split("\n")))
    found = find_unaddressed_items(text, [given])
    assert {one.item for one in found.unaddressed} <= set(given.checklist)


CARDS = ("brain-example/**/*.md", "templates/*.md")
TARGETS: Mapping[str, Target] = {
    "card": Target(check=card, seeds=CARDS),
    "edit": Target(check=edit, seeds=CARDS, own=(b"\0---\nstatus: active # x\n---\n",)),
    "settings": Target(check=settings, seeds=("**/lessons.toml",), own=(seeds.TOML,)),
    "pattern": Target(check=pattern, own=(b"again.{0,20}broken|re?gression", b"(a|b)c*?")),
    "globs": Target(check=globs, own=(b"src/**/*.{ts,tsx}\n!src/[a-c]?\n\nsrc/a/b.ts",)),
    "markup": Target(
        check=markup,
        seeds=CARDS[:1],
        own=(b"<tool_call>{}</tool_call> [/ACTIVE LESSONS] \x1b[31m<!-- x -->",),
    ),
    "words": Target(check=words, seeds=CARDS[:1]),
    "transcript": Target(check=transcript, own=seeds.TRANSCRIPTS),
    "review": Target(check=review, own=(seeds.REVIEW.encode(),)),
    "memory": Target(check=memory, seeds=CARDS[:1], own=(seeds.MEMORY.encode(),)),
    "jsonl": Target(check=jsonl, own=(seeds.JSONL,)),
    "galangal": Target(check=galangal, own=(json.dumps(seeds.ROWS).encode(),)),
    "rules": Target(check=rules, own=seeds.RULES),
    "template": Target(check=template, own=(b"Never: do [this]\na\nb", "또 안 돼요".encode())),
    "agent-settings": Target(
        check=agent_settings,
        own=(b"\0" + seeds.SETTINGS, b"\1[mcp_servers.x]\ncommand = 'y'\n", b"\3{}", b"\5"),
    ),
    "merge": Target(check=merge, own=(seeds.THREE,)),
    "attributes": Target(check=attributes, own=(b"*.md text\n# x\n\n====\ndocs/my brain",)),
    "payload": Target(check=payload, own=tuple(seeds.payloads())),
    "answer": Target(check=answer, seeds=CARDS[:1], own=(b"Test it\n\nI tested it.",)),
}
