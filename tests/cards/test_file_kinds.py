"""What a file is, by its path and by its header's `type` (SPEC §1)."""

import pytest

from lessons_kb.cards.file_kinds import kind_of
from lessons_kb.cards.parse import parse_card
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.model import NOTE, Card
from tests.cards.reading import parse


@pytest.mark.parametrize(("path", "kind"), [
    ("lessons/a.md", "lesson"),
    ("playbooks/deep/er/a.md", "playbook"),
    ("qa-findings/a.md", "qa-finding"),
    ("Lessons/A.md", "lesson"),
    ("docs/solutions/build-errors/a.md", "lesson"),
    ("packages/web/docs/solutions/a.md", "lesson"),
    (".ai/lessons/a.md", "lesson"),
    ("a.md", "note"),
    ("lessons.md", "note"),
    ("my-lessons/a.md", "note"),
    ("lessons/playbooks/a.md", "playbook"),
    ("lessons/readme.ko.md", "note"),
    ("docs/solutions/_template.md", "note"),
    ("docs/solutions/indexing-is-slow.md", "lesson"),
    # the longer of two folders that end alike wins
    ("archive/lessons/a.md", "note"),
    ("old/lessons/a.md", "lesson"),
])  # fmt: skip
def test_kind_by_path(path, kind):
    assert kind_of(path, {**KNOWN_FOLDERS, "archive/lessons": "note"}) == kind


@pytest.mark.parametrize(("kind", "written"), [
    ("lesson", "lesson"),
    ("playbook", "Playbook"),
    ("qa-finding", "qa-finding"),
    ("qa-finding", "'qa_finding'"),
])  # fmt: skip
def test_type_makes_a_card_of_any_file_and_goes_before_the_folder(kind, written):
    for path in ("docs/a.md", "lessons/a.md", "playbooks/a.md"):
        document = parse(f"---\ntype: {written}\n---\n# T\n", path=path)
        assert (document.card.kind, document.findings) == (kind, ())


@pytest.mark.parametrize("value", ["solution", "note", "blog post", "[a, b]", ""])
def test_foreign_type_counts_as_absent(value):
    text = f"---\ntype: {value}\n---\n# T\n\n## Prevention\n\n- Do it\n"
    card = parse(text, path="docs/solutions/a.md")
    note = parse(text, path="docs/a.md")
    assert (card.card.kind, note.card.kind) == ("lesson", "note")
    assert card.findings == note.findings == ()


@pytest.mark.parametrize("name", ["README", "index", "_template", "_drafts.old"])
def test_a_folders_own_files_are_notes_whatever_their_type(name):
    text = "---\ntype: lesson\n---\n# How to write a lesson\n"
    document = parse(text, path=f"lessons/{name}.md")
    assert document.card.kind == "note"


@pytest.mark.parametrize(("text", "title"), [
    ("```\n# not a heading\n```\n", "bot"),
    ("Underlined\n==========\n", "Underlined"),
    ("---\ntitle: From the header\n---\n# Other\n", "From the header"),
    ("x\n\n" * 3000 + "# At the end\n", "At the end"),
])  # fmt: skip
def test_title_of_a_note(text, title):
    document = parse(text, path="docs/bot.md")
    assert document.card.title == title


def test_a_note_is_found_by_its_tags_and_symptoms_too():
    header = "tags: [bot]\ncategory: x/docs\nsymptoms: [it hangs]\nsummary: in short\n"
    text = f"---\n{header}---\n# The bot\n\nText <!-- a --> and <!-- b --> more <!-- open\n"
    document = parse(text, path="x/docs/bot.md")
    assert document.card == Card(
        id="x/docs/bot.md",
        kind="note",
        title="The bot",
        topics=("bot", "docs"),
        symptoms=("it hangs",),
    )
    assert document.fields == {
        "title": "The bot",
        "tags": "bot docs",
        "symptoms": "it hangs",
        "body": "The bot\nbot docs\nit hangs\n\n# The bot\n\nText  and  more <!-- open\n",
    }


@pytest.mark.parametrize(("path", "title"), [
    ("docs/bot.md", "bot"),
    ("docs/bot.v2.md", "bot.v2"),
    (".md", ".md"),
    ("docs/\u200b.md", "untitled"),
])  # fmt: skip
def test_a_file_without_a_title_is_named_after_itself(path, title):
    document = parse("Text\n", path=path)
    assert document.card.title == title


@pytest.mark.parametrize(("header", "card"), [
    ("type: lesson", True),
    ("Type : 'QA_finding' ", True),
    ('title: a\n"type": x\ntype: "playbook"', True),
    ("type: blog", False),
    ("type lesson", False),
    ("kind: lesson", False),
    ("x: type: lesson", False),
])  # fmt: skip
def test_the_type_of_a_header_that_cannot_be_read(header, card):
    """A file that was meant as a card is missed with an error, a note stays a note."""
    for end in (f"a: {'[' * 20}\n---\n", ""):
        document = parse(f"---\n{header}\n{end}", path="docs/a.md")
        assert (document.card is None) is card
        if card:
            assert [finding.level for finding in document.findings] == ["error"]


@pytest.mark.parametrize(("path", "text"), [
    ("README.md", "# Title\n\n- [ ] an item\n"),
    ("lessons/README.md", "---\ntype: lesson\n---\n# Title\n"),
    ("docs/notes.md", "---\ntitle: [broken\n---\n# Title\n"),
    ("docs/notes.md", "---\ntype: lesson\n---\n# Title\n"),
    ("lessons/a.md", "# Title\n\n- [ ] an item\n"),
    ("docs/rule.md", "---\n\n# A thematic break\n"),
    ("docs/nul.md", "a\0b"),
])  # fmt: skip
def test_a_note_is_recognised_by_its_header_alone(path, text):
    whole, skipped = (
        parse_card(text, path=path, folders={"lessons": "lesson"}, skip_notes=skip)
        for skip in (False, True)
    )
    kinds = [document.card and document.card.kind for document in (whole, skipped)]
    assert kinds[0] == kinds[1]
    assert (skipped == whole) == (kinds[0] != NOTE)
    assert not (kinds[0] == NOTE and skipped.body)
