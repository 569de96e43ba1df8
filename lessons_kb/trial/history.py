"""Make tasks from a repository's history: from commits that fix something and add a test.

The agent starts at the commit's parent, the prompt is the commit's message without the solution,
and the check is the commit's tests. A task is used only if its check reliably fails at the parent
and reliably passes at the fix.
"""

from __future__ import annotations

import os
import re
import shlex
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from lessons_kb.calls.failure_signs import is_test
from lessons_kb.data import read_mapping
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.mining.commit_facts import CommitFacts, choose, read_facts
from lessons_kb.mining.rank_commits import score
from lessons_kb.process.git import Repository, ask_git, decode, list_commits, read_patches
from lessons_kb.process.marks import end_marked, new_mark
from lessons_kb.process.run import run_bounded
from lessons_kb.store.journal import read_output
from lessons_kb.text.error_signature import shows
from lessons_kb.text.redact import redact
from lessons_kb.text.sanitize import clean_line
from lessons_kb.text.sentences import split_sentences
from lessons_kb.trial.place import bring_check, check_out
from lessons_kb.trial.runs import CHECK_SECONDS, SETUP_SECONDS, check_command, last_line, shell
from lessons_kb.trial.tasks import Task, make_name
from lessons_kb.values import frozen

FILES = "{files}"
TRIES = 3
_FIRST = 10
"""If this number of fixes fail first and for the same cause, the search for tasks ends."""
_AT_FIX, _AT_PARENT = "its tests fail at the fix", "its tests pass at its parent"
_SETUP_FAILS = "setup fails"
_LEAST_SECONDS, _LONGER = 60.0, 10
"""The deadline of a check is at least the first number of seconds, and at least the second number
times its measured time.
"""
_MOST_COMMITS = 2_000
_SOLUTION = re.compile(
    r"\b(?:by|instead|now|use[sd]?|using|replac\w+|switch\w*|mov\w+|add\w*|call\w*|chang\w+|"
    r"so that|thus|therefore|mak\w+|set\w*|pass\w*|return\w*|remov\w+|renam\w+|refactor\w*)\b",
    re.IGNORECASE,
)
_TRAILER = re.compile(r"[a-z]+(?:-[a-z]+)+: |(?:fixes|closes|refs?|see)\b", re.IGNORECASE)
_PREFIX = re.compile(r"^(?:\w+(?:\([^)]*\))?!?:\s+)?(?:fix(?:es|ed)?\b[:,]?\s+)?", re.IGNORECASE)
_NAMES = ("diff-tree", "-r", "-z", "--name-only", "--no-commit-id")
_NUMBER = re.compile(r"(?:,? (?:closes|fixes|refs?|see))?\s*\(?(?:#|GH-?)\d+\)?", re.IGNORECASE)
_CODE = re.compile(r" {4}|\t|>")


@frozen
class Dropped:
    """A commit that did not become a task, and the reason."""

    commit: str
    subject: str
    reason: str


def find_check(top: str) -> str:
    """Return the command that runs a repository's tests. Raises InputError if it is unknown."""
    for name, command in read_mapping("project_tests.toml")["commands"].items():
        if os.path.exists(os.path.join(top, name)):
            return command
    raise InputError("nothing here tells how the tests are run; give --check 'COMMAND {files}'")


def make_prompt(subject: str, body: str) -> str:
    """Return a commit's message as a task, as a user who has seen the mistake would write it.

    Sentences about the solution, issue numbers and trailers are left out.
    """
    title = _NUMBER.sub("", _PREFIX.sub("", clean_line(subject), count=1)).rstrip(".")
    parts = [f"Fix this: {title}."]
    for paragraph in re.split(r"\n\s*\n", body.strip()):
        lines = [line for line in paragraph.splitlines() if not _TRAILER.match(line.strip())]
        if all(map(_CODE.match, lines)):  # code or output
            parts.append("\n".join(lines))
            continue
        sentences = map(clean_line, split_sentences("\n".join(lines)))
        problems = [sentence for sentence in sentences if not _SOLUTION.search(sentence)]
        problems = [sentence for sentence in problems if title not in sentence]
        parts.append("\n".join(_NUMBER.sub("", sentence) for sentence in problems))
    return "\n\n".join(filter(None, parts))


