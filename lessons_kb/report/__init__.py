"""What a brain has done, as one HTML page that needs nothing but itself."""

from __future__ import annotations

from lessons_kb.report.page import build_page, style_hash

__all__ = ["build_page", "style_hash"]
