import frontmatter
import pytest

from benchmarks import brains, generate
from benchmarks.data import Doc

REAL = """---
title: Streaming replies flicker
tags: [streaming]
---
# Streaming replies flicker

## Problem

The composer renders every token as soon as the transport hands it over, and the caret jumps
because the selection is restored before the layout effect has measured the new height of the
block. Readers saw flicker on slow machines only, which hid the trouble from the whole team.

```ts
const frame = requestAnimationFrame(flush)
```

## Solution

Collect tokens for one animation frame, restore the selection after measuring, and keep the
composer mounted while the reply grows. Batch updates instead of flushing each token alone.
"""


@pytest.fixture
def statistics(tmp_path):
    path = tmp_path / "card.md"
    path.write_text(REAL, encoding="utf-8")
    return generate.learn_statistics([path])


def test_statistics_leave_header_and_code_out(statistics):
    assert "composer" in statistics.words
    assert not {"tags", "requestAnimationFrame"} & set(statistics.words)
    assert len(statistics.themes) == len(statistics.fences) == 1
    assert statistics.weights[-1] == len(statistics.themes[0])


def test_the_same_seed_makes_the_same_card_and_prompt(statistics):
    def make(number, seed):
        return generate.make_card(statistics, number, seed=seed, real_size=True)

    assert make(7, 1) == make(7, 1)
    assert make(7, 1) != make(8, 1)
    assert make(7, 1) != make(7, 2)
    assert 3_000 < sum(len(make(n, 1)[1]) for n in range(50)) / 50 < 6_000, "as real cards have"
    prompt = generate.make_prompt(statistics, 4, seed=1, words=25)
    assert len(prompt.split()) == 25
    assert prompt == generate.make_prompt(statistics, 4, seed=1, words=25)


def test_a_card_has_a_valid_header_and_the_sections(statistics):
    path, text = generate.make_card(statistics, 3, seed=1, real_size=False)
    header, body = frontmatter.parse(text)
    assert path.startswith(f"{header['type']}s/")
    assert all(isinstance(tag, str) for tag in header["applies-to"])
    assert "## Root Cause" in body
    assert body.count("- [ ] ") >= 2
    assert 120 <= len(text.split()) <= 260


def test_a_small_brain_is_the_beginning_of_a_large_one(statistics, tmp_path):
    def paths(count):
        folder = tmp_path / str(count)
        generate.write_cards(folder, statistics, count, seed=1)
        return {path.relative_to(folder) for path in folder.rglob("*.md")}

    assert (len(paths(5)), len(paths(12))) == (5, 12)
    assert paths(5) < paths(12)


def test_documents_become_cards_as_they_are(tmp_path):
    docs = [
        Doc(id="a", title='He said: "no" — 안녕', text="## Problem\n\nFirst --- text"),
        Doc(id="b", title="", text="no title"),
    ]
    ids = brains.write_brain(tmp_path, docs)
    assert list(ids.values()) == ["a", "b"]
    header, body = frontmatter.parse((tmp_path / next(iter(ids))).read_text(encoding="utf-8"))
    assert header == {"type": "lesson", "title": 'He said: "no" — 안녕'}
    assert body == "## Problem\n\nFirst --- text"
    assert "title" not in (tmp_path / list(ids)[1]).read_text(encoding="utf-8").split("---")[1]
    assert (tmp_path / "lessons.toml").is_file()
