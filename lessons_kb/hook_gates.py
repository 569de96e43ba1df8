"""The second stage of the hook program, which decides gates if no full answer arrives in time.

It reads one small file for each brain, which ``brain/gate_file.py`` writes into the user's state
folder. It imports nothing from this package, since ``hook_client`` loads it if no daemon answers.
If it cannot decide, it reports "not checked", so that no call passes without a report.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

try:
    import pwd
except ImportError:  # Windows
    pwd = None  # type: ignore[assignment]

FORMAT = 2
"""The version of the gate files. A file of another version is not read."""
OFF_VARIABLE = "LESSONS_HOOKS"
ENDED_REFUSED, ENDED_UNCHECKED = b"r", b"u"
"""The names and values of ``hook_client``, which this file must not import."""
MAX_FILE_BYTES = 1_000_000
"""The maximum number of bytes that are read from a file of the project."""
MAX_GATE_BYTES = 4_000_000
"""The maximum size of a gate file in bytes; ``brain/gate_file.py`` marks a larger file."""
MAX_TEXT_CHARS = 200_000
"""The maximum length, in characters, of a text that is checked against patterns."""
MAX_ITEMS = 3
MAX_NAMED = 3

REFUSED_TEXT = "A lesson holds this back once,"
PASSES = "It will pass when you propose it again, changed or as it is."
PERMISSION = "A lesson asks for your permission"
ASKED_NEXT = "The user is asked when you propose it again, changed or as it is."
NOT_CHECKED = "Lessons: not checked before this call, the machine is busy: {}"
NOT_READ = "Lessons: not checked before this call, its event did not arrive whole in time"
LATE_LINE = "Lessons came late: the machine is busy."
PROGRAM_SUFFIXES = (
    *(".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd", ".exe", ".py", ".pyz"),
    *(".rb", ".pl", ".php", ".lua", ".js", ".mjs", ".cjs", ".ts"),
)
"""The ends of the names of files that can be run. A file without an extension can be run, too."""

ASK, ONCE, STRICT = "ask", "once", "strict"
EDIT_KINDS = ("edit", "create", "remove")
SESSION_KEYS = ("conversation_id", "conversationId", "sessionId", "session_id", "sessionID")
ARGUMENT_KEYS = ("tool_input", "toolInput", "toolArgs", "args", "input")
TOOL_KEYS = ("tool_name", "toolName", "tool")
EVENT_KEYS = ("hook_event_name", "hookEventName", "event")
PART_KEYS = ("agent_id", "subagentType")
"""Keys with the id of the subagent that makes a call."""
NOBODY_ANSWERS = ("bypassPermissions", "dontAsk")
"""Permission modes in which a question to the user would be a denial."""
REASON_MARK, LINE_MARK = "@REASON@", "@LINE@"
"""Placeholders for the texts in the answers of ``data/answer_forms.json``."""

_PATCH_HEADERS = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")
_READERS = ("cat", "less", "head", "tail", "grep", "rg", "ls", "wc", "diff", "stat", "file")
_WRAPPERS = ("sudo", "env", "nice", "time", "nohup", "xargs", "timeout", "bash", "sh", "zsh")
# Compiled on first use, because few events have a call that a card may hold back.
_NOT_PLAIN = r"[;&|<>$`\n\\'\"(){}*?\[\]!#~]"
_WIDE = r"(?:^|[\s/])(?:\.{1,2}|\*[^\s]*)/?(?:\s|$)"
"""A word of a command that may expand to any file name."""
_QUOTES = r"[\\'\"]"
_SEPARATORS = r"[\s;&|<>()]+"
_MAGIC = r"[*?\[{$`~]"
_HINT = r"\(\?#([^)]*)\)"
_BAD_DATA = (KeyError, TypeError, ValueError, AttributeError, IndexError, re.error)
"""The errors that a foreign or truncated gate file causes."""
_CARD_SUFFIXES = (".md", ".markdown")


class Decision(NamedTuple):
    """The decision of the second stage about an event; empty by default."""

    refusal: str = ""
    """Standard output that refuses the call."""
    unchecked: str = ""
    """Standard output that tells the user which cards were not checked. It also replaces a refusal
    that cannot be recorded, since such a refusal would repeat forever."""
    log: str = ""
    """The same text for standard error, if the agent shows the user no output of this event."""
    records: tuple[str, ...] = ()
    """Record files. At least one must be new, or belong to this event, before the call is
    refused."""
    reason: str = ""
    """The reason for the refusal, or the cards that were not checked, as plain text."""


class Form(NamedTuple):
    """The names that one agent uses, and the form of answers to it."""

    name: str
    data: Mapping[str, Any]

    def event(self, payload: Mapping[str, Any]) -> str:
        """Return the event's name in the spelling of the agent's table."""
        data = self.data
        return name_event(payload, data["events"], data["renamed"], data["event_keys"])


class ProposedCall(NamedTuple):
    """A call that is about to be made."""

    kind: str
    paths: tuple[str, ...]
    """The files that it changes, relative to the project."""
    pieces: tuple[tuple[str, str, str], ...]
    """The path, the text before and the text after each change."""
    command: str
    directory: str
    """The working directory of a command."""


class CallEvent(NamedTuple):
    """An event before a call, and where it happens."""

    name: str
    """The agent's name of the event."""
    payload: Mapping[str, Any]
    environment: Mapping[str, str]
    home: str
    """The state folder, which contains the records of refusals."""
    context: str
    """The id of the session, followed by the id of the subagent if one makes the call."""
    token: str
    """Identifies the event."""
    directory: str
    """The working directory of the agent."""


