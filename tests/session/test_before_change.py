"""A lesson is said again at the act that it is about, and ``gate: once`` refuses that act once."""

import pytest

from lessons_kb import Brain
from lessons_kb.text.token_estimate import estimate_tokens
from tests.kit import Claude, write
from tests.sessions import card, record_failure

ONCE = card(
    "Retries of the payment client charged customers twice",
    "Send an idempotency key with each charge", "Test that a retried charge is one charge",
    cause="The gateway takes each request without a key for a new charge.", gate="once",
    paths='["pay/client.py"]',
    detect=r"""[{regex: 'retry\s*=\s*True', files: ["*.py"]}, {command: '\bpay-cli\s+replay\b'}]""",
)  # fmt: skip
LINE = "charge(order, retry=True)"
PROMPT = "Let the payment client retry a charge when the gateway times out"
TELEGRAM = "Add a Telegram command that runs a shell script on the server"
ITEM = "Send an idempotency key with each charge"
BLOCK = "[ACTIVE LESSONS"


@pytest.fixture(autouse=True)
def once(project):
    write(project, "lessons/charged-twice.md", ONCE)
    for name in ("pay/client.py", "pay/other.py", "bot/app.py", "bot/more.py", "migrations/1.sql"):
        write(project, name, "x = 1\n")
    (project / "transcript.jsonl").touch()
    with Brain.open(project, directory=project) as brain:
        brain.refresh()
    return project


@pytest.fixture(params=["claude-code", "codex"])
def either(request, project):
    return Claude(project, agent=request.param)


def edit(claude, file, number=1, new="x = 2", **fields):
    return claude.edit(file, number, new=new, old="x = 1", **fields)


def test_what_came_with_the_prompt_is_said_again_before_the_change(either):
    assert BLOCK in either.prompt(TELEGRAM).context
    said = edit(either, "bot/app.py").context
    assert said == (
        "Before this, once more: “Telegram remote execution must require an allowlist” "
        "(telegram-allowlist.md)\n"
        "- [ ] Reject every chat id that is not on the allowlist\n"
        "- [ ] Cover the rejection with a test"
    )
    assert estimate_tokens(said) <= 60
    assert edit(either, "bot/app.py", 2) == {}


@pytest.mark.parametrize("word", ["identifier-", "식별자를 보낸다 "])
def test_what_is_long_is_cut(claude, project, word):
    path = project / "lessons/telegram-allowlist.md"
    text = path.read_text().replace("execution must require an allowlist", f"execution {word * 30}")
    path.write_text(text.replace("Reject every", f"Reject {word * 30}"))
    claude.prompt(TELEGRAM)
    said = edit(claude, "bot/app.py").context
    assert "- [ ] Reject" in said
    assert estimate_tokens(said) <= 120


LONG_FILE = (
    "a-hand-edited-page-under-docs-python-sdk-is-overwritten-by-the-bot-and-nobody-sees-it.md"
)
LONG_TITLE = "A hand-edited page under docs/python-sdk is overwritten by the bot and nobody sees it"
LONG_ITEM = "Change the docstring in src, and let the bot write the page in docs/python-sdk from it"


def add_page_card(project, folder, *items):
    text = card(LONG_TITLE, *items, cause="The bot writes the pages.", paths='["bot/page.py"]')
    write(project, f"{folder}/{LONG_FILE}", text)
    write(project, "bot/page.py", "x = 1\n")
    (project / "lessons/telegram-allowlist.md").unlink()
    with Brain.open(project, directory=project) as brain:
        brain.refresh()


def test_a_reminder_has_the_whole_title_and_a_whole_item_of_a_long_card(claude, project):
    add_page_card(project, "lessons", LONG_ITEM, f"{LONG_ITEM}, as the second item")
    assert BLOCK in claude.prompt(LONG_TITLE).context
    said = edit(claude, "bot/page.py").context
    assert said == f"Before this, once more: “{LONG_TITLE}” ({LONG_FILE})\n- [ ] {LONG_ITEM}"
    assert 60 < estimate_tokens(said) <= 120


def test_a_reminder_cuts_only_at_a_word(claude, project):
    words = [f"docstring{number}" for number in range(120)]
    add_page_card(project, "lessons", " ".join(["Change", *words]))
    assert BLOCK in claude.prompt(LONG_TITLE).context
    said = edit(claude, "bot/page.py").context
    item = said.partition("- [ ] ")[2]
    assert item.endswith("…")
    assert set(item.removesuffix(" …").removesuffix("…").split()) <= {"Change", *words}
    assert estimate_tokens(said) <= 120


