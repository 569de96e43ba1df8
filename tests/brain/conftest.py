"""A small brain in a folder of its own."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Callable

import pytest


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    folder = tmp_path / "brain"
    folder.mkdir()
    return folder


@pytest.fixture
def settle() -> Callable[[], None]:
    """Wait until files written so far are old enough to be vouched for."""
    return lambda: time.sleep(0.03)
