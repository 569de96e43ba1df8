"""SPEC §2: which brains hold, and which of them may speak."""

import os
import pathlib
import subprocess

import pytest

from lessons_kb import Brain
from lessons_kb.brain.discovery import PROJECT_SETTINGS, look, look_in_agent
from lessons_kb.errors import BrainNotFound, Untrusted
from lessons_kb.store.locations import user_brain
from lessons_kb.store.trust import trust
from tests.kit import Claude, make_brain, trust_brain, watched

CARD = "# Mind the zebra\n\n## Fix\n\n- Look at the zebra\n"


@pytest.fixture
def repo(tmp_path):
    """A repository somebody else wrote, with a brain and a committed cache of its own."""
    folder = tmp_path / "repo"
    (folder / "lessons").mkdir(parents=True)
    (folder / "src/deep").mkdir(parents=True)
    (folder / "lessons/a.md").write_text(CARD)
    (folder / "lessons.toml").write_text("")
    (folder / ".lessons").mkdir()
    (folder / ".lessons/catalogue.db").write_bytes(b"from elsewhere")
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def test_a_found_brain_is_silent_until_it_is_trusted(repo):
    for enter in (Brain.discover, make_brain):
        with pytest.raises(Untrusted, match="lessons trust"):
            enter(str(repo))
    trust_brain(str(repo / "src"))
    assert Brain.discover(repo / "src/deep").preflight("zebra").text
    make_brain(str(repo))  # makes what is missing, and no more of it its user's own
    (repo / "lessons.toml").write_text('language = "ko"\n')
    with pytest.raises(Untrusted):
        Brain.discover(repo / "src/deep")
    trust_brain(str(repo))
    assert Brain.discover(repo)
    trust_brain(str(repo), revoke=True)
    with pytest.raises(Untrusted):
        Brain.discover(repo)


def test_a_cache_that_came_with_the_repository_is_never_read(repo):
    assert Brain.open(repo).preflight("zebra").text
    assert (repo / ".lessons/catalogue.db").read_bytes() == b"from elsewhere"
    trust_brain(str(repo))
    assert Brain.open(repo).preflight("zebra").text
    assert (repo / ".lessons/.gitignore").read_text() == "*\n"


