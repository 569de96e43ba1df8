"""The doctor's look at one brain: is each part there, fresh, and ours to write?"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from lessons_kb.brain.account_for_files import count_files, format_census
from lessons_kb.brain.cluster.search import ENGINE, ClusterSearch
from lessons_kb.brain.doctor.health import FIX, Health, size_of
from lessons_kb.brain.git_merge_setup import find_sharing
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.refresh import scan_brain
from lessons_kb.process.installation import install_command
from lessons_kb.search.embeddings.embedding_model import EXTRA, find_absent_libraries
from lessons_kb.store import cleanup
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.database import find_set_aside
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.folder_rights import find_open_folders
from lessons_kb.store.journal import JOURNAL_NAME
from lessons_kb.store.locate import CACHE_NAME, CONFIG_NAME
from lessons_kb.store.trash import entries, find_beyond
from lessons_kb.store.trust import goes_by_path, is_trusted, read_record
from lessons_kb.store.user_state import state_dir
from lessons_kb.store.watcher_lease import is_leased
from lessons_kb.text.plurals import counted

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
    count = count_files(layer)
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


def check_watcher(layer: Layer) -> Iterator[Health]:
    """Tell whether somebody keeps the index fresh, and what a killed watcher left."""
    if is_leased(layer.cache, layer.root):
        detail = "running; searches skip the check for changed files"
    else:
        detail = "not running; each search checks for changed files itself"
    yield Health(level="ok", what="watcher", detail=detail)
    for path in cleanup.find_stale_leases(layer.cache):
        detail = f"{path} is left over from a watcher that ended"
        yield Health(level="warning", what="watcher", detail=detail, fix=f"{FIX} removes it")


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


CHECKS: tuple[Callable[[Layer], Iterator[Health]], ...] = (
    check_trust,
    check_settings,
    check_index,
    check_cluster,
    check_semantic,
    check_files,
    check_write_access,
    check_watcher,
    check_journal,
    check_drafts,
    check_trash,
    check_git,
)
