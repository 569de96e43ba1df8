"""The server: it tracks open documents, answers requests in threads, and publishes diagnostics."""

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
"""Seconds without typing before the diagnostics of the changed lines (False) and of the whole
document (True). The whole document takes longer and waits longer, so that it does not delay typing.
"""
REFRESH_SECONDS = 2.0
"""Seconds between two checks of the brains' files while the user works."""
_LOOK_SECONDS = 5.0
"""Seconds between two checks whether the editor still runs."""
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
"""Mapping from each request about an open document to the function that answers it in a thread, and
its options.
"""


class _Protocol(LanguageServerProtocol):
    """The protocol with our own ``Text``: pygls splits lines where the protocol does not."""

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
    """The server of one editor."""

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
        """Whether to mark the mistakes that cards describe in source code."""
        self._shown: set[str] = set()
        self._diagnosing: dict[str, asyncio.Task[None]] = {}
        self._full: set[str] = set()
        """Documents whose diagnostics from the project's files are due."""
        self._published: dict[str, tuple[OpenDocument, list[types.Diagnostic]]] = {}
        self._active = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []

    def begin(self, params: types.InitializeParams) -> None:
        """Apply the editor's options and capabilities. An option that is missing or invalid is
        turned on.
        """
        self._loop = asyncio.get_running_loop()
        self._tasks.append(self._loop.create_task(self._stay_fresh()))
        if params.process_id and os.name == "posix":
            self._tasks.append(self._loop.create_task(_exit_with_editor(params.process_id)))
        options = params.initialization_options
        if not isinstance(options, Mapping):
            options = {}
        self._detect = options.get("detect") is not False
        self.files.show_guards = options.get("guards") is not False
        edits = params.capabilities.workspace and params.capabilities.workspace.workspace_edit
        operations = (edits and edits.resource_operations) or ()
        self.files.renames_files = types.ResourceOperationKind.Rename in operations
        uris = [folder.uri for folder in params.workspace_folders or ()] or [params.root_uri or ""]
        self.files.folders = tuple(dict.fromkeys(filter(None, map(path_of, uris))))

    def schedule(self, uri: str, *, full: bool = False) -> None:
        """Publish the diagnostics of an open document as soon as the user stops typing.

        ``full`` states that the files of the project may have changed as well.
        """
        if uri not in self.documents:
            return
        self._active.set()
        if full:
            self._full.add(uri)
        earlier = self._diagnosing.get(uri)
        if earlier is not None:
            earlier.cancel()
        loop = asyncio.get_running_loop()
        self._diagnosing[uri] = loop.create_task(self._diagnose(self.documents[uri]))

    def forget(self, uri: str) -> None:
        """Drop the state and the diagnostics of a closed document."""
        for by_uri in (self.documents, self.files.matches, self._published):
            by_uri.pop(uri, None)
        self._publish(uri, [])

    async def refresh(self) -> None:
        """Check the brains' files. If they have changed, schedule the diagnostics of every
        document.
        """
        if await self.run("refresh", self.files.refresh):
            for uri in list(self.documents):
                self.schedule(uri, full=True)

    async def run(self, name: str, work: Callable[[], Any], *, requested: bool = False) -> Any:
        """Call ``work()`` in a thread and return its result, or None if it fails.

        An error that the user can fix is shown every time if the user ``requested`` the work, and
        otherwise only once. An internal error is logged under ``name``.
        """
        try:
            return await asyncio.to_thread(work)
        except LessonsError as error:
            show = self.warn if requested else self.show_once
            show(str(error))
        except Exception as error:  # only this answer is lost; the server continues
            log_trouble("lsp", name, f"{type(error).__name__}: {error}")
        return None

    async def carry_out(self, name: str, outcome: CommandResult) -> Any:
        """Apply the outcome of a command in the editor. Return the command's result."""
        if outcome.edit is not None:
            edit = types.WorkspaceEdit(document_changes=[outcome.edit])
            params = types.ApplyWorkspaceEditParams(edit=edit, label=name)
            response = await self.workspace_apply_edit_async(params)
            if not response.applied:
                self.warn("the editor did not make the change")
                return None
        if outcome.then is not None:
            await self.run(name, outcome.then)
        if outcome.message:
            self.show(outcome.message)
        if outcome.show:
            uri = uri_of(outcome.show)
            self.window_show_document(types.ShowDocumentParams(uri=uri, take_focus=True))
        self._active.set()
        return outcome.result

    def show(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show the user a message."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=f"lessons: {message}"))

    def warn(self, message: str) -> None:
        """Show the user a warning."""
        self.show(message, types.MessageType.Warning)

    def show_once(self, message: str) -> None:
        """Show a message unless it was shown before. Any thread may call this."""
        if message not in self._shown and self._loop is not None:
            self._shown.add(message)
            self._loop.call_soon_threadsafe(self.show, message)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log an error of the protocol instead of showing it to the user."""
        log_trouble("lsp", getattr(source, "__name__", ""), f"{type(error).__name__}: {error}")

    def _publish(
        self, uri: str, diagnostics: list[types.Diagnostic], version: int | None = None
    ) -> None:
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=diagnostics, version=version)
        )

    async def _stay_fresh(self) -> None:
        while True:
            await self._active.wait()
            self._active.clear()
            await self.refresh()
            await asyncio.sleep(REFRESH_SECONDS)

    async def _diagnose(self, document: OpenDocument) -> None:
        """Publish the diagnostics of the changed lines, and then of the whole document."""
        uri, detect = document.uri, self._detect
        for whole, pause in PAUSES.items():
            await asyncio.sleep(pause)
            work = partial(diagnose, self.files, document, detect=detect, whole=whole)
            outcome = await self.run("diagnostics", work)
            if outcome is None or self.documents.get(uri) is not document:
                return
            diagnostics, unchecked = outcome
            if self._published.get(uri) != (document, diagnostics):
                self._published[uri] = document, diagnostics
                self._publish(uri, diagnostics, document.version)
            if unchecked == NOTHING or (unchecked == PROJECT and uri not in self._full):
                return
        self._full.discard(uri)


def build_server(workspace: OpenBrains) -> LessonsServer:
    """Return the server for the brains of a workspace."""
    server = LessonsServer(workspace)
    files, documents = server.files, server.documents

    def add_feature(method: str) -> None:
        work, options = FEATURES[method]

        @server.feature(method, options)
        async def answer(params: Any) -> Any:
            document = documents.get(params.text_document.uri)
            if document is None:
                return None
            answering = partial(work, files, document, params)
            is_requested = method == types.TEXT_DOCUMENT_RENAME
            return await server.run(method, answering, requested=is_requested)

    def add_command(name: str) -> None:
        @server.command(name)
        async def run(*arguments: Any) -> Any:
            work = partial(COMMANDS[name], files, *arguments)
            outcome = await server.run(name, work, requested=True)
            return None if outcome is None else await server.carry_out(name, outcome)

    for method in FEATURES:
        add_feature(method)
    for name in COMMANDS:
        add_command(name)

    @server.feature(types.WORKSPACE_WILL_RENAME_FILES, _MOVED)
    async def files_move(params: types.RenameFilesParams) -> Any:
        """Return the edits of links to files that the user moves."""
        return await server.run("rename files", lambda: relink_moved(files, params))

    @server.feature(types.WORKSPACE_DID_RENAME_FILES, _MOVED)
    async def files_moved(params: types.RenameFilesParams) -> None:
        """Keep the records of cards whose files were moved."""
        await server.run("rename files", lambda: keep_records(files, params))

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        """Refresh everything, because the saved file may be a card with patterns."""
        server.schedule(params.text_document.uri, full=True)
        await server.refresh()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Update the folders of the workspace."""
        folders = (path_of(folder.uri) for folder in server.workspace.folders.values())
        files.folders = tuple(filter(None, folders))
        for uri in list(documents):
            server.schedule(uri, full=True)

    return server


def serve(server: LessonsServer) -> None:
    """Serve the editor over standard input and output until the editor closes them."""
    answers: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Other output goes to standard error, so that it cannot appear between two messages.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server.start_io(sys.stdin.buffer, answers)


async def _exit_with_editor(process: int) -> None:
    """End this process when the editor's process ends.

    Standard input alone does not show this, because a child of the editor may keep the pipe open.
    """
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            os._exit(1)
        except OSError:
            return
