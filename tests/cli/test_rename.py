"""`rename`: the title, the file, the links and what was counted."""

import json

import pytest

PROMPT = "Add a Telegram command that runs a shell script on the server"
OLD = "lessons/telegram-allowlist.md"
NEW = "lessons/anyone-in-the-group-could-run-commands.md"
TITLE = "Anyone in the group could run commands"


@pytest.mark.slow
def test_file_links_and_journal_follow(lessons, brain):
    (brain / "notes.md").write_text("# Bots\n\nSee [the card](lessons/telegram-allowlist.md).\n")
    before = (brain / OLD).read_text()
    lessons("preflight", PROMPT, "--session", "s")
    lessons("mark", "telegram", "helpful", "--session", "s")
    lessons("bump", "telegram", "--task", "Add a restart command")
    counted = json.loads(lessons("stats", OLD, "--json").out)
    done = lessons("rename", "telegram", TITLE)
    assert done.out == f"{OLD} → {NEW}\n"
    assert "links updated in 1 file: notes.md" in done.err
    assert not (brain / OLD).exists()
    after = (brain / NEW).read_text()
    assert after.split("\n---\n", 1)[1] == before.split("\n---\n", 1)[1]
    assert f"title: {TITLE}\n" in after
    assert f"({NEW})" in (brain / "notes.md").read_text()
    moved = json.loads(lessons("stats", NEW, "--json").out)
    assert (moved["injections"], moved["helpful"]) == (counted["injections"], 1)
    assert moved["injections"] > 0
    assert NEW in lessons("why").out
    assert OLD not in lessons("why").out
    assert NEW in lessons("preflight", "Anyone in the group could run commands").out


def test_a_title_that_another_card_has_or_that_names_a_topic_is_refused(lessons, brain):
    other = json.loads(lessons("show", "kst-day-boundary", "--json").out)["title"]
    no_mistake = "'Telegram' names no mistake; give a title"
    for title, told in ((other, "choose another"), ("Telegram", no_mistake)):
        done = lessons("rename", "telegram", title)
        assert (done.code, told in done.err) == (2, True)
    assert (brain / OLD).exists()


def test_a_title_in_the_body_is_changed_there(lessons, brain):
    path = brain / "lessons" / "rota.md"
    rest = "\r\n\r\n## Fix\r\n\r\n- Name a deputy\r\n"
    path.write_text(f"# The rota names nobody{rest}", newline="")
    assert lessons("rename", "rota", "The rota names no deputy").code == 0
    path = path.with_name("the-rota-names-no-deputy.md")
    assert path.read_bytes().decode() == f"# The rota names no deputy{rest}"
    title = "Never call __init__ twice"  # Markdown would change it: it stands in the header
    done = lessons("rename", "the-rota", title)
    shown = json.loads(lessons("show", done.out.split(" → ")[1].strip(), "--json").out)
    assert shown["title"] == title


def test_the_same_name_changes_the_title_alone_and_a_taken_one_is_numbered(lessons, brain):
    lessons("rename", "telegram", TITLE)
    done = lessons("rename", "anyone", "anyone in the group could run commands!")
    assert done.out == f"{NEW} → {NEW}\n"
    assert "title: anyone in the group could run commands!\n" in (brain / NEW).read_text()
    (brain / NEW).write_text("---\ntitle: Something else entirely\n---\n\n## Fix\n\n- Do it\n")
    assert lessons("rename", "kst-day", TITLE).out.endswith("could-run-commands-2.md\n")


def test_a_comment_in_code_is_no_heading(lessons, brain):
    path = brain / "lessons" / "rota.md"
    body = "## Fix\n\n```sh\n# The rota\n```\n\n- Name a deputy\n"
    path.write_text(f"---\ntitle: The rota\n---\n\n{body}")
    assert lessons("rename", "rota", "The rota names nobody").code == 0
    assert (brain / "lessons/the-rota-names-nobody.md").read_text().endswith(body)


NAMES = [  # how another card names this one → how it does so afterwards
    ("supersedes: [telegram-allowlist]", "supersedes: [{stem}]"),
    ("supersedes: [telegram-allowlist.md, kst-day-boundary]", "supersedes: [{stem}.md, kst-day-"),
    ("supersedes:\n  - 'telegram-allowlist' # mine", "supersedes:\n  - '{stem}' # mine"),
    ("supersedes: lessons/telegram-allowlist", "supersedes: lessons/{stem}"),
    ("supersedes: [lessons/telegram-allowlist.md]", "supersedes: [lessons/{stem}.md]"),
    ("superseded-by: telegram-allowlist", "superseded-by: {stem}"),
    ('Superseded_By: "telegram-allowlist.md"', 'Superseded_By: "{stem}.md"'),
    ("supersedes: [my-telegram-allowlist]", "supersedes: [my-telegram-allowlist]"),
    ("contradicts:\n  - lessons/telegram-allowlist.md", "contradicts:\n  - lessons/{stem}.md"),
    ("tags: [telegram-allowlist]", "tags: [telegram-allowlist]"),
]


@pytest.mark.parametrize(("before", "after"), NAMES)
def test_the_name_of_the_card_in_another_header_follows(lessons, brain, before, after):
    other = brain / "lessons" / "other.md"
    other.write_text(f"---\ntype: lesson\ntitle: Bots obey anybody\n{before}\n---\n\nBecause.\n")
    done = lessons("rename", "telegram-allowlist", TITLE)
    assert done.code == 0, done.err
    stem = NEW.removeprefix("lessons/").removesuffix(".md")
    assert f"\n{after.format(stem=stem)}" in other.read_text()


def test_a_name_that_fits_two_cards_stays_and_a_new_one_fits_one(lessons, brain):
    stem = NEW.removeprefix("lessons/").removesuffix(".md")
    card = "---\ntype: lesson\ntitle: {}\n{}---\n\nBecause.\n"
    (brain / "learnings").mkdir()
    other = brain / "lessons" / "other.md"
    other.write_text(card.format("Bots obey anybody", "supersedes: [telegram-allowlist]\n"))
    namesake = brain / "learnings" / "telegram-allowlist.md"
    namesake.write_text(card.format("A namesake was forgotten", ""))
    lessons("rename", OLD, "Bots obeyed a stranger")
    assert "supersedes: [telegram-allowlist]\n" in other.read_text()
    (brain / "learnings" / f"{stem}.md").write_text(card.format("Another was forgotten", ""))
    lessons("rename", "learnings/telegram-allowlist.md", TITLE)
    assert (brain / "learnings" / f"{stem}-2.md").exists()
    assert f"supersedes: [{stem}-2]\n" in other.read_text()
    (brain / "lessons" / "x-was-forgotten.md").write_text(card.format("One was forgotten", ""))
    lessons("rename", f"learnings/{stem}-2.md", "X was forgotten")
    assert "supersedes: [learnings/x-was-forgotten]\n" in other.read_text()
