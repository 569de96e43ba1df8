"""Shared by the tests of this room."""

import os

import pytest
from hypothesis import settings

import lessons_kb

settings.register_profile("patient", deadline=None)  # a busy machine is no failure
settings.load_profile("patient")


@pytest.fixture
def python_path():
    """Environment in which a fresh interpreter finds the package."""
    root = os.path.dirname(os.path.dirname(lessons_kb.__file__))
    return {**os.environ, "PYTHONPATH": root}
