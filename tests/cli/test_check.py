"""The command check: which lessons are meant, and what is no answer."""

from __future__ import annotations

import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

PROMPT = "Add a Telegram command that runs a shell script"
OTHER = "Rename the colour theme of the settings page to dusk"

Run = Callable[..., Any]


def test_the_last_prompt_counts_even_if_it_was_given_nothing(lessons: Run, brain: object) -> None:
    lessons("preflight", PROMPT)
    assert lessons("check", "nothing done").out.startswith("⚠")
    assert lessons("preflight", OTHER).out == ""
    done = lessons("check", "nothing done", "--fail-on-unaddressed")
    assert (done.code, done.out) == (0, "No checklist items to check.\n")
    assert done.err == (
        "lessons: no lesson to check: none was injected for the last prompt; use --card ID\n"
    )
    assert lessons("check", "nothing done", "--card", "telegram").out.startswith("⚠")


def test_what_a_session_was_given_before_is_checked(lessons: Run, brain: object) -> None:
    lessons("preflight", PROMPT, "--session", "s")
    assert lessons("preflight", PROMPT, "--session", "s").out == ""
    lessons("preflight", OTHER, "--session", "t")
    assert lessons("check", "nothing done", "--session", "s").out.startswith("⚠")
    assert lessons("check", "nothing done").out == "No checklist items to check.\n"


@pytest.mark.parametrize("arguments", [(), ("",), ("-",), ("--card", "telegram")])
def test_no_answer_is_no_answer(lessons: Run, brain: object, arguments: tuple[str, ...]) -> None:
    done = lessons("check", *arguments, stdin=" \n")
    assert (done.code, done.out) == (2, "")
    assert done.err == "lessons: answer missing; pass it as an argument or on stdin\n"


def test_what_was_done_is_enough(lessons: Run, brain: object, tmp_path: pathlib.Path) -> None:
    (tmp_path / "done.txt").write_text("The colours of the settings page.\n")
    done = lessons("check", "--card", "telegram", "--evidence", tmp_path / "done.txt", stdin="")
    assert done.code == 0
    assert done.out.startswith("⚠")


def test_a_korean_brain_is_answered_in_korean_alone(lessons: Run, brain: pathlib.Path) -> None:
    (brain / "lessons.toml").write_text('language = "ko"\n')
    done = lessons("--brain", brain, "check", "nothing done at all", "--card", "telegram")
    first, *lines = done.out.splitlines()
    assert first.startswith("⚠ 답변에서")
    assert not any("not seen" in line or "nearest" in line for line in lines)
    assert any(line.startswith("    보이지 않는 말: ") for line in lines)
    close = "I reject every chat id that is not on the allowlist."
    done = lessons("--brain", brain, "check", close, "--card", "telegram")
    assert "    가장 가까운 문장: " in done.out


@pytest.fixture
def project(tmp_path: pathlib.Path, lessons: Run, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A repository that is a brain too, with one commit."""
    root = tmp_path / "p[1]*"
    root.mkdir()
    monkeypatch.chdir(root)
    lessons("init", ".")
    git(root, "init", "-q")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "start")
    return root


def git(root: pathlib.Path, *arguments: str) -> None:
    command = ["git", "-C", str(root), "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*command, *arguments], check=True)


CARD = """\
---
type: lesson
title: Telegram commands run for any group member
symptoms: [a Telegram chat member runs a shell script]
---

## Prevention Checklist

- Reject every chat id that is not on the allowlist
- Cover the rejection with a test
"""


@pytest.mark.parametrize("how", ["untracked", "committed"])
@pytest.mark.parametrize(
    "name",
    [
        "lessons/telegram.md",
        "docs/any folder/telegram.markdown",
        "lessons.toml",
        "sub/lessons.toml",
        ".lessons/drafts/telegram.txt",
        ".lessonsignore",
        "reviews/synthesis.md",
    ],
)
def test_a_brain_is_neither_query_nor_evidence_of_a_diff(
    lessons: Run, project: pathlib.Path, name: str, how: str
) -> None:
    (project / "lessons" / "own.md").write_text(CARD, encoding="utf-8")
    git(project, "add", ".")
    git(project, "commit", "-q", "-m", "card")
    quoted = CARD if name.endswith(("md", "markdown")) else CARD.replace("\n", "\n# ")
    (project / name).parent.mkdir(parents=True, exist_ok=True)
    (project / name).write_text("# " * (quoted != CARD) + quoted, encoding="utf-8")
    revision = "--diff"
    if how == "committed":
        git(project, "add", "-f", name)
        git(project, "commit", "-q", "-m", "quote")
        revision = "--diff=HEAD~1"
    assert lessons("preflight", revision).out == ""
    done = lessons("check", revision, "--card", "own", "--fail-on-unaddressed")
    assert done.code == 1
    assert "Cover the rejection with a test" in done.out


def test_a_fix_beside_its_card_is_evidence(lessons: Run, project: pathlib.Path) -> None:
    (project / "lessons" / "own.md").write_text(CARD, encoding="utf-8")
    (project / "bot.py").write_text(
        "def on_message(chat):\n"
        "    if chat.id not in ALLOWLIST:\n"
        "        return reject(chat.id)  # every chat id that is not on the allowlist\n",
        encoding="utf-8",
    )
    (project / "test_bot.py").write_text(
        "def test_rejection_covers_unknown_chats():\n    assert reject(stranger)\n",
        encoding="utf-8",
    )
    done = lessons("check", "--diff", "--card", "own", "--fail-on-unaddressed")
    assert done.code == 0, done.out
