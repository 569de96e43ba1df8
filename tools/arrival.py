"""Records a lesson that arrives in Claude Code: ``python tools/arrival.py PATH-OF-CLAUDE``.

The client is real. It runs in a terminal of tmux, in a home and a project of its own, and a
stand-in for the model answers from ``TURNS``. The screens become one moving picture,
``docs/pictures/arrival.svg``. It needs tmux and rich, and nothing leaves this machine.
"""

from __future__ import annotations

import html
import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.style import Style

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "pictures" / "arrival.svg"
COLUMNS, ROWS = 92, 28
CARD = (
    *("add", "Refund paid in the wrong currency", "--tags", "payments", "--severity", "high"),
    *("--why", "The worker summed amounts as plain numbers, so 100 yen became 100 dollars."),
    *("--do", "Carry amount and currency together, as one type"),
    *("--do", "Cover an order in a second currency with a test"),
    *("--symptom", "pay customers back in batches"),
    *("--symptom", "a customer got back more than they had paid"),
)
PROMPT = "Let the nightly job pay customers back, in batches of 500"
CODE = "from decimal import Decimal\n\n\nclass Money(NamedTuple):\n    amount: Decimal\n    currency: str\n"
TURNS = (
    [
        {"type": "text", "text": "I carry amount and currency together, as one type."},
        {"type": "tool_use", "name": "Write", "input": {"file_path": "", "content": CODE}},
    ],
    [
        {
            "type": "text",
            "text": "Done: Money carries amount and currency together.\n\nLessons: 1 ok",
        }
    ],
)
"""The answers of the stand-in: one list of content blocks for each request that offers tools."""
ASKS, CONVERSATION = "\u276f", "\u276f●⎿"
"""How the client marks its prompt, and the lines of a conversation."""
PAUSE_SECONDS = 0.2
"""Between two looks at the screen."""
NOTICED_STARTS = 4
"""The client's first starts show notices that do not belong in the picture."""
LONGEST_SECONDS = 40
LAST_SECONDS = 6.0
"""How long the last screen stays."""
SHOWN_SECONDS = {"typing": 0.35, "answer": 1.6}
CELL_WIDTH, LINE_HEIGHT, FONT_SIZE = 8.4, 18, 14
BACKGROUND, FOREGROUND, OURS = "#16181d", "#d8dbe2", "#5eead4"
PLAIN_MARKS = str.maketrans("⎿⏵", "└▸")
"""Marks of the client that many fonts lack → similar ones."""


class Frame(NamedTuple):
    """A screen and how long it is shown."""

    screen: str
    seconds: float


def main(claude: str) -> None:
    """Record the client and write the picture."""
    # A process of the client or ours may still write while the folder is removed.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        frames = record(claude, Path(place))
    PICTURE.write_text(draw(frames), "utf-8")
    print(f"{PICTURE.name}: {len(frames)} screens, {PICTURE.stat().st_size / 1000:.0f} kB")


def record(claude: str, home: Path) -> list[Frame]:
    """Drive the client and return its screens."""
    project = home / "shop"
    project.mkdir()
    server = start_model(project)
    environment = {
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{server.server_port}",
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "DISABLE_AUTOUPDATER": "1",
    }
    run = partial(subprocess.run, cwd=project, env=environment, check=True, capture_output=True)
    run(["git", "init", "-q"])
    lessons = [sys.executable, "-m", "lessons_kb.cli.main"]
    for words in (("init", "."), CARD, ("install", "claude-code", "--scope", "user")):
        run([*lessons, *words])
    known = {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["dummy"], "rejected": []},
        "projects": {str(project): {"hasTrustDialogAccepted": True}},
    }
    (home / ".claude.json").write_text(json.dumps(known), "utf-8")
    try:
        for number in range(NOTICED_STARTS):
            terminal = Terminal(home / f"{number}.sock", environment, project)
            terminal.start(claude)
            terminal.stop()
        terminal = Terminal(home / "main.sock", environment, project)
        terminal.start(claude)
        return watch(terminal)
    finally:
        terminal.stop()
        run([*lessons, "daemon", "stop"])
        server.shutdown()


