"""Bad cards are never lost and never fatal: each is named, the good ones are found."""

import json
import os
import shutil
import time

import pytest

from lessons_kb import Brain
from tests.trust.hostile_repository import BOMB

GOOD = "# Mind the zebra crossing\n\n## Prevention Checklist\n\n- Look at the zebra\n"

BAD_FILES = {
    "malformed.md": b"---\ntitle: [unclosed\n\tfoo: bar: baz\n}}\n---\nzebra\n",
    "unclosed.md": b"---\ntitle: Unclosed\ntype: lesson\n\nzebra\n",
    "not-utf-8.md": b"---\ntitle: caf\xe9\n---\nzebra\n",
    "utf-16.md": "# zebra\n".encode("utf-16"),
    "nul.md": b"# zebra\0\0\n",
    "bomb.md": f"---\na: &a [x,x]\n{BOMB}---\nzebra\n".encode(),
    "deep.md": b"---\nx: " + b"[" * 50_000 + b"\n---\nzebra\n",
    "deeper.md": b"---\nx:\n" + b"- " * 50_000 + b"\n---\nzebra\n",
    "duplicate.md": b"---\ntitle: One\ntitle: Two\n---\nzebra\n",
    "wrong-types.md": b"---\noccurrences: many\nseverity: [1]\nlast-seen: soon\n---\n# Zebra\n",
    "scalar.md": b"---\njust text\n---\n# Zebra\n",
}
STILL_IN_USE = {"duplicate.md", "wrong-types.md"}
READ_AS_TEXT = {"malformed.md", "scalar.md"}


@pytest.fixture
def bad(root, tmp_path):
    folder = root / "lessons"
    folder.mkdir(exist_ok=True)
    (folder / "good.md").write_text(GOOD)
    for name, data in BAD_FILES.items():
        (folder / name).write_bytes(data)
    with (folder / "huge.md").open("wb") as file:
        file.truncate(54_000_000)
    os.mkfifo(folder / "pipe.md")
    (folder / "x.md").mkdir()
    (folder / "dangling.md").symlink_to("nowhere.md")
    (folder / "circle.md").symlink_to("circle.md")
    (folder / "up").symlink_to("..")
    (tmp_path / "outside.md").write_text(GOOD)
    (folder / "outside.md").symlink_to(tmp_path / "outside.md")
    return root


NAMED = {*BAD_FILES, *("huge.md", "pipe.md", "x.md", "dangling.md", "circle.md", "outside.md")}


def test_the_good_card_is_found_and_each_bad_one_is_named(bad):
    with Brain.open(bad) as brain:
        assert "lessons/good.md" in brain.preflight("mind the zebra crossing").text
        findings = brain.lint()
        found = {hit.card.id.removeprefix("lessons/") for hit in brain.search("zebra", limit=50)}
    assert {finding.path.removeprefix("lessons/") for finding in findings} >= NAMED
    assert "lessons/good.md" not in {f.path for f in findings if f.level == "error"}
    assert all(finding.message and finding.fix for finding in findings)
    assert found <= {"good.md"} | READ_AS_TEXT | STILL_IN_USE
    assert found >= {"good.md"} | STILL_IN_USE


def test_the_doctor_names_what_is_out_of_use_and_the_census_accounts_for_all(bad, health, lessons):
    lines = [line.detail for line in health("", bad)]
    for name in NAMED - STILL_IN_USE - READ_AS_TEXT:
        assert any(f"lessons/{name}" in line for line in lines), name
    (count,) = json.loads(lessons("--brain", bad, "index", "--json").out)
    assert count["files"] == count["cards"] + count["notes"] + count["unusable"]
    assert count["files"] == 1 + len(NAMED)


def _best(root, times):
    """Return the least seconds of an index from nothing and a search."""
    taken = []
    for _ in range(times):
        shutil.rmtree(root / ".lessons", ignore_errors=True)
        began = time.process_time()
        with Brain.open(root) as brain:
            brain.refresh(rebuild=True)
            assert brain.search("zebra")
        taken.append(time.process_time() - began)
    return min(taken)


@pytest.mark.slow
def test_bad_files_cost_little(root, bad, figure):
    """Beside as many good ones as a brain has; huge.md alone has 54 MB."""
    aside = root.parent / "aside"
    (root / "lessons").rename(aside)
    (root / "lessons").mkdir()
    for number in range(500):
        (root / f"lessons/{number}.md").write_text(GOOD.replace("zebra", f"zebra of {number}"))
    good = _best(root, 5)
    for path in (root / "lessons").iterdir():
        path.rename(aside / path.name)
    (root / "lessons").rmdir()
    aside.rename(root / "lessons")
    ratio = _best(root, 5) / good
    assert ratio < 2
    figure(
        "bad files in the brain",
        f"{len(NAMED)} kinds named, good ones found, {ratio:.2f} × the time",
    )


@pytest.mark.slow
def test_beyond_max_files_the_lessons_come_first(root):
    for folder, count in (("docs", 12_900), ("lessons", 100)):
        (root / folder).mkdir(exist_ok=True)
        for number in range(count):
            (root / folder / f"{number}.md").write_text(f"# Note {number}\n")
    (root / "lessons/zebra.md").write_text(GOOD)
    (root / "lessons.toml").write_text("[index]\nmax_files = 12000\n")
    with Brain.open(root) as brain:
        brain.refresh(workers=2)
        assert "lessons/zebra.md" in brain.preflight("mind the zebra crossing").text
        assert [f.message for f in brain.lint() if f.rule == "too-many-files"] == [
            "1,001 files skipped: more than max_files = 12000"
        ]
