"""Disks that are full, read-only, coarse or do not tell A from a: clear words, nothing lost."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError
from lessons_kb.store import card_files
from lessons_kb.store import files as replace_file
from lessons_kb.store.locations import user_brain
from tests.kit import make_brain

WRITING = (
    ("bump", "telegram-allowlist"),
    ("create", "A lesson of its own"),
    ("ignore", "telegram-allowlist"),
    ("import", "memory", "AGENTS.md", "--yes"),
)
READING = (
    ("list",),
    ("show", "telegram-allowlist"),
    ("search", "telegram command"),
    ("preflight", "Add a telegram command that runs a script"),
    ("lint",),
    ("doctor",),
)


@pytest.fixture
def command(lessons):
    def command(*arguments):
        done = lessons(*arguments)
        assert "unexpected" not in done.err, done.err
        return done

    return command


def hold_refused(command, word):
    """Hold what commands that write say against one line with a word."""
    for arguments in WRITING:
        code, out, err = command(*arguments)
        assert (code, out, err.count("\n")) == (2, "", 1), (arguments, out, err)
        assert word in err, (arguments, err)


def texts(root):
    found = [p for p in root.rglob("*") if p.is_file() and ".lessons" not in p.parts]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def fill(folder):
    """Take the last byte of the file system that ``folder`` lies in."""
    ballast = folder / "ballast"
    with ballast.open("wb", buffering=0) as file:
        for size in (1 << 16, 4096, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return ballast


@pytest.mark.slow
def test_a_full_disk(root, telegram, tmp_path, mount, command, monkeypatch, figure):
    """Brain, cache and state all lie on it."""
    small = pathlib.Path(mount(tmp_path / "small", "-t", "tmpfs", "-o", "size=4m", "tmpfs"))
    monkeypatch.setenv("LESSONS_STATE_HOME", str(small / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(small / "cache"))
    brain = small / "brain"
    shutil.copytree(root, brain, ignore=shutil.ignore_patterns(".lessons", "lessons.toml"))
    (brain / "AGENTS.md").write_text("# Lessons\n\n- Never deploy on a Friday\n")
    make_brain(str(brain), confirm=lambda _root, _count: True)
    monkeypatch.chdir(brain)
    assert command("index")[0] == 0
    before = texts(brain)
    ballast = fill(small)
    hold_refused(command, "full")
    assert texts(brain) == before
    for changed in (False, True):
        if changed:  # what was indexed has another time now, and no room to note it
            for path in brain.rglob("*.md"):
                os.utime(path)
        for arguments in READING:
            code, out, err = command(*arguments)
            assert code in (0, 1), (arguments, err)
            if arguments[0] in ("list", "show", "search", "preflight"):
                assert "allowlist" in out, (arguments, out, err)
    assert command("index")[0] == 2
    assert command("delete", "telegram-allowlist", "--yes")[0] == 0
    code, out, err = command("list")  # the index has no room to forget the card
    assert code == 0
    assert "telegram-allowlist" not in out or "the previous index" in err
    assert command("restore", "telegram-allowlist")[0] == 0
    assert texts(brain) == before
    ballast.unlink()
    for arguments in WRITING:
        code, _out, err = command(*arguments)
        assert code == 0, (arguments, err)
    assert b"occurrences: 6" in texts(brain)["lessons/telegram-allowlist.md"]
    figure(
        "full disk (tmpfs)",
        f"{len(WRITING)} writing commands say so in one line, {len(READING)} reading ones answer, "
        "no byte changed; with room again all work",
    )


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home folder with the user's own brain, which a test can make read-only."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in (
        "LESSONS_STATE_HOME",
        "XDG_CACHE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    make_brain(user_brain(), confirm=lambda _root, _count: True)
    return home


def test_a_sandbox_that_allows_writes_only_in_the_project(
    home, mount, command, tmp_path, monkeypatch
):
    """Codex runs the commands of an agent so by default: the home folder is read-only there."""
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    assert command("create", "Mails without a body", "--no-edit")[0] == 0
    assert command("list")[0] == 0
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    mount(home, "--bind", str(home))
    subprocess.run(["mount", "-o", "remount,bind,ro", str(home)], check=True)
    for arguments in (("list",), ("search", "mail without body"), ("show", "mails-without-a-body")):
        code, out, err = command(*arguments)
        assert code == 0, (arguments, err)
        assert "Mails without a body" in out, (arguments, out)
    code, out, err = command("add", "A build that failed", "--draft", "--json")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "leave the sandbox" in err


def test_a_temporary_cache_folder_of_others_is_not_used(
    home, mount, command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert command("create", "Mails without a body", "--no-edit")[0] == 0
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    shared = tmp_path / f"lessons-kb-{os.geteuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    mount(home, "--bind", str(home))
    subprocess.run(["mount", "-o", "remount,bind,ro", str(home)], check=True)
    code, out, err = command("list")
    assert (code, out, "leave the sandbox" in err) == (2, "", True)
    assert list(shared.iterdir()) == []


@pytest.mark.slow
def test_a_read_only_brain(root, telegram, mount, command, monkeypatch, figure):
    (root / "AGENTS.md").write_text("# Lessons\n\n- Never deploy on a Friday\n")
    for cache in root.glob(".lessons/cache-*"):
        shutil.rmtree(cache)
    mount(root, "--bind", str(root))
    subprocess.run(["mount", "-o", "remount,bind,ro", str(root)], check=True)
    before = texts(root)
    monkeypatch.chdir(root)
    hold_refused(command, "read-only")
    for arguments in READING:
        code, _out, err = command(*arguments)
        assert code in (0, 1), (arguments, err)
    assert "allowlist" in command(*READING[3])[1]
    assert texts(root) == before
    figure("read-only brain (bind mount)", "writing commands say so in one line, reading ones work")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("mkfs.ext4") is None, reason="needs mkfs.ext4")
def test_a_file_system_with_coarse_times(tmp_path, mount, figure):
    """Times in whole seconds: a save of the same length within that second is seen."""
    image = tmp_path / "coarse.img"
    with image.open("wb") as file:
        file.truncate(24 << 20)
    make = ["mkfs.ext4", "-q", "-F", "-I", "128", str(image)]  # inodes without nanoseconds
    subprocess.run(make, check=True, capture_output=True)
    brain = pathlib.Path(mount(tmp_path / "coarse", "-o", "loop", str(image))) / "brain"
    make_brain(str(brain))
    card = brain / "lessons/animal.md"
    for number in range(100, 110):
        card.write_text(f"# Mind the animal{number}\n\n- Look\n")
        assert os.stat(card).st_mtime_ns % 1_000_000_000 == 0
        with Brain.open(brain) as opened:
            assert opened.search(f"animal{number}")[0].card.title == f"Mind the animal{number}"
    figure(
        "coarse mtime (ext4, whole seconds)", "10 saves of one length in a row, each found at once"
    )


@pytest.mark.parametrize("years", [-30, +30])
def test_a_clock_that_was_wrong_when_a_card_was_saved(root, telegram, years):
    """A card from the future, or from before its last save, is read again like any other."""
    when = os.stat(telegram).st_mtime + years * 365 * 86_400
    with Brain.open(root) as brain:
        brain.refresh()
        for word in ("zebra", "mouse"):
            telegram.write_text(telegram.read_text().replace("Telegram", word, 1))
            os.utime(telegram, (when, when))
            assert word in brain.search(word)[0].card.title
            telegram.write_text(telegram.read_text().replace(word, "Telegram", 1))
            os.utime(telegram, (when, when))


@pytest.mark.slow
@pytest.mark.parametrize("jump", [-400 * 86_400, +400 * 86_400])
def test_a_clock_that_jumps(root, telegram, monkeypatch, jump, figure):
    """Bumps count, deleted cards come back, sessions go on; only dates are as wrong as the clock."""
    now = time.time
    with Brain.open(root) as brain:
        brain.bump("telegram-allowlist", task="before")
        assert brain.preflight("Add a telegram command that runs a script", session="s").text
    monkeypatch.setattr(time, "time", lambda: now() + jump)
    with Brain.open(root) as brain:
        brain.bump("telegram-allowlist", task="after")
        brain.cards.delete("telegram-allowlist")
    monkeypatch.setattr(time, "time", now)
    with Brain.open(root) as brain:
        brain.cards.restore("telegram-allowlist")
        assert brain.search("telegram")[0].card.id == "lessons/telegram-allowlist.md"
        assert brain.cards.get("telegram-allowlist").occurrences == 7
    figure("the clock jumps by hours or years", "every bump counts, what was deleted comes back")


def test_names_that_differ_in_case_alone(root, monkeypatch, figure):
    """As macOS and Windows have it, simulated: a name is taken whatever its case."""
    rename = replace_file.rename_new

    def rename_new(source, target):
        folder, name = os.path.split(target)
        if any(other.casefold() == name.casefold() for other in os.listdir(folder)):
            raise FileExistsError(17, os.strerror(17), target)
        rename(source, target)

    monkeypatch.setattr(replace_file, "rename_new", rename_new)
    theirs = root / "lessons/Mind-The-Lock.md"
    theirs.write_text("# Something else\n")
    with Brain.open(root) as brain:
        assert brain.create("Mind the lock").id == "lessons/mind-the-lock-2.md"
        assert brain.create("MIND THE LOCK!", on_duplicate="new").id == "lessons/mind-the-lock-3.md"
        for path in (".GIT/hooks/x.md", ".Lessons/x.md", "lessons/../.gIt/x.md"):
            with pytest.raises(InputError):
                card_files.create(str(root), path, b"x")
    assert theirs.read_text() == "# Something else\n"
    figure("names differ in case alone (simulated)", "nothing overwritten; .GIT is .git")
