"""A project in git whose brain is `lessons.toml` at its top, and cards about its code."""

from __future__ import annotations

import pytest

from lessons_kb import Brain
from lessons_kb.freshness.refresh import refresh_standings
from tests import kit


@pytest.fixture
def shop(tmp_path):
    """Return a project with one commit of January 2026."""
    folder = tmp_path / "shop"
    files = {
        "src/mail.py": "# newsletter, mailbox\n"
        + "".join(f"def send_{n}(): return {n}\n" for n in range(20)),
        "src/cart.py": "# basket, voucher, discount\ndef add_item():\n    return 1\n",
        "src/api/users.py": "def list_users():\n    return []  # account, avatar, nickname\n" * 9,
        "src/api/orders.py": "def list_orders():\n    return 0\n" * 9,
        "lessons.toml": "",
    }
    folder.mkdir()
    kit.commit(folder, "start", "2026-01-01T12:00:00+00:00", **files)
    kit.trust_brain(folder)
    return folder


@pytest.fixture
def write_card(shop):
    """Write a card: ``write_card(name, header, cause)``."""

    def write_card(name, header="", cause="Nobody looked.", items="Look at it"):
        text = (
            f"---\ntype: lesson\ntitle: {name} goes wrong\ncreated: 2026-01-02\n{header}---\n"
            f"## Root Cause\n\n{cause}\n\n## Prevention Checklist\n\n- {items}\n"
        )
        return kit.write(shop, f"lessons/{name}.md", text)

    return write_card


@pytest.fixture
def stand(shop):
    """Return the standings of all cards after a refresh, by the names of their files."""

    def stand():
        with Brain.open(shop) as brain:
            (member,) = brain.members
            member.refresh()
            refresh_standings(member)
            cards = member.read(lambda one: one.catalogue.all_cards())
            return {card.id.rpartition("/")[2].removesuffix(".md"): card.standing for card in cards}

    return stand
