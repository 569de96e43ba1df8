import pytest

from lessons_kb.config import settings_from_dict
from lessons_kb.errors import ConfigError
from lessons_kb.model import as_data
from lessons_kb.store.brain_settings import read_settings


def write(root, text):
    (root / "lessons.toml").write_text(text)
    return str(root)


def test_patterns_are_read_and_survive_the_catalogue(tmp_path):
    root = write(tmp_path, "[triggers]\npatterns = ['schon wieder', 'noch ?mal']\n")
    settings, origins = read_settings(root)
    assert settings.triggers.patterns == ("schon wieder", "noch ?mal")
    assert origins == {"triggers.patterns": "lessons.toml:2"}
    assert settings_from_dict(as_data(settings)) == settings


@pytest.mark.parametrize(("value", "words"), [
    (r"['(a)\1']", r"lessons.toml:2: the pattern '(a)\\1' is not usable: it is not a valid"),
    ("['" + "x" * 201 + "']", "201 characters"),
    ("['x*']", "empty text"),
    (r"['\p{L}{0,1000}']", "too large"),
    ('[\n  "fine",\n  "a(?!b)",\n]', "lessons.toml:4: the pattern 'a(?!b)' is not usable"),
    ("['" + "[^.]{0,99}x" * 10 + "']", "too large"),
    (str([f"[^.]{{0,90}}x{n}" for n in range(9)]), "too large together"),
    ("['[']", "not a valid RE2 regular expression"),
    ("'one'", "must be a list of texts"),
    ("[1]", "must be a list of texts"),
    (str(["x"] * 51), "51 patterns"),
])  # fmt: skip
def test_a_pattern_that_cannot_be_used_is_named(tmp_path, value, words):
    with pytest.raises(ConfigError) as refused:
        read_settings(write(tmp_path, f"[triggers]\npatterns = {value}\n"))
    assert words in str(refused.value)
