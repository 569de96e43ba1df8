"""Titles that came too late, and that the next answer has anyway, arrive once."""

import json

import pytest

from lessons_kb.hook_client import ENDED_LATE
from tests.kit import answer

TITLES = "[LESSON_TITLES]"


@pytest.mark.parametrize("agent", ["opencode", "pi"])
def test_a_resumed_session_has_the_titles_once(agent, project):
    event = {"event": "start", "sessionID": "s1", "cwd": str(project)}

    def lose(_output, _line):
        return ENDED_LATE.decode()

    answer(agent, event, say=lose)
    resumed = json.dumps(answer(agent, event))
    assert resumed.count(TITLES) == 1
    prompt = {**event, "event": "prompt", "text": "Add a Telegram command", "messageID": "m1"}
    assert json.dumps(answer(agent, prompt)).count(TITLES) <= 1
