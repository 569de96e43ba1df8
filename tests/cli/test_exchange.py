"""``lessons import`` and ``export``."""

import contextlib
import json
import pathlib
import re
import sqlite3
import subprocess

import pytest

from lessons_kb.cards.sources import read_sources_of
from lessons_kb.store.locations import user_brain
from tests.kit import write

NOTES = "# Guide\n\n## Lessons\n\n- Never edit an applied migration\n"


@pytest.mark.slow
def test_import_is_dry_until_told(lessons, brain, tmp_path):
    notes = write(tmp_path, "CLAUDE.md", NOTES)
    dry = lessons("import", "memory", notes)
    name = "lessons/never-edit-an-applied-migration.md"
    assert dry.out.splitlines()[1].split()[:2] == ["create", name]
    assert dry.err == "lessons: 1 to create, 0 to bump, 0 to skip; --yes writes them\n"
    data = json.loads(lessons("import", "memory", notes, "--json").out)
    (step,) = data["steps"]
    assert (data["written"], step["action"]) == (False, "create")
    assert step["where"].endswith("CLAUDE.md:5")
    card = brain / name
    assert not card.exists()
    wet = lessons("import", "memory", notes, "--yes", "--tags", "db, sql", "--project", "shop")
    undo = "; `lessons import --undo` takes the new cards back"
    assert wet.err == f"lessons: 1 created, 0 bumped, 0 skipped{undo}\n"
    assert "project: shop" in card.read_text()
    assert "  - db\n  - sql\n" in card.read_text()
    again = lessons("import", "memory", notes, "--yes")
    assert again.err == "lessons: 0 created, 0 bumped, 1 skipped\n"


def test_the_last_import_is_undone_but_no_card_that_was_changed_since(lessons, brain, tmp_path):
    items = ("Never edit an applied migration", "Quote each path in a shell script")
    listed = "".join(f"- {item}\n" for item in items)
    notes = write(tmp_path, "notes.md", f"# Guide\n\n## Lessons\n\n{listed}")
    before = {path: path.read_bytes() for path in brain.rglob("*.md")}
    lessons("import", "memory", notes, "--yes")
    (first, second) = sorted(path for path in brain.rglob("*.md") if path not in before)
    second.write_text(second.read_text() + "\nMore.\n")
    undone = lessons("import", "--undo")
    kept = second.relative_to(brain).as_posix()
    assert undone.err == (
        f"lessons: {kept} stays, because it was changed since\nlessons: 1 card moved to the trash\n"
    )
    assert not first.exists()
    second.unlink()
    assert {path: path.read_bytes() for path in brain.rglob("*.md")} == before
    assert "no import to undo" in lessons("import", "--undo").err
    assert lessons("restore", first.relative_to(brain).as_posix()).code == 0
    assert lessons("import", "--undo", notes).code == 2


def test_import_names_what_it_cannot_read_and_then_writes_nothing(lessons, brain, tmp_path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"title": "Zebra stripes were cached by colour"}\n')
    bad.write_text('{"title": "a"}\n{"titel": "b"}\n')
    result = lessons("import", "jsonl", good, bad, "--yes")
    assert result.code == 2
    assert result.err == f'lessons: {bad}:2: no title; add "title": "what goes wrong"\n'
    assert not list(brain.glob("lessons/zebra-*.md"))
    assert "`lessons import memory FILE`" in lessons("import", "memory").err
    assert "no such file" in lessons("import", "no-such.md").err


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("CHANGELOG.md", "# Changes\n\n- Never log names in `src/a.py`\n"),
        ("docs/RELEASE_NOTES.md", "# Notes\n\n- Never log names in `src/a.py`\n"),
        (
            "news.md",
            (
                "# News\n\n## [1.2.0](https://example.org) (2026-07-26)\n\n- Never log names\n\n"
                "## v1.1.0 - 2026-06-01\n\n- Do not log names in `src/a.py`\n"
            ),
        ),
    ],
)
def test_a_changelog_is_refused_in_one_line(lessons, brain, tmp_path, name, text):
    changelog = write(tmp_path, name, text)
    done = lessons("import", changelog)
    assert done.code == 2
    assert "a changelog says what changed, not what went wrong" in done.err
    assert done.err.count("\n") == 1
    notes = write(tmp_path, "notes.md", NOTES)
    both = lessons("import", changelog, notes)
    assert both.code == 0
    assert "1 to create" in both.err
    assert "is not imported: a changelog" in both.err


