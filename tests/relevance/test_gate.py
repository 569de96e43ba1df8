"""The gate speaks when a card is about the prompt, and only then, whatever the brain's size."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lessons_kb import Brain
from lessons_kb.config import DEFAULTS, Gate
from lessons_kb.model import Card, Hit
from lessons_kb.relevance.gate import GateEvidence, has_enough_names, is_due, judge
from tests.kit import write

GATE = DEFAULTS.gate

CARDS = {
    "telegram-allowlist": (
        "Telegram remote execution must require an allowlist",
        (
            "The bot ran shell commands for any chat id, since the handler never looked at the sender."
            " Reject every chat id that is not on the allowlist, and cover the rejection with a test."
        ),
    ),
    "migration-lock": (
        "A migration that adds an index locks the orders table",
        (
            "Creating the index inside a transaction blocked writes to orders for minutes in production."
            " Build it concurrently, outside the transaction, and set a lock timeout first."
        ),
    ),
    "flaky-clock": (
        "Do not compare wall clock times in tests",
        (
            "The scheduler test failed around midnight and when daylight saving began."
            " Inject a clock, freeze it, and never assert on elapsed seconds."
        ),
    ),
    "csv-bom": (
        "Excel exports begin with a byte order mark",
        (
            "The first column of the import was named with an invisible mark, so its lookup failed."
            " Decode such uploads with utf-8-sig and normalise the header names."
        ),
    ),
    "retry-payment": (
        "Retries of a payment need an idempotency key",
        (
            "A timeout at the gateway made the worker charge the customer twice."
            " Send the same idempotency key with each retry and record the charge before answering."
        ),
    ),
    "한글-정렬": (
        "한글 이름 정렬은 로케일을 지정해야 한다",
        "회원 명부를 정렬할 때 초성 순서가 뒤섞였다. 정렬 함수에 한국어 로케일을 넘기고 자모 분리를 먼저 정규화한다.",
    ),
}
ABOUT = {
    "add a telegram command that restarts the server, only for people on the allowlist": "telegram-allowlist",
    "why does the bot answer strangers in the telegram chat?": "telegram-allowlist",
    "write a migration that adds an index to the orders table": "migration-lock",
    "the scheduler test fails around midnight, freeze the clock": "flaky-clock",
    "import of the excel upload fails, the first column has a byte order mark": "csv-bom",
    "customers were charged twice after a gateway timeout, make the payment retry safe": "retry-payment",
    "회원 이름을 한글 순서로 정렬하는 함수 고쳐줘": "한글-정렬",
}
EVERYDAY = [
    "run the tests", "rename this variable", "bump the version", "explain this function",
    "commit this", "update the README", "what does this do?", "fix the typo", "continue",
    "yes, do it", "add a docstring to this class", "translate this paragraph into French",
    "make the button blue", "open a pull request", "write the changelog entry for the last release",
    "show me the history of this file", "split this function into two and add a type annotation",
    "테스트 돌려줘", "이 함수 설명해줘", "커밋 메시지 써줘",
]  # fmt: skip
FILLER = [
    "cache header proxy render layout widget canvas",
    "socket buffer packet handshake cipher session",
    "invoice ledger account balance currency rounding",
    "thumbnail image resize upload avatar crop",
    "parser grammar token lexer syntax tree",
    "queue worker broker topic partition offset",
    "template partial helper escape markup attribute",
    "container volume network registry image digest",
]


@pytest.fixture(
    scope="module", params=[0, 994, pytest.param(11_994, marks=pytest.mark.slow)],
    ids=["6 cards", "1000 cards", "12000 cards"],
)  # fmt: skip
def brain(request, tmp_path_factory):
    root = tmp_path_factory.mktemp("brain")
    for name, (title, text) in CARDS.items():
        write(root, f"lessons/{name}.md", f"# {title}\n\n{text}\n")
    for number in range(request.param):
        words = FILLER[number % len(FILLER)].split()
        unique = f"case{number} module{number % 97} {words[number % len(words)]}"
        text = f"# {unique} {' '.join(words)} {unique}\n"
        (root / f"lessons/filler-{number}.md").write_text(text)
    with pytest.MonkeyPatch.context() as own:
        own.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        with Brain.open(root) as opened:
            yield opened


TWO = ("telegram", "run")


def given_hits(**evidence):
    cards = evidence.pop("cards", {"a": ({"body": TWO}, 3.0)})
    title = evidence.pop("title", "")
    hits = [
        Hit(card=Card(id=name, kind="lesson", title=title or name), score=bm25, bm25=bm25)
        for name, (_, bm25) in cards.items()
    ]
    values = {
        "terms": {"telegram": 1.0, "run": 1.0},
        "frequencies": {"telegram": 1, "run": 3},
        "size": 6,
        "found": {name: fields for name, (fields, _) in cards.items()},
        **evidence,
    }
    return hits, GateEvidence(**values)


def one(**evidence):
    hits, given_evidence = given_hits(**evidence)
    return judge(hits, given_evidence, GATE)[0]


@pytest.mark.parametrize("prompt", ABOUT)
def test_a_card_about_the_prompt_passes(brain, prompt):
    assert brain.preflight(prompt).lessons[0].card.id == f"lessons/{ABOUT[prompt]}.md"


LISBON = (
    "Plan a weekend in Lisbon for two people who like old trams and grilled sardines, with one"
    " day at the sea, and suggest a quiet hotel near a park that is not too expensive."
)


@pytest.mark.parametrize("prompt", [*EVERYDAY, LISBON])
def test_prompts_about_other_things_are_met_with_silence(brain, prompt):
    assert [hit.reason for hit in brain.preflight(prompt).lessons] == []


def test_order_is_kept_and_matched_terms_come_most_distinctive_first():
    hits, evidence = given_hits(
        cards={
            "b": ({"body": ("run",)}, 1.0),
            "a": ({"title": ("run",), "body": ("telegram", "run")}, 3.0),
            "c": ({}, 0.5),
        }
    )
    judged = judge(hits, evidence, GATE)
    assert [hit.card.id for hit in judged] == ["b", "a", "c"]
    assert [hit.matched for hit in judged] == [("run",), ("telegram", "run"), ()]
    assert [(hit.score, hit.bm25) for hit in judged] == [(1.0, 1.0), (3.0, 3.0), (0.5, 0.5)]


def test_reasons_name_what_the_verdict_rests_on():
    rare = one(
        terms={"telegram": 1.0, "allowlist": 1.0, "qwertz": 1.0},
        cards={"a": ({"body": ("telegram", "allowlist")}, 6.0)},
    )
    assert rare.passed
    assert rare.reason == "shares rare terms: telegram, allowlist"
    weak = one(cards={"a": ({"body": ("telegram",)}, 0.01)})
    assert weak.reason == ("suppressed: shares too little: rare terms: telegram")
    common = one(cards={"a": ({"body": ("run",)}, 0.4)})
    assert common.reason == "suppressed: only common words matched (run)"
    nothing = one(cards={"a": ({}, 0.0)})
    assert nothing.reason == "suppressed: shares no word with the prompt"
    assert (nothing.passed, nothing.confidence) == (False, 0.0)


def test_words_that_the_brain_holds_and_the_world_seldom_does_tell_of_its_domain():
    """A prompt about what other cards are about is more likely about this one, too."""
    asked = {"terms": {"telegram": 1.0, "orchestrator": 1.0, "run": 1.0}, "size": 200}
    found = {"cards": {"a": ({"body": ("telegram",)}, 3.0)}, "rivals": 40}
    rare = one(frequencies={"telegram": 1, "orchestrator": 1, "run": 90}, **asked, **found)
    ours = one(frequencies={"telegram": 1, "orchestrator": 40, "run": 90}, **asked, **found)
    assert ours.confidence > rare.confidence
    assert ours.reason.endswith("rare terms: telegram; this brain's own terms: orchestrator")
    assert "own" not in rare.reason


def test_a_card_that_guards_a_file_at_hand_needs_no_word_of_the_prompt():
    hits, evidence = given_hits()
    guarding = [replace(hit, factors=(("path", 1.5),)) for hit in hits]
    assert judge(guarding, evidence, GATE)[0].confidence > judge(hits, evidence, GATE)[0].confidence
    (alone,) = judge(guarding, replace(evidence, terms={}, found={}), GATE)
    assert (alone.passed, alone.reason) == (True, "guards a file at hand")
    (wordless,) = judge(guarding, replace(evidence, found={}), GATE)
    assert wordless.passed
    assert wordless.reason == "guards a file at hand; shares no word with the prompt"
    (both,) = judge(guarding, evidence, GATE)
    assert both.reason.startswith("guards a file at hand; shares ")


def test_common_words_alone_are_named_as_such_and_at_most_three():
    words = ("run", "test", "file", "use")
    common = one(terms=dict.fromkeys(words, 1.0), cards={"a": ({"body": words}, 0.4)})
    assert common.reason == "suppressed: only common words matched (test, file, run)"
    hits, evidence = given_hits(terms={"run": 1.0}, cards={"a": ({"body": ("run",)}, 0.4)})
    (let,) = judge(hits, evidence, Gate(min_confidence=0.0))
    assert let.reason == "shares terms: run"


COMMON = {"frequencies": dict.fromkeys(TWO, 9_000), "size": 12_000}
SEVERAL = {
    "terms": {"test": 1.0, **dict.fromkeys(TWO, 1.0)},
    "cards": {"a": ({"body": ("test", "telegram")}, 0.4)},
}
CHATTER = dict.fromkeys(("please", "thanks", "yesterday", "meeting", "coffee", "later"), 1.0)
TALK = {"terms": {**dict.fromkeys(TWO, 1.0), **CHATTER}}
TITLES = (
    "Something else that nobody asked for", "Telegram gateways renew their certificates twice",
    "Run Telegram gateways once", "Run Telegram",
)  # fmt: skip


def word(term):
    """Return evidence for a card that shares one word with a prompt."""
    frequencies = {term: 1, "run": 3}
    terms, cards = {term: 1.0, "run": 1.0}, {"a": ({"body": (term,)}, 2.0)}
    return {"terms": terms, "frequencies": frequencies, "cards": cards, "rivals": 1_000}


@pytest.mark.parametrize(("less", "more"), [
    ({**COMMON, "rivals": 10_000}, COMMON),
    ({"lengths": {"a": {"body": 1_500}}}, {"lengths": {"a": {"body": 150}}}),
    ({"cards": {"a": ({"body": TWO}, 1.0)}}, {}),
    ({"cards": {"a": ({"body": ("run",)}, 3.0)}}, {}),
    # neighbouring words that are neighbours in the card, too
    ({}, {"phrases": {"a": 1}}), ({"phrases": {"a": 1}}, {"phrases": {"a": 3}}),
    # a card that prompts about other things draw; one that was not measured yet
    ({"background": {"a": 3.0}}, {}), ({}, {"background": {"a": -1.0}}),
    # a prompt about all of a card's subject
    *(({"title": one}, {"title": other}) for one, other in pairwise(TITLES)),
    # a title of one common word is no subject
    *(({**SEVERAL, "title": one}, {**SEVERAL, "title": other})
      for one, other in pairwise(("a", "Tests", "Telegram tests"))),
    # one sentence about the card is not drowned by the others
    (TALK, {**TALK, "parts": [set(TWO), set(CHATTER)]}),
    ({**TALK, "parts": [{"telegram", "please"}, {"thanks"}, {"run", "coffee"}]},
     {**TALK, "parts": [set(TWO), set(CHATTER)]}),
    # a number, a pair of syllables, a word that prompts about other things hold
    *((word(one), word("qwertz")) for one in ("7719", "곰탕", "mas")),
    ({"frequencies": {"telegram": 60, "run": 60}, "size": 100, "cards": {"a": ({"body": ("telegram",)}, 2.0)}},
     {"frequencies": {"telegram": 1, "run": 1}, "size": 100, "cards": {"a": ({"body": ("telegram",)}, 2.0)}}),
])  # fmt: skip
def test_what_convinces_more(less, more):
    usual = {"rivals": 100}
    assert one(**{**usual, **less}).confidence < one(**{**usual, **more}).confidence


def test_the_longer_a_prompt_is_the_more_it_takes():
    def confidence(chatter):
        words = [f"word{number}" for number in range(chatter)]
        # The part that is about the card, and its share of that part, stay as they are.
        return one(
            terms=dict.fromkeys((*TWO, *words), 1.0), parts=[set(TWO), {"break"}, set(words)]
        ).confidence

    assert confidence(3) > confidence(30) > confidence(300)
    # A very short one is no easier to answer than one of four terms.
    assert confidence(1) == confidence(2) > confidence(3)


def test_a_card_leads_in_a_part_in_which_no_other_card_is_nearly_as_sure():
    cards = {
        "a": ({"body": TWO}, 9.0),
        "b": ({"body": TWO}, 8.9),
        "c": ({"body": ("coffee", "mug")}, 9.0),
    }
    terms = dict.fromkeys((*TWO, "coffee", "mug"), 1.0)
    evidence = GateEvidence(
        terms=terms,
        frequencies=dict.fromkeys(terms, 1),
        size=40,
        found={name: fields for name, (fields, _bm25) in cards.items()},
        parts=[set(TWO), {"coffee", "mug"}],
    )
    hits = [
        Hit(card=Card(id=name, kind="lesson", title=name), score=bm25, bm25=bm25)
        for name, (_fields, bm25) in cards.items()
    ]
    a, b, c = judge(hits, evidence, Gate(min_confidence=0.0))
    assert {(0,), (1,)} <= {*a.parts, *c.parts}
    assert (a.leads, b.leads) == ((), ())
    assert (1,) in c.leads


def test_rivals_default_to_the_size():
    assert one(size=40).confidence == one(size=40, rivals=40).confidence
    assert one(rivals=1).confidence == one(rivals=3).confidence > one(rivals=4).confidence


@pytest.mark.parametrize(("changes", "expected"), [
    ({"lengths": {"body": 300}}, 0.096),
    ({"fields": {"body": ("run", "bot")}, "bm25": 4.0, "rivals": 6}, 0.555),
    ({"title": "Telegram bots", "bm25": 5.0, "rivals": 400, "lengths": {"body": 900}}, 0.2337),
    ({"symptoms": ("silence",), "rivals": 50, "lengths": {"body": 150}}, 0.0104),
], ids=["usual", "short", "title", "prose"])  # fmt: skip
def test_the_confidence_is_what_the_fitted_formula_gives(changes, expected):
    """Worked by hand from the formula; who fits its constants anew works these anew."""
    values = {
        "fields": {"body": ("telegram", "run")},
        "bm25": 9.0,
        "rivals": 100,
        "lengths": {"body": 60},
        "symptoms": (),
        "title": "a",
        **changes,
    }
    card = Card(id="a", kind="lesson", title=values["title"], symptoms=values["symptoms"])
    evidence = GateEvidence(
        terms={"telegram": 1.0, "run": 2.0, "bot": 1.0},
        frequencies={"telegram": 3, "run": 40},
        size=100,
        found={"a": values["fields"]},
        lengths={"a": values["lengths"]},
        rivals=values["rivals"],
    )
    (judged,) = judge([Hit(card=card, score=9.0, bm25=values["bm25"])], evidence, GATE)
    assert judged.confidence == expected


terms = st.sampled_from(["run", "telegram", "파일", "한글", "404", "x" * 60, "日本", "getuserbyid"])


@pytest.mark.slow
@given(
    weights=st.dictionaries(terms, st.floats(0.0, 9.0), max_size=6),
    size=st.integers(0, 100_000),
    n=st.integers(0, 200_000),
    bm25=st.floats(0, 1e6),
    found=st.sets(terms),
    length=st.integers(0, 10**6),
)
@example(
    weights={"telegram": 0.0, "run": 1.0}, size=10, n=1, bm25=1.0, found={"telegram"}, length=10
)
def test_confidence_is_a_probability_for_any_evidence(weights, size, n, bm25, found, length):
    evidence = GateEvidence(
        terms=weights,
        frequencies=dict.fromkeys(weights, n),
        size=size,
        found={"a": {"body": tuple(found), "title": tuple(found)[:2]}},
        lengths={"a": {"body": length, "title": length // 7 + 1}},
    )
    hit = Hit(card=Card(id="a", kind="lesson", title="a"), score=bm25, bm25=bm25)
    (judged,) = judge([hit], evidence, GATE)
    assert 0 <= judged.confidence < 1
    assert judged.passed == (judged.confidence >= GATE.min_confidence)
    assert set(judged.matched) <= set(weights)
    assert "\n" not in judged.reason


@given(nats=st.floats(0, 40), at_prompt=st.floats(0, 1), confidence=st.floats(0, 1))
def test_a_change_without_enough_names_brings_no_card_at_any_confidence(
    nats, at_prompt, confidence
):
    if has_enough_names(nats, at_prompt=at_prompt):
        assert is_due(1.0, nats + 40, first=True, at_prompt=at_prompt)
    else:
        assert not is_due(confidence, nats, first=True, at_prompt=at_prompt)
