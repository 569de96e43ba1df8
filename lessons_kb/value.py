"""Frozen keyword-only values, cheap enough for a hook.

The standard dataclass costs a fresh process most of a bare interpreter's start
(it imports ``inspect`` and compiles each class); a hook runs on every prompt.
Type checkers see an ordinary frozen keyword-only dataclass.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, ClassVar, Self, dataclass_transform
else:

    def dataclass_transform(**_):
        return lambda cls: cls


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value:
    """A frozen record: annotated names are its fields, class attributes their defaults.

    A missing or unknown field is a TypeError. Equality and hash go by class and fields.
    """

    _fields: ClassVar[tuple[str, ...]] = ()
    _names: ClassVar[frozenset[str]] = frozenset()
    _defaults: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        own = tuple(name for name in cls.__annotations__ if not name.startswith("_"))
        cls._fields = (*cls._fields, *own)
        cls._names = frozenset(cls._fields)
        cls._defaults = {**cls._defaults, **{n: cls.__dict__[n] for n in own if n in cls.__dict__}}

    def __init__(self, **values: Any) -> None:
        given = {**self._defaults, **values}
        if given.keys() != self._names:
            wrong = sorted(set(given) ^ set(self._fields))
            raise TypeError(f"{type(self).__name__}: missing or unknown: {', '.join(wrong)}")
        self.__dict__.update(given)

    def replace(self, **changes: Any) -> Self:
        """Return a copy with these fields changed."""
        if not changes.keys() <= self._names:
            return type(self)(**{**self.__dict__, **changes})  # says which are unknown
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON data: tuples as lists, nested values as dicts."""
        return {name: _plain(self.__dict__[name]) for name in self._fields}

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen: use replace({name}=…)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *(self.__dict__[name] for name in self._fields)))

    def __repr__(self) -> str:
        shown = (f"{n}={v!r}" for n, v in self.__dict__.items() if v != self._defaults.get(n, ...))
        return f"{type(self).__name__}({', '.join(shown)})"


def _plain(value: Any) -> Any:
    if isinstance(value, Value):
        return value.as_dict()
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
