"""Let an agent complete drafts: build the prompts, ask the user, and print the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lessons_kb.agents.headless import HeadlessAgent, find_headless, find_installed
from lessons_kb.brain.brains import Brains
from lessons_kb.cli.output import confirm, draw_progress, say
from lessons_kb.collection.draft_lookup import Draft
from lessons_kb.errors import InputError
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.store.user_settings import WriterSettings, read_user_settings
from lessons_kb.text.sanitize import clean_line, counted, visible
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.writers.complete import Ask, Completed, complete, tell
from lessons_kb.writers.prompt import SCHEMA, SUPPORT_SCHEMA, SYSTEM, TASK_SCHEMA, build_prompt


def print_prompts(prompts: Mapping[str, str], *, system: str = SYSTEM) -> None:
    """Print everything that would be sent. ``prompts`` maps the name of a draft to its prompt."""
    for name, prompt in prompts.items():
        print(f"##### {clean_line(name)}\n\n{system}\n\n{visible(prompt)}")


def suggest_agent(drafts: Sequence[Draft]) -> str:
    """Return the next step if an agent on this machine can complete the drafts, or ""."""
    if not any(draft.missing and not draft.trouble for draft in drafts):
        return ""
    agent = find_installed()
    return f"let {agent} fill these in: `lessons review --with {agent}`" if agent else ""


def build_prompts(brains: Brains, drafts: Sequence[Draft]) -> dict[str, str]:
    """Return a mapping from the ids of drafts to their prompts."""
    return {draft.id: build_prompt(brains, draft) for draft in drafts}


def open_ask(
    command: str,
    prompts: Mapping[str, str],
    noun: str,
    *,
    schema: Mapping[str, Any],
    yes: bool,
    system: str = SYSTEM,
    hint: str = "add --yes, or --show-prompt to read it first",
    times: int = 1,
) -> Ask:
    """Return a function that sends a prompt to an agent, once the user has agreed.

    The question names the number of prompts, counted as ``noun``, and their tokens, if each is sent
    ``times`` times. If ``command`` is "", the command in the user's settings is used. Raises
    InputError, with the ``hint``, if the user does not agree.
    """
    agent = _find_agent(command)
    tokens = times * sum(estimate_tokens(f"{system}{prompt}") for prompt in prompts.values())
    range_of_tokens = f"{tokens:,} to {2 * tokens:,}"  # each answer may be corrected once
    sent = f"{counted(len(prompts), noun)}, about {range_of_tokens} tokens to {agent.name}"
    if prompts and not yes and not confirm(f"{sent}: go?"):
        raise InputError(f"{sent}: nothing was sent; {hint}")
    return lambda prompt, stop: agent.ask(prompt, system=system, schema=schema, stop=stop)


def _find_agent(command: str) -> HeadlessAgent:
    settings = read_user_settings(WriterSettings)
    return find_headless(command or settings.command, seconds=settings.seconds)


def write_drafts(
    brains: Brains, drafts: Sequence[Draft], command: str, *, yes: bool
) -> list[Completed]:
    """Let an agent complete drafts once the user has agreed, and print the result of each.

    Two more prompts for each draft ask for tasks that have to find the card, and for statements
    that the evidence does not support. The second one contains the evidence again.
    """
    prompts = build_prompts(brains, drafts)
    ask = open_ask(command, prompts, "draft", schema=SCHEMA, yes=yes, times=2)
    if not drafts:
        say("no drafts to complete")
        return []
    agent = _find_agent(command)

    def open_other_ask(schema: Mapping[str, Any]) -> Ask:
        return lambda prompt, stop: agent.ask(prompt, system=SYSTEM, schema=schema, stop=stop)

    with interrupt_by_signals(), draw_progress("writing") as show:
        results = complete(
            brains,
            drafts,
            ask,
            ask_for_tasks=open_other_ask(TASK_SCHEMA),
            ask_for_support=open_other_ask(SUPPORT_SCHEMA),
            progress=show,
        )
    for line in tell(results):
        say(clean_line(line))
    return results
