"""A simulated history: does `lessons stats` recover which lessons help, do nothing, or harm?

Sessions of a coding agent are played through the hooks' own entry (`session.dispatch.respond`) into a
copy of the example brain. Dice of a known bias decide whether a mistake is made in a session on its
subject. Of twelve mistakes each becomes a lesson half-way, after it was made once more; the bias of
the dice is then another, the same or a worse one. `stats` sees the journal only.
"""

from __future__ import annotations

import datetime as dt
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING
from unittest import mock

from benchmarks import report
from lessons_kb import Brain
from lessons_kb.learn.lesson_effect import VERDICTS
from lessons_kb.session.dispatch import respond
from lessons_kb.session.state import Capabilities, HookEvent

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from lessons_kb.learn.lesson_effect import Overview

EXAMPLE = Path(__file__).parents[1] / "brain-example"
SESSIONS, QUICK_SESSIONS = 200, 100
DAYS = 84
SEEDS, QUICK_SEEDS = 5, 1
COMPLAINS = 0.3
"""Share of the mistakes about which the user complains instead of a failing command."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Nature:
    """What a lesson truly does."""

    verdict: str
    """What `stats` should say of it."""
    mistake: float
    """Probability of the mistake in a session that was given the lesson."""
    addressed: float
    """Probability that the answer shows its checklist."""
    blamed: float = 0.0
    """Probability that the agent says the lesson misled it."""


WITHOUT = {"prevents": 0.55, "does nothing": 0.55, "harms": 0.2}
"""Nature → probability of the mistake in a session on its subject without the lesson."""
NATURES = {
    "prevents": Nature(verdict="helps", mistake=0.06, addressed=0.9),
    "does nothing": Nature(verdict="no effect", mistake=0.55, addressed=0.3),
    "harms": Nature(verdict="harms", mistake=0.75, addressed=0.5, blamed=0.15),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Something to work on, the mistake made there, and the lesson about it."""

    title: str
    symptom: str
    items: tuple[str, str]
    prompts: tuple[str, str]
    failure: str
    done: str


def _subject(
    title: str, symptom: str, items: str, prompts: str, failure: str, done: str
) -> Subject:
    first, second = items.split(" | ")
    one, other = prompts.split(" | ")
    return Subject(
        title=title,
        symptom=symptom,
        items=(first, second),
        prompts=(one, other),
        failure=failure,
        done=done,
    )


