"""The whole way: a captured test run fails, a fix, the run passes, and a draft waits."""

import json
import os
import subprocess
import sys

import pytest

from tests.kit import commit

SECRET = "AKIA" + "IOSFODNN7EXAMPLF"
TEST = f"""\
from cart import total

def test_total_of_cart():
    print("AWS_ACCESS_KEY_ID={SECRET}")
    assert total([1, 3]) == 4
"""


@pytest.fixture
def shop(tmp_path):
    """A repository with a brain, a function that is wrong and its test."""
    folder = tmp_path / "shop"
    cart = "def total(items):\n    return 3\n"
    commit(folder, **{"cart.py": cart, "test_cart.py": TEST})
    return folder


@pytest.fixture
def lessons(shop):
    def run(*arguments):
        command = [sys.executable, "-m", "lessons_kb.cli.main", *arguments]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("CLAUDE", "CODEX"))}
        environment = {**kept, "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=shop, env=environment, capture_output=True, text=True)

    assert run("init").returncode == 0
    return run


def drafts(lessons):
    listed = lessons("review", "--list", "--json")
    assert listed.returncode == 0, listed.stderr
    return json.loads(listed.stdout)


PYTEST = ("run", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider")


@pytest.mark.slow
def test_red_a_fix_and_green_leave_one_draft(lessons, shop):
    assert lessons(*PYTEST).returncode == 1
    assert drafts(lessons) == []
    (shop / "cart.py").write_text("def total(items):\n    return sum(items)\n")
    green = lessons(*PYTEST)
    assert green.returncode == 0
    waits = [line for line in green.stderr.splitlines() if line.startswith("lessons: ")]
    (draft,) = drafts(lessons)
    assert waits == [
        f"lessons: a test that failed before passes now; draft {draft['id']} is ready for `lessons review`"
    ]
    assert not lessons(*PYTEST).stderr.count("lessons: ")
    assert drafts(lessons) == [draft]
    text = str(draft["text"])
    assert "test_cart.py::test_total_of_cart" in text
    assert "assert 3 == 4" in text
    assert "-    return 3" in text
    assert "+    return sum(items)" in text
    assert SECRET not in text
    assert "Changed files: `cart.py`" in text
    assert "paths: [cart.py]" in text
    refused = lessons("review", "--accept", str(draft["id"]))
    assert refused.returncode == 2
    assert "is incomplete; add a title" in refused.stderr
