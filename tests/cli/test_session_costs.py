"""`lessons stats --cost`, over records of sessions of three agents."""

import contextlib
import datetime as dt
import json
import sqlite3
import time

import pytest

from lessons_kb.model import Event
from lessons_kb.store.journal import SentText
from tests.kit import open_journal

START = time.time() - 3_600
DAY = 86_400


def when(second):
    moment = dt.datetime.fromtimestamp(START + second, dt.UTC)
    return moment.isoformat().replace("+00:00", "Z")


def write_lines(path, *objects):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(item) + "\n" for item in objects))


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with records of agents, and the home of each agent in it."""
    home = tmp_path / "home"
    monkeypatch.setenv("HOME", str(home))
    for variable in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_DATA_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("GEMINI_CLI_HOME", raising=False)
    return home


@pytest.fixture
def note(project, monkeypatch):
    """Record texts that reached a session: ``note(session, (second, channel, tokens), ...)``."""
    monkeypatch.chdir(project)

    def note(session, *texts):
        rows = [
            SentText(session=session, at=START + second, channel=channel, tokens=tokens)
            for second, channel, tokens in texts
        ]
        with contextlib.closing(open_journal(project)) as journal:
            journal.sent.note(rows)

    return note


def claude(home, session, *requests, part=""):
    """Write the record of a Claude Code session: (second, uncached, read, written) each."""
    rows = []
    for number, (second, *amounts) in enumerate(requests):
        names = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        usage = {**dict(zip(names, amounts, strict=False)), "output_tokens": 5}
        message = {"id": f"m{number}", "role": "assistant", "model": "opus", "content": []}
        line = {"type": "assistant", "sessionId": session, "cwd": "/x", "timestamp": when(second)}
        line |= {"isSidechain": bool(part), "message": {**message, "usage": usage}}
        rows.append(line)
    name = f"{session}/subagents/agent-{part}.jsonl" if part else f"{session}.jsonl"
    write_lines(home / ".claude" / "projects" / "-x" / name, *rows)


def codex(home, session, *requests):
    """Write a rollout of Codex: (second, input, cached) each."""
    rows = [{"timestamp": when(0), "type": "session_meta", "payload": {"id": session, "cwd": "/x"}}]
    total = 0
    for second, tokens, cached in requests:
        total += tokens
        last = {"input_tokens": tokens, "cached_input_tokens": cached, "output_tokens": 5}
        info = {"total_token_usage": {"input_tokens": total}, "last_token_usage": last}
        payload = {"type": "token_count", "info": info}
        rows.append({"timestamp": when(second), "type": "event_msg", "payload": payload})
    write_lines(home / ".codex" / "sessions" / "2026" / f"rollout-{session}.jsonl", *rows)


def opencode(home, session, *requests):
    """Write the database of opencode: (second, input, read, written) each, and "prompt" rows."""
    folder = home / ".local" / "share" / "opencode"
    folder.mkdir(parents=True)
    with contextlib.closing(sqlite3.connect(folder / "opencode.db")) as db, db:
        db.execute("CREATE TABLE session (id, directory, time_updated)")
        db.execute("CREATE TABLE message (id, session_id, time_created, data)")
        db.execute("CREATE TABLE part (id, message_id, session_id, time_created, data)")
        db.execute("INSERT INTO session VALUES (?, '/x', ?)", (session, int(START * 1000)))
        for number, (second, *amounts) in enumerate(requests):
            at = int((START + second) * 1000)
            message = {"role": "assistant", "modelID": "m", "time": {"created": at}}
            part = {"type": "step-finish"}
            if amounts:
                fresh, read, written = amounts
                cache = {"read": read, "write": written}
                part["tokens"] = {"input": fresh, "output": 5, "cache": cache}
            else:
                message, part = {**message, "role": "user"}, {"type": "text", "text": "go"}
            db.execute(
                "INSERT INTO message VALUES (?, ?, ?, ?)",
                (f"m{number}", session, at, json.dumps(message)),
            )
            db.execute(
                "INSERT INTO part VALUES (?, ?, ?, ?, ?)",
                (f"p{number}", f"m{number}", session, at, json.dumps(part)),
            )


def test_the_cost_of_sessions_of_three_agents(home, note, lessons):
    claude(home, "claude-1", (2, 10, 0, 990), (4, 10, 990, 100), (6, 10, 1_090, 0))
    note("claude-1", (1, "titles", 200), (1.5, "prompt", 100), (3, "call", 50))
    codex(home, "codex-1", (2, 1_000, 0), (4, 1_200, 640), (6, 1_300, 128))
    note("codex-1", (1, "titles", 200), (5, "call", 60))
    opencode(home, "ses_1", (0,), (2, 10, 0, 990), (3,), (4, 10, 300, 900))
    note("ses_1", (1, "titles", 200), (1.5, "prompt", 100), (3.5, "prompt", 80))
    shown = lessons("--json", "stats", "--cost")
    assert (shown.code, shown.err) == (0, "")
    data = json.loads(shown.out)
    costs = {cost["session"]: cost for cost in data["by_session"]}
    assert {name: cost["agent"] for name, cost in costs.items()} == {
        "claude-1": "claude-code",
        "codex-1": "codex",
        "ses_1": "opencode",
    }
    assert data["tokens"] == {"titles": 600, "prompt": 280, "call": 110, "check": 0}
    assert costs["claude-1"]["input"] == 1_000 + 1_100 + 1_100
    assert costs["claude-1"]["ours"] == 300 + 350 + 350
    assert costs["claude-1"]["share"] == 1_000 / 3_200
    assert costs["claude-1"]["lost"] == []
    assert costs["codex-1"]["input"] == 3_500
    assert costs["codex-1"]["ours"] == 200 + 200 + 260
    (loss,) = costs["codex-1"]["lost"]
    assert (loss["channels"], loss["tokens"]) == (["call"], 640 - 128)
    assert costs["ses_1"]["ours"] == 300 + 380, "the first block stays in the chat"
    (loss,) = costs["ses_1"]["lost"]
    assert (loss["channels"], loss["tokens"]) == (["prompt"], 690)
    assert data["after_ours"] == {
        "kept": 1, "lost": 2, "explained": 0, "no cache": 0, "unknown": 0,
    }  # fmt: skip
    assert data["input"] == 3_200 + 3_500 + 2_210
    assert data["unknown"] == {}


def test_it_says_in_words_whether_the_cache_was_invalidated(home, note, lessons):
    claude(home, "claude-1", (2, 10, 0, 990), (4, 10, 990, 100))
    note("claude-1", (1, "titles", 200), (3, "call", 50))
    kept = lessons("stats", "--cost").out
    assert "no text of ours invalidated the cache (1 request compared)" in kept
    assert "Sessions in which" not in kept
    claude(home, "claude-2", (2, 10, 0, 990), (4, 10, 190, 900))
    note("claude-2", (3, "call", 50))
    lost = lessons("stats", "--cost").out
    words = " ".join(lost.split())
    assert "1 of 2 requests after a text of ours lost a part of the cache" in words
    assert "(800 tokens in 1 session)" in words
    assert "of the other requests, 0 of 0 did" in words
    named = words.partition("Sessions in which")[2]
    assert "claude-2 claude-code" in named
    assert "800 tokens, at tool calls" in named


def test_a_share_of_more_than_all_tokens_is_unknown(home, note, lessons):
    claude(home, "claude-1", (2, 10, 0, 0))
    note("claude-1", (1, "titles", 200))
    words = " ".join(lessons("stats", "--cost").out.split())
    assert "unknown: agents recorded 10 tokens, fewer than our text has (200 by our" in words
    assert "%" not in words.partition("cache before")[0]


def test_unknown_is_named_and_never_zero(home, note, lessons):
    note("gone", (1, "titles", 200))
    claude(home, "bare", (2,))
    note("bare", (1, "prompt", 100))
    data = json.loads(lessons("--json", "stats", "--cost").out)
    assert (data["input"], data["ours"], data["share"]) == (None, None, None)
    assert data["tokens"]["titles"] == 200
    assert data["unknown"] == {
        "no record of the session was found": 1,
        "its record has no usage": 1,
    }
    shown = lessons("stats", "--cost")
    words = " ".join(shown.out.split())
    assert "input unknown: no record of a session has usage" in words
    assert "verdict unknown: no request after a text of ours has figures" in words
    assert "unknown for 1 session: no record of the session was found" in shown.err


def test_a_session_without_a_record_has_the_agent_of_its_events(home, note, project, lessons):
    note("gone", (1, "titles", 200))
    note("bare", (1, "titles", 200))
    with contextlib.closing(open_journal(project)) as journal:
        prompt = Event(kind="prompt", at=START, session="gone", agent="claude-code", text="x")
        journal.events.append(prompt)
    shown = " ".join(lessons("stats", "--cost").out.split())
    assert "1 claude-code" in shown
    assert "1 unknown agent" in shown


def test_sessions_from_before_the_measurement_are_unknown(home, note, project, lessons):
    note("new", (1, "titles", 200))
    with contextlib.closing(open_journal(project)) as journal:
        journal.record_injections("old", turn=1, at=START, cards=[("lessons/a.md", "d", 50)])
    data = json.loads(lessons("--json", "stats", "--cost").out)
    assert data["unknown"]["it is older than this measurement"] == 1


def test_a_subagent_is_measured_with_its_own_texts(home, note, lessons):
    claude(home, "claude-1", (2, 10, 0, 990))
    claude(home, "claude-1", (3, 10, 0, 490), part="a7")
    note("claude-1", (1, "titles", 100))
    note("claude-1/a7", (1, "titles", 100))
    data = json.loads(lessons("--json", "stats", "--cost").out)
    shares = {cost["session"]: cost["share"] for cost in data["by_session"]}
    assert shares == {"claude-1": 0.1, "claude-1/a7": 0.2}


def test_days_limit_the_sessions(home, note, lessons):
    note("recent", (0, "titles", 100))
    note("older", (-9 * DAY, "titles", 50))
    assert json.loads(lessons("--json", "stats", "--cost").out)["tokens"]["titles"] == 150
    week = json.loads(lessons("--json", "stats", "--cost", "--days", "7").out)
    assert (week["days"], week["tokens"]["titles"]) == (7, 100)


def test_without_any_text_it_says_so(home, note, lessons):
    shown = lessons("stats", "--cost")
    assert (shown.code, shown.out) == (0, "")
    assert "no text for a model was recorded in the last 30 days" in shown.err


@pytest.mark.parametrize("words", [
    ("stats", "drop-column", "--cost"),
    ("stats", "--cost", "--stage", "DEV"),
    ("stats", "--days", "3"),
])  # fmt: skip
def test_options_that_do_not_belong_together_are_refused(note, lessons, words):
    refused = lessons(*words)
    assert refused.code == 2
    assert refused.out == ""
    assert "--cost" in refused.err


def test_a_damaged_record_is_left_out(home, note, lessons):
    claude(home, "claude-1", (2, 10, 0, 990))
    note("claude-1", (1, "titles", 200))
    path = home / ".claude" / "projects" / "-x" / "claude-1.jsonl"
    path.write_bytes(b'{"broken\n[]\n"x"\n' + path.read_bytes() + b'{"type": "assistant"')
    data = json.loads(lessons("--json", "stats", "--cost").out)
    assert data["input"] == 1_000