def test_a_reminder_names_the_folder_if_two_cards_have_one_file_name(claude, project):
    add_page_card(project, "lessons/bot", LONG_ITEM)
    other = card("Another mistake", "Look at it", cause="Nobody looked.", paths='["x.py"]')
    write(project, f"lessons/web/{LONG_FILE}", other)
    with Brain.open(project, directory=project) as brain:
        brain.refresh()
    assert BLOCK in claude.prompt(LONG_TITLE).context
    assert f"(lessons/bot/{LONG_FILE})" in edit(claude, "bot/page.py").context


def test_a_broad_glob_reminds_once_and_a_narrow_one_for_each_file(claude, project):
    claude.prompt(TELEGRAM)
    assert edit(claude, "bot/app.py", 1).context
    assert edit(claude, "bot/more.py", 2) == {}
    path = project / "lessons/telegram-allowlist.md"
    path.write_text(path.read_text().replace("bot/**", "bot/*.py"))
    assert edit(claude, "bot/app.py", 3, session_id="s2").context
    assert edit(claude, "bot/more.py", 4, session_id="s2").context


def test_after_four_turns_or_a_compaction_once_more(claude):
    claude.prompt(TELEGRAM)
    assert edit(claude, "bot/app.py", 1).context
    for number in range(2, 6):
        assert edit(claude, "bot/app.py", number) == {}
        claude.prompt(f"now the changelog, part {number}", number)
    assert edit(claude, "bot/app.py", 6).context.startswith("Before this, once more:")
    claude.say("SessionStart", source="compact")
    assert edit(claude, "bot/app.py", 7).context.startswith("Before this, once more:")


def test_an_item_that_was_done_is_not_among_the_open_ones(claude, project):
    path = project / "lessons/telegram-allowlist.md"
    shown = "the allowlist <!-- shown-by: allow -->\n- Cover"
    path.write_text(path.read_text().replace("the allowlist\n- Cover", shown))
    claude.prompt(TELEGRAM)
    edit(claude, "src.py", 1, "if chat not in allowed: return", when="Post", tool_response={})
    said = edit(claude, "bot/app.py", 2).context
    assert "Cover the rejection" in said
    assert "Reject every" not in said


def test_a_detect_match_brings_the_checklist_of_a_card_that_is_known(claude, project):
    write(project, "lessons/charged-twice.md", ONCE.replace("gate: once\n", ""))
    assert BLOCK in claude.prompt(PROMPT).context
    said = edit(claude, "pay/other.py", 1, LINE).context
    assert f"pay/other.py:1: `{LINE}` — lessons/charged-twice.md" in said
    assert f"- [ ] {ITEM}" in said
    assert BLOCK not in said


@pytest.mark.parametrize(
    ("file", "new"), [("pay/client.py", "x = 2"), ("pay/other.py", LINE)], ids=["paths", "detect"]
)
def test_the_first_matching_change_is_refused_once(either, file, new):
    token = {"LESSONS_HOOK_TOKEN": "the first event"}
    first = edit(either, file, 1, new, environment=token)
    assert first.refused.startswith("A lesson holds this back once, before ")
    assert "It will pass when you propose it again" in first.refused
    assert BLOCK in first.refused
    assert ITEM in first.refused
    assert first.context == ""
    again = {"LESSONS_HOOK_AGAIN": "1", **token}
    assert edit(either, file, 1, new, environment=again) == first
    assert edit(either, file, 2, new) == {}
    assert not edit(either, file, 3, f"{new}  # and now").refused
    assert edit(either, file, 4, new, session_id="s2").refused


def test_a_refusal_after_the_prompt_has_the_whole_title_and_items_and_the_path_once(
    either, project
):
    title = "Retries of the payment client charged customers twice, because no request had a key"
    path = "lessons/retries-of-the-payment-client-charged-customers-twice-because-no-request.md"
    items = (
        "Send an idempotency key with each charge, and the same key with each retry of the charge",
        "Test that a charge that is retried after a timeout of the gateway is one charge",
        "Write the key to the log of the payment client before the first request of a charge",
        "Count the charges of the day",
    )
    (project / "lessons/charged-twice.md").unlink()
    cause = "The gateway takes each request without a key for a new charge."
    text = card(title, *items, cause=cause, gate="once", paths='["pay/client.py"]')
    write(project, path, text)
    assert BLOCK in either.prompt(PROMPT).context
    assert edit(either, "pay/client.py").refused == (
        "A lesson holds this back once, before pay/client.py is changed or run: "
        f"“{title}” ({path}). It will pass when you propose it again, changed or as it is.\n\n"
        f"Before this, once more: “{title}”\n"
        f"- [ ] {items[0]}\n- [ ] {items[1]}\n- [ ] {items[2]}"
    )


