"""The table of trust: what is promised in SPEC §13, held against real processes and disks.

The fast tests do little of each, those marked slow do it in full. `python -m benchmarks trust`
prints the figures.
"""

from __future__ import annotations

import pathlib

import pytest


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "amounts(few, many): run with each; the many are slow")
    config.addinivalue_line("markers", "few: what the same test does in full when it is slow")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if (marker := metafunc.definition.get_closest_marker("amounts")) is not None:
        few, many = marker.args
        amounts = (
            pytest.param(few, marks=pytest.mark.few),
            pytest.param(many, marks=pytest.mark.slow),
        )
        metafunc.parametrize("amount", amounts)


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder that this user has made a brain."""
    from lessons_kb.brain.make_brain import make_brain

    folder = tmp_path / "brain"
    folder.mkdir()
    make_brain(str(folder))
    return folder.resolve()
