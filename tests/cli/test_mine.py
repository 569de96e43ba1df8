"""`lessons mine`: from past sessions and commits to drafts."""

import json
import os
import pathlib
import re
import shutil
import sqlite3

import pytest

from tests import kit
from tests.kit import git, make_brain, trust_brain

KEY = "AKIA" + "IOSFODNN7EXAMPLF"
GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "cli" / "mine.txt"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A brain in a small repository; agents' records lie in a home of its own."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("XDG_DATA_HOME", str(home / ".local" / "share"))
    root = tmp_path / "shop"
    root.mkdir()
    git(root, "init", "-q")
    make_brain(str(root))
    monkeypatch.chdir(root)
    return root


def moment(day):
    return f"2026-10-{day:02}T10:00:00+00:00"


def commit(root, subject, day=1, **files):
    return kit.commit(root, subject, moment(day), **files)


@pytest.fixture(scope="session")
def history(tmp_path_factory):
    """Twelve plain commits and one fix with a test and a cause."""
    root = tmp_path_factory.mktemp("history")
    for number in range(12):
        commit(root, f"Add page {number}", **{f"page{number}.py": f"TITLE = {number}\n" * 5})
    commit(root, "Charge cards", **{"pay.py": "def charge(card):\n    return post(card)\n"})
    fix = (
        "def charge(card, key):\n"
        "    # Without the key the bank silently books a retried charge twice.\n"
        "    return post(card, key=key)\n"
    )
    test = "def test_retry():\n    assert charge('c', 'k') == 1\n" * 4
    files = {"pay.py": fix, "tests/test_pay.py": test}
    commit(root, "Send the idempotency key on a retry", 20, **files)
    return root


@pytest.fixture
def write_history(history, project):
    """Give the project that history; return its fix."""

    def write_history(_project):
        shutil.copytree(history, project, dirs_exist_ok=True)
        return git(project, "rev-parse", "HEAD").strip()

    return write_history


def turn(kind, content, root, session, day):
    message = {"role": kind, "id": f"m{day}", "content": content}
    line = {"type": kind, "message": message, "isSidechain": False, "cwd": str(root)}
    return json.dumps(line | {"sessionId": session, "timestamp": f"2026-10-{day:02}T10:00:00Z"})


def write_session(root, session, *steps, day=1):
    """Write a session of Claude Code: what its user says, or the input and the output of a call."""
    lines = []
    for number, step in enumerate(steps):
        if isinstance(step, str):
            lines.append(turn("user", step, root, session, day))
            continue
        given, output = step
        name, given = ("Bash", {"command": given}) if isinstance(given, str) else ("Edit", given)
        use = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output}
        lines.append(turn("assistant", [use], root, session, day))
        lines.append(turn("user", [{**result, "is_error": output != "ok"}], root, session, day))
    return write_claude(root, session, lines)


def write_claude(root, session, lines):
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.path.realpath(root))
    home = pathlib.Path(os.environ["HOME"]) / ".claude" / "projects" / slug
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{session}.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def find(lessons, *options):
    return json.loads(lessons("mine", "--json", *options).out)


def drafts_of(lessons):
    return json.loads(lessons("review", "--list", "--json").out)


ERROR = "Traceback (most recent call last)\nOperationalError: database is locked (pid {})"


def write_sessions(root):
    """Three sessions in which the same error is met, and users complain about it."""
    for day in (3, 5, 7):
        first, second = (("python import.py", ERROR.format(day * n)) for n in (111, 7))
        expected = f"still broken, token is {KEY}"
        asked = "Let two workers import the orders"
        write_session(root, f"s{day}", asked, first, expected, second, "thanks", day=day)


def test_an_error_of_three_sessions_is_one_candidate_without_its_secret(lessons, project, tmp_path):
    write_sessions(project)
    commit(project, "Begin")
    result = lessons("mine", "--json", "--draft", "5")
    found = json.loads(result.out)
    first = found["candidates"][0]
    assert found["sessions"] == 3
    assert first["title"].startswith("OperationalError: database is locked")
    assert first["occurrences"] == 3
    assert "in 3 sessions" in first["reasons"]
    assert first["symptoms"][0] == "Let two workers import the orders"
    assert "still broken" in result.out
    assert KEY not in result.out
    state = pathlib.Path(os.environ.get("LESSONS_STATE_HOME", tmp_path))
    kept = (path for folder in (tmp_path, state) for path in folder.rglob("*") if path.is_file())
    assert not [p for p in kept if ".claude" not in p.parts and KEY.encode() in p.read_bytes()]


