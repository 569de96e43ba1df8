"""Which checklist items are flagged as not visible in an answer or in what the agent did."""

from __future__ import annotations

import json
import os
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.model import Card
from lessons_kb.recall import equivalents
from lessons_kb.recall import ways as ways_table
from lessons_kb.recall.postcheck import FLAG_FROM, MAX_TEXT, find_unaddressed_items
from lessons_kb.recall.wanted import read_item
from lessons_kb.recall.ways import Ways, find_ways
from lessons_kb.text.analyzer import analyze

CASES = os.path.join(
    os.path.dirname(__file__), "..", "..", "benchmarks", "labelled", "postcheck.jsonl"
)


def card(*items, name="a"):
    return Card(id=f"lessons/{name}.md", kind="lesson", title=name, checklist=items)


def flagged(item, answer="", *evidence):
    return bool(find_unaddressed_items(answer, [card(item)], evidence).unaddressed)


class TestShape:
    def test_flags_name_the_card_the_terms_and_the_nearest_sentence(self):
        cards = [card("Reject unknown senders", "Cover the rejection with a test")]
        check = find_unaddressed_items("Hello. Unknown senders are now rejected.", cards)
        assert check.checked == 2
        (one,) = check.unaddressed
        assert one.card is cards[0]
        assert one.item == "Cover the rejection with a test"
        assert "test" in one.terms
        assert "rejection" not in one.terms
        assert one.sentence == "Unknown senders are now rejected."

    def test_nothing_matched_at_all(self):
        (one,) = find_unaddressed_items("Done.", [card("Rotate the tokens")]).unaddressed
        assert (one.terms, one.sentence) == (("Rotate", "tokens"), "")

    def test_no_cards_no_flags(self):
        check = find_unaddressed_items("Anything.", [])
        assert (check.unaddressed, check.checked) == ((), 0)

    def test_an_item_without_a_telling_word_is_not_looked_for(self):
        check = find_unaddressed_items("Done.", [card("…", "", "To be or not to be")])
        assert (check.unaddressed, check.checked) == ((), 0)

    def test_flags_come_in_the_order_of_cards_and_items(self):
        cards = [card("Rotate tokens", "Sign the tag", name="a"), card("Purge the cache", name="b")]
        found = find_unaddressed_items("Nothing of that.", cards).unaddressed
        assert [one.item for one in found] == ["Rotate tokens", "Sign the tag", "Purge the cache"]


ADDRESSED = [
    ("Add a test", "I added a test."),
    ("Add a test", "Added specs for the parser."),
    ("Add a test", "Still open:\n\n- The layout\n\nI added a test."),
    ("Run it in CI", "It runs in CI."),
    (
        "Reject every chat id that is not on the allowlist",
        "Chats that are not on the allowlist are refused.",
    ),
    ("Never log the token", "The token is not logged."),
    ("Never log the token", "I removed the token from the log line."),
    ("Do not log tokens", "Tokens are redacted before the request is logged."),
    ("Consider the next step", "- [x] Consider the next step"),
    ("Set timeouts explicitly", "Every request has an explicit timeout of five seconds."),
    ("Verify the signature", "The signature is checked with HMAC."),
    ("테스트를 추가한다", "거절되는 경우의 테스트를 추가했습니다."),
    ("토큰을 로그에 남기지 않는다", "토큰은 더 이상 로그에 기록되지 않습니다."),
    ("허용 목록에 없는 채팅을 거부한다", "허용목록에 없는 채팅은 거절합니다."),
    ("テストを追加する", "テストを追加しました。"),
    ("编写测试", "已经编写了测试。"),
]
UNADDRESSED = [
    ("Add a test", "I did not add a test."),
    ("Add a test", "I haven't added a test yet."),
    ("Add a test", "A test would be a good next step."),
    ("Add a test", "Should I add a test?"),
    ("Add a test", "TODO: add a test."),
    ("Add a test", "- [ ] Add a test"),
    ("Add a test", "I skipped the test."),
    ("Add a test", "The code is refactored, but no test was added."),
    ("Add a test", "I wanted to add a test, but there was no fixture."),
    ("Add a test", "What I did not do:\n\n- Adding a test\n- The layout"),
    ("Switch the cache on", "The cache stays off, as two plugins break with it."),
    ("Drop the old column", "The backfill is through. The old column is still there."),
    ("Lock tables in one order", "Tables locked in one order would fix it."),
    ("쿠폰 행을 잠근다", "쿠폰 행을 잠그면 해결될 것 같습니다. 진행할까요?"),
    ("Add a test for the parser", "Tests for the parser are missing. That is for later."),
    ("Never log the token", "I log the token at debug level."),
    ("Never log the token", "The weather is fine."),
    ("Rotate the leaked key", "The key is read from the environment."),
    ("테스트를 추가한다", "테스트는 추가하지 않았습니다."),
    ("테스트를 추가한다", "테스트는 나중에 추가할 예정입니다."),
    ("토큰을 로그에 남기지 않는다", "토큰을 로그에 출력합니다."),
    ("テストを追加する", "テストはまだ追加していません。"),
]


