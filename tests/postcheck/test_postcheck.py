"""Which checklist items an answer denies, and which neither it nor what the agent did shows."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.model import Card
from lessons_kb.postcheck.item_states import MAX_EVIDENCE, find_unaddressed_items


def card(*items, name="a"):
    return Card(id=f"lessons/{name}.md", kind="lesson", title=name, checklist=items)


def check(item, answer="", *evidence):
    return find_unaddressed_items(answer, [card(item)], evidence).unaddressed


def missing(item, answer="", *evidence):
    return bool(check(item, answer, *evidence))


def denied(item, answer):
    return [one.quote for one in check(item, answer) if one.denied]


COVER = "Cover the rejection with a test"


@pytest.mark.parametrize(("item", "answer", "terms", "quote", "is_denied"), [
    (COVER, "Hello. Unknown senders are now rejected.", ("Cover", "test"),
     "Unknown senders are now rejected.", False),
    ("Rotate the tokens", "Done.", ("Rotate", "tokens"), "", False),
    (COVER, "The rejection is covered in the docs. I left the tests for a follow-up.", (),
     "I left the tests for a follow-up.", True),
])  # fmt: skip
def test_an_unaddressed_item_has_its_missing_words_and_the_nearest_sentence(
    item, answer, terms, quote, is_denied
):
    (one,) = check(item, answer)
    assert (one.item, one.quote, one.denied) == (item, quote, is_denied)
    assert one.terms == terms or is_denied


@pytest.mark.parametrize(("item", "answer"), [
    ("Add a test", "I added a test."),
    ("Add a test", "Still open:\n\n- The layout\n\nI added a test."),
    ("Reject every chat id that is not on the allowlist",
     "Every chat id that is not on the allowlist is rejected."),
    ("Never log the token", "The token is not logged."),
    ("Consider the next step", "- [x] Consider the next step"),
    ("테스트를 추가한다", "거절되는 경우의 테스트를 추가했습니다."),
    ("テストを追加する", "テストを追加しました。"),
    ("Set a timeout", "Here it is:\n```py\nrequests.get(url, timeout=5)\n```\n"),
])  # fmt: skip
def test_shown(item, answer):
    assert not missing(item, answer)


DENIED = [
    ("Add a test", "I did not add a test."),
    ("Add a test", "I haven’t added a test yet."),
    ("Add a test", "TODO: add a test."),
    ("Add a test", "- [ ] Add a test"),
    ("Add a test", "The code is refactored, but no test was added."),
    ("Add a test", "What I did not do:\n\n- Adding a test\n- The layout"),
    ("Cover the rejection with a test", "Done. Tests for the rejection come in a separate PR."),
    *(
        (f"Cover a config with only the new field with a test{place}", answer)
        for place in ("", " in tests/test_mcp_config.py")
        for answer in (
            "I added the timeout field. I left the tests for a follow-up.",
            "Unit tests come in a separate PR.",
            "I skipped the tests.",
        )
    ),
    ("Never log the token", "Masking the token in the log is left for later."),
    ("테스트를 추가한다", "테스트는 추가하지 않았습니다."),
    ("테스트를 추가한다", "테스트는 나중에 추가할 예정입니다."),
    ("テストを追加する", "テストはまだ追加していません。"),
    ("Run the tests before finishing", "Fixed the null check. Tests not run."),
    ("Limit the request rate", "Rate limiting of requests is left out for now."),
    ("Take a backup before the migration", "No backup was taken before the migration."),
    ("Test with the keyboard alone", "Testing with the keyboard is put off to the next ticket."),
    ("Die Dokumentation anpassen", "Die Dokumentation habe ich nicht angepasst."),
    ("Mesurer le gain", "Je n'ai pas mesuré le gain."),
    ("Avisar de la obsolescencia", "No he podido avisar de la obsolescencia."),
]


@pytest.mark.parametrize(("item", "answer"), DENIED)
def test_denied(item, answer):
    assert denied(item, answer)


@pytest.mark.parametrize(("item", "answer"), [
    *((item, "All done.") for item, _ in DENIED),
    ("Add a test", "I did not touch the layout."),
    ("Cover the new field with a test", "I left the tests of the proxy alone."),
    ("Encrypt the backups", "I left the tests for a follow-up."),
    ("Add a test", "I added a test, but did not touch the layout."),
    ("Add a test", "The layout is for later; the test is added."),
    ("Add a test", "```\n# TODO: add a test\n```"),
    ("Never log the token", "I did not log the token."),
    ("Do not touch the schema", "The schema was not touched."),
    ("Encrypt backups before the upload", "No connection was lost during the upload."),
    ("Handle a missing key", "If the key is missing, the default is used."),
    ("Process each event only once", "Events seen before are skipped by id."),
    ("Keep snapshot tests unchanged", "The snapshot tests did not have to be touched."),
    # Somebody else's words, and how it was before.
    ("Measure memory", "> we did not measure memory\n\nHere is the outcome."),
    ("Run the tests", 'It prints "The tests were not run" in that case.'),
    ("Run the tests", "It prints `tests not run` in that case."),
    ("Commit the lock file", "The lock file was not committed before; it is now."),
])  # fmt: skip
def test_not_denied(item, answer):
    assert not denied(item, answer)


def test_a_command_is_enough():
    assert missing("Run the linter", "Done.")
    assert not missing("Run the linter", "Done.", "npm run linter")


@pytest.mark.slow
@pytest.mark.parametrize("evidence", [("",), (" \n",), ("x\n" * MAX_EVIDENCE, "make linter")])
def test_empty_text_and_text_beyond_the_limit_show_nothing(evidence):
    assert missing("Run the linter", "Done.", *evidence)


def test_a_whole_file_does_not_show_an_item_by_chance():
    lines = [f"value_{n} = {n}" for n in range(40)]
    spread = "\n".join(["encrypt()", *lines, "backups", *lines, "upload()"])
    assert missing("Encrypt backups before the upload", "Done.", spread)


HUGE = [
    *("no " * 60_000, "add a test, not yet.\n\n" * 20_000, " " * 200_000, "that, " * 40_000),
    *("?!" * 90_000, "고 " * 90_000, "a" * 200_000, "- [ ] not yet\n" * 20_000),
    *("# not done:\n" * 20_000, "```\n" * 30_000),
]


@pytest.mark.slow
@pytest.mark.parametrize("text", HUGE)
def test_no_text_is_slow(text):
    start = time.process_time()
    find_unaddressed_items(text, [card("Add a test", text)], [text, text])
    assert time.process_time() - start < 30, "what is not linear takes minutes"


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=300),
    st.lists(st.text(max_size=60), max_size=4),
    st.lists(st.text(max_size=200), max_size=3),
)
def test_any_text_can_be_checked(answer, items, evidence):
    found = find_unaddressed_items(answer, [card(*items)], evidence)
    assert len(found.unaddressed) <= found.checked <= len(items)
    assert all(one.item in items for one in found.unaddressed)