def test_a_pipe_gets_whole_lines(lessons, project, request, write_history):
    write_sessions(project)
    write_history(project)
    (project / "lessons.toml").rename(project / "away")
    assert "found 3 sessions, 14 commits without merges; `lessons mine`" in lessons("init").err
    out = lessons("mine").out
    if request.config.getoption("--update", default=False):
        GOLDEN.write_text(out, encoding="utf-8")
    assert "…" not in out
    assert out == GOLDEN.read_text(encoding="utf-8")


def test_what_was_read_is_not_read_again_and_drafts_wait_in_its_order(
    lessons, project, write_history
):
    write_sessions(project)
    write_history(project)
    first = find(lessons)
    again = find(lessons)
    assert (first["read"], again["read"]) == (17, 0)
    assert again["candidates"] == first["candidates"]
    titles = [one["title"] for one in find(lessons, "--draft", "2")["candidates"]][:2]
    waiting = [one["title"] for one in drafts_of(lessons)]
    assert titles == waiting
    commit(project, "Add one more", day=21, **{"more.py": "X = 1\n"})
    assert find(lessons)["read"] == 1


@pytest.mark.slow
def test_from_the_best_commit_to_a_draft_and_out_of_sight(
    lessons, project, write_history, monkeypatch
):
    fix = write_history(project)
    found = find(lessons)
    assert found["commits"] == 14
    assert found["candidates"][0]["commits"][0]["id"] == fix
    assert find(lessons, "--since", "2026-10-15")["commits"] == 1

    def stop(*_arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:  # the table is shown before the drafts are written
        patch.setattr("lessons_kb.collection.mined_drafts.draft", stop)
        assert "Send the idempotency key on a retry" in lessons("mine", "--draft", "1").out
    (made,) = find(lessons, "--draft", "1")["drafts"]
    text = pathlib.Path(made["path"]).read_text(encoding="utf-8")
    assert "paths: [pay.py]" in text
    assert "+    return post(card, key=key)" in text
    assert "silently books a retried charge twice" in text
    assert "Root Cause" in str(drafts_of(lessons)[0]["missing"])
    listed = lessons("review", "--list").out.splitlines()[1]
    assert listed.endswith("\tSend the idempotency key on a retry")
    lessons("review", "--discard", made["id"])
    assert made["id"] not in [one["id"] for one in find(lessons, "--draft", "1")["drafts"]]


def test_a_candidate_that_was_dismissed_never_returns(lessons, project, write_history):
    write_history(project)
    (made,) = find(lessons, "--draft", "1")["drafts"]
    lessons("review", "--discard", made["id"])
    assert find(lessons)["candidates"] == []
    # The same mistake again, in a commit that looks more like a fix than the first.
    text = "def charge(card, key):\n    return post(card, key)  # because a retry fails otherwise\n"
    change = {"pay.py": text, "tests/test_pay.py": "def test_again():\n    assert charge\n" * 9}
    commit(project, "Fix: send the idempotency key on a retry, always", 22, **change)
    assert find(lessons, "--draft", "3")["candidates"] == []
    assert drafts_of(lessons) == []


COMPLETE = {
    "symptoms: []": "symptoms: [retry a charge, the bank answers late]",
    "## Prevention Checklist\n": "## Prevention Checklist\n\n- [ ] Send a key\n",
    "## Root Cause\n": "## Root Cause\n\nThe bank books each request twice.\n",
}


def complete(path):
    """Write by hand what a mined draft lacks."""
    path = pathlib.Path(path)
    text = path.read_text()
    for empty, filled in COMPLETE.items():
        text = text.replace(empty, filled)
    title = "title: The bank booked a retried charge twice"
    path.write_text(re.sub(r"(?m)^title: .*$", title, text))


def write_three_fixes(project):
    """Three commits that repair different files; return their ids, the latest first."""
    commit(project, "Add pages", 1, **{f"page{number}.py": "TITLE = 1\n" for number in range(3)})
    subjects = ("do not lose the title", "never crash on an empty page", "do not send a page twice")
    for number, subject in enumerate(subjects):
        commit(project, f"fix: {subject}", number + 2, **{f"page{number}.py": "TITLE = 2\n"})
    return git(project, "log", "-3", "--format=%H").split()


def test_candidates_with_a_draft_or_a_card_are_left_out_and_counted(lessons, project):
    write_three_fixes(project)
    before = find(lessons)["candidates"]
    assert len(before) == 3
    assert "; `--limit 3` lists all\n" in lessons("mine", "--limit", "2").err
    assert "lists all" not in lessons("mine", "--limit", "3").err
    made = find(lessons, "--draft", "3")["drafts"]
    listed = lessons("mine")
    assert listed.out == ""
    assert "nothing new (3 with a draft)" in listed.err
    assert "next: `lessons review`" in listed.err
    complete(made[0]["path"])
    accepted = lessons("review", "--accept", made[0]["id"])
    assert accepted.code == 0, accepted.err
    lessons("review", "--discard", made[1]["id"])
    commit(project, "fix: do not print a page without its number", 9, **{"page0.py": "TITLE = 3\n"})
    listed = lessons("mine").out
    assert "do not print a page" in listed
    counts = "left out: 1 with a draft, 1 with a card, 1 discarded"
    assert f"1 of 1 candidate from 0 sessions and 5 commits without merges; {counts}" in listed
    assert find(lessons)["left_out"] == {"open": 1, "accepted": 1, "discarded": 1}


def test_a_candidate_whose_commit_is_the_source_of_a_card_is_left_out(lessons, project, tmp_path):
    write_three_fixes(project)
    (made,) = find(lessons, "--draft", "1")["drafts"]
    complete(made["path"])
    card = lessons("review", "--accept", made["id"]).out.strip()
    colleague = tmp_path / "colleague"  # has the card, but none of the facts about its draft
    git(project, "add", card)
    git(project, "commit", "-qm", "Add a lesson", when=moment(9))
    git(project, "clone", "-q", str(project), str(colleague))
    trust_brain(colleague)
    found = json.loads(lessons("--brain", colleague, "mine", "--json").out)
    assert found["left_out"] == {"accepted": 1}


def test_drafts_are_chosen_by_number_or_commit(lessons, project):
    write_three_fixes(project)
    listed = find(lessons)["candidates"]
    names = [candidate["title"] for candidate in listed]
    ids = [candidate["commits"][0]["id"] for candidate in listed]
    shown = lessons("mine").out
    assert all(f".py · {name[:8]}" in shown for name in ids)
    for chosen, words in (
        ("2,9", "no candidate of the list has the number 9"),
        ("3-2", "no candidate of the list has the number 3-2"),
        ("first", "no candidate is 'first'; --draft takes a number"),
        ("0123abcd", "no candidate is '0123abcd'"),
    ):
        refused = lessons("mine", "--draft", chosen)
        assert refused.code == 2
        assert words in refused.err
    assert drafts_of(lessons) == []
    result = lessons("mine", "--draft", f"3,{ids[0][:8]}")
    assert "3    1×" in result.out.replace("  3 ", "3 ")
    assert names[1] not in result.out
    drafted = [draft["title"] for draft in drafts_of(lessons)]
    assert sorted(drafted) == sorted([names[2], names[0]])
    assert [one["title"] for one in find(lessons)["candidates"]] == [names[1]]
    (line,) = [line for line in lessons("mine").out.splitlines() if names[1] in line]
    assert line.split()[0] == "2"  # as in the list before the drafts
    refused = lessons("mine", "--draft", "1,")
    assert "candidate 1 has a draft or a card already" in refused.err
    assert names[1] in lessons("mine", "--draft", "2,").out


def test_many_drafts_are_written_only_after_an_agreement(lessons, project, answer, monkeypatch):
    monkeypatch.setattr("lessons_kb.cli.commands.mine.MOST_UNASKED", 2)
    write_three_fixes(project)
    refused = lessons("mine", "--draft", "9999")
    assert refused.code == 2
    assert refused.err.endswith(
        "nothing was written; 3 drafts are many to review: `--draft 2` writes fewer, `--yes` "
        "writes them all\n"
    )
    assert drafts_of(lessons) == []
    assert "Write 3 drafts?" in answer("mine", "--draft", "9999", typed="n\n")
    assert drafts_of(lessons) == []
    assert len(json.loads(lessons("mine", "--draft", "2", "--json").out)["drafts"]) == 2
    monkeypatch.setattr("lessons_kb.cli.commands.mine.MOST_UNASKED", 0)
    assert "1 draft written" in lessons("mine", "--draft", "9999", "--yes").out


def test_a_sign_that_every_candidate_has_is_not_repeated(lessons, project):
    for number in range(4):
        files = {f"page{number}.py": f"TITLE = {number}\n"}
        commit(
            project, f"fix: do not lose page{number} of chapter{number * 7}", number + 1, **files
        )
    assert "repairs" not in lessons("mine").out
    assert "repairs" in str(find(lessons)["candidates"][0]["reasons"])


def test_a_card_from_a_mined_draft_is_short_and_as_old_as_its_mistake(
    lessons, project, write_history
):
    fix = write_history(project)
    (made,) = find(lessons, "--draft", "1")["drafts"]
    complete(made["path"])
    accepted = lessons("review", "--accept", made["id"])
    assert f"`git show {fix[:8]}` shows the rest of its evidence" in accepted.err
    text = (project / accepted.out.strip()).read_text()
    assert "last-seen: 2026-10-20" in text
    assert f"Commit `{fix[:10]}`: Send the idempotency key on a retry" in text
    assert "+    return post(card, key=key)" in text
    for dropped in ("Seen 1×", "explains itself", "Its tests", "test_retry"):
        assert dropped not in text
    assert accepted.out.strip() in lessons("list", "--limit", "1").out


def test_a_draft_guards_no_file_that_is_gone(lessons, project, write_history):
    write_history(project)
    git(project, "mv", "pay.py", "charge.py")
    git(project, "commit", "-qm", "Rename a module", when=moment(21))
    made = find(lessons, "--draft", "1")["drafts"]
    assert "idempotency key" in made[0]["title"]
    text = pathlib.Path(made[0]["path"]).read_text(encoding="utf-8")
    assert "paths: []" in text


def test_other_projects_sessions_need_the_option(lessons, project, tmp_path):
    other = tmp_path / "shop-two"
    other.mkdir()
    write_sessions(other)
    commit(project, "Begin")
    assert find(lessons)["sessions"] == 0
    refused = lessons("mine", "--all-projects")
    assert refused.code == 2
    assert "lessons init --user" in refused.err
    lessons("init", "--user")
    assert json.loads(lessons("mine", "--all-projects", "--json").out)["sessions"] == 3


def test_approvals_features_and_a_package_to_install_are_no_mistakes(lessons, project):
    expected = [
        "Add comprehensive error handling to the importer",
        "The linting errors are minor, they can be addressed later",
        "continue",
        "great, next: an ErrorHandler class",
    ]
    path = write_session(project, "s1", *expected)
    right = [{"type": "text", "text": "You're absolutely right - these are cosmetic."}]
    with path.open("a") as file:
        file.write(turn("assistant", right, project, "s1", 9) + "\n")
    absent = "ModuleNotFoundError: No module named 'click'"
    calls = (("python app.py", absent), ("python app.py -h", absent), ("pip install click", "ok"))
    for day in (3, 4):
        write_session(project, f"s{day}", *calls, day=day)
    commit(project, "Begin")
    found = find(lessons)
    assert (found["sessions"], found["candidates"]) == (3, [])


def test_subagents_count_and_what_they_were_told_does_not(lessons, project):
    failed = [("python import.py", ERROR.format(number)) for number in (1, 2, 3)]
    edit = ({"file_path": "pay.py"}, "ok")
    aside = write_session(
        project, "s1", "still broken, fix it", *failed[:2], edit, failed[2], day=2
    )
    text = aside.read_text().replace('"isSidechain": false', '"isSidechain": true')
    path = write_session(project, "s1", "import the orders")
    kit.write(path.with_suffix(""), "subagents/agent-1.jsonl", text)
    commit(project, "Begin")
    found = find(lessons)
    assert [one["title"][:20] for one in found["candidates"]] == ["OperationalError: da"]
    assert found["candidates"][0]["reasons"] == ["error came back"]


def test_only_new_commits_are_read_from_git(lessons, project, write_history):
    write_history(project)
    fix = {"page8.py": "TITLE = 'eight'\n"}
    commit(project, "fix: do not show an empty page", 21, **fix)
    first = find(lessons)
    blob = git(project, "rev-parse", "HEAD:page8.py").strip()
    commit(project, "fix: show page nine", 22, **{"page9.py": "TITLE = 'nine'\n"})
    path = project / ".git" / "objects" / blob[:2] / blob[2:]
    path.chmod(0o600)
    path.unlink()  # a commit whose content is lost cannot be read again
    second = find(lessons)
    assert (second["read"], second["trouble"]) == (1, [])
    titles = {one["title"] for one in first["candidates"]}
    assert {one["title"] for one in second["candidates"]} == titles | {"fix: show page nine"}


def test_a_commit_that_speaks_of_the_error_is_its_fix(lessons, project):
    first, second = (("python import.py", ERROR.format(number)) for number in (1, 2))
    edit = {"file_path": str(project / "pay.py"), "old_string": "a", "new_string": "b"}
    steps = ("import the orders", first, (edit, "ok"), "still fails", second)
    write_session(project, "s1", *steps, day=3)
    commit(project, "Charge cards", 1, **{"pay.py": "a = 1\n"})
    fix = commit(project, "Wait while the database is locked", 4, **{"pay.py": "b = 1\n"})
    first = find(lessons)["candidates"][0]
    assert first["title"].startswith("OperationalError")
    assert first["paths"] == ["pay.py"]
    assert [one["id"] for one in first["commits"]] == [fix]


SPECSTORY = """<!-- Generated by SpecStory -->

# Import (2026-10-03 09:00Z)

_**User (2026-10-03 09:00Z)**_

import the orders

---

_**Assistant**_

Running it.

---

```bash
python import.py
```

```
$ python import.py
Bus error (core dumped)
```

---

_**User (2026-10-03 09:10Z)**_

still the same error: Bus error (core dumped)

---
"""


@pytest.mark.parametrize("linked", [False, True])
def test_specstory_exports_are_read_and_no_link_among_them(lessons, project, tmp_path, linked):
    path = write_export(project, "a.md", SPECSTORY)
    if linked:
        path.rename(tmp_path / "private.md")
        path.symlink_to(tmp_path / "private.md")
    commit(project, "Begin")
    found = find(lessons)
    assert found["sessions"] == (not linked)
    for first in found["candidates"]:
        assert first["title"] == "Bus error (core dumped)"
        assert first["examples"][0]["agent"] == "specstory"


def events(root):
    locked = {"message": "OperationalError: database is locked"}
    rows = [{"type": "session.start", "data": {"sessionId": "c1", "context": {"cwd": str(root)}}}]
    for number, asked in enumerate(("import the orders", "still locked, it broke again")):
        call = {"toolCallId": f"c{number}"}
        start = {**call, "toolName": "bash", "arguments": {"command": "python import.py"}}
        rows += [
            {"type": "user.message", "data": {"content": asked}},
            {"type": "tool.execution_start", "data": start},
            {
                "type": "tool.execution_complete",
                "data": {**call, "success": False, "error": locked},
            },
        ]
    return [
        {**row, "timestamp": "2026-10-04T10:00:00Z", "id": str(n)} for n, row in enumerate(rows)
    ]


def test_copilot_cli_and_opencode_are_read(lessons, project):
    folder = pathlib.Path(os.environ["HOME"]) / ".copilot" / "session-state" / "c1"
    folder.mkdir(parents=True)
    lines = [json.dumps(row) for row in events(project)]
    (folder / "events.jsonl").write_text("\n".join(lines), encoding="utf-8")
    folder = pathlib.Path(os.environ["XDG_DATA_HOME"]) / "opencode"
    folder.mkdir(parents=True)
    db = sqlite3.connect(folder / "opencode.db")
    db.execute("CREATE TABLE session (id, directory, time_updated)")
    db.execute("CREATE TABLE message (id, session_id, time_created, data)")
    db.execute("CREATE TABLE part (id, message_id, session_id, time_created, data)")
    db.execute("INSERT INTO session VALUES ('o1', ?, 1790000000000)", (str(project),))
    for number, asked in enumerate(("import the orders", "it is still failing, same error again")):
        role = {"role": "user", "time": {"created": 1_790_000_000_000}}
        failed = {"status": "error", "input": {"command": "x"}, "error": "TypeError: a is not b"}
        parts = ({"type": "text", "text": asked}, {"type": "tool", "tool": "bash", "state": failed})
        row = (f"m{number}", "o1", number, json.dumps(role))
        db.execute("INSERT INTO message VALUES (?, ?, ?, ?)", row)
        for place, part in enumerate(parts):
            row = (f"p{number}{place}", f"m{number}", "o1", place, json.dumps(part))
            db.execute("INSERT INTO part VALUES (?, ?, ?, ?, ?)", row)
    db.commit()
    db.close()
    commit(project, "Begin")
    found = find(lessons)
    assert found["sessions"] == 2
    titles = {one["title"] for one in found["candidates"]}
    assert titles >= {"OperationalError: database is locked", "TypeError: a is not b"}


@pytest.mark.parametrize(("height", "shown"), [(None, 20), (40, 17), (24, 9), (5, 3)])
def test_the_list_does_not_scroll_its_best_candidates_away(
    lessons, project, monkeypatch, height, shown
):
    for number in range(25):
        subject = f"fix: do not lose page{number} of chapter{number * 7}"
        commit(project, subject, number % 28 + 1, **{f"page{number}.py": "TITLE = 1\n"})
    monkeypatch.setattr("lessons_kb.cli.commands.mine.terminal_height", lambda: height)
    lines = lessons("mine").out.splitlines()
    assert len(lines) == 2 * shown + 2
    assert lines[-1].startswith(f"{shown} of 25 candidates")
    assert lessons("mine", "--limit", "25").out.count("page") >= 25


def test_a_clone_that_lacks_content_is_read_as_far_as_it_goes(lessons, project, write_history):
    write_history(project)
    commit(project, "fix: do not show an empty page", 3, **{"page8.py": "TITLE = 'eight'\n"})
    fix = git(project, "rev-parse", "HEAD:page8.py").strip()
    feature = git(project, "rev-parse", "HEAD:page9.py").strip()  # its patch is not read
    for blob in (fix, feature):
        path = project / ".git" / "objects" / blob[:2] / blob[2:]
        path.chmod(0o600)
        path.unlink()
    found = json.loads(lessons("mine", "--json").out)
    assert found["candidates"][0]["title"] == "Send the idempotency key on a retry"
    assert found["trouble"] == ["1 of 15 commits lack content in this clone; left out"]


@pytest.mark.slow
def test_init_offers_to_look_at_the_past_on_a_terminal(terminal, project, write_history):
    write_sessions(project)
    write_history(project)
    (project / "AGENTS.md").write_text("# Rules\n")
    for typed, said, unsaid in (
        ("n\n", 'next: `lessons add "what went wrong"`', "SURE"),
        ("\n", "next: `lessons mine --draft 10`", "next: `lessons add"),
    ):
        (project / "lessons.toml").unlink()
        asked = terminal("init")
        asked.wait("Found 3 sessions, 14 commits without merges: look for lessons? [Y/n]:")
        asked.type(typed)
        seen = asked.end()
        assert (said in seen, unsaid in seen, asked.code) == (True, False, 0)
    assert "OperationalError: database is locked" in seen


def test_review_comments_count_and_show_the_change_they_led_to(lessons, project, tmp_path):
    for day, call in enumerate(("charge()", "charge(KEY)", "charge(KEY, 2)"), 1):
        commit(project, f"Address {call}", 2 * day - 1, **{"pay.py": f"def pay():\n    {call}\n"})
    secret = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    said = {
        "path": "pay.py",
        "diff_hunk": "@@ -0,0 +1,2 @@\n+def pay():\n+    charge()",
        "created_at": "2026-10-02T10:00:00Z",
        "body": f"A retry must not run without a key, because {secret} is billed twice.",
    }
    pulls = "https://api.example.org/repos/o/r/pulls/"
    path = tmp_path / "comments.json"
    path.write_text(json.dumps([{**said, "pull_request_url": f"{pulls}{n}"} for n in (7, 8)]))
    result = lessons("mine", "--reviews", path)
    assert "A retry must not run without a key" in result.out
    assert "in 2 reviews; gives a cause; review comment" in result.out
    assert "2 review comments" in result.out
    assert "ghp_" not in result.out
    made = json.loads(lessons("mine", "--reviews", path, "--draft", "1", "--json").out)
    draft = pathlib.Path(made["drafts"][0]["path"]).read_text()
    assert "-    charge()\n+    charge(KEY)\n" in draft
    assert "ghp_" not in draft
    path.write_text("no json")
    refused = lessons("mine", "--reviews", path)
    assert (refused.code, refused.err.count("\n")) == (2, 1)


TAGGED = """<!-- Generated by SpecStory, Markdown v2.1.0 -->

<!-- Claude Code Session 42bd9166 (2026-10-03 09:00:00Z) -->

_**User (2026-10-03 09:00:00Z)**_

<command-name>/model</command-name>
            <command-message>model</command-message>

_**User (2026-10-03 09:00:00Z)**_

Never use the wrong model, it is broken

_**User (2026-10-03 09:00:20Z)**_

import the orders of the warehouse

---

_**Agent (claude-opus-4-6 2026-10-03 09:01:00Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
Import them

`python import.py`

```text
Exit code 1
OperationalError: database is locked
```
</details></tool-use>

_**Agent (claude-opus-4-6 2026-10-03 09:02:00Z)**_

<tool-use data-tool-type="write" data-tool-name="Edit"><details>
<summary>Tool use: **Edit**</summary>

```text
The file {root}/pay.py has been updated.
```
</details></tool-use>

_**Agent (claude-opus-4-6 2026-10-03 09:03:00Z)**_

<tool-use data-tool-type="shell" data-tool-name="Bash"><details>
<summary>Tool use: **Bash**</summary>
Import them

```bash
python import.py
```

```text
Exit code 1
OperationalError: database is locked
```
</details></tool-use>

_**User (2026-10-03 09:10:00Z)**_

Nope.

---
"""


def write_export(root, name, text):
    return kit.write(root, f".specstory/history/{name}", text.replace("{root}", str(root)))


def test_exports_with_tags_tell_commands_and_what_they_printed(lessons, project):
    write_export(project, "a.md", TAGGED)
    commit(project, "Begin")
    (one,) = find(lessons)["candidates"]
    assert one["title"] == "OperationalError: database is locked"
    assert "error came back" in one["reasons"]
    assert one["symptoms"] == ["import the orders of the warehouse"]  # typed, and no reply
    expected = "Nope. Wrong. The import of the warehouse is broken now."
    write_export(project, "a.md", TAGGED.replace("Nope.", expected))
    told = find(lessons)["candidates"][0]["examples"][0]["quote"]
    assert told.endswith("broken now.")  # a short complaint, and what follows it
    command = "`cd /home/ada/src/shop && python /home/ada/src/shop/import.py`"
    write_export(project, "a.md", TAGGED.replace("`python import.py`", command))
    (project / "server").mkdir()
    (project / ".specstory").rename(project / "server" / ".specstory")  # of a part of the project
    assert [one["title"] for one in find(lessons, "--draft", "1")["candidates"]] == [one["title"]]
    text = lessons("review", "--show", drafts_of(lessons)[0]["id"]).out
    assert "What failed: `python import.py`" in text
    assert "ada" not in text  # nor another place of this machine


def test_a_session_that_was_resumed_is_one_session(lessons, project):
    later = TAGGED.replace("2026-10-03 09:", "2026-10-05 11:")  # copied for another agent
    for name, text in (("a.md", TAGGED), ("b.md", TAGGED), ("c.md", later)):
        write_export(project, name, text)
    commit(project, "Begin")
    assert [one["occurrences"] for one in find(lessons)["candidates"]] == [1]


def test_a_commit_that_was_rebased_counts_once(lessons, project, write_history):
    write_history(project)
    change = {"pay.py": "def charge(card):\n    return 2\n", "test_pay.py": "assert pay\n" * 9}
    start = git(project, "rev-parse", "HEAD").strip()
    for day in (21, 22):
        git(project, "rm", "-rfq", ".")
        git(project, "checkout", "-q", start, "--", ".", when=moment(day))
        git(project, "commit", "-q", "--allow-empty", "-m", "Go back", when=moment(day))
        commit(project, "Never lose the charge of a card", day, **change)
    for day in (23, 24, 25):  # upkeep that is named alike is no recurrence
        text = f"def charge(card):\n    return {day}  # because the card is charged {day} times\n"
        commit(project, "Minor code cleanup", day, **{"pay.py": text})
    found = {one["title"]: one["occurrences"] for one in find(lessons)["candidates"]}
    assert found["Never lose the charge of a card"] == 1
    assert found.get("Minor code cleanup", 1) == 1


def test_a_draft_tells_the_whole_sentence_and_its_tests_last(lessons, project, write_history):
    write_history(project)
    text = (
        "# A card may be charged twice when the\n# client retries, because the key is\n"
        "# made anew for each attempt.\ndef charge(card):\n    return 2\n"
    )
    change = {"pay.py": text, "test_pay.py": "assert pay\n" * 9}
    commit(project, "Fix the key that is made anew for each attempt", 21, **change)
    lessons("mine", "--draft", "20")
    drafts = [lessons("review", "--show", one["id"]).out for one in drafts_of(lessons)]
    (draft,) = [text for text in drafts if "Fix the key that is made anew for each attempt" in text]
    assert "> A card may be charged twice when the client retries, because the key is made" in draft
    assert "test_pay.py" not in draft.partition("Its tests:")[0]


def test_a_draft_keeps_the_sentence_that_begins_with_fixes(lessons, project, write_history):
    write_history(project)
    message = (
        "fix: the flush of the editor\n\n## Description\n\n"
        'Fixes a race in the editor when opening "Send\n'
        'Document" right after a field was moved, because the flush waits.\n\n'
        "Fixes #123, #124\nCo-authored-by: Ann <ann@x.org>\nRefs: PAY-7\n"
    )
    commit(project, message, 21, **{"pay.py": "def charge(card):\n    return 2\n"})
    lessons("mine", "--draft", "20")
    drafts = [lessons("review", "--show", one["id"]).out for one in drafts_of(lessons)]
    (draft,) = [text for text in drafts if "flush of the editor" in text]
    assert '> Fixes a race in the editor when opening "Send\n> Document" right after' in draft
    assert "quote: Fixes a race" in draft or "quote: 'Fixes a race" in draft
    for gone in ("#123", "Co-authored-by", "PAY-7"):
        assert gone not in draft


def test_tasks_that_have_nothing_in_common_do_not_belong_to_an_error(lessons, project):
    tasks = ("import the orders of the warehouse", "paint the login page blue", "release it")
    for day, task in enumerate(tasks, 1):
        text = TAGGED.replace("import the orders of the warehouse", task)
        write_export(project, f"{day}.md", text.replace("2026-10-03", f"2026-10-{day:02}"))
    commit(project, "Begin")
    (one,) = find(lessons)["candidates"]
    assert (one["occurrences"], one["symptoms"]) == (3, [])
    lessons("mine", "--draft", "1")
    assert "login page" not in lessons("review", "--show", drafts_of(lessons)[0]["id"]).out


REPORT = (
    """<testsuite><testcase classname="test_cart" name="test_total">{}</testcase></testsuite>"""
)
FAILURE = """<failure message="AssertionError: assert 3 == 4">
    def test_total():
>       assert total([1, 3]) == 4
E       AssertionError: assert 3 == 4 for {}</failure>"""


def write_reports(project, secret=""):
    failure = FAILURE.format(secret)
    for name, said in (("red.xml", failure), ("green.xml", "")):
        (project / name).write_text(REPORT.format(said), encoding="utf-8")


def test_the_change_between_a_failed_and_a_passed_run_is_a_draft(lessons, project):
    commit(project, "Add a cart", 1, **{"cart.py": "def total(items):\n    return 3\n"})
    body = "The sum was wrong because it ignored the items."
    fixed = {"cart.py": "def total(items):\n    return sum(items)\n", ".gitignore": "*.xml\n"}
    commit(project, f"fix: add up the items\n\n{body}", 2, **fixed)
    write_reports(project, KEY)
    shown = lessons("mine", "--junit", "red.xml", "green.xml", "--show-prompt")
    assert drafts_of(lessons) == []
    assert "return sum(items)" in shown.out
    done = lessons("mine", "--junit", "red.xml", "green.xml")
    assert done.out == "1 test repaired; 1 draft written; next: lessons review\n"
    (draft,) = drafts_of(lessons)
    assert draft["title"] == "fix: add up the items"
    for part in ("-    return 3", "+    return sum(items)", body, "paths: [cart.py]"):
        assert part in draft["text"]
    assert "AssertionError: assert 3 == 4" in draft["text"].partition("symptoms:")[2][:120]
    assert "test_cart::test_total" in draft["text"]
    assert KEY not in draft["text"]
    again = lessons("mine", "--junit", "red.xml", "green.xml", "--commits", "HEAD~1", "HEAD")
    assert "has a draft already" in again.err
    lessons("review", "--discard", draft["id"])
    assert find(lessons, "--junit", "red.xml", "green.xml")["drafts"] == []


def test_runs_without_a_repaired_test_or_a_changed_file_are_refused(lessons, project):
    commit(project, "Add a cart", 1, **{"cart.py": "def total(items):\n    return 3\n"})
    commit(project, "Expect 3", 2, **{"test_cart.py": "from cart import total\n"})
    write_reports(project)
    for reports, said in (
        (("green.xml", "red.xml"), "no test that failed in green.xml passes in red.xml"),
        (("red.xml", "green.xml"), "only tests changed between"),
        (("red.xml", "cart.py"), "cart.py is not XML"),
        (("red.xml", "absent.xml"), "absent.xml"),
    ):
        refused = lessons("mine", "--junit", *reports)
        assert refused.code
        assert said in refused.err
        assert refused.err.count("\n") == 1
    refused = lessons("mine", "--junit", "red.xml", "green.xml", "--commits", "nowhere", "HEAD")
    assert "'nowhere' is not a commit of this clone" in refused.err
    assert drafts_of(lessons) == []


def test_a_mined_card_is_traced_back_to_its_commit(lessons, project, write_history):
    fix = write_history(project)
    lessons("mine", "--draft", "1")
    (listed,) = json.loads(lessons("review", "--list", "--json").out)
    draft, path = listed["id"], pathlib.Path(listed["path"])
    text = path.read_text()
    assert f'resource: "commit:{fix[:12]}"' in text
    assert "quote: Without the key the bank silently books a retried charge twice." in text
    text = text.replace("symptoms: []", "symptoms: [retry a charge, the bank answers late]")
    text = text.replace(
        "## Prevention Checklist\n", "## Prevention Checklist\n\n- [ ] Send a key\n"
    )
    text = text.replace("## Root Cause\n", "## Root Cause\n\nThe bank books each request twice.\n")
    path.write_text(text)
    accepted = lessons("review", "--accept", draft)
    assert accepted.code == 0, accepted.err
    card = accepted.out.strip()
    line = f"from commit {fix[:12]}: Send the idempotency key on a retry, 2026-10-20"
    assert line in lessons("why", card).out
    assert line in lessons("show", card).err
    (source,) = json.loads(lessons("show", card, "--json").out)["sources"]
    assert source["resource"] == f"commit:{fix[:12]}"
    # A clone without the commit still has what the card says.
    card_text = (project / card).read_text().replace(fix[:12], "0" * 12)
    (project / card).write_text(card_text)
    said = lessons("why", card).out
    assert "Send the idempotency key on a retry, 2026-10-20" in said
    assert "(not in this repository)" in said
