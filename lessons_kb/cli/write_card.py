"""Functions and options of `add`, `create` and `edit`: write a card, and list its missing parts."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer import Argument, Option

from lessons_kb.brain.brains import Brains
from lessons_kb.cli.declare import choose
from lessons_kb.cli.options import relative_path, split_lists
from lessons_kb.cli.output import is_interactive, options, say
from lessons_kb.collection.cards import ON_DUPLICATE, Cards
from lessons_kb.errors import Contradiction, DuplicateCard, InputError
from lessons_kb.model import GATES, KINDS, MAX_WHY, PATTERNS, SEVERITIES, Card, Pattern
from lessons_kb.on_demand import BROAD_PATHS, load
from lessons_kb.process.programs import find_editor, open_editor
from lessons_kb.render import finding_line
from lessons_kb.store.files import is_inside
from lessons_kb.store.locations import user_brain
from lessons_kb.store.repositories import git_top
from lessons_kb.text.sanitize import clean_line, shell_word, shorten_at_word
from lessons_kb.values import mutable

STDIN = "-"
"""The title that means that standard input contains the whole card."""


_MAX_STDIN = 16_000_000
"""In bytes. The settings of the brain limit the size of a card. This limits the input itself."""


Title = Annotated[
    str, Argument(metavar="TITLE", help="The mistake, in one line; - reads a card from stdin.")
]


Why = Annotated[str, Option("--why", metavar="TEXT", help="Root cause of the mistake.")]


Items = Annotated[
    list[str] | None,
    Option("--do", metavar="TEXT", help="What to check next time; repeatable."),
]


Symptoms = Annotated[
    list[str] | None,
    Option(
        "--symptom",
        metavar="TEXT",
        help="Phrase of a future task; give two or three.",
    ),
]


Globs = Annotated[
    list[str] | None,
    Option("--paths", metavar="PATHS", help="Globs of the guarded files, by commas; repeatable."),
]


Patterns = Annotated[
    list[str] | None,
    Option(
        "--detect",
        metavar="PATTERN",
        help="Regular expression, `ast: …` or `command: …` for the mistake; repeatable.",
    ),
]


Gate = Annotated[
    str | None,
    choose(
        "--gate",
        GATES,
        metavar="GATE",
        help="Before a matching change: ask (with high severity), once (refuse once) or strict.",
    ),
]


NotFor = Annotated[
    list[str] | None,
    Option(
        "--not-for",
        metavar="TEXT",
        help="Similar task for which the card stays silent; repeatable.",
    ),
]


Severity = Annotated[
    str | None, choose("--severity", SEVERITIES, metavar="SEVERITY", help="low, medium or high.")
]


Kind = Annotated[
    str, choose("--type", KINDS, metavar="TYPE", help="One of lesson, playbook, qa-finding.")
]


OnDuplicate = Annotated[
    str | None,
    choose(
        "--on-duplicate",
        ("ask", *ON_DUPLICATE),
        metavar="ON_DUPLICATE",
        help="If the lesson exists: ask, bump, new, fail, or contradicts (link the contradicting "
        "card).",
    ),
]


@mutable
class CardOptions:
    """The options of `add` and `create` that describe the content of the card."""

    why: str
    items: list[str]
    symptoms: list[str]
    paths: list[str]
    patterns: list[str]
    gate: str | None
    not_for: list[str]
    tags: list[str]
    severity: str | None
    kind: str
    project: str | None
    stage: str | None

    def has_text(self) -> bool:
        """Return whether the user has written a cause, an item or a symptom."""
        return any(text.strip() for text in (self.why, *self.items, *self.symptoms))

    def as_details(self) -> dict[str, Any]:
        """Return the options as keyword arguments of ``Cards.create``."""
        items = [clean_line(item) for item in self.items if item.strip()]
        checklist = "\n".join(f"- [ ] {item}" for item in items)
        sections = {"Root Cause": self.why.strip(), "Prevention Checklist": checklist}
        return {
            "project": self.project,
            "stage": self.stage,
            "severity": self.severity,
            "kind": self.kind,
            "topics": split_lists(self.tags),
            "paths": split_lists(self.paths),
            "sections": {name: text for name, text in sections.items() if text},
            "symptoms": tuple(symptom for symptom in self.symptoms if symptom.strip()),
            "detect": tuple(parse_detect(pattern) for pattern in self.patterns),
            "gate": self.gate,
            "not_for": tuple(task for task in self.not_for if task.strip()),
        }


def parse_detect(text: str) -> Pattern:
    """Return the pattern in the value of ``--detect``."""
    kind, colon, rest = text.partition(":")
    if colon and kind.strip() in PATTERNS:
        return Pattern(kind=kind.strip(), text=rest.strip())
    if "\n" in text or not text.strip():
        raise InputError("--detect must be one line; repeat it for more patterns")
    return Pattern(kind="regex", text=text.strip())


def write_card(
    brains: Brains,
    title: str,
    on_duplicate: str | None,
    details: Mapping[str, Any],
    *,
    whole: bool,
) -> Card:
    """Write a card. With the title ``-``, read it from standard input.

    With ``whole``, an incomplete card is refused. Raises DuplicateCard if the lesson exists.
    """
    if on_duplicate == "ask" and not is_interactive():
        raise InputError("--on-duplicate ask needs a terminal; use bump, new or fail")
    rule = "fail" if on_duplicate in (None, "ask") else on_duplicate
    if title == STDIN:
        return Cards(brains).add_text(_read_card(details), whole=whole, on_duplicate=rule)
    return Cards(brains).create(title, on_duplicate=rule, whole=whole, **details)


def ask_duplicate(
    brains: Brains, error: DuplicateCard, on_duplicate: str | None, *, has_text: bool
) -> Card | None:
    """Ask how to treat a duplicate. Return the card with a higher count, or None for a new card.

    Raises ``error`` if the user has already decided or cannot be asked. A card that demands the
    opposite is written if the user agrees. With ``has_text``, the new card has text that a count
    would lose, so that enter writes the card. A template is not counted.
    """
    if on_duplicate not in (None, "ask") or not is_interactive():
        raise error
    say(str(error).partition(";")[0])
    if isinstance(error, Contradiction):
        question = "Write it all the same, so that an agent gets only one of the two?"
        typer.confirm(question, abort=True, err=True)
        return None
    if Cards(brains).get(error.existing).template:
        name = shell_word(error.existing)
        say(f"it is still an unfilled template, which `lessons edit {name}` opens")
        question, default, allowed = "Write a [n]ew card, or [s]top?", "s", "n"
    else:
        loss = " (what you wrote is not kept)" if has_text else ""
        question = f"[b]ump it{loss}, write a [n]ew card, or [s]top?"
        default, allowed = "b", "bn"
    default = "n" if has_text else default
    answer = typer.prompt(question, default=default, err=True).strip().lower()[:1]
    if not answer or answer not in allowed:
        raise typer.Abort
    return Cards(brains).bump(error.existing)[0] if answer == "b" else None


def _read_card(details: Mapping[str, Any]) -> str:
    if any(value for name, value in details.items() if name != "kind"):
        raise InputError("with -, stdin contains the whole card; leave the other options out")
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("card missing; pipe its Markdown in")
    data = sys.stdin.buffer.read(_MAX_STDIN + 1)
    if len(data) > _MAX_STDIN:
        raise InputError(f"the card on stdin has more than {_MAX_STDIN:,} bytes; split it")
    text = data.decode("utf-8", "replace")
    if not text.strip():
        raise InputError("the card on stdin is empty; pipe its Markdown in")
    return text


def edit_file(path: str) -> None:
    """Open a file in an editor and wait. Name the editor if the user has not chosen it."""
    editor = find_editor()
    chosen = (os.environ.get("VISUAL"), os.environ.get("EDITOR"))
    if editor and editor not in chosen:
        say(f"opening {editor}, because $EDITOR is not set")
    if code := open_editor(path):
        say(f"{editor} ended with exit code {code}")


def say_unfinished(brains: Brains, name: str) -> bool:
    """Print the problems of a card, and what it still needs. Return whether it is complete.

    Nothing is printed for a complete card without problems.
    """
    _path, document = Cards(brains).read(name)
    if document.card:  # of an unreadable card, the first finding is printed below
        for finding in document.findings:
            if finding.level != "info":
                say(finding_line(finding))
    missing = Cards(brains).find_lacks(name)
    if not missing:
        return True
    card = Cards(brains).get(name)
    state = "still the template, so it is not injected" if card.template else "not complete"
    say(f"{clean_line(card.id)} is {state}; it needs:")
    for line in missing:
        say(f"  {line}")
    return False


def say_complete(card: Card) -> None:
    """Print that a card is complete, and whether agents get it."""
    effect = "agents get it from now on"
    if card.status != "active":
        effect = f"but agents do not get it, because its status is {card.status}"
    say(f"{clean_line(card.id)} is complete; {effect}")


def say_destination(brains: Brains) -> None:
    """Report a card that was written to the user's own brain because the project has none."""
    root = brains.members[0].root
    if options().brains or root != os.path.realpath(user_brain()):
        return
    if not is_inside(os.path.realpath(brains.directory), root):
        say(
            f"written to your own brain {clean_line(root)}, so it applies in every project; "
            "`lessons init` makes a brain for this one"
        )


