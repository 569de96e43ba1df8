"""The doctor's look at one brain: is each part there, fresh, and ours to write?"""

from __future__ import annotations

import datetime as dt
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from lessons_kb.brain.cluster import ENGINE, ClusterSearch
from lessons_kb.brain.discovery import is_settings_moved, look, tell_unclaimed
from lessons_kb.brain.git_merge import find_sharing
from lessons_kb.brain.layer import Layer, format_census, take_census
from lessons_kb.brain.layers import Layers
from lessons_kb.brain.refresh import scan_brain
from lessons_kb.brain.shared_server import explain, name_server, probe_server
from lessons_kb.errors import LessonsError
from lessons_kb.process.programs import install_command
from lessons_kb.search.embedding_model import EXTRA, find_absent_libraries
from lessons_kb.store import file_watcher as cleanup
from lessons_kb.store.card_files import DraftFolder
from lessons_kb.store.database import find_set_aside
from lessons_kb.store.journal import JOURNAL_NAME
from lessons_kb.store.scan import goes_by_path, is_trusted, read_record
from lessons_kb.store.settings import forget_failure, read_server_settings, read_settings
from lessons_kb.store.trash import entries, find_beyond, prune
from lessons_kb.store.user_state import (
    CACHE_NAME,
    CONFIG_NAME,
    LOG_NAME,
    Trouble,
    close_folder,
    find_open_folders,
    read_troubles,
    state_dir,
    state_home,
    write_ignore,
)
from lessons_kb.text.sanitize import counted

MARKS = {"ok": "✓", "warning": "⚠", "error": "✗", "fixed": "✓"}
FIX = "`lessons doctor --fix`"
_STEP, _ROUND = 1_000, 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Health:
    """One line of the doctor's report."""

    level: str
    """``ok``, ``warning`` or ``error``; ``fixed`` for what was put right."""
    what: str
    detail: str
    fix: str = ""


def size_of(count: float) -> str:
    """Return a number of bytes as people write it, such as ``12 kB``."""
    units = ["B", "kB", "MB", "GB"]
    while count >= _STEP and len(units) > 1:
        count /= _STEP
        del units[0]
    digits = 0 if units[0] == "B" or count >= _ROUND else 1
    return f"{count:.{digits}f} {units[0]}"


_DAY_SECONDS = 86_400
_GRACE_DAYS = 2
"""What is old is forgotten once a day, by whoever writes next."""


def check_trust(layer: Layer) -> Iterator[Health]:
    """Tell on what ground the brain is trusted."""
    record = read_record(layer.root)
    if not is_trusted(layer.root):
        detail = "not trusted; hooks are silent here, and it is read only because you named it"
        fix = f"`lessons trust {layer.root}` allows it in agents"
        yield Health(level="ok", what="trust", detail=detail, fix=fix)
    elif record is not None and record.get("made") is True:
        yield Health(level="ok", what="trust", detail="created by you")
    else:
        detail = f"trusted; a change of {CONFIG_NAME} needs new trust"
        yield Health(level="ok", what="trust", detail=detail)
    if goes_by_path(layer.root):
        detail = "tied to the path, because the brain is read-only; any folder there is trusted"
        yield Health(level="warning", what="trust", detail=detail, fix="get write access to it")


def check_settings(layer: Layer) -> Iterator[Health]:
    """Read ``lessons.toml``; what is wrong there is raised and told."""
    settings, origins = read_settings(layer.root)
    there = os.path.isfile(os.path.join(layer.root, CONFIG_NAME))
    keys = counted(len(origins), "key")
    where = f"{keys} set in {CONFIG_NAME}" if there else f"no {CONFIG_NAME}, all defaults"
    detail = f"engine {settings.index.engine}, language {settings.language}; {where}"
    yield Health(level="ok", what="settings", detail=detail)


