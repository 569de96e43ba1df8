"""Control characters in addresses, forms and arguments: refused or read, never a failure of ours."""

import json
import os
import pathlib
from urllib.parse import quote

import pytest

pytestmark = pytest.mark.slow  # a server with its brains

CONTROLS = ("\0", "a\0b", "../\0", "a\nb", "a\r\nb", "a\x1b[31mb", "a\x7fb", "\u2028", "\x85")
ADDRESSES = (
    *("/{}", "/brains/{}", "/login?next={}", "/style.css{}", "/v1/brains/shop/{}"),
    *("/v1/brains/{}/search", "/brains/shop/cards/{}", "/brains/shop/cards/lessons/{}.md"),
    *("/brains/shop?q={}", "/brains/shop?kind={}", "/brains/shop?project={}&q=telegram"),
    *("/brains/shop?status={}&page={}", "/brains/shop/inbox/{}", "/brains/shop/inbox/{}/edit"),
    *("/brains/shop/inbox?done={}", "/brains/shop/report?{}={}"),
)
TEXTS = {
    "preflight": {"prompt": "telegram", "paths": ["a"], "stage": "DEV", "session": "s"},
    "match": {"prompt": "telegram", "directory": "/x"},
    "search": {"query": "telegram", "stage": "DEV", "paths": ["a"], "directory": "/x"},
    "check": {"answer": "done", "cards": ["a"], "evidence": ["x"], "session": "s"},
    "propose": {
        "title": "a b c",
        "root_cause": "r",
        "prevention": ["p"],
        "symptoms": ["s"],
        "situation": "s",
        "mistake": "m",
        "fix": "f",
        "topics": ["t"],
        "paths": ["p"],
        "detect": [{"regex": "x"}],
        "example": "e",
        "directory": "/x",
    },
    "get": {"id": "x", "directory": "/x"},
    "mark": {"id": "x", "mark": "helpful", "session": "s"},
}
MCP = {"accept": "application/json, text/event-stream"}


def put(argument, control):
    """Return an argument with another text in the place of its own."""
    if isinstance(argument, list):
        return [put(one, control) for one in argument]
    return dict.fromkeys(argument, control) if isinstance(argument, dict) else control


@pytest.mark.parametrize("control", CONTROLS)
def test_in_an_address(rita, control):
    for address in ADDRESSES:
        status = rita.get(address.replace("{}", quote(control))).status_code
        assert status == 400 if "\0" in control else status < 500, address


@pytest.mark.parametrize("control", CONTROLS)
def test_in_a_form(rita, propose, field, send, control):
    path = f"/brains/shop/inbox/{propose()}"
    refused = 400 if "\0" in control else 422
    assert send(rita, path, do="merge", other=control).status_code == refused
    assert send(rita, path, do="merge", card=control).status_code == refused
    for other, fields in (
        ("/brains/shop/why", {"prompt": control, "paths": control, "project": control}),
        (f"{path}/edit", {"text": control}),
        (path, {"do": control}),
    ):
        status = send(rita, other, **fields).status_code
        assert status == 400 if "\0" in control else status < 500, other
    assert rita.get(path).status_code == 200, "nothing was decided"


@pytest.mark.parametrize("control", CONTROLS)
def test_in_an_argument(connect, control):
    client = connect(rate=1_000_000)
    for tool, given in TEXTS.items():
        for name, usual in given.items():
            asked = {**given, name: put(usual, control)}
            call = {"name": f"lessons_{tool}", "arguments": asked}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            answer = client.post("/v1/brains/shop/mcp", json=body, headers=MCP)
            told = answer.json()["result"]["content"][0]["text"]
            assert "internal error" not in told, (tool, name)
            assert "no answer" not in told, (tool, name)
            if tool not in ("get", "mark"):
                answer = client.post(f"/v1/brains/shop/{tool}", content=json.dumps(asked))
                assert answer.status_code in (200, 422), (tool, name)
                assert "lessons-stale" not in answer.headers, (tool, name)


@pytest.mark.parametrize(
    "name", ["a b", "50%", "#1?&;=", "'\"<>`", "ü한", "a\\b", "a..b", "a:b", "+"]
)
def test_a_card_of_an_odd_name_opens(rita, shop, wait_for, name):
    card = pathlib.Path(shop, "lessons", f"{name}.md")
    card.write_text("---\ntype: lesson\ntitle: Quokka in the cellar\n---\n\n## Root Cause\n\nx\n")
    page = wait_for(rita, "/brains/shop?q=quokka", "Quokka in the cellar")
    address = f"/brains/shop/cards/{quote(f'lessons/{name}.md')}"
    assert f'href="{address}"' in page
    assert "Quokka in the cellar" in rita.get(address).text


def test_a_card_whose_name_holds_a_line_break_is_not_served(rita, shop, wait_for):
    """Such a name could break out of a line: it is refused by the scan, as `lessons lint` says."""
    text = "---\ntype: lesson\ntitle: Quokka {}\n---\n\n## Root Cause\n\nx\n"
    pathlib.Path(shop, "lessons", "a\nb.md").write_text(text.format("broken"))
    pathlib.Path(shop, "lessons", "a.md").write_text(text.format("whole"))
    page = wait_for(rita, "/brains/shop?q=quokka", "Quokka whole")
    assert "Quokka broken" not in page
    assert (
        rita.get(f"/brains/shop/cards/{quote('lessons/a' + os.linesep + 'b.md')}").status_code
        == 404
    )
