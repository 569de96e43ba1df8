"""Lessons in from elsewhere: planned, deduplicated, written once."""

import contextlib
import json
import sqlite3

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError
from tests import kit
from tests.kit import today


@pytest.fixture
def exchange(root):
    return Brain.open(root).exchange


@pytest.fixture
def memory(tmp_path):
    text = "## Gotchas\n\n- Never edit an applied migration\n- Pin the zone first\n"
    return str(kit.write(tmp_path, "AGENTS.md", text))


@pytest.fixture
def galangal(exchange, tmp_path):
    """Plan the import of a database of mistakes: (count, title, number) of each."""

    def plan(*rows, **options):
        path = tmp_path / "m.db"
        path.unlink(missing_ok=True)
        columns = "id, description, feedback, stage, file_patterns, occurrence_count, last_task"
        columns += ", last_timestamp, example_tasks, embedding"
        with contextlib.closing(sqlite3.connect(path)) as db, db:
            db.execute(f"CREATE TABLE mistakes ({columns})")
            for number, (count, title) in enumerate(rows, 1):
                advice = "Always check if user exists"
                row = (number, title, advice, "DEV", '["src/user.py"]', count, "signup")
                row += (1_790_000_000, '["signup"]')
                db.execute("INSERT INTO mistakes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, x'00')", row)
        return exchange.plan("galangal", str(path), **options)

    return plan


def actions(plan):
    return [step.action for step in plan.steps]


def export_of(tmp_path, **line):
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps({"format": "lessons-kb/1", **line}) + "\n")
    return str(path)


def read_all(root):
    return {path: path.read_bytes() for path in root.rglob("*.md")}


def test_a_plan_writes_nothing_and_twice_is_once(exchange, memory, root):
    plan = exchange.plan("memory", memory)
    assert [(step.action, step.card) for step in plan.steps] == [
        ("create", "lessons/never-edit-an-applied-migration.md"),
        ("create", "lessons/pin-the-zone-first.md"),
    ]
    assert not read_all(root)
    exchange.carry_out(plan)
    before = read_all(root)
    again = exchange.plan("memory", memory)
    assert [(step.action, step.reason) for step in again.steps] == [("skip", "already here")] * 2
    exchange.carry_out(again)
    assert read_all(root) == before
    card = root / "lessons" / "pin-the-zone-first.md"  # renamed and retitled it is still known
    text = card.read_text().replace("title: Pin the zone first", "title: Zones drift")
    card.rename(root / "lessons" / "zones.md").write_text(text)
    assert actions(exchange.plan("memory", memory)) == ["skip", "skip"]


def test_a_mistake_of_galangal_keeps_what_it_knew_and_brings_its_new_total(
    exchange, galangal, root
):
    title = "Forgot null check on user object"
    (step,) = exchange.carry_out(galangal((3, title)))
    card = Brain.open(root).cards.get(step.card)
    assert (card.title, card.stages, card.paths) == (title, ("DEV",), ("src/user.py",))
    assert (card.occurrences, card.last_seen, card.created) == (3, "2026-09-21", today())
    assert (card.examples, card.checklist) == (("signup",), ("Always check if user exists",))
    plan = galangal((5, title.encode()))  # as bytes it is the same text
    assert actions(plan) == ["bump"]
    exchange.carry_out(plan)
    (card,) = Brain.open(root).cards.all()
    assert card.occurrences == 5
    assert actions(galangal((5, title))) == ["skip"]


def test_the_same_title_is_bumped_once_and_nothing_else_changes(exchange, galangal, telegram, root):
    row = (2, "Telegram remote execution must require an allowlist.")
    before = telegram.read_text()
    plan = galangal(row)
    assert actions(plan) == ["bump"]
    exchange.carry_out(plan)
    after = telegram.read_text()
    assert "occurrences: 7  # counted by hand" in after
    assert 'last-seen: "2026-09-21"' in after
    assert after.partition("## Situation")[2] == before.partition("## Situation")[2]
    assert actions(galangal(row)) == ["skip"]
    assert len(Brain.open(root).cards.all()) == 1


def test_a_lesson_that_is_like_a_card_is_only_named(galangal, telegram):
    row = (1, "Remote execution through Telegram must require an allowlist")
    (step,) = galangal(row).steps
    assert (step.action, step.card) == ("skip", "lessons/telegram-allowlist.md")
    assert "similar" in step.reason
    assert "--near new" in step.reason
    assert actions(galangal(row, near="new")) == ["create"]
    assert actions(galangal(row, near="bump")) == ["bump"]


def test_what_a_source_says_twice_becomes_one_card(exchange, galangal, root):
    rows = ((2, "It broke the build"), (3, "It broke the build."))
    plan = galangal(*rows)
    assert actions(plan) == ["create", "bump"]
    exchange.carry_out(plan)
    (card,) = Brain.open(root).cards.all()
    assert card.occurrences == 5
    assert actions(galangal(*rows)) == ["skip", "skip"]


