"""The journal has the size of each text that reached a model, by channel."""

import contextlib
import sqlite3

import pytest

from lessons_kb.hook_client import ENDED_LATE
from lessons_kb.text.token_estimate import estimate_tokens
from tests import kit
from tests.kit import answer, open_journal
from tests.sessions import card

PROMPT = "Add a telegram command that restarts the service"


def sent(project):
    with contextlib.closing(open_journal(project)) as journal:
        texts = journal.sent.since(0)
    return [(text.session, text.channel, text.tokens) for text in texts]


def test_titles_and_blocks_are_recorded_with_their_tokens(claude, project):
    titles = claude.say("SessionStart", source="startup").context
    block = claude.prompt(PROMPT).context
    assert titles.startswith("[LESSON_TITLES]")
    assert block.startswith("[ACTIVE LESSONS")
    assert sent(project) == [
        ("s1", "titles", estimate_tokens(titles)),
        ("s1", "prompt", estimate_tokens(block)),
    ]


def test_titles_beside_a_block_are_counted_apart(session, project):
    context = session("claude-code").prompt(PROMPT).context
    start, end = context.index("[LESSON_TITLES]"), context.index("[/LESSON_TITLES]")
    titles = context[start : end + len("[/LESSON_TITLES]")]
    rows = dict(row[1:] for row in sent(project))
    assert set(rows) == {"titles", "prompt"}
    assert rows["titles"] == pytest.approx(estimate_tokens(titles), abs=1)
    assert sum(rows.values()) == pytest.approx(estimate_tokens(context), abs=2)


def test_a_refusal_and_a_reminder_are_texts_at_a_call(claude, project):
    gated = card("The ledger is append only", "Append a row", paths='["ledger.py"]', gate="once")
    kit.write(project, "lessons/ledger.md", gated)
    reason = claude.edit("ledger.py", 1).refused
    assert "append only" in reason
    assert sent(project) == [("s1", "call", estimate_tokens(reason))]


def test_lines_for_the_user_are_no_texts_for_the_model(claude, project):
    claude.prompt(PROMPT)
    before = sent(project)
    claude.edit("bot/a.py", 1, when="Post")
    claude.stop("I did not check the allowlist.")
    assert [row for row in sent(project) if row not in before and row[1] == "check"] == []


def test_silence_is_not_recorded(claude, project):
    claude.say("SessionStart", source="resume")
    assert claude.prompt("rename the variable") == {}
    assert sent(project) == []


def test_a_text_counts_when_it_arrives(claude, project):
    event = claude.event("SessionStart", source="startup")
    answer("claude-code", event, say=lambda _output, _line: ENDED_LATE.decode())
    assert sent(project) == []
    assert "[LESSON_TITLES]" in claude.prompt("rename the variable").context
    assert [channel for _session, channel, _tokens in sent(project)] == ["titles"]


def test_a_subagent_has_a_context_of_its_own(claude, project):
    claude.say("SubagentStart", agent_id="a1", agent_type="Explore")
    assert [row[:2] for row in sent(project)] == [("s1/a1", "titles")]


def test_old_rows_are_deleted_with_the_other_rows(claude, project):
    claude.say("SessionStart", source="startup")
    with contextlib.closing(open_journal(project)) as journal:
        journal.run("UPDATE sent SET at = 1")
        journal.prune_daily(lambda: 30, now=90 * 86_400.0)
        assert journal.sent.since(0) == []


def test_a_journal_of_the_version_before_gets_the_table(claude, project):
    claude.prompt(PROMPT)
    with contextlib.closing(open_journal(project)) as journal:
        path = journal.path
    with contextlib.closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        db.executescript(f"DROP TABLE sent; PRAGMA user_version = {version - 1}")
    assert sent(project) == []
    claude.say("SessionStart", source="clear")
    assert [channel for _session, channel, _tokens in sent(project)] == ["titles"]
