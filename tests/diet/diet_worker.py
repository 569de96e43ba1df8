"""Apply a diet and take it back, again and again: ``diet_worker.py ROOT [ONCE]``.

Reads a share of a second for each child that is forked and then killed. ``ONCE`` applies or undoes
once, as two people at one project would, and prints what came of it.
"""

import contextlib
import os
import signal
import sys
import time

from lessons_kb.brain.brain import Brain
from lessons_kb.diet.diet import read_diet
from lessons_kb.diet.plan import plan_diet
from lessons_kb.diet.transaction import apply_diet, undo_diet
from lessons_kb.errors import LessonsError


def work(root, brain, plan, diet):
    while True:
        for do in (lambda: apply_diet(root, brain, plan.rules(), plan.edits(diet)),
                   lambda: undo_diet(root)):  # fmt: skip
            with contextlib.suppress(LessonsError):
                do()


def once(root, what):
    try:
        if what == "undo":
            undo_diet(root)
        else:
            diet = read_diet(root)
            brain = Brain(root, alias="root")
            plan = plan_diet(diet, brain)
            apply_diet(root, brain, plan.rules(), plan.edits(diet))
            brain.close()
        print("done")
    except LessonsError as error:
        print(f"refused: {error}")


def main():
    root = sys.argv[1]
    if len(sys.argv) > 2:
        once(root, sys.argv[2])
        return
    diet = read_diet(root)
    brain = Brain(root, alias="root")
    plan = plan_diet(diet, brain)
    assert len(plan.moves) >= 3, plan.stays
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            try:
                work(root, brain, plan, diet)
            finally:
                os._exit(1)
        time.sleep(float(line))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        print("killed", flush=True)


if __name__ == "__main__":
    main()
