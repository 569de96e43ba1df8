"""Whatever a file holds, parsing never raises and editing never touches another line."""

import itertools
import re

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.edit import edit_header, format_flow, format_scalar
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.cards.read_header import read_scalar
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.errors import EditRefused
from lessons_kb.model import FIELDS, NOTE, as_data
from tests.cards.reading import parse

PATHS = ("lessons/a.md", "docs/a.md")
LINES = [
    "---", "--- ", "...", "", "  ", "# comment", "  # comment", "type: lesson", "type: blog",
    "title: A title", "title: `x`: y", 'title: "q"', "title:", "title: [a", "title: >-", "title: |",
    "severity: high", "severity: none", "occurrences: 3", "occurrences: x", "last-seen: 2026-01-01",
    "last_seen: 2026-01-01", "examples:", "examples: [a, b]", "examples: [", "]", "  - one",
    "  - `two`: x", "- three", "  - - four", "    deeper", "  a: b", "tags: {a: b}", "x: &a 1",
    "y: *a", "y: *b", "\ttab: x", "stray", ": :", "? a", "'k': v", "k: 'open", 'k: "open', "%YAML",
    "# Title", "## Prevention", "- [ ] item", "## Root Cause", "text. more", "```", "<!--", "-->",
    "\ufeff", "한글: 값", "a:\u2028b", "\x07", "\x85",
]  # fmt: skip
ends = st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"])
shaped = st.lists(st.tuples(st.sampled_from(LINES), ends), max_size=16).map(
    lambda pairs: "".join(line + end for line, end in pairs)
)
headed = st.builds(lambda mark, inside, body: f"{mark}---\n{inside}---\n{body}",
                   st.sampled_from(["", "\ufeff"]), shaped, shaped)  # fmt: skip
texts = st.one_of(st.text(), shaped, headed)


def check_document(document, text):
    card = document.card
    if card is None:
        assert document.findings[0].level == "error"
        assert document.fields == {}
        return
    assert text.endswith(document.body)
    assert set(document.fields) <= set(FIELDS)
    assert card.title
    assert card.occurrences >= 1
    assert len(card.examples) <= 5
    assert len(card.checklist) == len(document.checklist_lines)
    assert not card.checklist or card.kind != NOTE
    last = len(re.split(r"\r\n|\r|\n", text))
    assert all(1 <= line <= last for line in document.checklist_lines)
    assert all(0 <= finding.line <= last for finding in document.findings)
    for line in (card.title, card.why, *card.checklist, *card.symptoms, *card.topics):
        assert line == " ".join(line.split())
    assert card.title in document.fields["body"]
    if card.kind == NOTE:
        assert all(finding.level != "error" for finding in document.findings)
    check_card(document)


@pytest.mark.slow
@given(texts, st.sampled_from(PATHS))
@example("", "lessons/a.md")
@example("---\n", "lessons/a.md")
@example("---\n---", "lessons/a.md")
@example("\ufeff", "lessons/a.md")
@example("---\ntype: lesson\n---\n## Prevention\n\n- \n- <!-- -->\n", "docs/a.md")
def test_parsing_never_raises(text, path):
    check_document(parse(text, path), text)