@pytest.mark.parametrize(("item", "answer"), ADDRESSED)
def test_addressed(item, answer):
    assert not flagged(item, answer)


@pytest.mark.parametrize(("item", "answer"), UNADDRESSED)
def test_unaddressed(item, answer):
    assert flagged(item, answer)


class TestEvidence:
    def test_an_edit_is_enough(self):
        edit = "tests/test_guard.py\ndef test_stranger_is_rejected():\n    assert handle(99) == DENIED\n"
        assert not flagged("Cover the rejection with a test", "Done.", edit)

    def test_a_command_is_enough(self):
        assert flagged("Run the test suite", "Done.")
        assert not flagged("Run the test suite", "Done.", "pytest -q")

    @pytest.mark.parametrize("evidence", [("",), (" \n",), ("x\n" * MAX_TEXT, "make")])
    def test_a_piece_without_anything_to_read_is_no_command(self, evidence):
        assert flagged("Run the linter", "Done.", *evidence)

    def test_code_in_the_answer_counts_as_code(self):
        answer = "Here it is:\n```py\nrequests.get(url, timeout=5)\n```\n"
        assert not flagged("Set a timeout", answer)

    def test_a_korean_item_is_seen_in_english_code(self):
        edit = "app.py\nif chat_id not in ALLOWLIST:\n    return reject(chat_id)\n"
        assert not flagged("허용 목록에 없으면 거부한다", "", edit)

    def test_a_todo_in_code_is_not_a_deed(self):
        assert flagged("Validate the signature", "", "app.py\n# TODO validate the signature\n")

    def test_writing_what_is_to_be_avoided_is_no_evidence(self):
        edit = "app.py\nlogger.debug('token %s', token)\n"
        assert flagged("Never log the token", "Added debug output.", edit)

    def test_removing_it_is(self):
        diff = "--- a/app.py\n+++ b/app.py\n-logger.debug('token %s', token)\n"
        assert not flagged("Never log the token", "", diff)

    def test_a_denial_outweighs_a_mention(self):
        answer = "The rejection path changed. I did not cover the rejection with a test."
        assert flagged("Cover the rejection with a test", answer)

    def test_a_long_answer_does_not_address_by_chance(self):
        words = (
            "the handler reads config and writes rows while the test page loads in order".split()
        )
        answer = " ".join(" ".join(words[n % 7 :]) + "." for n in range(400))
        assert flagged("Encrypt backups before the upload", answer)


class TestLongAnswers:
    """Only the blocks that tell most of an item are split into sentences."""

    filler = [f"The page number {n} shows its rows in the order they came." for n in range(60)]

    def answer(self, *told):
        return "\n\n".join([*self.filler[:30], *told, *self.filler[30:]])

    def test_what_is_told_in_the_middle_is_found(self):
        told = self.answer("Backups are encrypted before the upload.")
        assert not flagged("Encrypt backups before the upload", told)

    def test_the_block_behind_may_take_it_back(self):
        told = self.answer("Tests for the parser are missing.", "That is for later.")
        assert flagged("Add a test for the parser", told)
        assert flagged("Encrypt backups", self.answer("Backups, encrypted.", "That is for later."))

    def test_a_denial_in_the_middle_is_found(self):
        told = self.answer("I did not encrypt the backups.")
        assert flagged("Encrypt backups before the upload", told)


def test_an_item_in_words_without_equivalents_is_doubted():
    assert read_item("Quiesce the frobnicator").doubt > read_item("Add a test").doubt >= 0


HUGE = [
    "no " * 60_000,
    "add a test, not yet.\n\n" * 20_000,
    " " * 200_000,
    "that, " * 40_000,
    "?!" * 90_000,
    "고 " * 90_000,
    "a" * 200_000,
]


@pytest.mark.parametrize("text", [*HUGE, "\n".join(["- [ ] not yet"] * 20_000), "```\n" * 30_000])
def test_no_text_is_slow(text):
    start = time.process_time()
    find_unaddressed_items(text, [card("Add a test", text)], [text, text])
    assert time.process_time() - start < 3


def test_items_are_read_once():
    assert read_item("Add a test") is read_item("Add a test")


@settings(max_examples=60, deadline=None)
@given(
    st.text(max_size=300),
    st.lists(st.text(max_size=60), max_size=4),
    st.lists(st.text(max_size=200), max_size=3),
)
def test_any_text_is_checked(answer, items, evidence):
    check = find_unaddressed_items(answer, [card(*items)], evidence)
    assert len(check.unaddressed) <= check.checked <= len(items)
    for one in check.unaddressed:
        assert one.item in items
        assert one.sentence in answer


