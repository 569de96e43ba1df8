"""The installed program's first moments."""

from __future__ import annotations

import sys

import pytest

from lessons_kb.cli import entry


def test_ctrl_c_before_anything_has_begun_is_no_traceback(monkeypatch):
    class Interrupted:
        def __getattr__(self, name):
            raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "lessons_kb.cli.main", Interrupted())
    monkeypatch.setattr(sys, "argv", ["lessons", "list"])
    with pytest.raises(SystemExit) as stopped:
        entry.main()
    assert stopped.value.code == 130
