"""The checks of ``lessons doctor``. Each examines one part of a brain or of its environment."""

from __future__ import annotations

import contextlib
import datetime as dt
import os
import re
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version

from lessons_kb.brain.brain import Brain, count_kinds, format_census
from lessons_kb.brain.brains import Brains
from lessons_kb.brain.cluster_search import ClusterSearch
from lessons_kb.brain.discovery import (
    Discovery,
    advise_init,
    describe_unclaimed,
    find_untrusted_below,
    is_settings_moved,
    look,
)
from lessons_kb.cards.anchors import parse_claims
from lessons_kb.cards.standings import GONE_CODE, MOVED_PATH, STALE_CARD, UNMET, check_standing
from lessons_kb.collection.contradictions import find_all
from lessons_kb.collection.draft_cards import find_draft_cards
from lessons_kb.collection.due_escalations import find_due
from lessons_kb.collection.git_merge import find_sharing
from lessons_kb.collection.health import FIX, Health
from lessons_kb.collection.lint import by_place
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.find.shared_server import Unanswered, name_server, probe_server
from lessons_kb.freshness.refresh import (
    find_history_fault,
    find_unmatched_paths,
    refresh_standings,
)
from lessons_kb.hook_client import LATE_MARK, OFF_VARIABLE
from lessons_kb.ledger.effect import weigh_cards
from lessons_kb.model import INVALID_HEADER, Finding
from lessons_kb.process.clock import today
from lessons_kb.process.git import TRY_GIT
from lessons_kb.process.installation import install_command
from lessons_kb.process.run import split_command
from lessons_kb.search.engine_registry import CLUSTER_ENGINE
from lessons_kb.search.semantic_extra import EXTRA, find_absent_packages
from lessons_kb.store.brain_settings import read_settings
from lessons_kb.store.database import find_set_aside
from lessons_kb.store.draft_files import DraftFolder
from lessons_kb.store.error_log import LATE_DAYS, LOG_NAME, Trouble, find_late, read_troubles
from lessons_kb.store.files import measure_folder
from lessons_kb.store.gate_seal import read_gate_file
from lessons_kb.store.journal import JOURNAL_NAME
from lessons_kb.store.locations import CACHE_NAME, CONFIG_NAME, state_home, user_brain
from lessons_kb.store.repositories import git_top
from lessons_kb.store.scan import scan_brain
from lessons_kb.store.server_backoff import forget_failure
from lessons_kb.store.state_folder import close_folder, find_open_folders, state_dir
from lessons_kb.store.trust import goes_by_path, is_trusted, read_record
from lessons_kb.store.user_settings import (
    USER_SECTIONS,
    JudgeSettings,
    ServerSettings,
    WithholdSettings,
    WriterSettings,
    read_user_settings,
)
from lessons_kb.text.sanitize import ago, clean_line, counted, shell_word
from lessons_kb.values import replace

_STEP, _ROUND = 1_000, 10


_OUR_ERRORS = re.compile(r"^\w*(?:Error|NotFound|Untrusted|Broken|Busy|Refused|Missing): (?=\S)")


_RECENT_DAYS = 7


_SHOWN = 5


_MAX_CHARS = 240


def size_of(count: float) -> str:
    """Return a number of bytes in a readable form, such as ``12 kB``."""
    units = ["B", "kB", "MB", "GB"]
    while count >= _STEP and len(units) > 1:
        count /= _STEP
        del units[0]
    digits = 0 if units[0] == "B" or count >= _ROUND else 1
    return f"{count:.{digits}f} {units[0]}"


def check_trust(brain: Brain) -> Iterator[Health]:
    """Report why the brain is trusted."""
    record = read_record(brain.root) or {}
    if not is_trusted(brain.root):
        detail = "not trusted; hooks are silent here, and it is read only because you named it"
        yield Health("off", "trust", detail, f"`lessons trust {brain.root}` allows it in agents")
    elif record.get("made") is True:
        yield Health("ok", "trust", "created by you")
    else:
        yield Health("ok", "trust", f"trusted; a change of {CONFIG_NAME} needs new trust")
    if goes_by_path(brain.root):
        detail = "tied to the path, because the brain is read-only; any folder there is trusted"
        yield Health("warning", "trust", detail, "get write access to it")


