"""The index is a function of the files: any edits answer as a rebuild does."""

import random

import pytest

from lessons_kb import Brain

ENGINES = ("tantivy", "rank-bm25")
WORDS = """
    timeout retry token session refresh migrate index column worker queue deploy secret header
    cookie parser locale cache build lint hook branch merge rebase schema cursor socket proxy
""".split()


class Editor:
    """Someone who works on a brain: bumps, edits, deletes, adds and renames its cards."""

    def __init__(self, root, seed):
        self.root = root
        self.rng = random.Random(seed)
        for _ in range(25):
            self.add()

    def files(self):
        return sorted(path for path in self.root.rglob("*.md") if ".lessons" not in path.parts)

    def words(self, least, most):
        count = self.rng.randint(least, most)
        return " ".join(self.rng.choices(WORDS, range(1, len(WORDS) + 1), k=count))

    def text(self):
        lines = ["---", f"occurrences: {self.rng.choice((1, 1, 4))}"]
        if self.rng.random() < 0.3:
            lines.append(f"symptoms: ['{self.words(2, 5)}']")
        lines += ["---", f"# {self.words(2, 5)}", "", "## Root Cause", "", self.words(3, 60), ""]
        lines += ["## Prevention Checklist", "", f"- {self.words(2, 8)}", ""]
        return "\n".join(lines)

    def add(self):
        folder = self.rng.choice(("lessons", "playbooks", "notes"))
        path = self.root / folder / f"{self.rng.randrange(10**6)}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text())

    def edit(self):
        self.rng.choice(self.files()).write_text(self.text())

    def delete(self):
        self.rng.choice(self.files()).unlink()

    def rename(self):
        path = self.rng.choice(self.files())
        path.rename(path.with_name(f"renamed-{self.rng.randrange(10**6)}.md"))

    def copy(self):
        path = self.rng.choice(self.files())
        path.with_name(f"copy-{self.rng.randrange(10**6)}.md").write_text(path.read_text())

    def conflict(self):
        path = self.rng.choice(self.files())
        name = f"{path.stem}.sync-conflict-20260102-101112-ABCDEF{self.rng.randrange(10)}.md"
        path.with_name(name).write_text(self.text())

    def bump(self, brain):
        cards = brain.cards.all()
        brain.bump(self.rng.choice([card.id for card in cards if card.kind != "note"]))

    def work(self, brain):
        change = self.rng.choice(
            ("bump", "edit", "edit", "delete", "add", "add", "rename", "copy", "copy", "conflict")
        )
        if change == "bump":
            self.bump(brain)
        else:
            getattr(self, change)()


def list_answers(brain, prompts):
    """Return what a user sees of each prompt, scores apart."""
    orders, scores = [], []
    for prompt in prompts:
        hits = brain.search(prompt, limit=20)
        orders.append([(hit.brain, hit.card.id, hit.passed, hit.reason) for hit in hits])
        scores += [score for hit in hits for score in (hit.score, hit.bm25, hit.confidence)]
    return orders, scores


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_random_edits_of_two_brains_answer_as_a_rebuild(engine, seed, tmp_path):
    roots = [tmp_path / "near", tmp_path / "far"]
    editors = []
    for number, root in enumerate(roots):
        root.mkdir()
        (root / "lessons.toml").write_text(f'[index]\nengine = "{engine}"\n')
        editors.append(Editor(root, f"{seed}-{number}"))
    rng = random.Random(seed)
    with Brain.open(*roots, directory=tmp_path) as brain:
        for _ in range(6):
            for _ in range(4):
                editor = rng.choice(editors)
                with Brain.open(editor.root, directory=tmp_path) as opened:
                    editor.work(opened)
                brain.refresh()
            prompts = [editors[0].words(4, 9) for _ in range(8)]
            orders, scores = list_answers(brain, prompts)
            brain.refresh(rebuild=True)
            rebuilt, expected = list_answers(brain, prompts)
            assert orders == rebuilt
            assert scores == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("engine", ENGINES)
def test_equal_cards_are_ordered_alike_whichever_came_first(engine, tmp_path):
    """Thirty-five cards tie, more than a search looks at: which of them is given is no accident."""
    names = [f"lessons/{number:03}.md" for number in range(35)]
    text = "# Rotate the token\n\n## Prevention Checklist\n\n- Rotate it\n\n<!-- {} -->\n"
    answers = []
    for order in (names, names[::-1]):
        root = tmp_path / order[0].replace("/", "-")
        (root / "lessons").mkdir(parents=True)
        (root / "lessons.toml").write_text(f'[index]\nengine = "{engine}"\n')
        with Brain.open(root, directory=root) as brain:
            for name in order:
                (root / name).write_text(text.format(name))
                brain.refresh()
            answers.append([hit.card.id for hit in brain.search("rotate token")])
    assert len(answers[0]) > 1
    assert answers[0] == answers[1]
