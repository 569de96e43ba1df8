"""Prove that a rule arrives: play occasions for it through the hooks, against a copy of the brain.

The copy holds the brain's cards and all cards that the diet would make, so that rules which compete
for one edit do so in the proof, too. An occasion is a prompt and the edit or command that follows
it; the rule has arrived if its whole text stands in what the agent was given with the prompt or
with the call. What is added to a call reaches the model with its result. So a rule about a command
that is hard to take back has arrived only with the prompt, or if it held the call back once.
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
"""The second shares no noun with any rule: then the call alone has to bring it."""
_SEED, _AGENT = "lessons-proof", "claude-code"


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
    """Return at least three occasions of a condition, for each way in which it can be met."""
    said = condition.said.replace("`", "")
    prompts = [prompt.format(said) for prompt in _PROMPTS]
    occasions = []
    for prompt, path in _pair(prompts, condition.files):
        occasions.append(Occasion(prompt=prompt, path=path, edit="x = 1\n"))
    for prompt, command in _pair(prompts, condition.commands):
        occasions.append(Occasion(prompt=prompt, command=command))
    return occasions


def _pair(prompts: Sequence[str], samples: Sequence[str]) -> list[tuple[str, str]]:
    """Return each prompt and each sample at least once, side by side."""
    if not samples:
        return []
    count = max(len(prompts), len(samples))
    return [(prompts[at % len(prompts)], samples[at % len(samples)]) for at in range(count)]


class Delivery(NamedTuple):
    """What an agent was given for an occasion."""

    before: str
    """With the prompt, or instead of the call that was held back."""
    beside: str
    """Added to the call: the model reads it with the result."""

    @property
    def text(self) -> str:
        """All of it."""
        return f"{self.before}\n{self.beside}"


class Proof:
    """A copy of a brain in which occasions are played."""

    def __init__(self, brains: Brains, project: str) -> None:
        self._brains = brains
        self._project = project
        self._count = 0

    def play(self, occasion: Occasion) -> Delivery:
        """Return what the agent is given for an occasion, in a session of its own."""
        self._count += 1
        session = f"{_SEED}-{self._count}"
        prompt = HookEvent(
            what="prompt",
            agent=_AGENT,
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
    """Open a copy of a brain with more cards, by their paths; nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix="lessons-diet-") as folder:
        root = os.path.realpath(os.path.join(folder, "brain"))
        os.mkdir(root)
        texts = {path: text.encode() for path, text in cards.items()}
        if brain is not None:
            texts = {**_read_cards(brain), **texts}
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
            yield Proof(copy, copy.directory)


def _read_cards(brain: Brain) -> dict[str, bytes]:
    brain.refresh()
    limit = brain.settings.index.max_file_bytes
    known = brain.read(lambda one: one.catalogue.all_cards())
    return {
        card.id: read_bytes(brain.root, card.id, limit=limit) for card in known if card.kind != NOTE
    }


def contains_rule(context: str, rule: str) -> bool:
    """Return whether a text holds a rule word for word, whatever its marks and line breaks."""
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
    """Return the places of the rules that do not arrive → the occasion that shows it."""
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
