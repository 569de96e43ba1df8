"""Formats of secrets and channels through which they come, for tests: each secret is made up.

In a frame ``@@`` stands for the secret; ``made(seed)`` of a format is always the same.
"""

from __future__ import annotations

import base64
import json
import posixpath
import random
import string
from collections.abc import Callable, Container

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM, HEX = string.ascii_letters + DIGITS, "0123456789abcdef"
LOW, SAFE, BASE64 = LOWER + DIGITS, ALNUM + "_-", ALNUM + "+/"
Maker = Callable[[random.Random], str]


def _of(size: int, alphabet: str = ALNUM, *, before: str = "", after: str = "") -> Maker:
    def make(dice: random.Random) -> str:
        while True:
            body = "".join(dice.choices(alphabet, k=size))
            if any(map(str.isdigit, body)) and not body.isdigit() and body[-1] not in "-_+/":
                return f"{before}{body}{after}"

    return make


def _digits(size: int) -> Maker:
    return lambda dice: "".join(dice.choices(DIGITS[1:], k=size))


def _joined(*makers: Maker | str) -> Maker:
    return lambda dice: "".join(m if isinstance(m, str) else m(dice) for m in makers)


def _jwt(dice: random.Random) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": dice.randrange(10**9), "name": "Kim"})
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts)
    return ".".join(text.rstrip("=") for text in texts) + "." + _of(43, SAFE)(dice)


def _snowflake(dice: random.Random) -> str:
    return base64.b64encode(f"1{_digits(17)(dice)}".encode()).decode()


def _basic(dice: random.Random) -> str:
    return base64.b64encode(f"kim:{_of(15)(dice)}".encode()).decode()


_UUID = _joined(
    _of(8, HEX), "-", _of(4, HEX), "-", _of(4, HEX), "-", _of(4, HEX), "-", _of(12, HEX)
)
PASSWORD = _joined(_of(5), "!", _of(5))
"""As people choose them: nothing in it tells."""

PART = 11
"""Characters in a row that are a part of a secret: of eight, some stand in a hash by chance."""