@settings(max_examples=40, deadline=None)
@given(st.sampled_from([item for item, _ in ADDRESSED]))
def test_an_answer_that_repeats_the_item_addresses_it(item):
    assert not flagged(item, f"- [x] {item}")


def test_the_table_holds_stems():
    groups = [group.split() for group in equivalents.EQUIVALENTS.split(";")]
    entries = {entry for group in groups for entry in group}
    latin = {entry for entry in entries if entry.isascii()}
    reached = {stem for entry in latin for stem in analyze(entry)}
    assert all(re.fullmatch(r"[a-z0-9]+", entry) for entry in latin)
    assert len(latin & reached) > 0.85 * len(latin), sorted(latin - reached)
    assert all(len(set(group)) == len(group) > 1 for group in groups)


IN_OTHER_WORDS = [
    ("Create the index without blocking writes", "CREATE INDEX CONCURRENTLY idx ON t (a);"),
    ("Compare tokens in constant time", "if not hmac.compare_digest(mine, sent):"),
    ("Do not run the container as root", "RUN useradd app\nUSER app"),
    ("Avoid N+1 queries in list views", "Order.objects.select_related('customer')"),
    ("Retry with exponential backoff", "time.sleep(2 ** attempt + random())"),
    ("서명은 상수 시간으로 비교한다", "crypto.timingSafeEqual(a, b)"),
    ("사용자 이름에 유니코드 정규화를 한다", "unicodedata.normalize('NFKC', name)"),
]


class TestOtherWords:
    @pytest.mark.parametrize(("item", "code"), IN_OTHER_WORDS)
    def test_code_may_share_no_word_with_the_item(self, item, code):
        assert not flagged(item, "I changed it as agreed, please have a look.", code)
        assert flagged(item, "I changed it as agreed, please have a look.", "name = 'anna'")

    def test_what_is_told_otherwise_is_denied_otherwise(self):
        item = "Debounce the search field"
        assert not flagged(item, "The query goes out 300 ms after the last keystroke in the field.")
        assert flagged(item, "I did not get to sending it 300 ms after the last keystroke.")

    def test_a_way_works_in_one_direction(self):
        ways = {way for way, _ in find_ways("Build it concurrently", ["Build", "concurrently"])}
        assert "lock_timeout" not in ways

    def test_a_topic_asks_for_a_word_of_each_group(self):
        words = ["Compare", "secrets"]
        assert "compare_digest" not in {way for way, _ in find_ways("Compare secrets", words)}
        words += ["constant", "time"]
        item = "Compare secrets in constant time"
        found = [terms for way, terms in find_ways(item, words) if way == "compare_digest"]
        assert any({words[term] for term in terms} >= {"constant", "time"} for terms in found)

    def test_short_ways_are_whole_words_and_phrases_are_not(self):
        ways = Ways([read_item("Give cache entries a time to live, so that they expire")])

        def told(text, *, code=False):
            ways.choose(text)
            return {way.parts[0][0] for way in ways.find(text, code=code)}

        assert "ttl" in told("the TTL is one hour")
        assert "ttl" not in told("a little hour, ttls")
        assert "evict" in told("evicted after an hour")
        assert "evict" not in told("devicts")
        assert "evict" in told("cacheEvicts()", code=True)


def test_the_tables_of_ways_are_well_formed():
    topics = ways_table._topics()
    for topic in {topic for own in topics.values() for topic in own}:
        told = topic.ways.split("|")
        assert topic.groups
        assert len(set(told)) == len(told), topic.ways
        assert all(way == way.strip() and way for way in told), topic.ways
        assert all(part for way in told for part in way.split("~")), topic.ways
        assert all(start.strip() for group in topic.groups for start in group)


@pytest.mark.parametrize(
    ("split", "precision", "recall"),
    [
        ("dev", 0.97, 0.75),
        ("fresh", 0.94, 0.72),
        ("hard", 0.86, 0.6),
        ("untouched", 0.67, 0.45),
        ("held-out", 0.81, 0.72),
    ],
)
def test_figures_on_the_labelled_cases(split, precision, recall):
    """A flag's precision and recall: floors just below what is reached.

    Wanted are .90 and .70 on the held-out cases. Nearly all wrong flags are paraphrases and code
    that share no word with the item and are told in no way that the tables know; the first three
    splits look better because the tables were made with them at hand.
    """
    with open(CASES, encoding="utf-8") as file:
        cases = [json.loads(line) for line in file]
    cases = [case for case in cases if case["split"] == split]
    flags = [case for case in cases if flagged(case["item"], case["answer"], *case["evidence"])]
    right = sum(not case["addressed"] for case in flags)
    assert right / len(flags) >= precision, FLAG_FROM
    assert right / sum(not case["addressed"] for case in cases) >= recall
