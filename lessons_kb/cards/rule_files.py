"""Convert patterns of cards to rules of ast-grep and Semgrep, and such rules to patterns."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lessons_kb.cards.detect_key import parse_pattern
from lessons_kb.cards.foreign_yaml import Data, read_documents
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
    """Return a mapping from paths to texts of rule files and their tests, and a list of omissions.

    A pattern is omitted if the tool has no counterpart for it. The list has a line about each.
    """
    files: dict[str, str] = {}
    omitted: list[str] = []
    for card in cards:
        for number, pattern in enumerate(card.detect, 1):
            name = re.sub(r"\W+", "-", card.id.rpartition(".")[0]).strip("-") + f"-{number}"
            format_one = _format_ast_grep if tool == AST_GREP else _format_semgrep
            try:
                files |= format_one(name, card, pattern)
            except InputError as error:
                omitted.append(f"{card.id}: {pattern.kind} pattern {number} left out: {error}")
    if files and tool == AST_GREP:
        files["sgconfig.yml"] = _dump(_CONFIG)
    return files, omitted


def _format_ast_grep(name: str, card: Card, pattern: Pattern) -> dict[str, str]:
    if pattern.kind != "ast" or pattern.unless or not pattern.language:
        raise InputError("ast-grep supports only ast patterns with a language and without unless")
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
    """Return a text as a comment of a language, or "" if the language has no comments."""
    return _COMMENTS.get(language, "// {}").format(text)


def _format_semgrep(name: str, card: Card, pattern: Pattern) -> dict[str, str]:
    language = find_language(pattern.language)
    parts: list[dict[str, str]] = []
    if pattern.kind == "regex":
        language = language or "regex"
        parts = [{"pattern-regex": pattern.text}]
    elif pattern.kind == "ast" and language:
        parts = [{"pattern": _MULTI.sub("...", pattern.text)}]
    else:
        raise InputError("Semgrep supports only regex patterns, and ast patterns with a language")
    for relation, text in pattern.relations:
        if relation == "not-has" and re.fullmatch(r"[\w-]+", text):
            parts.append({"pattern-not-regex": rf"\b{text}\b"})
        elif relation in _SEMGREP:
            around = f"{text}\ndef $F(...): ..." if text[0] == "@" else _MULTI.sub("...", text)
            parts.append({_SEMGREP[relation]: around})
        else:
            raise InputError(f"Semgrep has nothing like {relation}: {text}")
    parts += [{"pattern-not-regex": pattern.unless}] if pattern.unless else []
    message = f"{card.title}. {card.why}" if card.why else card.title
    level = _LEVELS[card.severity].upper()
    rule: dict[str, Any] = {"id": name, "message": message, "severity": level}
    rule["languages"] = [language]
    rule |= {"paths": {"include": list(pattern.files)}} if pattern.files else {}
    rule |= {"metadata": {"card": card.id}, "patterns": parts}
    files = {f"{name}.yml": _dump({"rules": [rule]})}
    if (pattern.bad or pattern.good) and language != "regex":
        examples = [
            *(("ruleid", example) for example in pattern.bad),
            *(("ok", example) for example in pattern.good),
        ]
        files[name_example(language).replace("example", name)] = "".join(
            f"{format_comment(language, f'{kind}: {name}')}\n{example}\n"
            for kind, example in examples
        )
    return files


def _dump(data: Mapping[str, Any]) -> str:
    import yaml

    text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
    return text


def parse_rules(text: str) -> Iterator[tuple[dict[str, str], Pattern | None, str]]:
    """Yield the facts of each rule of a file, and the equivalent pattern or why there is none.

    The facts are ``id``, ``title``, ``why`` and ``severity``. Raises InputError for a file that is
    not YAML or that exceeds the limits of its reader.
    """
    for document in read_documents(text):
        for rule in _find_rules(document):
            name, message = _read_text(rule.get("id")), _read_text(rule.get("message"))
            severity = _read_text(rule.get("severity")).lower()
            facts = {
                "id": name,
                "title": message or name,
                "why": _read_text(rule.get("note")),
                "severity": _ALSO.get(severity, "medium"),
            }
            try:
                yield facts, parse_pattern(_read_rule(rule)), ""
            except InputError as error:
                yield facts, None, str(error)


def _find_rules(document: Data) -> list[dict[str, Data]]:
    """Return the rules of a document: those in its list ``rules``, or the document itself.

    Raises InputError if ``rules`` is not a list of mappings.
    """
    if not isinstance(document, dict):
        return []
    rules = document.get("rules", [document])
    if not isinstance(rules, list):
        raise InputError("`rules` is not a list; write each rule as an item of a list")
    mappings: list[dict[str, Data]] = []
    for number, rule in enumerate(rules, 1):
        if not isinstance(rule, dict):
            raise InputError(
                f"item {number} of `rules` is not a rule; write its keys, or remove it"
            )
        mappings.append(rule)
    return [rule for rule in mappings if "rule" in rule or "languages" in rule]


def _read_text(value: Data) -> str:
    return value.strip() if isinstance(value, str) else ""


def _read_texts(value: Data, name: str) -> list[str]:
    """Return a text or a list of texts as a list. Raises InputError for any other value."""
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    texts = [item for item in items if isinstance(item, str)]
    if len(texts) != len(items):
        raise InputError(f"{name} is not a list of texts")
    return texts


class _RuleParts:
    """Collects the parts of a rule as keys of a pattern."""

    def __init__(self) -> None:
        self._keys: dict[str, object] = {}
        self._relations: dict[str, list[str]] = {}

    def set(self, key: str, text: str) -> None:
        """Set a key that a pattern has only once. Raises InputError for a second value."""
        if key in self._keys:
            raise InputError(f"it has more than one pattern ({key}); a pattern of a card has one")
        self._keys[key] = text

    def relate(self, relation: str, text: str) -> None:
        """Add the text of a relation, such as ``inside`` or ``has``."""
        self._relations.setdefault(relation, []).append(text)

    def build(self, *, language: str, files: Sequence[str]) -> dict[str, object]:
        """Return the keys of the pattern. Only ast patterns have a language."""
        language_key = {"language": language} if "ast" in self._keys else {}
        return {**self._keys, **language_key, **self._relations, "files": list(files)}


def _read_rule(rule: Mapping[str, Data]) -> dict[str, object]:
    """Return a rule as keys of a pattern. Raises InputError if no flat pattern is equivalent."""
    return _read_ast_grep(rule) if "rule" in rule else _read_semgrep(rule)


def _read_ast_grep(rule: Mapping[str, Data]) -> dict[str, object]:
    parts = _RuleParts()
    for name, value in _list_conditions(rule["rule"]):
        key, inner = name, value
        if name == "not" and isinstance(value, dict) and len(value) == 1:
            ((negated, inner),) = value.items()
            key = f"not-{negated}"
        elif name == "any":  # the variants that build_rule writes
            variants = _patterns(value)
            key = "pattern"
            inner = variants[0] if variants else None
        if key == "pattern" and isinstance(inner, str):
            parts.set("ast", inner)
        elif key in RELATIONS and isinstance(inner, dict):
            parts.relate(key, _read_relation(key, inner))
        else:
            raise InputError(f"{key} has no counterpart in a card")
    language = _read_text(rule.get("language")).lower()
    return parts.build(language=language, files=_read_texts(rule.get("files"), "files"))


def _list_conditions(rule: Data) -> list[tuple[str, Data]]:
    """Return the conditions of an ast-grep rule, including those in its list ``all``."""
    if not isinstance(rule, dict):
        raise InputError("rule is not a mapping")
    conditions = [(name, value) for name, value in rule.items() if name != "all"]
    listed = rule.get("all", [])
    for part in listed if isinstance(listed, list) else [listed]:
        if not isinstance(part, dict):
            raise InputError("all is not a list of rules")
        conditions += part.items()
    return conditions


def _read_relation(name: str, rule: Mapping[str, Data]) -> str:
    """Return the pattern or the word of a relation. Raises InputError if it contains more."""
    inner: Data = dict(rule)
    if rule.get("kind") == "decorated_definition":
        inner = rule.get("has")
    if not isinstance(inner, dict):
        raise InputError(f"{name} is not a single pattern or word")
    exact = re.fullmatch(r"\^(.*)(?:\$|\\b)", _read_text(inner.get("regex")))
    word = re.sub(r"\\(\W)", r"\1", exact[1] if exact else "")
    words = [word] if re.fullmatch(r"@[\w.]+|[\w-]+(?:=\w+)?", word) else []
    texts = [*_patterns([inner]), *words, *_patterns(inner.get("any"))]
    if not texts:
        raise InputError(f"{name} is not a single pattern or word")
    return texts[0]


_PLACES = {value: name for name, value in _SEMGREP.items()}


def _read_semgrep(rule: Mapping[str, Data]) -> dict[str, object]:
    languages = _read_texts(rule["languages"], "languages")
    if not languages:
        raise InputError("`languages` is empty; add a language")
    parts = _RuleParts()
    for name, value in _list_operators(rule):
        if not isinstance(value, str):
            raise InputError(f"{name} is not a text, or has no counterpart in a card")
        text = value.strip()
        word = re.fullmatch(r"\\b([\w-]+)\\b", text)
        if name == "pattern":
            parts.set("ast", text.replace("...", "$$$"))
        elif name == "pattern-regex":
            parts.set("regex", text)
        elif name == "pattern-not-regex" and word:
            parts.relate("not-has", word[1])
        elif name == "pattern-not-regex":
            parts.set("unless", text)
        elif name in _PLACES and not text:
            raise InputError(f"{name} is not a text")
        elif name in _PLACES:
            around = text.partition("\n")[0] if text[0] == "@" else text.replace("...", "$$$")
            parts.relate(_PLACES[name], around)
        else:
            raise InputError(f"{name} has no counterpart in a card")
    paths = rule.get("paths")
    files = paths.get("include") if isinstance(paths, dict) else None
    return parts.build(language=languages[0], files=_read_texts(files, "paths"))


def _list_operators(rule: Mapping[str, Data]) -> list[tuple[str, Data]]:
    """Return the operators of a Semgrep rule, in order."""
    parts = rule.get("patterns")
    if not parts:
        return [(name, value) for name, value in rule.items() if name.startswith("pattern")]
    operators: list[tuple[str, Data]] = []
    for part in parts if isinstance(parts, list) else [parts]:
        if not isinstance(part, dict):
            raise InputError("patterns is not a list of mappings")
        operators += part.items()
    return operators


def _patterns(rules: Data) -> list[str]:
    if not isinstance(rules, list):
        return []
    patterns = [rule.get("pattern") for rule in rules if isinstance(rule, dict)]
    return [pattern for pattern in patterns if isinstance(pattern, str)]
