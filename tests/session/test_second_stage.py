"""The hook's second stage beside the full answer: it never differs in silence."""

import json
import os
import pathlib
import pwd

import pytest

from lessons_kb import Brain
from lessons_kb.brain.make_brain import trust_brain
from lessons_kb.brain.simple_patterns import find_word, is_simple
from lessons_kb.hook_gates import MAX_GATE_BYTES, claim_answer, decide, find_state_home
from lessons_kb.store.locations import state_home
from tests.kit import Said, answer, read_output, write
from tests.session.test_gated_calls import CHANGING, FILE, READING
from tests.sessions import Session, card

REFUSERS = ("claude-code", "codex", "gemini-cli", "copilot-cli", "vscode", "opencode")
TITLE = "Never drop a column"
CARDS = {
    "once": card(TITLE, "Drop it later", cause="Old processes wrote it.", gate="once",
                 paths="['migrations/*.sql', '!migrations/README.sql', 'db/{a,b}/**']"),
    "shown": card("Test the parser", "Write a test <!-- shown-by: def test_ -->", gate="once",
                  paths="['src/parser.py']"),
    "regex": card("Verify certificates", "Leave verify on", gate="once",
                  detect=r"[{regex: 'verify\s*=\s*False', unless: 'localhost'}]"),
    "line": card("Import from the front door", "Import from lib", gate="once",
                 detect=r"[{regex: '^from lib\.', files: ['*.py']}]"),
    "command": card("Never force a push", "Push a new branch", gate="once",
                    detect=r"[{command: 'git push .*--force'}]"),
    "complex": card("No nested loops", "Flatten", gate="once",
                    detect=r"[{regex: '(?:for \w+ in){2,}'}]"),
    "ungated": card("Only advice", "Read it", paths="['src/*.py']"),
}  # fmt: skip


@pytest.fixture
def gated(project):
    for name, text in CARDS.items():
        write(project, f"lessons/{name}.md", text)
    (project / "lessons/drop-column.md").unlink()
    for name in (FILE, "migrations/README.sql", "db/a/x/1.txt", "src/app.py", "src/parser.py"):
        write(project, name, "import os\nfrom lib import a\nverify = True\n")
    with Brain.open(project) as brain:
        brain.refresh()
    return project


def stage(agent, event, environment, project):
    """Return what the second stage says of an event."""
    variables = {**os.environ, **environment}
    return decide(agent, json.dumps(event).encode(), variables, str(project), "token")


def edit(session, path, new, old="verify = True"):
    name = "PreToolUse"
    arguments = {"file_path": str(session.project / path), "old_string": old, "new_string": new}
    tools = {"gemini-cli": "replace", "opencode": "edit", "copilot-cli": "edit"}
    tool = tools.get(session.agent, "Edit")
    return session.event(name, tool_name=tool, tool_use_id="t1", tool_input=arguments)


EDITS = [
    (FILE, "x"), ("migrations/README.sql", "x"), ("migrations/deep/1.sql", "x"),
    ("db/a/x/1.txt", "x"), ("db/c/1.txt", "x"), ("elsewhere/migrations/1.sql", "x"),
    ("src/parser.py", "x = 1"), ("src/parser.py", "def test_x(): ..."),
    ("src/app.py", "verify=False"), ("src/app.py", "verify = False  # localhost"),
    ("src/app.py", "verify = True  # as it was"), ("src/app.md", "verify = False"),
    ("src/app.py", "from lib.inner import x"), ("src/app.rb", "from lib.inner import x"),
    ("src/app.py", "for a in for b in"), ("lessons/new.md", "verify = False"),
]  # fmt: skip


@pytest.mark.parametrize("agent", REFUSERS)
def test_it_refuses_the_edits_that_the_full_answer_refuses(agent, gated):
    differs = []
    for number, (path, new) in enumerate(EDITS):
        session = Session(gated, agent, f"e{number}")
        event = edit(session, path, new)
        said = stage(agent, event, {}, gated)
        full = session.say(event["hook_event_name"] if agent not in ("vscode", "opencode") else
                           event.get("hookEventName") or event["event"],
                           **event)  # fmt: skip
        refuses = is_refused(full)
        if said.unchecked and not said.refusal:
            assert "not checked" in said.unchecked + said.log
            assert path == "src/app.md" or new == "for a in for b in", "all others are simple"
        elif bool(said.refusal) != refuses:
            differs.append((path, new, refuses))
        if said.refusal and agent == "claude-code":
            reason = Said(read_output(said.refusal)).refused
            assert "A lesson holds this back once" in reason
            assert "- [ ] " in reason
    assert differs == []


