"""What installers look for: each file is what the code says, and leads where it says."""

import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import zipfile

import pytest
import yaml

from lessons_kb import __version__
from lessons_kb.cards.parse import parse_card
from lessons_kb.model import KINDS
from tests.kit import ROOT, load_script

AGENTS = ("claude-code", "codex", "gemini-cli", "cursor", "copilot-cli")

packages = load_script("packages")
FILES = packages.build_packages()


def test_every_file_is_what_the_code_says(request):
    if request.config.getoption("--update"):
        packages.main([])
    there = [path for path in (ROOT / packages.PLUGINS).rglob("*") if path.is_file()]
    paths = {path.relative_to(ROOT).as_posix() for path in there} | set(FILES)
    files = {path: (ROOT / path).read_text("utf-8") for path in paths}
    assert files == FILES, "`python tools/packages.py` writes them anew"


MANIFESTS = {path: json.loads(text) for path, text in FILES.items() if path.endswith(".json")}


def test_each_manifest_names_this_version():
    versions = {path: data["version"] for path, data in MANIFESTS.items() if "version" in data}
    schema = {path for path in versions if "/hooks" in path}  # the version of a form, not ours
    assert {versions[path] for path in set(versions) - schema} == {__version__}
    assert len(versions) - len(schema) >= 9


@pytest.mark.parametrize("path", [path for path in MANIFESTS if path.endswith("plugin.json")])
def test_what_a_manifest_names_is_there(path):
    """Codex, Claude Code and Cursor count from the folder above that of the manifest."""
    folder = (ROOT / path).parent
    folder = folder.parent if folder.name.startswith(".") else folder
    named = [MANIFESTS[path].get(key) for key in ("skills", "hooks", "mcpServers", "commands")]
    for one in filter(None, named):
        assert (folder / one).exists(), one


@pytest.mark.parametrize("path", [path for path in MANIFESTS if "marketplace" in path])
def test_a_marketplace_leads_to_the_plugin(path):
    (entry,) = MANIFESTS[path]["plugins"]
    source = entry["source"] if isinstance(entry["source"], str) else entry["source"]["path"]
    (manifest,) = [
        *(ROOT / source).glob(".*-plugin/plugin.json"),
        *(ROOT / source).glob("plugin.json"),
    ]
    assert json.loads(manifest.read_text("utf-8"))["name"] == entry["name"]


def test_the_neutral_manifest_names_no_schema():
    assert "$schema" not in MANIFESTS["plugin.json"]


def test_the_registry_takes_the_server_for_ours():
    server, readme = MANIFESTS["server.json"], (ROOT / "README.md").read_text("utf-8")
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", server["name"])
    assert len(server["description"]) <= 100
    assert f"<!-- mcp-name: {server['name']} -->" in readme
    (package,) = server["packages"]
    words = [one["value"] for one in package["packageArguments"]]
    assert [package["runtimeHint"], *words] == ["uvx", "lessons", "mcp"]


def test_one_switch_turns_how_to_install_into_its_published_form_and_back():
    now, then = (packages.install_pages(published=value) for value in (False, True))
    changed = {path for path in now if now[path] != then[path]}
    assert {"docs/agents.md", "docs/sharing.md", "templates/ci/gitlab.yml"} <= changed
    assert '`pip install "lessons-kb[mcp]"`. After' in then["docs/agents.md"]
    assert '\npip install "lessons-kb[server]"\n' in then["docs/server.md"]
    assert 'run: pip install "lessons-kb"\n' in then["docs/sharing.md"]
    for path in changed:
        assert packages.say_how_to_install(then[path], published=True) == then[path]
        assert packages.say_how_to_install(then[path], published=False) == now[path]
        assert "git+" not in then[path]


def programs(folder, **lines):
    folder.mkdir(exist_ok=True)
    for name, line in lines.items():
        path = folder / name.replace("_", "-")
        path.write_text(f"#!/bin/sh\n{line}\n")
        path.chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin"}


