"""`lessons diet`: move rules that apply only in some situations from rules files to cards."""

from __future__ import annotations

import difflib
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from lessons_kb.agents.install.settings_files import is_present
from lessons_kb.brain.brain import Brain
from lessons_kb.cli.options import ShowPrompt, Verbose, Yes, open_brain
from lessons_kb.cli.output import (
    confirm,
    draw_progress,
    options,
    pick,
    print_json,
    print_table,
    print_wrapped,
    say,
    terminal_width,
)
from lessons_kb.diet.condition import Condition
from lessons_kb.diet.diet import Diet, find_project, read_diet
from lessons_kb.diet.plan import Move, Plan, Stay, count_afterwards, count_every_session, plan_diet
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.proposals import describe_rule, read_proposal
from lessons_kb.diet.readers import (
    WITHOUT_AN_OPTION,
    Reader,
    count_for_agent,
    find_readers,
    read_as_agent,
    why_file_stays,
)
from lessons_kb.diet.remarks import Use, count_uses, find_gone, find_largest_parts, find_pairs
from lessons_kb.diet.transaction import apply_diet, recover, undo_diet
from lessons_kb.errors import InputError, LessonsError
from lessons_kb.importers.rules_file import ALWAYS, WHEN, AgentRule, RulesFile
from lessons_kb.model import as_data
from lessons_kb.on_demand import COMPLETE_DRAFTS, WRITERS_COMPLETE, load
from lessons_kb.process.run import interrupt_by_signals
from lessons_kb.store.files import is_inside
from lessons_kb.store.locks import hold_diet
from lessons_kb.text.sanitize import clean_line, counted, shell_word, shorten_at_word, visible
from lessons_kb.text.token_estimate import estimate_tokens
from lessons_kb.values import replace
from lessons_kb.writers.prompt import (
    CONDITION_SCHEMA,
    DIET_SCHEMA,
    build_condition_prompt,
    build_diet_prompt,
)

if TYPE_CHECKING:
    from lessons_kb.writers.complete import Answers

_SHOWN = 70
_FIRST_REASONS = 6
_MOST_NAMED = 3
_LITTLE = 0.1
"""A smaller share of the tokens is little to gain."""
_MANY_TOKENS = 500
"""The number of tokens from which it is worth knowing where they are."""
_MAX_HEADING = 40
_MAX_PROOF = 120
_WIDE = 100
"""The width of a terminal from which the table has room for the proof."""
_MORE = {
    "contradicts": "rules contradict another rule",
    "same": "rules say the same as another rule",
    "gone": "rules name a file that is not there",
}
"""Maps a kind of remark to the text after the number of remarks that are not printed."""


def diet(
    paths: Annotated[
        list[str] | None,
        Argument(
            metavar="FILE…",
            help="Rules files; default: those of the project and their imports.",
        ),
    ] = None,
    apply: Annotated[
        bool, Option("--apply", help="Show the diff, ask, and move the rules.")
    ] = False,
    yes: Yes = False,
    yes_without_hooks: Annotated[
        bool,
        Option(
            "--yes-without-hooks",
            help="Also move rules of agents without hooks; these agents lose them.",
        ),
    ] = False,
    undo: Annotated[bool, Option("--undo", help="Undo the last diet.")] = False,
    check: Annotated[
        int | None,
        Option(
            "--check",
            metavar="N",
            min=0,
            help="Exit 1 if a session reads more than N tokens of rules.",
        ),
    ] = None,
    agent: Annotated[
        str | None,
        Option(
            "--agent",
            metavar="NAME",
            help="With --check: count the rules of this agent; default: the one that reads most.",
        ),
    ] = None,
    verbose: Verbose = False,
    with_: Annotated[
        str | None,
        Option(
            "--with",
            metavar="[AGENT]",
            help="With --apply: let an agent add conditions, symptoms and tags to other rules.",
        ),
    ] = None,
    show_prompt: ShowPrompt = False,
) -> None:
    """Move conditional rules from rules files to cards.

    A rule moves if it names the files or the command to which it applies, and if a test shows that
    an agent gets it there. Example: lessons diet CLAUDE.md
    """
    if undo:
        _undo()
        return
    with draw_progress("reading"):
        diet = read_diet(os.getcwd(), paths or ())
    for note in diet.notes:
        say(note)
    if check is not None:
        _check(diet, check, agent)
    brain = _find_brain(diet.root, needed=apply)
    if apply:
        with hold_diet(diet.root):
            interrupted = recover(diet.root)
        if interrupted is not None:
            say("the last diet was interrupted; its changes were undone")
            diet = read_diet(os.getcwd(), paths or ())
    readers = find_readers(diet)

    def stay(file: RulesFile) -> str:
        return "" if yes_without_hooks else why_file_stays(diet, file, readers)

    def improve_cards(moves: list[Move]) -> list[Move]:
        return _improve(diet, moves, with_, yes=yes)

    def propose_conditions(stays: Sequence[Stay], project: Project) -> Mapping[int, Condition]:
        return _propose(diet, stays, project, with_, yes=yes)

    if with_ is not None and not (apply or show_prompt):
        raise InputError("--with writes into cards: add --apply, or --show-prompt")
    if show_prompt:
        plan = plan_diet(diet, brain, stay=stay)
        prompts = _build_condition_prompts(diet, plan.list_asked(diet))
        load(COMPLETE_DRAFTS).print_prompts({**prompts, **_build_prompts(diet, plan.moves)})
        return
    with draw_progress("proving") as progress:
        plan = plan_diet(
            diet,
            brain,
            stay=stay,
            propose=propose_conditions if with_ is not None else _propose_none,
            improve=improve_cards if with_ is not None else list,
            progress=progress,
        )
    if apply:
        _apply(diet, plan, brain, readers, yes=yes)
        return
    if options().json:
        _sessions, uses = _count_uses(diet)
        _print_data(diet, plan, readers, uses)
        return
    _print_plan(diet, plan, readers, paths or (), verbose=verbose)


