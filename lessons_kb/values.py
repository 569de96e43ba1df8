"""Values: keyword-only, slotted dataclasses and named tuples that are cheap to define.

``dataclasses.dataclass`` compiles the source of each method of each class, and imports ``inspect``.
In a short command, both together take longer than the work itself. Here all classes share their
methods, and a class gets a compiled ``__init__`` once it is used often. The type checker, not the
running program, ensures that a value does not change. ``dataclasses`` treats these classes as its
own. It is imported only when a caller uses one of its functions.

``typing.NamedTuple`` compiles a method of each class as well (0.1 ms). The modules that the events
of an agent load use the `NamedTuple` of this module, which behaves like it.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from dataclasses import field, replace
    from typing import NamedTuple, Self

__all__ = [
    "NamedTuple",
    "compile_early",
    "field",
    "frozen",
    "is_value",
    "list_defaults",
    "list_fields",
    "mutable",
    "replace",
]

T = TypeVar("T")
_FIELDS, _OF_DATACLASSES = "__value_fields__", "__dataclass_fields__"
_REQUIRED = object()


def compile_early() -> None:
    """Compile the ``__init__`` of each class with its next value. This pays in a long process."""
    _Fields.few = 0


class _Factory:
    """A function that creates a new default of a field for each value."""

    def __init__(self, make: Callable[[], object]) -> None:
        self.make = make


if not TYPE_CHECKING:  # mypy uses the functions of ``dataclasses`` and checks their arguments

    def field(*, default_factory: Callable[[], object]) -> object:
        """Return a marker for a field whose default is created anew for each value."""
        return _Factory(default_factory)

    def replace(value: T, **changes: object) -> T:
        """Return a value with some fields changed."""
        kind = type(value)
        fields: _Fields | None = getattr(kind, _FIELDS, None)
        if fields is None or not changes.keys() <= fields.defaults.keys():
            names = list_fields(value)
            kept = {name: getattr(value, name) for name in names if name not in changes}
            return kind(**kept, **changes)  # raises TypeError for an unknown field
        # A call of the class would check the fields again, which takes three times as long.
        copy = object.__new__(kind)
        for name in fields.defaults:
            setattr(copy, name, changes[name] if name in changes else getattr(value, name))
        return copy


class _Fields:
    """The fields of a class, and the functions that fill a new value of it."""

    few = 200
    """The number of values of a class after which its ``__init__`` is compiled. Until then, values
    are filled field by field.
    """

    def __init__(self, written: type, defaults: dict[str, Any]) -> None:
        self.written = written
        """The class as the source defines it."""
        self.defaults = defaults
        """A mapping from each field to its default, to a `_Factory`, or to `_REQUIRED`."""
        self.required = {name for name, default in defaults.items() if default is _REQUIRED}
        self.factories = {n: one.make for n, one in defaults.items() if isinstance(one, _Factory)}
        self.filled = 0

    def fill(self, value: object, given: dict[str, Any]) -> None:
        """Fill the fields of a new value.

        Raises TypeError for a field that is missing or unknown.
        """
        contents = self.defaults | given
        if len(contents) > len(self.defaults):
            unknown = ", ".join(sorted(given.keys() - self.defaults.keys()))
            raise TypeError(f"{self.written.__name__} has no field {unknown}")
        if missing := self.required - given.keys():
            raise TypeError(f"{self.written.__name__} needs {', '.join(sorted(missing))}")
        for name, make in self.factories.items():
            if name not in given:
                contents[name] = make()
        for name, content in contents.items():
            setattr(value, name, content)
        self.filled += 1

    def compile_init(self) -> Callable[..., None]:
        """Return an ``__init__`` that is equivalent to `fill` and three times as fast."""
        parameters, lines = [], []
        for name in self.defaults:
            parameters.append(name if name in self.required else f"{name}=defaults[{name!r}]")
            made = f"factories[{name!r}]() if {name} is defaults[{name!r}] else {name}"
            lines.append(f"self.{name} = {made if name in self.factories else name}")
        head = f"def __init__(self, *, {', '.join(parameters)}):"
        names = {"defaults": self.defaults, "factories": self.factories}
        exec("\n    ".join([head, *lines]), names)  # noqa: S102 all of the code is our own
        init: Callable[..., None] = names["__init__"]  # type: ignore[assignment]
        return init

    def make_dataclass(self) -> type:
        """Return the class as an ordinary dataclass."""
        import dataclasses

        for name, make in self.factories.items():
            if name in self.written.__dict__:
                setattr(self.written, name, dataclasses.field(default_factory=make))
        return dataclasses.dataclass(kw_only=True, eq=False, repr=False)(self.written)


class _DataclassFields:
    """The attribute by which ``dataclasses`` recognises a class, created on first access."""

    def __get__(self, value: object, owner: type) -> object:
        made = getattr(owner, _FIELDS).make_dataclass()
        for name in (_OF_DATACLASSES, "__dataclass_params__"):
            setattr(owner, name, getattr(made, name))
        return getattr(owner, _OF_DATACLASSES)


def _contents(value: object) -> tuple[object, ...]:
    return tuple([getattr(value, name) for name in list_fields(value)])


def _equals(self: object, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _contents(self) == _contents(other)


def _hash(self: object) -> int:
    return hash(_contents(self))


def _describe(self: object) -> str:
    shown = (f"{name}={getattr(self, name)!r}" for name in list_fields(self))
    return f"{type(self).__qualname__}({', '.join(shown)})"


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Turn a class into a value with shared methods, whose fields must not be reassigned."""
    return _make(cls, _hash)


