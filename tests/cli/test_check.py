"""The command check: which lessons are meant, and what is no answer."""

import json
import sys

import pytest

from tests.kit import commit, git

PROMPT = "Add a Telegram command that runs a shell script"
OTHER = "Rename the colour theme of the settings page to dusk"


def test_the_last_prompt_counts_even_if_it_was_given_nothing(lessons, brain):
    lessons("preflight", PROMPT)
    assert lessons("check", "nothing done").out.startswith("⚠")
    assert lessons("preflight", OTHER).out == ""
    done = lessons("check", "nothing done", "--fail-on", "denied,contradicted,open")
    assert (done.code, done.out) == (0, "No checklist items to check.\n")
    assert done.err == (
        "lessons: no lesson to check: none was injected for the last prompt "
        f"(“{OTHER}”); use --card ID\n"
    )
    assert lessons("check", "nothing done", "--card", "telegram").out.startswith("⚠")


def test_what_a_session_was_given_before_is_checked(lessons, brain):
    lessons("preflight", PROMPT, "--session", "s")
    assert lessons("preflight", PROMPT, "--session", "s").out == ""
    lessons("preflight", OTHER, "--session", "t")
    assert lessons("check", "nothing done", "--session", "s").out.startswith("⚠")
    assert lessons("check", "nothing done").out == "No checklist items to check.\n"


def test_no_answer_is_no_answer_unless_something_was_done(lessons, brain, tmp_path):
    for arguments in ((), ("",), ("-",), ("--card", "telegram")):
        done = lessons("check", *arguments, stdin=" \n")
        assert (done.code, done.out) == (2, "")
        assert done.err == "lessons: answer missing; pass it as an argument or on stdin\n"
    for arguments in (("--last",), ("--last", "an answer")):
        done = lessons("check", *arguments)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    (tmp_path / "done.txt").write_text("The colours of the settings page.\n")
    done = lessons("check", "--card", "telegram", "--evidence", tmp_path / "done.txt", stdin="")
    assert (done.code, done.out[0]) == (0, "⚠")


def test_a_korean_brain_is_answered_in_korean_alone(lessons, brain):
    (brain / "lessons.toml").write_text('language = "ko"\n')
    done = lessons("--brain", brain, "check", "nothing done at all", "--card", "telegram")
    first, *lines = done.out.splitlines()
    assert first.startswith("⚠ 체크리스트: ")
    assert not any("not seen" in line or "nearest" in line or "open" in line for line in lines)
    assert any(line.startswith("    보이지 않는 말: ") for line in lines)
    close = "I reject every chat id that is not on the allowlist."
    done = lessons("--brain", brain, "check", close, "--card", "telegram")
    assert "    가장 가까운 문장: " in done.out


LEFT = "The handler rejects every chat id that is not on the allowlist. Tests are for a follow-up."


def test_each_state_is_listed_with_its_evidence(lessons, brain):
    done = lessons("check", LEFT + " I cover the rejection later.", "--card", "telegram")
    assert "✗ denied: Cover the rejection with a test" in done.out
    assert "✓ shown: Reject every chat id that is not on the allowlist" in done.out
    data = json.loads(lessons("check", LEFT, "--card", "telegram", "--json").out)
    rows = {row["item"]: row for row in data["items"]}
    assert len(rows) == data["checked"]
    (shown,) = [row for row in rows.values() if row["state"] == "shown"]
    assert (shown["where"], shown["quote"]) == ("answer", LEFT.partition(". ")[0] + ".")
    assert data["unaddressed"] == [r["item"] for r in rows.values() if r["state"] != "shown"]


@pytest.mark.slow
def test_it_fails_on_the_states_that_are_asked_for(lessons, brain):
    left = "I left the test that covers the rejection for a follow-up."
    for answer, states, code in (
        ("nothing done", "open", 1), ("nothing done", "denied,contradicted", 0),
        (left, "denied", 1), (left, "contradicted", 0), (left, "contradicted, denied", 1),
    ):  # fmt: skip
        done = lessons("check", answer, "--card", "telegram", "--fail-on", states)
        assert done.code == code, (answer, states)
    done = lessons("check", "nothing", "--card", "telegram", "--fail-on", "shown")
    assert (done.code, done.out) == (2, "")
    assert "denied, contradicted, open" in done.err


