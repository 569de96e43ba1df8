"""Which rules move: those that were seen to arrive, and none that holds always."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lessons_kb.cards.parse import parse_card
from lessons_kb.detect.matcher import check_pattern
from lessons_kb.diet.diet import Diet
from lessons_kb.diet.edited_places import find_edited_places
from lessons_kb.diet.late_kinds import IS_CHECK, IS_NAME, IS_QUESTION, IS_REMOTE
from lessons_kb.diet.plan import (
    NOT_ARRIVED,
    TWICE,
    count_afterwards,
    count_every_session,
    plan_diet,
)
from lessons_kb.diet.probes import make_occasions
from lessons_kb.diet.project_files import Project
from lessons_kb.diet.proposals import may_have_condition
from lessons_kb.diet.read_clause import IS_OTHER_COMMAND, UNCONDITIONAL
from lessons_kb.diet.read_condition import IS_ENTRY, SEVERAL, find_condition
from lessons_kb.diet.remarks import find_pairs
from lessons_kb.diet.situations import get_situation, read_situations
from lessons_kb.importers.rules_file import POINTER, read_rules
from lessons_kb.model import Pattern
from lessons_kb.process import programs
from lessons_kb.text.patterns import compile_globs, match_globs
from lessons_kb.text.token_estimate import estimate_tokens

FILES = (
    "src/pay.ts",
    "src/tax.ts",
    "src/ui/a.tsx",
    "docs/a.md",
    "package.json",
    "tests/pay.test.ts",
)
FILES += ("db/migrations/1.sql", "core/a.rs", "billing/a.ts", "billing/pages/a.ts", "api/a.proto")
FILES += (
    "pnpm-lock.yaml",
    "src/clock.ts",
    "examples/a/a.ts",
    "examples/b/b.ts",
    "wide/package.json",
)
FILES += ("far/down/gen/a.cs", "gen/b.resx", "gen/b.Designer.cs")
FILES += tuple(f"lib/{number}.ts" for number in range(30))


def read(text, **how):
    return read_rules(text, name=how.pop("name", "AGENTS.md"), **how)


@pytest.mark.parametrize(
    ("rule", "kind", "holds"),
    [
        ("When you change `src/pay.ts`, count in cents", "path", ("src/pay.ts",)),
        ("When adding code in `docs/` or `src/ui/`, sign it", "path", ("docs/**", "src/ui/**")),
        ("When committing, name the package", "command", "commit"),
        ("Name the package before pushing", "command", "push"),
        ("When opening a pull request, run the checks", "command", "pr"),
        ("Before committing or opening a PR, run the checks", "command", "commit"),
        ("When writing tests, use the fixtures", "path", ("**/*.test.*", "**/tests/**")),
        ("When writing tests use the fixtures", "path", ("**/*.test.*",)),
        ("For rounding in unit tests, use the fixtures", "path", ("**/*.test.*",)),
        (
            "Before adding or changing a migration, look at the last one",
            "path",
            ("**/migrations/**",),
        ),
        ("In SQL files, write keywords in capitals", "path", ("**/*.sql",)),
        ("**When you touch `src/tax.ts`:** round once", "path", ("src/tax.ts",)),
        ("Commit messages must name the package", "command", "commit"),
        ("Keep PR titles short", "command", "pr"),
        ("In a pull request, name the tickets", "command", "pr"),
        ("When you open a PR, make it a draft until the user says otherwise", "command", "pr"),
        ("Before committing, run `make check`", "command", "commit"),
        ("If you commit, sign it", "command", "commit"),
        ("Do not mention people in a commit message", "command", "commit"),
        ("Follow the usual commit message format", "command", "commit"),
        ("Before committing or pushing, run the linter", "command", "push"),
        ("When creating a branch, name it after the ticket", "command", "branch"),
        ("Use semantic commits", "command", "commit"),
        ("Follow conventional commits (`feat:`, `fix:`)", "command", "commit"),
        ("Follow conventional commit format for fixes", "command", "commit"),
        (
            "Use **Conventional Commits**:\n  - `feat`: new\n  - `fix`: repaired",
            "command",
            "commit",
        ),
        ("Write clear, descriptive commit messages that users understand", "command", "commit"),
        ("Follow the existing commit message style of the shop", "command", "commit"),
        ("Close tickets with commit messages: `Closes #1`", "command", "commit"),
        ("All commits must be signed", "command", "commit"),
        ("Don't commit without running the hooks", "command", "commit"),
        ("Never commit directly to `main`", "command", "commit"),
        ("Never amend commits to repair a hook", "command", "commit"),
        ("**Never skip pre-commit hooks** (`--no-verify`)", "command", "commit"),
        ("Commit messages: the package, then the change", "command", "commit"),
        ("Semantic commit messages: `label(scope): description`", "command", "commit"),
        ("Never add yourself as an author to commits", "command", "commit"),
        ("Try to keep commits to one line", "command", "commit"),
        ("**All PRs target `develop`**, not `main`", "command", "pr"),
        ("Fix PRs should target `main`", "command", "pr"),
        ("PRs should be raised as a draft", "command", "pr"),
        ("Do NOT add a plan to PR bodies", "command", "pr"),
        ("Include `Fixes #1` somewhere in the PR body so that it is closed", "command", "pr"),
        ("Never open pull requests against `release`", "command", "pr"),
        ("**Never `git push` without being asked**", "command", "push"),
        ("Create pull requests from your fork to `main`", "command", "pr"),
        ("Follow the existing PR template and guidelines", "command", "pr"),
        ("Apply PR labels: bugs or features", "command", "pr"),
        ("Base new branches off the `main` branch", "command", "branch"),
        ("Branch names must be short", "command", "branch"),
        ("Never push directly to `main`", "command", "push"),
        ("Never use `git push --force`", "command", "push"),
        ("**Keep PRs current.** When pushing to a PR, look at its title", "command", "push"),
        ("PR title format: `type: subject`", "command", "pr"),
        ("**Commits**: use the imperative mood", "command", "commit"),
        ("When `src/pay.ts` changes, update `docs/a.md`", "path", ("src/pay.ts", "docs/a.md")),
        ("Use conventional commits", "command", "pr"),
        ("When committing, sign it; when pushing, name the ticket", "command", "push"),
        ("Do not mention machines in commits or PRs", "command", "pr"),
        ("Never push to `main` or use other branch names", "command", "checkout"),
        ("Commit messages must be short. In addition, name the package", "command", "commit"),
        ("Commit messages must be short. On the second line, name it", "command", "commit"),
        ("Don't push without being asked", "command", "push"),
        ("Never force push, even if asked", "command", "push"),
        (
            "When committing changes to `src/pay.ts`, name the fee in the subject",
            "command",
            "commit",
        ),
        ("When changing src/pay.ts to match src/tax.ts, round once", "path", ("src/pay.ts",)),
        ("When editing src/pay.ts directly, round once", "path", ("src/pay.ts",)),
        (
            "When adding a migration, follow the naming in other migrations",
            "path",
            ("**/migrations/**",),
        ),
        ("When introducing a page in `src/ui/`, use hooks", "path", ("src/ui/**",)),
        ("When adding an import to `src/pay.ts`, use a type", "path", ("src/pay.ts",)),
        (
            "Before planning, writing, or editing anything under `docs/`, look at one",
            "path",
            ("docs/**",),
        ),
        ("When adding package.json files, sort them", "path", ("package.json",)),
        ("When pushing new changes to a PR, look at its title", "command", "push"),
        ("Before `gh pr create`, look at the title", "command", "pr"),
        ("When committing, sign it. When you push, name the ticket", "command", "push"),
        ("Name the ticket when you commit. For example, `#7`", "command", "commit"),
        ("Always create new commits and push with a plain `git push`", "command", "push"),
        ("When you change `src/pay.ts`, keep the validation of amounts", "path", ("src/pay.ts",)),
        ("When you change `src/pay.ts`, call `go func()` last", "path", ("src/pay.ts",)),
        ("After you have changed `src/tax.ts`, round once", "path", ("src/tax.ts",)),
        ("When removing code from `billing/`, tell the owner", "path", ("billing/**",)),
        ("Never push tags by hand", "command", "push"),
        ("Never force push on `main`", "command", "push"),
        ("Commits: `<type>(<scope>): <subject>`", "command", "commit"),
        ("PR titles are required to name the package", "command", "pr"),
        ("Open PRs in English", "command", "pr"),
        ("If `src/tax.ts` is changed, round once", "path", ("src/tax.ts",)),
        ("When you are editing `src/tax.ts`, round once", "path", ("src/tax.ts",)),
        ("If you change files that are in `billing/`, sign it", "path", ("billing/**",)),
        ("For test files, use the usual names", "path", ("**/*.test.*",)),
    ],
)
def test_a_condition_becomes_the_mechanism_that_fits_it(rule, kind, holds):
    (found,) = read(f"# Guide\n\n- {rule}\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert condition is not None
    if kind == "path":
        assert set(holds) <= set(condition.globs)
    else:
        assert holds in condition.pattern


@pytest.mark.parametrize(
    "rule",
    [
        "Files in `src/ui/` must not import lib",
        "Do not edit `package.json` by hand",
        "New pages under `docs/` need a title",
        "Do not log amounts in `src/pay.ts`",
        "**Never use `pip install` or `uv pip`**, use `uv`",
        "Fees: changes to `src/pay.ts` need a second pair of eyes",
        "Don't update files under `*/gen/*.cs`, they are generated",
        "`gh pr create` does not fill in the template",
        "When running tests, pass `--quiet`",
        "After changing dependencies, update the lockfile",
        "Docs and examples changes: check the links",
        "Do not update `package.json` by hand, ask about new dependencies",
        "`pnpm-lock.yaml` is written by `pnpm install`, do not edit it",
        "Changed deps in `package.json` require changes in `wide/package.json`",
        "The `*.Designer.cs` files must match `*.resx`",
        "Follow the style in existing tests. Each is next to its source",
        "Do not modify existing migrations; add new ones",
        "Write unit tests with vitest",
        "Test files are named after the module",
        "Test files mirror the source tree",
        "Don't put unit tests outside `tests/`",
        "Mirror the tree of `src/` in `tests/`",
        "Mirror the tree of src/ in tests/",
        "Markdown prose must not be wrapped",
        "Use fixtures in unit and integration tests",
        "Tests must use the doubles for test data",
        "Unit tests must not sleep",
        "ALWAYS use semantic commits",
        "Run the generator after changing `.proto` files",
        "When committing, name the package. For user-visible changes, add a line to the news",
        "When committing, name the package. During a release, change nothing",
        "When committing, sign it and if users see the change, add a line to the news",
        "When pushing to an array, avoid spread",
        "When pushing to the stack, look at its size",
        "Never push and pop in the same loop",
        "When pushing updates to the queue, send them in groups",
        "If you push it onto the queue, add a limit",
        "Never push to the registry",
        "When changes go to production, tell the team",
        "When adding a caller of `src/pay.ts`, pass the clock",
        "When workers in `billing/` stall, look at the queue",
        "When the bot updates `package.json`, approve it at once",
        "When you change `src/pay.ts`, execute `make`",
        "When you change `billing/`, restart the server",
        "When you change `src/pay.ts`, confirm with the user first",
        "In `src/ui/`, name files in kebab-case",
        "If adding new package.json properties to code, list them in `src/pay.ts`",
        "When working with payments and/or the `src/pay.ts` file, read the contract",
        "Before running `npm publish`, bump the version",
        "When using docker, stop what you started",
        "Before committing, run `make check`. When you change `src/pay.ts`, count in cents",
        "When committing, sign it, and when you change `src/tax.ts`, round once",
        "When committing, name the package, and if users see the change, add a line to the news",
        "When you change `src/pay.ts`, count in cents. For other files, use floats",
        "Write commit messages in English. In other files, use German",
        "When committing, sign it. In `lib/`, use tabs",
        "When pushing values onto the stack, look at its size",
        "If you push notifications, add a test",
        "Never push state down to components",
        "Do not push images to the registry",
        "Don't push for early abstractions",
        "When reading `src/pay.ts`, note that it is generated",
        "In `src/ui/`, avoid inline styles",
        "For `src/pay.ts`, avoid floats",
        "In Billing, use the logger",
        "For billing changes, ask the owner",
        "When calling functions of `src/pay.ts`, catch errors",
        "When using `src/pay.ts`, pass the clock",
        "When `src/pay.ts` throws, try again",
        "When users run `npm create shop`, they get the last release",
        "In pages (`billing/**/pages/**/*.ts`), use **bold**",
        "Read the rules in `docs/` when writing code (`src/pay.ts`) or tests",
        "Tell the team after changing `src/pay.ts`",
        "Before committing, and after a merge, look at the sums",
        "When committing, sign it. If users see the change, add a line to the news",
        "When you change `src/pay.ts`, sign it. Do so before changing the fees as well",
        "`docs/` changes: `npm run docs` is the check in CI",
        "Unit tests: `<module>.test.ts` beside the module",
        "`docs/`: the manual, built via `npm run docs`. Do not wrap it",
        "If a page has docs, list them in `docs/a.md`",
        "Never push amounts into the theme of `src/pay.ts`",
        "Changelog entries are required for most changes",
        "Never add new dependencies without asking",
        "To build the scanner from `docs/a.md`, read it first",
        "When committing, NEVER skip the hooks",
        "**NO force pushes**: `git push --force`",
        "All checks must pass before commit is allowed",
        "`package.json`: packages that should not be updated by a bot",
        "`docs/a.md` - generated by `npm run docs`",
        "When `src/pay.ts` grows, split it",
        "When writing or reviewing tests, read `docs/a.md`",
        "Do not run `npm unpublish` here",
        "**Run the linter before committing.** Do not use `pip install`",
        "**Adding or changing skills?** Read `docs/a.md`, it is about `skills-lock.json`",
        "Never use lazy imports unless needed for optional dependencies",
        "**`billing/`**: the amounts, and the fees that users must not pay",
        "Commits: 250 since May",
        "To add a page, write it in `billing/pages/<name>.ts`",
        "When adding a page, write it in `billing/pages/<name>.ts` and list it in `docs/a.md`",
        "Tests are located under each package in `tests/`",
        "When working on billing, read `billing/AGENTS.md` and `docs/AGENTS.md` first",
        "Docs live in `docs/` as Markdown. See `docs/a.md`",
        "Never commit secrets",
        "Do not commit `docs/a.md`",
        "Create a new branch for each feature",
        "Use the last commit as a model",
        "All commits must pass the checks",
        "Tests: `npm test`",
        "Unit tests: `tests/`",
        "Unit tests: add them for each new function",
        "Documentation: see `docs/`",
        "Never use `npm`, use `pnpm`",
        "Use `pip install` for the tools",
        "For examples, see `docs/a.md`",
        "Answer in English",
        "When adding a provider, tell the team",
        "When `gone/file.ts` changes, look at it",
        "When you change `lib/`, think",
        "Before finishing any task, run the checks",
        "If `cmake` is missing, ask",
        "When you add a package, read its `docs/a.md`",
        "Use pnpm. Run the linter before pushing",
        "Before pushing, run the linter; otherwise run it at night",
        "Use the versions declared in `package.json`",
        "Write tests for new functions",
        "Add tests before committing to a design",
        "Keep the docs up to date",
        "Keep changes small, do not mix them in a pull request",
        "Edits take effect after running `pnpm build`",
        "`billing/`: the always-on part of the shop",
        "Before writing migrations or models, look at the tables",
        "When adding a provider or changing `src/pay.ts`, tell the team",
        "For API changes, ask the owner",
        "When `src/pay.ts` fails, look at the log",
        "If tests fail, fix them",
        "In files other than tests, do not use mocks",
        "Do not change the format, `src/pay.ts` or the store in one part only",
        "When adding an entity, read `billing/AGENTS.md`",
        "For details see `docs/a.md`",
        "Tests are arranged by layer",
        "PRs require full coverage",
        "Tests must pass",
        "A changelog entry only if users can see the change",
        "`docs/a.md`: the layout. Update when the layout changes",
        "Keep PRs small",
        "Keep the PR description current with the work",
        "When moving a commit, use `git cherry-pick`",
        "Never add a plan to the PR description. Branch naming for fixes: `fix-<number>`",
        "Use `task` for changes of a task, even if the code lives in `src/pay.ts`",
        "`billing/`: the amounts, so that stories don't load them",
        "For each test step, take a picture",
        "If code outside of `docs/` changes, build it",
        "Do not edit `dist/` or `src/pay.ts` directly",
        "If a section of AGENTS.md is wrong, say so",
        "Run the linter before committing. Add a test when you add a function",
        "**When to write tests:** When a bug was fixed",
        "Use fixtures for unit and integration tests",
        "For slow tests, set a limit",
        "For slow unit tests with a proxy, set a limit",
        "Use `npm run accept` after running tests",
        "After running `npm run build`, look at the sizes",
        "After pushing, wait for the checks",
        "Once you open a pull request, wait for the checks",
        "When a change (`src/pay.ts`) is user-facing, add a note",
        "When a change (`src/pay.ts`, `src/tax.ts`, or both) is user-facing, add a note",
        "If `src/pay.ts` is slow, measure it",
        "If a change of `src/pay.ts` is breaking, add a note",
        "`src/pay.ts`: the entry point. Keep the `pay` module very small",
        "Keep examples short",
        "Use the public API in examples, not the store",
        "In example apps, use the public API",
        "Keep `src/pay.ts` focused on amounts; move the rest elsewhere",
        "`src/pay.ts` is the entry point; keep it small",
        "`src/pay.ts`: the entry point. Keep it small",
        "**`src/pay.ts`**: the entry point. Keep this file as small as possible",
        "`*.Designer.cs` files must match `*.resx`. If you change texts, change both",
        "Tests in `tests/` require a display when run in a container",
        "Tests in `tests/` need a network if they are executed",
        "Test changes thoroughly before committing",
        "**Test changes thoroughly** before committing",
        "Before opening a pull request, run the checks",
        "Run the checks before you submit a PR",
        "Before committing, verify your work",
        "Test mirror-sensitive changes by running the usual tests",
        "Code in `billing/` is loaded from a build, so its changes require rebuilding",
        "**Do not create `docs/b/`**. The folder `docs/` is only a link",
        "`billing/` and `api/` are submodules. Changes must go to their repositories",
        "Pull request template: [.github/pull_request_template.md](.github/pull_request_template.md)",
        "Tests must pass before committing",
        "**Tests must pass and lint must be clean before committing.**",
        "Make sure that the docs are current before you commit",
        "**Warnings should be addressed before committing**",
    ],
)
def test_a_rule_without_a_condition_that_an_event_shows_stays(rule):
    (found,) = read(f"# Guide\n\n## Committing\n\n- {rule}\n").rules
    assert find_condition(found, Project(files=FILES))[0] is None


@pytest.mark.parametrize(
    ("said", "globs"),
    [
        ("When you change `src/pay.ts`", ("src/pay.ts",)),
        ("When you touch the `src/pay.ts` protocol", ("src/pay.ts",)),
        ("When fixing a bug in `src/pay.ts`", ("src/pay.ts",)),
        ("When changing the behaviour of `src/pay.ts`", ("src/pay.ts",)),
        ("When adding `Money` to `src/pay.ts`", ("src/pay.ts",)),
        ("When adding a handler for a new event in `src/pay.ts`", ("src/pay.ts",)),
        ("When editing near-duplicate code in `src/pay.ts`", ("src/pay.ts",)),
        ("When working on `src/pay.ts`", ("src/pay.ts",)),
        ("When changing src/pay.ts to match src/tax.ts", ("src/pay.ts",)),
        ("When changing `src/pay.ts` to match `src/tax.ts`", ("src/pay.ts", "src/tax.ts")),
        ("When changing `src/pay.ts` and `src/tax.ts`", ("src/pay.ts", "src/tax.ts")),
        (
            "When editing `src/pay.ts`, `src/tax.ts`, or `src/ui/`",
            ("src/pay.ts", "src/tax.ts", "src/ui/**"),
        ),
        ("When editing files that match `src/ui/**`", ("src/ui/**",)),
        ("When editing files matching `src/ui/**`", ("src/ui/**",)),
        ("When changing components which live in `src/ui/`", ("src/ui/**",)),
        ("When adding strings for users to `src/ui/`", ("src/ui/**",)),
        ("When modifying callbacks in `src/ui/`", ("src/ui/**",)),
        ("When you change files by hand in `src/ui/`", ("src/ui/**",)),
        ("Before planning, writing, or editing anything under `docs/`", ("docs/**",)),
        ("When removing a page from `docs/`", ("docs/**",)),
        ("When adding a page from `docs/`", ()),
        ("When building `billing/`", ()),
        ("When changing code without touching `src/pay.ts`", ()),
        ("When adding anything but `src/pay.ts`", ()),
        ("When changing the API instead of `src/pay.ts`", ()),
        ("When `src/pay.ts` does not change", ()),
        ("If `src/pay.ts` was not updated", ()),
        ("If `src/pay.ts` hasn't changed", ()),
        ("When adding a page without a test in `tests/`", ()),
        ("When changing `src/pay.ts` callers", ()),
        ("When working around `src/pay.ts`", ()),
        ("When adding code that calls `charge()` in `src/pay.ts`", ()),
        ("When changing a field that `src/pay.ts` reads", ()),
        ("When working on files in `src/ui/`", ("src/ui/**",)),
        ("When implementing a handler in `src/ui/`", ("src/ui/**",)),
        ("When adding logging to `src/pay.ts`", ("src/pay.ts",)),
        ("When changing routing in `src/ui/`", ("src/ui/**",)),
        ("When changing a deprecated function in `src/ui/`", ("src/ui/**",)),
        ("When changing the public API of `src/pay.ts`", ("src/pay.ts",)),
        ("When changing any of `src/pay.ts`, `src/tax.ts`", ("src/pay.ts", "src/tax.ts")),
        ("When changing the no-op code in `src/pay.ts`", ("src/pay.ts",)),
        ("When the `src/pay.ts` file is updated", ("src/pay.ts",)),
        ("If `src/pay.ts` imports a module that changes", ()),
        ("If the `src/pay.ts` mock is updated", ()),
        ("When `src/pay.ts` tests are moved", ()),
        ("If `docs/a.md` says the API changed", ()),
        ("When editing files besides `src/ui/`", ()),
        ("When changing code beyond `src/ui/`", ()),
        ("When adding code behind `src/ui/`", ()),
        ("When writing code to talk to `src/pay.ts`", ()),
        ("When writing code to query rows in `src/pay.ts`", ()),
        ("When creating a script to update `src/pay.ts`", ()),
        ("When changing code dependent on `src/pay.ts`", ()),
        ("When changing the callers to `src/pay.ts`", ()),
        ("When changing code in response to `src/pay.ts`", ()),
        ("When updating a constant to the value in `src/pay.ts`", ()),
        ("When writing code under the rules in `docs/a.md`", ()),
        ("When changing `src/pay.ts`'s callers", ()),
        ("When changing `src/pay.ts`-dependent code", ()),
        ("When changing the `src/pay.ts` snapshot", ()),
        ("When editing a page not in `src/ui/`", ()),
        ("When editing anything but code in `src/ui/`", ()),
        ("When editing everything except code in `src/ui/`", ()),
        *(
            (f"When adding values {word} money in `src/pay.ts`", ())
            for word in (
                *(
                    "that",
                    "which",
                    "whose",
                    "where",
                    "as",
                    "like",
                    "because",
                    "when",
                    "if",
                    "while",
                ),
                *("than", "with", "via", "by", "per", "near", "next", "beside", "alongside"),
                *("against", "through", "about", "around", "after", "before", "using", "use"),
            )
        ),
        *(
            (f"When adding values {word} in `src/pay.ts`", ())
            for word in ("defined", "read", "written", "built", "kept", "given", "found", "shown")
        ),
        *(
            (f"When adding {words} to `src/pay.ts`", ())
            for words in (
                *("a call", "calls", "a link", "references", "a request", "access", "code similar"),
                *("code due", "code identical", "code equivalent", "code to match", "no code"),
            )
        ),
        *(
            (f"When implementing the {word} in `docs/a.md`", ())
            for word in ("plan", "spec", "design", "proposal")
        ),
        *(
            (f"When {words} `src/pay.ts`", ())
            for words in (
                *("adding code for", "adding a mock of", "adding a copy of", "adding a copy from"),
                *("adding code in the style of", "adding code based on", "adding code at"),
                *("changing `src/tax.ts` unless told by", "changing `src/tax.ts` that isn't in"),
            )
        ),
    ],
)
def test_a_place_counts_if_the_clause_says_that_it_is_edited(said, globs):
    (found,) = read(f"# Guide\n\n- {said}, round once\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert (condition.globs if condition else ()) == globs


def test_each_edited_place_is_named_once():
    names = ["package.json", "web/package.json"]
    found = find_edited_places("When you change `web/package.json`/`package.json`", names)
    assert found == ["web/package.json", "package.json"]
    matching = ["src/matching.ts", "by hand/a.ts"]
    assert (
        find_edited_places("When you edit `src/matching.ts`, `by hand/a.ts`", matching) == matching
    )
    passive = find_edited_places("If `package.json` or `web/package.json` changes", names)
    assert passive == names


def test_a_long_clause_ends():
    names = ["src/pay.ts"]
    said = "When changing code " + "with that " * 20_000 + "`charge` in `src/pay.ts`"
    assert find_edited_places(said, names) == []
    assert find_edited_places("When " + "adding, " * 20_000 + "`src/pay.ts`", names) == names


@pytest.mark.parametrize(
    ("heading", "rule", "globs"),
    [
        ("When changing `billing/`", "Keep amounts in cents", ("billing/**",)),
        ("The `billing/` package", "Keep amounts in cents", ()),
        ("Pages (billing/pages)", "Keep amounts in cents", ()),
        ("Input/output", "Keep amounts in cents", ()),
        ("Adding a page", "Write it in `billing/pages/<name>.ts`", ()),
        ("Working on the billing", "Read `billing/AGENTS.md` when you work on this", ()),
        ("Billing", "Keep amounts in cents", ()),
        ("SQL", "Build it with `npm run build`", ()),
        ("SQL", "`a.ts`: the amounts", ()),
        ("SQL", "It compares what the bank sends", ()),
        ("`billing/` and other `bill_*` packages", "Keep amounts in cents", ()),
        ("Billing tests", "Use the fixtures", ()),
        ("SQL", "Keep it small and simple", ()),
        ("SQL", "Use the nightly toolchain for queries", ()),
        ("SQL conventions", "Prefer joins to nested queries", ("**/*.sql",)),
        ("Writing SQL", "Prefer joins to nested queries", ("**/*.sql",)),
        ("SQL", "Prefer joins to nested queries", ("**/*.sql",)),
        ("Markdown files", "Code blocks should name their language", ("**/*.md",)),
        ("SQL", "The store has two schemas", ()),
        ("SQL", "Run `npm run sql` to check", ()),
        ("SQL injection", "Prefer joins to nested queries", ()),
        ("Writing tests", "Use the fixtures of the shop", ()),
        ("Unit testing", "Do not mock the store", ()),
        ("Testing guidelines", "**Amounts:** avoid floats", ()),
        ("Testing", "Add tests for each new function", ()),
        ("Testing", "Use `--watch` to see the results at once", ()),
        ("Testing", "Never skip the slow ones", ()),
        ("Testing", "Keep them green", ()),
        ("Testing", "Use docstrings for public functions", ()),
        ("Documentation style", "Avoid long sentences", ()),
        ("Documentation", "Update it when the layout changes", ()),
        ("Testing", "Async calls: use the loop of the shop", ()),
        ("Testing", "Use `pytest` fixtures for the shop", ()),
        ("Testing", "Use `npm test` for the shop", ()),
        ("Testing", "Do not change the folder, because tests execute in parallel", ()),
        ("Testing", "When comparing amounts, use whole cents", ()),
        ("Testing", "When a change is ready, use the whole suite", ()),
        ("Testing", "**Never assert a rounded amount.** It hides the cents", ()),
        ("Testing", "**Never merge a rounded amount.** Tests would pass", ()),
        ("Before committing", "Name the package in the subject", ()),
        ("When changing `billing/` or `docs/`", "Tell the team", ("billing/**", "docs/**")),
        ("Protocol buffers", "Avoid reserved names", ()),
        ("Database migrations", "Use one transaction per table", ()),
    ],
)
def test_a_heading_counts_if_it_states_a_condition_or_names_a_language(heading, rule, globs):
    (found,) = read(f"# Guide\n\n## {heading}\n\n- {rule}\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert (condition.globs if condition else ()) == globs


@pytest.mark.parametrize(
    ("headings", "rule", "globs"),
    [
        (("Testing", "Assertions"), "Use whole cents", ()),
        (("SQL", "Reports (in each review)", "Amounts"), "Use whole cents", ("**/*.sql",)),
        (("SQL", "Reports"), "Prefer joins to nested queries", ("**/*.sql",)),
        (("SQL", "Reports"), "The reports join two tables", ()),
        (("SQL", "Reports"), "Keep the reports in one schema", ()),
        (("SQL", "Running reports"), "Use whole cents", ()),
        (("SQL", "Running reports", "Amounts"), "Use whole cents", ()),
        (("SQL", "The `billing/` package"), "Avoid floats in sums", ()),
        (("SQL", "The `gone/` package"), "Avoid floats in sums", ()),
        (("Amounts", "Assertions"), "Use whole cents", ()),
    ],
)
def test_an_outer_heading_counts_for_the_form_of_its_language(headings, rule, globs):
    text = "".join(f"{'#' * level} {name}\n\n" for level, name in enumerate(headings, 2))
    (found,) = read(f"# Guide\n\n{text}- {rule}\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert (condition.globs if condition else ()) == globs


@pytest.mark.parametrize(
    ("lead", "rule", "mechanism"),
    [
        ("Never:", "Force push to main", "push"),
        ("Tell the team when you change:", "`docs/` or `src/ui/`", ""),
        ("Run the checks when you change:", "`docs/` or `src/ui/`", ""),
        ("Tell the team when you change:", "`docs/` or the shared utilities", ""),
        ("Ask first:", "Adding new dependencies", ""),
        ("Ask first:", "Adding dependencies to `wide/` (users get them)", ""),
        ("Ask first:", "Changing `src/pay.ts` in any way", ""),
        ("Commit guidelines:", "Name the package in the subject", "commit"),
        ("Pull requests:", "Name the ticket in the title", "pr"),
        ("Pull requests:", "Link the ticket", ""),
        ("When committing:", "Name the package in the subject", "commit"),
        ("Before pushing:", "Rebase on the main branch", ""),
        ("Commit guidelines:", "The team decides on exceptions", ""),
        ("Always:", "Answer in English", ""),
        ("Never:", "Answer in French", ""),
        ("Tell the team when you change:", "the way in which amounts are rounded", ""),
        ("Git:", "Answer in English", ""),
        ("For user documentation, see:", "[The guide](docs/a.md) - how to pay", ""),
        ("For user documentation:", "[The guide](docs/a.md): check it for what users know", ""),
        ("For user documentation:", "Keep the sentences short", ""),
    ],
)
def test_the_line_above_a_list_completes_its_rules(lead, rule, mechanism):
    (found,) = read(f"# Guide\n\n## Work\n\n{lead}\n\n- {rule}\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    if mechanism:
        assert condition is not None
        assert mechanism in " ".join((*condition.globs, condition.pattern))
    else:
        assert condition is None


@pytest.mark.parametrize(
    ("above", "rule", "commands"),
    [
        (("Commit messages",), "Use the imperative mood", {"commit", "pr"}),
        (("Commit messages",), "`fix`: a repair", {"commit", "pr"}),
        (("Commit types", "Examples:"), "`fix: round once`", {"commit", "pr"}),
        (("Commit & Pull Request Guidelines",), "Write short subjects", {"commit", "pr"}),
        (("3. PR title format (required)",), "Start with a small letter", {"pr"}),
        (("Pull requests",), "Keep the title below 60 characters", {"pr"}),
        (("Pull requests",), "Include screenshots of changed pages", set()),
        (("Creating pull requests", "Required sections:"), "**Reason:** one line", set()),
        (("Work", "PR titles must have one of these forms:"), "`fix: subject`", {"pr"}),
        (("Work", "Branch naming:"), "`fix/<ticket>` for repairs", {"branch"}),
        (("Commit guidelines",), "Split your day into short parts", set()),
        (("Pull requests",), "Stay inside the scope of the ticket", set()),
        (("Pull requests",), "Do what was asked. Put the rest into the description", set()),
        (("Commit messages",), "All commits are squashed when they are merged", set()),
        (("Commit messages",), "Messages are checked by the server", set()),
        (("Commit messages",), "Run `make words` to check the message", set()),
        (("Pull requests",), "Before opening a PR, write its description", set()),
        (("Pull requests",), "Add the title to `docs/a.md`", set()),
        (("Pull requests",), "Add a changelog entry with the title", set()),
        (("Pull requests",), "Respond to reviews of the description", set()),
        (("Pull requests", "When reviewing:"), "Read the description first", set()),
        (("Releases and pull requests",), "Write short titles", set()),
        (("Commit messages", "Tools"), "Use short names", set()),
    ],
)
def test_a_rule_below_a_heading_for_commits_or_pull_requests_is_about_their_text(
    above, rule, commands
):
    lines = [f"## {label}" if not label.endswith(":") else label for label in above]
    text = "# Guide\n\n{}\n\n- {}\n".format(
        "\n\n".join(lines).replace("## Tools", "### Tools"), rule
    )
    (found,) = read(text).rules
    condition, _reason = find_condition(found, Project(files=FILES))
    samples = condition.commands if condition else ()
    names = {
        "commit": "git commit -m x",
        "pr": "gh pr edit 7 --title x",
        "branch": "git branch topic",
    }
    assert {name for name, sample in names.items() if sample in samples} == commands


def test_a_rule_about_running_tests_is_not_about_their_form():
    (found,) = read("# Guide\n\n## Testing\n\n- Avoid the full test suite\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert condition is None


def test_a_rule_about_tests_stays_where_tests_stand_beside_the_code():
    (found,) = read("- In unit tests, never sleep\n").rules
    beside = [f"core/{number}.rs" for number in range(9)]
    for files in (FILES, (*FILES, *beside)):
        condition, _reason = find_condition(found, Project(files=files))
        assert (condition is None) == (files != FILES)


@pytest.mark.parametrize("first", ["creating a branch", "opening a PR"])
def test_each_alternative_of_a_condition_counts_in_any_order(first):
    others = {"creating a branch", "opening a PR"} - {first}
    (rule,) = read(f"- When {first} or {others.pop()}, name the ticket\n").rules
    condition, _reason = find_condition(rule, Project(files=FILES))
    assert condition is not None
    assert "checkout" in condition.pattern
    assert "gh" in condition.pattern


def test_a_rule_about_branches_moves(tmp_path):
    rule = "Branch names must be short and name the ticket, as agreed with all who work here"
    _diet, plan = plan_of(tmp_path, f"# Guide\n\n- {rule}\n")
    assert [move.condition.said for move in plan.moves] == ["Branch names"]


def test_a_card_can_have_the_pattern_of_each_situation():
    patterns = [situation.pattern for situation in read_situations() if situation.pattern]
    assert len(patterns) >= 5
    problems = [check_pattern(Pattern(kind="command", text=text)) for text in patterns]
    assert problems == [""] * len(patterns)


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("If you changed Rust code, look at the result in CI", IS_CHECK),
        ("When you change `billing/`, verify that the total does not change", IS_CHECK),
        ("When you change `src/pay.ts`, run `npm run check` and look at it", IS_CHECK),
        ("When you change `src/pay.ts`, name its test `<module>.test.ts`", IS_NAME),
        ("When changing SQL files on the server, restart it", IS_REMOTE),
        ("When committing, ask the user for the ticket", IS_QUESTION),
        ("**`billing/`**: never log amounts", IS_ENTRY),
        ("`src/pay.ts`: the entry point. Do not log in it", IS_ENTRY),
    ],
)
def test_a_rule_of_a_kind_that_comes_too_late_stays(rule, reason):
    (found,) = read(f"# Guide\n\n## The `billing/` package\n\n- {rule}\n").rules
    assert find_condition(found, Project(files=FILES)) == (None, reason)


def test_a_rule_about_a_command_of_another_program_stays_and_an_agent_may_read_it():
    (found,) = read("- Before running `npm publish`, bump the version\n").rules
    condition, reason = find_condition(found, Project(files=FILES))
    assert (condition, reason) == (None, IS_OTHER_COMMAND)
    assert may_have_condition(found, reason)


def test_a_rule_below_a_line_that_demands_a_question_stays():
    (found,) = read("# Guide\n\nWhen committing, ask the user for:\n\n- the ticket\n").rules
    assert find_condition(found, Project(files=FILES)) == (None, IS_QUESTION)


def test_one_step_of_a_list_does_not_say_when_the_others_hold():
    (found,) = read("1. When committing, sign it\n2. Answer in English\n").rules
    assert find_condition(found, Project(files=FILES))[0] is None


def test_the_occasions_of_a_condition_try_each_way_in_which_it_can_be_met():
    (found,) = read("- When changing `billing/` or creating a branch, name the ticket\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    occasions = make_occasions(condition)
    paths = [occasion.path for occasion in occasions if occasion.path]
    assert {"billing/a.ts", "billing/pages/a.ts", "billing/added/newcomer.ts"} <= set(paths)
    assert sum(bool(occasion.command) for occasion in occasions) >= 3
    assert "Go on as we said" in {occasion.prompt for occasion in occasions}


@pytest.mark.parametrize(
    ("rule", "gate"),
    [
        ("When committing, name the package", "once"),
        ("When you change `src/pay.ts`, keep the amount in cents", "none"),
    ],
)
def test_a_rule_about_a_command_that_is_hard_to_take_back_holds_it_back_once(tmp_path, rule, gate):
    long = f"- {rule}, and do so each time, as everybody who works here has agreed to do it\n"
    _diet, plan = plan_of(tmp_path, long)
    (move,) = plan.moves
    card = parse_card(move.text, path="lessons/a.md", folders={}).card
    assert card.gate == gate


def plan_of(tmp_path, text, *files):
    diet = Diet(root=str(tmp_path), files=[read(text), *files], tracked=FILES)
    return diet, plan_diet(diet, None)


def test_one_rule_is_one_card_whose_title_names_it(tmp_path):
    text = (
        "# Guide\n\n## Payments\n\n"
        "- When you change `src/pay.ts`, keep amounts integers in cents, never a float\n"
        "- When you change `src/pay.ts`, round at the very end of the whole calculation\n"
        "- When you change `src/pay.ts`, log each rounding with its amount and its currency\n"
        "- When you change `src/pay.ts`, keep the order of the currencies as the bank has it\n"
    )
    _diet, plan = plan_of(tmp_path, text)
    assert [move.title.split(",")[0] for move in plan.moves] == ["When you change `src/pay.ts`"] * 4
    assert len({move.title for move in plan.moves}) == 4
    assert all(move.text.count("\n- ") >= 1 for move in plan.moves)


def test_rules_that_compete_for_one_edit_stay_where_they_do_not_arrive(tmp_path):
    rules = "".join(
        f"- When you change `src/pay.ts`, mind number {number}: {'word ' * 60}{number}\n"
        for number in range(24)
    )
    _diet, plan = plan_of(tmp_path, f"# Guide\n\n{rules}")
    late = NOT_ARRIVED.format("an edit of src/pay.ts")
    assert len(plan.moves) > 2
    assert late in {one.reason for one in plan.stays}


def test_what_no_card_can_hold_word_for_word_stays(tmp_path):
    secret = "When you change `src/pay.ts`, use `sk_live_51H8abcdefghijklmnopqrstuv` as the key"
    text = f"# Guide\n\n- {secret}\n\nWhen you change `src/tax.ts`:\n\n```sh\nmake tax\n```\n"
    diet, plan = plan_of(tmp_path, text)
    assert plan.moves == []
    assert plan.texts[diet.files[0].name] == text


def test_a_move_that_saves_nothing_is_not_offered(tmp_path):
    diet, plan = plan_of(tmp_path, "- When you change `src/pay.ts`, think\n")
    assert plan.moves == []
    assert [one.reason for one in plan.stays] == ["moving it would save nothing"]
    scoped = read(
        "- When you change `src/pay.ts`, " + "think " * 40, name="a/AGENTS.md", folder="a"
    )
    diet, plan = plan_of(tmp_path, "- Be brief\n", scoped)
    assert plan.moves == []
    assert count_every_session(diet) == count_afterwards(diet, plan)


def test_a_rule_that_stands_twice_stays(tmp_path):
    rule = "- When you change `src/pay.ts`, keep amounts integers in cents, never a float\n"
    _diet, plan = plan_of(tmp_path, f"{rule}\n# More\n\n{rule}")
    assert {one.reason for one in plan.stays} == {TWICE}


RULE = st.sampled_from(
    [
        "When you change `src/pay.ts`, keep amounts integers in cents and never a float, {0}",
        "When committing, name the package of the change in the subject of the commit, {0}",
        "Answer in English, {0}",
        "ALWAYS use semantic commits, {0}",
        "See @docs/a.md for more, {0}",
    ]
)
HEAD = st.sampled_from(
    ["", "\ufeff", "---\nname: x\n---\n", "---\nname: x\n---\n\n", "<!-- note -->\n\n"]
)
BETWEEN = st.sampled_from(["", "\n", "\n## Part\n\n", "\nA paragraph that stays\n\n", "\n---\n\n"])


@settings(
    max_examples=settings().max_examples // 4,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(HEAD, st.lists(st.tuples(BETWEEN, RULE), min_size=1, max_size=6), st.booleans())
def test_every_rule_is_in_the_file_or_in_one_card_and_every_other_byte_stays(
    tmp_path, head, parts, is_windows
):
    body = "".join(
        f"{between}- {rule.format(number)}\n" for number, (between, rule) in enumerate(parts)
    )
    text = f"{head}# Guide\n\n{body}"
    text = text.replace("\n", "\r\n") if is_windows else text
    diet, plan = plan_of(tmp_path, text)
    (file,) = diet.files
    after = plan.texts[file.name]
    moved = {move.rule.line for move in plan.moves}
    for rule in file.rules:
        cards = sum(rule.words.removeprefix("- ") in " ".join(m.text.split()) for m in plan.moves)
        assert (rule.words in " ".join(after.split()), cards) == (
            (False, 1) if rule.line in moved else (True, 0)
        )
    # What is left is the old text, in its order, with lines taken out, then the pointer.
    lines = iter(text.splitlines(keepends=True))
    own = [line for line in after.splitlines(keepends=True) if line.strip() and POINTER not in line]
    assert all(line in lines for line in own)
    assert after.startswith(head.replace("\n", "\r\n") if is_windows else head)
    assert count_afterwards(diet, plan) == estimate_tokens(after)
    assert estimate_tokens(after) <= estimate_tokens(text)


def test_a_proof_starts_no_process_that_outlives_it(tmp_path, monkeypatch):
    started = []
    monkeypatch.setattr(programs, "start_detached", lambda *words, **_how: started.append(words))
    rule = "- When you change `src/pay.ts`, log each rounding with its amount and its currency\n"
    _diet, plan = plan_of(tmp_path, f"# Guide\n\n{rule}{rule.replace('log', 'test')}")
    assert plan.moves
    assert started == []


def test_pairs_are_found_as_by_comparing_all(tmp_path):
    rules = [
        f"- Keep the lines of part {n % 7} of every file below {n % 5}0 characters\n"
        for n in range(40)
    ]
    diet = Diet(root=str(tmp_path), files=[read("".join(rules))], tracked=())
    pairs = {(first.rule.line, second.rule.line) for _kind, first, second in find_pairs(diet)}
    assert len(pairs) > 40
    assert all(first < second for first, second in pairs)


GENERATED = ("web/types/proto/api/a_pb.ts", "web/types/proto/b_pb.ts", "api/buf.yaml")
QUOTING = st.sampled_from([
    ("{}", "web/types/proto/"), ("`{}`", "web/types/proto/"), ("`{}`", "web/types/proto"),
    ("`./{}`", "web/types/proto/"), ("**{}**", "web/types/proto/"), ('"{}"', "web/types/proto/"),
    ("`{}`", "web/types/proto/b_pb.ts"), ("{}", "web/types/proto/b_pb.ts"),
    ("`{}`", "api/buf.yaml"), ("`{}`", "web/types/proto/**/*.ts"), ("`{}`", "gone/gen/"),
])  # fmt: skip
SENTENCES = st.sampled_from([
    "Keep generated proto TypeScript under {} out of manual edits and rewrites",
    "Keep proto clients in {} in sync",
    "Keep generated protobuf files out of {}",
    "Proto files must match {}",
    "Protobuf definitions are never written to {}",
    "When changing proto files, update {} as well",
    "When writing tests, leave {} alone",
    "Update {} when you change proto files",
    "Use the usual names for proto files. Their clients live in {}",
    "Unit tests must not import anything below {}",
    "In SQL files, use the same names as in {}",
    "Do not modify existing migrations; {} depends on them",
    "Never add new dependencies to {} without asking",
    "In Billing, use the same clients as {}",
    "Protos: name fields as {} does",
    "Migrations: do not touch {}",
])  # fmt: skip


@given(sentence=SENTENCES, quoting=QUOTING, heading=st.sampled_from(["Work", "SQL", "Writing SQL"]))
def test_a_rule_that_quotes_a_path_arrives_at_this_path_or_stays(sentence, quoting, heading):
    style, path = quoting
    rule = sentence.format(style.format(path))
    (found,) = read(f"# Guide\n\n## {heading}\n\n- {rule}\n").rules
    project = Project(files=(*FILES, *GENERATED, *(f"wide/{number}.md" for number in range(60))))
    condition, _reason = find_condition(found, project)
    if condition is None or not condition.globs:
        return
    wanted = [name for name in GENERATED if name == path or name.startswith(path.split("*")[0])]
    assert wanted, "a rule about files that are not there has to stay"
    covered = {name for glob in condition.globs for name in project.match(glob)}
    assert set(wanted) <= covered
    assert {*wanted} & {*condition.files}


def test_a_quoted_file_that_is_only_read_is_no_condition():
    rule = "- When writing tests, see `src/clock.ts` for the clock\n"
    (found,) = read(f"# Guide\n\n{rule}").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert condition is not None
    assert "src/clock.ts" not in condition.globs


def test_a_rule_about_the_text_of_a_pull_request_arrives_at_a_draft_of_that_text():
    (found,) = read("# Guide\n\n- PR descriptions must name the ticket\n").rules
    condition, _reason = find_condition(found, Project(files=FILES))
    assert condition is not None
    assert condition.has_to_come_first
    assert "tmp/pr-body.md" in {occasion.path for occasion in make_occasions(condition)}
    drafts = compile_globs(condition.drafts)
    for path in ("pr.md", "notes/PR_DESCRIPTION.md", "tmp/my-pr-body.md", "pull_request.md"):
        assert match_globs(drafts, path)
    for path in ("docs/process.md", "src/expr_body.rs", "docs/pr-review-process.md"):
        assert not match_globs(drafts, path)


@pytest.mark.parametrize(
    ("name", "command", "matches"),
    [
        ("branches", "git checkout -q -b topic", True),
        ("branches", "git -C shop switch --create topic", True),
        ("branches", "git push -u origin HEAD:topic", True),
        ("branches", "gh issue develop 7 --checkout", True),
        ("branches", "git push origin main:topic", True),
        ("branches", "git checkout -btopic", True),
        ("branches", "git switch --create=topic", True),
        ("branches", "git switch --force-create topic", True),
        ("branches", "git branch --track topic origin/topic", True),
        ("branches", "git push git@example.com:shop.git main", False),
        ("commits", "git -c user.name=x commit -m x", True),
        ("commits", "git log --grep commit", False),
        ("commits", "git show commit", False),
        ("pushes", "git --no-pager push", True),
        ("pushes", "git stash push -m x", False),
        ("commits", "git -c user.name=A B commit -m x", True),
        ("pull requests", "gh -R shop/shop pr create", True),
        ("pull requests", "gh pr -R shop/shop create", True),
    ],
)
def test_the_pattern_of_a_situation_matches_its_subcommand_alone(name, command, matches):
    assert bool(re.search(get_situation(name).pattern, command)) == matches


def test_a_second_condition_counts_only_for_a_rule_that_has_a_first_one():
    (found,) = read("- Add the fees to the table. When adding a provider, name it\n").rules
    assert find_condition(found, Project(files=FILES)) == (None, UNCONDITIONAL)
    (found,) = read("- When committing, sign it. When adding a provider, name it\n").rules
    assert find_condition(found, Project(files=FILES)) == (None, SEVERAL)