class GatedCard(NamedTuple):
    """A card whose gate applies to the call, or may apply."""

    brain: Mapping[str, Any]
    card: Mapping[str, Any]
    files: tuple[str, ...]
    sure: bool
    """Whether the gate certainly applies."""


# ---------------------------------------------------------------------------------------------
# Functions that the rest of the package uses, too


def hash_text(text: str) -> str:
    """Return the 64-bit FNV-1a hash of a text, as 16 hexadecimal digits."""
    number = 0xCBF29CE484222325
    for byte in text.encode("utf-8", "surrogatepass"):
        number = ((number ^ byte) * 0x100000001B3) % (1 << 64)
    return f"{number:016x}"


def gate_path(home: str, root: str) -> str:
    """Return the path of the gate file of the brain at ``root`` in the state folder ``home``."""
    return os.path.join(home, "gates", f"{hash_text(root)}.json")


def record_path(home: str, context: str, root: str, card: str, file: str) -> str:
    """Return the path of the record of a refusal, which depends on session, card and file."""
    subject = hash_text(f"{root}\0{card}\0{file}")
    return os.path.join(home, "sessions", f"refused-{hash_text(context)}-{subject}")


def claim(path: str, token: str) -> bool | None:
    """Record a refusal for the event ``token``, and return whether the record belongs to it.

    Return None if nothing can be recorded.
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
    """Return the event to which the record of a refusal belongs; "" if there is no record."""
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        return ""
    try:
        return os.read(file, 200).decode("ascii", "replace")
    finally:
        os.close(file)


def first_text(payload: Mapping[str, Any], names: Iterable[str]) -> str:
    """Return the first of the named values that is a text; "" if there is none."""
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
    """Return the name of an event in the spelling of one agent's table."""
    name = first_text(payload, EVENT_KEYS)
    if name in events:
        return name
    if not name:
        return next((event for key, event in event_keys.items() if key in payload), "")
    other = name[:1].swapcase() + name[1:]
    return other if other in events else renamed.get(name, name)


_CLAUDE_LIKE = ("claude-code", "codex", "copilot-cli", "vscode")
_COPILOTS = ("stop_reason", "custom_instructions")
"""Keys that Copilot CLI sends with a transcript's path, but VS Code does not."""
_COPILOTS_OWN = "COPILOT_HOOK_DIR"
"""A variable for hooks that only Copilot CLI sets. It reads the same folders as VS Code."""
_GROKS_OWN = "workspaceRoot"


