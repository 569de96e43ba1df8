"""Shared by the tests of this room."""

from __future__ import annotations

import os

import pytest

import lessons_kb


@pytest.fixture
def python_path():
    """Environment in which a fresh interpreter finds the package."""
    root = os.path.dirname(os.path.dirname(lessons_kb.__file__))
    return {**os.environ, "PYTHONPATH": root}
