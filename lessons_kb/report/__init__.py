"""The report about a brain and the report about a trial: self-contained HTML pages.

It must not import ``agents``, ``library``, ``tui``, ``service`` or ``cli``.
Start reading in ``page.py``: ``build_page``.
"""

from __future__ import annotations

from lessons_kb.report.page import build_page, style_hash

__all__ = ["build_page", "style_hash"]
