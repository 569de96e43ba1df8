"""The errors that this package raises on purpose.

::

    LessonsError
    ├── ConfigError        a lessons.toml is invalid; names the line and the nearest valid key
    ├── BrainNotFound      there is no brain here, or it is not a directory
    ├── Untrusted          a discovered brain is not trusted by the user yet
    ├── CardNotFound       there is no such card; names the nearest
    ├── AmbiguousCard      the name matches several cards
    ├── DuplicateCard      a card with this title exists
    │   └── Contradiction  a card that demands the opposite exists
    ├── EditRefused        an edit would change more of the user's file than it should
    ├── InputError         a value from the caller cannot be used
    │   └── Incomplete     a card lacks parts that the quality bar requires
    ├── ModelMissing       the embedding model or a library is missing; says what to install
    ├── StorageError       a file cannot be read or written: full disk, read-only, locked
    │   ├── EngineUnreachable  a server with an index does not answer, or refuses
    │   ├── IndexBusy      another process is writing the index
    │   └── IndexBroken    the index cannot be read; the code that notices it rebuilds the index
    └── GitError           git failed

A message is one line and says what to do next.
"""

from __future__ import annotations


class LessonsError(Exception):
    """Base class of every error that a caller may want to catch."""


class ConfigError(LessonsError):
    """A ``lessons.toml`` that cannot be used."""


class BrainNotFound(LessonsError):
    """There is no brain at the place that was searched."""


class Untrusted(LessonsError):
    """A brain that was discovered, but that this user has not trusted."""


class CardNotFound(LessonsError):
    """No card has this name."""


class AmbiguousCard(LessonsError):
    """A name that matches several cards."""


class DuplicateCard(LessonsError):
    """A card with the same title exists already.

    ``existing`` is the id of that card.
    """

    def __init__(self, message: str, *, existing: str) -> None:
        super().__init__(message)
        self.existing = existing


class Contradiction(DuplicateCard):
    """A card that demands the opposite exists.

    ``existing`` is the id of that card.
    """


class EditRefused(LessonsError):
    """An edit that would change more of the user's file than it should."""


class InputError(LessonsError):
    """A value from the caller that cannot be used."""


class Incomplete(InputError):
    """A card that does not pass the quality bar.

    ``missing`` has one line for each missing part.
    """

    def __init__(self, message: str, *, missing: tuple[str, ...]) -> None:
        super().__init__(message)
        self.missing = missing


class ModelMissing(LessonsError):
    """An embedding model, or a library that it needs, is missing or cannot be used."""


class StorageError(LessonsError):
    """A file cannot be read or written: the disk is full or read-only, or the file is locked."""


class EngineUnreachable(StorageError):
    """A server with an index does not answer, or refuses; the local index still works."""


class IndexBusy(StorageError):
    """Another process has the writer lock of the index; the last commit can be searched."""


class IndexBroken(StorageError):
    """The index is missing, damaged, of another version, or not an index of ours."""


class GitError(LessonsError):
    """Git is missing, or it failed."""
