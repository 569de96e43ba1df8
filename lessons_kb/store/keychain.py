"""The token of a server in the user's keychain, through the extra ``keychain``."""

from __future__ import annotations

from importlib.util import find_spec

from lessons_kb.errors import StorageError

EXTRA = "keychain"
_SERVICE = "lessons-kb"


def read_keychain(url: str) -> str:
    """Return the token of a server, "" where there is none; StorageError without a keychain."""
    if find_spec("keyring") is None:
        raise StorageError("the token is in the keychain, and the extra `keychain` is missing")
    import keyring
    from keyring.errors import KeyringError

    try:
        return keyring.get_password(_SERVICE, url) or ""
    except KeyringError as error:
        raise StorageError(f"the keychain does not give the token ({error}); unlock it") from None


def keep_in_keychain(url: str, token: str) -> bool:
    """Keep a token, "" forgets it; False where this machine has no keychain that takes it."""
    if find_spec("keyring") is None:
        return False
    import keyring
    from keyring.errors import KeyringError

    try:
        if token:
            keyring.set_password(_SERVICE, url, token)
        elif keyring.get_password(_SERVICE, url) is not None:
            keyring.delete_password(_SERVICE, url)
    except KeyringError:
        return False
    return True