def is_refused(said):
    """Return whether an answer refuses the call, in whichever agent's form."""
    forms = (said.get("permissionDecision"), said.get("decision"), said.get("permission"))
    return "deny" in forms or bool(said.get("refuse")) or bool(said.refused)


@pytest.mark.slow
def test_it_passes_no_command_in_silence_that_the_full_answer_refuses(gated, claude):
    missed, unsure = [], 0
    pushes = ["git push --force", "git push origin main", "sudo git push --force", "git status"]
    for number, command in enumerate([*CHANGING, *READING, *pushes]):
        event = claude.event("PreToolUse", session_id=f"c{number}", tool_name="Bash",
                             tool_use_id="t1", tool_input={"command": command})  # fmt: skip
        said = stage("claude-code", event, {}, gated)
        refused = claude.run(command, session_id=f"c{number}").refused
        if said.refusal:
            assert refused, command
        elif refused and not said.unchecked:
            missed.append(command)
        unsure += bool(said.unchecked)
    assert missed == []
    assert unsure < len(CHANGING) + len(READING), "some are sure"


def test_a_patch_is_read_too(gated, session):
    text = f"*** Begin Patch\n*** Update File: {FILE}\n@@\n-a\n+b\n*** End Patch\n"
    codex = session("codex")
    event = codex.event("PreToolUse", tool_name="apply_patch", tool_use_id="t1",
                        tool_input={"command": text})  # fmt: skip
    assert (
        TITLE
        in json.loads(stage("codex", event, {}, gated).refusal)["hookSpecificOutput"][
            "permissionDecisionReason"
        ]
    )


def test_what_is_spent_is_spent_for_both(gated, claude):
    event = edit(claude, FILE, "x")
    assert stage("claude-code", event, {}, gated).refusal
    assert claude.edit(FILE).refused
    assert stage("claude-code", event, {}, gated) == stage("claude-code", {}, {}, gated)
    assert stage("claude-code", edit(claude, "db/a/x/1.txt", "x"), {}, gated).refusal


def test_ask_is_refused_first_where_the_dialog_shows_no_reason(gated, claude):
    write(gated, "lessons/ask.md", card(
        "Ask before the vault changes", "Ask", cause="It leaked.", severity="high", gate="ask",
        paths="['vault/*']",
    ))  # fmt: skip
    write(gated, "vault/a", "x")
    with Brain.open(gated) as brain:
        brain.refresh()
    said = Said(read_output(stage("claude-code", edit(claude, "vault/a", "y"), {}, gated).refusal))
    assert "A lesson asks for your permission before vault/a is changed" in said.refused
    assert "The user is asked when you propose it again" in said.refused
    assert "A lesson asks for your permission" in said.line
    alone = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}
    assert not stage("claude-code", edit(claude, "vault/a", "y"), alone, gated).refusal


@pytest.mark.parametrize("variables", [{"LESSONS_HOOKS": "0"}, {"LESSONS_TRIAL": "without"}])
def test_it_is_silent_where_the_hooks_are(gated, claude, variables):
    said = stage("claude-code", edit(claude, FILE, "x"), variables, gated)
    assert (said.refusal, said.unchecked) == ("", "")


def test_it_finds_the_state_folder_of_the_account_without_home():
    account = pwd.getpwuid(os.getuid()).pw_dir
    assert find_state_home({"HOME": account}) == find_state_home({})


def test_a_brain_that_is_trusted_again_has_its_gates_again(gated, claude, tmp_path):
    gates = pathlib.Path(state_home(), "gates")
    other = gates / "another-brain.json"
    other.touch()
    event = edit(claude, FILE, "x")
    assert stage("claude-code", event, {}, gated).refusal
    trust_brain(str(gated), revoke=True)
    assert list(gates.iterdir()) == [other]
    trust_brain(str(gated))
    assert stage("claude-code", event, {}, gated).refusal


