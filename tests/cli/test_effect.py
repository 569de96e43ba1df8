"""`lessons stats` and `lessons mark`, as a user meets them."""

import datetime as dt
import json
import pathlib
import re
from dataclasses import replace

import pytest

from lessons_kb import Brain
from lessons_kb.model import as_data
from tests.kit import occasions, trust_brain, write

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "cli"
OCCASIONS = {
    "lessons/helps.md": {"block": (1, 30), "withheld": (9, 14)},
    "lessons/returns.md": {"block": (7, 12)},
}
START = dt.datetime(2026, 9, 7, 12)
CARDS = {
    "lessons/helps.md": {
        "injected": 40,
        "sessions": 30,
        "addressed": 50,
        "tokens": 4400,
    },
    "lessons/harms.md": {"injected": 20, "sessions": 20, "harmful": 3, "unaddressed": 12},
    "lessons/returns.md": {"injected": 12, "sessions": 12, "addressed": 9},
    "lessons/unread.md": {"injected": 9, "sessions": 9, "unaddressed": 27},
}


def make(root, monkeypatch, **cards):
    """Make a trusted brain of cards and work in it."""
    for name, text in cards.items():
        write(root, f"lessons/{name}.md", text)
    write(root, "lessons.toml", "")
    trust_brain(str(root))
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """A brain whose journal has counted for some weeks; the working directory is in it."""
    cards = {}
    for place, name in enumerate((*CARDS, "lessons/quiet.md")):
        word, severity = name[8:-3], ("high", "low")[place % 2]
        header = f"title: A lesson that {word}\nseverity: {severity}\nstage: DEV"
        cards[word] = f"---\n{header}\n---\n\n- Look\n"
    root = make(tmp_path / "shop", monkeypatch, **cards)
    (root / "house.md").write_text("# OpenSession rules\n")
    with Brain.open(root) as brain:
        for name, counts in CARDS.items():
            for what, times in counts.items():
                for week in range(3):
                    at = (START + dt.timedelta(weeks=week)).timestamp()
                    part = times // 3 + (times % 3 if week == 2 else 0)
                    if part:
                        brain.journal.count(name, what, at=at, times=part)
        journal = brain.members[0].journal
        journal.outcomes.count("", "sessions", at=START.timestamp(), times=62)
        for card, arms in OCCASIONS.items():
            for one in occasions(card, **arms):
                journal.ledger.note(**as_data(replace(one, at=START.timestamp() + one.at * 43_200)))
    return root


@pytest.mark.parametrize(
    ("words", "name"), [(["stats"], "stats.txt"), (["stats", "helps"], "stats-card.txt")]
)
def test_it_reads_as_it_did(shop, lessons, pytestconfig, words, name):
    shown = lessons(*words)
    assert (shown.code, shown.err) == (0, "")
    if pytestconfig.getoption("--update"):
        (GOLDEN / name).write_text(shown.out, encoding="utf-8")
    assert shown.out == (GOLDEN / name).read_text(encoding="utf-8")


def test_a_terminal_gets_bars_and_sparks(shop, at_terminal):
    lines = at_terminal("stats")
    shown = "\n".join(lines)
    assert re.search(r"^injected .* [▁▂▃▄▅▆▇█]{3,}$", shown, re.MULTILINE)
    assert all(len(line) <= 80 for line in lines if not line.startswith(" "))
    assert "WITHOUT: sessions in which the mistake was left" in " ".join(shown.split())


def test_json_holds_everything(shop, lessons):
    data = json.loads(lessons("stats", "--json").out)
    assert (data["cards"], data["notes"], data["injections"]) == (5, 1, 81)
    assert data["verdicts"]["harms"] == 1
    assert [effect["verdict"] for effect in data["effects"]] == [
        *("helps", "harms", "too early", "no facts yet", "never used")
    ]
    card = json.loads(lessons("--json", "stats", "helps").out)
    assert card["untold"]["times"] == 9
    assert {"day": "2026-09-07", "what": "injected", "times": 13} in card["history"]


