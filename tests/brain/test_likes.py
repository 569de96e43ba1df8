"""`examples` draw their card, `not-for` silences it: for the very prompt and its like."""

import pytest

from lessons_kb import Brain
from tests.kit import make_brain

CARD = """\
---
type: lesson
title: Telegram remote execution must require an allowlist
{key}
  - {text}
---

## Root Cause

The handler of the Telegram bot never looked at the sender.

## Prevention Checklist

- Reject every chat id that is not on the allowlist
"""
ABOUT = "Add a Telegram command that restarts the bot for every chat on the allowlist"
FAR = "we should let Mina switch the lamp in the hall off from her phone"


def given(root, key, text, prompt):
    make_brain(str(root))
    (root / "lessons" / "telegram.md").write_text(CARD.format(key=key, text=text))
    with Brain.open(root) as brain:
        return bool(brain.preflight(prompt, context=False).lessons)


def test_without_either_it_is_the_words(tmp_path):
    assert given(tmp_path / "a", "tags:", "bot", ABOUT)
    assert not given(tmp_path / "b", "tags:", "bot", FAR)


@pytest.mark.parametrize("prompt", [ABOUT, ABOUT.lower() + ", please", f"Now: {ABOUT}!"])
def test_a_prompt_like_one_that_is_not_meant_draws_nothing(tmp_path, prompt):
    assert not given(tmp_path, "not-for:", ABOUT, prompt)


def test_another_prompt_still_draws_the_card(tmp_path):
    assert given(tmp_path, "not-for:", FAR, ABOUT)


@pytest.mark.parametrize("prompt", [FAR, f"hey, {FAR} please", FAR.upper()])
def test_a_prompt_like_an_example_draws_the_card(tmp_path, prompt):
    assert given(tmp_path, "examples:", FAR, prompt)


def test_the_reason_says_so(tmp_path):
    make_brain(str(tmp_path))
    (tmp_path / "lessons" / "a.md").write_text(CARD.format(key="not-for:", text=ABOUT))
    with Brain.open(tmp_path) as brain:
        (hit,) = brain.search(ABOUT, limit=1)
    assert hit.reason == "suppressed: nearly one of its `not-for` prompts"
