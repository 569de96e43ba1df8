"""Lessons in from elsewhere: planned, deduplicated, written once."""

import json
import pathlib
import shutil
import sqlite3

import pytest

from lessons_kb import Brain
from lessons_kb.errors import InputError

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"
TODAY = "2026-11-20"


@pytest.fixture
def exchange(root):
    return Brain.open(root).exchange


@pytest.fixture
def memory(tmp_path):
    path = tmp_path / "AGENTS.md"
    path.write_text("## Gotchas\n\n- Never edit an applied migration\n- Pin the zone first\n")
    return path


def mistakes(path, *rows):
    path.unlink(missing_ok=True)
    db = sqlite3.connect(path)
    db.execute(
        "CREATE TABLE mistakes (id INTEGER PRIMARY KEY, description TEXT, feedback TEXT,"
        " stage TEXT, file_patterns TEXT, occurrence_count INTEGER, last_task TEXT,"
        " last_timestamp INTEGER, example_tasks TEXT, embedding BLOB)"
    )
    for row in rows:
        db.execute("INSERT INTO mistakes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, x'00')", row)
    db.commit()
    db.close()
    return str(path)


def row(count=3, title="Forgot null check on user object", number=1):
    tasks = json.dumps(["signup"])
    advice = "Always check if user exists"
    return (number, title, advice, "DEV", '["src/user.py"]', count, "signup", 1_790_000_000, tasks)


def actions(plan):
    return [step.action for step in plan.steps]


def test_a_plan_writes_nothing(exchange, memory, root):
    plan = exchange.plan("memory", str(memory))
    assert [(step.action, step.card) for step in plan.steps] == [
        ("create", "lessons/never-edit-an-applied-migration.md"),
        ("create", "lessons/pin-the-zone-first.md"),
    ]
    assert not list(root.rglob("*.md"))


def test_twice_is_once(exchange, memory, root):
    exchange.carry_out(exchange.plan("memory", str(memory)), today=TODAY)
    before = {path: path.read_bytes() for path in root.rglob("*.md")}
    again = exchange.plan("memory", str(memory))
    assert [(step.action, step.reason) for step in again.steps] == [("skip", "already here")] * 2
    exchange.carry_out(again, today=TODAY)
    assert {path: path.read_bytes() for path in root.rglob("*.md")} == before


def test_a_card_renamed_and_retitled_is_still_known(exchange, memory, root):
    exchange.carry_out(exchange.plan("memory", str(memory)), today=TODAY)
    card = root / "lessons" / "pin-the-zone-first.md"
    text = card.read_text().replace("title: Pin the zone first", "title: Zones drift")
    card.rename(root / "lessons" / "zones.md").write_text(text)
    assert actions(exchange.plan("memory", str(memory))) == ["skip", "skip"]


def test_a_card_from_galangal_keeps_what_it_knew(exchange, tmp_path, root):
    plan = exchange.plan("galangal", mistakes(tmp_path / "m.db", row()))
    (step,) = exchange.carry_out(plan, today=TODAY)
    card = Brain.open(root).cards.get(step.card)
    assert (card.title, card.stages, card.paths) == (
        "Forgot null check on user object",
        ("DEV",),
        ("src/user.py",),
    )
    assert (card.occurrences, card.last_seen, card.created) == (3, "2026-09-21", TODAY)
    assert card.examples == ("signup",)
    assert card.checklist == ("Always check if user exists",)


def test_a_mistake_seen_more_often_since_brings_its_new_total(exchange, tmp_path, root):
    exchange.carry_out(exchange.plan("galangal", mistakes(tmp_path / "m.db", row(3))))
    plan = exchange.plan("galangal", mistakes(tmp_path / "m.db", row(5)))
    assert actions(plan) == ["bump"]
    exchange.carry_out(plan)
    (card,) = Brain.open(root).cards.all()
    assert card.occurrences == 5
    assert actions(exchange.plan("galangal", mistakes(tmp_path / "m.db", row(5)))) == ["skip"]