def _count_uses(diet: Diet) -> tuple[int, dict[str, Use]]:
    with draw_progress("reading sessions"):
        return count_uses(diet)


def _undo() -> None:
    undone = undo_diet(find_project(os.getcwd()))
    what = ", ".join(undone.files) or "no file had to be"
    cards = f"{counted(len(undone.cards), 'card')} moved to the trash"
    if undone.interrupted:
        say(f"an interrupted diet was undone: {what} restored")
        return
    say(f"{what} restored; {cards}")


def _check(diet: Diet, limit: int, agent: str | None) -> None:
    name, total = count_for_agent(diet, agent)
    say(f"{total:,} tokens of rules in every session of {name}; {limit:,} allowed")
    raise typer.Exit(int(total > limit))


def _find_brain(root: str, *, needed: bool) -> Brain | None:
    """Return the brain of the repository that gets the cards, or None if no brain is needed.

    This is the brain at the top of the repository, where sessions start, or else the nearest brain
    inside it.
    """
    try:
        brains = open_brain(for_new_card=needed)
    except LessonsError:
        if needed:
            raise
        return None
    inside = [brain for brain in brains.members if is_inside(brain.root, os.path.realpath(root))]
    if inside:
        return inside[-1]
    if needed:
        raise InputError(
            f"no brain in {root}: the rules would leave the repository. "
            f"Create one with `lessons init {shell_word(root)}`"
        )
    return None


def _build_prompts(diet: Diet, moves: Sequence[Move]) -> dict[str, str]:
    return {
        f"diet-{number}": build_diet_prompt(move.text, diet.tracked)
        for number, move in enumerate(moves, 1)
    }


def _build_condition_prompts(diet: Diet, stays: Sequence[Stay]) -> dict[str, str]:
    return {
        f"rule-{number}": build_condition_prompt(describe_rule(stay.rule), diet.tracked)
        for number, stay in enumerate(stays, 1)
    }


def _propose_none(_stays: Sequence[Stay], _project: Project) -> Mapping[int, Condition]:
    return {}


def _propose(
    diet: Diet, stays: Sequence[Stay], project: Project, agent: str | None, *, yes: bool
) -> Mapping[int, Condition]:
    """Return the conditions that an agent finds in rules, limited to those that pass the checks."""
    if not stays or agent is None:
        return {}
    prompts = _build_condition_prompts(diet, stays)
    rules = {name: stay.rule for name, stay in zip(prompts, stays, strict=True)}
    conditions: dict[str, Condition | None] = {}

    def check(answers: Answers) -> dict[str, list[str]]:
        problems: dict[str, list[str]] = {}
        for name, answer in answers.items():
            conditions[name], problem = read_proposal(rules[name], answer, project)
            problems[name] = [problem] if problem else []
        return problems

    ask = load(COMPLETE_DRAFTS).open_ask(agent, prompts, "rule", schema=CONDITION_SCHEMA, yes=yes)
    with interrupt_by_signals(), draw_progress("reading") as show:
        load(WRITERS_COMPLETE).put_all(prompts, ask, check, progress=show)
    proposed = {}
    for place, name in enumerate(prompts):
        condition = conditions.get(name)
        if condition is not None:
            proposed[place] = condition
    return proposed


