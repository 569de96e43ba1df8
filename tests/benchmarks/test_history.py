"""A simulated history of which the truth is known, in small."""

import pytest

from benchmarks.history import NATURES, judge, play

pytestmark = pytest.mark.slow

SESSIONS = 96


def test_stats_tell_who_helps_and_who_harms(tmp_path):
    truth = play(tmp_path / "brain", sessions=SESSIONS, seed=2)
    table, overview = judge(tmp_path / "brain", truth)
    assert sorted(truth.values()) == sorted([*NATURES] * 4)
    assert table.get(("prevents", "helps"), 0) >= 3
    assert table.get(("harms", "harms"), 0) >= 3
    assert table.get(("prevents", "harms"), 0) == table.get(("harms", "helps"), 0) == 0
    assert table.get(("does nothing", "helps"), 0) <= 1
    archived = {e.card.id for e in overview.effects if e.proposal == "archive"}
    assert archived >= {e.card.id for e in overview.effects if e.verdict == "harms"}
    assert overview.sessions > SESSIONS // 2
