"""An error has one signature, however it is printed and wherever it is run."""

import pytest

from lessons_kb.text.error_signature import error_signature, is_same_error

PLAIN = """\
Traceback (most recent call last):
  File "/home/ann/shop/src/main.py", line 3, in <module>
    total(cart)
  File "/home/ann/shop/src/cart.py", line 12, in total
    return prices[name]
  File "/usr/lib/python3.11/collections/__init__.py", line 1010, in __getitem__
    raise KeyError(key)
KeyError: 'apple-17'
"""
PYTEST = """\
    def total(cart):
>       return prices[name]
E       KeyError: 'apple-4'

src/cart.py:31: KeyError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total - KeyError: 'apple-4'
"""
NODE = """\
/srv/shop/src/cart.js:10
TypeError: Cannot read properties of undefined (reading 'price')
    at /srv/shop/node_modules/lodash/lodash.js:1:2
    at total (/srv/shop/src/cart.js:10:5)
    at Object.<anonymous> (/srv/shop/src/main.js:3:1)
npm ERR! code ELIFECYCLE
"""


@pytest.mark.parametrize(("output", "signature"), [
    (PLAIN, "keyerror: 'apple-0' @ cart.py"),
    (PYTEST, "keyerror: 'apple-0' @ cart.py"),
    (NODE, "typeerror: cannot read properties of undefined (reading 'price') @ cart.js"),
    ("ModuleNotFoundError: No module named 'yaml'", "no module named 'yaml'"),
    ("12 passed in 0.3s", ""),
    ("", ""),
])  # fmt: skip
def test_a_signature_is_the_message_and_the_file_of_the_project(output, signature):
    assert error_signature(output) == signature
    assert not signature or is_same_error(signature, output)


def test_the_same_error_is_known_again_and_another_is_not():
    signature = error_signature(PLAIN)
    assert is_same_error(signature, PYTEST)
    assert is_same_error("KeyError: 'apple-9'", PYTEST)
    assert not is_same_error(signature, PLAIN.replace("cart.py", "stock.py"))
    assert not is_same_error(signature, PLAIN.replace("KeyError", "IndexError"))
    assert not is_same_error(signature, "all is well")