def test_the_same_title_is_bumped_once_and_nothing_else_changes(exchange, tmp_path, telegram, root):
    title = "Telegram remote execution must require an allowlist."
    path = mistakes(tmp_path / "m.db", row(2, title))
    before = telegram.read_text()
    plan = exchange.plan("galangal", path)
    assert actions(plan) == ["bump"]
    exchange.carry_out(plan, today=TODAY)
    after = telegram.read_text()
    assert "occurrences: 7  # counted by hand" in after
    assert 'last-seen: "2026-09-21"' in after
    assert after.partition("## Situation")[2] == before.partition("## Situation")[2]
    assert actions(exchange.plan("galangal", path)) == ["skip"]
    assert len(Brain.open(root).cards.all()) == 1


def test_a_lesson_that_is_like_a_card_is_only_named(exchange, tmp_path, telegram):
    title = "Remote execution through Telegram must require an allowlist"
    path = mistakes(tmp_path / "m.db", row(1, title))
    (step,) = exchange.plan("galangal", path).steps
    assert (step.action, step.card) == ("skip", "lessons/telegram-allowlist.md")
    assert "similar" in step.reason
    assert "--near new" in step.reason
    assert actions(exchange.plan("galangal", path, near="new")) == ["create"]
    assert actions(exchange.plan("galangal", path, near="bump")) == ["bump"]
    with pytest.raises(InputError, match="near must be one of"):
        exchange.plan("galangal", path, near="maybe")


def test_what_a_source_says_twice_becomes_one_card(exchange, tmp_path, root):
    rows = (row(2, "It broke the build", 1), row(3, "It broke the build.", 2))
    plan = exchange.plan("galangal", mistakes(tmp_path / "m.db", *rows))
    assert actions(plan) == ["create", "bump"]
    exchange.carry_out(plan)
    (card,) = Brain.open(root).cards.all()
    assert card.occurrences == 5
    again = exchange.plan("galangal", mistakes(tmp_path / "m.db", *rows))
    assert actions(again) == ["skip", "skip"]


def test_two_titles_of_one_slug_are_two_cards(exchange, tmp_path, root):
    rows = (row(1, "Never use ==", 1), row(1, "Never use ===", 2), row(1, "Never use !=", 3))
    plan = exchange.plan("galangal", mistakes(tmp_path / "m.db", *rows))
    done = exchange.carry_out(plan)
    assert [step.card for step in done] == [step.card for step in plan.steps]
    assert len({step.card for step in done}) == 3


def test_distinct_lessons_of_one_form_stay_distinct(exchange, tmp_path):
    rows = [row(1, f"Endpoint /v1/resource-{n} needs its own rate limit", n) for n in range(60)]
    assert actions(exchange.plan("galangal", mistakes(tmp_path / "m.db", *rows))) == [
        "create"
    ] * len(rows)


def test_a_review_becomes_findings(exchange, tmp_path, root):
    path = tmp_path / "review.md"
    path.write_text(
        "| # | Claim | State | Supporting |\n|---|---|---|---|\n"
        "| 1 | The limiter trusts a header | Disputed | probe |\n\n"
        "| Deferred | Reopen when |\n|---|---|\n| Several currencies | a customer asks |\n"
    )
    exchange.carry_out(exchange.plan("review", str(path)))
    cards = {card.title: card for card in Brain.open(root).cards.all()}
    claim = cards["The limiter trusts a header"]
    assert (claim.kind, claim.evidence, claim.supported_by) == (
        "qa-finding",
        "disputed",
        ("probe",),
    )
    assert cards["Several currencies"].reopen_when == "a customer asks"
    assert all(card.id.startswith("qa-findings/") for card in cards.values())


def test_secrets_reach_no_card(exchange, tmp_path, root):
    key = "sk-ant-api03-" + "Ab3" * 30
    path = tmp_path / "AGENTS.md"
    path.write_text(
        f"## Gotchas\n\n- The gateway wants a key. Never print ANTHROPIC_API_KEY={key}\n"
    )
    exchange.carry_out(exchange.plan("memory", str(path)))
    (card,) = root.rglob("*.md")
    assert key not in card.read_text()
    assert "redacted" in card.read_text()


