"""The pages for people: who gets in, what is shown, what a form may do."""

import datetime as dt
import html
import pathlib
import re
import shutil
import time

import pytest

from lessons_kb import Brain
from lessons_kb.store.server_tokens import add_token, remove_token
from tests.service.web.conftest import HERE, OWN, TITLE, field, log_in, send, wait_for

pytestmark = pytest.mark.slow  # a server with its brains

CARD = "lessons/telegram-allowlist.md"


def test_a_token_is_pasted_once_and_the_cookie_does_not_hold_it(connect, tokens):
    client, address = connect(), f"/brains/shop/cards/{CARD}"
    for path in ("/", "/brains/shop", "/brains/no-such", address):
        sent = client.get(path, follow_redirects=False)
        assert (sent.status_code, sent.headers["location"][:12]) == (303, "/login?next=")
        assert "Telegram" not in client.get(path).text
    assert client.get("/login").status_code == 200
    assert client.get("/style.css").headers["content-type"].startswith("text/css")
    assert field(client.get(address).text, "next") == address
    for after, leads in (
        (address, address),
        ("https://evil.example/", "/"),
        ("//evil.example/brains/", "/"),
        ("/brains/\\evil.example", "/"),
    ):
        given = {"token": tokens["shop"], "next": after}
        done = client.post("/login", data=given, headers=OWN, follow_redirects=False)
        assert done.headers["location"] == leads
    done = log_in(client, f" {tokens['shop']}\n")
    cookie = done.headers["set-cookie"]
    assert (done.status_code, done.headers["location"]) == (303, "/")
    assert tokens["shop"] not in cookie
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(cookie.split("; "))
    page = client.get("/brains/shop")
    assert "Telegram remote execution must require an allowlist" in page.text


def test_the_start_page_describes_the_server_and_each_brain(connect, roots, reviewer, propose):
    propose()
    propose("Sent the newsletter twice")
    card = pathlib.Path(roots["shop"]) / "lessons" / "newest.md"
    card.write_text("---\ntype: lesson\ntitle: The newest lesson of all\n---\n")
    client = connect()
    assert "lessons from mistakes" in client.get("/login").text
    assert "shop" not in client.get("/login").text
    log_in(client, reviewer)
    page = wait_for(client, "/", "The newest lesson of all")
    assert client.get("/").url.path == "/", "also where there is only one brain"
    assert "lessons from mistakes" in page
    with Brain.open(roots["shop"]) as brain:
        cards = len(brain.cards.all())
    told = html.unescape(re.sub(r"\s+", " ", re.sub("<[^>]+>", " ", page)))
    assert f"{cards} cards" in told
    assert "2 drafts wait for review" in told
    assert f"Last change {dt.datetime.now(tz=dt.UTC).date().isoformat()}" in told
    assert 'href="/brains/shop/cards/lessons/newest.md"' in page
    assert 'href="/brains/shop/inbox"' in page
    assert re.search(r'<form action="/brains/shop"[^>]*>(?s:.*?)name="q"', page)
    found = client.get("/brains/shop", params={"q": "telegram allowlist"}).text
    assert "Telegram remote execution" in found


def test_the_start_page_shows_each_caller_only_what_the_token_allows(connect, tokens, propose):
    propose()
    client = connect(add_token("p", brains=["shop"], may=["propose"]))
    log_in(client, add_token("q", brains=["shop"], may=["propose"]))
    page = client.get("/").text
    assert ("shop" in page, "Last change" in page, "vault" in page) == (True, False, False)
    reader = connect()
    log_in(reader, tokens["shop"])
    page = reader.get("/").text
    assert ("1 draft waits" in page, "/inbox" in page, "vault" in page) == (True, False, False)
    log_in(reader, add_token("r", brains=["nowhere"], may=["read"]))
    assert "opens none of the brains" in reader.get("/").text


def test_the_start_page_shows_a_brain_without_cards(connect, roots, tmp_path):
    (tmp_path / "empty").mkdir()
    roots["empty"] = str(tmp_path / "empty")
    page = connect().get("/")
    assert page.status_code == 200
    assert "0 cards" in page.text


