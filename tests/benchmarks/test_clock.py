import sys

import pytest

from benchmarks.speed import clock
from benchmarks.speed.clock import Command

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="posix_spawn and wait4")


def python(code, **options):
    return Command(argv=(sys.executable, "-c", code), **options)


def test_commands_run_in_turn_and_warm_up_does_not_count():
    order = []

    def noted(name):
        return python("pass", before=lambda number: order.append((name, number)))

    runs = clock.time_in_turn({"a": noted("a"), "b": noted("b")}, 2, warm_up=1)
    assert order == [("a", 0), ("b", 0), ("a", 1), ("b", 1), ("a", 2), ("b", 2)]
    assert {name: len(found) for name, found in runs.items()} == {"a": 2, "b": 2}
    assert all(run.seconds > 0 and run.megabytes > 1 for run in runs["a"])


def test_a_program_reads_its_input_where_it_is_told(tmp_path):
    echo = "import os, sys; print(os.getcwd(), sys.stdin.read(), os.environ['WHO'])"
    command = python(echo, stdin=lambda n: f"run {n}", cwd=str(tmp_path), environment={"WHO": "me"})
    assert clock.start(command, 4).output.split("\n")[0] == f"{tmp_path} run 4 me"


def test_the_time_of_a_failure_is_no_figure():
    for code, must_print, said in (
        ("raise SystemExit('no data')", "", "exit 1: no data"),
        ("print('x')", "block", "exit 0: x"),
    ):
        with pytest.raises(clock.ProcessError, match=said):
            clock.start(python(code, must_print=must_print))
    with pytest.raises(clock.ProcessError, match="2 of 2"):
        clock.time_at_once(python("print('x')", must_print="done"), 2)
