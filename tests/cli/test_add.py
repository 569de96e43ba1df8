"""Capture in one line: `add`, `create` with the same options, `edit`."""

import json
import re
import shlex
import sys

import frontmatter
import pytest

from tests.kit import commit

TITLE = "Mailed an invoice without its attachment"
WHOLE = (
    *("--why", "The mailer drops a file that is larger than its buffer, and reports success"),
    *("--do", "Compare the size of what was sent with the file"),
    *("--symptom", "a customer got an empty mail", "--symptom", "bookkeeping misses documents"),
)
CARD = """\
---
title: Session cache outlives its user
symptoms: [log out and in as somebody else, another customer's data is shown]
---

## Root Cause

The cache is keyed by path alone.

## Prevention Checklist

- Empty the cache in logout()
"""


@pytest.mark.slow
def test_one_line_makes_a_card_that_is_injected(lessons, brain):
    patterns = ("--detect", r"mail\(['\"]", "--detect", r"command: curl .*/mail")
    done = lessons("add", TITLE, *WHOLE, "--paths", "src/mail/**,src/__init__.py", *patterns)
    path = "lessons/mailed-an-invoice-without-its-attachment.md"
    assert (done.code, done.out, done.err) == (0, f"{path}\n", "")
    card = json.loads(lessons("show", path, "--json").out)
    assert card["paths"] == ["src/mail/**", "src/__init__.py"]
    assert card["checklist"] == ["Compare the size of what was sent with the file"]
    assert card["symptoms"] == ["a customer got an empty mail", "bookkeeping misses documents"]
    detect = [(one["kind"], one["text"]) for one in card["detect"]]
    assert detect == [("regex", r"mail\(['\"]"), ("command", "curl .*/mail")]
    assert "<!--" not in (brain / path).read_text()
    assert path in lessons("preflight", "a customer got an empty mail from bookkeeping").out
    assert path not in lessons("lint").out
    assert f"lessons bump {path}" in lessons("add", TITLE, *WHOLE).err
    assert lessons("add", TITLE, *WHOLE, "--on-duplicate", "bump").out == f"{path} (seen 2×)\n"


def test_a_card_that_does_not_pass_the_bar_is_not_written(lessons, brain):
    before = sorted(brain.rglob("*.md"))
    done = lessons("add", TITLE, "--why", "carelessness", "--do", "be careful")
    assert (done.code, done.out) == (2, "")
    for option in ("--why", "--do", "--symptom"):
        assert f"  {option}: " in done.err
    assert sorted(brain.rglob("*.md")) == before
    missing = json.loads(lessons("add", TITLE, *WHOLE[:4], "--json").out)["missing"]
    assert missing == ["two or three `symptoms`, worded like a future task"]
    second = "  --symptom: a second of the `symptoms`, in other words than the first\n"
    assert second in lessons("add", TITLE, *WHOLE[:6]).err
    unusable = lessons("add", TITLE, *WHOLE, "--detect", "mail(")
    assert (unusable.code, unusable.err.count("\n")) == (2, 1)


def test_a_secret_is_not_written(lessons, brain):
    why = "The gateway was called with AKIAIOSFODNN7EXAMPLE12 of production as its key id"
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    path = lessons("add", TITLE, *WHOLE[2:], "--why", f"{why} {key}").out.strip()
    assert key not in (brain / path).read_text()


def test_a_card_comes_from_standard_input(lessons, brain):
    rough = "---\ntitle: Logs fill the disk of the mailer\n---\n\n## Root Cause\n\nUnknown.\n"
    assert "a concrete Root Cause" in lessons("add", "-", stdin=rough).err
    assert lessons("create", "-", stdin=rough).code == 0
    for command, rule in (("add", "fail"), ("create", "new")):
        done = lessons(command, "-", "--on-duplicate", rule, stdin=CARD)
        assert done.out.startswith("lessons/session-cache-outlives-its-user")
        text = (brain / done.out.strip()).read_text()
        assert text.endswith(CARD.split("---\n", 2)[2])
        assert "created: " in text
    for no_card in ("", "# \n", "---\ntitle: Unclosed\n", "no title at all"):
        done = lessons("create", "-", stdin=no_card)
        assert (done.code, done.err.count("\n")) == (2, 1), no_card


