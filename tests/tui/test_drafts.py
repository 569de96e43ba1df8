"""The second tab: the review queue."""

import pathlib

import pytest

pytestmark = pytest.mark.slow


AT = 1_793_000_000.0  # a day in October 2026
SECTIONS = {
    "Situation": "The nightly job sent every customer two mails.",
    "Root Cause": "The retry had no idempotency key, so the second attempt was a second order.",
}


@pytest.fixture
def ripe(brain):
    """A draft that lacks nothing."""
    return brain.drafts.propose(
        "The nightly job mailed every customer twice",
        sections=SECTIONS,
        prevention=["Send the job's date as a key with each mail"],
        symptoms=["customers complain of duplicate mails", "the cron ran again after a crash"],
        now=AT,
    ).id


@pytest.fixture
def raw(brain):
    """A draft that lacks nearly everything."""
    return brain.drafts.propose("TODO name the mistake (pytest failed)", now=AT - 86_400).id


def files(root):
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*.md")}


def test_the_list_of_drafts_shows_the_missing_parts(drive, golden, ripe, raw):
    async def play(hand):
        await hand.press("tab")
        assert "[Drafts 2]" in hand.screen
        golden("drafts-80x24", hand.screen)
        await hand.press("down")
        assert hand.row == raw
        golden("draft-raw-80x24", hand.screen)
        await hand.press("a")
        assert hand.said.startswith("incomplete: press e and write what is missing")
        await hand.press("tab")
        assert "[Cards 20]" in hand.screen

    drive(play)


def test_only_a_complete_draft_asks_about_its_quote(drive, brain, ripe, raw):
    source = 'sources:\n  - resource: "session:0123456789abcdef"\n    quote: it broke again\n'
    for draft in brain.drafts.all():
        path = pathlib.Path(draft.path)
        path.write_text(path.read_text().replace("---\n", f"---\n{source}", 1))

    async def play(hand):
        await hand.press("tab", "down", "a")
        assert hand.row == raw
        assert "it broke again" not in hand.said
        assert hand.said.startswith("incomplete")
        await hand.press("up", "a")
        assert "The draft quotes a session" in hand.screen
        await hand.press("d")
        assert "is now a card" in hand.said

    drive(play)


def test_a_refusal_stands_below_the_missing_parts_and_belongs_to_its_row(drive, ripe, raw):
    async def play(hand):
        await hand.press("tab", "down", "a")
        below = " ".join(" ".join(hand.screen.splitlines()[-6:]).split())
        assert "worded like a future task incomplete: press e and write what is missing" in below
        for leave in (["up"], ["slash", *"nightly"], ["tab"]):
            await hand.press(*leave)
            assert "incomplete" not in hand.said
            await hand.find("")
            if hand.app.board.tab == "cards":
                await hand.press("tab")
            await hand.press("home", "down", "a")
            assert hand.row == raw
            assert "incomplete" in hand.said

    drive(play)


def test_an_edited_draft_stays_in_sight_under_a_filter(drive, brain, ripe, raw, editor):
    editor("text = text.replace('The nightly job mailed', 'The weekly job wrote to')")

    async def play(hand):
        await hand.press("tab", "slash", *"nightly", "enter", "e")
        assert hand.row == ripe
        assert "weekly job" in hand.screen
        assert "it is complete and can be accepted" in hand.said
        await hand.press("a")
        assert "is now a card" in hand.said
        assert "No row matches" in hand.screen
        await hand.press("a")
        assert "no row matches the filter; press esc to clear it" in hand.said
        await hand.press("escape")
        assert "no row matches" not in hand.said
        assert hand.row == raw
        await hand.press("slash", *"weekly")
        assert hand.row == ""

    drive(play)


def test_an_edit_says_how_much_a_draft_still_lacks(drive, raw, editor):
    editor(
        "text = text.replace('TODO name the mistake (pytest failed)', 'Tests shared a database')"
    )

    async def play(hand):
        await hand.press("tab", "e")
        assert f"{raw} edited; it still lacks 3 parts" in hand.said

    drive(play)


