"""Every finding in full: where, how bad, what is wrong and how to fix it (SPEC §1)."""

import pytest

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.parse import parse_bytes
from lessons_kb.config import KNOWN_FOLDERS
from tests.cards.reading import parse

BODY = "## Root Cause\n\nIt never looked.\n\n## Prevention\n\n- Look at it\n"
REMOVE = ", or remove the line"
UTF_8 = "save the file as UTF-8 text"
KEYS_AND_LISTS = "; its plain keys and lists are used"


def said(document):
    findings = check_card(document)
    assert {finding.path for finding in findings} <= {"lessons/a.md", "docs/a.md"}
    return [(f.line, f.level, f.rule, f.message, f.fix) for f in findings]


def check(text, path="lessons/a.md"):
    return said(parse(text, path))


def wrong(given, expected, line=4):
    fix = f"write {expected}{REMOVE}"
    return (line, "warning", "wrong-value", f"{given}, so its default is used", fix)


QUOTE = "put the whole value in double quotes"


def odd_path(path, problem):
    fix = "write it as in .gitignore, relative to the project root, such as src/**/*.py"
    return (4, "warning", "odd-path", f"paths: {path!r} {problem}", fix)


@pytest.mark.parametrize(("header", "finding"), [
    ("severity: urgent", wrong("severity is 'urgent'", "one of low, medium, high")),
    (f"gate: {'x' * 99}", wrong(f"gate is '{'x' * 40}'", "one of none, ask, once, strict")),
    ("gate: strict", (4, "warning", "strict-gate",
     "`gate: strict` needs `paths`; without them it is as `once`",
     "name the files in `paths`, or write `gate: once`")),
    ("reopen-when: [a]", wrong("reopen-when is a list", "one text")),
    ("applies-to: {a: b}", wrong("applies-to is nested", "a list of words")),
    ("paths: {a: b}", wrong("paths is nested", "a list of globs")),
    ("occurrences: 0", wrong("occurrences is '0'", "a whole number from 1 to 1,000,000")),
    ("created: 2026-02-30", wrong("created is '2026-02-30'", "a date such as 2026-01-31")),
    ("examples:\n  - good\n  - [c]", (6, "warning", "wrong-value",
     "an item of examples is nested and ignored", "write each item as one line of text")),
    ("examples:\n  - good\n  - Error: x", (6, "info", "unquoted-colon",
     "an item of examples contains a colon, so YAML reads it as a mapping",
     "put the item in double quotes")),
    ("severity: low\nx: 1\nSeverity: high", (6, "warning", "duplicate-key",
     "Severity appears twice in the header; this last one counts",
     "remove one of them (the other is 2 lines above)")),
    ("occurences: 3", (4, "info", "unknown-key", "unknown key occurences; it has no effect",
     "did you mean occurrences?")),
    ("Typee: lesson", (4, "info", "unknown-key", "unknown key Typee; it has no effect",
     "did you mean type?")),
    ("a: *b", (4, "warning", "header-not-yaml",
     f"the header is not valid YAML (nothing is named &b){KEYS_AND_LISTS}",
     "put the value in double quotes")),
    ("x: 1\n? [a]\n: b", (5, "warning", "header-not-yaml",
     f"the header is not valid YAML (a key is not plain text){KEYS_AND_LISTS}",
     "put the value in double quotes")),
    ("paths: [src/*.py, ~/x, 'C:/a', a/../b, ok/..b, /home/me/a.py, /src/a.py]",
     [odd_path(path, "cannot match any file of a project") for path in
     ("~/x", "C:/a", "a/../b", "/home/me/a.py")]),
    ("globs: ['src/{a,b', 'a}/b', '{a,b}/c']",
     [odd_path(path, "has a brace without its partner, which is an ordinary character there")
      for path in ("src/{a,b", "a}/b")]),
    ("paths: .tsx, .env, src/.py", [odd_path(path, f"names a file called .{name}; *.{name} names "
     "all of a kind") for path, name in ((".tsx", "tsx"), ("src/.py", "py"))]),
    ("status: proposd", (4, "warning", "wrong-value",
     "status is 'proposd', which is no status, so the card stays in use",
     "write one of active, ignored, archived, draft")),
    ("status: complete", (4, "warning", "wrong-value",
     "status is 'complete', which is no status, so the card stays in use",
     "did you mean completed?")),
    ("tags: a #482", (4, "warning", "cut-value",
     "tags is cut at ` #`, where YAML begins a comment: 'a' is left", QUOTE)),
    ("not-for:\n  - see #482\n  - b # c\n  - 'd' # e", [
     (5, "warning", "cut-value",
      "not-for is cut at ` #`, where YAML begins a comment: 'see' is left", QUOTE),
     (6, "info", "cut-value",
      "not-for is cut at ` #`, where YAML begins a comment: 'b' is left", QUOTE)]),
    ("x: 1\n---\n\n---\nstatus: archived", (7, "warning", "second-header",
     "a second header stands below the first; it is read as text",
     "move its keys into the first header")),
])  # fmt: skip
def test_findings_of_a_header(header, finding):
    expected = finding if isinstance(finding, list) else [finding]
    assert check(f"---\ntitle: T\nsymptoms: [s]\n{header}\n---\n{BODY}") == expected