@pytest.mark.parametrize("real", [True, False], ids=["real path", "linked folder"])
def test_a_link_leads_around_no_gate(real, gated, claude, tmp_path):
    (tmp_path / "alias").symlink_to(gated)
    (gated / "linked").symlink_to("migrations")
    folder = tmp_path / "alias" if real else gated
    path = gated / FILE if real else gated / "linked/001.sql"
    arguments = {"file_path": str(path), "old_string": "verify", "new_string": "x"}
    event = claude.event("PreToolUse", tool_name="Edit", tool_use_id="t1", tool_input=arguments)
    event["cwd"] = str(folder)
    assert stage("claude-code", event, {}, folder).refusal
    assert TITLE in answer("claude-code", event).refused
    event |= {"cwd": str(gated), "tool_use_id": "t2"}
    event["tool_input"] = arguments | {"file_path": str(gated / FILE)}
    assert answer("claude-code", event).refused == "", "it is the same file"


def test_a_gate_holds_while_the_index_is_built_anew_and_after_that_was_killed(
    gated, claude, monkeypatch
):
    monkeypatch.setattr("lessons_kb.brain.write_index.BATCH", 1)
    monkeypatch.setattr("lessons_kb.brain.write_index._FURTHER", 1)
    for number in range(3):
        write(gated, f"lessons/more-{number}.md", card(f"Lesson {number}", "Do it"))

    def stop(done, _all):
        if done >= len(CARDS):
            raise KeyboardInterrupt

    with Brain.open(gated) as brain:
        brain.refresh()
        with pytest.raises(KeyboardInterrupt):
            brain.refresh(rebuild=True, progress=stop)
        assert brain.members[0].state.unread > 0
    event = edit(claude, FILE, "x")
    assert TITLE in answer("claude-code", event, os.environ).refused
    again = event | {"tool_use_id": "t2"}
    assert answer("claude-code", again, os.environ).refused == ""
    with Brain.open(gated) as brain:
        brain.refresh()
        assert brain.members[0].state.unread == 0


def test_the_file_follows_the_cards(gated, claude):
    event = edit(claude, FILE, "x")
    gates = os.path.join(state_home(), "gates")
    assert len(os.listdir(gates)) == 1
    (gated / "lessons/once.md").unlink()
    assert "not checked" in stage("claude-code", event, {}, gated).unchecked
    with Brain.open(gated) as brain:
        brain.refresh()
    assert not stage("claude-code", event, {}, gated).unchecked
    for name in CARDS:
        (gated / f"lessons/{name}.md").unlink(missing_ok=True)
    with Brain.open(gated) as brain:
        brain.refresh()
    assert os.listdir(gates) == []


def test_a_changed_setting_makes_it_unsure(gated, claude):
    (gated / "lessons.toml").write_text('project = "other"\n')
    assert "not checked" in stage("claude-code", edit(claude, FILE, "x"), {}, gated).unchecked


@pytest.mark.parametrize(("pattern", "simple"), [
    (r"print\(", True), (r"verify\s*=\s*False", True), (r"^import os$", True),
    (r"(?i)todo|fixme", True), (r"[A-Z]{2,5}_KEY", True), (r"a(?:b|c)d", True),
    (r"(a+)+b", False), (r"(?:for \w+ in){2,}", False), (r"\pL+", False), (r"[[:alpha:]]", False),
    (r"a.*b.*c.*d.*e.*f", False), (r"\Ca", False), (r"x\z", False),
])  # fmt: skip
def test_only_patterns_that_re_reads_as_re2_does_are_simple(pattern, simple):
    assert is_simple(pattern) == simple


@pytest.mark.parametrize(("pattern", "word"), [
    (r"print\(", "print"), (r"\bverify\s*=\s*False", "verify"), (r"colou?r", ""),
    (r"(?P<callable>eval)\(", "eval"), (r"(?i:password)\s*=", ""), (r"(?im)secretkey", ""),
    (r"\p{Greek}xyz", "xyz"), (r"\pLqqq", "qqq"), (r"[[:alpha:]abc]", ""), (r"\x{41}lpha", ""),
    (r"\Qfoo.bar(\E", ""), (r"(?:eval)?\(", ""), (r"(?s)begin", ""), (r"\x41bcd", ""),
    (r"todo|fixme", ""), (r"[A-Z]+_KEY", "_KEY"), (r"(?:for \w+ in){2,}", "for"), (r"(?:abc)?defg", ""), (r"git push .*--force", "force"), (r"abc*", ""),
])  # fmt: skip
def test_a_word_of_a_pattern_stands_in_all_that_it_finds(pattern, word):
    assert find_word(pattern) == word


