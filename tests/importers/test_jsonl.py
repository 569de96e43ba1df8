"""JSON lines in and out."""

import json
from dataclasses import replace

import pytest

from lessons_kb.errors import InputError
from lessons_kb.importers.galangal import COLUMNS, read_mistakes
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


ROW = {
    "id": 7,
    "description": "Forgot null check on user object",
    "feedback": "Always check if user exists",
    "stage": "DEV",
    "file_patterns": json.dumps(["src/user.py", "!odd"]),
    "occurrence_count": 3,
    "last_task": "add-login",
    "last_timestamp": 1_790_000_000,
    "example_tasks": json.dumps(["signup", "add-login"]),
}


def one(**changes):
    return read_mistakes([{**ROW, **changes}], name="mistakes.db")


def test_a_row_keeps_what_it_knew():
    (lesson,) = one().lessons
    assert lesson.title == "Forgot null check on user object"
    assert lesson.stages == ("DEV",)
    assert lesson.paths == ("src/user.py", "\\!odd")
    assert lesson.occurrences == 3
    assert lesson.last_seen == "2026-09-21"
    assert lesson.examples == ("signup", "add-login")
    assert dict(lesson.sections)["Prevention Checklist"] == "- [ ] Always check if user exists"


@pytest.mark.parametrize(
    "told", ["2026-09-21T10:00:00Z", "2026-09-21 09:00:00", "2026-09-21", b"1790000000"]
)
def test_a_time_may_be_told_in_seconds_or_as_iso(told):
    found = one(last_timestamp=told)
    assert (found.lessons[0].last_seen, found.notes) == ("2026-09-21", ())


def test_long_feedback_is_the_fix_and_its_bullets_the_checklist():
    feedback = "It failed in three places.\n\n- Guard the lookup\n- Test the missing user\n"
    sections = dict(one(feedback=feedback).lessons[0].sections)
    assert sections["Prevention Checklist"] == "- [ ] Guard the lookup\n- [ ] Test the missing user"
    assert "three places" in sections["Fix"]


def test_a_description_that_was_cut_is_told_from_its_feedback():
    feedback = (
        "The migration dropped a column that the old release still reads. Roll out in two steps."
    )
    (lesson,) = one(description=feedback[:40] + "...", feedback=feedback).lessons
    assert lesson.title == "The migration dropped a column that the old release still reads"


def test_the_origin_is_the_row_whatever_happened_to_it_since():
    again = one(occurrence_count=9, last_task="x", feedback="Other words")
    assert one().lessons[0].origin == again.lessons[0].origin
    assert one().lessons[0].origin != one(id=8).lessons[0].origin


@pytest.mark.parametrize(("changes", "note"), [
    ({"file_patterns": "nonsense"}, "file_patterns is not a JSON list"),
    ({"example_tasks": "{}"}, "example_tasks is not a JSON list"),
    ({"occurrence_count": "many"}, "occurrence_count is not a number"),
    ({"last_timestamp": 1e30}, "last_timestamp is not a time"),
    ({"last_timestamp": "soon"}, "last_timestamp is not a time"),
])  # fmt: skip
def test_a_wrong_value_is_named_and_the_row_kept(changes, note):
    found = one(**changes)
    assert len(found.lessons) == 1
    assert found.notes[0].startswith(f"mistakes.db row 7: {note}")


def test_what_is_not_known_is_named():
    found = read_mistakes([ROW], name="m.db", columns=[*COLUMNS, "embedding", "mood"])
    assert found.notes == ("m.db: unknown column mood; ignored",)


def test_a_row_without_description_is_passed_over():
    assert one(description=" ").passed_over[0].reason == "no description"


def test_a_table_of_another_kind_is_refused():
    with pytest.raises(InputError, match="no column description but name"):
        read_mistakes([], name="m.db", columns=["name"])


def test_rows_of_bytes_and_nothing_are_read():
    found = read_mistakes([{"description": b"It broke"}], name="m.db", columns=["description"])
    assert found.lessons[0].title == "It broke"
    assert found.lessons[0].occurrences == 1