def find_host(
    agent: str,
    payload: Mapping[str, Any],
    environment: Mapping[str, str],
    events: Mapping[str, Iterable[str]],
) -> str:
    """Return the agent that called the hook. ``agent`` is the agent for which the hook was set up.

    ``events`` are the names of each agent's events. The payload decides, because an agent inherits
    the variables of the agent that started it.
    """
    name = first_text(payload, EVENT_KEYS)
    if _GROKS_OWN in payload:  # Grok also runs the hooks of Claude Code and Cursor
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
) -> Decision:
    """Return the decision of the gates about one event.

    ``directory`` is the working directory of the process, and ``token`` identifies the event. An
    invalid payload raises no error; the full answer handles it.
    """
    if environment.get(OFF_VARIABLE) == "0" or environment.get("LESSONS_TRIAL"):
        return Decision()
    home = find_state_home(environment)
    if not home or not os.path.isdir(os.path.join(home, "gates")):
        return Decision()
    try:
        payload = json.loads(event)
    except (ValueError, RecursionError):
        return _report_unread(agent, event)
    if not isinstance(payload, dict):
        return Decision()
    forms = _read_forms()
    if agent not in forms.get("agents", {}):
        return Decision()
    events = {name: row["events"] for name, row in forms["agents"].items()}
    host = find_host(agent, payload, environment, events)
    form = Form(host, forms["agents"][host])
    name = form.event(payload)
    session = first_text(payload, SESSION_KEYS)
    if form.data["events"].get(name) != "before" or not session:
        return Decision()
    part = first_text(payload, PART_KEYS)
    context = f"{session}/{part}" if part else session
    directory = _find_directory(payload, form, environment, directory)
    scope = _git_top(directory) or directory
    brains = _find_brains(home, directory, scope, environment)
    if not brains or _is_silenced(home, agent, directory):
        return Decision()
    call = _extract_call(payload, form, forms, scope=scope, directory=directory)
    gated_cards = list(_find_gated_cards(brains, call, scope))
    call_event = CallEvent(
        name=name,
        payload=payload,
        environment=environment,
        home=home,
        context=context,
        token=token,
        directory=directory,
    )
    return _rule(gated_cards, form, call_event)


def _report_unread(agent: str, event: bytes) -> Decision:
    """Return the decision about a call that arrived only in part: no gate can decide about it."""
    form = _read_forms().get("agents", {}).get(agent)
    if form is None:
        return Decision()
    before = [name for name, kind in form["events"].items() if kind == "before"]
    named = [name for name in form["events"] if f'"{name}"'.encode() in event] or before
    name = next((name for name in named if name in before), "")
    return _say_unchecked(NOT_READ, form, form["answers"].get(name, {})) if name else Decision()


def _read_forms() -> dict[str, Any]:
    return _read_json(os.path.join(os.path.dirname(os.path.abspath(__file__)), _FORMS))


def claim_answer(decision: Decision, token: str) -> tuple[bytes, bytes, bytes] | None:
    """Return the ending of the client, its standard output and its standard error.

    A refusal is recorded first. The ending is ENDED_REFUSED or ENDED_UNCHECKED of ``hook_client``,
    which the client sends to the process that computes the full answer. Return None if there is no
    output.
    """
    if decision.refusal:
        claimed = [_claim_in_folder(path, token) for path in decision.records]
        if any(claimed):
            return ENDED_REFUSED, decision.refusal.encode("utf-8", "replace"), b""
        if None not in claimed:
            return None
    if decision.unchecked:
        output, log = (
            text.encode("utf-8", "replace") for text in (decision.unchecked, decision.log)
        )
        return ENDED_UNCHECKED, output, log
    return None