def test_distinct_lessons_of_one_form_or_one_slug_stay_distinct(exchange, galangal):
    plan = galangal(*((1, f"Never use {sign}") for sign in ("==", "===", "!=")))
    done = exchange.carry_out(plan)
    assert [step.card for step in done] == [step.card for step in plan.steps]
    assert len({step.card for step in done}) == 3
    rows = [(1, f"Endpoint /v1/resource-{n} needs its own rate limit") for n in range(30)]
    assert actions(galangal(*rows)) == ["create"] * len(rows)


def test_a_review_becomes_findings(exchange, tmp_path, root):
    path = kit.write(
        tmp_path,
        "review.md",
        "| # | Claim | State | Supporting |\n|---|---|---|---|\n"
        "| 1 | The limiter trusts a header | Disputed | probe |\n\n"
        "| Deferred | Reopen when |\n|---|---|\n| Several currencies | a customer asks |\n",
    )
    exchange.carry_out(exchange.plan("review", str(path)))
    cards = {card.title: card for card in Brain.open(root).cards.all()}
    claim = cards["The limiter trusts a header"]
    assert (claim.kind, claim.evidence) == ("qa-finding", "disputed")
    assert claim.supported_by == ("probe",)
    assert cards["Several currencies"].reopen_when == "a customer asks"
    assert all(card.id.startswith("qa-findings/") for card in cards.values())


def test_secrets_reach_no_card(exchange, tmp_path, root):
    key = "sk-ant-api03-" + "Ab3" * 30
    text = f"## Gotchas\n\n- The gateway wants a key. Never print ANTHROPIC_API_KEY={key}\n"
    path = kit.write(tmp_path, "AGENTS.md", text)
    exchange.carry_out(exchange.plan("memory", str(path)))
    (text,) = (card.read_text() for card in root.rglob("*.md"))
    assert (key in text, "redacted" in text) == (False, True)


def test_a_card_bumped_since_its_export_is_left_alone(exchange, telegram, tmp_path, root):
    path = tmp_path / "out.jsonl"
    path.write_text("\n".join(exchange.export("jsonl")))
    Brain.open(root).bump("telegram-allowlist")
    assert actions(exchange.plan("jsonl", str(path))) == ["skip"]


def test_a_card_that_a_folder_made_one_says_itself_what_it_is(exchange, tmp_path, root):
    path = export_of(tmp_path, id="notes/a.md", title="A", kind="playbook", text="Just a note")
    (step,) = exchange.carry_out(exchange.plan("jsonl", path))
    assert (step.action, step.card) == ("create", "notes/a.md")
    assert (root / "notes/a.md").read_text() == "---\ntype: playbook\n---\nJust a note"


def test_what_is_unknown_is_named(exchange, memory):
    with pytest.raises(InputError, match="import supports galangal, review, memory, jsonl"):
        exchange.plan("csv", "x")
    with pytest.raises(InputError, match="must be one of json, jsonl, markdown"):
        exchange.export("xml")
    with pytest.raises(InputError, match="near must be one of"):
        exchange.plan("memory", memory, near="maybe")


def test_two_imports_of_one_file_at_once_make_each_card_once(root, memory):
    first, second = Brain.open(root).exchange, Brain.open(root).exchange
    plans = [exchange.plan("memory", memory) for exchange in (first, second)]
    assert [step.action for step in first.carry_out(plans[0])] == ["create"] * 2
    done = second.carry_out(plans[1])
    assert [(step.action, step.reason) for step in done] == [("skip", "already here")] * 2
    assert len(list((root / "lessons").iterdir())) == 2


@pytest.mark.slow
@pytest.mark.parametrize("name", [
    "../evil.md", "/tmp/evil.md", ".git/hooks/a.md", "a/.hidden/b.md", "x\\..\\y.md",
    "lessons/CON.md", "aux/x.md", "-rf.md", "lessons /a.md", "lessons./a.md",
])  # fmt: skip
def test_an_export_whose_name_cannot_be_kept_is_imported_once(exchange, root, tmp_path, name):
    title = "The queue was never emptied"
    text = f"---\ntitle: {title}\noccurrences: 3\n---\n"
    path = export_of(tmp_path, id=name, title=title, occurrences=3, text=text)
    for action in ("create", "skip"):
        [step] = exchange.carry_out(exchange.plan("jsonl", path))
        assert step.action == action
    assert step.card == "lessons/the-queue-was-never-emptied.md"
    assert list(read_all(tmp_path)) == [root / step.card]
    assert "occurrences: 3\n" in (root / step.card).read_text()
