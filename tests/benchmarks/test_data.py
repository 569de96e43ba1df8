import json

import pytest

from benchmarks import __main__ as command
from benchmarks import data
from tests.kit import write


@pytest.fixture
def folder(tmp_path, monkeypatch):
    docs = [{"id": "d1", "title": "One", "text": "first"}, {"id": "d2", "text": "second"}]
    queries = [{"id": "q1", "text": "first?"}, {"id": "q2", "text": "never judged"}]
    for name, rows in (("docs", docs), ("queries", queries)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        write(tmp_path, f"retrieval/bugs/{name}.jsonl", text)
    write(tmp_path, "retrieval/bugs/qrels.tsv", "query\tdoc\trel\nq1\td1\t2\nq1\td2\t0\n")
    monkeypatch.setenv("LESSONS_BENCH_DATA", str(tmp_path))
    return tmp_path


def test_a_set_keeps_judged_queries_and_relevant_documents(folder):
    tiny = data.read_set("bugs")
    assert [doc.title for doc in tiny.docs] == ["One", ""]
    assert [query.id for query in tiny.queries] == ["q1"]
    assert tiny.relevant == {"q1": {"d1": 2}}


def test_a_broken_line_is_named_by_number(folder):
    write(folder, "retrieval/bugs/docs.jsonl", '{"id": "d1"\n')
    with pytest.raises(data.DataError, match=r"docs\.jsonl:1: "):
        data.read_set("bugs")


def test_absent_data_is_one_clear_line(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LESSONS_BENCH_DATA", str(tmp_path / "nowhere"))
    for words, named in (("--quick", "LESSONS_BENCH_DATA"), ("--sets=bogus", "lint_js")):
        assert command.main(["quality", words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert named in said


def test_sets_of_the_same_documents_are_no_negatives_of_each_other():
    assert data.share_documents("bugs", "bugs_long")
    assert data.share_documents("cwe", "cwe")
    assert not data.share_documents("bugs", "cwe")


def test_everyday_prompts_are_many_diverse_and_halved():
    prompts = data.read_everyday()
    words = sorted(len(prompt.text.split()) for prompt in prompts)
    assert len(prompts) >= 200
    assert len({prompt.text for prompt in prompts}) == len(prompts)
    assert len(data.read_everyday("dev")) == len(data.read_everyday("held-out")) == len(words) // 2
    assert words[0] <= 3
    assert 200 <= words[-1] <= 300
    korean = [p for p in prompts if any("가" <= letter <= "힣" for letter in p.text)]
    assert len(korean) >= 30