def _claim_in_folder(path: str, token: str) -> bool | None:
    """Create the folder of a record, and ``claim`` the record."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    except OSError:
        return None
    return claim(path, token)


_FORMS = os.path.join("data", "answer_forms.json")


def _rule(gated_cards: Sequence[GatedCard], form: Form, event: CallEvent) -> Decision:
    """Return the decision about a call to which the gates of these cards apply."""
    if event.name not in form.data["refuses"]:
        return Decision()
    refusing: list[GatedCard] = []
    unsure: list[GatedCard] = []
    records: list[str] = []
    for gated in gated_cards:
        if gated.card["gate"] == ASK and not _is_attended(form, event):
            continue  # no user can be asked, so the lesson is only context, which may be late
        new_records = _list_new_records(gated, event)
        if not new_records:
            continue  # this call of the session was refused before, so now it passes
        if _is_unsure(gated, form, event):
            unsure.append(gated)
        else:
            refusing.append(gated)
            records += new_records
    template = form.data["answers"].get(event.name, {})
    if refusing:
        unchecked = _report_unchecked(refusing, form, template)
        reason, printed = _write_refusal(refusing, template, event.directory)
        return unchecked._replace(refusal=printed, records=tuple(records), reason=reason)
    return _report_unchecked(unsure, form, template) if unsure else Decision()


def _list_new_records(gated: GatedCard, event: CallEvent) -> list[str]:
    """Return the paths of the records for the files of a card that were not refused before.

    A record of this event may exist already, because the agent may have reported the event twice.
    """
    root, card_id = gated.brain["root"], gated.card["id"]
    paths = [
        record_path(event.home, event.context, root, card_id, file) for file in gated.files or ("",)
    ]
    return [path for path in paths if read_token(path) in ("", event.token)]


def _is_unsure(gated: GatedCard, form: Form, event: CallEvent) -> bool:
    """Return whether only the full answer can decide about a card."""
    asks = gated.card["gate"] == ASK
    is_explained = first_text(event.payload, TOOL_KEYS) not in form.data["unexplained"]
    if asks and is_explained:
        return True
    if gated.card["gate"] == STRICT:  # a strict gate applies in case of doubt
        return False
    return not gated.sure or _is_changed(gated)


def _write_refusal(
    refusing: Sequence[GatedCard], template: Mapping[str, str], directory: str
) -> tuple[str, str]:
    """Return the reason of a refusal as plain text, and the refusal in the form of the agent."""
    reason = _write_reason(refusing, directory)
    asks = any(gated.card["gate"] == ASK for gated in refusing)
    line = f"{PERMISSION} {reason}" if asks else ""
    text = f"{line} {ASKED_NEXT}" if asks else f"{REFUSED_TEXT} {reason} {PASSES}"
    lessons = "\n\n".join(_write_lesson(gated.card) for gated in refusing)
    whole = f"{text}\n\n{lessons}"
    refusal = template["refusal and line" if asks else "refusal"]
    return whole, _fill(refusal, reason=whole, line=line)


def _report_unchecked(
    gated_cards: Sequence[GatedCard], form: Form, template: Mapping[str, str]
) -> Decision:
    """Return the decision that names the cards that were not checked."""
    titles = dict.fromkeys(f"“{gated.card['title']}”" for gated in gated_cards[:MAX_NAMED])
    return _say_unchecked(NOT_CHECKED.format("; ".join(titles)), form.data, template)


def _say_unchecked(line: str, form: Mapping[str, Any], template: Mapping[str, str]) -> Decision:
    """Return the decision that shows a line to the user, or logs it where the agent shows none."""
    if template.get("line"):
        return Decision(unchecked=_fill(template["line"], line=line), reason=line)
    return Decision(unchecked=form["silence"], log=f"{line}\n", reason=line)


def _fill(template: str, *, reason: str = "", line: str = "") -> str:
    """Return an answer: the JSON template with texts in place of its placeholders."""
    filled = template.replace(REASON_MARK, json.dumps(reason)[1:-1])
    return f"{filled.replace(LINE_MARK, json.dumps(line)[1:-1])}\n"


def _write_reason(refusing: Sequence[GatedCard], directory: str) -> str:
    """Return the reason of a refusal: the effect of the call, and the lessons that refuse it."""
    files: dict[str, None] = {}
    for gated in refusing:
        files |= dict.fromkeys(filter(None, gated.files))
    more = f" and {len(files) - MAX_NAMED} more" if len(files) > MAX_NAMED else ""
    names = ", ".join(_visible(file) for file in list(files)[:MAX_NAMED])
    action = f"{names}{more} {name_act(files)}" if files else "this command is run"
    lessons = []
    for gated in refusing[:MAX_NAMED]:
        path = os.path.join(gated.brain["root"], gated.card["id"])
        place = os.path.relpath(path, directory)
        lessons.append(f"“{gated.card['title']}” ({_visible(place)})")
    return f"before {action}: {'; '.join(dict.fromkeys(lessons))}."


def name_act(files: Iterable[str]) -> str:
    """Return the words for the calls that a gate on these files is about."""
    for file in files:
        name = file.replace("\\", "/").rpartition("/")[2]
        if "." not in name.lstrip(".") or name.lower().endswith(PROGRAM_SUFFIXES):
            return "is changed or run"
    return "is changed"


def _write_lesson(card: Mapping[str, Any]) -> str:
    """Return the title, the cause and the first items of a lesson."""
    why = [f"Why: {card['why']}"] if card["why"] else []
    items = [f"- [ ] {item}" for item in card["items"][:MAX_ITEMS]]
    return "\n".join([f"“{card['title']}”", *why, *items])


def _visible(path: str) -> str:
    return "".join(char if char.isprintable() else "?" for char in path)[:400]


def _is_attended(form: Form, event: CallEvent) -> bool:
    """Return whether the user can be asked about a call and is present to answer."""
    if event.name not in form.data["asks"]:
        return False
    if first_text(event.payload, ("permission_mode",)) in NOBODY_ANSWERS:
        return False
    environment = event.environment
    unattended = form.data["unattended"].items()
    return not any(environment.get(variable) in values for variable, values in unattended)


def _is_changed(gated: GatedCard) -> bool:
    """Return whether a card has changed since its gate was compiled."""
    try:
        info = os.stat(os.path.join(gated.brain["root"], *gated.card["id"].split("/")))
    except OSError:
        return True
    signature: str = gated.card["signature"]
    return _sign(info) != signature


def _sign(info: os.stat_result) -> str:
    return f"{info.st_mtime_ns}.{info.st_ctime_ns}.{info.st_ino}.{info.st_size}"


# ---------------------------------------------------------------------------------------------
# Folders


def find_state_home(environment: Mapping[str, str]) -> str:
    """Return the state folder of the user; "" if it is unknown."""
    if chosen := environment.get("LESSONS_STATE_HOME"):
        return os.path.abspath(chosen)
    home = environment.get("HOME") or _account_home()
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
    """Return the real path of the session's project, or of ``directory`` if the event has none."""
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
    """Yield a folder and its ancestors."""
    while True:
        yield folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _git_top(folder: str) -> str:
    for ancestor in _above(folder):
        mark = os.path.join(ancestor, ".git")
        if os.path.lexists(os.path.join(mark, "HEAD")) or os.path.isfile(mark):
            return ancestor
    return ""


