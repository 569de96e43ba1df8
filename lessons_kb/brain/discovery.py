"""Find the brains that apply to a working directory, and decide which of them are trusted."""

from __future__ import annotations

import itertools
import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType

from lessons_kb.cards.file_kinds import is_note_name
from lessons_kb.cards.file_names import numbered_names
from lessons_kb.config import KNOWN_FOLDERS, MAX_CONFIG_BYTES, parse_settings
from lessons_kb.errors import BrainNotFound, ConfigError, StorageError, Untrusted
from lessons_kb.on_demand import SHELL_WORDS, load
from lessons_kb.store import locations as locate
from lessons_kb.store import repositories, trust
from lessons_kb.store.brain_settings import find_named
from lessons_kb.store.files import SmallFiles, is_inside, is_real_inside, read_regular
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
"""Files in which a project sets environment variables for an agent or for the agent's servers."""
_CONTAINER_SETTINGS = (".devcontainer/devcontainer.json", ".devcontainer.json", ".envrc")
"""Files in which a project sets environment variables for a container or a shell."""
_NEW_FOLDER = "lessons-brain"
"""The folder that the README proposes for the brain of a repository."""
_MAX_SETTINGS_BYTES = 1_000_000
_MAX_FOLDERS = 1_000
"""The maximum number of folders searched for cards below each well-known folder."""
_MAY_NAME = re.compile(r"^[^#\n]*brain", re.MULTILINE)
"""Matches every ``lessons.toml`` that names another brain, and some others."""
_ESCAPED = rb"\\(?:u00|U000000|x)([0-9A-Fa-f]{2})"
"""Matches a letter as a JSON or TOML escape."""


@frozen
class Discovery:
    """The brains of a working directory, with the nearest first."""

    trusted: dict[str, str]
    """Maps roots to aliases."""
    untrusted: tuple[str, ...]
    """Roots that need ``lessons trust``, and folders with cards that no scan enters."""
    named: tuple[str, ...] = ()
    """The untrusted roots that ``LESSONS_BRAIN`` names. The project may have set the variable."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Maps trusted roots to the names of their state folders, as far as they were looked up."""
    peers: tuple[str, ...] = ()
    """The trusted brains of the project if none of several is nearest, so that a command cannot
    choose one of them to write to.
    """
    missing: str = ""
    """An error with advice if ``LESSONS_BRAIN`` names something that is not a folder, or ""."""


def follow_settings(root: str) -> str:
    """Return the brain that the ``lessons.toml`` of a folder names, or else the folder itself.

    A file that cannot be used names no brain. `read_settings` reports its fault.
    """
    return _follow_settings_of_real(locate.real_path(root))


def _follow_settings_of_real(real: str) -> str:
    """Return the result of `follow_settings` for the folder at a real path."""
    named = _NAMED_BRAINS.get(os.path.join(real, locate.CONFIG_NAME))
    target = find_named(real, named) if named else ""
    return follow_settings(target) if target else real


def _read_named(path: str) -> str:
    """Return the brain that a ``lessons.toml`` names, or "" if it names none or is not usable."""
    try:
        text = read_regular(path, limit=MAX_CONFIG_BYTES, name=path).decode("utf-8-sig")
        if not _MAY_NAME.search(text):
            return ""  # the usual case needs no parser
        return parse_settings(text)[0].brain
    except (OSError, UnicodeDecodeError, ConfigError, StorageError):
        return ""


_NAMED_BRAINS = SmallFiles(_read_named)