def test_the_start_page_names_a_brain_that_cannot_be_read(connect, roots):
    client = connect()
    shutil.rmtree(roots["vault"])
    time.sleep(0.1)
    page = client.get("/").text
    assert "the brain cannot be found" in page
    assert "cards" in page
    assert str(pathlib.Path(roots["vault"]).parent) not in page


def test_behind_tls_the_cookie_travels_by_tls_alone(connect, tokens):
    client = connect(secure=True)
    cookie = log_in(client, tokens["shop"]).headers["set-cookie"]
    assert (cookie.startswith("__Host-lessons="), "Secure" in cookie) == (True, True)
    done = log_in(client, "lsn_wrong")
    assert (done.status_code, "no such token" in done.text) == (403, True)
    assert "set-cookie" not in done.headers


def test_a_login_ends_by_logging_out_by_its_token_and_by_time(connect, tokens, monkeypatch):
    client = connect()
    log_in(client, tokens["shop"])
    cookie = {"cookie": f"lessons={client.cookies['lessons']}"}
    mark = field(client.get("/brains/shop").text, "mark")
    out = client.post("/logout", data={"mark": mark}, headers=OWN, follow_redirects=False)
    assert (out.status_code, out.headers["location"]) == (303, "/login")
    assert client.get("/brains/shop", headers=cookie).url.path == "/login", "a copy is refused too"
    again = connect()  # a restart forgets nothing
    assert again.get("/brains/shop", headers=cookie).url.path == "/login"
    log_in(client, tokens["shop"])
    assert client.get("/brains/shop").url.path == "/brains/shop"
    remove_token("alice")
    assert client.get("/brains/shop").url.path == "/login"
    log_in(client, tokens["vault"])
    assert client.get("/brains/vault").url.path == "/brains/vault"
    cookie = {"cookie": f"lessons={client.cookies['lessons']}"}
    client.cookies.clear()  # the browser's own, which forgets it too
    assert client.get("/brains/vault", headers=cookie).url.path == "/brains/vault"
    now = time.time()
    monkeypatch.setattr("time.time", lambda: now + 13 * 3_600)
    assert client.get("/brains/vault", headers=cookie).url.path == "/login"


def test_a_login_that_was_made_up_opens_nothing(connect, tokens):
    client = connect()
    log_in(client, tokens["shop"])
    name, until, nonce, signature = client.cookies["lessons"].split(":")
    client.cookies.clear()
    for made_up in (
        f"bob:{until}:{nonce}:{signature}",
        f"{name}:{int(until) + 1}:{nonce}:{signature}",
        f"{name}:{until}:{nonce}:",
        f"{name}:{until}:{nonce}",
        f"{name}:x:{nonce}:{signature}",
        f"{name}:::",
        ":::",
        "\xff",
    ):
        headers = {"cookie": f"lessons={made_up}".encode("latin-1")}
        assert client.get("/brains/shop", headers=headers).url.path == "/login", made_up


def test_a_brain_of_others_is_a_page_that_is_not_there(connect, tokens):
    client = connect()
    log_in(client, tokens["shop"])
    for rest in ("", "/cards/lessons/zebrafish.md", "/why", "/report", "/inbox", "/inbox/x"):
        theirs, none = client.get(f"/brains/vault{rest}"), client.get(f"/brains/no-such{rest}")
        assert (theirs.status_code, theirs.content) == (404, none.content)
        assert theirs.headers == none.headers
    everything = " ".join(
        client.get(f"/brains/shop{rest}").text
        for rest in ("", "?q=zebrafish+ledger", "/why", "/report", "/cards/lessons/zebrafish.md")
    )
    assert "zebrafish.md" not in everything
    assert "vault" not in everything
    assert "Vaduz" not in everything
    sent = send(client, "/brains/shop/why", prompt="the zebrafish ledger lost a row")
    assert "Vaduz" not in sent.text