def judge(tmp_path, code):
    program = tmp_path / "judge.py"
    program.write_text(f"import json, sys, time\nasked = json.load(sys.stdin)\n{code}\n")
    return f"{sys.executable} {program}"


def own_settings(tmp_path, monkeypatch, command, seconds=20):
    folder = tmp_path / "config" / "lessons-kb"
    folder.mkdir(parents=True, exist_ok=True)
    text = f"[check]\ncommand = {json.dumps(command)}\nseconds = {seconds}\n"
    (folder / "settings.toml").write_text(text)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


ANSWER_ALL = """print(json.dumps({"items": [{"id": one["id"], "state": STATE, "quote": asked["answer"]}
                                     for one in asked["items"]]}))"""


@pytest.mark.slow
def test_a_program_of_the_users_judges_and_a_brain_names_none(
    lessons, brain, tmp_path, monkeypatch
):
    for state in ("shown", "denied", "open"):
        command = judge(tmp_path, ANSWER_ALL.replace("STATE", repr(state)))
        own_settings(tmp_path, monkeypatch, command)
        data = json.loads(lessons("check", "Thirty cats.", "--card", "telegram", "--json").out)
        assert {row["state"] for row in data["items"]} == {state}
        assert data["trouble"] == ""
    (brain / "lessons.toml").write_text('[check]\ncommand = "touch pwned"\n')
    done = lessons("--brain", brain, "check", "nothing", "--card", "telegram")
    assert done.code == 2
    assert "lessons.toml:2: check.command is not a setting of a brain" in done.err


def test_it_is_told_items_answer_edits_and_commands(lessons, brain, tmp_path, monkeypatch):
    command = judge(tmp_path, f"open({str(tmp_path / 'asked')!r}, 'w').write(json.dumps(asked))")
    own_settings(tmp_path, monkeypatch, command)
    (tmp_path / "edit").write_text("a.py\nx = 1\n")
    (tmp_path / "command").write_text("make lint")
    seen = ["--evidence", tmp_path / "edit", "--evidence", tmp_path / "command"]
    lessons("check", "Thirty cats.", "--card", "telegram", *seen)
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked["answer"] == "Thirty cats."
    assert asked["edits"] == [{"path": "a.py", "text": "x = 1\n", "before": ""}]
    assert asked["commands"] == [{"line": "make lint", "failed": False}]
    assert "Cover the rejection with a test" in [one["item"] for one in asked["items"]]


@pytest.mark.slow
def test_where_the_program_fails_the_built_in_verdict_holds(lessons, brain, tmp_path, monkeypatch):
    answer = ("check", LEFT, "--card", "telegram")
    plain = json.loads(lessons(*answer, "--json").out)
    for code in (
        "print('yes')", "print('[]')", "sys.exit(3)", "time.sleep(60)", "print('x' * 2_000_000)",
        'print(\'{"items": [{"id": "1", "state": "perfect"}]}\')',
        'print(\'{"items": [{"id": "99", "state": "shown"}]}\')',
    ):  # fmt: skip
        own_settings(tmp_path, monkeypatch, judge(tmp_path, code), seconds=2)
        output = json.loads(lessons(*answer, "--json").out)
        trouble = output["trouble"]
        assert (trouble != "", trouble.count("\n")) == (True, 0), code
        assert output == {**plain, "trouble": trouble}
        assert "lessons: check.command had no say: " in lessons(*answer).out


@pytest.fixture
def project(tmp_path, lessons, monkeypatch):
    """A repository that is a brain too, with one commit."""
    root = tmp_path / "p[1]*"
    root.mkdir()
    monkeypatch.chdir(root)
    lessons("init", ".")
    commit(root, "start")
    return root


