"""Guards watch the events of a session and return signals. Any agent loop can use them.

They must not import cards, brains or agents, and they read no file and no clock.
Start with ``Watch`` in ``session_guards.py``, which runs all guards of a session.

Each guard takes one event and returns a signal or None. A complete loop::

    from lessons_kb.guards import Event, Watch, parse_call

    def work(task, model, tools):
        watch, messages = Watch(), [task]
        watch.see(Event(kind="prompt", text=task))
        while call := model(messages):
            outcome, output = tools(call)  # "ok", or the kind of failure, such as "exec_error"
            messages.append(output)
            done = Event(kind="tool", tool=call["tool"], outcome=outcome)
            for event in parse_call(done, call["arguments"]):
                for signal in watch.see(event):
                    messages.append(signal.message)
                    if signal.level == "escalate":
                        return signal.user_line
        return messages[-1]

After the loop has compacted its context, ``watch.see(Event(kind="compaction", text=summary))``
returns a signal whose message lists the files read and modified so far. Append it to the summary.

``MistakeTracker`` counts consecutive failures. ``RepeatGuard`` counts equal calls in a row.
``EditLoopGuard`` counts edits of a file that was not read in between. ``FileLedger`` lists the
files read and modified. ``StallGuard`` distinguishes a silent run from one that was cancelled or
failed. All but the last save their state as JSON data with ``to_state()`` and restore it with
``from_state()``, so that a session can continue in another process.
"""

from __future__ import annotations

from lessons_kb.calls.arguments import digest_arguments
from lessons_kb.calls.failure_kinds import kind_of_failure
from lessons_kb.calls.parse_call import kind_of_tool, parse_call
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
