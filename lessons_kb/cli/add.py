"""`lessons add`: write a complete card in one line."""

from __future__ import annotations

import typer

from lessons_kb.cli import card_parts as parts
from lessons_kb.cli.card_lines import check_kind
from lessons_kb.cli.options import open_brain, options, print_json
from lessons_kb.errors import Incomplete
from lessons_kb.model import as_data
from lessons_kb.text.sanitize import clean_line

_REFUSED = 2


def add(
    title: parts.Title,
    why: parts.Why = "",
    do: parts.Do = None,
    symptom: parts.Symptom = None,
    paths: parts.Paths = "",
    detect: parts.Detect = None,
    tags: parts.Tags = "",
    severity: parts.Severity = None,
    kind: parts.Kind = "lesson",
    project: parts.Project = None,
    stage: parts.Stage = None,
    on_duplicate: parts.OnDuplicate = None,
) -> None:
    """Add a complete card in one line, or learn what it needs.

    Example: lessons add "Retried the charge without an idempotency key"
    --why "The gateway takes each request without a key for a new charge"
    --do "Send the same key on every retry" --symptom "a payment times out"
    --symptom "customers were charged twice"
    """
    check_kind(kind, severity)
    details = parts.read_options(
        kind=kind,
        tags=tags,
        project=project,
        stage=stage,
        severity=severity,
        paths=paths,
        why=why,
        do=do,
        symptom=symptom,
        detect=detect,
    )
    details["whole"] = True
    try:
        card = parts.write_card(open_brain(), title, on_duplicate, details)
    except Incomplete as error:
        if options().json:
            print_json({"card": None, "missing": list(error.missing)})
        else:
            parts.say_missing(error, title)
        raise typer.Exit(_REFUSED) from None
    if options().json:
        print_json({"card": as_data(card), "missing": []})
        return
    seen = f" (seen {card.occurrences}×)" if card.occurrences > 1 else ""
    print(f"{clean_line(card.id)}{seen}")