@pytest.mark.parametrize("command", ["add", "create"])
def test_a_gate_and_prompts_that_are_not_meant_are_options(lessons, brain, command):
    more = ("--gate", "once", "--not-for", "mail an invoice", "--not-for", "list the invoices")
    path = lessons(command, TITLE, *WHOLE, "--paths", "src/mail.py", *more).out.strip()
    card = json.loads(lessons("show", path, "--json").out)
    assert card["gate"] == "once"
    assert card["not_for"] == ["mail an invoice", "list the invoices"]
    wrong = lessons(command, "Another mistake of the mailer", "--gate", "twice")
    assert (wrong.code, "none, ask, once, strict" in wrong.err) == (2, True)
    drafted = json.loads(
        lessons("add", "A third one of it", "--gate", "once", "--draft", "--json").out
    )
    assert "gate: once" in lessons("review", "--show", drafted["draft"]["id"]).out


def test_create_fills_what_it_is_told_into_the_template(lessons, brain):
    done = lessons("create", TITLE, *WHOLE, "--detect", r"send_mail\(")
    text = (brain / done.out.strip()).read_text()
    assert "- [ ] Compare the size of what was sent with the file" in text
    assert "What was being done" in text  # the guidance of what is still empty
    assert done.err == ""
    play = lessons("create", "Zebra crossing ignored", "--type", "playbook")
    assert play.out == "playbooks/zebra-crossing-ignored.md\n"


@pytest.mark.slow
def test_the_template_itself_is_never_injected(lessons, brain):
    done = lessons("create", TITLE)
    assert "still the template, so it is not injected; it needs:" in done.err
    path = done.out.strip()
    prompt = "Why is an invoice mailed without its attachment?"
    assert path not in lessons("preflight", prompt).out
    assert "still the template; `lessons edit` opens it\n" in lessons("why", prompt).out
    assert f"{path}:38: warning no-checklist: the card is still the template" in lessons("lint").out
    assert path in lessons("search", prompt).out
    file = brain / path
    file.write_text(file.read_text() + "\n- Compare the size of what was sent with the file\n")
    assert path in lessons("preflight", prompt).out


@pytest.mark.slow
def test_the_platforms_editor_opens_where_none_is_set(answer, brain, tmp_path, monkeypatch):
    editor = tmp_path / "bin" / "our-editor"
    editor.parent.mkdir()
    code = "import sys\nopen(sys.argv[1], 'a').write('- x y z\\n')\n"
    editor.write_text(f"#!{sys.executable}\n{code}")
    editor.chmod(0o755)
    monkeypatch.setattr("lessons_kb.process.programs.DEFAULTS", ("no-such-editor", "our-editor"))
    monkeypatch.setenv("PATH", str(editor.parent))
    seen = answer("create", TITLE, typed="")
    assert "opening our-editor, because $EDITOR is not set" in seen
    assert "is not complete; it needs:" in seen
    assert seen.count("a concrete Root Cause") == 1
    (path,) = brain.glob("lessons/mailed*.md")
    assert "- x y z" in path.read_text()
    assert "opening our-editor" in answer("edit", "mailed", typed="")


@pytest.mark.slow
def test_messages_are_folded_between_words_on_a_terminal(terminal, brain):
    asked = terminal("add", TITLE)
    for what in ("Why did it", "What should", "How might"):
        asked.wait(what)
        asked.type("\n")
    seen = asked.end()
    assert asked.code == 2
    lines = seen.splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert "lessons:   --why: a concrete Root Cause: the mechanism, not a lack of care" in lines
    (folded,) = (place for place, line in enumerate(lines) if line.startswith("lessons:   --do: "))
    assert lines[folded].endswith("in a diff or an")
    assert lines[folded + 1] == " " * 13 + "answer"


def test_a_card_that_says_the_same_in_other_words_is_named(lessons, brain):
    """Both would be injected, and fill both slots."""
    cause = "The layout runs after the images are decoded, so their boxes have no size yet"
    first = ("--why", cause, "--do", "Give each picture its width and height")
    first += ("--symptom", "the page jumps", "--symptom", "layout shifts while the gallery loads")
    assert lessons("add", "Pictures without a size move the text", *first).code == 0
    second = lessons("add", "A gallery jumps while it loads", *first)
    assert second.code == 2
    assert "lessons/pictures-without-a-size-move-the-text.md is similar" in second.err
    assert "or write a second card" in second.err
    assert lessons("create", "The clock change doubled the job").code == 0
    for command in ("create", "add"):  # in another number
        done = lessons(command, "The clocks change doubled the job")
        assert done.code == 2
        assert "clock-change-doubled-the-job.md has a title with the same words" in done.err


