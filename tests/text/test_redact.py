"""Secrets never come through; what only looks odd stays readable. All secrets here are made up."""

import base64
import glob
import os
import random
import shlex
import string
import sysconfig

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lessons_kb.text import redact as redact_module
from lessons_kb.text.redact import excerpt, redact
from tests.text.secret_formats import draw

DICE = random.Random(20260102)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"


def made(size, alphabet=ALNUM):
    return draw(DICE, size, alphabet)


def private_key():
    lines = "\n".join(made(64) for _ in range(5))
    dashes = "-" * 5
    return f"{dashes}BEGIN RSA PRIVATE KEY{dashes}\n{lines}\n{dashes}END RSA PRIVATE KEY{dashes}"


PASSWORDS = ("hunter2", "Tr0ub4dor&3", "letmein", "correct-horse", "p@ss:word!", "пароль1", "0nly")
PASSWORD_FRAMES = (
    'password = "@@"', "password='@@'", '{"password": "@@", "user": "bob"}',
    '{\\"password\\": \\"@@\\", \\"user\\": 1}', "{'db_password': '@@'}",
    "self.login(user='bob', password='@@')", 'config["password"] = "@@"', 'password: str = "@@"',
    'userPassword:"@@"', ":password => '@@'", "passphrase: '@@' # for the key",
    "PGPASSWORD='@@' psql", '<add key="Password" password="@@"/>', "['mysql', '--password', '@@']",
    "CREATE USER bob IDENTIFIED BY '@@'", "ALTER ROLE bob WITH PASSWORD '@@'", "비밀번호: '@@'",
    "DB_PASSWORD=@@", "export DB_PASSWORD=@@ && run", "password: @@",
    "  db-password: @@\n  host: x", "--password @@ --user bob", "--db-password=@@ --user bob",
    "<password>@@</password>", "machine h login bob password @@",
    "Server=x;User Id=sa;Password=@@;Database=y", "curl -s -u bob:@@ https://example.org",
    "mysql -u root -p@@ shop", "sshpass -p @@ ssh host", "docker login -u bob -p @@ registry",
    "redis-cli -h x -a @@ ping", "postgres://bob:@@@db.example.org:5432/shop", "비밀번호: @@",
)  # fmt: skip


@pytest.mark.parametrize("frame", PASSWORD_FRAMES)
def test_a_password_is_announced_by_its_name(frame):
    for password in PASSWORDS:
        text = frame.replace("@@", password, 1)
        assert redact(text) == frame.replace("@@", "[redacted password]", 1)


TOKEN_FRAMES = (
    "Authorization: Bearer {}", "authorization: token {}", '"Authorization": "Basic {}"',
    "curl -H 'Authorization: Bearer {}' https://example.org", "-H 'X-Api-Key: {}'",
    "PRIVATE-TOKEN: {}", "sent bearer {} to the server", 'api_key = "{}"', "apiKey: '{}'",
    "API_KEY={} make deploy", "client_secret: {}", "aws_secret_access_key = {}",
    '"accessToken":"{}"', '"refresh_token" : "{}"', "https://example.org/x?access_token={}&page=2",
    "wss://example.org/?token={}", "--token {}", "//registry.npmjs.org/:_authToken={}",
    "secret='{}'", "SECRET_KEY = '{}'", "AccountName=x;AccountKey={};EndpointSuffix=y", "_auth={}",
    'signing_key="{}"', "Set-Cookie: session={}; Path=/", "https://{}@github.com/x/y.git",
    "invalid token {} for bob", "https://bucket.example.org/x?X-Amz-Signature={}",
)  # fmt: skip


@pytest.mark.parametrize("frame", TOKEN_FRAMES)
@pytest.mark.parametrize("size", [24, 40, 64])
def test_a_token_is_announced_or_too_random(frame, size):
    alphabets = [ALNUM] * 5 + [HEX, string.ascii_lowercase + string.digits] * (
        frame in TOKEN_FRAMES[:18]
    )
    for secret in (made(size, alphabet) for alphabet in alphabets):
        redacted = redact(frame.format(secret))
        assert secret not in redacted
        assert secret[4:16] not in redacted
        assert "[redacted " in redacted