FORMATS: dict[str, tuple[str, Maker]] = {
    # vendors' tokens: their form tells
    "github classic": ("@@", _of(36, before="ghp_")),
    "github oauth": ("@@", _of(36, before="gho_")),
    "github user": ("@@", _of(36, before="ghu_")),
    "github server": ("@@", _of(36, before="ghs_")),
    "github refresh": ("@@", _of(36, before="ghr_")),
    "github fine-grained": ("@@", _joined(_of(22, before="github_pat_"), "_", _of(59))),
    "gitlab pat": ("@@", _of(20, SAFE, before="glpat-")),
    "gitlab deploy": ("@@", _of(20, SAFE, before="gldt-")),
    "gitlab runner": ("@@", _of(20, SAFE, before="glrt-")),
    "gitlab trigger": ("@@", _of(40, HEX, before="glptt-")),
    "gitlab feature flags": ("@@", _of(20, before="glffct-")),
    "gitlab old runner": ("@@", _of(20, before="GR1348941")),
    "netlify": ("@@", _of(36, before="nfp_")),
    "replicate": ("@@", _of(37, before="r8_")),
    "1password service account": ("@@", _of(400, before="ops_eyJ")),
    "1password secret key": (
        "@@",
        _joined(
            "A3-",
            _of(6, UPPER + DIGITS),
            "-",
            _of(11, UPPER + DIGITS),
            "-",
            _of(5, UPPER + DIGITS),
            "-",
            _of(5, UPPER + DIGITS),
            "-",
            _of(5, UPPER + DIGITS),
        ),
    ),
    "pinecone": ("@@", _joined("pcsk_", _of(5), "_", _of(63))),
    "okta": ("Authorization: SSWS @@", _of(40, SAFE, before="00")),
    "okta alone": ("curl -H 'x: SSWS @@'", _of(40, SAFE, before="00")),
    "braintree": ("@@", _joined("access_token$production$", _of(16, LOW), "$", _of(32, HEX))),
    "discord bot": ("@@", _joined(_snowflake, ".", _of(6), ".", _of(38, SAFE))),
    "discord webhook": (
        "https://discord.com/api/webhooks/@@",
        _joined(_digits(18), "/", _of(68, SAFE)),
    ),
    "slack bot": ("@@", _joined("xoxb-", _digits(12), "-", _digits(12), "-", _of(24))),
    "slack user": (
        "@@",
        _joined("xoxp-", _digits(12), "-", _digits(12), "-", _digits(12), "-", _of(32, HEX)),
    ),
    "slack app": ("@@", _joined("xapp-1-", _of(11), "-", _digits(13), "-", _of(64, HEX))),
    "slack webhook": (
        "https://hooks.slack.com/services/@@",
        _joined(
            _of(9, UPPER + DIGITS, before="T"),
            "/",
            _of(9, UPPER + DIGITS, before="B"),
            "/",
            _of(24),
        ),
    ),
    "aws access key": ("@@", _of(16, UPPER + "234567", before="AKIA")),
    "aws session key": ("@@", _of(16, UPPER + "234567", before="ASIA")),
    "aws secret key": ("aws_secret_access_key = @@", _of(40, BASE64)),
    "aws bedrock": ("@@", _of(128, BASE64, before="ABSK")),
    "azure client secret": ("@@", _joined(_of(3), "8Q~", _of(34, ALNUM + "~."))),
    "azure storage": ("AccountName=x;AccountKey=@@", _of(86, BASE64, after="==")),
    "azure sas": ("https://x.blob.core.windows.net/c?sv=2024&sig=@@", _of(43, after="%3D")),
    "google api": ("@@", _of(35, SAFE, before="AIza")),
    "google oauth": ("@@", _of(60, SAFE, before="ya29.")),
    "google secret": ("@@", _of(28, SAFE, before="GOCSPX-")),
    "google refresh": ("@@", _of(60, SAFE, before="1//0")),
    "anthropic": ("@@", _of(93, SAFE, before="sk-ant-api03-", after="AA")),
    "anthropic oauth": ("@@", _of(86, SAFE, before="sk-ant-oat01-", after="AA")),
    "openai": ("@@", _joined(_of(20, before="sk-"), "T3BlbkFJ", _of(20))),
    "openai project": ("@@", _of(120, SAFE, before="sk-proj-")),
    "openrouter": ("@@", _of(64, HEX, before="sk-or-v1-")),
    "deepseek": ("@@", _of(32, HEX, before="sk-")),
    "groq": ("@@", _of(52, before="gsk_")),
    "xai": ("@@", _of(80, before="xai-")),
    "perplexity": ("@@", _of(48, before="pplx-")),
    "fireworks": ("@@", _of(24, before="fw_")),
    "tavily": ("@@", _of(32, before="tvly-")),
    "langsmith": ("@@", _joined("lsv2_pt_", _of(32, HEX), "_", _of(10, HEX))),
    "nvidia": ("@@", _of(64, SAFE, before="nvapi-")),
    "hugging face": ("@@", _of(34, before="hf_")),
    "stripe live": ("@@", _of(24, before="sk_live_")),
    "stripe restricted": ("@@", _of(24, before="rk_live_")),
    "stripe webhook": ("@@", _of(32, before="whsec_")),
    "square": ("@@", _of(43, SAFE, before="sq0csp-")),
    "paypal braintree tokenization": ("@@", _joined("production_", _of(8, LOW), "_", _of(16, LOW))),
    "flutterwave": ("@@", _of(32, "abcdefgh0123456789", before="FLWSECK_TEST-", after="-X")),
    "razorpay": ("RAZORPAY_KEY_SECRET=@@", _of(24)),
    "shopify": ("@@", _of(32, HEX, before="shpat_")),
    "shopify shared": ("@@", _of(32, HEX, before="shpss_")),
    "twilio": ("@@", _of(32, HEX, before="SK")),
    "sendgrid": ("@@", _joined("SG.", _of(22, SAFE), ".", _of(43, SAFE))),
    "mailgun": ("@@", _of(32, HEX, before="key-")),
    "mailchimp": ("@@", _of(32, HEX, after="-us12")),
    "sendinblue": ("@@", _joined(_of(64, HEX, before="xkeysib-"), "-", _of(16, LOW))),
    "postman": ("@@", _joined("PMAK-", _of(24, HEX), "-", _of(34, HEX))),
    "npm": ("@@", _of(36, before="npm_")),
    "npm auth": ("//registry.npmjs.org/:_authToken=@@", _UUID),
    "pypi": ("@@", _of(120, SAFE, before="pypi-AgEIcHlwaS5vcmc")),
    "rubygems": ("@@", _of(48, HEX, before="rubygems_")),
    "crates.io": ("@@", _of(32, before="cio")),
    "clojars": ("@@", _of(60, LOW, before="CLOJARS_")),
    "docker hub": ("@@", _of(27, SAFE, before="dckr_pat_")),
    "docker organisation": ("@@", _of(32, SAFE, before="dckr_oat_")),
    "artifactory": ("@@", _of(69, before="AKCp")),
    "artifactory reference": ("@@", _of(59, before="cmVmd")),
    "vault": ("@@", _of(92, SAFE, before="hvs.")),
    "terraform cloud": ("@@", _joined(_of(14), ".atlasv1.", _of(62, SAFE))),
    "pulumi": ("@@", _of(40, HEX, before="pul-")),
    "doppler": ("@@", _of(43, before="dp.pt.")),
    "infisical": ("@@", _joined("st.", _of(24, HEX), ".", _of(32, HEX), ".", _of(32, HEX))),
    "age": ("@@", _of(58, "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", before="AGE-SECRET-KEY-1")),
    "digitalocean": ("@@", _of(64, HEX, before="dop_v1_")),
    "heroku": ("@@", _of(58, SAFE, before="HRKU-AA")),
    "fly.io": ("@@", _of(43, SAFE, before="fo1_")),
    "fly.io macaroon": ("@@", _of(120, BASE64, before="fm2_")),
    "vercel": ("VERCEL_TOKEN=@@", _of(24)),
    "supabase": ("@@", _of(40, HEX, before="sbp_")),
    "supabase secret": ("@@", _joined("sb_secret_", _of(22, SAFE), "_", _of(8))),
    "neon": ("@@", _of(64, LOW, before="napi_")),
    "planetscale": ("@@", _of(43, SAFE, before="pscale_tkn_")),
    "databricks": ("@@", _of(32, HEX, before="dapi")),
    "snowflake": ("SNOWFLAKE_PASSWORD=@@", PASSWORD),
    "grafana service": ("@@", _joined("glsa_", _of(32), "_", _of(8, HEX))),
    "grafana cloud": ("@@", _of(60, before="glc_")),
    "new relic": ("@@", _of(27, UPPER + DIGITS, before="NRAK-")),
    "datadog": ("DD_API_KEY=@@", _of(32, HEX)),
    "dynatrace": ("@@", _joined("dt0c01.", _of(24, UPPER + DIGITS), ".", _of(64, UPPER + DIGITS))),
    "sentry organisation": ("@@", _of(60, before="sntrys_")),
    "sentry user": ("@@", _of(64, HEX, before="sntryu_")),
    "posthog": ("@@", _of(43, before="phx_")),
    "linear": ("@@", _of(40, before="lin_api_")),
    "notion": ("@@", _of(46, before="ntn_")),
    "figma": ("@@", _of(40, SAFE, before="figd_")),
    "atlassian": ("@@", _of(186, SAFE, before="ATATT3", after="=0A1B2C3D")),
    "airtable": ("airtable @@", _joined("pat", _of(14), ".", _of(64, HEX))),
    "asana": ("asana_secret = @@", _of(32, HEX)),
    "sonar": ("@@", _of(40, HEX, before="squ_")),
    "sourcegraph": ("@@", _joined("sgp_", _of(16, HEX), "_", _of(40, HEX))),
    "cloudflare origin": ("@@", _joined("v1.0-", _of(24, HEX), "-", _of(146, HEX))),
    "alibaba": ("@@", _of(20, before="LTAI")),
    "telegram": ("@@", _joined(_digits(9), ":AA", _of(33, SAFE))),
    "duffel": ("@@", _of(43, LOW, before="duffel_test_")),
    "easypost": ("@@", _of(54, before="EZAK")),
    "typeform": ("@@", _of(59, before="tfp_")),
    "prefect": ("@@", _of(36, LOW, before="pnu_")),
    "readme": ("@@", _of(70, LOW, before="rdme_")),
    "scalingo": ("@@", _of(48, SAFE, before="tk-us-")),
    "openshift": ("@@", _of(43, SAFE, before="sha256~")),
    "tailscale": ("@@", _joined("tskey-auth-", _of(16), "-", _of(32))),
    "buildkite": ("@@", _of(40, HEX, before="bkua_")),
    "circleci": ("@@", _joined("CCIPAT_", _of(22), "_", _of(40, HEX))),
    "mapbox": ("@@", _joined("sk.eyJ", _of(80), ".", _of(22))),
    "jwt": ("@@", _jwt),
    # what stands beside them tells
    "ldap": ("ldapsearch -x -D cn=admin -w @@ -b dc=x", PASSWORD),
    "ldap joined": ("ldapmodify -D cn=admin -w@@ -f x.ldif", PASSWORD),
    "ldap quoted": ("ldapwhoami -D 'cn=admin' -w '@@'", PASSWORD),
    "net use": ("net use Z: \\\\srv\\share @@ /user:DOM\\kim", PASSWORD),
    "net use, user first": ("net use Z: \\\\srv\\share /user:DOM\\kim @@", PASSWORD),
    "net user": ("net user kim @@ /add", PASSWORD),
    "psycopg2": ('psycopg2.connect("shop", "kim", "@@", "db.local")', PASSWORD),
    "mysqldb": ('MySQLdb.connect("db.local", "kim", "@@", "shop")', PASSWORD),
    "smtp": ('server.login("kim@x.io", "@@")', PASSWORD),
    "smtp single": ("smtp.login('kim@x.io', '@@')", PASSWORD),
    "ftp": ('FTP("ftp.x.io", "kim", "@@")', PASSWORD),
    "requests auth": ('requests.get(url, auth=("kim", "@@"))', PASSWORD),
    "paramiko": ('ssh.connect("h", 22, "kim", "@@")', PASSWORD),
    "flask": ("app.secret_key = b'@@'", PASSWORD),
    "flask escapes": ("app.secret_key = b'_5#y2L\"F4Q8z\\n\\xec]@@/'", PASSWORD),
    "django": ("SECRET_KEY = 'django-insecure-@@'", _of(50, LOW + "#%^*(-_=+")),
    "korean 비번": ("비번: @@", PASSWORD),
    "korean 비번은": ("서버 비번은 @@ 입니다", PASSWORD),
    "korean 패스워드": ("패스워드 = @@", PASSWORD),
    "korean 패스워드는": ("관리자 패스워드는 @@ 이야", PASSWORD),
    "korean 비밀번호": ("비밀번호는 @@ 로 해줘", PASSWORD),
    "korean API 키": ("API 키: @@", _of(32)),
    "korean API 키는": ("API 키는 @@ 야", _of(32)),
    "korean 토큰": ("토큰: @@", _of(32)),
    "korean 시크릿": ("시크릿 키 = @@", _of(32)),
    "korean 인증키": ("인증키: @@", _of(32)),
    "password assigned": ('password = "@@"', PASSWORD),
    "password exported": ("export DB_PASSWORD=@@", PASSWORD),
    "bearer": ("Authorization: Bearer @@", _of(40)),
    "basic": ("Authorization: Basic @@", _basic),
    "url": ("postgres://kim:@@@db.local/shop", _of(14)),
    "mysql": ("mysql -u kim -p@@ shop", PASSWORD),
    "curl": ("curl -u kim:@@ https://x.io", PASSWORD),
    "sshpass": ("sshpass -p @@ ssh kim@h", PASSWORD),
    "redis": ("redis-cli -h h -a @@ ping", PASSWORD),
    "pgpassword": ("PGPASSWORD=@@ psql -h h", PASSWORD),
    "connection string": ("Server=h;Database=d;User Id=kim;Password=@@;", PASSWORD),
    "netrc": ("machine x.io login kim password @@", PASSWORD),
    "wget": ("wget --user=kim --password=@@ https://x.io", PASSWORD),
    "docker login": ("docker login -u kim -p @@ r.io", PASSWORD),
}


