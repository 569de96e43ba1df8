"""Ask the program that the user named for its verdict on checklist items."""

from __future__ import annotations

from dataclasses import replace

from lessons_kb.check.judge_program import format_request, read_verdicts
from lessons_kb.errors import ConfigError, InputError
from lessons_kb.model import Check, Evidence
from lessons_kb.store.user_settings import read_user_settings


def judge(check: Check, answer: str, evidence: Evidence, *, within: float = 0.0) -> Check:
    """Return a check as the user's program sees it, the same check where there is none.

    ``within`` seconds it has to be done, where that is less than the user allows; 0 = no limit of
    its own. Whatever goes wrong is the check's ``trouble``, and the built-in verdict holds.
    """
    if not check.items:
        return check
    try:
        settings = read_user_settings()
        if not settings.command.strip():
            return check
        from lessons_kb.process.text_filter import run_filter  # a hook without a program needs none

        seconds = min(settings.seconds, within) if within else settings.seconds
        output = run_filter(
            settings.command, format_request(check, answer, evidence), seconds=seconds
        )
        return read_verdicts(check, output, answer)
    except (ConfigError, InputError) as error:
        return replace(check, trouble=f"check.command had no say: {error}")