def test_undo_puts_the_cursor_on_the_draft_that_came_back(drive, brain, ripe, raw):
    third = brain.drafts.propose("The total of a cart was hard-coded", now=AT - 2 * 86_400).id

    async def play(hand):
        await hand.press("tab", "down")
        assert hand.row == raw
        await hand.press("d")
        assert hand.row == third
        await hand.press("u")
        assert hand.row == raw
        await hand.press("home", "a", "end", "u")
        assert hand.row == ripe

    drive(play)


def test_the_key_that_accepts_a_draft_archives_no_card(drive, root, brain):
    before = files(root)

    async def play(hand):
        await hand.find("telegram")
        await hand.press("a")

    drive(play)
    assert files(root) == before


def test_a_card_with_the_status_draft_is_accepted_in_place(drive, root, brain, ripe):
    path = root / "lessons" / "mailed-twice.md"
    text = brain.drafts.get(ripe).text.replace("status: active", "status: draft")
    path.write_text(text, encoding="utf-8")
    brain.drafts.discard(ripe)

    async def play(hand):
        await hand.press("tab")
        assert hand.row == "lessons/mailed-twice.md"
        for key in ("a", "d"):
            await hand.press(key)
            assert "[Drafts 0]" in hand.screen
            assert not path.exists() or "status: active" in path.read_text()
            await hand.press("u")
            assert "[Drafts 1]" in hand.screen
            assert path.read_text() == text

    drive(play)


def test_accept_makes_a_card_and_undo_a_draft_again(drive, root, brain, ripe):
    before = files(root)
    text = brain.drafts.get(ripe).text

    async def play(hand):
        await hand.press("tab", "a")
        assert "is now a card" in hand.said
        assert "[Drafts 0]" in hand.screen
        assert "Cards 21" in hand.screen
        await hand.press("u")
        assert hand.row == ripe
        assert "Cards 20" in hand.screen
        assert files(root) == before
        assert brain.drafts.get(ripe).text == text
        await hand.press("a")
        (made,) = (root / "lessons").glob("the-nightly*.md")
        made.write_text(made.read_text("utf-8") + "\nMore.\n", encoding="utf-8")
        await hand.press("u")
        assert "it stays a card" in hand.said

    drive(play, size=(140, 24))
    assert brain.drafts.count() == 0


def test_merge_offers_a_choice_of_cards(drive, golden, root, brain, ripe):
    before = files(root)

    async def play(hand):
        await hand.press("tab", "m")
        await hand.type("mail")
        await hand.press("escape")
        assert hand.row == ripe
        await hand.press("m")
        await hand.type("idempotency")
        golden("pick-80x24", hand.screen)
        await hand.press("down", "up", "enter")
        assert "counted on lessons/retry-without-idempotency-key.md, seen 5×" in hand.said
        assert brain.drafts.count() == 0
        await hand.press("u")
        assert hand.row == ripe

    drive(play, size=(120, 24))
    assert files(root) == before
    assert brain.drafts.count() == 1


def test_the_cursor_is_on_the_card_that_guards_the_file_of_the_draft(drive, brain):
    """Enter merges into the card under the cursor, so that card has to be the likeliest."""
    brain.drafts.propose("It fell over again", paths=("Dockerfile",), now=AT)

    async def play(hand):
        await hand.press("tab", "m", "enter")
        assert "counted on lessons/docker-build-arg-secret.md" in hand.said
        assert hand.said.endswith("; u undoes it")
        await hand.press("u")
        assert brain.drafts.count() == 1

    drive(play, size=(120, 24))


def test_the_cursor_is_on_the_card_with_the_words_of_the_draft(drive, brain):
    brain.drafts.propose("The bot of the group ran a shell command of a stranger", now=AT)

    async def play(hand):
        await hand.press("tab", "m", "enter")
        assert "counted on lessons/telegram-allowlist.md" in hand.said

    drive(play, size=(120, 24))