def _improve(diet: Diet, moves: list[Move], agent: str | None, *, yes: bool) -> list[Move]:
    """Return the moves with cards to which an agent has added paths, symptoms and tags."""
    if not moves or agent is None:
        return moves
    prompts = _build_prompts(diet, moves)
    texts = {f"diet-{number}": move.text for number, move in enumerate(moves, 1)}
    ask = load(COMPLETE_DRAFTS).open_ask(agent, prompts, "card", schema=DIET_SCHEMA, yes=yes)
    with interrupt_by_signals(), draw_progress("writing") as show:
        improve = load(WRITERS_COMPLETE).improve
        fuller = improve(open_brain(), texts, prompts, ask, files=diet.tracked, progress=show)
    return [replace(move, text=text) for move, text in zip(moves, fuller, strict=True)]


def _print_plan(
    diet: Diet, plan: Plan, readers: Sequence[Reader], paths: Sequence[str], *, verbose: bool
) -> None:
    """Print a plan. ``paths`` are the arguments of the command, which the next command repeats."""
    sessions, uses = _count_uses(diet)
    _print_moves(plan, uses if sessions else {}, verbose=verbose)
    _print_stays(plan, verbose=verbose)
    _print_remarks(diet, verbose=verbose)
    _print_readers(diet, readers)
    if sessions:
        total = f"{counted(sessions, 'session')} on this machine"
        say(f"sessions: how many of {total} concerned the rule")
    _print_sum(diet, plan, readers)
    if _has_little_gain(diet, plan):
        _print_largest_parts(diet)
    if plan.moves:
        command = " ".join(["lessons diet", *map(shell_word, paths), "--apply"])
        say(f"next: `{command}` shows the diff and asks")
    elif advice := _advise_connection(plan, readers):
        say(f"next: {advice}, and then rules can move")


def _advise_connection(plan: Plan, readers: Sequence[Reader]) -> str:
    """Return the commands that connect the agents without our hooks whose rules stay, or ""."""
    files = {stay.file for stay in plan.stays if WITHOUT_AN_OPTION in stay.reason}
    if not files:
        return ""
    blocking = [reader for reader in readers if files.intersection(reader.files)]
    without = [reader.agent for reader in blocking if not reader.has_hooks]
    if all(map(is_present, without)):
        return "`lessons setup` connects your agents"
    commands = [f"`lessons install {agent}`" for agent in without]
    verb = "connects it" if len(commands) == 1 else "connect them"
    return f"{' and '.join(commands)} {verb}"


def _has_little_gain(diet: Diet, plan: Plan) -> bool:
    """Return whether the rules that move are a small part of the tokens of every session."""
    before = count_every_session(diet)
    return before > _MANY_TOKENS and before - count_afterwards(diet, plan) < before * _LITTLE


def _print_largest_parts(diet: Diet) -> None:
    """Print where the tokens are, because moving rules saves few of them."""
    parts = [
        f"{part.file}:{part.line} {shorten_at_word(part.heading, _MAX_HEADING)} ({part.tokens:,})"
        for part in find_largest_parts(diet, _MOST_NAMED)
    ]
    if parts:
        print_wrapped(clean_line(f"little to gain; most tokens are in {', '.join(parts)}"))


def _describe_condition(condition: Condition, *, verbose: bool = False) -> str:
    """Return the files to which a rule applies, or a sample of the commands.

    With ``verbose``, return the pattern of the commands instead of a sample.
    """
    if condition.globs:
        return "; ".join(condition.globs)
    if verbose or not condition.commands:
        return condition.pattern
    return f"`{min(condition.commands, key=len)}`"


def _print_moves(plan: Plan, uses: Mapping[str, Use], *, verbose: bool) -> None:
    """Print the rules that move. The pattern of a command is printed only if it is requested."""
    if not plan.moves:
        print_wrapped("no rule would move")
        return
    width = terminal_width()
    has_proof = verbose or width is None or width >= _WIDE  # `--apply` shows it in any case
    columns = ["moves", "rule", "holds for"]
    columns += ["proof"] if has_proof else []
    columns += ["sessions", "broken"] if uses else []
    rows = []
    for move in plan.moves:
        use = uses.get(move.rule.words)
        counts = [str(use.relevant), str(use.broken)] if use else ["", ""]
        row = [
            f"{move.file}:{move.rule.line}",
            shorten_at_word(move.rule.words, _SHOWN),
            _describe_condition(move.condition, verbose=verbose),
        ]
        row += [move.proof] if has_proof else []
        rows.append([*row, *(counts if uses else [])])
    print_table(columns, rows, right="sessions broken")


