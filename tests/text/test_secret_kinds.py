"""A table of places in which secrets stand, and of ordinary lines that look a little like one.

In a frame ``@@`` stands for the whole secret, ``@1`` and ``@2`` for its halves. Every secret is made
up when the test runs: nothing here looks like one.
"""

import base64
import random
import re
import time
import urllib.parse
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.text.redact import redact
from tests.text.secret_formats import draw, fill, read_rows

DICE = random.Random(20260607)
WORDS = (
    "abandon ability absent absorb abstract absurd access acid across action actor actual "
    "zebra zone galaxy garlic lunar lottery velvet vendor kiwi ladder lamp oxygen oyster ozone"
).split()


@pytest.fixture(autouse=True)
def _same_secrets_whatever_runs_before(request):
    DICE.seed(request.node.name)


def made(form):
    return fill(form, DICE, draw)


def wrapped(form, width, joint="\n"):
    text = made(form)
    return joint.join(text[i : i + width] for i in range(0, len(text), width))


def words(count=12, joint=" "):
    return joint.join(DICE.sample(WORDS, count))


BEGIN, END = "-----BEGIN {} PRIVATE" + " KEY", "-----END {} PRIVATE" + " KEY-----"
SECRETS = {
    **{name: (frame, partial(made, form)) for name, frame, form in read_rows("secret_places")},
    "base64 of a pem": ("tls.key: @@", lambda: base64.b64encode(
        f"{BEGIN.format('RSA')}-----\n{made('<300 bytes>')}".encode()).decode()),
    "k3s token": (f"K10{made('<64 hex>')}::server:@@", lambda: made("<32 hex>")),
    "database url, encoded password": ("mysql://bob:@@@db.io/shop",
                                       lambda: urllib.parse.quote(made("<6>@/:<6>"), safe="")),
    "jwt wrapped": ("x\n@@\ny", lambda: wrapped("<jwt>", 40)),
    "jwt wrapped narrow": ("x\n@@\ny", lambda: wrapped("<jwt>", 24)),
    "jwt wrapped, indented": ("x\n    @@\ny", lambda: wrapped("<jwt>", 64, "\n    ")),
    "jwt wrapped in json": ('{"t":"@@"}', lambda: wrapped("<jwt>", 64, "\\n")),
    "pem middle": ("tail:\n@@\nmore text\n", lambda: wrapped("<288 bytes>", 64)),
    "pem middle, indented": ("  @@\n", lambda: wrapped("<192 bytes>", 64, "\n  ")),
    "pem middle in a diff": ("+@@\n", lambda: wrapped("<192 bytes>", 64, "\n+")),
    "openssh middle": ("@@\n", lambda: wrapped("<420 bytes>", 70)),
    "pem in json": ('{"k":"' + BEGIN.format("EC") + "-----\\n@@\\n", lambda: made("<300 bytes>")),
    "pem end": ("@@\n" + END.format("RSA"), lambda: wrapped("<288 bytes>", 64)),
    "putty": ("Private-Lines: 2\n@@\nPrivate-MAC: x", lambda: wrapped("<90 bytes>", 64)),
    "gpg": (BEGIN.format("PGP") + " BLOCK-----\n\n@@", lambda: wrapped("<300 bytes>", 64)),
    "mnemonic": ("mnemonic: @@", words),
    "seed phrase": ("Seed phrase = @@", lambda: words(24)),
    "mnemonic in quotes": ('MNEMONIC="@@" npx hardhat', words),
    "mnemonic in json": ('{"mnemonic": "@@"}', lambda: words(15)),
    "mnemonic in a json list": ('{"mnemonic": ["@@"]}', lambda: words(12, '", "')),
    "recovery phrase on the next line": ("Your recovery phrase:\n\n@@\n", words),
    "seed words in lines": ("seed words:\n@@\n", lambda: words(12, "\n")),
    "seed words with numbers": ("Seed words:\n@@\n", lambda: "\n".join(
        f"{n}. {w}" for n, w in enumerate(words().split(), 1))),
    "wallet import": ("wallet import --mnemonic '@@'", words),
}  # fmt: skip


