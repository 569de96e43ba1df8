"""Carts."""

from dataclasses import dataclass, field


@dataclass
class Cart:
    """The articles of a customer."""

    customer: str
    cents: list[int] = field(default_factory=list)
    """The price of each article."""

    def total(self) -> int:
        """Return the price of all articles in cents."""
        return sum(self.cents)