def look(
    directory: str, environment: Mapping[str, str] = os.environ, *, in_agent: bool = False
) -> Discovery:
    """Find the brains of ``directory``: those in LESSONS_BRAIN, above it, and the user's own.

    A variable that the project may have set gives no trust. With ``in_agent``, the agent's own
    settings may have set the variables. A variable that leads into the project then gives no trust.
    The same rule applies to the variables that locate the user's brain and the trust records.
    """
    parts = map(os.path.expanduser, environment.get(ENVIRONMENT, "").split(os.pathsep))
    named = {part: os.path.join(directory, part) for part in parts if part}
    missing = [full for full in named.values() if not os.path.isdir(full)]
    around, project = _find_project(directory)
    is_set_by_project = cache(partial(_is_set_around, around[0], project))
    above = [_follow_settings_of_real(root) for root in filter(repositories.is_brain, around)]
    # The records are trusted unless the project itself may have written them.
    has_records = not (in_agent and _is_inside_project(locate.state_home(), (project, *above)))
    trusted_key = cache(trust.trusted_key_of_real)  # one answer for each folder

    def is_trusted(root: str) -> bool:
        return has_records and bool(trusted_key(root))

    trusted: list[str] = []
    untrusted: list[str] = []
    for name, full in named.items():
        if full in missing:
            continue
        root = follow_settings(full)
        # A brain or repository around this root has the cards of this root among its own.
        outer = next(filter(repositories.is_border, locate.upwards(root)), root)
        owners = [root, outer] if follow_settings(outer) == outer else [root]
        is_believed = any(map(is_trusted, owners))
        if not is_believed:
            leads_inside = is_inside(root, project) or not os.path.isabs(name)
            # The settings of agents are many files, so they are read last and only once.
            is_believed = not (in_agent and leads_inside) and not is_set_by_project()
        (trusted if is_believed else untrusted).append(root)
    untrusted_names = tuple(untrusted)
    nearer = [root for root in above if is_real_inside(root, project)]
    marked = list(_list_marked_outside(project, [root for root in above if is_trusted(root)]))
    has_nearest = bool(trusted) or any(map(is_trusted, nearer))
    peers = [] if has_nearest else [root for root in marked if is_trusted(root)]
    roots = list(dict.fromkeys((*nearer, *marked, *above)))
    for root in roots:
        (trusted if is_trusted(root) else untrusted).append(root)
    if above and above[0] in trusted:
        borders = repositories.find_borders(around, above[0])
        unknown = [folder for folder in borders if not trusted_key(folder)]
        untrusted += [folder for folder in unknown if _has_other_cards(folder, above[0])]
    if not roots:
        untrusted += [folder for folder in around if _is_replaced_brain(folder)]
    own = locate.user_brain()
    if os.path.isdir(own):
        own = locate.real_path(own)
        is_in_project = in_agent and _is_inside_project(own, (project, *roots))
        (untrusted if is_in_project else trusted).append(own)
    return Discovery(
        trusted=name_roots(trusted),
        untrusted=tuple(root for root in dict.fromkeys(untrusted) if root not in trusted),
        named=untrusted_names,
        keys={root: trusted_key(root) for root in trusted if root in roots},
        peers=tuple(peers) if len(peers) > 1 else (),
        missing=_describe_missing(missing[0]) if missing else "",
    )


def look_in_agent(directory: str, environment: Mapping[str, str] = NO_VARIABLES) -> Discovery:
    """Return the result of `look` for an event of an agent."""
    return look(directory, environment, in_agent=True)


def _list_marked_outside(project: str, brains: Sequence[str]) -> Iterator[str]:
    """Yield the brains marked in a project, except those inside one of ``brains``.

    A brain already contains the cards of the folders below it.
    """
    if project in brains:
        return  # every marked folder is below the project
    for root in list_marked(project):
        if not any(is_real_inside(root, brain) for brain in brains):
            yield root


def _has_other_cards(folder: str, brain: str) -> bool:
    """Return whether a repository inside a brain has cards, which the brain then excludes."""
    return not trust.is_same(folder, brain) and any(_find_cards_below(folder))


def _is_replaced_brain(folder: str) -> bool:
    """Return whether a folder with cards, but without a mark, has replaced a trusted brain."""
    if not any(os.path.isdir(os.path.join(folder, name)) for name in KNOWN_FOLDERS):
        return False
    return trust.why_silent(folder) == trust.REPLACED and any(_find_cards_below(folder))


def _find_project(directory: str) -> tuple[list[str], str]:
    """Return the directory with its ancestors, nearest first, and its work tree or itself."""
    around = locate.upwards(directory)
    return around, repositories.find_work_tree(around) or around[0]


def _is_inside_project(folder: str, roots: Sequence[str]) -> bool:
    """Return whether a folder of the user is inside one of the projects ``roots``.

    If one of the projects around the folder also contains the user's home, the result is False.
    """
    real = locate.real_path(folder)
    around = [root for root in roots if is_real_inside(real, root)]
    return bool(around) and not any(is_inside(locate.account_home(), root) for root in around)


def is_settings_moved(directory: str) -> bool:
    """Return whether the path of the user's settings file is inside the project of a directory.

    If so, the project has set XDG_CONFIG_HOME or HOME. Such settings may not name a program to run
    or a server to which prompts are sent.
    """
    _around, project = _find_project(directory)
    return _is_inside_project(os.path.dirname(locate.user_settings_path()), (project,))


