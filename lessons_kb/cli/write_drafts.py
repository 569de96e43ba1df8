"""`--with AGENT` of `mine` and `review`: what will be sent is shown or counted, then sent."""

from __future__ import annotations

from collections.abc import Sequence

from lessons_kb.agents.headless import open_writer
from lessons_kb.brain.brain import Brain
from lessons_kb.brain.drafts import Draft
from lessons_kb.cli.output import confirm, draw_progress, say
from lessons_kb.errors import InputError
from lessons_kb.store.settings import WriterSettings, read_user_settings
from lessons_kb.text.sanitize import clean_line, counted, visible
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.writers.complete import Completed, complete, tell
from lessons_kb.writers.prompt import SCHEMA, SYSTEM, build_prompt


def print_prompts(brain: Brain, drafts: Sequence[Draft]) -> None:
    """Print all that would be sent, one prompt a draft."""
    for draft in drafts:
        print(f"##### {draft.id}\n\n{SYSTEM}\n\n{visible(build_prompt(brain, draft))}")


def write_drafts(
    brain: Brain, drafts: Sequence[Draft], command: str, *, yes: bool
) -> list[Completed]:
    """Have an agent complete drafts after a yes, and say what became of each.

    ``command`` "" is that of the user's settings.
    """
    settings = read_user_settings(WriterSettings)
    writer = open_writer(command or settings.command, seconds=settings.seconds)
    if not drafts:
        say("no drafts to complete")
        return []
    tokens = sum(estimate_tokens(f"{SYSTEM}{build_prompt(brain, one)}") for one in drafts)
    what = f"{counted(len(drafts), 'draft')}, about {tokens:,} tokens to {writer.name}"
    if not yes and not confirm(f"{what}: go?"):
        raise InputError(f"{what}: nothing was sent; add --yes, or --show-prompt to read it first")
    with draw_progress("writing") as show:
        done = complete(
            brain,
            drafts,
            lambda prompt, stop: writer.ask(prompt, system=SYSTEM, schema=SCHEMA, stop=stop),
            progress=show,
        )
    for line in tell(done):
        say(clean_line(line))
    return done