def check_settings(brain: Brain) -> Iterator[Health]:
    """Report the settings of ``lessons.toml``. Raises ConfigError if they cannot be read."""
    settings, origins = read_settings(brain.root)
    there = os.path.isfile(os.path.join(brain.root, CONFIG_NAME))
    keys = f"{counted(len(origins), 'key')} set in" if there else "all defaults, no"
    engine = f"engine {settings.index.engine}, language {settings.language}"
    yield Health("ok", "settings", f"{engine}; {keys} {CONFIG_NAME}")


def check_gates(brain: Brain, *, fix: bool = False) -> Iterator[Health]:
    """Check the gate file, which a hook uses to decide gates if no answer comes in time."""
    if not is_trusted(brain.root):
        return
    state = brain.state
    if state is None or not state.gates:
        return
    gates = read_gate_file(brain.root)
    is_damaged = not gates["readable"]
    if is_damaged:
        brain.refresh()  # writes the file again
        gates = read_gate_file(brain.root)
    if not gates["readable"]:
        detail = "the file of compiled gates cannot be written; a late answer checks no gate"
        yield Health("error", "gates", detail, f"get write access to {state_home()}")
    elif is_damaged:
        detail = "the file of compiled gates was missing or damaged; written anew"
        yield Health("fixed" if fix else "warning", "gates", detail)
    elif not gates["whole"]:
        detail = "too many gated cards to compile; a late answer only says that it did not check"
        yield Health("warning", "gates", detail, "use `gate` for fewer cards")


def check_index(brain: Brain, *, fix: bool = False) -> Iterator[Health]:
    """Update the index, and check that it is complete."""
    before = brain.state
    result = brain.refresh()
    if result.fault:
        fault, _, advice = result.fault.rpartition("; ")
        yield Health("error", "index", f"not up to date: {fault}", advice)
        return
    if result.stale:
        advice = "run `lessons index`, which waits for it and indexes the rest"
        yield Health("warning", "index", result.stale, advice)
    census = count_kinds(brain)
    state = brain.state
    if brain.engine is None or state is None:
        return
    is_new = before is None or before.generation != state.generation
    if fix and is_new and not result.stale:
        built = "built; the old one was missing or unusable" if before is None else "rebuilt"
        yield Health("fixed", "index", built)
    size = brain.read(lambda brain: brain.engine.size() if brain.engine else 0)
    expected = state.cards + state.notes
    if size != expected and not result.stale:
        if fix:
            brain.refresh(rebuild=True)
            yield Health("fixed", "index", f"rebuilt; it held {size} of {expected}")
        else:
            detail = f"the index holds {size} of {expected} files"
            yield Health("error", "index", detail, f"`lessons index --rebuild`, or {FIX}")
    changed = result.changed + result.removed
    if before is None:
        freshness = "built just now"
    elif changed:
        freshness = f"{changed} updated just now"
    else:
        freshness = "fresh"
    size_on_disk = size_of(measure_folder(brain.cache))
    yield Health("ok", "index", f"{format_census(census)}; {size_on_disk}, {freshness}")


def check_cluster(brain: Brain) -> Iterator[Health]:
    """Report whether the cluster of a brain can answer, if the settings name the cluster engine."""
    if brain.settings.index.engine != CLUSTER_ENGINE:
        return
    cluster = ClusterSearch(brain)
    trouble = brain.read(lambda _brain: cluster.find_trouble())
    if trouble:
        fix = "make the cluster reachable, or set another `engine` in lessons.toml"
        yield Health("warning", "cluster", f"the local index answers: {trouble}", fix)
    else:
        yield Health("ok", "cluster", "holds what is here; the daemon and the MCP server search it")


