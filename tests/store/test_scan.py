"""SPEC §2 "Scan" and §3 "racily clean"."""

import os
from dataclasses import replace

import pytest

from lessons_kb.config import DEFAULTS
from lessons_kb.store.scan import (
    format_manifest,
    mark_racy,
    parse_manifest,
    scan_brain,
    settings_signature,
)
from lessons_kb.text.patterns import compile_globs


def look(root, *, ignored=(), last=None, folders=DEFAULTS.folders, **limits):
    index = replace(DEFAULTS.index, **{"max_files": 100, "max_file_bytes": 1000, **limits})
    settings = replace(DEFAULTS, folders=folders, index=index)
    return scan_brain(str(root), settings, ignored, last=last)


def write(root, *names, text="# x\n"):
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def rules(found):
    return {finding.path: finding.rule for finding in found.findings}


def test_markdown_files_are_listed_and_nothing_else(tmp_path):
    listed = ["a.md", "b.markdown", "lessons/d.md", "한글/교훈.md", "keep/draft-c.md"]
    hidden_cards = [".ai/lessons/a.md", ".ai/lessons/deep/b.md"]
    hidden = (".git/x.md", ".lessons/x.md", "node_modules/p/x.md", "a/.b/x.md", ".x.md")
    ignored = ("draft-a.md", "old/b.md")
    write(
        tmp_path, *listed, *hidden_cards, *hidden, *ignored, ".ai/other/c.md", ".ai/d.md", "c.txt"
    )
    (tmp_path / "link.md").symlink_to("a.md")  # does not double it
    found = look(tmp_path, ignored=compile_globs(["draft-*", "old/", "!keep/draft-c.md"]))
    assert set(found.files) == {*listed, *hidden_cards}
    assert found.findings == ()


def test_a_link_opens_no_way_to_what_the_scan_leaves_out(tmp_path):
    write(tmp_path, ".hidden/a.md", "plain.txt", "old/c.md", "seen/d.md")
    links = {"b.md": ".hidden/a.md", "c.md": "plain.txt", "e.md": "old/c.md", "lessons": ".hidden"}
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    (tmp_path / "folder").symlink_to("seen")  # what lies there is listed anyway
    found = look(tmp_path, ignored=compile_globs(["old/"]))
    assert sorted(found.files) == ["seen/d.md"]
    assert rules(found) == dict.fromkeys(links, "link-not-followed")


def test_links_that_are_broken_circular_or_lead_outside_are_named(tmp_path):
    brain = tmp_path / "brain"
    write(tmp_path, "outside.md", "elsewhere/x.md")
    write(brain, "a/b/c.md")
    (brain / "dangling.md").symlink_to("nowhere.md")
    (brain / "loop.md").symlink_to("loop.md")
    (brain / "out.md").symlink_to("../outside.md")
    (brain / "away").symlink_to("../elsewhere")
    (brain / "a/b/up").symlink_to("../..")
    found = look(brain)
    assert sorted(found.files) == ["a/b/c.md"]
    assert rules(found) == {
        "dangling.md": "broken-link",
        "loop.md": "broken-link",
        "out.md": "link-leads-outside",
        "away": "link-leads-outside",
    }


def test_what_is_not_a_file_is_named_and_the_rest_is_found(tmp_path):
    write(tmp_path, "good.md", "folder.md/inside.md")
    write(tmp_path, "huge.md", text="x" * 2000)
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "line\nbreak.md").write_text("x")
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    found = look(tmp_path)
    assert sorted(found.files) == ["folder.md/inside.md", "good.md"]
    assert sorted(rules(found).values()) == [
        "bad-file-name",
        "bad-file-name",
        "folder-named-like-a-card",
        "not-a-file",
        "too-large",
    ]
    assert all(finding.fix and finding.level == "error" for finding in found.findings)


