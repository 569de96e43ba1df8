"""What a text is found by."""

import re
import string
import time
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text import analyzer
from lessons_kb.text.analyzer import (
    HAN,
    HANGUL,
    KANA,
    LATIN,
    OTHER,
    STOP_WORDS,
    UNKNOWN,
    analyze,
    find_neighbours,
    find_script,
    find_script_of_word,
)

IDENTIFIERS = {
    "getUserById": ["get", "user", "id", "getuserbyid"],
    "get_user_by_id": ["get", "user", "id", "getuserbyid"],
    "get-user-by-id": ["get", "user", "id", "getuserbyid"],
    "GetUserByID": ["get", "user", "id", "getuserbyid"],
    "HTTPServer2": ["http", "server2", "server", "httpserver2"],
    "XMLHttpRequest": ["xml", "http", "request", "xmlhttprequest"],
    "MAX_RETRY_COUNT": ["max", "retri", "count", "maxretrycount"],
    "os.path.join": ["os", "path", "join", "ospathjoin"],
    "std::vector": ["std", "vector", "stdvector"],
    "src/app/main.py": ["src", "app", "main", "py", "srcappmainpi"],
    "./src/app/main.py": ["src", "app", "main", "py", "srcappmainpi"],
    r"src\app\main.py": ["src", "app", "main", "py", "srcappmainpi"],
    "src/app/__init__.py": ["src", "app", "init", "py", "srcappinitpi"],
    "~/.ssh/config": ["ssh", "config", "sshconfig"],
    "python3": ["python3", "python"],
    "es6": ["es6"],
    "e2e": ["e2e"],
    "E2E": ["e2e"],
    "i18n-keys": ["i18n", "key", "i18nkey"],
    "v1.2": ["v1", "v1.2"],
    "1.2.3": ["1.2.3"],
    "2024-01-15": ["2024", "01", "15", "2024.01.15"],
    "JavaScript": ["javascript"],
    "GitHub": ["github"],
    "C++ and C#": ["c++", "c#"],
    "e-mail": ["mail", "email"],
    "he/she": [],
    "3f2a9c1b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a": ["3f2a9c1b8d7e6f5a4b3c2d1e0f9a8b7c6d5e4f3a"],
}

SCRIPTS = {
    "API를": ["api", "를"],
    "허용목록": ["허", "허용", "용목", "목록"],
    "키를": ["키", "키를"],
    "키": ["키"],
    "データベース": ["デー", "ータ", "タベ", "ベー", "ース"],
    "数据库连接": ["数据", "据库", "库连", "连接"],
    "鍵": ["鍵"],
    "ﾃﾞｰﾀ": ["デー", "ータ"],
    "ภาษา": ["ภา", "าษ", "ษา"],
    "src/앱/main.py": ["src", "앱", "main", "py", "mainpi"],
    "हिन्दी भाषा": ["हिन्दी", "भाषा"],
    "Привет, мир": ["привет", "мир"],
    "café": ["cafe"],
    "cafe\u0301": ["cafe"],
    "Straße": ["strass"],
    "ＡＰＩ ﬁle": ["api", "file"],
    "“quoted”—text": ["quot", "text"],
    "zero\u200bwidth soft\u00adened": ["zerowidth", "soften"],
    "❤️ ✅": [],
}


@pytest.mark.parametrize(("text", "terms"), [*IDENTIFIERS.items(), *SCRIPTS.items()])
def test_a_text_gives_its_words_their_parts_and_pairs_of_characters(text, terms):
    assert analyze(text) == terms


def test_forms_of_a_word_meet():
    assert analyze("The handlers were retrying; it did not retry") == ["handler", "retri", "retri"]
    for pair in ("broke break", "written writes", "ran running", "thrown throws"):
        assert len(set(analyze(pair))) == 1
    card = set(analyze("텔레그램 허용목록을 반드시 확인한다"))
    assert {"허용", "용목", "목록"} <= card & set(analyze("허용목록이 없는 봇"))


BASE64 = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkM9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    * 40
)


@pytest.mark.parametrize(("word", "terms"), [
    ("x" * 65, 1), ("A1b2" * 20, 1), ("data:" + "Q" * 4000, 1), (BASE64, len(BASE64) / 6),
])  # fmt: skip
def test_encoded_data_is_dropped(word, terms):
    assert all(len(term) <= analyzer.MAX_WORD for term in analyze(word))
    assert len(analyze(word)) <= terms