def test_naming_a_brain_is_trusting_it(repo, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    monkeypatch.setenv("LESSONS_BRAIN", os.pathsep.join([str(repo), str(other)]))
    assert [layer.root for layer in Brain.discover(tmp_path).members] == [str(repo), str(other)]
    monkeypatch.setenv("LESSONS_BRAIN", str(tmp_path / "nowhere"))
    with pytest.raises(BrainNotFound, match="LESSONS_BRAIN"):
        Brain.discover(tmp_path)


@pytest.fixture
def settings(tmp_path):
    """Write settings files of agents; return a function that calls another and lists those it read."""
    paths = {str(tmp_path / "project" / name) for name in PROJECT_SETTINGS}
    for path in paths:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        pathlib.Path(path).write_text("{}")

    def read_by(call, *arguments, **options):
        with watched() as seen:
            result = call(*arguments, **options)
        return result, [path for event, path in seen if event == "open" and path in paths]

    return read_by


def test_settings_are_not_read_for_a_trusted_brain_in_the_variable(tmp_path, settings):
    project, brain = tmp_path / "project", tmp_path / "brain"
    make_brain(str(brain))
    make_brain(str(project / "cards"))
    for named in (str(brain), str(project / "cards"), str(tmp_path / "nowhere"), ""):
        for search in (look, look_in_agent):
            _found, read = settings(search, str(project), {"LESSONS_BRAIN": named})
            assert read == [], (named, search.__name__)


def test_settings_are_not_read_for_a_brain_that_is_not_believed_anyway(tmp_path, settings):
    project = tmp_path / "project"
    (project / "cards").mkdir()
    for named in ("cards", f"{project}/cards"):
        discovery, read = settings(look_in_agent, str(project), {"LESSONS_BRAIN": named})
        assert (discovery.named, read) == ((f"{project}/cards",), [])


def test_settings_are_read_where_they_decide_and_once_per_command(tmp_path, settings, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    for folder in (first, second):
        folder.mkdir()
    project = str(tmp_path / "project")
    monkeypatch.setenv("LESSONS_BRAIN", os.pathsep.join([str(first), str(second)]))
    discovery, read = settings(look, project)
    assert list(discovery.trusted) == [str(first), str(second)]
    assert sorted(read) == sorted(set(read))
    assert read
    brain, read = settings(Brain.discover, project, found=discovery)
    assert [layer.root for layer in brain.members] == [str(first), str(second)]
    assert read == []


def test_every_brain_above_applies_and_the_users_own_is_last(tmp_path):
    outer, inner = tmp_path / "mono", tmp_path / "mono/packages/api"
    for folder in (user_brain(), str(outer), str(inner)):
        make_brain(folder)
    (inner / "src").mkdir()
    roots = [layer.root for layer in Brain.discover(inner / "src").members]
    assert roots == [str(inner), str(outer), os.path.realpath(user_brain())]
    assert [layer.root for layer in Brain.discover(tmp_path).members] == roots[2:]


def test_the_project_is_named_by_settings_or_git(repo, tmp_path):
    assert Brain.open(repo, directory=repo / "src").project == "repo"
    assert Brain.open(repo, directory=tmp_path).project is None
    assert Brain.open(repo, directory=repo, project="given").project == "given"
    (repo / "lessons.toml").write_text('project = "said"\n')
    assert Brain.open(repo, directory=tmp_path).project == "said"


def test_init_makes_a_brain_once(tmp_path):
    root, created = make_brain(str(tmp_path / "new"))
    assert created == ["lessons/", "lessons.toml", ".lessons/"]
    assert (tmp_path / "new/.lessons/.gitignore").read_text() == "*\n"
    (tmp_path / "new/lessons.toml").write_text("# mine\n")
    assert make_brain(str(tmp_path / "new")) == (root, [])
    assert (tmp_path / "new/lessons.toml").read_text() == "# mine\n"
    assert Brain.discover(root)


@pytest.mark.parametrize(
    ("variable", "below"), [("XDG_DATA_HOME", "lessons-kb"), ("HOME", ".local/share/lessons-kb")]
)
def test_a_project_that_moves_the_users_own_brain_into_itself_stays_silent(
    repo, monkeypatch, variable, below
):
    own = repo / "moved" / below
    (own / "lessons").mkdir(parents=True)
    (own / "lessons/a.md").write_text(CARD)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv(variable, str(repo / "moved"))
    reply = Claude(repo / "src").say("SessionStart", source="startup")
    assert reply.context == ""
    assert "because of a variable" in reply.line
    assert str(own) in reply.line


@pytest.mark.parametrize("absolute", [True, False])
def test_a_state_folder_inside_the_project_vouches_for_nothing(repo, monkeypatch, absolute):
    monkeypatch.chdir(repo)
    monkeypatch.setenv("LESSONS_STATE_HOME", str(repo / "state") if absolute else "state")
    with pytest.raises(Untrusted, match="outside the project"):
        trust_brain(str(repo))
    trust(str(repo))  # as a forged record would
    reply = Claude(repo).say("SessionStart", source="startup")
    assert (reply.context, "outside the project" in reply.line) == ("", True)
    assert Brain.discover(repo)  # on a command line the variable is the user's


def test_a_project_that_holds_the_users_home_may_hold_the_users_brain(tmp_path, monkeypatch):
    home = pathlib.Path(os.environ["HOME"])
    subprocess.run(["git", "init", "-q", str(home)], check=True)
    monkeypatch.setattr("lessons_kb.store.locations.account_home", lambda: str(home))
    make_brain(user_brain())
    card = pathlib.Path(user_brain(), "lessons", "a.md")
    card.write_text(CARD)
    assert "zebra" in Claude(home).say("SessionStart", source="startup").context
