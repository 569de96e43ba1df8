"""Which brains hold for a working directory; making one, and saying which is trusted."""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType

from lessons_kb.cards.file_kinds import is_note_name
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.config import KNOWN_FOLDERS, MAX_CONFIG_BYTES, parse_settings
from lessons_kb.errors import BrainNotFound, ConfigError, StorageError, Untrusted
from lessons_kb.store import locations as locate
from lessons_kb.store import repositories, trust
from lessons_kb.store.brain_settings import find_named
from lessons_kb.store.files import is_inside, read_regular
from lessons_kb.store.identity import list_marked
from lessons_kb.store.scan import SUFFIXES
from lessons_kb.text.sanitize import counted, shell_word
from lessons_kb.values import field, frozen

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
_MAX_FOLDERS = 1_000
_MAY_NAME = re.compile(r"^[^#\n]*brain", re.MULTILINE)
_ESCAPED = rb"\\(?:u00|U000000|x)([0-9A-Fa-f]{2})"


@frozen
class Discovery:
    """The brains of a working directory, nearest first."""

    trusted: dict[str, str]
    """Root → alias."""
    untrusted: tuple[str, ...]
    """Roots that wait for ``lessons trust``, and folders with cards that no scan enters."""
    named: tuple[str, ...] = ()
    """Those of them that ``LESSONS_BRAIN`` names, which the project may have set."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Root → name of the state folder, of trusted ones, as far as known."""
    missing: str = ""
    """What ``LESSONS_BRAIN`` names that is no folder, and what to do; "" if all are."""


def follow(root: str) -> str:
    """Return the brain that ``brain`` in the ``lessons.toml`` of a folder names, else the folder.

    What cannot be used names none: `read_settings` says why.
    """
    real = os.path.realpath(root)
    path = os.path.join(real, locate.CONFIG_NAME)
    try:
        text = read_regular(path, limit=MAX_CONFIG_BYTES, name=path).decode("utf-8-sig")
        if not _MAY_NAME.search(text):
            return real  # the usual case needs no parser
        named = find_named(real, parse_settings(text)[0].brain)
    except (OSError, UnicodeDecodeError, ConfigError, StorageError):
        return real
    return follow(named) if named else real


def look(
    directory: str, environment: Mapping[str, str] = os.environ, *, in_agent: bool = False
) -> Discovery:
    """Find the brains of ``directory``: ``LESSONS_BRAIN``, its ancestors, the user's own.

    A variable that the project itself may have set is no trust; ``in_agent``, where an agent
    hands on what its settings say, that is one that leads into the project. This holds for those
    that say where the user's own brain is, and where it is noted who is trusted.
    """
    parts = map(os.path.expanduser, environment.get(ENVIRONMENT, "").split(os.pathsep))
    named = {part: os.path.join(directory, part) for part in parts if part}
    missing = [full for full in named.values() if not os.path.isdir(full)]
    around, project = _find_project(directory)
    set_by_project = cache(partial(_is_set_around, around[0], project))
    above = [follow(root) for root in filter(repositories.is_brain, around)]
    is_trusted = cache(trust.trusted_key)  # one answer for each folder, whatever names it
    vouched = not (in_agent and _is_moved(locate.state_home(), (project, *above)))
    trusted: list[str] = []
    untrusted: list[str] = []
    for name, full in named.items():
        if full in missing:
            continue
        root = follow(full)
        # The brain or repository around it has its cards among its own.
        outer = next(filter(repositories.is_border, locate.upwards(root)), root)
        holders = [root, outer] if follow(outer) == outer else [root]
        believed = vouched and any(map(is_trusted, holders))
        if not believed:
            foreign = is_inside(root, project) or not os.path.isabs(name)
            # The settings of agents are many files: they are read last, and once.
            believed = not (in_agent and foreign) and not set_by_project()
        (trusted if believed else untrusted).append(root)
    doubted = tuple(untrusted)
    # What lies below a trusted brain is among its cards already.
    held = [root for root in above if vouched and is_trusted(root)]
    marked = [
        root for root in list_marked(project) if not any(is_inside(root, one) for one in held)
    ]
    nearer = [root for root in above if is_inside(root, project)]
    found = list(dict.fromkeys((*nearer, *marked, *above)))
    for root in found:
        (trusted if vouched and is_trusted(root) else untrusted).append(root)
    if above and above[0] in trusted:
        # Repositories on the way whose cards the trusted brain above leaves out.
        untrusted += [
            folder
            for folder in repositories.find_borders(directory, above[0])
            if not (trust.is_same(folder, above[0]) or is_trusted(folder))
            and any(_find_cards_below(folder))
        ]
    if not found:
        # Folders with cards that took the place of a brain, but are marked as none.
        untrusted += [
            folder
            for folder in around
            if any(os.path.isdir(os.path.join(folder, name)) for name in KNOWN_FOLDERS)
            and trust.why_silent(folder) == trust.REPLACED
            and any(_find_cards_below(folder))
        ]
    own = os.path.realpath(locate.user_brain())
    if os.path.isdir(own):
        moved = in_agent and _is_moved(own, (project, *found))
        (untrusted if moved else trusted).append(own)
    return Discovery(
        trusted=name_roots(trusted),
        untrusted=tuple(root for root in dict.fromkeys(untrusted) if root not in trusted),
        named=doubted,
        keys={root: is_trusted(root) for root in trusted if root in found},
        missing=_tell_missing(missing[0]) if missing else "",
    )


