"""Control characters in addresses, forms and arguments: refused or read, never a failure of ours."""

import itertools
import os
from urllib.parse import quote

import pytest

from tests.service.web.conftest import ask, ask_mcp, send, wait_for

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
        **{name: ["a"] for name in ("prevention", "symptoms", "topics", "paths")},
        **dict.fromkeys(("title", "root_cause", "situation", "mistake", "fix"), "a"),
        "example": "e",
        "directory": "/x",
        "detect": [{"regex": "x"}],
    },
    "get": {"id": "x", "directory": "/x"},
    "mark": {"id": "x", "mark": "helpful", "session": "s"},
}


def put(argument, control):
    """Return an argument with another text in the place of its own."""
    if isinstance(argument, list):
        return [put(one, control) for one in argument]
    return dict.fromkeys(argument, control) if isinstance(argument, dict) else control


def test_in_an_address_and_in_a_form(rita, propose):
    path = f"/brains/shop/inbox/{propose()}"
    for control in CONTROLS:
        for address in ADDRESSES:
            status = rita.get(address.replace("{}", quote(control))).status_code
            assert status == 400 if "\0" in control else status < 500, (address, control)
        refused = 400 if "\0" in control else 422
        assert send(rita, path, do="merge", other=control).status_code == refused
        assert send(rita, path, do="merge", card=control).status_code == refused
        for other, fields in (
            ("/brains/shop/why", {"prompt": control, "paths": control, "project": control}),
            (f"{path}/edit", {"text": control}),
            (path, {"do": control}),
        ):
            status = send(rita, other, **fields).status_code
            assert status == 400 if "\0" in control else status < 500, (other, control)
    assert rita.get(path).status_code == 200, "nothing was decided"


@pytest.mark.parametrize("tool", TEXTS)
def test_in_an_argument(connect, tool):
    client, given = connect(rate=1_000_000), TEXTS[tool]
    for name, control in itertools.product(given, CONTROLS):
        asked = {**given, name: put(given[name], control)}
        answer = ask_mcp(client, "tools/call", name=f"lessons_{tool}", arguments=asked)
        told = answer.json()["result"]["content"][0]["text"]
        assert not [one for one in ("internal error", "no answer") if one in told], (name, control)
        if tool not in ("get", "mark"):
            answer = ask(client, tool, **asked)
            assert answer.status_code in (200, 422), (name, control)
            assert "lessons-stale" not in answer.headers, (name, control)


def test_a_card_with_an_odd_name_opens_and_a_name_with_a_line_break_is_not_served(rita, root):
    """A line break could end a line that says a name: the scan refuses it, as `lessons lint` says."""
    text = "---\ntype: lesson\ntitle: Quokka number {}\n---\n\n## Root Cause\n\nx\n"
    odd = ["a b", "50%", "#1?&;=", "'\"<>`", "ü한", "a\\b", "a..b", "a:b", "+", "a\nb"]
    for number, name in enumerate(odd):
        (root / f"lessons/{name}.md").write_text(text.format(number))
    for number, name in enumerate(odd[:-1]):
        page = wait_for(rita, f"/brains/shop?q=quokka+number+{number}", f"Quokka number {number}")
        address = f"/brains/shop/cards/{quote(f'lessons/{name}.md')}"
        assert f'href="{address}"' in page
        assert f"Quokka number {number}" in rita.get(address).text
    assert "Quokka number 9" not in rita.get("/brains/shop").text
    broken = quote(f"lessons/a{os.linesep}b.md")
    assert rita.get(f"/brains/shop/cards/{broken}").status_code == 404