@pytest.mark.slow
def test_a_terminal_is_asked_for_what_is_missing(terminal, brain):
    asked = terminal("add", "Rotated the signing key of the app", "--symptom", "logins fail")
    asked.wait("the card still needs:")
    asked.wait("Why did it happen?")
    asked.type("The old app holds the public key and nobody ships it a new one\n")
    asked.wait("What should be checked next time? (empty: no more)")
    asked.type("Ship both public keys before the rotation\n\n")
    asked.wait("How might somebody word a task that needs this lesson? (empty: no more)")
    asked.type("phones are logged out over night\n\n")
    assert "rotated-the-signing-key-of-the-app.md" in asked.end()
    card = brain / "lessons" / "rotated-the-signing-key-of-the-app.md"
    assert "- [ ] Ship both public keys before the rotation" in card.read_text()


def test_a_cause_that_agents_see_cut_is_shown_as_they_see_it(lessons, answer, brain, monkeypatch):
    cause = "The mailer drops a file that is larger than its buffer, and reports success " * 3
    whole = (*WHOLE[2:], "--why", cause.strip())
    done = lessons("add", TITLE, *whole)
    (shown,) = re.findall("agents see only the first 160 characters of the cause: “(.+)”", done.err)
    assert len(shown) <= 160
    path = done.out.strip()
    assert f"Why: {shown}\n" in lessons("preflight", "a customer got an empty mail today").out
    monkeypatch.setenv("EDITOR", "true")
    assert shown in " ".join(answer("edit", path, typed="").split())
    assert "agents see" not in lessons("add", "Paid a refund twice", *WHOLE).err


def test_whoever_was_asked_learns_where_paths_are_added(answer, lessons, brain):
    title = "Rotated the signing key of the app"
    typed = "The old app holds the public key and nobody ships it a new one\n"
    asked = answer("add", title, *WHOLE[2:], typed=typed)
    command = "lessons edit lessons/rotated-the-signing-key-of-the-app.md"
    assert f"if it concerns only some files, `{command}` adds `paths` and a gate" in asked
    whole = answer("add", TITLE, *WHOLE[2:], "--paths", "lessons/**", typed=typed)
    assert "adds `paths`" not in whole


def test_what_was_typed_becomes_a_draft_if_a_part_is_still_missing(answer, lessons, brain):
    typed = "The old app holds the public key\nShip both public keys\n\nlogins fail\n\n\n\n"
    said = answer("add", "Rotated the signing key of the app", typed=typed)
    assert "written; next: lessons review" in said
    assert not (brain / "lessons/rotated-the-signing-key-of-the-app.md").exists()
    (draft,) = lessons("review", "--list").out.splitlines()[-1:]
    assert "Rotated the signing key of the app" in draft


def test_paths_and_tags_may_be_repeated_or_separated_by_commas(lessons, brain):
    more = ("--paths", "a.py,b.py", "--paths", "c.py", "--tags", "net", "--tags", "mail")
    card = brain / lessons("add", TITLE, *WHOLE, *more).out.strip()
    header = frontmatter.loads(card.read_text("utf-8"))
    assert header["paths"] == ["a.py", "b.py", "c.py"]
    assert header["applies-to"] == ["net", "mail"]


def test_a_prompt_that_is_a_symptom_brings_the_card_however_common_its_words_are(lessons, brain):
    parts = (
        "--why",
        "The build copies each example as text and runs none of them",
        "--do",
        "Run each example",
        "--symptom",
        "extend the docs",
    )
    symptom = "write an example for the documentation"
    lessons("add", "Examples were never run", *parts, "--symptom", symptom)
    assert "Examples were never run" in lessons("preflight", symptom).out
    assert "nearly one of its symptoms" in lessons("why", "Write examples for documentation!").out
    assert "Examples were never run" not in lessons("preflight", "an example").out
    longer = "write a short example for the documentation"
    assert "Examples were never run" in lessons("preflight", longer).out
    longest = "write a short example of every option for the documentation of users"
    assert "Examples were never run" not in lessons("preflight", longest).out


@pytest.mark.slow
def test_an_editor_that_changes_nothing_leaves_no_card(terminal, brain):
    done = terminal("create", "Deployed on a Friday", EDITOR="false", VISUAL="false")
    seen = done.end()
    assert "false ended with exit code 1" in seen
    assert "no card was written" in seen
    assert "deployed-on-a-friday.md" not in seen
    assert not (brain / "lessons" / "deployed-on-a-friday.md").exists()


