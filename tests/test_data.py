"""``lessons_kb/data``: the tables that are stored a second time as JSON."""

import json
import pathlib
import tomllib

import pytest

import lessons_kb
from lessons_kb.data import COMPILED, read_toml

DATA = pathlib.Path(lessons_kb.__file__).parent / "data"


@pytest.mark.parametrize("name", COMPILED)
def test_a_compiled_table_is_the_table(name, request):
    table = tomllib.loads((DATA / f"{name}.toml").read_text("utf-8"))
    text = json.dumps(table, indent=1, ensure_ascii=False) + "\n"
    compiled = DATA / "compiled" / f"{name}.json"
    if request.config.getoption("--update"):
        compiled.parent.mkdir(exist_ok=True)
        compiled.write_text(text, encoding="utf-8")
    assert compiled.read_text("utf-8") == text
    assert read_toml(f"{name}.toml") == table


def test_every_compiled_table_is_in_use():
    assert {path.stem for path in (DATA / "compiled").iterdir()} == set(COMPILED)
