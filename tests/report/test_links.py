"""Links name files whatever they are called, and nothing but files."""

import os
import pathlib
from urllib.parse import unquote_to_bytes, urljoin, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.report.page import file_link

names = st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1)
paths = st.lists(names.filter(lambda name: name not in (".", "..")), min_size=1, max_size=4)


def test_a_card_beside_the_page_is_named_from_it():
    assert file_link("/home/a/brain/lessons/x y.md", page_folder="/home/a/brain") == (
        "lessons/x%20y.md"
    )
    assert file_link("/x.md", page_folder="/") == "x.md"


@pytest.mark.parametrize("folder", [None, "/home/b", "/home/a/bra"])
def test_a_card_elsewhere_is_named_in_full(folder):
    card = "/home/a/brain/lessons/x#1?.md"
    assert file_link(card, page_folder=folder) == "file:///home/a/brain/lessons/x%231%3F.md"


@pytest.mark.slow
@given(paths)
def test_a_link_leads_to_its_file(parts):
    card = "/brain/" + "/".join(parts)
    for folder in (None, "/brain"):
        base = pathlib.Path("/brain/page.html").as_uri()
        target = urlsplit(urljoin(base, file_link(card, page_folder=folder)))
        assert (target.scheme, target.netloc, target.query, target.fragment) == ("file", "", "", "")
        assert unquote_to_bytes(target.path) == os.fsencode(card)


def test_a_name_that_poses_as_a_script_stays_a_file():
    assert (
        file_link("/b/javascript:alert(1).md", page_folder="/b") == "javascript%3Aalert%281%29.md"
    )


def test_bytes_that_are_no_text_are_named_too():
    name = os.fsdecode(b"/b/caf\xe9.md")
    assert file_link(name, page_folder="/b") == "caf%E9.md"
    assert file_link(name).endswith("/caf%E9.md")
