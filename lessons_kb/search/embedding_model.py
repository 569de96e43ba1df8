"""A local embedding model: texts in, unit vectors out. It owns its files and never downloads.

A model is a folder as sentence-transformers and its ONNX exports lay it out: ``tokenizer.json``,
an ONNX file of a BERT-like encoder, and, where they differ from mean pooling over 256 tokens,
``1_Pooling/config.json`` and ``sentence_bert_config.json``.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from lessons_kb.errors import ModelMissing

if TYPE_CHECKING:
    from numpy.typing import NDArray


Floats: TypeAlias = "NDArray[np.float32]"


NEEDED = ("numpy", "onnxruntime", "tokenizers")
EXTRA = "semantic"
QUERY = "query"
DOCUMENT = "document"

_TOKENIZER = "tokenizer.json"
_FILES = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model_optimized.onnx",
    "onnx/model_optimized.onnx",
)
"""Names under which exports keep the encoder, the first that exists is taken."""
_MAX_TOKENS = 256
_BATCH = 16
_MOST_TOKENS = 0.85
"""Tokens a character from which a text counts as unknown to a model."""
_WORTH_OPTIMISING = 16
"""Calls from which a process takes 0.5 s to make each further one 10 ms shorter."""
_UNKNOWN = ("[UNK]", "<unk>")


def find_absent_libraries() -> list[str]:
    """Return which of the libraries of the extra are not installed."""
    return [name for name in NEEDED if find_spec(name) is None]


_SLASHES = ("/", "\\")


def find_model(name: str, *, root: str) -> str:
    """Return the folder of the model ``name``: a folder, or a name in the Hugging Face cache.

    A relative path is looked up in ``root``. Nothing is downloaded; ModelMissing says what to do.
    """
    if name[:1] in _SLASHES and name[1:2] in _SLASHES:
        # Whoever wrote the settings would learn who asks: Windows says so to any host.
        raise ModelMissing(
            f"semantic.model = {name!r} is on a network; copy the folder to this machine"
        )
    folder = os.path.join(root, os.path.expanduser(name))
    for place in (folder, *_snapshots(name)):
        if os.path.isfile(os.path.join(place, _TOKENIZER)):
            return os.path.realpath(place)
    what = f"it has no {_TOKENIZER}" if os.path.isdir(folder) else "no such folder"
    raise ModelMissing(
        f"semantic.model = {name!r}: {what}; name a folder that holds {_TOKENIZER} and "
        f"{_FILES[0]}, or a model that is in the Hugging Face cache"
    )


def _snapshots(name: str) -> Iterator[str]:
    """Yield the folders in which Hugging Face's own tools keep the model of this name."""
    if name.count("/") != 1 or name.startswith(("/", ".", "~")):
        return
    home = os.environ.get("HF_HOME") or os.path.expanduser("~/.cache/huggingface")
    hub = os.environ.get("HF_HUB_CACHE") or os.path.join(home, "hub")
    folder = os.path.join(hub, "models--" + name.replace("/", "--"))
    try:
        with open(os.path.join(folder, "refs", "main"), encoding="utf-8") as file:
            yield os.path.join(folder, "snapshots", file.read().strip())
    except (OSError, UnicodeDecodeError):
        return


@lru_cache(maxsize=2)
def open_model(folder: str) -> Model:
    """Load the model in ``folder``, once a process.

    Raises ModelMissing where a library, a file or what is in it is not what it should be.
    """
    if absent := find_absent_libraries():
        raise ModelMissing(
            f"semantic search is off: {', '.join(absent)} not installed; "
            "`lessons doctor` names the command that installs them"
        )
    return Model(folder)


