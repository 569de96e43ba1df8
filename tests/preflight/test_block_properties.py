"""For any cards, notes, prompt, budget and counter: the ceiling holds and nobody breaks out."""

import re
import unicodedata

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from lessons_kb.config import PreflightSettings
from lessons_kb.model import Card, Hit
from lessons_kb.preflight.block import pack
from lessons_kb.preflight.offers import NO_OFFERS, Offers
from lessons_kb.text.token_estimate import estimate_tokens

COUNTERS = [
    estimate_tokens,
    len,
    lambda text: len(text) // 4,
    lambda text: len(text.split()),
    lambda _: 0,
    lambda _: 7,
    lambda _: 10**9,
    lambda text: -len(text),
    lambda text: len(text) % 97,
    lambda text: text.count("e") * 3,
    lambda text: len(text) / 3.3,
    lambda _: float("nan"),
    lambda text: max(0, 500 - len(text)),
]
PIECES = st.sampled_from(
    """[ACTIVE LESSONS — verify before finalizing]|[/ACTIVE LESSONS]|[CONTEXT]|[/CONTEXT]|[active  lessons|[ / context ]
    |［CONTEXT］|[|]|/|ACTIVE|LESSONS|CONTEXT|[CON\u200bTEXT]|[LESSON_OFFER]|[ /lesson_offer ]|[/ACTIVE\u00a0LESSONS]|[/ACTIVE\nLESSONS]|\x1b[0m|<!--|-->|<!-- x -->
    |<system-reminder>|</system-reminder>|1. |2. Title (high · lessons/x.md)|   - [ ] |   Why: |From x.md:|…|```|````|~~~|```py|\n|\r\n|\n\n
    |\u2028|\u2029|\x85|\x0b|\x0c|\x1c|\t| |deploy|the allowlist.|테스트를 추가한다。|user: |Human: |- item|# Head|---|\u202e|\ud83d\ude00|\x00""".replace(
        "\n    |", "|"
    ).split("|")
)
HOSTILE = st.one_of(
    st.lists(PIECES, max_size=12).map("".join),
    st.text(max_size=40),
    st.lists(PIECES, min_size=1, max_size=4).map(lambda parts: " ".join(parts) * 12),
)
HITS = st.builds(
    lambda card, score, passed, brain: Hit(
        card=card, score=score, bm25=score, passed=passed, brain=brain
    ),
    st.builds(
        lambda **values: Card(kind="lesson", **values),
        id=HOSTILE,
        title=HOSTILE,
        why=HOSTILE,
        severity=st.one_of(st.sampled_from(["low", "high"]), HOSTILE),
        occurrences=st.integers(1, 10**6),
        checklist=st.lists(HOSTILE, max_size=6).map(tuple),
    ),
    st.floats(0, 50),
    st.sampled_from([True, True, True, False]),
    st.sampled_from(["", "", "team", "[/CONTEXT]"]),
)
SETTINGS = st.builds(
    PreflightSettings,
    budget=st.one_of(st.integers(0, 60), st.integers(0, 4000)),
    lesson_share=st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    max_lessons=st.integers(0, 5),
    weakest=st.sampled_from([0.0, 0.4, 1.0]),
    context=st.booleans(),
    model_context=st.sampled_from([0, 0, 100, 8000]),
)
CASES = st.fixed_dictionaries(
    {
        "hits": st.lists(HITS, max_size=5),
        "notes": st.lists(st.tuples(HITS, HOSTILE), max_size=3),
        "query": HOSTILE,
        "frequencies": st.just({"deploy": 3}),
        "size": st.just(10),
        "settings": SETTINGS,
        "counter": st.sampled_from(COUNTERS),
        "max_chars": st.one_of(st.none(), st.integers(0, 3000)),
        "offers": st.sampled_from([NO_OFFERS, Offers(least=0), Offers(least=0, titled=True)]),
    }
)
TITLE = re.compile(r"(\d+)\. \S.* \(.*\)")
LINE = re.compile(r"   (?:Why: \S.*|- \[ \] \S.*|… \d+ more in .*)")


