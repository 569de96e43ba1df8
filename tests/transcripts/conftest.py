"""Records of sessions, from a module beside the tests."""

import importlib.util
import pathlib

import pytest


@pytest.fixture(scope="session")
def records():
    path = pathlib.Path(__file__).with_name("records.py")
    spec = importlib.util.spec_from_file_location("transcript_records", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