def test_reviewing_needs_its_own_scope(connect, shop, propose, request):
    name, client = propose(), connect()
    assert "Telegram remote" in client.get("/brains/shop").text, "without tokens"
    assert client.get(f"/brains/shop/inbox/{name}").status_code == 403
    assert send(client, "/brains/shop/why", prompt="a Telegram bot that runs scripts").is_success
    log_in(client, request.getfixturevalue("tokens")["shop"])
    assert "Inbox" not in client.get("/brains/shop").text
    mark = field(client.get("/brains/shop").text, "mark")
    for path in ("/inbox", f"/inbox/{name}", f"/inbox/{name}/edit"):
        refused = client.get(f"/brains/shop{path}")
        assert (refused.status_code, "may not review" in refused.text) == (403, True)
        assert TITLE not in refused.text
    done = {"do": "discard", "mark": mark}
    assert client.post(f"/brains/shop/inbox/{name}", data=done, headers=OWN).status_code == 403


def test_a_form_counts_only_from_a_page_of_this_server(rita, propose, connect, tokens):
    name = propose()
    path = f"/brains/shop/inbox/{name}"
    page = rita.get(path).text
    given = {"do": "discard", "mark": field(page, "mark"), "seen": field(page, "seen")}
    origins = ("https://evil.example", "null", "http://127.0.0.1:9999")
    sites = ("cross-site", "same-site", "none")
    for headers in (
        {},
        *({"origin": one} for one in origins),
        *({**OWN, "sec-fetch-site": one} for one in sites),
    ):
        refused = rita.post(path, data=given, headers=headers)
        assert (refused.status_code, "not sent by a page" in refused.text) == (403, True)
    other = connect()
    log_in(other, tokens["vault"])
    for mark in ("", "x", field(other.get("/").text, "mark")):
        refused = rita.post(path, data={**given, "mark": mark}, headers=OWN)
        assert (refused.status_code, "another login" in refused.text) == (403, True)
    assert rita.post("/logout", data={}, headers=OWN).status_code == 403
    assert rita.post("/login", data={"token": "x"}).status_code == 403
    assert rita.get(path).status_code == 200, "it still waits"
    assert rita.post(path, data=given, headers={"origin": HERE}).is_success, "an older browser"
    assert rita.get(path).status_code == 409, "it says what was decided"


def test_characters_that_hide_are_shown_to_a_reviewer(rita, propose):
    name = propose(sections={"Root Cause": "the \u202eresu\u202c was \u200btrusted, as it said"})
    page = rita.get(f"/brains/shop/inbox/{name}").text
    assert ("\u202e" in page, "\\u202e" in page) == (False, True)


def test_every_page_forbids_the_browser_everything_else(rita, propose):
    name = propose()
    parts = ("", f"/cards/{CARD}", "/why", "/inbox", f"/inbox/{name}", "/x")
    pages = ["/login", "/", "/brains/nowhere", *(f"/brains/shop{part}" for part in parts)]
    for path in [*pages, "/brains/shop/report"]:
        answer = rita.get(path)
        policy = answer.headers["content-security-policy"]
        own = "default-src 'none'; style-src 'se" if path in pages else "default"
        assert policy.startswith(own)
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "<script" not in answer.text
        assert not re.search(r'(src|href)="(https?:)?//', answer.text), "nothing from elsewhere"
        assert not re.search(r"\sstyle=|\son\w+=", answer.text)


def test_cards_are_found_listed_and_filtered(rita, shop):
    def titles(query):
        page = rita.get(f"/brains/shop{query}").text
        return re.findall(r'<h2><a href="/brains/shop/cards/([^"]+)">', page)

    assert titles("?q=telegram+allowlist")[0] == CARD
    assert len(titles("")) == 20
    assert set(titles("?kind=playbook")) == {
        "playbooks/remove-a-feature-flag.md", "playbooks/rename-column-without-downtime.md",
    }  # fmt: skip
    with Brain.open(shop) as brain:
        projects = {card.project for card in brain.cards.all()} - {None}
    assert projects, "the example has cards of a project"
    for project in projects:
        found = titles(f"?project={project}")
        assert found
        assert set(found) < set(titles(""))
    assert titles("?status=archived") != titles("?status=active")
    assert titles("?q=qqqqqqq") == []
    for odd in ("?page=0", "?page=-1", "?page=x", "?page=99999999999", "?kind=x&status=y"):
        assert rita.get(f"/brains/shop{odd}").status_code == 200


