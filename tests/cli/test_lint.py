"""`lessons lint`: faults first, a line per rule of advice, and what makes it fail."""

import re
import subprocess

import pytest

from lessons_kb.cli.lint_report import MAX_FAULTS, split_findings, summarise_advice
from lessons_kb.model import Finding
from tests.kit import write

BODY = "\n## Root Cause\n\nNobody looked.\n\n## Prevention Checklist\n\n- Look at it first\n"


def card(title, header="symptoms: [seen]\n", body=BODY):
    return f"---\ntitle: {title}\n{header}---\n{body}"


@pytest.fixture
def brain(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "lessons.toml", "")
    for number in range(4):
        write(
            tmp_path,
            f"lessons/bare-{number}.md",
            card(f"Bare {number}", "", "## Notes\n\n- an item\n"),
        )
    write(tmp_path, "lessons/cut.md", card("Migration from issue #482 dropped it"))
    write(tmp_path, "lessons/zone.md", card("Zone", "severity: odd\nsymptoms: [seen]\n"))
    return tmp_path


def test_faults_come_first_and_advice_takes_a_line_for_each_rule(brain, lessons):
    done = lessons("lint", ".")
    first, second, *advice = done.out.splitlines()
    assert first.startswith("lessons/cut.md:2: warning cut-value: ")
    assert second.startswith("lessons/zone.md:3: warning wrong-value: ")
    places = "lessons/bare-0.md, lessons/bare-1.md, lessons/bare-2.md"
    assert [line.partition(" →")[0] for line in advice] == [
        f"4 cards have no root cause (no-cause), for example {places}",
        f"4 cards have no checklist (no-checklist), for example {places}",
        f"4 cards have no symptoms (no-symptoms), for example {places}",
    ]
    assert done.err == "lessons: 0 errors, 6 warnings, 8 infos; 12 of them advice; -v prints each\n"
    assert done.code == 0


def test_each_finding_is_printed_when_asked_for(brain, lessons):
    done = lessons("lint", ".", "-v")
    assert len(done.out.splitlines()) == 14
    assert "lessons/bare-3.md: info no-symptoms: " in done.out
    assert "-v" not in done.err


def test_one_rule_alone(brain, lessons):
    done = lessons("lint", ".", "--rule", "no-cause", "--rule", "cut-value", "--verbose")
    assert {line.split()[2] for line in done.out.splitlines()} == {"no-cause:", "cut-value:"}
    assert lessons("lint", ".", "--rule", "no-cause", "--fail-on", "fault").code == 0


def test_it_can_fail_for_faults_and_pass_over_advice(brain, lessons):
    assert lessons("lint", ".", "--fail-on", "fault").code == 1
    for name in ("cut", "zone"):
        (brain / "lessons" / f"{name}.md").unlink()
    assert lessons("lint", ".", "--fail-on", "fault").code == 0
    assert lessons("lint", ".", "--fail-on", "warning").code == 1


def test_words_that_name_no_file_of_the_project(tmp_path, monkeypatch, lessons):
    monkeypatch.chdir(tmp_path)
    subprocess.run(["git", "init", "-q"], check=True)
    write(tmp_path, "lessons.toml", "")
    write(tmp_path, "src/check out.py", "")
    header = "symptoms: [seen]\npaths: ['the checkout client', 'check out.py']\n"
    write(tmp_path, "lessons/a.md", card("A", header))
    (line,) = lessons("lint", ".").out.splitlines()
    assert line.startswith(
        "lessons/a.md:4: warning odd-path: paths: 'the checkout client' matches no file"
    )


@pytest.mark.parametrize(("text", "rule"), [
    ("+++\ntitle = 'T'\n+++\n", "toml-header"), ("-----\ntitle: T\n-----\n", "dashes-header"),
])  # fmt: skip
def test_a_header_in_another_form_is_named_and_never_edited(brain, lessons, text, rule):
    path = brain / "lessons" / "other.md"
    path.write_text(text + BODY)
    assert f"lessons/other.md:1: error {rule}: " in lessons("lint", ".").out
    done = lessons("--brain", ".", "bump", "other")
    assert done.code == 2
    assert path.read_text() == text + BODY


def test_prose_between_dashes_is_text(brain, lessons):
    write(brain, "notes/a.md", "---\nA few words on zebras.\n---\n\n# Zebras\n\nThey cross.\n")
    assert "notes/a.md" not in lessons("lint", ".", "-v").out
    assert "notes/a.md" in lessons("--brain", ".", "search", "zebras cross").out


def test_advice_of_one_finding_is_its_own_line():
    finding = Finding(path="a.md", line=3, rule="no-cause", message="m", fix="f", level="info")
    faults, advice = split_findings([finding])
    assert (faults, summarise_advice(advice)) == ([], ["a.md:3: info no-cause: m → f"])


@pytest.mark.slow
def test_a_large_brain_gets_a_short_report(tmp_path, monkeypatch, lessons):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "lessons.toml", "")
    kinds = (
        ("severity: odd\n", BODY), ("created: soon\n", "Prose.\n"), ("", "Prose.\n"),
        ("paths: [~/x]\n", BODY), ("tags: a #3\n", BODY), ("symptoms:\n  - `a` b\n", BODY),
    )  # fmt: skip
    for number in range(2_000):
        header, body = kinds[number % len(kinds)]
        write(tmp_path, f"lessons/{number}.md", card(f"Card {number}", header, body))
    lines = lessons("lint", ".").out.splitlines()
    assert len(lines) <= 200
    faults = [line for line in lines if re.match(r"[\d,]+ (?:error|warning|info)s? ", line)]
    assert len(faults) >= 4
    assert all(" for example lessons/" in line for line in faults)
    assert lines[: len(faults)] == faults
    assert len(lessons("lint", ".", "-v").out.splitlines()) > 2_000 > MAX_FAULTS
