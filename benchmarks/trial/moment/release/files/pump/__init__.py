"""Control of the pumps."""

from pathlib import Path

VERSION = (Path(__file__).parent.parent / "VERSION").read_text().strip()