@pytest.mark.slow
def test_export_prints_or_writes(lessons, brain, tmp_path):
    printed = lessons("export", "jsonl").out
    path = tmp_path / "out.jsonl"
    assert lessons("export", "jsonl", "-o", path).out == ""
    assert path.read_text() == printed
    assert len(printed.splitlines()) == 20
    data = json.loads(lessons("export", "json").out)
    assert len(data["cards"]) == 20
    assert lessons("export", "markdown").out.startswith("# Lessons\n\n20 cards.")
    assert lessons("export", "yaml").code == 2


@pytest.mark.slow
def test_no_output_is_written_over_a_card(lessons, brain):
    card = brain / "lessons" / "queue.md"
    card.parent.mkdir(exist_ok=True)
    for text in (b"---\ntitle: Queue\n---\nby hand\n", b"---\ntitle: \xff\n---\nby hand\n"):
        card.write_bytes(text)
        for command in (("export", "markdown"), ("report",)):
            done = lessons(*command, "-o", card)
            assert done.code == 2
            assert "lessons/queue.md is a card; choose another file\n" in done.err
            assert card.read_bytes() == text
    digest = brain / "DIGEST.md"
    for _ in range(2):
        assert lessons("export", "markdown", "-o", digest).code == 0


REVIEW = "| # | Claim | State |\n|---|---|---|\n| C1 | It leaks | Evidenced |\n"
FILES = {
    "lessons.md": (NOTES, "memory"),
    ".cursor/rules/db.mdc": ("---\nglobs: '*.sql'\n---\n\n- Never drop a table\n", "memory"),
    "review.txt": (REVIEW, "review"),
    "lessons.jsonl": ('{"title": "Cache is never emptied"}\n', "jsonl"),
}


@pytest.mark.slow
def test_import_finds_out_what_a_file_is(lessons, brain, tmp_path):
    for name, (text, kind) in FILES.items():
        path = write(tmp_path, name, text)
        done = lessons("import", path)
        assert done.code == 0
        assert done.err.startswith(f"lessons: {path}: ")
        assert done.err.splitlines()[0].endswith(f"({kind})")
    path = tmp_path / "mistakes.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE mistakes (id INTEGER, description TEXT)")
        database.execute("INSERT INTO mistakes VALUES (1, 'Forgot the lock')")
    assert "Forgot the lock" in lessons("import", path).out


DOCUMENTATION = (
    "# Pump\n\nPump moves rows.\n\n## Install\n\n- Run `pip install pump`\n- You must have Python 3.11\n\n"
    "## Configuration\n\n- Set `PUMP_URL`\n- Never commit the token\n\n"
    "## Usage\n\n- Call `pump run`\n- Use `-n 2` for two workers\n"
)


@pytest.mark.parametrize("name", ["README.md", "docs/guide.md"])
def test_documentation_is_imported_only_on_request(lessons, brain, tmp_path, name):
    topics = ("Storage", "Network", "Logging", "Metrics", "Security")
    more = "".join(f"\n## {one}\n\n- Never skip the {one} part\n- Use `{one}`\n" for one in topics)
    path = write(tmp_path, name, DOCUMENTATION + more)
    done = lessons("import", path, "--yes")
    assert (done.code, done.out) == (2, "")
    assert f"{path} looks like documentation: its headings name topics, and no mistakes" in done.err
    assert f"`lessons import memory {path}` takes its sections all the same" in done.err
    assert "to create" in lessons("import", "memory", path).err
    lesson = "\n## Lessons learned\n\n- Never run two pumps, because both move the same rows\n"
    path.write_text(DOCUMENTATION + more + lesson)
    assert "to create" in lessons("import", path).err