@pytest.mark.parametrize("frame", ['setting = "@@"', "FOO=@@", "x: @@", '{"other": "@@"}'])
def test_what_nothing_announces_is_too_random(frame):
    for size, least in ((24, 92), (40, 98)):
        secrets = [made(size) for _ in range(100)]
        assert sum(one not in redact(frame.replace("@@", one)) for one in secrets) >= least


READABLE = """\
commit 3f2a9c8b7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a (HEAD -> main, tag: v1.2.3)
index 0a1b2c3d4..5e6f7a8b9 100644
id: 550e8400-e29b-41d4-a716-446655440000
"request_id": "req_011CSHoEeqs5C35K2UUqR7Fy"
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
256 SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8 host (ED25519)
github.com/pkg/errors v0.9.1 h1:FEBLx1zS214owpjy7qsBeixbURkuhQAwrK5UwLGTwt4=
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="
checksum = "b6c6ddf36bb1a6c9a1f9c1a7d2a1f0e2e4b0b0c1d2e3f4a5b6c7d8e9f0a1b2c3"
FAILED tests/test_auth.py::test_token_expired[param-1] - AssertionError: token expired
E       assert response.status_code == 200, got 401 Unauthorized
tokens: 1234, max_tokens=4096, token_count: 512, prompt_tokens 88
SyntaxError: Unexpected token o in JSON at position 1
tokenizer = AutoTokenizer.from_pretrained("bert-base-uncased")
def login(user: str, password: str, token: str | None = None) -> Session:
password = getpass.getpass("Password: ")
api_key = os.environ["API_KEY"]
api_key=settings.API_KEY, secret=self._secret
if password == stored_password: return token
login(user=user, password=password)
password: must be at least 8 characters
{"password": ["This field is required."], "token": null}
"password": "This password is too common."
TOKEN: ${{ secrets.TOKEN }}
password = 'ACCESS_TOKEN'
password=$DB_PASSWORD PASSWORD="${PASSWORD:-}" --password "$PASSWORD"
password: <your-password>  token: ******
DATABASE_URL=postgres://localhost:5432/shop
DATABASE_URL=postgres://bob:$PASSWORD@localhost/shop
http://localhost:8080/users/@me?page=2
git@github.com:example/repository.git
author: Bob Smith <bob@example.org>
primary_key=True, foreign_key: user_id, sort_key = itemgetter(1)
keyboard: us, monkey: 3, secretary: Alice, compass: north, bypass: yes
pass: 12, fail: 3, skip: 0
12 passed, 3 failed in 0.52s
AttributeError: 'Token' object has no attribute 'value2'
PATH=/home/Bob/Library2/Python3/TestCase/bin:/usr/lib/python3.11/site-packages
name=TestPaymentGatewayRetriesTwice2InARow
class=com.example.payments.PaymentGatewayFactoryBean2
Traceback (most recent call last): File "/w/src/auth/password_reset.py", line 12, in reset
X-Request-Id: 7b9f3c1e-0d52-4f6e-9f0e-2b6d1f3a4c5d
docker build --secret id=npmrc,src=$HOME/.npmrc .
docker run -u 1000:1000 -p 8080:80 image
rsync -p 22 a b; ssh -p 2222 host; mysqldump --opt shop > shop.sql
Enter password:
Password:
git config --global credential.helper store
pytest tests/test_password.py -k "token and not secret"
the password was reset, the token has expired, the secret is out
const token = await getToken(); let key = keys[0];
token => next(token), secret -> value
""".splitlines()


IMAGE = base64.b64encode(DICE.randbytes(3000)).decode()


@pytest.mark.parametrize("line", [*READABLE, f'<img src="data:image/png;base64,{IMAGE}"/>'])
def test_what_only_looks_odd_stays_readable(line):
    assert redact(line) == line


