"""The table of trust: what is promised in SPEC §13, held against real processes and disks.

Each row is measured in a few seconds by the normal suite; with LESSONS_SLOW_TESTS=1 the figures
are the full ones. `python -m benchmarks trust` prints them.
"""

from __future__ import annotations

import os
import pathlib

import pytest

FULL = bool(os.environ.get("LESSONS_SLOW_TESTS"))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "amounts(short, full): how many of `amount`; the full one is for slow runs"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (marker := metafunc.definition.get_closest_marker("amounts")) is not None:
        short, full = marker.args
        wanted = pytest.param(full, marks=pytest.mark.slow) if FULL else short
        metafunc.parametrize("amount", [wanted])


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder that this user has made a brain."""
    from lessons_kb.brain.init import make_brain

    folder = tmp_path / "brain"
    folder.mkdir()
    make_brain(str(folder))
    return folder.resolve()
