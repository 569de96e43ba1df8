"""Why a prompt would draw the lessons that it draws, as a page of the server."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from lessons_kb.brain import verdicts
from lessons_kb.render import in_words, words_by_term
from lessons_kb.service.web.pages.browse import find_projects
from lessons_kb.service.web.pages.view import View
from lessons_kb.text.sanitize import clean_line

MAX_PROMPT = 100_000
"""Characters of a prompt that are looked at."""


def explain_prompt(view: View) -> Response:
    """Show what a prompt would be given and what held the other lessons back; it is not kept."""
    form = view.form
    prompt, paths = form.get("prompt", "")[:MAX_PROMPT], form.get("paths", "").split()
    stage, project = (form.get(name, "").strip() for name in ("stage", "project"))
    brain = view.served.find(f"/{project}")
    asked: dict[str, Any] = {"prompt": prompt, "paths": " ".join(paths), "stage": stage}
    asked |= {"project": project, "projects": find_projects(brain.cards.all())}
    if not prompt.strip():
        problem = "Paste a prompt to explain." if "prompt" in form else ""
        return view.show("why.html", problem=problem, told=False, **asked)
    told = verdicts.explain_prompt(brain, prompt, paths=tuple(paths), stage=stage or None)
    words = words_by_term(prompt)
    given, held = (
        [
            {
                "id": one.id,
                "title": one.title,
                "confidence": "" if one.confidence is None else f"{one.confidence:.2f}",
                "reason": in_words(clean_line(one.reason), words).removeprefix("suppressed: "),
                "rule": one.rule,
            }
            for one in told.verdicts
            if one.given == was_given
        ]
        for was_given in (True, False)
    )
    return view.show(
        "why.html", problem="", told=True, given=given, held=held, tokens=told.tokens, **asked
    )