def discover(directory: str, found: Discovery | None = None) -> Discovery:
    """Return ``found``, or else the result of `look`, if it has a trusted brain.

    Raises Untrusted if none of the brains is trusted, and BrainNotFound if there are none. The
    message of BrainNotFound names a nearby brain that does not apply to this directory.
    """
    discovery = found or look(directory)
    if discovery.missing:
        raise BrainNotFound(discovery.missing)
    if not discovery.trusted and not discovery.untrusted:
        init = f"create one with `{advise_init(directory)}` or choose one with --brain DIR"
        raise BrainNotFound(describe_unclaimed(directory) or f"no brain here; {init}")
    return require(discovery)


def require(discovery: Discovery) -> Discovery:
    """Return the discovery if it has a trusted brain. Raises Untrusted and BrainNotFound."""
    if discovery.trusted:
        return discovery
    if discovery.untrusted:
        raise Untrusted(untrusted_hint(discovery.untrusted, discovery.named))
    raise BrainNotFound(
        discovery.missing
        or "no brain here; create one with `lessons init` or choose one with --brain DIR"
    )


def _describe_missing(path: str) -> str:
    """Return the error, with advice, for a path in LESSONS_BRAIN that is not a folder."""
    path = os.path.normpath(path)
    if os.path.lexists(path):
        folder = os.path.dirname(path)
        return f"{ENVIRONMENT} names {path}, which is not a folder; set it to one, such as {folder}"
    init = f"`lessons init {load(SHELL_WORDS).quote(path)}`"
    return f"{ENVIRONMENT} names {path}, which does not exist; run {init}, or correct the variable"


_REASONS: Mapping[str, str] = {
    trust.UNKNOWN: "{} holds lessons that you have not trusted",
    trust.CHANGED: "lessons.toml in {} has changed since you trusted it",
    trust.COPY: "{} is a copy of a brain that you trust",
    trust.REPLACED: "{} is no longer the folder that you trusted",
}


_NAMED = f"{ENVIRONMENT} names {{}}, and this project's own settings may have set it"


def untrusted_hint(roots: Sequence[str], named: Collection[str] = ()) -> str:
    """Return one line that explains why brains are not trusted and how to fix it."""
    own = locate.real_path(locate.user_brain())
    if own in roots:
        return (
            f"{own} is your user brain only because of a variable (XDG_DATA_HOME or HOME); unset it"
        )
    for root in roots:
        hint = describe_moved_state(root)
        if hint:
            return hint
    reasons: list[str] = []
    for root in roots:
        reason = _NAMED if root in named else _REASONS[trust.why_silent(root)]
        reasons.append(reason.format(root))
    commands = " and ".join(f"`lessons trust {shell_word(root)}`" for root in roots)
    whose = "its" if len(roots) == 1 else "their"
    return f"{', '.join(reasons)}; read {whose} cards, then run {commands}"


def describe_moved_state(root: str) -> str:
    """Return a hint if agents ignore the trust records of this user, or "" otherwise.

    Agents ignore records that are inside the project, because the project may have written them.
    """
    around, project = _find_project(root)
    brains = [follow_settings(folder) for folder in around if repositories.is_brain(folder)]
    state = locate.state_home()
    if not _is_inside_project(state, (project, *brains)):
        return ""
    return (
        f"trust is recorded in {state}; "
        f"set {locate.STATE_HOME_VARIABLE} to a folder outside the project"
    )


def describe_untrusted(roots: Sequence[str], named: Collection[str] = ()) -> str:
    """Return the `untrusted_hint` for a user who sees it, and record that it was shown.

    A replaced folder is reported only once.
    """
    hint = untrusted_hint(roots, named)
    for root in roots:
        trust.note_told(root)
    return hint


def describe_below(directory: str) -> str:
    """Return a hint about a brain in the project that does not apply to ``directory``, or ""."""
    around = locate.upwards(directory)
    work_tree = repositories.find_work_tree(around)
    top = work_tree or around[0]
    below = [root for root in repositories.find_below(top) if root not in around]
    is_disk_root = top == os.path.dirname(top)  # so for a folder that no longer exists
    if not below or is_disk_root:
        return ""
    root = below[0]
    more = f" (and {counted(len(below) - 1, 'other brain')})" if below[1:] else ""
    if work_tree and not trust.is_trusted(root):
        return (
            f"the brain in {root}{more} is not trusted yet; read its cards, then run "
            f"`lessons trust {shell_word(root)}`"
        )
    entry = f'brain = "{os.path.relpath(root, top).replace(os.sep, "/")}"'
    return (
        f"the brain in {root}{more} does not apply here; "
        f"choose it, as in `lessons --brain {shell_word(root)} list`, or write {entry} into "
        f"{os.path.join(top, locate.CONFIG_NAME)}"
    )


