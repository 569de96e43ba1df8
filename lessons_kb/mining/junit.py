"""Read JUnit reports to find the tests that failed, their messages, and the tests that pass
later.
"""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers import expat

from lessons_kb.errors import InputError
from lessons_kb.text.sanitize import clean

MAX_BYTES = 50_000_000
_MAX_TEXT = 20_000
"""The maximum number of characters of a failure's text that are stored."""
_BAD = ("failure", "error")


class CaseName(NamedTuple):
    """The name of a test, which is the same in both reports."""

    group: str
    """Its class, module or file."""
    name: str

    def __str__(self) -> str:
        return "::".join(filter(None, self))


class Failure(NamedTuple):
    """A test that failed."""

    test: CaseName
    message: str
    """The message of the failure in one line, or the type of the failure if it has no message."""
    output: str
    """The text of the failure, such as its traceback."""


class Report(NamedTuple):
    """The tests of one run."""

    failed: dict[CaseName, Failure]
    passed: frozenset[CaseName]


class _DoctypeError(Exception):
    """The report has a document type, with which entities could be defined."""


class _Reader:
    """Collects the tests while expat reads a report."""

    def __init__(self) -> None:
        self.failed: dict[CaseName, Failure] = {}
        self.passed: set[CaseName] = set()
        self.is_report = False
        self._test: CaseName | None = None
        self._is_skipped = False
        self._bad: dict[str, str] | None = None
        """The attributes of the failure that is being read."""
        self._text: list[str] = []
        self._length = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        self.is_report = self.is_report or name in ("testsuites", "testsuite")
        if name == "testcase":
            group = attributes.get("classname") or attributes.get("file") or ""
            self._test = CaseName(clean(group).strip(), clean(attributes.get("name", "")).strip())
            self._is_skipped = False
        elif self._test is not None and name == "skipped":
            self._is_skipped = True
        elif self._test is not None and name in _BAD and self._bad is None:
            self._bad, self._text, self._length = attributes, [], 0

    def text(self, data: str) -> None:
        if self._bad is not None and self._length < _MAX_TEXT:
            self._text.append(data)
            self._length += len(data)

    def end(self, tag: str) -> None:
        name = tag.rpartition(":")[2]
        test = self._test
        if test is None:
            return
        if name in _BAD and self._bad is not None:
            output = clean("".join(self._text)).strip()[:_MAX_TEXT]
            said = self._bad.get("message") or self._bad.get("type") or output
            message = next(iter(clean(said).strip().splitlines()), "")
            self.failed.setdefault(test, Failure(test=test, message=message, output=output))
            self._bad = None
        elif name == "testcase":
            if not self._is_skipped and test not in self.failed:
                self.passed.add(test)
            self._test = None


def read_report(data: bytes, *, name: str) -> Report:
    """Return the tests of a JUnit report. ``name`` is the name of the file, for messages.

    A report with a document type is refused, because no test runner writes one and its entities
    could fill the memory. Raises InputError.
    """
    if len(data) > MAX_BYTES:
        raise InputError(
            f"{name} has more than {MAX_BYTES:,} bytes; give the report of fewer tests"
        )
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text

    def refuse(*_arguments: object) -> None:
        raise _DoctypeError

    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(data, True)
    except _DoctypeError:
        raise InputError(f"{name}: a JUnit report has no DOCTYPE; it is refused") from None
    # ValueError and LookupError: an encoding is unknown or has several bytes for a character.
    except (expat.ExpatError, ValueError, LookupError) as error:
        raise InputError(f"{name} is not XML: {error}; give a JUnit report") from None
    if not reader.is_report:
        raise InputError(f"{name} has no test suites; give a JUnit report")
    return Report(failed=reader.failed, passed=frozenset(reader.passed))


def find_repaired(before: Report, after: Report) -> list[Failure]:
    """Return the failures of tests that pass in the later run, in the order of the first."""
    return [failure for test, failure in before.failed.items() if test in after.passed]