@pytest.mark.slow
@given(st.binary() | texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_parsing_bytes_never_raises(data):
    document = parse_bytes(data, path="lessons/a.md", folders=KNOWN_FOLDERS)
    check_document(document, data.decode("utf-8", "replace"))


changes = st.dictionaries(
    st.sampled_from(["occurrences", "last-seen", "status", "title", "examples", "contradicts", "x"]),
    st.none() | st.integers(1, 99) | st.text(max_size=12) | st.lists(st.text(max_size=8), max_size=3).map(tuple),
    min_size=1,
    max_size=3,
)  # fmt: skip


@pytest.mark.slow
@given(texts, changes)
@example("---\nexamples: [\n]\n---\n", {"examples": ("a",)})
@example("---\nexamples:\n- three\n---\n", {"examples": ("three", "b")})
def test_editing_refuses_or_keeps_the_rest(text, changes):
    try:
        result = edit_header(text, changes)
    except EditRefused:
        return
    before = parse(text)
    after = parse(result)
    assert edit_header(result, changes) == result
    if before.card is None or after.card is None:
        assert (before.card is None) == (after.card is None) or "\ud800" in result
        return
    if before.body != text.removeprefix("\ufeff") or text == result:
        assert after.body == before.body
    fields = {"examples", "occurrences", "last_seen", "status", "title", "checklist", "template"}
    fields.add("contradicts")
    one, two = as_data(before.card), as_data(after.card)
    assert {k: v for k, v in one.items() if k not in fields} == {
        k: v for k, v in two.items() if k not in fields
    }


NO_COUNTS = ("1e3", "5.0", "12x", '"3 times"', "-1", "[7]", "{a: 7}")
ODD = ("1_000", "0x10", "+4", *NO_COUNTS)
VALUES = {
    "occurrences": ("7", "'7'", "", "~", *ODD),
    "last-seen": ("2026-01-01", '"2026-01-01"', "May", *ODD),
    "status": ("active", "'active'", "wontfix", *ODD),
    "examples": ("", "[]", "[a, b]", "a", '"a: b"', *ODD),
}
GAPS = (" ", "  ", "", "\n  ", "\n  # MARK\n  ", " |\n  ", " >-\n  ")
TAILS = ("", "", " # MARK", "  #MARK", " ")
BELOW = (
    "  # MARK", "# MARK", "    #MARK", "  MARK goes on", "  - MARK", "- MARK", "  k: MARK", "  MARK:",
    "", "  - k: MARK\n    l: m", "  > MARK", "MARK",
)  # fmt: skip


@st.composite
def annotated_keys(draw):
    """A key that we write, its value, and its lines with what a human may put there."""
    key = draw(st.sampled_from(tuple(VALUES)))
    value = draw(st.sampled_from(VALUES[key]))
    below = draw(st.lists(st.sampled_from(BELOW), max_size=3))
    first = f"{key}:{draw(st.sampled_from(GAPS))}{value}{draw(st.sampled_from(TAILS))}"
    return key, value, "\n".join((first, *below))


@pytest.mark.slow
@settings(max_examples=3 * settings().max_examples)
@given(
    st.sampled_from(("title: T", "title: `T`: no YAML")),
    st.lists(annotated_keys(), min_size=1, max_size=4),
    st.sampled_from((("occurrences", "last-seen"), ("occurrences", "examples"), ("status",))),
)
def test_what_a_human_wrote_beside_or_below_a_key_stays(title, keys, names):
    numbers = itertools.count()
    inside = re.sub(
        "MARK", lambda _: f"mark{next(numbers)}.", "\n".join((title, *(text for *_, text in keys)))
    )
    text = f"---\n{inside}\n---\n# T\n"
    card = parse(text).card
    if card is None:
        return
    values = {
        "occurrences": card.occurrences + 1,
        "last-seen": "2026-11-22",
        "examples": (*card.examples, "task")[-5:],
        "status": "archived",
    }
    try:
        result = edit_header(text, {name: values[name] for name in names})
    except EditRefused:
        return
    assert re.findall("mark[0-9]+", result) == re.findall("mark[0-9]+", text)
    old, new = text.split("\n"), result.split("\n")
    assert len([line for line in old if line not in new]) <= len(names)
    counted = [value for key, value, _ in keys if key == "occurrences"]
    assert "occurrences" not in names or not counted or counted[-1] not in NO_COUNTS


card_names = st.from_regex(r"[a-z]{1,8}(/[a-z0-9-]{1,8})?(\.md)?", fullmatch=True)


@settings(max_examples=2 * settings().max_examples)
@given(
    st.lists(card_names, min_size=1, max_size=3, unique=True),
    st.sampled_from(
        ["contradicts: {}", "contradicts:   {}  # a person said so", "Contradicts : {}"]
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from([{"occurrences": 3}, {"status": "archived"}, {"last-seen": "2026-11-21"}]),
    card_names,
)
def test_contradicts_is_kept_by_other_edits_and_added_to_byte_by_byte(names, form, end, edit, more):
    line = form.format(f"[{', '.join(names)}]")
    text = f"---{end}title: T{end}{line}{end}occurrences: 2{end}---{end}# T{end}"
    assert parse(text).card.contradicts == tuple(names)
    edited = edit_header(text, edit)
    assert f"{end}{line}{end}" in edited
    assert parse(edited).card.contradicts == tuple(names)
    linked = edit_header(text, {"contradicts": (*names, more)})
    assert parse(linked).card.contradicts == (*names, more)
    others = [one for one in text.split(end) if one != line]
    assert [one for one in linked.split(end) if "ontradicts" not in one] == others
    assert ("# a person said so" in linked) == ("# a person said so" in text)


@given(st.text(), st.sampled_from("p'\"|>"), st.booleans())
def test_a_written_scalar_reads_back(text, style, flow):
    written = format_scalar(text, style=style, flow=flow)
    assert "\n" not in written
    assert yaml.safe_load(f"k: {written} # c") == {"k": text}
    listed = f"[a, {written}, b]" if flow else f"- a\n- {written}"
    assert yaml.safe_load(listed)[1] == text
    if "\n" not in text and "\r" not in text:
        assert (read_scalar(f"{written} # c", 0)[0] or "") == text


@given(st.lists(st.text()))
def test_a_written_list_reads_back(values):
    assert yaml.safe_load(f"k: {format_flow(values)}") == {"k": values}
