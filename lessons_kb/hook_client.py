"""``lessons-hook AGENT``: hand one event to the daemon and print its answer.

Without an answer, a fresh Python answers by the same code. Agents start this file for every event
under ``python -I -S``: it imports only what is built in, and ``_socket``. It always exits with 0.
"""

import sys
import time

if sys.platform != "win32":
    import _signal
    import _socket
    import posix

PROTOCOL = b"2"
PATIENCE_SECONDS = 0.3
"""For a daemon to begin."""
LONGER_SECONDS = 1.0
"""For the answer of one that has begun: what it notes is noted, and would be lost on others."""
BEGUN = b"begun"
"""Field in front of an answer, sent before anything is noted."""
DEADLINE_SECONDS, LONGEST_SECONDS = 2.0, 600.0
DEADLINE_VARIABLE = b"LESSONS_HOOK_DEADLINE"
AGAIN_VARIABLE = b"LESSONS_HOOK_AGAIN"
"""Tells the fresh Python that a daemon may have seen the event, and noted what it never said."""
MAX_EVENT_BYTES = 32_000_000
SILENCE = {"claude-code": b"", "codex": b""}
"""What an agent takes for "nothing to say"; ``{}`` where it is not named."""
_KINDS = (b"CACHE", b"DATA", b"STATE")
SENT_VARIABLES = (
    *(b"HOME", b"PATH", b"TMPDIR", b"XDG_", b"LESSONS_", b"GIT_"),
    *(b"CLAUDE", b"CODEX", b"COPILOT", b"CURSOR", b"GEMINI", b"OPENCODE", b"VSCODE"),
)
"""Prefixes of the environment variables that an answer may depend on."""
IDENTITY_VARIABLES = (b"HOME", b"LESSONS_STATE_HOME", *map(b"XDG_%b_HOME".__mod__, _KINDS))
"""Variables that say whose state a daemon keeps."""


def pack(*fields: bytes | bytearray) -> bytes:
    """Return ``fields`` (bytes) as one message: each behind its length in four bytes."""
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)


def unpack(message: bytes) -> list[bytes]:
    """Return the fields of a message; the last one may be cut short."""
    fields, at = [], 0
    while at < len(message):
        start, at = at + 4, at + 4 + int.from_bytes(message[at : at + 4], "big")
        fields.append(message[start:at])
    return fields


def identity(variables: dict[bytes, bytes]) -> bytes:
    """Return what makes a daemon the right one: installation, state, boot, mount namespace."""
    parts = [PROTOCOL, sys.executable.rpartition("/")[0].encode("utf-8", "surrogateescape")]
    parts += [variables.get(name, b"") for name in IDENTITY_VARIABLES]
    try:
        boot = posix.open("/proc/sys/kernel/random/boot_id", posix.O_RDONLY)
        parts += [posix.read(boot, 100), posix.readlink(b"/proc/self/ns/mnt")]
        posix.close(boot)
    except OSError:  # only Linux tells
        pass
    return b"\0".join(parts)


def socket_path(who: bytes) -> str:
    """Return where the daemon with this identity listens, in a folder of this user alone.

    Raises FileNotFoundError when there is none.
    """
    number, uid = 0xCBF29CE484222325, posix.getuid()  # FNV-1a
    for byte in who:
        number = ((number ^ byte) * 0x100000001B3) % (1 << 64)
    places = (f"/run/user/{uid}", f"/tmp/lessons-{uid}")  # noqa: S108 (owner and mode are checked)
    if sys.platform == "darwin":
        places = (posix.confstr("CS_DARWIN_USER_TEMP_DIR").rstrip("/"),)
    for place in places:
        try:
            info = posix.lstat(place)
        except OSError:
            continue
        if (info.st_mode, info.st_uid) == (0o40700, uid):
            return f"{place}/lessons-{number:016x}.sock"
    raise FileNotFoundError("no folder for the daemon's socket")


def ask(who: bytes, *fields: bytes | bytearray, longer: float = LONGER_SECONDS) -> list[bytes]:
    """Return the fields of the daemon's answer; OSError when there is none in time.

    ``longer`` is how many seconds one that has begun is waited for.
    """
    until = time.monotonic() + PATIENCE_SECONDS
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect(socket_path(who))
    connection.sendall(pack(who, b"%.6f" % until, *fields))
    connection.shutdown(_socket.SHUT_WR)
    answer = b""
    while part := connection.recv(1 << 16):
        if not answer:
            until = time.monotonic() + longer
        answer += part
        connection.settimeout(max(until - time.monotonic(), 0.001))
    connection.close()
    found = unpack(answer)
    return found[1:] if found[:1] == [BEGUN] else found


def main() -> None:
    """Answer the event on standard input and leave."""
    agent = sys.argv[1] if len(sys.argv) > 1 else ""
    command = [sys.executable, "-I", "-m", "lessons_kb.service.fallback", agent]
    if sys.platform == "win32":  # no Unix sockets
        import nt

        sys.exit(nt.spawnv(nt.P_WAIT, sys.executable, command))
    started, variables = time.monotonic(), posix.environ
    try:
        deadline = float(variables.get(DEADLINE_VARIABLE) or DEADLINE_SECONDS)
    except ValueError:
        deadline = DEADLINE_SECONDS
    deadline = min(deadline, LONGEST_SECONDS) if deadline > 0 else DEADLINE_SECONDS  # nan is not
    silence = SILENCE.get(agent, b"{}\n")
    _signal.signal(_signal.SIGALRM, lambda *_: _leave((1, silence)))
    _signal.setitimer(_signal.ITIMER_REAL, deadline)
    event, answer, again = bytearray(), [], b""
    try:
        while part := posix.read(0, 1 << 20):
            event += part
        if variables.get(b"LESSONS_DAEMON") != b"0" and len(event) <= MAX_EVENT_BYTES:
            name = agent.encode("utf-8", "surrogateescape")
            sent = [b"%b=%b" % v for v in variables.items() if v[0].startswith(SENT_VARIABLES)]
            longer = min(LONGER_SECONDS, deadline / 2)  # a fresh Python needs its time, too
            folder = posix.getcwdb()
            answer = ask(identity(variables), name, folder, event, *sent, longer=longer)
            again = b"1"  # used only where this was no whole answer
    except (FileNotFoundError, ConnectionRefusedError):  # no working directory, no daemon
        pass
    except OSError:  # no input, no answer in time
        again = b"1"
    if answer[2:] == [b"whole"]:  # behind what is for the agent and what is for its log
        _leave((1, answer[0]), (2, answer[1]))
    try:
        source, sink = posix.pipe()
        if posix.fork() == 0:  # a child hands the event over: a pipe alone may be too small for it
            posix.close(source)  # else it would wait for itself where nobody reads to the end
            _leave((sink, event))
        posix.dup2(source, 0)
        posix.close(source)
        posix.close(sink)
        left = max(deadline - (time.monotonic() - started), 0.1)
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        changed = {DEADLINE_VARIABLE: b"%.3f" % left, AGAIN_VARIABLE: again}
        posix.execve(sys.executable, command, {**variables, **changed})
    except OSError:  # no more files or processes
        _leave((1, silence))


def _leave(*outputs: tuple[int, bytes | bytearray]) -> None:
    """Write each text to its file and end the process at once."""
    try:
        for file, left in outputs:
            data = memoryview(left)
            while data:
                data = data[posix.write(file, data) :]
    finally:
        posix._exit(0)  # noqa: SLF001 (a public function despite its name)


if __name__ == "__main__":
    main()
