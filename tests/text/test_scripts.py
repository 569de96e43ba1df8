"""Which script most of a text is in."""

import pytest

from lessons_kb.text.analyzer import (
    HAN,
    HANGUL,
    KANA,
    LATIN,
    OTHER,
    UNKNOWN,
    find_script,
    find_script_of_word,
)


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
    assert find_script_of_word("api") == LATIN
    assert find_script_of_word("api修复") == HAN
