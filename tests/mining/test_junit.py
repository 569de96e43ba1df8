"""JUnit reports are read without trust in what they hold."""

import pytest

from lessons_kb.errors import InputError
from lessons_kb.mining.junit import find_repaired, read_report

RED = b"""<?xml version="1.0"?>
<testsuites><testsuite name="pytest">
<testcase classname="test_cart" name="test_total"><failure message="assert 3 == 4">
def test_total(): E  assert 3 == 4</failure></testcase>
<testcase classname="test_cart" name="test_gone"><error type="OSError"/></testcase>
<testcase classname="test_cart" name="test_tax"><skipped/></testcase>
<testcase classname="test_cart" name="test_empty"/>
</testsuite></testsuites>"""
GREEN = b"""<testsuite><testcase classname="test_cart" name="test_total"/>
<testcase classname="test_cart" name="test_tax"/></testsuite>"""
BOMB = b"""<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]>
<testsuite name="&c;"/>"""


def test_tests_that_failed_and_pass_later_are_repaired():
    before, after = read_report(RED, name="a.xml"), read_report(GREEN, name="b.xml")
    assert [test.name for test in before.failed] == ["test_total", "test_gone"]
    assert [test.name for test in before.passed] == ["test_empty"]
    (failure,) = find_repaired(before, after)
    assert str(failure.test) == "test_cart::test_total"
    assert failure.message == "assert 3 == 4"
    assert "E  assert 3 == 4" in failure.output


def test_a_failure_without_a_message_has_its_type():
    assert [one.message for one in read_report(RED, name="a").failed.values()][1] == "OSError"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BOMB, "a JUnit report has no DOCTYPE"),
        (BOMB.decode().encode("utf-16"), "a JUnit report has no DOCTYPE"),
        (b"<a/>", "has no test suites"),
        (b"<testsuite>", "is not XML"),
        (b"", "is not XML"),
        (b"\xff\xfe\x00", "is not XML"),
        (b'<?xml version="1.0" encoding="nothing"?><a/>', "is not XML"),
    ],
)
def test_another_file_is_refused_with_one_line(data, said):
    with pytest.raises(InputError, match=said) as refused:
        read_report(data, name="run.xml")
    assert "\n" not in str(refused.value)
