"""Watching a session: pure state machines over events, usable by any agent loop without a brain.

One event goes in, what should be said comes out. A whole loop::

    from lessons_kb.guards import Event, Watch, parse_call

    def work(task, model, tools):
        watch, said = Watch(), [task]
        watch.see(Event(kind="prompt", text=task))
        while call := model(said):
            outcome, output = tools(call)  # "ok", or the kind of failure, such as "exec_error"
            said.append(output)
            done = Event(kind="tool", tool=call["tool"], outcome=outcome)
            for signal in (s for e in parse_call(done, call["arguments"]) for s in watch.see(e)):
                said.append(signal.message)
                if signal.level == "escalate":
                    return signal.user_line
        return said[-1]

After the loop has compacted its context, ``watch.see(Event(kind="compaction", text=summary))``
returns the files read and modified so far, as text to put behind the summary.

``MistakeTracker`` counts failures in a row, ``RepeatGuard`` equal calls, ``EditLoopGuard`` edits
without a look, ``FileLedger`` keeps the files, ``StallGuard`` tells a silent run from one that
was cancelled or failed. Each but the last has ``to_state()`` and ``from_state()``, plain JSON data,
so that a session can go on in another process. None reads a clock or a file.
"""

from __future__ import annotations

from lessons_kb.calls.parse_call import digest_arguments, kind_of_failure, kind_of_tool, parse_call
from lessons_kb.guards.session_guards import (
    EditLoopGuard,
    FileLedger,
    Limits,
    MistakeTracker,
    RepeatGuard,
    StallGuard,
    Watch,
    parse_ledger,
)
from lessons_kb.model import Event, Signal

__all__ = [
    "EditLoopGuard",
    "Event",
    "FileLedger",
    "Limits",
    "MistakeTracker",
    "RepeatGuard",
    "Signal",
    "StallGuard",
    "Watch",
    "digest_arguments",
    "kind_of_failure",
    "kind_of_tool",
    "parse_call",
    "parse_ledger",
]


def __dir__() -> list[str]:
    return __all__