NO_TITLE = (
    0, "warning", "no-title", "the card has no title; its file name is used",
    "write `title: …`, naming the mistake in one sentence",
)  # fmt: skip
ONLY_A_TITLE = (
    0, "warning", "no-checklist",
    ("the card has no checklist; it has no cause and no fix either, so only its title is "
     "offered"),
    "add `## Prevention Checklist` with items such as `- Cover … with a test`",
)  # fmt: skip
NO_ITEMS = (
    3, "warning", "no-checklist",
    "the card has no checklist; one line of its text is used instead",
    "fill this section with items such as `- Cover … with a test`",
)  # fmt: skip
FROM_FIX = (
    0, "info", "no-checklist",
    "the card has no checklist; the items of its fix are used instead",
    "add `## Prevention Checklist` with items such as `- Cover … with a test`",
)  # fmt: skip
NO_CAUSE = (
    0, "info", "no-cause", "the card has no root cause",
    "add a section `## Root Cause`; its first sentence is shown to the agent",
)  # fmt: skip
NO_SYMPTOMS = (
    0, "info", "no-symptoms", "the card has no symptoms; only its own words find it",
    "add `symptoms:` with two or three phrases, worded like a future task",
)  # fmt: skip


def placeholder(line, message):
    return (line, "warning", "placeholder", message, "fill it in, or remove it")


def vague(line, shown):
    fix = "describe what a diff or an answer shows when it is done"
    return (line, "warning", "vague-item", f"cannot be checked: {shown}", fix)


@pytest.mark.parametrize(("text", "findings"), [
    ("## x\n", [NO_TITLE, ONLY_A_TITLE, NO_CAUSE, NO_SYMPTOMS]),
    (f"# {'x' * 300}\n", [ONLY_A_TITLE, NO_CAUSE, NO_SYMPTOMS]),  # the title is no long item
    ("# T\n\n## Prevention\n\nProse. More.\n", [NO_CAUSE, NO_SYMPTOMS, NO_ITEMS]),
    ("---\ntitle: T\n---\n## Fix\n\n- Do it\n", [FROM_FIX, NO_CAUSE, NO_SYMPTOMS]),
    ("# TODO comments outlive their authors\n", [ONLY_A_TITLE, NO_CAUSE, NO_SYMPTOMS]),
])  # fmt: skip
def test_findings_of_a_bare_card(text, findings):
    assert check(text) == findings


@pytest.mark.parametrize(("item", "findings"), [
    ("be careful", [vague(11, "be careful")]),
    ("be careful with " + "x" * 44, [vague(11, "be careful with " + "x" * 44)]),
    ("be careful with " + "x" * 45, [vague(11, "be careful with " + "x" * 43 + "…")]),
    ("one two be careful", []),
    ("be careful with one more than seven words", []),
    ("{{ what }} and ${{ github.ref }} stay as they are", []),
    ("TODO comments name an issue", []),
    ("TODO", [placeholder(11, "is still a placeholder: TODO")]),
    ("Do this", [placeholder(11, "is still a placeholder: Do this")]),
    ("x" * 240, []),
    ("x" * 241, [(11, "info", "long-item", "the item has 241 characters: " + "x" * 59 + "…",
     "shorten it to one line and move the rest to the section Fix")]),
])  # fmt: skip
def test_findings_of_an_item(item, findings):
    text = f"---\ntitle: T\nsymptoms: [s]\n---\n{BODY}"
    assert check(text.replace("- Look at it", f"- {item}")) == findings


UNREADABLE = "write `key: value` lines between the two --- lines, or remove the header"
PLAIN = "write plain `key: value` lines and lists, without anchors"


