"""The first tab, key by key."""

import asyncio
import json
import threading

import pytest

from lessons_kb import Brain
from lessons_kb.store import trash
from lessons_kb.tui.app import ManageApp
from lessons_kb.tui.rows import RowSource
from tests.kit import write
from tests.tui.conftest import TODAY, Hand
from tests.tui.test_drafts import files

pytestmark = pytest.mark.slow


TELEGRAM = "lessons/telegram-allowlist.md"
AT = 1_793_000_000.0  # a day in October 2026


@pytest.mark.parametrize(
    ("size", "keys", "name"),
    [((80, 24), [], "cards-80x24"), ((140, 40), ["down"], "cards-140x40")],
)
def test_the_preview_is_below_the_cards_or_beside_them(drive, golden, size, keys, name):
    async def play(hand):
        await hand.press(*keys)
        golden(name, hand.screen)

    drive(play, size=size)


def test_typing_filters_and_acts_on_nothing(drive, golden, root):
    before = {path: path.read_bytes() for path in root.rglob("*.md")}

    async def play(hand):
        await hand.press("slash")
        await hand.type("diaru+eqs")
        assert not hand.app.listing.rows
        assert "No row matches" in hand.screen
        await hand.press("escape")
        assert len(hand.app.listing.rows) == 20
        assert hand.app.focused is hand.app.listing
        await hand.press("escape", "slash", "escape")
        assert hand.app.focused is hand.app.listing
        await hand.press("slash")
        await hand.type("Token DOCKER")
        assert hand.row == "lessons/docker-build-arg-secret.md"
        golden("filtered-80x24", hand.screen)
        await hand.press("enter")
        assert hand.app.focused is hand.app.listing
        await hand.press("slash")
        assert hand.app.focused is not hand.app.listing
        await hand.press("enter", "escape")
        assert len(hand.app.listing.rows) == 20
        assert hand.row == "lessons/docker-build-arg-secret.md"
        await hand.press("slash")
        await hand.type("일별 utc")
        assert [row.name for row in hand.app.listing.rows] == ["lessons/kst-day-boundary.md"]

    drive(play)
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before


def test_keys_act_at_once_on_cards_as_on_drafts(drive, brain):
    async def play(hand):
        await hand.press("down", "plus")
        first = hand.app.listing.current
        assert "seen 4×" in hand.said
        assert brain.cards.get(first.name).occurrences == 4
        assert "press / to filter" in hand.screen
        await hand.press("q")
        assert hand.app._exit

    drive(play)


def test_bump_counts_and_undo_gives_every_byte_back(drive, golden, root, brain):
    before = (root / TELEGRAM).read_bytes()

    async def play(hand):
        await hand.find("telegram")
        await hand.press("plus", "plus")
        assert brain.cards.get(TELEGRAM).occurrences == 7
        assert "seen 7×" in hand.said
        assert "  7×" in hand.screen
        await hand.press("u")
        assert brain.cards.get(TELEGRAM).occurrences == 6
        await hand.press("u")
        assert hand.said.startswith(f"undone: bump of {TELEGRAM}")
        await hand.press("u")
        assert hand.said.startswith("nothing to undo")

    drive(play)
    assert (root / TELEGRAM).read_bytes() == before
    assert (
        sum(times for _day, what, _when, times in brain.journal.counts() if what == "bumped") == 0
    )


@pytest.mark.parametrize(("key", "status"), [("i", "ignored"), ("x", "archived")])
def test_ignore_archive_restore_and_their_undo(drive, root, brain, key, status):
    before = (root / TELEGRAM).read_bytes()

    async def play(hand):
        await hand.find("telegram")
        await hand.press(key)
        assert brain.cards.get(TELEGRAM).status == status
        assert f"[{status}] Telegram" in hand.screen
        assert "r restore" in hand.screen
        await hand.press(key)
        assert f"already {status}" in hand.said
        await hand.press("r")
        assert brain.cards.get(TELEGRAM).status == "active"
        await hand.press("u")
        assert brain.cards.get(TELEGRAM).status == status
        await hand.press("u")

    drive(play)
    assert (root / TELEGRAM).read_bytes() == before