def test_a_long_list_has_pages_and_a_card_of_a_project_is_found_without_naming_it(rita, write):
    body = "## Prevention Checklist\n\n- Rebuild the quagga index at night\n"
    header = (
        "---\ntype: lesson\nproject: savanna\ntitle: The quagga index was rebuilt at noon\n---\n"
    )
    write("lessons/quagga.md", f"{header}\n{body}")
    for number in range(59):
        write(f"lessons/n{number}.md", f"# Mistake {number}\n\n## Fix\n\n- Do\n")
    first = wait_for(rita, "/brains/shop", "80 cards, 1 to 50, most recent first")
    older = re.search(r'href="([^"]+)" rel="next"', first)
    assert older
    second = rita.get(html.unescape(older[1])).text
    assert ["51 to " in second, 'rel="prev"' in second, 'rel="next"' in second] == [1, 1, 0]
    wait_for(rita, "/brains/shop?q=quagga+index", "The quagga index was rebuilt at noon")


def test_a_card_is_rendered(rita):
    page = rita.get(f"/brains/shop/cards/{CARD}").text
    for shown in (
        "<h1>Telegram remote execution must require an allowlist</h1>",
        "<h2>Root Cause</h2>",
        "☐ Reject every chat id that is not on the allowlist",
        '<code class="language-python">',
        "5 times, last on 2026-09-18",
    ):
        assert shown in page
    vault = "vault/lessons/zebrafish.md"
    for name in ("no-such", f"../../{vault}", f"../../{vault}".replace("/", "%2F")):
        assert rita.get(f"/brains/shop/cards/{name}").status_code == 404


def test_a_prompt_is_explained_and_not_stored(rita, shop, tmp_path):
    prompt = "Add a Telegram command that runs a shell script for mister Wolpertinger"
    told = send(rita, "/brains/shop/why", prompt=prompt).text
    assert "1 lesson injected" in told
    assert f'href="/brains/shop/cards/{CARD}"' in told
    assert "confidence 0." in told
    assert html.escape(prompt) in told
    quiet = send(rita, "/brains/shop/why", prompt="what is the weather like").text
    assert "This prompt gets no lesson." in quiet
    assert "Paste a prompt" in send(rita, "/brains/shop/why", prompt=" ").text
    with Brain.open(shop) as brain:
        assert brain.journal.events() == []
        assert brain.stats.overview().injections == 0
    places = (pathlib.Path.home(), pathlib.Path(shop))
    kept = [one for place in places for one in place.rglob("*") if one.is_file()]
    assert kept
    assert not [one for one in kept if b"wolpertinger" in one.read_bytes().lower()]


def test_the_report_leads_to_the_cards(rita):
    page = rita.get("/brains/shop/report")
    assert "<title>Lessons of shop</title>" in page.text
    links = re.findall(r'<a href="(/[^"]+)"', page.text)
    assert links[0] == "/brains/shop"
    assert f"/brains/shop/cards/{CARD}" in links
    assert all(rita.get(link).status_code == 200 for link in links)
    style = re.search(r"style-src ('sha256-[^']+')", page.headers["content-security-policy"])
    assert style
    assert style[1] in page.text.replace("&#39;", "'")


def test_limits_hold_for_pages(connect, tokens):
    client = connect(max_body=10_000)
    log_in(client, tokens["shop"])
    mark = field(client.get("/brains/shop/why").text, "mark")
    sent = {"mark": mark, "prompt": "x" * 20_000}
    assert client.post("/brains/shop/why", data=sent, headers=OWN).status_code == 413
    assert log_in(connect(max_body=10_000), "x" * 5_000).status_code == 413
    assert client.request("DELETE", "/brains/shop").status_code == 405
    slow = connect(rate=0.2)
    log_in(slow, tokens["shop"])
    answers = [slow.get("/brains/shop") for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    assert answers[1].headers["retry-after"] == "5"
    assert not [path for path in client.get("/openapi.json").json()["paths"] if "/v1" not in path
                and path not in ("/health", "/ready", "/metrics", "/openapi.json")]  # fmt: skip
    measuring = {"authorization": f"Bearer {add_token('p', brains=['shop'], may=['metrics'])}"}
    assert 'route="page"' in client.get("/metrics", headers=measuring).text