def test_edit_says_what_is_wrong_with_a_value(answer, lessons, brain, monkeypatch, tmp_path):
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\npath = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('severity: high', 'severity: hihg'))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    assert f"edit {brain}/lessons/telegram-allowlist.md" in lessons("edit", "telegram").err
    seen = answer("edit", "telegram-allowlist", typed="")
    assert "severity is 'hihg', so its default is used → write one of low, medium, high" in seen


def test_edit_says_what_a_card_needs_only_after_the_editor(
    answer, lessons, brain, monkeypatch, tmp_path
):
    path = lessons("create", TITLE).out.strip()
    script = tmp_path / "editor.py"
    script.write_text(
        "import pathlib, sys\nprint('EDITOR OPENED')\npath = pathlib.Path(sys.argv[1])\n"
        f"whole = {CARD!r}\n"
        "path.write_text(whole if '- x' in path.read_text() else path.read_text() + '\\n- x y z\\n')\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    first = answer("edit", path, typed="")
    assert first.count("a concrete Root Cause") == 1
    assert "is not complete; it needs:" in first
    assert answer("edit", path, typed="").strip().splitlines() == [
        f"lessons: {path} is complete; agents get it from now on"
    ]
    lessons("ignore", path)
    assert "agents do not get it, because its status is ignored" in answer("edit", path, typed="")
    lessons("restore", path)
    assert f"{path} is saved" in answer("edit", path, typed="")
    monkeypatch.setenv("EDITOR", f"{sys.executable} -c pass")
    assert f"{path} was not changed" in answer("edit", path, typed="")


def test_an_existing_title_is_told_before_anything_is_asked(lessons, answer, brain):
    title = "Telegram remote execution must require an allowlist"
    done = lessons("add", title)
    assert "lessons/telegram-allowlist.md already has this title" in done.err
    assert "still needs" not in done.err
    assert "telegram-allowlist.md (seen" in answer("add", title, typed="b\n")
    asked = answer("add", title, typed="n\n\n\n\n")
    assert asked.count("[b]ump it") == 1
    (advised,) = re.findall("or run `lessons ([^`]+)`", asked)
    assert lessons(*shlex.split(advised), "--no-edit").code == 0


def test_enter_never_loses_the_text_of_a_new_card(lessons, answer, brain):
    lessons("add", TITLE, *WHOLE)
    asked = answer("add", f"{TITLE}.", *WHOLE, typed="\n\n")
    assert "[b]ump it (what you wrote is not kept), write a [n]ew card, or [s]top? [n]" in asked
    path = "lessons/mailed-an-invoice-without-its-attachment.md"
    assert "seen 2" not in asked
    assert lessons("show", path.replace(".md", "-2.md")).code == 0
    assert "(seen 2×)" in answer("add", TITLE, *WHOLE, typed="b\n")


@pytest.mark.parametrize("command", ["add", "create"])
def test_an_unfilled_template_is_never_counted(lessons, answer, brain, command, monkeypatch):
    monkeypatch.setenv("EDITOR", "true")
    template = lessons("create", TITLE).out.strip()
    advised = lessons(command, TITLE, *WHOLE).err
    assert f"fill in this template, which `lessons show {template}` prints" in advised
    assert "bump" not in advised
    asked = answer(command, TITLE, *(WHOLE if command == "add" else ()), typed="\n\n")
    assert f"an unfilled template, which `lessons edit {template}` opens" in " ".join(asked.split())
    assert "ump it" not in asked
    second = brain / template.replace(".md", "-2.md")
    assert second.exists() == (command == "add")  # nothing was typed for the other command
    assert json.loads(lessons("show", template, "--json").out)["occurrences"] == 1


def test_a_draft_waits_for_review_and_says_what_it_lacks(lessons, brain):
    """The command with which an agent drafts a lesson."""
    done = json.loads(lessons("add", TITLE, "--draft", "--json", *WHOLE[:4]).out)
    assert done["missing"] == ["two or three `symptoms`, worded like a future task"]
    assert not (brain / "lessons/mailed-an-invoice-without-its-attachment.md").exists()
    again = json.loads(
        lessons("add", TITLE, "--draft", "--json", *WHOLE, "--detect", "command: curl").out
    )
    assert again == {
        "draft": {**again["draft"], "id": done["draft"]["id"]},
        "missing": [],
        "similar": [],
        "near": again["near"],
    }
    assert len(again["near"]) == 5
    assert lessons("review", "--accept", again["draft"]["id"]).code == 0
    assert (
        json.loads(lessons("show", "mailed-an-invoice", "--json").out)["detect"][0]["text"]
        == "curl"
    )
    assert lessons("add", "-", "--draft", stdin=CARD).code == 2


def test_a_card_that_applies_in_every_project_is_reported(lessons, tmp_path, monkeypatch):
    (tmp_path / "fresh").mkdir()
    monkeypatch.chdir(tmp_path / "fresh")
    lessons("init", "--user")
    added = lessons("add", TITLE, *WHOLE)
    assert added.code == 0
    assert "written to your own brain" in added.err
    assert "`lessons init`" in added.err
    lessons("init", ".")
    added = lessons("add", "Paid a refund twice", *WHOLE, "--on-duplicate", "new")
    assert added.code == 0
    assert "written to your own brain" not in added.err


def test_a_slip_of_the_finger_names_no_card(lessons, project, monkeypatch):
    monkeypatch.chdir(project)
    assert lessons("bump", "te").code
    assert lessons("bump", "tel").code == 0


@pytest.fixture
def repository(tmp_path, monkeypatch, lessons):
    """A repository whose brain is in a folder of it; the working directory is its top."""
    root = tmp_path / "project"
    commit(root, **{"src/mail.py": "1\n"})
    monkeypatch.chdir(root)
    lessons("init", "docs/brain")
    return root


def test_the_path_that_is_printed_opens_from_here_and_names_the_card(lessons, repository):
    path = lessons("add", TITLE, *WHOLE).out.strip()
    assert path == "docs/brain/lessons/mailed-an-invoice-without-its-attachment.md"
    assert (repository / path).is_file()
    assert TITLE in lessons("show", path).out
    assert f"({'medium'} · {path})" in lessons("preflight", "a customer got an empty mail").out


@pytest.mark.parametrize("command", ["add", "create"])
def test_a_path_that_matches_no_file_is_named_and_the_card_is_written(lessons, repository, command):
    done = lessons(command, TITLE, *WHOLE, "--paths", "src/mail.py,src/mial.py,!src/old/**")
    assert (done.code, (repository / done.out.strip()).is_file()) == (0, True)
    assert "lessons: no file of this project matches the path src/mial.py\n" in done.err
    assert done.err.count("no file of this project") == 1


ALIKE = "Mailed an invoice without its footer"


@pytest.mark.parametrize("command", ["add", "create"])
def test_a_similar_card_is_named_with_the_command_that_counts_it(lessons, repository, command):
    first = lessons("add", TITLE, *WHOLE)
    assert "similar" not in first.err
    why = "The mailer drops the last page of a template"
    more = ("--why", why, "--do", "Render the last page in a test", *WHOLE[4:])
    done = lessons(command, ALIKE, *more)
    assert done.code == 0
    card = "lessons/mailed-an-invoice-without-its-attachment.md"
    assert f"similar to {card}: {TITLE}\n" in done.err
    assert f"`lessons bump {card}`" in done.err
    assert "`lessons delete lessons/mailed-an-invoice-without-its-footer.md`" in done.err
    assert "similar" not in lessons(command, f"{ALIKE}s", *more, "--on-duplicate", "new").err


def test_a_terminal_is_asked_whether_a_similar_card_is_the_same_mistake(
    lessons, repository, answer
):
    lessons("add", TITLE, *WHOLE)
    more = ("--why", "The mailer drops the last page", "--do", "Render the last page in a test")
    seen = answer("add", ALIKE, *more, *WHOLE[4:], typed="y\n")
    assert "Is it the same mistake?" in seen
    assert "attachment.md (seen 2×)" in seen
    assert not list(repository.rglob("*footer.md"))
    assert "footer.md" in answer("add", ALIKE, *more, *WHOLE[4:], typed="\n")


def test_an_edit_names_a_path_that_matches_no_file(lessons, repository, answer, monkeypatch):
    path = repository / lessons("add", TITLE, *WHOLE).out.strip()
    editor = f'{sys.executable} -c "import sys; p = sys.argv[1]; t = open(p).read(); '
    editor += "open(p, 'w').write(t.replace('severity:', 'paths: [src/mial.py]\\nseverity:'))\""
    monkeypatch.setenv("EDITOR", editor)
    monkeypatch.delenv("VISUAL", raising=False)
    assert "matches the path src/mial.py" in answer("edit", "mailed", typed="")
    assert "src/mial.py" in path.read_text()
