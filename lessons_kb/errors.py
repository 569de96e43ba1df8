"""Everything this package raises on purpose.

::

    LessonsError
    ├── ConfigError        lessons.toml: names the line and the nearest valid key
    ├── BrainNotFound      no brain here, or not a directory
    ├── Untrusted          a discovered brain that its user has not trusted yet
    ├── CardNotFound       no such card; names the nearest
    ├── AmbiguousCard      the name fits several cards
    ├── DuplicateCard      a card with this title exists
    │   └── Contradiction  a card that demands the opposite exists
    ├── EditRefused        an edit would not keep the human's file
    ├── InputError         a value given by the caller cannot be used
    │   └── Incomplete     a card lacks what the quality bar asks for
    ├── ModelMissing       the embedding model or its libraries; says what to install
    ├── StorageError       the disk said no: full, read-only, locked
    │   ├── EngineUnreachable  a server that holds an index does not answer, or refuses
    │   ├── IndexBusy      another process is writing the index
    │   └── IndexBroken    the index cannot be read; whoever meets it rebuilds
    └── GitError           git said no

A message is one line and says what to do next.
"""

from __future__ import annotations


class LessonsError(Exception):
    """Root of every error a caller may want to catch."""


class ConfigError(LessonsError):
    """A ``lessons.toml`` that cannot be used."""


class BrainNotFound(LessonsError):
    """No brain where one was looked for."""


class Untrusted(LessonsError):
    """A brain that was merely discovered and not trusted by this user."""


class CardNotFound(LessonsError):
    """No card answers to this name."""


class AmbiguousCard(LessonsError):
    """A name that fits several cards."""


class DuplicateCard(LessonsError):
    """A card with the same title exists already.

    ``existing`` is its id.
    """

    def __init__(self, message: str, *, existing: str) -> None:
        super().__init__(message)
        self.existing = existing


class Contradiction(DuplicateCard):
    """A card that demands the opposite exists.

    ``existing`` is its id.
    """


class EditRefused(LessonsError):
    """An edit that would have changed more than it was asked to."""


class InputError(LessonsError):
    """A value from the caller that cannot be used."""


class Incomplete(InputError):
    """A card that does not pass the quality bar.

    ``missing`` holds one line for each thing that it lacks.
    """

    def __init__(self, message: str, *, missing: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing


class ModelMissing(LessonsError):
    """An embedding model, or a library it needs, that is not there or cannot be used."""


class StorageError(LessonsError):
    """The disk refused: full, read-only, or locked by another process."""


class EngineUnreachable(StorageError):
    """A server that holds an index does not answer, or refuses; what is local still works."""


class IndexBusy(StorageError):
    """Another process holds the writer's lock of the index; the last commit can be searched."""


class IndexBroken(StorageError):
    """The index is missing, foreign, damaged or of another version."""


class GitError(LessonsError):
    """Git is missing, or refused."""