def check_index(layer: Layer) -> Iterator[Health]:
    """See whether the index is fresh, whole and of this version; bring it up to date."""
    known = layer.state is not None
    done = layer.refresh()
    if done.stale:
        fix = "run `lessons index`, which waits for it and indexes the rest"
        yield Health(level="warning", what="index", detail=done.stale, fix=fix)
    count = take_census(layer)
    engine, state = layer.engine, layer.state
    if engine is None or state is None:
        return
    size = layer.read(lambda one: one.engine.size() if one.engine else 0)
    expected = state.cards + state.notes
    if size != expected and not done.stale:
        fix = f"`lessons index --rebuild`, or {FIX}"
        detail = f"the index holds {size} of {expected} files"
        yield Health(level="error", what="index", detail=detail, fix=fix)
    changed = done.changed + done.removed
    when = f"{changed} updated just now" if changed else "fresh"
    room = size_of(cleanup.measure_folder(layer.cache))
    detail = f"{format_census(count)}; {room}, "
    yield Health(level="ok", what="index", detail=detail + (when if known else "built just now"))
    if left := cleanup.find_old_generations(layer.cache, layer.engine_directory(state)):
        folders = counted(len(left), "folder of an old index", "folders of old indexes")
        detail = f"{folders} in {layer.cache}"
        yield Health(level="warning", what="index", detail=detail, fix=f"{FIX} removes them")


def check_cluster(layer: Layer) -> Iterator[Health]:
    """Tell whether a brain that is to be searched in a cluster is, and what keeps it from that."""
    if layer.settings.index.engine != ENGINE:
        return
    cluster = ClusterSearch(layer)
    trouble = layer.read(lambda _layer: cluster.find_trouble())
    if trouble:
        detail = f"the local index answers: {trouble}"
        fix = "see docs/cluster.md, or set another engine"
        yield Health(level="warning", what="cluster", detail=detail, fix=fix)
    else:
        detail = "holds what is here; the daemon and the MCP server search it"
        yield Health(level="ok", what="cluster", detail=detail)


def check_semantic(layer: Layer) -> Iterator[Health]:
    """Tell whether cards are found by their meaning, and what keeps that off."""
    what, meaning = "semantic", layer.meaning
    if meaning is None:
        absent = find_absent_libraries()
        detail = (
            f"off, {', '.join(absent)} not installed ({install_command(EXTRA)})"
            if absent
            else "off"
        )
        yield Health(level="ok", what=what, detail=f"{detail}: cards are found by words only")
    elif meaning.trouble:
        detail, _, fix = meaning.trouble.partition("; ")
        yield Health(level="warning", what=what, detail=f"off: {detail}", fix=fix)
    else:
        left = meaning.refresh(limit=0)
        fix = "run `lessons index` to encode them" if left else ""
        missing = counted(left, "file is not encoded yet", "files are not encoded yet")
        detail = f"on, {missing}" if left else "on, all files are encoded"
        level = "warning" if left else "ok"
        yield Health(level=level, what=what, detail=detail, fix=fix)


def check_files(layer: Layer) -> Iterator[Health]:
    """Name the files that are out of use, as the index knows them: nothing is read again."""
    state = layer.state
    seen = scan_brain(layer.root, layer.settings, state.ignored if state else ())
    known = layer.read(lambda one: one.catalogue.findings())
    findings = [finding for finding in (*seen.findings, *known) if finding.level == "error"]
    findings.sort(key=lambda finding: (finding.path, finding.line, finding.rule))
    for finding in findings:
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path
        detail = f"{where}: {finding.message}"
        yield Health(level="error", what="file", detail=detail, fix=finding.fix)
    if not findings:
        yield Health(level="ok", what="files", detail="all files are readable")


