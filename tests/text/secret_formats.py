"""Formats of secrets and channels through which they come, for tests: each secret is made up.

In a frame ``@@`` stands for the secret; ``made(seed)`` of a format is always the same.
"""

import base64
import json
import pathlib
import posixpath
import random
import re
import shlex
import string

ALPHABETS = {
    "upper": string.ascii_uppercase, "low": string.ascii_lowercase + string.digits,
    "digits": string.digits, "digits1": string.digits[1:], "hex": "0123456789abcdef",
    "alnum": string.ascii_letters + string.digits,
    "safe": string.ascii_letters + string.digits + "_-",
    "base64": string.ascii_letters + string.digits + "+/",
}  # fmt: skip


def read_rows(name):
    """Return the rows of a table that lies beside this file."""
    return json.loads(pathlib.Path(__file__).with_name(f"{name}.json").read_text())


def _draw(dice, size, alphabet):
    while True:
        body = "".join(dice.choices(alphabet, k=size))
        if alphabet == ALPHABETS["digits1"] or (
            any(map(str.isdigit, body)) and not body.isdigit() and body[-1] not in "-_+/"
        ):
            return body


def jwt(dice, draw=_draw):
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": dice.randrange(10**9), "name": "Kim"})
    texts = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts)
    return ".".join(text.rstrip("=") for text in texts) + "." + draw(dice, 43, ALPHABETS["safe"])


def fill(form, dice, draw=_draw):
    """Fill the fields of a form: ``<36>``, ``<40 hex>``, ``<24 bytes>`` in base64, ``<jwt>``."""

    def field(found):
        name, size, kind = found.groups()
        if name == "jwt":
            return jwt(dice, draw)
        if name:
            text = "1<17 digits1>" if name == "snowflake" else "kim:<15>"
            return base64.b64encode(fill(text, dice, draw).encode()).decode()
        if kind == "bytes":
            return base64.b64encode(dice.randbytes(int(size))).decode()
        first, _, more = (kind or "alnum").partition("+")
        return draw(dice, int(size), ALPHABETS.get(first, first) + ALPHABETS.get(more, more))

    return re.sub(r"<(?:(jwt|snowflake|basic)|(\d+)(?: ([^\s>]+))?)>", field, form)


def draw(dice, size, alphabet):
    """Return random characters, one of each class that the alphabet has among the first seven."""
    while True:
        text = "".join(dice.choices(alphabet, k=size))
        kinds = (str.isdigit, str.islower, str.isupper)
        if all(any(map(kind, text[:7])) or not any(map(kind, alphabet)) for kind in kinds):
            return text


PASSWORD = "<5>!<5>"
"""As people choose them: nothing in it tells."""

PART = 11
"""Characters in a row that are a part of a secret: of eight, some stand in a hash by chance."""

FORMATS = {name: (frame, form) for name, frame, form in read_rows("secret_formats")}


def _diff(mark):
    def wrap(text):
        hunk = f"@@ -1,3 +1,3 @@\n def main():\n{mark}{text}\n {'+' if mark == '-' else '-'}x = 1\n"
        return f"diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n{hunk}"

    return wrap


CHANNELS = {
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
    "shell": lambda text: shlex.join(["bash", "-lc", f"cd app && {text}"]),
    "markdown": lambda text: f"- see `{text}` above\n",
    "in signs": lambda text: f'[{text}] <{text}> "{text}" bad {text} given x={text}',
}


def made(name, seed):
    """Return (text with a secret in it, the secret) of a format."""
    frame, form = FORMATS[name]
    secret = fill(form, random.Random(f"{name} {seed}"))
    return frame.replace("@@", secret, 1), secret


def left_of(secret, kept):
    """Return a part of a secret that was kept, "" if none was.

    ``kept`` is a text, or all its pieces of PART characters; a token's public beginning is no part.
    """
    body = secret[max(len(secret) - 24, len(secret) // 3) :] if len(secret) > 16 else secret
    parts = (body[i : i + PART] for i in range(len(body) - PART + 1))
    return next((part for part in parts if part in kept), "")
