"""Every test has a home of its own: no test sees or changes the user's state."""

from __future__ import annotations

import os
import pathlib

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update", action="store_true", help="Write golden files and README anew.")


@pytest.fixture(autouse=True)
def _own_home(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> pathlib.Path:
    home = tmp_path_factory.mktemp("home")
    for name in ("LESSONS_BRAIN", "LESSONS_STATE_HOME", "LESSONS_DEBUG", "EDITOR", "VISUAL"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith(("XDG_", "GIT_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home