def check_write_access(layer: Layer) -> Iterator[Health]:
    """See whether cards, cache and state can be written, and by whom else."""
    what = "write access"
    if os.access(layer.root, os.W_OK):
        yield Health(level="ok", what=what, detail=layer.root)
    else:
        fix = "cards cannot be created or bumped here; get write access if you need to"
        yield Health(level="warning", what=what, detail=f"{layer.root} is read-only", fix=fix)
    for folder in (layer.cache, state_dir(layer.root)):
        if not os.access(folder, os.W_OK | os.X_OK):
            fix = "give yourself write access to the folder"
            yield Health(level="error", what=what, detail=f"no write access to {folder}", fix=fix)
    for folder in find_open_folders(layer.root):
        if folder.startswith(state_dir(layer.root)):
            detail = f"other users can read {folder}"
            yield Health(level="warning", what=what, detail=detail, fix=f"{FIX} closes it")
    for missing in cleanup.find_missing_ignores(layer.root, layer.cache):
        detail = f"{missing} is missing, so the cache could be committed"
        yield Health(level="warning", what="cache", detail=detail, fix=f"{FIX} writes it again")
    if not layer.cache.startswith(os.path.join(layer.root, CACHE_NAME)):
        yield Health(level="ok", what="cache", detail=f"stored in {layer.cache}")


def check_journal(layer: Layer) -> Iterator[Health]:
    """See whether the journal can be written, how large it is, and whether it forgets."""
    journal = layer.journal
    journal.upkeep.write_test()
    girth = journal.upkeep.measure()
    days = layer.settings.journal.retention_days
    rows = f"{counted(girth.rows, 'event')}, {size_of(girth.size)}"
    detail = f"writable; {rows}, kept for {counted(days, 'day')}"
    if girth.oldest:
        detail += f", the oldest of {time.strftime('%Y-%m-%d', time.localtime(girth.oldest))}"
    yield Health(level="ok", what="journal", detail=detail)
    late = time.time() - (days + _GRACE_DAYS) * _DAY_SECONDS
    if old := journal.upkeep.count_older(late):
        are = counted(old, "row is", "rows are")
        detail = f"{are} older than {counted(days, 'day')}"
        yield Health(level="warning", what="journal", detail=detail, fix=f"{FIX} removes them")
    for damaged in find_set_aside(os.path.join(state_dir(layer.root), JOURNAL_NAME)):
        fix = "a new journal was started; delete the damaged file, or try `sqlite3 FILE .recover`"
        yield Health(level="warning", what="journal", detail=f"{damaged} is damaged", fix=fix)


def check_drafts(layer: Layer) -> Iterator[Health]:
    """Tell how many drafts wait for a human."""
    count = len(DraftFolder(layer.root).ids())
    fix = "run `lessons review`" if count else ""
    wait = counted(count, "draft") if count else "none"
    yield Health(level="ok", what="drafts", detail=wait, fix=fix)


def check_trash(layer: Layer) -> Iterator[Health]:
    """Tell how much lies in the trash, and how long it is kept."""
    settings = layer.settings.trash
    trashed = entries(layer.root)
    limits = (
        f"kept for {counted(settings.retention_days, 'day')}, up to {size_of(settings.max_bytes)}"
    )
    held = f"{counted(len(trashed), 'file')}, {size_of(sum(one.size for one in trashed))}"
    yield Health(level="ok", what="trash", detail=f"{held if trashed else 'empty'}; {limits}")
    if beyond := find_beyond(trashed, settings):
        detail = f"{counted(len(beyond), 'file')} beyond these limits"
        fix = f"{FIX} removes them permanently; `lessons restore` brings one back"
        yield Health(level="warning", what="trash", detail=detail, fix=fix)


def check_git(layer: Layer) -> Iterator[Health]:
    """Tell how git merges the cards of a brain in a work tree."""
    found = find_sharing(layer.root)
    if found is None:
        return
    named, driven = found
    if named and driven:
        yield Health(level="ok", what="git", detail="merges cards key by key")
    elif named:
        detail = "this repository merges cards key by key, but your git has no merge driver for it"
        yield Health(level="warning", what="git", detail=detail, fix="`lessons install git`")
    else:
        detail = "merges cards as plain text"
        fix = "run `lessons install git`, so that counts add up instead of conflicting"
        yield Health(level="ok", what="git", detail=detail, fix=fix)


