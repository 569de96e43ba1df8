"""``lessons-hook AGENT``: send one event to the daemon, print its answer, and exit with 0.

If the daemon does not answer, a child process answers with the same code. The protocol is
described in service/daemon.py. That process may need more time than the agent allows. At the
deadline, the client prints the decision of the second stage (``hook_gates``) about the gates, and
exits. The other process continues, and its answer arrives with the session's next event. With the
argument ``strict``, the exit status is 1 if no gate decided about the event.
The launcher imports this file under ``python -I -S``, so this file imports only built-in modules
and ``_socket``. The child process continues in the interpreter of the launcher, since the start of
another interpreter would take as long as a tenth of its work.
"""

import sys
import time

if sys.platform != "win32":
    import _signal
    import _socket
    import posix

PROTOCOL, BEGUN = b"2", b"begun"  # part of the identity; sent before a brain is written to
WHOLE = b"whole"  # the last field, which shows that the answer is complete
PATIENCE_SECONDS = 0.8  # for a daemon to begin, because it waits for a processor on a busy machine
LONGER_SECONDS = 1.0  # from the beginning to the answer, since the daemon may have recorded lessons
RESERVE_SECONDS = 0.5  # reserved for the second stage
GRACE_SECONDS = 1.5  # for a second stage that has not decided at the deadline
STARTING_SECONDS = 15.0  # the longest time from the start of a daemon until it listens
DEADLINE_SECONDS, LONGEST_SECONDS = 2.0, 600.0
START_SECONDS = 8.0  # for the start of a session: 80 % of the timeout that our handler declares
DEADLINE_VARIABLE, AGAIN_VARIABLE = b"LESSONS_HOOK_DEADLINE", b"LESSONS_HOOK_AGAIN"
TOKEN_VARIABLE = b"LESSONS_HOOK_TOKEN"  # identifies the event for all processes that answer it
OFF_VARIABLE = b"LESSONS_HOOKS"  # with the value 0, no event is answered
MODULE = "module"  # the argument that prints how a module inside the agent reaches the daemon
MODULE_VARIABLE = b"LESSONS_MODULE"  # with the value 0, such a module does nothing
STRICT = "strict"  # the argument that refuses a call if no gate can decide about it
STRICT_VARIABLE = b"LESSONS_HOOK_STRICT"  # the same, for the process that computes the answer
UNASKED_LINE = "Lessons: the gate for this file cannot be asked, and its card has `gate: strict`"
UNASKED = 1  # exit status; the handler in the settings makes it a refusal
FALLBACK = "lessons_kb.service.fallback"  # the module that answers without a daemon
PACKED = "packed"  # the argument with which the other process sends its answer to a client
# How the client ended the event, which it tells the process that computes the answer.
ENDED_HEARD, ENDED_LATE, ENDED_REFUSED, ENDED_UNCHECKED = b"h", b"l", b"r", b"u"
LATE_MARK = "late: "  # prefix of the line in the hook log that counts a late event
LATE_LOG = LATE_MARK + "no answer within {} s; it comes with the session's next event"
UNDECIDED = (  # for a call whose gates were not even looked at in time
    b'{"systemMessage": "Lessons: not checked before this call, the machine is too busy"}\n'
)
LOG_BYTES = 200_000  # the client adds nothing to a longer log; the next process shortens it
MAX_EVENT_BYTES = 32_000_000
SILENT = ("claude-code", "codex", "droid")  # no output means no answer; the others need {}
SENT = b"HOME PATH TMP XDG_ LESSONS GIT_ CLAUDE CODEX COPILOT CURSOR GEMINI OPENCODE QWEN VSCODE"
SENT_VARIABLES = tuple(SENT.split())  # prefixes of the variables that an answer may depend on
IDENTITY = b"HOME LESSONS_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME"
STARTS = (b'"SessionStart"', b'"sessionStart"', b'askStart"')
CALLS = (b'PreToolUse"', b'preToolUse"', b'BeforeTool"', b'"before"', b'.before"', b'Execution"')
_MAX_START_BYTES = 20_000


def pack(*fields: bytes | bytearray) -> bytes:
    """Return ``fields`` as one message, with each field after its length in four bytes."""
    return b"".join(len(field).to_bytes(4, "big") + field for field in fields)


def unpack(message: bytes) -> list[bytes]:
    """Return the fields of a message; the last one may be incomplete."""
    fields, end = [], 0
    while end < len(message):
        start = end + 4
        end = start + int.from_bytes(message[end:start], "big")
        fields.append(message[start:end])
    return fields


