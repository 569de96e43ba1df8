"""Cards as concepts of the Open Knowledge Format, and back: the form that three validators take."""

import datetime as dt
import re

import pytest
import yaml

from lessons_kb.cards.okf import REVIEWER, from_okf, to_okf
from tests.cards.reading import parse
from tests.kit import EXAMPLE

MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})")
BODY = "\n# Mistake: a --- b\n\n## Root Cause\n\nNobody looked.\n\n- [ ] Look\n"
HEADER = """\
type: lesson
title: x
applies-to: [mail, bot]
created: 2026-01-02
confirmed: 2026-02-03
stale-after: 2027-01-31
superseded-by: other
contradicts: [lessons/rival.md]
gate: once
detect:
  - regex: 'shell=True'
    files: ["*.py"]
    bad: ["run(x, shell=True)"]
sources:
  - resource: "commit:1a2b3c4d5e6f"
    title: "fix: it"
    last_modified: 2026-03-04
    quote: it was wrong
"""


def read(text):
    """Return the header of a concept as the strictest of the validators reads it."""
    head = text.split("---\n")[1]
    return yaml.load(head, Loader=yaml.BaseLoader)


def convert(header, path="lessons/x.md", paths=None):
    text = f"---\n{header}---\n{BODY}"
    document = parse(text, path)
    return to_okf(text, document.card, find_path=(paths or {}).get), document.card


def test_the_keys_of_okf_in_the_form_that_all_take():
    text, _card = convert(HEADER, paths={"other": "lessons/other.md"})
    header = read(text)
    assert header["status"] == "stable"
    assert header["tags"] == ["mail", "bot"]
    assert header["description"] == "Nobody looked."
    assert header["stale_after"] == "2027-01-31T00:00:00Z"
    assert header["verified"] == [{"by": REVIEWER, "at": "2026-02-03T00:00:00Z"}]
    assert header["superseded_by"] == "/lessons/other.md"
    assert header["contradicts"] == ["lessons/rival.md"]
    assert header["sources"] == [{
        "resource": "commit:1a2b3c4d5e6f", "title": "fix: it",
        "last_modified": "2026-03-04T00:00:00Z", "quote": "it was wrong",
    }]  # fmt: skip
    assert not {"stale-after", "superseded-by"} & header.keys()


def test_a_round_trip_gives_the_same_card_and_the_same_body():
    text, card = convert(HEADER)
    back = from_okf(text)
    assert parse(back, "lessons/x.md").card == card
    assert back.endswith(BODY)


@pytest.mark.parametrize("path", sorted(EXAMPLE.rglob("*.md")), ids=lambda path: path.stem)
def test_every_card_of_the_example_survives_a_round_trip(path):
    name = path.relative_to(EXAMPLE).as_posix()
    original = path.read_text("utf-8")
    document = parse(original, name)
    back = from_okf(to_okf(original, document.card, find_path=lambda _name: None))
    assert parse(back, name).card == document.card
    assert back.endswith(document.body)
    if original.startswith("---\n"):
        keys = yaml.safe_load(original.split("---\n")[1]).keys()
        renamed = {key.replace("-", "_") if key == "stale-after" else key for key in keys}
        assert renamed <= read(back).keys()


@pytest.mark.parametrize(("ours", "okf"), [
    ("active", "stable"), ("archived", "deprecated"), ("draft", "draft"), ("ignored", "deprecated"),
    ("resolved", "stable"), ("superseded", "deprecated"), ("stable", "stable"), ("odd", "stable"),
])  # fmt: skip
def test_each_status_has_a_word_and_comes_back(ours, okf):
    text, card = convert(f"type: lesson\nstatus: {ours}\n")
    assert read(text)["status"] == okf
    assert parse(from_okf(text), "lessons/x.md").card.status == card.status


def test_a_status_that_was_changed_in_the_bundle_counts():
    text, _card = convert("type: lesson\nstatus: ignored\n")
    changed = text.replace("status: deprecated", "status: stable")
    back = from_okf(changed)
    assert parse(back, "lessons/x.md").card.status == "active"
    assert "ignored" not in back


