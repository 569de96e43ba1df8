"""The second stage of the hook program: it decides gates where no full answer comes in time.

It reads one small file for each brain (``brain/gate_file.py`` writes them, into the user's state),
and imports nothing of this package: ``hook_client`` loads it where no daemon answers. What it
cannot decide it calls not checked, so that nothing passes in silence.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

try:
    import pwd
except ImportError:  # Windows
    pwd = None  # type: ignore[assignment]

FORMAT = 2
"""Version of the gate files; a file of another version is not read."""
MAX_FILE_BYTES = 1_000_000
"""Of a file of the project that is read."""
MAX_GATE_BYTES = 4_000_000
"""Of a gate file; ``brain/gate_file.py`` leaves out what does not fit, and marks that."""
MAX_TEXT_CHARS = 200_000
"""Of a text in which patterns are looked for; a longer one is not checked."""
MAX_ITEMS = 3
MAX_NAMED = 3

REFUSED = "A lesson holds this back once,"
PASSES = "It will pass when you propose it again, changed or as it is."
PERMISSION = "A lesson asks for your permission"
ASKED_NEXT = "The user is asked when you propose it again, changed or as it is."
NOT_CHECKED = "Lessons: not checked before this call, the machine is busy: {}"
LATE_LINE = "Lessons came late: the machine is busy."

ASK, ONCE = "ask", "once"
EDIT_KINDS = ("edit", "create", "remove")
SESSION_KEYS = ("conversation_id", "conversationId", "sessionId", "session_id", "sessionID")
ARGUMENT_KEYS = ("tool_input", "toolInput", "toolArgs", "args", "input")
TOOL_KEYS = ("tool_name", "toolName", "tool")
EVENT_KEYS = ("hook_event_name", "hookEventName", "event")
PART_KEYS = ("agent_id", "subagentType")
"""Keys of the subagent in which a call is made."""
NOBODY_ANSWERS = ("bypassPermissions", "dontAsk")
"""Permission modes in which a question to the user would be a denial."""
REASON_MARK, LINE_MARK = "@REASON@", "@LINE@"
"""Stand for the texts in the answers of ``data/answer_forms.json``."""

_PATCH_HEADERS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_READERS = ("cat", "less", "head", "tail", "grep", "rg", "ls", "wc", "diff", "stat", "file")
_WRAPPERS = ("sudo", "env", "nice", "time", "nohup", "xargs", "timeout", "bash", "sh", "zsh")
_NOT_PLAIN = re.compile(r"[;&|<>$`\n\\'\"(){}*?\[\]!#~]")
_WIDE = re.compile(r"(?:^|[\s/])(?:\.{1,2}|\*[^\s]*)/?(?:\s|$)")
"""A word of a command that may stand for any file."""
_QUOTES = re.compile(r"[\\'\"]")
_SEPARATORS = re.compile(r"[\s;&|<>()]+")
_MAGIC = re.compile(r"[*?\[{$`~]")
_HINT = re.compile(r"\(\?#([^)]*)\)")
_BAD_DATA = (KeyError, TypeError, ValueError, AttributeError, IndexError, re.error)
"""What a gate file that is not ours, or is cut off, leads to."""
_CARD_SUFFIXES = (".md", ".markdown")


class Answer(NamedTuple):
    """What the second stage has to say of an event: nothing at all by default."""

    refusal: str = ""
    """Standard output that refuses the call."""
    unchecked: str = ""
    """Standard output that tells the user what was not checked; with a refusal, it is for the case
    that the refusal cannot be recorded: it would come again each time."""
    log: str = ""
    """The same for standard error, where the agent shows the user nothing with this event."""
    records: tuple[str, ...] = ()
    """Files of which one at least must be made, or be of this event, before it refuses."""


class Form(NamedTuple):
    """How one agent names things, and how an answer to it looks."""

    name: str
    data: Mapping[str, Any]

    def event(self, payload: Mapping[str, Any]) -> str:
        """Return the event's name as the agent's table spells it."""
        data = self.data
        return name_event(payload, data["events"], data["renamed"], data["event_keys"])


class Call(NamedTuple):
    """A call that is about to be made."""

    kind: str
    paths: tuple[str, ...]
    """Files that it changes, relative to the project."""
    pieces: tuple[tuple[str, str, str], ...]
    """(path, text before, text after) of what it writes."""
    command: str
    directory: str
    """Where a command begins."""


class Concern(NamedTuple):
    """A card whose gate is about the call."""

    brain: Mapping[str, Any]
    card: Mapping[str, Any]
    files: tuple[str, ...]
    sure: bool
    """False where this stage cannot tell."""


# ---------------------------------------------------------------------------------------------
# What this stage shares with the rest of the package


def hash_text(text: str) -> str:
    """Return a short name for a text: FNV-1a of its bytes, 64 bits."""
    number = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        number = ((number ^ byte) * 0x100000001B3) % (1 << 64)
    return f"{number:016x}"


def gate_path(home: str, root: str) -> str:
    """Return where the gates of the brain at ``root`` lie in the state folder ``home``."""
    return os.path.join(home, "gates", f"{hash_text(root)}.json")


def record_path(home: str, context: str, root: str, card: str, file: str) -> str:
    """Return the file that is there once a session was refused for a card and a file."""
    what = hash_text(f"{root}\0{card}\0{file}")
    return os.path.join(home, "sessions", f"refused-{hash_text(context)}-{what}")


def claim(path: str, token: str) -> bool | None:
    """Make the record of a refusal for the event ``token``; return whether it is this event's.

    None where nothing can be recorded.
    """
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, token.encode())
        os.close(file)
    except FileExistsError:
        return read_token(path) == token
    except OSError:
        return None
    return True


def read_token(path: str) -> str:
    """Return which event a record of a refusal belongs to, "" where there is none."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return ""
    try:
        return os.read(file, 200).decode("ascii", "replace")
    finally:
        os.close(file)