def _account_home() -> str:
    """Return the home of this account, independently of variables; "/" if it is unknown."""
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
    """Return the gate files that apply to a directory, starting with the nearest brain.

    A state folder inside the project is not trusted, since the project may have set the variable.
    It is trusted if the account's home is inside the project as well.
    """
    inside = _is_inside(os.path.realpath(home), scope)
    if inside and not _is_inside(os.path.realpath(_account_home()), scope):
        return []
    above = list(_above(directory))
    named = environment.get("LESSONS_BRAIN", "").split(os.pathsep)
    brains = []
    for name in sorted(os.listdir(os.path.join(home, "gates"))):
        if not re.fullmatch(_GATE_NAME, name):
            continue
        brain = read_gates(os.path.join(home, "gates", name))
        root = brain["root"]
        is_near = root in above or (brain["marked"] and _is_inside(root, scope))
        # A file that names no brain may belong to any brain.
        if (is_near or brain["own"] or root in named or not root) and _is_same_folder(brain):
            brains.append(brain)
    brains.sort(key=lambda brain: -len(brain["root"]))
    git = os.path.basename(scope) if _git_top(scope) else None
    own = next((brain["project"] for brain in brains if brain["project"]), None)
    project = own or git
    for brain in brains:
        if brain["readable"]:
            brain["cards"] = [card for card in brain["cards"] if _is_due(card, project)]
            brain["stale"] = _sign_settings(brain["root"]) != brain["settings"]
            brain["has_new"] = brain["listing"] != list_times(brain["root"], brain["card_folders"])
    return brains


def _is_due(card: Mapping[str, Any], project: str | None) -> bool:
    """Return whether a card belongs to a project and is not stale today."""
    stale_after = card.get("until") or ""
    is_stale = isinstance(stale_after, str) and "" < stale_after <= time.strftime("%Y-%m-%d")
    return card["project"] in (None, project) and not is_stale


_GATE_NAME = r"[0-9a-f]{16}\.json"
_UNREADABLE = {
    "root": "", "marked": False, "own": False, "project": None, "whole": False,
    "readable": False, "has_new": False, "cards": (),
}  # fmt: skip


