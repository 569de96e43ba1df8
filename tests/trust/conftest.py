"""The table of trust: what is promised in SPEC §13, held against real processes and disks.

`python -m benchmarks trust` prints the figures.
"""

import pytest

from tests.kit import make_brain


@pytest.fixture
def root(tmp_path):
    """A folder that this user has made a brain."""
    folder = tmp_path / "brain"
    folder.mkdir()
    make_brain(str(folder))
    return folder.resolve()
