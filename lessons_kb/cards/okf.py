"""Convert a card to a concept of the Open Knowledge Format (OKF), and back.

Version 0.3 of the format names `sources`, `verified`, `stale_after`, `superseded_by` and `status`.
Its validators disagree about details. The output here satisfies okfgen, okf-cli and vault2okf:
every date has a time and an offset, `type` is text, and only the index at the root has a header.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml

from lessons_kb.cards.edit import edit_header
from lessons_kb.cards.edit_sources import make_quote
from lessons_kb.cards.keys import SYNONYMS, Split, canonical, split_header
from lessons_kb.cards.read_header import read_header
from lessons_kb.cards.sources import FIELDS, read_sources
from lessons_kb.model import NOTE, Card, Source

VERSION = "0.2"
"""The version that a bundle declares. Version 0.3 only adds keys, and its readers read 0.2."""
RESERVED = ("index.md", "log.md")
"""Names of files, in lower case, that are not concepts."""
STATUS_WORDS: Mapping[str, str] = {
    "active": "stable",
    "archived": "deprecated",
    "ignored": "deprecated",
    "draft": "draft",
}
"""Maps our status to OKF's status."""
REVIEWER = "human:reviewer"
"""OKF requires the person who verified a concept, which a card does not name."""
_KEPT = "lessons-"
"""The prefix of a key whose value OKF has no word for."""
_MOMENT = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})", re.ASCII
)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:$|[T ])", re.ASCII)
_DEEP = 16


def to_okf(text: str, card: Card, *, find_path: Callable[[str], str | None]) -> str:
    """Return the text of a file as an OKF concept. Its body stays byte for byte.

    ``find_path`` returns the path of a card in the bundle by its name, or None if there is none.
    """
    split = split_header(text)
    reading = read_header(split)
    is_readable = split.header is not None and reading.reader != "none"
    data = _read_header(split) if is_readable else {}
    sources = read_sources(reading.entries)
    header = _convert(data, card, sources, find_path)
    written = yaml.dump(
        header, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000
    )
    body = split.body if is_readable else f"\n{text}"
    return f"---\n{written}---\n{body}"


class _Loader(yaml.SafeLoader):
    """Reads dates and fractions as text, so that they are written unchanged."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in rules if not tag.endswith((":timestamp", ":float"))]
    for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    """Writes lists within mappings with an indent, and no aliases."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002
        super().increase_indent(flow, False)


def _read_header(split: Split) -> dict[str, Any]:
    """Return the keys of a header with their values, or its plain values if it is not YAML."""
    reading = read_header(split)
    if reading.reader == "yaml" and split.header is not None:
        try:
            data = yaml.load("\n".join(split.header.lines), Loader=_Loader)  # noqa: S506
        except (yaml.YAMLError, ValueError):
            data = None
        if isinstance(data, dict):
            return {str(key): _plain(value) for key, value in data.items()}
    values: dict[str, Any] = {}
    for entry in reading.entries:
        texts = [text or "" for text in entry.texts]
        values[entry.key] = texts if entry.shape == "list" else "".join(texts)
    return values


def _plain(value: Any, depth: int = 0) -> Any:
    """Return a value whose keys are texts, without the parts that YAML cannot write again."""
    if depth > _DEEP:
        return None
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    is_simple = value is None or isinstance(value, (str, int, float))
    return value if is_simple else str(value)


def _convert(
    data: Mapping[str, Any],
    card: Card,
    sources: Sequence[Source],
    find_path: Callable[[str], str | None],
) -> dict[str, Any]:
    """Return the header of a concept: OKF's keys first, then all others unchanged."""
    header: dict[str, Any] = {"type": _text(data.get("type")) or card.kind}
    title, description = data.get("title"), data.get("description")
    header["title"] = title if isinstance(title, str) and title.strip() else card.title
    if isinstance(description, str) and description.strip():
        header["description"] = description
    elif card.why:
        header["description"] = make_quote(card.why)
    if card.topics:
        header["tags"] = list(card.topics)
    status = _text(_find(data, "status"))
    if status or card.kind != NOTE:
        header["status"] = map_status(status)
    if status and status.casefold() not in _MAPPED_BACK:
        header[f"{_KEPT}status"] = status
    verified = _convert_verified(data.get("verified"), card.confirmed)
    if verified:
        header["verified"] = verified
    stale_after = _moment(_find(data, "stale-after"))
    if stale_after:
        header["stale_after"] = stale_after
    successor = _text(_find(data, "superseded-by"))
    if successor:
        path = find_path(card.superseded_by or successor)
        header["superseded_by"] = f"/{path}" if path else successor
    if sources:
        header["sources"] = _convert_sources(data.get("sources"), sources)
    for name, value in data.items():
        key = canonical(name)
        if any(canonical(other) == key for other in header):
            continue
        if key in _CONVERTED:
            if value not in (None, "", []):  # OKF cannot express it
                header[f"{_KEPT}{key}"] = value
            continue
        check = _CHECKS.get(name)
        checked = value if check is None else check(value)
        if checked is not None or value is None:
            header[name] = checked
        else:
            header[f"{_KEPT}{name}"] = value
    return header


