import pathlib

from lessons_kb.cards.sketch import fill, remove_guidance

TEMPLATE = (pathlib.Path(__file__).parents[2] / "templates" / "lesson.md").read_text("utf-8")


def test_a_template_keeps_its_guidance_for_missing_sections():
    text = fill(TEMPLATE, {"Situation": "It happened."})
    assert "## Situation\n\nIt happened.\n\n## Mistake / Risk\n\n<!-- What was done" in text
    assert "What was being done" not in text
    assert fill(TEMPLATE, {}) == TEMPLATE


def test_a_draft_has_no_advice_of_the_template():
    bare = remove_guidance(TEMPLATE)
    assert "<!--" not in bare
    assert "\n#" not in bare.partition("\n---\n")[0]
    headings = [line for line in TEMPLATE.splitlines() if line.startswith("## ")]
    assert [line for line in bare.splitlines() if line.startswith("## ")] == headings
