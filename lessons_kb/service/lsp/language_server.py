"""The server: keeps open documents, runs what answers in threads, publishes diagnostics."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Generator, Mapping
from functools import partial
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.protocol.language_server import lsp_method

from lessons_kb.errors import LessonsError
from lessons_kb.service.lsp.code_actions import (
    COMMANDS,
    KINDS,
    CommandResult,
    find_actions,
    find_lenses,
    find_references,
    keep_records,
    prepare_rename,
    relink_moved,
    rename,
)
from lessons_kb.service.lsp.diagnostics import NOTHING, PROJECT, diagnose
from lessons_kb.service.lsp.documents import Documents, Files, OpenDocument, path_of, uri_of
from lessons_kb.service.lsp.hover import TRIGGERS, complete, find_symbols, hover
from lessons_kb.service.open_brains import OpenBrains
from lessons_kb.store.error_log import log_trouble
from lessons_kb.version import __version__

PAUSES = {False: 0.02, True: 0.15}
"""Seconds without typing before diagnostics are made: of the lines that changed, and then of all
that takes longer, so that it delays no typist."""
REFRESH_SECONDS = 2.0
"""Between two looks at the files of the brains while somebody works."""
_LOOK_SECONDS = 5.0
"""Between two looks at whether the editor still runs."""
_CARDS = types.FileOperationPattern(glob="**/*.{md,markdown}")
_MOVED = types.FileOperationRegistrationOptions(
    filters=[types.FileOperationFilter(pattern=_CARDS, scheme="file")]
)

FEATURES: Mapping[str, tuple[Callable[[Files, OpenDocument, Any], Any], Any]] = {
    types.TEXT_DOCUMENT_COMPLETION: (complete, types.CompletionOptions(TRIGGERS)),
    types.TEXT_DOCUMENT_HOVER: (hover, None),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (find_symbols, None),
    types.TEXT_DOCUMENT_CODE_LENS: (find_lenses, types.CodeLensOptions(resolve_provider=False)),
    types.TEXT_DOCUMENT_CODE_ACTION: (find_actions, types.CodeActionOptions(KINDS)),
    types.TEXT_DOCUMENT_PREPARE_RENAME: (prepare_rename, None),
    types.TEXT_DOCUMENT_RENAME: (rename, types.RenameOptions(prepare_provider=True)),
    types.TEXT_DOCUMENT_REFERENCES: (find_references, None),
}
"""Request about an open document → what answers it in a thread, and the options it has."""


class _Protocol(LanguageServerProtocol):
    """The protocol with our own texts: pygls breaks lines where the protocol does not."""

    _server: LessonsServer

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[Any, Any, types.InitializeResult]:
        if params.capabilities.general is not None:
            params.capabilities.general.position_encodings = [types.PositionEncodingKind.Utf16]
        self._server.begin(params)
        return (yield from super().lsp_initialize(params))

    @lsp_method(types.TEXT_DOCUMENT_DID_OPEN)
    def lsp_text_document__did_open(self, params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        self._server.documents.open(document.uri, document.version, document.text)
        self._server.schedule(document.uri, full=True)

    @lsp_method(types.TEXT_DOCUMENT_DID_CHANGE)
    def lsp_text_document__did_change(self, params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        self._server.documents.change(document.uri, document.version, params.content_changes)
        self._server.schedule(document.uri)

    @lsp_method(types.TEXT_DOCUMENT_DID_CLOSE)
    def lsp_text_document__did_close(self, params: types.DidCloseTextDocumentParams) -> None:
        self._server.forget(params.text_document.uri)


class LessonsServer(LanguageServer):
    """One editor's server."""

    def __init__(self, workspace: OpenBrains) -> None:
        super().__init__(
            "lessons",
            __version__,
            protocol_cls=_Protocol,
            converter_factory=default_converter,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        )
        self.documents = Documents()
        self.files = Files(workspace, self.documents, tell=self.show_once)
        self._detect = True
        """Whether the mistakes that cards describe are marked in source code."""
        self._shown: set[str] = set()
        self._diagnosing: dict[str, asyncio.Task[None]] = {}
        self._full: set[str] = set()
        """Documents of which what the project says is due."""
        self._published: dict[str, tuple[OpenDocument, list[types.Diagnostic]]] = {}
        self._active = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, params: types.InitializeParams) -> None:
        """Take over what the editor says of itself; options not sent, or sent wrong, are on."""
        self._loop = asyncio.get_running_loop()
        self._tasks.append(self._loop.create_task(self._stay_fresh()))
        if params.process_id and os.name == "posix":
            self._tasks.append(self._loop.create_task(_leave_with(params.process_id)))
        sent = params.initialization_options
        options = sent if isinstance(sent, Mapping) else {}
        self._detect = options.get("detect") is not False
        self.files.show_guards = options.get("guards") is not False
        edits = params.capabilities.workspace and params.capabilities.workspace.workspace_edit
        operations = (edits and edits.resource_operations) or ()
        self.files.renames_files = types.ResourceOperationKind.Rename in operations
        uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        self.files.folders = tuple(dict.fromkeys(filter(None, map(path_of, uris))))

    def schedule(self, uri: str, *, full: bool = False) -> None:
        """Make the diagnostics of an open document once nobody types in it.

        ``full`` says that the files of the project may have changed too.
        """
        if uri not in self.documents:
            return
        self._active.set()
        if full:
            self._full.add(uri)
        if known := self._diagnosing.get(uri):
            known.cancel()
        loop = asyncio.get_running_loop()
        self._diagnosing[uri] = loop.create_task(self._diagnose(self.documents[uri]))

    def forget(self, uri: str) -> None:
        """Note that a document was closed."""
        for known in (self.documents, self.files.matches, self._published):
            known.pop(uri, None)
        self._publish(uri, [])

    async def refresh(self) -> None:
        """Look at the files of the brains; if they changed, make all diagnostics again."""
        if await self.run("refresh", self.files.refresh):
            for uri in list(self.documents):
                self.schedule(uri, full=True)

    async def run(self, what: str, work: Callable[[], Any], *, asked: bool = False) -> Any:
        """Return what a piece of work returns in a thread; of one that fails None.

        What the user can fix is shown, each time where the user ``asked`` for the work, else
        once. What is our fault is logged.
        """
        try:
            return await asyncio.to_thread(work)
        except LessonsError as error:
            show = self.warn if asked else self.show_once
            show(str(error))
        except Exception as error:  # one answer is lost; the editor keeps its server
            log_trouble("lsp", what, f"{type(error).__name__}: {error}")
        return None

    async def carry_out(self, what: str, outcome: CommandResult) -> Any:
        """Have the editor do what a command came to; return the command's result."""
        if outcome.edit is not None:
            edit = types.WorkspaceEdit(document_changes=[outcome.edit])
            asked = types.ApplyWorkspaceEditParams(edit=edit, label=what)
            if not (await self.workspace_apply_edit_async(asked)).applied:
                self.warn("the editor did not make the change")
                return None
        if outcome.then is not None:
            await self.run(what, outcome.then)
        if outcome.message:
            self.show(outcome.message)
        if outcome.show:
            shown = types.ShowDocumentParams(uri=uri_of(outcome.show), take_focus=True)
            self.window_show_document(shown)
        self._active.set()
        return outcome.result

    def show(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show the user a line."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=f"lessons: {message}"))

    def warn(self, message: str) -> None:
        """Show the user what cannot be done."""
        self.show(message, types.MessageType.Warning)

    def show_once(self, message: str) -> None:
        """Show a line that was not shown before; may be called from any thread."""
        if message not in self._shown and self._loop is not None:
            self._shown.add(message)
            self._loop.call_soon_threadsafe(self.show, message)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong; a message that is not the protocol's is no user's business."""
        log_trouble("lsp", getattr(source, "__name__", ""), f"{type(error).__name__}: {error}")

    def _publish(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )

    async def _stay_fresh(self) -> None:
        while True:
            await self._active.wait()
            self._active.clear()
            await self.refresh()
            await asyncio.sleep(REFRESH_SECONDS)

    async def _diagnose(self, document: OpenDocument) -> None:
        """Publish what the changed lines hold; then all that the document holds, if more may."""
        uri, detect = document.uri, self._detect
        for whole, pause in PAUSES.items():
            await asyncio.sleep(pause)
            work = partial(diagnose, self.files, document, detect=detect, whole=whole)
            done = await self.run("diagnostics", work)
            if done is None or self.documents.get(uri) is not document:
                return
            found, left = done
            if self._published.get(uri) != (document, found):
                self._published[uri] = document, found
                self._publish(uri, found, document.version)
            if left == NOTHING or (left == PROJECT and uri not in self._full):
                return
        self._full.discard(uri)


def build_server(workspace: OpenBrains) -> LessonsServer:
    """Return the server over the brains of a workspace."""
    server = LessonsServer(workspace)
    files, documents = server.files, server.documents

    def add_feature(method: str) -> None:
        work, options = FEATURES[method]

        @server.feature(method, options)
        async def answer(params: Any) -> Any:
            if (document := documents.get(params.text_document.uri)) is None:
                return None
            is_asked = method == types.TEXT_DOCUMENT_RENAME
            return await server.run(method, partial(work, files, document, params), asked=is_asked)

    def add_command(name: str) -> None:
        @server.command(name)
        async def run(*arguments: Any) -> Any:
            work = partial(COMMANDS[name], files, *arguments)
            outcome = await server.run(name, work, asked=True)
            return None if outcome is None else await server.carry_out(name, outcome)

    for method in FEATURES:
        add_feature(method)
    for name in COMMANDS:
        add_command(name)

    @server.feature(types.WORKSPACE_WILL_RENAME_FILES, _MOVED)
    async def files_move(params: types.RenameFilesParams) -> Any:
        """Let the links follow files that the user moves."""
        return await server.run("rename files", lambda: relink_moved(files, params))

    @server.feature(types.WORKSPACE_DID_RENAME_FILES, _MOVED)
    async def files_moved(params: types.RenameFilesParams) -> None:
        """Let what was counted follow them too."""
        await server.run("rename files", lambda: keep_records(files, params))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        """Look at everything again: what was saved may be a card with patterns."""
        server.schedule(params.text_document.uri, full=True)
        await server.refresh()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Take over which folders the editor works in."""
        folders = (path_of(folder.uri) for folder in server.workspace.folders.values())
        files.folders = tuple(filter(None, folders))
        for uri in list(documents):
            server.schedule(uri, full=True)

    return server


def serve(server: LessonsServer) -> None:
    """Talk to the editor over standard input and output until it leaves."""
    answers: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What else might be printed must not come between two messages.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server.start_io(sys.stdin.buffer, answers)


async def _leave_with(process: int) -> None:
    """End this process when the editor's is gone: its end of the pipe may live on in a child."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            os._exit(1)
        except OSError:
            return