def test_import_says_what_becomes_of_headings_that_are_topics(lessons, brain, tmp_path):
    notes = "# Notes\n\n## Database\n\n- Never {}\n- The pool has 20\n\n## Logging\n\n- Use `log`\n- No prints\n"
    path = write(tmp_path, "NOTES.md", notes.format("share a pool"))
    said = "each becomes one card of the rules below it, with a rule in the title"
    for words in ((), ("--dry-run",)):
        done = lessons("import", path, *words)
        assert f"{path}: 2 headings name topics, no mistake: {said}" in done.err
        assert "2 to create" in done.err
        assert "--yes writes them" in done.err
    assert done.out.count("create\t") == 2
    assert not list((brain / "lessons").glob("*database*"))
    path = write(tmp_path, "lessons.md", "# Lessons\n\n- Never share a pool\n- Flush first\n")
    assert "topics" not in lessons("import", path).err


def test_import_reads_what_a_folder_holds(lessons, brain, tmp_path):
    project = tmp_path / "project"
    write(project, "AGENTS.md", NOTES)
    write(project, ".cursor/rules/db.mdc", FILES[".cursor/rules/db.mdc"][0])
    write(project, "README.md", NOTES)
    done = lessons("import", project, "--json")
    titles = [step["title"] for step in json.loads(done.out)["steps"]]
    assert titles == ["Never drop a table"]
    assert "AGENTS.md is not imported, because your agent reads it in each session" in done.err
    memory = "---\ndescription: Use uv here\ntype: feedback\n---\n\nNo pip.\n"
    write(tmp_path, "memory/a.md", memory)
    assert "Use uv here" in lessons("import", tmp_path / "memory").out
    (tmp_path / "empty").mkdir()
    assert lessons("import", tmp_path / "empty").code == 2


TWICE = "---\ntitle: The order was charged twice\n---\n\n## Fix\n\n- Send a key {}\n"


@pytest.fixture
def project(lessons, tmp_path, monkeypatch):
    """Make a project with cards that look alike, and a brain of the user's own beside it."""
    lessons("init", "--user")
    own = user_brain()
    write(pathlib.Path(own), "lessons/habit.md", "---\ntitle: I push to main by habit\n---\n")
    write(pathlib.Path(own), "lessons/charged.md", TWICE.format("of my own"))
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    lessons("init")
    settings = root / "lessons.toml"
    mapped = '[folders]\n"notes/gotchas" = "lesson"\n'
    settings.write_text(settings.read_text() + mapped)
    for name in ("lessons/charged.md", "lessons/charged-2.md", "playbooks/charged.md"):
        write(root, name, TWICE.format(name))
    write(root, "notes/gotchas/one.md", "---\ntitle: Gotcha one\n---\n\n## Fix\n\n- Look\n")
    write(root, "lessons/no title.md", "A card without a header\n")
    return root


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_what_is_exported_is_imported_card_by_card(lessons, project, form, tmp_path, monkeypatch):
    lines = tmp_path / f"out.{form}"
    assert lessons("export", form, "-o", lines).code == 0
    assert "habit" not in lines.read_text()
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.chdir(other)
    lessons("init")
    assert "5 created, 0 bumped, 0 skipped" in lessons("import", lines, "--yes").err
    for path in project.glob("*s/**/*.md"):
        text = (other / path.relative_to(project)).read_text()
        assert text.replace("type: lesson\n", "") == path.read_text()
    assert "0 created, 0 bumped, 5 skipped" in lessons("import", lines, "--yes").err
    (other / "lessons/charged.md").unlink()
    assert "1 created, 0 bumped, 4 skipped" in lessons("import", lines, "--yes").err


