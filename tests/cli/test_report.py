"""lessons report: where the page goes, what it links to, what is printed."""

import json
import pathlib
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote, urlsplit

Lessons = Callable[..., Any]
PROMPT = "Add a Telegram command that runs a shell script on the server"


def links(page):
    return re.findall(r'<a href="([^#"][^"]*)"', page)


def test_a_page_is_written_and_named(lessons, brain):
    lessons("preflight", PROMPT, "--session", "s")
    done = lessons("report")
    assert (done.code, done.out) == (0, ".lessons/lessons-report.html\n")
    assert not list(brain.glob("*.html"))
    page = (brain / ".lessons/lessons-report.html").read_text("utf-8")
    assert page.startswith("<!doctype html>")
    assert page.endswith("</html>\n")
    assert "<title>Lessons of brain-example</title>" in page
    assert "lessons were injected" in page
    found = links(page)
    assert (brain.resolve() / "lessons/telegram-allowlist.md").as_uri() in found
    assert "lessons/telegram-allowlist.md" in links(page_at(lessons, brain / "report.html"))


def page_at(lessons, place):
    lessons("report", "-o", place)
    found = place.read_text("utf-8")
    assert all((place.parent / unquote(link)).is_file() for link in links(found))
    return found


def test_a_page_outside_the_brain_names_files_in_full(lessons, brain, tmp_path):
    place = tmp_path / "elsewhere" / "a b.html"
    place.parent.mkdir()
    done = lessons("report", "-o", place, "--json")
    assert json.loads(done.out)["file"] == str(place.resolve())
    assert json.loads(done.out)["cards"] == 20
    found = links(place.read_text("utf-8"))
    assert found
    for link in found:
        assert link.startswith("file:///")
        assert pathlib.Path(unquote(urlsplit(link).path)).is_file()


def test_a_page_can_be_piped_and_is_as_long_as_asked(lessons, brain):
    page = lessons("report", "-o", "-", "--rows", "3").out
    assert page.startswith("<!doctype html>")
    assert len(links(page)) == 3
    never_used = 18  # two of the example's cards are not active
    assert f"… and {never_used - 3} more never given." in page
    page = lessons("report", "-o", "-", "--project", "shop-web").out
    assert "Only project shop-web." in page
    assert "lessons/telegram-allowlist.md" not in page
    card = '---\ntype: lesson\ntitle: "<script>alert(1)</script>"\n---\n\n## Fix\n\n- Escape\n'
    (brain / "lessons" / "<b>&'x'.md").write_text(card, "utf-8")
    page = lessons("report", "-o", "-", "--rows", "99").out
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "lessons/%3Cb%3E%26%27x%27.md" in page
    assert not list(brain.glob("*.html"))


def test_cards_of_two_brains_lead_to_their_own_files(lessons, brain, tmp_path):
    other = tmp_path / "other"
    lessons("init", other)
    assert "This brain is empty." in lessons("--brain", other, "report", "-o", "-").out
    for root, title in ((brain, "Here"), (other, "There")):
        (root / "lessons" / "same.md").write_text(f"# {title}\n\n## Fix\n\n- Do\n", "utf-8")
        (root / "lessons" / "alike.md").write_text("# Alike\n\n## Fix\n\n- Do\n", "utf-8")
    page = lessons("--brain", brain, "--brain", other, "report", "-o", "-", "--rows", "99").out
    where = {title: link for link, title in re.findall(r'<a href="(\S*same\.md)">(\w+)</a>', page)}
    assert (str(brain.resolve()) in where["Here"], str(other.resolve()) in where["There"]) == (
        True, True
    )  # fmt: skip
    expected = r'href="([^"]*alike\.md)">Alike</a>.*?([\w-]+):lessons/alike\.md'
    alike = dict(re.findall(expected, page, re.DOTALL))
    assert {(str(other.resolve()) in link, name) for link, name in alike.items()} == {
        (False, brain.name), (True, "other"),
    }  # fmt: skip
