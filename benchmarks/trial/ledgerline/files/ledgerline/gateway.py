"""The payment provider."""

from __future__ import annotations

from typing import Protocol


class GatewayError(Exception):
    """The provider refused."""


class Gateway(Protocol):
    """What we use of the provider."""

    def capture(self, token: str, amount: int) -> str:
        """Take money; return the provider's reference. Raises GatewayError."""

    def refund(self, reference: str, amount: int) -> str:
        """Give money of a payment back; return a reference. Raises GatewayError."""
