"""The installed program's first moments."""

import os
import subprocess
import sys

import pytest


def ended(*lines):
    """Let a process run the entry with a command line that does only what is written here."""
    given = "\n".join(f"    {line}" for line in lines)
    code = (
        "import atexit, os, sys, threading, time, types\n"
        f"def main():\n{given}\n"
        "sys.modules['lessons_kb.cli.main'] = types.SimpleNamespace(main=main)\n"
        "from lessons_kb.cli.entry import main as entry\n"
        "entry()\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.slow
@pytest.mark.parametrize(("raised", "code"), [("0", 0), ("None", 0), ("3", 3), ("True", 1)])
def test_the_exit_code_and_all_that_was_printed_arrive(raised, code):
    done = ended("print('x' * 300_000)", "print('said', file=sys.stderr)", f"sys.exit({raised})")
    assert (done.returncode, len(done.stdout), done.stderr) == (code, 300_001, "said\n")


@pytest.mark.parametrize(("lines", "code", "out"), [
    (["raise KeyboardInterrupt"], 130, ""),
    (["atexit.register(print, 'goodbye')", "sys.exit(0)"], 0, "goodbye\n"),
    (["threading.Thread(target=lambda: (time.sleep(0.3), print('late'))).start()", "sys.exit(0)"],
     0, "late\n"),
    # A process that has answered is not taken apart.
    (["global kept", "write = os.write",
      "kept = type('Kept', (), {'__del__': lambda _, write=write: write(1, b'apart')})()",
      "sys.exit(4)"], 4, ""),
], ids=["Ctrl-C", "at exit", "a thread", "not taken apart"])  # fmt: skip
def test_what_is_left_to_be_done_at_the_end_is_done(lines, code, out):
    done = ended(*lines)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_an_answer_that_cannot_be_written_is_an_error():
    done = ended("sys.stdout = open('/dev/full', 'w')", "print('lost')", "sys.exit(0)")
    assert "No space left" in done.stderr


@pytest.mark.parametrize(
    ("words", "command"),
    [
        ("review --accept", "lessons review"),
        ("--no-color --brain DIR why --add-symptom", "lessons why"),
        ("export json -o", "lessons export"),
        ("review --nosuch", "lessons review"),
        ("--brain", "lessons"),
        ("--nosuch review", "lessons"),
        ("nosuch --accept", "lessons"),
    ],
)
def test_a_wrong_command_line_names_the_help_of_its_command(lessons, words, command):
    done = lessons(*words.split())
    assert (done.code, done.out) == (2, "")
    assert done.err.endswith(f"; see `{command} --help`\n")


def at_streams(brain, redirection, *words, **env):
    """Run a command as a shell does that is told what becomes of its streams."""
    command = [sys.executable, "-m", "lessons_kb.cli.entry", *words]
    return subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *command],
        cwd=brain, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, **env},
    )  # fmt: skip


WORDS = (
    "--version",
    "list",
    "preflight|Add a telegram command",
    "doctor",
    "bump|telegram",
)
COMMANDS = [
    pytest.param(one.split("|"), id=one, marks=[pytest.mark.slow] if number else [])
    for number, one in enumerate((*WORDS, "nosuch"))
]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_closed_stream_is_silence_and_changes_no_exit_code(brain, words):
    usual = at_streams(brain, "", *words)
    for closed in (">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = at_streams(brain, closed, *words)
        assert done.returncode == usual.returncode, closed
        assert "internal error" not in done.stderr
        assert (">&-" in closed and "2>&-" not in closed) <= (done.stdout == "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_device_is_one_line_and_an_error(brain, words):
    usual = at_streams(brain, "", *words)
    expected = (
        "lessons: the answer could not be written: No space left on device; send it elsewhere"
    )
    for unbuffered in ("", "1"):
        lost = at_streams(brain, ">/dev/full", *words, PYTHONUNBUFFERED=unbuffered)
        assert lost.returncode == (2 if usual.stdout else usual.returncode)
        assert (expected in lost.stderr.splitlines()) == bool(usual.stdout)
        assert "internal error" not in lost.stderr
    unsaid = at_streams(brain, "2>/dev/full", *words)
    assert unsaid.returncode == usual.returncode
    assert bool(unsaid.stdout) == bool(usual.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names of files are UTF-8 anyway")
def test_a_locale_without_utf8_hides_no_card(brain):
    (brain / "lessons" / "한글.md").write_text("# 한글 제목\n\n- 확인\n", encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for words in (("list", "--all"), ("show", "한글")):
        done = at_streams(brain, "", *words, **plain)
        assert (done.returncode, done.stderr) == (0, "")
        assert "한글 제목" in done.stdout


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows limits no files")
def test_a_card_is_deleted_and_restored_where_no_byte_can_be_written(brain):
    card = brain / "lessons" / "telegram-allowlist.md"
    text = card.read_text()
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
        "from lessons_kb.cli.entry import main; main()"
    )
    assert at_streams(brain, "", "index").returncode == 0
    for words, there in (
        (("delete", "telegram-allowlist", "--yes"), False),
        (("restore", "telegram-allowlist"), True),
    ):
        done = subprocess.run(
            [sys.executable, "-B", "-c", limited, *words],
            cwd=brain, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert (done.returncode, card.exists()) == (0, there), done.stderr
    assert card.read_text() == text
