"""A question that names a file is no task about it."""

import pytest

from lessons_kb import Brain

CARD = """---
type: lesson
title: {title}
severity: high
paths: [{paths}]
symptoms: [{symptoms}]
---
## Root Cause
{cause}
## Prevention Checklist
- {item}
"""


@pytest.fixture
def billing(tmp_path):
    cards = {
        "cents": {
            "title": "Totals are integers of cents", "paths": "src/billing/*.py",
            "symptoms": "sum up an invoice, rounding of money",
            "cause": "Floats lose cents when they are added.", "item": "Keep amounts in integer cents"
        },
        "columns": {
            "title": "Never drop a column that old code writes", "paths": "migrations/*.sql",
            "symptoms": "drop a column, remove a field", "cause": "Old processes write the column.",
            "item": "Drop it one release later"
        }
    }  # fmt: skip
    (tmp_path / "lessons").mkdir()
    for name, fields in cards.items():
        (tmp_path / "lessons" / f"{name}.md").write_text(CARD.format(**fields))
    return tmp_path


@pytest.mark.parametrize(
    ("prompt", "drawn"),
    [
        ("what does total() in src/billing/invoice.py return?", False),
        ("Explain src/billing/invoice.py", False),
        ("fix total() in src/billing/invoice.py", True),
        ("Can you change src/billing/invoice.py so that it returns a list?", True),
        ("why do we lose cents when we sum up an invoice in src/billing/invoice.py?", True),
    ],
)
def test_a_question_draws_no_card_of_the_file_it_names(billing, prompt, drawn):
    with Brain.open(billing, directory=billing) as brain:
        assert bool(brain.preflight(prompt).lessons) is drawn