WILD = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from(string.printable),
        st.sampled_from("\u200b\u00ad\ufe0f\ud800é\u0301가힣ァー漢。、’“İßﬁ①½"),
    ),
    max_size=80,
)


@given(WILD, WILD)
def test_any_text_gives_terms_without_spaces(text, other):
    analyzer._TERMS.clear()
    terms = analyze(text)
    for term in terms:
        assert 0 < len(term) <= analyzer.MAX_WORD + 32
        assert not any(char.isspace() for char in term)
        assert term == term.casefold()
    assert analyze(text) == analyze(unicodedata.normalize("NFKC", text)) == terms
    assert analyze(f"{text}\n{other}") == terms + analyze(other)
    assert {*find_neighbours(text)} <= {*pairwise(terms)}


@pytest.mark.slow
@given(st.from_regex(r"[a-z]{3,9}( [a-z]{3,9}){1,3}", fullmatch=True))
def test_spellings_of_one_identifier_share_a_term(words):
    parts = words.split()
    camel = parts[0] + "".join(part.title() for part in parts[1:])
    spellings = [camel, "_".join(parts), "-".join(parts), ".".join(parts), "/".join(parts)]
    if camel in analyzer.ONE_WORD_NAMES or all(part in STOP_WORDS for part in parts):
        return
    whole = {tuple(analyze(spelling)[-1:]) for spelling in spellings}
    assert len(whole) == 1


def test_threads_get_the_same_terms():
    words = [f"runningWord{number} istGelaufen{number}" for number in range(2000)]
    expected = [analyze(word) for word in words]
    analyzer._TERMS.clear()
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda _: [analyze(word) for word in words], range(4))
        assert [*found] == [expected] * 4


def test_cache_is_bounded(monkeypatch):
    cache = analyzer._Terms()
    monkeypatch.setattr(cache, "_SIZE", 10)
    for number in range(100):
        cache[f"word{number}"]
        assert len(cache) <= 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["a", "a.", "aB", "한", "_", "é", "é.", "a+", "\u200b", "::", "1."]
)
def test_time_is_linear_on_hostile_runs(unit):
    began = time.process_time()
    analyze(unit * (200_000 // len(unit)))
    assert time.process_time() - began < 30


@pytest.mark.parametrize(("text", "pairs"), [
    ("the local base branch", [("local", "base"), ("base", "branch")]),
    ("a stale branch of main", [("stale", "branch"), ("branch", "main")]),
    ("restart .env.local now", [("restart", "env"), ("envloc", "now")]),
    ("getUserById", []),
    ("run run run", []),
    ("a b, a b", []),
    ("", []),
    ("한글 정렬", [("한글", "정")]),
])  # fmt: skip
def test_neighbours_are_words_that_stand_side_by_side(text, pairs):
    assert find_neighbours(text) == pairs


@pytest.mark.parametrize(("text", "script"), [
    ("", LATIN),
    ("fix the build", LATIN),
    ("señal naïve łódź", LATIN),
    ("исправь ошибку в docker", OTHER),
    ("διόρθωσε το σφάλμα", OTHER),
    ("이거 왜 안 되는지 docker compose 확인해줘", HANGUL),
    ("docker compose を修正して", KANA),
    ("修复 docker 数据库 问题", HAN),
    ("แก้ไขข้อผิดพลาด", UNKNOWN),
])  # fmt: skip
def test_most_letters_decide(text, script):
    assert find_script(text.split()) == script


def test_a_word_of_two_scripts_is_of_the_later_one():
    assert (find_script_of_word("api"), find_script_of_word("api修复")) == (LATIN, HAN)


@given(WILD)
def test_chunks_between_spaces_have_the_terms_of_the_whole_text(text):
    """No compound reaches across white space, so that chunks can be looked up."""
    plain = unicodedata.normalize("NFKC", text)
    for mark in analyzer._MARKS:
        plain = plain.replace(mark, " ")
    compounds = re.findall(analyzer._COMPOUND, plain)
    assert analyze(text) == [term for one in compounds for term in analyzer._TERMS[one]]
