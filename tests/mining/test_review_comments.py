"""Comments of reviewers, as GitHub and GitLab export them, that name a mistake."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.errors import InputError
from lessons_kb.mining.review_comments import read_comments

HUNK = "@@ -1,3 +1,4 @@\n def pay(order):\n+    gateway.charge(order)\n"
WRONG = "This must not retry without a key, because the customer is billed twice."


def github(body, number=1, **more):
    where = {"pull_request_url": "https://api.example.org/repos/o/r/pulls/7", "path": "pay.py"}
    said = {"line": 2, "diff_hunk": HUNK, "created_at": "2026-10-02T10:00:00Z", "body": body}
    return {"id": number, **where, **said, "user": {"login": "ada"}, **more}


def read(*data):
    return read_comments("".join(map(json.dumps, data)), name="comments.json")


def test_a_comment_with_a_cause_and_a_suggestion():
    body = f"{WRONG}\n\n```suggestion\n    gateway.charge(order, key=order.id)\n```"
    (seen,) = read([github(body), github("Good catch, fixed.", 2, in_reply_to_id=1)])
    signals = {"review comment", "gives a cause", "suggests a change", "the author agreed"}
    assert set(seen.signals) == signals
    assert (seen.title, seen.paths, seen.agent) == (WRONG, ("pay.py",), "review")
    assert (seen.session[-8:], seen.at) == ("/pulls/7", 1790935200.0)
    assert seen.diff.splitlines()[-2:] == [
        "-    gateway.charge(order)",
        "+    gateway.charge(order, key=order.id)",
    ]


@pytest.mark.parametrize("body", [
    "nit: rename this, because it reads better", "LGTM!", "Why is this here at all?",
    "Thanks, this avoids the race.", "Done", "", "```suggestion\nx\n```",
])  # fmt: skip
def test_a_comment_without_a_mistake_is_left_out(body):
    assert read([github(body)]) == []


def test_concatenated_pages_are_parsed():
    assert len(read([github(WRONG)], [github(WRONG, 2)])) == 2
    lines = "\n".join(json.dumps(github(WRONG, n)) for n in range(3))
    assert len(read_comments(lines, name="x")) == 3


def test_reviews_of_one_request():
    body = "The lock is never released when the worker dies."
    review = {"state": "CHANGES_REQUESTED", "body": body, "submittedAt": "2026-10-02T10:00:00Z"}
    approved = {**review, "state": "APPROVED", "body": "Fails without this, so thank you for it."}
    (seen,) = read({"url": "https://example.org/pull/9", "reviews": [review, approved]})
    assert "changes requested" in seen.signals
    assert seen.session == "https://example.org/pull/9"


def test_discussions_of_gitlab():
    place = {"position": {"new_path": "pay.py", "new_line": 2}}
    note = {"id": 5, "noteable_id": 70, "system": False, "body": WRONG, **place}
    reply = {**note, "id": 6, "body": "You're right, updated."}
    changed = {**note, "id": 7, "body": "added 1 commit because of that", "system": True}
    (seen,) = read([{"id": "d", "notes": [note, reply]}, {"id": "e", "notes": [changed]}])
    assert "the author agreed" in seen.signals
    assert seen.paths == ("pay.py",)
    assert seen.session == "merge request 70"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 1}', "[[[[[[[[[[{}]]]]]]]]]]"])
def test_a_file_that_is_not_an_export_is_refused(text):
    with pytest.raises(InputError, match=r"comments\.json"):
        read_comments(text, name="comments.json")


KEYS = "body path id in_reply_to_id line start_line position state".split()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner),
)


@pytest.mark.slow
@given(JSON)
def test_any_json_can_be_parsed(data):
    with contextlib.suppress(InputError):
        read(data)


def test_a_date_that_no_calendar_shows_is_none():
    (found,) = read([github(WRONG, created_at="9999-12-31T23:59:59-14:00")])
    assert found.at == 0.0


def test_threads_of_graphql_have_the_resolved_state():
    said = {"id": "a", "body": WRONG, "diffHunk": HUNK, "createdAt": "2026-10-02T10:00:00Z"}
    reply = {"id": "b", "body": "You're right, updated."}
    thread = {"isResolved": True, "path": "pay.py", "line": 2, "comments": {"nodes": [said, reply]}}
    data = {"url": "https://example.org/pull/9", "reviewThreads": {"nodes": [thread]}}
    (seen,) = read({"data": {"repository": {"pullRequest": data}}})
    assert {"resolved", "the author agreed"} < set(seen.signals)
    assert (seen.paths, seen.session) == (("pay.py",), "https://example.org/pull/9")
    assert seen.excerpt == " def pay(order):\n+    gateway.charge(order)"
