"""Simulated histories of which the truth is known, in small."""

import pytest

from benchmarks.judgement.history import (
    CORRECTS,
    MEANT,
    NATURES,
    SUBJECTS,
    WITHOUT,
    judge,
    play,
    play_sixty,
)

pytestmark = pytest.mark.slow

SESSIONS = 96


def test_stats_tell_who_helps_and_who_harms(tmp_path):
    truth = play(tmp_path / "brain", sessions=SESSIONS, seed=2)
    table, overview = judge(tmp_path / "brain", truth)
    assert sorted(truth.values()) == sorted([*NATURES] * 4)
    wrong = {(nature, verdict) for nature, verdict in table if verdict in ("helps", "harms")}
    assert wrong <= {("prevents", "helps"), ("harms", "harms")}
    better = {"prevents": 0, "harms": 0, "does nothing": 0}
    for effect in (one for one in overview.effects if one.card.id in truth):
        better[truth[effect.card.id]] += 1 if effect.difference > 0 else -1
    assert better["prevents"] >= 2
    assert better["harms"] <= -2
    archived = {e.card.id for e in overview.effects if e.proposal == "archive"}
    assert archived >= {e.card.id for e in overview.effects if e.verdict == "harms"}
    assert overview.sessions > SESSIONS // 2


def test_half_of_two_hundred_sessions_withheld_tell_the_truth(tmp_path):
    truth = play(tmp_path / "brain", sessions=200, seed=2, subjects=SUBJECTS[:3])
    table, overview = judge(tmp_path / "brain", truth)
    assert table == {(name, nature.verdict): 1 for name, nature in NATURES.items()}
    for effect in overview.effects:
        if name := truth.get(effect.card.id):
            difference = (1 - CORRECTS) * (WITHOUT[name] - NATURES[name].mistake)
            low, high = effect.interval
            assert low <= difference <= high
            assert effect.told.of + effect.untold.of == 200


def test_sixty_lessons_are_judged_as_they_are_and_none_helps_that_does_not(tmp_path):
    right = covered = 0
    for seed in (1, 11):  # 95 % are right over many seeds; 11 is the worst of the first twelve
        table, held = play_sixty(tmp_path / f"brain-{seed}", seed=seed)
        right += sum(n for (nature, verdict), n in table.items() if MEANT[nature] == verdict)
        assert not [key for key in table if key[1] == "helps" and MEANT[key[0]] != "helps"]
        covered += held
    assert right >= 108
    assert covered / 2 >= 0.9
