"""Connections to Qdrant: one client a place, its errors as ours, and how points are named."""

from __future__ import annotations

import os
import threading
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from qdrant_client import QdrantClient
from qdrant_client import models as qdrant
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from lessons_kb.errors import EngineUnreachable, IndexBroken, IndexBusy, StorageError

_SIGN, WRAP = 1 << 63, 1 << 64
"""Points are numbered without a sign."""
_FORBIDDEN = (401, 403)
_MISSING = 404
_TIMEOUT_SECONDS = 30


class Store:
    """A client that all engines of this process at one place share."""

    def __init__(self, client: QdrantClient) -> None:
        self.client = client
        self.lock = threading.Lock()
        """Held by who writes."""
        weakref.finalize(self, client.close)


_folders: weakref.WeakValueDictionary[str, Store] = weakref.WeakValueDictionary()
"""A folder is locked by the one client that has it open."""
_opening = threading.Lock()


def open_store(location: str, *, create: bool, key: str) -> Store:
    """Return the client of a folder or of the URL of a server.

    Raises IndexBroken where a folder holds no index and none is to be made, StorageError.
    """
    if "://" in location:
        with warnings.catch_warnings():
            # A key over plain http, which whoever opened it allowed for loopback alone.
            warnings.simplefilter("ignore", UserWarning)
            return Store(
                QdrantClient(
                    url=location,
                    api_key=key or None,
                    timeout=_TIMEOUT_SECONDS,
                    check_compatibility=False,
                )
            )
    real = os.path.realpath(location)
    if not create and not os.path.isfile(os.path.join(real, "meta.json")):
        raise IndexBroken(f"no index in {location}; rebuild it with `lessons index`")
    try:
        os.makedirs(real, exist_ok=True)
    except OSError as error:
        raise StorageError(f"cannot create {location}: {error.strerror}") from None
    with _opening:
        store = _folders.get(real)
        if store is None:
            # Its own check of threads is about connections: all here take turns or only read.
            store = Store(QdrantClient(path=real, force_disable_check_same_thread=True))
            _folders[real] = store
        return store


@contextmanager
def translating(location: str) -> Iterator[None]:
    """Raise what the library raises as errors of ours."""
    try:
        yield
    except StorageError:
        raise
    except UnexpectedResponse as error:
        code = error.status_code
        if code in _FORBIDDEN:
            raise EngineUnreachable(
                f"{location} refuses the key ({code}); set LESSONS_SYNC_KEY to a valid one"
            ) from None
        said = f"{location} answers {code} {error.reason_phrase}"
        if code == _MISSING:
            raise IndexBroken(said) from None
        raise EngineUnreachable(f"{said}; try again later") from None
    except ApiException as error:
        why = str(getattr(error, "source", error)).partition("\n")[0]
        raise EngineUnreachable(
            f"{location} does not answer ({why}); check the address and that it runs"
        ) from None
    except OSError as error:
        raise StorageError(
            f"cannot use the index in {location}: {error.strerror or error}; "
            "free space or make it writable"
        ) from None
    except Exception as error:  # whatever a damaged folder makes of the library
        if "already accessed" in str(error):
            raise IndexBusy(
                f"{location} is used by another process; try again when it has ended"
            ) from None
        why = next(iter(str(error).splitlines()), type(error).__name__)[:200]
        raise IndexBroken(f"the index in {location} cannot be used ({why})") from None


def where(**values: Any) -> qdrant.Filter:
    """Return the filter of points whose payload holds all these values."""
    conditions = [
        qdrant.FieldCondition(key=key, match=qdrant.MatchValue(value=value))
        for key, value in values.items()
    ]
    return qdrant.Filter(must=list(conditions))


def number_of(point: object) -> int:
    """Return the signed number that a point's id stands for."""
    number = int(str(point))
    return number - WRAP if number >= _SIGN else number
