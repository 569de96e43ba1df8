"""What an output tells of failures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.learn.failure_signs import (
    error_excerpt,
    find_failing,
)

PYTEST = """\
............F...
=================================== FAILURES ===================================
______________________________ test_total_of_cart ______________________________

    def test_total_of_cart():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total_of_cart - assert 3 == 4
1 failed, 15 passed in 0.12s
"""


@pytest.mark.parametrize(("output", "names"), [
    (PYTEST, ("tests/test_cart.py::test_total_of_cart",)),
    ("--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: got 3\nFAIL", ("TestTotal",)),
    ("test cart::total ... FAILED\ntest result: FAILED. 1 failed", ("cart::total",)),
    (" FAIL  src/cart.test.ts\n  ● total › adds\n", ("src/cart.test.ts", "total › adds")),
    ("not ok 2 - adds the tax", ("adds the tax",)),
    ("\x1b[31m[ERROR]\x1b[0m   CartTest.total:12 expected", ("CartTest.total",)),
    ("CartTest > total() FAILED", ("CartTest > total()",)),
    ("FAIL: test_total (cart.CartTest)", ("test_total (cart.CartTest)",)),
    ("15 passed in 0.12s", ()),
])  # fmt: skip
def test_failing_tests_are_named(output, names):
    assert find_failing(output) == names


def test_an_excerpt_keeps_the_lines_that_tell_else_the_end():
    assert error_excerpt("\x1b[31mE  assert 3 == 4\x1b[0m\n") == "E  assert 3 == 4"
    noise = "\n".join(f"collecting item {number}" for number in range(2000))
    excerpt = error_excerpt(f"{noise}\n{PYTEST}{noise}", limit=800)
    assert "E       assert 3 == 4" in excerpt
    assert "FAILED tests/test_cart.py::test_total_of_cart" in excerpt
    end = error_excerpt("\n".join(f"step {number}" for number in range(500)), limit=100)
    assert (end[0], end[-8:]) == ("…", "step 499")


@given(st.text(max_size=3000), st.integers(50, 1000))
def test_an_excerpt_stays_in_its_limit(output, limit):
    assert len(error_excerpt(output, limit=limit)) <= limit