def look_in_agent(directory: str, environment: Mapping[str, str] = NO_VARIABLES) -> Discovery:
    """Return what `look` finds for an event of an agent."""
    return look(directory, environment, in_agent=True)


def _find_project(directory: str) -> tuple[list[str], str]:
    """Return the folders around a directory, itself first, and the work tree or it."""
    around = locate.upwards(directory)
    return around, repositories.find_work_tree(around) or around[0]


def _is_moved(folder: str, roots: Sequence[str]) -> bool:
    """Tell whether a folder of the user's lies in a project that is not around the user's home."""
    real = os.path.realpath(folder)
    around = [root for root in roots if is_inside(real, root)]
    return bool(around) and not any(is_inside(locate.account_home(), root) for root in around)


def is_settings_moved(directory: str) -> bool:
    """Tell whether what should be the user's own settings lies in the project of a directory.

    A variable of the project's (XDG_CONFIG_HOME or HOME) says so: it may not name a program to
    run, or a server to send prompts to.
    """
    _around, project = _find_project(directory)
    return _is_moved(os.path.dirname(locate.user_settings_path()), (project,))


def discover(directory: str, found: Discovery | None = None) -> Discovery:
    """Return ``look(directory)``, or what it has ``found``, if that holds a trusted brain.

    Raises Untrusted where brains were found but none is trusted, else BrainNotFound, and says
    where there is one that does not hold here.
    """
    found = found or look(directory)
    if found.missing:
        raise BrainNotFound(found.missing)
    if not found.trusted and not found.untrusted and (hint := tell_unclaimed(directory)):
        raise BrainNotFound(hint)
    return require(found)


def require(found: Discovery) -> Discovery:
    """Return what was found if it holds a trusted brain; raises Untrusted and BrainNotFound."""
    if found.trusted:
        return found
    if found.untrusted:
        raise Untrusted(untrusted_hint(found.untrusted, found.named))
    raise BrainNotFound(
        found.missing
        or "no brain here; create one with `lessons init` or choose one with --brain DIR"
    )


def _tell_missing(path: str) -> str:
    """Say of a path that is no folder what to do."""
    path = os.path.normpath(path)
    if os.path.lexists(path):
        folder = os.path.dirname(path)
        return f"{ENVIRONMENT} names {path}, which is not a folder; set it to one, such as {folder}"
    init = f"`lessons init {shlex.quote(path)}`"
    return f"{ENVIRONMENT} names {path}, which does not exist; run {init}, or correct the variable"


_REASONS: Mapping[str, str] = {
    trust.UNKNOWN: "{} holds lessons that you have not trusted",
    trust.CHANGED: "lessons.toml in {} has changed since you trusted it",
    trust.COPY: "{} is a copy of a brain that you trust",
    trust.REPLACED: "{} is no longer the folder that you trusted",
}


_NAMED = f"{ENVIRONMENT} names {{}}, and this project's own settings may have set it"


def untrusted_hint(roots: Sequence[str], named: Collection[str] = ()) -> str:
    """Say in one line why brains are silent, and what to do."""
    if (own := os.path.realpath(locate.user_brain())) in roots:
        return (
            f"{own} is your user brain only because of a variable (XDG_DATA_HOME or HOME); unset it"
        )
    if any(hint := tell_state_moved(root) for root in roots):
        return hint
    reasons = ", ".join(
        (_NAMED if root in named else _REASONS[trust.why_silent(root)]).format(root)
        for root in roots
    )

    commands = " and ".join(f"`lessons trust {shell_word(root)}`" for root in roots)
    return f"{reasons}; read {'its' if len(roots) == 1 else 'their'} cards, then run {commands}"


