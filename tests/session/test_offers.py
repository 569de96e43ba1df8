"""Titles that are offered with a prompt, and what becomes of them in a session."""

import contextlib
import pathlib
import re
import shutil

import pytest

from lessons_kb.store.locations import user_brain
from tests.kit import Claude, make_brain, open_journal, write
from tests.sessions import context_of

CARD = "lessons/drop-column.md"
PROMPT = "Drop the old name field from the users table"
OFFER = "[LESSON_OFFER]"
TITLED = f"{CARD}: Never drop a column in the release that stops writing it\n"
LINE = f"\nL1 {TITLED}"
ITEM = "Drop the column one release later"


@pytest.fixture
def counts(project):
    """Return how often something is counted of the card."""

    def find(what):
        with contextlib.closing(open_journal(project)) as journal:
            return sum(times for _card, name, _day, times in journal.counts(CARD) if name == what)

    return find


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_card_of_which_the_gate_is_not_sure_is_offered_once_a_context(agent, project, counts):
    session = Claude(project, agent=agent)
    said = session.prompt(PROMPT).context
    assert LINE in said
    assert ITEM not in said
    assert session.prompt(f"{PROMPT} now", 2) == {}
    assert counts("offer") == 1
    session.say("SessionStart", source="compact")
    assert CARD in session.prompt(f"{PROMPT} at once", 3).context
    assert session.prompt(f"{PROMPT} at last", 4) == {}
    assert LINE in Claude(project, "s2", agent).prompt(PROMPT).context


def test_a_subagent_is_offered_it_in_its_own_context(claude):
    assert LINE in claude.prompt(PROMPT).context
    asked = {"subagent_type": "Explore", "prompt": PROMPT, "description": "d"}
    claude.call("Pre", "Agent", asked)
    said = claude.say("SubagentStart", agent_id="a1", agent_type="Explore").context
    assert OFFER in said
    assert CARD in said


def test_opencode_which_keeps_the_message_is_offered_it_once(project, fire, counts):
    event = {"event": "prompt", "sessionID": "s1", "cwd": str(project), "text": PROMPT}
    first = fire("opencode", {**event, "messageID": "m1"})
    assert LINE in first["context"]
    assert fire("opencode", {**event, "messageID": "m2", "text": f"{PROMPT} now"}) == {}
    assert counts("offer") == 1


@pytest.mark.parametrize("many", [False, True])
def test_with_all_titles_in_view_the_file_is_enough(project, claude, many):
    for number in range(40 * many):
        text = f"---\ntype: lesson\ntitle: Of case {number}\n---\n"
        write(project, f"lessons/c{number}.md", text)
    write(project, "lessons.toml", "[hooks]\ncatalogue_tokens = 200\n")
    claude.say("SessionStart", source="startup")
    said = claude.prompt(PROMPT).context
    assert said.startswith(OFFER)
    assert (f" {CARD} " in said, TITLED in said) == (not many, many), "a selection is not all"


def test_an_offered_card_that_is_opened_counts_as_given(project, claude, counts):
    claude.prompt(PROMPT)
    path = {"file_path": str(project / CARD)}
    claude.call("Post", "Read", path, tool_response={"type": "text"})
    assert counts("offer taken") == counts("injected") == 1
    claude.edit("a.py", when="Post")
    said = claude.stop("I dropped it at once. I did not drop the column one release later.")
    assert ITEM in said["systemMessage"]


def test_an_edit_that_confirms_an_offer_brings_the_lesson(claude, counts):
    claude.prompt(PROMPT)
    claude.edit("src/model.py")
    assert counts("offer taken") == 0
    assert ITEM in claude.edit("migrations/7.sql", 2).refused, "`gate: ask`: it says why"
    assert counts("offer taken") == counts("injected") == 1


@pytest.mark.slow
def test_what_nobody_opens_takes_more_and_why_says_so(project, lessons, counts, monkeypatch):
    monkeypatch.chdir(project)
    for number in range(21):
        claude = Claude(project, f"s{number}")
        claude.say("SessionStart", source="resume")
        said = claude.prompt(PROMPT)
    assert said == {}
    assert counts("offer") == 13
    output = lessons("why", PROMPT).out
    assert "offered in 13 sessions, taken in 0: an offer takes 0.34 by now" in " ".join(
        output.split()
    )


def test_why_and_preflight_name_offers(project, lessons, monkeypatch):
    monkeypatch.chdir(project)
    Claude(project).prompt(PROMPT)
    output = lessons("why").out
    assert "Offered by title:\n  ? lessons/drop-column.md, confidence 0.34\n" in output
    assert f"\n{TITLED}" in lessons("preflight", PROMPT).out


def keep_template(project, lessons):
    (project / CARD).unlink()
    lessons("create", "Never drop a field")
    write(project, "lessons.toml", "[gate]\nmin_confidence = 0.99\n")


def mark_harmful(project, lessons):
    for session in "abc":
        lessons("mark", CARD, "harmful", "--session", session)
    write(project, "lessons.toml", "[effect]\nwithhold_harmful = true\n")


def turn_off(project, _lessons):
    write(project, "lessons.toml", "[hooks]\noffers = false\n")


@pytest.mark.parametrize("prepare", [keep_template, mark_harmful, turn_off])
def test_what_is_not_offered(prepare, project, claude, lessons, monkeypatch):
    monkeypatch.chdir(project)
    prepare(project, lessons)
    claude.say("SessionStart", source="resume")
    assert claude.prompt(PROMPT) == {}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("agent", "where"),
    [("codex", "{card}"), ("claude-code", ".lessons/cache-"), ("gemini-cli", None)],
)
def test_a_card_elsewhere_is_offered_where_it_can_be_opened(agent, where, project, session):
    make_brain(user_brain())
    path = pathlib.Path(user_brain(), CARD)
    shutil.rmtree(path.parent)
    shutil.move(project / "lessons", path.parent)
    said = context_of(session(agent).prompt(PROMPT))
    begins = where and where.format(card=path)
    assert (OFFER in said) is bool(where)
    assert not where or re.search(rf"\nL\d+ {re.escape(begins)}\S*: Never drop", said)
