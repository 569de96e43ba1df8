"""`lessons manage` without a terminal."""

import json
import sys


def test_commands_are_read_line_by_line_without_textual(lessons, brain, monkeypatch):
    monkeypatch.setitem(sys.modules, "textual", None)
    result = lessons("manage", stdin="bump telegram-allowlist\n")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("20 cards, 0 drafts; `help` lists the commands\n")
    assert result.out.endswith("lessons/telegram-allowlist.md seen 6×\n")
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
