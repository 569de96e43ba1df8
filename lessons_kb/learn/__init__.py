"""The producing half: triggers in a session's events, drafts and the bar they must pass.

Nothing here opens a file or reads a clock.
"""

from __future__ import annotations