def say_paths(brains: Brains, card: Card) -> None:
    """Report `paths` of a card that match no file of the project, or too many files.

    A card in the user's own brain may be about the files of another project.
    """
    top = git_top(brains.directory)
    is_users = brains.members[0].root == os.path.realpath(user_brain())
    if not card.paths:
        return
    unmatched: list[str] = []
    if top and not is_users:
        unmatched = load(BROAD_PATHS).find_unmatched(card, top)
    for path in unmatched:
        say(f"no file of this project matches the path {clean_line(path)}")
    if len(unmatched) == len(card.paths):
        return
    broad_paths = load(BROAD_PATHS)
    for explain in (broad_paths.explain_broad_paths, broad_paths.explain_wide_gate):
        problem = explain(card, brains.directory)
        if problem:
            say(problem)


def say_cut_cause(card: Card) -> None:
    """Show how much of a long cause agents see."""
    cause = clean_line(card.why)
    shown = shorten_at_word(cause, MAX_WHY)
    if shown != cause:
        say(f"agents see only the first {MAX_WHY} characters of the cause: “{shown}”")


def settle_similar(brains: Brains, card: Card, on_duplicate: str | None) -> bool:
    """Name the card that is most similar to a new card. Return whether the new card was deleted.

    Titles of one form are often about different subjects ("A for X", "A for Y"), so the new card is
    written. A user at a terminal may count the mistake on the similar card instead. The new card
    then goes to the trash.
    """
    if on_duplicate not in (None, "ask", "fail") or card.occurrences > 1:
        return False
    near = Cards(brains).find_near_duplicates(card)
    others = [duplicate for duplicate in near if duplicate.card.id != card.id]
    similar = [duplicate for duplicate in others if not duplicate.card.template]
    if not similar:
        return False
    other = similar[0].card
    say(f"similar to {clean_line(other.id)}: {clean_line(other.title)}")
    if options().json or not is_interactive():
        bump, delete = shell_word(other.id), shell_word(card.id)
        say(f"if it is the same mistake: `lessons bump {bump}` and `lessons delete {delete}`")
        return False
    question = "Is it the same mistake? Then it is counted there, and the new card is deleted."
    if not typer.confirm(question, default=False, err=True):
        return False
    Cards(brains).delete(card.id)
    print(name_card(brains, Cards(brains).bump(other.id)[0]))
    return True


def name_card(brains: Brains, card: Card) -> str:
    """Return the path of a card that was just written, and how often its mistake was seen.

    The path is relative to the working directory, so that it opens from there. The number is left
    out for a new card. A card that was counted may be in another brain, so it is named by its id.
    """
    if card.occurrences > 1:
        return f"{clean_line(card.id)} (seen {card.occurrences}×)"
    return clean_line(relative_path(os.path.join(brains.members[0].root, card.id)))
