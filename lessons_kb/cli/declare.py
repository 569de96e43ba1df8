"""An option that takes one of a few values, refused with our own message where it is another.

All other options and arguments are declared as typer documents it: ``Annotated`` in the signature
of the command, with ``Option`` or ``Argument``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer import Option

from lessons_kb.errors import InputError


def choose(name: str, values: Sequence[str], *, metavar: str, help: str) -> Any:  # noqa: A002
    """Return an option for typer that accepts only these values."""

    def check(value: Any) -> Any:
        chosen = value if isinstance(value, list) else [value]
        for word in chosen:
            check_choice(name, word, values)
        return value

    return Option(name, metavar=metavar, callback=check, help=help)


def check_choice(option: str, value: str | None, choices: Sequence[str]) -> None:
    """Raise InputError for a value that is none of an option's; None is an option left out."""
    if value is not None and value not in choices:
        raise InputError(f"{option} must be one of {', '.join(choices)}, not {value!r}")
