"""What the block asks an agent to end its last message with."""

from __future__ import annotations

REQUEST = (
    "End your last message with one line such as "
    "Lessons: L1.1 done src/bot.py:41; L1.2 n/a; L1.3 left"
)
"""What the block asks for."""
