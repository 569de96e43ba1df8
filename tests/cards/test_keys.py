"""The table of keys: types, defaults, wrong values, and the keys of other systems (SPEC §1)."""

import pytest

from lessons_kb.model import Card, Pattern
from tests.cards import reading


def parse(header, *, path="lessons/a.md", body="# T\n"):
    return reading.parse(f"---\n{header}\n---\n{body}", path)


def card_of(header, **how):
    return parse(header, **how).card


FULL = """\
type: qa-finding
title: Sender is trusted
applies-to: [telegram, bot]
project: ops-bot
stage: DEV
paths: ["bot/**", "*.sh"]
symptoms:
  - add a bot command
  - 'a stranger: got an answer'
severity: high
source: auto
status: archived
occurrences: 5
last-seen: 2026-09-18
created: 2025-11-03
examples: [one, two]
gate: ask
evidence: disputed
supported-by: [a review]
not-for: [rename the bot]
reopen-when: the bot is opened to groups
detect: [{regex: trusted_sender, files: [bot/**]}]
house-rule: kept untouched"""


def test_every_key_of_the_table():
    document = parse(FULL)
    assert document.findings == ()
    assert document.card == Card(
        id="lessons/a.md",
        kind="qa-finding",
        title="Sender is trusted",
        topics=("telegram", "bot"),
        project="ops-bot",
        stages=("DEV",),
        paths=("bot/**", "*.sh"),
        symptoms=("add a bot command", "a stranger: got an answer"),
        severity="high",
        source="auto",
        status="archived",
        occurrences=5,
        last_seen="2026-09-18",
        created="2025-11-03",
        not_for=("rename the bot",),
        examples=("one", "two"),
        gate="ask",
        evidence="disputed",
        supported_by=("a review",),
        reopen_when="the bot is opened to groups",
        detect=(Pattern(kind="regex", text="trusted_sender", files=("bot/**",)),),
    )


@pytest.mark.parametrize(
    "name", [line.partition(":")[0] for line in FULL.split("\n") if line[0] != " "]
)
def test_empty_values_are_absent(name):
    for empty in ("", "~", "null", "''", "  # nothing yet"):
        document = parse(f"{name}: {empty}")
        assert document.findings == ()
        assert document.card == card_of("type: lesson")


@pytest.mark.parametrize(("written", "topics"), [
    ("applies-to: telegram, bot , auth", ("telegram", "bot", "auth")),
    ("applies-to: [telegram, '#bot']", ("telegram", "bot")),
    ("tags: [obsidian, '#style']", ("obsidian", "style")),
    ("tags: [b]\napplies-to: [a]", ("a", "b")),
    ("applies-to: [Auth, auth, AUTH, x]", ("Auth", "x")),
    ("applies-to: [3, 2026-01-01, true]", ("3", "2026-01-01", "true")),
])  # fmt: skip
def test_topics(written, topics):
    assert card_of(written).topics == topics