def test_the_users_own_brain_is_not_handed_on_with_a_project(lessons, project, tmp_path):
    expected = f"lessons: your own brain is left out; `--brain {user_brain()}` names it\n"
    digest, page = lessons("export", "markdown"), lessons("report", "-o", "-")
    for said in (digest, page):
        assert expected in said.err
        assert "Gotcha one" in said.out or said is page
        assert "habit" not in said.out
    both = ("--brain", project, "--brain", user_brain())
    assert "by habit" in lessons(*both, "export", "markdown").out
    assert "by habit" in lessons("--brain", user_brain(), "export", "markdown").out


def test_prose_without_a_lesson_is_refused(lessons, brain, tmp_path):
    prose = tmp_path / "README.md"
    prose.write_text("# Shop\n\nSells shoes.\n\n## Install\n\nRun it.\n\n- fast\n- small\n")
    done = lessons("import", prose)
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"lessons: no lesson in {prose}: neither rules nor a heading such as Lessons; "
        f"`lessons import memory {prose}` takes its sections all the same\n"
    )
    assert "Install" in lessons("import", "memory", prose).out
    both = lessons("import", prose, write(tmp_path, "gotchas.md", NOTES))
    assert (both.code, "no lesson in" in both.err, "applied-migration" in both.out) == (
        0,
        True,
        True,
    )
    prose.write_text(prose.read_text() + "- Never sell sandals in winter\n")
    assert lessons("import", prose).code == 0
    digest = tmp_path / "digest.md"
    lessons("export", "markdown", "-o", digest)
    assert (
        "is a digest for people; import what `lessons export jsonl` wrote"
        in lessons("import", digest).err
    )


ALL = {
    "project/tasks/lessons.md": "# Lessons\n\n- 2026-03-16: Flush before the sync runs\n",
    "project/docs/solutions/rows.md": "# Rows vanish\n\n## Prevention\n\n- Open a transaction\n",
    "project/.cursor/rules/db.mdc": "---\nglobs: db/*.sql\n---\n\n# Migrations\n\n- Set a timeout\n",
    "project/db/1.sql": "",
    "codex/memories/MEMORY.md": (
        "# Task Group: cart\n\napplies_to: cwd={root}; reuse_rule=safe\n\n## Failures\n\n"
        "- cents were lost -> use decimals\n\n# Task Group: other\n\napplies_to: cwd=/elsewhere\n\n"
        "## Failures\n\n- it broke -> mend it\n"
    ),
    "claude/projects/{encoded}/memory/feedback_uv.md": (
        "---\ndescription: Use uv here\ntype: feedback\n---\n\nNo pip.\n"
    ),
    "claude/projects/-elsewhere/memory/feedback_no.md": (
        "---\ndescription: Not of this project\ntype: feedback\n---\n\nNo.\n"
    ),
}


@pytest.fixture
def kept(tmp_path, monkeypatch, lessons):
    """Make a project with a brain of its own, and what agents keep of it and of another one."""
    root = tmp_path / "project"
    root.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    encoded = re.sub(r"[^A-Za-z0-9]", "-", str(root))
    for name, text in ALL.items():
        write(tmp_path, name.format(encoded=encoded), text.replace("{root}", str(root)))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    monkeypatch.chdir(root)
    assert lessons("init", "kb").code == 0
    return root


def test_import_all_finds_what_is_kept_of_this_project(lessons, kept):
    data = json.loads(lessons("import", "--all", "--dry-run", "--json").out)
    assert data["written"] is False
    titles = [step["title"] for step in data["steps"] if step["action"] == "create"]
    assert sorted(titles) == [
        "Flush before the sync runs", "Migrations", "Rows vanish", "Use uv here", "cents were lost"
    ]  # fmt: skip
    (other,) = [step for step in data["steps"] if step["action"] == "skip"]
    assert (other["title"], other["reason"]) == ("other", "about /elsewhere")


