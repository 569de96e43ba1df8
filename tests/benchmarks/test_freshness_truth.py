"""The truth about files of the past that `python -m benchmarks freshness` compares with."""

import pytest

from benchmarks.judgement import freshness
from benchmarks.judgement.freshness import GONE, MOVED, PRESENT, UNCLEAR
from tests.kit import commit, git


def write_code(name, lines=20):
    return "".join(f"export const {name}{number} = {number};\n" for number in range(lines))


TEMPLATE = write_code("template")


@pytest.fixture
def project(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    files = {f"demos/{name}/index.html": f"{TEMPLATE}<p>{name}\n" for name in ("a", "b", "c")}
    files |= {f"src/{name}.ts": write_code(name) for name in ("cart", "mail", "page", "stay")}
    files["src/twin.ts"] = files["src/mail.ts"]
    commit(folder, "start", **files)
    return folder


def find_truth(folder, path):
    steps = list(freshness._read_steps(folder))
    head = set(git(folder, "ls-tree", "-r", "--name-only", "HEAD").split())
    return freshness._find_truth(folder, steps, 0, path, head)


def test_a_file_is_present_gone_or_moved(project):
    git(project, "rm", "-q", "src/cart.ts")
    git(project, "mv", "src/mail.ts", "src/post.ts")
    commit(project, "move", **{"src/post.ts": write_code("mail") + "// moved\n"})
    assert find_truth(project, "src/stay.ts") == (PRESENT, "src/stay.ts")
    assert find_truth(project, "src/cart.ts") == (GONE, "")
    assert find_truth(project, "src/mail.ts") == (MOVED, "src/post.ts")


def test_a_file_may_get_another_ending_of_its_language(project):
    git(project, "mv", "src/page.ts", "src/page.tsx")
    commit(project, "move", **{"src/page.tsx": write_code("page") + "// moved\n"})
    assert find_truth(project, "src/page.ts") == (MOVED, "src/page.tsx")


def test_a_new_copy_of_a_template_is_the_move_of_none_of_many_that_vanished(project):
    git(project, "rm", "-qr", "demos")
    commit(project, "clean", **{"prototypes/x/index.html": f"{TEMPLATE}<p>x\n"})
    assert find_truth(project, "demos/a/index.html") == (UNCLEAR, "")


def test_of_equal_files_the_nearest_in_the_tree_is_the_target(project):
    git(project, "rm", "-q", "src/mail.ts", "src/twin.ts")
    text = write_code("mail")
    commit(project, "move", **{"a/mail.ts": text, "lib/src/mail.ts": text, "lib/zebra.ts": text})
    assert find_truth(project, "src/mail.ts") == (MOVED, "lib/src/mail.ts")


def test_a_file_whose_content_the_clone_lacks_is_unclear(project):
    blob = git(project, "rev-parse", "HEAD:src/cart.ts").strip()
    git(project, "rm", "-q", "src/cart.ts")
    commit(project, "remove", **{"src/other.ts": write_code("other")})
    (project / ".git/objects" / blob[:2] / blob[2:]).unlink()
    freshness._LINES.clear()
    assert find_truth(project, "src/cart.ts") == (UNCLEAR, "")
