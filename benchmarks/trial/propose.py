"""Change a file of a folder, run a command there, or end the turn, with the project's hooks.

What the hooks tell the model is printed. Stands alone: it is copied beside the folders, and starts the hooks as an agent does.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

PLACE = os.path.dirname(os.path.abspath(__file__))
RUN, DONE = "--run", "--done"
"""The first words for a command and for the end of the turn. All others are about a file."""
COMMAND_SECONDS = 300
IGNORED = shutil.ignore_patterns(
    *("propose", "run", "done", "PROMPT.md", "lessons", ".lessons", ".git"),
    *("lessons.toml", ".gitignore", "__pycache__", ".pytest_cache"),
)
"""Names that belong to this tool or to the hooks, and not to the work."""
USAGE = "usage: ./propose PATH [--patch | --delete], the new content or the patch on stdin"
NAMED = re.compile(r"\blessons/[\w-]+\.md\b")
TITLES = re.compile(r"\.lessons/[\w-]+/titles-\w+\.md\b")
PACKED = ".packed"
"""Added to the name of a state that is packed, so that a search of an agent finds no card in it."""


def wait_for_hooks(state: str) -> None:
    """Wait until no process that a hook started works for this state, or for half a minute."""
    home = f"={state}/".encode()
    until = time.monotonic() + 30
    while time.monotonic() < until:
        running = False
        for path in glob.glob("/proc/[0-9]*/environ"):
            with contextlib.suppress(OSError), open(path, "rb") as file:
                running = running or home in file.read()
        if not running:
            return
        time.sleep(0.05)


def pack(state: str) -> None:
    """Put a state into one compressed file, in place of its folder."""
    wait_for_hooks(state)
    partial = f"{state}.partial"
    with tarfile.open(partial, "w:gz", compresslevel=1) as archive:
        archive.add(state, arcname=".")
    os.replace(partial, f"{state}{PACKED}")
    shutil.rmtree(state)


@contextlib.contextmanager
def unpacked(state: str) -> Iterator[None]:
    """Unpack a state while it is used; do nothing with a state that is not packed."""
    packed = f"{state}{PACKED}"
    if not os.path.exists(packed):
        yield
        return
    from filelock import FileLock

    with FileLock(f"{state}.lock"):
        # If its setup is there, a call was killed before it packed the state again.
        if not os.path.exists(os.path.join(state, "setup.json")):
            shutil.rmtree(state, ignore_errors=True)
            with tarfile.open(packed) as archive:
                archive.extractall(f"{state}.opening", filter="fully_trusted")
            os.rename(f"{state}.opening", state)
        try:
            yield
        finally:
            pack(state)


def call_hook(setup: dict[str, Any], event: str, **fields: Any) -> dict[str, Any]:
    """Return what the hook answers to an event of the session; cards that it names can be read."""
    payload = {
        "session_id": setup["session"],
        "hook_event_name": event,
        "cwd": setup["project"],
        "transcript_path": "",
        **fields,
    }
    done = subprocess.run(
        setup["command"],
        input=json.dumps(payload),
        env=setup["environment"],
        cwd=setup["project"],
        capture_output=True,
        text=True,
        check=True,
    )
    output = json.loads(done.stdout or "{}")
    answer = output.get("hookSpecificOutput", {})
    if output.get("decision") == "block":
        answer["goOn"] = output["reason"]
    note(setup, {"event": event, **fields, "answer": answer})
    said = read_text(answer)
    for path in {*NAMED.findall(said), *TITLES.findall(said)}:
        bring_card(setup, path)
    return answer


def read_text(answer: dict[str, Any]) -> str:
    """Return the text for the model in an answer."""
    keys = ("additionalContext", "permissionDecisionReason", "goOn")
    return "\n".join(answer[key] for key in keys if answer.get(key))


def bring_card(setup: dict[str, Any], path: str) -> None:
    """Put a card where it was named, with a time of access that tells whether it was read."""
    source, target = (os.path.join(setup[where], path) for where in ("project", "folder"))
    if os.path.exists(source) and not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)
        os.utime(target, (0, os.stat(source).st_mtime))


def note(setup: dict[str, Any], what: dict[str, Any]) -> None:
    with open(os.path.join(setup["state"], "calls.jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(what, ensure_ascii=False) + "\n")


def read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None


def apply_patch(text: str | None, patch: str) -> str | None:
    """Return a text with a unified diff applied; the file name in the diff is ignored."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "file")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text or "")
        command = ["patch", "--quiet", "--no-backup-if-mismatch", "-r", "-", path]
        done = subprocess.run(command, input=patch, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"the patch does not apply: {done.stdout.strip() or done.stderr.strip()}")
        return read(path)


def describe(path: str, old: str | None, new: str) -> tuple[str, dict[str, str]]:
    """Return a change as a tool call: a whole new file, or the part of an old one that differs."""
    if old is None or old == new:
        return "Write", {"file_path": path, "content": new}
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    most = min(len(before), len(after))
    first = next((n for n in range(most) if before[n] != after[n]), most)
    last = next((n for n in range(most - first) if before[-1 - n] != after[-1 - n]), most - first)
    while first or last:  # some lines around it, until it can be told from other places
        first, last = max(first - 2, 0), max(last - 2, 0)
        part = "".join(before[first : len(before) - last])
        if part.strip() and old.count(part) == 1:
            break
    part = "".join(before[first : len(before) - last])
    text = "".join(after[first : len(after) - last])
    return "Edit", {"file_path": path, "old_string": part, "new_string": text}