REGEXES = {
    "named": (r"(?P<callable>eval)\(", "eval(x)"),
    "folded": (r"(?i:password)\s*=", "PASSWORD = 1"),
    "flags": (r"(?im)secretkey\s*=", "SECRETKEY = 1"),
    "script": (r"\p{Greek}xyz", "αxyz"),
    "letter": (r"\pLqqq", "aqqq"),
    "umlaut": (r"(?i)ärger", "ÄRGER"),
    "lines": (r"(?s)begin_it.*end_it", "begin_it\n\nend_it"),
    "class": (r"[[:alpha:]]{3}zap", "abczap"),
    "quoted": (r"\Qfoo.bar(\E", "foo.bar("),
    "number": (r"\x{41}lpha", "Alpha"),
}


@pytest.mark.parametrize("name", REGEXES)
def test_no_regex_is_passed_in_silence(name, gated, claude):
    pattern, text = REGEXES[name]
    detect = f"[{{regex: '{pattern}'}}]"
    write(gated, "lessons/new.md", card("Not so", "Do it", gate="once", detect=detect))
    refresh(gated)
    event = edit(claude, "src/new.py", text, old="a")
    said = stage("claude-code", event, {}, gated)
    assert "Not so" in claude.say("PreToolUse", **event).refused
    assert "Not so" in (said.refusal or said.unchecked)


def test_a_quoted_command_is_not_passed_in_silence(gated, claude):
    event = bash(claude, "git 'push' --fo\\rce")
    assert "Never force a push" in stage("claude-code", event, {}, gated).unchecked


def refresh(project):
    with Brain.open(project) as brain:
        brain.refresh()


def bash(session, command):
    arguments = {"command": command}
    return session.event("PreToolUse", tool_name="Bash", tool_use_id="t1", tool_input=arguments)


@pytest.mark.parametrize("command", [
    "rm -rf src", "rm -rf src/", "rm -rf s*", "rm -rf 's'rc", "find src -delete", "mv src old",
    "git checkout HEAD~1 -- src", "git rm -r src", "rm -rf ./src", "rm -rf [s]rc",
    "cd . && rm -rf src; ls",
])  # fmt: skip
def test_a_command_on_a_folder_above_the_file_is_not_passed_in_silence(command, gated, claude):
    write(gated, "lessons/pay.md", card("Pay once", "Test it", gate="once", paths="['src/p*.py']"))
    refresh(gated)
    event = bash(claude, command)
    said = stage("claude-code", event, {}, gated)
    assert "Pay once" in claude.say("PreToolUse", **event).refused
    assert "not checked" in said.unchecked


def test_a_command_on_other_folders_is_sure(gated, claude):
    write(gated, "lessons/pay.md", card("Pay once", "Test it", gate="once", paths="['src/p*.py']"))
    refresh(gated)
    for command in ("rm -rf docs", "npm run build", "ls src", "git push"):
        assert "Pay once" not in stage("claude-code", bash(claude, command), {}, gated).unchecked


def test_a_glob_for_any_folder_is_not_passed_in_silence(gated, claude):
    write(gated, "lessons/pay.md", card("Pay once", "Test it", gate="once", paths="['**/x/1.txt']"))
    refresh(gated)
    event = bash(claude, "rm -rf db")
    assert "Pay once" in stage("claude-code", event, {}, gated).unchecked


def gate_file():
    gates = os.path.join(state_home(), "gates")
    return os.path.join(gates, os.listdir(gates)[0])


def read_gates():
    with open(gate_file(), "rb") as file:
        return file.read()


def write_gates(data):
    with open(gate_file(), "wb") as file:
        file.write(data)