def check_semantic(brain: Brain) -> Iterator[Health]:
    """Report whether cards are searched by meaning. If they are not, report the reason."""
    meaning = brain.meaning
    if meaning is None:
        absent = ", ".join(find_absent_packages())
        why = f", {absent} not installed ({install_command(EXTRA)})" if absent else ""
        yield Health("off", "semantic", f"off{why}: cards are found by words only")
        return
    if meaning.trouble:
        detail, _, fix = meaning.trouble.partition("; ")
        yield Health("warning", "semantic", f"off: {detail}", fix)
        return
    left = meaning.encode(limit=0)
    if left:
        missing = counted(left, "file is not encoded yet", "files are not encoded yet")
        yield Health("warning", "semantic", f"on, {missing}", "run `lessons index` to encode them")
    else:
        yield Health("ok", "semantic", "on, all files are encoded")


def check_files(brain: Brain) -> Iterator[Health]:
    """Report the files that cannot be used. The list comes from the index, and no file is read."""
    state = brain.state
    scan = scan_brain(brain.root, brain.settings, state.ignored if state else ())
    indexed = brain.read(lambda brain: brain.catalogue.findings())
    serious = list(filter(_is_serious, (*scan.findings, *indexed)))
    for finding in sorted(serious, key=by_place):
        where = f"{finding.path}:{finding.line}" if finding.line else finding.path
        yield Health(finding.level, "file", f"{where}: {finding.message}", finding.fix)
    broken = {finding.path for finding in indexed if finding.rule == INVALID_HEADER}
    if broken:
        cards = counted(len(broken), "card has a header", "cards have headers")
        first = min(broken)
        detail = f"{cards} that YAML cannot read, such as {first}; parts of it have no effect"
        yield Health("warning", "files", detail, "run `lessons lint`")
    elif not serious:
        yield Health("ok", "files", "all files are readable")


def _is_serious(finding: Finding) -> bool:
    return finding.level == "error" or finding.rule == "bad-pattern"


def _check_privacy(folder: str, check: str, *, fix: bool) -> Health:
    """Report a folder that other users can read. With ``fix``, make it private."""
    if fix:
        close_folder(folder)
        return Health("fixed", "state", f"{folder} is private again")
    return Health("warning", check, f"other users can read {folder}", f"{FIX} closes it")


def check_write_access(brain: Brain, *, fix: bool = False) -> Iterator[Health]:
    """Check that cards, cache and state are writable, and that the state is private."""
    if os.access(brain.root, os.W_OK):
        yield Health("ok", "write access", brain.root)
    else:
        advice = "cards cannot be created or bumped here; get write access if you need to"
        yield Health("warning", "write access", f"{brain.root} is read-only", advice)
    for folder in (brain.cache, state_dir(brain.root)):
        if not os.access(folder, os.W_OK | os.X_OK):
            advice = "give yourself write access to the folder"
            yield Health("error", "write access", f"no write access to {folder}", advice)
    for folder in find_open_folders(brain.root):
        if folder.startswith(state_dir(brain.root)):
            yield _check_privacy(folder, "write access", fix=fix)
    if not brain.cache.startswith(os.path.join(brain.root, CACHE_NAME)):
        yield Health("ok", "cache", f"stored in {brain.cache}")


def check_journal(brain: Brain, *, fix: bool = False) -> Iterator[Health]:
    """Check that the journal is writable, and report its size."""
    journal = brain.journal
    size, rows, oldest = journal.measure()
    days = counted(brain.settings.journal.retention_days, "day")
    detail = f"writable; {counted(rows, 'event')}, {size_of(size)}, kept for {days}"
    if oldest:
        detail += f", the oldest of {time.strftime('%Y-%m-%d', time.localtime(oldest))}"
    yield Health("ok", "journal", detail)
    ended = journal.runs.end_abandoned() if fix else 0
    if ended:
        commands = counted(ended, "command")
        yield Health("fixed", "journal", f"ended {commands} whose process no longer exists")
    advice = "a new journal was started; delete the damaged file, or try `sqlite3 FILE .recover`"
    for damaged in find_set_aside(os.path.join(state_dir(brain.root), JOURNAL_NAME)):
        yield Health("warning", "journal", f"{damaged} is damaged", advice)


def check_drafts(brain: Brain) -> Iterator[Health]:
    """Report the number of drafts that wait for review."""
    brain.refresh()
    count = len(DraftFolder(brain.root).ids()) + len(find_draft_cards(brain))
    if count:
        yield Health("ok", "drafts", counted(count, "draft"), "run `lessons review`")
    else:
        yield Health("ok", "drafts", "none")