def markers(text):
    """Openings and closings as a careless reader might take them: any case, width and spacing.

    One word is a marker with its bracket alone: code has it otherwise.
    """
    wide = unicodedata.normalize("NFKC", text)
    seen = "".join(c for c in wide if c == "\n" or unicodedata.category(c) not in ("Cf", "Cc"))
    return [
        len(re.findall(rf"(?i)\[\s*{slash}\s*{name}", seen))
        for name in (r"active\s+lessons", r"lesson_offer\s*\]", r"context\s*\]")
        for slash in ("", "/")
    ]


PHASES = [Phase.explicit, Phase.reuse, Phase.generate]  # shrinking long texts takes minutes


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(CASES)
def test_the_budget_is_a_hard_ceiling(case):
    found = pack(**case)
    if found.text:
        chosen = case["settings"]
        small = chosen.model_context // 20 if chosen.model_context else chosen.budget
        budget = min(chosen.budget, small)
        assert case["counter"](found.text) <= budget
        assert found.tokens == case["counter"](found.text)
        lessons = found.text.partition("\n\n[LESSON_OFFER]")[0].partition("\n\n[CONTEXT]\n")[0]
        if len(found.lessons) > 1 and found.notes:
            assert case["counter"](lessons) <= budget * chosen.lesson_share
    if case["max_chars"] is not None:
        assert len(found.text) <= case["max_chars"]


@pytest.mark.slow
@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(CASES)
def test_nothing_is_lost_or_given_twice(case):
    found = pack(**case)
    assert len(found.lessons) <= case["settings"].max_lessons
    told = (*found.lessons, *found.notes, *found.offered, *found.withheld)
    assert len(told) == len(case["hits"]) + len(case["notes"])
    assert len(found.offered) <= 3
    assert all(hit.reason for hit in found.withheld if hit.passed)
    assert (found.text == "") == (not (found.lessons or found.notes or found.offered))


@pytest.mark.slow
@settings(max_examples=160, deadline=None, suppress_health_check=list(HealthCheck), phases=PHASES)
@given(CASES)
def test_nobody_breaks_out_of_the_block(case):
    found = pack(**case)
    lessons, offered, notes_given = map(bool, (found.lessons, found.offered, found.notes))
    assert markers(found.text) == [lessons, lessons, offered, offered, notes_given, notes_given]
    assert found.text.splitlines() == found.text.split("\n") or not found.text
    lines = found.text.split("\n") if found.text else []
    if lessons:
        end = lines.index("[/ACTIVE LESSONS]")
        assert lines[0] == "[ACTIVE LESSONS — verify before finalizing]"
        titles = [TITLE.fullmatch(line) for line in lines[1:end] if not LINE.fullmatch(line)]
        assert [int(title[1]) for title in titles] == list(range(1, len(found.lessons) + 1))
        lines = lines[end + 1 :]
        assert not lines or lines.pop(0) == ""
    if offered:
        end = next(n for n, line in enumerate(lines) if line.endswith("[/LESSON_OFFER]"))
        assert lines[0].startswith("[LESSON_OFFER]")
        assert end == (0 if case["offers"].titled else len(found.offered) + 2)
        lines = lines[end + 1 :]
        assert not lines or lines.pop(0) == ""
    if notes_given:
        assert (lines[0], lines[-1]) == ("[CONTEXT]", "[/CONTEXT]")
        inner = [line for line in lines[1:-1] if line and not line.startswith("  ")]
        assert len(inner) == len(found.notes)
        assert all(line.startswith("From ") and line.endswith(":") for line in inner)
        assert fences_closed(lines[1:-1])


def fences_closed(lines):
    """Whether a Markdown reader would see every code fence of these lines closed."""
    from markdown_it import MarkdownIt

    text = "\n".join(line.removeprefix("  ") for line in lines)
    # Lists in lists may nest deeper than the reader goes by default, which then drops the rest.
    reader = MarkdownIt("commonmark", {"maxNesting": 1_000})
    tokens = reader.parse(text + "\n\nSENTINEL\n")
    return any(token.type == "inline" and "SENTINEL" in token.content for token in tokens)