CARD = """\
---
type: lesson
title: Telegram commands run for any group member
symptoms: [a Telegram chat member runs a shell script]
---

## Prevention Checklist

- Reject every chat id that is not on the allowlist
- Cover the rejection with a test
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["untracked", "committed"])
@pytest.mark.parametrize(
    "name",
    [
        "lessons/telegram.md",
        "docs/any folder/telegram.markdown",
        "lessons.toml",
        "sub/lessons.toml",
        ".lessons/drafts/telegram.txt",
        ".lessonsignore",
        "reviews/synthesis.md",
    ],
)
def test_a_brain_is_neither_query_nor_evidence_of_a_diff(lessons, project, name, how):
    commit(project, **{"lessons/own.md": CARD})
    quoted = CARD if name.endswith(("md", "markdown")) else CARD.replace("\n", "\n# ")
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("# " * (quoted != CARD) + quoted, encoding="utf-8")
    revision = "--diff"
    if how == "committed":
        git(project, "add", "-f", name)
        git(project, "commit", "-q", "-m", "quote")
        revision = "--diff=HEAD~1"
    assert lessons("preflight", revision).out == ""
    done = lessons("check", revision, "--card", "own", "--fail-on", "denied,contradicted,open")
    assert done.code == 1
    assert "Cover the rejection with a test" in done.out
    result = lessons("check", revision, "--card", "own")
    assert (result.code, result.out.startswith("The diff does not show")) == (0, True)
    before = lessons("why").out
    lessons("check", revision)
    assert lessons("why").out == before


def test_a_fix_beside_its_card_is_evidence(lessons, project):
    (project / "lessons" / "own.md").write_text(CARD, encoding="utf-8")
    (project / "bot.py").write_text(
        "def on_message(chat):\n"
        "    if chat.id not in ALLOWLIST:\n"
        "        return reject(chat.id)  # every chat id that is not on the allowlist\n",
        encoding="utf-8",
    )
    (project / "test_bot.py").write_text(
        "def test_rejection_covers_unknown_chats():\n    assert reject(stranger)\n",
        encoding="utf-8",
    )
    done = lessons("check", "--diff", "--card", "own", "--fail-on", "denied,contradicted,open")
    assert done.code == 0, done.out


def test_what_somebody_tries_on_the_command_line_is_no_evidence(lessons, brain):
    lessons("preflight", "Add a Telegram command that runs a shell script")
    lessons("check", "The handler rejects every chat id that is not on the allowlist.")
    found = json.loads(lessons("stats", "telegram", "--json").out)
    assert (found["injections"], found["addressed"], found["checked"]) == (0, 0, 0)


def test_a_diff_lists_the_items_that_it_does_not_decide(lessons, brain):
    commit(brain)
    (brain / "page.py").write_text("theme = 'dusk'\n")
    git(brain, "add", "-A")
    done = lessons("check", "--diff", "--card", "telegram")
    assert (done.code, done.err) == (0, "")
    head, card, *items = done.out.splitlines()
    assert head == "The diff does not show whether these items are done:"
    assert card == (
        "? Telegram remote execution must require an allowlist (lessons/telegram-allowlist.md)"
    )
    assert items == [
        "    - [ ] Reject every chat id that is not on the allowlist",
        "    - [ ] Cover the rejection with a test",
    ]
    data = lessons("check", "--diff", "--card", "telegram", "--json")
    assert json.loads(data.out)["items"] == []
    assert "the diff has no evidence about 2 items; --fail-on open lists them" in data.err
    assert "? open: " in lessons("check", "--diff", "--card", "telegram", "--fail-on", "open").out


def test_an_open_item_whose_name_was_edited_leads_to_shown_by(lessons, brain, tmp_path):
    card = lessons(
        *(
            "add",
            "Two tools had the same id",
            "--why",
            "The model repeats the id of the first tool",
        ),
        *("--do", "Generate a fresh toolUseId with uuid for each tool"),
        *("--symptom", "results of tools are mixed up", "--symptom", "the second call is lost"),
    ).out.strip()
    (tmp_path / "edit.txt").write_text("src/ollama.py\n    toolUseId=str(uuid4()),\n")
    done = lessons(
        "check", "Each tool gets an id.", "--card", card, "--evidence", tmp_path / "edit.txt"
    )
    assert "src/ollama.py: toolUseId=str(uuid4())" in done.out
    assert "`- [ ] … <!-- shown-by: REGEX -->`" in done.err
    assert "shown-by" not in lessons("check", "Nothing.", "--card", card).err
    text = (brain / card).read_text().replace("each tool\n", "each tool <!-- shown-by: uuid4 -->\n")
    (brain / card).write_text(text)
    done = lessons(
        "check", "Each tool gets an id.", "--card", card, "--evidence", tmp_path / "edit.txt"
    )
    assert "✓" in done.out
    assert "shown-by" not in done.err
