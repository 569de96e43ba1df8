"""Secrets that their name announces: ``password = …``, ``--token …``, ``<secret>…</secret>``."""

from __future__ import annotations

import re
from functools import lru_cache

from lessons_kb.text.secret_forms import HARMLESS_ENDS, NAMES, PLACEHOLDERS, SENTENCE_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_HINTS = (
    *("pass", "pwd", "secret", "credential", "token", "jwt", "key", "auth", "cl_", "sl_", "cl-"),
    *("비밀번호", "암호", "パスワード", "密码"),
)
_MAY_ANNOUNCE = (
    rf"(?:{'|'.join(_HINTS)})[\w.-]{{0,90}}"
    r"(?:\\{0,3}[\"'`]?\]?[ \t]{0,20}[=:!]|\\{0,3}[\"'],|>"
    r"|[ \t]{1,4}(?:(?:is|was)[ \t]{1,4})?\S*\d)"
    rf"|-[\w.-]*(?:{'|'.join(_HINTS)})[\w.-]{{0,90}}[ \t]"
)
"""Whatever ``_ANNOUNCED`` finds with a value; compiled in a tenth of its time."""
_GAP = r"[ \t]{0,20}"
_NAME = "|".join(f"(?P<{kind}>{words})" for kind, words in NAMES.items())
_ANNOUNCED = (
    rf"(?P<word>(?i:{_NAME}))(?P<rest>[\w.-]{{0,60}})(?:"
    rf"{_GAP}:{_GAP}[A-Za-z][A-Za-z.\[\]|]{{0,40}}[ \t]{{1,4}}=(?!=){_GAP}"  # name: type = …
    rf"|(?P<sign>\\{{0,3}}[\"'`]?\]?{_GAP}(?:=>|:=|===?|!==?|=|:){_GAP})"
    r"|(?P<comma>\\{0,3}[\"'],[ \t]{0,4})"
    r"|(?P<blank>[ \t]{1,4}(?:(?:is|was)[ \t]{1,4})?)"
    r"|(?P<tag>>)"
    r")"
)
_QUOTED = (
    r"\\+(?P<quote>[\"'])(?P<escaped>[^\n]{1,2000}?)(?:\\+(?P=quote)|$)"
    r"|[rbfuRBFU]{0,2}(?P<mark>[\"'`])(?P<plain>(?:\\.|(?!(?P=mark))[^\\\n]){1,2000})"
)
_BARE = r"[^\s\"'`\\][^\s]{0,300}"
_MORE = r"[\w+/=~.-]*"
_BARE_ENDS = r"[&;,|](?=[\w.%-]{1,60}[=:])|\\[nrt\"']|[\"'`](?=[\s,;:)\]}]|$)|[\"'`,;:)\]}>]{1,20}$"
_REFERENCE = (
    r"\$[\w{(].*|%[\w(]+\)?s?%?|\{.*|<.*|\[.*|#\{.*|[*•.x_#-]{2,}|\\u2022.*|!\w+.*|&?\*\w+|@\w+\(.*"
    r"|(?:id|src|source|type|env|name|file)=.*"
)
_CALL = r"(?:new|await|lambda|function|async|not)\b.*|[A-Za-z_$][\w.$]*(?:\(|\[|\{|=>|::|->).*"
_ATTRIBUTE = r"[A-Za-z_]+(?:\.[A-Za-z_]+)+"
_OWNERS = (
    r"(?:self|this|cls|conf|config|cfg|settings|args|opts|options|request|req|env|os|process)\..*"
)
_PLACE = r"(?:/|\./|\.\./|~/|[A-Za-z]:[\\/]|https?://|file:|s3://|projects/|arn:)[^\s]*"
_CLOSED_BEFORE = frozenset(",;:)]}+ ")
_COMPARISONS = ("==", "!=")
_SHORTEST = 6
_DIGITS_OF_COUNT = 3
_LONG_WORD = 20
_LONG_TOKEN = 16


def redact_announced(text: str, lower: str) -> str:
    """Return ``text`` without the values of names that announce a secret.

    ``lower`` is the text in lower case.
    """
    if not any(hint in lower for hint in _HINTS) or not _compiled(_MAY_ANNOUNCE).search(lower):
        return text
    parts: list[str] = []
    done = 0
    for start, end, kind in _find_secrets(text):
        parts += (text[done:start], f"[redacted {kind}]")
        done = end
    return "".join((*parts, text[done:]))


def _find_secrets(text: str) -> Iterator[tuple[int, int, str]]:
    announced, place = _compiled(_ANNOUNCED), 0
    while found := announced.search(text, place):
        place = found.end("rest")
        kind = next(kind for kind in NAMES if found[kind])
        if _speaks_about(found["word"], found["rest"]) or _is_ours(text, found.start()):
            continue
        span = _quoted(found, kind) or _bare(found, kind)
        if span and span[1] > span[0]:
            place = span[1]
            yield *span, kind


def _is_ours(text: str, start: int) -> bool:
    """Tell that a name stands in a ``[redacted KIND]`` of an earlier pass."""
    mark = _compiled(r"\[redacted [a-z ]{0,30}\Z")
    return mark.search(text, max(start - 45, 0), start) is not None


def _is_sure(found: re.Match[str], kind: str, value: str) -> bool:
    """Tell whether what follows the name is its value; after a blank or a comma it may not be."""
    if not (found["blank"] or found["comma"]):
        return True
    if _name(found).startswith("-") and found["word"].lower() != "auth":
        return True
    enough = _SHORTEST if kind == "password" else _LONG_TOKEN
    return len(value) >= enough and _is_mixed(value) and _matches(r"[^\s=()\[\]{}<>]+", value)


