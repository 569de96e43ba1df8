"""Options as a command declares them: types in its signature, their help in its docstring."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from copy import copy
from typing import Annotated, Any, get_origin, get_type_hints

from typer import Argument, Option
from typer.models import OptionInfo

from lessons_kb.errors import InputError

_NAMES = r"(?P<names>--?[\w/-]+(?:, --?[\w/-]+)*)"
_ROW = re.compile(rf"(?:{_NAMES}(?: |(?=  )))?(?P<metavar>\S+(?: \S+)*)?  +(?P<help>.+)")


@functools.cache
def declare_options(command: Callable[..., None]) -> str:
    """Give typer the rows of a command's docstring, each of an option; return the rest of it.

    A row is what `--help` shows: ``--since, -s TIME  When.``, or ``FILE  What to read.`` of an
    argument. A further line of it is indented. The parameter has the option's name, with an
    underscore behind that of a builtin. ``Annotated[str, values]`` takes these values alone.
    """
    rest: list[str] = []
    rows: list[dict[str, str | None]] = []
    for line in inspect.cleandoc(command.__doc__ or "").split("\n"):
        if rows and line.startswith(" "):
            rows[-1]["help"] = f"{rows[-1]['help']} {line.strip()}"
        elif found := _ROW.fullmatch(line):
            rows.append(found.groupdict())
        else:
            rest.append(line)
    types = get_type_hints(command, include_extras=True)
    arguments = (name for name, one in types.items() if get_origin(one) is not Annotated)
    for row in rows:
        names = (row["names"] or "").split(", ")
        name = names[0].partition("/")[0].strip("-").replace("-", "_") or next(arguments)
        name = name if name in types else f"{name}_"
        kind, declared = types[name], Option() if names[0] else Argument()
        if get_origin(kind) is Annotated:
            kind, declared = kind.__origin__, copy(kind.__metadata__[0])
            if not isinstance(declared, OptionInfo):
                declared = choose(names[0], declared)
        declared.default, declared.param_decls = ..., names if names[0] else None
        declared.help, declared.metavar = row["help"], row["metavar"]
        types[name] = Annotated[kind, declared]
    command.__annotations__ = types
    return "\n".join(rest)


def choose(name: str, values: Sequence[str], told: str = "") -> Any:
    """Return an option, for which typer takes only these values."""

    def check(value: Any) -> Any:
        for one in value if isinstance(value, list) else [value]:
            check_choice(name, one, values)
        return value

    return Option(name, callback=check, help=told or f"One of {', '.join(values)}.")


def check_choice(option: str, value: str | None, choices: Sequence[str]) -> None:
    """Raise InputError for a value that is none of an option's; None is an option left out."""
    if value is not None and value not in choices:
        raise InputError(f"{option} must be one of {', '.join(choices)}, not {value!r}")
