"""``data/answer_forms.json``: what the hook's second stage knows of agents without importing them."""

import json
import pathlib

import lessons_kb
from lessons_kb.agents.install.settings_files import build_hooks
from lessons_kb.agents.table import AGENTS
from lessons_kb.data import read_mapping, read_patterns
from lessons_kb.hook_client import CALLS, DEADLINE_SECONDS, STARTS, find_deadline
from lessons_kb.hook_gates import LINE_MARK, REASON_MARK
from lessons_kb.session.event_types import Answer

FORMS = pathlib.Path(lessons_kb.__file__).parent / "data" / "answer_forms.json"


def build_answers(row, event):
    """Return the answers to an event before a call, with marks for their texts."""
    shows = event in row.lines_at
    refusal, line = Answer(refusal=REASON_MARK), Answer(lines=(LINE_MARK,))
    both = Answer(refusal=REASON_MARK, lines=(LINE_MARK,))
    answers = {
        "refusal": row.show(event, refusal, lines=shows)[0],
        "refusal and line": row.show(event, both, lines=shows)[0],
    }
    if shows:
        answers["line"] = row.show(event, line, lines=True)[0]
    return answers


def build_form(row):
    """Return what the second stage has to know of one agent."""
    before = [event for event, what in row.events.items() if what == "before"]
    return {
        "events": dict(row.events),
        "renamed": dict(row.renamed),
        "event_keys": dict(row.event_keys),
        "refuses": list(row.refuses_at),
        "asks": list(row.asks_at),
        "unexplained": list(row.unexplained),
        "unattended": {name: list(values) for name, values in row.unattended.items()},
        "project": list(row.project),
        "silence": f"{row.silence}\n" if row.silence else "",
        "answers": {event: build_answers(row, event) for event in before},
    }


def build_forms():
    """Return the whole file."""
    names = ("paths", "commands", "patches", "old text", "new text")
    arguments = read_patterns("tool_arguments.toml")
    return {
        "agents": {name: build_form(row) for name, row in AGENTS.items()},
        "tools": {name: dict(kinds) for name, kinds in read_mapping("agent_tools.toml").items()},
        "arguments": {name: list(arguments[name]) for name in names},
    }


def test_the_forms_are_those_of_the_agents_table(request):
    text = json.dumps(build_forms(), indent=1, ensure_ascii=False) + "\n"
    if request.config.getoption("--update"):
        FORMS.write_text(text, encoding="utf-8")
    assert FORMS.read_text("utf-8") == text


def test_the_client_knows_every_event_before_a_call_and_every_start():
    for row in AGENTS.values():
        names = [*row.events, *row.renamed]
        for name in names:
            what = row.events.get(name) or row.events[row.renamed[name]]
            payload = json.dumps({"event": name}).encode()
            assert any(mark in payload for mark in CALLS) == (what == "before"), name
            if what == "start" and row.handler:  # a plugin of ours keeps its own time
                assert any(mark in payload for mark in STARTS), name


def test_a_start_may_take_four_fifths_of_the_time_that_our_handler_declares():
    for name, row in AGENTS.items():
        has_time = row.handler and row.hooks_form != "files"
        if not has_time or "start" not in row.events.values():
            continue
        start = next(event for event, what in row.events.items() if what == "start")
        (entry,) = build_hooks(name, "lessons-hook", via="command")[start]
        handler = entry["hooks"][0] if row.nested else entry
        declared = handler.get("timeout", handler.get("timeoutSec"))
        seconds = declared / 1_000 if "MILLISECONDS" in row.handler.values() else declared
        event = json.dumps({"hook_event_name": start, "source": "startup"}).encode()
        assert find_deadline(event, "") <= 0.8 * seconds
        assert find_deadline(event, "") > DEADLINE_SECONDS
        assert find_deadline(event, "5") == 5
    prompt = json.dumps({"hook_event_name": "UserPromptSubmit", "prompt": '"SessionStart"'})
    assert find_deadline(prompt.encode(), "") == DEADLINE_SECONDS