@pytest.mark.parametrize(("text", "finding", "in_a_note"), [
    ("---\ntitle: T\n", (1, "unclosed-header", "the header that starts with --- is not closed",
     "close it with a line that contains only ---"), True),
    (f"---\ntitle: T\na: {'x' * 70_000}\n---\n", (1, "header-too-large",
     "the header is longer than 64,000 characters", "move its text below the closing ---"), True),
    ("---\n- just text\n- more text\n---\n", (2, "unreadable-header",
     "the header has no keys: it does not consist of `key: value` lines", UNREADABLE), False),
    ("+++\ntitle = 'T'\n+++\n# T\n", (1, "toml-header",
     "the header is TOML (+++), which is not read",
     "write it as `key: value` lines between two lines that contain only ---"), False),
    ("-----\ntitle: T\n-----\n# T\n", (1, "dashes-header",
     "the header stands between more than three dashes, so it is read as text",
     "make its first and its last line ---"), False),
    ("---\nmine: *b\nstray one\nstray two\n---\n", (3, "unreadable-header",
     "the header is not YAML: nothing is named &b", UNREADABLE), False),
    (f"---\ntitle: &t T\nx: 1\na: [{', '.join(['*t'] * 33)}]\n---\n", (4, "header-refused",
     "the header is not accepted: more than 32 YAML aliases", PLAIN), True),
    (f"---\ntitle: T\na: {'[' * 18}{']' * 18}\n---\n", (3, "header-refused",
     "the header is not accepted: it is nested too deeply", PLAIN), True),
    ("# T\n\nx\0y\n\0", (3, "nul-bytes", "the file contains NUL bytes", UTF_8), True),
    ("# T\n\n\ud800\n", (3, "not-utf-8", "the text contains half of a character", UTF_8), True),
])  # fmt: skip
def test_findings_of_a_file_that_cannot_be_used(text, finding, in_a_note):
    line, *rest = finding
    assert check(text) == [(line, "error", *rest)]
    level = "warning" if text.startswith("---") else "error"
    found = [(line, level, *rest)] if in_a_note else []
    assert check(text, path="docs/a.md") == found


@pytest.mark.parametrize(("data", "line", "message"), [
    (b"# T\n\n\xff\n", 3, "byte 0xff is not UTF-8"),
    (b"\xe9", 1, "byte 0xe9 is not UTF-8"),
    ("# T\n".encode("utf-16-le").join([b"\xff\xfe", b""]), 1, "the file is UTF-16, not UTF-8"),
    ("# T\n".encode("utf-16-be").join([b"\xfe\xff", b""]), 1, "the file is UTF-16, not UTF-8"),
])  # fmt: skip
def test_findings_of_bytes(data, line, message):
    document = parse_bytes(data, path="lessons/a.md", folders=KNOWN_FOLDERS)
    assert said(document) == [(line, "error", "not-utf-8", message, UTF_8)]


def test_as_many_aliases_and_levels_as_are_allowed():
    aliases = f"---\ntitle: &t T\na: [{', '.join(['*t'] * 32)}]\n---\n{BODY}"
    levels = f"---\ntitle: T\na: {'[' * 17}{']' * 17}\n---\n{BODY}"
    assert check(aliases) == check(levels) == [NO_SYMPTOMS]


def test_a_conflict_is_named_once_where_it_begins():
    left = "a\n<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    text = f"\n---\ntitle: T\nsymptoms: [s]\n---\n{BODY}{left}{left}"
    finding = (
        14, "warning", "conflict-markers",
        "unresolved conflict markers from a merge",
        "resolve the conflict and remove the lines <<<<<<<, ======= and >>>>>>>",
    )  # fmt: skip
    assert check(text) == [finding]
    assert check(text.replace(left * 2, f"```\n{left}```\n")) == []
    assert check(f"# T\n{left}", path="docs/a.md") == []


@pytest.mark.parametrize("marker", ["<<<<<<< ours", "||||||| base", ">>>>>>> theirs"])
def test_one_conflict_marker_that_was_left_is_found(marker):
    in_body = f"---\ntitle: T\nsymptoms: [s]\n---\n{BODY}a\n{marker}\nb\n"
    in_header = f"---\ntitle: T\n{marker}\nsymptoms: [s]\n---\n{BODY}"
    for text in (in_body, in_header, in_body.replace("\n", "\r\n")):
        line = text.splitlines().index(marker) + 1
        assert [each[0] for each in check(text) if each[2] == "conflict-markers"] == [line]


def test_a_heading_and_a_quotation_are_no_conflict_markers():
    for line in ("=======", ">>>>>> quoted", "<<<<<<<html>", "a <<<<<<< b"):
        assert check(f"---\ntitle: T\nsymptoms: [s]\n---\n{BODY}a\n{line}\nb\n") == []
