"""SPEC §10: every command as a user calls it."""

import contextlib
import datetime as dt
import functools
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from lessons_kb.brain.brain import Brain
from lessons_kb.store.handles import HandledCard, give_handles
from tests.kit import commit, git, write

Lessons = Callable[..., Any]
PROMPT = "Add a Telegram command that runs a shell script on the server"
UNRELATED = "Translate this paragraph about the history of Rome into French"
TELEGRAM = "lessons/telegram-allowlist.md"


def test_preflight_prints_the_block_and_the_scope_or_nothing(lessons, brain):
    done = lessons("preflight", PROMPT)
    assert done.code == 0
    assert done.out.startswith("[ACTIVE LESSONS — verify before finalizing]\n1. Telegram remote")
    assert done.err.startswith(f"Lessons: {done.out.count('   Why: ')} ({TELEGRAM}")
    for words in ([], ["-"]):
        assert lessons("preflight", *words, stdin=PROMPT).out == done.out
    none = lessons("preflight", UNRELATED)
    assert (none.code, none.out, none.err) == (0, "", "")
    data = json.loads(lessons("preflight", PROMPT, "--json").out)
    assert sorted(data) == [
        "block", "context", "footer", "lessons", "offered", "tokens", "withheld"
    ]  # fmt: skip
    first = data["lessons"][0]
    assert (first["id"], first["score"] > 0, bool(first["reason"])) == (TELEGRAM, True, True)
    assert all(hit["reason"] for hit in data["withheld"])
    (brain / "lessons.toml").write_text('language = "ko"\n')
    lessons("trust")
    assert lessons("preflight", PROMPT).err.startswith("교훈 ")


