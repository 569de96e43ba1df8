"""The library, as its users call it."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lessons_kb import Brain
from lessons_kb.errors import AmbiguousCard, CardNotFound, DuplicateCard, EditRefused, InputError
from tests import kit
from tests.kit import today

PROMPT = "Add a Telegram command that runs a shell script"
ALLOWLIST = "lessons/telegram-allowlist.md"


@pytest.fixture
def brain(root):
    return Brain.open(root)


def test_the_block_holds_the_card_that_matters(brain, telegram):
    block = brain.preflight(PROMPT)
    assert block.text == (
        "[ACTIVE LESSONS — verify before finalizing]\n"
        "1. Telegram remote execution must require an allowlist"
        " (high · seen 5× · lessons/telegram-allowlist.md)\n"
        "   Why: The handler never looked at the sender.\n"
        "   - [ ] Reject every chat id that is not on the allowlist\n"
        "   - [ ] Cover the rejection with a test\n"
        "[/ACTIVE LESSONS]"
    )
    assert [hit.card.id for hit in block.lessons] == [ALLOWLIST]
    assert 0 < block.tokens <= 3200
    for unrelated in ("Translate this paragraph about the history of Rome into French", ""):
        assert brain.preflight(unrelated).text == ""
    assert brain.search("") == []
    for budget in (0, 10, 100, 400, 1000):
        assert brain.preflight(PROMPT, budget=budget).tokens <= budget
    few_words = brain.preflight(PROMPT, budget=30, counter=lambda text: len(text.split()))
    assert len(few_words.text.split()) <= 30


@pytest.mark.slow
@pytest.mark.parametrize(("header", "project", "injected"), [
    ("status: ignored", "mine", False), ("status: archived", "mine", False),
    ("project: other", "mine", False), ("project: Bot", "bot", True),
    ("project: Bot", None, False),  # an unknown project excludes it
])  # fmt: skip
def test_only_active_cards_of_this_project_are_injected(root, telegram, header, project, injected):
    telegram.write_text(telegram.read_text().replace("type: lesson", f"type: lesson\n{header}"))
    assert bool(Brain.open(root, project=project).preflight(PROMPT).lessons) is injected


def test_notes_come_as_context_behind_the_lessons(brain, write, telegram):
    write("notes/bot.md", "# The Telegram bot\n\nThe Telegram bot runs shell scripts in /opt.\n")
    assert [card.id for card in brain.cards.all()] == [ALLOWLIST]
    text = brain.preflight(PROMPT).text
    assert text.index("[/ACTIVE LESSONS]") < text.index("[CONTEXT]") < text.index("notes/bot.md")
    assert "[CONTEXT]" not in brain.preflight(PROMPT, context=False).text


def test_a_session_gets_a_lesson_again_only_after_some_prompts_or_a_change(brain, root, telegram):
    (root / "lessons.toml").write_text("[preflight]\nreinject_after = 3\n")
    had_lessons = [bool(brain.preflight(PROMPT, session="s").lessons) for _ in range(6)]
    assert had_lessons == [True, False, False, False, True, False]
    assert brain.preflight(PROMPT, session="another").lessons
    assert brain.preflight(PROMPT).lessons
    telegram.write_text(telegram.read_text().replace("Cover the rejection", "Cover refusal"))
    assert brain.preflight(PROMPT, session="s").lessons  # it changed


def test_a_whole_card_has_only_the_given_parts(brain, root):
    parts = {"symptoms": ["a payment times out", "customers were charged twice"], "paths": ["a.py"]}
    cause = "The gateway takes each request without a key for a new charge"
    sections = {"Root Cause": cause, "Prevention Checklist": "- [ ] Send the same key"}
    card = brain.cards.create("Retry charged twice", whole=True, sections=sections, **parts)
    assert (root / card.id).read_text() == (
        "---\ntype: lesson\ntitle: Retry charged twice\npaths:\n  - a.py\nsymptoms:\n"
        "  - a payment times out\n  - customers were charged twice\nseverity: medium\n"
        f"created: {today()}\n---\n\n## Root Cause\n\n{cause}\n\n"
        "## Prevention Checklist\n\n- [ ] Send the same key\n"
    )


def test_create_writes_a_searchable_card_and_refuses_a_duplicate(brain, telegram):
    card = brain.create("Retry charged twice", topics=["payments"], severity="high")
    assert card.id == "lessons/retry-charged-twice.md"
    assert (card.title, card.topics) == ("Retry charged twice", ("payments",))
    assert (card.severity, card.created) == ("high", today())
    assert [listed.id for listed in brain.cards.all()] == [card.id, ALLOWLIST]
    near = "Remote execution through Telegram must require an allow list"
    for title, message in (
        ("telegram remote execution must require an ALLOWLIST.", "already has this title"),
        (near, "similar"),
    ):
        with pytest.raises(DuplicateCard, match=message) as caught:
            brain.create(title)
        assert caught.value.existing == ALLOWLIST
    same = "Telegram remote executions must require the allowlist."
    assert brain.create(same, on_duplicate="bump").occurrences == 6
    assert brain.create(near, on_duplicate="bump").occurrences == 1
    second = brain.create(same, on_duplicate="new")
    assert second.id == "lessons/telegram-remote-executions-must-require-the-allowlist.md"
    assert brain.create(same, on_duplicate="new").id == second.id.replace(".md", "-2.md")


@pytest.mark.slow
def test_templated_lessons_are_all_written(brain):
    services = "billing auth search cart export import mailer report invoice refund".split()
    for service in services:
        brain.create(f"The {service} service drops the last row of a page")
    assert len(brain.cards.all()) == len(services)


@pytest.mark.slow
def test_one_lesson_created_by_many_at_once_is_one_card(root, brain, monkeypatch):
    cards = type(brain.cards)
    look = cards._find_duplicate

    def look_slowly(brain_cards, title, *, near):
        duplicate = look(brain_cards, title, near=near)
        time.sleep(0.05)
        return duplicate

    def create(_number):
        with Brain.open(root) as own:
            return own.create("The same mistake, seen by all", on_duplicate="bump").occurrences

    monkeypatch.setattr(cards, "_find_duplicate", look_slowly)
    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(create, range(4))) == [1, 2, 3, 4]


@pytest.mark.parametrize("title", ["", "\n\t"])
def test_create_needs_a_title(brain, root, title):
    with pytest.raises(InputError):
        brain.create(title)
    assert list(root.rglob("*.md")) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "title", ['../../etc/пароль 비밀 "x"', "x" * 300, "CON", "...", "a/b\\c:d*?", "🎉"]
)
def test_create_stays_in_the_brain_whatever_the_title(brain, root, title):
    card = brain.create(title)
    path = root / card.id
    assert path.is_file()
    assert path.parent == root / "lessons"
    assert len(path.name.encode()) <= 200
    assert card.title == title


def test_bump_counts_and_keeps_every_other_byte(brain, telegram):
    before = telegram.read_text()
    with pytest.raises(CardNotFound):
        brain.bump("telegram", "nothing-like-it")
    assert telegram.read_text() == before
    (card,) = brain.bump("telegram", task="Add /restart")
    assert (card.occurrences, card.last_seen) == (6, today())
    assert card.examples == ("Add /restart",)
    after = telegram.read_text()
    assert "occurrences: 6  # counted by hand" in after
    assert f'last-seen: "{today()}"' in after
    assert after.split("---\n")[2:] == before.split("---\n")[2:]
    assert brain.cards.get("telegram").occurrences == 6
    full = "occurrences: 999999\nexamples: [task 1, task 2, task 3, task 4]"
    telegram.write_text(f"---\n{full}\n---\n# Allowlist\n", encoding="utf-8")
    for number in (5, 6):
        (card,) = brain.bump("telegram", task=f"task {number}")
    assert card.examples == tuple(f"task {number}" for number in range(2, 7))
    assert card.occurrences == 1_000_000
    assert telegram.read_text().count("task") == 5


def test_names_of_cards(brain, write, telegram):
    write("playbooks/telegram-setup.md", "# Set up the bot\n")
    write("playbooks/rename.md", "# Rename a column\n")
    for name in ("playbooks/rename.md", "playbooks/rename", "rename", "rename.md", "ren"):
        assert brain.cards.get(name).id == "playbooks/rename.md"
    for name, error, message in (
        ("telegram", AmbiguousCard, r"matches 2 cards: .*telegram-allowlist.*telegram-setup"),
        ("renmae", CardNotFound, r"did you mean playbooks/rename\.md"),
        ("../../../etc/passwd", CardNotFound, "lessons list"),
        ("TELEGRAM-ALOWLIST", CardNotFound, "did you mean lessons/telegram-allowlist"),
        ("", CardNotFound, "no card"),
        ("\udcff", CardNotFound, "no card"),
    ):
        with pytest.raises(error, match=message):
            brain.cards.get(name)


def test_two_brains_are_searched_together_and_written_to_the_nearest(tmp_path):
    near, far = tmp_path / "near", tmp_path / "far"
    for folder, word in ((near, "zebra stripes"), (far, "giraffe necks")):
        kit.write(folder, "lessons/a.md", f"# Mind the {word}\n\n## Fix\n\n- Look at {word}\n")
    brain = Brain.open(near, far)
    assert brain.search("zebra stripes")[0].brain == ""
    both = brain.search("the zebra stripes and giraffe necks look alike")
    assert [(hit.card.id, hit.brain) for hit in both] == [
        ("lessons/a.md", "near"),  # the nearer one wins ties
        ("lessons/a.md", "far"),
    ]
    assert brain.cards.get("far:lessons/a.md").title == "Mind the giraffe necks"
    assert brain.cards.get("a").title == "Mind the zebra stripes"
    other = tmp_path / "other" / "near"
    other.mkdir(parents=True)
    aliases = [layer.alias for layer in Brain.open(near, far, other).members]
    assert aliases == ["near", "far", "near-2"]
    brain.create("Something new")
    assert (near / "lessons/something-new.md").exists()


def test_a_card_of_two_nested_brains_is_listed_once(root, write):
    write("lessons/same.md", "# Zebra paint fades in acid rain\n")
    write("pkg/lessons/same.md", "# Walrus tusks melt\n")
    with Brain.open(root / "pkg", root) as brain:
        assert [hit.card.id for hit in brain.search("walrus tusks")] == ["lessons/same.md"]
        titles = [card.title for card in brain.cards.all()]
        assert titles == ["Walrus tusks melt", "Zebra paint fades in acid rain"]
        names = [card.id for _alias, card in brain.cards.list_aliased()]
        assert names == ["pkg:lessons/same.md", f"{root.name}:lessons/same.md"]
        assert [brain.cards.get(name).title for name in names] == titles


def test_a_brain_is_shared_between_threads_and_asyncio(brain, telegram):
    def work(_number):
        return all(brain.preflight(PROMPT).lessons for _ in range(10))

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))

    async def ask():
        return (await asyncio.to_thread(brain.preflight, PROMPT)).text

    assert "allowlist" in asyncio.run(ask())


def test_no_secret_reaches_a_card_by_its_task_or_its_title(brain, root):
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    card = brain.create(f"The token {token} was committed", topics=[f"GITHUB_TOKEN={token}"])
    brain.bump(card.id, task=f"Deploy with {token}")
    assert token.casefold() not in card.id
    assert token not in (root / card.id).read_text()
    assert brain.cards.get(card.id).examples == ("Deploy with [redacted github token]",)


def test_a_deleted_card_comes_back_although_another_begins_like_it(brain, write):
    write("lessons/queue.md", "---\ntitle: Queue\n---\n")
    write("lessons/queue-full.md", "---\ntitle: Queue is full\nstatus: archived\n---\n")
    write("lessons/queue-late.md", "---\ntitle: Queue is late\n---\n")
    for names in (("lessons/queue.md",), ("queue-late", "queue")):
        brain.cards.delete(*names)
        assert brain.cards.restore("queue") == ("lessons/queue.md", "undeleted")
    assert brain.cards.get("queue-full").status == "archived"


@pytest.mark.slow
def test_a_card_that_refuses_does_not_stop_the_others(brain, write):
    for name in ("a", "c"):
        write(f"lessons/{name}.md", f"---\ntitle: {name}\noccurrences: 1\n---\n")
    write("lessons/b.md", "---\ntitle: b\noccurrences: often\nstatus: active; ask Kim\n---\n")
    cards, done = brain.cards, "; done: lessons/a.md, lessons/c.md"
    with pytest.raises(EditRefused, match=f"b.md was not changed.*often.*{done}"):
        cards.bump("a", "b", "c")
    assert [cards.get(name).occurrences for name in "abc"] == [2, 1, 2]
    with pytest.raises(EditRefused, match=f"ask Kim.*{done}"):
        cards.set_status("archived", "a", "b", "c")
    assert [cards.get(name).status for name in "abc"] == ["archived", "active", "archived"]


def test_a_card_that_cannot_be_read_is_named_as_such(brain, write):
    bad = b"---\ntitle: \xff\n---\n"
    path = write("lessons/queue.md", "---\ntitle: Queue\n---\n")
    path.write_bytes(bad)
    write("lessons/open.md", "---\ntitle: never closed")
    for name in ("queue", "lessons/queue.md", "que", "open"):
        with pytest.raises(CardNotFound, match=r"^lessons/(queue|open)\.md is not .*lint"):
            brain.bump(name)
    assert path.read_bytes() == bad
