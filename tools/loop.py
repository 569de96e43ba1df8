"""Draws the closed loop as an SVG for light and dark themes, screen and paper."""

from __future__ import annotations

from html import escape

STEPS = (
    ("record", "failures, complaints", "makes"),
    ("draft", "kept out of sight", "makes"),
    ("confirm", "a human, a bar", "makes"),
    ("deduplicate", "louder, not more", "makes"),
    ("retrieve", "few, or none", "uses"),
    ("preflight", "a checklist", "uses"),
    ("post-check", "what was left out", "uses"),
    ("measure", "does it help?", "uses"),
)
"""Step, its description, half of the loop; clockwise from the upper left."""

WIDTH, HEIGHT = 760, 300
BOX_WIDTH, BOX_HEIGHT = 150, 60
TOP, BOTTOM = 16, HEIGHT - 16 - BOX_HEIGHT
COLUMNS = 4
LEFT = 20
STEP = (WIDTH - 2 * LEFT - BOX_WIDTH) / (COLUMNS - 1)
GAP = 7
"""Pixels between an arrow and the boxes it joins."""

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #1b1d20; text-anchor: middle; }
  .name { font-size: 17px; font-weight: 650; } .about { font-size: 13px; fill: #595e66; }
  .makes { fill: #f7edd8; stroke: #b98a2c; } .uses { fill: #e4ecfa; stroke: #5b7fc0; }
  .cards { fill: #ffffff; stroke: #8a8f98; stroke-dasharray: 5 4; } rect { stroke-width: 1.5; }
  .arrow { stroke: #6b7078; stroke-width: 2; fill: none; } .head { fill: #6b7078; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e9e9e6; } .about { fill: #a6abb4; }
    .makes { fill: #3a2f17; stroke: #c99a3a; } .uses { fill: #1e2b45; stroke: #7f9bc9; }
    .cards { fill: #1d2024; stroke: #7b818b; } .arrow { stroke: #9298a1; } .head { fill: #9298a1; }
  }
"""


def draw_loop() -> str:
    """Return the picture."""
    places = [
        (LEFT + n * STEP, TOP) if n < COLUMNS else (LEFT + (2 * COLUMNS - 1 - n) * STEP, BOTTOM)
        for n in range(len(STEPS))
    ]
    parts = [_box(*place, *step) for place, step in zip(places, STEPS, strict=True)]
    parts += [_arrow(place, places[(n + 1) % len(places)]) for n, place in enumerate(places)]
    steps = ", ".join(name for name, _about, _half in STEPS)
    return "\n".join(
        (
            (
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
                f'width="{WIDTH}" height="{HEIGHT}" role="img" aria-labelledby="title desc">'
            ),
            '<title id="title">The loop of a lesson</title>',
            (
                f'<desc id="desc">In a circle: {steps}, and back to record. Between the half that makes '
                "lessons and the half that uses them stand the cards, Markdown in your repository.</desc>"
            ),
            f"<style>{STYLE}</style>",
            (
                '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="5" '
                'markerHeight="5" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 z"/></marker></defs>'
            ),
            *parts,
            _cards(),
            "</svg>\n",
        )
    )


def _box(x: float, y: float, name: str, about: str, half: str) -> str:
    middle = x + BOX_WIDTH / 2
    return (
        f'<rect class="{half}" x="{x:g}" y="{y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="10"/>'
        f'<text class="name" x="{middle:g}" y="{y + 26}">{escape(name)}</text>'
        f'<text class="about" x="{middle:g}" y="{y + 46}">{escape(about)}</text>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    if y1 == y2:
        right = x2 > x1
        y1 = y2 = y1 + BOX_HEIGHT / 2
        x1, x2 = (x1 + BOX_WIDTH + GAP, x2 - GAP) if right else (x1 - GAP, x2 + BOX_WIDTH + GAP)
    else:
        down = y2 > y1
        x1 = x2 = x1 + BOX_WIDTH / 2
        y1, y2 = (y1 + BOX_HEIGHT + GAP, y2 - GAP) if down else (y1 - GAP, y2 + BOX_HEIGHT + GAP)
    return f'<path class="arrow" marker-end="url(#head)" d="M{x1:g} {y1:g} L{x2:g} {y2:g}"/>'


def _cards() -> str:
    width, height = 340, 54
    x, y = (WIDTH - width) / 2, (HEIGHT - height) / 2
    return (
        f'<rect class="cards" x="{x:g}" y="{y:g}" width="{width}" height="{height}" rx="10"/>'
        f'<text class="name" x="{WIDTH / 2:g}" y="{y + 24:g}">cards</text>'
        f'<text class="about" x="{WIDTH / 2:g}" y="{y + 43:g}">Markdown in your repository, '
        "reviewed like code</text>"
    )