BRAIN_CHECKS: tuple[Callable[[Layer], Iterator[Health]], ...] = (
    check_trust,
    check_settings,
    check_index,
    check_cluster,
    check_semantic,
    check_files,
    check_write_access,
    check_journal,
    check_drafts,
    check_trash,
    check_git,
)


_OUR_ERRORS = re.compile(r"^\w*(?:Error|NotFound|Untrusted|Broken|Busy|Refused|Missing): (?=\S)")
_RECENT_DAYS = 7
_SHOWN = 5
_MAX_CHARS = 240
_LITTLE = 200_000_000
"""Bytes: an index, a journal and a trash grow within this."""


def check_found_brains(directory: str) -> Iterator[Health]:
    """Name the brains that were found and are silent."""
    found = look(directory)
    if found.missing:
        detail, _, fix = found.missing.partition("; ")
        yield Health(level="error", what="trust", detail=detail, fix=fix)
    for root in found.untrusted:
        fix = f"read its cards, then run `lessons trust {root}`"
        yield Health(level="warning", what="trust", detail=f"{root} is not trusted", fix=fix)


def check_hooks(_directory: str) -> Iterator[Health]:
    """Tell the last errors of hooks in words, alike ones together, the newest first."""
    found: dict[tuple[str, str], list[Trouble]] = {}
    for trouble in read_troubles(1_000):
        where = f"{trouble.agent} {trouble.hook_event}".strip()
        key = where, _OUR_ERRORS.sub("", trouble.message)[:_MAX_CHARS]
        found.setdefault(key, []).append(trouble)
    if not found:
        yield Health(level="ok", what="hooks", detail="no errors logged")
        return
    newest = sorted(found.items(), key=lambda item: item[1][-1].at, reverse=True)
    log = os.path.join(state_home(), LOG_NAME)
    since = dt.datetime.now() - dt.timedelta(days=_RECENT_DAYS)
    recent = [item for item in newest if item[1][-1].at >= since.isoformat()]
    for (where, message), troubles in recent[:_SHOWN]:
        times = f"{len(troubles)}×, last " if len(troubles) > 1 else ""
        detail = f"{where}: {message} ({times}{troubles[-1].at.replace('T', ' ')})"
        fix = f"the agent continued without an answer; fix the cause, then delete {log}"
        yield Health(level="warning", what="hooks", detail=detail, fix=fix)
    if len(newest) > len(recent[:_SHOWN]):
        more = sum(len(troubles) for _key, troubles in newest[len(recent[:_SHOWN]) :])
        errors = counted(more, "further error" if recent else "error")
        detail = errors if recent else f"{errors}, none in the last week"
        yield Health(level="ok", what="hooks", detail=f"{detail}, in {log}")


def check_state(_directory: str) -> Iterator[Health]:
    """See whether the state folder can be written, and by this user alone."""
    home = state_home()
    for folder in find_open_folders():
        detail = f"other users can read {folder}"
        yield Health(level="warning", what="state", detail=detail, fix=f"{FIX} closes it")
    if os.path.lexists(home) and not os.path.isdir(home):
        fix = "move it away; journal, drafts and trust need a folder there"
        yield Health(level="error", what="state", detail=f"{home} is not a folder", fix=fix)
    elif os.path.isdir(home) and not os.access(home, os.W_OK | os.X_OK):
        fix = "grant yourself write access; journal, drafts and trash are stored there"
        yield Health(level="error", what="state", detail=f"{home} cannot be written", fix=fix)
    else:
        yield Health(level="ok", what="state", detail=home)


