"""However a trial ends, no process and no folder of its runs is left."""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from lessons_kb.process import marks
from lessons_kb.process.marks import end_marked, find_marked, name_variable, new_mark
from lessons_kb.process.run import run_bounded
from lessons_kb.trial.place import close_dead_place, open_place
from tests.kit import wait_until
from tests.trial.test_trial import TASKS, shop  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(
    not marks.can_find_marked(), reason="this system does not show the environment of a process"
)

HANGING = """\
import os, pathlib, subprocess, sys, time
note = "import os, pathlib, time; pathlib.Path({log!r}, str(os.getpid())).touch(); time.sleep(300)"
subprocess.Popen([sys.executable, "-c", note], start_new_session=True)
daemon = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', sys.argv[1]]," \\
         "start_new_session=True)"
subprocess.run([sys.executable, "-c", daemon, note])
pathlib.Path({log!r}, str(os.getpid())).touch()
time.sleep(300)
"""
"""An agent that hangs, with a child and a daemon that have left its session."""


class Agent:
    """An agent that hangs, and all its processes."""

    def __init__(self, folder):
        self.log = folder / "processes"
        self.log.mkdir()
        self.script = folder / "agent.py"
        self.script.write_text(HANGING.format(log=str(self.log)))
        self.command = f"{sys.executable} {self.script}"

    def processes(self):
        """Return the numbers of all its processes that have begun."""
        return sorted(int(path.name) for path in self.log.iterdir())

    def living(self):
        """Return those that still run."""
        return list(filter(is_living, self.processes()))


def is_living(process):
    """Return whether a process runs; a zombie does not."""
    with contextlib.suppress(OSError):
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] not in "ZX"
    return False


@pytest.fixture
def hanging(tmp_path):
    agent = Agent(tmp_path)
    yield agent
    for process in agent.living():
        os.kill(process, signal.SIGKILL)


