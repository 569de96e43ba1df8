"""Open brains of the daemon: the model is prepared beside the answers."""

import pytest

from lessons_kb import Brain
from lessons_kb.brain.brain import Brain as Layer
from lessons_kb.service.open_brains import _Preparation

CARD = "# Customers are billed twice for one order\n\nThe first request had succeeded.\n"
PROMPT = "Some people complain that they paid two times this week"


@pytest.mark.semantic
def test_searches_use_the_model_once_every_file_is_encoded(root, write, minilm, monkeypatch):
    monkeypatch.delenv("LESSONS_SEMANTIC")
    monkeypatch.setattr("lessons_kb.service.open_brains._ENCODED_AT_ONCE", 2)
    for number in range(3):
        write(f"lessons/{number}.md", CARD.replace("one order", f"order {number}"))
    with Brain.open(root, directory=root) as opened:
        (layer,) = opened.members
        layer.words_only = True
        layer.refresh()
        writer = Layer(layer.root)
        prepare = _Preparation(opened)
        prepare(writer)
        assert layer.words_only
        assert not opened.preflight(PROMPT, context=False, fresh=False).offered
        prepare(writer)
        assert not layer.words_only
        block = opened.preflight(PROMPT, context=False, fresh=False)
        assert block.offered or block.lessons
        writer.close()
