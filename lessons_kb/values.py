"""``@frozen``: a frozen, keyword-only, slotted dataclass that costs a third of the usual one.

``dataclass`` compiles the source of each method for each class, which takes a short command longer
than its work: 45 classes are a fifth of `lessons list`. Here the methods that are the same for all
classes are written once, and only ``__init__`` is generated. That a value is not changed is checked
by the type checker, not while the program runs. All else is as usual: ``fields``, ``replace``,
``is_dataclass``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


def _values_of(value: object) -> tuple[object, ...]:
    return tuple(getattr(value, name) for name in value.__dataclass_fields__)  # type: ignore[attr-defined]


def _equals(self: object, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values_of(self) == _values_of(other)


def _hash(self: object) -> int:
    return hash(_values_of(self))


def _describe(self: object) -> str:
    shown = (f"{one.name}={getattr(self, one.name)!r}" for one in fields(self))  # type: ignore[arg-type]
    return f"{type(self).__qualname__}({', '.join(shown)})"


_METHODS = {"__eq__": _equals, "__hash__": _hash, "__repr__": _describe}


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a value; see above."""
    for name, method in _METHODS.items():
        setattr(cls, name, method)
    return dataclass(kw_only=True, slots=True, eq=False, repr=False)(cls)