@pytest.mark.slow
def test_an_export_restores_a_brain_byte_for_byte(tmp_path):
    source = tmp_path / "source"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns(".lessons"))
    crlf = source / "docs" / "solutions" / "b.md"
    crlf.parent.mkdir(parents=True)
    crlf.write_bytes("\ufeff---\r\ntitle: 줄 끝  # kept\r\n---\r\n\r\nBody\r\n".encode())
    lines = list(Brain.open(source).exchange.export("jsonl"))
    path = tmp_path / "out.jsonl"
    path.write_text("\n".join(lines), newline="")
    target = tmp_path / "target"
    target.mkdir()
    exchange = Brain.open(target).exchange
    plan = exchange.plan("jsonl", str(path))
    assert actions(plan).count("create") == len(lines)
    exchange.carry_out(plan)
    for card in Brain.open(source).cards.all():
        assert (target / card.id).read_bytes() == (source / card.id).read_bytes()
    assert actions(exchange.plan("jsonl", str(path))).count("skip") == len(lines)
    assert actions(Brain.open(source).exchange.plan("jsonl", str(path))).count("skip") == len(lines)


def test_a_card_bumped_since_its_export_is_left_alone(exchange, telegram, tmp_path, root):
    path = tmp_path / "out.jsonl"
    path.write_text("\n".join(exchange.export("jsonl")))
    Brain.open(root).bump("telegram-allowlist")
    assert actions(exchange.plan("jsonl", str(path))) == ["skip"]


@pytest.mark.parametrize(
    "card_id", ["../evil.md", "/tmp/evil.md", ".git/hooks/a.md", "a/.hidden/b.md", "x\\..\\y.md"]
)
def test_an_id_from_outside_never_leads_out(exchange, tmp_path, root, card_id):
    text = "---\ntype: lesson\ntitle: Evil\n---\n\nBody\n"
    line = {"format": "lessons-kb/1", "id": card_id, "title": "Evil", "text": text}
    path = tmp_path / "evil.jsonl"
    path.write_text(json.dumps(line))
    (step,) = exchange.carry_out(exchange.plan("jsonl", str(path)))
    assert (step.action, step.card) == ("create", "lessons/evil.md")
    assert [str(found.relative_to(tmp_path)) for found in tmp_path.rglob("*.md")] == [
        "brain/lessons/evil.md"
    ]


def test_text_that_is_no_card_is_skipped(exchange, tmp_path, root):
    line = {"format": "lessons-kb/1", "id": "notes/a.md", "title": "A", "text": "Just a note"}
    path = tmp_path / "n.jsonl"
    path.write_text(json.dumps(line))
    (step,) = exchange.plan("jsonl", str(path)).steps
    assert (step.action, step.reason) == (
        "skip",
        "not a valid card: would be a note",
    )


def test_an_unknown_source_is_named(exchange):
    with pytest.raises(InputError, match="import supports galangal, review, memory, jsonl"):
        exchange.plan("csv", "x")


def test_an_unknown_format_is_named(exchange):
    with pytest.raises(InputError, match="must be one of json, jsonl, markdown"):
        exchange.export("xml")


def test_two_imports_of_one_file_at_once_make_each_card_once(root, memory):
    first, second = Brain.open(root).exchange, Brain.open(root).exchange
    plans = [one.plan("memory", str(memory)) for one in (first, second)]
    assert [step.action for step in first.carry_out(plans[0], today=TODAY)] == ["create"] * 2
    done = second.carry_out(plans[1], today=TODAY)
    assert [(step.action, step.reason) for step in done] == [("skip", "already here")] * 2
    assert len(list((root / "lessons").iterdir())) == 2


@pytest.mark.parametrize(
    "name", ["../evil.md", "lessons/CON.md", "aux/x.md", "-rf.md", "lessons /a.md", "lessons./a.md"]
)
def test_an_export_whose_name_cannot_be_kept_is_imported_once(exchange, root, tmp_path, name):
    text = "---\ntitle: The queue was never emptied\noccurrences: 3\n---\n"
    line = {"format": "lessons-kb/1", "id": name, "title": "The queue was never emptied"}
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps({**line, "occurrences": 3, "text": text}) + "\n")
    for action in ("create", "skip"):
        [step] = exchange.carry_out(exchange.plan("jsonl", str(path)), today=TODAY)
        assert step.action == action
    assert step.card == "lessons/the-queue-was-never-emptied.md"
    assert "occurrences: 3\n" in (root / step.card).read_text()