def test_a_command_is_refused_once_reading_is_not(either, project):
    assert either.call("Pre", "Read", {"file_path": str(project / "pay/client.py")}) == {}
    assert either.run("cat pay/client.py", 2) == edit(either, "pay/other.py", 3) == {}
    assert "`pay-cli replay" in either.run("pay-cli replay --since yesterday", 4).refused
    assert either.run("pay-cli replay --since yesterday", 5) == {}


def test_what_is_refused_brings_the_lesson_that_is_known_in_short(claude):
    claude.prompt(PROMPT)
    said = edit(claude, "pay/client.py").refused
    assert f"- [ ] {ITEM}" in said
    assert BLOCK not in said


def test_the_plugin_of_opencode_refuses_by_failing_the_call(session, project):
    agent = session("opencode")
    change = {"filePath": "pay/client.py", "oldString": "1", "newString": "2"}
    first = agent.call("Pre", "edit", change, 1)
    assert ITEM in first["refuse"]
    assert "context" not in first
    agent.call("PostFailure", "edit", change, 1, error=first["refuse"])
    with Brain.open(project, directory=project) as brain:
        assert brain.journal.events(session="s1", kinds=["edit"]) == []
    assert "refuse" not in agent.call("Pre", "edit", change, 2)


REFUSING = [
    ("gemini-cli", "replace", "decision", "reason"),
    ("copilot-cli", "edit", "permissionDecision", "permissionDecisionReason"),
    ("cursor", "Write", "permission", "agent_message"),
]


@pytest.mark.parametrize(("agent", "tool", "key", "reason"), REFUSING)
def test_each_agent_is_refused_in_its_own_words(project, session, agent, tool, key, reason):
    session = session(agent)
    change = {"file_path": str(project / "pay/client.py"), "content": "x = 2\n"}
    first = session.call("Pre", tool, change, 1)
    assert first[key] == "deny"
    assert ITEM in first[reason]
    assert key not in session.call("Pre", tool, change, 2)


def test_a_refusal_of_ours_is_no_failure_and_no_draft(claude, project, drafted):
    claude.prompt("go on")
    text = f"PreToolUse:Edit hook error: {edit(claude, 'pay/client.py').refused}"
    record_failure(claude, 1, tool="Edit", text=text, toolDenialKind="permission-rule")
    claude.prompt("and on", 2)
    claude.stop()
    drafted()
    with Brain.discover(project) as brain:
        kinds = [one.kind for one in brain.journal.events(session="s1")]
        assert kinds == ["prompt", "prompt", "answer"]
        assert brain.drafts.all() == []


def test_a_dialog_that_shows_no_reason_comes_after_it(claude):
    first = edit(claude, "migrations/1.sql", 1)
    assert (
        "A lesson asks for your permission before migrations/1.sql is changed: “Never "
        "drop a column in the release that stops writing it” (lessons/drop-column.md)."
    ) in first.line
    assert "Drop the column one release later" in first.refused
    assert "The user is asked when you propose it again" in first.refused
    assert edit(claude, "migrations/1.sql", 2).asked
    assert edit(claude, "migrations/1.sql", 3) == {}


@pytest.mark.parametrize(("new", "asks"), [("-- release 2", False), ("drop column", True)])
def test_what_does_as_the_card_says_is_not_asked_about(claude, project, new, asks):
    path = project / "lessons/drop-column.md"
    path.write_text(path.read_text().rstrip() + " <!-- shown-by: release \\d -->\n")
    said = claude.run(f"cat > migrations/2.sql <<'EOF'\n{new}\nEOF")
    assert bool(said.asked) == asks
    assert said.context


def fill(project, number):
    for place in range(number):
        write(project, f"src/part{place}/job.py", "x = 1\n")


JOB = '["src/part0/job.py"]'
ADVISED = ("Keep the retries idempotent",)


