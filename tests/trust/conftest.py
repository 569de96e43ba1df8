"""The table of trust: what is promised in SPEC §13, held against real processes and disks.

The fast tests do little of each, those marked slow do it in full. `python -m benchmarks trust`
prints the figures.
"""

import pytest

from tests.kit import make_brain


def pytest_configure(config):
    config.addinivalue_line("markers", "amounts(few, many): run with each; the many are slow")
    config.addinivalue_line("markers", "few: what the same test does in full when it is slow")


def pytest_generate_tests(metafunc):
    if (marker := metafunc.definition.get_closest_marker("amounts")) is not None:
        few, many = marker.args
        amounts = (
            pytest.param(few, marks=pytest.mark.few),
            pytest.param(many, marks=pytest.mark.slow),
        )
        metafunc.parametrize("amount", amounts)


@pytest.fixture
def root(tmp_path):
    """A folder that this user has made a brain."""
    folder = tmp_path / "brain"
    folder.mkdir()
    make_brain(str(folder))
    return folder.resolve()
