"""A cloned repository that means harm: every command and every hook in it does nothing but read.

First as it was cloned, then after its user has trusted it. Watched from within by Python's audit
hook, from outside by comparing all files, and (where strace is) by the system calls themselves.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from lessons_kb import hook_client
from lessons_kb.cli.command_table import SUMMARIES
from tests.trust import hostile_repository as hostile

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name == "nt", reason="FIFOs and traps are POSIX"),
]

HERE = pathlib.Path(__file__).parent
OURS = (".local/state/lessons-kb", ".cache/lessons-kb", ".local/share/lessons-kb")
INVISIBLE = set("\x1b\x07\x00\x08\x9b\u202e\u200b")


class Place:
    """The repository, what lies around it, and how to run things there."""

    def __init__(self, folder):
        self.folder = folder
        self.repo = hostile.build(folder)
        self.home = folder / "home"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        for name in OURS:
            (self.home / name).parent.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join((".", "", os.environ["PATH"]))
        self.environment = {
            "LESSONS_DAEMON": "0",  # it would outlive what is watched here
            "PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "PYTHONUTF8": "1",
            "TMPDIR": str(self.temporary), "COLUMNS": "100", "PAGER": "./less", "EDITOR": "vi",
            "PYTHONDONTWRITEBYTECODE": "1"
        }  # fmt: skip

    def walk(self, commands, payloads):
        """Run all in one process, within the repository, and return what each did."""
        plan = self.folder / "plan.json"
        plan.write_text(json.dumps({"commands": commands, "payloads": payloads}))
        done = subprocess.run(
            [sys.executable, "-P", str(HERE / "hostile_walk.py"), str(plan)],
            cwd=self.repo, env=self.environment, capture_output=True, text=True, timeout=300
        )  # fmt: skip
        plan.unlink()
        assert done.returncode == 0, done.stderr[-2000:]
        result = json.loads(done.stdout.splitlines()[-1])
        assert result["modules"] == []
        return result["told"]

    def around(self, *without):
        """Return all files but those of this user's own state."""
        ours = [f"home/{name}" for name in OURS]
        return hostile.snapshot(self.folder, without=(*ours, "tmp", *without))

    def daemon_socket(self):
        """Return where the daemon of this home would listen."""
        variables = {os.fsencode(k): os.fsencode(v) for k, v in self.environment.items()}
        return hook_client.socket_path(hook_client.identity(variables))

    def is_ours(self, path):
        """Tell whether a path lies where we may write."""
        full = os.path.join(self.repo, path)
        places = [*(self.home / name for name in OURS), self.temporary, pathlib.Path(os.devnull)]
        return any(f"{full}/".startswith(f"{place}/") for place in places)


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path.resolve())


STARTED = re.compile(
    r"^(?:/\S*/git\x1f--no-pager\x1f.*core\.fsmonitor=false|/\S*/python\S*\x1f-P\x1f)"
)
MAY_START = {"run": re.compile(r"^/bin/true$")}


READS_CARDS = ("lint", "doctor", "import")
"""What looks at files on request, trusted or not, and puts nothing before an agent."""
SHOWS_MARKED = ("list", "show", "search")
"""What shows a person the cards to read before trusting them, each marked."""
NEEDS_TRUST = (
    "init", "list", "show", "search", "preflight", "check", "index", "export", "create", "bump",
)  # fmt: skip
MAY_WRITE = {"diet": ("AGENTS.md/", ".lessons-tmp-")}
"""Beside cards, by a command that its user tells to: the rules file, in one step."""
STOPS_DAEMON = ("setup",)
"""`setup --undo` asks the daemon of this user to end: no other socket may be connected to."""


FORBIDDEN = (
    "os.system", "os.exec", "os.posix_spawn", "os.fork", "socket.", "urllib.", "webbrowser.",
)  # fmt: skip