def check_disk(directory: str) -> Iterator[Health]:
    """See whether there is room, once for each file system."""
    seen: set[int] = set()
    for place in (directory, _existing(state_home())):
        device = os.stat(place).st_dev
        if device in seen:
            continue
        seen.add(device)
        free = shutil.disk_usage(place).free
        detail = f"{size_of(free)} free at {place}"
        if free < _LITTLE:
            fix = "free some space; on a full disk, cards and journal cannot be changed"
            yield Health(level="warning", what="disk", detail=detail, fix=fix)
        else:
            yield Health(level="ok", what="disk", detail=detail)


def check_extras(_directory: str) -> Iterator[Health]:
    """Tell which optional parts are installed, and their versions."""

    def told(package: str) -> str:
        try:
            return f"{package} {version(package)}"
        except PackageNotFoundError:
            return ""

    parts = [part for part in map(told, ("lessons-kb", "tantivy", "mcp", "onnxruntime")) if part]
    detail = ", ".join(parts)
    if not told("mcp"):
        detail += f"; no MCP server (`{install_command('mcp')}`)"
    yield Health(level="ok", what="versions", detail=detail)


def _existing(folder: str) -> str:
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return folder


ENVIRONMENT_CHECKS = (check_found_brains, check_hooks, check_state, check_disk, check_extras)


def check_server(directory: str) -> Iterator[Health]:
    """Tell whether the server that hooks ask answers, and what it says of its index."""
    settings = read_server_settings()
    if not settings.url:
        return
    url = settings.url
    if is_settings_moved(directory):
        detail = "your settings lie in this project because of a variable; hooks do not use them"
        yield Health(level="warning", what="server", detail=detail, fix="unset XDG_CONFIG_HOME")
        return
    began = time.monotonic()
    try:
        stale = probe_server(settings)
    except Exception as error:
        detail = f"{url} {explain(error)}; hooks give the local brain's lessons alone"
        fix = "see docs/server.md, or `lessons uninstall --server`"
        yield Health(level="warning", what="server", detail=detail, fix=fix)
        return
    forget_failure()
    where = f" from {', '.join(settings.folders)}" if settings.folders else ""
    told = f"{name_server(url)} at {url}, {1_000 * (time.monotonic() - began):.0f} ms"
    told += f"; prompts{where} are sent there, without secrets"
    if stale:
        fix = "tell whoever runs the server"
        yield Health(level="warning", what="server", detail=f"{told}; {stale}", fix=fix)
    else:
        yield Health(level="ok", what="server", detail=told)


_SECONDS_A_DAY = 86_400


def fix_state(_about: object) -> Iterator[Health]:
    """Close the state folders that others may look into."""
    for folder in find_open_folders():
        close_folder(folder)
        yield _fixed("state", f"{folder} is private again")


def fix_folders(layer: Layer) -> Iterator[Health]:
    """Close the state folders of a brain, and keep its cache out of git."""
    for folder in find_open_folders(layer.root):
        close_folder(folder)
        yield _fixed("state", f"{folder} is private again")
    for path in cleanup.find_missing_ignores(layer.root, layer.cache):
        write_ignore(path)
        yield _fixed("cache", f"wrote {path}")


def fix_runs(layer: Layer) -> Iterator[Health]:
    """End what killed processes left running."""
    if ended := layer.journal.runs.end_abandoned():
        yield _fixed("journal", f"ended {counted(ended, 'command')} whose process no longer exists")


def fix_index(layer: Layer) -> Iterator[Health]:
    """Rebuild an index that does not hold what the catalogue says; remove former ones."""
    before = layer.state
    done = layer.refresh()
    state = layer.state
    if state is None or done.stale:
        return
    if before is None:
        yield _fixed("index", "built; the old one was missing or unusable")
    elif before.generation != state.generation:
        yield _fixed("index", "rebuilt")
    size = layer.read(lambda one: one.engine.size() if one.engine else 0)
    if size != state.cards + state.notes:
        layer.refresh(rebuild=True)
        yield _fixed("index", f"rebuilt; it held {size} of {state.cards + state.notes}")
        state = layer.state or state
    for folder in cleanup.find_old_generations(layer.cache, layer.engine_directory(state)):
        shutil.rmtree(folder)
        yield _fixed("index", f"removed {folder}")


