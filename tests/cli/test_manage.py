"""`lessons manage` without a terminal."""

import json


def test_commands_are_read_line_by_line(lessons, brain):
    result = lessons("manage", stdin="bump telegram-allowlist\n")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("20 cards, 0 drafts; `help` lists the commands\n")
    assert result.out.endswith("lessons/telegram-allowlist.md seen 6×\n")


def test_a_refused_command_shows_in_the_exit_code(lessons, brain):
    result = lessons("manage", stdin="dance\nlist telegram\n")
    assert result.code == 2
    assert "not done: unknown command 'dance'" in result.out


def test_json_lists_both_tabs(lessons, brain):
    (brain / "lessons" / "bad.md").write_bytes(b"---\ntitle: \xff\n---\n")
    result = lessons("manage", "--json")
    data = json.loads(result.out)
    assert len(data["cards"]) == 21
    assert data["drafts"] == []
    assert {card["status"] for card in data["cards"]} == {"active", "ignored", "archived", "broken"}


def test_textual_is_left_alone_without_a_terminal(lessons, brain, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "textual", None)
    assert lessons("manage", stdin="quit\n").code == 0
