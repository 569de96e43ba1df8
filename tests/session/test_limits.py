"""What one answer may hold at most, whatever the brain holds."""

import json
import time

import pytest

from lessons_kb.text.token_estimate import estimate_tokens
from tests.sessions import card

EVERYTHING = """\
[preflight]
budget = 1000000
lesson_share = 1.0
max_lessons = 100
weakest = 0.0
[gate]
min_confidence = 0.0
"""
WORDS = {
    "English": "the retry of a webhook must carry the idempotency key of the order",
    "Korean": "웹훅을 다시 보낼 때에는 반드시 주문의 멱등성 키를 함께 보내야 한다",
    "emoji": "🔥 webhook retry 🔑 idempotency key 🧨🧨🧨 order 🚀🚀🚀🚀🚀🚀",
}
CAP = 9_900
"""Bytes: Codex cuts out the middle of more than 10,000."""


def size(text):
    return len(text.encode())


@pytest.fixture(params=sorted(WORDS))
def words(request, project):
    words = WORDS[request.param]
    (project / "lessons.toml").write_text(EVERYTHING)
    for number in range(40):
        items = [f"{words} {number}.{item} {words} {words}" for item in range(30)]
        header = {"cause": f"{words}. {words}", "paths": '["src/**"]', "severity": "high"}
        text = card(f"{words} {number}", *items, **header)
        (project / "lessons" / f"card-{number}.md").write_text(text, encoding="utf-8")
    return words


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli"])
def test_forty_long_cards_stay_below_the_agents_cap(agent, session, words):
    said = session(agent).prompt(words).context
    assert said.startswith("[ACTIVE LESSONS")
    assert "[/ACTIVE LESSONS]" in said
    assert size(said) <= CAP
    if agent == "codex":
        assert estimate_tokens(said) * 1.1 <= 2_500


@pytest.mark.slow
def test_what_waits_and_what_comes_after_a_compaction_stay_below_it(claude, words):
    claude.prompt(words)
    for number in range(200):
        path = claude.project / f"긴-이름의-폴더/file-{number}.py"
        claude.call("Post", "Read", {"file_path": str(path)}, number)
    said = claude.say("SessionStart", source="compact").context
    assert size(said) <= CAP
    assert "[ACTIVE LESSONS" in said


@pytest.mark.slow
def test_what_a_compression_took_and_a_prompt_stay_below_it_together(session, words):
    gemini = session("gemini-cli")
    gemini.record({})
    gemini.say("SessionStart", source="startup")
    gemini.prompt(words)
    left = {"$set": {"messages": [{"type": "user", "content": [{"text": "a summary"}]}]}}
    with gemini.transcript.open("a") as file:
        file.write(json.dumps(left, separators=(",", ":")) + "\n")
    assert 5_000 < size(gemini.prompt(f"{words} 1.2 3.4 5.6").context) <= CAP


@pytest.mark.slow
def test_what_is_said_of_a_file_that_forty_cards_guard_and_at_the_end_is_bounded(claude, words):
    claude.prompt("rename this variable")
    assert size(claude.edit("src/a.py").context) <= CAP
    claude.prompt(words, 2)
    assert size(json.dumps(claude.stop("No."), ensure_ascii=False)) <= CAP


FLOODS = {
    "paths": "\n".join(f"src/module{i}/file{i}.py" for i in range(50_000)),
    "no paths": "\n".join(f"module{i}.nope{i}/x" for i in range(50_000)),
    "words": " ".join(f"w{i}" for i in range(100_000)),
}


@pytest.mark.slow
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_flood_of_paths_or_words_around_a_request(claude, flood):
    """What is asked stands before or after; a second of processor time is far from the deadline."""
    request = "Add a telegram command that restarts the service, for members of the group"
    claude.prompt("warm up")
    for number, prompt in enumerate((f"{request}\n{flood}", f"{flood}\n{request}")):
        began = time.process_time()
        claude.prompt(prompt, session_id=f"s{number}")
        assert time.process_time() - began < 30
