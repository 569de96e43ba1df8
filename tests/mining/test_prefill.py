"""A mined draft takes over only text that a person would have written in the same place."""

import pytest

from lessons_kb.cards.sections import read_checklist, read_sections
from lessons_kb.mining.candidates import Candidate
from lessons_kb.mining.commit_facts import CommitFacts
from lessons_kb.mining.draft_text import list_signs, sketch_candidate, sketch_session
from lessons_kb.mining.triggers import Sighting
from lessons_kb.model import Event


def sketch(*, subject="fix: do not bill twice", body="", paths=(), causes=(), diff="", **sighting):
    facts = CommitFacts(id="a" * 40, at=1.0, subject=subject, body=body, causes=tuple(causes))
    seen = (Sighting(session="s", agent="codex", at=1.0, **sighting),) if sighting else ()
    candidate = Candidate(
        id="a", title=subject, occurrences=1, at=1.0, rank=1.0, reasons=(), paths=tuple(paths),
        sightings=seen, commits=(facts,),
    )  # fmt: skip
    prompts = seen[0].prompts if seen else ()
    return sketch_candidate(candidate, prompts=prompts, diff=diff)


def list_items(**commit):
    text = sketch(**commit).sections.get("Prevention Checklist", "")
    return [item.text for item in read_checklist(read_sections(f"## Prevention\n\n{text}\n")).items]


def find_cause(**commit):
    return sketch(**commit).sections.get("Root Cause", "")


def write_patch(path, *, lines=1):
    rows = "".join(f"+line {number}\n" for number in range(lines))
    header = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n"
    return header + rows


WITH_EVERYTHING = (
    "README.md", "src/pay.py", "CHANGELOG.md", "docs/pay.md", "docs/conf.py", "examples/demo.py",
    "package-lock.json", "go.sum", "uv.lock", "pyproject.toml", "tests/test_pay.py", "pay_test.go",
    "web/pay.spec.ts", "dist/pay.js",
)  # fmt: skip


@pytest.mark.parametrize(("changed", "guarded"), [
    (WITH_EVERYTHING, ("src/pay.py",)),
    (("README.md", "CHANGELOG.md", ".github/workflows/ci.yml"), (".github/workflows/ci.yml",)),
    (("CHANGELOG.md", "docs/setup.md"), ("docs/setup.md",)),
    (("examples/demo.py", "README.md"), ("examples/demo.py",)),
    (("CHANGELOG.md", "uv.lock"), ()),
    (("tests/test_pay.py", "CHANGELOG.md"), ("tests/test_pay.py",)),
])  # fmt: skip
def test_a_card_guards_source_files_and_not_what_a_fix_changes_beside_them(changed, guarded):
    assert sketch(paths=changed).paths == guarded
    edit = Event(kind="edit", at=1.0, targets=changed)
    assert sketch_session([edit]).paths == guarded


def test_a_card_guards_the_files_that_a_fix_is_about():
    files = ("core/charge.py", "core/models.py", "core/imports.py", "core/key.py")
    diff = write_patch(files[0], lines=40) + write_patch(files[1], lines=20)
    diff += write_patch(files[2]) + write_patch(files[3])
    subject = "Send the key again when a charge is retried"
    assert sketch(paths=files, diff=diff, subject=subject).paths == (*files[:2], files[3])


SQUASHED = """\
* fix: enforce the validation of a redirect

* Update models.py

no need to return twice

* update style

* Update the tests

* test: fix dirs test

* Use ruff

* Run the tests

* Make sure all tests pass

* Add a check

* Check formatting

* Keep the changelog up to date
"""