def test_global_options_stand_before_and_after_the_command(lessons, brain, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = lessons("--brain", brain, "--json", "list")
    after = lessons("list", "--json", "--brain", brain)
    assert before.out == after.out
    assert json.loads(after.out)


def test_list_shows_recent_cards_first_and_says_how_many_more(lessons, brain):
    lessons("bump", "telegram", "--task", "Add /restart")
    lines = lessons("list", "--limit", 3).out.splitlines()
    assert lines[0].split() == [
        "ID",
        "STAGE",
        "COUNT",
        "TITLE",
        "PROJECT",
        "LAST",
        "TASK",
        "LAST",
        "SEEN",
    ]
    assert lines[1].startswith(TELEGRAM)
    assert lines[1].endswith(f"\t{dt.date.today().isoformat()}")
    assert "Add /restart" in lines[1]
    assert len(lines) == 4
    assert "use --all" in lessons("list", "--limit", 3).err
    every = json.loads(lessons("list", "--all", "--json").out)
    assert len(every) == len(lessons("list", "--all").out.splitlines()) - 1
    archived = json.loads(lessons("list", "--status", "archived", "--json").out)
    assert [card["status"] for card in archived] == ["archived"]


def test_show_prints_the_file(lessons, brain):
    assert lessons("show", "telegram").out == (brain / TELEGRAM).read_text()
    assert json.loads(lessons("show", "telegram", "--json").out)["file"] == str(brain / TELEGRAM)


def test_no_escape_code_of_a_card_reaches_the_terminal(lessons, brain):
    (brain / "lessons/evil.md").write_text(
        "# Evil \x1b[31mred\x1b[0m \x1b]0;title\x07 zebra\u202e\n\n- item\x08\n"
    )
    for command in ("list --all", "show evil", "search zebra", "lint", "stats evil"):
        seen = lessons(*command.split())
        assert not {"\x1b", "\x07", "\x08", "\u202e"} & set(seen.out + seen.err)


@pytest.mark.slow
def test_a_budget_too_small_says_what_the_first_lesson_needs(lessons, brain):
    done = lessons("preflight", PROMPT, "--budget", "50")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(
        "lessons: the token budget is too small for any lesson; use --budget "
    )
    assert done.err.count("\n") == 1
    least = int(re.findall(r"use --budget (\d+) or more", done.err)[0])
    assert TELEGRAM in lessons("preflight", PROMPT, "--budget", least).out
    assert "ACTIVE LESSONS" not in lessons("preflight", PROMPT, "--budget", least - 1).out
    assert lessons("preflight", "Rename the dusk theme", "--budget", "50").err == ""
    with (brain / "lessons.toml").open("a") as file:
        file.write("model_context = 100\n")
    small = lessons("--brain", brain, "preflight", PROMPT)
    assert small.err == (
        "lessons: the token budget is too small for any lesson; raise `model_context`\n"
    )


def test_search_holds_nothing_back_and_explains_in_words_of_the_query(lessons, brain):
    done = lessons("search", "telegram allowlist")
    assert done.out.splitlines()[1].endswith(TELEGRAM)
    explained = lessons("search", "telegram allowlist", "--explain").out
    for words in ("bm25", "terms: ", "× occurrence"):
        assert words in explained
    korean = lessons("search", "텔레그램에서 매출을 자정으로", "--explain").out
    assert "terms: 매출을, 자정으로" in korean


def test_the_question_of_delete_names_a_card_as_the_answer_does(answer, lessons, brain):
    """A name may contain a Hangul filler, which counts as printable but which nobody sees."""
    hidden = "lessons/zeb\u3164ra.md"
    write(brain, hidden, "# Zebra\n\n- item\n")
    refused = answer("delete", hidden, typed="n\n")
    assert "Move lessons/zebra.md to the trash?" in refused
    assert (brain / hidden).exists()
    agreed = answer("delete", hidden, typed="y\n")
    assert "Move lessons/zebra.md to the trash?" in agreed
    assert "lessons/zebra.md moved to the trash" in agreed
    assert not (brain / hidden).exists()


def test_bump_says_that_a_template_reaches_no_agent(lessons, brain):
    path = lessons("create", "The cache outlives its user").out.strip()
    bumped = lessons("bump", path)
    assert bumped.out == f"{path} seen 2×\n"
    assert f"{path} is still the template, so no agent gets it; fill it in" in bumped.err


@pytest.mark.slow
def test_bump_ignore_archive_restore_delete(lessons, brain):
    write(brain, "docs/telegram.md", "# Telegram\n\nA note.\n")
    assert lessons("bump", "telegram", TELEGRAM).out == f"{TELEGRAM} seen 6×\n", "once a command"
    assert lessons("ignore", "telegram").out == f"{TELEGRAM} ignored\n"
    assert "[ignored] Telegram" in lessons("list", "--status", "ignored").out
    assert TELEGRAM not in lessons("preflight", PROMPT).out
    assert lessons("archive", "telegram").out == f"{TELEGRAM} archived\n"
    done = lessons("restore", "nothing-like-it", "telegram")  # it goes on after one that fails
    assert (done.code, done.out) == (2, f"{TELEGRAM} is active again\n")
    assert "nothing-like-it" in done.err
    assert lessons("restore", "telegram").out == f"{TELEGRAM} is already active\n"
    refused = lessons("delete", "telegram")
    assert (refused.code, refused.err.count("\n"), "--yes" in refused.err) == (2, 1, True)
    assert "the trash is empty" in lessons("restore").err
    assert lessons("delete", "telegram", "--yes").out == f"{TELEGRAM} moved to the trash\n"
    assert not (brain / TELEGRAM).exists()
    listed = lessons("restore")
    assert (listed.code, TELEGRAM in listed.out) == (0, True)
    assert [one["path"] for one in json.loads(lessons("--json", "restore").out)] == [TELEGRAM]
    assert lessons("restore", "telegram").out == f"{TELEGRAM} restored from the trash\n"
    assert TELEGRAM in lessons("preflight", PROMPT).out


BODY = "# Own title\n\n## Root Cause\n\nA cause\n\n## Prevention Checklist\n\n- [ ] Do it\n"


@pytest.mark.parametrize(
    "text",
    [
        f"---\ntype: lesson\nseverity: low\n---\n\n{BODY}",
        f"---\ntype: lesson\nstatus: active\nseverity: low\n---\n\n{BODY}",
        f"---\ntype: lesson # mine\n---\n\n{BODY}".replace("\n", "\r\n"),
        BODY,
        f"\ufeff{BODY}".replace("\n", "\r\n"),
    ],
)
@pytest.mark.parametrize("command", ["ignore", "archive"])
def test_restore_writes_the_bytes_from_before(lessons, brain, text, command):
    card = brain / "lessons" / "own-title.md"
    card.write_bytes(text.encode())
    assert lessons(command, "own-title").code == 0
    assert card.read_bytes() != text.encode()
    assert lessons("restore", "own-title").out == "lessons/own-title.md is active again\n"
    assert card.read_bytes() == text.encode()


def test_a_deleted_card_is_restored_by_its_handle(lessons, brain):
    with contextlib.closing(Brain(str(brain))) as opened:
        card = HandledCard(brain=opened.state_name, card=TELEGRAM)
    handle = give_handles([card])[card]
    assert lessons("delete", handle, "--yes").out == f"{TELEGRAM} moved to the trash\n"
    assert lessons("restore", handle).out == f"{TELEGRAM} restored from the trash\n"


@pytest.mark.parametrize("words", [("rules", "--for", "agents-md"), ("okf", "bundle")])
def test_a_form_with_files_of_its_own_refuses_an_output_file(lessons, brain, words):
    refused = lessons("export", *words, "-o", "out.md")
    assert refused.code == 2
    assert "leave out -o" in refused.err
    assert not (brain / "AGENTS.md").exists()


def test_check_names_what_is_not_visible(lessons, brain):
    lessons("preflight", PROMPT)
    done = lessons("check", stdin="I reject every chat id that is not on the allowlist.")
    assert done.code == 0
    assert done.out.startswith("⚠ Checklist: 1 open, 1 shown\n")
    assert "  ? open: Cover the rejection with a test" in done.out
    assert "Cover the rejection with a test" in done.out
    assert lessons("check", "nothing done", "--fail-on", "denied,contradicted,open").code == 1
    sarif = json.loads(lessons("check", "nothing", "--card", "telegram", "--format", "sarif").out)
    result = sarif["runs"][0]["results"][0]
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == TELEGRAM
    assert location["region"]["startLine"] > 1
    github = lessons("check", "nothing", "--card", "telegram", "--format", "github").out
    assert github.startswith(f"::warning file={TELEGRAM},title=lessons%3A open,line=")


@pytest.mark.slow
def test_check_and_preflight_of_a_diff(lessons, brain, tmp_path, monkeypatch):
    repo = tmp_path / "bot"
    commit(repo, README="")
    code = "def on_telegram_message(update):\n    # run the shell script for the telegram chat\n"
    write(repo, "bot.py", f"{code}    subprocess.run(update.message.text)\n")
    monkeypatch.chdir(repo)
    run = functools.partial(lessons, "--brain", brain)
    assert TELEGRAM in run("preflight", "--diff").out
    commit(repo)
    assert run("preflight", "--diff").out == ""
    assert TELEGRAM in run("preflight", "--diff", "HEAD~1..HEAD").out
    done = run("check", "--diff", "HEAD~1...HEAD", "--fail-on", "denied,contradicted,open")
    assert done.code == 1
    assert "Cover the rejection with a test" in done.out
    bad = run("preflight", "--diff", "no-such-revision")
    assert (bad.code, bad.out, bad.err.count("\n")) == (2, "", 1)


def test_index_accounts_for_every_file(lessons, brain):
    files = len(list(brain.rglob("*.md")))
    done = lessons("index")
    assert (done.out.startswith(f"{files} files: "), done.err) == (True, "")
    (data,) = json.loads(lessons("index", "--rebuild", "--json").out)
    assert data["files"] == files == data["cards"] + data["notes"] + data["unusable"]
    (brain / "lessons.toml").write_text("[index]\nmax_files = 2\n")
    out = lessons("--brain", brain, "index").out  # what is left out is a problem and no file
    assert out.startswith("2 files: 2 cards, 0 notes, 0 unusable; 1 problem ")


def test_lint_names_file_line_and_fix(lessons, brain, at_terminal):
    assert lessons("lint").code == 0
    (brain / "lessons/bad.md").write_text("---\nseverity: huge\ntype: lesson\n---\n# Bad thing\n")
    lines = lessons("lint").out.splitlines()
    assert lines[0].startswith("lessons/bad.md:2: warning wrong-value: ")
    assert any(line.startswith("lessons/bad.md:2: ") and "→" in line for line in lines)
    assert sum(line.startswith("lessons/bad.md:") for line in lines) > 2
    shown = at_terminal("lint")  # which names a file once
    assert [line for line in shown if "bad.md" in line] == ["lessons/bad.md"]
    assert any(line.startswith("  2: ") for line in shown)
    assert max(map(len, shown)) <= 80
    (brain / "lessons/worse.md").write_bytes(b"\xff")
    assert lessons("lint").code == 1
    assert lessons("lint", "--fail-on", "never").code == 0
    assert json.loads(lessons("lint", "--json").out)
    assert lessons("lint", "--format", "github").out.startswith("::")


def test_index_doctor_and_lint_count_the_same(lessons, brain):
    (brain / "lessons" / "bad.md").write_text("---\ntitle: [\n")
    (brain / "lessons" / "dangling.md").symlink_to("/nowhere")
    (brain / "lessons" / "odd.md").write_text(
        "---\ntitle: Odd\nseverity: urgent\npaths: ['[a']\n---\n## Checklist\n\n- be careful\n"
    )
    counted = lessons("index").out
    assert "; 4 problems (see `lessons lint`); " in counted
    census = counted.partition(";")[0]
    assert census.endswith(", 2 unusable")
    output = lessons("doctor").out.splitlines()
    assert any(line.startswith(f"✓ index: {census}; ") for line in output)
    assert lessons("doctor").code == lessons("doctor", "--fail-on", "error").code == 1
    assert len([line for line in output if line.startswith("✗ file: ")]) == 2
    found = json.loads(lessons("lint", "--json").out)
    assert sum(one["level"] == "error" for one in found) == 2
    glob = next(one for one in found if one["rule"] == "bad-glob")
    assert (glob["path"], glob["line"], glob["level"]) == ("lessons/odd.md", 4, "warning")
    said = lessons("lint").err
    assert said.startswith("lessons: 2 errors, ")
    advice = len(found) - 4
    assert said.endswith(f"; {advice} of them advice\n")
    for name in ("bad", "dangling", "odd"):
        (brain / "lessons" / f"{name}.md").unlink()
    (brain / "lessons" / "odd.md").write_bytes(b"\xff")
    assert lessons("lint").err.startswith("lessons: 1 error, ")
    assert "; 1 problem (" in lessons("index").out


def test_config_names_values_and_origins(lessons, brain):
    (brain / "lessons.toml").write_text("[preflight]\nbudget = 1000\n")
    lessons("trust")
    data = json.loads(lessons("config", "--json").out)
    assert data["preflight.budget"] == {"value": 1000, "origin": "lessons.toml:2"}
    assert data["language"]["origin"] == "default"
    (brain / "lessons.toml").write_text("[preflight]\nbudget = true\n")
    bad = lessons("trust")
    assert bad.code == 2
    assert bad.err == "lessons: lessons.toml:2: preflight.budget must be a whole number, not True\n"


@pytest.mark.slow
def test_an_untrusted_brain_is_silent_with_one_hint(lessons, brain):
    lessons("trust", "--revoke")
    done = lessons("preflight", PROMPT)
    assert (done.code, done.out) == (0, "")
    assert done.err.count("\n") == 1
    assert "lessons trust" in done.err
    listed = lessons("list")  # a person reads the cards before trusting them
    assert "[not trusted]" in listed.out
    assert "lessons trust" in listed.err
    assert TELEGRAM in lessons("--brain", brain, "preflight", PROMPT).out
    lessons("trust")
    assert TELEGRAM in lessons("preflight", PROMPT).out


BAD_INPUT = [
    (["nonsense"], "No such command 'nonsense'"),
    (["bump"], "Missing argument 'ID...'"),
    (["bump", "telegrm-allowlist"], "did you mean lessons/telegram-allowlist.md"),
    (["show", "telegarm"], "did you mean lessons/telegram-allowlist.md"),
    (["show", "Telegram remote execution must require an alow list"], "did you mean lessons/tel"),
    (["show", "xylophone"], "no card named 'xylophone'; see `lessons list`"),
    (["trial", "nope.toml"], "cannot read nope.toml: No such file"),
    (["review", "some-draft"], "Try `lessons review --show some-draft`"),
    (["show", "zzz"], "lessons list"),
    (["create", ""], "title"),
    (["create", "x", "--type", "poem"], ": --type must be one of"),
    (["create", "x", "--on-duplicate", "never"], ": --on-duplicate must be one of"),
    (["import", "memory", "x.md", "--near", "no"], ": --near must be one of"),
    (["export", "xml"], ": FORMAT must be one of"),
    (["--brain", "lessons.toml", "list"], "--brain lessons.toml is a file; give the folder"),
    (["--brain", "lessons/telegram-allowlist.md", "list"], "of a brain, such as .\n"),
    (["init", "lessons.toml"], "lessons.toml is not a folder; name one, as in `lessons init "),
    (["init", "lessons.toml/brain"], "lessons.toml is not a folder; name one, as in `lessons init"),
    (["lint", "lessons.toml"], "lint lessons.toml is a file; give the folder"),
    (["import", "review", "lessons.toml"], "no table with the columns Claim and State; give"),
    (["create", "x", "--severity", "huge"], "severity must be one of"),
    (["list", "--sort", "colour"], "--sort must be one of"),
    (["list", "--status", "gone"], "--status must be one of"),
    (["list", "--severity", "urgent"], "--severity must be one of"),
    (["list", "--type", "poem"], "--type must be one of"),
    (["check", "x", "--format", "xml"], "--format must be one of"),
    (["preflight", "x", "--budget", "-1"], "--budget"),
    (["--brain", "nowhere", "list"], "lessons init"),
    (["check", "--evidence", "nowhere.txt", "x"], "cannot read nowhere.txt"),
    (["search", "x", "--type", "poem"], "--type must be one of"),
    (["search", " "], "query missing"),
    (["why", ""], "the prompt is empty"),
    (["doctor", "--fail-on", "nonsense"], "--fail-on must be one of"),
    (["archive"], "give either the cards to archive or --stale"),
    (["archive", "telegram", "--stale"], "give either the cards to archive or --stale"),
    (["events", "--kind", "oops"], "--kind must be one of prompt, answer"),
    (["events", "--since", "yesterday"], "--since 'yesterday' is not a time; write 30m, 2h"),
    (["events", "--limit", "0"], "--limit"),
    (["review", "--list", "--accept", "x"], "use only one of --list"),
    (["review", "--on-duplicate", "ask"], "--on-duplicate must be one of fail, new"),
    (["review", "--accept", "absent"], "absent"),
    (["rename", "no-such-card", "A title"], "no-such-card"),
    (["rename", "telegram", " "], "title"),
    (["report", "-o", "reprots/r.html"], "reprots; create it first"),
    (["report", "-o", "-", "--json"], "--json and -o - both write to stdout"),
    (["mine", "--since", "soon"], "--since must be a date such as 2026-01-31"),
    (["add", "-", "--why", "because of that"], "leave the other options out"),
]


def test_bad_input_is_one_line_that_says_what_to_do(lessons, brain):
    for arguments, says in BAD_INPUT:
        done = lessons(*arguments)
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("lessons: ")
        assert done.err.count("\n") == 1
        assert says in done.err, arguments


def test_the_unexpected_is_one_line_too(lessons, brain, monkeypatch):
    monkeypatch.setattr("lessons_kb.cli.commands.list_cards.open_to_read", lambda: 1 / 0)
    done = lessons("list")
    assert done.code == 2
    said = "ZeroDivisionError: division by zero; run again with LESSONS_DEBUG=1 for the traceback"
    assert done.err == f"lessons: internal error: {said}\n"


def test_init_and_trust_in_words(lessons, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    none = lessons("list")
    assert (none.code, "lessons init" in none.err) == (2, True)
    made = lessons("init")
    assert "withhold" not in made.err
    assert made.out == (f"{tmp_path}: created lessons/, lessons.toml, .lessons/\n")
    assert "already" in lessons("init").out
    assert lessons("lint").code == 0
    assert '`lessons add "what went wrong"`' in lessons("list").err
    made = lessons("--brain", "x", "init")
    assert made.out.startswith(f"{tmp_path}/x: created lessons/")
    assert made.err.startswith('lessons: next: `lessons --brain x add "what went wrong"`')
    assert lessons("--brain", "x", "init", "x").code == 0
    assert lessons("--brain", "x", "init", "y").code == 2
    assert lessons("--brain", "x", "--brain", "y", "init").code == 2
    assert not (tmp_path / "y").exists()


@pytest.mark.slow
def test_the_real_command_in_a_pipe(brain):
    """One real process: entry point, encoding, a reader that closes early."""
    script = os.path.join(os.path.dirname(sys.executable), "lessons")
    command = f"'{script}' list --all | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    ascii_only = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0", "LC_ALL": "C"}
    done = subprocess.run(
        [script, "preflight", PROMPT], capture_output=True, text=True, check=False, env=ascii_only
    )
    assert done.returncode == 0
    assert "ACTIVE LESSONS" in done.stdout


def test_init_names_files_of_lessons_that_its_brain_does_not_contain(
    lessons, tmp_path, monkeypatch
):
    card = "---\ntitle: A lock was never released\n---\n\n## Solution\n\n- Release it\n"
    write(tmp_path, "shop/docs/solutions/lock.md", card)
    git(tmp_path / "shop", "init", "-q")
    monkeypatch.chdir(tmp_path / "shop")
    made = lessons("init", "brain")
    assert "found docs/solutions (1 file); `lessons import --all` makes cards of them" in made.err
    assert "docs/solutions/lock.md" in lessons("import", "--all", "--dry-run").out


def test_init_makes_only_what_a_project_with_cards_lacks(lessons, tmp_path, monkeypatch):
    top = tmp_path / "shop"
    write(top, "docs/solutions/db/README.md", "# About these\n")
    for number in range(3):
        card = f"---\ntitle: Lock {number} was never released\n---\n\n## Solution\n\n- Release it\n"
        write(top, f"docs/solutions/db/lock-{number}.md", card)
    git(top, "init", "-q")
    (top / "src").mkdir()
    monkeypatch.chdir(top / "src")
    result = lessons("list")
    expected = f"lessons: 3 Markdown files in docs/solutions; run `lessons init {top}`\n"
    assert (result.code, result.err) == (2, expected)
    monkeypatch.chdir(top)
    assert lessons("list").err.endswith("run `lessons init`\n")
    assert "✗ brain: 3 Markdown files in docs/solutions → run" in lessons("doctor").out
    lessons("init", "--user")  # a brain for all projects changes nothing about it
    assert "3 Markdown files in docs/solutions; run" in lessons("list").err
    made = lessons("init")
    assert made.out == f"{top}: created lessons.toml\n"
    assert "3 cards found, not trusted yet" in made.err
    lessons("trust")
    (top / "lessons.toml").unlink()
    again = lessons("init")
    assert "3 cards found and in use" in again.err
    assert "next: `lessons setup`" in again.err
    there = sorted(path.name for path in top.iterdir() if path.name[0] != ".")
    assert there == ["docs", "lessons.toml", "src"]


NOTE = "# Servers\n\nThe quarterly rota of the Reykjavik servers is kept in the wiki.\n"
ROTA = "Update the quarterly rota of the Reykjavik servers"


@pytest.mark.slow
def test_context_stands_alone_if_asked_for_and_repeats_nothing(lessons, brain):
    write(brain, "servers.md", NOTE)
    assert lessons("preflight", ROTA).out == ""
    asked = ("preflight", ROTA, "--context")
    assert lessons(*asked).out.startswith("[CONTEXT]\nFrom servers.md:")
    both = f"{PROMPT}. {ROTA}"
    assert "From servers.md:" in lessons("preflight", both, "--context").out
    alone = lessons("preflight", both).out
    assert ("ACTIVE LESSONS" in alone, "From servers.md:" in alone) == (True, False)
    (brain / "servers.md").unlink()
    for name in ("AGENTS.md", "docs/CLAUDE.md", "GEMINI.md"):
        note = write(brain, name, NOTE)
        assert name in lessons("search", ROTA).out
        assert lessons(*asked).out == ""
        withheld = json.loads(lessons(*asked, "--json").out)["withheld"]
        assert "agents read it by themselves" in [hit["reason"] for hit in withheld], name
        note.unlink()
    lesson = "The quarterly rota of the Reykjavik servers must name a deputy"
    learned = write(brain, "learned.md", f"# Servers\n\n## Lessons\n\n- {lesson}\n")
    assert "From learned.md:" in lessons(*asked).out
    lessons("import", learned, "--yes")
    block = lessons(*asked).out  # of the card that came from it
    assert (f"1. {lesson} (" in block, "[CONTEXT]" in block) == (True, False)


@pytest.mark.slow
def test_what_is_said_follows_what_was_printed_before_it_in_one_file(tmp_path):
    command = [sys.executable, "-m", "lessons_kb.cli.entry", "init", "shop"]
    out = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "encoding": "utf-8"}
    done = subprocess.run(command, cwd=tmp_path, check=True, **out)
    made, said, *_more = done.stdout.splitlines()
    assert made.startswith(f"{tmp_path}/shop: created ".replace("/", os.sep))
    assert said.startswith("lessons: next: ")


