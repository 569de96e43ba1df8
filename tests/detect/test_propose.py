"""Patterns are learnt from what fixes share, and shown when the project bears them out (§6a)."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lessons_kb.detect import matcher as ast_patterns
from lessons_kb.detect.change import Change
from lessons_kb.detect.matcher import Matcher, Rule
from lessons_kb.detect.propose import find_candidates, propose, propose_command


def fix(path, before, after):
    return [Change(path=path, before=f"{before}\n", after=f"{after}\n")]


def finds(pattern, path, text):
    return bool(Matcher([Rule(card="a", pattern=pattern)]).find_in_file(path, f"{text}\n"))


WITHOUT_CHECK = [
    fix("a.py", "import requests\nr = requests.post(url, json=x, verify=False)",
        "import requests\nr = requests.post(url, json=x)"),
    fix("b.py", "import requests\nrequests.get(u, verify=False, timeout=3)",
        "import requests\nrequests.get(u, timeout=3)"),
]  # fmt: skip
REQUESTS = [("c.py", "import requests\nrequests.get(a)\nrequests.put(b, timeout=2)\n")]


def test_two_fixes_of_one_mistake_are_one_pattern_for_all_verbs():
    found = propose(WITHOUT_CHECK, REQUESTS, [])
    assert found.pattern is not None
    assert found.pattern.text == "requests.$A($$$, verify=False, $$$)"
    assert found.pattern.bad == ("r = requests.post(url, json=x, verify=False)",)
    assert found.pattern.good == ("r = requests.post(url, json=x)",)
    assert found.said == (
        "hits 2 places before the fix, 0 after; 0 other places today; 2 do as the fix does"
    )
    assert finds(found.pattern, "d.py", "requests.delete(x, verify=False)")
    assert not finds(found.pattern, "d.py", "requests.delete(x)")
    assert not finds(found.pattern, "d.py", "session.get(x, verify=False)")


@pytest.mark.parametrize(("path", "before", "after", "today", "text", "bad", "good"), [
    ("a.py", "async def f(a):\n    x = save(a)\n    return x",
     "async def f(a):\n    x = await save(a)\n    return x",
     "async def g(b):\n    await save(b)\n    return await save(1)\n",
     "save($$$)", "y = save(2)", "y = await save(2)"),
    ("a.ts", "async function f(a) {\n  store.save(a);\n}", "async function f(a) {\n  await store.save(a);\n}",
     "async function g() {\n  await store.save(b);\n  return await store.save(1);\n}\n",
     "store.save($$$)", "async () => { store.save(b) }", "async () => { await store.save(b) }"),
    ("pay.ts", "import stripe from 'stripe';\nconst c = stripe.charges.create({ amount });",
     "import stripe from 'stripe';\nconst c = stripe.charges.create({ amount }, { idempotencyKey: id });",
     "stripe.charges.create(a, { idempotencyKey: b });\nstripe.charges.create(c, { idempotencyKey });\n",
     "stripe.charges.create($$$)", "stripe.charges.create({ amount: 3 });",
     "stripe.charges.create(order, { idempotencyKey: order.id });"),
    ("a.py", "def f(p):\n    x = open(p)", "def f(p):\n    x = open(p, encoding='utf-8')",
     "open(a, encoding='utf-8')\nwith open(\n    b,\n    encoding=\"utf-8\",\n) as d:\n    pass\n",
     "open($$$)", "y = open(q, 'w')", "y = open(q, encoding=e)"),
    ("a.py", "import subprocess\nsubprocess.run(cmd, shell=True)", "import subprocess\nsubprocess.run(cmd)",
     "subprocess.run(a, check=True)\nsubprocess.run(b)\n",
     "subprocess.run($$$, shell=True, $$$)", "subprocess.run(f'ls {x}', cwd=d, shell=True)",
     "subprocess.run(['ls'], check=True)"),
    ("a.py", "from datetime import datetime\nx = datetime.utcnow()",
     "from datetime import datetime\nx = datetime.now(UTC)", "a = datetime.now(UTC)\nb = datetime.now(UTC)\n",
     "datetime.utcnow", "then = datetime.utcnow().date()", "then = datetime.now(UTC).date()"),
])  # fmt: skip
def test_the_pattern_of_one_fix_matches_the_mistake_elsewhere(
    path, before, after, today, text, bad, good
):
    found = propose([fix(path, before, after)], [(f"other/{path}", today)], [])
    assert found.pattern is not None, found.said
    assert found.pattern.text == text
    assert "0 other places today" in found.said
    assert finds(found.pattern, path, bad)
    assert not finds(found.pattern, path, good)
    assert not finds(found.pattern, path, after)


ASYNC_TEST = "async def test_a(client) -> None:\n    await client.get('/')"
MARKED = "@pytest.mark.asyncio\nasync def test_{}(client) -> None:\n    await client.get('/{}')\n"
HOOK = "import {{ useEffect }} from 'react';\nfunction A({{ userId }}) {{\n  useEffect(() => {{ load(userId); }}{});\n}}"


@pytest.mark.parametrize(("path", "before", "after", "today", "text", "relations", "bad", "good"), [
    ("test_a.py", ASYNC_TEST, f"import pytest\n\n@pytest.mark.asyncio\n{ASYNC_TEST}", MARKED.format("b", 1) + MARKED.format("c", 2),
     "def $A($$$) -> $B: $$$", (("has", "client"), ("not-inside", "@pytest.mark.asyncio")),
     ASYNC_TEST.replace("test_a", "test_z"),
     "@pytest.mark.asyncio\nclass TestA:\n    async def test_z(self, client) -> None:\n        pass"),
    ("a.tsx", HOOK.format(", [a]"), HOOK.format(", [a, userId]"),
     "useEffect(() => { save(userId); }, [userId]);\nuseEffect(() => { show(userId); }, [userId, b]);\n",
     "useEffect($$$)", (("has", "userId"), ("not-has", "[$$$, userId, $$$]")),
     "useEffect(() => { drop(userId); }, [c]);", "useEffect(() => { drop(userId); }, [c, userId]);"),
    ("a.tsx", HOOK.format(""), HOOK.format(", []"), "useEffect(f, []);\nuseEffect(g, [b]);\n",
     "useEffect($A)", (), "useEffect(() => { f(); });", "useEffect(() => { f(); }, [a]);"),
    ("a.js", "let a = parseInt(b.c);", "let a = parseInt(b.c, 10);", "parseInt(a, 10);\nparseInt(b, 10);\n",
     "parseInt($A)", (), "parseInt(x)", "parseInt(x, 10)"),
])  # fmt: skip
def test_an_addition_of_a_fix_becomes_a_negative_relation(
    path, before, after, today, text, relations, bad, good
):
    found = propose([fix(path, before, after)], [(f"other/{path}", today)], [])
    assert found.pattern is not None, found.said
    assert (found.pattern.text, found.pattern.relations) == (text, relations)
    assert finds(found.pattern, path, bad)
    assert not finds(found.pattern, path, good)


OPEN = fix("a.py", "x = open(p)", "x = open(p, encoding='utf-8')")
SHELL = fix("a.py", "import os\nx = os.system(y)", "import os\nx = run(y)")


@pytest.mark.parametrize(("fixes", "today", "why"), [
    ([OPEN], "open(a, encoding='x')\n" * 3 + "open(b)\n",
     "what it changed also stands in 1 place that nobody changed"),
    ([OPEN], "open(b)\n" * 9, "what it changed also stands in more than 5 places that nobody changed"),
    ([OPEN], "open(a, encoding='ascii')\nopen(b, encoding='latin-1')\n",
     "it was fixed in one file, and no other shows how it is done right"),
    ([fix("a.py", "import os\nos.chdir(x)\nos.chdir(y)", "import os\nrun(x)\nwalk(y)")], "",
     "it was fixed in one file, and no other shows how it is done right"),
    ([fix("a.py", "import os\nos.chdir(x)\nf(x)", "import os\nf(x)")], "",
     "nothing that the fix removed or added tells it from other code"),
    ([fix("a.py", "write(a)\nwrite(b)", "send(a, encoding=b)")], "",
     "nothing that the fix removed or added tells it from other code"),
    ([OPEN], "", "it was fixed in one file, and no other shows how it is done right"),
    ([SHELL], "", "it was fixed in one file, and no other shows how it is done right"),
    ([fix("a.py", "x = 1", "x = 2")], "", "nothing that the fix removed or added tells it from other code"),
    ([fix("a.py", "log('the door is open')", "log('the door is shut')")], "log('a')\nlog('b')\n",
     "nothing that the fix removed or added tells it from other code"),
    ([fix("a.py", "import os\nos.system(x)\n\nos.system(x)", "import os\nrun(x)\n\nrun(x)")], "",
     "it was fixed in one file, and no other shows how it is done right"),
    ([fix("a.txt", "a.b(c)", "d")], "", "the fix changes no code in a language that ast-grep knows"),
    ([WITHOUT_CHECK[0], OPEN], "", "nothing that the fix removed or added tells it from other code"),
])  # fmt: skip
def test_without_a_pattern_one_line_gives_the_reason(fixes, today, why):
    found = propose(fixes, [("c.py", today)], [])
    assert (found.pattern, found.said) == (None, why)


def test_the_history_gives_evidence_for_and_against_a_pattern():
    today = [("c.py", "x = run(1)\n")]
    again = fix("b.py", "import os\nos.system('ls')", "import os\nrun('ls')")

    found = propose([SHELL], today, [again, again])
    assert found.pattern is not None
    assert found.pattern.text == "os.system"
    assert "2 of 2 other removals in history did the same" in found.said
    other = fix("b.py", "import os\nos.system('ls')", "import os\nlist_files()")
    found = propose([SHELL], today, [other, other])
    assert (found.pattern, found.said) == (None, "of 2 other removals in history 0 did the same")
    found = propose([SHELL], today, [SHELL])
    assert found.pattern is None


@pytest.mark.parametrize(("failed", "ran", "found", "other"), [
    (["cd app && alembic stamp head --purge", "alembic stamp --purge a1b2"], ["alembic upgrade head"],
     "alembic stamp 77 --purge", "alembic stamp 77"),
    (["cp -r -f a /x/y", "cp -f -r b/c d"], ["cp a b"] * 9, "cp -f -r e f", "cp -r e f"),
    (["rm -rf build", "rm -rf dist"], ["rm -rf x"] * 214, "", ""),
    (["pytest", "pytest -q"], [], "", ""),
    (["alembic stamp head"], [], "", ""),
])  # fmt: skip
def test_a_pattern_is_derived_from_two_failed_commands(failed, ran, found, other):
    pattern = propose_command(failed, ran).pattern
    assert (pattern is not None) is bool(found)
    if pattern is not None:
        matcher = Matcher([Rule(card="a", pattern=pattern)])
        assert matcher.find_in_commands([found])
        assert not matcher.find_in_commands([other])


def test_a_command_that_also_succeeded_is_not_a_mistake():
    said = propose_command(["rm -rf build", "rm -rf dist"], ["rm -rf x"] * 214).said
    assert said == "such commands ran 214 times without harm"


def test_the_pattern_of_an_imported_name_requires_the_import():
    imported = "from urllib.parse import quote, parse_qs"
    change = Change(
        path="a.py", prefix=f"{imported}\n", before="x = parse_qs(y)\n",
        after="x = parse_qs(y, keep_blank_values=True)\n",
    )  # fmt: skip
    right = "parse_qs(a, keep_blank_values=True)\nparse_qs(b, keep_blank_values=True)\n"
    found = propose([[change]], [("b.py", right)], [])
    assert found.pattern is not None, found.said
    assert found.pattern.bad == ("from urllib.parse import parse_qs\nx = parse_qs(y)",)
    assert finds(found.pattern, "c.py", "from urllib.parse import parse_qs\nparse_qs(z)")
    assert not finds(found.pattern, "c.py", "from mine import parse_qs\nparse_qs(z)")


def test_without_the_extra_nothing_is_proposed(monkeypatch):
    monkeypatch.setattr(ast_patterns, "_ast_grep", lambda: None)
    assert propose([OPEN], [], []).said == "ast-grep is not installed"


def test_the_search_ends_above_the_limit():
    read = []

    def files():
        for number in range(9):
            read.append(number)
            yield "c.py", "open(a)\n" * 4

    assert propose([OPEN], files(), []).pattern is None
    assert read == [0, 1]


CODE = st.lists(
    st.sampled_from(
        ["f", "(", ")", ",", "x", "=", "'s'", ".", "\n", "    ", "def ", "1", "é", "{", "await "]
    ),
    max_size=25,
).map("".join)


@pytest.mark.slow
@given(CODE | st.text(), CODE | st.text())
@settings(max_examples=150, deadline=None)
def test_any_fix_can_be_parsed(before, after):
    change = Change(path="a.py", before=before, after=after)
    for one in find_candidates([[change]]):
        matcher = Matcher([Rule(card="a", pattern=one.pattern)])
        assert matcher.find_added(replace(change, before="", after=before))
        assert not matcher.find_added(replace(change, before=""))
