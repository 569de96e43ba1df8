"""The records that coding agents keep of their sessions, read piece by piece."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from lessons_kb.transcripts.claude_code_transcripts import ClaudeReader
from lessons_kb.transcripts.codex_rollouts import CodexReader
from lessons_kb.transcripts.copilot_events import CopilotReader
from lessons_kb.transcripts.entries import ANSWER, Entry, RecordReader
from lessons_kb.transcripts.gemini_chats import GeminiReader

CLAUDE, CODEX, GEMINI, COPILOT = "claude-code", "codex", "gemini-cli", "copilot-cli"
AGENTS = (CLAUDE, CODEX, GEMINI, COPILOT)
MAX_LINE_BYTES = 20_000_000

_READERS = {CODEX: CodexReader, GEMINI: GeminiReader, COPILOT: CopilotReader}


def open_reader(agent: str, *, subagent: bool = False) -> RecordReader:
    """Return a fresh reader for one of AGENTS; ``subagent``: for the record of one, if known."""
    return _READERS[agent]() if agent in _READERS else ClaudeReader(subagent=subagent)


class Transcript:
    """A record that grows: fed with bytes as they come, it yields what they tell.

    Lines may be cut anywhere; what is no JSON object is passed over.
    """

    def __init__(self, agent: str, *, subagent: bool = False) -> None:
        self._rest = b""
        self._reader = open_reader(agent, subagent=subagent)
        self.steps: Mapping[str, str] = self._reader.steps
        """Call → what the calls of one message have in common; {} where the record does not say."""

    def feed(self, data: bytes) -> Iterator[Entry]:
        """Yield the entries of the lines that ``data`` completes."""
        *whole, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > MAX_LINE_BYTES:
            self._rest = b""
        for line in whole:
            yield from self.feed_line(line)

    def feed_line(self, line: bytes) -> Iterator[Entry]:
        """Yield the entries of one line."""
        if not line.strip():
            return
        try:
            data = json.loads(line.decode())  # as bytes, its encoding would be guessed first
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict):
            yield from self._reader.read(data)

    def finish(self) -> Iterator[Entry]:
        """Yield what waited for more: a last line without an end, the last answer."""
        rest, self._rest = self._rest, b""
        yield from self.feed_line(rest)
        yield from self._reader.finish()


def read_tail(
    agent: str, data: bytes, offset: int = 0
) -> tuple[list[Entry], int, Mapping[str, str]]:
    """Return what the whole lines among ``data`` tell, the offset behind them, and steps.

    Those are the calls made, of which each leads to what those made together have in common.

    ``data`` is what the record of one of AGENTS holds from ``offset`` on. A partial last line is
    left for the next time; a call whose begin lies before ``data`` has no tool.
    """
    whole = data.rfind(b"\n") + 1
    transcript = Transcript(agent)
    return list(transcript.feed(data[:whole])), offset + whole, transcript.steps


def read_answer(agent: str, data: bytes) -> Entry | None:
    """Return the answer that a record of one of AGENTS ends with, None where it ends otherwise.

    ``data`` is the end of the record; a line that is cut is passed over.
    """
    transcript = Transcript(agent)
    entries = [*transcript.feed(data), *transcript.finish()]
    return entries[-1] if entries and entries[-1].kind == ANSWER else None