def main(arguments: Sequence[str]) -> None:
    """Propose one change: write it unless it is refused."""
    folder, *words = arguments
    if words[:1] in ([RUN], [DONE]):
        folder = os.path.abspath(folder)
        act = run_command if words[0] == RUN else end_turn
        with unpacked(os.path.join(PLACE, os.path.basename(folder))):
            act(folder, words[1:])
        return
    flags = {word for word in words if word.startswith("--")}
    paths = [word for word in words if word not in flags]
    if len(paths) != 1 or not flags <= {"--patch", "--delete"}:
        sys.exit(USAGE)
    folder = os.path.abspath(folder)
    with unpacked(os.path.join(PLACE, os.path.basename(folder))):
        propose(folder, paths[0], flags)


def propose(folder: str, name: str, flags: set[str]) -> None:
    setup = read_setup(folder)
    path = os.path.relpath(os.path.join(folder, name), folder)
    if path.startswith("..") or path in ("propose", "run", "done", "PROMPT.md"):
        sys.exit(f"{name}: not a file of this project")
    target, mirror = os.path.join(folder, path), os.path.join(setup["project"], path)
    old = read(target)
    if "--delete" in flags:
        new = None
    else:
        sys.stdin.reconfigure(encoding="utf-8", newline="")
        new = sys.stdin.read()
        new = apply_patch(old, new) if "--patch" in flags else new
    note(setup, {"path": path, "delete": new is None})
    call = {"tool_use_id": f"toolu_{uuid.uuid4().hex[:16]}"}
    hooked = setup["hooks"] and new is not None
    if hooked:
        put(mirror, old)
        call["tool_name"], call["tool_input"] = describe(mirror, old, new)
        answer = call_hook(setup, "PreToolUse", **call)
        if answer.get("permissionDecision") in ("deny", "ask"):
            sys.exit(f"Not written. {answer['permissionDecisionReason']}")
        say(answer)
    put(target, new)
    put(mirror, new)
    print(f"{path}: {'deleted' if new is None else 'written'}")
    if hooked:
        say(call_hook(setup, "PostToolUse", **call, tool_response={"filePath": mirror}))


def read_setup(folder: str) -> dict[str, Any]:
    setup: dict[str, Any] = json.loads(
        read(os.path.join(PLACE, os.path.basename(folder), "setup.json")) or ""
    )
    return setup


def run_command(folder: str, words: Sequence[str]) -> None:
    """Run a command in the folder unless it is refused, and exit with its code."""
    if not words:
        sys.exit("usage: ./run COMMAND")
    setup = read_setup(folder)
    command = words[0] if len(words) == 1 else shlex.join(words)
    outside = copy_changes(folder, setup["project"])
    call = {
        "tool_use_id": f"toolu_{uuid.uuid4().hex[:16]}",
        "tool_name": "Bash",
        "tool_input": {"command": command.replace(folder, setup["project"])},
    }
    answer = call_hook(setup, "PreToolUse", **call)
    is_refused = answer.get("permissionDecision") in ("deny", "ask")
    note(setup, {"command": command, "refused": is_refused, "outside": outside})
    if is_refused:
        sys.exit(f"Not run. {answer['permissionDecisionReason']}")
    say(answer)
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            timeout=COMMAND_SECONDS,
            check=False,
        )
        output, code = done.stdout, done.returncode
    except subprocess.TimeoutExpired:
        output, code = f"ended after {COMMAND_SECONDS} seconds", 124
    print(output, end="" if output.endswith("\n") else "\n")
    copy_changes(folder, setup["project"])
    if code:
        error = f"Exit code {code}\n{output}"
        say(call_hook(setup, "PostToolUseFailure", **call, error=error))
    else:
        response = {"stdout": output, "stderr": "", "interrupted": False}
        say(call_hook(setup, "PostToolUse", **call, tool_response=response))
    if code:
        sys.exit(code)


def copy_changes(folder: str, project: str) -> list[str]:
    """Copy what was changed in the folder without this tool, and return the paths."""
    here, there = read_work(folder), read_work(project)
    changed = sorted(path for path in {*here, *there} if here.get(path) != there.get(path))
    for path in changed:
        put(os.path.join(project, path), None)
        if path in here:
            target = os.path.join(project, path)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(os.path.join(folder, path), target)
    return changed


def read_work(root: str) -> dict[str, bytes]:
    """Return the content of each file of the work, without the files of this tool and the hooks."""
    files: dict[str, bytes] = {}
    for parent, folders, names in os.walk(root):
        ignored = IGNORED(parent, [*folders, *names])
        folders[:] = [name for name in folders if name not in ignored]
        for name in names:
            full = os.path.join(parent, name)
            if name not in ignored and os.path.isfile(full):
                with open(full, "rb") as file:
                    files[os.path.relpath(full, root)] = file.read()
    return files


def end_turn(folder: str, words: Sequence[str]) -> None:
    """End the turn with a closing message. The hooks may let the turn go on."""
    setup = read_setup(folder)
    note(setup, {"done": True, "outside": copy_changes(folder, setup["project"])})
    message = " ".join(words)
    answer = call_hook(setup, "Stop", stop_hook_active=False, last_assistant_message=message)
    if text := answer.get("goOn"):
        print(f"Your turn goes on. Stop hook feedback:\n{text}")
    else:
        print("Your turn has ended.")


def put(path: str, text: str | None) -> None:
    if text is None:
        if os.path.exists(path):
            os.remove(path)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def say(answer: dict[str, Any]) -> None:
    if text := answer.get("additionalContext"):
        print(f"<system-reminder>\n{text}\n</system-reminder>")


if __name__ == "__main__":
    main(sys.argv[1:])
