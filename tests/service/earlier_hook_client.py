"""``lessons-hook AGENT``: hand one event to the daemon and print its answer; always exit with 0.

Without an answer, a fresh Python answers by the same code; service/daemon.py tells the protocol.
The launcher imports this file under ``python -I -S``: it takes what is built in, and ``_socket``.
"""

import sys
import time

if sys.platform != "win32":
    import _signal
    import _socket
    import posix

PROTOCOL, BEGUN = b"2", b"begun"  # of the identity; sent before a brain notes anything
PATIENCE_SECONDS = 0.3  # for a daemon to begin
LONGER_SECONDS = 1.0  # for the answer of one that has begun: what it has noted would be lost
DEADLINE_SECONDS, LONGEST_SECONDS = 2.0, 600.0
DEADLINE_VARIABLE, AGAIN_VARIABLE = b"LESSONS_HOOK_DEADLINE", b"LESSONS_HOOK_AGAIN"
MAX_EVENT_BYTES = 32_000_000
SILENT = ("claude-code", "codex")  # take no output for "nothing to say"; the others take {}
SENT = b"HOME PATH TMP XDG_ LESSONS GIT_ CLAUDE CODEX COPILOT CURSOR GEMINI OPENCODE QWEN VSCODE"
SENT_VARIABLES = tuple(SENT.split())  # prefixes of those that an answer may depend on
IDENTITY = b"HOME LESSONS_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME"


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
    parts += [variables.get(name, b"") for name in IDENTITY.split()]
    try:
        boot = posix.open("/proc/sys/kernel/random/boot_id", posix.O_RDONLY)
        parts += [posix.read(boot, 100), posix.readlink(b"/proc/self/ns/mnt")]
        posix.close(boot)
    except OSError:  # only Linux tells
        pass
    return b"\0".join(parts)


def socket_path(who: bytes) -> str:
    """Return where this daemon listens, in a folder of this user alone, or FileNotFoundError."""
    number, uid = 0xCBF29CE484222325, posix.getuid()  # FNV-1a
    for byte in who:
        number = ((number ^ byte) * 0x100000001B3) % (1 << 64)
    places = [f"/run/user/{uid}", f"/tmp/lessons-{uid}"]
    if sys.platform == "darwin":
        places = [posix.confstr("CS_DARWIN_USER_TEMP_DIR").rstrip("/")]
    for place in places:
        try:
            info = posix.lstat(place)
        except OSError:
            continue
        if (info.st_mode, info.st_uid) == (0o40700, uid):
            return f"{place}/lessons-{number:016x}.sock"
    raise FileNotFoundError("no folder for the daemon's socket")


def ask(who: bytes, *fields: bytes | bytearray, longer: float = LONGER_SECONDS) -> list[bytes]:
    """Return what is for the agent and its log, and ``whole``; [] if declined, OSError if late."""
    answer, until = b"", time.monotonic() + PATIENCE_SECONDS
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect(socket_path(who))
    connection.sendall(pack(who, b"%.6f" % until, *fields))
    connection.shutdown(_socket.SHUT_WR)
    while part := connection.recv(1 << 16):
        if not answer:
            until = time.monotonic() + longer
        answer += part
        connection.settimeout(max(until - time.monotonic(), 0.001))
    connection.close()
    return unpack(answer.removeprefix(pack(BEGUN)))


def read_deadline(text: str) -> float:
    """Return the seconds that an event may take."""
    seconds = float(text) if text.replace(".", "", 1).isdecimal() else 0.0
    return min(seconds or DEADLINE_SECONDS, LONGEST_SECONDS)


def main() -> None:
    """Answer the event on standard input and leave."""
    agent = sys.argv[1] if len(sys.argv) > 1 else ""
    command = [sys.executable, "-I", "-m", "lessons_kb.service.fallback", agent]
    if sys.platform == "win32":  # no Unix sockets
        import nt

        sys.exit(nt.spawnv(nt.P_WAIT, sys.executable, command))
    started, variables = time.monotonic(), posix.environ
    deadline = read_deadline(variables.get(DEADLINE_VARIABLE, b"").decode(errors="replace"))
    silence = b"" if agent in SILENT else b"{}\n"
    _signal.signal(_signal.SIGALRM, lambda *_: _leave((1, silence)))
    _signal.setitimer(_signal.ITIMER_REAL, deadline)
    event, answer, again = bytearray(), [], b""
    try:
        while part := posix.read(0, 1 << 20):
            event += part
        if variables.get(b"LESSONS_DAEMON") != b"0" and len(event) <= MAX_EVENT_BYTES:
            sent = [b"%b=%b" % v for v in variables.items() if v[0].startswith(SENT_VARIABLES)]
            fields = [agent.encode(errors="replace"), posix.getcwdb(), bytes(event), *sent]
            again = b"1"  # a daemon may note what it never says
            answer = ask(identity(variables), *fields, longer=min(LONGER_SECONDS, deadline / 2))
    except (FileNotFoundError, ConnectionRefusedError):  # no working directory, no daemon
        again = b""
    except OSError:  # no input, no answer in time
        pass
    if answer[2:] == [b"whole"]:  # behind what is for the agent and what is for its log
        _leave((1, answer[0]), (2, answer[1]))
    try:
        source, sink = posix.pipe()
        if posix.fork() == 0:  # a child hands the event over: a pipe alone may be too small for it
            posix.close(source)  # else it would wait for itself where nobody reads to the end
            _leave((sink, event))
        posix.dup2(source, 0)  # the others close themselves in a new program
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
        posix._exit(0)


if __name__ == "__main__":
    main()
