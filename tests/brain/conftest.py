"""A small brain in a folder of its own."""

import time

import pytest


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "brain"
    folder.mkdir()
    return folder


@pytest.fixture
def settle():
    """Wait until files written so far are old enough to be vouched for."""
    return lambda: time.sleep(0.03)