def fix_journal(layer: Layer) -> Iterator[Health]:
    """Forget what is older than the journal's retention."""
    days = layer.settings.journal.retention_days
    if gone := layer.journal.upkeep.prune(time.time() - days * _SECONDS_A_DAY):
        yield _fixed("journal", f"removed {counted(gone, 'row')} older than {counted(days, 'day')}")


def fix_trash(layer: Layer) -> Iterator[Health]:
    """Remove deleted cards that are older or more than the settings keep."""
    if gone := prune(layer.root, layer.settings.trash):
        yield _fixed("trash", f"removed {counted(len(gone), 'file')} beyond the limits")


def _fixed(what: str, detail: str) -> Health:
    return Health(level="fixed", what=what, detail=detail)


AROUND: tuple[Callable[[object], Iterator[Health]], ...] = (fix_state,)
FIXES: tuple[Callable[[Layer], Iterator[Health]], ...] = (
    fix_folders,
    fix_runs,
    fix_index,
    fix_journal,
    fix_trash,
)


def check_health(brain: Layers | None, directory: str) -> list[Health]:
    """Examine the brains that are open and those that wait at ``directory``; nothing is raised.

    Indexes are brought up to date on the way, as any search does.
    """
    lines = collect((*ENVIRONMENT_CHECKS, check_server), directory)
    if brain is None:
        waits = any(line.what == "trust" for line in lines)
        return [*lines, _no_brain(directory, waits=waits)]
    for layer in brain.layers:
        lines.append(Health(level="ok", what="brain", detail=f"{layer.root} ({layer.alias})"))
        lines += _without_echo(collect(BRAIN_CHECKS, layer))
    return lines


def _no_brain(directory: str, *, waits: bool) -> Health:
    """Say that none can be used; one that ``waits`` for trust has been named, with its fix."""
    if waits:
        return Health(level="error", what="brain", detail="none that you trust")
    if hint := tell_unclaimed(directory):
        detail, _, fix = hint.partition("; ")
        return Health(level="error", what="brain", detail=detail, fix=fix)
    fix = "run `lessons init` to create one here, or `lessons init --user` for all projects"
    return Health(level="error", what="brain", detail="none here", fix=fix)


def _without_echo(lines: Sequence[Health]) -> list[Health]:
    """Leave out an error that an earlier check has told already, such as one of the settings."""
    told: dict[object, Health] = {}
    for place, line in enumerate(lines):
        told.setdefault((line.detail, line.fix) if line.level == "error" else place, line)
    return list(told.values())


def apply_fixes(brain: Layers | None) -> list[Health]:
    """Put right what is safe to put right and say what was done; nothing is raised.

    Caches, permissions of state folders, the age of journal and trash. Never a card, never
    what a damaged journal left. Done twice, the second finds nothing to do.
    """
    done = collect(AROUND, None)
    for layer in brain.layers if brain is not None else ():
        done += collect(FIXES, layer)
    return done


def collect(checks: Sequence[Callable[..., Iterator[Health]]], about: object) -> list[Health]:
    """Return the lines of all checks; one that fails is itself a finding."""
    lines: list[Health] = []
    for check in checks:
        what = check.__name__.removeprefix("check_").removeprefix("fix_").replace("_", " ")
        try:
            lines += check(about)
        except LessonsError as error:
            detail, _, fix = str(error).partition("; ")
            lines.append(Health(level="error", what=what, detail=detail, fix=fix))
        except (OSError, sqlite3.Error) as error:
            fix = "check the disk and the permissions of the folder"
            lines.append(Health(level="error", what=what, detail=str(error), fix=fix))
    return lines
