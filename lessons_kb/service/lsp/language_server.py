"""The server: keeps open documents, runs what answers in threads, publishes diagnostics."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, default_converter
from pygls.protocol.language_server import lsp_method

from lessons_kb.brain.brain import Workspace
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
from lessons_kb.service.lsp.diagnostics import LINES, NOTHING, PROJECT, diagnose
from lessons_kb.service.lsp.documents import Documents, Files, OpenDocument, path_of, uri_of
from lessons_kb.service.lsp.hover import TRIGGERS, complete, find_symbols, hover
from lessons_kb.store.user_state import log_trouble
from lessons_kb.version import __version__

PAUSE_SECONDS = 0.02
"""Diagnostics are made once nobody has typed for so long."""
REFRESH_SECONDS = 2.0
"""Between two looks at the files of the brains while somebody works."""
WHOLE_SECONDS = 0.15
"""After a further pause what takes longer is looked at too, so that it delays no typist."""
_LOOK_SECONDS = 5.0
"""Between two looks at whether the editor still runs."""
_WATCHED = ("**/*.{md,markdown}", "**/lessons.toml", "**/.lessonsignore")

Work = Callable[[Files, OpenDocument, Any], Any]
"""Answers one request about one open document; called in a thread."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EditorOptions:
    """What an editor may set in its initialization options."""

    detect: bool = True
    """Mark the mistakes that cards describe in source code."""
    guards: bool = True
    """Say above a source file how many lessons guard it."""

    @classmethod
    def read(cls, given: object) -> EditorOptions:
        """Return the options that an editor sent; what it did not send, or sent wrong, is on."""
        values = given if isinstance(given, Mapping) else {}
        return cls(
            detect=values.get("detect") is not False, guards=values.get("guards") is not False
        )


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
        self._server.schedule(document.uri, whole=True)

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

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(
            "lessons",
            __version__,
            protocol_cls=_Protocol,
            converter_factory=default_converter,
            text_document_sync_kind=types.TextDocumentSyncKind.Incremental,
        )
        self.documents = Documents()
        self.files = Files(workspace, self.documents, tell=self.tell_once)
        self.options = EditorOptions()
        self._told: set[str] = set()
        self._due: dict[str, bool] = {}
        """Documents whose diagnostics are to be made, and whether with a look at the project."""
        self._running: dict[str, asyncio.Task[None]] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        """Documents that are being looked at whole, which delays no look at what was typed."""
        self._again: set[str] = set()
        self._published: dict[str, tuple[OpenDocument, list[types.Diagnostic]]] = {}
        self._active = asyncio.Event()
        self._refreshing: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._parent: asyncio.Task[None] | None = None

    def begin(self, params: types.InitializeParams) -> None:
        """Take over what the editor says of itself."""
        self._loop = asyncio.get_running_loop()
        self._refreshing = self._loop.create_task(self._keep_fresh())
        self.options = EditorOptions.read(params.initialization_options)
        uris = [folder.uri for folder in params.workspace_folders or ()]
        self.files.show_guards = self.options.guards
        edits = params.capabilities.workspace and params.capabilities.workspace.workspace_edit
        operations = (edits and edits.resource_operations) or ()
        self.files.renames_files = types.ResourceOperationKind.Rename in operations
        roots = [path_of(uri) for uri in uris or [params.root_uri or ""]]
        self.files.folders = tuple(dict.fromkeys(filter(None, roots)))
        if params.process_id and os.name == "posix":
            self._parent = self._loop.create_task(_leave_with(params.process_id))

    def schedule(self, uri: str, *, whole: bool = False) -> None:
        """Make the diagnostics of an open document soon; of changes in a row once."""
        if self.documents.get(uri) is None:
            return
        self._active.set()
        self._due[uri] = whole or self._due.get(uri, False)
        if uri not in self._running:
            self._running[uri] = asyncio.get_running_loop().create_task(self._work_off(uri))

    def forget(self, uri: str) -> None:
        """Note that a document was closed."""
        self.documents.close(uri)
        self.files.matches.pop(uri, None)
        self._published.pop(uri, None)
        self.publish(uri, [])

    async def refresh(self) -> None:
        """Look at the files of the brains; if they changed, make all diagnostics again."""
        if await self.run("refresh", self.files.refresh):
            for document in self.documents.all():
                self.schedule(document.uri, whole=True)

    def publish(self, uri: str, found: list[types.Diagnostic], version: int | None = None) -> None:
        """Send the diagnostics of a document."""
        self.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )

    async def run(self, what: str, work: Callable[[], Any], *, asked: bool = False) -> Any:
        """Return what a piece of work returns in a thread; of one that fails None.

        What the user can fix is shown, each time where the user ``asked`` for the work, else
        once. What is our fault is logged.
        """
        try:
            return await asyncio.to_thread(work)
        except LessonsError as error:
            if asked:
                self.show(str(error), types.MessageType.Warning)
            else:
                self.tell_once(str(error))
        except Exception as error:  # one answer is lost; the editor keeps its server
            log_trouble("lsp", what, f"{type(error).__name__}: {error}")
        return None

    async def carry_out(self, what: str, outcome: CommandResult) -> Any:
        """Have the editor do what a command came to; return the command's result."""
        if outcome.edit is not None:
            edit = types.WorkspaceEdit(document_changes=[outcome.edit])
            done = await self.workspace_apply_edit_async(
                types.ApplyWorkspaceEditParams(edit=edit, label=what)
            )
            if not done.applied:
                self.show("the editor did not make the change", types.MessageType.Warning)
                return None
        if outcome.then is not None:
            await self.run(what, outcome.then)
        if outcome.message:
            self.show(outcome.message)
        if outcome.show:
            self.window_show_document(
                types.ShowDocumentParams(uri=uri_of(outcome.show), take_focus=True)
            )
        self._active.set()
        return outcome.result

    def show(self, message: str, kind: types.MessageType = types.MessageType.Info) -> None:
        """Show the user a line."""
        self.window_show_message(types.ShowMessageParams(type=kind, message=f"lessons: {message}"))

    def tell_once(self, message: str) -> None:
        """Show a line that was not shown before; may be called from any thread."""
        if message not in self._told and self._loop is not None:
            self._told.add(message)
            self._loop.call_soon_threadsafe(self.show, message)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Log what went wrong; a message that is not the protocol's is no user's business."""
        log_trouble("lsp", getattr(source, "__name__", ""), f"{type(error).__name__}: {error}")

    async def _keep_fresh(self) -> None:
        while True:
            await self._active.wait()
            self._active.clear()
            await self.refresh()
            await asyncio.sleep(REFRESH_SECONDS)

    async def _work_off(self, uri: str) -> None:
        try:
            while uri in self._due:
                document = self.documents.get(uri)
                await asyncio.sleep(PAUSE_SECONDS)
                if self.documents.get(uri) is not document:
                    continue
                wanted = self._due.pop(uri)
                left = await self._diagnose(uri, whole=False)
                if left == LINES or (wanted and left == PROJECT):
                    self._again.add(uri)
                    if uri not in self._looking:
                        look = self._look(uri)
                        self._looking[uri] = asyncio.get_running_loop().create_task(look)
        finally:
            self._due.pop(uri, None)
            del self._running[uri]

    async def _look(self, uri: str) -> None:
        """Look at a document whole, once nobody types in it."""
        try:
            while uri in self._again:
                document = self.documents.get(uri)
                await asyncio.sleep(WHOLE_SECONDS)
                if self.documents.get(uri) is document and uri not in self._running:
                    self._again.discard(uri)
                    await self._diagnose(uri, whole=True)
        finally:
            del self._looking[uri]

    async def _diagnose(self, uri: str, *, whole: bool) -> str:
        """Publish the diagnostics of a document, if they are new; return what was left."""
        document = self.documents.get(uri)
        if document is None:
            return NOTHING
        detect = self.options.detect
        answer = await self.run(
            "diagnostics", lambda: diagnose(self.files, document, detect=detect, whole=whole)
        )
        if answer is None:
            return NOTHING
        found, left = answer
        if self.documents.get(uri) is document and self._published.get(uri) != (document, found):
            self._published[uri] = document, found
            self.publish(uri, found, document.version)
        return str(left)


FEATURES: Mapping[str, tuple[Work, Any]] = {
    types.TEXT_DOCUMENT_COMPLETION: (
        complete,
        types.CompletionOptions(trigger_characters=TRIGGERS),
    ),
    types.TEXT_DOCUMENT_HOVER: (hover, None),
    types.TEXT_DOCUMENT_DOCUMENT_SYMBOL: (find_symbols, None),
    types.TEXT_DOCUMENT_CODE_LENS: (find_lenses, types.CodeLensOptions(resolve_provider=False)),
    types.TEXT_DOCUMENT_CODE_ACTION: (
        find_actions,
        types.CodeActionOptions(code_action_kinds=KINDS),
    ),
    types.TEXT_DOCUMENT_PREPARE_RENAME: (prepare_rename, None),
    types.TEXT_DOCUMENT_RENAME: (rename, types.RenameOptions(prepare_provider=True)),
    types.TEXT_DOCUMENT_REFERENCES: (find_references, None),
}
"""Request about an open document → what answers it, and the options to register it with."""


def build_server(workspace: Workspace) -> LessonsServer:
    """Return the server over the brains of a workspace."""
    server = LessonsServer(workspace)
    for method, (work, options) in FEATURES.items():
        server.feature(method, options)(_answering(server, method, work))

    for name, command in COMMANDS.items():
        server.command(name)(_running(server, name, command))

    moved = types.FileOperationFilter(
        pattern=types.FileOperationPattern(glob="**/*.{md,markdown}"), scheme="file"
    )

    @server.feature(
        types.WORKSPACE_WILL_RENAME_FILES, types.FileOperationRegistrationOptions(filters=[moved])
    )
    async def files_move(params: types.RenameFilesParams) -> types.WorkspaceEdit | None:
        """Let the links follow files that the user moves."""
        found: types.WorkspaceEdit | None = await server.run(
            "rename files", lambda: relink_moved(server.files, params)
        )
        return found

    @server.feature(
        types.WORKSPACE_DID_RENAME_FILES, types.FileOperationRegistrationOptions(filters=[moved])
    )
    async def files_moved(params: types.RenameFilesParams) -> None:
        """Let what was counted follow them too."""
        await server.run("rename files", lambda: keep_records(server.files, params))

    @server.feature(types.INITIALIZED)
    def initialized(_params: types.InitializedParams) -> None:
        """Ask to be told of files that change on the disk."""
        workspace = server.client_capabilities.workspace
        watched = workspace.did_change_watched_files if workspace else None
        if watched is None or not watched.dynamic_registration:
            return
        watchers = [types.FileSystemWatcher(glob_pattern=glob) for glob in _WATCHED]
        registration = types.Registration(
            id="lessons-watch",
            method=types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            register_options=types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers),
        )
        server.client_register_capability(types.RegistrationParams(registrations=[registration]))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    async def files_changed(_params: types.DidChangeWatchedFilesParams) -> None:
        """Look at everything again."""
        await server.refresh()

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def saved(params: types.DidSaveTextDocumentParams) -> None:
        """Look at everything again: what was saved may be a card with patterns."""
        server.schedule(params.text_document.uri, whole=True)
        await server.refresh()

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    async def folders_changed(_params: types.DidChangeWorkspaceFoldersParams) -> None:
        """Take over which folders the editor works in."""
        folders = (path_of(folder.uri) for folder in server.workspace.folders.values())
        server.files.folders = tuple(filter(None, folders))
        for document in server.documents.all():
            server.schedule(document.uri, whole=True)

    return server


def serve(server: LessonsServer) -> None:
    """Talk to the editor over standard input and output until it leaves."""
    answers: BinaryIO = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # What else might be printed must not come between two messages.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    server.start_io(sys.stdin.buffer, answers)


def _answering(server: LessonsServer, method: str, work: Work) -> Callable[[Any], Any]:
    async def answer(params: Any) -> Any:
        document = server.documents.get(params.text_document.uri)
        if document is None:
            return None
        asked = method == types.TEXT_DOCUMENT_RENAME
        return await server.run(method, lambda: work(server.files, document, params), asked=asked)

    return answer


def _running(
    server: LessonsServer, name: str, command: Callable[..., CommandResult]
) -> Callable[..., Any]:
    async def run(*arguments: Any) -> Any:
        outcome: CommandResult | None = await server.run(
            name, lambda: command(server.files, server.documents, *arguments), asked=True
        )
        return None if outcome is None else await server.carry_out(name, outcome)

    return run


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