def test_delete_asks_and_undo_brings_all_back(drive, golden, root):
    file = root / TELEGRAM
    before = file.read_bytes()

    async def play(hand):
        await hand.find("telegram")
        await hand.press("d")
        golden("delete-80x24", hand.screen)
        await hand.press("n")
        assert file.exists()
        await hand.press("d", "enter")
        assert file.exists(), "a hasty enter deletes nothing"
        await hand.press("d", "escape")
        assert file.exists()
        await hand.press("d", "y")
        assert not file.exists()
        assert "moved to the trash" in hand.said
        assert TELEGRAM not in [row.name for row in hand.app.listing.rows]
        await hand.press("u")
        assert file.read_bytes() == before
        assert hand.row == TELEGRAM
        await hand.press("escape")
        assert len(hand.app.listing.rows) == 20

    drive(play)
    assert not trash.entries(str(root))


def test_edit_opens_the_editor_and_undo_keeps_the_edited_version(drive, root, editor):
    before = (root / TELEGRAM).read_bytes()
    editor("text = text.replace('severity: high', 'severity: low')")

    async def play(hand):
        await hand.find("telegram")
        await hand.press("enter")
        assert "edited" in hand.said
        assert "low" in hand.screen
        await hand.press("u")
        assert "the edited version is in the trash" in hand.said

    drive(play, size=(120, 24))
    assert (root / TELEGRAM).read_bytes() == before
    assert [entry.why for entry in trash.entries(str(root))] == ["edit undone"]


def test_an_edit_that_breaks_a_card_is_reported_and_can_be_undone(drive, golden, root, editor):
    before = (root / TELEGRAM).read_bytes()
    editor(
        "text = text.replace('---', '-- -', 1).replace('-- -', '---').replace('\\n---\\n', '\\n', 1)"
    )

    async def play(hand):
        await hand.find("telegram")
        await hand.press("e")
        assert "✗" in hand.screen
        golden("broken-80x24", hand.screen)
        await hand.press("plus")
        assert "is not valid; open and fix it first" in hand.said
        await hand.press("u")
        assert "✗" not in hand.screen

    drive(play)
    assert (root / TELEGRAM).read_bytes() == before


def test_reload_reads_what_others_wrote_and_removed(drive, root):
    async def play(hand):
        await hand.find("telegram")
        (root / TELEGRAM).unlink()
        await hand.press("plus")
        assert "telegram" in hand.said
        write(root, "lessons/new.md", "# A card from elsewhere\n")
        (root / "lessons" / "bad.md").write_bytes(b"---\ntitle: \xff\xfe\n---\n")
        await hand.press("escape", "f5", "home")
        assert len(hand.app.listing.rows) == 21
        assert hand.row == "lessons/bad.md"  # files that cannot be used stand first
        assert "not valid; press e" in hand.screen
        await hand.find("broken")
        assert len(hand.app.listing.rows) == 1
        await hand.find("from elsewhere")
        assert hand.row == "lessons/new.md"

    drive(play)


def test_orders_go_round_and_the_preview_scrolls(drive):
    async def play(hand):
        preview = hand.app.query_one("#preview")
        await hand.press("space")
        assert preview.scroll_y > 0
        await hand.press("b")
        assert preview.scroll_y == 0
        for keys, order in (("s", "seen"), ("ss", "effect"), ("s", "last")):
            await hand.press(*keys)
            assert f"by {order}" in hand.screen
            assert order != "seen" or hand.row == TELEGRAM

    drive(play)


def test_the_cursor_goes_everywhere(drive):
    async def play(hand):
        await hand.press("pagedown")
        assert hand.app.focused is hand.app.listing
        lines = map(hand.app.listing.render_line, range(8))
        colours = {one.text.strip(): one.style.color for line in lines for one in line}
        assert colours["high"] != hand.app.listing.rich_style.color
        places = [hand.app.listing.cursor]
        for key in ("end", "up", "k", "home", "down", "j", "pagedown", "pageup", "G", "g"):
            await hand.press(key)
            places.append(hand.app.listing.cursor)
        page = hand.app.listing.size.height - 1
        assert places == [page, 19, 18, 17, 0, 1, 2, 2 + page, 2, 19, 0]

    drive(play)


