"""Which brains hold for a working directory; making one, and saying which is trusted."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import MappingProxyType

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.search_index import read_document
from lessons_kb.cards.links import numbered_names
from lessons_kb.cards.parse import is_note_name
from lessons_kb.config import DEFAULTS, KNOWN_FOLDERS, MAX_CONFIG_BYTES, parse_settings
from lessons_kb.errors import BrainNotFound, ConfigError, LessonsError, StorageError, Untrusted
from lessons_kb.model import NOTE
from lessons_kb.store import locations as locate
from lessons_kb.store import trust
from lessons_kb.store.brain_settings import find_named, read_ignored, read_settings
from lessons_kb.store.card_files import read_template
from lessons_kb.store.files import is_inside, read_regular
from lessons_kb.store.foreign_settings import read_settings_file, replace_settings_file
from lessons_kb.store.identity import list_marked
from lessons_kb.store.locations import (
    CACHE_NAME,
    CONFIG_NAME,
    find_below,
    find_borders,
    find_brains,
    user_brain,
)
from lessons_kb.store.scan import SUFFIXES, scan_brain
from lessons_kb.text.sanitize import counted, shell_word

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


@dataclass(frozen=True, kw_only=True, slots=True)
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
    above = [follow(root) for root in filter(locate.is_brain, around)]
    is_trusted = cache(trust.trusted_key)  # one answer for each folder, whatever names it
    vouched = not (in_agent and _is_moved(locate.state_home(), (project, *above)))
    trusted: list[str] = []
    untrusted: list[str] = []
    for name, full in named.items():
        if full in missing:
            continue
        root = follow(full)
        # The brain or repository around it has its cards among its own.
        outer = next(filter(locate.is_border, locate.upwards(root)), root)
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
            for folder in locate.find_borders(directory, above[0])
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
    return around, locate.find_work_tree(around) or around[0]


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
    if not _is_moved(state, (project, *map(follow, filter(locate.is_brain, around)))):
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
    work_tree = locate.find_work_tree(around)
    top = work_tree or around[0]
    below = [root for root in locate.find_below(top) if root not in around]
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


_LESSONS = "lessons"


def make_brain(
    folder: str, *, confirm: Callable[[str, int], bool] = lambda _root, _count: False
) -> tuple[str, list[str]]:
    """Make what a brain lacks in ``folder`` and trust it; return its root and what was made.

    What lies there already and is neither made nor trusted by this user is trusted only if
    ``confirm`` agrees, which is given the root and the number of its cards: to make a brain is
    not to have read what another has written. Raises Untrusted where there is nothing to make.
    """
    root = follow(folder)
    made: list[str] = []
    new = not os.path.lexists(os.path.join(root, CONFIG_NAME))
    trusted = trust.is_trusted(root)
    count = 0 if trusted else count_cards(root)
    agreed = trusted or (new and not count) or confirm(root, count)
    if not new and not agreed:
        raise Untrusted(untrusted_hint((root,)))
    try:
        # Every other folder is made with the first card that needs it.
        if not count_cards_below(root) and not os.path.isdir(os.path.join(root, _LESSONS)):
            os.makedirs(os.path.join(root, _LESSONS))
            made.append(f"{_LESSONS}/")
        if not os.path.lexists(os.path.join(root, CONFIG_NAME)):
            with open(os.path.join(root, CONFIG_NAME), "x", encoding="utf-8") as file:
                file.write(read_template(CONFIG_NAME))
            made.append(CONFIG_NAME)
    except OSError as error:
        raise StorageError(
            f"cannot create a brain in {root}: {error.strerror}; choose a writable folder"
        ) from None
    inside = os.path.join(root, CACHE_NAME)
    fresh = not os.path.isdir(inside)
    if agreed:
        trust.trust(root, made=new)
        if trust.cache_dir(root).startswith(inside + os.sep) and fresh:
            made.append(f"{CACHE_NAME}/")
    return root, made


FIRST_LESSON = os.path.join("lessons", "first-lesson.md")


def write_first_lesson() -> str:
    """Make the user's own brain with a card to see arrive; return its path, "" if it has cards."""
    if count_cards(user_brain()):
        return ""
    path = os.path.join(make_brain(user_brain())[0], FIRST_LESSON)
    replace_settings_file(path, read_template("first-lesson.md").encode(), expected=None)
    return path


def take_first_lesson() -> str:
    """Remove that card, and the brain if it holds nothing else; return what is gone, "" if nothing.

    A card or settings that somebody has edited stay.
    """
    root = user_brain()
    card, settings = os.path.join(root, FIRST_LESSON), os.path.join(root, CONFIG_NAME)
    written = {card: "first-lesson.md", settings: CONFIG_NAME}
    if read_settings_file(card) != read_template(written[card]).encode():
        return ""
    alone = {os.path.join(at, name) for at, _, names in os.walk(root) for name in names}
    alone = {path for path in alone if not path.startswith(os.path.join(root, CACHE_NAME))}
    if alone != set(written) or read_settings_file(settings) != read_template(CONFIG_NAME).encode():
        replace_settings_file(card, None, expected=read_settings_file(card))
        return card
    shutil.rmtree(root)
    return root


def count_cards(root: str) -> int:
    """Return how many cards a scan of ``root`` would find, with its own settings if it has any."""
    if not os.path.isdir(root):
        return 0
    settings, count = read_settings(root)[0], 0
    limit = settings.index.max_file_bytes
    for path in scan_brain(root, settings, read_ignored(root)).files:
        try:
            card = read_document(root, path, settings.folders, limit)[1].card
        except StorageError:
            continue
        count += card is not None and card.kind != NOTE
    return count


def trust_brain(folder: str, *, revoke: bool = False) -> str:
    """Trust (or no longer trust) the brain that holds for ``folder``; return its root.

    A folder that is no brain itself means the nearest one above it, but for a repository inside
    that one: it is left out of the other's cards until it is trusted itself. Raises ConfigError
    for settings that cannot be used: trust ends with their next change; Untrusted where no agent
    would believe what this user's state says.
    """
    if not os.path.isdir(folder):
        raise BrainNotFound(f"{folder} is not a folder; give the folder of the brain")
    real = os.path.realpath(folder)
    roots = find_brains(real)
    if roots and (borders := find_borders(real, roots[0])):
        roots = borders
    if not roots and folder == os.curdir:
        found = look(real, NO_VARIABLES)
        holding = (*found.untrusted, *found.trusted)[:: -1 if revoke else 1]
        roots = [root for root in holding if root != os.path.realpath(user_brain())]
    elif not roots and not find_below(real) and scan_brain(real, DEFAULTS, ()).files:
        roots = [real]  # what LESSONS_BRAIN names, and so the hint on it, needs no lessons.toml
    if not roots:
        hint = tell_below(real) or "create one with `lessons init`"
        raise BrainNotFound(f"no brain in or above {folder}; {hint}")
    root = follow(roots[0])
    if not revoke:
        read_settings(root)  # what cannot be used would leave the brain silent, trusted or not
        read_ignored(root)
        if hint := tell_state_moved(root):
            raise Untrusted(hint)
    around = find_brains(os.path.dirname(roots[0]))
    # A brain above is asked whether it may enter the folder that names the other one.
    for one in dict.fromkeys((root, roots[0]) if around else (root,)):
        if revoke:
            trust.revoke(one)
        else:
            trust.trust(one)
    for outer in around:
        # What it holds of this one is another from now on, and no watcher can see that.
        if trust.is_trusted(outer):
            with contextlib.suppress(LessonsError), contextlib.closing(Brain(outer)) as brain:
                brain.refresh(leased=False)
    return root
