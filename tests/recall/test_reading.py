"""How an answer and what was done show one checklist item: where it is read, told or denied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.model import Card
from lessons_kb.recall.postcheck import MAX_TEXT, find_unaddressed_items, rate_items
from lessons_kb.recall.wanted import read_item

FILLER = [f"Row number {n} came in order." for n in range(40)]


def shown(item, answer="", *evidence):
    card = Card(id="lessons/a.md", kind="lesson", title="a", checklist=(item,))
    ((_, _, found, _),) = rate_items(answer, [card], evidence)
    return found


class TestSentence:
    def test_the_nearest_is_the_one_that_shows_most(self):
        found = shown(
            "Reject unknown senders", "Unknown senders are now rejected. Senders got a page."
        )
        assert found.sentence == "Unknown senders are now rejected."

    def test_a_word_said_twice_counts_once(self):
        answer = "Sender, sender, senders, sender. Unknown senders are rejected."
        assert shown("Reject unknown senders", answer).sentence.startswith("Unknown")

    def test_terms_of_one_sentence_count_most_then_those_next_to_it_then_those_elsewhere(self):
        item = "Cover the rejection with a test"
        first, second = "The rejection stands.", "A test covers it."
        fill = FILLER[:6]
        together = shown(item, " ".join(["A test covers the rejection.", *fill, "Done."]))
        orders = ((first, second), (second, first))
        beside = [shown(item, " ".join([*order, *fill])) for order in orders]
        apart = [shown(item, " ".join([one, *fill, other])) for one, other in orders]
        assert together.score > beside[0].score == beside[1].score
        assert beside[0].score > apart[0].score == apart[1].score
        assert {found.seen for found in (together, *beside, *apart)} == {together.seen}

    def test_of_many_places_the_best_are_looked_at(self):
        item = "Cover the rejection with a test"
        told, other = "A test covers the rejection.", [f"The test page {n}." for n in range(12)]
        for answer in ([told, *other], [*other, told], [*other[:6], told, *other[6:]]):
            assert shown(item, " ".join(answer)).told == pytest.approx(1)

    def test_words_count_more_than_code(self):
        told = shown("Validate the signature", "I validate the signature.")
        written = shown("Validate the signature", "```\nvalidate(signature)\n```")
        assert told.score > written.score > 0.5
        assert told.missing == written.missing == ()

    def test_what_is_told_elsewhere_counts_less_the_more_was_said(self):
        item = "Cover the rejection with a test"
        short, long = (
            shown(item, " ".join(["The rejection stands.", *FILLER[:n], "A test covers it."]))
            for n in (5, 20)
        )
        assert short.score > long.score
        assert short.seen == long.seen

    def test_the_nearest_shows_what_weighs_most(self):
        found = shown("When idle, rotate the token", "It is idle. A token came.")
        assert found.sentence == "A token came."


class TestInOtherWords:
    """How many ways to tell of it are told as done, a way of a table counted once."""

    @pytest.mark.parametrize(
        ("answer", "ways"),
        [
            ("The layout is new.", 0),
            ("The TTL is one hour.", 1),
            ("The TTL is one hour. It has a TTL.", 1),
            ("The TTL is one hour. Old ones are evicted.", 2),
            ("The TTL is one hour; old ones are evicted at night.", 2),
            ("- [x] The TTL is one hour", 1),
            ("- [ ] The TTL is one hour", 0),
            ("The TTL is one hour, but I did not evict anything.", 1),
            ("I did not evict anything, but the TTL is one hour.", 1),
        ],
    )
    def test_in_prose(self, answer, ways):
        assert shown("Expire the cache entries", answer).ways == ways

    def test_in_code(self):
        assert shown("Expire the cache entries", "", "ttl = 3600\nevict()").ways == 2
        item = "Do not run the container as root"
        assert shown(item, "", "USER app").ways == shown(item, "It drops to USER app.").ways == 1

    def test_each_item_has_its_own(self):
        items = ("Expire the cache entries", "Do not run the container as root")
        card = Card(id="lessons/a.md", kind="lesson", title="a", checklist=items)
        for answer, evidence in (
            ("The TTL is one hour.", ()),
            ("The TTL is one hour; the layout is new as well.", ()),
            ("- [x] The TTL is one hour", ()),
            ("", ("ttl = 3600",)),
        ):
            rated = rate_items(answer, [card], evidence)
            assert [found.ways for *_, found, _ in rated] == [1, 0]

    @pytest.mark.parametrize("evidence", [(), ("x = 1",)])
    def test_what_begins_with_no_latin_word_is_found_whatever_is_read_later(self, evidence):
        answer = "대체 텍스트를 달았고, 화면도 고쳤습니다."
        assert shown("이미지에 대체 텍스트를 넣는다", answer, *evidence).ways == 1


class TestEvidence:
    @pytest.mark.parametrize("line", range(40))
    def test_each_line_of_an_edit_is_read_together_with_the_next(self, line):
        lines = ["x = 1"] * 40
        lines[line : line + 2] = ["def test_stranger():", "    assert rejected(stranger)"]
        found = shown("Cover the rejection with a test", "", "\n".join(lines))
        assert (
            found.score
            == shown("Cover the rejection with a test", "", "\n".join(lines[line:])).score
        )
        assert "test" not in found.missing
        assert "rejection" not in found.missing

    def test_a_short_word_inside_a_longer_one_is_no_word(self):
        assert "log" in shown("Keep a log", "", "a.py\ncatalog = 1").missing

    def test_a_command_is_run_and_an_edit_is_not(self):
        assert "Run" not in shown("Run the migration", "", "alembic upgrade head").missing
        assert "Run" in shown("Run the migration", "", "alembic.py\nupgrade = head").missing
        assert shown("Run the frobnicator", "", "frobnicator --all").missing == ()
        assert shown("Run the frobnicator", "", "a.py\nfrobnicator = 1").missing == ("Run",)

    @pytest.mark.parametrize("call", ["goleak.VerifyNone(t)", "GOLEAK_VERIFY = 1", "mygoleak()"])
    def test_a_word_inside_a_longer_one_counts_in_code_alone(self, call):
        assert "leaks" not in shown("Look for leaks", "", f"a_test.go\n{call}").missing
        assert "leaks" not in shown("Look for leaks", f"There is `{call}` now.").missing
        assert "leaks" in shown("Look for leaks", f"There is {call} now.").missing
        two = f"There is {call} now; the look of it is new."
        assert "leaks" in shown("Look for leaks", two).missing


class TestDenied:
    @pytest.mark.parametrize(
        "answer",
        [
            "- [ ] Tests for the parser",
            "What I left out:\n\n- Tests for the parser",
            "**What I left out:**\n\n- Tests for the parser",
            "## Still open\n\n- Tests for the parser",
            "Tests for the parser. That is for later.",
            "The lexer is new. Tests for the parser. That is for later.",
            "The lexer is new, but tests for the parser are not written yet; sorry",
        ],
    )
    def test_what_is_told_as_left(self, answer):
        found = shown("Write tests for the parser", answer)
        assert found.is_denied
        assert found.denied > 0.5
        assert found.told < 0.5

    @pytest.mark.parametrize(
        "answer",
        [
            "- [x] Wrote tests for the parser",
            "- Wrote tests for the parser",
            "## Done\n\n- Wrote tests for the parser",
            "I wrote tests for the parser. That closes the ticket.",
            'I wrote tests for the parser.\n```js\nit("can be removed", run)\n```',
            "The lexer is new, but I wrote tests for the parser; good",
            "I wrote tests for the parser, but slowly",
            "I wrote tests for the parser; the lexer does not work",
            "I wrote tests; they are for the parser",
        ],
    )
    def test_what_is_told_as_done(self, answer):
        found = shown("Write tests for the parser", answer)
        assert not found.is_denied
        assert found.told == pytest.approx(1)
        assert found.missing == ()

    @pytest.mark.parametrize(
        "after",
        [
            "That the parser has no tests for tabs is for later.",
            "\n```py\n# That is for later.\n```",
        ],
    )
    def test_only_prose_that_says_nothing_of_it_itself_takes_it_back(self, after):
        told = "I wrote tests for the parser."
        assert shown("Write tests for the parser", f"{told} {after}").told == pytest.approx(1)
        assert shown("Write tests for the parser", f"{told} That is for later.").told == 0

    @pytest.mark.parametrize(
        "answer", ["The token is in the log.", "The parser is new; the token is in the log"]
    )
    def test_what_is_to_be_avoided_and_only_mentioned_is_half_shown(self, answer):
        told = shown("Never log the token", "The token is not logged.")
        mentioned = shown("Never log the token", answer)
        assert told.score > mentioned.score > shown("Never log the token", "Hello.").score == 0
        assert mentioned.seen == 0


def test_in_a_long_answer_the_block_behind_may_take_it_back():
    told, taken_back = "The backups are encrypted.", "That is for later."
    another = "That works. The manual is for later."
    answers = [
        "\n\n".join([*FILLER[:20], *blocks, *FILLER[20:]])
        for blocks in ((told,), (told, taken_back), (taken_back, told), (told, another))
    ]
    denied = [shown("Encrypt the backups", answer).is_denied for answer in answers]
    assert denied == [False, True, False, False]


def test_each_item_is_looked_for_in_a_long_answer():
    topics = ["parser", "lexer", "printer", "loader", "linker", "shell"]
    items = tuple(f"Translate the {topic}" for topic in topics)
    told = [f"The {topic} is translated." for topic in topics]
    answer = "\n\n".join([*FILLER, *told])
    card = Card(id="lessons/a.md", kind="lesson", title="a", checklist=items)
    check = find_unaddressed_items(answer, [card])
    assert (check.unaddressed, check.checked) == ((), len(items))
    assert [found.sentence for *_, found, _ in rate_items(answer, [card])] == told


class TestWideScripts:
    def test_particles_do_not_matter_and_short_words_stay_whole(self):
        assert set(read_item("나비 낙타표기법으로").pieces) == {"나비", "낙타표기법"}
        assert set(read_item("나이 깃발뭉치").pieces) >= {"나이", "깃발뭉치"}
        assert "" not in read_item("하면서 으로만").pieces
        assert shown("낙타표기법으로 쓴다", "낙타표기법이 좋습니다.").seen > 0

    def test_blanks_do_not_matter(self):
        assert "낙타표기법으로" not in shown("낙타표기법으로", "낙타 표기법이 됐습니다.").missing

    def test_one_syllable_begins_a_word(self):
        assert "값을" not in shown("값을 정한다", "값은 정했습니다.").missing
        assert "값을" not in shown("값을 정한다", "그 값은 정했습니다.").missing
        assert "값을" in shown("값을 정한다", "몸값은 정했습니다.").missing

    def test_a_known_word_inside_a_longer_one_brings_its_equivalents(self):
        assert "token" in read_item("왕토큰을 바꾼다").stems
        assert "valu" in read_item("값을 정한다").stems
        assert "valu" not in read_item("몸값을 정한다").stems

    def test_han_is_looked_for_by_pairs_and_katakana_by_runs(self):
        assert {"蜂蜜", "蜜饼", "饼干"} <= set(read_item("蜂蜜饼干").pieces)
        assert {"ケーキ", "蜂蜜", "蜜饼"} <= set(read_item("ケーキ蜂蜜饼干").pieces)
        assert {"蜂蜜", "ケーキ"} <= set(read_item("蜂蜜ケーキ").pieces)
        assert not {"", "干", "蜂蜜饼", "ケー", "ーキ"} & set(read_item("蜂蜜饼干 ケーキ").pieces)


class TestItems:
    @staticmethod
    def weights(item):
        wanted = read_item(item)
        return dict(zip(wanted.words, wanted.weights, strict=True))

    def test_what_only_tells_when_or_instead_of_what_counts_less(self):
        found = self.weights("When idle, rotate the token")
        assert found == {"idle": 0.3, "rotate": 1.3, "token": 1.0}
        assert found["idle"] < found["token"] <= found["rotate"]
        found = self.weights("Rotate the token instead of the password; restart")
        assert found["password"] < found["restart"] == found["token"]
        found = self.weights("One should not log tokens if idle")
        assert found["idle"] < found["tokens"]
        assert not {"should", "not"} & set(found)

    @pytest.mark.parametrize(
        ("item", "key"),
        [
            ("Rotate the token, then restart", "Rotate"),
            ("When deploying, on a branch, rotate the token", "rotate"),
            ("When idle rotate tokens, restart", "restart"),
            ("토큰을 교체한다", "교체한다"),
        ],
    )
    def test_the_action_is_named_by_the_first_telling_word_in_korean_by_the_last(self, item, key):
        wanted = read_item(item)
        assert wanted.words[wanted.key] == key
        assert max(wanted.weights) == wanted.weights[wanted.key]

    def test_words_of_korean_weigh_as_much(self):
        assert self.weights("토큰을 교체한다") == {"토큰을": 1.0, "교체한다": 1.3}

    def test_an_item_of_a_condition_alone_has_no_action(self):
        assert read_item("When idle").key is None
        assert shown("When idle", "It is idle.").action == 0.5

    def test_a_word_counts_once(self):
        assert read_item("Test the tests by testing").words == ["Test"]

    @pytest.mark.parametrize(
        ("item", "answer"),
        [
            ("Try the restore", "I try the restore."),
            ("Try the restore", "The restore was tried."),
            ("Copy the files", "It copies the files."),
            ("Run the linter", "The linter ran."),
            ("Write a test", "테스트를 작성했습니다."),
            ("테스트를 작성한다", "A test is written."),
            ("토큰들에게", "토큰에 있습니다."),
            ("가위눌림을 막는다", "가위눌림은 막았습니다."),
            ("Check the user", "getUserById is checked."),
            ("Check getUserById", "`get_user_by_id` is checked."),
        ],
    )
    def test_forms_of_a_word_and_its_translations_show_it(self, item, answer):
        assert shown(item, answer).missing == ()

    def test_a_known_word_is_looked_for_without_its_endings(self):
        assert shown("토큰들에게", "토큰에 있습니다.").seen == pytest.approx(1)
        assert read_item("가위눌림을 막는다").words == ["가위눌림을", "막는다"]

    def test_a_not_denies_an_item_unless_the_item_is_told_with_one(self):
        answer = "Unknown keys do not stop it."
        assert shown("Sort unknown keys", answer).is_denied
        assert not shown("Ignore unknown keys", answer).is_denied

    def test_the_word_itself_shows_more_than_an_equivalent(self):
        same, other = (shown("Add a test", f"I added a {word}.") for word in ("test", "spec"))
        assert same.score > other.score > 0.5


def test_evidence_is_read_up_to_a_bound_in_all():
    assert shown("Run the tests", "", "y" * (MAX_TEXT - 9), "pytest -q").missing == ()
    assert shown("Run the tests", "", "y" * MAX_TEXT, "pytest -q").missing[-1:] == ("tests",)


WORDS = "write wrote tests test spec for the parser not later that is TODO, but; no.".split()


@given(
    st.lists(st.sampled_from([*WORDS, "\n\n", "- [ ]", "- [x]", "`test`"]), max_size=14).map(
        " ".join
    )
)
def test_every_part_is_between_0_and_1(answer):
    found = shown("Write tests for the parser", answer, answer)
    for part in (found.score, found.told, found.denied, found.seen, found.action):
        assert 0 <= part <= 1 + 1e-9