@pytest.mark.slow
@pytest.mark.parametrize(("paths", "files", "cards", "items", "given"), [
    (JOB, 20, 1, ADVISED, True),
    ('["job.py"]', 20, 1, ADVISED, True),
    ('["src/part0/*.py"]', 20, 1, ADVISED, True),
    ('["src/**/*.py"]', 3, 1, ADVISED, True),
    ('["src/**/*.py"]', 20, 1, ADVISED, False),
    ('["src/"]', 20, 1, ADVISED, False),
    ('["**/*.py"]', 3, 1, ADVISED, False),
    ('["*job.py"]', 1, 1, ADVISED, False),
    (JOB, 1, 3, ADVISED, True),  # of several cards on one file the best two are given
    (JOB, 1, 1, (), False),  # nothing to do
])  # fmt: skip
def test_a_glob_alone_gives_a_card_where_it_stands_for_few_files(
    claude, project, paths, files, cards, items, given
):
    fill(project, files)
    for number in range(cards):
        write(project, f"lessons/jobs{number}.md", card(f"Retries {number}", *items, paths=paths))
    claude.prompt("Go on")
    assert ("lessons/jobs0.md" in claude.edit("src/part0/job.py", 1).context) == given


def test_of_a_broad_glob_the_names_of_the_code_speak(claude, project):
    fill(project, 20)
    item = "In `lease_manager` call `releaseLease` before `retryJob`"
    write(project, "lessons/jobs.md", card("Retries of jobs", item, paths='["src/**/*.py"]'))
    claude.prompt("Go on")
    assert claude.edit("src/part0/job.py", 1, new="retry(job)").context == ""
    new = (
        "lease_manager.retryJob(job)  # keep the retries: before lease_manager.releaseLease(job)\n"
    )
    assert "lessons/jobs.md" in claude.edit("src/part0/job.py", 2, new=new).context


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "tool", "path"),
    [("gemini-cli", "replace", "file_path"), ("opencode", "edit", "filePath")],
)
def test_a_card_before_a_call_is_told_to_the_user_once_it_can_be(agent, tool, path, session):
    session, said = session(agent), []
    done = {"output": "Edited.", "tool_response": {"llmContent": "Successfully modified file"}}
    for number in (1, 2):
        change = {path: "bot/app.py", "oldString": f"{number}", "newString": "x"}
        said.append(session.call("Pre", tool, change, number).line)
        said.append(session.call("Post", tool, change, number, **done).line)
    line = "Lessons: 1 (“Telegram remote execution must require an allowlist”)"
    assert said == ["", line, "", ""]


def guard(number, severity="medium", occurrences=1, paths='["pay/tax.py"]'):
    return card(
        f"Tax rule number {number} was read from the wrong table", f"Read rule {number} again",
        cause=f"Table {number} is old.", severity=severity, occurrences=occurrences, paths=paths,
    )  # fmt: skip


def add_guards(project, *cards):
    for name in ("pay/tax.py", "pay/sub/tax.py"):
        write(project, name, "x = 1\n")
    for number, text in enumerate(cards):
        write(project, f"lessons/tax-{number}.md", text)
    with Brain.open(project, directory=project) as brain:
        brain.refresh()


@pytest.mark.parametrize("count", [3, 5, 49])
def test_of_many_cards_on_a_file_the_best_two_arrive_and_the_others_by_title(
    either, project, count
):
    best = {1: guard(1, "high"), count - 1: guard(count - 1, occurrences=4)}
    add_guards(project, *(best.get(number) or guard(number) for number in range(count)))
    said = edit(either, "pay/tax.py").context
    assert said.count("[ACTIVE LESSONS") == 1
    assert [f"Read rule {number} again" in said for number in (1, count - 1, 0)] == [
        True,
        True,
        False,
    ]
    assert "More lessons about pay/tax.py; open those that concern the change: “Tax rule" in said
    assert said.count("“Tax rule number") == min(count - 2, 3)
    assert ("and 44 more" in said) == (count == 49)
    # later changes of the file bring no further ones
    for number in (2, 3):
        assert edit(either, "pay/tax.py", number) == {}
    other = edit(either, "pay/tax.py", 4, session_id="s2").context
    assert "Read rule 1 again" in other


def test_a_card_that_names_the_file_goes_before_one_that_names_a_folder(claude, project):
    folder = guard(0, paths='["pay/sub/*.py"]')
    file = [guard(number, paths='["pay/sub/tax.py"]') for number in (1, 2)]
    add_guards(project, folder, *file)
    said = edit(claude, "pay/sub/tax.py").context
    assert [f"Read rule {number} again" in said for number in range(3)] == [False, True, True]
    assert "“Tax rule number 0" in said


def test_why_names_what_came_by_title(claude, project, lessons):
    add_guards(project, *map(guard, range(3)))
    claude.prompt("change the tax module")
    edit(claude, "pay/tax.py")
    why = lessons("--brain", project, "why", "--session", claude.session).out
    later, _, named = why.partition("Named by title before a change:\n")
    assert later.count("guards pay/tax.py") == 2
    assert "lessons/tax-2.md" in named
    assert "guards pay/tax.py, which other lessons guard better: named by its title" in named
