"""Conditions of a card about versions of packages."""

import pytest

from lessons_kb.cards.conditions import list_conditions, parse_condition
from lessons_kb.errors import InputError


@pytest.mark.parametrize(
    ("text", "ecosystem", "name", "clauses"),
    [
        ("pandas<2", "", "pandas", (("<", "2"),)),
        ("node >= 20", "", "node", ((">=", "20"),)),
        ("django~=5.1", "", "django", (("~=", "5.1"),)),
        ("npm:redis<5", "npm", "redis", (("<", "5"),)),
        ("PyPI:redis>=4,<5", "python", "redis", ((">=", "4"), ("<", "5"))),
        ("npm:@types/node^20.1", "npm", "@types/node", (("^", "20.1"),)),
        ("cargo:serde=1.0.200", "cargo", "serde", (("=", "1.0.200"),)),
        ("go:github.com/redis/go-redis/v9<v9.5.0", "go", "github.com/redis/go-redis/v9",
         (("<", "9.5.0"),)),
    ],
)  # fmt: skip
def test_a_condition_names_a_package_and_a_range(text, ecosystem, name, clauses):
    condition = parse_condition(text)
    assert (condition.ecosystem, condition.name, condition.clauses) == (ecosystem, name, clauses)


@pytest.mark.parametrize(
    "text", ["pandas", "", "<2", "pandas<two", "gem:rails<7", "when editing tests", "a<1,", "a<1 b"]
)
def test_another_text_is_none(text):
    with pytest.raises(InputError):
        parse_condition(text)
    assert list_conditions([text, "pandas<2"]) == [parse_condition("pandas<2")]