@pytest.mark.slow
def test_ordinary_code_is_left_alone():
    library = sysconfig.get_paths()["stdlib"]
    names = ("argparse", "ast", "configparser", "ctypes/util", "difflib", "email/message", "enum")
    names += ("http/client", "json/decoder", "logging/config", "netrc", "pathlib", "pickle")
    names += ("secrets", "smtplib", "ssl", "tarfile", "tokenize", "unittest/case", "zipfile")
    lines = changed = 0
    for name in names:
        for path in glob.glob(os.path.join(library, name + ".py")):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            pairs = list(zip(text.split("\n"), redact(text).split("\n"), strict=True))
            lines += len(pairs)
            changed += sum(before != after for before, after in pairs)
    assert lines > 10_000
    assert changed <= lines / 2_000


@given(st.text(max_size=200))
@example('password="[redacted password]')
@example("password://Authorization: a")
def test_any_text_can_be_redacted_and_once_is_enough(text):
    once = redact(text)
    assert redact(once) == once
    assert len(excerpt(text, 50)) <= 50


def test_an_excerpt_keeps_the_begin_and_mostly_the_end():
    text = "first line\n" + "middle\n" * 10_000 + "last line"
    short = excerpt(text, 1_000)
    assert len(short) <= 1_000
    assert short.startswith("first line\n")
    assert short.endswith("last line")
    assert "characters left out …]" in short
    assert excerpt("short", 1_000) == "short"


@pytest.mark.parametrize("size", range(3_500, 4_700, 37))
def test_no_cut_lets_a_part_of_a_secret_through(size):
    secret = made(40)
    block = private_key()
    text = "x\n" * (size // 2) + f"password = {secret}\n{block}\n" + "y z\n" * 1_000
    for part in (text, text[::-1].replace(secret[::-1], secret).replace(block[::-1], block)):
        short = excerpt(part, 1_000)
        assert not any(secret[i : i + 8] in short for i in range(32))
        assert not any(line in short for line in block.split("\n")[1:-1])


WORDS = "legal winner thank year wave sausage worth useful legal winner thank yellow"


@pytest.mark.parametrize("text", [
    "PGPASSWORD='Zunter3xyz9' psql", "curl -su 'admin:Zunter3xyz9' http://x.io",
    "curl --user 'admin:Zunter3xyz9' http://x.io", "sshpass -p 'Zunter3xyz9' ssh x",
    "mysql -p'Zunter3xyz9'", "python3 -c \"password = 'Zunter3xyz9'\"",
    "psycopg2.connect(password='Zunter3xyz9')", "echo 'the password is Zunter3xyz9' > exit 3",
    f"seed phrase: {WORDS}\nseed phrase: {WORDS}", f"mnemonic: {WORDS}\nmnemonic: {WORDS}",
])  # fmt: skip
@pytest.mark.parametrize(
    "quote", [str, shlex.quote, lambda text: "'" + text.replace("'", "'\\''") + "'"]
)
def test_a_shells_quotes_and_line_ends_hide_no_secret(text, quote):
    kept = redact(f"sh -c {quote(text)}")
    assert "unter3" not in kept
    assert "sausage" not in kept


KELVIN = "\N{KELVIN SIGN}"


def test_hints_are_found_one_by_one_as_they_are_all_at_once(monkeypatch):
    """A process that sees few short texts does not compile the hints of all forms."""
    _forms, hints = redact_module._forms()
    texts = [
        f"see {hint.strip('/')}, or {hint.upper()} and A.bcdefg.{'x' * 27}" for hint, _ in hints
    ]
    texts += [f"신고 {text.replace('S', 'ſ').replace('k', KELVIN)}" for text in texts]
    texts += [f"값=\N{NO-BREAK SPACE}{'é' * 20}", f".{'é' * 6}.{'x' * 27}", f"İ{'é' * 48}"]
    monkeypatch.setattr(redact_module, "_SHORT_TEXTS", iter([0] * len(texts)))
    one_by_one = [redact_module._find_forms(text) for text in texts]
    monkeypatch.setattr(redact_module, "_SHORT_TEXTS", iter([1_000] * len(texts)))
    assert one_by_one == [redact_module._find_forms(text) for text in texts]