def find_untrusted_below(directory: str) -> list[str]:
    """Return the brains in the git work tree of ``directory`` that need trust to apply to it."""
    around = locate.upwards(directory)
    top = repositories.find_work_tree(around)
    below = repositories.find_below(top) if top else []
    return [root for root in below if root not in around and not trust.is_trusted(root)]


def describe_unclaimed(directory: str) -> str:
    """Return a hint about a brain that does not apply here, or about cards without a brain."""
    hint = describe_below(directory)
    if hint:
        return hint
    around, top = _find_project(directory)
    counts = count_cards_below(top)
    if not counts:
        return ""
    places = [f"{counted(count, 'Markdown file')} in {name}" for name, count in counts.items()]
    argument = "" if top == around[0] else f" {shell_word(top)}"
    return f"{' and '.join(places)}; run `lessons init{argument}`"


def advise_init(directory: str) -> str:
    """Return the command that makes a brain for a directory: in a folder of its repository."""
    here = os.path.realpath(directory)
    top = repositories.git_top(here)
    if top:
        folder = os.path.relpath(os.path.join(os.path.realpath(top), _NEW_FOLDER), here)
        return f"lessons init {shell_word(folder)}"
    if here == os.path.realpath(os.path.expanduser("~")):
        return f"lessons init {_NEW_FOLDER}"
    return "lessons init"


def count_cards_below(root: str) -> dict[str, int]:
    """Return a mapping from each well-known folder of cards to its number of Markdown files.

    Folders without such files are left out. Files that describe their folder, such as a README, are
    not counted. At most a thousand folders below each well-known folder are searched.
    """
    return Counter(_find_cards_below(root))


def _find_cards_below(root: str) -> Iterator[str]:
    """Yield the folder of each file that ``count_cards_below`` counts.

    The search is lazy, because a hook stops at the first file.
    """
    for name in KNOWN_FOLDERS:
        tree = os.walk(os.path.join(root, name))
        for _folder, _folders, files in itertools.islice(tree, _MAX_FOLDERS):
            for file in files:
                if file.endswith(SUFFIXES) and not is_note_name(file):
                    yield name


def is_set_in_project(project: str, variable: str) -> bool:
    """Return whether files of a project, or above it, mention an environment variable."""
    files = (*PROJECT_SETTINGS, *_CONTAINER_SETTINGS)
    return _is_set_around(project, project, variable=variable, files=files)


def _is_set_around(
    directory: str,
    project: str,
    *,
    variable: str = ENVIRONMENT,
    files: Sequence[str] = PROJECT_SETTINGS,
) -> bool:
    """Return whether settings in the project, or above it, set an environment variable.

    Agents read settings in each folder up to the home folder. The settings in the home folder
    belong to the user.
    """
    home = locate.real_path(os.path.expanduser("~"))
    for folder in locate.upwards(directory):
        is_users = folder == home and folder != project
        if not is_users and any(_sets_variable(folder, name, variable) for name in files):
            return True
        if folder == home:
            break
    return False


def _sets_variable(folder: str, name: str, variable: str) -> bool:
    """Return whether a settings file mentions a variable, or True if it is not readable."""
    try:
        data = read_regular(os.path.join(folder, name), limit=_MAX_SETTINGS_BYTES, name=name)
    except OSError:
        return False
    except StorageError:
        return True
    if b"\\" in data:  # JSON and TOML can write any letter as an escape
        data = re.sub(_ESCAPED, lambda match: bytes.fromhex(match[1].decode()), data)
    return variable.encode() in data


def name_roots(roots: Sequence[str]) -> dict[str, str]:
    """Return a mapping from roots to aliases.

    An alias is the name of the folder, with a number if another root has the same name.
    """
    aliases: dict[str, str] = {}
    for root in dict.fromkeys(roots):
        names = numbered_names(os.path.basename(root) or "brain", suffix="")
        aliases[root] = next(name for name in names if name not in aliases.values())
    return aliases