def run(line, environment):
    done = subprocess.run(
        ["sh", "-c", line], input="{}", capture_output=True, env=environment, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(os.name == "nt", reason="its lines are for a POSIX shell")
@pytest.mark.parametrize("agent", AGENTS)
def test_a_hook_runs_what_is_installed_else_fetches_it_else_says_so(agent, tmp_path):
    hooks = packages.plugin_hooks(agent)
    lines = []
    for event in list(hooks)[:2]:
        (group,) = hooks[event]
        handler = group.get("hooks", [group])[0]
        lines.append(handler.get("bash") or handler["command"])
    start, prompt = lines
    ours = {"lessons_hook": 'echo "installed $*"', "uvx": 'echo "fetched $*"'}
    both = programs(tmp_path / "both", **ours)
    assert run(prompt, both) == f"installed {agent}"
    wanted = f"--from lessons-kb=={__version__} lessons-hook {agent}"
    known = programs(tmp_path / "known", uvx=ours["uvx"])
    assert run(prompt, known) == f"fetched -q --offline {wanted}"
    unknown = programs(tmp_path / "unknown", uvx=f'[ "$2" != --offline ] && {ours["uvx"]}')
    assert run(prompt, unknown) == f"fetched -q --compile-bytecode {wanted}"
    neither = programs(tmp_path / "none")
    assert run(prompt, neither) in ("", "{}")
    if agent != "cursor":  # it shows no line
        assert "Lessons are off" in json.dumps(json.loads(run(start, neither)))


FETCHED_SERVER = f"fetched -q --from lessons-kb[mcp]=={__version__} lessons mcp"


@pytest.mark.skipif(os.name == "nt", reason="its line is for a POSIX shell")
@pytest.mark.parametrize(("installed", "started"), [
    ({"lessons": "echo installed"}, "installed"),
    ({"lessons": "exit 2"}, FETCHED_SERVER),
    ({}, FETCHED_SERVER),
])  # fmt: skip
def test_the_server_of_a_plugin_is_the_installed_one_else_fetched(tmp_path, installed, started):
    there = programs(tmp_path / "bin", uvx='echo "fetched $*"', **installed)
    assert run(packages.START_SERVER, there) == started


def test_the_bundles_hold_what_their_clients_open(tmp_path):
    bundle, extension = packages.write_bundles(tmp_path)
    with zipfile.ZipFile(bundle) as file:
        manifest = json.loads(file.read("manifest.json"))
        assert manifest["server"]["entry_point"] in file.namelist()
        compile(file.read(manifest["server"]["entry_point"]), "server.py", "exec")
        assert f"lessons-kb[mcp]=={__version__}" in file.read("pyproject.toml").decode()
    assert (manifest["manifest_version"], manifest["server"]["type"]) == ("0.4", "uv")
    with tarfile.open(extension) as tar:
        assert {"gemini-extension.json", "hooks/hooks.json"} < set(tar.getnames())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a POSIX path")
def test_the_bundle_starts_the_server(tmp_path):
    (tmp_path / "server.py").write_text(packages.mcp_bundle()["server.py"])
    who = {"clientInfo": {"name": "test", "version": "1"}, "capabilities": {}}
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    hello["params"] = {"protocolVersion": "2025-11-25", **who}
    done = subprocess.run(
        [sys.executable, "server.py"], cwd=tmp_path, input=json.dumps(hello) + "\n",
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    answer = json.loads(done.stdout.splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "lessons", done.stderr


def test_the_extension_for_an_editor_is_of_this_version():
    folder = ROOT / packages.EDITOR
    manifest, lock = (
        json.loads((folder / name).read_text("utf-8"))
        for name in ("package.json", "package-lock.json")
    )
    assert manifest["version"] == lock["version"] == __version__
    assert manifest["repository"]["url"] == packages.REPOSITORY
    needed = lock["packages"][""]
    assert needed["dependencies"] == manifest["dependencies"]
    for one in manifest["contributes"]["snippets"]:
        assert (folder / one["path"]).is_file()


@pytest.mark.parametrize("kind", KINDS)
def test_a_snippet_begins_a_card(kind):
    body = json.loads(FILES[f"{packages.EDITOR}/snippets.json"])[f"Card: {kind}"]["body"]
    text = re.sub(r"\$\{\d+:([^}]*)\}|\$\{\d+\|(\w+)[^}]*\}", r"\1\2", "\n".join(body))
    text = re.sub(r"\$CURRENT_(MONTH|DATE)", "11", text.replace("$CURRENT_YEAR", "2026"))
    template = (ROOT / "templates" / f"{kind}.md").read_text("utf-8")
    begun, whole = (parse_card(one, path="new.md", folders={}) for one in (text, template))
    assert begun.body.rstrip() == whole.body.rstrip()
    assert begun.card == dataclasses.replace(whole.card, created="2026-11-11")


def test_the_formula_installs_files_that_exist_and_is_ruby():
    text = FILES["Formula/lessons-kb.rb"]
    for path in re.findall(r'install "([^"#]+)"', text):
        assert (ROOT / path).is_file(), path
    assert re.search(r'desc "(?!An? |The )[A-Z].{,78}[^."]"', text)
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-c"], input=text, text=True, check=True, capture_output=True)


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_scripts_that_exist_and_actions_by_their_hash(path):
    jobs = yaml.safe_load(path.read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    for step in steps:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", f"a@{'0' * 40}"))
        for script in re.findall(r"bash (\.ci/\w+)", step.get("run", "")):
            assert (ROOT / script).is_file()
        if sys.platform != "win32":
            subprocess.run(["bash", "-n"], input=step.get("run", ""), text=True, check=True)


EXACT = r"\d+\.\d+\.\d+"


def find_unpinned(script):
    """Return each tool that a script fetches without an exact version or a hash."""
    tools = [
        tool
        for tool in re.findall(r"npx -y (\S+)", script)
        if not re.fullmatch(rf"@?[^@]+@{EXACT}", tool)
    ]
    for packages_ in re.findall(r"pip install ([^&|\n]+)", script):
        if "--require-hashes" not in packages_:
            words = [word for word in shlex.split(packages_) if word[0] != "-"]
            tools += [word for word in words if not re.fullmatch(rf"[\w-]+=={EXACT}", word)]
    addresses = re.findall(r"https://\S+/download/\S+", script)
    return tools + [one for one in addresses if not re.search(rf"/v{EXACT}/", one)]


def test_what_runs_with_a_publishing_token_is_pinned():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text("utf-8"))["jobs"]
    publishing = {name: job for name, job in jobs.items() if "environment" in job}
    assert set(publishing) == {"pypi", "files", "editors", "registry", "site"}
    scripts = {
        name: "\n".join(step.get("run", "") for step in job["steps"])
        for name, job in publishing.items()
    }
    assert {name: found for name, text in scripts.items() if (found := find_unpinned(text))} == {}
    # These make what is published.
    build = (ROOT / ".ci/packages").read_text("utf-8")
    editor = json.loads((ROOT / packages.EDITOR / "package.json").read_text("utf-8"))
    assert find_unpinned(f"{editor['scripts']['vsix']}\n{build.partition('npm ')[2]}") == []
    assert find_unpinned("npx -y ovsx@1 x\npip install uv && pip install -r a") != []