def find_tasks(
    repository: str,
    count: int,
    *,
    check: str,
    setup: str = "",
    learnt: Mapping[str, str],
    say: Callable[[str], None] = lambda _line: None,
) -> tuple[list[Task], list[Dropped]]:
    """Return up to ``count`` tasks from a repository's history, and the commits that were dropped.

    ``check`` is the command that runs tests; {files} in it stands for the commit's test files.
    ``learnt`` maps a commit to the id of the card that was written from it. ``say`` is called with
    a line about each commit that is tried. Raises GitError, or InputError if the first ten fixes
    are dropped for the same cause.
    """
    tasks: list[Task] = []
    dropped: list[Dropped] = []
    for facts, files in _find_fixes(repository):
        if len(tasks) == count:
            break
        subject = clean_line(facts.subject)
        card = learnt.get(facts.id, "")
        task = Task(
            name=make_name(subject, facts.id),
            prompt=make_prompt(facts.subject, facts.body),
            commit=f"{facts.id}^",
            check=check.replace(FILES, shlex.join(facts.tests)),
            setup=setup,
            check_from=facts.id,
            check_files=tuple(files),
            source=facts.id,
            lesson=card,
            own=bool(card),
        )
        try:
            reason = _find_fault(repository, task)
        except LessonsError as error:
            reason = str(error)
        say(f"{facts.id[:9]} {subject}: {reason or 'kept'}")
        if reason:
            dropped.append(Dropped(commit=facts.id, subject=subject, reason=reason))
            if not tasks and len(dropped) == _FIRST:
                _check_causes(dropped, check)
        else:
            tasks.append(task)
    return tasks, dropped


def _check_causes(dropped: Sequence[Dropped], check: str) -> None:
    """Raise InputError if all fixes were dropped for the same cause."""
    causes = {fix.reason.partition(":")[0] for fix in dropped}
    last = dropped[-1].reason
    if causes == {_AT_FIX}:
        raise InputError(
            f"the tests of the first {len(dropped)} fixes do not even pass at the fix "
            f"({last.removeprefix(_AT_FIX).lstrip(': ')}); try `{check}` by hand, have --setup "
            "install what it needs, or give another --check"
        )
    if causes == {_AT_PARENT}:
        raise InputError(
            f"the tests of the first {len(dropped)} fixes pass at the parent, too; does `{check}` "
            "run the tests in {files}? If not, give another --check"
        )
    if causes == {_SETUP_FAILS}:
        raise InputError(f"{last}, at each of the first {len(dropped)} fixes; correct --setup")


def _find_fixes(repository: str) -> Iterator[tuple[CommitFacts, list[str]]]:
    """Yield the commits that fix something and add a test, each with all of its test files.

    The most likely fixes come first.
    """
    top = Repository(repository).top
    commits = list_commits(top)[:_MOST_COMMITS]
    history = choose(
        read_facts(one.id, one.at, one.message, one.patch) for one in read_patches(top, commits)
    )
    ranked = sorted(zip(score(history), history, strict=True), key=lambda pair: -pair[0])
    for _points, facts in ranked:
        low = f"{facts.subject}\n{facts.body}".lower()
        subject = facts.subject.lower()
        if shows("repairs", low) and not shows("builds", subject) and facts.tests and facts.removed:
            names = ask_git(top, *_NAMES, facts.id).split(b"\0")
            yield facts, [path for path in map(decode, names) if path and is_test(path)]


def _find_fault(repository: str, task: Task) -> str:
    """Return why a task is useless, or "" if its check passes at the fix and fails at the parent.

    The check runs three times at each commit. A check that takes much longer at the parent counts
    as hanging, as it would in a trial.
    """
    seconds = CHECK_SECONDS
    for commit, wanted in ((task.check_from, True), (task.commit, False)):
        mark = new_mark()
        with tempfile.TemporaryDirectory(prefix="work-", ignore_cleanup_errors=True) as place:
            try:
                work = os.path.join(place, os.path.basename(repository))
                os.mkdir(work)
                check_out(repository, commit, work)
                bring_check(repository, task, work)
                seconds = _try_check(task, work, wanted=wanted, seconds=seconds, mark=mark)
            except _UselessError as error:
                return str(error)
            finally:
                end_marked(mark)
    return ""


class _UselessError(Exception):
    """The reason why a task is useless."""


def _try_check(task: Task, work: str, *, wanted: bool, seconds: float, mark: str) -> float:
    """Run a check three times. Return its deadline at the other commit, in seconds.

    ``wanted`` states whether the check has to pass. Raises _UselessError unless each run has this
    result.
    """
    output = os.path.join(os.path.dirname(work), "output")
    run = partial(run_bounded, cwd=work, output=output, mark=mark)
    setup_code = run(shell(task.setup), seconds=SETUP_SECONDS) if task.setup else 0
    if setup_code:
        raise _UselessError(f"{_SETUP_FAILS}: {last_line(redact(read_output(output)))}")
    codes = []
    for _ in range(TRIES):
        began = time.monotonic()
        code = run(check_command(task), seconds=seconds)
        if code is None:
            place = "the fix" if wanted else "its parent"
            raise _UselessError(f"its tests do not end at {place}")
        codes.append(code)
        if (code == 0) != wanted:
            break
        seconds = max(_LEAST_SECONDS, _LONGER * (time.monotonic() - began))
    passed = {code == 0 for code in codes}
    if len(passed) > 1:
        raise _UselessError("its tests are flaky")
    if passed == {wanted}:
        return seconds
    last = last_line(redact(read_output(output)))
    raise _UselessError(f"{_AT_FIX}: {last}" if wanted else _AT_PARENT)
