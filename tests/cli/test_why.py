"""Why on the command line: the whole text as a golden file, the data, the sensible words."""

import json
import pathlib
import re

import pytest

from lessons_kb.cli.commands.why import _list_verdicts, format_confidence
from lessons_kb.cli.output import wrap
from lessons_kb.outcome.why import Verdict
from lessons_kb.render import in_words, words_by_term

GOLDEN = pathlib.Path(__file__).parents[1] / "golden" / "cli" / "why.txt"
PROMPT = "Add a Telegram command that runs a shell script"


@pytest.mark.slow
def test_the_whole_text(lessons, brain, request):
    given = lessons("preflight", PROMPT)
    result = lessons("why")
    dry = lessons("why", PROMPT)
    first, _, text = result.out.partition("\n")
    assert first.startswith("Outside any session, ")
    assert first.endswith(", now")
    assert result.err == ""
    assert given.err.strip() in text  # the footer
    assert dry.out == text
    text = re.sub(r"confidence \d\.\d\d", "confidence #", text)  # another test's business
    if request.config.getoption("--update"):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_closest_symptom_of_a_given_card_is_named(lessons, brain):
    lessons("preflight", PROMPT)
    for data in (lessons("why", "--json").out, lessons("why", PROMPT, "--json").out):
        given = json.loads(data)["verdicts"][0]
        assert given["symptom"] in (brain / given["id"]).read_text("utf-8")
        assert "runs a script" in given["symptom"]
    assert f"closest symptom: “{given['symptom']}”" in lessons("why").out


def test_nothing_known_is_one_line(lessons, brain):
    result = lessons("why")
    expected = "no prompts recorded yet; `lessons why PROMPT` explains a prompt\n"
    assert (result.code, result.out, result.err) == (0, expected, "")
    assert "for session 'x'" in lessons("why", "--session", "x").out
    assert json.loads(lessons("why", "--json").out) is None
    result = lessons("why", "zzzyx")
    assert result.out == "Prompt: zzzyx\n\nInjected:\n  nothing\nSuppressed:\n  nothing\n"
    (brain / "lessons.toml").write_text('language = "ko"\n')
    lessons("trust")
    assert "\n교훈 1개 (lessons/telegram-allowlist.md)" in lessons("why", PROMPT).out


def test_a_session_and_a_file_at_hand(lessons, brain):
    lessons("preflight", "--session", "s1", PROMPT)
    result = lessons("why", "--session", "s1", PROMPT)
    assert "already in this session [preflight.reinject_after]" in result.out
    data = json.loads(lessons("why", "--json").out)
    assert (data["session"], data["source"]) == ("s1", "noted")
    guarded = lessons("why", "zzzyx", "--path", "migrations/0007_users.sql")
    assert "guards a file at hand" in guarded.out


@pytest.mark.parametrize("width", [40, 80])
def test_long_lines_are_folded_with_their_indent(width):
    line = "  ✗ " + "교훈 카드 " * 30 + "lessons/" + "x" * 100
    pieces = list(wrap(line, width, hang=2))
    assert " ".join(" ".join(pieces).split()) == " ".join(line.split())
    assert all(piece.startswith("    ") for piece in pieces[1:])
    from rich.cells import cell_len

    assert all(cell_len(piece) <= width for piece in pieces[:-1])
    assert pieces[-1].endswith("x" * 100)


def test_a_card_that_is_put_away_is_named(lessons, brain):
    for command, state in (("archive", "archived"), ("ignore", "ignored")):
        lessons(command, "telegram-allowlist")
        output = lessons("why", PROMPT).out.partition("Suppressed:\n")[2].splitlines()
        assert output[0].startswith("  ✗ lessons/telegram-allowlist.md, confidence ")
        back = "`lessons restore lessons/telegram-allowlist.md` makes it active"
        assert output[1] == f"    {state}; {back}"
        assert state not in lessons("why", "Write a poem about bears").out


def test_a_card_is_named_as_for_every_other_command(lessons, brain, at_terminal):
    listed = [line for line in at_terminal("list", "--all") if "Telegram remote" in line]
    names = [word for word in listed[0].split() if word.startswith("telegram")]
    for name in (*names, "telegram", "lessons/telegram", "telegram-allowlist.md"):
        assert lessons("why", name).out.startswith("lessons/telegram-allowlist.md: ")
    assert lessons("why", "te").out.startswith("Prompt: te\n")  # too short to name a card
    assert lessons("why", "telegram", "zzzyx").out.startswith("Prompt: telegram zzzyx\n")


def test_a_confidence_just_below_a_threshold_is_not_printed_like_the_threshold():
    assert format_confidence(0.3, 0.4, 0.15) == "0.30"
    assert format_confidence(0.3996, 0.4, 0.15) == "0.3996"
    assert format_confidence(0.0961, 0.4, 0.0963) == "0.0961"
    assert format_confidence(0.0965, 0.4, 0.0963) == "0.10"
    assert format_confidence(0.3, None, None) == "0.30"


def test_the_reason_names_the_part_of_a_path_that_the_card_has():
    words = words_by_term("Fix the flaky test in tests/ci/browser")
    reason = in_words("shares rare terms: ci, browser", words)
    assert reason == "shares rare terms: ci, browser"
    assert in_words("shares terms: testscibrows", words) == "shares terms: tests/ci/browser"


@pytest.mark.parametrize(
    ("card", "described"),
    [
        ("lessons/first-lesson.md", "the first lesson of `lessons setup`, which removed itself"),
        ("lessons/cart.md", "a card that no longer exists"),
    ],
)
def test_a_card_that_was_given_and_is_gone_is_described(card, described):
    lines = list(_list_verdicts([Verdict(id=card, given=True)], "✓", {}, {}))
    assert lines[0].startswith(f"  ✓ {described}")
