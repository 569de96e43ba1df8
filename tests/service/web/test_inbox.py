"""From a proposal to a commit on the pages: accept, edit, merge, discard."""

import os
import pathlib
import re

import pytest

from lessons_kb import Brain
from lessons_kb.store.error_log import read_troubles
from lessons_kb.store.server_tokens import add_token
from tests.kit import git, oppose, write
from tests.service.web.conftest import (
    CARD,
    OWN,
    PROPOSAL,
    TITLE,
    ask,
    field,
    log_in,
    send,
    wait_for,
)

pytestmark = pytest.mark.slow  # a server with its brains

INBOX = "/brains/shop/inbox"
SLUG = "lessons/charged-a-customer-twice-because-the-form-was-sent-twice.md"


def test_a_proposal_sent_by_an_agent_becomes_a_commit(rita, connect, shop):
    agent = connect(add_token("ci", brains=["shop"], may=["propose"]))
    name = ask(agent, "propose", **PROPOSAL).json()["id"]
    listed = rita.get(INBOX).text
    assert "1 draft waits for a decision" in listed
    assert f'href="{INBOX}/{name}"' in listed
    assert "proposed by ci on" in listed
    assert "committed to the branch <code>lessons-review</code> in your name" in listed
    draft = rita.get(f"{INBOX}/{name}").text
    assert "Send an idempotency key with each payment" in draft
    in_sight = re.sub("(?s)<details>.*?</details>", "", draft)
    assert in_sight.count("Send an idempotency key with each payment") == 1
    done = send(rita, f"{INBOX}/{name}", do="accept")
    assert (done.url.path, done.url.query.decode()) == (INBOX, f"done={name}")
    assert "Accepted: it is on the branch." in done.text
    assert "Waiting to be merged" in done.text
    assert SLUG in done.text
    assert "idempotency" in git(shop, "show", f"lessons-review:{SLUG}")
    told = git(shop, "log", "-1", "--format=%an <%ae> %s", "lessons-review")
    assert told == f"Rita Kim <rita@x.org> Add a lesson: {TITLE}\n"
    assert git(shop, "rev-parse", "main") == git(shop, "rev-parse", "HEAD")
    assert git(shop, "status", "--porcelain", "--untracked-files=no") == ""
    assert TITLE not in rita.get("/brains/shop").text, "it is not served yet"
    git(shop, "merge", "-q", "lessons-review")
    wait_for(rita, "/brains/shop", TITLE)
    assert "Waiting to be merged" not in rita.get(INBOX).text


def test_a_draft_that_lacks_something_is_completed_first(rita, propose, shop):
    name = propose(sections={}, prevention=())
    page = rita.get(f"{INBOX}/{name}").text
    assert "Before it can be accepted it needs" in page
    assert 'value="accept"' not in page
    refused = send(rita, f"{INBOX}/{name}", do="accept")
    assert (refused.status_code, "The draft is incomplete" in refused.text) == (422, True)
    assert str(pathlib.Path(shop).parent) not in refused.text
    text = (
        f"---\r\ntype: lesson\r\ntitle: {TITLE}\r\nsymptoms: [charged twice, two invoices]\r\n---\r\n"
        "\r\n## Root Cause\r\n\r\nthe client retried although the request had gone through\r\n\r\n"
        "## Prevention Checklist\r\n\r\n- [ ] Send an idempotency key\r\n"
    )
    saved = send(rita, f"{INBOX}/{name}/edit", text=text)
    assert saved.url.path == f"{INBOX}/{name}"
    assert 'value="accept"' in saved.text
    send(rita, f"{INBOX}/{name}", do="accept")
    committed = git(shop, "show", f"lessons-review:{SLUG}")
    assert "- [ ] Send an idempotency key\n" in committed
    assert "\r" not in committed


def test_a_draft_whose_name_is_not_utf_8_is_discarded(rita, propose, shop):
    name = propose()
    with Brain.open(shop) as brain:
        path = os.fsencode(brain.drafts.get(name).path)
    os.rename(path, os.path.join(os.path.dirname(path), b"odd\xff.md"))
    (address,) = re.findall(r'href="(/brains/shop/inbox/odd[^"]*)"', rita.get(INBOX).text)
    assert rita.get(address).status_code == 200
    done = send(rita, address, do="discard")
    assert done.status_code == 200
    assert "Nothing waits for a decision." in done.text


