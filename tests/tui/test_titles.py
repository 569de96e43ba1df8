"""Titles are cut so that they stay apart."""

import pytest

from lessons_kb.tui.titles import fit_titles, strip_shared_prefix


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (["fix: add up items", "fix: charge once"], ["add up items", "charge once"]),
        (["fix(api): add up", "fix: charge once"], ["api: add up", "charge once"]),
        (["fix: add up", "feat: charge"], ["fix: add up", "feat: charge"]),
        (["fix: add up", "Charge once"], ["fix: add up", "Charge once"]),
        (["fix: add up"], ["fix: add up"]),
        ([], []),
    ],
)
def test_a_kind_that_all_titles_share_is_left_out(titles, expected):
    assert strip_shared_prefix(titles) == expected


def test_titles_that_would_look_alike_are_cut_in_the_middle():
    alike = ["resolve the issue of the meal screen", "resolve the issue of the user screen"]
    fitted = fit_titles([*alike, "resolve another issue of a screen"], 22)
    assert fitted == ["resolve th…meal screen", "resolve th…user screen", "resolve another issue…"]
    assert fit_titles(["short", "short"], 22) == ["short", "short"]
    assert fit_titles(["the very same long title"] * 2, 10) == ["the very…"] * 2


@pytest.mark.parametrize("width", range(1, 12))
def test_wide_characters_stay_within_the_width(width):
    from rich.cells import cell_len

    titles = ["결제를 재시도하면 두 번 청구", "결제를 재시도하면 세 번 청구"]
    assert all(cell_len(title) <= width for title in fit_titles(titles, width))
