"""Bundles of the Open Knowledge Format: `export okf`, `import okf`, and the validators."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.kit import make_brain, write

VALIDATORS = {
    "okfgen==0.1.3": ("okfgen", "validate"),
    "okf-cli==0.7.0": ("okf", "validate"),
    "vault2okf==0.1.0": ("vault2okf", "validate"),
}
ODD = {
    "lessons/dates.md": "type: 5\nverified: 2026-01-02\nstale-after: 2027-01-01\ntimestamp: 2026-01-02",
    "lessons/sources.md": "type: lesson\nsources: [commit:1a2b3c4d]\nstatus: ignored",
    "lessons/no yaml.md": "type: lesson\ntitle: Retry: twice\nnot-for: [a",
    "lessons/new.md": "type: lesson\nsupersedes: [dates]\ntags: a, b\ngenerated: by hand",
    "lessons/old.md": "type: lesson\nsuperseded-by: new\nstatus: archived",
}
NOTES = {
    "notes/index.md": "# All notes\n\nSee [dates](../lessons/dates.md).\n",
    "notes/log.md": "---\ntitle: Log\n---\nA day.\n",
    "lessons/README.md": "# About these lessons\n",
}


@pytest.fixture
def odd(brain):
    """Add cards and notes to the example whose headers the validators would refuse."""
    for name, header in ODD.items():
        text = f"---\n{header}\n---\n\n# About {name} [and] more\n\n- [ ] Look at it\n"
        write(brain, name, text)
    for name, text in NOTES.items():
        write(brain, name, text)
    return brain


def test_a_bundle_has_an_index_in_each_folder_and_a_header_in_the_first_alone(
    lessons, odd, tmp_path
):
    done = lessons("export", "okf", tmp_path / "bundle")
    assert done.err.startswith("lessons: 32 concepts written to ")
    bundle = tmp_path / "bundle"
    root = (bundle / "index.md").read_text("utf-8")
    assert root.startswith('---\nokf_version: "0.2"\n---\n\n# Lessons\n')
    assert "* [lessons](lessons/index.md) - " in root
    index = (bundle / "lessons" / "index.md").read_text("utf-8")
    assert index.startswith("# lessons\n\n* [")
    assert "(no%20yaml.md)" in index
    assert not [line for line in index.split("\n") if line.startswith("* ") and "] " in line[:3]]
    for path in bundle.rglob("*.md"):
        is_index = path.name == "index.md"
        assert path.read_text("utf-8").startswith("---\n") is (
            not is_index or path.parent == bundle
        )
    assert (bundle / "notes" / "index-note.md").exists()
    assert (bundle / "notes" / "log-note.md").exists()


def test_a_bundle_comes_back_with_every_card_note_and_key(lessons, odd, tmp_path, monkeypatch):
    lessons("export", "okf", tmp_path / "bundle")
    other = tmp_path / "other"
    make_brain(str(other))
    before = {card["id"]: card for card in json.loads(lessons("list", "--json", "--all").out)}
    monkeypatch.chdir(other)
    dry = lessons("import", "okf", tmp_path / "bundle")
    assert "32 to create, 0 to bump, 0 to skip" in dry.err
    lessons("import", "okf", tmp_path / "bundle", "--yes")
    after = {card["id"]: card for card in json.loads(lessons("list", "--json", "--all").out)}
    changed = {"superseded_by", "kind", "brain"}
    for name, card in before.items():
        assert {**after[name], **dict.fromkeys(changed)} == {
            **card, **dict.fromkeys(changed),
        }  # fmt: skip
    assert (other / "notes" / "index-note.md").exists()
    assert (
        "0 created, 0 bumped, 32 skipped"
        in lessons("import", "okf", tmp_path / "bundle", "--yes").err
    )


def test_a_foreign_bundle_is_read(lessons, brain, tmp_path):
    bundle = tmp_path / "bundle"
    write(bundle, "index.md", '---\nokf_version: "0.3"\n---\n\n# B\n')
    write(bundle, "tables/orders.md", "---\ntype: Table\ntitle: Orders\n---\nRows.\n")
    write(bundle, "guides/retry.md", (
        "---\ntype: lesson\ntitle: A retried charge bills twice\nstatus: deprecated\n"
        "verified:\n  - {by: 'human:ada', at: 2026-01-02T10:00:00Z}\n---\n\n- [ ] Send a key\n"
    ))  # fmt: skip
    write(bundle, "plain.md", "# No header\n")
    out = lessons("import", "okf", bundle, "--yes")
    assert "2 created, 0 bumped, 1 skipped" in out.err
    assert "it has no `type`, so it is not a concept" in out.out
    card = json.loads(lessons("show", "guides/retry.md", "--json").out)
    assert (card["status"], card["confirmed"]) == ("archived", "2026-01-02")
    assert (brain / "guides/retry.md").read_text() == (bundle / "guides/retry.md").read_text()
    assert (brain / "tables/orders.md").exists()


def test_a_bundle_holds_no_secret(lessons, brain, tmp_path):
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    write(
        brain, "lessons/key.md", f"---\ntype: lesson\ntitle: Key {key}\n---\n\n- [ ] Hide {key}\n"
    )
    write(brain, "notes/key.md", f"# Key\n\n{key}\n")
    lessons("export", "okf", tmp_path / "bundle")
    assert not [path for path in (tmp_path / "bundle").rglob("*.md") if key in path.read_text()]


@pytest.mark.parametrize("where", ["full", "brain-example/bundle"])
def test_a_bundle_is_written_to_a_new_folder_outside_of_the_brain(lessons, brain, tmp_path, where):
    write(tmp_path, "full/file.txt", "mine")
    done = lessons("export", "okf", tmp_path / where)
    assert done.code == 2
    assert "name a" in done.err
    assert lessons("export", "okf").code == lessons("export", "json", tmp_path / "x").code == 2


@pytest.mark.slow
def test_the_validators_accept_a_bundle(lessons, odd, tmp_path):
    """Those that can be installed here, one after the other: okfgen works without PyYAML, too."""
    lessons("export", "okf", tmp_path / "bundle")
    installed = []
    place = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    programs = place / ("Scripts" if os.name == "nt" else "bin")
    for requirement, command in VALIDATORS.items():
        pip = [programs / "python", "-m", "pip", "install", "-q", requirement]
        if subprocess.run(pip, capture_output=True, check=False).returncode:
            continue
        installed.append(requirement)
        program = programs / command[0]
        done = subprocess.run(
            [program, *command[1:], "bundle"], cwd=tmp_path, capture_output=True, text=True,
            check=False, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, (requirement, done.stdout, done.stderr)
    if not installed:
        pytest.skip("no validator can be installed here")
    assert pathlib.Path(tmp_path / "bundle" / "index.md").exists()
