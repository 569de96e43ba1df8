"""Conditions of a card are decided by the versions that a project uses."""

import json

import pytest

from lessons_kb import Brain
from lessons_kb.cards.conditions import parse_condition
from lessons_kb.freshness.conditions import Truth, decide, read_uses
from lessons_kb.model import CURRENT
from tests import kit

UV = '[[package]]\nname = "Pandas"\nversion = "{}"\n'
CARGO = '[[package]]\nname = "serde_json"\nversion = "1.0.120"\n'
PNPM = (
    "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      redis:\n"
    "        specifier: ^4.6.0\n        version: 4.6.13\npackages:\n"
    "  '@types/node@20.1.4':\n    resolution: {integrity: sha512-x}\n"
    "  redis@3.0.0:\n    resolution: {integrity: sha512-x}\n"
)
YARN = '# yarn lockfile v1\n\nredis@^4.0.0:\n  version "4.6.13"\n  dependencies:\n    x "1"\n'
BERRY = '"redis@npm:^4.0.0":\n  version: 4.6.13\n  resolution: "redis@npm:4.6.13"\n'
NPM = json.dumps(
    {"packages": {"": {}, "node_modules/redis": {"version": "5.0.0-rc.1"},
                  "node_modules/a/node_modules/redis": {"version": "3.0.0"}}}
)  # fmt: skip
GO = "module shop\n\ngo 1.24\n\nrequire (\n\tgithub.com/redis/go-redis/v9 v9.5.1 // indirect\n)\n"
PIPFILE = json.dumps({"default": {"redis": {"version": "==4.6.0"}}, "develop": {}})
T, F, U = Truth.TRUE, Truth.FALSE, Truth.UNKNOWN


@pytest.mark.parametrize(
    ("files", "text", "truth"),
    [
        ({"uv.lock": UV.format("1.5.3")}, "pandas<2", T),
        ({"uv.lock": UV.format("2.2.0")}, "pandas<2", F),
        ({"uv.lock": UV.format("2.2.0")}, "pandas>=2,<3", T),
        ({"uv.lock": UV.format("2.2.0")}, "pandas!=2.2", F),
        ({"uv.lock": UV.format("2.2.0")}, "pandas~=2.1", T),
        ({"uv.lock": UV.format("2.2.0")}, "npm:pandas<2", U),
        ({"uv.lock": UV.format("2.2.0") + UV.format("1.5.3")}, "pandas<2", U),
        ({"uv.lock": UV.format("3.0.0rc1")}, "pandas>=2", T),
        ({"poetry.lock": UV.format("2.2.0")}, "pandas<2", F),
        ({"requirements.txt": "# x\npandas[all]==1.5.3 ; python_version<'3'\n"}, "pandas<2", T),
        ({"requirements.txt": "pandas>=1.5\n"}, "pandas<2", U),
        ({"pyproject.toml": '[project]\ndependencies = ["pandas==1.5"]\n'}, "pandas<2", T),
        ({"Pipfile.lock": PIPFILE}, "redis<5", T),
        ({"Pipfile.lock": PIPFILE, "package-lock.json": NPM}, "redis<5", U),
        ({"Pipfile.lock": PIPFILE, "package-lock.json": NPM}, "pypi:redis<5", T),
        ({"package-lock.json": NPM}, "redis>=4", T),
        ({"package-lock.json": NPM}, "npm:redis<5", F),
        ({"pnpm-lock.yaml": PNPM}, "redis<5", T),
        ({"pnpm-lock.yaml": PNPM}, "redis~=4.6", T),
        ({"pnpm-lock.yaml": PNPM}, "@types/node^20", T),
        ({"yarn.lock": YARN}, "redis>=5", F),
        ({"yarn.lock": BERRY}, "redis>=5", F),
        ({"package.json": '{"dependencies": {"redis": "4.6.0"}}'}, "redis<5", T),
        ({"package.json": '{"dependencies": {"redis": "^4.6.0"}}'}, "redis<5", U),
        ({"Cargo.lock": CARGO}, "serde-json~1.0.100", T),
        ({"Cargo.lock": CARGO}, "cargo:serde_json<1", F),
        ({"go.mod": GO}, "github.com/redis/go-redis/v9<9.5", F),
        ({"go.mod": GO}, "go>=1.23", T),
        ({".nvmrc": "v20\n"}, "node>=20", T),
        ({".nvmrc": "20\n"}, "node>=20.5", U),
        ({".nvmrc": "lts/iron\n"}, "node>=20", U),
        ({".python-version": "3.11\n"}, "python<3.12", T),
        ({"uv.lock": "not [ toml"}, "pandas<2", U),
        ({"package-lock.json": "[]"}, "redis<2", U),
        ({}, "pandas<2", U),
    ],
)
def test_the_lock_file_decides(files, text, truth):
    assert decide(parse_condition(text), read_uses(files.get)).truth == truth