def first_text(payload: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of these values that is a text, "" if none is."""
    for name in names:
        value = payload.get(name)
        if isinstance(value, str) and value:
            return value
    return ""


def name_event(
    payload: Mapping[str, Any],
    events: Iterable[str],
    renamed: Mapping[str, str],
    event_keys: Mapping[str, str],
) -> str:
    """Return the name of an event as one agent's table spells it."""
    name = first_text(payload, EVENT_KEYS)
    if name in events:
        return name
    if not name:
        return next((event for key, event in event_keys.items() if key in payload), "")
    other = name[:1].swapcase() + name[1:]
    return other if other in events else renamed.get(name, name)


_CLAUDE_LIKE = ("claude-code", "codex", "copilot-cli", "vscode")
_COPILOTS = ("stop_reason", "custom_instructions")
"""Keys beside a transcript's path that VS Code does not send."""
_COPILOTS_OWN = "COPILOT_HOOK_DIR"
"""Copilot CLI gives it to hooks alone; it reads the folders that VS Code reads."""
_GROKS_OWN = "workspaceRoot"


def find_host(
    agent: str,
    payload: Mapping[str, Any],
    environment: Mapping[str, str],
    events: Mapping[str, Iterable[str]],
) -> str:
    """Return the agent that fired the hook; ``agent`` is the agent that it was set up for.

    ``events`` are the names of each agent's events. What is in the payload decides: variables are
    inherited by an agent that another one starts.
    """
    name = first_text(payload, EVENT_KEYS)
    if _GROKS_OWN in payload:  # it runs the hooks of Claude Code and Cursor, too
        return "grok-cli"
    if "cursor_version" in payload or ("conversation_id" in payload and "generation_id" in payload):
        return "cursor"
    for other in ("gemini-cli", "cursor", "opencode"):
        if name in events[other] and name not in events["claude-code"] and other != agent:
            return agent if name in events[agent] else other
    if agent not in _CLAUDE_LIKE:
        return agent
    if "turn_id" in payload:
        return "codex"
    if agent == "codex":
        return agent
    if "CURSOR_VERSION" in environment and "session_id" not in payload:
        return "cursor"
    if agent == "vscode" and _COPILOTS_OWN in environment and "session_id" in payload:
        return "copilot-cli"
    if "hookEventName" in payload:
        return "vscode"
    if "sessionId" in payload:
        return agent if agent in ("vscode", "copilot-cli") else "vscode"
    if agent == "claude-code" and "timestamp" in payload:
        of_copilot = "transcript_path" not in payload or any(key in payload for key in _COPILOTS)
        return "copilot-cli" if of_copilot else "vscode"
    return agent


# ---------------------------------------------------------------------------------------------
# The decision


def decide(
    agent: str, event: bytes, environment: Mapping[str, str], directory: str, token: str
) -> Answer:
    """Return what the gates say of one event, whatever the brains are asked later.

    ``directory`` is where the process stands, ``token`` names the event. Raises nothing that a
    payload may cause: what cannot be read is left to the full answer.
    """
    if environment.get("LESSONS_HOOKS") == "0" or environment.get("LESSONS_TRIAL"):
        return Answer()
    try:
        payload = json.loads(event)
    except (ValueError, RecursionError):
        return Answer()
    home = find_state_home(environment)
    if not isinstance(payload, dict) or not home or not os.path.isdir(os.path.join(home, "gates")):
        return Answer()
    forms = _read_json(os.path.join(os.path.dirname(os.path.abspath(__file__)), _FORMS))
    if agent not in forms.get("agents", {}):
        return Answer()
    events = {name: row["events"] for name, row in forms["agents"].items()}
    host = find_host(agent, payload, environment, events)
    form = Form(host, forms["agents"][host])
    name = form.event(payload)
    session = first_text(payload, SESSION_KEYS)
    if form.data["events"].get(name) != "before" or not session:
        return Answer()
    part = first_text(payload, PART_KEYS)
    context = f"{session}/{part}" if part else session
    directory = _find_directory(payload, form, environment, directory)
    scope = _git_top(directory) or directory
    brains = _find_brains(home, directory, scope, environment)
    if not brains or _is_silenced(home, agent, directory):
        return Answer()
    call = _read_call(payload, form, forms, scope=scope, directory=directory)
    concerns = list(_find_concerns(brains, call, scope))
    return _rule(concerns, form, name, payload, environment, (home, context, token, directory))


def claim_answer(answer: Answer, token: str) -> tuple[bytes, bytes, bytes] | None:
    """Return how an event ends by what was decided, and what is printed; None for silence.

    A refusal is recorded first. The first value is one that ``hook_client`` tells the process
    that answers in full.
    """
    if answer.refusal:
        claimed = [_claim_in_folder(path, token) for path in answer.records]
        if any(claimed):
            return b"r", answer.refusal.encode("utf-8", "replace"), b""
        if None not in claimed:
            return None
    if answer.unchecked:
        output, log = (text.encode("utf-8", "replace") for text in (answer.unchecked, answer.log))
        return b"u", output, log
    return None


def _claim_in_folder(path: str, token: str) -> bool | None:
    """Do what ``claim`` does; make the folder before."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    except OSError:
        return None
    return claim(path, token)


_FORMS = os.path.join("data", "answer_forms.json")


def _rule(
    concerns: Sequence[Concern],
    form: Form,
    name: str,
    payload: Mapping[str, Any],
    environment: Mapping[str, str],
    place: tuple[str, str, str, str],
) -> Answer:
    """Return the answer that the concerns of a call lead to."""
    home, context, token, directory = place
    held: list[Concern] = []
    unsure: list[Concern] = []
    records: list[str] = []
    for one in concerns:
        asks = one.card["gate"] == ASK
        if asks and not _is_attended(form, name, payload, environment):
            continue  # nobody can be asked: the lesson is context, and may come late
        explained = first_text(payload, TOOL_KEYS) not in form.data["unexplained"]
        if name not in form.data["refuses"]:
            continue
        paths = [
            record_path(home, context, one.brain["root"], one.card["id"], file)
            for file in one.files or ("",)
        ]
        fresh = [path for path in paths if read_token(path) in ("", token)]
        if not fresh:
            continue
        if not one.sure or (asks and explained) or _is_changed(one):
            unsure.append(one)
            continue
        held.append(one)
        records += fresh
    template = form.data["answers"].get(name, {})
    if held:
        reason = _write_reason(held, directory)
        asking = any(one.card["gate"] == ASK for one in held)
        line = f"{PERMISSION} {reason}" if asking else ""
        text = f"{line} {ASKED_NEXT}" if asking else f"{REFUSED} {reason} {PASSES}"
        lessons = "\n\n".join(_write_lesson(one.card) for one in held)
        form_of = template["refusal and line" if line else "refusal"]
        printed = _fill(form_of, reason=f"{text}\n\n{lessons}", line=line)
        unchecked = _tell_unchecked(held, form, template)
        return unchecked._replace(refusal=printed, records=tuple(records))
    return _tell_unchecked(unsure, form, template) if unsure else Answer()


def _tell_unchecked(concerns: Sequence[Concern], form: Form, template: Mapping[str, str]) -> Answer:
    """Return the answer that names the cards that were not checked."""
    titles = dict.fromkeys(f"“{one.card['title']}”" for one in concerns[:MAX_NAMED])
    line = NOT_CHECKED.format("; ".join(titles))
    if template.get("line"):
        return Answer(unchecked=_fill(template["line"], line=line))
    return Answer(unchecked=form.data["silence"], log=f"{line}\n")


def _fill(template: str, *, reason: str = "", line: str = "") -> str:
    """Return an answer with its texts; the template is JSON that holds their marks."""
    filled = template.replace(REASON_MARK, json.dumps(reason)[1:-1])
    return f"{filled.replace(LINE_MARK, json.dumps(line)[1:-1])}\n"


def _write_reason(held: Sequence[Concern], directory: str) -> str:
    """Return before what a call is held back, and by which lessons."""
    files = list(dict.fromkeys(file for one in held for file in one.files if file))
    more = f" and {len(files) - MAX_NAMED} more" if len(files) > MAX_NAMED else ""
    names = ", ".join(_visible(file) for file in files[:MAX_NAMED])
    what = f"{names}{more} is changed or run" if files else "this command is run"
    lessons = []
    for one in held[:MAX_NAMED]:
        place = os.path.relpath(os.path.join(one.brain["root"], one.card["id"]), directory)
        lessons.append(f"“{one.card['title']}” ({_visible(place)})")
    return f"before {what}: {'; '.join(dict.fromkeys(lessons))}."


def _write_lesson(card: Mapping[str, Any]) -> str:
    """Return the cause of a lesson and what to do: a title alone is no reason."""
    why = [f"Why: {card['why']}"] if card["why"] else []
    items = [f"- [ ] {item}" for item in card["items"][:MAX_ITEMS]]
    return "\n".join([f"“{card['title']}”", *why, *items])


def _visible(path: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in path)[:400]


def _is_attended(
    form: Form, name: str, payload: Mapping[str, Any], environment: Mapping[str, str]
) -> bool:
    """Return whether the user can be asked about a call, and is there to answer."""
    if name not in form.data["asks"]:
        return False
    if first_text(payload, ("permission_mode",)) in NOBODY_ANSWERS:
        return False
    unattended = form.data["unattended"].items()
    return not any(environment.get(variable) in values for variable, values in unattended)


def _is_changed(one: Concern) -> bool:
    """Return whether a card's file is not what was compiled."""
    try:
        info = os.stat(os.path.join(one.brain["root"], *one.card["id"].split("/")))
    except OSError:
        return True
    signature: str = one.card["signature"]
    return _sign(info) != signature


def _sign(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}.{info.st_ctime_ns}.{info.st_ino}.{info.st_size}"


# ---------------------------------------------------------------------------------------------
# Where things lie


def find_state_home(environment: Mapping[str, str]) -> str:
    """Return the state folder of the user, "" where it cannot be told."""
    if chosen := environment.get("LESSONS_STATE_HOME"):
        return os.path.abspath(chosen)
    home = environment.get("HOME", "")
    if sys.platform == "darwin":
        support = os.path.join(home, "Library", "Application Support", "lessons-kb", ".state")
        return support if os.path.isabs(home) else ""
    if sys.platform == "win32":
        return ""
    base = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(home, ".local", "state")
    return os.path.join(base, "lessons-kb") if os.path.isabs(base) else ""


def _find_directory(
    payload: Mapping[str, Any], form: Form, environment: Mapping[str, str], directory: str
) -> str:
    """Return the real path of the session's project, as far as the event tells."""
    roots = payload.get("workspace_roots") or payload.get("workspacePaths")
    named = [environment.get(variable, "") for variable in form.data["project"]]
    if isinstance(roots, list):
        named += [root for root in roots[:1] if isinstance(root, str)]
    named.append(first_text(payload, ("cwd",)))
    for path in named:
        if os.path.isabs(path) and os.path.isdir(path):
            return os.path.realpath(path)
    return os.path.realpath(directory)


def _above(folder: str) -> Iterator[str]:
    """Yield a folder and all above it."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _git_top(folder: str) -> str:
    for one in _above(folder):
        mark = os.path.join(one, ".git")
        if os.path.lexists(os.path.join(mark, "HEAD")) or os.path.isfile(mark):
            return one
    return ""


def _account_home() -> str:
    """Return the home of this account, whatever variables say; "/" where nobody knows it."""
    if pwd is None:
        return os.sep
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except (KeyError, AttributeError):
        return os.sep


def _is_inside(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder.rstrip('/')}/")


def _find_brains(
    home: str, directory: str, scope: str, environment: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the gates that hold for a directory, the nearest brain first.

    A state folder inside the project is the project's own doing, by a variable: it is not believed,
    unless the account's home lies there as well.
    """
    inside = _is_inside(os.path.realpath(home), scope)
    if inside and not _is_inside(os.path.realpath(_account_home()), scope):
        return []
    above = list(_above(directory))
    named = environment.get("LESSONS_BRAIN", "").split(os.pathsep)
    brains = []
    for name in sorted(os.listdir(os.path.join(home, "gates"))):
        if not _GATE_NAME.fullmatch(name):
            continue
        brain = read_gates(os.path.join(home, "gates", name))
        root = brain["root"]
        is_near = root in above or (brain["marked"] and _is_inside(root, scope))
        # A file that names no brain may be that of any.
        if (is_near or brain["own"] or root in named or not root) and _is_same_folder(brain):
            brains.append(brain)
    brains.sort(key=lambda brain: -len(brain["root"]))
    git = os.path.basename(scope) if _git_top(scope) else None
    own = next((brain["project"] for brain in brains if brain["project"]), None)
    project = own or git
    for brain in brains:
        if brain["readable"]:
            brain["cards"] = [card for card in brain["cards"] if card["project"] in (None, project)]
            brain["stale"] = _sign_settings(brain["root"]) != brain["settings"]
            brain["has_new"] = brain["listing"] != list_times(brain["root"], brain["card_folders"])
    return brains


_GATE_NAME = re.compile(r"[0-9a-f]{16}\.json")
_UNREADABLE = {
    "root": "", "marked": False, "own": False, "project": None, "whole": False,
    "readable": False, "has_new": False, "cards": (),
}  # fmt: skip


def read_gates(path: str) -> dict[str, Any]:
    """Return the gates in a file; those that cannot be read are marked so."""
    brain = _read_json(path, limit=MAX_GATE_BYTES)
    root = brain.get("root")
    if not isinstance(root, str) or f"{hash_text(root)}.json" != os.path.basename(path):
        return dict(_UNREADABLE)
    near = {"root": root, "marked": brain.get("marked") is True, "own": brain.get("own") is True}
    try:
        is_ours = brain["format"] == FORMAT and _has_types(brain)
    except _BAD_DATA:
        is_ours = False
    return {**brain, "readable": True} if is_ours else {**_UNREADABLE, **near}


def _has_types(brain: Mapping[str, Any]) -> bool:
    """Return whether what ``_find_brains`` reads of a gate file has the types that it needs."""
    cards = all(isinstance(card["title"], str) and "project" in card for card in brain["cards"])
    device, inode = brain["identity"]
    is_identity = isinstance(device, int) and isinstance(inode, int)
    project = brain["project"] is None or isinstance(brain["project"], str)
    names = [*brain["card_folders"], brain["settings"], brain["listing"]]
    flags = isinstance(brain["marked"], bool) and isinstance(brain["own"], bool)
    texts = all(isinstance(name, str) for name in names)
    return cards and is_identity and project and flags and texts


def _is_same_folder(brain: Mapping[str, Any]) -> bool:
    """Return whether the folder of a brain is still the one that was compiled."""
    if not brain["readable"]:
        return not brain["root"] or os.path.isdir(brain["root"])
    try:
        info = os.stat(brain["root"])
    except OSError:
        return False
    return bool([info.st_dev, info.st_ino] == brain["identity"])


def list_times(root: str, folders: Iterable[str]) -> str:
    """Return what changes when a card comes into one of the folders, or leaves it."""
    times = []
    for folder in folders:
        try:
            times.append(str(os.stat(os.path.join(root, folder)).st_mtime_ns))
        except OSError:
            times.append("-")
    return " ".join(times)


def _sign_settings(root: str) -> str:
    """Return what changes when the settings of a brain do."""
    lines = []
    for name in ("lessons.toml", ".lessonsignore"):
        try:
            lines.append(f"{name}\t{_sign(os.stat(os.path.join(root, name)))}")
        except OSError:
            lines.append(f"{name}\t-")
    return "\n".join(lines)


def silence_path(home: str, agent: str) -> str:
    """Return the file that is there once an agent's hooks were taken out."""
    return os.path.join(home, "sessions", f"silenced-{hash_text(agent)}")


def _is_silenced(home: str, agent: str, directory: str) -> bool:
    try:
        file = os.open(silence_path(home, agent), os.O_RDONLY)
    except OSError:
        return False
    try:
        project = os.fsdecode(os.read(file, 8_192))
    finally:
        os.close(file)
    return not project or _is_inside(directory, project)


def _read_json(path: str, *, limit: int = MAX_FILE_BYTES) -> dict[str, Any]:
    """Return the object in a regular file of ours, {} where there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return {}
    parts: list[bytes] = []
    try:
        while len(parts) * 65_536 < limit and (part := os.read(file, 65_536)):
            parts.append(part)
        found = json.loads(b"".join(parts))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(file)
    return found if isinstance(found, dict) else {}


# ---------------------------------------------------------------------------------------------
# The call


def _read_call(
    payload: Mapping[str, Any],
    form: Form,
    forms: Mapping[str, Any],
    *,
    scope: str,
    directory: str,
) -> Call:
    names = forms["arguments"]
    tool = first_text(payload, TOOL_KEYS)
    values = (payload.get(key) for key in ARGUMENT_KEYS)
    arguments = next((value for value in values if isinstance(value, (dict, str))), {})
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = {"input": arguments}
    data: Mapping[str, Any] = arguments if isinstance(arguments, dict) else {}
    if not tool and isinstance(payload.get("command"), str):  # Cursor's beforeShellExecution
        return Call("command", (), (), payload["command"], directory)
    kind = _kind_of(tool, form.name, forms["tools"])
    cwd = first_text(payload, ("cwd",)) or directory
    here = os.path.realpath(cwd) if os.path.isabs(cwd) else directory

    def place(path: str) -> str:
        full = os.path.normpath(os.path.join(here, os.path.expanduser(path)))
        if not _is_inside(full, scope):
            full = os.path.realpath(full)
        return full[len(scope.rstrip("/")) + 1 :] if _is_inside(full, scope) else full

    if kind == "command":
        command = _find_command(data, names["commands"])
        return Call(kind, (), (), command, here)
    if kind not in EDIT_KINDS:
        return Call(kind, (), (), "", here)
    patch = first_text(data, names["patches"])
    if any(header in patch for header in _PATCH_HEADERS):
        pieces = tuple((place(path), before, after) for path, before, after in _read_patch(patch))
        return Call(kind, tuple(dict.fromkeys(path for path, *_ in pieces)), pieces, "", here)
    holders = [data]
    for value in data.values():
        if isinstance(value, list):
            holders += [item for item in value if isinstance(item, dict)]
    whole = first_text(data, names["paths"])
    pieces = ()
    for holder in holders:
        path = first_text(holder, names["paths"]) or whole
        before, after = (first_text(holder, names[key]) for key in ("old text", "new text"))
        if path:
            pieces += ((place(path), before, after),)
    return Call(kind, tuple(dict.fromkeys(path for path, *_ in pieces)), pieces, "", here)


def _kind_of(tool: str, agent: str, tools: Mapping[str, Mapping[str, str]]) -> str:
    """Return what a tool does: the agent's own table decides, then those of the others."""
    for table in (tools.get(agent, {}), *tools.values()):
        if tool in table:
            return table[tool]
    return tools["any"].get(re.split("__|:", tool)[-1], "tool")


def _find_command(data: Mapping[str, Any], names: Iterable[str]) -> str:
    for name in names:
        value = data.get(name)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value:
            words = [str(word) for word in value]
            return " ".join(words[2:] if words[1:2] in (["-c"], ["-lc"]) else words)
    return ""


def _read_patch(text: str) -> list[tuple[str, str, str]]:
    """Return (path, before, after) of each file of a patch in the ``*** Update File:`` form."""
    found: list[tuple[str, list[str], list[str]]] = []
    for line in text.splitlines():
        header = next((one for one in _PATCH_HEADERS if line.startswith(one)), "")
        if header:
            found.append((line[len(header) :].strip(), [], []))
        elif found and line[:1] in ("+", "-", " "):
            _path, before, after = found[-1]
            if line[0] != "+":
                before.append(line[1:])
            if line[0] != "-":
                after.append(line[1:])
    return [(path, "\n".join(before), "\n".join(after)) for path, before, after in found]


# ---------------------------------------------------------------------------------------------
# Which cards are about it


def _find_concerns(
    brains: Iterable[Mapping[str, Any]], call: Call, scope: str
) -> Iterator[Concern]:
    if not call.paths and (not call.command or _only_reads(call.command)):
        return
    for brain in brains:
        try:
            yield from _find_in_brain(brain, call, scope)
        except _BAD_DATA:
            yield _doubt_all(brain["root"])


def _find_in_brain(brain: Mapping[str, Any], call: Call, scope: str) -> list[Concern]:
    """Return the cards of a brain that are about a call; raises _BAD_DATA for a bad gate file."""
    if not (brain["readable"] and brain["whole"]) or brain["has_new"]:
        return [_doubt_all(brain["root"])]
    concerns = []
    for card in brain["cards"]:
        concern = _find_by_pattern(brain, card, call, scope)
        if concern is None:
            concern = _find_by_path(brain, card, call, scope)
        if concern is not None:
            concerns.append(concern._replace(sure=concern.sure and not brain["stale"]))
    return concerns


def _doubt_all(root: str) -> Concern:
    """Return a concern that stands for all gates of a brain: none of them can be decided."""
    name = os.path.basename(root) or "a brain"
    card = {"id": "", "title": f"the gates of {_visible(name)}", "gate": ONCE}
    return Concern({"root": root}, card, (), sure=False)


def _find_by_path(
    brain: Mapping[str, Any], card: Mapping[str, Any], call: Call, scope: str
) -> Concern | None:
    """Return a card whose ``paths`` name a file of the call, unless the call heeds it."""
    if call.command:
        may = _may_touch(call.command, card, scope, call.directory)
        return Concern(brain, card, (), sure=False) if may else None
    if not call.paths or not card["globs"]:
        return None
    try:
        files = tuple(path for path in call.paths if match_globs(card["globs"], path))
    except re.error:
        return Concern(brain, card, (), sure=False)
    if not files:
        return None
    shown = card["shown_by"]
    if shown and all(shown):
        lines = [line for path, _b, after in call.pieces for line in (path, *after.split("\n"))]
        if not all(one["simple"] for one in shown):
            return Concern(brain, card, files, sure=False)
        found = [_find_line(one["text"], lines) for one in shown]
        if all(found):
            return None
    return Concern(brain, card, files, sure=True)


def _find_line(pattern: str, lines: Iterable[str]) -> bool:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return any(compiled.search(line) for line in lines)


def _may_touch(command: str, card: Mapping[str, Any], scope: str, directory: str) -> bool:
    """Return whether a command may change a file that a card's globs name; "no" is sure."""
    globs = card["globs"]
    if not globs or _only_reads(command):
        return False
    hints = [hint[1] for source, _include in globs if (hint := _HINT.match(source))]
    if len(hints) < len(globs) or any(hint in command for hint in hints):
        return True
    unquoted = _QUOTES.sub("", command)
    if any(hint in unquoted for hint in hints) or _WIDE.search(unquoted):
        return True
    words = [word for word in _SEPARATORS.split(unquoted) if word]
    return any(_may_be_above(word, card, scope, directory) for word in words)


def _only_reads(command: str) -> bool:
    words = command.split()
    return not _NOT_PLAIN.search(command) and bool(words) and words[0] in _READERS


def _may_be_above(word: str, card: Mapping[str, Any], scope: str, directory: str) -> bool:
    """Return whether a word of a command may name a folder above the files of a card.

    A command may change its folder before, so the name of the folder alone decides.
    """
    names = [*card["folders"], *scope.split("/")]
    magic = _MAGIC.search(word)
    if magic:
        beginning = word[: magic.start()].rpartition("/")[2]
        is_named = any(name.startswith(beginning) for name in names)
        return is_named or card["anywhere"] is True
    if word.rstrip("/").rpartition("/")[2] in names:
        return True
    if not card["anywhere"]:
        return False
    # A glob that begins with a wildcard may stand for files below any folder.
    places = (os.path.join(place, word) for place in (scope, directory))
    return word.endswith("/") or any(map(os.path.isdir, places))


def match_globs(globs: Sequence[Sequence[Any]], path: str) -> bool:
    """Return whether compiled globs match a path, by the rules of ``text.patterns.match_globs``."""
    path = path.removeprefix("./")
    globs = [(source, include) for source, include in globs if _find_hint(source) in path]
    if all(include for _source, include in globs):
        return any(re.search(source, path) for source, _include in globs)
    ends = [place + 1 for place, sign in enumerate(path) if sign == "/" and place + 1 < len(path)]
    return any(_decide(globs, path[:end]) for end in [*ends, len(path)])


def _find_hint(source: str) -> str:
    """Return a text that stands in each path that a compiled glob matches; "" if none is sure."""
    hint = _HINT.match(source)
    return hint[1] if hint else ""


def _decide(globs: Sequence[Sequence[Any]], path: str) -> bool:
    """Return whether the last glob that names this very path includes it."""
    for source, include in reversed(globs):
        if re.fullmatch(source, path):
            return bool(include)
    return False


def _find_by_pattern(
    brain: Mapping[str, Any], card: Mapping[str, Any], call: Call, scope: str
) -> Concern | None:
    """Return a card whose mistake the call is about to make, or may be."""
    unsure: Concern | None = None
    for pattern in card["patterns"]:
        look = _look_in_command if call.command else _look_in_change
        files, sure = look(pattern, call, brain, scope)
        if files and sure:
            return Concern(brain, card, files, sure=True)
        if files:
            unsure = Concern(brain, card, files, sure=False)
    return unsure


def _look_in_command(
    pattern: Mapping[str, Any], call: Call, _brain: Mapping[str, Any], _scope: str
) -> tuple[tuple[str, ...], bool]:
    words = call.command.split()
    is_plain = not _NOT_PLAIN.search(call.command) and words and words[0] not in _WRAPPERS
    unquoted = _QUOTES.sub("", call.command)
    named = any(word in unquoted for word in pattern["words"]) or not pattern["words"]
    if pattern["kind"] != "command":
        is_document = "<<" in call.command
        return (("",), False) if is_document and named else ((), True)
    if is_plain and pattern["simple"]:
        text = " ".join(words)
        found = _search(pattern["text"], text) is not None
        excused = bool(pattern["unless"]) and _search(pattern["unless"], text) is not None
        return (("",), True) if found and not excused else ((), True)
    return (("",), False) if named else ((), True)


def _look_in_change(
    pattern: Mapping[str, Any], call: Call, brain: Mapping[str, Any], scope: str
) -> tuple[tuple[str, ...], bool]:
    unsure: tuple[str, ...] = ()
    for path, before, after in call.pieces if pattern["kind"] != "command" else ():
        full = os.path.join(scope, path)
        may_be_card = path.endswith(_CARD_SUFFIXES) and _is_inside(full, brain["root"])
        if may_be_card and any(f"/{folder}/" in full for folder in brain["folders"]):
            continue  # a card that shows its mistake would find itself
        try:
            if not after or (pattern["files"] and not match_globs(pattern["files"], path)):
                continue
        except re.error:
            unsure = (path,)
            continue
        named = any(word in after for word in pattern["words"]) or not pattern["words"]
        if not named:
            continue
        if may_be_card or not pattern["simple"] or len(after) + len(before) > MAX_TEXT_CHARS:
            unsure = (path,)
            continue
        was, becomes = _place(full, before, after, whole=call.kind == "create")
        if _count(pattern, becomes) > _count(pattern, was):
            return (path,), True
    return unsure, not unsure


def _count(pattern: Mapping[str, Any], text: str) -> int:
    """Return how many places of a text a pattern is found in, without those it excuses."""
    count = 0
    for found in re.finditer(pattern["text"], text, re.ASCII | re.MULTILINE):
        begin = text.rfind("\n", 0, found.start()) + 1
        end = text.find("\n", found.end())
        lines = text[begin : end if end >= 0 else len(text)]
        excused = bool(pattern["unless"]) and _search(pattern["unless"], lines) is not None
        if found.end() > found.start() and not excused:
            count += 1
    return count


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.ASCII | re.MULTILINE)


def _place(full: str, before: str, after: str, *, whole: bool) -> tuple[str, str]:
    """Return the texts of a change as whole lines, as far as the file tells."""
    if not (before or whole):
        return before, after
    text = _read_text(full)
    if whole:
        return text, after
    at = text.find(before)
    if at < 0:
        return before, after
    end = at + len(before)
    begin = text.rfind("\n", 0, at) + 1
    stop = end if before.endswith("\n") else text.find("\n", end) + 1 or len(text)
    left, right = text[begin:at], text[end:stop]
    return f"{left}{before}{right}", f"{left}{after}{right}"


def _read_text(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return ""
    try:
        return os.read(file, MAX_FILE_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError:
        return ""
    finally:
        os.close(file)
