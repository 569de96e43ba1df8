"""SARIF and GitHub annotations of findings."""

import json

import pytest

from tests.kit import write

BODY = "## Root Cause\n\nNobody looked at it.\n\n## Prevention Checklist\n\n- Look at it first\n"


@pytest.fixture
def annotate(tmp_path, monkeypatch, lessons):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, "lessons.toml", "")

    def annotate(form, **severities):
        for name, severity in severities.items():
            keys = f"title: The card of {name} says it\nsymptoms: [seen]\nseverity: {severity}"
            write(tmp_path, f"lessons/{name}.md", f"---\n{keys}\n---\n{BODY * (name != 'bare')}")
        return lessons("lint", ".", "--format", form).out

    return annotate


def test_sarif_has_a_tool_rules_and_located_results(annotate):
    assert json.loads(annotate("sarif"))["runs"][0]["results"] == []
    (run,) = json.loads(annotate("sarif", **{"a b": "odd", "c": "["}))["runs"]
    assert [one["id"] for one in run["tool"]["driver"]["rules"]] == [
        "header-not-yaml", "wrong-value",
    ]  # fmt: skip
    found = run["results"][0]
    assert (found["ruleId"], found["ruleIndex"], found["level"]) == ("wrong-value", 1, "warning")
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "lessons/a%20b.md"
    assert place["region"]["startLine"] == 4


def test_a_note_on_a_whole_file_stands_at_its_first_line(annotate):
    (run,) = json.loads(annotate("sarif", bare="low"))["runs"]
    (note, *_more) = [one for one in run["results"] if one["level"] == "note"]
    assert note["locations"][0]["physicalLocation"]["region"]["startLine"] == 1
    assert "::notice file=lessons/bare.md,title=lessons%3A " in annotate("github")


def test_github_commands_cannot_be_broken_out_of(annotate):
    assert annotate("github", good="low") == ""
    odd, other = annotate("github", **{"a b": '"50%\\nnext"', "x,y:z": "한글"}).splitlines()
    head = "title=lessons%3A wrong-value,line=4::severity is"
    assert odd.startswith(f"::warning file=lessons/a b.md,{head} '50%25 next', so")
    assert other.startswith(f"::warning file=lessons/x%2Cy%3Az.md,{head} '한글', so")