def hold(place, one, *, written=()):
    """Hold what one command did against what it may do."""
    what = one["what"]
    written = (*written, *MAY_WRITE.get(what[0], ())) if written else ()
    assert one["code"] in (0, 1, 2), one
    for said in (one["out"], one["err"]):
        assert "Traceback" not in said, one
        assert hostile.SECRET not in said or hostile.SECRET in what, one
        assert not INVISIBLE & set(said), (what, said)
    assert "unexpected" not in one["err"], one
    for event, first, *rest in one["seen"]:
        if event == "subprocess.Popen":
            allowed = MAY_START.get(what[0], STARTED)
            assert allowed.match(rest[0]) or STARTED.match(rest[0]), (what, first, rest)
            assert not first.startswith((str(place.repo), ".")), (what, first)
            continue
        if event == "socket.connect" and what[0] in STOPS_DAEMON:
            assert rest == [place.daemon_socket()], (what, rest)
            continue
        assert not event.startswith(FORBIDDEN), (what, event, first)
        if event == "sqlite3.connect" and re.search(r"\?mode=ro\b", first):
            continue
        paths = [first, *rest] if event in ("os.rename", "os.link", "os.symlink") else [first]
        for path in paths:
            inside = os.path.relpath(os.path.join(place.repo, path), place.repo)
            fine = place.is_ours(path) or f"{inside}/".startswith(written or ("\0",))
            made = written and (event, inside) == ("os.mkdir", ".lessons")
            assert fine or made, (what, event, path)


def test_a_clone_is_read_at_most(place, figure):
    before = place.around()
    every = [*hostile.COMMANDS, *hostile.WRITING]
    told = place.walk(known(every), hostile.payloads(place.repo))
    assert place.around() == before
    for one in told:
        hold(place, one)
        said = one["out"] + one["err"]
        if one["what"][0] in SHOWS_MARKED and "allowlist" in said:
            assert "[not trusted]" in said, one
        elif one["what"][0] not in READS_CARDS:
            assert "allowlist" not in said, one
        if one["what"][0] in NEEDS_TRUST:
            assert "lessons trust" in one["err"], one
    hooks = sum(one["what"][0] == "hook" for one in told)
    figure(
        "hostile repository, as cloned",
        f"{len(told) - hooks} commands and {hooks} hooks: no file changed, no program but git",
    )


def test_trusted_it_may_speak_and_that_is_all(place, figure):
    trusted = place.walk([["trust"]], [])
    assert trusted[0]["code"] == 0
    before = place.around("repo/.lessons")
    told = place.walk(known(hostile.COMMANDS), hostile.payloads(place.repo))
    assert place.around("repo/.lessons") == before
    cache = re.search(r"cache-[0-9a-f]{32}", " ".join(os.listdir(place.repo / ".lessons")))
    assert cache
    mine = (f".lessons/{cache[0]}", ".lessons/.gitignore")
    for one in told:
        hold(place, one, written=mine)
    for one in told:
        if one["what"][0] == "install" and "--shared" in one["what"]:
            assert one["code"] == 2, one
            assert "is a link out of the project" in one["err"], one
    block = next(one for one in told if one["what"][:2] == ["preflight", hostile.PROMPT])
    assert "Cover the rejection with a test" in block["out"]
    assert block["out"].count("[/ACTIVE LESSONS]") == 1
    assert "<system-reminder>" not in block["out"]
    assert "hidden" not in block["out"]
    hooks = [one for one in told if one["what"][0] == "hook"]
    assert any("Reject every chat id" in one["out"] for one in hooks)
    outside = hostile.snapshot(place.folder / "outside")
    told = place.walk(known(hostile.WRITING), [])
    for one in told:
        hold(place, one, written=(*mine, "lessons/", "qa-findings/"))
    assert hostile.snapshot(place.folder / "outside") == outside
    refused = {tuple(one["what"]): one["err"] for one in told if one["code"] == 2}
    assert "outside the brain" in refused["create", "Through a link", "--type", "playbook"]
    assert "is a symbolic link" in refused[("report",)]
    after = place.around("repo/.lessons", "repo/lessons", "repo/qa-findings")
    assert after == {k: v for k, v in before.items() if k in after}
    assert not (place.folder / hostile.PWNED).exists()
    assert not list(place.folder.rglob(hostile.PWNED))
    figure(
        "hostile repository, trusted",
        f"{len(told)} writing commands too: cards inside the brain changed, nothing else",
    )


