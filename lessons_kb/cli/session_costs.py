"""Print what our text cost the sessions of agents, for `lessons stats --cost`."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping

from lessons_kb.agents.table import AGENTS
from lessons_kb.brain.brains import Brains
from lessons_kb.cli.output import options, print_beside, print_bold, print_json, say
from lessons_kb.ledger.cost import EXPLAINED, KEPT, LOST, NO_CACHE, NOT_KNOWN, Costs, SessionCost
from lessons_kb.model import as_data
from lessons_kb.outcome.session_costs import measure_costs
from lessons_kb.store.journal import BLOCK_SENT, CALL_SENT, CHECK_SENT, TITLES_SENT
from lessons_kb.text.sanitize import clean_line, counted

_ROWS = 10
_UNKNOWN = "unknown"
_CHANNELS = {
    TITLES_SENT: "titles",
    BLOCK_SENT: "with prompts",
    CALL_SENT: "at tool calls",
    CHECK_SENT: "post-check",
}
_STATES = {
    KEPT: "read everything that was cached before",
    LOST: "read less than was cached before",
    EXPLAINED: "read less after a compaction, another model or a pause of five minutes",
    NO_CACHE: "followed a request without a cache",
    NOT_KNOWN: "are without figures of the cache",
}
_SMALL_SHARE = 0.001


def print_costs(brains: Brains, *, days: int) -> None:
    """Measure and print the cost of our text in the sessions of the last ``days``."""
    rebuilt = {agent.name for agent in AGENTS.values() if not agent.lasting}
    costs = measure_costs(brains, days=days, now=time.time(), rebuilt=rebuilt)
    if options().json:
        sessions = [
            {**as_data(cost), "share": cost.share, "lost_cache": bool(cost.lost)}
            for cost in costs.by_session
        ]
        print_json({**as_data(costs), "verdict": describe_cache(costs), "by_session": sessions})
        return
    if not costs.sessions:
        say(f"no text for a model was recorded in the last {counted(days, 'day')}")
        _print_unknown(costs.unknown)
        return
    agents = Counter(cost.agent or "unknown agent" for cost in costs.by_session)
    names = ", ".join(f"{number} {name}" for name, number in agents.most_common())
    rows = {"sessions": f"{costs.sessions:,} in the last {counted(days, 'day')} ({names})"}
    for channel, title in _CHANNELS.items():
        rows[title] = _describe_channel(costs, channel)
    rows["input"] = _describe_share(costs.input, costs.ours)
    around = costs.around
    if around.pairs:
        rows["cache before"] = (
            f"{around.read_before:,} tokens read and {around.written_before:,} written in the "
            f"{counted(around.pairs, 'request')} before a text of ours"
        )
        rows["cache after"] = (
            f"{around.read_after:,} tokens read and {around.written_after:,} written in the "
            f"{counted(around.pairs, 'request')} after it"
        )
    rows["after ours"] = _describe_states(costs.after_ours)
    rows["others"] = _describe_states(costs.without_ours)
    rows["verdict"] = describe_cache(costs)
    width = max(map(len, rows))
    for name, text in rows.items():
        print_beside(f"{name:<{width}}  ", text)
    _print_unknown(costs.unknown)
    _print_lost([cost for cost in costs.by_session if cost.lost])
    _print_sessions(costs.by_session)


def describe_cache(costs: Costs) -> str:
    """Return a sentence about whether a text of ours invalidated the provider's cache."""
    after, others = costs.after_ours, costs.without_ours
    compared = after[KEPT] + after[LOST]
    if not compared:
        return "unknown: no request after a text of ours has figures of a cache"
    if not after[LOST]:
        requests = counted(compared, "request")
        return f"no text of ours invalidated the cache ({requests} compared)"
    sessions = sum(bool(cost.lost) for cost in costs.by_session)
    tokens = sum(loss.tokens for cost in costs.by_session for loss in cost.lost)
    return (
        f"{after[LOST]:,} of {counted(compared, 'request')} after a text of ours lost a part of "
        f"the cache "
        f"({tokens:,} tokens in {counted(sessions, 'session')}); of the other requests, "
        f"{others[LOST]:,} of {others[KEPT] + others[LOST]:,} did"
    )


def _describe_channel(costs: Costs, channel: str) -> str:
    if not costs.texts[channel]:
        return "no text"
    texts = counted(costs.texts[channel], "text")
    return f"{counted(costs.tokens[channel], 'token')} in {texts}"


def _describe_share(total: int | None, ours: int | None) -> str:
    if total is None or ours is None:
        return f"{_UNKNOWN}: no record of a session has usage"
    if ours > total:
        return (
            f"{_UNKNOWN}: agents recorded {counted(total, 'token')}, fewer than our text has "
            f"({ours:,} by our estimate)"
        )
    share = _format_share(ours, total)
    return f"{share} of it is our text: {ours:,} of {total:,} tokens, counted in every request"


def _format_share(ours: int, total: int) -> str:
    if ours > total or not total:
        return _UNKNOWN
    share = ours / total
    return f"{share:.1%}" if share >= _SMALL_SHARE or not ours else "less than 0.1%"


def _describe_states(states: Mapping[str, int]) -> str:
    parts = [f"{states[state]:,} {text}" for state, text in _STATES.items() if states[state]]
    return "; ".join(parts) or "no requests"


def _print_unknown(unknown: Mapping[str, int]) -> None:
    for reason, sessions in unknown.items():
        say(f"unknown for {counted(sessions, 'session')}: {reason}")


def _print_lost(costs: Iterable[SessionCost]) -> None:
    rows = list(costs)
    if not rows:
        return
    print()
    title = "Sessions in which a request after a text of ours lost a part of the cache"
    print_bold(f"{title} ({len(rows)})")
    for cost in rows[:_ROWS]:
        for loss in cost.lost:
            when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(loss.at))
            channels = " and ".join(_CHANNELS[channel] for channel in loss.channels)
            text = f"{when}  {loss.tokens:,} tokens, {channels}"
            print_beside(f"  {clean_line(cost.session)}  {cost.agent}  ", text)
    if len(rows) > _ROWS:
        print(f"  … {len(rows) - _ROWS} more; use --json")


def _print_sessions(costs: Iterable[SessionCost]) -> None:
    rows = sorted(costs, key=_share_of, reverse=True)
    print()
    print_bold("Our share of each session's input, the largest first")
    for cost in rows[:_ROWS]:
        if cost.input is None or cost.ours is None:
            share = _UNKNOWN
        else:
            total = counted(cost.input, "token")
            requests = counted(cost.requests, "request")
            share = f"{_format_share(cost.ours, cost.input)} of {total} in {requests}"
        if cost.input is not None and cost.unknown_requests:
            share += f", and {cost.unknown_requests} requests with unknown usage"
        print_beside(f"  {clean_line(cost.session)}  {cost.agent or 'unknown agent'}  ", share)
    if len(rows) > _ROWS:
        print(f"  … {len(rows) - _ROWS} more; use --json")


def _share_of(cost: SessionCost) -> float:
    return -1.0 if cost.share is None else cost.share
