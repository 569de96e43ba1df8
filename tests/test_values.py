"""Values behave as the dataclasses of the standard library do."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import typing

import pytest

from lessons_kb import values
from lessons_kb.values import field, frozen, list_defaults, list_fields, mutable, replace
from tests.kit import run_python


@frozen
class Point:
    x: int
    y: int = 0
    names: list[str] = field(default_factory=list)


@frozen
class Named(Point):
    name: str = "origin"

    @property
    def label(self) -> str:
        return f"{self.name} {self.x}"


@mutable
class Counter:
    total: int = 0


@dataclasses.dataclass
class Ordinary:
    size: int = 1


@pytest.fixture(params=["filled field by field", "compiled"])
def point(request):
    """Point, as it is while it has few values and once it has many."""

    @frozen
    class Fresh:
        x: int
        y: int = 0
        names: list[str] = field(default_factory=list)

    if request.param == "compiled":
        for x in range(values._Fields.few + 1):
            Fresh(x=x)
    return Fresh


def test_a_value_has_what_it_was_given_and_defaults(point):
    made = point(x=3)
    assert (made.x, made.y, made.names) == (3, 0, [])


def test_each_value_gets_a_default_of_its_own(point):
    one, other = point(x=1), point(x=1)
    one.names.append("a")
    assert other.names == []
    assert point(x=1, names=["b"]).names == ["b"]


def test_a_field_that_is_missing_or_unknown_is_refused(point):
    with pytest.raises(TypeError, match="x"):
        point()
    with pytest.raises(TypeError, match="z"):
        point(x=1, z=2)
    with pytest.raises(TypeError):
        point(1)


def test_values_are_equal_by_their_fields():
    assert Named(x=1) == Named(x=1)
    assert Named(x=1) != Named(x=2)
    assert Named(x=1) != Point(x=1)
    assert repr(Named(x=1)) == "Named(x=1, y=0, names=[], name='origin')"


def test_only_what_does_not_change_has_a_hash():
    @frozen
    class Key:
        name: str

    assert {Key(name="a"), Key(name="a")} == {Key(name="a")}
    with pytest.raises(TypeError):
        hash(Counter())


def test_a_value_has_no_other_attributes():
    counter = Counter()
    counter.total += 1
    assert counter == Counter(total=1)
    with pytest.raises(AttributeError):
        counter.other = 1  # type: ignore[attr-defined]


def test_a_class_inherits_fields():
    named = Named(x=2, name="n")
    assert (named.label, named.y) == ("n 2", 0)
    assert [*list_fields(Named)] == ["x", "y", "names", "name"]
    assert list_defaults(Named)["name"] == "origin"
    assert "x" not in list_defaults(Named)


def test_the_standard_library_takes_it_for_its_own():
    named = Named(x=1, names=["a"])
    assert dataclasses.is_dataclass(Named)
    assert dataclasses.asdict(named) == {"x": 1, "y": 0, "names": ["a"], "name": "origin"}
    assert [one.name for one in dataclasses.fields(named)] == ["x", "y", "names", "name"]
    assert dataclasses.fields(Counter)[0].default == 0
    assert dataclasses.replace(named, x=5) == replace(named, x=5) == Named(x=5, names=["a"])


def test_a_value_can_be_copied_and_sent_to_another_process():
    named = Named(x=1, names=["a"])
    assert pickle.loads(pickle.dumps(named)) == copy.deepcopy(named) == named


def test_an_ordinary_dataclass_can_be_replaced_too():
    assert replace(Ordinary(), size=2) == Ordinary(size=2)


def test_defining_and_filling_values_does_not_import_dataclasses(tmp_path):
    script = "import lessons_kb.config, sys; print('dataclasses' in sys.modules)"
    assert run_python(script, cwd=tmp_path).out.strip() == "False"


class StandardPlace(typing.NamedTuple):
    x: int
    y: int = 0

    @property
    def label(self) -> str:
        return f"{self.x}, {self.y}"


class CheapPlace(values.NamedTuple):
    x: int
    y: int = 0

    @property
    def label(self) -> str:
        return f"{self.x}, {self.y}"


@pytest.fixture(params=[StandardPlace, CheapPlace])
def place_type(request):
    return request.param


def test_a_named_tuple_is_a_tuple_whose_items_have_names(place_type):
    place = place_type(1, y=2)
    assert (place.x, place.y, place.label) == (1, 2, "1, 2")
    assert place == (1, 2)
    assert hash(place) == hash((1, 2))
    assert [*place, place[1], place[:1]] == [1, 2, 2, (1,)]
    assert repr(place) == f"{place_type.__name__}(x=1, y=2)"
    assert place_type(1).y == 0
    assert place_type(x=3) == (3, 0)
    assert place._replace(y=5) == (1, 5)
    assert isinstance(place._replace(y=5), place_type)
    assert place._asdict() == {"x": 1, "y": 2}
    match place:
        case place_type(x, 2):
            assert x == 1
        case _:
            pytest.fail("it does not match by position")


def test_a_named_tuple_can_be_copied_and_pickled_and_has_no_other_attributes(place_type):
    place = place_type(1, 2)
    for copied in (copy.copy(place), copy.deepcopy(place), pickle.loads(pickle.dumps(place))):
        assert copied == place
        assert type(copied) is place_type
    with pytest.raises(AttributeError):
        place.x = 3
    with pytest.raises(AttributeError):
        place.z = 3


@pytest.mark.parametrize(
    ("items", "named"),
    [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"z": 2}), ((), {"y": 2})],
    ids=repr,
)
def test_a_named_tuple_refuses_missing_repeated_and_unknown_items(place_type, items, named):
    with pytest.raises(TypeError):
        place_type(*items, **named)
    with pytest.raises((TypeError, ValueError)):
        place_type(1, 2)._replace(z=3)
