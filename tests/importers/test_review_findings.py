"""A review synthesis as findings."""

import contextlib
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lessons_kb.errors import InputError

REVIEW = """\
# Review synthesis: checkout

- **Claim ledger:**

  | # | Claim | State | Spec-maturity | Supporting |
  |---|---|---|---|---|
  | C1 | **A retry charges twice.** No key is sent. | Evidenced | plan-level | analyst (F1, F2 (late)), tester |
  | C2 | Users will want SMS receipts | Anecdotal (one ticket) | spec-level | junior |
  | C3 | The cart needs Redis | Disputed → reversed by the user | – | architect; ops |
  | C4 | Something old | Resolved by the spec | plan-level | x |

## Deferred (YAGNI)

### Shared refusal file

- **Why deferred:** two consumers today.
- **Reopen when:** a third one needs the words.
- **Source:** structural-analyst.

| Deferred | Why | Reopen trigger |
|---|---|---|
| Several currencies | nobody asked | the first EU customer signs |

- Cron triggering — reopen when the loop is proven
"""


def test_claims_and_deferrals_become_findings_and_the_rest_is_named(plan):
    found = plan("review", "r/review.md", REVIEW)
    claims, deferrals = found.lessons[:3], {one.title: one for one in found.lessons[3:]}
    first, _second, third = claims
    assert (first.kind, first.title) == ("qa-finding", "A retry charges twice")
    assert first.where == "r/review.md:7"
    assert [one.evidence for one in claims] == ["evidenced", "anecdotal", "disputed"]
    assert first.supported_by == ("analyst (F1, F2 (late))", "tester")
    assert third.supported_by == ("architect", "ops")
    assert "Reversed by the user" in dict(third.sections)["Situation"]
    assert {title: lesson.reopen_when for title, lesson in deferrals.items()} == {
        "Shared refusal file": "a third one needs the words",
        "Several currencies": "the first EU customer signs",
        "Cron triggering": "the loop is proven",
    }
    refusal = deferrals["Shared refusal file"]
    assert dict(refusal.sections)["Root Cause"] == "two consumers today."
    assert refusal.supported_by == ("structural-analyst",)
    assert [(one.where, one.reason) for one in found.passed_over] == [
        ("r/review.md:10", "its state is 'Resolved by the spec'"),
    ]


@pytest.mark.parametrize(("text", "found"), [
    ("- **Deferred:**\n  - Cache → LATER (one user)\n- **Tags:** plan-level: C1\n",
     [("Cache", None, "one user")]),
    ("## YAGNI\n\n- Cache\n- Sharding\n  - Reopen when: it is slow\n- Reopen when: never\n",
     [("Cache", None, None), ("Sharding", "it is slow", None)]),
    ("## Deferred (YAGNI)\n\n**Side panel:** no caller. Reopen trigger: the sheet ships.\n",
     [("Side panel", "the sheet ships", None)]),
], ids=["to the next label", "by what is below alone", "a bold lead"])  # fmt: skip
def test_a_deferral_may_be_an_item_or_a_paragraph(plan, text, found):
    reading = plan("review", "r.md", text)
    assert [
        (one.title, one.reopen_when, dict(one.sections).get("Root Cause"))
        for one in reading.lessons
    ] == found
    assert reading.passed_over == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(alphabet=st.sampled_from("#-*|`: \n\tabC1.)→"), max_size=200))
def test_any_text_can_be_read(plan, text):
    with contextlib.suppress(InputError):
        plan("review", "r.md", f"| # | Claim | State |\n|---|---|---|\n{text}\n## YAGNI\n{text}")


def test_a_state_is_found_in_any_column_that_may_have_it(plan):
    table = """\
| Claim | Evidence | Supported-by | Verdict |
|---|---|---|---|
| The cache is never emptied | evidenced | alice, bob | |
| Sleeping makes the tests slow | anecdotal | carol | accepted |
| The build is not repeatable | two logs | dave | Disputed |
| Nobody has looked at it | none | erin | open |

| Deferred item | Reopen-when |
|---|---|
| Several currencies | the first EU customer signs |
"""
    reading = plan("review", "review.md", table)
    assert [(one.evidence, one.supported_by) for one in reading.lessons[:3]] == [
        ("evidenced", ("alice", "bob")), ("anecdotal", ("carol",)), ("disputed", ("two logs", "dave")),
    ]  # fmt: skip
    assert reading.lessons[3].reopen_when == "the first EU customer signs"
    (passed,) = reading.passed_over
    assert (passed.title, passed.where) == ("Nobody has looked at it", "review.md:6")
    assert passed.reason == "nothing says whether it is evidenced, anecdotal or disputed"


def test_the_decision_about_an_item_shows_whether_it_is_deferred(plan):
    text = """\
## YAGNI ledger

- P1 a queue of retries → DEFER (one instance today). Reopen: a second gateway. Source: on-call R1.
- P4 WalletPort interface → REPLACE with one function. Source: architect R1.
- P5 counters for each reason → DEFER, the log is enough. Source: analyst R2.
"""
    found = plan("review", "r.md", text)
    queue, counters = found.lessons
    assert (queue.title, queue.reopen_when) == ("P1 a queue of retries", "a second gateway")
    assert (queue.topics, queue.supported_by) == (("deferred",), ("on-call R1",))
    assert dict(queue.sections)["Root Cause"] == "one instance today"
    assert (counters.reopen_when, counters.topics) == (None, ("deferred",))
    assert [(one.title, one.reason) for one in found.passed_over] == [
        ("P4 WalletPort interface", "decided: replace")
    ]


def test_a_missing_ledger_is_reported(plan):
    text = "Claim and state were lost.\n\nClaim\n\nState of the art\n"
    with pytest.raises(InputError, match=r"^r.txt: no table with the columns Claim and State; "):
        plan("review", "r.txt", text)


@pytest.mark.parametrize("text", [
    "## YAGNI\n\n- a" + " " * 200_000 + "b\n",
    "| Claim | State |\n|---|---|\n| a" + " " * 200_000 + "b | Evidenced |\n",
    "State | " * 80_000,
])  # fmt: skip
def test_runs_of_blanks_and_words_take_no_time(plan, text):
    began = time.process_time()
    with contextlib.suppress(InputError):
        plan("review", "r.md", text)
    assert time.process_time() - began < 30