@pytest.mark.parametrize("body", [
    SQUASHED, "Handle merge conflicts.", "chore: always sort the imports", "Update charge().",
    "Use the key (see", "Check that `git branch -D", "Always use:", "Set version to 2.0.1.",
    "Move the parser into its own module.", "Remove the flag that nobody reads.",
    "Where the state cannot be written it is said at every prompt, which is better than never.",
    "Use the warning colour for the button and simplify the header.", "Set the limit to forty.",
    "Use the id of the order as the key.", "Wait now before the worker starts.",
    "Don't ask me why it needs a second lock.", "Avoid a round trip on every request.",
    "The worker never looked at the key.", "It should have been closed.", "Should this be cached?",
])  # fmt: skip
def test_no_housekeeping_becomes_an_item(body):
    assert list_items(body=body) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Never call the worker without a lock.",
        "When the schema changes, update the client.",
        "Every handler must check the sender.",
        "Use the id of the order as the key instead of a new one.",
        "Close the response before the next request.",
        "Make sure the lock is free before the worker starts.",
        "Do not update the version of a schema without a migration.",
        "테이블을 직접 고치지 말 것",
    ],
)
def test_an_instruction_becomes_an_item(sentence):
    assert list_items(body=f"It failed.\n\n{sentence}") == [sentence]
    assert list_items(body=f"* {sentence}") == [sentence]


@pytest.mark.parametrize(
    "sentence",
    [
        "This is generally faster than [Manager.StopAll] because it does not wait for servers.",
        "It makes the code simpler because nothing is copied.",
        "These tests are slow because they fail without a cache.",
        "Probably the cache was stale because nobody cleared it.",
        "Was the key lost because the client retried?",
        "TODO: this fails because of the proxy.",
        "It is frustrating to see a build that failed due to a slow machine.",
        "I wish the parser told us the source, but it does not.",
        "Use a pool because a pool is reused.",
        "The key was lost because",
        "which caused the (lost key",
    ],
)
def test_what_gives_no_reason_for_a_failure_is_no_cause(sentence):
    assert find_cause(body=sentence) == ""
    assert find_cause(causes=[sentence]) == ""


@pytest.mark.parametrize(
    "sentence",
    [
        "The key was missing because a retry made a new one.",
        "This happened because the worker never closed the response.",
        "The bank books a charge twice because each retry sends a new key.",
        "A stale lock led to a deadlock.",
        "The root cause is that the path is not escaped.",
    ],
)
def test_a_reason_for_a_failure_is_a_cause(sentence):
    assert find_cause(body=f"fix it\n\n{sentence}") == sentence


@pytest.mark.parametrize(
    "sentence",
    [
        "The retry made a new key, so the bank booked the charge twice.",
        "The export declared the role but never added it, so the import of the runner failed.",
        "The list held every page, which crashed the worker on a large shop.",
        "Previously only the new path was sent, causing the server to reject each comment.",
        "The cache was filled before the settings were read — so a changed limit was ignored.",
    ],
)
def test_what_led_to_a_failure_is_a_cause(sentence):
    message = f"{sentence} Send one key for all attempts. The worker was slow, so it failed."
    assert find_cause(body=message) == sentence
    assert find_cause(body=f"* fix(pay): send one key\n\n{sentence}") == sentence
    assert find_cause(causes=[sentence]) == ""  # a comment describes the code after the fix


@pytest.mark.parametrize(
    "sentence",
    [
        "Send one key for all attempts, so the bank never books twice.",
        "The key is now made once, so no charge was lost.",
        "The worker cannot be stopped, so keep the lock until it fails.",
        "The old tests were slow, so they failed on a busy machine.",
        "The page has a header, so the title was moved.",
        "The retry made a new key, so the bank",
        "It probably raced, so the charge was lost.",
    ],
)
def test_what_a_fix_does_is_no_cause(sentence):
    assert find_cause(body=sentence) == ""
    assert find_cause(body=f"Send one key.\n\n{sentence}") == ""


def test_a_candidate_gives_a_cause_only_if_its_draft_has_it():
    signs = ("gives a cause", "8 lines of tests")

    def list_for(body):
        facts = CommitFacts(id="a" * 40, at=1.0, subject="fix: do not bill twice", body=body)
        return list_signs(
            Candidate(
                id="a", title=facts.subject, occurrences=1, at=1.0, rank=1.0, reasons=signs,
                commits=(facts,),
            )
        )  # fmt: skip

    assert list_for("The ticket describes it.") == ["8 lines of tests"]
    cause = "The key was missing because a retry made a new one."
    assert list_for(cause) == list(signs)
    rule = "Never call the bank without a key."
    assert list_for(f"{cause} {rule}") == [signs[0], "gives 1 instruction", signs[1]]


