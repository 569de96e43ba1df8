"""Prove that agents get a rule: play occasions for it through the hooks on a copy of the brain.

The copy contains the brain's cards and all cards that the diet would create, so that rules that
compete for the same edit also compete in the proof. An occasion is a prompt and the edit or command
that follows it. A rule arrives if its whole text is in the context that the agent gets with the
prompt or with the call. Context for a call reaches the model only with the result of the call. So a
rule about a command that is hard to undo must arrive with the prompt, or with a refusal of the
call.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from lessons_kb.brain.brain import Brain
from lessons_kb.brain.brains import Brains
from lessons_kb.diet.condition import Condition
from lessons_kb.importers.incoming import unmarked
from lessons_kb.model import NOTE
from lessons_kb.session.dispatch import respond
from lessons_kb.session.event_types import Capabilities, HookEvent
from lessons_kb.store.card_files import read_bytes
from lessons_kb.store.files import write_unsynced
from lessons_kb.store.locations import private_state_home
from lessons_kb.values import frozen, replace

_PROMPTS = ("Please have a look at {0}", "Go on as we said", "{0} again, as discussed before")
"""The second prompt shares no noun with any rule, so that only the call can find the rule."""
_SEED = "lessons-proof"
"""The name of the session, and of an agent that does not exist."""


@frozen
class Occasion:
    """A prompt, and the edit or command that follows it."""

    prompt: str
    path: str = ""
    edit: str = ""
    command: str = ""

    def __str__(self) -> str:
        return f"`{self.command}`" if self.command else f"an edit of {self.path}"


def make_occasions(condition: Condition) -> list[Occasion]:
    """Return at least three occasions for each way in which a condition can be met."""
    said = condition.said.replace("`", "")
    prompts = [prompt.format(said) for prompt in _PROMPTS]
    occasions = []
    for prompt, path in _pair(prompts, condition.files):
        occasions.append(Occasion(prompt=prompt, path=path, edit="x = 1\n"))
    for prompt, command in _pair(prompts, condition.commands):
        occasions.append(Occasion(prompt=prompt, command=command))
    return occasions


def _pair(prompts: Sequence[str], samples: Sequence[str]) -> list[tuple[str, str]]:
    """Pair prompts with samples, so that each prompt and each sample occurs at least once."""
    if not samples:
        return []
    count = max(len(prompts), len(samples))
    return [(prompts[at % len(prompts)], samples[at % len(samples)]) for at in range(count)]


class Delivery(NamedTuple):
    """The context that an agent gets on an occasion."""

    before: str
    """Context with the prompt, and the refusal of the call."""
    beside: str
    """Context for the call, which the model reads with the result."""

    @property
    def text(self) -> str:
        """The whole context."""
        return f"{self.before}\n{self.beside}"


class Proof:
    """A copy of a brain in which occasions are played."""

    def __init__(self, brains: Brains, project: str) -> None:
        self._brains = brains
        self._project = project
        self._count = 0

    def play(self, occasion: Occasion) -> Delivery:
        """Return the context that the agent gets on an occasion, played in a new session."""
        self._count += 1
        session = f"{_SEED}-{self._count}"
        prompt = HookEvent(
            what="prompt",
            agent=_SEED,
            session=session,
            directory=self._project,
            cwd=self._project,
            text=occasion.prompt,
            id="prompt",
        )
        events = [prompt]
        if occasion.command:
            arguments = {"command": occasion.command}
            call = replace(prompt, what="before", text="", id="call", tool="Bash")
            events.append(replace(call, arguments=arguments))
        elif occasion.path:
            arguments = {
                "file_path": os.path.join(self._project, *occasion.path.split("/")),
                "old_string": "",
                "new_string": occasion.edit,
            }
            call = replace(prompt, what="before", text="", id="call", tool="Edit")
            events.append(replace(call, arguments=arguments))
        before: list[str] = []
        beside: list[str] = []
        for event in events:
            answer = respond(
                event,
                Capabilities(refuse=True),
                find=lambda _directory: self._brains,
                leave_open=True,
            )
            before.append(answer.refusal)
            (before if event is prompt else beside).append(answer.context)
        return Delivery(before="\n".join(before), beside="\n".join(beside))


@contextmanager
def open_proof(
    cards: Mapping[str, str], project: str, brain: Brain | None = None
) -> Iterator[Proof]:
    """Open a temporary copy of a brain to which ``cards`` (path → text) are added.

    The copy has the settings and the cards of ``brain`` but not its notes; without ``brain`` it
    starts empty. A card of the brain with the path of one of ``cards`` is replaced. The index of
    ``brain`` is refreshed first, which writes its index; its cards are not changed. Inside the
    block, environment variables of the whole process point to temporary folders. The copy is
    removed at the end.
    """
    with tempfile.TemporaryDirectory(prefix="lessons-diet-") as folder:
        root = os.path.realpath(os.path.join(folder, "brain"))
        os.mkdir(root)
        texts = {path: text.encode() for path, text in cards.items()}
        if brain is not None:
            brain.refresh()
            texts = {**_read_cards(brain), **texts}  # the added cards replace the brain's
            settings = os.path.join(brain.root, "lessons.toml")
            if os.path.isfile(settings):
                shutil.copyfile(settings, os.path.join(root, "lessons.toml"))
        for path, data in texts.items():
            full = os.path.join(root, *path.split("/"))
            os.makedirs(os.path.dirname(full), exist_ok=True)
            write_unsynced(full, data)
        with (
            private_state_home(os.path.join(folder, "state")),
            Brains.open(root, directory=project) as copy,
        ):
            copy.refresh()
            for member in copy.members:
                member.watched_elsewhere = True  # no file changes, so no process has to index it
            yield Proof(copy, copy.directory)


def _read_cards(brain: Brain) -> dict[str, bytes]:
    """Return path → bytes of the cards in a brain's index, without its notes."""
    limit = brain.settings.index.max_file_bytes
    cards = brain.read(lambda reader: reader.catalogue.all_cards())
    texts: dict[str, bytes] = {}
    for card in cards:
        if card.kind != NOTE:
            texts[card.id] = read_bytes(brain.root, card.id, limit=limit)
    return texts


def contains_rule(context: str, rule: str) -> bool:
    """Return whether a text contains a rule word for word; Markdown and line breaks may differ."""
    words = _words(rule)
    return bool(words) and f" {' '.join(words)} " in f" {' '.join(_words(context))} "


def _words(text: str) -> list[str]:
    plain = re.sub(r"(?m)^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?", "", text)
    return re.findall(r"\w+", unmarked(plain))


def find_failing(
    proof: Proof,
    rules: Sequence[tuple[str, Condition]],
    progress: Callable[[int, int], object] = lambda _done, _all: None,
) -> dict[int, str]:
    """Return a mapping from the position of each rule that does not arrive to the first occasion
    without it.
    """
    failing: dict[int, str] = {}
    for place, (text, condition) in enumerate(rules):
        progress(place, len(rules))
        for occasion in make_occasions(condition):
            delivery = proof.play(occasion)
            reached = delivery.before if condition.has_to_come_first else delivery.text
            if not contains_rule(reached, text):
                failing[place] = str(occasion)
                break
    return failing