SUBJECTS = (
    _subject(
        "Invoice totals drift because amounts are summed as floats",
        "invoice total is off by one cent",
        "Sum invoice amounts as Decimal | Round once, at the end of the invoice",
        "Add a discount line to the invoice total | Show the invoice amounts summed per customer",
        "AssertionError: invoice total is off by one cent: 10.01 != 10.00, amounts summed as floats",
        "I sum the invoice amounts as Decimal and round once, at the end of the invoice.",
    ),
    _subject(
        "Timezone of the nightly report shifts its day boundary",
        "nightly report misses the last hour of the day",
        "Compute the report's day boundary in the shop's timezone | Test the nightly report at 23:30",
        "Change the day boundary of the nightly report | Send the nightly report in another timezone",
        "E assert rows == 24: the nightly report misses the last hour of the day, wrong timezone",
        "The day boundary of the report is computed in the shop's timezone; tested at 23:30 nightly.",
    ),
    _subject(
        "Websocket reconnect storms the gateway without jitter",
        "gateway refuses websocket clients after a reconnect",
        "Back off websocket reconnects with jitter | Cap concurrent reconnects at the gateway",
        "Make the websocket client reconnect by itself | Tune the gateway for websocket reconnects",
        "ConnectionError: gateway refuses websocket clients after a reconnect storm, no jitter",
        "Websocket reconnects back off with jitter, and the gateway caps concurrent reconnects.",
    ),
    _subject(
        "Thumbnail worker leaks file handles of rotated images",
        "too many open files in the thumbnail worker",
        "Close image handles in the thumbnail worker | Run the worker on five hundred rotated images",
        "Rotate images in the thumbnail worker | Speed up the thumbnail worker for large images",
        "OSError: too many open files in the thumbnail worker while reading rotated images",
        "The thumbnail worker closes its image handles; I ran the worker on five hundred rotated images.",
    ),
    _subject(
        "Search facets count hidden products of other tenants",
        "facet counts show products of other tenants",
        "Filter facets by tenant before counting | Cover hidden products of another tenant by a test",
        "Add a colour facet to the product search | Count products per facet in the tenant search",
        "FAILED test_facets: facet counts show hidden products of other tenants in the search",
        "Facets are filtered by tenant before counting; hidden products of another tenant have a test.",
    ),
    _subject(
        "Password reset mail links to the staging host",
        "password reset mail opens the staging host",
        "Build the reset link from the public host setting | Check the host of the password reset mail",
        "Reword the password reset mail | Let the password reset mail carry a new link",
        "AssertionError: the password reset mail opens the staging host, link is staging.internal",
        "The reset link is built from the public host setting; a check looks at the reset mail's host.",
    ),
    _subject(
        "Cache key of the price endpoint ignores the currency",
        "price endpoint answers in the wrong currency from the cache",
        "Put the currency into the cache key of prices | Request the price endpoint in two currencies",
        "Cache the price endpoint for ten minutes | Add a currency parameter to the price endpoint",
        "E assert 'EUR' == 'USD': price endpoint answers in the wrong currency from the cache key",
        "The currency is in the cache key of prices; I requested the price endpoint in two currencies.",
    ),
    _subject(
        "Kafka consumer commits offsets before the order is stored",
        "orders lost after the kafka consumer restarts",
        "Store the order before its kafka offset is committed | Kill the consumer between both in a test",
        "Batch the orders in the kafka consumer | Let the kafka consumer store orders in bulk",
        "FAILED test_restart: orders lost after the kafka consumer restarts, offsets committed early",
        "The order is stored before its kafka offset is committed; a test kills the consumer between.",
    ),
    _subject(
        "Markdown preview runs scripts of pasted comments",
        "script tag of a comment runs in the markdown preview",
        "Sanitise comments in the markdown preview | Paste a script tag in a preview test",
        "Render tables in the markdown preview of comments | Show pasted images in the markdown preview",
        "SecurityError: a script tag of a pasted comment runs in the markdown preview",
        "Comments are sanitised in the markdown preview; a preview test pastes a script tag.",
    ),
    _subject(
        "Upload quota is checked after the archive is unpacked",
        "disk full while an uploaded archive is unpacked",
        "Check the upload quota before unpacking | Refuse an archive bomb in a test",
        "Accept zip archives in the upload form | Raise the upload quota for archives",
        "OSError: no space left: disk full while an uploaded archive is unpacked, quota checked after",
        "The upload quota is checked before unpacking; an archive bomb is refused in a test.",
    ),
    _subject(
        "Feature flag defaults to on when the flag service is down",
        "feature switched on although the flag service is down",
        "Default every feature flag to off | Stop the flag service in a test",
        "Put the new checkout behind a feature flag | Read the feature flag from the flag service",
        "AssertionError: feature switched on although the flag service is down, default is on",
        "Every feature flag defaults to off; a test stops the flag service.",
    ),
    _subject(
        "Pagination skips rows when the sort column has ties",
        "rows skipped between two pages with ties in the sort column",
        "Add the primary key to the sort column of pages | Page through rows with ties in a test",
        "Add pagination to the orders list | Sort the paginated rows by date",
        "E assert 40 == 41: rows skipped between two pages, ties in the sort column of pagination",
        "The primary key is added to the sort column of pages; a test pages through rows with ties.",
    ),
)


class _Clock:
    def __init__(self, at: float) -> None:
        self.at = at

    def time(self) -> float:
        return self.at

    def move(self, seconds: float) -> float:
        self.at += seconds
        return self.at


