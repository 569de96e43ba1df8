"""Ask a brain prompts with one build of lessons_kb, in a process of that build.

Run as a script by the build's own interpreter, with its checkout as the working directory. It reads
one JSON object from standard input (the brain's folder, and the prompts) and prints one line a
prompt. It imports nothing but the library's public names, so that an older build can run it.
"""

from __future__ import annotations

import json
import os
import sys
import time

sys.path[:0] = [os.getcwd()]

from lessons_kb import Brain  # noqa: E402
from lessons_kb.store.trust import trust  # noqa: E402


def main() -> None:
    """Print what the brain gives, offers and ranks first for each prompt."""
    asked = json.load(sys.stdin)
    folder = asked["folder"]
    trust(folder, made=True)
    with Brain.open(folder, directory=folder) as brain:
        brain.refresh()
        for layer in getattr(brain, "members", ()):  # an older build has no such name
            layer.encode()
        brain.search("", limit=1)  # this build finds the thresholds of the brain with a search
        for prompt in asked["prompts"]:
            began = time.perf_counter()
            block = brain.preflight(prompt, context=False, remember=False, fresh=False)
            seconds = time.perf_counter() - began
            hits = brain.search(prompt, kinds=("lesson", "playbook", "qa-finding"), fresh=False)
            row = {
                "given": [hit.card.id for hit in block.lessons],
                "offered": [hit.card.id for hit in block.offered],
                "ranked": [hit.card.id for hit in hits],
                "seconds": seconds,
            }
            print(json.dumps(row))


if __name__ == "__main__":
    main()