def known(commands):
    """Leave out what this version has no command for."""
    return [
        list(command)
        for command in commands
        if command[0] in SUMMARIES or command[0].startswith("--")  # `lessons` alone
    ]


def test_every_command_is_among_them():
    walked = {command[0] for command in (*hostile.COMMANDS, *hostile.WRITING)}
    assert set(SUMMARIES) - {"merge-driver"} - walked <= hostile.NOT_RUN


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
def test_the_system_calls_say_the_same(place, figure):
    """Real processes, as installed: nothing executed but git and ourselves, nothing connected."""
    script = pathlib.Path(sys.executable).with_name("lessons")
    calls = processes = 0
    for stage in ("cloned", "trusted"):
        if stage == "trusted":
            place.walk([["trust"]], [])
        before = place.around("repo/.lessons")
        every = known(hostile.COMMANDS)  # a clone that is not trusted gives most the same answer
        runs = [[str(script), *command] for command in every[:: 1 if stage == "trusted" else 4]]
        hook = str(script.with_name("lessons-hook"))
        events = hostile.payloads(place.repo)[::5]
        inputs = [""] * len(runs) + [json.dumps(payload) for _agent, payload in events]
        runs += [[hook, agent] for agent, _payload in events]
        for command, text in zip(runs, inputs, strict=True):
            lines = trace(place, command, text)
            processes += 1
            calls += len(lines)
            for line in lines:
                judge(place, command, line)
        assert place.around("repo/.lessons") == before
    assert not list(place.folder.rglob(hostile.PWNED))
    figure("the same under strace", f"{processes} processes, {calls} calls looked at: none strange")


TRACED = "execve,execveat,connect,bind,sendto,unlink,unlinkat,rename,renameat,renameat2,mkdir,"
TRACED += "mkdirat,link,linkat,symlink,symlinkat,chmod,fchmodat,truncate,open,openat,creat"
EXECUTES = re.compile(r'execve\("([^"]*)"')
WRITES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC")


def trace(place, command, text):
    log = place.temporary / "strace.txt"
    subprocess.run(
        ["strace", "-f", "-qq", "-s", "300", "-o", str(log), "-e", f"trace={TRACED}", *command],
        input=text, text=True, cwd=place.repo, env=place.environment, capture_output=True,
        timeout=120
    )  # fmt: skip
    lines = log.read_text(errors="replace").splitlines()
    log.unlink()
    return [line for line in lines if not re.search(r"= -1 E\w+ \(", line)]


def judge(place, command, line):
    if found := EXECUTES.search(line):
        assert os.path.basename(found[1]) in ("git", *OWN), (command, line)
        assert not found[1].startswith((str(place.repo), ".")), (command, line)
        return
    assert not re.search(r"\b(?:connect|bind)\(\d+, \{sa_family=AF_INET", line), (command, line)
    if re.search(r"\bopen(?:at)?\(", line) and not WRITES.search(line):
        assert "outside/secret.md" not in line, (command, line)
        return
    for path in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
        inside = os.path.relpath(os.path.join(place.repo, path), place.repo)
        fine = place.is_ours(path) or inside.startswith(".lessons/") or path.startswith("/dev/")
        # Under -I our own Python does not hear that it is to keep no compiled modules.
        compiled = "/lessons_kb/" in path and "/__pycache__" in path
        assert fine or compiled or not os.path.isabs(path), (command, line)


OWN = ("python", "python3", f"python3.{sys.version_info.minor}", "lessons", "lessons-hook")