def play(
    folder: Path, *, sessions: int = SESSIONS, seed: int = 1, now: float | None = None
) -> dict[str, str]:
    """Play sessions that end ``now`` into a new brain at ``folder``; return card id → its nature."""
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".lessons"))
    project = folder.parent / "shop"
    project.mkdir(exist_ok=True)
    dice = Random(seed)
    subjects = list(SUBJECTS)
    dice.shuffle(subjects)
    natures = [list(NATURES)[place % len(NATURES)] for place in range(len(subjects))]
    first, last = sessions * 2 // 5, sessions * 3 // 5
    born = {s.title: dice.randrange(first, last) for s in subjects}
    end = time.time() if now is None else now
    clock = _Clock(end - DAYS * 86_400)
    ids: dict[str, str] = {}
    module = SimpleNamespace(time=clock.time)
    with (
        Brain.open(folder, directory=project, project="shop") as brain,
        mock.patch("lessons_kb.brain.injected.time", module),
    ):
        player = _Player(brain, str(project), dice, clock)
        for number in range(sessions):
            clock.move(DAYS * 86_400 / sessions - 3_600)
            chosen = dice.sample(range(len(subjects)), k=4)
            work = [(subjects[n], natures[n]) for n in chosen]
            mistaken = player.play(f"session-{number}", work, ids)
            day = dt.datetime.fromtimestamp(clock.at).date().isoformat()
            for subject in subjects:
                due = subject in mistaken and number >= born[subject.title]
                if subject.title not in ids and (due or number == sessions * 3 // 4):
                    ids[subject.title] = _write(brain, subject, day)
            clock.move(3_600 - clock.at % 1)
    return {ids[s.title]: nature for s, nature in zip(subjects, natures, strict=True)}


class _Player:
    """An agent whose mistakes are dice."""

    def __init__(self, brain: Brain, project: str, dice: Random, clock: _Clock) -> None:
        self._brain = brain
        self._project = project
        self._dice = dice
        self._clock = clock

    def play(
        self, session: str, work: Sequence[tuple[Subject, str]], ids: dict[str, str]
    ) -> set[Subject]:
        """Play a session; return the subjects on which it made its mistake."""
        mistaken = set()
        for subject, name in work:
            answer = self._occur(session, "prompt", text=self._dice.choice(subject.prompts))
            blocks = answer.block.lessons if answer.block else ()
            given = [hit.card.id for hit in blocks]
            nature = NATURES[name]
            known = ids.get(subject.title) in given
            risk = nature.mistake if known else WITHOUT[name]
            if self._dice.random() < risk:
                self._fail(session, subject)
                mistaken.add(subject)
            said = "Done. The change is in place and the suite passes."
            if known and self._dice.random() < nature.addressed:
                said = f"Done. {subject.done}"
            if known and self._dice.random() < nature.blamed:
                said += f" Lesson {given.index(ids[subject.title]) + 1} was misleading here."
            self._occur(session, "stop", text=said)
        return mistaken

    def _fail(self, session: str, subject: Subject) -> None:
        if self._dice.random() < COMPLAINS:
            self._occur(session, "stop", text="Done. It works now.")
            text = f"It is still broken, the same bug again: {subject.symptom}."
            self._occur(session, "prompt", text=text)
            return
        self._occur(
            session,
            "after",
            tool="Bash",
            arguments={"command": "make verify"},
            outcome="exec_error",
            output=subject.failure,
        )

    def _occur(self, session: str, what: str, **more: Any) -> Any:
        hook_event = HookEvent(
            what=what,
            agent="claude-code",
            session=session,
            directory=self._project,
            at=self._clock.move(20),
            **more,
        )
        return respond(hook_event, Capabilities(), find=lambda _directory: self._brain)


def _write(brain: Brain, subject: Subject, day: str) -> str:
    items = "\n".join(f"- {item}" for item in subject.items)
    text = (
        f"---\ntype: lesson\ntitle: {subject.title}\nsymptoms:\n  - {subject.symptom}\n"
        f"created: {day}\nlast-seen: {day}\n---\n\n"
        f"## Root Cause\n\n{subject.title}.\n\n## Prevention Checklist\n\n{items}\n"
    )
    return brain.cards.add(text, kind="lesson", title=subject.title).id


def judge(folder: Path, truth: dict[str, str]) -> tuple[dict[tuple[str, str], int], Overview]:
    """Return (nature, verdict) → how many lessons, and all that `stats` says."""
    with Brain.open(folder, directory=folder.parent / "shop", project="shop") as brain:
        overview = brain.stats.overview()
    table: dict[tuple[str, str], int] = {}
    for effect in overview.effects:
        if nature := truth.get(effect.card.id):
            key = (nature, effect.verdict)
            table[key] = table.get(key, 0) + 1
    return table, overview


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Play the history with several seeds and print truth beside verdict."""
    seeds = range(options.seed, options.seed + (QUICK_SEEDS if options.quick else SEEDS))
    sessions = QUICK_SESSIONS if options.quick else SESSIONS
    total: dict[tuple[str, str], int] = {}
    for seed in seeds:
        with tempfile.TemporaryDirectory() as place, _own_state(place):
            folder = Path(place) / "brain"
            started = time.perf_counter()
            truth = play(folder, sessions=sessions, seed=seed)
            table, _overview = judge(folder, truth)
            report.tell(f"seed {seed}: {time.perf_counter() - started:.1f} s")
        for key, count in table.items():
            total[key] = total.get(key, 0) + count
    headers = ("truly", *VERDICTS)
    rows = [[nature, *(str(total.get((nature, v), 0)) for v in VERDICTS)] for nature in NATURES]
    title = f"{sessions} sessions, {len(seeds)} times with other dice, {len(SUBJECTS)} lessons"
    report.print_table(f"Truth beside the verdict of `lessons stats`: {title}", headers, rows)
    return {"sessions": sessions, "table": {f"{n} / {v}": c for (n, v), c in total.items()}}


def _own_state(place: str) -> Any:
    return mock.patch.dict("os.environ", {"LESSONS_STATE_HOME": f"{place}/state"})