def test_beyond_max_files_card_folders_come_first_and_the_rest_is_counted(tmp_path):
    write(tmp_path, *(f"a{n}.md" for n in range(5)), "lessons/z.md", "docs/solutions/y.md")
    for n in range(5):
        os.utime(tmp_path / f"a{n}.md", (1_000_000_000 - n * 100_000,) * 2)
    found = look(tmp_path, max_files=4)
    assert sorted(found.files) == ["a0.md", "a1.md", "docs/solutions/y.md", "lessons/z.md"]
    assert [(f.rule, f.message) for f in found.findings] == [
        ("too-many-files", "3 files skipped: more than max_files = 4")
    ]


def test_of_too_many_cards_the_newest_and_the_most_recurrent_stay(tmp_path):
    cards = {"a": (9, "2020-01-01"), "b": (1, "2026-01-05"), "c": (1, "2020-01-02")}
    cards |= {"d": (4, "2020-01-01"), "e": (1, "2026-01-04"), "f": (2, "2026-01-01")}
    for name, (count, day) in cards.items():
        text = f"---\noccurrences: {count}\nlast-seen: '{day}'\n---\n# {name}\n"
        write(tmp_path, f"lessons/{name}.md", text=text)
    write(tmp_path, "note.md")
    found = look(tmp_path, max_files=4)
    assert sorted(found.files) == [f"lessons/{name}.md" for name in "abde"]

    assert look(tmp_path, max_files=4, last=found) == found
    write(tmp_path, "lessons/new.md", text="# New\n")
    assert "lessons/new.md" in look(tmp_path, max_files=4, last=found).files
    (tmp_path / "lessons/c.md").write_text("---\noccurrences: 20\n---\n")
    os.utime(tmp_path / "lessons/c.md", (1, 1))
    assert "lessons/c.md" in look(tmp_path, max_files=4, last=found).files


def test_equal_manifests_mean_nothing_changed(tmp_path):
    write(tmp_path, "a.md", "lessons/b.md")
    before = look(tmp_path).manifest
    assert look(tmp_path).manifest == before
    write(tmp_path, "lessons.toml", text="")
    with_settings = look(tmp_path).manifest
    assert with_settings != before
    (tmp_path / "a.md").write_text("# longer\n")
    assert look(tmp_path).manifest != with_settings
    before = look(tmp_path)
    info = os.stat(tmp_path / "a.md")
    write(tmp_path, "a.md.tmp", text="# lenger\n")
    os.utime(tmp_path / "a.md.tmp", ns=(info.st_mtime_ns, info.st_mtime_ns))
    os.replace(tmp_path / "a.md.tmp", tmp_path / "a.md")
    assert look(tmp_path).files["a.md"] != before.files["a.md"]


def test_manifests_are_read_back(tmp_path):
    assert parse_manifest(look(tmp_path).manifest) == {}
    write(tmp_path, "a.md", "b b.md")
    found = look(tmp_path)
    assert parse_manifest(found.manifest) == found.files
    assert format_manifest(found.files, like=found.manifest) == found.manifest
    assert found.manifest.startswith(settings_signature(str(tmp_path)))


@pytest.mark.parametrize(("modified", "racy"), [
    (1_000_000_000_000_000_500, True),  # written after the scan began
    (999_999_999_990_000_500, True),  # within a kernel tick before it
    (999_999_990_000_000_500, False),
    (999_999_999_000_000_000, True),  # whole seconds: the file system rounds
    (999_999_990_000_000_000, False)
])  # fmt: skip
def test_a_file_too_young_to_be_vouched_for_is_marked(modified, racy):
    signature = f"{modified}.{modified}.7.42"
    marked = mark_racy(signature, started_ns=1_000_000_000_000_000_000)
    assert (marked != signature) is racy
    # The youngest of the two times decides.
    old, young = 5_000_000_001, 1_000_000_000_000_000_001
    assert mark_racy(f"{old}.{young}.1.1", started_ns=1_000_000_000_000_000_000).endswith("!")
