"""SARIF and GitHub annotations of findings."""

import json

from lessons_kb.cli.findings import format_github, format_sarif
from lessons_kb.model import Finding

ITEMS = [
    Finding(
        path="lessons/a b.md", line=3, rule="r", message="50% done\nnext", fix="", level="error"
    ),
    Finding(path="x,y:z.md", line=0, rule="q", message="한글", fix="", level="info"),
]


def test_sarif_has_a_tool_rules_and_located_results():
    log = json.loads(format_sarif(ITEMS, version="1.2"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["rules"] == [{"id": "q"}, {"id": "r"}]
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("r", 1, "error")
    place = first["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "lessons/a%20b.md"
    assert place["region"]["startLine"] == 3
    assert second["level"] == "note"
    assert second["locations"][0]["physicalLocation"]["region"]["startLine"] == 1


def test_github_commands_cannot_be_broken_out_of():
    assert format_github(ITEMS).split("\n") == [
        "::error file=lessons/a b.md,title=lessons%3A r,line=3::50%25 done%0Anext",
        "::notice file=x%2Cy%3Az.md,title=lessons%3A q::한글",
    ]


def test_nothing_to_say():
    assert format_github([]) == ""
    assert json.loads(format_sarif([], version="1"))["runs"][0]["results"] == []
