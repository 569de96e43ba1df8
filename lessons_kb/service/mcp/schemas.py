"""What the tools take and give, as their schemas say it."""

# No deferred annotations here: the SDK reads these types when the tools are registered.

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

Directory = Annotated[
    str | None,
    Field(description="Where you work; default: the server's folder."),
]
Session = Annotated[str | None, Field(description="Your session's id: no lesson comes twice.")]
Paths = Annotated[list[str] | None, Field(description="Files at hand, from the project root.")]
CardId = Annotated[
    str,
    Field(min_length=1, description="Id, slug or prefix."),
]
Texts = list[str] | None
HISTORY_EVENTS = 50
"""Of a session, where a client does not say how many it wants."""
HistoryLimit = Annotated[int, Field(ge=1, le=200)]


class Found(TypedDict):
    """A card or note that was found."""

    id: str
    kind: str
    title: str
    severity: str
    occurrences: int
    score: float
    confidence: float
    passed: bool
    reason: str


class Block(TypedDict):
    """What to keep in mind for a task; ``block`` is "" when nothing is worth saying."""

    block: str
    tokens: int
    footer: str
    lessons: list[Found]
    context: list[Found]


class Hits(TypedDict):
    """Search results, best first."""

    hits: list[Found]


class Matched(TypedDict):
    """A lesson for a task, with all that a client needs to put it into a block of its own."""

    id: str
    kind: str
    title: str
    severity: str
    occurrences: int
    why: str
    checklist: list[str]
    shown_by: list[str]
    conditional: bool
    paths: list[str]
    gate: str
    detect: list[dict[str, Any]]
    score: float
    confidence: float


class Matches(TypedDict):
    """The lessons for a task, best first; nothing is remembered of the question."""

    lessons: list[Matched]


class CardText(TypedDict):
    """One card."""

    id: str
    kind: str
    title: str
    severity: str
    status: str
    occurrences: int
    last_seen: str | None
    topics: list[str]
    paths: list[str]
    symptoms: list[str]
    why: str
    checklist: list[str]
    text: str


class CheckedItem(TypedDict):
    """What became of a checklist item."""

    id: str
    title: str
    item: str
    state: str
    quote: str
    where: str
    reason: str
    terms: list[str]


class Checked(TypedDict):
    """The outcome of a post-check."""

    checked: int
    items: list[CheckedItem]
    unaddressed: list[str]
    trouble: str


class Proposed(TypedDict):
    """A draft that waits for the user."""

    id: str
    path: str
    missing: list[str]
    similar: list[str]
    next: str


class Counted(TypedDict):
    """A card and how often its mistake was seen."""

    id: str
    title: str
    occurrences: int


class Bumped(TypedDict):
    """Cards that were counted once more."""

    cards: list[Counted]


class Marked(TypedDict):
    """A mark that was noted."""

    id: str
    mark: str
    times: int


class Row(TypedDict):
    """One thing that happened in a session."""

    at: float
    kind: str
    tool: str
    targets: list[str]
    outcome: str
    text: str
    output: str


class History(TypedDict):
    """Events of a session, oldest first."""

    session: str
    events: list[Row]