def _diff(mark: str) -> Callable[[str], str]:
    def wrap(text: str) -> str:
        hunk = f"@@ -1,3 +1,3 @@\n def main():\n{mark}{text}\n {'+' if mark == '-' else '-'}x = 1\n"
        return f"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n{hunk}"

    return wrap


CHANNELS: dict[str, Callable[[str], str]] = {
    "prompt": lambda text: f"please use this in the worker: {text} and tell me if it works",
    "bare": lambda text: text,
    "command": lambda text: f"cd app && {text}",
    "output": lambda text: f"ok 1\nok 2\n{text}\nok 3\n",
    "error": lambda text: f"Traceback (most recent call last):\nValueError: bad input {text}\n",
    "diff removed": _diff("-"),
    "diff added": _diff("+"),
    "diff context": _diff(" "),
    "path": lambda text: f"app/{text}/x.py",
    "path made shorter": lambda text: posixpath.normpath(f"app/./{text}/x.py"),
    "json": lambda text: json.dumps({"a": 1, "text": text, "z": [text]}),
    "json in json": lambda text: json.dumps({"body": json.dumps({"text": text})}),
    "yaml": lambda text: f"env:\n  - {text}\n  - x: 1\n",
    "yaml block": lambda text: f"run: |\n  set -e\n  {text}\n  echo done\n",
    "url": lambda text: f"https://x.io/cb?next=1&q={text}&z=2",
    "environment": lambda text: f"VALUE={text}\nPATH=/usr/bin\n",
    "markdown": lambda text: f"- see `{text}` above\n",
}


def made(name: str, seed: int) -> tuple[str, str]:
    """Return (text with a secret in it, the secret) of a format."""
    frame, maker = FORMATS[name]
    secret = maker(random.Random(f"{name} {seed}"))
    return frame.replace("@@", secret, 1), secret


def left_of(secret: str, kept: Container[str]) -> str:
    """Return a part of a secret that was kept, "" if none was.

    ``kept`` is a text, or all its pieces of PART characters; a token's public beginning is no part.
    """
    body = secret[max(len(secret) - 24, len(secret) // 3) :] if len(secret) > 16 else secret
    parts = (body[i : i + PART] for i in range(len(body) - PART + 1))
    return next((part for part in parts if part in kept), "")