def watch(terminal: Terminal) -> list[Frame]:
    """Type the prompt, and return each screen that differs from the one before."""
    frames = [Frame(terminal.read(), 1.0)]
    words = PROMPT.split(" ")
    for number, word in enumerate(words):
        terminal.type(word if number == 0 else f" {word}")
        time.sleep(PAUSE_SECONDS)
        frames.append(Frame(terminal.read(), SHOWN_SECONDS["typing"]))
    terminal.press("Enter")
    end = time.monotonic() + LONGEST_SECONDS
    while time.monotonic() < end:
        time.sleep(PAUSE_SECONDS)
        screen = terminal.read()
        if without_spinner(screen) != without_spinner(frames[-1].screen):
            frames.append(Frame(screen, SHOWN_SECONDS["answer"]))
        if "Stop says" in screen:
            frames.append(Frame(terminal.read(), LAST_SECONDS))
            return frames
    sys.exit(f"the lesson was not seen within {LONGEST_SECONDS} s:\n{terminal.read()}")


def without_spinner(screen: str) -> list[str]:
    """Return the lines that tell something: those of the conversation."""
    return [line for line in screen.split("\n") if any(mark in line for mark in CONVERSATION)]


class Terminal:
    """A terminal of tmux with a server of its own."""

    def __init__(self, socket: Path, environment: dict[str, str], folder: Path) -> None:
        settings = socket.with_suffix(".conf")
        settings.write_text("set -g focus-events on\nset -g default-terminal tmux-256color\n")
        self._tmux = ["tmux", "-S", str(socket), "-f", str(settings)]
        self._environment, self._folder = environment, folder

    def start(self, program: str) -> None:
        """Start ``program`` and wait until it asks for a prompt."""
        size = ["-x", str(COLUMNS), "-y", str(ROWS)]
        self._run("new-session", "-d", "-s", "main", *size, program)
        end = time.monotonic() + LONGEST_SECONDS
        while ASKS not in self.read():
            if time.monotonic() > end:
                sys.exit(f"no prompt within {LONGEST_SECONDS} s:\n{self.read()}")
            time.sleep(PAUSE_SECONDS)
        time.sleep(3)  # until the hooks of the start have ended

    def stop(self) -> None:
        """End the program and the terminal."""
        subprocess.run([*self._tmux, "kill-server"], capture_output=True, check=False)

    def type(self, text: str) -> None:
        """Type ``text`` as it stands."""
        self._run("send-keys", "-t", "main", "-l", text)

    def press(self, key: str) -> None:
        """Press a key by its name."""
        self._run("send-keys", "-t", "main", key)

    def read(self) -> str:
        """Return the screen with its colours as escape sequences."""
        return self._run("capture-pane", "-e", "-p", "-t", "main")

    def _run(self, *words: str) -> str:
        done = subprocess.run(
            [*self._tmux, *words],
            cwd=self._folder, env=self._environment, check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout


def start_model(project: Path) -> ThreadingHTTPServer:
    """Start the stand-in for the model, which speaks Anthropic's Messages API as a stream."""
    turns = iter(TURNS)

    class Model(BaseHTTPRequestHandler):
        def log_message(self, *_words: object) -> None:
            """Print nothing: the screen belongs to the client."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            blocks = [{"type": "text", "text": "done"}]
            if request.get("tools"):
                blocks = next(turns, blocks)
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in stream(blocks, project):
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    Thread(target=server.serve_forever, daemon=True).start()
    return server


def stream(blocks: list[dict], project: Path) -> list[dict]:
    """Return the events that send ``blocks``, in the order of the API."""
    calls = any(block["type"] == "tool_use" for block in blocks)
    message = {
        "id": "message", "type": "message", "role": "assistant", "model": "stand-in",
        "content": [], "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": 5},
    }  # fmt: skip
    events: list[dict] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            start = {"type": "text", "text": ""}
            delta = {"type": "text_delta", "text": block["text"]}
        else:
            values = {**block["input"], "file_path": str(project / "refunds.py")}
            start = {**block, "id": f"call-{index}", "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(values)}
        events += [
            {"type": "content_block_start", "index": index, "content_block": start},
            {"type": "content_block_delta", "index": index, "delta": delta},
            {"type": "content_block_stop", "index": index},
        ]
    reason = {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": reason, "usage": {"output_tokens": 5}})
    return [*events, {"type": "message_stop"}]


def draw(frames: list[Frame]) -> str:
    """Return the screens as one SVG that shows them in turn, without scripts."""
    total = sum(frame.seconds for frame in frames)
    width, height = COLUMNS * CELL_WIDTH + 24, ROWS * LINE_HEIGHT + 24
    rules, groups, start = [], [], 0.0
    for number, frame in enumerate(frames):
        end = start + frame.seconds
        first, last = 100 * start / total, 100 * end / total
        rules.append(
            f"@keyframes f{number}{{0%{{opacity:0}}{first:.2f}%{{opacity:1}}{last:.2f}%{{opacity:0}}}}"
            if number
            else f"@keyframes f0{{0%{{opacity:1}}{last:.2f}%{{opacity:0}}}}"
        )
        rules.append(f"#f{number}{{animation:f{number} {total:.1f}s step-end infinite}}")
        groups.append(f'<g id="f{number}" class="frame">{draw_screen(frame.screen)}</g>')
        start = end
    rest = f"#f{len(frames) - 1}{{opacity:1}}"
    still = f"@media (prefers-reduced-motion:reduce){{.frame{{animation:none!important}}{rest}}}"
    style = (
        f"text{{font:{FONT_SIZE}px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;"
        f"white-space:pre}}.frame{{opacity:0}}{''.join(rules)}{still}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" '
        f'role="img" aria-label="A lesson arrives in Claude Code" fill="{FOREGROUND}"><style>{style}</style>'
        f'<rect width="100%" height="100%" rx="8" fill="{BACKGROUND}"/>{"".join(groups)}</svg>\n'
    )


def draw_screen(screen: str) -> str:
    """Return the lines of a screen as text elements."""
    from rich.console import Console
    from rich.segment import Segment
    from rich.text import Text

    console = Console(width=COLUMNS, color_system="truecolor", legacy_windows=False)
    elements = []
    for row, line in enumerate(screen.rstrip("\n").split("\n")):
        column = 0
        words = Text.from_ansi(line, no_wrap=True)
        ours = " says: " in words.plain
        for segment in Segment.simplify(console.render(words)):
            text = segment.text.rstrip("\n")
            if text.strip():
                x = 12 + column * CELL_WIDTH
                y = 12 + row * LINE_HEIGHT + FONT_SIZE
                length = len(text) * CELL_WIDTH
                look = f' fill="{OURS}"' if ours else describe(segment.style)
                shown = html.escape(text.translate(PLAIN_MARKS), quote=False)
                elements.append(
                    f'<text x="{x:.1f}" y="{y}" textLength="{length:.1f}"{look}>{shown}</text>'
                )
            column += len(text)
    return "".join(elements)


def describe(style: Style | None) -> str:
    """Return the attributes of SVG for a style: its colour and whether it is bold or dim."""
    if style is None:
        return ""
    attributes = ""
    if style.color is not None and not style.color.is_default:
        attributes += f' fill="{style.color.get_truecolor().hex}"'
    if style.bold:
        attributes += ' font-weight="bold"'
    if style.dim:
        attributes += ' opacity=".6"'
    return attributes


if __name__ == "__main__":
    main(sys.argv[1])
