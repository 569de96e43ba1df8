"""The command line in this process: fast, with its real entry, streams and exit codes."""

from __future__ import annotations

import io
import pathlib
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from lessons_kb.cli.main import main

EXAMPLE = pathlib.Path(__file__).parents[2] / "brain-example"


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What a command did."""

    code: int
    out: str
    err: str


@pytest.fixture
def lessons(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Result]:
    def run(*arguments: object, stdin: str | None = None) -> Result:
        monkeypatch.setattr(sys, "argv", ["lessons", *map(str, arguments)])
        stream = io.TextIOWrapper(io.BytesIO((stdin or "").encode()), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", stream)
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main()
        seen = capsys.readouterr()
        code = stop.value.code
        return Result(code=code if isinstance(code, int) else 1, out=seen.out, err=seen.err)

    return run


@pytest.fixture
def brain(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A trusted copy of the example brain; the working directory lies in it."""
    from lessons_kb.brain.init import trust_brain

    root = tmp_path / "brain-example"
    shutil.copytree(EXAMPLE, root, ignore=shutil.ignore_patterns(".lessons"))
    trust_brain(str(root))
    monkeypatch.chdir(root)
    return root