def read_gates(path: str) -> dict[str, Any]:
    """Return the content of a gate file; ``readable`` is False if it is damaged."""
    brain = _read_json(path, limit=MAX_GATE_BYTES)
    root = brain.get("root")
    if not isinstance(root, str) or f"{hash_text(root)}.json" != os.path.basename(path):
        return dict(_UNREADABLE)
    is_marked = brain.get("marked") is True
    is_own = brain.get("own") is True
    try:
        is_ours = brain["format"] == FORMAT and _has_types(brain)
    except _BAD_DATA:
        is_ours = False
    if is_ours:
        return {**brain, "readable": True}
    return {**_UNREADABLE, "root": root, "marked": is_marked, "own": is_own}


def _has_types(brain: Mapping[str, Any]) -> bool:
    """Return whether the values that ``_find_brains`` uses have the right types."""
    cards = all(isinstance(card["title"], str) and "project" in card for card in brain["cards"])
    device, inode = brain["identity"]
    is_identity = isinstance(device, int) and isinstance(inode, int)
    project = brain["project"] is None or isinstance(brain["project"], str)
    names = [*brain["card_folders"], brain["settings"], brain["listing"]]
    flags = isinstance(brain["marked"], bool) and isinstance(brain["own"], bool)
    texts = all(isinstance(name, str) for name in names)
    return cards and is_identity and project and flags and texts


def _is_same_folder(brain: Mapping[str, Any]) -> bool:
    """Return whether the folder of a brain is still the same as when its gates were compiled."""
    if not brain["readable"]:
        return not brain["root"] or os.path.isdir(brain["root"])
    try:
        info = os.stat(brain["root"])
    except OSError:
        return False
    return bool([info.st_dev, info.st_ino] == brain["identity"])


def list_times(root: str, folders: Iterable[str]) -> str:
    """Return a text that changes when a card is added to one of the folders or removed from it."""
    times = []
    for folder in folders:
        try:
            times.append(str(os.stat(os.path.join(root, folder)).st_mtime_ns))
        except OSError:
            times.append("-")
    return " ".join(times)


def _sign_settings(root: str) -> str:
    """Return a text that changes when the settings of a brain change."""
    lines = []
    for name in ("lessons.toml", ".lessonsignore"):
        try:
            lines.append(f"{name}\t{_sign(os.stat(os.path.join(root, name)))}")
        except OSError:
            lines.append(f"{name}\t-")
    return "\n".join(lines)


def silence_path(home: str, agent: str) -> str:
    """Return the path of the file that exists after an agent's hooks were removed."""
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
    """Return the JSON object in a regular file; {} if there is none."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return {}
    parts: list[bytes] = []
    try:
        while len(parts) * 65_536 < limit and (part := os.read(file, 65_536)):
            parts.append(part)
        data = json.loads(b"".join(parts))
    except (OSError, ValueError, RecursionError):
        return {}
    finally:
        os.close(file)
    return data if isinstance(data, dict) else {}


# ---------------------------------------------------------------------------------------------
# The call


def _extract_call(
    payload: Mapping[str, Any],
    form: Form,
    forms: Mapping[str, Any],
    *,
    scope: str,
    directory: str,
) -> ProposedCall:
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
        return ProposedCall("command", (), (), payload["command"], directory)
    kind = _kind_of(tool, form.name, forms["tools"])
    cwd = first_text(payload, ("cwd",)) or directory
    here = os.path.realpath(cwd) if os.path.isabs(cwd) else directory

    def place(path: str) -> str:
        spelled = os.path.normpath(os.path.join(here, os.path.expanduser(path)))
        real = os.path.realpath(spelled)  # a link must not bypass a gate
        full = real if _is_inside(real, scope) else spelled
        return full[len(scope.rstrip("/")) + 1 :] if _is_inside(full, scope) else full

    if kind == "command":
        command = _find_command(data, names["commands"])
        return ProposedCall(kind, (), (), command, here)
    if kind not in EDIT_KINDS:
        return ProposedCall(kind, (), (), "", here)
    patch = first_text(data, names["patches"])
    if any(header in patch for header in _PATCH_HEADERS):
        pieces = tuple((place(path), before, after) for path, before, after in _read_patch(patch))
        return ProposedCall(
            kind, tuple(dict.fromkeys(path for path, *_ in pieces)), pieces, "", here
        )
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
    return ProposedCall(kind, tuple(dict.fromkeys(path for path, *_ in pieces)), pieces, "", here)


def _kind_of(tool: str, agent: str, tools: Mapping[str, Mapping[str, str]]) -> str:
    """Return the kind of a tool from the agent's table, or else from those of other agents."""
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
    """Return the path, the text before and the text after of each file in a patch.

    The patch is in the ``*** Update File:`` form.
    """
    files: list[tuple[str, list[str], list[str]]] = []
    for line in text.splitlines():
        header = next((prefix for prefix in _PATCH_HEADERS if line.startswith(prefix)), "")
        if header:
            files.append((line[len(header) :].strip(), [], []))
        elif files and line[:1] in ("+", "-", " "):
            _path, before, after = files[-1]
            if line[0] != "+":
                before.append(line[1:])
            if line[0] != "-":
                after.append(line[1:])
    return [(path, "\n".join(before), "\n".join(after)) for path, before, after in files]


