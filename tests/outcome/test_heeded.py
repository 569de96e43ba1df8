"""A lesson counts as heeded only with evidence of the act. Silence is no evidence."""

import json

import pytest

from lessons_kb.brain.brains import Brains
from lessons_kb.detect.matcher import Matcher, Rule
from lessons_kb.model import Event, Pattern
from lessons_kb.outcome.post_check import Facts, judge_steps, read_steps
from lessons_kb.outcome.stats import Stats
from tests import kit
from tests.kit import open_journal
from tests.sessions import card

CARD = "lessons/force-push.md"
LESSON = card(
    "Never force a push to the release branch", "Push to the release branch without force",
    severity="high", symptoms='["push rejected: release branch was rewritten"]',
    detect='[{command: "git push .*--force"}]', tags="[git, release, push]",
)  # fmt: skip
PROMPT = "Push the fix to the release branch"
GOOD, BAD = "git push origin release", "git push --force origin release"


def run(claude, command, number=1):
    claude.run(command, number)
    claude.run(command, number, when="Post", tool_response={"stdout": "", "stderr": ""})


@pytest.fixture
def given(claude, project, lessons, monkeypatch):
    """A session that was given the lesson, and what all places report about it afterwards."""
    monkeypatch.chdir(project)
    kit.write(project, CARD, LESSON)
    claude.say("SessionStart", source="startup")
    assert "Never force a push" in claude.prompt(PROMPT).context

    def report(answer):
        claude.stop(answer)
        with Brains.open(project, directory=str(project)) as brains:
            effect, overview = Stats(brains).effect("force-push"), Stats(brains).overview()
        (occasion,) = open_journal(project).ledger.find(cards=[CARD])
        stats = lessons("stats", "force-push").out
        lessons("report", "-o", "report.html")
        return {
            "effect": effect,
            "overview": overview,
            "outcome": occasion.outcome,
            "stats": stats,
            "report": (project / "report.html").read_text(encoding="utf-8"),
            "why": lessons("why", "--session", "s1").out,
            "json": json.loads(lessons("--json", "stats", "force-push").out),
        }

    return report


SILENT = {
    "no act and no mention": ((), "I have looked at it."),
    "reading only": (("git status", "git log -3", "ls", "cat bot/a.py"), "I have looked at it."),
    "a claim only": ((), "I pushed to the release branch without force."),
}


@pytest.mark.parametrize("name", SILENT)
def test_silence_never_counts_as_heeded(claude, given, name):
    commands, said = SILENT[name]
    for number, command in enumerate(commands, 1):
        run(claude, command, number)
    seen = given(said)
    effect = seen["effect"]
    assert effect.injections == 1
    assert seen["outcome"] == "unknown"
    assert effect.addressed == 0
    assert dict(effect.outcomes) == {"unknown": 1}
    assert (effect.told.of, effect.untold.of) == (0, 0), "an unknown outcome is not compared"
    assert effect.verdict == "no facts yet"
    assert seen["overview"].addressed == 0
    assert seen["json"]["outcomes"] == {"unknown": 1}
    for place in ("stats", "report", "why"):
        assert "avoided 1×" not in seen[place]
        assert "corrected 1×" not in seen[place]


def test_the_act_is_evidence(claude, given):
    run(claude, GOOD)
    seen = given("Pushed.")
    assert seen["outcome"] == "avoided"
    assert dict(seen["effect"].outcomes) == {"avoided": 1}
    assert seen["effect"].told.of == 1
    for place in ("stats", "report"):
        assert "avoided 1×" in seen[place]


def test_the_mistake_is_evidence(claude, given):
    run(claude, BAD)
    seen = given("Pushed.")
    assert seen["outcome"] == "left"
    assert seen["effect"].told.times == 1


@pytest.mark.parametrize(("line", "pattern", "shows"), [
    ("ls -la", r"git push .*--force", False),
    ("git status", r"git push .*--force", False),
    ("git log -3 | head", r"\bgit\s+push\b.*--force", False),
    ("git push origin release", r"git push .*--force", True),
    ("cd bot && git push", r"git push .*--force", True),
    ("mkdir out", r"git push .*--force", True),
    ("cat a.py > b.py", r"git push .*--force", True),
    ("cat a.py", r"\bcat \S*\.env", True),
    ("head a.py", r"\bcat \S*\.env", False),
    ("pytest -q", r"git push .*--force", True),
])  # fmt: skip
def test_a_command_that_only_reads_shows_nothing(line, pattern, shows):
    rule = Rule(card="a", pattern=Pattern(kind="command", text=pattern))
    event = Event(kind="command", at=1.0, session="s", tool="Bash", text=line, outcome="ok")
    steps = read_steps([event], [])
    expected = ("avoided", "pattern") if shows else ("unknown", "")
    assert judge_steps(Facts(matcher=Matcher([rule])), steps) == expected
