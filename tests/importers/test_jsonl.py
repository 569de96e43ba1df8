"""JSON lines in and out."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError
from tests.kit import write

TEXT = """\
---
title: "Reset <!-- x --> the clock"
occurrences: 3
applies-to: [time]
---

## Root Cause

It drifts.

## Prevention Checklist

- Reset it
"""


@pytest.fixture
def read(plan):
    def read(*lines):
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        return plan("jsonl", "x.jsonl", "\n".join(texts))

    return read


@pytest.fixture
def export(tmp_path):
    """Return what a brain with a card, and more of them, exports in a format."""

    def export(form, more=(), text=TEXT):
        folder = tmp_path / "exported"
        write(folder, "lessons.toml", "")
        for name in ("lessons/a.md", *more):
            comment = f"<!-- {name} -->" if name in more else ""
            write(folder, name, "").write_bytes((text + comment).encode())
        with Brain.open(folder) as brain:
            return list(brain.exchange.export(form))

    return export


def test_an_exported_card_comes_back_with_its_text(export, read):
    text = TEXT.replace("\n", "\r\n") + "한글"
    (line,) = export("jsonl", text=text)
    (lesson,) = read(line).lessons
    assert (lesson.id, lesson.occurrences, lesson.text) == ("lessons/a.md", 3, text)
    (data,) = json.loads("\n".join(export("json", text=text)))["cards"]
    assert (data["text"], data["checklist"]) == (text, ["Reset it 한글"])


def test_other_peoples_keys_are_understood(read):
    found = read({
        "title": "**Reset** the clock", "tags": "time, tests", "severity": "Critical", "mood": "bad",
        "root-cause": "It drifts.", "rules": ["Reset it", "- Test it"], "occurrence_count": 4,
        "examples": list("abcdefg"),
        "date": "2026-01-02T03:04:05Z",
    })  # fmt: skip
    (lesson,) = found.lessons
    assert lesson.title == "Reset the clock"
    assert (lesson.topics, lesson.examples) == (("time", "tests"), tuple("cdefg"))
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
def test_a_bad_line_is_named(read, line, message):
    with pytest.raises(InputError, match=f"^{message}"):
        read('{"title": "good"}', line)


def test_empty_lines_and_a_byte_order_mark_do_no_harm(read):
    assert len(read('\ufeff{"title": "a"}', "", "  ").lessons) == 1


def test_the_digest_is_for_people(export):
    text = "\n".join(export("markdown", ["playbooks/b.md"]))
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


@pytest.fixture
def one(mistakes):
    return lambda **changes: mistakes({**ROW, **changes})


def test_a_row_keeps_all_its_values(one):
    (lesson,) = one().lessons
    assert (lesson.title, lesson.stages) == ("Forgot null check on user object", ("DEV",))
    assert (lesson.paths, lesson.examples) == (("src/user.py", "\\!odd"), ("signup", "add-login"))
    assert (lesson.occurrences, lesson.last_seen) == (3, "2026-09-21")
    assert dict(lesson.sections) == {
        "Situation": "Seen in stage DEV, last in the task “add-login”.",
        "Prevention Checklist": "- [ ] Always check if user exists",
    }


LONG = "It failed in three places.\n\n- Guard the lookup\n- Test the missing user\n"


def test_a_row_may_be_written_in_other_ways(one):
    found = one(last_timestamp="1790000000", occurrence_count=None, feedback=LONG)
    (lesson,) = found.lessons
    assert (lesson.last_seen, lesson.occurrences, found.notes) == ("2026-09-21", 1, ())
    assert dict(lesson.sections)["Fix"] == LONG.strip()
    items = "- [ ] Guard the lookup\n- [ ] Test the missing user"
    assert dict(lesson.sections)["Prevention Checklist"] == items


def test_rows_without_a_lesson_and_unknown_columns_are_reported(one, mistakes):
    assert one(embedding=b"x", mood="bad").notes == ("mistakes.db: unknown column mood; ignored",)
    assert one(description=" ").passed_over[0].reason == "no description"
    with pytest.raises(InputError, match=r"no column description \(columns: name"):
        mistakes(columns=["name"])


def test_the_origin_is_the_row_whatever_happened_to_it_since(one):
    again = one(occurrence_count=9, last_task="x", feedback="Other words")
    assert one().lessons[0].origin == again.lessons[0].origin
    assert one().lessons[0].origin != one(id=8).lessons[0].origin


@pytest.mark.parametrize(("column", "value", "note"), [
    ("file_patterns", "nonsense", "is not a JSON list; ignored"),
    ("example_tasks", "{}", "is not a JSON list; ignored"),
    ("occurrence_count", "many", "is not a number; 1 is used"),
    ("last_timestamp", 1e30, "is not a time; ignored"),
    ("last_timestamp", "soon", "is not a time; ignored"),
])  # fmt: skip
def test_a_wrong_value_is_reported_and_the_row_is_imported(one, column, value, note):
    found = one(**{column: value})
    assert found.notes == (f"mistakes.db row 7: {column} {note}",)
    seen = 1 if column == "occurrence_count" else 3
    assert [one.occurrences for one in found.lessons] == [seen]
