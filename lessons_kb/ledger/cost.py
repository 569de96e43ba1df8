"""What the text of lessons costs a session: its share of the input, and the provider's cache.

The journal has the texts that reached the model. The agent's record has the tokens of its requests.
Both are ordered by time. A text is in every request after it until a compaction.

A provider caches the beginning of each request. The next request reads it again, unless a byte of
it has changed. So a request that reads less from the cache than the request before it had read and
written has lost a part of the cache.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from lessons_kb.store.journal import BLOCK_SENT, CHANNELS, TITLES_SENT, SentText
from lessons_kb.transcripts.session_records import COMPACTION, PROMPT, REQUEST, Entry
from lessons_kb.transcripts.usage import Usage
from lessons_kb.values import field, frozen

CACHE_SECONDS = 300
"""The time after which a provider may forget a cache that is not used, in seconds."""

MEASURED = (COMPACTION, PROMPT, REQUEST)
"""The kinds of entries that the measurement needs."""
KEPT, LOST, EXPLAINED, NO_CACHE, NOT_KNOWN = STATES = (
    "kept",
    "lost",
    "explained",
    "no cache",
    "unknown",
)
"""What became of the cache between two requests. ``explained`` means that a part was lost after a
compaction, a change of the model or a long pause, which have this effect without any text."""


@frozen
class Lost:
    """A part of the cache that a request did not read again although it followed a text of ours."""

    at: float
    """The time of the request, in seconds since the epoch."""
    channels: tuple[str, ...]
    """The channels of the texts between the request before and this request."""
    tokens: int
    """The number of tokens that were in the cache before and were not read again."""


@frozen
class CacheAround:
    """The cache in the requests before and after texts of ours."""

    pairs: int = 0
    """The number of pairs of requests with known usage."""
    read_before: int = 0
    written_before: int = 0
    read_after: int = 0
    written_after: int = 0


@frozen
class SessionCost:
    """The cost of the text of lessons in one context of a model."""

    session: str
    agent: str
    at: float
    """The time of the first text or request, in seconds since the epoch."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Mapping from each channel to the tokens that our texts added."""
    texts: Mapping[str, int] = field(default_factory=dict)
    """Mapping from each channel to the number of its texts."""
    requests: int = 0
    unknown_requests: int = 0
    """The number of requests whose usage is not in the record."""
    input: int | None = None
    """The input of all requests with known usage; None without such a request."""
    ours: int | None = None
    """The tokens of our texts in these requests. A text counts in every request that has it."""
    around: CacheAround = field(default_factory=CacheAround)
    after_ours: Mapping[str, int] = field(default_factory=dict)
    """Mapping from each of STATES to the number of requests that follow a text of ours."""
    without_ours: Mapping[str, int] = field(default_factory=dict)
    """The same for the other requests, for comparison."""
    lost: tuple[Lost, ...] = ()

    @property
    def share(self) -> float | None:
        """The share of our texts in the input, 0 to 1, or None if it is unknown."""
        if self.ours is None or not self.input:
            return None
        return min(self.ours / self.input, 1.0)


@frozen
class Costs:
    """The costs of some sessions. None means unknown."""

    days: int
    sessions: int
    tokens: Mapping[str, int]
    texts: Mapping[str, int]
    input: int | None
    """The input of the sessions whose record has usage."""
    ours: int | None
    share: float | None
    around: CacheAround
    after_ours: Mapping[str, int]
    without_ours: Mapping[str, int]
    unknown: Mapping[str, int]
    """Mapping from the reason why the input of a session is unknown to the number of sessions."""
    by_session: tuple[SessionCost, ...]
    """The costs of each session, oldest first."""


def measure_session(
    session: str,
    agent: str,
    entries: Iterable[Entry],
    texts: Sequence[SentText],
    *,
    is_rebuilt: bool = False,
) -> SessionCost:
    """Return the cost of the ``texts`` of a session whose record has these ``entries``.

    ``is_rebuilt`` states that the agent builds its context anew for each request. It then forgets
    the text of a prompt with the next prompt, and the titles with the next start.
    """
    moments: list[Entry | SentText] = [entry for entry in entries if entry.kind in MEASURED]
    moments += texts
    moments.sort(key=_time_of)
    reader = _Reader(is_rebuilt=is_rebuilt)
    for moment in moments:
        reader.read(moment)
    requests = reader.requests
    known = len(requests) - reader.unknown
    tokens = Counter[str]()
    for text in texts:
        tokens[text.channel] += text.tokens
    return SessionCost(
        session=session,
        agent=agent,
        at=moments[0].at if moments else 0.0,
        tokens=tokens,
        texts=Counter(text.channel for text in texts),
        requests=len(requests),
        unknown_requests=reader.unknown,
        input=reader.input if known else None,
        ours=reader.ours if known else None,
        around=reader.around(),
        after_ours=reader.after_ours,
        without_ours=reader.without_ours,
        lost=tuple(reader.lost),
    )