def test_a_duplicate_is_merged_only_if_the_user_confirms(drive, golden, root, brain):
    brain.drafts.propose(
        "Telegram remote execution must require an allowlist",
        sections=SECTIONS,
        prevention=["Reject every chat id that is not on the allowlist"],
        symptoms=["anyone in the group can run it", "the bot obeys strangers"],
        now=AT,
    )
    before = files(root)

    async def play(hand):
        await hand.press("tab", "a")
        golden("duplicate-80x24", hand.screen)
        await hand.press("escape")
        assert files(root) == before
        await hand.press("a", "m")
        assert brain.cards.get("lessons/telegram-allowlist.md").occurrences == 6
        await hand.press("u", "a", "n")
        assert "[Drafts 0]" in hand.screen
        assert len(files(root)) == len(before) + 1
        await hand.press("u")

    drive(play)
    assert files(root) == before


def test_discard_and_an_edit_can_be_undone_before_it_is_accepted(drive, brain, ripe, raw, editor):
    named = "Tests shared one database"
    editor(f"text = text.replace('TODO name the mistake (pytest failed)', '{named}')")
    texts = [brain.drafts.get(one).text for one in (ripe, raw)]

    async def play(hand):
        await hand.press("tab", "d")
        assert brain.drafts.count() == 1
        await hand.press("u", "up")
        assert hand.row == ripe
        await hand.press("down", "e")
        assert named in hand.screen
        await hand.press("u")
        assert "TODO name the mistake" in hand.screen

    drive(play)
    assert [brain.drafts.get(one).text for one in (ripe, raw)] == texts


def test_a_completed_draft_is_shown_beside_its_evidence(drive, golden, brain, ripe):
    text = brain.drafts.get(ripe).text.replace(
        "second order.\n", "second order.\n\n<!-- “job ran twice” (jobs/mail.py) -->\n"
    )
    title = "<!-- TITLE NOT IN THE EVIDENCE: it names no customer -->"
    text = text.replace("## Root Cause\n", f"## Root Cause\n\n{title}\n", 1)
    text = text.replace(
        "each mail\n", "each mail <!-- NOT IN THE EVIDENCE: the title says so -->\n"
    )
    assert text.count("NOT IN THE EVIDENCE") == 2
    evidence = "## Evidence\n\nCommit `1a2b`: Send mails once\n\n> the job ran twice\n"
    brain.drafts.rewrite(ripe, f"{text}\n{evidence}", digest=brain.drafts.get(ripe).digest)

    async def play(hand):
        await hand.press("tab")
        golden("completed-80x24", hand.screen)
        await hand.press("a")
        assert "is now a card" in hand.said
        assert "No drafts to review" in hand.screen
        assert "job ran twice" not in hand.screen, "evidence of what was accepted"

    drive(play)
    (card,) = [one for one in brain.cards.all() if one.title.startswith("The nightly")]
    made = (pathlib.Path(brain.members[0].root) / card.id).read_text("utf-8")
    assert "Evidence" not in made
    assert "<!--" not in made
    assert "# Name the mistake" not in made


def test_each_tab_keeps_its_filter_and_its_place(drive, ripe, raw):
    async def play(hand):
        await hand.press("slash")
        await hand.type("telegram")
        await hand.press("tab")
        assert len(hand.app.listing.rows) == 2
        await hand.press("down")
        assert hand.row == raw
        await hand.press("tab")
        assert hand.row == "lessons/telegram-allowlist.md"
        assert len(hand.app.listing.rows) == 1
        await hand.press("tab")
        assert hand.row == raw

    drive(play)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_many_drafts_take_a_third_of_the_screen_with_titles_that_differ(
    drive, golden, brain, ripe, size
):
    brain.drafts.discard(ripe)
    end = "when the customer comes back from the page of the bank"
    for number, name in enumerate(("the total", "the tax", "a coupon", "the address", "a refund")):
        title = f"fix(cart): keep what was written in the form of the cart {end} with {name}"
        brain.drafts.propose(title, sections=SECTIONS, now=AT - number * 86_400)
    brain.drafts.propose("fix: charge a retried order once", sections=SECTIONS, now=AT - 9 * 86_400)

    async def play(hand):
        await hand.press("tab")
        golden(f"many-drafts-{size[0]}x{size[1]}", hand.screen)

    drive(play, size=size)