def test_import_all_writes_after_one_yes_and_once(lessons, kept):
    done = lessons("import", "--all", "--yes")
    assert "5 created, 0 bumped, 1 skipped" in done.err
    assert "0 created, 0 bumped, 6 skipped" in lessons("import", "--all", "--yes").err


def test_a_dry_run_writes_nothing_and_all_takes_no_file(lessons, kept):
    dry = lessons("import", "tasks/lessons.md", "--dry-run", "--yes")
    assert dry.code == 2
    assert "1 to create" in lessons("import", "tasks/lessons.md", "--dry-run").err
    assert not list(kept.glob("kb/lessons/*.md"))
    assert lessons("import", "--all", "tasks/lessons.md").code == 2
    assert lessons("import").code == 2


def test_documents_that_are_cards_here_already_are_not_imported(lessons, tmp_path, monkeypatch):
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.chdir(root)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "none"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "none"))
    assert lessons("init").code == 0
    write(root, "docs/solutions/rows.md", ALL["project/docs/solutions/rows.md"])
    done = lessons("import", "--all")
    assert (done.code, done.out) == (0, "")
    assert "nothing to import" in done.err


def test_an_imported_card_names_its_line(lessons, brain):
    key = "AKIA" + "IOSFODNN7EXAMPLF"
    text = f"# Lessons\n\n## Money\n\n- Never keep money in floats, token {key}\n"
    (brain / "tasks").mkdir()
    (brain / "tasks" / "lessons.md").write_text(text)
    lessons("import", "tasks/lessons.md", "--yes", "--near", "new")
    found = [path for path in brain.rglob("lessons/*.md") if "sources:" in path.read_text()]
    (source,) = read_sources_of(found[0].read_text())
    assert source.resource == "file:tasks/lessons.md#L5"
    assert source.quote.startswith("- Never keep money in floats")
    assert key not in found[0].read_text()
    line = "from tasks/lessons.md:5; \u201c- Never keep money in floats"
    assert line in lessons("why", found[0].stem).out


def test_a_file_outside_of_the_project_is_named_without_its_folders(lessons, brain, tmp_path):
    outside = tmp_path / "private" / "lessons.md"
    outside.parent.mkdir()
    outside.write_text("# Lessons\n\n## Money\n\n- Never keep money in floats\n")
    lessons("import", str(outside), "--yes", "--near", "new")
    found = [path for path in brain.rglob("lessons/*.md") if "sources:" in path.read_text()]
    (source,) = read_sources_of(found[0].read_text())
    assert source.resource == "file:lessons.md#L5"


RULES = (
    "# Guide\n\n## Web\n\n- When you change `web/a.tsx`, update its story\n"
    "- Never edit an applied migration\n\nAsk first:\n\n- adding a dependency to the package\n"
)


@pytest.mark.parametrize(
    "name",
    [
        "AGENTS.md",
        "CLAUDE.md",
        "GEMINI.md",
        ".github/copilot-instructions.md",
        ".claude/rules/a.md",
    ],
)
def test_a_file_that_agents_read_in_each_session_is_imported_only_by_its_kind(
    lessons, brain, tmp_path, name
):
    path = write(tmp_path, name, RULES)
    done = lessons("import", path, "--yes")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        f"lessons: {path} is not imported, because your agent reads it in each session already; "
        f"`lessons diet` moves single rules to cards, and `lessons import memory {path}` copies "
        "each rule to a card\n"
    )
    steps = json.loads(lessons("import", "memory", path, "--json").out)["steps"]
    assert [step["title"] for step in steps if step["action"] == "create"] == [
        "When you change `web/a.tsx`, update its story", "Never edit an applied migration",
        "Ask first: adding a dependency to the package",
    ]  # fmt: skip


def test_rules_for_some_files_are_imported_as_before(lessons, brain, tmp_path):
    path = write(
        tmp_path, ".claude/rules/sql.md", "---\npaths: '*.sql'\n---\n\n- Never drop a table\n"
    )
    assert "Never drop a table" in lessons("import", path).out