def _name(found: re.Match[str]) -> str:
    before = _compiled(r"[\w.-]*\Z").search(found.string, max(found.start() - 60, 0), found.start())
    return f"{before[0] if before else ''}{found['word']}{found['rest']}"


def _speaks_about(word: str, rest: str) -> bool:
    """Tell ``tokenizer`` and ``token_count`` from ``tokens``, ``tokenValue`` and ``token_2``."""
    if not rest:
        return False
    first, last = rest[0], word[-1]
    joined = first.isalpha() and last.isascii() and not (first.isupper() and last.islower())
    if joined and rest.lower() != "s" and not _compiled(r"[sS][_.-]").match(rest):
        return True
    end = _compiled(r"([A-Z]?[a-z]+|[A-Z]+)[^A-Za-z]*\Z").search(rest)
    return end is not None and end[1].lower() in HARMLESS_ENDS


def _quoted(found: re.Match[str], kind: str) -> tuple[int, int] | None:
    value = _compiled(_QUOTED).match(found.string, found.end())
    if value is None or (_is_spoken(found) and value[0].lstrip("\"'`")[:1] in _CLOSED_BEFORE):
        return None
    group = "plain" if value["mark"] else "escaped"
    if not _is_quoted_secret(value[group], kind) or not _is_sure(found, kind, value[group]):
        return value.end(), value.end()
    return value.span(group)


def _is_spoken(found: re.Match[str]) -> bool:
    """Tell ``'Password: '`` from ``'password': '``: there the quote that follows closes."""
    return (found["sign"] or "").rstrip(" ") == ":"


def _is_quoted_secret(value: str, kind: str) -> bool:
    bare = value.strip()
    if _is_placeholder(bare):
        return False
    words = bare.lower().replace(",", " ").replace(".", " ").split()
    if len(words) > 1 and (kind != "password" or not SENTENCE_WORDS.isdisjoint(words)):
        return any(len(word) >= _LONG_WORD and _is_mixed(word) for word in words)
    if kind == "password":
        return True
    if _matches(_PLACE, bare) or len(bare) < _SHORTEST:
        return False
    return kind == "secret" or _is_mixed(bare) or not _matches(r"[A-Za-z_. -]+", bare)


def _bare(found: re.Match[str], kind: str) -> tuple[int, int] | None:
    text, start = found.string, found.end()
    value = _compiled(_BARE).match(text, start)
    if value is None or found["comma"]:
        return None
    chunk = value[0]
    if found["tag"]:
        chunk = chunk.partition("<")[0]
    elif cut := _compiled(_BARE_ENDS).search(chunk):
        chunk = chunk[: cut.start()]
    follows = _compiled(r"[ \t]{1,4}[A-Za-z]").match(text, start + len(chunk)) is not None
    if chunk and _is_bare_secret(found, kind, chunk, follows=follows):
        more = _compiled(_MORE).match(text, start + len(chunk)) if chunk == value[0] else None
        return start, more.end() if more else start + len(chunk)
    return None


def _is_bare_secret(found: re.Match[str], kind: str, value: str, *, follows: bool) -> bool:
    name, sign = _name(found), (found["sign"] or "").strip("\"'`\\] \t")
    if _is_placeholder(value) or sign.startswith(_COMPARISONS) or sign == "=>":
        return False
    if not _is_sure(found, kind, value):
        return False
    if (name.isupper() and found["sign"] == "=") or found["blank"]:  # a shell's, an option's
        is_other = _matches(_PLACE, value) or _is_count(name, value)
        return not is_other and not value.startswith("-")
    if _matches(_CALL, value) or _matches(_ATTRIBUTE, value) or _matches(_OWNERS, value):
        return False
    if follows and sign == ":" and _matches(r"[A-Za-z'’-]+[.,;:!?]*", value):
        return False  # prose: "password: must be longer"
    if kind == "password":
        return not _is_count(name, value)
    if value.isdecimal() or _matches(_PLACE, value) or len(value) < _SHORTEST:
        return False
    return _is_mixed(value) or (kind == "secret" and sign == "=" and value.isalpha())


def _is_placeholder(value: str) -> bool:
    lower = value.lower().strip(".,:;!?")
    if lower in PLACEHOLDERS or _matches(_REFERENCE, value) or _matches(r"\W{0,3}", value):
        return True
    if _matches(r"(?:your|my|the|some|insert|enter|change|replace|example|dummy)[_ -].*", lower):
        return True
    return _matches(r"[A-Za-z_ -]+", value) and _names_itself(lower)


def _names_itself(lower: str) -> bool:
    """Tell that a value of letters is itself a name: ``user_password``, ``ACCESS_TOKEN``."""
    found = _compiled(rf"(?i:{_NAME})").search(lower)
    return found is not None


def _is_count(name: str, value: str) -> bool:
    return value.isdecimal() and (len(value) <= _DIGITS_OF_COUNT or "token" in name.lower())


def _is_mixed(value: str) -> bool:
    """Tell whether letters and digits both stand in a value of some length."""
    return (
        len(value) >= _SHORTEST
        and any(char.isdigit() for char in value)
        and any(char.isalpha() for char in value)
    )


def _matches(pattern: str, value: str) -> bool:
    return _compiled(pattern).fullmatch(value) is not None


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