@pytest.mark.parametrize(("written", "field", "value"), [
    ("severity: critical", "severity", "high"),
    ("stage: [PM, DEV]", "stages", ("PM", "DEV")),
    ("paths: src/**, '*.py'", "paths", ("src/**", "*.py")),
    ("paths: src/**/*.{ts,tsx}", "paths", ("src/**/*.{ts,tsx}",)),
    ("globs: **/*.{ts,tsx}, src/**", "paths", ("**/*.{ts,tsx}", "src/**")),
    ("globs: [**/*.{ts,tsx}, src/**]", "paths", ("**/*.{ts,tsx}", "src/**")),
    ("applyTo: '**/*.{clj,cljs}'", "paths", ("**/*.{clj,cljs}",)),
    ("paths: [a.py]\nglobs: b.py", "paths", ("a.py", "b.py")),
    ("tag: one, two", "topics", ("one", "two")),
    ("tags: two words", "topics", ("two words",)),
    ("tags: '#one #two'", "topics", ("one", "two")),
    ("tags: '#one two'", "topics", ("one two",)),
    ("x: &t [a, b]\nsymptoms: *t", "symptoms", ("a", "b")),
    ("x: &t\n  - a\n  - c: d\nsymptoms: *t", "symptoms", ("a", "c: d")),
    ("symptoms:\n  - Error: no such file\n    in the folder\n  - other", "symptoms",
     ("Error: no such file in the folder", "other")),
    ("match:\n  keywords:\n    - git push fails\n    - '403'\n  tools: [x]", "symptoms",
     ("git push fails", "403")),
    ("match: {keywords: [a]}\nsymptoms: [b]", "symptoms", ("b", "a")),
    ("match: [a]", "symptoms", ()),
    ("occurrences: 1_000", "occurrences", 1000),
    ("occurrences: 0x10", "occurrences", 16),
    ("occurrences: 010", "occurrences", 8),
    ("occurrences: +4", "occurrences", 4),
    *((f"severity: P{number}", "severity", name) for number, name in
      enumerate(("high", "high", "medium", "low"))),
    ("symptoms: it hangs, then dies", "symptoms", ("it hangs, then dies",)),
    ("symptoms: |\n  it hangs\n  it dies", "symptoms", ("it hangs", "it dies")),
    ("symptoms:\n  - it\n    hangs", "symptoms", ("it hangs",)),
    ("created: 2026-01-02T10:00:00Z", "created", "2026-01-02"),
    ("title: 1.10", "title", "1.10"),
    ('title: "two\\nlines"', "title", "two lines"),
    ("title: >\n  folded\n  text", "title", "folded text"),
    ("Last-Seen: 2026-01-02", "last_seen", "2026-01-02"),
    ("examples: [a, b, c, d, e, f, g]", "examples", ("c", "d", "e", "f", "g")),
    ("applies-when:\n  - moving a table", "symptoms", ("moving a table",)),
    ("symptoms:\n  - good\n  - {a: b}\n  - [c]\n  - fine", "symptoms", ("good", "fine")),
    ("symptoms:\n  - Error: no such file  # seen\n  - other", "symptoms",
     ("Error: no such file", "other")),
    *((f"status: {word}", "status", "active") for word in (
        "resolved", "Solved", "done", "completed", "accepted", "approved", "verified", "stable",
        "published", "final", "closed", "fixed", "implemented", "[a]", "proposed")),
    *((f"status: {word}", "status", "archived") for word in (
        "superseded", "Deprecated", "retired", "obsolete", "inactive", "stale", "withdrawn",
        "rejected")),
    ("status: draft", "status", "draft"),
    ("date: 2020-01-01\ncreated: soon", "created", "2020-01-01"),
    ("last-seen: 2026-01-01\nlast_seen: 2026-02-02", "last_seen", "2026-02-02"),
])  # fmt: skip
def test_accepted_ways_of_writing(written, field, value):
    assert getattr(card_of(written), field) == value


def test_keys_of_other_systems():
    header = """\
title: Retries bill twice
date: 2026-04-01
category: docs/solutions/logic-errors
module: billing
component: [payments, api]
problem_type: logic_error
symptoms: [charged twice]
root_cause: missing idempotency key
tags: [stripe, billing]
severity: critical
last_updated: 2026-05-01"""
    document = parse(header, path="docs/solutions/logic-errors/a.md")
    card = document.card
    assert document.findings == ()
    assert card.topics == ("stripe", "billing", "payments", "api", "logic-errors")
    assert (card.created, card.severity) == ("2026-04-01", "high")
    assert "missing idempotency key" in document.fields["body"]


@pytest.mark.parametrize(("category", "topic"), [
    ("docs/solutions/errors", "errors"),
    ("/docs/solutions/errors/", "errors"),
    ("errors", "errors"),
    ("tions/errors", "tions/errors"),
])  # fmt: skip
def test_a_category_that_is_the_files_folder_is_its_last_part(category, topic):
    header = f"title: T\ncategory: {category}"
    assert card_of(header, path="docs/solutions/errors/a.md").topics == (topic,)


def test_fields_repeat_what_body_alone_holds():
    body = (
        "# T\n\n## Problem\n\nIt hung.\n\n## Risk\n\nMoney.\n\n## Prevention\n\n- Set a timeout\n"
    )
    header = "title: Hangs\napplies-to: [http]\nsymptoms: [never returns]\ndescription: a word"
    fields = parse(header, body=body).fields
    assert fields["title"] == "Hangs"
    assert fields["tags"] == "http"
    assert fields["symptoms"] == "never returns"
    assert fields["checklist"] == "Set a timeout"
    assert fields["situation"] == "It hung.\n\nMoney."
    for piece in ("Hangs", "http", "never returns", "a word", "It hung.", "Set a timeout"):
        assert piece in fields["body"]


def test_what_cannot_be_seen_is_taken_out():
    header = 'title: "\\e[31mred\\u200b \\u202eright"\nsymptoms: ["a\\x07\\u200bb"]\napplies-to: ["\\u2066x"]'
    card = card_of(header, body="# T\n\n## Prevention\n\n- do\u200b \x1b[2Jit\n")
    assert (card.title, card.symptoms, card.topics) == ("red right", ("ab",), ("x",))
    assert card.checklist == ("do it",)
