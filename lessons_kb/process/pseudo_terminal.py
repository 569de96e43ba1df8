"""A terminal between a command and ours: it keeps its colours, and we see what it writes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

STDIN, STDOUT, STDERR = 0, 1, 2


class Terminal:
    """A pseudo-terminal that stands for those of our streams that are terminals."""

    def __init__(self, ours: int) -> None:
        """Open one like ``ours``, a descriptor of our terminal."""
        self._ours = ours
        import pty

        self.master, self.slave = pty.openpty()
        os.set_blocking(self.master, False)  # what is typed must not wait for a busy command
        self._imitate()
        self.resize()

    def resize(self) -> None:
        """Give the command's terminal the size of ours."""
        import fcntl
        import termios

        with contextlib.suppress(OSError):
            size = fcntl.ioctl(self._ours, termios.TIOCGWINSZ, b"\0" * 8)
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def hand_over(self) -> None:
        """Leave the command's end to the command, which has begun."""
        if self.slave >= 0:
            os.close(self.slave)
            self.slave = -1

    def close(self) -> None:
        """Close both ends."""
        self.hand_over()
        os.close(self.master)

    def type(self, keys: bytes) -> bytes:
        """Give keys to the command; return those that it has no room for yet."""
        try:
            return keys[os.write(self.master, keys) :]
        except BlockingIOError:
            return keys
        except OSError:  # nobody is there to read them
            return b""

    @contextlib.contextmanager
    def passing_keys(self) -> Iterator[bool]:
        """Let our terminal pass every key on, but Ctrl-C, until the end of the block.

        Yields False where our terminal belongs to another process just now.
        """
        import termios

        keys = next((fd for fd in (STDIN, self._ours) if os.isatty(fd)), -1)
        before = None
        with contextlib.suppress(OSError, termios.error):
            if os.tcgetpgrp(keys) == os.getpgrp():
                before = termios.tcgetattr(keys)
                termios.tcsetattr(keys, termios.TCSADRAIN, _raw_but_interrupts(before))
        try:
            yield before is not None and keys == STDIN
        finally:
            if before is not None:
                with contextlib.suppress(OSError, termios.error):
                    termios.tcsetattr(keys, termios.TCSADRAIN, before)

    def _imitate(self) -> None:
        import termios

        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(self.slave, termios.TCSANOW, termios.tcgetattr(self._ours))


def open_terminal() -> Terminal | None:
    """Return a terminal for the command where stdout or stderr is one, else None."""
    if os.name == "nt":
        return None
    ours = next((fd for fd in (STDOUT, STDERR) if os.isatty(fd)), None)
    try:
        return None if ours is None else Terminal(ours)
    except OSError:  # no more of them: pipes do as well
        return None


def _raw_but_interrupts(attributes: list[Any]) -> list[Any]:
    import termios

    inputs, outputs, control, local, *speeds, keys = attributes
    keys = list(keys)
    for key in ("VSUSP", "VQUIT", "VDSUSP"):  # these too are the command's
        if hasattr(termios, key):
            keys[getattr(termios, key)] = b"\0"
    keys[termios.VMIN], keys[termios.VTIME] = 1, 0
    inputs &= ~(termios.BRKINT | termios.ICRNL | termios.INLCR | termios.IGNCR | termios.ISTRIP)
    inputs &= ~(termios.IXON | termios.INPCK)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    return [inputs, outputs & ~termios.OPOST, control, local, *speeds, keys]
