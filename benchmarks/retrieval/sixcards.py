"""Six cards, prompts that paraphrase them, unrelated ones; alone and among many other cards."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks import report
from benchmarks.brains import write_settings
from benchmarks.generate import learn_statistics, write_cards
from benchmarks.ours import open_indexed, private_state
from lessons_kb.model import KINDS

if TYPE_CHECKING:
    import argparse
    from typing import Any

    from lessons_kb import Brain

OTHERS = (0, 1_000, 10_000)


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """A card and the prompts that should draw it."""

    name: str
    text: str
    plain: str
    """An everyday prompt that says it in other words."""
    hard: str
    """A prompt that shares hardly a word with the card's title and checklist."""


def _card(
    title: str, symptoms: tuple[str, ...], mistake: str, why: str, items: tuple[str, ...]
) -> str:
    lines = ["---", "type: lesson", f"title: {title}", "severity: high", "symptoms:"]
    lines += [f"  - {symptom}" for symptom in symptoms]
    lines += ["---", "", "## Mistake / Risk", "", mistake, "", "## Root Cause", "", why, ""]
    lines += ["## Prevention Checklist", "", *(f"- [ ] {item}" for item in items), ""]
    return "\n".join(lines)


CASES = (
    Case(
        name="allowlist",
        text=_card(
            "Remote execution by Telegram must require an allowlist",
            ("steer a machine from the phone", "chat command that starts a script"),
            "Any member of the group could run shell commands through the bot.",
            "The handler never looked at the sender of the message.",
            (
                "Reject every chat id that is not on the allowlist",
                "Cover the rejection with a test",
            ),
        ),
        plain="Add a /restart command to the telegram bot so that I can restart the worker remotely",
        hard="I'd like to steer the build machine from my phone while I'm on the train",
    ),
    Case(
        name="migration",
        text=_card(
            "A column is dropped one release after its last reader is gone",
            ("get rid of a field in a record", "old pods fail during the rollout"),
            "The migration dropped a column while the previous version was still serving.",
            "Deployments roll: for minutes two versions of the code use one database schema.",
            (
                "Stop reading the column in one release, drop it in the next",
                "Run the old tests on the new schema",
            ),
        ),
        plain="Write a migration that drops the legacy_name column from the users table",
        hard="We have a field in the customer record that nobody needs any more, get rid of it",
    ),
    Case(
        name="timezone",
        text=_card(
            "Store timestamps in UTC, convert them only for display",
            (
                "a report or summary is an hour off",
                "entries show up on the wrong day after the clocks change",
            ),
            "Bookings were saved in local time and moved by an hour at daylight saving.",
            "datetime.now() without a zone was written to the database.",
            (
                "Use timezone-aware datetimes in UTC",
                "Test the hours around a daylight saving change",
            ),
        ),
        plain="The booking form should save the start timestamp of an appointment in the database",
        hard="Since last Sunday my weekly summary is one hour off, have a look",
    ),
    Case(
        name="retry",
        text=_card(
            "Retries need an idempotency key",
            ("customers are billed twice for one order", "the same order arrives two times"),
            "A payment request was repeated after a timeout and charged the card again.",
            "The first request had succeeded; only its answer was lost.",
            (
                "Send an idempotency key with every payment request",
                "Retry only with exponential backoff",
            ),
        ),
        plain="Retry the payment request when the gateway times out",
        hard="Some people complain that they were billed twice this week",
    ),
    Case(
        name="cache",
        text=_card(
            "A cache key must contain the tenant",
            ("a user sees somebody else's data", "the logo of another company appears after login"),
            "Dashboards of one customer were served to another one from the cache.",
            "The key was made of the path alone, the tenant came from a header.",
            ("Put the tenant id into every cache key", "Test with two tenants one after the other"),
        ),
        plain="Cache the dashboard response in Redis for five minutes for each tenant",
        hard="Two companies share the site and one of them got the wrong company's logo",
    ),
    Case(
        name="korean",
        text=_card(
            "파일을 저장할 때는 인코딩을 항상 명시한다",
            ("엑셀로 열면 글자가 깨진다", "윈도우에서만 한글이 이상하게 보인다"),
            "윈도우에서 저장한 CSV 파일의 한글이 모두 물음표로 바뀌었다.",
            "open() 함수의 기본 인코딩이 운영체제마다 다르다.",
            ("파일을 열 때 encoding을 지정한다", "한글이 들어 있는 파일로 테스트한다"),
        ),
        plain="보고서를 CSV 파일로 저장하는 기능을 추가하고 파일 인코딩도 맞춰줘",
        hard="고객이 보내준 표를 엑셀에서 열었더니 글자가 깨져서 나와",
    ),
)
UNRELATED = (
    "What would be a nice name for our bowling team?",
    "Explain the difference between a list and a tuple",
    "Please shorten the second paragraph of the introduction",
    "점심 메뉴 추천해줘",
)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Count right first lessons and silent prompts; print a table."""
    figures: dict[str, Any] = {}
    for others in OTHERS[:2] if options.quick else OTHERS:
        with (
            tempfile.TemporaryDirectory(prefix="lessons-bench-") as name,
            private_state(Path(name)),
        ):
            figures[str(others)] = _measure(Path(name) / "brain", others, options.seed)
    rows = [[key, *(str(row[part]) for part in _PARTS)] for key, row in figures.items()]
    headers = ["other cards", "plain: first", "plain: injected", "hard: first", "hard: injected"]
    report.print_table(
        f"Six cards, six plain prompts, six hard ones, {len(UNRELATED)} unrelated",
        [*headers, "unrelated: silent"],
        rows,
    )
    return {"six_cards": figures}


_PARTS = ("plain_first", "plain_injected", "hard_first", "hard_injected", "silent")


def write_six(folder: Path, others: int, seed: int) -> None:
    """Write a brain of the six cards and so many generated others."""
    if others:
        write_cards(folder, learn_statistics(), others, seed=seed)
    write_settings(folder)
    (folder / "lessons").mkdir(parents=True, exist_ok=True)
    for case in CASES:
        (folder / "lessons" / f"{case.name}.md").write_text(case.text, encoding="utf-8")


def _measure(folder: Path, others: int, seed: int) -> dict[str, Any]:
    write_six(folder, others, seed)
    with open_indexed(folder) as brain:
        plain = {case.name: _ask(brain, case.plain, case) for case in CASES}
        hard = {case.name: _ask(brain, case.hard, case) for case in CASES}
        shown = {prompt: len(_injected(brain, prompt)) for prompt in UNRELATED}
    return {
        "plain_first": sum(first for first, _ in plain.values()),
        "plain_injected": sum(injected for _, injected in plain.values()),
        "hard_first": sum(first for first, _ in hard.values()),
        "hard_injected": sum(injected for _, injected in hard.values()),
        "silent": sum(count == 0 for count in shown.values()),
        "missed": sorted(
            f"{case} ({kind})"
            for kind, found in (("plain", plain), ("hard", hard))
            for case, (_, injected) in found.items()
            if not injected
        ),
    }


def _ask(brain: Brain, prompt: str, case: Case) -> tuple[bool, bool]:
    """Return whether the card is first in the ranking, and whether it is injected first."""
    expected = f"lessons/{case.name}.md"
    ranked = [hit.card.id for hit in brain.search(prompt, kinds=KINDS, limit=1)]
    return ranked[:1] == [expected], _injected(brain, prompt)[:1] == [expected]


def _injected(brain: Brain, prompt: str) -> list[str]:
    return [hit.card.id for hit in brain.preflight(prompt, context=False).lessons]
