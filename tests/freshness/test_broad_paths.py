"""A card whose paths match many files is not given before an edit, and every command says so."""

import pytest

from tests import kit
from tests.sessions import card

SENTENCE = (
    "not injected before an edit: its `paths` match 20 files, more than 5; "
    "name the files, or add `gate: once`"
)


@pytest.fixture(autouse=True)
def pages(shop, monkeypatch):
    monkeypatch.chdir(shop)
    kit.commit(shop, "pages", **{f"docs/sdk/{number}.mdx": "x\n" for number in range(20)})
    return shop


def write_page_card(shop, paths, **keys):
    text = card(
        "A page was edited by hand", "Edit the docstring", cause="A bot.", paths=paths, **keys
    )
    kit.write(shop, "lessons/pages.md", text)


@pytest.mark.parametrize(("paths", "keys", "is_named"), [
    ('["docs/sdk/**"]', {}, True),
    ('["docs/sdk/*.mdx"]', {}, True),
    ('["docs/sdk/"]', {}, True),
    ('["docs/sdk/**"]', {"gate": "once"}, False),
    ('["docs/sdk/**", "docs/sdk/1.mdx"]', {}, False),
    ('["docs/sdk/1*.mdx"]', {}, True),
    ('["docs/sdk/1.mdx"]', {}, False),
])  # fmt: skip
def test_lint_warns(shop, lessons, paths, keys, is_named):
    write_page_card(shop, paths, **keys)
    out = lessons("lint").out
    assert ("warning broad-path: not injected before an edit: its `paths` match" in out) == is_named
    if is_named and "1*" not in paths:
        assert SENTENCE.partition("; ")[0] in out


def test_why_of_a_file_says_that_an_edit_does_not_bring_the_card(shop, lessons):
    write_page_card(shop, '["docs/sdk/**"]')
    said = " ".join(lessons("why", "zzzyx", "--path", "docs/sdk/3.mdx").out.split())
    assert "guards a file at hand" in said
    assert SENTENCE in said
    write_page_card(shop, '["docs/sdk/3.mdx"]')
    assert "before an edit" not in lessons("why", "zzzyx", "--path", "docs/sdk/3.mdx").out


def test_add_warns(shop, lessons):
    words = ("--why", "The bot writes the pages from the docstrings.", "--do", "Edit the docstring in src",
        "--symptom", "correct a page of the python sdk", "--symptom", "a page is overwritten")  # fmt: skip
    title = "A page under docs/sdk was edited by hand"
    result = lessons("add", title, *words, "--paths", "docs/sdk/**")
    assert (result.code, SENTENCE in " ".join(result.err.split())) == (0, True)


@pytest.mark.parametrize(
    ("gate", "act"), [("once", "refuses"), ("strict", "refuses"), ("ask", "asks about")]
)
def test_a_gate_over_many_files_says_what_it_costs(shop, lessons, gate, act):
    """A gate refuses each file once, not only the first file of a session."""
    kit.commit(shop, "one more", **{"docs/sdk/20.mdx": "x\n"})
    write_page_card(shop, '["docs/sdk/**"]', gate=gate, severity="high")
    sentence = f"this gate guards 21 files and {act} each once in a session"
    assert f"info wide-gate: {sentence}" in lessons("lint").out
    words = ("--why", "The bot writes the pages from the docstrings.", "--do", "Edit the docstring in src",
        "--symptom", "correct a page of the python sdk", "--symptom", "a page is overwritten")  # fmt: skip
    asked = ("--gate", gate, "--severity", "high", "--on-duplicate", "new")
    added = lessons("add", "A page was edited", *words, *asked, "--paths", "docs/sdk/**")
    assert sentence in " ".join(added.err.split())
    write_page_card(shop, '["docs/sdk/1*.mdx"]', gate=gate, severity="high")
    assert lessons("lint", "--rule", "wide-gate").out.count("lessons/pages.md") == 0