def test_the_change_of_another_reviewer_is_not_overwritten(rita, propose):
    name = propose()
    path = f"{INBOX}/{name}/edit"
    early = {key: field(rita.get(path).text, key) for key in ("mark", "seen")}
    send(rita, path, text="# The first one to save\n")
    late = rita.post(path, data={**early, "text": "# The second\n"}, headers=OWN)
    assert late.status_code == 422
    assert "The draft was changed while you wrote" in late.text
    assert "# The first one to save" in late.text
    assert "# The second" in late.text
    decided = {**early, "do": "discard"}
    refused = rita.post(f"{INBOX}/{name}", data=decided, headers=OWN)
    assert (refused.status_code, "changed after you opened it" in refused.text) == (422, True)
    assert "The first one to save" in rita.get(f"{INBOX}/{name}").text


def test_a_file_that_is_no_draft_of_ours_is_shown_and_can_be_discarded(rita, propose, shop):
    with Brain.open(shop) as brain:
        path = pathlib.Path(brain.drafts.get(propose()).path)
    path.write_text("x" * 1_600_000)
    path.with_name("My own (1).md").write_text("# Mine\n")
    path.with_name(os.fsdecode(b"\xff.md")).write_text("# Not UTF-8\n")
    listed = rita.get(INBOX)
    assert listed.status_code == 200
    assert "3 drafts wait for a decision" in listed.text
    assert "can only be discarded" in listed.text
    page = rita.get(f"{INBOX}/{path.stem}").text
    assert "It can only be discarded: its file cannot be read" in page
    assert 'value="accept"' not in page
    assert 'value="merge"' not in page
    for decision in ({"do": "accept"}, {"do": "merge", "other": CARD}):
        refused = send(rita, f"{INBOX}/{path.stem}", **decision)
        assert (refused.status_code, "more than 1,000,000 bytes" in refused.text) == (422, True)
    for name in (path.stem, "My%20own%20%281%29"):
        assert send(rita, f"{INBOX}/{name}", do="discard").url.path == INBOX
    assert "1 draft waits for a decision" in rita.get(INBOX).text


def test_a_near_duplicate_is_shown_and_merged(rita, propose, shop):
    name = propose("Telegram remote execution must require an allowlist")
    page = rita.get(f"{INBOX}/{name}").text
    first = re.search(r'<input type="radio"[^>]*value="([^"]+)" checked>', page)
    assert first
    assert first[1] == CARD
    refused = send(rita, f"{INBOX}/{name}", do="accept")
    assert (refused.status_code, f"{CARD} may be the same lesson" in refused.text) == (422, True)
    for other in ("", "no-such-card", "telegram-allow", "telegram-allowlist"):  # the whole id only
        refused = send(rita, f"{INBOX}/{name}", do="merge", other=other)
        told = "No card has the id" if other else "Choose the card"
        assert (refused.status_code, told in refused.text) == (422, True), other
    done = send(rita, f"{INBOX}/{name}", do="merge", card=CARD)
    assert "the card on the branch counts once more" in done.text
    assert "occurrences: 6" in git(shop, "show", f"lessons-review:{CARD}")
    second = propose("Telegram remote execution must require an allowlist")
    send(rita, f"{INBOX}/{second}", do="accept", anyway="yes")
    path = "lessons/telegram-remote-execution-must-require-an-allowlist.md"
    assert "idempotency" in git(shop, "show", f"lessons-review:{path}")


