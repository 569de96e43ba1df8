"""The version of the package and the address of its documentation, each in one place."""

from __future__ import annotations

__version__ = "0.1.0"
DOCS = "https://lessons-kb.github.io/lessons-kb"
"""The address of the documentation. An installed package does not contain the pages."""
