"""The client of the bank."""

from collections.abc import Callable
from typing import Any


class Client:
    """Sends requests to the bank."""

    def __init__(self, send: Callable[[str, dict[str, Any]], Any]) -> None:
        self._send = send

    def book(self, account: str, amount: int) -> Any:
        """Book an amount on an account."""
        return self._send("book", {"account": account, "amount": amount})

    def balance(self, account: str) -> Any:
        """Return the balance of an account."""
        return self._send("balance", {"account": account})