def test_a_draft_that_demands_the_opposite_is_accepted_with_a_link(rita, propose, shop):
    sections = "## Root Cause\n\nIt failed.\n\n## Prevention Checklist\n\n- {}\n"
    always, never = "Always retry failed payments of customers", "Never retry payments of customers"
    card = f"# A payment was lost\n\n{sections.format(always)}"
    write(pathlib.Path(shop), "lessons/retry.md", card)
    git(shop, "add", "-A")
    git(shop, "commit", "-qm", "A card")
    wait_for(rita, "/brains/shop?q=payment+lost", "A payment was lost")
    name = propose("A charge went out twice", prevention=[never])
    oppose(shop, ("A payment was lost", always), ("A charge went out twice", never))
    refused = send(rita, f"{INBOX}/{name}", do="accept")
    assert refused.status_code == 422
    assert "lessons/retry.md demands the opposite" in refused.text
    assert "Accept although a card demands the opposite" in refused.text
    send(rita, f"{INBOX}/{name}", do="accept", anyway="yes")
    text = git(shop, "show", "lessons-review:lessons/a-charge-went-out-twice.md")
    assert "contradicts:\n  - lessons/retry.md" in text


@pytest.mark.parametrize(
    ("decision", "told"),
    [
        ({"do": "accept"}, f"already accepted as {SLUG}."),
        ({"do": "merge", "card": CARD}, f"already merged into {CARD}."),
        ({"do": "discard"}, "already discarded."),
    ],
)
def test_the_second_reviewer_sees_the_decision_of_the_first(rita, propose, shop, decision, told):
    address = f"{INBOX}/{(name := propose())}"
    mark = re.search(r'name="mark" value="([^"]+)"', rita.get(address).text)
    assert mark is not None
    send(rita, address, **decision)
    late = {"mark": mark[1], "do": "accept", "text": "x"}
    for answer in (
        rita.get(address),
        rita.get(f"{address}/edit"),
        *(rita.post(to, data=late, headers=OWN) for to in (address, f"{address}/edit")),
    ):
        assert answer.status_code == 409
        assert f"This draft was {told}" in answer.text
    for path in (f"{INBOX}/no-such", f"{INBOX}/no-such/edit", "/brains/shop/nothing"):
        answer = rita.get(path)
        assert (answer.status_code, "There is no such page." in answer.text) == (404, True), path
    listed = rita.get(INBOX).text
    assert name not in listed
    assert "Nothing waits for a decision." in listed
    assert bool(git(shop, "branch", "--list", "lessons-review")) == (decision["do"] != "discard")


def test_the_main_branch_is_written_if_the_server_is_configured_so(
    connect, reviewer, propose, shop
):
    client = connect(branch="main")
    log_in(client, reviewer)
    name = propose()
    assert "it is served at once" in client.get(INBOX).text
    send(client, f"{INBOX}/{name}", do="accept")
    assert git(shop, "status", "--porcelain", "--untracked-files=no") == ""
    wait_for(client, "/brains/shop", TITLE)


def test_without_a_repository_the_page_names_the_missing_parts(connect, roots, tokens):
    with Brain.open(roots["vault"]) as brain:
        name = brain.drafts.propose("Something of mine that went wrong").id
    token = add_token("v", brains=["vault"], may=["read", "review"], person="V", email="v@x.org")
    client = connect()
    log_in(client, token)
    page = client.get(f"/brains/vault/inbox/{name}").text
    assert "Nothing can be accepted now." in page
    assert "not in a git repository" in page
    assert str(pathlib.Path(roots["vault"]).parent) not in page
    merged = send(client, f"/brains/vault/inbox/{name}", do="merge", other="zebrafish")
    assert merged.status_code == 422
    assert str(pathlib.Path(roots["vault"]).parent) not in merged.text
    assert send(client, f"/brains/vault/inbox/{name}", do="discard").status_code == 200


def test_a_failure_of_git_is_in_the_error_log_and_on_the_page(rita, propose, shop):
    name = propose()
    (pathlib.Path(shop) / ".git/HEAD").unlink()
    earlier = len(read_git_errors())
    page = rita.get(INBOX)
    assert page.status_code == 200
    assert len(read_git_errors()) == earlier + 1
    refused = send(rita, f"{INBOX}/{name}", do="accept")
    assert refused.status_code == 422
    assert str(pathlib.Path(shop).parent) not in refused.text
    assert len(read_git_errors()) == earlier + 3, "for the form, and for the decision"


def read_git_errors():
    return [trouble for trouble in read_troubles() if "GitError" in trouble.message]