def _time_of(moment: Entry | SentText) -> float:
    return moment.at


class _Reader:
    """Reads the moments of a session in the order of time."""

    def __init__(self, *, is_rebuilt: bool) -> None:
        self._is_rebuilt = is_rebuilt
        self.requests: list[Entry] = []
        self.unknown = 0
        self.input = 0
        self.ours = 0
        self.after_ours = Counter[str]()
        self.without_ours = Counter[str]()
        self.lost: list[Lost] = []
        self._in_context: list[SentText] = []
        self._new: list[SentText] = []
        """The texts since the last request."""
        self._compacted = False
        """Whether there was a compaction since the last request."""
        self._pairs: list[tuple[Usage, Usage]] = []

    def read(self, moment: Entry | SentText) -> None:
        if isinstance(moment, SentText):
            if self._is_rebuilt and moment.channel == TITLES_SENT:
                self._forget(TITLES_SENT)  # a resumed session starts again, in another process
            self._in_context.append(moment)
            self._new.append(moment)
        elif moment.kind == COMPACTION:
            self._in_context = []
            self._compacted = True
        elif moment.kind == PROMPT and self._is_rebuilt:
            self._forget(BLOCK_SENT)
        elif moment.kind == REQUEST:
            self._read_request(moment)

    def _forget(self, channel: str) -> None:
        self._in_context = [text for text in self._in_context if text.channel != channel]

    def _read_request(self, request: Entry) -> None:
        usage = request.usage or Usage()
        if usage.input is None:
            self.unknown += 1
        else:
            self.input += usage.input
            self.ours += sum(text.tokens for text in self._in_context)
        if self.requests:
            self._compare(self.requests[-1], request)
        self.requests.append(request)
        self._new, self._compacted = [], False

    def _compare(self, before: Entry, after: Entry) -> None:
        """Compare the cache of two consecutive requests."""
        old, new = before.usage or Usage(), after.usage or Usage()
        state = self._judge(old, new, after.at - before.at)
        counts = self.after_ours if self._new else self.without_ours
        counts[state] += 1
        if not self._new or old.cached is None or new.cache_read is None:
            return
        self._pairs.append((old, new))
        if state == LOST:
            channels = tuple(dict.fromkeys(text.channel for text in self._new))
            tokens = old.cached - new.cache_read
            self.lost.append(Lost(at=after.at, channels=channels, tokens=tokens))

    def _judge(self, old: Usage, new: Usage, seconds: float) -> str:
        if old.cached is None or new.cache_read is None:
            return NOT_KNOWN
        if not old.cached:
            return NO_CACHE
        if new.cache_read >= old.cached:
            return KEPT
        is_explained = self._compacted or old.model != new.model or seconds > CACHE_SECONDS
        return EXPLAINED if is_explained else LOST

    def around(self) -> CacheAround:
        """Return the sums of the cache before and after our texts."""
        return CacheAround(
            pairs=len(self._pairs),
            read_before=sum(old.cache_read or 0 for old, _new in self._pairs),
            written_before=sum(old.cache_written or 0 for old, _new in self._pairs),
            read_after=sum(new.cache_read or 0 for _old, new in self._pairs),
            written_after=sum(new.cache_written or 0 for _old, new in self._pairs),
        )


def add_up(costs: Sequence[SessionCost], unknown: Mapping[str, int], *, days: int) -> Costs:
    """Return the sums over sessions. ``unknown`` counts sessions with unknown input by reason."""
    tokens, texts = Counter[str](), Counter[str]()
    after_ours, without_ours = Counter[str](), Counter[str]()
    for cost in costs:
        tokens.update(cost.tokens)
        texts.update(cost.texts)
        after_ours.update(cost.after_ours)
        without_ours.update(cost.without_ours)
    measured = [cost for cost in costs if cost.input is not None and cost.ours is not None]
    read = sum(cost.input or 0 for cost in measured)
    ours = sum(cost.ours or 0 for cost in measured)
    around = [cost.around for cost in costs]
    return Costs(
        days=days,
        sessions=len(costs),
        tokens={channel: tokens[channel] for channel in CHANNELS},
        texts={channel: texts[channel] for channel in CHANNELS},
        input=read if measured else None,
        ours=ours if measured else None,
        share=min(ours / read, 1.0) if read else None,
        around=CacheAround(
            pairs=sum(one.pairs for one in around),
            read_before=sum(one.read_before for one in around),
            written_before=sum(one.written_before for one in around),
            read_after=sum(one.read_after for one in around),
            written_after=sum(one.written_after for one in around),
        ),
        after_ours={state: after_ours[state] for state in STATES},
        without_ours={state: without_ours[state] for state in STATES},
        unknown=dict(unknown),
        by_session=tuple(sorted(costs, key=_start_of)),
    )


def _start_of(cost: SessionCost) -> tuple[float, str]:
    return cost.at, cost.session
