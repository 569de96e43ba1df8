"""A prompt that nearly drew a card is offered as its symptom."""

import json

import pytest

PROMPT = "rename the address field of the customer table"
PROMPT_OF_TELEGRAM = "Add a Telegram command that runs a shell script"
CARD = "playbooks/rename-column-without-downtime.md"


def symptoms(lessons):
    return list(json.loads(lessons("show", CARD, "--json").out)["symptoms"])


def test_why_offers_on_a_terminal(answer, lessons, brain):
    before = symptoms(lessons)
    assert "Add this prompt as a symptom of the card?" in answer("why", PROMPT, typed="n\n")
    assert symptoms(lessons) == before
    assert f"{CARD}: + symptoms: “" in answer("why", PROMPT, typed="y\n")
    assert symptoms(lessons) == [*before, PROMPT]
    assert CARD in lessons("preflight", PROMPT).out
    assert "as a symptom" not in answer("why", PROMPT, typed="")


def test_why_names_the_command_without_a_terminal(lessons, brain):
    output = lessons("why", PROMPT).err
    assert f"{CARD} was nearly injected" in output
    assert f"`lessons why --add-symptom {CARD} '{PROMPT}'`" in output
    assert lessons("why", "--add-symptom", CARD, PROMPT).code == 0
    assert PROMPT in symptoms(lessons)
    assert lessons("why", "--json", PROMPT).err == ""


def test_why_names_the_next_step_for_a_card_with_little_confidence(lessons, brain):
    prompt = "the shell of the server is slow"
    output = lessons("why", prompt).out
    command = output.splitlines()[-1].strip()
    assert command.startswith("lessons why --add-symptom ")
    assert command.endswith(f"'{prompt}'")
    assert "Injected:\n  nothing" in output
    name = command.split()[3]
    assert lessons("why", "--add-symptom", name, prompt).code == 0
    assert prompt in (brain / name).read_text()
    assert "--add-symptom" not in lessons("why", PROMPT_OF_TELEGRAM).out


def test_the_last_prompt_can_be_added_without_its_secret(lessons, brain):
    assert lessons("why", "--add-symptom", CARD).code == 2
    lessons("preflight", PROMPT, "--session", "s")
    lessons("why", "--add-symptom", CARD)
    assert PROMPT in symptoms(lessons)
    secret = "the key is ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8, rename it"
    lessons("why", "--add-symptom", CARD, secret)
    assert "rename it" in (brain / CARD).read_text()
    assert "ghp_" not in (brain / CARD).read_text()


@pytest.mark.slow
def test_a_card_about_something_else_or_not_for_it_is_not_offered(lessons, brain):
    for prompt in (
        "Translate this paragraph about Rome into French",
        "what time zone is the server in",
        "rerun with 8 threads",
        "refund webhook fires twice",
    ):
        assert lessons("why", prompt).err == "", prompt
    prompt = "rename a column of the customer table without downtime"
    lessons("mark", CARD, "irrelevant", "--prompt", prompt, "--yes")
    result = lessons("why", prompt)
    assert ("one of its `not-for`" in result.out, result.err) == (True, "")


def test_a_task_of_a_bump_is_found_like_a_symptom(lessons, brain):
    task = "Let the quarterly rota of Reykjavik go out by mail"
    assert lessons("preflight", task).out == ""
    lessons("bump", "telegram-allowlist", "--task", task)
    again = "The quarterly rota of Reykjavik should go out by mail"
    assert "telegram-allowlist" in lessons("preflight", again).out
