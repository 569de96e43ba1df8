"""The pages in a real browser: a review from draft to commit, axe, narrow screens, hostile cards.

LESSONS_SHOTS names a folder that takes a picture of each page.
"""

import contextlib
import json
import os
import pathlib
import re
import threading

import pytest
import uvicorn

from lessons_kb.service.mcp.server import listen
from lessons_kb.service.web.application import build_app
from tests.browser import IN_BROWSER, find_faults, open_chromium
from tests.kit import git, wait_until
from tests.service.web.conftest import CARD, TITLE

pytestmark = IN_BROWSER

SLUG = "lessons/charged-a-customer-twice-because-the-form-was-sent-twice.md"
WIDE_CARD = """\
---
type: lesson
title: A_very_long_identifier_without_any_break_that_a_narrow_screen_must_still_hold_without_scrolling
symptoms: [an-identifier-without-a-break-that-goes-on-and-on-and-on-and-on-and-on-and-on-and-on]
paths: ["src/a/very/long/path/that/goes/on/and/on/and/on/and/on/and/on/and/on/and/on/**/*.py"]
project: wide
---

## Root Cause

See https://example.org/a/very/long/address/that/no/narrow/screen/can/hold/without/breaking/it/somewhere

| One column | Another column | A third column | A fourth column | A fifth column |
| --- | --- | --- | --- | --- |
| something_long_here | something_long_here | something_long_here | something_long_here | something |

```python
if a_condition_that_is_long and another_condition_that_is_long and a_third_condition_that_is_long:
    pass
```

> A quotation, and in it a list:
>
> 1. one
> 2. two

## Prevention Checklist

- [ ] Keep it short
- [x] Break it
"""
EVIL = "'\"><script>document.title='owned'</script><img src=http://evil.example/p onerror=alert(2)>"


@pytest.fixture(scope="module")
def chromium():
    with open_chromium() as browser:
        yield browser


@pytest.fixture
def url(roots, shop):
    """The address of a server that has read its brains."""
    (pathlib.Path(shop) / "lessons" / "wide.md").write_text(WIDE_CARD)
    with listen("127.0.0.1", 0) as listening:
        config = uvicorn.Config(build_app(roots), log_level="warning", lifespan="on")
        server = uvicorn.Server(config)
        running = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
        running.start()
        wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        server.should_exit = True
        running.join(30)


@pytest.fixture
def open_page(chromium, url):
    """Return a tab of a browser of its own: ``open_page(token, **how the browser is set)``."""
    with contextlib.ExitStack() as stack:

        def open_page(token="", **how):
            context = chromium.new_context(**how)
            stack.callback(context.close)
            page = context.new_page()
            page.set_default_timeout(30_000)
            page.said = []
            page.on("console", lambda message: page.said.append(message.text))
            page.on("dialog", lambda dialog: (page.said.append(dialog.message), dialog.dismiss()))
            page.asked = []
            page.on("request", lambda request: page.asked.append(request.url))
            page.goto(f"{url}/login")
            if token:
                page.get_by_label("Token").fill(token)
                page.get_by_role("button", name="Log in").click()
                page.wait_for_url(f"{url}/")
            wait_until(lambda: page.request.get(f"{url}/ready").status == 200)
            return page

        yield open_page


def press(page, name, role="button"):
    """Reach something with the tab key alone, and press enter."""
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.locator(":focus")
        if focused.count() and page.get_by_role(role, name=name).and_(focused).count():
            page.keyboard.press("Enter")
            return
    raise AssertionError(f"no {role} {name!r} can be reached with the keyboard")


def test_a_review_from_draft_to_commit_with_the_keyboard_alone(open_page, reviewer, propose, shop):
    propose(prevention=())
    page = open_page()
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the content"
    page.get_by_label("Token").focus()
    page.keyboard.type(reviewer)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Brains").wait_for()
    press(page, "shop", "link")
    page.wait_for_url("**/brains/shop")
    press(page, "Inbox", "link")
    page.wait_for_url("**/inbox")
    press(page, TITLE, "link")
    page.get_by_text("Before it can be accepted it needs").wait_for()
    assert not page.get_by_role("button", name="Accept").count()
    press(page, "Edit", "link")
    page.get_by_label("The draft's file").focus()
    page.keyboard.press("Control+End")
    page.keyboard.type("\n## Prevention Checklist\n\n- [ ] Send an idempotency key\n")
    press(page, "Save")
    press(page, "Accept")
    page.wait_for_url("**/inbox?done=*")
    assert page.get_by_role("status").inner_text().startswith("Accepted")
    assert "Send an idempotency key" in git(shop, "show", f"lessons-review:{SLUG}")
    assert git(shop, "log", "-1", "--format=%an", "lessons-review") == "Rita Kim\n"
    assert git(shop, "status", "--porcelain") == "?? lessons/wide.md\n"
    assert page.said == []
    press(page, "Log out")
    page.wait_for_url("**/login")
    page.go_back()
    page.wait_for_url(re.compile("/login"))


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 1280])
def test_every_page_is_accessible_and_fits(open_page, url, reviewer, propose, width, scheme):
    found = {}
    page = open_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    shots = os.environ.get("LESSONS_SHOTS")

    def look(name):
        if wrong := find_faults(page, width):
            found[name] = wrong
        if shots:
            picture = pathlib.Path(shots) / f"{name}-{width}-{scheme}.png"
            page.screenshot(path=picture, full_page=True)

    complete, lacking = propose(), propose("Something else went wrong today", sections={})
    duplicate = propose("Telegram remote execution must require an allowlist")
    look("login")
    page.get_by_label("Token").fill("lsn_wrong")
    page.get_by_role("button", name="Log in").click()
    look("login-wrong")
    page.get_by_label("Token").fill(reviewer)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Brains").wait_for()
    look("start")
    for name, path in {
        "cards": "",
        "search": "?q=telegram+allowlist",
        "nothing": "?q=zzzzzz&kind=playbook",
        "card": f"/cards/{CARD}",
        "wide-card": "/cards/lessons/wide.md",
        "why": "/why",
        "report": "/report",
        "inbox": "/inbox",
        "draft": f"/inbox/{complete}",
        "draft-lacking": f"/inbox/{lacking}",
        "draft-duplicate": f"/inbox/{duplicate}",
        "edit": f"/inbox/{complete}/edit",
        "missing": "/inbox/no-such",
    }.items():
        page.goto(f"{url}/brains/shop{path}")
        look(name)
    page.goto(f"{url}/brains/shop/why")
    page.get_by_label("Prompt").fill("Add a Telegram command that runs a shell script")
    page.get_by_role("button", name="Explain").click()
    look("why-told")
    page.goto(f"{url}/brains/shop/inbox/{duplicate}")
    page.get_by_role("button", name="Accept").click()
    look("draft-refused")
    page.goto(f"{url}/brains/shop/inbox/{complete}")
    page.get_by_role("button", name="Accept").click()
    look("inbox-done")
    assert found == {}
    assert [one for one in page.said if "40" not in one and "422" not in one] == []
    assert {one.split("/")[2] for one in page.asked if not one.startswith("data:")} == {url[7:]}


