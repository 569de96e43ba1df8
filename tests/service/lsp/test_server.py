"""The server as a process, driven by a client over its standard input and output."""

import asyncio
import json
import os
import pathlib
import random
import subprocess
import sys
import time
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.lsp.client import BaseLanguageClient

from lessons_kb.service.lsp.documents import Text
from lessons_kb.service.lsp.language_server import build_server
from tests.kit import START, OpenBrains, wait_until

from .conftest import CODE, SHELL, SHELL_ID, apply

HANG = 60.0
COMMAND = [sys.executable, "-c", START, "lsp"]
pytestmark = pytest.mark.slow


class Client(BaseLanguageClient):
    """What the server said, and an editor's answers to what it asks."""

    def __init__(self):
        super().__init__("test", "1")
        self.published: dict[str, types.PublishDiagnosticsParams] = {}
        self.messages: list[str] = []
        self.edits: list[types.WorkspaceEdit] = []
        self.errors: list[Exception] = []

        @self.feature(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = params

        @self.feature(types.WINDOW_SHOW_MESSAGE)
        def show(params: types.ShowMessageParams) -> None:
            self.messages.append(params.message)

        @self.feature(types.WORKSPACE_APPLY_EDIT)
        def edit(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
            self.edits.append(params.edit)
            return types.ApplyWorkspaceEditResult(applied=True)

    def report_server_error(self, error, source):  # noqa: ARG002
        self.errors.append(error)

    def open(self, path, text=None, version=1):
        text = path.read_bytes().decode() if text is None else text
        item = types.TextDocumentItem(
            uri=path.as_uri(), language_id="text", version=version, text=text
        )
        self.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return path.as_uri()

    def change(self, uri, version, *changes):
        identifier = types.VersionedTextDocumentIdentifier(uri=uri, version=version)
        self.text_document_did_change(types.DidChangeTextDocumentParams(identifier, list(changes)))

    async def run(self, command, *arguments):
        params = types.ExecuteCommandParams(command, list(arguments))
        return await self.workspace_execute_command_async(params)

    async def diagnostics(self, uri, *, version=1, until=bool):
        """Return the first diagnostics of a version for which ``until`` holds."""
        end = time.monotonic() + HANG
        while time.monotonic() < end:
            known = self.published.get(uri)
            if known and known.version == version and until(known.diagnostics):
                return list(known.diagnostics)
            await asyncio.sleep(0.01)
        raise AssertionError(self.published.get(uri))

    @property
    def process(self):
        assert self._server is not None
        return self._server


@asynccontextmanager
async def connected(root, **options):
    client = Client()
    await client.start_io(*COMMAND, cwd=root)
    edits = types.WorkspaceEditClientCapabilities(
        document_changes=True, resource_operations=[types.ResourceOperationKind.Rename]
    )
    general = types.GeneralClientCapabilities(position_encodings=["utf-32", "utf-8", "utf-16"])
    capabilities = types.ClientCapabilities(
        general=general, workspace=types.WorkspaceClientCapabilities(workspace_edit=edits)
    )
    answer = await client.initialize_async(
        types.InitializeParams(
            capabilities=capabilities,
            process_id=os.getpid(),
            workspace_folders=[types.WorkspaceFolder(uri=root.as_uri(), name="shop")],
            initialization_options=options or None,
        )
    )
    assert answer.capabilities.position_encoding == "utf-16"
    client.initialized(types.InitializedParams())
    yield client
    await asyncio.wait_for(client.shutdown_async(None), HANG)
    client.exit(None)
    await asyncio.wait_for(client.process.wait(), HANG)
    await client.stop()
    assert client.process.returncode == 0
    assert client.errors == []


def log_of_troubles():
    home = pathlib.Path(os.environ["HOME"]) / ".local" / "state" / "lessons-kb" / "hook.log"
    return home.read_text() if home.exists() else ""


def at(line, character):
    return types.Position(line, character)


def replaced(start, end, text):
    return types.TextDocumentContentChangePartial(range=types.Range(start, end), text=text)


def test_both_halves_can_be_turned_off_and_a_card_is_checked_in_its_project(project):
    (project / "src" / "many.py").write_text(CODE * 6)

    async def body():
        async with connected(project, detect=False, guards=False) as client:
            uri = client.open(project / "src" / "run.py")
            assert await client.diagnostics(uri, until=lambda _found: True) == []
            params = types.CodeLensParams(types.TextDocumentIdentifier(uri))
            assert not await client.text_document_code_lens_async(params)
            card = client.open(project / SHELL_ID)
            (found,) = await client.diagnostics(card)
            assert found.code == "finds-often"
            client.change(card, 2, replaced(at(2, 7), at(2, 7), "x"))  # until it is saved
            assert await client.diagnostics(card, version=2, until=lambda _found: True) == []

    asyncio.run(body())


HOSTILE = [
    *(
        "---\n",
        "---\ntitle",
        "---\ntitle: [",
        "---\r\ntype: lesson\r\n\r\n# Ti",
        "\ufeff---\n---\n",
    ),
    *('---\nsymptoms:\n  - "a\n', "\0", "\ud800", "\r\r\r\n---\r", "---\ndetect:\n  - regex: (\n"),
    *("---\n" + "a: &a [*a]\n" * 40, "---\n" + "- " * 5_000, "# " + "😀" * 5_000, "[" * 20_000),
    *("```\n" * 3_000, "[[" * 5_000, "](" * 5_000, "---\n" + "k:\n" * 20_000),
]


def test_half_written_and_hostile_cards_are_answered(project):
    async def body():
        async with connected(project) as client:
            for number, text in enumerate(HOSTILE):
                uri = client.open(project / "lessons" / f"new-{number}.md", text)
                await client.diagnostics(uri, until=lambda _found: True)
                document = types.TextDocumentIdentifier(uri)
                for place in (at(0, 0), at(1, 3), at(9_999, 9_999)):
                    where, context = types.Range(place, place), types.CodeActionContext([])
                    links = types.ReferenceContext(True)
                    for ask, params in (
                        (client.text_document_completion_async, types.CompletionParams(document, place)),
                        (client.text_document_hover_async, types.HoverParams(document, place)),
                        (client.text_document_code_action_async, types.CodeActionParams(document, where, context)),
                        (client.text_document_prepare_rename_async, types.PrepareRenameParams(document, place)),
                        (client.text_document_references_async, types.ReferenceParams(links, document, place)),
                        (client.text_document_code_lens_async, types.CodeLensParams(document)),
                        (client.text_document_document_symbol_async, types.DocumentSymbolParams(document)),
                    ):  # fmt: skip
                        await ask(params)

    asyncio.run(body())
    assert log_of_troubles() == ""


def test_ten_megabytes_are_answered(project):
    async def body():
        async with connected(project) as client:
            big = "# Big\n" + "한글 and words 😀\n" * 500_000
            uri = client.open(project / "lessons" / "big.md", big)
            (found,) = await client.diagnostics(uri)
            assert found.code == "too-large"
            client.change(uri, 2, replaced(at(400_000, 3), at(400_000, 3), "x"))
            await client.diagnostics(uri, version=2)
            code = client.open(project / "src" / "big.py", CODE * 200_000)
            assert await client.diagnostics(code, until=lambda _found: True) == []
            line = client.open(project / "src" / "line.py", "한" * 5_000_000)
            client.change(line, 2, replaced(at(0, 4_000_000), at(0, 4_000_001), "😀"))
            await client.diagnostics(line, version=2, until=lambda _found: True)

    asyncio.run(body())
    assert log_of_troubles() == ""


OPEN = {"method": "textDocument/didOpen", "params": {"x": 1}}
NOWHERE = {"uri": "file:///nowhere", "version": 1}
CHANGE = {"textDocument": NOWHERE, "contentChanges": [{"text": "x"}]}
NO_MESSAGES = [
    *(b"{", b"[]", b"\xff\xfe", b'{"jsonrpc": "2.0"}', b'{"jsonrpc": "2.0", "method": 5}'),
    *(
        json.dumps({"jsonrpc": "2.0", **one}).encode()
        for one in (
            OPEN,
            {"method": "textDocument/didChange", "params": CHANGE},
            {"id": 99, "method": "no/such", "params": None},
        )
    ),
]


def test_a_session_from_messages_that_are_none_to_the_end(project):
    async def body():
        async with connected(project) as client:
            for message in NO_MESSAGES:
                client.protocol.writer.write(
                    b"Content-Length: %d\r\n\r\n%s" % (len(message), message)
                )
            for uri in ("untitled:Untitled-1", "http://x.org/a.md", "file://[", "file:///a%00b.md"):
                item = types.TextDocumentItem(uri=uri, language_id="x", version=1, text="x")
                client.text_document_did_open(types.DidOpenTextDocumentParams(item))
            code = client.open(project / "src" / "run.py")
            (mark,) = await client.diagnostics(code)
            assert mark.range == types.Range(at(2, 21), at(2, 31))
            client.errors.clear()
            wrong = SHELL.replace("severity: high", "severity: urgent")
            card = client.open(project / SHELL_ID, wrong)
            assert [one.code for one in await client.diagnostics(card)] == ["wrong-value"]
            client.change(card, 2, replaced(at(5, 10), at(5, 16), "high"))
            await client.diagnostics(card, version=2, until=lambda found: not found)
            document = types.TextDocumentIdentifier(card)
            lenses = await client.text_document_code_lens_async(types.CodeLensParams(document))
            test = next(one.command for one in lenses if "Test" in one.command.title)
            assert len(await client.run(test.command, *test.arguments)) == 1
            assert client.messages[-1] == "lessons: 1 match: src/run.py:3"
            # The file changes on the disk below the open buffer: both stay.
            theirs = SHELL.replace("occurrences: 3", "occurrences: 7")
            (project / SHELL_ID).write_text(theirs)
            await client.run("lessons.bump", card)
            (edit,) = client.edits
            assert "occurrences: 4" in apply(SHELL, edit.document_changes[0].edits)
            assert (project / SHELL_ID).read_text() == theirs
            # A card that is saved changes what is marked.
            (project / SHELL_ID).write_text(SHELL.replace("shell=True'", "shell=False'"))
            client.text_document_did_save(types.DidSaveTextDocumentParams(document))
            await client.diagnostics(code, until=lambda found: not found)
            closed = types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(code))
            client.text_document_did_close(closed)
            await client.diagnostics(code, version=None, until=lambda found: not found)

    asyncio.run(body())


def test_a_client_that_dies_leaves_no_orphan(project):
    """The client's process ends; its end of the pipe lives on in a process that it started."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"processId": None, "rootUri": project.as_uri(), "capabilities": {}},
    }
    client = (
        "import json, os, subprocess, sys\n"
        "command, hello = json.loads(sys.argv[1])\n"
        "server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,\n"
        "                          stderr=subprocess.DEVNULL)\n"
        "keeper = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(90)'],\n"
        "                          pass_fds=[server.stdin.fileno(), server.stdout.fileno()],\n"
        "                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)\n"
        "hello['params']['processId'] = os.getpid()\n"
        "body = json.dumps(hello).encode()\n"
        "server.stdin.write(b'Content-Length: %d\\r\\n\\r\\n' % len(body) + body)\n"
        "server.stdin.flush()\n"
        "server.stdout.readline()\n"
        "print(server.pid, keeper.pid, flush=True)\n"
        "os._exit(0)\n"
    )
    argument = json.dumps([COMMAND, hello])
    done = subprocess.run(
        [sys.executable, "-c", client, argument],
        capture_output=True,
        text=True,
        cwd=project,
        timeout=HANG,
    )
    server, keeper = map(int, done.stdout.split())
    try:
        wait_until(lambda: is_gone(server))
    finally:
        os.kill(keeper, 9)


def test_an_end_of_input_ends_the_server(project):
    done = subprocess.run(COMMAND, input=b"", capture_output=True, cwd=project, timeout=HANG)
    assert (done.returncode, done.stdout) == (0, b"")


def is_gone(process):
    try:
        stat = pathlib.Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


PIECES = [*"a é 한글 日本 😀 👩‍👩‍👧 e\u0301 \n \r\n \r \x0b \u2028 \x85".split(" "), ""]


class Units:
    """The oracle: a text as a list of code units, looked through from the start each time."""

    def __init__(self, text):
        data = text.encode("utf-16-le")
        self.units = [data[i : i + 2] for i in range(0, len(data), 2)]

    @property
    def text(self):
        return b"".join(self.units).decode("utf-16-le")

    def starts(self):
        found, at = [0], 0
        while at < len(self.units):
            if self.units[at] == b"\r\0" and self.units[at + 1 : at + 2] == [b"\n\0"]:
                at += 1
            elif self.units[at] not in (b"\r\0", b"\n\0"):
                at += 1
                continue
            at += 1
            found.append(at)
        return found

    def place(self, line, character):
        starts = self.starts()
        if line >= len(starts):
            return len(self.units)
        end = starts[line + 1] if line + 1 < len(starts) else len(self.units)
        while end > starts[line] and self.units[end - 1] in (b"\r\0", b"\n\0"):
            end -= 1
        at = min(starts[line] + character, end)
        inside = starts[line] < at < len(self.units) and 0xDC <= self.units[at][1] <= 0xDF
        return at - 1 if inside else at

    def replace(self, start, end, text):
        first, last = sorted((self.place(*start), self.place(*end)))
        self.units[first:last] = Units(text).units


words = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)
places = st.tuples(st.integers(0, 6), st.integers(0, 12))


@given(text=words, at=places)
def test_a_position_is_where_its_offset_is(text, at):
    ours, units = Text(text), Units(text)
    place, offset = units.place(*at), ours.offset(types.Position(*at))
    assert ours.whole[:offset] == b"".join(units.units[:place]).decode("utf-16-le")
    back = ours.position_at(offset)
    assert units.place(back.line, back.character) == place


def test_twenty_thousand_random_changes_leave_the_server_with_the_clients_text(project):
    """Each goes through the protocol as bytes; cards are checked and answered for meanwhile."""
    sent = []

    class Writer:
        def write(self, data):
            sent.append(json.loads(data.partition(b"\r\n\r\n")[2]))

        def close(self):
            pass

    async def body():
        chance = random.Random(7)
        workspace = OpenBrains(str(project), watched=False)
        server = build_server(workspace)
        server.protocol.set_writer(Writer())

        def say(method, params, **more):
            data = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})
            message = json.loads(data.encode(), object_hook=server.protocol.structure_message)
            server.protocol.handle_message(message)

        say(
            "initialize", {"processId": None, "rootUri": project.as_uri(), "capabilities": {}}, id=0
        )
        uri = (project / "lessons" / "fuzz.md").as_uri()
        item = {"uri": uri, "languageId": "markdown", "version": 1, "text": ""}
        say("textDocument/didOpen", {"textDocument": item})
        units = Units("")
        requests = 0
        for version in range(2, 20_002):
            start, end = ((chance.randrange(12), chance.randrange(14)) for _ in range(2))
            new = "".join(
                chance.choices((*PIECES, "---\n", "a: ", "- ", "# "), k=chance.randrange(6))
            )
            if len(units.units) > 400:
                start, end, new = (0, 0), (9, 3), ""
            places = [{"line": line, "character": column} for line, column in (start, end)]
            change = {"range": {"start": places[0], "end": places[1]}, "text": new}
            identifier = {"uri": uri, "version": version}
            say("textDocument/didChange", {"textDocument": identifier, "contentChanges": [change]})
            units.replace(start, end, new)
            document = server.documents.get(uri)
            assert document is not None
            assert document.text.whole == units.text, f"change {version}"
            assert document.version == version
            if version % 40 == 0:
                where = {"textDocument": {"uri": uri}, "position": places[0]}
                for method in ("completion", "hover", "documentSymbol", "prepareRename"):
                    requests += 1
                    say(f"textDocument/{method}", where, id=requests)
                await asyncio.sleep(0)
            if version % 1_000 == 0:
                await asyncio.sleep(0.05)
        await until(lambda: len({one["id"] for one in sent if "id" in one}) == requests + 1)
        assert not [one for one in sent if "error" in one]
        versions = [
            one["params"]["version"]
            for one in sent
            if one.get("method", "").endswith("Diagnostics")
        ]
        assert versions == sorted(versions)
        await until(lambda: all(one.done() for one in server._diagnosing.values()))
        workspace.close()

    asyncio.run(body())
    assert log_of_troubles() == ""


async def until(done):
    end = time.monotonic() + HANG
    while not done():
        assert time.monotonic() < end
        await asyncio.sleep(0.01)
