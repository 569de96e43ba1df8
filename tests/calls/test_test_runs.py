"""Which command lines run tests, which of them run the same ones, and what their output tells."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lessons_kb.calls.failure_signs import (
    error_excerpt,
    find_failing,
    find_test_command,
    shows_outcome,
)

SAME = {
    "pytest": [
        "pytest -x -vv --tb=short --color yes -n 4", "pytest --lf", "py.test",
        "python3.11 -X dev -m pytest -q", ".venv\\\\Scripts\\\\pytest.exe -q",
        "FOO=1 BAR='a b' pytest", "env -u FOO PYTHONPATH=. pytest", "time timeout -k 5 60 pytest",
        "sudo -u ci nice -n 5 pytest", "source .venv/bin/activate && pytest", "cd . && pytest",
        "lessons run --stall 30 -- pytest -q", "uv run --group dev python -m pytest",
        "pipenv run python -m pytest", "conda run -n py311 pytest",
        "coverage run --source src -m pytest", "docker compose run --rm -e CI=1 web pytest -q",
        "bash -lc 'pytest -q'", 'sh -c "set -e; pytest"', "pytest 2>&1 | tail -20",
        "if pytest; then echo ok; fi", "pytest # all of it",
    ],
    "pytest tests/a.py": ["python -m pytest -q tests/a.py"],
    "pytest -k a and b": ["pytest -q -k 'a and b' --maxfail 1"],
    "cd api && pytest": ["cd api && pytest", "cd ./api; pytest -q", "(cd api && pytest)"],
    "unittest discover": ["python3 -m unittest discover -v"],
    "tox -e py311": ["python -m tox -e py311 -v"],
    "npm test": ["npm test --silent", "CI=1 npm test -- --coverage"],
    "npm run test:unit": ["npm run test:unit -- --reporter dot"],
    "pnpm --filter web test": ["pnpm --filter web test"],
    "yarn workspace web test": ["yarn workspace web test"],
    "jest src/a.test.ts": ["npx jest src/a.test.ts --coverage", "yarn dlx jest src/a.test.ts"],
    "vitest run": ["pnpm exec vitest run --reporter verbose"],
    "playwright test": ["bunx playwright test --workers 2"],
    "node --test": ["node --test"],
    "go test ./...": ["go test -v -race -count=1 ./...", "go test -timeout 30s ./..."],
    "go test ./... -run TestX": ["go test ./... -run TestX"],
    "cargo test": ["cargo test", "cargo test -q", "cargo test -- --nocapture"],
    "cargo nextest run -p core": ["cargo nextest run -p core"],
    "mvn clean test": ["mvn -q clean test", "mvn -B clean test"],
    "gradlew :app:test": ["./gradlew :app:test --info", "gradlew.bat :app:test"],
    "gradle build": ["gradle build"],
    "make test": ["make test", "make -j4 test", "make -j 4 test"],
    "make -C sub check": ["make -C sub check"],
    "just test": ["just test"],
    "dotnet test": ["dotnet test", "dotnet test --verbosity quiet"],
    "ctest": ["ctest --output-on-failure -j 4"],
    "rspec spec/a_spec.rb": ["bundle exec rspec spec/a_spec.rb", "bin/rspec spec/a_spec.rb"],
    "rails test": ["bin/rails test"],
    "phpunit": ["vendor/bin/phpunit", "php vendor/bin/phpunit --colors"],
    "artisan test": ["php artisan test"],
    "manage.py test app": ["python manage.py test app"],
    "mix test": ["mix test", "MIX_ENV=test mix test"],
    "deno test": ["deno test -A", "deno test --allow-all"],
    "swift test": ["swift test"],
    "zig build test": ["zig build test"],
    "hatch test": ["hatch test"],
    "hatch run test": ["hatch run test"],
    "poetry run test": ["poetry run test"],
    "run_tests.sh": ["./run_tests.sh", "scripts/run_tests.sh"],
    "xcodebuild test -scheme App": ["xcodebuild test -scheme App -destination x"],
}  # fmt: skip

NO_TESTS = [
    "ls tests", "cat tests/test_a.py", 'git commit -m "fix the test"',
    'git commit -m "run pytest; fix"', "grep -rn pytest .", "echo pytest", "pip install pytest",
    "npm install jest", "vim test.py", 'python -c "import pytest"',
    "python test_data_loader.py --build", "pytest --version", "pytest --collect-only",
    "jest --listTests", "cargo test --no-run", "cargo build", "npm run build",
    "mvn package -DskipTests", "make build", "make testdata.zip", "[ -f x ] && test -f y",
    "test -d tests", "docker build -t test .", "kubectl get pods -n test", "ssh test.example.org",
    "which pytest", "man pytest", "cd tests", "rm -rf tests", "cp test.py best.py",
    "for t in tests/*; do echo $t; done", "git checkout test", "",
]  # fmt: skip


@pytest.mark.parametrize(
    ("identity", "command"), [(i, c) for i, commands in SAME.items() for c in commands]
)
def test_the_same_tests_have_the_same_identity(identity, command):
    assert find_test_command(command) == identity


@pytest.mark.parametrize("command", NO_TESTS)
def test_other_commands_run_no_tests(command):
    assert find_test_command(command) is None
    assert shows_outcome(command) is True


OUTCOMES = {
    "pytest": True, "cd x && pytest": True, "pytest && git push": True, "make lint; pytest": True,
    "set -o pipefail; pytest | tee log": True, "pytest | tail": False,
    "pytest 2>&1 | tail -5": False, "pytest |& tee log": False, "pytest; echo done": False,
    "pytest\necho done": False, "pytest || true": False, "pytest &": False,
    "pytest && echo a; echo b": False, "bash -c 'pytest | cat'": False,
    "bash -c 'pytest' | cat": False,
}  # fmt: skip


@pytest.mark.parametrize(("command", "shown"), OUTCOMES.items())
def test_an_exit_code_is_the_tests_own_or_not(command, shown):
    assert shows_outcome(command) is shown


PIECES = st.sampled_from(
    [*"ab -'\"\\;&|<>()#\n=/.", "pytest ", "cd ", "sh -c ", "sudo ", "npm test"]
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=40))
def test_any_line_can_be_read(line):
    identity = find_test_command(line)
    assert identity is None or identity
    shows_outcome(line)


@pytest.mark.parametrize(
    "piece", ["pytest ", "sudo ", "sh -c '", "a=1 ", "<<E\n", "test;", "-x ", "\\"]
)
def test_a_long_line_takes_no_time(piece):
    started = time.process_time()
    find_test_command((piece * 20_000)[:20_000])
    assert time.process_time() - started < 1.0


PYTEST = """\
............F...
=================================== FAILURES ===================================
______________________________ test_total_of_cart ______________________________

    def test_total_of_cart():
