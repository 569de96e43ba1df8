"""No dead ends: what a command advises is typed, and then the user can go on."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from lessons_kb import Brain

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

    def type(self, line):
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

    def follow(self, line, *, again=True, depth=0):
        """Type a line, all that it advises, and the line again where it had failed.

        Returns the line that gave the advice.
        """
        code, said = self.type(line)
        told = [one for one in said.splitlines() if advised(one)] or said.splitlines()[-1:]
        last = told[-1].strip() if told else ""
        if code and not (code == 1 and line.split()[1] in FOUND):
            assert advised(last), f"{line}: {said}"
            assert depth < 6, self.typed
        if depth < 4:
            for command in advised(last):
                self.follow(command, again="lessons trust" in command, depth=depth + 1)
        if code and again:
            done, said = self.type(line)
            assert done == 0 or line.split()[1] in FOUND, f"{line}: {said}"
        return last


def advised(line):
    """List the commands that a line names."""
    commands = re.findall(r"`((?:lessons|chmod|mv|cp|export|git|rm) [^`]*)`", line)
    if near := re.search(r"did you mean (\S+/\S+\.md)\?", line):
        commands.append(f"lessons show {near[1]}")
    if several := re.search(r"matches \d+ cards: ([^,;]+).*write more of the name", line):
        commands.append(f"lessons show {several[1]}")
    if wrong := re.search(r"at line (\d+).*fix or remove the line$", line):
        commands.append(f"sed -i {wrong[1]}d lessons.toml")
    return commands


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
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
def walk(lessons, shop, tmp_path, monkeypatch):
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
NEWER = 'import sqlite3, sys\nsqlite3.connect(sys.argv[1]).execute("PRAGMA user_version = 999")'

PLACES = {
    "{LOST}": LOST,
    "{AGAIN}": AGAIN,
    "{JOURNAL}": JOURNAL,
    "{NEWER}": NEWER,
    "{NEW}": "mkdir ../new; cd ../new",
    "{EXPORT}": "lessons export jsonl --output ../a",
    "{READ_ONLY}": "mkdir $HOME/.claude; echo {} > $HOME/.claude/settings.json; chmod a-w $HOME/.claude/*",
    "{SUBMODULE}": "git -c protocol.file.allow=always submodule --quiet add ../sub lib",
}
WAYS = r"""
once | a new brain | {NEW} | lessons init
once | a title alone |  | lessons add 'Sold out of stock'
once | no card yet | {NEW}; lessons init | lessons list
again | doctor in an empty folder | {NEW} | lessons doctor
again | import without a brain | {EXPORT}; {NEW} | lessons import jsonl ../a --yes
once | no agents |  | lessons setup
once | no agents to take out |  | lessons setup --undo
once | installed twice | lessons install codex | lessons install codex
once | uninstalled twice | lessons install codex; lessons uninstall codex | lessons uninstall codex
again | a read-only file of an agent | {READ_ONLY} | lessons install claude-code
once | an unknown command |  | lessons lst
once | an option of another command |  | lessons bump --why x
once | an argument left out |  | lessons rename lost
once | nothing recorded |  | lessons events
once | nothing injected |  | lessons stats
once | no prompt yet |  | lessons why
once | no draft of that name |  | lessons review --accept 7
once | nothing to mine |  | lessons mine
once | a card that exists |  | {AGAIN}
once | a card like another |  | lessons create 'Retried payments without any key'
once | a typing error |  | lessons show lessons/lost-teh-currency.md
once | no such card |  | lessons bump zzz
once | an ambiguous prefix |  | lessons show retried
once | a path from the shell's completion |  | lessons show ./{LOST}
once | an absolute path |  | lessons show "$PWD/{LOST}"
once | a bump of an archived card | lessons archive lost | lessons bump lost
once | archived twice | lessons archive lost | lessons archive lost
once | restored twice | lessons archive lost; lessons restore lost | lessons restore lost
once | deleted unconfirmed |  | lessons delete lost
again | a bump of a deleted card | lessons delete lost --yes | lessons bump lost-the-currency
again | deleted twice | lessons delete lost --yes | lessons delete lost-the-currency --yes
once | restored over a new card | lessons delete lost --yes; cp lessons/retried-up* {LOST} | lessons restore {LOST}
once | an unreadable card | printf '\xff' > lessons/odd.md | lessons bump odd
once | an unreadable card that begins like another | printf '\xff' > lessons/lost.md | lessons bump lost
again | a read-only card | chmod a-w {LOST} | lessons bump lost
once | a card with Windows' line ends | sed -i 's/$/\r/' {LOST} | lessons bump lost
once | imported twice | {EXPORT}; lessons import jsonl ../a --yes | lessons import jsonl ../a --yes
again | a newer journal | lessons run true; python3 -c '{NEWER}' {JOURNAL} | lessons events
again | a folder in the journal's place | lessons run true; J={JOURNAL} && rm $J && mkdir $J | lessons events
again | a table that is opened twice | printf '[gate]\n[gate]\n' > lessons.toml | lessons list
again | a work tree | git worktree add -q ../tree; cd ../tree | lessons list
again | a moved brain | mv $PWD ../moved; cd ../moved | lessons list
again | a copy | cp -R $PWD ../copy; cd ../copy | lessons list
again | blanks | cp -R $PWD '../a  b '; cd '../a  b ' | lessons list
again | a quotation mark | cp -R $PWD "../it's"; cd "../it's" | lessons list
again | Hangul | cp -R $PWD ../한글; cd ../한글 | lessons list
again | a line break | cp -R $PWD $'../a\nb'; cd $'../a\nb' | lessons list
again | no UTF-8 | cp -R $PWD $'../a\xff'; cd $'../a\xff' | lessons list
once | a leading hyphen | cd .. | lessons init ./-brain
once | a submodule | cp -R $PWD ../sub; {SUBMODULE} | lessons list
once | a nested brain | mkdir pkg; cd pkg; lessons init | lessons bump lost
once | cards of equal ids in two brains | mkdir pkg; cd pkg; lessons init; cp ../lessons/lost* lessons | lessons bump shop:lost
"""
"""Is the command typed again after its advice | what the user meets | what he did before | what he types."""


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS.strip().split("\n"))
def test_the_advice_works_when_it_is_typed(walk, way):
    for name, text in PLACES.items():
        way = way.replace(name, text)
    again, _met, setup, command = way.split(" | ")
    for line in filter(None, setup.split("; ")):
        code, said = walk.type(line)
        assert code == 0, f"{line}: {said}"
    walk.follow(command, again=again == "again")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("wrong", "advice", "right"),
    [
        ("[gate]\n[gate]\n", r"line 2.*fix or remove the line$", "[gate]\n"),
        (
            "[gate]\nzzz = 1\n",
            r"toml:2: .*(?:use one of|did you mean) gate\.(min_confidence)\b",
            "[gate]\n{} = 0.4\n",
        ),
        ("[qqq]\n", r"toml:1: .*use one of (\w+), ", "[{}]\n"),
        ("[prefligth]\n", r"toml:1: .*did you mean (\w+)\?$", "[{}]\n"),
        (
            "[gate]\nmin_confidence = 7\n",
            r"must be from 0 to (1), not 7.0$",
            "[gate]\nmin_confidence = {}\n",
        ),
    ],
)
def test_a_broken_setting_is_put_right_as_is_said(walk, wrong, advice, right):
    settings = pathlib.Path("lessons.toml")
    settings.write_text(wrong)
    for command in ("list", "config", "lint"):
        code, said = walk.type(f"lessons {command}")
        assert code
        assert "lessons trust" in said
    code, said = walk.type("lessons trust .")
    found = re.search(advice, said.strip())
    assert code
    assert found, said
    settings.write_text(right.format(*found.groups()))
    walk.type("lessons trust .")
    for command in ("list", "config", "lint"):
        walk.follow(f"lessons {command}")


def test_a_review_goes_on_by_commands(walk):
    cause = "The total was hard-coded to three instead of a sum of the items."
    good = {
        "sections": {"Root Cause": cause},
        "prevention": ["Cover the total of a cart with two items by a test"],
        "symptoms": ["the total of the cart is wrong", "change how a cart is summed up"],
    }
    with Brain.open(".") as opened:
        ids = [
            opened.drafts.propose(title, **good).id for title in ("The total was wrong", TITLES[0])
        ]
    assert all(one in walk.type("lessons review --list")[1] for one in ids)
    walk.follow(f"lessons review --accept {ids[0]}")
    walk.follow(f"lessons review --accept {ids[0]}", again=False)  # a second time
    last = walk.follow(f"lessons review --accept {ids[1]}", again=False)  # a card has this title
    assert f"`lessons review --merge {ids[1]}" in last
    assert walk.type("lessons review --list")[1] == "lessons: no drafts to review\n"


OTHER = 54_321
FOREIGN = {
    "another user's card": ("true", "lessons bump lost", OTHER),
    "a read-only folder of one's own": ("chmod a-w lessons", "lessons bump lost", 0),
}


class Unprivileged(Walk):
    """A user in a process of its own that may do no more than any other user."""

    def type(self, line):
        self.typed.append(line)
        line = re.sub(r"^lessons ", f"{sys.executable} -m lessons_kb.cli.entry ", line)
        done = subprocess.run(
            ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "bash", "-c", line],
            capture_output=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        return done.returncode, (done.stdout + done.stderr).decode()


@pytest.fixture
def unprivileged(shop, tmp_path, monkeypatch):
    """A user in a brain; only root can make files that are another user's."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs the right to change owners, and setpriv")
    shutil.copytree(shop, tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    monkeypatch.setenv("PYTHONPATH", ROOT)
    return Unprivileged(None, monkeypatch)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("way", FOREIGN)
def test_whoever_may_not_write_can_go_on(unprivileged, way):
    setup, command, owner = FOREIGN[way]
    brain = pathlib.Path.cwd()
    for path in (brain, *brain.rglob("*")):
        os.chown(path, owner, owner)
    unprivileged.follow("lessons trust .")
    assert unprivileged.type(setup)[0] == 0
    print(f"{way} | {command} | {unprivileged.follow(command, again=not owner)}")
    if owner:  # it was told to work on a copy
        unprivileged.go.chdir(os.path.expanduser("~/shop-copy"))
        unprivileged.follow(command)


@pytest.mark.slow
def test_a_home_that_cannot_be_written(unprivileged, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    os.chown(theirs, OTHER, OTHER)
    unprivileged.go.setenv("HOME", str(theirs))
    code, said = unprivileged.type("lessons trust .")
    assert code == 2
    for name in re.findall("[A-Z_]{4,}", said[said.rindex("; ") :]):
        with unprivileged.go.context() as go:
            go.setenv(name, str(tmp_path))
            unprivileged.follow("lessons list")


@pytest.mark.slow
def test_an_editor_that_cannot_be_started(walk, terminal, tmp_path):
    nano = tmp_path / "bin/nano"
    nano.parent.mkdir()
    nano.write_text("#!/bin/sh\necho '- [ ] More' >> \"$1\"\n")
    nano.chmod(0o755)
    path = {"PATH": str(nano.parent)}
    seen = terminal("edit", "lost", EDITOR='no "quote', **path)
    said = " ".join(seen.end().split())
    assert seen.code == 2
    (named,) = re.findall("run `export EDITOR=([^`]+)`, or edit", said)
    terminal("edit", "lost", EDITOR=named, **path).end()
    blank = terminal("edit", "lost", EDITOR=" ", **path)
    blank.end()
    assert blank.code == 0
    assert pathlib.Path(LOST).read_text().count("More") == 2
