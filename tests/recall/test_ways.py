"""Ways to tell of a deed in other words: which items have them, and which texts hold them."""

from __future__ import annotations

import pytest

from lessons_kb.recall.wanted import read_item
from lessons_kb.recall.ways import IN_OTHER_WORDS, Topic, Way, Ways, find_ways, flatten


def told(item):
    words = item.split()
    return {way: {words[term] for term in terms} for way, terms in find_ways(item, words)}


class TestTopics:
    def test_words_of_a_group_begin_so_and_hangul_of_two_syllables_may_stand_inside(self):
        topic = Topic("auth/권한/값 check", "x")
        assert topic.groups == [[" auth", "권한", " 값"], [" check"]]
        assert topic.find_terms(" checks 접근권한 ", [" checks", " 접근권한"]) == {0, 1}
        assert topic.find_terms(" checks 몸값 ", [" checks", " 몸값"]) == set()

    def test_each_group_has_to_have_a_word_of_its_own(self):
        topic = Topic("log token/logger", "x")
        assert topic.find_terms(" log the tokens ", [" log", " tokens"]) == {0, 1}
        assert topic.find_terms(" log the key ", [" log", " key"]) == set()
        assert topic.find_terms(" catalog of tokens ", [" catalog", " tokens"]) == set()
        assert topic.find_terms(" the logger ", [" logger"]) == set()
        assert Topic("log", "x").find_terms(" the logger ", [" logger"]) == {0}
        # A phrase may tell of a group whose words are no terms of the item.
        assert topic.find_terms(" log the tokens ", [" log"]) == {0}

    @pytest.mark.parametrize(
        ("item", "way", "words"),
        [
            ("label the icon", "accessibilitylabel", {"label", "icon"}),
            ("accessible icon", "talkback", {"accessible", "icon"}),
            ("웹접근성 대체 텍스트", "스크린 리더", {"웹접근성", "대체", "텍스트"}),
            ("Announce the maintenance", "안내 메일", {"Announce", "maintenance"}),
            ("공지 점검", "in-app", {"공지", "점검"}),
        ],
    )
    def test_a_line_of_the_tables_goes_on_where_it_is_indented(self, item, way, words):
        assert told(item)[way] == words

    def test_words_are_split_at_all_that_is_none(self):
        assert "fired" in told("(alert): test!")
        assert told("Nothing of that") == {}


class TestText:
    @pytest.mark.parametrize(
        ("way", "text", "is_held"),
        [
            ("evict", "devict", False),
            ("evict", "devict evicts", True),
            ("evict", "evict devict", True),
            ("ttl", "ttls", False),
            ("ttl", "xttl ttl xttl", True),
            ("ttl", "ttls ttl ttls", True),
            ("pinned$", "pinnedly", False),
            ("pinned$", "it is pinned.", True),
            ("pinned", "pinnedly", True),
            ("ab$", "an ab", True),
            ("a$", "an a", True),
            ("=none", "samesite=none;", True),
            ("mode='r'", "xmode='r'", False),
            ("$", "5 $", True),
            ("차단", "비차단으로", True),
            ("after~done", "done after all", True),
            ("after~done", "after all", False),
            ("after~done", "done", False),
            (" after ~ done ", "done after", True),
        ],
    )
    def test_a_way_begins_a_word_and_a_short_one_is_a_word(self, way, text, is_held):
        assert Way(way).is_in(text, code=False) is is_held

    def test_a_long_one_may_stand_inside_a_word_of_code(self):
        assert Way("evict").is_in("cacheevicts", code=True)
        assert not Way("evic").is_in("cacheevicts", code=True)
        assert not Way("evict").is_in("cacheevicts", code=False)

    def test_names_in_code_are_read_as_words_too(self):
        assert (
            flatten("Order_By  the\nre-try", code=True)
            == "order_by the re-try\norder by the re try"
        )
        assert flatten("Order_By  the\nre-try", code=False) == "order_by the re-try"


def test_ways_are_found_by_a_word_or_chosen_and_show_the_terms_of_each_item():
    items = [read_item("Expire entries of the cache"), read_item("Expire the cache")]
    ways = Ways(items)
    text = "The TTL is one hour."
    ways.choose(text)
    (found,) = [way for way in ways.find(text, code=False) if way.parts[0][0] == "ttl"]
    assert found.items == {0, 1}
    assert {number for number, _, _ in found.shows} == {0, 1}
    assert {part for _, _, part in found.shows} == {IN_OTHER_WORDS}
    assert ways.find("Nothing of that.", code=False) == []
    for number, term, _ in found.shows:
        assert 0 <= term < len(items[number].words)


def test_a_way_that_begins_with_no_word_is_looked_for_where_the_whole_text_holds_it():
    ways = Ways([read_item("이미지에 대체 텍스트를 넣는다")])
    part = "대체 텍스트를 달았습니다."
    ways.choose("아무것도 없습니다.")
    assert "대체 텍스트" not in {way.parts[0][0] for way in ways.find(part, code=False)}
    ways.choose(f"그리고 {part}")
    assert "대체 텍스트" in {way.parts[0][0] for way in ways.find(part, code=False)}
