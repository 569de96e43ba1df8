"""Which brains hold for a working directory, and which of them this user trusts."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from lessons_kb.cards.file_kinds import is_note_name
from lessons_kb.config import KNOWN_FOLDERS
from lessons_kb.errors import BrainNotFound, StorageError, Untrusted
from lessons_kb.store import locate, trust
from lessons_kb.store.disk import read_regular
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.escape_controls import shell_word
from lessons_kb.text.plurals import counted

ENVIRONMENT = "LESSONS_BRAIN"
NO_VARIABLES: Mapping[str, str] = MappingProxyType({})


PROJECT_SETTINGS = (
    *(".claude/settings.json", ".claude/settings.local.json", ".mcp.json"),
    *(".codex/config.toml", ".gemini/settings.json", ".gemini/.env", ".env"),
    *(".cursor/mcp.json", ".vscode/settings.json", ".vscode/mcp.json"),
    *("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),
)
"""Files of a project by which it sets variables for an agent, or for the servers of one."""
_MAX_SETTINGS_BYTES = 1_000_000
_MAX_FOLDERS = 100
_ESCAPED = rb"\\(?:u00|U000000|x)([0-9A-Fa-f]{2})"


@dataclass(frozen=True, kw_only=True, slots=True)
class Discovery:
    """The brains of a working directory, nearest first."""

    trusted: dict[str, str]
    """Root → alias."""
    untrusted: tuple[str, ...]
    """Roots that wait for ``lessons trust``, and folders with cards that no scan enters."""


def look(
    directory: str, environment: Mapping[str, str] = os.environ, *, in_agent: bool = False
) -> Discovery:
    """Find the brains of ``directory``: ``LESSONS_BRAIN``, its ancestors, the user's own.

    A variable that the project itself may have set is no trust; ``in_agent``, where an agent
    hands on what its settings say, that is one that leads into the project. This holds for those
    that say where the user's own brain is, and where it is noted who is trusted.
    """
    named = [part for part in environment.get(ENVIRONMENT, "").split(os.pathsep) if part]
    for root in named:
        if not os.path.isdir(root):
            raise BrainNotFound(f"{ENVIRONMENT} names {root}, which is not a folder; correct it")
    around = locate.upwards(directory)
    project = locate.find_work_tree(around) or around[0]
    set_by_project = bool(named) and _is_set_around(around[0], project)
    found = list(filter(locate.is_brain, around))
    is_trusted = cache(trust.is_trusted)  # one answer for each folder, whatever names it
    vouched = not (in_agent and _is_moved(locate.state_home(), (project, *found)))
    trusted: list[str] = []
    untrusted: list[str] = []
    for name in named:
        root = os.path.realpath(name)
        inside = _is_inside(root, project)
        doubtful = set_by_project or (in_agent and (inside or not os.path.isabs(name)))
        believed = not doubtful or (vouched and is_trusted(root))
        (trusted if believed else untrusted).append(root)
    for root in found:
        (trusted if vouched and is_trusted(root) else untrusted).append(root)
    if found and found[0] in trusted:
        untrusted += _find_unread(directory, found[0])
    if not found:
        untrusted += _find_replaced(directory)
    own = os.path.realpath(locate.user_brain())
    if os.path.isdir(own):
        moved = in_agent and _is_moved(own, (project, *found))
        (untrusted if moved else trusted).append(own)
    return Discovery(
        trusted=name_roots(trusted),
        untrusted=tuple(root for root in dict.fromkeys(untrusted) if root not in trusted),
    )


def look_in_agent(directory: str, environment: Mapping[str, str] = NO_VARIABLES) -> Discovery:
    """Return what `look` finds for an event of an agent."""
    return look(directory, environment, in_agent=True)


def account_home() -> str:
    """Return the home of this account, whatever variables say."""
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return os.path.expanduser("~")


def _is_moved(folder: str, roots: Sequence[str]) -> bool:
    """Tell whether a folder of the user's lies in a project that is not around the user's home."""
    real = os.path.realpath(folder)
    around = [root for root in roots if _is_inside(real, root)]
    return bool(around) and not any(_is_inside(account_home(), root) for root in around)


def is_settings_moved(directory: str) -> bool:
    """Tell whether what should be the user's own settings lies in the project of a directory.

    A variable of the project's (XDG_CONFIG_HOME or HOME) says so: it may not name a program to
    run, or a server to send prompts to.
    """
    around = locate.upwards(directory)
    project = locate.find_work_tree(around) or around[0]
    return _is_moved(os.path.dirname(locate.user_settings_path()), (project,))


def _is_inside(folder: str, root: str) -> bool:
    return f"{os.path.realpath(folder)}{os.sep}".startswith(root.rstrip(os.sep) + os.sep)


def discover(
    directory: str, environment: Mapping[str, str] = os.environ, *, in_agent: bool = False
) -> Discovery:
    """Return ``look(directory)`` if it holds a trusted brain.

    Raises Untrusted where brains were found but none is trusted, else BrainNotFound.
    """
    return require(look(directory, environment, in_agent=in_agent))


def require(found: Discovery) -> Discovery:
    """Return what was found if it holds a trusted brain; else raise as ``discover`` does."""
    if found.trusted:
        return found
    if found.untrusted:
        raise Untrusted(untrusted_hint(found.untrusted))
    raise BrainNotFound(
        "no brain here; create one with `lessons init` or choose one with --brain DIR"
    )


_REASONS: Mapping[str, str] = {
    trust.UNKNOWN: "{} holds lessons that you have not trusted",
    trust.CHANGED: "lessons.toml in {} has changed since you trusted it",
    trust.COPY: "{} is a copy of a brain that you trust",
    trust.REPLACED: "{} is no longer the folder that you trusted",
}


def untrusted_hint(roots: Sequence[str]) -> str:
    """Say in one line why brains are silent, and what to do."""
    if (own := os.path.realpath(locate.user_brain())) in roots:
        return (
            f"{own} is your user brain only because of a variable (XDG_DATA_HOME or HOME); unset it"
        )
    if _is_moved(locate.state_home(), roots):
        return (
            f"{', '.join(roots)} holds the folder that records trust; set "
            "LESSONS_STATE_HOME to a folder outside the project"
        )
    reasons = ", ".join(_REASONS[trust.why_silent(root)].format(root) for root in roots)
    return f"{reasons}; read its cards, then run `lessons trust {shell_word(roots[0])}`"


def tell_untrusted(roots: Sequence[str]) -> str:
    """Return the hint for a user who sees it; that a folder was replaced is said but once."""
    hint = untrusted_hint(roots)
    for root in roots:
        trust.note_told(root)
    return hint


def _find_unread(directory: str, brain: str) -> list[str]:
    """List the repositories around a folder whose cards a trusted brain above leaves out."""
    return [
        folder
        for folder in locate.find_borders(directory, brain)
        if not (trust.is_same(folder, brain) or trust.is_trusted(folder)) and _has_cards(folder)
    ]


def _find_replaced(directory: str) -> list[str]:
    """List the folders with cards that took the place of a brain, but are marked as none."""
    return [
        folder
        for folder in locate.upwards(directory)
        if any(os.path.isdir(os.path.join(folder, name)) for name in KNOWN_FOLDERS)
        and trust.why_silent(folder) == trust.REPLACED
        and _has_cards(folder)
    ]


def _has_cards(root: str) -> bool:
    """Tell whether a well-known folder of cards in a repository holds Markdown."""
    import itertools

    for name in KNOWN_FOLDERS:
        places = itertools.islice(os.walk(os.path.join(root, name)), _MAX_FOLDERS)
        if any(file.endswith(SUFFIXES) for _place, _folders, files in places for file in files):
            return True
    return False


def tell_unclaimed(directory: str) -> str:
    """Say which well-known folders of cards a project without a brain has, "" if it has none."""
    around = locate.upwards(directory)
    top = locate.find_work_tree(around) or around[0]
    counts = count_cards_below(top)
    told = [f"{counted(n, 'Markdown file')} in {name}" for name, n in counts.items()]
    if not told:
        return ""
    where = "" if top == around[0] else f" {shell_word(top)}"
    return f"{' and '.join(told)}; run `lessons init{where}`"


def count_cards_below(root: str) -> dict[str, int]:
    """Return folder → number of Markdown files, of the well-known folders of cards that hold any.

    A README or an index is about a folder, and counts for none.
    """
    counts = {
        name: sum(
            file.endswith(SUFFIXES) and not is_note_name(file)
            for _place, _folders, files in os.walk(os.path.join(root, name))
            for file in files
        )
        for name in KNOWN_FOLDERS
    }
    return {name: count for name, count in counts.items() if count}


def _is_set_around(directory: str, project: str) -> bool:
    """Tell whether settings in the project, or above it, set ``LESSONS_BRAIN``.

    Agents look for them in each folder up to the home, whose own settings are the user's.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    while True:
        if (directory != home or directory == project) and _sets_variable(directory):
            return True
        if directory in (home, os.path.dirname(directory)):
            return False
        directory = os.path.dirname(directory)


def _sets_variable(folder: str) -> bool:
    """Tell whether the settings for agents in a folder set ``LESSONS_BRAIN``."""
    for name in PROJECT_SETTINGS:
        try:
            data = read_regular(os.path.join(folder, name), limit=_MAX_SETTINGS_BYTES, name=name)
        except OSError:
            continue
        except StorageError:
            return True
        if b"\\" in data:  # JSON and TOML may spell any letter by its number
            import re

            data = re.sub(_ESCAPED, lambda found: bytes.fromhex(found[1].decode()), data)
        if ENVIRONMENT.encode() in data:
            return True
    return False


def name_roots(roots: Sequence[str]) -> dict[str, str]:
    """Give each root its folder's name, numbered where two share it."""
    aliases: dict[str, str] = {}
    for root in dict.fromkeys(roots):
        name = os.path.basename(root) or "brain"
        taken = set(aliases.values())
        numbered = (name if n == 1 else f"{name}-{n}" for n in range(1, len(roots) + 2))
        aliases[root] = next(alias for alias in numbered if alias not in taken)
    return aliases
