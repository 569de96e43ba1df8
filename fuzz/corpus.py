"""Inputs to begin with, findings kept for good, and plain mutation for runs without a fuzzer."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    from fuzz.targets import Target

ROOT = pathlib.Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests" / "golden" / "fuzz"

_PIECES = (
    *(b"---\n", b"\n", b"\r\n", b"\r", b": ", b"- ", b"[", b"]", b"{", b"}", b"'", b'"', b"`"),
    *(b"#", b"|", b">", b"&a", b"*a", b"!!", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"\x1b["),
    *(b"\xe2\x80\xae", b"<!--", b"-->", b"```", b"## ", b"title:", b"type: lesson", b"\\u0000"),
    *(b"\\ud800", b"null", b"true", b"1e999", b"-1", b"9" * 400, b"../", b"\xea\xb0\x80", b"%s"),
)


def seeds_of(name: str, target: Target) -> list[bytes]:
    """Return a target's first inputs and all findings of the past, none longer than 20 kB."""
    files = [path for glob in target.seeds for path in sorted(ROOT.glob(glob))]
    kept = [*target.own, *[path.read_bytes()[:20_000] for path in files], *golden_of(name)]
    return list(dict.fromkeys(kept))


def golden_of(name: str) -> list[bytes]:
    """Return the findings of the past of one target."""
    return [path.read_bytes() for path in sorted((GOLDEN / name).glob("*"))]


def dictionary() -> str:
    """Return the words of our formats, as libFuzzer reads them."""
    from lessons_kb.cards.keys import KEYS
    from lessons_kb.config import DEFAULTS, SECTIONS, flat_settings

    settings = [key.rpartition(".")[2] + " = " for key in flat_settings(DEFAULTS)]
    words = [*(f"{key}: " for key in KEYS), *settings, *(f"[{name}]\n" for name in SECTIONS)]
    pieces = dict.fromkeys([*_PIECES, *map(str.encode, words)])
    quoted = ("".join(f"\\x{byte:02x}" for byte in piece[:60]) for piece in pieces)
    return "".join(f'"{piece}"\n' for piece in quoted)


def mutate(chance: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return an input like ``data``: cut, doubled, crossed with another, with odd pieces in it."""
    for _ in range(chance.choice((1, 1, 2, 3, 8))):
        at = chance.randrange(len(data) + 1)
        until = min(len(data), at + chance.choice((1, 1, 4, 40)))
        match chance.randrange(6):
            case 0:
                data = data[:at] + data[until:]
            case 1:
                data = data[:at] + data[at:until] * chance.choice((2, 3, 50)) + data[until:]
            case 2:
                other = chance.choice(others)
                start = chance.randrange(len(other) + 1)
                data = data[:at] + other[start : start + chance.randrange(1, 80)] + data[at:]
            case 3:
                data = data[:at] + bytes([chance.randrange(256)]) + data[until:]
            case _:
                data = data[:at] + chance.choice(_PIECES) + data[at:]
    return data[:20_000]