# ---------------------------------------------------------------------------------------------
# The cards whose gates apply


def _find_gated_cards(
    brains: Iterable[Mapping[str, Any]], call: ProposedCall, scope: str
) -> Iterator[GatedCard]:
    if not call.paths and (not call.command or _only_reads(call.command)):
        return
    for brain in brains:
        try:
            yield from _find_in_brain(brain, call, scope)
        except _BAD_DATA:
            yield _doubt_all(brain["root"])


def _find_in_brain(brain: Mapping[str, Any], call: ProposedCall, scope: str) -> list[GatedCard]:
    """Return the cards of a brain whose gates apply to a call.

    Raises _BAD_DATA for a damaged gate file.
    """
    if not (brain["readable"] and brain["whole"]) or brain["has_new"]:
        return [_doubt_all(brain["root"])]
    gated_cards = []
    for card in brain["cards"]:
        gated = _find_by_pattern(brain, card, call, scope)
        if gated is None:
            gated = _find_by_path(brain, card, call, scope)
        if gated is not None:
            gated_cards.append(gated._replace(sure=gated.sure and not brain["stale"]))
    return gated_cards


def _doubt_all(root: str) -> GatedCard:
    """Return a card that represents all gates of a brain, none of which can be decided."""
    name = os.path.basename(root) or "a brain"
    card = {"id": "", "title": f"the gates of {_visible(name)}", "gate": ONCE}
    return GatedCard({"root": root}, card, (), sure=False)


def _find_by_path(
    brain: Mapping[str, Any], card: Mapping[str, Any], call: ProposedCall, scope: str
) -> GatedCard | None:
    """Return a card if its ``paths`` match a file of the call.

    Return None if they do not, or if the change shows that every item of the checklist is done.
    """
    if call.command:
        may = _may_touch(call.command, card, scope, call.directory)
        return GatedCard(brain, card, (), sure=False) if may else None
    if not call.paths or not card["globs"]:
        return None
    try:
        files = tuple(path for path in call.paths if match_globs(card["globs"], path))
    except re.error:
        return GatedCard(brain, card, (), sure=False)
    if not files:
        return None
    shown = card["shown_by"]
    if shown and all(shown):
        lines: list[str] = []
        for path, _before, after in call.pieces:
            lines += [path, *after.split("\n")]
        if not all(pattern["simple"] for pattern in shown):
            return GatedCard(brain, card, files, sure=False)
        if all(_matches_line(pattern["text"], lines) for pattern in shown):
            return None
    return GatedCard(brain, card, files, sure=True)


def _matches_line(pattern: str, lines: Iterable[str]) -> bool:
    compiled = re.compile(pattern, re.ASCII | re.IGNORECASE)
    return any(compiled.search(line) for line in lines)


def _may_touch(command: str, card: Mapping[str, Any], scope: str, directory: str) -> bool:
    """Return whether a command may change a file that a card's globs match.

    The result False is certain. The result True is not.
    """
    globs = card["globs"]
    if not globs or _only_reads(command):
        return False
    hints = [hint[1] for source, _include in globs if (hint := re.match(_HINT, source))]
    if len(hints) < len(globs) or any(hint in command for hint in hints):
        return True
    unquoted = re.sub(_QUOTES, "", command)
    if any(hint in unquoted for hint in hints) or re.search(_WIDE, unquoted):
        return True
    words = [word for word in re.split(_SEPARATORS, unquoted) if word]
    return any(_may_be_above(word, card, scope, directory) for word in words)