def test_foreign_markup_has_no_effect(open_page, url, reviewer, propose, shop):
    body = f"# {EVIL}\n\n{EVIL}\n\n[a](javascript:alert(1)) ![b](http://evil.example/i)\n\n```\n{EVIL}\n```\n"
    header = f"---\ntype: lesson\ntitle: {json.dumps(EVIL)}\nproject: {json.dumps(EVIL)}\n---\n\n"
    (pathlib.Path(shop) / "lessons" / "evil.md").write_text(header + body)
    name = propose(EVIL, by=EVIL, sections={"Root Cause": body}, symptoms=[EVIL, "other"])
    page = open_page(reviewer)
    evil = f"{url}/brains/shop/cards/lessons/evil.md"
    wait_until(lambda: page.goto(evil).status == 200)
    page.said.clear()
    for path in (
        "", "?q=script", "/cards/lessons/evil.md", "/report", "/inbox", f"/inbox/{name}",
        f"/inbox/{name}/edit", f"/inbox?done={EVIL}", f"?q={EVIL}&kind={EVIL}&project={EVIL}",
    ):  # fmt: skip
        page.goto(f"{url}/brains/shop{path}")
        assert "owned" not in page.title().split("script")[0]
        assert page.evaluate("document.scripts.length + document.images.length") == 0, path
    page.goto(f"{url}/brains/shop/why")
    page.get_by_label("Prompt").fill(EVIL)
    page.get_by_role("button", name="Explain").click()
    page.goto(f"{url}/brains/shop/inbox/{name}")
    page.locator("#other").fill(EVIL)
    page.get_by_role("button", name="Merge").click()
    assert page.evaluate("document.scripts.length + document.images.length") == 0
    page.goto(f"{url}/login?next={EVIL}")
    assert {one.split("/")[2] for one in page.asked if not one.startswith("data:")} == {url[7:]}
    assert [one for one in page.said if "422" not in one] == []


def test_the_security_policy_stops_unescaped_markup(open_page, url, reviewer):
    page = open_page(reviewer)
    page.evaluate("document.body.append(document.createElement('script'))")
    page.evaluate(
        "() => { const one = document.createElement('script'); one.textContent = "
        "'document.title = \"owned\"'; document.body.append(one); "
        "document.body.insertAdjacentHTML('beforeend', '<p style=\"color: red\">x</p>"
        '<img src="http://evil.example/p.png">\'); }'
    )
    page.wait_for_function("() => document.images.length === 1")
    assert page.title() != "owned"
    assert [one for one in page.said if "Content Security Policy" in one]
    assert "violates" in " ".join(one for one in page.said if "evil.example" in one)


def test_another_site_can_neither_send_forms_nor_frame_a_page(open_page, url, reviewer, propose):
    name = propose()
    page = open_page(reviewer)
    page.goto(f"{url}/brains/shop/inbox/{name}")
    seen, mark = (
        page.locator(f"input[name={one}]").first.input_value() for one in ("seen", "mark")
    )
    hostile = (
        f"<form method=post action='{url}/brains/shop/inbox/{name}'><input name=do value=discard>"
        f"<input name=seen value='{seen}'><input name=mark value='{mark}'><button>Win</button></form>"
        f"<iframe src='{url}/brains/shop'></iframe>"
    )
    for site in ("http://evil.example/", "http://localhost:1/", "http://127.0.0.1:1/"):
        page.route(f"{site}**", lambda route: route.fulfill(body=hostile, content_type="text/html"))
        page.goto(site)
        assert not page.frame_locator("iframe").get_by_role("main").count()
        page.get_by_role("button", name="Win").click()
        page.wait_for_url(f"{url}/**")
        assert "not sent by a page of this server" in page.content()
    page.goto(f"{url}/brains/shop/inbox/{name}")
    assert page.get_by_role("heading", name=TITLE).count(), "it still waits"


def test_a_link_from_elsewhere_is_followed_after_one_click(open_page, url, reviewer):
    page = open_page(reviewer)
    link = f"<a href='{url}/brains/shop/cards/{CARD}'>See</a>"
    page.route("http://chat.example/**", lambda r: r.fulfill(body=link, content_type="text/html"))
    page.goto("http://chat.example/")
    page.get_by_role("link", name="See").click()
    page.get_by_role("link", name="Open the page").click()
    page.get_by_role("heading", name="Telegram remote execution").wait_for()