def test_the_language_server_without_its_packages_says_how_they_are_added(
    lessons, brain, monkeypatch
):
    monkeypatch.setattr("lessons_kb.cli.commands.lsp.find_spec", lambda _name: None)
    done = lessons("lsp")
    assert done.code == 2
    assert re.search(r"`.*install.*\[lsp\].*`", done.err)


def test_commands_that_change_cards_leave_notes_alone(lessons, brain):
    """`delete timeout` took a page of documentation that began so."""
    note = brain / "docs" / "timeouts.md"
    note.parent.mkdir(exist_ok=True)
    note.write_text("# Timeouts\n\nThe default is five seconds.\n", encoding="utf-8")
    for command in (
        ("delete", "timeouts", "--yes"), ("bump", "timeouts"), ("ignore", "docs/timeouts.md"),
        ("rename", "timeouts", "Another title"), ("why", "--add-symptom", "timeouts", "a prompt"),
        ("edit", "timeouts"),
    ):  # fmt: skip
        done = lessons(*command)
        assert (done.code, "docs/timeouts.md is a note" in done.err) == (2, True), command
    assert note.exists()
    assert "five seconds" in lessons("show", "timeouts").out


def test_bump_undo_takes_back_the_last_count(lessons, brain):
    path = brain / TELEGRAM
    before = path.read_text()
    lessons("bump", "telegram")
    lessons("bump", "telegram")
    assert lessons("bump", "--undo", "telegram").out == f"{TELEGRAM} seen 6×\n"
    assert "last-seen" in path.read_text()
    assert lessons("bump", "--undo", "telegram").out == f"{TELEGRAM} seen 5×\n"
    assert "occurrences: 5" in path.read_text()
    assert len(path.read_text().splitlines()) == len(before.splitlines())


