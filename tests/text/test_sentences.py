"""The sentences of a prompt, and whether they only ask."""

import pytest
from hypothesis import given

from lessons_kb.text.sentences import is_question, split_sentences
from tests.text.wild_text import WILD_TEXT

SENTENCES = {
    "Use e.g. this one. Then that! Really? Yes.": [
        *("Use e.g. this one.", "Then that!", "Really?", "Yes.")
    ],
    "v1.2 works with 3.5 of it. See Fig. 3 and No. 5, J. Smith et al. said.": [
        *("v1.2 works with 3.5 of it.", "See Fig. 3 and No. 5, J. Smith et al. said.")
    ],
    "It broke. then it worked.": ["It broke.", "then it worked."],
    '"It broke." He left (at once.) Then...': ['"It broke."', "He left (at once.)", "Then..."],
    "Call `a. B` first. Then `c`.": ["Call `a. B` first.", "Then `c`."],
    "A lone ` tick. Then more.": ["A lone ` tick.", "Then more."],
    "Node.js calls os.path.join. Fine.": ["Node.js calls os.path.join.", "Fine."],
    "위험하다. 막아야 한다.그리고 main.py를 고친다": [
        *("위험하다.", "막아야 한다.", "그리고 main.py를 고친다")
    ],
    "왜 안 돼요? 고쳤는데 또!": ["왜 안 돼요?", "고쳤는데 또!"],
    "切れた。再試行する！「やめて。」と言った。「終わり。」次": [
        *("切れた。", "再試行する！", "「やめて。」と言った。", "「終わり。」", "次")
    ],
    "数据库断开。请检查！好吗？！可以": ["数据库断开。", "请检查！", "好吗？！", "可以"],
    "1. First do this. Then that.\n2. Second\n- item one\n- item two": [
        *("1. First do this.", "Then that.", "2. Second", "- item one", "- item two")
    ],
    "# Title\nText here. More\n\nNext": ["# Title", "Text here.", "More", "Next"],
    "A paragraph that was wrapped at some column near sixty\ncharacters. End.": [
        *("A paragraph that was wrapped at some column near sixty characters.", "End.")
    ],
    "added a test\nupdated the docs": ["added a test", "updated the docs"],
    "---\ntitle: x\n---": ["---", "title: x", "---"],
    "Before.\n```py\na = b. c\n\nd = 1\n```\nAfter. End": [
        *("Before.", "a = b. c", "d = 1", "After.", "End")
    ],
    "It used from .. import x and then ran. It failed.": [
        *("It used from .. import x and then ran.", "It failed.")
    ],
    "": [],
    " \n\t\n": [],
}


@pytest.mark.parametrize(("text", "sentences"), SENTENCES.items())
def test_split_sentences(text, sentences):
    assert split_sentences(text) == sentences


@given(WILD_TEXT)
def test_no_text_is_lost_between_sentences(text):
    kept = [line for line in text.splitlines() if not line.lstrip().startswith(("```", "~~~"))]
    expected = "".join("".join(kept).split())
    assert "".join("".join(split_sentences(text)).split()) == expected


@pytest.mark.parametrize("text", [
    "what does total() in src/billing/invoice.py return?", "Explain src/billing/invoice.py",
    "Is a.py used? And where is b.py imported?", "src/a.py 의 total()은 무엇을 반환하나요?",
])  # fmt: skip
def test_a_question_is_told_from_a_task(text):
    assert is_question(text)


@pytest.mark.parametrize("text", [
    "Fix total() in src/billing/invoice.py",
    "Can you fix total() in src/billing/invoice.py?",
    "The test fails. What is wrong in a.py?",
    "How does a.py sum up? Please make it return cents",
    "a.py 를 고쳐 줄래?",
    "",
    "what is this?\n```\na.py:1: error\n```",
    "why? " * 200,
])  # fmt: skip
def test_a_task_is_no_question(text):
    assert not is_question(text)