>       assert total([1, 2]) == 4
E       assert 3 == 4
E        +  where 3 = total([1, 2])

tests/test_cart.py:5: AssertionError
=========================== short test summary info ============================
FAILED tests/test_cart.py::test_total_of_cart - assert 3 == 4
1 failed, 15 passed in 0.12s
"""


@pytest.mark.parametrize(("output", "names"), [
    (PYTEST, ("tests/test_cart.py::test_total_of_cart",)),
    ("--- FAIL: TestTotal (0.00s)\n    cart_test.go:9: got 3\nFAIL", ("TestTotal",)),
    ("test cart::total ... FAILED\ntest result: FAILED. 1 failed", ("cart::total",)),
    (" FAIL  src/cart.test.ts\n  ● total › adds\n", ("src/cart.test.ts", "total › adds")),
    ("not ok 2 - adds the tax", ("adds the tax",)),
    ("\x1b[31m[ERROR]\x1b[0m   CartTest.total:12 expected", ("CartTest.total",)),
    ("CartTest > total() FAILED", ("CartTest > total()",)),
    ("FAIL: test_total (cart.CartTest)", ("test_total (cart.CartTest)",)),
    ("15 passed in 0.12s", ()),
])  # fmt: skip
def test_failing_tests_are_named(output, names):
    assert find_failing(output) == names


def test_an_excerpt_keeps_the_lines_that_tell_else_the_end():
    assert error_excerpt("\x1b[31mE  assert 3 == 4\x1b[0m\n") == "E  assert 3 == 4"
    noise = "\n".join(f"collecting item {number}" for number in range(2000))
    excerpt = error_excerpt(f"{noise}\n{PYTEST}{noise}", limit=800)
    assert "E       assert 3 == 4" in excerpt
    assert "FAILED tests/test_cart.py::test_total_of_cart" in excerpt
    end = error_excerpt("\n".join(f"step {number}" for number in range(500)), limit=100)
    assert (end[0], end[-8:]) == ("…", "step 499")


@given(st.text(max_size=3000), st.integers(50, 1000))
def test_an_excerpt_stays_in_its_limit(output, limit):
    assert len(error_excerpt(output, limit=limit)) <= limit
