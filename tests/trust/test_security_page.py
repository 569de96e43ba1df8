"""SECURITY.md names the test of each claim: each of them is there."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "SECURITY.md"


def test_every_test_it_names_exists():
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))
    assert len(named) > 40
    for path, test in named:
        text = (ROOT / path).read_text(encoding="utf-8")
        assert not test or re.search(rf"^ *def {test}\(", text, re.MULTILINE), (path, test)


def test_every_section_makes_a_claim_that_a_test_shows():
    sections = PAGE.read_text(encoding="utf-8").split("\n## ")[1:]
    bare = [s.partition("\n")[0] for s in sections if "`tests/" not in s]
    assert bare == ["Whom we trust", "Not shown by a test"]