@dataclass_transform(kw_only_default=True, field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Turn a class into a record: a value whose fields may change, and which has no hash."""
    return _make(cls, None)


def _make(cls: type[T], hash_value: Callable[[object], int] | None) -> type[T]:
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        if (of_base := base.__dict__.get(_FIELDS)) is not None:
            inherited |= of_base.defaults
    members = dict(cls.__dict__)
    for name in ("__dict__", "__weakref__"):
        members.pop(name, None)
    own: dict[str, Any] = {}
    for name, annotation in cls.__annotations__.items():
        if not str(annotation).startswith("ClassVar"):
            own[name] = members.pop(name, _REQUIRED)
    fields = _Fields(cls, inherited | own)

    def fill(self: Any, **given: Any) -> None:
        if fields.filled >= _Fields.few:
            made.__init__ = fields.compile_init()
        fields.fill(self, given)

    members |= {
        "__slots__": tuple([name for name in own if name not in inherited]),
        "__init__": fill,
        "__eq__": _equals,
        "__hash__": hash_value,
        "__repr__": _describe,
        _FIELDS: fields,
        _OF_DATACLASSES: _DataclassFields(),
    }
    kind: Any = type(cls)
    made: Any = kind(cls.__name__, cls.__bases__, members)
    made.__qualname__ = cls.__qualname__
    return made  # type: ignore[no-any-return]


def list_fields(value: object) -> Iterable[str]:
    """Return the names of the fields of a value or a dataclass, or of the class of either."""
    kind = value if isinstance(value, type) else type(value)
    fields: _Fields | None = getattr(kind, _FIELDS, None)
    names: dict[str, object] = fields.defaults if fields else getattr(kind, _OF_DATACLASSES)
    return names


def list_defaults(kind: type) -> dict[str, Any]:
    """Return the fields of a class that have a default, with their defaults."""
    fields: _Fields = getattr(kind, _FIELDS)
    named = fields.defaults.items()
    return {name: value for name, value in named if name not in fields.required}


def is_value(value: object) -> bool:
    """Return whether an object is a value or an instance of an ordinary dataclass."""
    kind = type(value)
    return hasattr(kind, _FIELDS) or hasattr(kind, _OF_DATACLASSES)


if not TYPE_CHECKING:  # mypy knows the fields of ``typing.NamedTuple``

    class _NamedTupleType(type):
        """Gives a class of tuples a property for each annotated item."""

        def __new__(
            cls, name: str, bases: tuple[type, ...], members: dict[str, Any]
        ) -> _NamedTupleType:
            if names := tuple(members.get("__annotations__", ())):
                defaults = {item: members.pop(item) for item in names if item in members}
                for place, item in enumerate(names):
                    members[item] = property(itemgetter(place))
                members |= {"__slots__": (), "__match_args__": names}
                members |= {"_fields": names, "_field_defaults": defaults}
            return super().__new__(cls, name, bases, members)

    class NamedTuple(tuple, metaclass=_NamedTupleType):
        """A tuple with named items, which are given by position or by name."""

        __slots__ = ()

        def __new__(cls, *items: object, **named: object) -> Self:
            if named or len(items) != len(cls._fields):
                items = _complete(cls, items, named)
            return tuple.__new__(cls, items)

        def __getnewargs__(self) -> tuple[object, ...]:
            return tuple(self)

        def __repr__(self) -> str:
            shown = (f"{name}={item!r}" for name, item in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(shown)})"

        def _asdict(self) -> dict[str, object]:
            """Return a mapping from the names to the items."""
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, **changes: object) -> Self:
            """Return a tuple with some items changed."""
            return type(self)(**(self._asdict() | changes))


def _complete(kind: Any, items: tuple[object, ...], named: dict[str, object]) -> tuple[object, ...]:
    """Return all items of a named tuple in order. Raises TypeError for a wrong number or name."""
    if len(items) > len(kind._fields):
        raise TypeError(f"{kind.__name__} has only {len(kind._fields)} items")
    by_position = dict(zip(kind._fields, items, strict=False))
    if repeated := by_position.keys() & named.keys():
        raise TypeError(f"{kind.__name__} has two items {', '.join(sorted(repeated))}")
    contents = kind._field_defaults | by_position | named
    missing = [name for name in kind._fields if name not in contents]
    if missing or len(contents) > len(kind._fields):
        wrong = missing or sorted(contents.keys() - set(kind._fields))
        problem = "needs" if missing else "has no item"
        raise TypeError(f"{kind.__name__} {problem} {', '.join(wrong)}")
    return tuple([contents[name] for name in kind._fields])
