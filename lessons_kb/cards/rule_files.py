"""A card's patterns as the rule files of ast-grep and Semgrep, and rules of theirs as patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lessons_kb.cards.keys import parse_pattern
from lessons_kb.data import read_mapping
from lessons_kb.detect.matcher import build_rule, find_language, name_example
from lessons_kb.errors import InputError
from lessons_kb.model import RELATIONS, Card, Pattern

AST_GREP, SEMGREP, OPENGREP = TOOLS = ("ast-grep", "semgrep", "opengrep")
_LEVELS = {"high": "error", "medium": "warning", "low": "info"}
_ALSO = {"info": "low", "hint": "low", "error": "high", "warning": "medium"}
_MULTI = re.compile(r"\$\$\$[A-Z]*")
_SEMGREP = {"inside": "pattern-inside", "not-inside": "pattern-not-inside"}
_COMMENTS = read_mapping("languages.toml")["comments"]
_CONFIG = {"ruleDirs": ["rules"], "testConfigs": [{"testDir": "rule-tests"}]}


def format_rules(tool: str, cards: Sequence[Card]) -> tuple[dict[str, str], list[str]]:
    """Return path → text of the rules of cards and of their tests, and what cannot be said so."""
    files: dict[str, str] = {}
    left: list[str] = []
    for card in cards:
        for place, pattern in enumerate(card.detect, 1):
            name = re.sub(r"\W+", "-", card.id.rpartition(".")[0]).strip("-") + f"-{place}"
            format_one = _format_ast_grep if tool == AST_GREP else _format_semgrep
            try:
                files |= format_one(name, card, pattern)
            except InputError as error:
                left.append(f"{card.id}: {pattern.kind} pattern {place} left out: {error}")
    if files and tool == AST_GREP:
        files["sgconfig.yml"] = _dump(_CONFIG)
    return files, left


def _format_ast_grep(name: str, card: Card, pattern: Pattern) -> dict[str, str]:
    if pattern.kind != "ast" or pattern.unless or not pattern.language:
        raise InputError("ast-grep takes ast patterns with a language and without unless")
    rule = {
        "id": name,
        "message": card.title,
        "severity": _LEVELS[card.severity],
        "language": find_language(pattern.language),
        **({"note": card.why} if card.why else {}),
        **({"files": list(pattern.files)} if pattern.files else {}),
        "metadata": {"card": card.id},
        "rule": build_rule(pattern),
    }
    files = {f"rules/{name}.yml": _dump(rule)}
    if pattern.bad or pattern.good:
        test = {"id": name, "valid": list(pattern.good), "invalid": list(pattern.bad)}
        files[f"rule-tests/{name}-test.yml"] = _dump(test)
    return files


def format_comment(language: str, text: str) -> str:
    """Return a comment of a language that holds a text, "" where there are no comments."""
    return _COMMENTS.get(language, "// {}").format(text)


def _format_semgrep(name: str, card: Card, pattern: Pattern) -> dict[str, str]:
    language = find_language(pattern.language)
    parts: list[dict[str, str]] = []
    if pattern.kind == "regex":
        language, parts = language or "regex", [{"pattern-regex": pattern.text}]
    elif pattern.kind == "ast" and language:
        parts = [{"pattern": _MULTI.sub("...", pattern.text)}]
    else:
        raise InputError("Semgrep takes regex patterns, and ast patterns with a language")
    for relation, text in pattern.relations:
        if relation == "not-has" and re.fullmatch(r"[\w-]+", text):
            parts.append({"pattern-not-regex": rf"\b{text}\b"})
        elif relation in _SEMGREP:
            around = f"{text}\ndef $F(...): ..." if text[0] == "@" else _MULTI.sub("...", text)
            parts.append({_SEMGREP[relation]: around})
        else:
            raise InputError(f"Semgrep has nothing like {relation}: {text}")
    parts += [{"pattern-not-regex": pattern.unless}] if pattern.unless else []
    told = f"{card.title}. {card.why}" if card.why else card.title
    level = _LEVELS[card.severity].upper()
    rule: dict[str, Any] = {"id": name, "message": told, "severity": level}
    rule["languages"] = [language]
    rule |= {"paths": {"include": list(pattern.files)}} if pattern.files else {}
    rule |= {"metadata": {"card": card.id}, "patterns": parts}
    files = {f"{name}.yml": _dump({"rules": [rule]})}
    if (pattern.bad or pattern.good) and language != "regex":
        kinds = (("ruleid", pattern.bad), ("ok", pattern.good))
        texts = ((f"{kind}: {name}", one) for kind, some in kinds for one in some)
        rows = [f"{format_comment(language, text)}\n{one}\n" for text, one in texts]
        files[name_example(language).replace("example", name)] = "".join(rows)
    return files


def _dump(data: Mapping[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse_rules(text: str) -> Iterator[tuple[dict[str, Any], Pattern | None, str]]:
    """Yield each rule of a file, the pattern that says the same, or why none does.

    Of a rule these are given: ``id``, ``title``, ``why`` and ``severity``. Raises InputError for a
    file that is not YAML.
    """
    import yaml

    try:
        documents = [*yaml.safe_load_all(text)]
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"not YAML: {str(error).partition(chr(10))[0]}") from None
    for data in documents:
        rules = data.get("rules", [data]) if isinstance(data, dict) else []
        for rule in rules if isinstance(rules, list) else []:
            if isinstance(rule, dict) and ("rule" in rule or "languages" in rule):
                told = {
                    "id": str(rule.get("id", "")),
                    "title": str(rule.get("message") or rule.get("id", "")),
                    "why": str(rule.get("note") or ""),
                    "severity": _ALSO.get(str(rule.get("severity", "")).lower(), "medium"),
                }
                try:
                    yield told, parse_pattern(_read_rule(rule)), ""
                except InputError as error:
                    yield told, None, str(error)


def _read_rule(rule: Mapping[str, Any]) -> dict[str, object]:
    """Return a rule as the keys of a pattern; InputError for one that no flat pattern says."""
    read: dict[str, object] = {}
    related: dict[str, list[str]] = {}
    if "rule" in rule:  # ast-grep
        read["language"] = str(rule.get("language", "")).lower()
        parts = rule["rule"].get("all", [rule["rule"]]) if isinstance(rule["rule"], dict) else []
        pairs = [(k, v) for part in parts if isinstance(part, dict) for k, v in part.items()]
        for name, value in pairs:
            key, inner = name, value
            if name == "not" and isinstance(value, dict) and len(value) == 1:
                ((key, inner),) = value.items()
                key = f"not-{key}"
            elif name == "any" and isinstance(value, list):  # our own variants
                key, inner = "pattern", next(iter(_patterns(value)), None)
            if key == "pattern" and isinstance(inner, str):
                read["ast"] = inner
            elif key in RELATIONS and isinstance(inner, dict):
                if inner.get("kind") == "decorated_definition":
                    inner = inner.get("has", {})
                exact = re.fullmatch(r"\^(.*)(?:\$|\\b)", str(inner.get("regex", "")))
                word = re.sub(r"\\(\W)", r"\1", exact[1] if exact else "")
                words = [word] if re.fullmatch(r"@[\w.]+|[\w-]+(?:=\w+)?", word) else []
                found = [*_patterns([inner]), *words, *_patterns(inner.get("any"))]
                if not found:
                    raise InputError(f"{key} is more than a pattern or a word")
                related.setdefault(key, []).append(found[0])
            else:
                raise InputError(f"{key} has no counterpart in a card")
        return {**read, **related, "files": rule.get("files", [])}
    names = rule["languages"] if isinstance(rule["languages"], list) else [rule["languages"]]
    parts = rule.get("patterns") or [{k: v for k, v in rule.items() if k.startswith("pattern")}]
    back = {value: name for name, value in _SEMGREP.items()}
    for part in parts if isinstance(parts, list) else ():
        if not isinstance(part, dict):
            raise InputError("patterns is not a list of mappings")
        for name, value in part.items():
            text = str(value).strip()
            if name == "pattern":
                read |= {"ast": text.replace("...", "$$$"), "language": str(names[0])}
            elif name == "pattern-regex":
                read["regex"] = text
            elif name == "pattern-not-regex" and (one := re.fullmatch(r"\\b([\w-]+)\\b", text)):
                related.setdefault("not-has", []).append(one[1])
            elif name == "pattern-not-regex":
                read["unless"] = text
            elif name in back:
                around = text.partition("\n")[0] if text[0] == "@" else text.replace("...", "$$$")
                related.setdefault(back[name], []).append(around)
            else:
                raise InputError(f"{name} has no counterpart in a card")
    paths = rule.get("paths")
    files = paths.get("include", []) if isinstance(paths, dict) else []
    return {**read, **related, "files": files}


def _patterns(rules: object) -> list[str]:
    some = rules if isinstance(rules, list) else []
    found = (one.get("pattern") for one in some if isinstance(one, dict))
    return [one for one in found if isinstance(one, str)]
