"""JSON lines in and out."""

import json
from dataclasses import replace

import pytest

from lessons_kb.errors import InputError
from lessons_kb.importers.jsonl import format_json, format_jsonl, format_markdown, read_lines
from lessons_kb.model import Card

CARD = Card(
    id="lessons/a.md",
    kind="lesson",
    title="Reset <!-- x --> the clock",
    occurrences=3,
    why="It drifts.",
    checklist=("Reset it",),
    topics=("time",),
)


def read(*lines):
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return read_lines(enumerate(texts, 1), name="x.jsonl")


def test_an_exported_card_comes_back_with_its_text():
    (line,) = format_jsonl([(CARD, "---\r\ntitle: x\r\n---\r\n한글")])
    (lesson,) = read(line).lessons
    assert (lesson.id, lesson.text, lesson.occurrences) == (
        "lessons/a.md",
        "---\r\ntitle: x\r\n---\r\n한글",
        3,
    )


def test_other_peoples_keys_are_understood():
    found = read(
        {
            "title": "**Reset** the clock",
            "tags": "time, tests",
            "severity": "Critical",
            "root-cause": "It drifts.",
            "rules": ["Reset it", "- Test it"],
            "occurrence_count": 4,
            "date": "2026-01-02T03:04:05Z",
            "mood": "bad",
        }
    )
    (lesson,) = found.lessons
    assert lesson.title == "Reset the clock"
    assert lesson.topics == ("time", "tests")
    assert (lesson.severity, lesson.occurrences, lesson.created) == ("high", 4, "2026-01-02")
    assert lesson.sections == (
        ("Root Cause", "It drifts."),
        ("Prevention Checklist", "- [ ] Reset it\n- [ ] Test it"),
    )
    assert found.notes == ("x.jsonl:1: unknown key 'mood'; ignored",)


@pytest.mark.parametrize(("line", "message"), [
    ("{", r"x.jsonl:2: not JSON \("),
    ("[1]", "x.jsonl:2: not an object"),
    ("[" * 100_000, "x.jsonl:2: "),
    ('{"tags": []}', "x.jsonl:2: no title"),
    ('{"title": 3}', "x.jsonl:2: title: title must be text"),
    ('{"title": "a", "severity": "loud"}', "x.jsonl:2: severity: severity must be one of low"),
    ('{"title": "a", "count": 0}', "x.jsonl:2: count: occurrences must be a whole number"),
    ('{"title": "a", "created": "soon"}', "x.jsonl:2: created: created must be a date"),
    ('{"title": "a", "paths": [1]}', "x.jsonl:2: paths: paths must be a list of texts"),
    ('{"title": "a", "fix": {"b": 1}}', "x.jsonl:2: fix must be text"),
])  # fmt: skip
def test_a_bad_line_is_named(line, message):
    with pytest.raises(InputError, match=f"^{message}"):
        read('{"title": "good"}', line)


def test_empty_lines_and_a_byte_order_mark_do_no_harm():
    assert len(read('\ufeff{"title": "a"}', "", "  ").lessons) == 1


def test_json_is_one_document():
    data = json.loads(format_json([(CARD, "text")]))
    assert data["cards"][0]["text"] == "text"
    assert data["cards"][0]["checklist"] == ["Reset it"]


def test_the_digest_is_for_people():
    text = format_markdown([(CARD, ""), (replace(CARD, kind="playbook", id="playbooks/b.md"), "")])
    assert text.startswith("# Lessons\n\n2 cards.\n\n## Lessons\n\n### Reset")
    assert "medium · seen 3× · topics time · lessons/a.md" in text
    assert "Why: It drifts.\n\n- [ ] Reset it\n\n## Playbooks" in text