def check_harm(brain: Brain) -> Iterator[Health]:
    """Report harmful cards, and the share of sessions from which each lesson is withheld."""
    cards = brain.read(lambda brain: brain.catalogue.all_cards()) if brain.state else ()
    injectable = [card for card in cards if card.is_injectable]
    for effect in weigh_cards(brain, injectable).values():
        if effect.verdict == "harms":
            card_id = effect.card.id
            fix = f"run `lessons stats {shell_word(card_id)}`, then archive or rewrite it"
            yield Health("warning", "harm", f"{clean_line(card_id)}: {effect.reason}", fix)
    share = read_user_settings(WithholdSettings).withhold
    if share:
        yield Health("ok", "withheld", f"each lesson from {share:.0%} of the sessions, to measure")


def check_freshness(brain: Brain) -> Iterator[Health]:
    """Report how many cards name code that was moved or is gone, or wait for a confirmation.

    A history that git cannot read is reported as well.
    """
    refresh_standings(brain)
    fault = find_history_fault(brain)
    if fault is not None:
        reason, _, fix = fault.reason.partition("; ")
        subject = "the history, so moved and removed code goes unnoticed"
        if fault.commits:
            subject = f"{counted(fault.commits, 'commit')}, so what they moved goes unnoticed"
        fix = _FETCH_OBJECTS if fix == TRY_GIT else fix
        yield Health("warning", "freshness", f"git cannot read {subject}: {reason}", fix)
    cards = brain.read(lambda one: one.catalogue.all_cards()) if brain.state else ()
    names: dict[str, list[str]] = {}
    for card in cards:
        for finding in check_standing(card, today()):
            names.setdefault(finding.rule, []).append(card.id)
    for rule, (detail, fix) in _FRESHNESS.items():
        if rule in names:
            first = clean_line(names[rule][0])
            more = "" if len(names[rule]) == 1 else ", …"
            count = counted(len(names[rule]), "card")
            yield Health("warning", "freshness", f"{count} {detail} ({first}{more})", fix)


def check_paths(brain: Brain) -> Iterator[Health]:
    """Report how many cards have ``paths`` that never matched a file of the project."""
    if not brain.state:
        return
    rows = brain.read(lambda one: one.catalogue.claims())
    claims = [parse_claims(text) for text, _standing in rows.values()]
    all_cards = brain.read(lambda one: one.catalogue.all_cards())
    active = {card.id for card in all_cards if card.status == "active"}
    cards = sorted(active.intersection(find_unmatched_paths(brain, claims)))
    if cards:
        more = "" if len(cards) == 1 else ", …"
        detail = (
            f"{counted(len(cards), 'card')} with paths of no file of the project "
            f"({clean_line(cards[0])}{more})"
        )
        fix = "run `lessons lint --rule unmatched-path`, and correct those whose files exist"
        yield Health("off", "paths", detail, fix)


def check_escalation(brain: Brain) -> Iterator[Health]:
    """Report the first lesson that needs a next step, the reason, and how many others do.

    The mistake of such a lesson came back, or a linter finds it.
    """
    due = find_due(brain, git_top(brain.root) or brain.root)
    if not due:
        return
    card, reason = due[0]
    detail = f"{clean_line(card.id)} needs a next step, because {reason}"
    fix = f"run `lessons escalate {shell_word(card.id)}`, which shows the step and asks"
    if due[1:]:
        detail += f"; also due: {counted(len(due) - 1, 'other lesson')}"
        fix += "; `lessons escalate` lists all"
    yield Health("warning", "escalation", detail, fix)


def check_conflicts(brain: Brain) -> Iterator[Health]:
    """Report how many pairs of cards make opposite demands."""
    cards = brain.read(lambda one: one.catalogue.all_cards()) if brain.state else ()
    conflicts = find_all(brain.root, cards)
    if conflicts:
        first, second = clean_line(conflicts[0].first.id), clean_line(conflicts[0].second.id)
        count = counted(len(conflicts), "pair of cards", "pairs of cards")
        detail = f"{count} with opposed demands ({first} and {second})"
        fix = "run `lessons lint --rule conflict`, then rewrite or archive one of the two"
        yield Health("warning", "conflicts", detail, fix)