def write_lock(shop, version):
    kit.write(shop, "uv.lock", UV.format(version))


@pytest.fixture
def pinned(shop, write_card):
    write_lock(shop, "1.5.3")
    write_card("frames", 'when: "pandas<2"\n')
    kit.commit(shop, "A card about an old pandas", "2026-01-02T12:00:00+00:00")
    return shop


def give(shop):
    with Brain.open(shop) as brain:
        return [hit.card.id for hit in brain.preflight("frames goes wrong").lessons]


def test_a_card_whose_condition_is_false_is_silent_until_it_holds_again(at, health, pinned, stand):
    assert stand()["frames"] == CURRENT
    assert give(pinned) == ["lessons/frames.md"]
    write_lock(pinned, "2.2.0")
    assert stand()["frames"].unmet == "pandas<2: uv.lock has pandas 2.2.0"
    assert not give(pinned)
    assert "unmet" in at(pinned, "list").out
    assert "pandas<2: uv.lock has pandas 2.2.0" in at(pinned, "list", "--stale").out
    (found,) = health("freshness", pinned)
    assert "1 card not injected, because their `when` does not hold" in found.detail
    assert at(pinned, "archive", "--gone", "--yes").out.count("frames") == 0
    write_lock(pinned, "1.5.3")
    stand()
    assert give(pinned) == ["lessons/frames.md"]


def test_where_it_cannot_be_decided_the_card_is_given_with_the_condition(pinned, stand):
    (pinned / "uv.lock").unlink()
    assert stand()["frames"].caveat == "Only for pandas<2."
    with Brain.open(pinned) as brain:
        block = brain.preflight("frames goes wrong")
    assert "   Only for pandas<2." in block.text.splitlines()


def test_all_conditions_of_a_card_have_to_hold(shop, write_card, stand):
    write_lock(shop, "1.5.3")
    kit.write(shop, ".nvmrc", "18\n")
    write_card("both", "when: [pandas<2, node>=20]\n")
    assert stand()["both"].unmet == "node>=20: .nvmrc has node 18"


def test_a_project_without_git_is_looked_at_too(tmp_path, at):
    kit.write(tmp_path, "lessons.toml", "")
    write_lock(tmp_path, "2.2.0")
    header = "type: lesson\ntitle: Frames go wrong\nwhen: pandas<2\n"
    kit.write(tmp_path, "lessons/a.md", f"---\n{header}---\n## Prevention Checklist\n\n- Look\n")
    assert at(tmp_path, "trust").code == 0
    assert "uv.lock has pandas 2.2.0" in at(tmp_path, "list", "--stale").out


def test_lint_reports_a_condition_that_cannot_be_parsed(at, shop, write_card):
    write_card("odd", "when: pandas below 2\n")
    lines = at(shop, "lint").out.splitlines()
    (line,) = [line for line in lines if "bad-condition" in line]
    assert line.startswith("lessons/odd.md:5: warning bad-condition: when: 'pandas below 2' is no")


@pytest.mark.parametrize(
    ("version", "text", "truth"),
    [
        ("2.0.0-rc.1", "redis>=2.0.0", F),
        ("2.0.0-rc.1", "redis==2.0.0", F),
        ("2.0.0-rc.1", "redis!=2.0.0", T),
        ("2.0.0-rc.1", "redis<2.0.0", T),
        ("2.0.0", "redis>2.0.0-rc.1", T),
        ("2.0.0-rc.2", "redis>2.0.0-rc.1", T),
        ("5.0.0-rc.1", "redis>4", T),
    ],
)
def test_a_prerelease_is_compared_as_npm_compares_it(version, text, truth):
    """The answers of semver 7.8.5 with `includePrerelease`."""
    files = {"package-lock.json": NPM.replace("5.0.0-rc.1", version)}
    assert decide(parse_condition(f"npm:{text}"), read_uses(files.get)).truth == truth
