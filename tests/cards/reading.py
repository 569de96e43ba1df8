"""Parses cards for the tests of this room."""

from lessons_kb.cards.check_card import check_card
from lessons_kb.cards.parse import parse_card
from lessons_kb.config import KNOWN_FOLDERS


def parse(text, path="lessons/a.md", folders=KNOWN_FOLDERS):
    return parse_card(text, path=path, folders=folders)


def check(text, path="lessons/a.md"):
    return check_card(parse(text, path))
