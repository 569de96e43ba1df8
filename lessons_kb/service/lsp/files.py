"""What an open file is to the brains that hold for it: a card, a draft, source code, or nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from lsprotocol.types import Range

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.detect_in_project import list_tree
from lessons_kb.brain.discovery import untrusted_hint
from lessons_kb.brain.layer import Layer
from lessons_kb.brain.open_brains import Workspace
from lessons_kb.cards.file_kinds import kind_of
from lessons_kb.cards.parse import parse_card
from lessons_kb.errors import BrainNotFound, LessonsError, Untrusted
from lessons_kb.model import NOTE, Card, Document
from lessons_kb.service.lsp.documents import Document as Open
from lessons_kb.service.lsp.documents import Documents
from lessons_kb.store.locate import git_top
from lessons_kb.store.scan import SUFFIXES

_TREE_SECONDS = 10.0
_PATIENCE = 0.2


@dataclass(frozen=True, kw_only=True, slots=True)
class CardFile:
    """A Markdown file of a brain, written or to be written."""

    brain: Brain
    layer: Layer
    id: str

    @property
    def name(self) -> str:
        """What ``Cards.find`` knows it by."""
        return f"{self.layer.alias}:{self.id}" if len(self.brain.layers) > 1 else self.id


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftFile:
    """A draft that waits for a human."""

    brain: Brain
    id: str

    @property
    def layer(self) -> Layer:
        """The brain that it would become a card of."""
        return self.brain.layers[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class SourceFile:
    """Any other file of a project for which a trusted brain holds."""

    brain: Brain
    path: str
    """POSIX, from the project root."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Located:
    """A mistake that a card describes, and where it was found."""

    layer: Layer
    card: Card
    where: Range


def parse(file: CardFile | DraftFile, text: str) -> Document:
    """Return what a card or draft of this text says."""
    path = file.id if isinstance(file, CardFile) else f"lessons/{file.id}.md"
    return parse_card(text, path=path, folders=file.layer.settings.folders)


class Files:
    """Tells what files are; may be shared between threads. Brains nobody trusts are not there."""

    def __init__(
        self, workspace: Workspace, documents: Documents, *, tell: Callable[[str], None]
    ) -> None:
        """``tell`` is given one line for the user where a brain cannot be used."""
        self.documents = documents
        self.folders: Sequence[str] = ()
        """Real paths of the folders that the editor works in."""
        self.show_guards = True
        """Whether the editor wants to know how many lessons guard a file."""
        self.renames_files = False
        """Whether the editor can rename a file together with edits."""
        self.matches: dict[str, tuple[Open, list[Located]]] = {}
        """URI of a source file → the document that was last looked at, and what was found."""
        self._workspace = workspace
        self._tell = tell
        self._cards: dict[str, tuple[object, list[Card]]] = {}
        self._trees: dict[str, tuple[float, list[str]]] = {}

    def find(self, path: str) -> CardFile | DraftFile | SourceFile | None:
        """Return what the file at a real path is, None where it is none of our business."""
        brain = self.brain_of(os.path.dirname(path))
        if path.endswith(SUFFIXES):
            if brain is not None and (card := _find_card(brain, path)) is not None:
                return card
            if (draft := self._find_draft(path)) is not None:
                return draft
        if brain is None or not self._is_in_project(brain, path):
            return None
        return SourceFile(
            brain=brain, path=os.path.relpath(path, brain.directory).replace(os.sep, "/")
        )

    def brain_of(self, folder: str) -> Brain | None:
        """Return the trusted brains that hold for a folder as of their last commit, None without.

        A scan of twelve thousand files takes longer than a typist waits: see ``refresh``.
        """
        try:
            found = self._workspace.look(folder)
            if found.untrusted:
                self._tell(untrusted_hint(found.untrusted, found.named))
            if found.missing:
                self._tell(found.missing)
            # One brain for all folders of a project: its patterns are compiled but once.
            around = [*self.folders, *found.trusted]
            inside = [one for one in around if _is_inside(folder + os.sep, one)]
            where = git_top(folder) or max(inside, key=len, default=folder)
            return self._workspace.find(where, found=found)
        except (BrainNotFound, Untrusted):
            return None
        except LessonsError as error:
            self._tell(str(error))
            return None

    def brains(self) -> Iterator[Brain]:
        """Yield the brains of the editor's folders, each once."""
        found = (self.brain_of(folder) for folder in self.folders)
        yield from {id(brain): brain for brain in found if brain is not None}.values()

    def cards(self, layer: Layer) -> list[Card]:
        """Return every card and note of a brain as of the last commit."""
        layer.prepare()
        state = layer.state
        known = self._cards.get(layer.root)
        if known is None or known[0] is not state:
            known = state, layer.read(lambda one: one.catalogue.all_cards())
            self._cards[layer.root] = known
        return known[1]

    def tree(self, brain: Brain) -> list[str]:
        """Return the files of the project, from its root, as of some seconds ago."""
        now = time.monotonic()
        known = self._trees.get(brain.directory)
        if known is None or now - known[0] > _TREE_SECONDS:
            known = now, list_tree(brain.directory)
            self._trees[brain.directory] = known
        return known[1]

    def refresh(self) -> bool:
        """Bring the brains of what is open up to date; return whether anything had changed."""
        folders = {os.path.dirname(document.path) for document in self.documents.all()}
        brains = {id(brain): brain for brain in map(self.brain_of, folders) if brain is not None}
        changed = False
        for brain in brains.values():
            before = [layer.state for layer in brain.layers]
            brain.refresh(patience=_PATIENCE)
            pairs = zip(before, brain.layers, strict=True)
            changed = changed or any(layer.state is not state for state, layer in pairs)
        return changed

    def _find_draft(self, path: str) -> DraftFile | None:
        name = os.path.splitext(os.path.basename(path))[0]
        for brain in self.brains():
            drafts = brain.drafts
            if name in drafts.ids() and os.path.realpath(drafts.get(name).path) == path:
                return DraftFile(brain=brain, id=name)
        return None

    def _is_in_project(self, brain: Brain, path: str) -> bool:
        """Tell whether a brain is of the file's project, or the editor works there.

        The user's own brain holds everywhere, but a library that is looked at is nobody's project.
        """
        own = any(
            _is_inside(path, layer.root) or _is_inside(layer.root, brain.directory)
            for layer in brain.layers
        )
        return own or any(_is_inside(path, folder) for folder in self.folders)


def _find_card(brain: Brain, path: str) -> CardFile | None:
    for layer in brain.layers:
        if not _is_inside(path, layer.root):
            continue
        name = os.path.relpath(path, layer.root).replace(os.sep, "/")
        layer.prepare()
        if layer.read(lambda one, name=name: one.catalogue.numbers(name)) or _is_new(layer, name):  # type: ignore[misc]
            return CardFile(brain=brain, layer=layer, id=name)
    return None


def _is_new(layer: Layer, name: str) -> bool:
    """Tell whether a file that no scan has listed would be a card, or is too large to be read."""
    if any(part.startswith(".") for part in name.split("/")):
        return False
    full = os.path.join(layer.root, *name.split("/"))
    if os.path.lexists(full):
        return os.path.getsize(full) > layer.settings.index.max_file_bytes
    return kind_of(name, layer.settings.folders) != NOTE


def _is_inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip(os.sep) + os.sep)