_FETCH_OBJECTS = "`git fsck` names missing objects; `git fetch --refetch` gets them"
_FRESHNESS = {
    MOVED_PATH: ("whose files were moved", "run `lessons lint --fix`"),
    GONE_CODE: (
        "about code that is gone, not injected",
        "run `lessons list --stale`, then `lessons archive --gone` or `lessons confirm`",
    ),
    UNMET: (
        "not injected, because their `when` does not hold",
        "nothing, unless the project should match: `lessons list --stale` shows the versions",
    ),
    STALE_CARD: ("waiting since their `stale-after`", "read them, then run `lessons confirm`"),
}


def check_git(brain: Brain) -> Iterator[Health]:
    """Report how git merges the cards of a brain."""
    match find_sharing(brain.root):
        case (True, True):
            yield Health("ok", "git", "merges cards key by key")
        case (True, False):
            detail = "this repository merges cards key by key, but your git has no merge driver"
            yield Health("warning", "git", detail, "`lessons install git`")
        case (False, _):
            fix = "run `lessons install git`, so that counts add up instead of conflicting"
            yield Health("off", "git", "merges cards as plain text", fix)


BRAIN_CHECKS = (
    check_trust,
    check_settings,
    check_gates,
    check_index,
    check_cluster,
    check_semantic,
    check_files,
    check_write_access,
    check_journal,
    check_drafts,
    check_harm,
    check_freshness,
    check_paths,
    check_conflicts,
    check_escalation,
    check_git,
)


def check_found_brains(discovery: Discovery) -> Iterator[Health]:
    """Report the brains that were found but are not trusted."""
    if discovery.missing:
        detail, _, fix = discovery.missing.partition("; ")
        yield Health("error", "trust", detail, fix)
    # With only a brain of the user, no other line says that the project's lessons are missing.
    level = "error" if _has_only_own_brain(discovery) else "warning"
    for root in discovery.untrusted:
        fix = f"read its cards, then run `lessons trust {shell_word(root)}`"
        yield Health(level, "trust", f"{root} is not trusted yet", fix)


def _has_only_own_brain(discovery: Discovery) -> bool:
    return list(discovery.trusted) == [os.path.realpath(user_brain())]


def find_last_calls(brains: Brains | None) -> dict[str, float]:
    """Return a mapping from agents to the time of the last call of their hooks for a brain."""
    calls: dict[str, float] = {}
    for brain in brains.members if brains is not None else ():
        with contextlib.suppress(LessonsError, sqlite3.Error):  # `check_journal` reports it
            for agent, at in brain.journal.events.last_calls().items():
                calls[agent] = max(at, calls.get(agent, 0.0))
    return calls


def check_hooks(calls: Mapping[str, float]) -> Iterator[Health]:
    """Report the last errors of hooks, the newest first. Equal errors share one line."""
    troubles_by_error: dict[tuple[str, str], list[Trouble]] = {}
    for trouble in read_troubles(1_000):
        if trouble.message.startswith(LATE_MARK):
            continue
        where = f"{trouble.agent} {trouble.hook_event}".strip()
        key = where, _OUR_ERRORS.sub("", trouble.message)[:_MAX_CHARS]
        troubles_by_error.setdefault(key, []).append(trouble)
    if not troubles_by_error:
        if calls:
            detail = f"last called {ago(time.time() - max(calls.values()))}; no errors logged"
            yield Health("ok", "hooks", detail)
        else:
            yield Health("off", "hooks", "no call from an agent seen yet; no errors logged")
        return
    newest = sorted(troubles_by_error.items(), key=lambda item: item[1][-1].at, reverse=True)
    log = os.path.join(state_home(), LOG_NAME)
    since = dt.datetime.now() - dt.timedelta(days=_RECENT_DAYS)
    recent = [item for item in newest if item[1][-1].at >= since.isoformat()][:_SHOWN]
    for (where, message), troubles in recent:
        times = f"{len(troubles)}×, last " if len(troubles) > 1 else ""
        detail = f"{where}: {message} ({times}{troubles[-1].at.replace('T', ' ')})"
        # If the daemon fails, each hook computes the answer itself.
        cost = "" if where.startswith("daemon ") else "the agent continued without an answer; "
        fix = f"{cost}fix the cause, then delete {log}"
        yield Health("warning", "hooks", detail, fix)
    if more := sum(len(troubles) for _key, troubles in newest[len(recent) :]):
        errors = counted(more, "further error" if recent else "error")
        old = "" if recent else ", none in the last week"
        yield Health("off", "hooks", f"{errors}{old}, in {log}")


