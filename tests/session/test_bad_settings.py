"""Settings that cannot be read silence their brain, and the user is told by which line."""

import pathlib
import re

import pytest

from lessons_kb import Brain
from lessons_kb.store import locations as locate
from tests.kit import make_brain, write
from tests.sessions import SHOW_LINES, TELEGRAM, Session, context_of

pytestmark = pytest.mark.slow

ADVICE = "Reject every chat id"
FAULTS = {
    "a bad pattern": ("lessons.toml", '[triggers]\npatterns = ["("]\n', "lessons.toml:2"),
    "an unknown key": ("lessons.toml", "[gate]\nno_such_key = 1\n", "lessons.toml:2"),
    "no TOML": ("lessons.toml", "[gate\n", "lessons.toml"),
    "a bad glob": (".lessonsignore", "src/[a\n", ".lessonsignore"),
}


def told(project, agent, name, brain=None):
    """Return the lines for the user at each event of a session, and all texts that were told."""
    said = Session(project, agent, name, find=(lambda _: brain) if brain else None).walk()
    texts = (text for one in said for text in (one.line, context_of(one)))
    return [one.line for one in said], "\n".join(texts)


@pytest.mark.parametrize("agent", SHOW_LINES)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_brain_with_bad_settings_is_named_once_a_session(project, agent, fault):
    name, text, named = FAULTS[fault]
    told(project, agent, "before")
    (project / name).write_text(text)
    for session in ("one", "two"):
        lines, texts = told(project, agent, session)
        assert ADVICE not in texts
        said = [line for line in lines if str(project / named) in line]
        assert len(said) == 1, lines
        assert not any(str(project / named) in line for line in told(project, agent, session)[0])


def test_so_is_one_that_a_process_keeps_open(project):
    with Brain.open(project) as brain:
        told(project, "claude-code", "before", brain)
        (project / "lessons.toml").write_text("[gate]\nno_such_key = 1\n")
        lines, _ = told(project, "claude-code", "one", brain)
    assert sum(str(project / "lessons.toml:2") in line for line in lines) == 1, lines


def test_another_fault_is_another_line(project):
    for number in (1, 2):
        (project / "lessons.toml").write_text("\n" * number + "no_such_key = 1\n")
        lines, _ = told(project, "claude-code", "s")
        assert sum(f"lessons.toml:{number + 1}: " in line for line in lines) == 1, lines
    (project / "lessons.toml").write_text("")
    assert ADVICE in told(project, "claude-code", "t")[1]


def test_an_agent_that_shows_no_line_with_a_prompt_shows_it_later(project, session):
    (project / "lessons.toml").write_text("no_such_key = 1\n")
    cursor = session("cursor")
    cursor.prompt("Add a telegram command that restarts the service")
    assert "lessons.toml:1" in str(cursor.say("PreCompact", trigger="auto"))


def test_the_users_own_brain_speaks_all_the_same(project):
    make_brain(locate.user_brain())
    write(pathlib.Path(locate.user_brain()), "lessons/telegram.md", TELEGRAM)
    (project / "lessons.toml").write_text("no_such_key = 1\n")
    lines, texts = told(project, "claude-code", "s")
    assert ADVICE in texts
    assert sum("lessons.toml:1" in line for line in lines) == 1, lines


CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]")


@pytest.mark.parametrize("agent", SHOW_LINES)
@pytest.mark.parametrize("kind", ["not trusted", "bad settings"])
@pytest.mark.parametrize("trick", ["\x1b]0;owned\x07\x1b[2J", "\n", "\x85\u2028\u202e"])
def test_the_name_of_a_folder_steers_no_terminal_and_adds_no_line(tmp_path, agent, kind, trick):
    folder = tmp_path / f"clone{trick}Lessons: all brains verified"
    folder.mkdir()
    if kind == "bad settings":
        make_brain(str(folder))
    write(folder, "lessons.toml", "no_such_key = 1\n" if kind == "bad settings" else "")
    write(folder, "lessons/telegram-allowlist.md", TELEGRAM)
    lines, texts = told(folder, agent, "s")
    assert not CONTROLS.search(texts), texts
    assert "\nLessons: all" not in f"\n{texts}"
    assert "Lessons: " in "".join(lines)