def _only_reads(command: str) -> bool:
    words = command.split()
    return not re.search(_NOT_PLAIN, command) and bool(words) and words[0] in _READERS


def _may_be_above(word: str, card: Mapping[str, Any], scope: str, directory: str) -> bool:
    """Return whether a word of a command may name a folder above the files of a card.

    Only the name of the folder is compared, since the command may have changed its directory.
    """
    names = [*card["folders"], *scope.split("/")]
    magic = re.search(_MAGIC, word)
    if magic:
        beginning = word[: magic.start()].rpartition("/")[2]
        is_named = any(name.startswith(beginning) for name in names)
        return is_named or card["anywhere"] is True
    if word.rstrip("/").rpartition("/")[2] in names:
        return True
    if not card["anywhere"]:
        return False
    # A glob that begins with a wildcard may match files below any folder.
    places = (os.path.join(place, word) for place in (scope, directory))
    return word.endswith("/") or any(map(os.path.isdir, places))


def match_globs(globs: Sequence[Sequence[Any]], path: str) -> bool:
    """Return whether compiled globs match a path; the rules are those of ``text.patterns``."""
    path = path.removeprefix("./")
    globs = [(source, include) for source, include in globs if _find_hint(source) in path]
    if all(include for _source, include in globs):
        return any(re.search(source, path) for source, _include in globs)
    ends = [place + 1 for place, sign in enumerate(path) if sign == "/" and place + 1 < len(path)]
    return any(_decide(globs, path[:end]) for end in [*ends, len(path)])


def _find_hint(source: str) -> str:
    """Return a text that every path matching a compiled glob contains; "" if there is none."""
    hint = re.match(_HINT, source)
    return hint[1] if hint else ""


def _decide(globs: Sequence[Sequence[Any]], path: str) -> bool:
    """Return whether the last glob that matches exactly this path includes the path."""
    for source, include in reversed(globs):
        if re.fullmatch(source, path):
            return bool(include)
    return False


def _find_by_pattern(
    brain: Mapping[str, Any], card: Mapping[str, Any], call: ProposedCall, scope: str
) -> GatedCard | None:
    """Return a card if the call makes the card's mistake, or may make it."""
    unsure: GatedCard | None = None
    for pattern in card["patterns"]:
        look = _look_in_command if call.command else _look_in_change
        files, sure = look(pattern, call, brain, scope)
        if files and sure:
            return GatedCard(brain, card, files, sure=True)
        if files:
            unsure = GatedCard(brain, card, files, sure=False)
    return unsure


def _look_in_command(
    pattern: Mapping[str, Any], call: ProposedCall, _brain: Mapping[str, Any], _scope: str
) -> tuple[tuple[str, ...], bool]:
    words = call.command.split()
    is_plain = not re.search(_NOT_PLAIN, call.command) and words and words[0] not in _WRAPPERS
    unquoted = re.sub(_QUOTES, "", call.command)
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
    pattern: Mapping[str, Any], call: ProposedCall, brain: Mapping[str, Any], scope: str
) -> tuple[tuple[str, ...], bool]:
    unsure: tuple[str, ...] = ()
    for path, before, after in call.pieces if pattern["kind"] != "command" else ():
        full = os.path.join(scope, path)
        may_be_card = path.endswith(_CARD_SUFFIXES) and _is_inside(full, brain["root"])
        if may_be_card and any(f"/{folder}/" in full for folder in brain["folders"]):
            continue  # a card that quotes its mistake would match itself
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
    """Return the number of matches of a pattern, without matches that its ``unless`` excuses."""
    count = 0
    for match in re.finditer(pattern["text"], text, re.ASCII | re.MULTILINE):
        begin = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        lines = text[begin : end if end >= 0 else len(text)]
        excused = bool(pattern["unless"]) and _search(pattern["unless"], lines) is not None
        if match.end() > match.start() and not excused:
            count += 1
    return count


def _search(pattern: str, text: str) -> re.Match[str] | None:
    return re.search(pattern, text, re.ASCII | re.MULTILINE)


def _place(full: str, before: str, after: str, *, whole: bool) -> tuple[str, str]:
    """Return the texts of a change, extended to whole lines if the file contains the old text."""
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