def check_switch(_directory: str) -> Iterator[Health]:
    """Report the environment variable that turns off all hooks."""
    variable = OFF_VARIABLE.decode()
    if os.environ.get(variable) == "0":
        detail = (
            f"off, because {variable} is 0 in this environment; agents started here get nothing"
        )
        yield Health("warning", "hooks", detail, f"unset {variable}")


def check_late(_directory: str) -> Iterator[Health]:
    """Report how many events the deadline cut off. A slow machine is not an error."""
    late = find_late()
    if not late:
        return
    last = late[-1].at.replace("T", " ")
    detail = f"{counted(len(late), 'event')} in the last {LATE_DAYS} days, last {last}"
    fix = "the machine was busy; the lessons came with the session's next event"
    yield Health("warning", "late", detail, fix)


def check_state(_directory: str, *, fix: bool = False) -> Iterator[Health]:
    """Check that the state folder is writable and private."""
    home = state_home()
    for folder in find_open_folders():
        yield _check_privacy(folder, "state", fix=fix)
    if os.path.lexists(home) and not os.path.isdir(home):
        advice = "move it away; journal, drafts and trust need a folder there"
        yield Health("error", "state", f"{home} is not a folder", advice)
    elif os.path.isdir(home) and not os.access(home, os.W_OK | os.X_OK):
        advice = "grant yourself write access; journal, drafts and trash are stored there"
        yield Health("error", "state", f"{home} cannot be written", advice)
    elif os.path.isdir(home):
        yield Health("ok", "state", home)
    else:
        yield Health("off", "state", f"{home} does not exist yet")


def check_extras(_directory: str) -> Iterator[Health]:
    """Report the versions of the package and of its optional parts."""
    parts = {}
    for package in ("lessons-kb", "tantivy", "mcp", "onnxruntime"):
        with contextlib.suppress(PackageNotFoundError):
            parts[package] = f"{package} {version(package)}"
    yield Health("ok", "versions", ", ".join(parts.values()))
    if "mcp" not in parts:
        yield Health("off", "MCP server", "not installed", f"`{install_command('mcp')}` adds it")


def check_user_settings(_directory: str) -> Iterator[Health]:
    """Report the faults in the user's own settings. If there are none, report nothing."""
    for section in USER_SECTIONS:
        read_user_settings(section)  # raises ConfigError, which is reported
    commands = {
        "check.command": read_user_settings(JudgeSettings).command,
        "writer.command": read_user_settings(WriterSettings).command,
    }
    for name, command in commands.items():
        try:
            if command.strip():
                split_command(command)  # raises InputError
        except InputError as error:
            problem, _, fix = str(error).partition("; ")
            yield Health("error", "user settings", f"{name}: {problem}", fix)


def check_server(directory: str) -> Iterator[Health]:
    """Check that the server for hooks answers and that its index is up to date."""
    settings = read_user_settings(ServerSettings)
    url = settings.url
    if not url:
        return
    if is_settings_moved(directory):
        detail = "your settings lie in this project because of a variable; hooks do not use them"
        yield Health("warning", "server", detail, "unset XDG_CONFIG_HOME")
        return
    began = time.monotonic()
    try:
        stale = probe_server(settings)
    except Unanswered as error:
        detail = f"{url} {error}; hooks give the local brain's lessons alone"
        fix = "start the server with `lessons serve`, or run `lessons uninstall --server`"
        yield Health("warning", "server", detail, fix)
        return
    forget_failure()
    where = f" from {', '.join(settings.folders)}" if settings.folders else ""
    detail = f"{name_server(url)} at {url}, {1_000 * (time.monotonic() - began):.0f} ms"
    detail += f"; prompts{where} are sent there, without secrets"
    if stale:
        yield Health("warning", "server", f"{detail}; {stale}", "tell whoever runs the server")
    else:
        yield Health("ok", "server", detail)


