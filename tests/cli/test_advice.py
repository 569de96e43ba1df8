"""No dead ends: what a command advises is typed, and then the user can go on."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

ROOT = str(pathlib.Path(__file__).parents[2])
CARD = """\
---
type: lesson
title: {}
symptoms: [retry a payment, a customer was charged twice]
severity: medium
---

## Root Cause

The gateway takes each request without a key for a new charge.

## Prevention Checklist

- [ ] Send the same key on every retry
"""
TITLES = ("Retried payments without a key", "Retried uploads from the start", "Lost the currency")
FOUND = ("lint", "doctor", "check")
"""Commands that exit with 1 where they found something."""


@dataclass
class Walk:
    """A user at a shell who does what he is told."""

    lessons: Callable[..., Any]
    go: pytest.MonkeyPatch
    typed: list[str] = field(default_factory=list)

    def type(self, line: str) -> tuple[int, str]:
        """Type a line; return its exit code and all that it printed."""
        self.typed.append(line)
        if line.startswith("export "):
            name, _, value = line.removeprefix("export ").partition("=")
            self.go.setenv(name, value)
            return 0, ""
        if not re.match(r"(cd|lessons) [^|<>&;]*$", line):
            done = subprocess.run(["bash", "-c", line], capture_output=True, check=False)
            return done.returncode, (done.stdout + done.stderr).decode()
        split = subprocess.run(["bash", "-c", rf"printf '%s\0' {line}"], capture_output=True)
        words = os.fsdecode(split.stdout).split("\0")[:-1]
        if words[0] == "cd":
            self.go.chdir(words[1])
            return 0, ""
        done = self.lessons(*words[1:])
        return done.code, done.out + done.err

    def follow(self, line: str, *, again: bool = True, depth: int = 0) -> str:
        """Type a line, all that it advises, and the line again where it had failed.

        Returns the line that gave the advice.
        """
        code, said = self.type(line)
        told = [one for one in said.splitlines() if advised(one)] or said.splitlines()[-1:]
        last = told[-1].strip() if told else ""
        if code and code != (line.split()[1:2] and line.split()[1] in FOUND):
            assert advised(last), f"{line}: {said}"
            assert depth < 4, self.typed
        if depth < 4:
            for command in advised(last):
                self.follow(command, again=False, depth=depth + 1)
        if code and again:
            done, said = self.type(line)
            assert done == 0 or line.split()[1] in FOUND, f"{line}: {said}"
        return last


def advised(line: str) -> list[str]:
    """List the commands that a line names."""
    commands = re.findall(r"`((?:lessons|chmod|mv|cp|export|git|rm) [^`]*)`", line)
    if near := re.search(r"did you mean (\S+/\S+\.md)\?", line):
        commands.append(f"lessons show {near[1]}")
    if several := re.search(r"matches \d+ cards: ([^,;]+).*write more of the name", line):
        commands.append(f"lessons show {several[1]}")
    if confirmed := re.search(r"add --yes to delete (\S+)$", line):
        commands.append(f"lessons delete {confirmed[1]} --yes")
    return commands


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    root = tmp_path_factory.mktemp("shops") / "shop"
    (root / "lessons").mkdir(parents=True)
    (root / "lessons.toml").write_text("")
    for title in TITLES:
        path = root / "lessons" / f"{title.lower().replace(' ', '-')}.md"
        path.write_text(CARD.format(title))
    commit = "git -c user.name=a -c user.email=a@b commit -qm cards"
    subprocess.run(f"git init -q . && git add -A && {commit}", shell=True, check=True, cwd=root)
    return root


@pytest.fixture
def walk(
    lessons: Callable[..., Any],
    shop: pathlib.Path,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Walk:
    """A user in a trusted brain of three cards, in a repository."""
    shutil.copytree(shop, tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    walk = Walk(lessons, monkeypatch)
    walk.type("lessons trust .")
    return walk


LOST = "lessons/lost-the-currency.md"
WHOLE = (
    'lessons add "{}" --why "The gateway takes each request without a key for a new charge" '
    '--do "Send the same key on every retry" --symptom "retry an order" --symptom "charged twice"'
)
AGAIN = WHOLE.format(TITLES[0])
JOURNAL = "$(ls -d $HOME/.local/state/lessons-kb/brains/*/journal.db)"

WAYS: dict[str, tuple[str, str, bool]] = {
    # What a new user meets.
    "a new brain": ("mkdir ../new; cd ../new", "lessons init", False),
    "a title alone": ("", "lessons add 'Sold out of stock'", False),
    "no card yet": ("mkdir ../new; cd ../new; lessons init", "lessons list", False),
    "doctor in an empty folder": ("mkdir ../new; cd ../new", "lessons doctor", True),
    "import without a brain": (
        "lessons export jsonl --output ../a; mkdir ../new; cd ../new",
        "lessons import jsonl ../a --yes",
        True,
    ),
    "no agents": ("", "lessons install --all", False),
    "no agents to take out": ("", "lessons uninstall --all", False),
    "installed twice": ("lessons install codex", "lessons install codex", False),
    "uninstalled twice": (
        "lessons install codex; lessons uninstall codex",
        "lessons uninstall codex",
        False,
    ),
    "a read-only file of an agent": (
        "mkdir $HOME/.claude; echo {} > $HOME/.claude/settings.json; chmod a-w $HOME/.claude/*",
        "lessons install claude-code",
        True,
    ),
    "an unknown command": ("", "lessons lst", False),
    "an option of another command": ("", "lessons bump --why x", False),
    "an argument left out": ("", "lessons rename lost", False),
    "nothing recorded": ("", "lessons events", False),
    "nothing injected": ("", "lessons stats", False),
    "no prompt yet": ("", "lessons why", False),
    "no draft of that name": ("", "lessons review --accept 7", False),
    "nothing to mine": ("", "lessons mine", False),
    # Cards.
    "a card that exists": ("", AGAIN, False),
    "a card like another": ("", "lessons create 'Retried payments without any key'", False),
    "a typing error": ("", "lessons show lessons/lost-teh-currency.md", False),
    "no such card": ("", "lessons bump zzz", False),
    "an ambiguous prefix": ("", "lessons show retried", False),
    "a path from the shell's completion": ("", f"lessons show ./{LOST}", False),
    "an absolute path": ("", f'lessons show "$PWD/{LOST}"', False),
    "a bump of an archived card": ("lessons archive lost", "lessons bump lost", False),
    "archived twice": ("lessons archive lost", "lessons archive lost", False),
    "restored twice": ("lessons archive lost; lessons restore lost", "lessons restore lost", False),
    "deleted unconfirmed": ("", "lessons delete lost", False),
    "a bump of a deleted card": ("lessons delete lost --yes", "lessons bump lost", True),
    "deleted twice": ("lessons delete lost --yes", "lessons delete lost --yes", True),
    "restored over a new card": (
        f"lessons delete lost --yes; cp {LOST.replace('lost-the-currency', 'retried*')[:-3]} {LOST}"
        if False
        else f"lessons delete lost --yes; cp lessons/retried-uploads-from-the-start.md {LOST}",
        f"lessons restore {LOST}",
        False,
    ),
    "an unreadable card": (r"printf '\xff' > lessons/odd.md", "lessons bump odd", False),
    "an unreadable card that begins like another": (
        r"printf '\xff' > lessons/lost.md",
        "lessons bump lost",
        False,
    ),
    "a read-only card": (f"chmod a-w {LOST}", "lessons bump lost", True),
    "a card with Windows' line ends": (f"sed -i 's/$/\r/' {LOST}", "lessons bump lost", False),
    "imported twice": (
        "lessons export jsonl --output ../a; lessons import jsonl ../a --yes",
        "lessons import jsonl ../a --yes",
        False,
    ),
    # Settings and state.
    "a newer journal": (
        f'lessons run true; sqlite3 {JOURNAL} "PRAGMA user_version = 999"',
        "lessons events",
        True,
    ),
    "a folder in the journal's place": (
        f"lessons run true; J={JOURNAL}; rm $J; mkdir $J",
        "lessons events",
        True,
    ),
    # Places.
    "a work tree": ("git worktree add -q ../tree; cd ../tree", "lessons list", True),
    "a moved brain": ("mv $PWD ../moved; cd ../moved", "lessons list", True),
    "a copy": ("cp -R $PWD ../copy; cd ../copy", "lessons list", True),
    "blanks": ("cp -R $PWD '../a  b '; cd '../a  b '", "lessons list", True),
    "a quotation mark": ("cp -R $PWD \"../it's\"; cd \"../it's\"", "lessons list", True),
    "Hangul": ("cp -R $PWD ../한글; cd ../한글", "lessons list", True),
    "a line break": ("cp -R $PWD $'../a\\nb'; cd $'../a\\nb'", "lessons list", True),
    "no UTF-8": ("cp -R $PWD $'../a\\xff'; cd $'../a\\xff'", "lessons list", True),
    "a leading hyphen": ("cd ..", "lessons init ./-brain", False),
    "a submodule": (
        "cp -R $PWD ../sub; git -c protocol.file.allow=always submodule --quiet add ../sub lib",
        "lessons list",
        False,
    ),
    "a nested brain": ("mkdir pkg; cd pkg; lessons init", "lessons bump lost", False),
    "cards of equal ids in two brains": (
        "mkdir pkg; cd pkg; lessons init; cp ../lessons/lost* lessons",
        "lessons bump shop:lost",
        False,
    ),
    "lint of one file": ("", f"lessons lint {LOST}", False),
}


@pytest.mark.parametrize("way", WAYS)
def test_the_advice_works_when_it_is_typed(walk: Walk, way: str) -> None:
    setup, command, again = WAYS[way]
    for line in filter(None, setup.split("; ")):
        walk.type(line)
    print(f"{way} | {command} | {walk.follow(command, again=again)}")