def filled(name):
    frame, make = SECRETS[name]
    secret = make()
    half = len(secret) // 2
    text = frame.replace("@1", secret[:half]).replace("@2", secret[half:])
    place = text.find("@@")
    return (text if place < 0 else text[:place] + secret + text[place + 2 :]), secret


@pytest.mark.parametrize("name", SECRETS)
def test_no_part_of_a_secret_is_left(name):
    for _ in range(10):
        text, secret = filled(name)
        redacted = redact(text)
        pieces = [secret[i : i + 5] for i in range(len(secret) - 4)]
        left = [p for p in pieces if p in text and p in redacted and not re.search(r"\s", p)]
        assert not left, f"{text!r} → {redacted!r}"
        assert "[redacted " in redacted
        assert redact(redacted) == redacted


ORDINARY = {name: made(form) for name, form in read_rows("ordinary_lines")}
ORDINARY["certificate"] = wrapped("<480 bytes>", 64).join(
    f"-----{end} CERTIFICATE-----\n" for end in ("BEGIN", "END")
)
FEW = len(ORDINARY) // 40


def test_hardly_an_ordinary_line_is_touched():
    assert len(ORDINARY) >= 120
    once = {name: redact(text) for name, text in ORDINARY.items()}
    touched = {name: text for name, text in once.items() if text != ORDINARY[name]}
    assert len(touched) <= FEW, touched
    assert {name: redact(text) for name, text in once.items()} == once


FRAMES = st.sampled_from([frame for frame, _ in SECRETS.values()])
FILLINGS = st.sampled_from(
    ["aB3dE5gH7j", "hunter2", "[redacted password]", '"', "\\\n", "\u200b", "@"]
)


@pytest.mark.slow
@given(st.lists(st.tuples(FRAMES, FILLINGS, FILLINGS), max_size=4), st.sampled_from("\n ,;&\\"))
def test_redacting_frames_twice_changes_nothing_more(parts, joint):
    text = joint.join(
        frame.replace("@@", first + second, 1).replace("@1", first).replace("@2", second)
        for frame, first, second in parts
    )
    once = redact(text)
    assert redact(once) == once


HOSTILE = (
    *("a", "\\", '"', "'a'", "%", "\u200b", "=", ": ", "\n", " ", "|", ",", "a,password\n"),
    *("password ", "password:", "password:\n", "password,", "password|", "token token", "key"),
    *("password value", "password {", "password>", "<value>", "name: password\n", "p\u0430ss"),
    *("eyJ", "eyJaaaaaaaaa\n", "eyJaaaaaaaaa.", "A" * 64 + "\n", "aB3/", "aB3+dE5g", "-----BEGIN "),
    *("://a:", "a:1234:b:", "$2y$", "{SHA}", "seed words ", "abandon ", "seed: abandon "),
    *("echo a | sudo ", "curl -u a", "mysql -p ", "7z a ", "zip - ", "[redacted ", "パスワード"),
    *("password\n---\n", "a  password\n-  ---\n", "- -", "<th>password", "<th>password</th>"),
    *("<tr><th>password</th></tr>", "<td>a2345678", "<table", "<", "<th>", "---\n"),
    *("-----BEGIN PRIVATE KEY-----", "cookie: a=", "authorization:", "pass is ", "token:"),
    *("curl -u ", "bearer ", "sk-", "login a "),
)


@pytest.mark.slow
@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_and_no_faster(piece):
    def seconds(size):
        text = (piece * size)[:size]
        started = time.process_time()
        redact(text)
        return time.process_time() - started

    def is_linear():
        small = max(min(seconds(4_000) for _ in range(3)), 0.001)
        return min(seconds(32_000) for _ in range(2)) < 8 * 3 * small

    seconds(1_000)
    assert any(is_linear() for _ in range(5))  # a busy machine may make one measurement odd
