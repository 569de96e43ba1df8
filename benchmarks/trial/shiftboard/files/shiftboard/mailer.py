"""Mail to volunteers, through the association's relay."""

from __future__ import annotations

import smtplib
from collections.abc import Mapping
from email.message import EmailMessage
from typing import Protocol

SENDER = "board@helferkreis.example"


class Relay(Protocol):
    """What sends a message: smtplib.SMTP, or a list in tests."""

    def send_message(self, message: EmailMessage) -> object: ...


class Mailer:
    """Sends plain text, one message a person."""

    def __init__(self, relay: Relay | None = None) -> None:
        self.relay = relay

    def send(
        self, to: str, subject: str, body: str, headers: Mapping[str, str] | None = None
    ) -> None:
        """Send a message; without an address nothing happens."""
        if not to:
            return
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = SENDER, to, subject
        for name, value in (headers or {}).items():
            message[name] = value
        message.set_content(body)
        if self.relay is not None:
            self.relay.send_message(message)
            return
        with smtplib.SMTP("localhost", timeout=10) as relay:
            relay.send_message(message)
