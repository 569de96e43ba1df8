"""The plugin for opencode, which is a program of its own."""

import pathlib
import re

from lessons_kb.agents.install import Entries, Request, install
from lessons_kb.agents.table import AGENTS

TEMPLATES = pathlib.Path(__file__).parents[2] / "templates"


def test_the_plugin_for_opencode_sends_every_event_of_the_table():
    text = (TEMPLATES / "opencode" / "lessons.ts").read_text("utf-8")
    assert set(re.findall(r'ask\("(\w+)"', text)) == set(AGENTS["opencode"].events)


def test_what_the_plugin_forgets_with_a_turn_is_given_again(project, fire):
    event = {"event": "prompt", "sessionID": "s", "cwd": str(project)}
    event["text"] = "Add a telegram command that restarts the service"
    texts = [
        fire("opencode", event | {"messageID": i}).get("context", "") for i in ("m1", "m2", "m2")
    ]
    assert ["Reject every chat id" in text for text in texts] == [True, True, False]


def test_a_path_is_written_as_a_string_of_the_language(project):
    entries = Entries(hook='C:\\our "tools"\\lessons-hook.exe', server="lessons")
    changes = install(Request(agent="opencode", project=str(project), entries=entries))
    text = next(pathlib.Path(c.path) for c in changes if c.path.endswith(".ts")).read_text("utf-8")
    assert 'const PROGRAM = "C:\\\\our \\"tools\\"\\\\lessons-hook.exe"\n' in text