class Model:
    """An encoder ready to run. May be shared between threads."""

    def __init__(self, folder: str) -> None:
        from tokenizers import Tokenizer

        path = next(
            (path for name in _FILES if os.path.isfile(path := os.path.join(folder, name))), None
        )
        if path is None:
            raise ModelMissing(f"no ONNX file in {folder}; it should hold {' or '.join(_FILES)}")
        pooling = _read_json(folder, "1_Pooling", "config.json")
        limits = _read_json(folder, "sentence_bert_config.json")
        tokenizer = os.path.join(folder, _TOKENIZER)
        try:
            self._tokenizer = Tokenizer.from_file(tokenizer)
            self._session: Any = _start(path, optimised=False)
            longest = min(int(limits.get("max_seq_length") or _MAX_TOKENS), _MAX_TOKENS)
        except Exception as error:  # both libraries raise bare ones for a bad file
            raise ModelMissing(
                f"the model in {folder} cannot be loaded ({' '.join(str(error).split())}); "
                "name another one in semantic.model"
            ) from None
        self._path = path
        self._asked = 0
        self._tokenizer.enable_truncation(longest)
        self._tokenizer.no_padding()
        self._unknown = next(filter(None, map(self._tokenizer.token_to_id, _UNKNOWN)), None)
        self._first_token = pooling.get("pooling_mode_cls_token") is True
        self._prompts = _read_json(folder, "config_sentence_transformers.json").get("prompts") or {}
        self._inputs = [given.name for given in self._session.get_inputs()]
        self.key = _digest(path, tokenizer, str(longest))
        """Differs between models whose vectors cannot be compared."""
        self.size = int(self._encode_batch([self._tokenizer.encode("a").ids]).shape[1])
        """Numbers in a vector."""

    def encode(self, texts: Sequence[str], *, role: str = DOCUMENT) -> Floats:
        """Return one unit vector a text, in order; ``role`` is QUERY or DOCUMENT.

        Only the first 256 tokens of a text count. A text in a script that the model does not know
        gets a vector of zeros: its cosines would say nothing.
        """
        self._asked += 1
        if self._asked == _WORTH_OPTIMISING:
            self._session = _start(self._path, optimised=True)
        prompt = self._prompts.get(role) or ""
        encodings = self._tokenizer.encode_batch([prompt + text for text in texts])
        known = [n for n, encoding in enumerate(encodings) if self._knows(encoding)]
        known.sort(key=lambda number: len(encodings[number].ids))
        vectors = np.zeros((len(encodings), self.size), dtype=np.float32)
        for start in range(0, len(known), _BATCH):
            part = known[start : start + _BATCH]
            vectors[part] = self._encode_batch([encodings[number].ids for number in part])
        return vectors

    def _knows(self, encoding: Any) -> bool:
        """Tell whether the tokenizer has words for a text: what it does not know falls to letters.

        English takes a token for four or five letters, code for two or three; Korean takes more
        than a token a syllable where a model has not learnt it, half of one where it has.
        """
        letters = length = 0
        for token, (start, end) in zip(encoding.ids, encoding.offsets, strict=True):
            letters += end - start + 1 if token == self._unknown else int(end > start)
            length = max(length, end)
        return 0 < letters <= _MOST_TOKENS * length

    def _encode_batch(self, tokens: Sequence[Sequence[int]]) -> Floats:
        ids = np.zeros((len(tokens), max(map(len, tokens))), dtype=np.int64)
        mask = np.zeros_like(ids)
        for number, row in enumerate(tokens):
            ids[number, : len(row)] = row
            mask[number, : len(row)] = 1
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        if states.ndim < len(("texts", "tokens", "size")):
            pooled = states  # the export pools by itself
        elif self._first_token:
            pooled = states[:, 0]
        else:
            weights = mask[:, :, None].astype(np.float32)
            pooled = (states * weights).sum(axis=1) / weights.sum(axis=1)
        length = np.linalg.norm(pooled, axis=1, keepdims=True)
        vectors: Floats = (pooled / np.maximum(length, 1e-9)).astype(np.float32)
        return vectors


def _start(path: str, *, optimised: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if not optimised:
        levels = onnxruntime.GraphOptimizationLevel
        options.graph_optimization_level = levels.ORT_DISABLE_ALL
    # Threads that spin while they wait would take the cores of whoever asked.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _read_json(*parts: str) -> dict[str, Any]:
    try:
        with open(os.path.join(*parts), encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def _digest(*parts: str) -> str:
    """Return what tells one model from another: name, size and time of its files, and limits."""
    seen = hashlib.blake2b(digest_size=8)
    for part in parts:
        seen.update(part.encode())
        if os.path.isfile(part):
            there = os.stat(part)
            seen.update(f" {there.st_size} {there.st_mtime_ns}".encode())
    return seen.hexdigest()
