"""A shell completes the ids of cards, and what it evaluates is harmless whatever a title says."""

import os
import subprocess

import pytest

from tests.kit import run_lessons, write

HOSTILE = "Never \\\\$(touch pwned) `touch pwned` 'a' \\\"b\\\" ;: trust [a] title"


def complete(shell, typed, cwd):
    """Return what typer's own protocol answers for a command line."""
    words = {"_LESSONS_COMPLETE": f"complete_{shell}"}
    if shell == "bash":
        words |= {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split(" ")) - 1)}
    else:
        words |= {"_TYPER_COMPLETE_ARGS": typed, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    return run_lessons(cwd, **words)


@pytest.mark.parametrize(
    "command", ["show", "edit", "bump", "confirm", "ignore", "why --add-symptom"]
)
def test_bash_gets_the_ids_of_cards(brain, command):
    assert complete("bash", f"lessons {command} telegram", brain).out.split() == [
        "telegram-allowlist"
    ]


def test_a_path_is_completed_to_a_path(brain):
    assert complete("bash", "lessons show lessons/telegram", brain).out.split() == [
        "lessons/telegram-allowlist.md"
    ]


def test_zsh_and_fish_get_titles_too(brain):
    title = "Telegram remote execution must require an allowlist"
    assert complete("fish", "lessons show tele", brain).out == f"telegram-allowlist\t{title}\n"
    assert f'"telegram-allowlist":"{title}"' in complete("zsh", "lessons show tele", brain).out


def test_where_no_brain_is_nothing_is_completed_and_nothing_said(tmp_path):
    assert complete("fish", "lessons show te", tmp_path)[:2] == (0, "\n")
    assert complete("fish", "lessons show te", tmp_path).err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_no_title_and_no_name_reaches_the_shell_as_code(brain, shell):
    write(
        brain,
        "lessons/zz-title.md",
        f'---\ntype: lesson\ntitle: "{HOSTILE}"\n---\n\n## Fix\n\n- a\n',
    )
    write(
        brain, "lessons/zz-$(touch pwned).md", "---\ntype: lesson\ntitle: x\n---\n\n## Fix\n\n- a\n"
    )
    done = complete(shell, "lessons show zz", brain)
    assert "zz-title" in done.out
    answer = done.out.partition("zz-title")[2]
    assert not set("\\$`;\n[]") & set(answer.partition('"))')[0].rstrip())
    assert "pwned)" not in done.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize("before", [None, b"", b"alias x=y\n", b"alias x=y"])
def test_install_writes_completion_and_remove_restores_every_byte(lessons, home, shell, before):
    start = home / {"bash": ".bashrc", "zsh": ".zshrc", "fish": "unused"}[shell]
    if before is not None:
        start.write_bytes(before)
    done = lessons("completion", "install", shell)
    assert done.code == 0
    assert "Already installed." in lessons("completion", "install", shell).out
    assert "removed" in lessons("completion", "remove").out
    assert (start.read_bytes() if start.exists() else None) == before
    left = [path for path in home.rglob("*") if ".local" not in path.as_posix()]
    assert left == ([] if before is None else [start])  # no file and no empty folder
    assert "no completion" in lessons("completion", "remove").out


def test_the_former_option_does_the_same_and_setup_undo_removes_it(lessons, home, monkeypatch):
    monkeypatch.setenv("SHELL", "/usr/bin/bash")
    assert lessons("--show-completion").out == lessons("completion", "show").out
    lessons("--install-completion")
    assert b"completion of lessons" in (home / ".bashrc").read_bytes()
    assert ".bashrc" in lessons("setup", "--undo", "--yes").out
    assert not (home / ".bashrc").exists()


def test_what_the_former_option_of_typer_wrote_is_removed_too(lessons, home):
    script = write(home, ".bash_completions/lessons.sh", "_LESSONS_COMPLETE=complete_bash\n")
    (home / ".bashrc").write_text(f"a=1\nsource '{script}'\n")
    lessons("completion", "remove")
    assert (home / ".bashrc").read_text() == "a=1\n"
    assert not script.exists()


def test_an_unknown_shell_is_told_the_three(lessons, monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    done = lessons("completion", "install")
    assert done.code == 2
    assert "lessons completion install zsh" in done.err
    assert "install, show, remove, bash, zsh, fish, not 'tcsh'" in lessons("completion", "tcsh").err
    assert "install, show, remove, not 'zsh'" in lessons("completion", "zsh", "bash").err


def test_bash_itself_completes_an_id(brain, lessons, home):
    """The real shell, its real protocol, and the line that a start file gets."""
    lessons("completion", "install", "bash")
    (home / "bin").mkdir()
    program = home / "bin" / "lessons"
    program.write_text(f'#!/bin/sh\nexec {os.sys.executable} -m lessons_kb.cli.entry "$@"\n')
    program.chmod(0o755)
    code = (
        ". ~/.bashrc; COMP_WORDS=(lessons show tele); COMP_CWORD=2; "
        "_lessons_completion lessons; echo ${COMPREPLY[*]}"
    )
    path = f"{home / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin"
    done = subprocess.run(
        ["/bin/bash", "-c", code], cwd=brain, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout == "telegram-allowlist\n"


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_name_of_a_shell_alone_prints_its_script(lessons, shell):
    done = lessons("completion", shell)
    assert done.code == 0
    assert done.out == lessons("completion", "show", shell).out