ENVIRONMENT_CHECKS = (
    check_switch,
    check_late,
    check_state,
    check_extras,
    check_user_settings,
    check_server,
)


FIXING = (check_write_access, check_gates, check_index, check_journal)
"""The checks that can repair the faults that they find."""


def check_health(
    brains: Brains | None,
    directory: str,
    *,
    found: Discovery | None = None,
    calls: Mapping[str, float] | None = None,
) -> list[Health]:
    """Check the open brains, the environment and the untrusted brains of ``directory``.

    ``found`` is the result of ``look`` for the directory, and ``calls`` is the result of
    `find_last_calls`. Both are computed if they are missing. Indexes are updated, as by any search.
    A line that is the same for several brains appears once, before their own lines. Errors are
    lines as well.
    """
    discovery = found or look(directory)
    if _has_only_own_brain(discovery) and not discovery.untrusted:
        discovery = replace(discovery, untrusted=tuple(find_untrusted_below(directory)))
    lines = collect((check_found_brains,), discovery)
    lines += collect((check_hooks,), find_last_calls(brains) if calls is None else calls)
    lines += collect(ENVIRONMENT_CHECKS, directory)
    members = brains.members if brains is not None else ()
    reports = [collect(BRAIN_CHECKS, brain) for brain in members]
    shared: list[Health] = []
    if len(reports) > 1:
        first, *others = reports
        shared = [line for line in first if all(line in report for report in others)]
    lines += shared
    for brain, report in zip(members, reports, strict=True):
        lines.append(Health("ok", "brain", f"{brain.root} ({brain.alias})"))
        lines += [line for line in report if line not in shared]
    lines = _drop_repeated_errors(lines)
    if brains is None:
        has_untrusted = any(line.what == "trust" for line in lines)
        hint = "" if has_untrusted else describe_unclaimed(directory)
        if has_untrusted:  # the lines about trust have a fix
            detail, fix = "none that you trust", ""
        elif hint:
            detail, _, fix = hint.partition("; ")
        else:
            detail = "none here"
            own = f"`{advise_init(directory)}`"
            fix = f"run {own} to create one here, or `lessons init --user` for all projects"
        lines.append(Health("error", "brain", detail, fix))
    elif _has_only_own_brain(discovery) and not discovery.untrusted:
        hint = describe_unclaimed(directory)
        if hint:
            detail, _, fix = hint.partition("; ")
            lines.append(Health("warning", "brain", detail, fix))
    return lines


def _drop_repeated_errors(lines: Sequence[Health]) -> list[Health]:
    """Return the lines without repeated errors, such as an error that two checks report."""
    reported: set[tuple[str, str]] = set()
    remaining: list[Health] = []
    for line in lines:
        key = (line.detail, line.fix)
        if line.level != "error" or key not in reported:
            remaining.append(line)
        if line.level == "error":
            reported.add(key)
    return remaining


def apply_fixes(brains: Brains | None) -> list[Health]:
    """Repair everything that is safe to repair, and return a line for each repair.

    It repairs caches and the permissions of state folders. It never changes a card or the file of a
    damaged journal. A second call finds nothing to repair. It never raises an error.
    """
    lines = collect((check_state,), "", fix=True)
    for brain in brains.members if brains is not None else ():
        lines += collect(FIXING, brain, fix=True)
    return [line for line in lines if line.level == "fixed"]


def collect(
    checks: Sequence[Callable[..., Iterator[Health]]], subject: object, **options: bool
) -> list[Health]:
    """Return the lines of all checks. A check that raises an error becomes a line as well."""
    lines: list[Health] = []
    for check in checks:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            lines += check(subject, **options)
        except LessonsError as error:
            detail, _, fix = str(error).partition("; ")
            lines.append(Health("error", name, detail, fix))
        except (OSError, sqlite3.Error) as error:
            fix = "check the disk and the permissions of the folder"
            lines.append(Health("error", name, str(error), fix))
    return lines
