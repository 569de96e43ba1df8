"""The folder of a run: a trial writes nowhere else, whatever the task's commit holds."""

import json
import os
import pathlib

import pytest

from lessons_kb.errors import InputError
from lessons_kb.trial import place
from lessons_kb.trial.place import bring_check, check_out, make_way
from lessons_kb.trial.tasks import Task
from tests.kit import commit, git, write
from tests.trial.test_trial import CARD, TASKS, agent, shop, trial  # noqa: F401 (fixtures)

RETRY = TASKS.partition('[[task]]\nname = "easy"')[0]


def link_cards(shop, target):  # noqa: F811
    """Make a commit in which the folder of the cards is a link; return to a folder of cards."""
    git(shop, "rm", "-rq", "lessons")
    (shop / "lessons").symlink_to(target)
    start = commit(shop, "Link the cards")
    (shop / "lessons").unlink()
    write(shop, "lessons/idempotency.md", CARD)
    commit(shop, "Keep the cards here")
    return start


@pytest.mark.slow
def test_a_folder_of_cards_that_is_a_link_leads_nowhere(trial, shop, tmp_path):  # noqa: F811
    outside = tmp_path / "outside"
    write(outside, "idempotency.md", "mine\n")
    write(outside, "other.md", "mine, too\n")
    start = link_cards(shop, outside)
    done = trial(RETRY.replace("HEAD", start), "--arms", "without,with,placebo")
    assert done.code == 0, done.err
    files = {path.name: path.read_text() for path in outside.iterdir()}
    assert files == {"idempotency.md": "mine\n", "other.md": "mine, too\n"}
    (row,) = json.loads(done.out)["tasks"]
    assert row["arms"] == {"without": ["wrong"], "with": ["right"], "placebo": ["wrong"]}


@pytest.mark.slow
def test_cards_that_do_not_reach_the_run_are_a_fault(trial, shop):  # noqa: F811
    """In the commit a folder has the name of the card: an arm `with` without cards says nothing."""
    git(shop, "rm", "-rq", "lessons")
    write(shop, "lessons/idempotency.md/readme.txt", "a folder\n")
    start = commit(shop, "Make a folder")
    git(shop, "rm", "-rq", "lessons")
    write(shop, "lessons/idempotency.md", CARD)
    commit(shop, "Keep the card")
    data = json.loads(trial(RETRY.replace("HEAD", start)).out)
    assert data["tasks"][0]["arms"] == {"without": ["wrong"], "with": ["fault"]}
    (fault,) = data["faults"]
    assert fault["why"] == "the cards did not arrive: lessons/idempotency.md: Is a directory"


@pytest.mark.slow
def test_a_brain_below_the_top_reaches_an_agent_whose_first_event_is_a_prompt(
    trial,  # noqa: F811
    shop,  # noqa: F811
    agent,  # noqa: F811
    lessons,
):
    git(shop, "rm", "-rq", "lessons", "lessons.toml")
    assert lessons("init", "docs").code == 0
    write(shop, "docs/lessons/idempotency.md", CARD)
    commit(shop, "Keep the brain in docs")
    script = pathlib.Path(agent.split()[1])
    script.write_text(
        script.read_text().replace('("SessionStart", "UserPromptSubmit")', '("UserPromptSubmit",)')
    )
    data = json.loads(trial(RETRY).out)
    assert data["tasks"][0]["arms"] == {"without": ["wrong"], "with": ["right"]}


@pytest.mark.slow
def test_the_settings_of_the_commit_keep_no_card_out(trial, shop):  # noqa: F811
    """An arm has the brain of today: what the commit said of it holds no longer."""
    write(shop, ".lessonsignore", "lessons/**\n")
    start = commit(shop, "Ignore the cards")
    git(shop, "rm", "-q", ".lessonsignore")
    commit(shop, "Read the cards")
    data = json.loads(trial(RETRY.replace("HEAD", start)).out)
    assert data["tasks"][0]["arms"] == {"without": ["wrong"], "with": ["right"]}


def test_cards_that_are_not_listed_did_not_arrive(tmp_path, monkeypatch):
    """What our own commands see in the run's folder decides, not what was written there."""
    write(tmp_path / "brain", "lessons/one.md", CARD)
    write(tmp_path / "brain", "lessons.toml", "")
    root = tmp_path / "work"
    root.mkdir()
    monkeypatch.setattr(place, "CONFIG_NAME", "other")  # the settings of the commit stay
    write(root, "lessons.toml", 'ignore = ["lessons/**"]\n')
    environment = {**os.environ, "LESSONS_STATE_HOME": str(tmp_path / "state")}
    with pytest.raises(InputError, match="the cards did not arrive: "):
        place.bring_cards(
            top=str(root),
            root=str(root),
            brain=str(tmp_path / "brain"),
            cards=["lessons/one.md"],
            arm="with",
            environment=environment,
        )