def test_stages_and_projects_narrow_it(shop, lessons):
    shown = lessons("stats", "--stage", "DEV").out
    assert shown.startswith("4 of 5 cards reached an agent so far. 1 helps, 1 does harm; 2 cannot")
    assert "\ncards       5 lessons" in shown
    for filtered in (("--stage", "TEST"), ("--project", "other")):
        none = lessons("stats", *filtered)
        assert (none.code, none.out) == (0, "")
        assert none.err == "lessons: no cards match; remove a filter\n"


def test_an_empty_brain_and_an_empty_journal_say_what_to_do(tmp_path, monkeypatch, lessons):
    root = make(tmp_path, monkeypatch)
    shown = lessons("stats")
    assert (shown.code, shown.out) == (0, "")
    assert shown.err == 'lessons: no cards yet; `lessons add "what went wrong"` writes the first\n'
    assert json.loads(lessons("stats", "--json").out)["effects"] == []
    write(root, "lessons/a.md", "# Retry without a key\n\n- Send a key\n")
    shown = lessons("stats")
    assert shown.out.startswith("cards     1 lesson\nmistakes  1 counted by the cards")
    assert "no agent got a lesson yet; `lessons setup`" in shown.err
    card = lessons("stats", "a")
    assert "verdict  never used: no prompt has matched it yet\n" in card.out
    assert card.err == "lessons: no usage recorded yet\n"


@pytest.mark.slow
def test_the_figures_agree_or_say_what_they_count(brain, lessons):
    with Brain.open(brain) as opened:
        opened.preflight("Add a Telegram command that runs a shell script", session="s")
    shown = lessons("stats").out
    assert re.search(r"^injected +1× in 1 session, [\d,]+ tokens", shown, re.MULTILINE)
    lessons("ignore", "sleep-in-test")
    lessons("archive", "kst-day-boundary")
    shown = lessons("stats").out
    never = int(re.findall(r"(\d+) never injected", shown)[0])
    archived = int(re.findall(r"; (\d+) archived\n", shown)[0])
    ignored = int(re.findall(r"\((\d+) of them ignored\)", shown)[0])
    assert ignored >= 1
    assert f"\nActive but never injected ({never - ignored})\n" in shown
    cards = sum(map(int, re.findall(r"(\d+) (?:lesson|playbook|qa-finding)", shown)))
    effect = re.findall(r"^effect .*$", shown, re.MULTILINE)[0]
    of_them = re.sub(r"\(\d+ of them ignored\)", "", effect)
    assert archived >= 1
    assert sum(map(int, re.findall(r" (\d+)", of_them))) == cards
    one = lessons("stats", "telegram").out
    assert re.search(r"^injected +1× in 1 session, ", one, re.MULTILINE)


def test_marks(shop, lessons):
    done = lessons("mark", "quiet", "helpful")
    assert (done.code, done.out) == (
        0,
        "lessons/quiet.md marked helpful (helpful 1×, harmful 0×, irrelevant 0×)\n",
    )
    lessons("mark", "quiet", "harmful", "--session", "s")
    twice = lessons("mark", "quiet", "harmful", "--session", "s", "--json")
    assert json.loads(twice.out)["harmful"] == 1
    wrong = lessons("mark", "quiet", "good")
    assert (wrong.code, wrong.out) == (2, "")
    assert wrong.err == "lessons: a mark is one of helpful, harmful, irrelevant, not 'good'\n"
    assert "did you mean lessons/quiet.md?" in lessons("mark", "lessons/quiett.md", "helpful").err


def test_an_irrelevant_lesson_learns_the_prompt_only_if_told_to(shop, lessons):
    text = (shop / "lessons/quiet.md").read_text("utf-8")
    prompt = "say the API key sk-ant-REDACTED aloud"
    done = lessons("mark", "quiet", "irrelevant", "--prompt", prompt)
    assert (done.code, (shop / "lessons/quiet.md").read_text("utf-8")) == (0, text)
    assert "add --yes to write" in done.err
    none = lessons("mark", "quiet", "irrelevant")
    assert "name it with --prompt" in none.err
    done = lessons(
        "mark", "quiet", "irrelevant", "--yes", "--prompt", "token = hunter2hunter2 once"
    )
    assert done.code == 0
    changed = (shop / "lessons/quiet.md").read_text("utf-8")
    assert "not-for:" in changed
    assert "once" in changed
    assert "hunter2" not in changed + done.out + done.err
