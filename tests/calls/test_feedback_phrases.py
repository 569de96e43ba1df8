import json
import pathlib
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.calls.failure_signs import FEEDBACK, PHRASES, REQUEST, find_phrase
from lessons_kb.text.patterns import check_pattern, check_sum, search_any

EVERYDAY = pathlib.Path(__file__).parents[2] / "benchmarks" / "everyday.jsonl"

COMPLAINTS = [
    "또 안 돼요, 고쳤는데 깨졌어요", "또 안돼", "비슷한 실수를 또 했네", "왜 반복돼?", "왜 자꾸 같은 에러가 나는 거야", "고쳤는데 깨졌어",
    "아까 수정했는데 또 에러 나", "여전히 안 됩니다", "아직도 테스트가 실패해요", "같은 오류가 계속 반복됩니다", "다시 깨졌어요", "몇 번을 말해야 하나요",
    "하지 말라고 했잖아", "원래는 잘 됐는데", "this is a regression", "Regression!",
    "looks like a regression, the total is negative", "Why does it keep failing?",
    "why does the build keep breaking on CI", "same mistake again",
    "You made the same mistake as last time, same bug as before", "it's still broken",
    "The login test still fails after your change", "it broke again", "It happened again: the cookies",
    "it's happening again", "the importer crashes again",
    "your last change broke the search", "Your fix didn't work",
    "I fixed it but now the other page broke", "the bug is back", "not again",
    "I told you not to touch the lock file", "how many times do I have to say this",
    "it worked before your refactoring",
]  # fmt: skip

REQUESTS = [
    "record this", "Record this, please.", "please record this as a lesson",
    "Save that as a lesson for the team", "remember this mistake", "Remember this for next time",
    "add it to our lessons", "write down this gotcha", "Never make this mistake again", "기록해",
    "이거 기록해 줘", "이 실수 기록해줘", "방금 실수 기억해 두자", "교훈으로 남겨줘", "다음부터는 이런 실수 하지 마", "이거 꼭 기억해 둬",
]  # fmt: skip

PLAIN = [
    "works great, thanks", "잘 되네요, 감사합니다", "완벽해요! 고마워요", "All tests pass now, nice",
    "the fix works", "that fixed it, thank you", "add a regression test for the parser",
    "Run the regression tests", "fit a linear regression on the columns",
    "there is no regression, good", "record this audio stream to a file",
    "write a function that records this event in the table", "로그에 기록해 줘", "요청을 DB에 기록해주세요",
    "반복문을 리팩터링해 줘", "retry the request again after a timeout", "run it again",
    "If it happens again, log the error", "make sure that this never happens again",
    "show me again how the cache works", "keep the failing tests out of the suite for now",
    "the server should keep running when a worker fails", "다시 실행해 줘", "에러 처리 코드를 추가해줘",
    "still working on the docs, please wait", "what does the lessons table hold?",
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [
    *((FEEDBACK, text) for text in COMPLAINTS), *((REQUEST, text) for text in REQUESTS),
    *((None, text) for text in PLAIN),
])  # fmt: skip
def test_a_complaint_is_feedback_a_wish_to_record_a_request_and_everyday_work_neither(kind, text):
    assert (find_phrase(text) or [None])[0] == kind


def test_everyday_prompts_raise_no_false_trigger():
    """The public prompts of the other sets are counted by ``python -m benchmarks triggers``."""
    prompts = [json.loads(line)["text"] for line in EVERYDAY.read_text("utf-8").splitlines()]
    assert [text for text in prompts if find_phrase(text)] == []


PASTED = (
    "```\nit broke again, why does it keep failing\n```\n> same mistake again\nexplain this log"
)
TRACE = '2026-01-02 10:11:12 ERROR still failing\n  File "x.py"\nexplain'
LONG = "\n".join(f"item {number} of the list" for number in range(300))
THANKS = "Thanks for looking. The export still fails on empty files. Here is the log."


@pytest.mark.parametrize(("text", "quote"), [
    (PASTED, None), (TRACE, None), (f"{PASTED}\nIt is still broken", "It is still broken"),
    (f"{LONG}\nwhy does it keep failing?", "why does it keep failing?"),
    (THANKS, "The export still fails on empty files."),
])  # fmt: skip
def test_the_sentence_is_quoted_and_nothing_around_it_or_pasted(text, quote):
    assert find_phrase(text) == (quote and (FEEDBACK, quote))


HOSTILE = ("a" * 400, "aaab" * 100, "still " * 66, "x y " * 100, "또 안 " * 100, "0" * 399 + "!")


@pytest.mark.parametrize("pattern", [pattern for rows in PHRASES.values() for pattern in rows])
def test_our_own_patterns_end_in_time_on_any_sentence(pattern):
    began = time.process_time()
    for text in HOSTILE:
        re.search(pattern, text, re.IGNORECASE)
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "(?:a?){40}b", ".*a.*a.*a.*b"])
def test_what_makes_other_engines_stall_takes_no_time(pattern):
    assert search_any((pattern,), "xx") in (True, False)
    began = time.process_time()
    for text in HOSTILE:
        search_any((pattern,), text)
    assert time.process_time() - began < 0.5


def test_the_time_of_all_patterns_together_is_bounded():
    pattern = "(?:[^.]{0,50}a){4}"
    assert check_pattern(pattern) == ""
    most = next(n for n in range(1, 51) if check_sum([pattern] * n))
    assert "together" in check_sum([pattern] * most)
    text = ". ".join("aé한" * 130 for _ in range(40))
    patterns = tuple(f"{pattern}{n}" for n in range(most - 1))
    assert find_phrase("warm up", patterns) is None
    began = time.process_time()
    assert find_phrase(text, patterns) is None
    assert time.process_time() - began < 2.0


@given(st.text(max_size=400))
def test_any_text_is_answered(text):
    found = find_phrase(text)
    assert found is None or found[0] in PHRASES
