"""Have an agent complete drafts: the prompts, the question to the user, the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.agents.headless import find_headless
from lessons_kb.brain.brains import Brains
from lessons_kb.cli.output import confirm, draw_progress, say
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.errors import InputError
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.store.user_settings import WriterSettings, read_user_settings
from lessons_kb.text.sanitize import clean_line, counted, visible
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.writers.complete import Ask, Completed, complete, tell
from lessons_kb.writers.prompt import SCHEMA, SYSTEM, build_prompt


def print_prompts(prompts: Mapping[str, str]) -> None:
    """Print all that would be sent, by what each prompt is about."""
    for name, prompt in prompts.items():
        print(f"##### {clean_line(name)}\n\n{SYSTEM}\n\n{visible(prompt)}")


def build_prompts(brains: Brains, drafts: Sequence[Draft]) -> dict[str, str]:
    """Return the prompt for each draft by its id."""
    return {draft.id: build_prompt(brains, draft) for draft in drafts}


def open_ask(
    command: str, prompts: Mapping[str, str], what: str, *, schema: Mapping[str, Any], yes: bool
) -> Ask:
    """Return how to ask an agent, after a yes to how much is sent of how many ``what``.

    ``command`` "" is that of the user's settings.
    """
    settings = read_user_settings(WriterSettings)
    agent = find_headless(command or settings.command, seconds=settings.seconds)
    tokens = sum(estimate_tokens(f"{SYSTEM}{prompt}") for prompt in prompts.values())
    sent = f"{counted(len(prompts), what)}, about {tokens:,} tokens to {agent.name}"
    if prompts and not yes and not confirm(f"{sent}: go?"):
        raise InputError(f"{sent}: nothing was sent; add --yes, or --show-prompt to read it first")
    return lambda prompt, stop: agent.ask(prompt, system=SYSTEM, schema=schema, stop=stop)


def write_drafts(
    brains: Brains, drafts: Sequence[Draft], command: str, *, yes: bool
) -> list[Completed]:
    """Have an agent complete drafts after a yes, and say what became of each."""
    ask = open_ask(command, build_prompts(brains, drafts), "draft", schema=SCHEMA, yes=yes)
    if not drafts:
        say("no drafts to complete")
        return []
    with interrupt_by_signals(), draw_progress("writing") as show:
        done = complete(brains, drafts, ask, progress=show)
    for line in tell(done):
        say(clean_line(line))
    return done