def test_bump_undo_removes_the_example_that_the_count_added(lessons, brain):
    path = brain / TELEGRAM
    texts = [path.read_text()]
    tasks = ("Add /restart", None, "Add /deploy", "Add /stop", "Add /one", "Add /two")
    for task in tasks:
        lessons("bump", "telegram", *(("--task", task) if task else ()))
        texts.append(path.read_text())
    for text in reversed(texts[1:-1]):
        lessons("bump", "--undo", "telegram")
        assert path.read_text() == text
    lessons("bump", "--undo", "telegram")
    assert "/restart" not in path.read_text()
    bare = brain / "lessons" / "bare.md"
    bare.write_text("---\ntype: lesson\noccurrences: 2\n---\n\n# Bare title of a card\n")
    lessons("bump", "bare", "--task", "First")
    lessons("bump", "--undo", "bare")
    assert "examples" not in bare.read_text()


def test_bump_undo_of_a_card_that_was_counted_once(lessons, brain):
    created = lessons("create", "Charged twice", "--no-edit").out.strip().rpartition("lessons/")[2]
    before = (brain / "lessons" / created).read_text()
    refused = lessons("bump", "--undo", "charged-twice")
    assert refused.code == 2
    assert "was counted only once" in refused.err
    lessons("bump", "charged-twice")
    assert "last-seen" in (brain / "lessons" / created).read_text()
    lessons("bump", "--undo", "charged-twice")
    assert (brain / "lessons" / created).read_text() == before
    assert "--undo takes no --task" in lessons("bump", "--undo", "telegram", "--task", "x").err


def test_stats_of_a_card_explains_its_columns_on_a_terminal(lessons, at_terminal, brain):
    with contextlib.closing(Brain(str(brain))) as opened:
        outcomes = opened.journal.outcomes
        for counter in ("injected", "addressed", "unaddressed"):
            outcomes.count(TELEGRAM, counter, at=time.time())
    assert "MISSED:" not in lessons("stats", "telegram").out
    out = " ".join(at_terminal("stats", "telegram"))
    assert "MISSED: checklist items that were not shown to be done" in out
    assert "ADDRESSED: checklist items" in out
    assert "BUMPED:" not in out
