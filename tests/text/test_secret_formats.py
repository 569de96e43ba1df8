"""No format of a secret passes in any channel through which texts come."""

import json
import random
import string

import pytest

from lessons_kb.text.redact import redact, redact_data
from tests.text.secret_formats import CHANNELS, FORMATS, PASSWORD, fill, left_of, made


@pytest.mark.slow
@pytest.mark.parametrize("channel", CHANNELS)
def test_no_format_passes_in_a_channel(channel):
    left = {}
    for name in FORMATS:
        for seed in range(4):
            text, secret = made(name, seed)
            if part := left_of(secret, kept := redact(CHANNELS[channel](text))):
                left[name, seed] = (part, kept)
    assert not left


def test_keys_and_texts_of_data_are_redacted():
    text, secret = made("github classic", 1)
    data = {text: [{"a": text}, (text, 3, None)], "path": f"app/{text}/x.py"}
    kept = json.dumps(redact_data(data))
    assert secret not in kept
    assert kept.count("redacted github") == 4
    assert redact_data({"a": [1, None, True]}) == {"a": [1, None, True]}


@pytest.mark.parametrize("text", [
    '비번은 @@ 입니다\nsymptoms: ["VALUE=서버"]', 'password x\nvalue="your password is @@ now"',
    "password x\nvalue = y\nthe password is @@ now",
])  # fmt: skip
def test_a_value_further_on_hides_none_that_is_near(text):
    secret = fill(PASSWORD, random.Random(3))
    assert not left_of(secret, redact(text.replace("@@", secret)))


def test_what_only_looks_like_a_format_stays():
    dice = random.Random(5)
    sha = "".join(dice.choices("0123456789abcdef", k=40))
    word = "".join(dice.choices(string.ascii_lowercase, k=12))
    texts = (
        f"commit {sha}",
        f"index {sha[:7]}..{sha[7:14]} 100644",
        f"-nfp_{word}",
        f'signal.connect(button, "clicked", {word})',
        "cursor = conn.connect(host, user, password)",
        "the user ops_team owns r8_build and pcsk_ is a prefix",
        "키보드 입력을 처리하는 코드",
        "비밀번호는 12자 이상이어야 합니다",
        "API 키는 환경 변수에서 읽는다",
        "토큰 개수: 120",
        'login("kim", password)',
        "net user /domain",
        "sys.last_value = error",
    )
    assert [redact(text) for text in texts] == list(texts)