@pytest.fixture
def bring(tmp_path):
    """Bring the cards of today's brain into a checkout: ``bring(arm, earlier, today)``.

    Both are path → text. Returns the Markdown files of the run.
    """

    def run(arm, earlier, today, *, root=".", links=None):
        top, brain = tmp_path / "work", tmp_path / "brain"
        top.mkdir()
        for path, text in earlier.items():
            write(top, path, text)
        for path, target in (links or {}).items():
            (top / path).parent.mkdir(exist_ok=True)
            (top / path).symlink_to(target)
        write(brain, "lessons.toml", "")
        for path, text in today.items():
            write(brain, path, text)
        git(top, "init", "-q")
        (top / root).mkdir(exist_ok=True)
        place.bring_cards(
            top=str(top),
            root=os.path.normpath(top / root),
            brain=str(brain),
            cards=["lessons.toml", *today],
            arm=arm,
            environment={**os.environ, "LESSONS_STATE_HOME": str(tmp_path / "state")},
        )
        return sorted(str(path.relative_to(top)) for path in top.rglob("*.md"))

    return run


OTHER = CARD.replace("Retried payments", "Refunds").replace("retry a failed", "refund a")
UNTYPED = CARD.replace("type: lesson\n", "")
EARLIER_PLACES = {
    "renamed": ({"lessons/old.md": CARD}, "."),
    "moved": ({"learnings/today.md": CARD}, "."),
    "moved out of a folder that has no name for cards": ({"notes/deep/today.md": CARD}, "."),
    "deleted": ({"lessons/other.md": OTHER}, "."),
    "in a folder of the settings": (
        {"lessons.toml": '[folders]\nadvice = "lesson"\n', "advice/a.md": UNTYPED},
        ".",
    ),
    "ignored": ({".lessonsignore": "old/**\n", "old/a.md": CARD}, "."),
    "in settings that cannot be read": ({"lessons.toml": "[", "lessons/a.md": CARD}, "."),
    "with a broken header": ({"a.md": CARD.replace("symptoms: [", "symptoms: [[")}, "."),
    "in another root": ({"kb/lessons.toml": "", "kb/lessons/a.md": UNTYPED}, "docs"),
    "in the root of today": ({"docs/lessons.toml": "", "docs/lessons/a.md": UNTYPED}, "docs"),
}


@pytest.mark.parametrize("earlier", EARLIER_PLACES)
@pytest.mark.parametrize("arm", ["without", pytest.param("with", marks=pytest.mark.slow)])
def test_an_arm_has_no_card_of_the_commit(bring, arm, earlier):
    files, root = EARLIER_PLACES[earlier]
    own = {"readme.md": "# Ours\n", "lessons/README.md": "About this folder\n"}
    left = bring(arm, {**files, **own}, {"lessons/today.md": CARD}, root=root)
    today = [os.path.normpath(os.path.join(root, "lessons/today.md"))] if arm == "with" else []
    assert left == sorted([*own, *today])


@pytest.mark.parametrize(("arm", "cards"), [("without", []), ("with", ["lessons/today.md"])])
def test_a_folder_of_cards_that_is_a_link_inside_shows_no_card(bring, arm, cards):
    earlier = {"docs/today.md": CARD, "docs/guide.md": "# Guide\n"}
    left = bring(arm, earlier, {"lessons/today.md": CARD}, links={"lessons": "docs"})
    assert left == ["docs/guide.md", *cards]


@pytest.mark.parametrize("name", ["lessons", "lessons/old.md"])
def test_no_link_of_the_commit_leads_to_a_card_outside(bring, tmp_path, name):
    outside = write(tmp_path / "outside", "old.md", CARD)
    target = outside.parent if name == "lessons" else outside
    left = bring("without", {}, {"lessons/today.md": CARD}, links={name: target})
    assert left == []
    assert not os.path.lexists(tmp_path / "work" / name)
    assert outside.read_text() == CARD


@pytest.mark.parametrize(
    ("name", "reason"),
    [("checks/tset_a.sh", "correct the name"), ("../outside", "leads out of the repository")],
)
def test_a_misspelt_check_file_is_reported_before_the_first_run(trial, shop, name, reason):  # noqa: F811
    fix = commit(shop, **{"checks/test_a.sh": "true\n"})
    more = f'check_from = "{fix}"\ncheck_files = ["{name}"]\n'
    done = trial(RETRY + more)
    assert done.code == 2
    assert (name in done.err, reason in done.err) == (True, True)
    assert "[1/" not in done.err


