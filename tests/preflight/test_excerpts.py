"""What of a note is quoted: paragraphs that bear on the prompt, cut on clean borders."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.preflight.note_excerpts import GAP, build_excerpt, weigh_paragraphs, weigh_terms

ONE = {"alpha": 1.0}


def excerpt(source, limit=1000, weights=ONE):
    return build_excerpt(weigh_paragraphs(source, weights), limit)


class TestTerms:
    def test_the_weight_is_the_idf_of_the_index(self):
        assert weigh_terms("alpha", {"alpha": 1}, 4) == {"alpha": pytest.approx(1.2039728)}
        assert weigh_terms("alpha", {}, 0) == {"alpha": pytest.approx(0.6931472)}

    def test_a_count_that_cannot_be_is_survived(self):
        weights = weigh_terms("alpha beta", {"alpha": 9, "beta": -3}, 4)
        assert 0 < weights["alpha"] < weights["beta"] == weigh_terms("beta", {}, 4)["beta"]


class TestParagraphs:
    def test_header_and_hidden_text_are_gone_and_fences_hold_together(self):
        source = "---\ntitle: alpha\n---\n# Head\n\none <!-- x -->\n\n```py\na\n\nb\n```\n\nlast\n"
        found = weigh_paragraphs(source, ONE)
        assert [p.lines for p in found] == [
            ["# Head", "one"],
            ["```py", "a", "", "b", "```"],
            ["last"],
        ]
        assert [p.number for p in found] == [0, 1, 2]
        assert [p.overlap for p in found] == [0, 0, 0]

    @pytest.mark.parametrize(("source", "lines"), [
        ("---\na: 1\n...\nb", ["b"]),
        ("~~~\na\n```\n\nb", ["~~~", "a", "```", "", "b", "~~~"]),
        ("````\na\n```\n\nb\n`````", ["````", "a", "```", "", "b", "`````"]),
        ("- ```\n  a\n\n  b\n  ```", ["- ```", "  a", "", "  b", "  ```"]),
        ("``` not `a` fence\nb", ["``` not `a` fence", "b"]),
        ("# A\n\n## B\n\ntext", ["# A", "## B", "text"]),
    ])  # fmt: skip
    def test_what_is_one_paragraph(self, source, lines):
        (found,) = weigh_paragraphs(source, ONE)
        assert found.lines == lines

    def test_of_a_long_note_the_80_likeliest_paragraphs_are_kept_in_order(self):
        texts = [f"paragraph {n}" for n in range(200)]
        texts[150] = "about Alpha"
        texts[170] = "alpha and beta"
        found = weigh_paragraphs("\n\n".join(texts), {"alpha": 1.0, "beta": 1.0})
        assert [p.number for p in found] == [*range(78), 150, 170]
        assert [p.overlap for p in found[-2:]] == [1.0, 2.0]
        assert len(weigh_paragraphs("\n\n".join(texts[:80]), ONE)) == 80


class TestChoice:
    def test_gaps_count(self):
        source = "alpha\n\nbeta\n\n" * 9
        texts = [excerpt(source, limit) for limit in range(80)]
        assert all(len(text) <= limit for limit, text in enumerate(texts))
        assert texts[0] == ""
        assert texts[-1].split(f"\n{GAP}\n") == ["alpha"] * 9

    def test_the_best_is_given_first_and_a_smaller_one_may_still_fit(self):
        weights = {"alpha": 3.0, "beta": 2.0, "gamma": 1.0}
        source = "gamma\n\n" + "beta is long and longer still\n\n" + "alpha"
        assert excerpt(source, 20, weights) == f"gamma\n{GAP}\nalpha"

    def test_where_nothing_bears_on_the_prompt_the_beginning_is_given(self):
        source = "One is here.\n\nTwo is here.\n\nThree is here."
        assert excerpt(source, 40) == "One is here.\n\nTwo is here."
        assert excerpt(source, 1000) == source
        assert excerpt("", 1000) == ""


class TestCut:
    SENTENCES = tuple(f"Sentence {n} is about alpha." for n in range(10, 30))

    def test_a_long_paragraph_keeps_as_many_sentences_as_fit(self):
        source = " ".join(self.SENTENCES)
        counts = []
        for limit in range(400):
            text = excerpt(source, limit)
            assert len(text) <= limit
            kept = text.removesuffix(f" {GAP}")
            count = kept.count("alpha.")
            assert kept == " ".join(self.SENTENCES[:count])
            counts.append(count)
        assert counts == sorted(counts)
        assert (counts[26], counts[36], counts[65]) == (0, 1, 2)

    def test_lines_are_kept_whole_and_the_rest_is_marked(self):
        source = "\n".join(f"- alpha {n}" for n in range(10, 30))
        for limit in range(14, 300):
            *lines, last = excerpt(source, limit).split("\n")
            assert len("\n".join([*lines, last])) <= limit
            if last == GAP:
                assert lines == source.split("\n")[: len(lines)]
        assert excerpt(source, len(source) + 1) == source
        assert excerpt(source, len(source)).endswith(f"\n{GAP}")

    def test_a_fence_that_is_cut_is_closed(self):
        source = "```py\n" + "\n".join(f"alpha = {n}" for n in range(10, 30)) + "\n```"
        for limit in range(200):
            text = excerpt(source, limit)
            assert len(text) <= limit
            assert not text or text.split("\n")[-2:] == ["```", GAP]
        assert excerpt(source, 40).split("\n")[:2] == ["```py", "alpha = 10"]

    def test_a_heading_is_not_given_without_what_it_heads(self):
        source = "## Alpha\n\nA single sentence about alpha, too long for it."
        assert excerpt(source, 40) == ""
        assert excerpt(source, 80) == "## Alpha\nA single sentence about alpha, too long for it."
        two = f"{source} And a second one."
        assert excerpt(two, 70) == source.replace("\n\n", "\n") + f" {GAP}"


@given(
    st.lists(
        st.sampled_from(["alpha", "beta. Gamma", "\n", "\n\n", "# H\n\n", "- ", "```\n", "x" * 30]),
        max_size=30,
    ).map(" ".join),
    st.integers(0, 300),
)
def test_no_excerpt_is_longer_than_its_limit(source, limit):
    text = excerpt(source, limit)
    assert len(text) <= limit
    assert text == text.strip("\n")