@pytest.fixture
def started(shop, hanging, tmp_path, monkeypatch):  # noqa: F811
    """Start a trial whose agent hangs: ``started(*options)``."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    (tmp_path / "tasks.toml").write_text(TASKS.partition('[[task]]\nname = "easy"')[0])
    processes = []

    def start(*options):
        command = [sys.executable, "-m", "lessons_kb.cli.main", "trial", tmp_path / "tasks.toml"]
        command += ["--agent", hanging.command, "--out", tmp_path / "out", *options]
        process = subprocess.Popen(
            list(map(str, command)), cwd=shop, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        processes.append(process)
        return process

    start.temporary = temporary
    yield start
    for process in processes:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_the_agent_and_all_that_it_has_started(started, hanging, name):
    trial = started()
    wait_until(lambda: len(hanging.processes()) == 3)
    trial.send_signal(getattr(signal, name))
    trial.send_signal(getattr(signal, name))  # a second one interrupts no clearing away
    printed, _ = trial.communicate(timeout=60)
    assert trial.returncode == 2
    assert "lessons: interrupted; 0 runs kept, continue with `lessons trial" in printed
    assert hanging.living() == []
    assert list(started.temporary.iterdir()) == []


@pytest.mark.slow
def test_the_deadline_ends_what_has_left_the_session(started, hanging):
    trial = started("--seconds", "3")
    printed, _ = trial.communicate(timeout=120)
    assert printed.count("the agent was ended after 3 seconds") >= 2
    assert len(hanging.processes()) == 6
    assert hanging.living() == []
    assert list(started.temporary.iterdir()) == []


@pytest.mark.slow
def test_a_trial_that_was_killed_is_cleared_away_when_it_goes_on(started, hanging):
    trial = started()
    wait_until(lambda: len(hanging.processes()) == 3)
    first = hanging.living()
    trial.kill()
    trial.communicate()
    assert hanging.living() == first
    assert len(list(started.temporary.glob("work-*"))) == 1
    again = started("--resume")
    wait_until(lambda: len(hanging.processes()) == 6)
    assert not set(first) & set(hanging.living())
    assert len(list(started.temporary.glob("work-*"))) == 1
    again.terminate()
    again.communicate(timeout=60)
    assert hanging.living() == []
    assert list(started.temporary.iterdir()) == []


@pytest.mark.slow
def test_a_trial_is_not_run_twice_at_the_same_time(started, hanging):
    """The second one would take the agent of the first for one that was left behind."""
    started()
    wait_until(lambda: len(hanging.processes()) == 3)
    printed, _ = (second := started("--resume")).communicate(timeout=60)
    assert (second.returncode, "locked by another lessons process" in printed) == (2, True)
    assert len(hanging.living()) == 3


def test_a_record_names_no_folders_but_those_of_a_run(tmp_path):
    """A folder of results may come from anywhere: it cannot have another folder removed."""
    mine = tmp_path / "mine"
    mine.mkdir()
    kept = tmp_path / "kept"
    kept.mkdir()
    for record in ('{"mark": "/../mine", "temporary": "%s"}', '{"mark": 7}', "[", "{}"):
        (kept / "running.json").write_text(record.replace("%s", str(tmp_path)))
        close_dead_place(str(kept))
        assert mine.is_dir()


def test_a_place_that_was_left_behind_is_closed_once(tmp_path):
    place = open_place(str(tmp_path))
    assert os.path.isdir(place.work)
    close_dead_place(str(tmp_path))
    assert not os.path.exists(place.work)
    assert not os.path.exists(place.state)
    close_dead_place(str(tmp_path))


def as_user():
    """Return the words that make permissions count, also for root."""
    if os.getuid():
        return []
    capabilities = "-dac_override,-dac_read_search"
    return ["setpriv", f"--bounding-set={capabilities}", f"--inh-caps={capabilities}"]


CLOSE = """
import sys
from lessons_kb.trial.place import close_dead_place
print(close_dead_place(sys.argv[1]))
"""


def close_as_user(kept):
    """Return the folders that a process without special rights could not remove."""
    command = [*as_user(), sys.executable, "-c", CLOSE, str(kept)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(sys.platform != "linux", reason="setpriv is a program of Linux")
@pytest.mark.parametrize("mode", [0o555, 0o000])
def test_a_read_only_folder_of_a_run_is_removed(tmp_path, mode):
    place = open_place(str(tmp_path))
    module = pathlib.Path(place.work, "module")
    (module / "cache").mkdir(parents=True)
    (module / "cache" / "file").touch()
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (module / "link").symlink_to(outside)
    for folder in (module / "cache", module, pathlib.Path(place.work)):
        folder.chmod(mode)
    assert close_as_user(tmp_path) == "[]"
    assert not os.path.lexists(place.work)
    assert outside.stat().st_mode & 0o777 == 0o500


@pytest.mark.skipif(sys.platform != "linux", reason="setpriv is a program of Linux")
def test_a_folder_that_cannot_be_removed_is_named_and_tried_again(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    place = open_place(str(tmp_path))
    temporary.chmod(0o500)
    assert close_as_user(tmp_path) == str([place.work, place.state])
    temporary.chmod(0o700)
    assert close_as_user(tmp_path) == "[]"
    assert list(temporary.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="setpriv is a program of Linux")
def test_a_trial_names_the_folder_that_it_cannot_remove(shop, tmp_path):  # noqa: F811
    """The agent takes the right to write from the folder in which the folders of runs are."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    (tmp_path / "tasks.toml").write_text(TASKS.partition('[[task]]\nname = "easy"')[0])
    agent = f"chmod 500 {temporary}"
    command = [*as_user(), sys.executable, "-m", "lessons_kb.cli.main", "trial"]
    command += [str(tmp_path / "tasks.toml"), "--agent", agent, "--out", str(tmp_path / "out")]
    environment = {**os.environ, "TMPDIR": str(temporary)}
    done = subprocess.run(command, env=environment, cwd=shop, capture_output=True, text=True)
    temporary.chmod(0o700)
    remaining = sorted(map(str, temporary.glob("*-*")))
    lines = [line for line in done.stderr.splitlines() if "cannot be removed" in line]
    assert remaining
    assert {line.removeprefix("lessons: ").partition(":")[0] for line in lines} == set(remaining)


def test_processes_are_found_by_the_mark_of_their_run(tmp_path):
    mark = new_mark()
    environment = {**os.environ, name_variable(mark): "1"}
    child = subprocess.Popen(["sleep", "300"], env=environment, start_new_session=True)
    wait_until(lambda: find_marked(mark) == [child.pid])
    end_marked(new_mark())
    assert child.poll() is None
    end_marked(mark)
    assert child.wait(10) == -signal.SIGKILL


def test_a_command_that_clears_its_environment_is_found_by_its_parent(tmp_path):
    """Nothing is left of it either, as long as its parent runs."""
    log = tmp_path / "log"
    line = f"env -i setsid sh -c 'echo $$ > {log}; exec sleep 300' & wait"
    assert run_bounded(["sh", "-c", line], output=str(tmp_path / "out"), seconds=1.5) is None
    assert not is_living(int(log.read_text()))


def test_a_word_that_no_command_can_have_starts_nothing(tmp_path):
    output = tmp_path / "out"
    assert run_bounded(["echo", "a\0b"], output=str(output), seconds=5) == 126
    assert output.read_text() == "echo: embedded null byte\n"