def _print_stays(plan: Plan, *, verbose: bool) -> None:
    if verbose:
        rows = [
            [f"{stay.file}:{stay.rule.line}", shorten_at_word(stay.rule.words, _SHOWN), stay.reason]
            for stay in plan.stays
        ]
        print_table(["stays", "rule", "why"], rows)
        return
    if not plan.stays:
        return
    reasons = Counter(stay.reason.partition(" at ")[0] for stay in plan.stays)
    frequent = reasons.most_common(_FIRST_REASONS)
    told = [f"{count}× {reason}" for reason, count in frequent]
    if len(reasons) > len(frequent):
        told.append(counted(len(reasons) - len(frequent), "more reason"))
    rules = counted(len(plan.stays), "rule")
    verb = "stays" if len(plan.stays) == 1 else "stay"
    print_wrapped(f"{rules} {verb} (-v lists them): {'; '.join(told)}")


def _print_remarks(diet: Diet, *, verbose: bool) -> None:
    """Print contradictions, repetitions and missing files, at most a few of each by default."""
    remarks: dict[str, list[str]] = {"contradicts": [], "same": [], "gone": []}
    verbs = {"same": "says the same as", "contradicts": "contradicts"}
    named = set[tuple[str, str]]()
    for kind, first, second in find_pairs(diet):
        place = f"{second.file}:{second.rule.line}"
        if (kind, place) in named:  # it was compared with several rules
            continue
        named.add((kind, place))
        what = f"{place} {verbs[kind]} {first.file}:{first.rule.line}"
        remarks[kind].append(f"{what}: {shorten_at_word(second.rule.words, _SHOWN)}")
    for file, rule, name in find_gone(diet):
        remarks["gone"].append(f"{file.name}:{rule.line} names {name}, which is not there")
    for kind, lines in remarks.items():
        shown = lines if verbose else lines[:_MOST_NAMED]
        for line in shown:
            print_wrapped(clean_line(line))
        if hidden := len(lines) - len(shown):
            print_wrapped(f"{hidden} more {_MORE[kind]} (-v lists them)")


def _print_readers(diet: Diet, readers: Sequence[Reader]) -> None:
    """Print the agents in use that read the files. Files with the same readers share a line."""
    files: dict[str, list[str]] = {}
    for file in diet.files:
        if not file.rules:
            continue
        names = [
            f"{reader.agent} ({'with' if reader.has_hooks else 'without'} our hooks)"
            for reader in readers
            if file.name in reader.files
        ]
        if names:
            files.setdefault(", ".join(names), []).append(file.name)
    for names_of_all, own in files.items():
        shown = ", ".join(own[:_MOST_NAMED])
        more = f" and {len(own) - _MOST_NAMED} more" if len(own) > _MOST_NAMED else ""
        verb = "are" if len(own) > 1 else "is"
        print_wrapped(clean_line(f"{shown}{more} {verb} read by {names_of_all}"))


def _print_sum(diet: Diet, plan: Plan, readers: Sequence[Reader]) -> None:
    for file in diet.files:
        after = plan.texts[file.name]
        where = f" (only for {', '.join(file.globs)})" if file.globs else ""
        if after != file.text:
            counts = (
                f"{estimate_tokens(file.text):,} tokens today, {estimate_tokens(after or ''):,}"
            )
            print_wrapped(clean_line(f"{file.name}: {counts} afterwards{where}"))
    sums = _sum_by_agent(diet, plan, readers)
    for place, (whose, before, after_all) in enumerate(sums):
        share = f" ({after_all / before - 1:.0%})" if before > after_all else ""
        cards = ""
        if plan.moves:
            cards = f"; {counted(len(plan.moves), 'card')}, whose titles are not listed"
        end = cards if place == len(sums) - 1 else ""
        print_wrapped(f"{whose}: {before:,} tokens today, {after_all:,} afterwards{share}{end}")


def _sum_by_agent(diet: Diet, plan: Plan, readers: Sequence[Reader]) -> list[tuple[str, int, int]]:
    """Return whose sessions read the rules, and their tokens today and afterwards.

    An agent reads only its own files, so that the sum of all files is more than any session reads.
    """
    whole = count_every_session(diet), count_afterwards(diet, plan)
    texts = [replace(file, text=plan.texts[file.name] or "") for file in diet.files]
    afterwards = replace(diet, files=texts)
    agents: dict[tuple[int, int], list[str]] = {}
    for reader in readers:
        before = estimate_tokens(read_as_agent(diet, reader.agent))
        after = estimate_tokens(read_as_agent(afterwards, reader.agent))
        agents.setdefault((before, after), []).append(reader.agent)
    if not agents or list(agents) == [whole]:
        return [("every session", *whole)]
    return [
        (f"every session of {' and '.join(names)}", *counts) for counts, names in agents.items()
    ]