def tell_state_moved(root: str) -> str:
    """Say what to do where no trust in a brain can hold, "" where it can.

    That is where it is recorded in the project itself, which agents take for the project's doing.
    """
    around, project = _find_project(root)
    state = locate.state_home()
    if not _is_moved(state, (project, *map(follow, filter(repositories.is_brain, around)))):
        return ""
    return (
        f"trust is recorded in {state}; "
        f"set {locate.STATE_HOME_VARIABLE} to a folder outside the project"
    )


def tell_untrusted(roots: Sequence[str], named: Collection[str] = ()) -> str:
    """Return the hint for a user who sees it; that a folder was replaced is said but once."""
    hint = untrusted_hint(roots, named)
    for root in roots:
        trust.note_told(root)
    return hint


def tell_below(directory: str) -> str:
    """Say which brain of a project does not hold in a folder of it, "" if none is found."""
    around = locate.upwards(directory)
    work_tree = repositories.find_work_tree(around)
    top = work_tree or around[0]
    below = [root for root in repositories.find_below(top) if root not in around]
    if not below or top == os.path.dirname(top):  # a folder that is gone has the whole disk below
        return ""
    root = below[0]
    more = f" (and {counted(len(below) - 1, 'other brains')})" if below[1:] else ""
    if work_tree and not trust.is_trusted(root):
        return (
            f"the brain in {root}{more} does not hold here yet; read its cards, then run "
            f"`lessons trust {shell_word(root)}`"
        )
    entry = f'brain = "{os.path.relpath(root, top).replace(os.sep, "/")}"'
    return (
        f"the brain in {root}{more} does not hold here; "
        f"choose it, as in `lessons --brain {shell_word(root)} list`, or write {entry} into "
        f"{os.path.join(top, locate.CONFIG_NAME)}"
    )


def tell_unclaimed(directory: str) -> str:
    """Say which brain does not hold here, or where a project has cards, "" if it has neither."""
    if hint := tell_below(directory):
        return hint
    around, top = _find_project(directory)
    counts = count_cards_below(top)
    told = [f"{counted(n, 'Markdown file')} in {name}" for name, n in counts.items()]
    if not told:
        return ""
    where = "" if top == around[0] else f" {shell_word(top)}"
    return f"{' and '.join(told)}; run `lessons init{where}`"


def count_cards_below(root: str) -> dict[str, int]:
    """Return folder → number of Markdown files, of the well-known folders of cards that hold any.

    A README or an index is about a folder, and counts for none. At most a thousand folders below
    each are looked at.
    """
    return Counter(_find_cards_below(root))


def _find_cards_below(root: str) -> Iterator[str]:
    """Yield the folder of each file that ``count_cards_below`` counts; a hook asks for one."""
    for name in KNOWN_FOLDERS:
        places = itertools.islice(os.walk(os.path.join(root, name)), _MAX_FOLDERS)
        for file in itertools.chain.from_iterable(files for _place, _folders, files in places):
            if file.endswith(SUFFIXES) and not is_note_name(file):
                yield name


def _is_set_around(directory: str, project: str) -> bool:
    """Tell whether settings in the project, or above it, set ``LESSONS_BRAIN``.

    Agents look for them in each folder up to the home, whose own settings are the user's.
    """
    home = os.path.realpath(os.path.expanduser("~"))
    for folder in locate.upwards(directory):
        for name in PROJECT_SETTINGS if folder != home or folder == project else ():
            path = os.path.join(folder, name)
            try:
                data = read_regular(path, limit=_MAX_SETTINGS_BYTES, name=name)
            except OSError:
                continue
            except StorageError:
                return True
            if b"\\" in data:  # JSON and TOML may spell any letter by its number
                data = re.sub(_ESCAPED, lambda found: bytes.fromhex(found[1].decode()), data)
            if ENVIRONMENT.encode() in data:
                return True
        if folder == home:
            break
    return False


def name_roots(roots: Sequence[str]) -> dict[str, str]:
    """Give each root its folder's name, numbered where two share it."""
    aliases: dict[str, str] = {}
    for root in dict.fromkeys(roots):
        names = numbered_names(os.path.basename(root) or "brain", suffix="")
        aliases[root] = next(name for name in names if name not in aliases.values())
    return aliases