@pytest.mark.parametrize(("header", "key", "value"), [
    ("type: 5\n", "type", "5"),
    ("type: lesson\ntitle: 2026\n", "title", "2026"),
    ("type: lesson\ntags: a, b\n", "tags", ["a", "b"]),
    ("type: lesson\ntimestamp: 2026-01-02\n", "timestamp", "2026-01-02T00:00:00Z"),
    ("type: lesson\nverified: 2026-01-02\n", "verified",
     [{"by": REVIEWER, "at": "2026-01-02T00:00:00Z"}]),
    ("type: lesson\nverified: {by: 'human:ada', at: 2026-01-02}\n", "verified",
     [{"by": "human:ada", "at": "2026-01-02T00:00:00Z"}]),
    ("type: lesson\nstale_after: 2026-01-02T10:00:00+02:00\n", "stale_after",
     "2026-01-02T10:00:00+02:00"),
    ("type: lesson\nstale-after: soon\n", "lessons-stale-after", "soon"),
    ("type: lesson\ngenerated: by hand\n", "lessons-generated", "by hand"),
    ("type: lesson\nsources: [https://a.b/c]\n", "sources", [{"resource": "https://a.b/c"}]),
    ("type: lesson\nsources:\n- {resource: a, author: 7, extra: [1]}\n", "sources",
     [{"resource": "a", "author": "7", "extra": ["1"]}]),
    ("type: lesson\nunknown: {deep: [1, {er: 2}]}\n", "unknown", {"deep": ["1", {"er": "2"}]}),
])  # fmt: skip
def test_a_value_that_a_validator_refuses_is_written_in_its_form(header, key, value):
    text, _card = convert(header)
    assert read(text)[key] == value
    assert parse(text, "lessons/x.md").card


def test_no_date_is_left_without_a_time_in_a_key_of_okf():
    header = read(convert(HEADER)[0])
    dates = [header["stale_after"], header["verified"][0]["at"]]
    dates.append(header["sources"][0]["last_modified"])
    assert all(MOMENT.fullmatch(date) for date in dates)
    assert all(dt.datetime.fromisoformat(date).tzinfo for date in dates)


def test_a_header_that_is_no_yaml_becomes_yaml():
    header = "type: lesson\ntitle: Retry: twice\nnot-for: [a\nseverity: high\n"
    text, card = convert(header)
    assert read(text)["title"] == "Retry: twice"
    assert parse(from_okf(text), "lessons/x.md").card.severity == card.severity == "high"


def test_a_note_without_a_header_gets_one():
    text = "# Glossary\n\nterm: x\n"
    note = parse(text, "notes/glossary.md").card
    concept = to_okf(text, note, find_path=lambda _name: None)
    assert read(concept) == {"type": "note", "title": "Glossary"}
    assert concept.endswith(text)


@pytest.mark.parametrize(("header", "day"), [
    ("verified: 2026-01-02", "2026-01-02"),
    ("verified:\n- {by: 'human:a', at: 2026-01-02T10:00:00Z}\n- {by: x/1, at: 2026-03-04}",
     "2026-03-04"),
    ("verified: {by: 'human:a', at: '2026-01-02T10:00:00Z'}", "2026-01-02"),
    ("confirmed: 2026-05-06\nverified: 2026-01-02", "2026-05-06"),
    ("confirmed: 2026-01-02\nverified: 2026-05-06", "2026-05-06"),
    ("verified: often", None),
])  # fmt: skip
def test_a_card_reads_verified_beside_confirmed_and_the_later_date_counts(header, day):
    assert parse(f"---\ntype: lesson\n{header}\n---\n# T\n").card.confirmed == day


@pytest.mark.parametrize("name", ["/lessons/y.md", "lessons/y.md", "./y.md", "../lessons/y.md"])
def test_superseded_by_may_be_a_path_of_a_bundle(name):
    card = parse(f"---\ntype: lesson\nsuperseded_by: {name}\n---\n# T\n").card
    assert card.superseded_by in ("lessons/y.md", "y.md")
