"""Read the versions of packages that a project uses from its lock files and manifests.

Only exact versions count. They come from lock files, from ``==`` in manifests, and from the files
that name the version of Python or Node.js.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from lessons_kb.cards.conditions import CARGO, GO, NPM, PYTHON

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*===?\s*([\w.!+-]+)")
_PNPM = re.compile(r"^ {2}'?/?((?:@[^/@\s]+/)?[^/@\s'(]+)[@/](\d[^:'(\s]*)", re.MULTILINE)
_PNPM_IMPORT = re.compile(
    r"^ {6}'?((?:@[^/\s]+/)?[^\s':]+)'?:\n {8}specifier: .*\n {8}version: (\d[^(\s]*)",
    re.MULTILINE,
)
_YARN_NAME = re.compile(r'^"?((?:@[^/@\s]+/)?[^@\s"]+)@.*:$')
_YARN_VERSION = re.compile(r'^ {2}version:? "?(\d[^"\s]*)')
_GO_LINE = re.compile(r"^\s*(?:require\s+)?([\w.~-]+(?:/[\w.~-]+)+)\s+v(\d\S*)", re.MULTILINE)
_GO_VERSION = re.compile(r"^(?:go|toolchain go)\s*(\d[\d.]*)", re.MULTILINE)
_EXACT = re.compile(r"v?(\d+(?:\.\d+)*)")

Pair = tuple[str, str]
"""A package and its version."""


class Use(NamedTuple):
    """The versions of a package in one ecosystem."""

    versions: frozenset[str]
    source: str
    """The file that names them."""


def normal_name(ecosystem: str, name: str) -> str:
    """Return the normalised name by which an ecosystem compares packages."""
    if ecosystem == PYTHON:
        return re.sub(r"[-_.]+", "-", name).casefold()
    if ecosystem == CARGO:
        return name.replace("_", "-").casefold()
    return name


def read_versions(
    files: Iterable[str], read: Callable[[str], str | None]
) -> dict[tuple[str, str], Use]:
    """Return a mapping from (ecosystem, package) to the versions that a project uses.

    ``read`` returns the text of a file, or None if there is none. A file that cannot be parsed is
    ignored. If several files name a package, the first file counts.
    """
    uses: dict[tuple[str, str], Use] = {}
    for file in files:
        known = _READERS.get(file)
        text = read(file) if known else None
        if known is None or text is None:
            continue
        ecosystem, parse = known
        versions: dict[str, set[str]] = defaultdict(set)
        try:
            for name, version in parse(text):
                versions[normal_name(ecosystem, name)].add(version)
        except (ValueError, KeyError, TypeError, AttributeError):
            continue
        for name, exact in versions.items():
            uses.setdefault((ecosystem, name), Use(frozenset(exact), file))
    return uses


def _read_toml_lock(text: str) -> Iterator[Pair]:
    """Read uv.lock, poetry.lock and Cargo.lock."""
    for package in tomllib.loads(text).get("package", ()):
        if isinstance(package.get("version"), str):
            yield package["name"], package["version"]


def _read_requirements(text: str) -> Iterator[Pair]:
    for line in text.splitlines():
        if match := _REQUIREMENT.match(line):
            yield match[1], match[2]


def _read_pyproject(text: str) -> Iterator[Pair]:
    project = tomllib.loads(text).get("project", {})
    groups = project.get("optional-dependencies", {}).values()
    for requirements in (project.get("dependencies", ()), *groups):
        for requirement in requirements:
            yield from _read_requirements(requirement)


def _read_pipfile_lock(text: str) -> Iterator[Pair]:
    data = json.loads(text)
    for section in ("default", "develop"):
        for name, package in data.get(section, {}).items():
            version = package.get("version", "")
            if version.startswith("=="):
                yield name, version.removeprefix("==")


def _read_package_lock(text: str) -> Iterator[Pair]:
    data = json.loads(text)
    for path, package in data.get("packages", {}).items():
        # Packages nested inside another package do not concern the code of the project.
        is_own = path.startswith("node_modules/") and path.count("node_modules/") == 1
        if is_own and isinstance(package.get("version"), str):
            yield path.removeprefix("node_modules/"), package["version"]
    if "packages" not in data:
        for name, package in data.get("dependencies", {}).items():
            yield name, package["version"]


def _read_pnpm_lock(text: str) -> Iterator[Pair]:
    direct = _PNPM_IMPORT.findall(text)
    yield from direct
    names = {name for name, _version in direct}
    for name, version in _PNPM.findall(text):
        if name not in names:
            yield name, version


def _read_yarn_lock(text: str) -> Iterator[Pair]:
    name = ""
    for line in text.splitlines():
        if heading := _YARN_NAME.match(line):
            name = heading[1]
        elif name and (version := _YARN_VERSION.match(line)):
            yield name, version[1]
            name = ""


def _read_package_json(text: str) -> Iterator[Pair]:
    data = json.loads(text)
    for section in ("dependencies", "devDependencies"):
        for name, version in data.get(section, {}).items():
            yield from _name_exact(name, version)
    volta: Mapping[str, Any] = data.get("volta", {})
    yield from _name_exact("node", volta.get("node", ""))


def _read_cargo_toml(text: str) -> Iterator[Pair]:
    data = tomllib.loads(text)
    for name, value in data.get("dependencies", {}).items():
        version = value.get("version", "") if isinstance(value, dict) else value
        yield from _name_exact(name, version.removeprefix("=") if version[:1] == "=" else "")


def _read_go_mod(text: str) -> Iterator[Pair]:
    yield from _GO_LINE.findall(text)
    for version in _GO_VERSION.findall(text)[-1:]:
        yield "go", version


def _read_python_version(text: str) -> Iterator[Pair]:
    return _name_exact("python", text.strip().split("\n")[0].removeprefix("cpython-"))


def _read_node_version(text: str) -> Iterator[Pair]:
    return _name_exact("node", text.strip())


def _name_exact(name: str, version: str) -> Iterator[Pair]:
    if match := _EXACT.fullmatch(version):
        yield name, match[1]


_READERS: Mapping[str, tuple[str, Callable[[str], Iterator[Pair]]]] = {
    "uv.lock": (PYTHON, _read_toml_lock),
    "poetry.lock": (PYTHON, _read_toml_lock),
    "Pipfile.lock": (PYTHON, _read_pipfile_lock),
    "requirements.txt": (PYTHON, _read_requirements),
    "pyproject.toml": (PYTHON, _read_pyproject),
    "package-lock.json": (NPM, _read_package_lock),
    "npm-shrinkwrap.json": (NPM, _read_package_lock),
    "pnpm-lock.yaml": (NPM, _read_pnpm_lock),
    "yarn.lock": (NPM, _read_yarn_lock),
    "package.json": (NPM, _read_package_json),
    "Cargo.lock": (CARGO, _read_toml_lock),
    "Cargo.toml": (CARGO, _read_cargo_toml),
    "go.mod": (GO, _read_go_mod),
    ".python-version": (PYTHON, _read_python_version),
    ".node-version": (NPM, _read_node_version),
    ".nvmrc": (NPM, _read_node_version),
}
FILES = tuple(_READERS)
"""The files that are read, with the most exact file of each ecosystem first."""
