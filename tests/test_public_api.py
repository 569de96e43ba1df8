"""What a user of the library may rely on."""

import ast
from pathlib import Path

import lessons_kb
from lessons_kb.library import Library


def test_the_front_door_shows_what_it_has():
    assert lessons_kb.__all__ == sorted(lessons_kb.__all__)
    assert {name for name in dir(lessons_kb) if not name.startswith("__")} == set(
        lessons_kb.__all__
    )


def test_every_name_can_be_had():
    assert lessons_kb.Brain is Library  # the one alias
    for name in set(lessons_kb.__all__) - {"Brain"}:
        assert getattr(lessons_kb, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(lessons_kb, "Nothing")


def test_a_type_checker_finds_each_public_name():
    tree = ast.parse(Path(lessons_kb.__file__).read_text("utf-8"))
    (checked,) = (node for node in tree.body if isinstance(node, ast.If))
    names = {alias.asname for node in checked.body for alias in node.names}
    assert names == set(lessons_kb.__all__)