_CONVERTED = (
    *("type", "title", "description", "status", "verified", "stale-after", "superseded-by"),
    "sources",
)
"""Keys, in our spelling, that are written only in OKF's form."""


def _find(data: Mapping[str, Any], key: str) -> Any:
    """Return the value of a key in any spelling."""
    return next((value for name, value in data.items() if canonical(name) == key), None)


def _text(value: Any) -> str:
    """Return a scalar as one line of text, or "" for any other value."""
    if value is None or isinstance(value, (dict, list)):
        return ""
    return " ".join(str(value).split())


def _moment(value: Any) -> str | None:
    """Return a date as OKF's timestamp, or None if it is not a date.

    A day begins at midnight in UTC.
    """
    text = _text(value)
    if _MOMENT.fullmatch(text):
        return text
    match = _DAY.match(text)
    if not match:
        return None
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=dt.UTC)
    return moment.isoformat().replace("+00:00", "Z")


def _stamp(value: Any) -> dict[str, Any] | None:
    """Return OKF's pair of ``by`` and ``at``, or None if a value is not such a pair."""
    if not isinstance(value, dict) or not _text(value.get("by")):
        return None
    stamp = {**value, "by": _text(value["by"])}
    if "at" in value:
        at = _moment(value["at"])
        if at is None:
            return None
        stamp["at"] = at
    return stamp


def _convert_verified(value: Any, confirmed: str | None) -> list[dict[str, Any]]:
    """Return the verifications of a concept with their dates, our ``confirmed`` last."""
    values = value if isinstance(value, list) else [value]
    stamps = list(filter(None, map(_stamp, values)))
    is_there = any(stamp.get("at", "").startswith(confirmed) for stamp in stamps if confirmed)
    if confirmed and not is_there:
        stamps.append({"by": REVIEWER, "at": _moment(confirmed)})
    return stamps


def _convert_sources(value: Any, sources: Sequence[Source]) -> list[dict[str, Any]]:
    """Return sources as mappings, including the other keys that their authors wrote."""
    written: list[Any] = value if isinstance(value, list) else []
    by_resource = {_text(one.get("resource")): one for one in written if isinstance(one, dict)}
    converted = []
    for source in sources:
        entry: dict[str, Any] = {"resource": source.resource}
        for name in FIELDS:
            text = getattr(source, name)
            if name == "last_modified":
                text = _moment(text) or ""
            if text:
                entry[name] = text
        for name, more in by_resource.get(source.resource, {}).items():
            if name in _SOURCE_TEXTS:
                entry.setdefault(name, _text(more))
            elif name not in _SOURCE_TYPED:
                entry.setdefault(name, more)
        converted.append(entry)
    return converted


_SOURCE_TEXTS = ("id", "author")
_SOURCE_TYPED = ("usage_window", "last_modified")
"""Keys of a source that have their own form. A value with another form is left out."""


def _window(value: Any) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    ends = {name: _moment(value.get(name)) for name in ("from", "to")}
    return {**value, **ends} if all(ends.values()) else None


def _tags(value: Any) -> list[str] | None:
    items = value if isinstance(value, list) else [value]
    return [text for item in items if (text := _text(item))] or None


_CHECKS: Mapping[str, Callable[[Any], Any]] = {
    "timestamp": _moment,
    "generated": _stamp,
    "usage_window": _window,
    "resource": lambda value: _text(value) or None,
    "tags": _tags,
}
"""Maps other keys of OKF to functions that convert their values, or return None if they cannot."""


def map_status(word: str) -> str:
    """Return OKF's word for a status. An unknown word counts as active."""
    word = word.casefold()
    if word in STATUS_WORDS.values():
        return word
    return STATUS_WORDS[SYNONYMS["status"].get(word, word if word in STATUS_WORDS else "active")]


_MAPPED_BACK = ("active", "archived", "draft", "stable", "deprecated")
"""Words for which OKF's own word is read as their meaning."""


def from_okf(text: str) -> str:
    """Return the text of a concept as the text of a card. Values that OKF has words for stay.

    A status of ours without a word in OKF is restored, unless the concept was changed since.
    """
    data = _read_header(split_header(text))
    kept = _text(data.get(f"{_KEPT}status"))
    if not kept:
        return text
    changes: dict[str, str | None] = {f"{_KEPT}status": None}
    if _text(data.get("status")) == map_status(kept):
        changes["status"] = kept
    return edit_header(text, changes)


def format_index(title: str, entries: Sequence[tuple[str, str, str]], *, is_root: bool) -> str:
    """Return the text of an index. Each entry has a title, an address and a description."""
    lines = ["---", f'okf_version: "{VERSION}"', "---", ""] if is_root else []
    lines += [f"# {title}", ""]
    for name, address, description in entries:
        shown = re.sub(r"[\[\]]", "", name).strip() or address
        line = f"* [{shown}]({address})"
        lines.append(f"{line} - {description}" if description else line)
    return "\n".join([*lines, ""])