DAMAGES = {
    "garbage": lambda _data: b"\0\0garbage",
    "half": lambda data: data[: len(data) // 2],
    "empty": lambda _data: b"",
    "deep": lambda _data: b"[" * 100_000,
    "list": lambda _data: b"[]",
    "null cards": lambda data: change(data, cards=None),
    "empty cards": lambda data: change(data, cards=[{}]),
    "cards without fields": lambda data: change(data, cards=[{"title": "x", "project": None}]),
    "null identity": lambda data: change(data, identity=None),
    "another format": lambda data: change(data, format=1),
    "foreign": lambda data: change(data, root="/nowhere"),
    "no folders": lambda data: change(data, card_folders=None),
}


def change(data, **fields):
    return json.dumps({**json.loads(data), **fields}).encode()


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_gate_file_is_not_silent_and_is_written_anew(damage, gated, claude):
    whole = read_gates()
    write_gates(DAMAGES[damage](whole))
    event = edit(claude, FILE, "x")
    assert "not checked" in stage("claude-code", event, {}, gated).unchecked
    refresh(gated)
    assert json.loads(read_gates())["cards"] == json.loads(whole)["cards"]
    assert TITLE in stage("claude-code", event, {}, gated).refusal


@pytest.mark.parametrize("text", ["[]", '{"format": 2, "root": "/nowhere"}', ""])
def test_a_bad_gate_file_silences_no_other_brain(text, gated, claude):
    with open(os.path.join(state_home(), "gates", "0" * 16 + ".json"), "w") as file:
        file.write(text)
    assert TITLE in stage("claude-code", edit(claude, FILE, "x"), {}, gated).refusal


def test_the_doctor_names_a_damaged_gate_file(gated, lessons):
    write_gates(b"garbage")
    assert (
        "the file of compiled gates was missing or damaged"
        in lessons("--brain", gated, "doctor").out
    )
    assert "compiled gates" not in lessons("--brain", gated, "doctor").out
    write_gates(b"garbage")
    assert (
        "the file of compiled gates was missing or damaged"
        in lessons("--brain", gated, "doctor", "--fix").out
    )


def test_a_new_card_makes_it_unsure_until_it_is_read(gated, claude):
    write(gated, "lessons/deep/new.md", card("New", "Do it", gate="once", paths="['new/*']"))
    event = edit(claude, "new/a.py", "x")
    assert "not checked" in stage("claude-code", event, {}, gated).unchecked
    refresh(gated)
    assert "New" in stage("claude-code", event, {}, gated).refusal
    write(gated, "lessons/newer.txt", "no card")
    assert "not checked" in stage("claude-code", event, {}, gated).unchecked
    refresh(gated)
    assert "New" in stage("claude-code", event, {}, gated).refusal


def test_more_gates_than_find_room_are_not_silent(gated, claude, lessons, monkeypatch):
    monkeypatch.setattr("lessons_kb.brain.gate_file._MAX_BODY_BYTES", 2_000)
    write(gated, "lessons/new.md", card("New", "Do it", gate="once", paths="['new/*']"))
    refresh(gated)
    assert len(read_gates()) < 2_000
    event = edit(claude, FILE, "x")
    assert "not checked" in stage("claude-code", event, {}, gated).unchecked
    assert "too many gated cards to compile" in lessons("--brain", gated, "doctor").out
    assert MAX_GATE_BYTES > 1_500 * 1_500, "1,500 cards find room"


@pytest.fixture
def unwritable(gated):
    """A state folder in which no refusal can be recorded: a file lies in the folder's place."""
    sessions = os.path.join(state_home(), "sessions")
    assert not os.path.exists(sessions) or os.listdir(sessions) == []
    if os.path.isdir(sessions):
        os.rmdir(sessions)
    with open(sessions, "w") as file:
        file.write("")
    return gated


def test_a_refusal_that_cannot_be_recorded_comes_as_context(unwritable, claude):
    said = stage("claude-code", edit(claude, FILE, "x"), {}, unwritable)
    how, printed, _log = claim_answer(said, "token")
    assert how == b"u"
    assert b"not checked" in printed
    answer = claude.edit(FILE)
    assert answer.refused == ""
    assert TITLE in answer.context


def test_a_faulty_glob_of_a_gated_card_costs_the_other_cards_nothing(gated):
    """The index, which compiles the gates, is written; the faulty card guards no file."""
    text = card("Keep secrets out", "Leave it", gate="once", paths="['*.tfvars [', 'src/*.py']")
    write(gated, "lessons/faulty.md", text)
    with Brain.open(gated) as brain:
        brain.refresh()
        assert brain.cards.get("faulty").gate == "once"
        assert "bad-glob" in [finding.rule for finding in brain.lint()]
    session = Session(gated, "claude-code", "s")
    ruling = stage("claude-code", edit(session, FILE, "x"), {}, gated)
    assert TITLE in str(ruling)
