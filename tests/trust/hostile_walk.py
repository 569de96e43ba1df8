"""Run commands and hooks in this process under an audit hook; print what was done, as JSON.

``hostile_walk.py FILE``: FILE holds {"commands": […], "payloads": […]}. Each outcome goes to the
standard output's end as one JSON object.
"""

import contextlib
import io
import json
import os
import sys

WATCHED = (
    *("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "pty.spawn"),
    *("os.startfile", "os.fork", "os.forkpty", "webbrowser.open", "os.remove", "os.rename"),
    *("os.mkdir", "os.rmdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.chown"),
    *("os.utime", "os.setxattr", "shutil.rmtree", "shutil.move", "open", "sqlite3.connect"),
    *("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.sendto", "urllib.Request"),
)
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_FOLDERS = {"os.remove": 1, "os.rmdir": 1, "os.mkdir": 2}
"""Where an event tells the open folder that its path is relative to."""
_seen = []


def _watch(event, arguments):
    if event not in WATCHED:
        return
    if event == "open":
        path, _mode, flags = arguments
        if not (isinstance(flags, int) and flags & _WRITES) or isinstance(path, int):
            return
    if event.startswith("os.") and isinstance(arguments[0], int):
        arguments = (os.readlink(f"/proc/self/fd/{arguments[0]}"), *arguments[1:])
    folder = arguments[_FOLDERS[event]] if event in _FOLDERS else -1
    if isinstance(folder, int) and folder >= 0:
        where = os.readlink(f"/proc/self/fd/{folder}")
        arguments = (os.path.join(where, os.fsdecode(arguments[0])),)  # type: ignore[arg-type]
    _seen.append([event, *[_plain(argument) for argument in arguments[:2]]])


def _plain(argument):
    if isinstance(argument, (list, tuple)):
        return "\x1f".join(_plain(part) for part in argument)
    return (
        os.fsdecode(argument) if isinstance(argument, (str, bytes, os.PathLike)) else repr(argument)
    )


def _run(arguments):
    from lessons_kb.cli.main import main

    sys.argv = ["lessons", *arguments]
    sys.stdin, out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(3)
    )
    code = 99
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 98
    return code, out.buffer.getvalue().decode(), err.buffer.getvalue().decode()


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    sys.addaudithook(_watch)
    told = []
    for arguments in plan["commands"]:
        del _seen[:]
        code, out, err = _run(arguments)
        told.append({"what": arguments, "code": code, "out": out, "err": err, "seen": list(_seen)})
    from lessons_kb.service.hook_event import answer_event

    for agent, payload in plan["payloads"]:
        del _seen[:]
        out, err = answer_event(agent, json.dumps(payload), {})
        what = ["hook", agent, payload.get("hook_event_name") or payload.get("event")]
        told.append({"what": what, "code": 0, "out": out, "err": err, "seen": list(_seen)})
    here = os.getcwd() + os.sep
    loaded = [m.__file__ for m in list(sys.modules.values()) if getattr(m, "__file__", None)]
    strange = [name for name in loaded if os.path.abspath(name).startswith(here)]
    print("\n" + json.dumps({"told": told, "modules": strange}))


if __name__ == "__main__":
    main()
