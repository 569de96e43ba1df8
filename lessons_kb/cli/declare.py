"""Declare an option that accepts only a few values, with our own message for other values.

All other options and arguments are declared in the way that typer documents: ``Annotated`` in the
signature of the command, with ``Option`` or ``Argument``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer import Option

from lessons_kb.errors import InputError


def choose(name: str, values: Sequence[str], *, metavar: str, help: str) -> Any:  # noqa: A002
    """Return an option for typer that accepts only these values."""

    def check(value: Any) -> Any:
        words = value if isinstance(value, list) else [value]
        for word in words:
            check_choice(name, word, values)
        return value

    return Option(name, metavar=metavar, callback=check, help=help)


def check_choice(option: str, value: str | None, choices: Sequence[str]) -> None:
    """Raise InputError unless the value is one of the choices. None means that it was omitted."""
    if value is not None and value not in choices:
        raise InputError(f"{option} must be one of {', '.join(choices)}, not {value!r}")