def make_task(**fields):
    return Task(**{"name": "one", "prompt": "p", "commit": "c", "check": "true", **fields})


def test_the_files_of_a_check_do_not_follow_a_link(tmp_path, shop):  # noqa: F811
    """Git would put a folder in the place of the link."""
    fix = commit(shop, **{"checks/test_a.sh": "true\n"})
    outside = tmp_path / "outside"
    write(outside, "test_a.sh", "mine\n")
    write(outside, "gone.sh", "mine\n")
    work = tmp_path / "work" / "shop"
    work.mkdir(parents=True)
    (work / "checks").symlink_to(outside)
    task = make_task(check_from=fix, check_files=("checks/gone.sh", "checks/test_a.sh"))
    bring_check(str(shop), task, str(work))
    assert (outside / "test_a.sh").read_text() == (outside / "gone.sh").read_text() == "mine\n"
    assert not (work / "checks").is_symlink()
    assert (work / "checks" / "test_a.sh").read_text() == "true\n"
    assert not (work / "checks" / "gone.sh").exists()


def test_a_file_of_a_check_that_is_a_link_is_replaced(tmp_path, shop):  # noqa: F811
    fix = commit(shop, **{"test_a.sh": "true\n"})
    mine = write(tmp_path, "mine.sh", "mine\n")
    work = tmp_path / "work"
    work.mkdir()
    (work / "test_a.sh").symlink_to(mine)
    bring_check(str(shop), make_task(check_from=fix, check_files=("test_a.sh",)), str(work))
    assert mine.read_text() == "mine\n"
    assert (work / "test_a.sh").read_text() == "true\n"


def test_a_check_keeps_the_mode_of_its_files(tmp_path, shop):  # noqa: F811
    script = write(shop, "run.sh", "true\n")
    script.chmod(0o755)
    fix = commit(shop, "Add a script")
    work = tmp_path / "work"
    work.mkdir()
    bring_check(str(shop), make_task(check_from=fix, check_files=("run.sh",)), str(work))
    assert (work / "run.sh").stat().st_mode & 0o111


@pytest.mark.parametrize("name", ["checks", "link.sh"])
def test_a_path_that_is_not_a_file_is_refused_as_a_check_file(tmp_path, shop, name):  # noqa: F811
    (shop / "link.sh").symlink_to("pay.py")
    fix = commit(shop, **{"checks/test_a.sh": "true\n"})
    work = tmp_path / "work"
    work.mkdir()
    check_out(str(shop), fix, str(work))
    with pytest.raises(InputError, match="is no file of"):
        bring_check(str(shop), make_task(check_from=fix, check_files=(name,)), str(work))


def test_a_file_in_the_place_of_a_folder_is_replaced(tmp_path):
    write(tmp_path, "a/b", "file\n")
    full = tmp_path / "a" / "b" / "c" / "card.md"
    make_way(str(tmp_path), str(full))
    full.write_text("card\n")
    assert pathlib.Path(tmp_path, "a", "b", "c", "card.md").read_text() == "card\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ('check_from = "HEAD"\ncheck_files = ["lessons"]\n', "'lessons' is no file of"),
        ('setup = "true\\u0000"\n', "setup contains a NUL or half a surrogate pair; remove it"),
    ],
)
def test_a_task_that_cannot_run_is_a_fault_and_the_others_go_on(trial, bad, said):  # noqa: F811
    easy = RETRY.replace("retry", "easy", 1).replace('"retry a', '"easy: retry a')
    done = trial(RETRY + bad + easy)
    assert done.code == 0, done.err
    data = json.loads(done.out)
    assert {row["task"]: set(map(tuple, row["arms"].values())) for row in data["tasks"]} == {
        "retry": {("fault",)},
        "easy": {("right",)},
    }
    assert all(said in fault["why"] for fault in data["faults"])


@pytest.mark.slow
def test_a_row_of_another_version_is_a_fault_of_its_run(trial, tmp_path):  # noqa: F811
    easy = RETRY.replace("retry", "easy", 1).replace('"retry a', '"easy: retry a')
    assert trial(easy).code == 0
    results = tmp_path / "out" / "results.jsonl"
    first, second = map(json.loads, results.read_text().splitlines())
    rows = [{**first, "colour": "red"}, second, {**first, "task": "foreign"}, 7]
    results.write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"task": \n')
    again = trial(easy, "--resume", "--budget", "$100")
    assert again.code == 0, again.err
    data = json.loads(again.out)
    assert data["faults"] == []  # the run was repeated
    assert [row["arms"] for row in data["tasks"]] == [{"without": ["right"], "with": ["right"]}]