WRAPPED = """\
The worker is stopped by `git branch -f`, and
`git branch -D` does not. Command wrappers (env, nohup, nice, timeout)
could not be found before this.

    OperationalError: database is locked

TypeError: a is not b
"""
LONG = "Import the orders of each warehouse. Then " + "send all of them to the bank and " * 6


@pytest.mark.parametrize(("facts", "symptoms"), [
    ({"body": WRAPPED}, ("OperationalError: database is locked", "TypeError: a is not b")),
    ({"title": "x", "prompts": (LONG[:199] + "…",)}, ("Import the orders of each warehouse.",)),
    ({"title": "x", "prompts": ("Import all the orders " * 9 + "…",)}, ()),
    ({"title": "x", "prompts": ("Let two workers import",)}, ("Let two workers import",)),
    ({"title": "TypeError: a is not " + "b" * 200, "signature": "typeerror"}, ()),
])  # fmt: skip
def test_a_symptom_is_no_cut_text(facts, symptoms):
    assert sketch(**facts).symptoms == symptoms


@pytest.mark.parametrize(
    "order",
    [
        "Don't retry requests that failed due to authentication errors.",
        "Do not reuse the token, because the request failed with a stale token.",
        "Retry the request because the first token was stale.",
        "Remove the cached token because it was wrong after a restart.",
        "When the login fails, keep the token, because it was lost before.",
        "Never log in twice, which caused a crash.",
    ],
)
def test_an_instruction_is_no_cause(order):
    mechanism = "The token was dropped because the error of another request failed the login."
    assert find_cause(causes=[order]) == find_cause(body=order) == ""
    assert find_cause(causes=[order, mechanism]) == mechanism


@pytest.mark.parametrize(
    "mechanism",
    [
        "Retry failed because the token was stale.",
        "Read requests were lost because the lock was never released.",
        "Start was called twice because the flag was lost.",
        "하지 않은 잠금 때문에 두 번 저장되었다",
    ],
)
def test_a_cause_that_begins_like_an_instruction_stays(mechanism):
    assert find_cause(causes=[mechanism]) == mechanism


@pytest.mark.parametrize(
    "item",
    [
        "Do NOT remove expired tokens here.",
        "Never call this function while the lock is held.",
        "Here, always refresh the token before the request.",
        "Make sure this branch never drops the token.",
    ],
)
def test_an_item_that_points_at_the_code_beside_it_is_left_out(item):
    assert list_items(causes=[item]) == []
    assert list_items(causes=["Do NOT remove expired tokens before the refresh."]) != []


@pytest.mark.parametrize("line", [
    "ok 1 - rejects a key: permission denied",
    "not ok 12 - TypeError: cannot read the id",
    "# fail 1 error: timed out",
    "collected 3 items / 1 error: see below",
    "FAILED tests/test_pay.py::test_twice - KeyError: 'id'",
    "ERROR tests/test_pay.py - ImportError: no module",
    "tests/test_pay.py::test_timed_out PASSED  [ 33%]",
    "========= 1 failed, 2 passed: connection refused in 0.12s =========",
    "____________ test_permission_denied ____________",
    "--- FAIL: TestTimeout (0.00s): connection timed out",
    "test pay::timed_out ... FAILED error: 1",
    "error: test failed, to rerun pass `--lib`",
])  # fmt: skip
def test_a_line_of_a_test_reporter_is_no_symptom(line):
    assert sketch(body=f"Charged twice:\n\n    {line}\n    KeyError: 'id'").symptoms == (
        "KeyError: 'id'",
    )
    assert sketch(title=line, signature="x").symptoms == ()
    assert sketch(title="x", prompts=(line,)).symptoms == ()