def _print_data(diet: Diet, plan: Plan, readers: Sequence[Reader], uses: Mapping[str, Use]) -> None:
    moved = {(move.file, move.rule.line): move for move in plan.moves}
    reasons = {(stay.file, stay.rule.line): stay.reason for stay in plan.stays}

    def describe(file: RulesFile, rule: AgentRule) -> dict[str, object]:
        use = uses.get(rule.words)
        move = moved.get((file.name, rule.line))
        data: dict[str, object] = {**pick(rule, "line", "text"), "moves": move is not None}
        data["kind"] = WHEN if move is not None else ALWAYS
        data["reason"] = move.proof if move is not None else reasons[file.name, rule.line]
        return {**data, **(as_data(use) if use else {})}

    def weigh(file: RulesFile) -> dict[str, object]:
        return {
            "path": file.name,
            "every_session": not file.globs,
            "tokens": estimate_tokens(file.text),
            "tokens_afterwards": estimate_tokens(plan.texts[file.name] or ""),
        }

    pairs = [
        {
            "what": kind,
            "files": [first.file, second.file],
            "lines": [first.rule.line, second.rule.line],
        }
        for kind, first, second in find_pairs(diet)
    ]
    gone = [{"file": f.name, "line": rule.line, "path": name} for f, rule, name in find_gone(diet)]
    files = [
        {**weigh(file), "rules": [describe(file, rule) for rule in file.rules]}
        for file in diet.files
    ]
    print_json(
        {
            "files": files,
            "cards": [move.title for move in plan.moves],
            "readers": [as_data(reader) for reader in readers],
            "tokens": count_every_session(diet),
            "tokens_afterwards": count_afterwards(diet, plan),
            "pairs": pairs,
            "gone": gone,
        }
    )


def _apply(
    diet: Diet, plan: Plan, brain: Brain | None, readers: Sequence[Reader], *, yes: bool
) -> None:
    if brain is None or not plan.moves:
        _print_stays(plan, verbose=False)
        say("no rule to move")
        return
    for edit in plan.edits(diet):
        old, new = ((data or b"").decode().splitlines() for data in (edit.before, edit.after))
        for line in difflib.unified_diff(old, new, edit.name, edit.name, lineterm="", n=1):
            print(visible(line))
    for move in plan.moves:
        print_wrapped(clean_line(f"card: {move.title}"))
        proof = shorten_at_word(move.proof, _MAX_PROOF)
        print_wrapped(clean_line(f"  holds for: {_describe_condition(move.condition)}; {proof}"))
    _print_readers(diet, readers)
    _print_sum(diet, plan, readers)
    place = os.path.join(brain.root, "lessons")
    print_wrapped(f"The cards go to {clean_line(place)}.")
    print_wrapped("Colleagues, CI and agents without lessons_kb no longer see these rules.")
    if not (yes or confirm(f"Move these rules into {counted(len(plan.moves), 'card')}?")):
        raise InputError("nothing was changed; add --yes to move the rules without being asked")
    card_ids = apply_diet(diet.root, brain, plan.rules(), plan.edits(diet))
    brain.refresh()  # before an edit, a hook searches only indexed cards
    say(f"{counted(len(card_ids), 'card')} written; `lessons diet --undo` takes it back")
    _print_summary(diet, plan, card_ids, readers)


def _print_summary(
    diet: Diet, plan: Plan, card_ids: Sequence[str], readers: Sequence[Reader]
) -> None:
    """Print a summary for the description of a pull request."""
    before = count_every_session(diet)
    after = count_afterwards(diet, plan)
    print("\n## Rules moved to lessons\n")
    print(f"Every session read {before:,} tokens of rules; now it reads {after:,}.\n")
    print("| rule | was in | arrives |\n|---|---|---|")
    for move, card in zip(plan.moves, card_ids, strict=True):
        title = visible(move.title).replace("|", "\\|")
        proof = visible(move.proof).replace("|", "\\|")
        print(f"| [{title}]({card}) | {visible(move.file)}:{move.rule.line} | {proof} |")
    without = sorted({reader.agent for reader in readers if not reader.has_hooks})
    if without:
        print(f"\nAgents without hooks here do not get these rules: {', '.join(without)}.")
    print("\nColleagues need `lessons install`; without it their agents do not get these rules.")
