"""Files that hold a card a second time."""

import json

import pytest

from lessons_kb.cards.copies import CardFile, Copy, find_copies

CARD = (
    "---\ntitle: Retried without a key\nsymptoms: [s]\n---\n\n## Root Cause\n\nNo key was sent.\n"
)


def find(*files):
    return find_copies([CardFile(path, data, title) for path, data, title in files])


@pytest.mark.parametrize(
    "name",
    [
        "retry (Ada's conflicted copy 2026-01-02).md",
        "retry (conflicted copy 2026-01-02 101112).md",
        "retry (case conflict).md",
        "retry.sync-conflict-20260102-101112-ABCDEF7.md",
        "retry_conflict-20260102-101112.md",
    ],
)
def test_a_conflict_copy_of_a_sync_tool_is_one_whatever_it_says(name):
    original = ("lessons/retry.md", b"one", "Retried")
    copied = (f"lessons/{name}", b"two", "Renamed since")
    assert find(copied, original) == [Copy(copied[0], "lessons/retry.md", is_same=False)]
    assert find(copied) == []  # the original is gone: this is the card
    assert find(copied, ("other/retry.md", b"one", "Retried")) == []


@pytest.mark.parametrize(
    "name", ["retry copy.md", "retry copy 2.md", "retry - Copy.md", "retry - Copy (3).md", "retry (1).md"]
)  # fmt: skip
def test_a_copy_that_people_may_have_named_has_the_same_title(name):
    original = ("lessons/retry.md", b"one", "Retried")
    assert find(original, (f"lessons/{name}", b"two", "Retried")) == [
        Copy(f"lessons/{name}", "lessons/retry.md", is_same=False)
    ]
    assert find(original, (f"lessons/{name}", b"two", "Another lesson")) == []


def test_of_the_same_bytes_the_plainest_name_is_the_original():
    names = ["lessons/retry (1).md", "lessons/retry.md", "lessons/payments-retry.md"]
    copies = find(*((name, b"one", "Retried") for name in names))
    assert copies == [
        Copy("lessons/payments-retry.md", "lessons/retry.md", is_same=True),
        Copy("lessons/retry (1).md", "lessons/retry.md", is_same=True),
    ]


@pytest.mark.parametrize(
    "name", ["copy.md", "photocopy.md", "conflict.md", "(1).md", "merge-conflict.md"]
)
def test_an_ordinary_name_is_no_copy(name):
    files = [(f"lessons/{name}", b"one", "T"), ("lessons/merge.md", b"two", "T")]
    assert find(*files) == []


def test_lint_names_each_copy_once(brain_folder, lessons):
    for name, text in {
        "retry.md": CARD,
        "retry-again.md": CARD,
        "retry.sync-conflict-20260102-101112-ABCDEF7.md": CARD.replace("No key", "Hardly a key"),
    }.items():
        (brain_folder / "lessons" / name).write_text(text)
    findings = json.loads(lessons("lint", "--json").out)
    copied = {each["path"]: each["message"] for each in findings if each["rule"] == "copied-card"}
    assert copied == {
        "lessons/retry-again.md": "the same as lessons/retry.md, byte for byte",
        "lessons/retry.sync-conflict-20260102-101112-ABCDEF7.md": (
            "a copy of lessons/retry.md, by its name"
        ),
    }


@pytest.fixture
def brain_folder(tmp_path, monkeypatch, lessons):
    monkeypatch.chdir(tmp_path)
    assert lessons("init").code == 0
    return tmp_path


SYNCED = "retry.sync-conflict-20260102-101112-ABCDEF7.md"


def list_ids(lessons):
    return sorted(each["id"] for each in json.loads(lessons("list", "--json").out))


def search_ids(lessons):
    found = lessons("search", "the call is retried without a key", "--json")
    return sorted(each["id"] for each in json.loads(found.out))


def test_copies_of_a_card_count_once_everywhere(brain_folder, lessons):
    folder = brain_folder / "lessons"
    for name in ("retry.md", "retry-again.md", SYNCED):
        (folder / name).write_text(CARD)
    assert list_ids(lessons) == search_ids(lessons) == ["lessons/retry.md"]
    census = json.loads(lessons("index", "--json").out)[0]
    assert {key: census[key] for key in ("files", "cards", "copies", "unusable")} == {
        "files": 3, "cards": 1, "copies": 2, "unusable": 0
    }  # fmt: skip
    assert "1 card, 0 notes, 0 unusable, 2 copies" in lessons("index").out


def test_naming_a_copy_names_its_original(brain_folder, lessons):
    for name in ("retry.md", "payments-retry.md"):
        (brain_folder / "lessons" / name).write_text(CARD)
    refused = lessons("show", "lessons/payments-retry.md")
    assert refused.code == 2
    assert "a copy of lessons/retry.md" in refused.err
    assert lessons("show", "retry").code == 0


def test_a_copy_becomes_the_card_when_its_original_goes_or_changes(brain_folder, lessons):
    folder = brain_folder / "lessons"
    (folder / "retry.md").write_text(CARD)
    (folder / "retry-again.md").write_text(CARD)
    assert list_ids(lessons) == ["lessons/retry.md"]
    (folder / "retry.md").write_text(CARD.replace("without a key", "with no key"))
    both = ["lessons/retry-again.md", "lessons/retry.md"]
    assert list_ids(lessons) == search_ids(lessons) == both
    (folder / "retry.md").write_text(CARD)
    assert list_ids(lessons) == search_ids(lessons) == ["lessons/retry.md"]
    (folder / "retry.md").unlink()
    assert list_ids(lessons) == search_ids(lessons) == ["lessons/retry-again.md"]
    (folder / "r.md").write_text(CARD)
    assert list_ids(lessons) == search_ids(lessons) == ["lessons/r.md"]


def test_files_of_the_same_text_that_are_titled_by_their_names_are_cards_of_their_own(
    brain_folder, lessons
):
    for name in ("retry.md", "rotate.md"):
        (brain_folder / "lessons" / name).write_text("## Root Cause\n\nNo key was sent.\n")
    assert list_ids(lessons) == ["lessons/retry.md", "lessons/rotate.md"]
