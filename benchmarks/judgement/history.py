"""A simulated history: does `lessons stats` recover which lessons help, do nothing, or harm?

Two parts. Sessions of a coding agent are played through the hooks' own entry
(`session.dispatch.respond`) into a copy of the example brain. Dice of a known bias decide whether a
mistake is made in a session on its subject: a line is written, an error printed or a test fails, in
words that no card has; each lesson is withheld from half of the sessions. With it the bias of the
dice is another, the same or a worse one. The second part takes sixty lessons, weak ones among them,
through many more sessions, from events on, without the search. `stats` sees the journal only.
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
from lessons_kb.ledger.lesson_effect import VERDICTS
from lessons_kb.model import WITHHELD, Event
from lessons_kb.outcome.post_check import judge_steps, read_facts, read_steps
from lessons_kb.session.dispatch import respond
from lessons_kb.session.event_types import Capabilities, HookEvent
from lessons_kb.store.locations import user_settings_path

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any

    from lessons_kb.ledger.lesson_effect import Overview

EXAMPLE = Path(__file__).parents[2] / "brain-example"
SESSIONS, QUICK_SESSIONS = 200, 100
DAYS = 84
SEEDS, QUICK_SEEDS = 5, 1
CORRECTS = 0.3
"""Share of the mistakes that the agent puts right in the session."""
OCCASIONS, QUICK_OCCASIONS = 240, 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Nature:
    """What a lesson truly does."""

    verdict: str
    """What `stats` should say of it."""
    mistake: float
    """Probability of the mistake in a session that was given the lesson."""
    addressed: float
    """Probability that the answer shows its checklist."""


WITHOUT = {"prevents": 0.55, "does nothing": 0.55, "harms": 0.2}
"""Nature → probability of the mistake in a session on its subject without the lesson."""
NATURES = {
    "prevents": Nature(verdict="helps", mistake=0.06, addressed=0.9),
    "does nothing": Nature(verdict="no effect", mistake=0.55, addressed=0.3),
    "harms": Nature(verdict="harms", mistake=0.75, addressed=0.5),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Subject:
    """Something to work on, the mistake made there, and the lesson about it."""

    title: str
    symptom: str
    items: tuple[str, str]
    prompts: tuple[str, str]
    done: str

    @property
    def word(self) -> str:
        """What tells its files, tests and errors from others."""
        return self.title.split()[0].lower()

    @property
    def fact(self) -> str:
        """What shows its mistake: a line of code, a failing test, or an error."""
        return ("pattern", "test", "error")[len(self.title) % 3]

    @property
    def printed(self) -> str:
        """What a run prints of the mistake."""
        if self.fact == "test":
            return f"FAILED tests/test_{self.word}.py::test_it - assert 41 == 42"
        return f"E   RuntimeError: {self.word} gave up after 3 tries"


def _subject(title: str, symptom: str, items: str, prompts: str, done: str) -> Subject:
    first, second = items.split(" | ")
    one, other = prompts.split(" | ")
    return Subject(
        title=title,
        symptom=symptom,
        items=(first, second),
        prompts=(one, other),
        done=done,
    )


SUBJECTS = (
    _subject(
        "Invoice totals drift because amounts are summed as floats",
        "invoice total is off by one cent",
        "Sum invoice amounts as Decimal | Round once, at the end of the invoice",
        "Add a discount line to the invoice total | Show the invoice amounts summed per customer",
        "I sum the invoice amounts as Decimal and round once, at the end of the invoice.",
    ),
    _subject(
        "Timezone of the nightly report shifts its day boundary",
        "nightly report misses the last hour of the day",
        "Compute the report's day boundary in the shop's timezone | Test the nightly report at 23:30",
        "Change the day boundary of the nightly report | Send the nightly report in another timezone",
        "The day boundary of the report is computed in the shop's timezone; tested at 23:30 nightly.",
    ),
    _subject(
        "Websocket reconnect storms the gateway without jitter",
        "gateway refuses websocket clients after a reconnect",
        "Back off websocket reconnects with jitter | Cap concurrent reconnects at the gateway",
        "Make the websocket client reconnect by itself | Tune the gateway for websocket reconnects",
        "Websocket reconnects back off with jitter, and the gateway caps concurrent reconnects.",
    ),
    _subject(
        "Thumbnail worker leaks file handles of rotated images",
        "too many open files in the thumbnail worker",
        "Close image handles in the thumbnail worker | Run the worker on five hundred rotated images",
        "Rotate images in the thumbnail worker | Speed up the thumbnail worker for large images",
        "The thumbnail worker closes its image handles; I ran the worker on five hundred rotated images.",
    ),
    _subject(
        "Search facets count hidden products of other tenants",
        "facet counts show products of other tenants",
        "Filter facets by tenant before counting | Cover hidden products of another tenant by a test",
        "Add a colour facet to the product search | Count products per facet in the tenant search",
        "Facets are filtered by tenant before counting; hidden products of another tenant have a test.",
    ),
    _subject(
        "Password reset mail links to the staging host",
        "password reset mail opens the staging host",
        "Build the reset link from the public host setting | Check the host of the password reset mail",
        "Reword the password reset mail | Let the password reset mail carry a new link",
        "The reset link is built from the public host setting; a check looks at the reset mail's host.",
    ),
    _subject(
        "Cache key of the price endpoint ignores the currency",
        "price endpoint answers in the wrong currency from the cache",
        "Put the currency into the cache key of prices | Request the price endpoint in two currencies",
        "Cache the price endpoint for ten minutes | Add a currency parameter to the price endpoint",
        "The currency is in the cache key of prices; I requested the price endpoint in two currencies.",
    ),
    _subject(
        "Kafka consumer commits offsets before the order is stored",
        "orders lost after the kafka consumer restarts",
        "Store the order before its kafka offset is committed | Kill the consumer between both in a test",
        "Batch the orders in the kafka consumer | Let the kafka consumer store orders in bulk",
        "The order is stored before its kafka offset is committed; a test kills the consumer between.",
    ),
    _subject(
        "Markdown preview runs scripts of pasted comments",
        "script tag of a comment runs in the markdown preview",
        "Sanitise comments in the markdown preview | Paste a script tag in a preview test",
        "Render tables in the markdown preview of comments | Show pasted images in the markdown preview",
        "Comments are sanitised in the markdown preview; a preview test pastes a script tag.",
    ),
    _subject(
        "Upload quota is checked after the archive is unpacked",
        "disk full while an uploaded archive is unpacked",
        "Check the upload quota before unpacking | Refuse an archive bomb in a test",
        "Accept zip archives in the upload form | Raise the upload quota for archives",
        "The upload quota is checked before unpacking; an archive bomb is refused in a test.",
    ),
    _subject(
        "Feature flag defaults to on when the flag service is down",
        "feature switched on although the flag service is down",
        "Default every feature flag to off | Stop the flag service in a test",
        "Put the new checkout behind a feature flag | Read the feature flag from the flag service",
        "Every feature flag defaults to off; a test stops the flag service.",
    ),
    _subject(
        "Pagination skips rows when the sort column has ties",
        "rows skipped between two pages with ties in the sort column",
        "Add the primary key to the sort column of pages | Page through rows with ties in a test",
        "Add pagination to the orders list | Sort the paginated rows by date",
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
    folder: Path,
    *,
    sessions: int = SESSIONS,
    seed: int = 1,
    now: float | None = None,
    subjects: Sequence[Subject] = SUBJECTS,
) -> dict[str, str]:
    """Play sessions that end ``now`` into a new brain at ``folder``; return card id → its nature.

    The lessons are there from the start and, as the user's settings say, withheld from half of
    the sessions.
    """
    # A card of the example that is about a subject, too, would take the place of its lesson.
    left_out = shutil.ignore_patterns(".lessons", "money-in-floats.md")
    shutil.copytree(EXAMPLE, folder, ignore=left_out)
    project = folder.parent / "shop"
    project.mkdir(exist_ok=True)
    dice = Random(seed)
    subjects = list(subjects)
    dice.shuffle(subjects)
    natures = [list(NATURES)[place % len(NATURES)] for place in range(len(subjects))]
    end = time.time() if now is None else now
    clock = _Clock(end - DAYS * 86_400)
    path = Path(user_settings_path())
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("[effect]\nwithhold = 0.5\n")
    module = SimpleNamespace(time=clock.time)
    with (
        Brain.open(folder, directory=project, project="shop") as brain,
        mock.patch("lessons_kb.ledger.given.time", module),
        mock.patch("lessons_kb.ledger.withheld.time", module),
        mock.patch(
            "lessons_kb.store.secrets.withhold_key", return_value=Random(seed).randbytes(32)
        ),
    ):
        day = dt.datetime.fromtimestamp(clock.at).date().isoformat()
        ids = {subject.title: _write(brain, subject, day) for subject in subjects}
        player = _Player(brain, str(project), dice, clock)
        for number in range(sessions):
            clock.move(DAYS * 86_400 / sessions - 3_600)
            chosen = dice.sample(range(len(subjects)), k=min(4, len(subjects)))
            work = [(subjects[n], natures[n]) for n in chosen]
            player.play(f"session-{number}", work, ids)
            clock.move(3_600 - clock.at % 1)
    return {ids[s.title]: nature for s, nature in zip(subjects, natures, strict=True)}


class _Player:
    """An agent whose mistakes are dice."""

    def __init__(self, brain: Brain, project: str, dice: Random, clock: _Clock) -> None:
        self._brain = brain
        self._project = project
        self._dice = dice
        self._clock = clock

    def play(self, session: str, work: Sequence[tuple[Subject, str]], ids: dict[str, str]) -> None:
        """Play a session."""
        for subject, name in work:
            answer = self._occur(session, "prompt", text=self._dice.choice(subject.prompts))
            blocks = answer.block.lessons if answer.block else ()
            given = [hit.card.id for hit in blocks]
            nature = NATURES[name]
            known = ids.get(subject.title) in given
            risk = nature.mistake if known else WITHOUT[name]
            wrong = self._dice.random() < risk
            self._work(session, subject, wrong=wrong)
            if wrong and self._dice.random() < CORRECTS:
                self._work(session, subject, wrong=False)
            said = "Done. The change is in place and the suite passes."
            if known and self._dice.random() < nature.addressed:
                said = f"Done. {subject.done}"
            self._occur(session, "stop", text=said)

    def _work(self, session: str, subject: Subject, *, wrong: bool) -> None:
        """Write a line, or run the tests."""
        if subject.fact == "pattern":
            lines = [f"    {subject.word}(item, {way})" for way in ("fast=True", "slow=True")]
            new, old = lines if wrong else lines[::-1]
            path = Path(self._project, f"{subject.word}.py")
            path.write_text(new)
            arguments = {"file_path": str(path), "old_string": old, "new_string": new}
            made = {"tool": "Edit", "arguments": arguments, "before": old, "output": new}
        else:
            command = f"pytest tests/test_{subject.word}.py"
            outcome, output = ("exec_error", subject.printed) if wrong else ("ok", "")
            made = {"tool": "Bash", "arguments": {"command": command}}
            made |= {"outcome": outcome, "output": output}
        self._occur(session, "after", **made)

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
    detect = f"detect:\n  - regex: '{subject.word}\\(.*fast=True'\n"
    excerpt = f"## Situation\n\n```\n{subject.printed}\n```\n\n"
    text = (
        f"---\ntype: lesson\ntitle: {subject.title}\nsymptoms:\n  - {subject.symptom}\n"
        f"{detect if subject.fact == 'pattern' else ''}"
        f"created: {day}\nlast-seen: {day}\n---\n\n"
        f"{excerpt if subject.fact != 'pattern' else ''}"
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


SHARES = {
    "prevents": ((0.6, 0.06), (0.4, 0.02)),
    "prevents half": ((0.6, 0.3), (0.7, 0.35)),
    "does nothing": ((0.5, 0.5), (0.3, 0.3)),
    "harms": ((0.2, 0.6), (0.1, 0.4)),
}
"""Nature of one of sixty lessons → how often its mistake is left without it and with it."""
MEANT = {
    "prevents": "helps",
    "prevents half": "helps",
    "does nothing": "no effect",
    "harms": "harms",
}


def play_sixty(
    folder: Path, *, occasions: int = OCCASIONS, seed: int = 1
) -> tuple[dict[tuple[str, str], int], float]:
    """Return (nature, verdict) → lessons, and the share of intervals that hold the truth.

    Each lesson meets its occasion in so many sessions of its own and is withheld in half of them;
    what became of its mistake is judged from the session's events.
    """
    dice = Random(seed)
    table: dict[tuple[str, str], int] = {}
    held = 0
    names = [f"{first}{last}" for first in "bcdfghjklmnp" for last in "aeiou"]
    natures = [list(SHARES)[place % len(SHARES)] for place in range(len(names))]
    with Brain.open(_make_sixty(folder, names), directory=folder) as brain:
        layer = brain.members[0]
        brain.refresh()
        truth: dict[str, tuple[str, float]] = {}
        for place, (name, nature) in enumerate(zip(names, natures, strict=True)):
            without, with_it = SHARES[nature][place // len(SHARES) % 2]
            card = brain.cards.get(f"lessons/{name}.md")
            truth[card.id] = nature, without - with_it
            facts = read_facts(layer, card)
            with layer.journal.transaction():
                for number in range(occasions):
                    told = dice.choice(("block", WITHHELD))
                    left = dice.random() < (with_it if told == "block" else without)
                    events = _make_events(name, left=left, corrected=dice.random() < CORRECTS)
                    outcome, fact = judge_steps(facts, read_steps(events, brain.members))
                    session = f"{name}-{number}"
                    layer.journal.ledger.note(
                        session=session, card=card.id, at=time.time(), occasion="prompt",
                        told=told, outcome=outcome, fact=fact,
                    )  # fmt: skip
        for effect in brain.stats.overview().effects:
            nature, difference = truth[effect.card.id]
            table[nature, effect.verdict] = table.get((nature, effect.verdict), 0) + 1
            held += effect.interval[0] <= difference <= effect.interval[1]
    return table, held / len(names)


def _make_sixty(folder: Path, names: Sequence[str]) -> Path:
    """Write cards of which each is known by a pattern, a test or an error alone."""
    (folder / "lessons").mkdir(parents=True)
    (folder / "lessons.toml").write_text("")
    for place, name in enumerate(names):
        shown = f"```\n{_print_failure(name, place)}\n```\n"
        detect = f"detect:\n  - regex: '{name}\\(fast'\n" if place % 3 == 0 else ""
        text = f"---\ntitle: What nobody says the same way twice\n{detect}---\n\n"
        (folder / "lessons" / f"{name}.md").write_text(f"{text}{'' if detect else shown}\n- Look\n")
    return folder


def _print_failure(name: str, place: int) -> str:
    test = f"FAILED tests/test_{name}.py::test_it - assert 1 == 2"
    return test if place % 3 == 1 else f"RuntimeError: {name} is stuck"


def _make_events(name: str, *, left: bool, corrected: bool) -> list[Event]:
    """Return a session that leaves a mistake, or makes and corrects it, or avoids it."""
    steps = [True] if left else [True, False] if corrected else [False]
    events = []
    for number, wrong in enumerate(steps):
        new, old = (
            f"{name}({how}, 1)" for how in (("fast", "slow") if wrong else ("slow", "fast"))
        )
        edit = {"targets": (f"{name}.py",), "output": new, "record": {"before": old}}
        events.append(Event(kind="edit", id=f"e{number}", scope="/shop", tool="Edit", **edit))
        printed = "\n".join(_print_failure(name, place) for place in (1, 2)) if wrong else ""
        how = {"outcome": "exec_error" if wrong else "ok", "output": printed}
        events.append(
            Event(kind="test", id=f"t{number}", text=f"pytest tests/test_{name}.py", **how)
        )
    return events


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Play both histories with several seeds and print truth beside verdict."""
    seeds = range(options.seed, options.seed + (QUICK_SEEDS if options.quick else SEEDS))
    sessions = QUICK_SESSIONS if options.quick else SESSIONS
    occasions = QUICK_OCCASIONS if options.quick else OCCASIONS
    data: dict[str, Any] = {"sessions": sessions, "occasions": occasions}
    held: list[float] = []
    for what, natures in (("withheld", NATURES), ("sixty", SHARES)):
        total: dict[tuple[str, str], int] = {}
        for seed in seeds:
            with tempfile.TemporaryDirectory() as place, _own_state(place):
                folder, started = Path(place) / "brain", time.perf_counter()
                if what == "sixty":
                    table, share = play_sixty(folder, occasions=occasions, seed=seed)
                    held.append(share)
                else:
                    truth = play(folder, sessions=sessions, seed=seed, subjects=SUBJECTS[:3])
                    table, _overview = judge(folder, truth)
                report.tell(f"{what}, seed {seed}: {time.perf_counter() - started:.1f} s")
            for key, count in table.items():
                total[key] = total.get(key, 0) + count
        rows = [[nature, *(str(total.get((nature, v), 0)) for v in VERDICTS)] for nature in natures]
        title = {
            "withheld": f"{sessions} sessions, three lessons, each withheld from half of them",
            "sixty": f"sixty lessons of {occasions} sessions each, withheld from half of them",
        }[what]
        report.print_table(f"{title}; {len(seeds)} times", ("truly", *VERDICTS), rows)
        data[what] = {f"{nature} / {verdict}": n for (nature, verdict), n in total.items()}
    data["held"] = sum(held) / len(held)
    print(f"95 % intervals of sixty lessons that hold the truth: {100 * data['held']:.1f} %")
    return data


def _own_state(place: str) -> Any:
    own = {"LESSONS_STATE_HOME": f"{place}/state", "XDG_CONFIG_HOME": f"{place}/config"}
    return mock.patch.dict("os.environ", own)
