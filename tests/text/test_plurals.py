"""Numbers and their nouns."""

import pytest

from lessons_kb.text.sanitize import counted


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 cards"), (1, "1 card"), (2, "2 cards"), (12_000, "12,000 cards")]
)
def test_the_noun_agrees(number, said):
    assert counted(number, "card") == said


def test_a_noun_may_have_a_plural_of_its_own():
    assert counted(1, "row is", "rows are") == "1 row is"
    assert counted(2, "row is", "rows are") == "2 rows are"