def identity(variables: dict[bytes, bytes]) -> bytes:
    """Return the identity of the right daemon: installation, state, boot and mount namespace."""
    parts = [PROTOCOL, sys.executable.rpartition("/")[0].encode("utf-8", "surrogateescape")]
    parts += [variables.get(name, b"") for name in IDENTITY.split()]
    try:
        boot = posix.open("/proc/sys/kernel/random/boot_id", posix.O_RDONLY)
        parts += [posix.read(boot, 100), posix.readlink(b"/proc/self/ns/mnt")]
        posix.close(boot)
    except OSError:  # only Linux has these files
        pass
    return b"\0".join(parts)


def socket_path(who: bytes) -> str:
    """Return the path of the daemon's socket, in a folder that only this user can open.

    Raises FileNotFoundError if there is no such folder.
    """
    number, uid = 0xCBF29CE484222325, posix.getuid()  # FNV-1a
    for byte in who:
        number = ((number ^ byte) * 0x100000001B3) % (1 << 64)
    places = [f"/run/user/{uid}", f"/tmp/lessons-{uid}"]  # noqa: S108 (owner and mode are checked)
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


def starting_path(path: str) -> str:
    """Return the file that exists while a daemon for the socket ``path`` starts."""
    return f"{path}.starting"


def ask(
    who: bytes,
    *fields: bytes | bytearray,
    longer: float = LONGER_SECONDS,
    patience: float = PATIENCE_SECONDS,
) -> list[bytes]:
    """Return the output for the agent, the output for its log, and ``whole``.

    Return [] if the daemon declines. Raises OSError if the answer is late.
    """
    answer, whole = b"", pack(WHOLE)
    until = time.monotonic() + patience
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.settimeout(patience)
    try:
        connection.connect(socket_path(who))
        connection.sendall(pack(who, b"%.6f" % until, *fields))
        connection.shutdown(_socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            if not answer:
                until = time.monotonic() + longer
            answer += part
            if answer.endswith(whole):  # on a busy machine, the connection is closed much later
                break
            connection.settimeout(max(until - time.monotonic(), 0.001))
    finally:
        connection.close()
    return unpack(answer.removeprefix(pack(BEGUN)))


def ask_soon(who: bytes, *fields: bytes | bytearray, until: float, end: float) -> list[bytes]:
    """Return the result of ``ask`` before ``end``. If a daemon is starting, wait for it ``until``.

    A daemon has at most PATIENCE_SECONDS to begin, and then at most LONGER_SECONDS to answer.
    """
    while True:
        left = max(end - time.monotonic(), 0.1)
        patience = min(PATIENCE_SECONDS, left)
        longer = min(LONGER_SECONDS, max(left - patience, 0.1))
        try:
            return ask(who, *fields, longer=longer, patience=patience)
        except (FileNotFoundError, ConnectionRefusedError):
            if time.monotonic() > until or not is_starting(who):
                raise
        time.sleep(0.03)


def is_starting(who: bytes) -> bool:
    """Return whether a daemon was started recently and does not listen yet."""
    try:
        age = time.time() - posix.lstat(starting_path(socket_path(who))).st_mtime
    except OSError:
        return False
    return 0 <= age < STARTING_SECONDS


def begin_start(who: bytes) -> None:
    """Mark that a daemon is about to start, unless another hook has marked it."""
    try:
        if not is_starting(who):
            mark = starting_path(socket_path(who))
            _unlink(mark)  # a new file has the current time
            posix.close(posix.open(mark, posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL, 0o600))
    except OSError:  # another hook was quicker, or there is no folder for the socket
        pass


def find_deadline(event: bytes | bytearray, chosen: str) -> float:
    """Return the number of seconds that an event may take.

    The start of a session may take longer, because no user waits for it and no cache is filled yet.
    ``chosen`` is the value in the environment, which applies to every event.
    """
    is_start = len(event) < _MAX_START_BYTES and any(name in event for name in STARTS)
    return START_SECONDS if is_start and not chosen else read_deadline(chosen)


def read_deadline(text: str) -> float:
    """Return the number of seconds in a text, or the default.

    The result is at most LONGEST_SECONDS.
    """
    seconds = float(text) if text.replace(".", "", 1).isdecimal() else 0.0
    return min(seconds or DEADLINE_SECONDS, LONGEST_SECONDS)


class Client:
    """One event, from its first byte to the output before the deadline."""

    def __init__(self, agent: str, variables: dict[bytes, bytes], *, strict: bool) -> None:
        self.agent, self.variables = agent, variables
        self.is_off = variables.get(OFF_VARIABLE) == b"0"
        self.is_strict = strict and not self.is_off
        self.started = time.monotonic()
        chosen = variables.get(DEADLINE_VARIABLE, b"").decode(errors="replace")
        self.chosen = chosen
        self.deadline = read_deadline(chosen)
        self.wants_daemon = variables.get(b"LESSONS_DAEMON") != b"0"
        self.silence = b"" if agent in SILENT else b"{}\n"
        self.token = b"%d-%d" % (posix.getpid(), time.monotonic_ns())
        self.event = bytearray()
        self.again = b""
        self.channel: _socket.socket | None = None
        self.received = b""
        self.decide = _decide_nothing  # returns the decision of the second stage, and claims it
        self.is_reading = self.is_busy = self.is_late = False

    @property
    def left(self) -> float:
        """The number of seconds until the deadline."""
        return max(self.deadline - (time.monotonic() - self.started), 0.0)

    def answer(self) -> None:
        """Answer the event on standard input and exit."""
        _signal.signal(_signal.SIGALRM, lambda *_: self.note_deadline())
        _signal.setitimer(_signal.ITIMER_REAL, self.deadline, GRACE_SECONDS)
        answer: list[bytes] = []
        try:
            self._read_event()
            if self.is_off:
                _leave((1, self.silence))
            self.deadline = find_deadline(self.event, self.chosen)
            self.is_busy = any(name in self.event for name in CALLS)
            _signal.setitimer(_signal.ITIMER_REAL, max(self.left, 0.001), GRACE_SECONDS)
            if self.wants_daemon and len(self.event) <= MAX_EVENT_BYTES:
                answer = self._ask_daemon()
        except (FileNotFoundError, ConnectionRefusedError):  # no working directory, no daemon
            self.again = b""
            begin_start(identity(self.variables))  # the process below starts it or removes the mark
        except OSError:  # no input, no end of the input, or no answer in time
            pass
        if answer[2:] == [WHOLE]:
            _leave((1, answer[0]), (2, answer[1]), status=self._find_status(answer[1]))
        is_cut = self.is_late and not self.event.rstrip().endswith(b"}")
        if is_cut or len(self.event) > MAX_EVENT_BYTES:  # the process below only logs such an event
            self._look_at_gates()
            if self.decide():
                self.end(is_late=is_cut)
        try:
            self._start_process()
        except OSError:  # the limit of files or processes is reached
            pass
        self._look_at_gates()
        self.is_busy = False
        if self.is_late:
            self.end()
        self._wait()
        self.end(is_late=False)

    def _read_event(self) -> None:
        """Read standard input to its end. Raises TimeoutError at the deadline.

        An agent that keeps its pipe open may have written the whole event.
        """
        self.is_reading = True
        try:
            while part := posix.read(0, 1 << 20):
                self.event += part
        finally:
            self.is_reading = False

    def note_deadline(self) -> None:
        """End at the deadline with the decisions so far.

        A call that is about to be made gets some more time. On a busy machine, its gates may not
        have been checked yet, and without an answer the call would pass. Raises TimeoutError while
        the event is still being read, since it may be such a call.
        """
        if self.is_late or not (self.is_busy or self.is_reading):
            self.end()
        self.is_late = True
        if self.is_reading:
            self.is_busy = True
            raise TimeoutError

    def _ask_daemon(self) -> list[bytes]:
        fields = [self.agent.encode(errors="replace"), posix.getcwdb(), bytes(self.event)]
        for name, value in self.variables.items():
            if name.startswith(SENT_VARIABLES):
                fields.append(b"%b=%b" % (name, value))
        fields.append(b"%b=%b" % (TOKEN_VARIABLE, self.token))
        if self.is_strict:
            fields.append(b"%b=1" % STRICT_VARIABLE)
        self.again = b"1"  # the daemon may record lessons and then answer too late
        # A daemon may use half of the time to start; after that, a process is started instead.
        until = self.started + self.deadline / 2
        who = identity(self.variables)
        end = self.started + self.deadline - RESERVE_SECONDS
        return ask_soon(who, *fields, until=until, end=end)

    def _start_process(self) -> None:
        """Start a process that answers this event and continues after the deadline."""
        # A feeder process writes the event, since a pipe may be too small for it. Neither process
        # may have the agent's pipes open, because the agent would wait for them.
        source, sink = posix.pipe()
        mine, other = _socket.socketpair()
        if posix.fork() == 0:
            for file in (0, 1, 2, source, mine.fileno(), other.fileno()):
                _close(file)
            _leave((sink, self.event))
        posix.close(sink)
        if posix.fork() == 0:
            try:
                posix.setsid()
                nothing = posix.open("/dev/null", posix.O_RDWR)
                posix.dup2(source, 0)
                posix.dup2(other.fileno(), 1)
                posix.dup2(nothing, 2)
                for file in (source, nothing, mine.fileno(), other.fileno()):
                    if file > 2:  # noqa: PLR2004 (a standard stream that the agent had closed)
                        _close(file)
                changed = {
                    DEADLINE_VARIABLE: b"%.3f" % max(self.left, 0.1),
                    AGAIN_VARIABLE: self.again,
                    TOKEN_VARIABLE: self.token,
                }
                if self.is_strict:
                    changed[STRICT_VARIABLE] = b"1"
                self._answer_event(changed)
            finally:
                posix._exit(0)  # noqa: SLF001 (a public function despite its name)
        posix.close(source)
        other.close()
        self.channel = mine

    def _answer_event(self, changed: dict[bytes, bytes]) -> None:
        """Answer the event on standard input in this process, with some variables changed.

        The launcher may belong to another Python than the one that has our packages now. That
        Python is then started.
        """
        import os
        from importlib import import_module

        if os.path.realpath(sys.executable) != os.path.realpath(sys.orig_argv[0]):
            command = (sys.executable, "-I", "-m", FALLBACK, self.agent, PACKED)
            posix.execve(sys.executable, command, {**self.variables, **changed})
        os.environb.update(changed)
        sys.argv = [sys.argv[0], self.agent, PACKED]
        if sys.flags.no_site:
            _find_packages(os.path.dirname(os.path.dirname(sys.executable)))
        import_module(FALLBACK).main()

    def _look_at_gates(self) -> None:
        """Let the second stage decide once about a call that is about to be made."""
        may_be_call = self.is_late or any(name in self.event for name in CALLS)
        if self.decide is not _decide_nothing or not may_be_call:
            return
        try:
            if __package__:
                from lessons_kb import hook_gates
            else:  # the launcher started this file; our modules must not shadow those of Python
                folder = __file__.rpartition("/")[0]
                sys.path[:] = [*(place for place in sys.path if place != folder), folder]
                import hook_gates  # type: ignore[import-not-found, no-redef]
            named = {_text(name): _text(value) for name, value in self.variables.items()}
            directory = _text(posix.getcwdb())
            token = _text(self.token)
            event = bytes(self.event)
            decision = hook_gates.decide(self.agent, event, named, directory, token)
            self.decide = lambda: hook_gates.claim_answer(decision, token)
        except Exception:  # noqa: S110 (the full answer reports what was not checked)
            pass

    def _wait(self) -> None:
        """Print the answer of the process and exit; return if it ends without an answer."""
        while self.channel is not None and (part := self.channel.recv(1 << 18)):
            self.received += part
            self._print_received()

    def _print_received(self) -> None:
        answer = unpack(self.received)
        if answer[2:] == [WHOLE]:
            _signal.setitimer(_signal.ITIMER_REAL, 0)
            try:
                _write(1, answer[0])
                _write(2, answer[1])
                self._tell(ENDED_HEARD)  # not reached if the agent has ended
            finally:
                posix._exit(self._find_status(answer[1]))  # noqa: SLF001

    def _find_status(self, line: bytes | bytearray) -> int:
        """Return the exit status for a complete answer with this line for the log."""
        return UNASKED if self.is_strict and line.startswith(UNASKED_LINE.encode()) else 0

    def _tell(self, ending: bytes) -> None:
        """Inform the other process how this process ends."""
        try:
            if self.channel is not None:
                self.channel.sendall(ending)
        except OSError:  # the other process has ended
            pass

    def end(self, *, is_late: bool = True) -> None:
        """Print the decisions so far, and exit."""
        _signal.setitimer(_signal.ITIMER_REAL, 0)
        try:
            if self.channel is not None:  # the answer may just have arrived
                self.channel.setblocking(False)
                self.received += self.channel.recv(1 << 20)
                self._print_received()
        except OSError:
            pass
        how, output, line = ENDED_LATE, self.silence, b""
        try:
            if self.is_busy and self.agent in SILENT and self._has_gates():
                how, output = ENDED_UNCHECKED, UNDECIDED
            how, output, line = self.decide() or (how, output, line)
        except Exception:  # noqa: S110
            pass
        is_unasked = self.is_strict and how != ENDED_REFUSED
        if is_unasked:
            output = b""
            line = f"{UNASKED_LINE}.\n".encode()
        try:
            _write(1, output)
            _write(2, line)
            self._tell(how)
            if is_late:
                self._log()
        finally:
            posix._exit(UNASKED if is_unasked else 0)  # noqa: SLF001

    def _has_gates(self) -> bool:
        """Return whether any trusted brain has gates."""
        return bool(posix.listdir(self._state_home() + b"/gates"))

    def _log(self) -> None:
        """Count a late event in the hook log, if there is a folder for it."""
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_APPEND | posix.O_NOFOLLOW
        file = posix.open(self._state_home() + b"/hook.log", flags | posix.O_NONBLOCK, 0o600)
        if posix.fstat(file).st_size < LOG_BYTES:
            at = time.strftime("%Y-%m-%dT%H:%M:%S")
            row = (at, self.agent, "deadline", LATE_LOG.format(f"{self.deadline:g}"))
            _write(file, ("\t".join(row) + "\n").encode(errors="replace"))

    def _state_home(self) -> bytes:
        """Return the state folder of the user."""
        home = self.variables.get(b"LESSONS_STATE_HOME", b"")
        base, user = self.variables.get(b"XDG_STATE_HOME", b""), self.variables.get(b"HOME", b"")
        if not home and sys.platform == "darwin":
            home = user + b"/Library/Application Support/lessons-kb/.state"
        elif not home:
            base = base if base.startswith(b"/") else user + b"/.local/state"
            home = base + b"/lessons-kb"
        return home


def describe_connection(variables: dict[bytes, bytes]) -> bytes:
    """Return what a module inside an agent needs for its requests to the daemon.

    It is the path of the socket, followed by the variables ``NAME=value``, separated by NUL. It is
    empty if the module is turned off.
    """
    switches = (OFF_VARIABLE, MODULE_VARIABLE, b"LESSONS_DAEMON")
    if any(variables.get(switch) == b"0" for switch in switches):
        return b""
    try:
        path = socket_path(identity(variables))
    except OSError:  # the first hook makes the folder of the socket
        path = ""
    fields = [path.encode()]
    for name, value in variables.items():
        if name.startswith(SENT_VARIABLES):
            fields.append(b"%b=%b" % (name, value))
    return b"\0".join(fields)


def main() -> None:
    """Answer the event on standard input and exit."""
    agent = sys.argv[1] if len(sys.argv) > 1 else ""
    is_module = MODULE in sys.argv[2:]
    if sys.platform == "win32":  # no Unix sockets
        import nt

        if is_module:
            return
        command = [sys.executable, "-I", "-m", FALLBACK, agent]
        sys.exit(nt.spawnv(nt.P_WAIT, sys.executable, command))
    if is_module:
        _write(1, describe_connection(posix.environ))
        return
    Client(agent, posix.environ, strict=STRICT in sys.argv[2:]).answer()


def _find_packages(prefix: str) -> None:
    """Add the packages of the virtual environment at ``prefix``, if it is one, to the path."""
    import site

    folder = __file__.rpartition("/")[0]  # our modules must not shadow those of Python
    sys.path[:] = [place for place in sys.path if place != folder]
    if "pyvenv.cfg" in posix.listdir(prefix):
        sys.prefix = sys.exec_prefix = prefix
    site.main()


def _decide_nothing() -> tuple[bytes, bytes, bytes] | None:
    return None


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


def _unlink(path: str) -> None:
    try:
        posix.unlink(path)
    except FileNotFoundError:
        pass


def _close(file: int) -> None:
    try:
        posix.close(file)
    except OSError:
        pass


def _write(file: int, text: bytes | bytearray) -> None:
    data = memoryview(text)
    while data:
        data = data[posix.write(file, data) :]


def _leave(*outputs: tuple[int, bytes | bytearray], status: int = 0) -> None:
    """Write each text to its file and end the process at once."""
    try:
        for file, text in outputs:
            _write(file, text)
    finally:
        posix._exit(status)  # noqa: SLF001


if __name__ == "__main__":
    main()