def test_the_mouse_does_what_keys_do(drive, root, editor):
    editor("text += '\\nclicked\\n'")

    async def play(hand):
        await hand.pilot.click("#list", offset=(20, 4))
        await hand.settle()
        assert hand.row == TELEGRAM
        await hand.pilot.click("#list", offset=(20, 4), times=2)
        await hand.settle()
        assert (root / TELEGRAM).read_text("utf-8").endswith("clicked\n")
        await hand.pilot.click("#hints", offset=(hand.screen.split("\n")[23].index("+ bump"), 0))
        await hand.settle()
        assert "seen 6×" in hand.said
        await hand.pilot.click("#tabs", offset=(14, 0))
        await hand.settle()
        assert "[Drafts 0]" in hand.screen

    drive(play)


def test_help_explains_every_key(drive, golden):
    async def play(hand):
        await hand.press("question_mark")
        golden("help-80x24", hand.screen)
        await hand.press("escape", "question_mark", "q")
        assert "Help" not in hand.screen
        await hand.press("q")
        assert hand.app._exit

    drive(play)


@pytest.mark.parametrize("key", ["ctrl+c", "ctrl+q"])
def test_it_can_be_left(drive, key):
    async def play(hand):
        await hand.press(key)
        assert hand.app._exit

    drive(play)


def test_an_empty_brain_shows_how_to_begin(drive, tmp_path, golden):
    folder = tmp_path / "empty"
    folder.mkdir()

    async def play(hand):
        golden("empty-80x24", hand.screen)
        await hand.press("enter", "e", "plus", "d", "i", "u", "s", "space")

    with Brain.open(folder, directory=folder) as brain:
        drive(play, on=brain)


def test_effects_are_shown_where_there_are_any(drive, brain):
    counts = {"injected": 12, "addressed": 3, "unaddressed": 21, "harmful": 2}
    for what, times in counts.items():
        brain.journal.count(TELEGRAM, what, at=AT, times=times)

    async def play(hand):
        await hand.find("harms")
        assert hand.row == TELEGRAM
        assert "3 of 24 items addressed" in hand.screen
        assert "proposed: archive; " in hand.screen

    drive(play, size=(100, 40))


def test_cards_of_one_name_in_two_brains_show_their_own_effects(lessons, tmp_path):
    brains = ("--brain", tmp_path / "near", "--brain", tmp_path / "far")
    for name in ("near", "far"):
        for card in ("both", name):
            write(tmp_path / name, f"lessons/{card}.md", f"# {card}\n")
    for session in "ab":
        lessons(*brains, "mark", "far:lessons/both.md", "harmful", "--session", session)
    data = json.loads(lessons(*brains, "manage", "--json").out)
    assert {card["id"]: card["effect"] for card in data["cards"]} == {
        "near:lessons/both.md": "never used", "near:lessons/near.md": "never used",
        "far:lessons/both.md": "harms", "far:lessons/far.md": "never used",
    }  # fmt: skip


def test_keys_that_are_pressed_before_the_list_is_read_are_named(brain, root):
    may_load = threading.Event()
    source = RowSource(brain)
    load = source.load

    def load_late(progress):
        may_load.wait(60)
        return load(progress)

    source.load = load_late
    before = files(root)

    async def main():
        app = ManageApp(source, today=TODAY)
        async with app.run_test(size=(80, 24)) as pilot:
            app.focus_on(app.listing)
            await pilot.press("x", "i")
            may_load.set()
            hand = Hand(app, pilot)
            await hand.settle()
            assert "pressed before the list was read: x, i; press again" in hand.said
            assert files(root) == before
            await hand.press("i")
            assert "is ignored" in hand.said

    asyncio.run(main())
